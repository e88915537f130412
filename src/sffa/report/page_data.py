"""Runs as the page keeps them: compact JSON that no browser mistakes for markup."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sffa.record import DETAILS, Record
from sffa.report.variants import flat
from sffa.vocabulary import NAMES

_DIGITS = 4
_LONGEST = 20_000


def page_data(runs: Sequence[Record]) -> str:
    """Return all runs as JSON; environments, which repeat, are kept once.

    ``<``, ``>`` and ``&`` are written as escapes, so that the text can stand in a script element.
    """
    environments: dict[str, int] = {}
    rows = [_row(run, environments) for run in runs]
    content = {
        "runs": rows,
        "environments": [json.loads(text) for text in environments],
        "names": NAMES,
    }
    return script_safe(content)


def script_safe(value: Any) -> str:
    r"""Write JSON that can stand inside a script element.

    >>> print(script_safe({"a": "</script>"}))
    {"a":"\u003c/script\u003e"}
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _row(run: Record, environments: dict[str, int]) -> dict[str, Any]:
    known = json.dumps(_plain(flat(run.environment)))
    row = {
        "dataset": run.dataset,
        "scenario": run.scenario,
        "method": run.method,
        "algorithm": run.algorithm,
        "seed": run.seed,
        "status": "done" if run.done else "failed",
        "error": "" if run.done else run.error or "",
        "metrics": _plain(run.metrics if run.done else {}),
        "config": _plain(flat(run.config)),
        "environment": environments.setdefault(known, len(environments)),
    }
    times = {"seconds": run.seconds, "peak_memory_mb": run.peak_memory_mb}
    for name, value in {**{n: run.details.get(n) for n in DETAILS}, **times}.items():
        if value is not None:
            row[name] = _plain(value)
    if run.started or run.finished:  # as only a store knows
        about = {"started": run.started, "finished": run.finished, "attempts": run.attempts}
        row |= {name: _plain(value) for name, value in about.items() if value}
    return row


def _plain(value: Any) -> Any:
    """Make a value JSON: rounded numbers, no NaN, nothing of unknown type, no endless text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return str(value)[:_LONGEST]


def _rounded(value: float) -> float | int | None:
    """Keep four digits after the point, or four that count if it is small."""
    if not math.isfinite(value):
        return None
    short = round(value, _DIGITS) if abs(value) >= 1 else float(f"{value:.{_DIGITS}g}")
    return int(short) if short.is_integer() else short
