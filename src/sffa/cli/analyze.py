"""``sffa analyze``: look into networks, print what is found, draw it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sffa.cli.notes import notes_of
from sffa.cli.options import AsJson, DataDir, Seed, Settings, Threads, settings, use_threads, widths
from sffa.cli.text import plain, say
from sffa.core import Network, load
from sffa.core.seeds import generator
from sffa.data import load as load_data
from sffa.errors import ConfigurationError

if TYPE_CHECKING:
    from sffa.report.network_report import Look, Rows, Subjects

app = typer.Typer(
    help="Look into networks: numbers and figures.", no_args_is_help=True, add_completion=False
)

Models = Annotated[list[Path], typer.Argument(help="Model files.", show_default=False)]


def _folder(place: Path) -> Path:
    """Refuse, before anything is computed, a place for figures where something else stands."""
    if os.path.lexists(place) and not place.is_dir():
        raise ConfigurationError(f"--out {place} is no folder, which figures need")
    return place


Out = Annotated[
    Path, typer.Option("--out", callback=_folder, help="Folder for figures and their data.")
]
DatasetName = Annotated[
    str | None,
    typer.Option("--dataset", help="Dataset.", show_default="the one of the first model"),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="Test examples to use.", show_default="all"),
]
Against = Annotated[
    list[str] | None,
    typer.Option("--against", help="Foreign data: names, or noise.", show_default="fmnist, noise"),
]
FIGURES = Path("figures")


@app.command()
def surfaces(out: Out = FIGURES, as_json: AsJson = False) -> None:
    """Draw the probability functions of FFA and SFFA."""
    from sffa.report import network_report

    _deliver(network_report.surfaces(), out, as_json)


@app.command()
def dynamics(out: Out = FIGURES, as_json: AsJson = False) -> None:
    """Simulate updates on one sample: closed forms, and layers that really learn."""
    from sffa.report import network_report

    _deliver(network_report.dynamics(), out, as_json)


@app.command()
def memory(
    dataset: Annotated[str, typer.Option("--dataset", help="Dataset.")] = "digits",
    samples: Annotated[
        int, typer.Option("--samples", min=1, max=100, help="Drawn of each class.")
    ] = 6,
    given: Settings = None,
    seed: Seed = 0,
    out: Out = FIGURES,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Draw what the method gaussian keeps of each class: means, and samples drawn from it.

    --set takes its options: parts, rank, dtype.
    """
    from sffa.continual.strategies.registry import check
    from sffa.report import network_report

    options = {name.removeprefix("gaussian."): value for name, value in settings(given).items()}
    check(["gaussian"], {f"gaussian.{name}": value for name, value in options.items()})
    data = load_data(dataset, data_dir=data_dir)
    _deliver(network_report.memory(data, samples, seed, options), out, as_json)


