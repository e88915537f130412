"""What the tests of the playground share: a network trained on fewer dreams than the page's."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from sffa.playground.material import packaged
from sffa.playground.networks import Networks


def pixels(picture: np.ndarray) -> str:
    """Return a drawing as requests carry it."""
    return base64.b64encode(picture.tobytes()).decode()


@pytest.fixture(scope="session")
def networks() -> Networks:
    return Networks(packaged(examples=4000))


@pytest.fixture(scope="module")
def address(networks: Networks) -> Iterator[str]:
    """Yield the address of a server that runs while a module is tested."""
    server = pytest.importorskip("sffa.playground.server", exc_type=ImportError)
    listening = server.listen(0)
    port = listening.getsockname()[1]
    running = server.server_of(server.Playground(networks), port)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{port}"
    running.should_exit = True
    thread.join()
    listening.close()
