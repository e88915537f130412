"""Classes met later and layers added later: what is there stays, and the optimiser follows."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.contracts.learners import ALGORITHMS, FORWARD, GROWING, learner, same, snapshot

from sffa import Backprop, Network, Trainer
from sffa.core import Learner
from sffa.errors import ConfigurationError


def teach(teacher: Trainer, x: torch.Tensor, y: torch.Tensor, wanted: list[int], epochs=3) -> None:
    chosen = torch.isin(y, torch.tensor(wanted))
    teacher.fit(x[chosen], y[chosen], epochs=epochs, batch_size=40)


def small(algorithm: str, classes: tuple[int, ...]) -> Learner:
    """Make a learner whose disjoint gate, if it has one, plans for the first classes only."""
    if algorithm == "disjoint":
        return Network(64, hidden=(60, 80), k=5, gate="disjoint", classes=classes)
    return learner(algorithm, classes=classes)


@pytest.mark.parametrize("algorithm", GROWING)
def test_classes_met_later_do_not_change_what_the_network_thinks_of_the_earlier(algorithm, digits):
    x, y = digits
    teacher = Trainer(small(algorithm, (3, 1)), lr=1e-2)
    teach(teacher, x, y, [3, 1])
    before = teacher.learner.scores(x)
    teacher.add_classes([8, 0, 5])
    after = teacher.learner.scores(x)
    assert teacher.learner.classes == [3, 1, 8, 0, 5]
    assert after.shape == (len(x), 5)
    torch.testing.assert_close(after[:, :2], before, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("algorithm", GROWING)
def test_classes_met_later_are_learned(algorithm, digits):
    x, y = digits
    teacher = Trainer(small(algorithm, (3, 1)), lr=1e-2)
    teach(teacher, x, y, [3, 1])
    teacher.add_classes([8, 0])
    teach(teacher, x, y, [3, 1, 8, 0], epochs=15)
    chosen = torch.isin(y, torch.tensor([3, 1, 8, 0]))
    right = teacher.learner.predict(x[chosen]) == y[chosen]
    assert right.float().mean() > 0.8


@pytest.mark.parametrize("algorithm", GROWING)
def test_the_optimiser_knows_all_that_is_new_and_forgets_only_what_grew(algorithm, digits):
    x, y = digits
    teacher = Trainer(small(algorithm, (3, 1)), lr=1e-2)
    teach(teacher, x, y, [3, 1])
    old = set(teacher.learner.parameters())
    moments = {p: s["exp_avg"].clone() for p, s in teacher.optimizer.state.items()}
    teacher.add_classes([8, 0])
    parameters = set(teacher.learner.parameters())
    known = [p for group in teacher.optimizer.param_groups for p in group["params"]]
    assert len(known) == len(set(known))
    assert set(known) == parameters
    assert set(teacher.optimizer.state) == parameters & old
    for parameter, state in teacher.optimizer.state.items():
        assert torch.equal(state["exp_avg"], moments[parameter])
    teacher.step(x[:4], torch.tensor([3, 1, 8, 0]))
    assert set(teacher.optimizer.state) == parameters


@pytest.mark.parametrize("algorithm", GROWING)
def test_the_order_of_meeting_decides_the_columns_only(algorithm):
    """A class's symba code and random gate are those it would have had from the start."""
    at_once = small(algorithm, (3, 1, 8))
    later = small(algorithm, (3, 1, 8))
    later.add_classes([3, 8])  # already known: they just become the current ones
    assert later.classes == [3, 1, 8]
    assert later.current == [0, 2]
    assert same(snapshot(at_once), snapshot(later))


def test_a_code_belongs_to_a_label_whenever_it_is_met_and_to_no_other():
    early = learner("sffa", classes=(7, 2))
    late = learner("sffa", classes=(0,))
    late.add_classes([2])
    late.add_classes([7])
    assert torch.equal(early.codes[0], late.codes[2])
    assert torch.equal(early.codes[1], late.codes[1])


@pytest.mark.parametrize("seed", range(5))
def test_no_two_classes_share_a_code(seed):
    net = learner("sffa", classes=range(14), code_size=4, code_density=0.4, seed=seed)
    assert len({tuple(code.tolist()) for code in net.codes}) == 14


def test_when_codes_run_out_the_network_says_so_and_stays_as_it_was():
    net = learner("sffa", classes=(0, 1), code_size=2)
    before = snapshot(net)
    with pytest.raises(ConfigurationError, match=r"no free code for class .*raise code_size"):
        net.add_classes(range(2, 9))
    assert net.classes == [0, 1]
    assert net.current == [0, 1]
    assert same(before, snapshot(net))


def test_a_gate_drawn_by_label_does_not_move_when_classes_join():
    net = learner("sffa-gated", classes=(4, 9))
    before = [layer.gate.own.clone() for layer in net.layers]
    net.add_classes([1])
    for layer, own in zip(net.layers, before, strict=True):
        assert torch.equal(layer.gate.own[:2], own)
        assert layer.gate.own.shape[0] == 3


