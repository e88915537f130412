"""The Hoyer table: from records that tell, beside the paper's."""

from __future__ import annotations

from sffa.record import Record
from sffa.report.cells import cells
from sffa.report.sections import TextTable
from sffa.report.sparsity import sparsity_section
from sffa.study import parse


def made(algorithm: str, seed: int, **details: object) -> Record:
    run = parse({"scenario": "static", "dataset": "mnist", "algorithm": algorithm, "seed": seed})
    return Record(*run.cell, seed=seed, config=run.values, metrics={"acc": 1.0}, details=details)


def test_scores_stand_beside_the_papers() -> None:
    told = [made("ffa", s, hoyer={"positive": 0.8 + s / 10, "negative": 0.9}) for s in (0, 1)]
    section = sparsity_section(cells([*told, made("sffa", 0), made("sffa", 1, hoyer="none")]))
    assert section is not None
    table = section.parts[1]
    assert isinstance(table, TextTable)
    scores = ["0.850 ± 0.050 (0.855)", "0.900 ± 0.000 (0.978)"]
    assert table.rows == [["MNIST", "FFA", "uniform", "2", *scores]]


def test_without_scores_there_is_no_table() -> None:
    assert sparsity_section(cells([made("sffa", 0)])) is None
