"""Run the tests as other machines would: other instructions, threads, users, folders, Pythons.

``make test-matrix`` runs the suite once for each setting below and prints a row for each: passed,
failed, skipped, seconds; or why a setting cannot be had here. ``--combined`` runs several settings
at once, which is stricter and takes fewer runs. ``--fast`` runs the tests marked ``portable`` only.
``--out FILE`` adds a line of JSON for each row; ``--table FILE`` prints them as Markdown, rows of
one setting that ran different ``--tests`` as one. The exit code is 1 if a test failed under any
setting.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[1]
NOBODY = 65534
PYTHONS = ("3.11", "3.12", "3.13")
# What an environment with torch and all extras may need, the largest build of torch included.
VENV_BYTES = 12 * 2**30
CLOSING = re.compile(r"^(=+ )?(?P<counts>\d+ [a-z]+.*|no tests ran.*) in (?P<seconds>[\d.]+)s")
LEFT_OUT = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "site", "dist", "build")


Process = subprocess.Popen[bytes]


class Unavailable(Exception):
    """A setting that cannot be had on this machine, and why."""


@dataclass
class Place:
    """Where and how one run of the tests happens."""

    tree: Path = ROOT
    python: str = sys.executable
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    user: int | None = None
    packages: tuple[str, ...] = ()
    """Folders of installed packages that ``python`` does not know by itself."""


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    fast: bool
    tests: list[str]
    workers: int
    limit: float
    venvs: Path | None
    logs: Path
    scratch: Path


@dataclass(frozen=True)
class Row:
    """What the tests came to under one setting."""

    setting: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    problem: str = ""
    together: tuple[str, ...] = ()
    """The settings it was made of, if several."""
    environment: dict[str, Any] = field(default_factory=dict)
    tests: tuple[str, ...] = ()
    """The files and folders that ran, if not all."""

    def __add__(self, other: Row) -> Row:
        """Return the two as one row: that of all tests they ran."""
        return replace(
            self,
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
            seconds=self.seconds + other.seconds,
            problem=self.problem or other.problem,
            tests=(*self.tests, *other.tests),
        )

    def line(self) -> str:
        """Write the row of the table."""
        name = self.setting + (f": {', '.join(self.together)}" if self.together else "")
        name += f"; only {', '.join(self.tests)}" if self.tests else ""
        if self.problem:
            return f"| {name} | – | – | – | {self.seconds:.0f} | {self.problem} |"
        counts = f"{self.passed:,} | {self.failed} | {self.skipped} | {self.seconds:.0f}"
        return f"| {name} | {counts} | {self.environment.get('python', '')} |"


HEAD = (
    "| setting | passed | failed | skipped | seconds | Python |",
    "| --- | ---: | ---: | ---: | ---: | --- |",
)


Setting = Callable[[Options, Place], AbstractContextManager[None]]


def variables(**values: str | None) -> Setting:
    """Make a setting of environment variables; None takes one away."""

    @contextmanager
    def setting(_: Options, place: Place) -> Iterator[None]:
        for name, value in values.items():
            place.environment.pop(name, None)
            if value is not None:
                place.environment[name] = value
        yield

    return setting


@contextmanager
def busy_cores(options: Options, place: Place) -> Iterator[None]:
    """Keep two cores busy meanwhile; the burners end by themselves if this process cannot."""
    burn = f"import time; end = time.monotonic() + {options.limit}\nwhile time.monotonic() < end: 0"
    burners = [subprocess.Popen([sys.executable, "-c", burn]) for _ in range(2)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@contextmanager
def path_with_spaces(options: Options, place: Place) -> Iterator[None]:
    """Run in a copy whose path has spaces and a letter that is not ASCII."""
    place.tree = copied(options.scratch / "a path with späces")
    yield


@contextmanager
def not_root(options: Options, place: Place) -> Iterator[None]:
    """Run as nobody, who may read the tree and write to a home alone."""
    if os.geteuid() != 0:
        yield  # whoever runs this is not root already
        return
    options.scratch.chmod(0o755)
    if place.tree == ROOT:
        place.tree = copied(options.scratch / "of root")
    home = options.scratch / "home of nobody"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    place.user = NOBODY
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NUMBA_CACHE_DIR"):
        place.environment.pop(name, None)
    place.environment |= {"HOME": str(home), "TMPDIR": str(home)}
    if not works(place):
        place.python = copied_python(options.scratch / "python")
        # Without it a libpython of the system may be loaded, of another patch version.
        place.environment["LD_LIBRARY_PATH"] = str(options.scratch / "python" / "lib")
        place.packages = tuple(site.getsitepackages())
        if not works(place):
            raise Unavailable(f"nobody may not run {sys.executable}, nor a copy of it")
    yield


def works(place: Place) -> bool:
    """Whether Python starts there and finds what the tests need."""
    try:
        return start(place, [place.python, "-c", "import torch, pytest"]).wait() == 0
    except PermissionError:
        return False


def copied_python(target: Path) -> str:
    """Copy the interpreter, which may stand where only root can look, for all to read."""
    left_out = shutil.ignore_patterns("__pycache__", "test", "site-packages")
    shutil.copytree(sys.base_prefix, target, symlinks=True, ignore=left_out)
    subprocess.run(["chmod", "-R", "a+rX", str(target)], check=True)
    return str(target / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}")


@contextmanager
def no_numba_cache(options: Options, place: Place) -> Iterator[None]:
    """Put a file where each cache folder would be, which keeps even root from writing there."""
    if place.tree == ROOT:
        place.tree = copied(options.scratch / "no cache")
    (place.tree / "src" / "sffa" / "kernels" / "__pycache__").touch()
    blocked = options.scratch / "blocked"
    blocked.touch()
    place.environment.pop("NUMBA_CACHE_DIR", None)
    place.environment |= {"XDG_CACHE_HOME": str(blocked), "HOME": str(blocked)}
    yield


def another_python(version: str) -> Setting:
    """Make a setting of a Python with an environment of its own, from the pinned versions."""

    @contextmanager
    def setting(options: Options, place: Place) -> Iterator[None]:
        if sys.version_info[:2] == tuple(map(int, version.split("."))):
            yield
            return
        interpreter = found_python(version)
        if options.venvs is None:
            raise Unavailable("no folder for its environment; give one with --venvs")
        folder = options.venvs / version
        if not (folder / "ready").exists():
            options.venvs.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(options.venvs).free
            if free < VENV_BYTES:
                raise Unavailable(f"{free / 2**30:.0f} GB free, {VENV_BYTES / 2**30:.0f} needed")
            install(interpreter, folder)
        place.python = str(folder / "bin" / "python")
        yield

    return setting


def found_python(version: str) -> str:
    """Return the path of an interpreter of that version, pyenv's included."""
    kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    for candidate in (shutil.which(f"python{version}"), *map(str, kept)):
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    raise Unavailable(f"no Python {version} here")


