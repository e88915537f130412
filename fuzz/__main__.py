"""``python -m fuzz --surface idx --cases 2000 --seed 0``: a table of counts, exit 1 on findings."""

from __future__ import annotations

import argparse
import sys

from fuzz.driver import fuzz
from fuzz.surface import OURS

_SHOWN = 10


def main() -> int:
    """Run the surfaces that are named, or all, and print what came of their cases."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--surface", action="append", help=f"default: all of {', '.join(OURS)}")
    parser.add_argument("--cases", type=int, default=2000, help="of each surface")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="for each surface, at most")
    parser.add_argument("--only", type=int, help="one case, by its number")
    told = parser.parse_args()
    cases = range(told.cases) if told.only is None else range(told.only, told.only + 1)
    print(f"{'surface':<12}{'cases':>8}{'accepted':>10}{'refused':>9}{'findings':>10}")
    failed = False
    for name in told.surface or OURS:
        counts = fuzz(name, cases, told.seed, told.seconds)
        row = f"{counts.cases:>8}{counts.accepted:>10}{counts.refused:>9}{len(counts.findings):>10}"
        print(f"{name:<12}{row}", flush=True)
        for number, what in counts.findings[:_SHOWN]:
            print(f"  --surface {name} --seed {told.seed} --only {number}: {what}", flush=True)
        failed = failed or bool(counts.findings)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
