"""Every method and algorithm has a name, a colour and a mark of its own."""

from __future__ import annotations

from sffa.continual import METHODS
from sffa.core import PRESETS
from sffa.vocabulary import ALGORITHMS, algorithm_term, method_term
from sffa.vocabulary import METHODS as NAMED


def test_every_method_and_preset_is_in_the_table() -> None:
    assert set(METHODS) <= set(NAMED)
    assert set(PRESETS) <= set(ALGORITHMS)


def test_no_two_look_alike() -> None:
    methods = [tuple(map(str, method_term(name)[1:4])) for name in METHODS]
    assert len(set(methods)) == len(methods)
    algorithms = [tuple(map(str, algorithm_term(name)[1:4])) for name in PRESETS]
    assert len(set(algorithms)) == len(algorithms)