def install(interpreter: str, folder: Path) -> None:
    """Make an environment with the pinned versions and all extras; torch first, by its pin."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = ",".join(name for name in project["optional-dependencies"] if name != "docs")
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    torch = next(pin for pin in pins if pin.startswith("torch=="))
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "-c", "constraints.txt"]
    commands = [
        [interpreter, "-m", "venv", str(folder)],
        [*pip, torch],
        [*pip, "hatchling", "editables"],
        [*pip, "--no-build-isolation", "-e", f".[{extras}]"],
    ]
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason told"]
            raise Unavailable(f"{' '.join(command[3:5])}: {said[-1].strip()}")
    (folder / "ready").touch()


SETTINGS: dict[str, Setting] = {
    "as it is": variables(),
    "ATEN_CPU_CAPABILITY=default": variables(ATEN_CPU_CAPABILITY="default"),
    "ONEDNN_MAX_CPU_ISA=SSE41": variables(ONEDNN_MAX_CPU_ISA="SSE41"),
    "MKL_ENABLE_INSTRUCTIONS=SSE4_2": variables(MKL_ENABLE_INSTRUCTIONS="SSE4_2"),
    "NUMBA_CPU_NAME=generic": variables(NUMBA_CPU_NAME="generic"),
    "OMP_NUM_THREADS=1": variables(OMP_NUM_THREADS="1"),
    "OMP_NUM_THREADS=2": variables(OMP_NUM_THREADS="2"),
    "OMP_NUM_THREADS=5": variables(OMP_NUM_THREADS="5"),
    "two busy cores": busy_cores,
    "a path with spaces": path_with_spaces,
    "not root": not_root,
    "no numba cache": no_numba_cache,
    "without HOME": variables(HOME=None, XDG_CACHE_HOME=None),
    **{f"Python {version}": another_python(version) for version in PYTHONS},
}
# Several at once: with "as it is", where torch takes a thread for each core, every setting is had.
COMBINED = {
    "an old processor": (
        "ATEN_CPU_CAPABILITY=default",
        "ONEDNN_MAX_CPU_ISA=SSE41",
        "MKL_ENABLE_INSTRUCTIONS=SSE4_2",
        "NUMBA_CPU_NAME=generic",
        "OMP_NUM_THREADS=1",
    ),
    "a stranger": ("a path with spaces", "not root", "no numba cache", "without HOME"),
    "a busy machine": ("OMP_NUM_THREADS=5", "two busy cores"),
    "Python 3.12, two threads": ("Python 3.12", "OMP_NUM_THREADS=2"),
    "Python 3.13, five threads": ("Python 3.13", "OMP_NUM_THREADS=5"),
}


def copied(target: Path) -> Path:
    """Copy the tree without what is generated, for all to read."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    return target


def start(place: Place, command: list[str], out: IO[bytes] | None = None) -> Process:
    """Start a command in its place, as its user."""
    return subprocess.Popen(
        command,
        cwd=place.tree,
        env={
            **place.environment,
            "PYTHONPATH": os.pathsep.join((str(place.tree / "src"), *place.packages)),
        },
        stdin=subprocess.DEVNULL,
        stdout=out or subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        user=place.user,
        group=place.user,
        extra_groups=None if place.user is None else [],
    )


