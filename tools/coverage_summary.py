"""Sum up what ``make coverage`` measured: lines by package, and the files that shall have them all.

python tools/coverage_summary.py MEASURED --out results/coverage.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from sffa.environment import describe
from sffa.files import write_text

COMMAND = "make coverage SLOW=1 OUT=results/coverage.json"
# What keeps and reads other people's work shall have no line that no test reaches.
WHOLE = {
    "store": ("sffa/study/store/",),
    "storage": ("sffa/core/storage.py", "sffa/files.py", "sffa/continual/checkpoint.py"),
    "codecs": ("sffa/data/idx.py", "sffa/data/npy.py", "sffa/data/unpack.py", "sffa/data/plain.py"),
}


def main() -> int:
    """Write the summary and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path, help="what coverage wrote as JSON")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = summary(json.loads(given.measured.read_text())["files"])
    for name, counts in found["packages"].items():
        print(f"{name:22} {counts['covered']:6} of {counts['lines']:6} lines")
    for name, places in found["missing"].items():
        print(f"{name}: {', '.join(places) or 'every line'}")
    print(f"{found['percent']:.2f} % of {found['lines']} lines")
    if given.out:
        about = {"command": COMMAND, "environment": describe()}
        write_text(given.out, json.dumps({**found, **about}, indent=1) + "\n")
    return 0


def summary(files: dict[str, Any]) -> dict[str, Any]:
    """Return lines and covered lines in all and by package, and what `WHOLE` lacks."""
    packages: dict[str, dict[str, int]] = defaultdict(lambda: {"lines": 0, "covered": 0})
    missing: dict[str, list[str]] = {name: [] for name in WHOLE}
    for path, measured in sorted(files.items()):
        inside = path[path.index("sffa/") :]
        part = inside.split("/")[1]
        package = packages["sffa" if part.endswith(".py") else f"sffa.{part}"]
        package["lines"] += measured["summary"]["num_statements"]
        package["covered"] += measured["summary"]["covered_lines"]
        for name, places in WHOLE.items():
            if inside.startswith(places):
                missing[name] += [f"{inside}:{line}" for line in measured["missing_lines"]]
    lines, covered = (
        sum(each[what] for each in packages.values()) for what in ("lines", "covered")
    )
    total = {"lines": lines, "covered": covered, "percent": round(100 * covered / lines, 2)}
    return {**total, "packages": dict(packages), "missing": missing}


if __name__ == "__main__":
    sys.exit(main())
