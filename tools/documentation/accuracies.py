"""Write the accuracies that README and other texts name from the records they come from.

python tools/documentation/accuracies.py           # writes them
python tools/documentation/accuracies.py --check   # fails if a text says something else

A number stands between ``<!-- acc DATASET SCENARIO METHOD ALGORITHM -->`` and ``<!-- / -->``, as
mean ± standard error (seeds); settings other than the preset's follow as ``name=value``, in the
order of their names. ``best`` in place of ``acc`` is the best epoch of static runs.
"""

from __future__ import annotations

import argparse
import functools
import re
import sys
from pathlib import Path

from sffa.errors import DataError
from sffa.files import write_text
from sffa.report.cells import Cell, cells
from sffa.report.kept import settings_of
from sffa.study import gather

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ("README.md",)
STUDIES = ("rq1", "rq2", "ours", "remember", "remember-scenarios")
_NUMBER = re.compile(r"(<!-- (acc|best) ([^>]+?) -->).*?(<!-- / -->)", re.DOTALL)


def main() -> int:
    """Write or check the numbers and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, say what differs")
    check = parser.parse_args().check
    differ = False
    for name in TEXTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        if (wanted := filled(text)) != text:
            differ = True
            if check:
                print(f"{name} has numbers that results/ has not", file=sys.stderr)
            else:
                write_text(ROOT / name, wanted)
    return int(check and differ)


def filled(text: str) -> str:
    """Return a text with the numbers of today's results."""
    return _NUMBER.sub(lambda m: f"{m[1]}{accuracy_text(m[2], m[3])}{m[4]}", text)


def accuracy_text(metric: str, place: str) -> str:
    """Return a metric of a cell of our studies, as mean ± standard error (seeds)."""
    found = _cells().get(tuple(place.split()))
    summary = found.summary(metric) if found else None
    if summary is None:
        raise DataError(f"a text names the accuracy of {place}, which was not run")
    error = "" if summary.sem is None else f" ± {summary.sem:.2f}"
    return f"{summary.mean:.2f}{error} ({summary.count})"


@functools.cache
def _cells() -> dict[tuple[str, ...], Cell]:
    """Return the cells by their place, as `sffa report results` has them; the studies' count."""
    found = sorted(cells(gather([ROOT / "results"])), key=lambda cell: cell.is_of(*STUDIES))
    return {(*cell.place, *settings_of(cell).replace(",", "").split()): cell for cell in found}


if __name__ == "__main__":
    sys.exit(main())
