"""Tables of continual runs: accuracies after each experience, and runs side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from rich.box import SIMPLE_HEAD
from rich.table import Table

from sffa.cli.bars import MOST_SHOWN
from sffa.cli.text import plain
from sffa.record import Record


def matrix_table(record: Record) -> Table:
    """Show accuracies in percent: a row after each experience, a column for each test split."""
    numbers = record.metrics
    table = Table(
        box=SIMPLE_HEAD,
        title=plain(
            f"{record.algorithm}, {record.method}, {record.scenario} IL, "
            f"{record.dataset}, seed {record.seed}"
        ),
        caption=f"Acc {numbers['acc']:.2f}, Fgt {numbers['fgt']:.2f}, FwT {numbers['fwt']:.2f}, "
        f"BWT {numbers['bwt']:.2f} %"
        + (f"; held out {numbers['val_acc']:.2f} %" if "val_acc" in numbers else ""),
    )
    table.add_column("after")
    details = record.details
    rows = details["matrix"]
    seen = details.get("seen", range(len(rows)))
    learned = details.get("learned", range(1, len(rows[0]) + 1))
    parts = details.get("tests", details["experiences"])
    few = len(parts) <= MOST_SHOWN
    titles = ["/".join(str(label) for label in part["classes"]) for part in parts]
    for title in titles if few else ("learned", "mean of these", f"mean of all {len(parts)}"):
        table.add_column(title, justify="right")
    for done, row in zip(seen, rows, strict=True):
        cells = _each(row, learned, done) if few else _means(row, learned, done)
        table.add_row("nothing" if not done else f"experience {done}", *cells)
    return table


def _each(row: Sequence[float], learned: Iterable[int | None], done: int) -> list[str]:
    """Return the accuracies after an experience, bold where it completed what is tested."""
    pairs = zip(row, learned, strict=True)
    return [f"[bold]{v:.2f}[/]" if at == done else f"{v:.2f}" for v, at in pairs]


def _means(row: Sequence[float], learned: Iterable[int | None], done: int) -> list[str]:
    """Return how many groups are learned, the mean accuracy on these, and that on all."""
    pairs = zip(row, learned, strict=True)
    known = [v for v, at in pairs if at is not None and at <= done]
    return [str(len(known)), f"{fmean(known):.2f}" if known else "", f"{fmean(row):.2f}"]


def comparison(records: list[Record]) -> Table:
    """Show accuracy and forgetting side by side: a row for each method and algorithm."""
    table = Table(box=SIMPLE_HEAD, title="in percent")
    for column in ("method", "algorithm", "Acc", "Fgt", "FwT", "BWT", "seconds", "memory MB"):
        table.add_column(column, justify="left" if column in ("method", "algorithm") else "right")
    for record in records:
        numbers = [f"{record.metrics[key]:.2f}" for key in ("acc", "fgt", "fwt", "bwt")]
        kept = f"{record.details['experiences'][-1]['strategy_mb']:.1f}"
        seconds = f"{record.seconds or 0:.0f}"
        table.add_row(plain(record.method), plain(record.algorithm), *numbers, seconds, kept)
    return table
