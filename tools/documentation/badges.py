"""Draw the badges of README from the files that they speak of: nobody else is asked for them.

python tools/documentation/badges.py           # draws them, and names them in README
python tools/documentation/badges.py --check   # fails if they say something else than the files

A badge whose file is absent, or does not tell the whole, is left out: ``results/coverage.json`` is
made by ``make coverage``, a whole row of ``results/matrix.jsonl`` by ``make test-matrix``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from sffa.files import write_text

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("docs/figures/badges")
BEGIN, END = "<!-- badges -->", "<!-- /badges -->"
PLAIN, GOOD, POOR = "#0f4c75", "#00785a", "#a34a00"
GOAL = 95  # percent of lines
_PYTHON = "Programming Language :: Python :: 3."
_LETTER, _GAP, _HEIGHT = 6.6, 6, 20


def main() -> int:
    """Draw or check the badges and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, say what differs")
    check = parser.parse_args().check
    wanted = files(ROOT)
    kept = [path.relative_to(ROOT) for path in sorted((ROOT / FOLDER).glob("*.svg"))]
    stale = [path for path in kept if path not in wanted]
    differ = [path for path, text in wanted.items() if _read(ROOT / path) != text]
    if check:
        for path in [*differ, *stale]:
            print(f"{path} is not what tools/documentation/badges.py makes", file=sys.stderr)
        return 1 if differ or stale else 0
    for path in differ:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        write_text(ROOT / path, wanted[path])
    for path in stale:
        (ROOT / path).unlink()
    return 0


def files(root: Path) -> dict[Path, str]:
    """Return the badges of the project in ``root``, and its README with their names."""
    made = badges(root)
    found = {FOLDER / f"{name}.svg": badge(*words) for name, words in made.items()}
    line = " ".join(
        f"![{what}: {value}]({(FOLDER / name).as_posix()}.svg)"
        for name, (what, value, _) in made.items()
    )
    readme = (root / "README.md").read_text(encoding="utf-8")
    between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return {**found, Path("README.md"): between.sub(lambda _: f"{BEGIN}{line}{END}", readme)}


def badges(root: Path) -> dict[str, tuple[str, str, str]]:
    """Return what each badge is about, what it says and its colour, by their names."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    kinds = [kind for kind in project["classifiers"] if kind.startswith(_PYTHON)]
    pythons = sorted(int(kind.removeprefix(_PYTHON)) for kind in kinds)
    found = {
        "python": ("Python", f"3.{pythons[0]} to 3.{pythons[-1]}", PLAIN),
        "licence": ("licence", str(project["license"]), PLAIN),
    }
    if tested := whole_row(_read(root / "results/matrix.jsonl")):
        failed = tested["failed"]
        value = f"{tested['passed']:,} passed, {failed or 'none'} failed"
        found["tests"] = ("tests", value, POOR if failed else GOOD)
    if measured := _read(root / "results/coverage.json"):
        percent = json.loads(measured)["percent"]
        found["coverage"] = ("lines tested", f"{percent} %", GOOD if percent >= GOAL else POOR)
    return found


def whole_row(rows: str) -> dict[str, Any] | None:
    """Return the last time that all tests ran to their end on a machine as it is, if they did."""
    for line in reversed(rows.splitlines()):
        row: dict[str, Any] = json.loads(line)
        parts = row.get("tests") or row.get("together") or row["problem"]
        if row["setting"] == "as it is" and not parts:
            return row
    return None


def badge(what: str, value: str, colour: str) -> str:
    """Return two words side by side as SVG, the second on a colour."""
    left, right = (len(text) * _LETTER + 2 * _GAP for text in (what, value))
    width = left + right
    words = "".join(
        f'<text x="{x:.0f}" y="14" textLength="{len(text) * _LETTER:.0f}">{escape(text)}</text>'
        for text, x in ((what, _GAP), (value, left + _GAP))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{_HEIGHT}" '
        f'role="img" aria-label="{escape(what)}: {escape(value)}">'
        f'<rect width="{width:.0f}" height="{_HEIGHT}" rx="3" fill="#4a4f57"/>'
        f'<path d="M{left:.0f} 0h{right - 3:.0f}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3:.0f}z" '
        f'fill="{colour}"/><g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" '
        f'font-size="11">{words}</g></svg>\n'
    )


def _read(path: Path) -> str:
    """Return the text of a file, nothing if there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
