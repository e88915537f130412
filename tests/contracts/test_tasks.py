"""Tasks, candidates and labels: who competes with whom, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.contracts.learners import ALGORITHMS, FORWARD, learner

from sffa import Backprop, Network, Trainer, load
from sffa.core import Learner, accuracy
from sffa.core import negatives as negative_room
from sffa.core.seeds import generator
from sffa.errors import DataError


def with_tasks(algorithm: str, **options) -> Learner:
    """Make a learner of three tasks: of two, three and one class, met in this order."""
    if algorithm == "disjoint":
        options["planned_classes"] = 10
        net = Network(64, hidden=(100, 100), k=5, gate="disjoint", **options)
    else:
        net = learner(algorithm, classes=(), **options)
    net.add_classes([4, 2], task=0)
    net.add_classes([7, 0, 9], task=5)
    net.add_classes([1], task=2)
    return net


TASK_OF = {4: 0, 2: 0, 7: 5, 0: 5, 9: 5, 1: 2}


def mixed(digits) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    x, y = digits
    chosen = torch.isin(y, torch.tensor(list(TASK_OF)))
    y = y[chosen]
    return x[chosen], y, torch.tensor([TASK_OF[int(label)] for label in y])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_tasks_mixed_in_a_batch_are_scored_as_one_by_one(algorithm, digits):
    x, _, tasks = mixed(digits)
    net = with_tasks(algorithm)
    scores, labels = net.scores(x, tasks), net.predict(x, tasks)
    assert scores.shape == (len(x), 3)
    for task, classes in {0: [4, 2], 5: [7, 0, 9], 2: [1]}.items():
        rows = tasks == task
        alone = net.scores(x[rows], task)
        assert alone.shape[1] == len(classes)
        torch.testing.assert_close(scores[rows, : len(classes)], alone, rtol=1e-5, atol=1e-6)
        assert (scores[rows, len(classes) :] == -torch.inf).all()
        assert set(labels[rows].tolist()) <= set(classes)
        assert torch.equal(labels[rows], net.predict(x[rows], task))


def test_the_baselines_loss_of_mixed_tasks_is_the_mean_of_theirs(digits):
    x, y, tasks = mixed(digits)
    net = with_tasks("bp")
    parts = [(tasks == t).sum() * net.loss(x[tasks == t], y[tasks == t], t) for t in (0, 5, 2)]
    wanted = torch.stack(parts).sum() / len(x)
    torch.testing.assert_close(net.loss(x, y, tasks), wanted, rtol=1e-5, atol=0)


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("algorithm", FORWARD)
def test_a_networks_loss_and_gradient_of_mixed_tasks_are_those_of_each(algorithm, backend, digits):
    """Each coordinate counts once, so tasks weigh by their labels; with contrast each example."""
    x, y, tasks = mixed(digits)
    net = with_tasks(algorithm, activity="none", backend=backend)
    sizes = {0: 2, 5: 3, 2: 1}
    if net.config.objective == "contrast":
        sizes = dict.fromkeys(sizes, 1)
    parts = [
        (tasks == t).sum() * size * net.loss(x[tasks == t], y[tasks == t], t)
        for t, size in sizes.items()
    ]
    total = sum(int((tasks == t).sum()) * size for t, size in sizes.items())
    wanted = torch.stack(parts).sum() / total
    found = net.loss(x, y, tasks)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=0)
    for one, other in zip(
        torch.autograd.grad(found, list(net.parameters())),
        torch.autograd.grad(wanted, list(net.parameters())),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * float(other.abs().max()))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_accuracy_by_task_does_not_depend_on_how_the_examples_are_cut(algorithm, digits):
    x, y, tasks = mixed(digits)
    net = with_tasks(algorithm)
    whole = accuracy(net, x, y, tasks)
    cut = accuracy(net, x, y, tasks, block=7)
    assert cut[0] == pytest.approx(whole[0])
    assert cut[1] == pytest.approx(whole[1])
    assert whole[0] == pytest.approx(100 * (net.predict(x, tasks) == y).float().mean().item())
    many = 2048 // len(x) + 2
    scores = net.scores(np.tile(x.numpy(), (many, 1)), np.tile(tasks.numpy(), many))
    np.testing.assert_allclose(scores[-len(x) :], net.scores(x, tasks), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_class_may_belong_to_two_tasks(algorithm, digits, tmp_path):
    """As in a domain-incremental stream told task by task."""
    x = digits[0][:6]
    net = learner(algorithm, classes=())
    for task in (0, 1):
        net.add_classes([0, 1], task=task)
    net.add_classes([1, 3], task=2)
    net.add_classes([3], task=0)
    assert net.tasks == {0: [0, 1, 2], 1: [0, 1], 2: [1, 2]}
    assert [net.scores(x, t).shape[1] for t in (0, 1, 2)] == [3, 2, 2]
    assert set(net.predict(x, 2).tolist()) <= {1, 3}
    net.save(tmp_path / "model.safetensors")
    back = load(tmp_path / "model.safetensors")
    assert back.tasks == net.tasks
    assert all(torch.equal(back.scores(x, t), net.scores(x, t)) for t in (0, 1, 2))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_unknown_is_refused_in_a_line(algorithm, digits):
    x, y = digits[0][:3], torch.tensor([4, 2, 7])
    net = with_tasks(algorithm)
    teacher = Trainer(net)
    with pytest.raises(DataError, match=r"labels \[3, 8\] are not among the classes met"):
        teacher.step(x, torch.tensor([8, 4, 3]), 0)
    with pytest.raises(DataError, match=r"unknown task 3; known tasks: \[0, 2, 5\]"):
        net.scores(x, 3)
    with pytest.raises(DataError, match="unknown task"):
        net.predict(x, torch.tensor([0, 5, 6]))
    with pytest.raises(DataError, match="label 7 does not belong to the task"):
        teacher.step(x, y, 0)
    with pytest.raises(DataError, match="expected one task, or one for each of 3, got 2"):
        net.scores(x, torch.tensor([0, 5]))
    with pytest.raises(DataError, match="expected one label an example"):
        teacher.step(x, y[:, None])
    with pytest.raises(DataError, match="expected examples of 64 features"):
        net.scores(x[:, :63])
    with pytest.raises(DataError, match="as many labels as examples, got 3 and 2"):
        teacher.step(x, y[:2])
    with pytest.raises(DataError, match=r"3 examples .* labels"):
        net.loss(x, y[:2], torch.tensor([0, 0]))
    with pytest.raises(DataError, match="no class yet"):
        learner(algorithm, classes=()).scores(x)
    with pytest.raises(DataError, match="not among the classes met"):
        learner(algorithm, classes=()).loss(x, y)
    for wrong, reason in [([], "at least one"), ([-1], "non-negative"), ([5, 5], "twice")]:
        with pytest.raises(DataError, match=reason):
            net.add_classes(wrong)
    with pytest.raises(DataError, match="tasks are non-negative"):
        net.add_classes([8], task=-2)
    assert net.classes == [4, 2, 7, 0, 9, 1]


def test_heads_without_a_task_are_refused():
    net = with_tasks("bp")
    with pytest.raises(DataError, match="say which task"):
        net.scores(torch.zeros(1, 64))


def test_candidates_that_are_no_columns_never_reach_the_compiled_loops(digits):
    x, y = digits[0][:3], digits[1][:3]
    net = learner("sffa")
    for bad in (torch.full((3, 2), 10), torch.zeros(2, 2), torch.zeros(3)):
        with pytest.raises(DataError, match="candidate"):
            list(net.scan(x, bad.long()))
    with pytest.raises(DataError, match="does not belong"):
        net.loss(x, y, candidates=(y[:, None] + 1) % 10)


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("algorithm", FORWARD)
def test_current_candidates_leave_the_labels_of_the_past_alone(algorithm, backend, digits):
    x, y = digits
    net = learner(algorithm, classes=(0, 1), contrast_with="current", backend=backend)
    net.add_classes([2, 3])
    new, old = torch.isin(y, torch.tensor([2, 3])), torch.isin(y, torch.tensor([0, 1]))
    column = net.columns(y[new])
    assert net.training_labels(column, None).tolist() == [[2, 3]] * int(new.sum())
    assert (net.training_labels(net.columns(y[old]), None) == torch.arange(4)).all()
    both = new | old
    rows = net.training_labels(net.columns(y[both]), None)
    for label, row in zip(y[both].tolist(), rows.tolist(), strict=True):
        assert row == ([-1, -1, 2, 3] if label in (2, 3) else [0, 1, 2, 3])
    explicit = torch.tensor([2, 3]).expand(int(new.sum()), 2)
    assert torch.equal(net.loss(x[new], y[new]), net.loss(x[new], y[new], candidates=explicit))
    seen = learner(algorithm, classes=(0, 1, 2, 3), backend=backend)
    assert torch.equal(seen.loss(x[old], y[old]), net.loss(x[old], y[old]))


@pytest.mark.parametrize("kind", ["uniform", "hard"])
def test_a_wrong_label_is_one_the_example_could_be_contrasted_with(kind, digits):
    x, y, tasks = mixed(digits)
    net = with_tasks("sffa")
    pairs = negative_room.draw(kind, net, x, y, generator(0, "test"), tasks)
    assert torch.equal(pairs[:, 0], net.columns(y))
    for task, columns in net.tasks.items():
        own, wrong = pairs[tasks == task].T
        assert set(wrong.tolist()) == (set(columns) if len(columns) > 1 else {-1})
        assert not (own == wrong).any()
    Trainer(net, negatives=kind).step(x, y, tasks)


@pytest.mark.parametrize("kind", ["uniform", "hard"])
def test_pairs_respect_current_candidates(kind, digits):
    x, y = digits
    net = learner("sffa", classes=(0, 1), contrast_with="current")
    net.add_classes([2, 3, 4])
    chosen = torch.isin(y, torch.tensor([2, 3, 4]))
    pairs = negative_room.draw(kind, net, x[chosen], y[chosen], generator(0, "test"))
    assert set(pairs[:, 1].tolist()) == {2, 3, 4}


def test_uniform_negatives_are_uniform_over_the_wrong_labels():
    net = learner("sffa", classes=range(5))
    y = torch.arange(5).repeat(4000)
    pairs = negative_room.draw("uniform", net, torch.zeros(len(y), 64), y, generator(0, "test"))
    counts = torch.zeros(5, 5).index_put_((pairs[:, 0], pairs[:, 1]), torch.ones(()), True)
    assert (counts.diagonal() == 0).all()
    assert counts[~torch.eye(5, dtype=torch.bool)].sub(1000).abs().max() < 130


def test_hard_negatives_are_drawn_in_proportion_to_their_goodness(digits):
    net = learner("sffa", classes=range(4))
    Trainer(net, lr=1e-2).fit(*[part[digits[1] < 4] for part in digits], epochs=3, batch_size=20)
    x = digits[0][:1].expand(8000, -1)
    y = torch.zeros(8000, dtype=torch.long)
    pairs = negative_room.draw("hard", net, x, y, generator(0, "test"))
    goodness = net.scores(x[:1])[0]
    wanted = goodness[1:] / goodness[1:].sum()
    found = pairs[:, 1].bincount(minlength=4)[1:] / 8000
    torch.testing.assert_close(found, wanted, rtol=0, atol=0.02)


@pytest.mark.parametrize("kind", ["uniform", "hard", "all"])
def test_a_single_class_has_no_wrong_label_and_still_learns(kind, digits):
    net = learner("sffa", classes=(6,))
    x = digits[0][:10]
    teacher = Trainer(net, negatives=kind, lr=1e-2)
    losses = [teacher.step(x, torch.full((10,), 6)).item() for _ in range(10)]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_empty_batch_has_empty_scores_and_no_step(algorithm):
    net = learner(algorithm)
    assert net.scores(torch.zeros(0, 64)).shape == (0, 10)
    assert net.predict(np.zeros((0, 8, 8))).shape == (0,)
    with pytest.raises(DataError, match="got 0 and 0"):
        Trainer(net).step(torch.zeros(0, 64), torch.zeros(0))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_arrays_and_tensors_of_any_layout_are_the_same_input(algorithm, digits):
    x = digits[0][:6]
    net = learner(algorithm)
    wanted = net.scores(x)
    frozen = x.numpy().copy()
    frozen.setflags(write=False)
    backwards = np.ascontiguousarray(x.numpy()[::-1])[::-1]
    for form in (x.double(), x.reshape(6, 8, 8), x.T.contiguous().T, frozen, backwards):
        scores = torch.as_tensor(net.scores(form))
        torch.testing.assert_close(scores, wanted, rtol=1e-5, atol=1e-6)
    assert isinstance(net.predict(x.numpy()), np.ndarray)


def test_a_network_with_tasks_answers_over_all_classes_without_one(digits):
    for algorithm in FORWARD:
        assert with_tasks(algorithm).scores(digits[0][:2]).shape == (2, 6)
    joined = Backprop(64, (8,), (0, 1))
    joined.add_classes([0, 1], task=0)
    assert joined.scores(digits[0][:2], 0).shape == joined.scores(digits[0][:2]).shape
