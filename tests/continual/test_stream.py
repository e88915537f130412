from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.continual.toy import PAIRS, Part, Toy, toy

from sffa.continual import Stream
from sffa.errors import ConfigurationError, DataError


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_class_order_is_torch_randperm_of_the_seed(seed: int) -> None:
    stream = Stream(toy(), "class", seed, experiences=3)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed)).tolist()
    assert stream.classes == order
    assert [len(group) for group in stream.groups] == [2, 2, 2]


def test_every_example_is_in_one_experience_and_none_is_copied() -> None:
    data = toy()
    stream = Stream(data, "class", 0, experiences=3)
    rows = torch.cat([experience.train.index for experience in stream])
    assert sorted(rows.tolist()) == list(range(len(data.train.y)))
    before = data.train.x[0, 0]
    data.train.x[0, 0] = 1234.0
    assert any(bool((e.train.x == 1234.0).any()) for e in stream)
    data.train.x[0, 0] = before


def test_scenarios_are_views_of_the_same_stream() -> None:
    streams = {s: Stream(toy(), s, 3, experiences=3) for s in ("class", "domain", "task")}
    for one, two, three in zip(*streams.values(), strict=True):
        assert one.classes == two.classes == three.classes
        assert torch.equal(one.train.x, two.train.x)
        assert torch.equal(one.train.y, three.train.y)
        assert two.labels == (0, 1)
        assert torch.equal(two.train.y, (one.train.y == one.classes[1]).long())
        assert (one.task, two.task, three.task) == (None, None, one.index)


def test_chance_shrinks_with_the_classes_seen_in_class_il_only() -> None:
    assert Stream(toy(), "class", 0, 3).chances == pytest.approx([50, 25, 100 / 6])
    assert Stream(toy(), "task", 0, 3).chances == [50, 50, 50]


def test_read_only_arrays_are_welcome() -> None:
    data = toy()
    data.train.x.flags.writeable = False
    assert len(Stream(data, "class", 0, 3)[0].train) == 80


def test_an_experience_without_examples_is_one_clear_line() -> None:
    data = toy()
    some = data.train.y != 5
    bare = Toy(Part(data.train.x[some], data.train.y[some]), data.test)
    with pytest.raises(DataError, match=r"experience 2 \(classes \[5\]\) has no training examples"):
        Stream(bare, "class", 0, class_order=((0, 1), (2, 3, 4), (5,)))
    with pytest.raises(DataError, match="experience 1 has no classes"):
        Stream(data, "class", 0, class_order=((0, 1), ()))


def test_a_class_in_two_experiences_is_one_clear_line() -> None:
    with pytest.raises(DataError, match="class 1 is in experiences 0 and 1"):
        Stream(toy(), "class", 0, class_order=((0, 1), (1, 2)))


@pytest.mark.parametrize(
    ("order", "message"),
    [(((0, 9),), "asks for class 9"), ((), "at least one experience")],
)
def test_impossible_class_lists_are_refused(order: tuple, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Stream(toy(), "class", 0, class_order=order)


def test_more_experiences_than_classes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="7 experiences need at least as many classes"):
        Stream(toy(), "class", 0, experiences=7)


def test_uneven_experiences_are_welcome_except_in_domain_il() -> None:
    assert [len(g) for g in Stream(toy(), "class", 0, experiences=4).groups] == [2, 2, 1, 1]
    with pytest.raises(ConfigurationError, match="equally many classes"):
        Stream(toy(), "domain", 0, experiences=4)


def test_labels_beyond_the_classes_are_refused() -> None:
    data = toy()
    wrong = Toy(Part(data.train.x, np.where(data.train.y == 5, 6, data.train.y)), data.test)
    with pytest.raises(DataError, match=r"labels must lie in 0\.\.5"):
        Stream(wrong, "class", 0, class_order=PAIRS)