@app.command()
def sparsity(
    models: Models,
    dataset: DatasetName = None,
    limit: Limit = None,
    seed: Seed = 0,
    out: Out = FIGURES,
    threads: Threads = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Count active neurons and measure the Hoyer score, beside the paper's."""
    from sffa.report import network_report

    subjects = _subjects(models, dataset, limit, seed, threads, data_dir)
    _deliver(network_report.sparsity(subjects), out, as_json)


@app.command()
def usage(
    models: Models,
    dataset: DatasetName = None,
    limit: Limit = None,
    out: Out = FIGURES,
    threads: Threads = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Follow each neuron: its activity, its class, whether it is dead or saturated."""
    from sffa.report import network_report

    subjects = _subjects(models, dataset, limit, 0, threads, data_dir)
    _deliver(network_report.usage(subjects), out, as_json)


@app.command()
def layers(
    models: Models,
    dataset: DatasetName = None,
    limit: Limit = None,
    threads: Threads = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show the accuracy of each layer alone, and of the first layers together."""
    from sffa.report import network_report

    subjects = _subjects(models, dataset, limit, 0, threads, data_dir)
    _deliver(([], network_report.layers(subjects)), FIGURES, as_json)


@app.command()
def calibration(
    models: Models,
    dataset: DatasetName = None,
    limit: Limit = None,
    out: Out = FIGURES,
    threads: Threads = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Compare the goodness, as a probability, with how often it is right."""
    from sffa.report import network_report

    subjects = _subjects(models, dataset, limit, 0, threads, data_dir)
    _deliver(network_report.calibration(subjects), out, as_json)


@app.command()
def ood(
    models: Models,
    against: Against = None,
    dataset: DatasetName = None,
    limit: Limit = None,
    seed: Seed = 0,
    out: Out = FIGURES,
    threads: Threads = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Draw how well the goodness separates foreign inputs from familiar ones."""
    from sffa.report import network_report

    subjects = _subjects(models, dataset, limit, seed, threads, data_dir)
    _deliver(network_report.ood(subjects, _foreign(against, subjects, data_dir)), out, as_json)


@app.command()
def stability(
    dataset: Annotated[str, typer.Option("--dataset", help="Dataset.")] = "mnist",
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Epochs of both.")] = 26,
    hidden: Annotated[str, typer.Option("--hidden", help="Widths of the layers.")] = "1400,1400",
    lr: Annotated[float, typer.Option("--lr", help="Step size of Adam.")] = 1e-3,
    seed: Seed = 0,
    out: Out = FIGURES,
    threads: Threads = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Train a ReLU network with and without the activity term and compare the loss."""
    from sffa.report import network_report

    use_threads(threads)
    data = load_data(dataset, data_dir=data_dir)
    _deliver(network_report.stability(data, epochs, widths(hidden), lr, seed, _say), out, as_json)


@app.command("all")
def everything(
    models: Models,
    against: Against = None,
    dataset: DatasetName = None,
    limit: Limit = None,
    epochs: Annotated[
        int, typer.Option("--epochs", min=0, help="Epochs of the stability study; 0 skips it.")
    ] = 26,
    seed: Seed = 0,
    out: Out = FIGURES,
    threads: Threads = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Do all of it for some models."""
    from sffa.report import network_report

    subjects = _subjects(models, dataset, limit, seed, threads, data_dir)
    parts = [
        network_report.surfaces(),
        network_report.dynamics(),
        network_report.sparsity(subjects),
        network_report.usage(subjects),
        ([], network_report.layers(subjects)),
        network_report.calibration(subjects),
        network_report.ood(subjects, _foreign(against, subjects, data_dir)),
    ]
    if epochs:
        parts.append(
            network_report.stability(subjects.data, epochs, (1400, 1400), 1e-3, seed, _say)
        )
    drawn = [drawing for some, _ in parts for drawing in some]
    _deliver((drawn, [row for _, rows in parts for row in rows]), out, as_json)


def _say(epoch: int, loss: float) -> None:
    text = f"epoch {epoch:3d}  cross-entropy {loss:.4f}"
    Console(stderr=True).print(text, highlight=False)


def _foreign(names: list[str] | None, subjects: Subjects, data_dir: Path | None) -> dict[str, Any]:
    """Load what to tell the familiar inputs from, as many as there are of these."""
    from sffa.analysis import noise

    count, features = len(subjects.x), subjects.data.features
    found: dict[str, Any] = {}
    for name in names or ["fmnist", "noise"]:
        if name == "noise":
            found[name] = noise(count, features, generator(subjects.seed, "noise"))
            continue
        other = load_data(name, data_dir=data_dir)
        if other.features != features:
            raise ConfigurationError(
                f"{name} has {other.features} features, the models take {features}; "
                "give --against another dataset, or noise"
            )
        found[name] = other.test.flat[:count]
    return found


def _subjects(
    models: Iterable[Path],
    dataset: str | None,
    limit: int | None,
    seed: int,
    threads: int | None,
    data_dir: Path | None,
) -> Subjects:
    """Load the models and the test split of their dataset."""
    from sffa.analysis.latents import forward_forward
    from sffa.cli.models import check_fits
    from sffa.report.network_report import Subjects

    use_threads(threads)
    networks: dict[str, Network] = {}
    for path in models:
        notes = notes_of(path)
        dataset = dataset or notes.dataset
        network = forward_forward(load(path))
        name = str(notes.algorithm or network.config.algorithm)
        networks[name if name not in networks else path.stem] = network
    if dataset is None:
        raise ConfigurationError("the models do not say what they were trained on; give --dataset")
    data = load_data(dataset, data_dir=data_dir)
    for network in networks.values():
        check_fits(network, data)
    return Subjects(networks, data, data.test.flat[:limit], data.test.y[:limit], seed)


def _deliver(look: Look, out: Path, as_json: bool) -> None:
    """Write the figures, print the numbers."""
    drawn, rows = look
    paths = [path for drawing in drawn for path in drawing.save(out)]
    if as_json:
        print(json.dumps({"figures": [str(path) for path in paths], "rows": rows}))
        return
    for group in _alike(rows):
        table = Table(*map(escape, group[0]), box=SIMPLE_HEAD)
        for row in group:
            table.add_row(*(plain(_shown(value)) for value in row.values()))
        Console().print(table)
    for path in paths:
        if path.suffix == ".svg":
            say(Console(stderr=True), f"wrote {path}")


def _alike(rows: Rows) -> list[Rows]:
    """Put rows with the same columns together, in the order they come."""
    groups: dict[tuple[str, ...], Rows] = {}
    for row in rows:
        groups.setdefault(tuple(row), []).append(row)
    return list(groups.values())


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
