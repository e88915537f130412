"""Install what is in ``dist/`` into clean environments and use it there as a stranger would."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
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
    artefacts = sorted(ROOT.glob("dist/sffa-*"))
    check_contents(artefacts)
    found = {version: interpreter(version) for version in wanted}
    for version, path in found.items():
        if path is None:
            print(f"Python {version}: not found here, not tried")
    failed = [
        f"{artefact.name} with Python {version}"
        for version, path in found.items()
        if path is not None
        for artefact in artefacts
        if not works(path, version, artefact)
    ]
    for each in failed:
        print(f"failed: {each}", file=sys.stderr)
    if all(path is None for path in found.values()):
        print("no Python to try the artefacts with", file=sys.stderr)
        return 1
    return 1 if failed else 0


def interpreter(version: str) -> str | None:
    """Return a Python of that version: this one, or one on the path."""
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    path = shutil.which(f"python{version}")
    if path is None:
        return None
    answers = subprocess.run([path, "-c", ""], capture_output=True, check=False)
    return path if answers.returncode == 0 else None


def check_contents(artefacts: list[Path]) -> None:
    """Refuse a wheel or an archive that lacks what belongs in it, or holds what does not."""
    kinds = {path.suffix for path in artefacts}
    if kinds != {".whl", ".gz"} or len(artefacts) != 2:
        raise SystemExit(f"expected a wheel and a source archive in dist/, found {artefacts}")
    for path in artefacts:
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                names = wheel.namelist()
            needed = ["sffa/__init__.py", "sffa/py.typed", "licenses/LICENSE"]
        else:
            with tarfile.open(path) as archive:
                names = archive.getnames()
            needed = ["src/sffa/__init__.py", "LICENSE", "README.md", "CHANGELOG.md"]
        missing = [name for name in needed if not any(each.endswith(name) for each in names)]
        strange = [name for name in names if "__pycache__" in name or name.endswith(".sqlite")]
        if missing or strange:
            raise SystemExit(f"{path.name} lacks {missing} and should not hold {strange[:5]}")
        print(f"{path.name}: {len(names)} files, {path.stat().st_size / 1024:.0f} kB")


def works(python: str, version: str, artefact: Path) -> bool:
    """Install an artefact with the pinned versions into an empty environment, and train."""
    torch = next(
        line for line in (ROOT / "constraints.txt").read_text().splitlines() if "torch==" in line
    )
    with tempfile.TemporaryDirectory() as folder:
        run = Commands(folder)
        install = [f"{folder}/bin/python", "-m", "pip", "install", "-q"]
        pinned = [*install, "-c", str(ROOT / "constraints.txt")]
        good = (
            run(python, "-m", "venv", folder)
            and run(*pinned, torch)
            and run(*pinned, str(artefact))
            and run(f"{folder}/bin/sffa", "--version")
            and run(f"{folder}/bin/python", "-c", PROGRAM)
        )
    print(f"Python {version}, {artefact.name}: {'works' if good else 'fails'}")
    return good


class Commands:
    """Runs commands in a folder, away from this project's sources; tells of those that fail."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        away = ("PYTHONPATH", "PYTHONHOME")
        self.environment = {name: v for name, v in os.environ.items() if name not in away}

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