def run(setting: str, options: Options) -> Row:
    """Run the tests under one setting."""
    began = time.monotonic()
    place, together = Place(), COMBINED.get(setting, ())
    try:
        with ExitStack() as stack:
            for name in together or (setting,):
                stack.enter_context(SETTINGS[name](options, place))
            row = tested(setting, place, options)
            tests = tuple(options.tests)
            return replace(row, together=together, environment=described(place), tests=tests)
    except Unavailable as reason:
        seconds = time.monotonic() - began
        return Row(setting, seconds=seconds, problem=f"not available: {reason}")


def described(place: Place) -> dict[str, Any]:
    """Return what a record would say of the place; the commit is that of the tree copied."""
    asked = "import json, sffa.environment as e; print(json.dumps(e.describe()))"
    with tempfile.TemporaryFile() as said:
        start(place, [place.python, "-c", asked], said).wait()
        said.seek(0)
        found = dict(json.loads(said.read().splitlines()[-1]))
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return found | {"commit": commit.stdout.strip() or None}


def tested(setting: str, place: Place, options: Options) -> Row:
    """Run pytest in its place, and read its closing line."""
    log = options.logs / f"{re.sub(r'[^A-Za-z0-9.]+', '-', setting)}.log"
    chosen = "portable and not slow" if options.fast else "not slow"
    command = [place.python, "-m", "pytest", "-p", "no:cacheprovider", "-m", chosen]
    command += ["-n", str(options.workers), *options.tests]
    began = time.monotonic()
    with open(log, "wb") as out:
        process = start(place, command, out)
        try:
            process.wait(options.limit)
        except subprocess.TimeoutExpired:
            return Row(setting, seconds=options.limit, problem=f"not done in time; see {log}")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return row_of(setting, log, time.monotonic() - began)


def row_of(setting: str, log: Path, seconds: float) -> Row:
    """Read what a log of pytest ends with."""
    lines = log.read_text(errors="replace").splitlines()
    closing = next((found for line in reversed(lines) if (found := CLOSING.match(line))), None)
    if closing is None:
        return Row(setting, seconds=seconds, problem=f"pytest did not finish; see {log}")
    counts = {what: int(n) for n, what in re.findall(r"(\d+) ([a-z]+)", closing["counts"])}
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    return Row(setting, counts.get("passed", 0), failed, counts.get("skipped", 0), seconds)


def failures(setting: str, logs: Path) -> list[str]:
    """Return the names of what failed under a setting."""
    log = logs / f"{re.sub(r'[^A-Za-z0-9.]+', '-', setting)}.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return [line for line in lines if line.startswith(("FAILED ", "ERROR "))]


def keep(path: Path, row: Row) -> None:
    """Add a row to a file."""
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(vars(row), ensure_ascii=False) + "\n")


def table(path: Path) -> str:
    """Return the rows of a file as Markdown: of each setting and its tests the latest, added up."""
    lines = path.read_text(encoding="utf-8").splitlines()
    latest: dict[str, dict[tuple[str, ...], Row]] = {}
    for row in (Row(**json.loads(line)) for line in lines):
        rows = latest.setdefault(row.setting, {})
        if not row.tests or () in rows:  # all tests stand alone, parts beside one another
            rows.clear()
        rows[tuple(row.tests)] = row
    sums = (reduce(add, rows.values()) for rows in latest.values())
    return "\n".join([*HEAD, *(row.line() for row in sums)])


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--fast", action="store_true", help="only tests marked portable")
    parser.add_argument("--tests", action="append", help="files or folders, in place of all")
    known = [*SETTINGS, *COMBINED]
    parser.add_argument("--only", action="append", choices=known, metavar="SETTING")
    parser.add_argument("--combined", action="store_true", help="several settings at once")
    parser.add_argument("--out", type=Path, help="file to add the rows to, as lines of JSON")
    parser.add_argument("--table", type=Path, help="print the rows of such a file, and end")
    parser.add_argument("--venvs", type=Path, help="folder for the environments of other Pythons")
    parser.add_argument("--workers", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for one setting")
    return parser.parse_args()


def main() -> int:
    """Run every setting asked for, print and keep the rows."""
    given = arguments()
    if given.table:
        print(table(given.table))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends what it started, too
    logs = Path(tempfile.mkdtemp(prefix="sffa-matrix-logs-"))
    print("\n".join(HEAD), flush=True)
    broken = False
    for setting in given.only or (["as it is", *COMBINED] if given.combined else SETTINGS):
        with tempfile.TemporaryDirectory(prefix="sffa-matrix-") as scratch:
            tests = given.tests or (["tests"] if given.fast else [])
            numbers = given.workers, given.limit
            options = Options(given.fast, tests, *numbers, given.venvs, logs, Path(scratch))
            row = run(setting, options)
        print(row.line(), flush=True)
        unavailable = row.problem.startswith("not available")
        broken = broken or bool(row.failed) or (bool(row.problem) and not unavailable)
        if given.out:
            keep(given.out, row)
        for line in failures(setting, logs):
            print(f"  {line}", file=sys.stderr, flush=True)
    print(f"logs: {logs}", file=sys.stderr)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
