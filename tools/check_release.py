"""Install what is in ``dist/`` into clean environments and use it there as a stranger would."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from test_matrix import PYTHONS, Unavailable, found_python

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
# The exact pin, installed first: a looser requirement may fetch another, far larger build.
TORCH = next(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("torch=="))
LICENCES = ("LICENSE", "NOTICE")
PROGRAM = """
import sffa, sffa.lite
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
score = sffa.SFFAClassifier(random_state=0).fit(X, y).score(X, y)
assert score > 0.9, score
print(f"sffa {sffa.__version__}: iris {100 * score:.1f} %")
"""


def main() -> int:
    """Check the artefacts and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pythons", nargs="*", default=PYTHONS)
    wanted = parser.parse_args().pythons
    wheel, archive = check_contents(sorted(ROOT.glob("dist/sffa-*")))
    failed, tried = [], 0
    for version in wanted:
        try:
            python = interpreter(version)
        except Unavailable as reason:
            print(f"Python {version}: not tried, {reason}", flush=True)
            continue
        tried += 1
        failed += check_installed(python, version, [wheel, archive])
    failed += check_pipx(wheel)
    for each in failed:
        print(f"failed: {each}", file=sys.stderr)
    if not tried:
        print("no Python to try the artefacts with", file=sys.stderr)
    return 1 if failed or not tried else 0


def interpreter(version: str) -> str:
    """Return a Python of that version: this one, or one that is found here."""
    mine = f"{sys.version_info.major}.{sys.version_info.minor}"
    return sys.executable if version == mine else found_python(version)


def check_contents(artefacts: list[Path]) -> tuple[Path, Path]:
    """Return wheel and archive; refuse what lacks what belongs in it, or holds what does not."""
    kinds = {path.suffix for path in artefacts}
    if kinds != {".whl", ".gz"} or len(artefacts) != 2:
        raise SystemExit(f"expected a wheel and a source archive in dist/, found {artefacts}")
    for path in artefacts:
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                names = wheel.namelist()
            needed = [
                "sffa/__init__.py",
                "sffa/py.typed",
                *(f"licenses/{name}" for name in LICENCES),
            ]
        else:
            with tarfile.open(path) as archive:
                names = archive.getnames()
            needed = ["src/sffa/__init__.py", "README.md", "CHANGELOG.md", *LICENCES]
        missing = [name for name in needed if not any(each.endswith(name) for each in names)]
        left = [name for name in names if "/tests/fixtures/" not in name]
        strange = [name for name in left if "__pycache__" in name or name.endswith(".sqlite")]
        if missing or strange:
            raise SystemExit(f"{path.name} lacks {missing} and should not hold {strange[:5]}")
        print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1024:.0f} kB", flush=True)
    archive, wheel = sorted(artefacts, key=lambda path: path.suffix)
    return wheel, archive


def check_installed(python: str, version: str, artefacts: list[Path]) -> list[str]:
    """Use each artefact in an environment that holds nothing else; return those that fail.

    The environment has the pinned versions; one artefact makes room for the next.
    """
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        run, own = Commands(folder), f"{folder}/bin/python"
        install = [own, "-m", "pip", "install", "-q", "-c", str(CONSTRAINTS)]
        ready = run(python, "-m", "venv", folder) and run(*install, TORCH)
        for artefact in artefacts:
            good = (
                ready
                and run(*install, str(artefact))
                and run(f"{folder}/bin/sffa", "--version")
                and run(own, "-c", PROGRAM)
                and run(own, "-m", "pip", "uninstall", "-q", "-y", "sffa")
            )
            said = "works" if good else "fails"
            print(f"Python {version}, {artefact.name}: {said}", flush=True)
            failed += [] if good else [f"{artefact.name} with Python {version}"]
    return failed


def check_pipx(wheel: Path) -> list[str]:
    """Run the wheel's command as ``pipx run`` does, if there is a pipx; return what fails."""
    if importlib.util.find_spec("pipx") is None:
        print("pipx run: not tried, no pipx here")
        return []
    with tempfile.TemporaryDirectory() as folder:
        run = Commands(folder, PIPX_HOME=folder)
        pinned = f"--pip-args=-c {CONSTRAINTS}"
        pipx = [sys.executable, "-m", "pipx", "run", "--no-cache", pinned, "--spec", str(wheel)]
        good = run(*pipx, "sffa", "train", "--epochs", "1", "--hidden", "100", "--card")
    print(f"pipx run, {wheel.name}: {'works' if good else 'fails'}")
    return [] if good else [f"pipx run --spec {wheel.name}"]


class Commands:
    """Runs commands in a folder, away from this project's sources; tells of those that fail."""

    def __init__(self, folder: str, **variables: str) -> None:
        self.folder = folder
        away = ("PYTHONPATH", "PYTHONHOME")
        self.environment = {name: v for name, v in os.environ.items() if name not in away}
        self.environment |= variables

    def __call__(self, *command: str) -> bool:
        """Run a command; whether it ended well."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
        if done.returncode:
            print(f"{' '.join(command)[:200]}\n{done.stderr[-2000:]}", file=sys.stderr)
        return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
