"""Classifiers on tables: how far each lies above or below one of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sffa.report.drawing import Drawing, finish
from sffa.report.style import CYCLE, short_name, styled
from sffa.vocabulary import INK

_MARKS = "osD^vP"


def tables_figure(rows: Iterable[Mapping[str, Any]], against: str, first: str) -> Drawing | None:
    """Draw a row for each table: the mean accuracy of every model less that of ``against``.

    ``rows`` have a table, a model and an accuracy in percent, one for each split; splits that one
    of the two lacks are left out. The order of the tables is by the difference of ``first``.
    """
    from matplotlib.figure import Figure

    found = _by_split(rows)
    means = {key: statistics.fmean(splits.values()) for key, splits in found.items()}
    models = list(dict.fromkeys(model for _, model in means))
    apart = {
        (table, model): statistics.fmean(splits[n] - found[table, against][n] for n in common)
        for (table, model), splits in found.items()
        if model != against and (common := splits.keys() & found.get((table, against), {}).keys())
    }
    if not apart or first not in models:
        return None
    tables = sorted(
        (table for table, model in apart if model == first), key=lambda name: apart[name, first]
    )
    with styled():
        figure = Figure(figsize=(7.2, 1.2 + 0.24 * len(tables)))
        axes = figure.subplots()
        axes.axvline(0, color=INK, linewidth=0.8)
        for number, model in enumerate(name for name in models if name != against):
            places = [place for place, table in enumerate(tables) if (table, model) in apart]
            axes.plot(
                [apart[tables[place], model] for place in places],
                places,
                linestyle="none",
                marker=_MARKS[number % len(_MARKS)],
                color=CYCLE[number % len(CYCLE)],
                markersize=7 if model == first else 4,
                label=short_name(model, 40),
                zorder=3 if model == first else 2,
            )
        axes.set_yticks(range(len(tables)), [short_name(table, 40) for table in tables])
        axes.set_xlabel(f"Accuracy above that of {against}, points")
        figure.legend(loc="outside lower center", ncols=3)
        return finish(
            "tables",
            f"Classifiers on {len(tables)} tables, out of the box",
            f"Mean accuracy over the splits of each table less that of {against}; to the right is "
            "better.",
            figure,
            _data(tables, models, means),
        )


def _by_split(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], dict[Any, float]]:
    """Return the accuracies of each table and model by split, or by their order."""
    found: dict[tuple[str, str], dict[Any, float]] = {}
    for row in rows:
        splits = found.setdefault((row["table"], row["model"]), {})
        splits[str(row.get("split", len(splits)))] = float(row["accuracy"])
    return found


def _data(
    tables: Sequence[str], models: Sequence[str], means: Mapping[tuple[str, str], float]
) -> list[dict[str, object]]:
    return [
        {"table": table, "model": model, "accuracy": means[table, model]}
        for table in tables
        for model in models
        if (table, model) in means
    ]
