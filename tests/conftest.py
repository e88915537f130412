"""What all tests share: one thread, and a few handwritten digits."""

from __future__ import annotations

import errno
import io
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from sklearn.datasets import load_digits
from torch import Tensor

from sffa import kernels

collect_ignore = ["study/counting.py"]  # a program that tests start, no module of tests
COMPUTING = ("analysis", "continual", "contracts", "core", "kernels")

# Files of one group run in one process, one test after the other: those that start, kill, time or
# weigh processes stay out of each other's way, and what a wide fixture makes is made once.
GROUPS = {
    "tests/study/test_survival.py": "grid",
    "tests/study/test_ray.py": "grid",
    "tests/study/test_executors.py": "processes",
    "tests/bench/test_bench.py": "processes",
    "tests/data/test_mirrors.py": "processes",
    "tests/playground/test_browser.py": "playground",
    "tests/playground/test_playground.py": "playground",
    "tests/playground/test_server.py": "playground",
    "tests/report/test_browser.py": "pages",
    "tests/report/test_page.py": "pages",
    "tests/report/test_figures.py": "figures",
    "tests/report/test_sources.py": "figures",
}


# Nothing hangs on how fast the machine is, nor on a folder to keep examples in.
settings.register_profile(
    "anywhere", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("anywhere")


def pytest_configure() -> None:
    """Keep the whole session to one thread, fixtures of a module or of the session included.

    The bits of a product may depend on the number of threads: what a wide fixture computes and
    what a test compares it with must come from the same number.
    """
    torch.set_num_threads(1)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels once, before workers start that would each compile them.

    Where they are not kept from an earlier run, the first test that needs them would wait for it.
    """
    if not hasattr(session.config, "workerinput"):
        with suppress(RuntimeError):  # where kernels cannot be compiled the tests will tell
            kernels.warm_up()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep groups together and hand out all other tests one by one, the groups first.

    xdist's own groups write into a test's name, which pytest 9.2 no longer lets it do.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return GROUPS.get(nodeid.split("::")[0], nodeid)

    return ByGroup(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what computes: another processor, library or number of threads may change it."""
    here = Path(__file__).parent
    for item in items:
        if any(item.path.is_relative_to(here / name) for name in COMPUTING):
            item.add_marker("portable")


def why_no_avalanche() -> str:
    """Return why Avalanche cannot be imported here; nothing if it can."""
    from sffa.errors import ConfigurationError
    from sffa.integrations.avalanche_import import import_avalanche

    try:
        import_avalanche()
    except ConfigurationError as error:
        return str(error)
    return ""


def heed_interrupts() -> None:
    """Heed Ctrl-C in a child process even where the parent, as a background job, ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Return to one thread for every test, whatever the test before it did."""
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(1)


@pytest.fixture
def two_threads(_one_thread: None) -> None:
    """Return torch, and the kernels that follow it, a second thread for one test."""
    torch.set_num_threads(2)


@pytest.fixture(scope="session")
def digits() -> tuple[Tensor, Tensor]:
    """Return 400 images (400, 64) in standard units and their labels, the same in every test."""
    bunch = load_digits()
    pixels = torch.tensor(bunch.data[:400], dtype=torch.float32)
    return (pixels - 4.9) / 6.0, torch.tensor(bunch.target[:400])


@pytest.fixture
def failing_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file that is opened be there, and fail when its bytes are asked for."""

    class Failing(io.FileIO):
        def readinto(self, buffer: Any, /) -> int:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

        def readall(self) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(io, "FileIO", Failing)
