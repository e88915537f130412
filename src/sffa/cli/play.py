"""``sffa play``: a page on loopback to draw on, to teach and to watch."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer
from rich.console import Console

from sffa.cli.options import DataDir, Seed, Threads, prepare_kernels, use_threads
from sffa.cli.signals import terminable
from sffa.cli.text import say
from sffa.errors import ConfigurationError


def play(
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            help="A dataset of 28 x 28 gray pictures, such as mnist.",
            show_default="digits that come with the package",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="On 127.0.0.1; 0 is any free one.")
    ] = 8417,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    seed: Seed = 0,
    data_dir: DataDir = None,
    threads: Threads = None,
) -> None:
    """Draw digits, watch the layers answer, teach a class of your own, see what is forgotten."""
    try:
        from sffa.playground import server
    except ImportError as error:
        raise ConfigurationError(
            f"the playground needs {error.name}: pip install 'sffa[playground]'"
        ) from None
    from sffa.playground import material
    from sffa.playground.networks import ALGORITHMS, Networks

    console = Console(stderr=True)
    use_threads(threads)
    listening = server.listen(port)
    with listening:
        prepare_kernels(console)
        with console.status("training a small network …"):
            found = (
                material.packaged(seed) if data is None else material.named(data, seed, data_dir)
            )
            networks = Networks(found, seed)
            networks.get(next(iter(ALGORITHMS)))
        port = listening.getsockname()[1]
        address = f"http://{server.HOST}:{port}/"
        say(console, f"playground: {address} (Ctrl-C ends it)")
        if open_page:
            webbrowser.open(address)
        playground = server.Playground(networks)
        try:
            with terminable():
                server.server_of(playground, port).run(sockets=[listening])
        except KeyboardInterrupt:
            say(console, "ended")
        finally:
            playground.end()