@pytest.mark.parametrize("deepened", ["never", "before", "after"])
def test_disjoint_shares_stay_disjoint_and_inside_the_layer(deepened, digits):
    net = Network(64, hidden=(44, 60), k=5, gate="disjoint", classes=range(4))
    if deepened == "before":
        net.deepen(80)
    net.add_classes([4, 5, 6])
    if deepened == "after":
        net.deepen(80)
    for layer in net.layers:
        own = layer.gate.own.long()
        assert own.shape[0] == 7
        assert own.flatten().unique().numel() == own.numel()
        assert own[:, 0].max() < layer.width // 2 <= own[:, 1].min()
        assert own.max() < layer.width
    for backend in ("torch", "numba"):
        net.backend = backend
        assert net.scores(digits[0][:4]).isfinite().all()


@pytest.mark.parametrize("algorithm", FORWARD)
def test_deepening_changes_no_bit_below_and_trains_the_new_layer_alone(algorithm, digits):
    x, y = digits
    teacher = Trainer(learner(algorithm), lr=1e-2)
    teacher.fit(x[:100], y[:100], batch_size=50)
    net = teacher.learner
    weights, scores = snapshot(net), net.layer_scores(x)
    teacher.deepen(120)
    for _ in range(2):
        after = net.layer_scores(x)
        assert torch.equal(after[:2], scores)
        assert after.shape[0] == 3
        assert all(torch.equal(value, net.state_dict()[name]) for name, value in weights.items())
        first = teacher.fit(x[:100], y[:100], epochs=4, batch_size=50)
    assert first[-1].layer == 2
    assert not torch.equal(net.layer_scores(x)[2], after[2])


def test_a_layer_that_cannot_be_added_leaves_the_network_whole():
    for algorithm, width, reason in [
        ("sffa", 101, "odd"),
        ("sffa", 8, "k = 5"),
        ("disjoint", 60, "3 of 30"),
    ]:
        net = learner(algorithm)
        with pytest.raises(ConfigurationError, match=reason):
            net.deepen(width)
        assert (len(net.layers), net.config.hidden) == (2, (100, 100))
    with pytest.raises(ConfigurationError, match="only forward-forward"):
        Trainer(learner("bp")).deepen(10)


@pytest.mark.parametrize("grow", ["onehot", "disjoint", "bp", "deepen"])
def test_a_learner_that_grew_behind_its_trainers_back_is_not_trained_silently(grow, digits):
    net = small("sffa" if grow == "deepen" else grow, (0, 1))
    teacher = Trainer(net)
    if grow == "deepen":
        net.deepen(100)
    else:
        net.add_classes([2])
    with pytest.raises(ConfigurationError, match="grew without its trainer"):
        teacher.step(digits[0][:2], torch.tensor([0, 1]))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_copies_share_no_memory(algorithm, digits):
    x, y = digits
    one = learner(algorithm)
    one.standardise(torch.zeros(64), torch.ones(64))
    before, scores = snapshot(one), one.scores(x)
    other, clone = learner(algorithm, seed=1), copy.deepcopy(one)
    other.standardise(torch.zeros(64), torch.ones(64))
    other.load_state_dict(one.state_dict())
    assert torch.equal(clone.scores(x), scores)
    for copied in (other, clone):
        Trainer(copied, lr=1e-2).step(x, y)
        copied.mean.add_(1)
    assert same(before, snapshot(one))
    assert torch.equal(one.scores(x), scores)
    assert not torch.equal(clone.scores(x), scores)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_the_caller_gave_is_neither_kept_nor_changed(algorithm, digits):
    x, y = digits[0].clone(), digits[1].clone()
    mean, std, classes = torch.zeros(64), torch.ones(64), list(range(10))
    net = learner(algorithm, classes=classes)
    net.standardise(mean, std)
    Trainer(net).step(x, y)
    before = net.scores(x)
    mean += 3
    std += 3
    classes.append(11)
    assert torch.equal(net.scores(digits[0]), before)
    assert torch.equal(x, digits[0])
    assert torch.equal(y, digits[1])
    assert net.classes == list(range(10))


def test_gates_move_with_the_network():
    net = learner("sffa-gated").to("meta")
    assert {layer.gate.own.device.type for layer in net.layers} == {"meta"}
    assert net.double().layers[0].gate.own.dtype == torch.int32


def test_a_growing_head_keeps_its_earlier_outputs():
    net = Backprop(64, (20,), (0, 1))
    before = net.heads["all"].weight.detach().clone()
    net.add_classes([2, 3])
    assert torch.equal(net.heads["all"].weight[:2], before)
    assert net.heads["all"].weight.shape == (4, 20)
