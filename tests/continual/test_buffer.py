from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.continual.toy import toy

from sffa.continual import Stream
from sffa.continual.strategies.buffer import keep, shares
from sffa.continual.strategies.replay import Replay
from sffa.core import Backprop

sizes = st.lists(st.integers(1, 60), min_size=1, max_size=6)


@given(sizes=sizes, capacity=st.integers(6, 80))
def test_a_buffer_is_never_over_capacity_and_is_balanced(sizes: list[int], capacity: int) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    keys = np.random.default_rng(0).random(len(groups))
    kept = keep(groups, keys, capacity)
    assert len(kept) <= capacity
    assert len(set(kept.tolist())) == len(kept)
    counts = np.bincount(groups[kept], minlength=len(sizes))
    assert counts.tolist() == np.minimum(shares(capacity, len(sizes)), sizes).tolist()


@given(capacity=st.integers(1, 1000), groups=st.integers(1, 20))
def test_shares_use_the_whole_capacity_and_differ_by_one_at_most(
    capacity: int, groups: int
) -> None:
    found = shares(capacity, groups)
    assert found.sum() == capacity
    assert found.max() - found.min() <= 1


@settings(max_examples=15)
@given(
    policy=st.sampled_from(["experience", "class", "reservoir"]),
    capacity=st.integers(6, 90),
    seed=st.integers(0, 3),
)
def test_replay_keeps_within_capacity_and_balances_its_groups(
    policy: str, capacity: int, seed: int
) -> None:
    strategy = Replay(capacity, policy=policy, seed=seed)  # type: ignore[arg-type]
    stream = Stream(toy(), "task", seed, experiences=3)
    for done, experience in enumerate(stream, start=1):
        strategy.after_experience(Backprop(20, (4,)), experience)
        memory = strategy.buffers
        assert len(memory["y"]) == len(memory["x"]) == len(memory["task"]) <= capacity
        seen = torch.cat([e.train.y for e in list(stream)[:done]])
        assert set(memory["y"].tolist()) <= set(seen.tolist())
        _, counts = memory["group"].unique(return_counts=True)
        if policy != "reservoir" and capacity <= 40:
            assert int(counts.max() - counts.min()) <= 1
            assert len(memory["y"]) == min(capacity, len(seen))


def test_a_stored_example_keeps_its_label_and_task() -> None:
    strategy = Replay(30, seed=1)
    stream = Stream(toy(), "task", 0, experiences=3)
    for experience in stream:
        strategy.after_experience(Backprop(20, (4,)), experience)
    data = toy()
    for x, y, task in zip(*(strategy.buffers[n] for n in ("x", "y", "task")), strict=True):
        row = int((torch.from_numpy(data.train.x) == x).all(dim=1).nonzero()[0])
        assert int(y) == data.train.y[row]
        assert int(y) in stream[int(task)].classes


def test_a_shrinking_share_forgets_examples_and_never_gets_old_ones_back() -> None:
    strategy = Replay(30)
    stream = Stream(toy(), "class", 0, experiences=3)
    kept: list[set[tuple[float, ...]]] = []
    for experience in stream:
        strategy.after_experience(Backprop(20, (4,)), experience)
        first = strategy.buffers["group"] == 0
        kept.append({tuple(row) for row in strategy.buffers["x"][first].tolist()})
    assert kept[0] > kept[1] > kept[2]
    assert [len(rows) for rows in kept] == [30, 15, 10]
