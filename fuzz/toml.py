"""Study files, and ``--set``: fields of other types, nesting, classes that nobody allowed."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutate import ODD, damaged, odd
from fuzz.surface import Surface
from sffa.cli.options import settings as options
from sffa.study import read_study_file
from sffa.study.grid import Study
from sffa.study.presets import QUICK
from sffa.study.study_file import settings

_STUDY: dict[str, Any] = {
    "name": "mine",
    "seeds": "0-3",
    "base": {"scenario": "class", "dataset": "split-digits", "hidden": [40], "network": {"k": 3}},
    "axes": {"method": ["ewc", "replay"], "lr": [0.1, 0.01]},
    "overrides": [
        {"when": {"method": "ewc"}, "set": {"epochs": 2, "options": {"ewc.strength": 1}}}
    ],
}
_NAMES = (
    *("seed", "hidden", "algorithm", "inputs", "classes", "method", "k", "network.k", "options"),
    *("ewc.strength", "dataset", "scenario", "epochs", "class_order", "a.b.c", "network", ""),
)


def _toml(value: Any) -> str:
    """Write a value as TOML."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf"
    return json.dumps("null" if value is None else value)


def make(rng: Random, folder: Path) -> tuple[Path, list[str]]:
    """Write a study file, and some settings."""
    study = odd(rng, _STUDY) if rng.random() < 0.9 else _STUDY
    text = "\n".join(f"{json.dumps(name)} = {_toml(value)}" for name, value in study.items())
    content = text.encode(errors="surrogatepass")
    path = folder / "s.toml"
    path.write_bytes(damaged(rng, content) if rng.random() < 0.3 else content)
    sets = []
    for _ in range(rng.choice((0, 0, 1, 2))):
        value = rng.choice((odd(rng, [1, {"a": [2]}]), [rng.choice(ODD)], "x,y", "[" * 5000))
        value = value if isinstance(value, str) else json.dumps(value)
        sets.append(f"{rng.choice(_NAMES)}={value}")
    return path, sets


def read(case: tuple[Path, list[str]]) -> None:
    """Read study and settings, and make all runs; no module may come in by that."""
    path, sets = case
    before = {*sys.modules}
    options(sets)
    asked = settings(sets)
    if rng_even(path):
        QUICK.varying(asked).runs()
    study: Study = read_study_file(path)
    study.varying({n: v for n, v in asked.items() if n not in ("method", "algorithm")}).runs()
    new = {name for name in {*sys.modules} - before if not name.startswith(("sffa", "encodings"))}
    assert not new, f"imported {sorted(new)[:3]}"


def rng_even(path: Path) -> bool:
    """Whether a case also varies a study of ours."""
    return path.stat().st_size % 2 == 0


SURFACE = Surface(make, read)
