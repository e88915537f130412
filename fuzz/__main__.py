"""``python -m fuzz --surface idx --cases 2000 --seed 0``: a table of counts, exit 1 on findings.

``--out FILE`` adds a line of JSON for each surface; ``--table FILE`` prints their sums as Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from fuzz.driver import Counts, fuzz
from fuzz.surface import OURS

_SHOWN = 10


def main() -> int:
    """Run the surfaces that are named, or all, and print what came of their cases."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--surface", action="append", help=f"default: all of {', '.join(OURS)}")
    parser.add_argument("--cases", type=int, default=2000, help="of each surface")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="for each surface, at most")
    parser.add_argument("--only", type=int, help="one case, by its number")
    parser.add_argument("--out", type=Path, help="file to add the counts to, as lines of JSON")
    parser.add_argument("--table", type=Path, help="print what such a file adds up to, and end")
    told = parser.parse_args()
    if told.table:
        print(table(told.table))
        return 0
    cases = range(told.first, told.first + told.cases)
    cases = cases if told.only is None else range(told.only, told.only + 1)
    print(f"{'surface':<12}{'cases':>8}{'accepted':>10}{'refused':>9}{'findings':>10}")
    failed = False
    for name in told.surface or OURS:
        counts = fuzz(name, cases, told.seed, told.seconds)
        row = f"{counts.cases:>8}{counts.accepted:>10}{counts.refused:>9}{len(counts.findings):>10}"
        print(f"{name:<12}{row}", flush=True)
        for number, what in counts.findings[:_SHOWN]:
            print(f"  --surface {name} --seed {told.seed} --only {number}: {what}", flush=True)
        failed = failed or bool(counts.findings)
        if told.out:
            keep(told.out, counts, told.seed, cases.start)
    return int(failed)


def keep(path: Path, counts: Counts, seed: int, first: int) -> None:
    """Add the counts of one surface to a file."""
    row = {"surface": counts.surface, "seed": seed, "first": first, "cases": counts.cases}
    row |= {"accepted": counts.accepted, "refused": counts.refused, "findings": counts.findings}
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(row) + "\n")


def table(path: Path) -> str:
    """Return what the lines of a file add up to, a row for each surface."""
    columns = ("cases", "accepted", "refused", "findings")
    sums: dict[str, Counter[str]] = {name: Counter() for name in (*OURS, "all")}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        row["findings"] = len(row["findings"])
        for name in (row["surface"], "all"):
            sums[name].update({column: row[column] for column in columns})
    lines = [f"| surface | {' | '.join(columns)} |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, found in sums.items():
        lines.append(f"| `{name}` | {' | '.join(f'{found[c]:,}' for c in columns)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
