"""Every backend against the torch one: the same energies, activity, latents and gradients."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from tests.kernels.questions import Case, Question, cases, differentiate, pose
from torch import Tensor

from sffa import kernels
from sffa.errors import ConfigurationError
from sffa.kernels import Answer, Gate, Winners, team

CPU = torch.device("cpu")
REFERENCE = kernels.get("torch", CPU)
NUMBA = kernels.get("numba", CPU)


def assert_close(found: Tensor, wanted: Tensor, what: str, tolerance: float = 1e-5) -> None:
    scale = float(wanted.detach().abs().max()) if wanted.numel() else 0.0
    error = float((found.detach() - wanted.detach()).abs().max()) if wanted.numel() else 0.0
    # The sigmoid of less than -88 is 6e-39 or 0, and a literal norm may divide it by 1e-12.
    assert error <= tolerance * scale + 1e-26, f"{what}: {error} where the largest is {scale}"


def dense(winners: Winners, question: Question) -> Tensor:
    """Write winners out over all neurons, those of no label as zeros."""
    valid = (question.candidates >= 0)[..., None]
    masked = Winners(winners.index.long() * valid, winners.value * valid)
    whole = torch.zeros(*masked.index.shape[:2], question.shared.shape[1])
    return whole.scatter_add_(-1, masked.index, masked.value)


def assert_agree(question: Question, ties: bool) -> None:
    """Hold numba's answer and gradients to torch's; where drives tie, any of them may win."""
    valid = question.candidates >= 0
    wanted, found = question.ask(REFERENCE), question.ask(NUMBA)
    assert_close(found.energy[valid], wanted.energy[valid], "energy")
    assert_close(found.activity[valid], wanted.activity[valid], "activity")
    k = question.rule.k
    for side in (slice(0, k), slice(k, 2 * k)):
        for name in ("active", "latent"):
            mine, theirs = getattr(found, name).value, getattr(wanted, name).value
            ranked = mine[valid][:, side].sort(dim=-1).values
            literal = (
                question.rule.norm == "literal"
            )  # a drive that cancels to little is divided by
            wanted_ranked = theirs[valid][:, side].sort(dim=-1).values
            assert_close(ranked, wanted_ranked, name, 1e-4 if literal else 1e-5)
    gradients = zip(differentiate(question, found), differentiate(question, wanted), strict=True)
    for (mine, theirs), name in zip(gradients, ["shared", "label", "weight"], strict=False):
        if not ties:
            assert_close(mine, theirs, f"gradient of {name}")
        elif name != "weight":
            apart = (mine.sum(dim=-1) - theirs.sum(dim=-1)).abs()
            assert bool((apart <= 1e-5 * theirs.abs().sum(dim=-1) + 1e-30).all()), name
    if not ties:
        assert_close(dense(found.active, question), dense(wanted.active, question), "winners")


def assert_winners(question: Question, answer: Answer) -> None:
    """Check the winners: k a half, none twice, each label's own, and in their own half."""
    half, k = question.shared.shape[1] // 2, question.rule.k
    for b, c in np.ndindex(*question.candidates.shape):
        y = int(question.candidates[b, c])
        if y < 0:
            continue
        index = answer.active.index[b, c].tolist()
        assert len(set(index)) == 2 * k
        assert all(0 <= i < half for i in index[:k])
        assert all(half <= i < 2 * half for i in index[k:])
        if question.gate is not None:
            assert set(index) <= set(question.gate.own[y].flatten().tolist())


@settings(max_examples=250)
@given(cases())
@example(Case(half=1, k=1, batch=1, labels=1, depth=None))
@example(Case(half=20, k=20, trouble="equal"))
@example(Case(half=700, k=15, trouble="equal", batch=2))
@example(Case(half=700, k=15, trouble="outlier", depth=700, batch=2))
@example(Case(half=701, k=15, depth=None))
@example(Case(half=330, k=100, trouble="ties"))
@example(Case(half=330, k=33, share=40))
@example(Case(half=330, k=65, share=66, missing=True))
@example(Case(half=50, k=5, trouble="rest", activation="relu", norm="literal"))
@example(Case(half=50, k=5, trouble="low", norm="literal"))
@example(Case(labels=1, batch=1, missing=True))
def test_numba_agrees_with_torch_on_values_and_gradients(case):
    question = pose(case)
    tied = case.trouble in ("ties", "equal", "tiny", "low") or (
        case.trouble == "rest" and case.activation == "relu"
    )
    assert_agree(question, ties=tied)
    for kernel in (REFERENCE, NUMBA):
        assert_winners(question, question.ask(kernel))


@settings(max_examples=40)
@given(cases())
def test_no_gradient_reaches_the_latent(case):
    question = pose(replace(case, depth=case.depth or 5))
    assert question.latent is not None
    value = question.latent.value.clone().requires_grad_()
    question = replace(question, latent=Winners(question.latent.index, value))
    for kernel in (REFERENCE, NUMBA):
        answer = question.ask(kernel)
        total = answer.energy.sum() + answer.activity.sum()
        assert torch.autograd.grad(total, value, allow_unused=True) == (None,), kernel.name
        assert not answer.latent.value.requires_grad
        assert not answer.active.value.requires_grad


@settings(max_examples=60)
@given(cases())
def test_the_same_question_gets_the_same_bits_for_any_number_of_threads(case):
    """The loops alone promise this; with torch's products before them a network does not."""
    question = pose(replace(case, batch=case.batch * 3))
    answers = []
    before, least = torch.get_num_threads(), team.LEAST
    team.LEAST = 1  # so that even these small questions are shared among threads
    try:
        for threads in (1, 2, 2, 1):
            torch.set_num_threads(threads)
            answer = question.ask(NUMBA)
            gradients = differentiate(question, answer)
            answers.append(
                [answer.energy, answer.activity, dense(answer.active, question), *gradients]
            )
    finally:
        torch.set_num_threads(before)
        team.LEAST = least
    for other in answers[1:]:
        assert all(torch.equal(a, b) for a, b in zip(answers[0], other, strict=True))


@pytest.mark.parametrize("share", [None, 30])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["one drive", "one example", "one label"])
def test_drives_that_are_no_numbers_harm_nobody_else(share, bad, where):
    case = Case(half=100, k=10, batch=4, labels=3, depth=20, share=share)
    question = pose(replace(case, seed=2))
    clean = question.ask(NUMBA)
    with torch.no_grad():
        if where == "one drive":
            question.shared[1, 17] = bad
        elif where == "one example":
            question.shared[1] = bad
        else:
            question.label[2] = bad
    answer = question.ask(NUMBA)
    differentiate(question, answer)
    assert int(answer.active.index.max()) < 200
    assert int(answer.active.index.min()) >= 0
    untouched = torch.ones(question.candidates.shape, dtype=torch.bool)
    if where == "one label":
        untouched = question.candidates != 2
    else:
        untouched[1] = False
    assert torch.equal(answer.energy[untouched], clean.energy[untouched])


@pytest.mark.parametrize("share", [None, 30])
def test_an_example_of_nan_gives_a_goodness_of_nan_and_never_a_number(share):
    question = pose(Case(half=100, k=10, batch=4, labels=3, share=share))
    with torch.no_grad():
        question.shared[1] = torch.nan
    for kernel in (REFERENCE, NUMBA):
        assert question.ask(kernel).energy[1].isnan().all()


def test_an_empty_batch_gets_an_empty_answer():
    question = pose(Case(batch=1))
    none = Winners(question.latent.index[:0], question.latent.value[:0])
    question = replace(
        question,
        shared=question.shared[:0],
        latent=none,
        candidates=question.candidates[:0],
    )
    for kernel in (REFERENCE, NUMBA):
        answer = question.ask(kernel)
        assert answer.energy.shape == (0, question.candidates.shape[1], 2)
        assert not differentiate(question, answer)[1].any()


def test_questions_are_not_written_to():
    question = pose(Case(half=100, k=10, missing=True, share=40))
    tensors = [*question.leaves, question.candidates, question.latent.index, question.latent.value]
    before = [t.detach().clone() for t in tensors]
    for kernel in (REFERENCE, NUMBA):
        differentiate(question, question.ask(kernel))
    assert all(torch.equal(a, b) for a, b in zip(before, tensors, strict=True))


def test_a_gate_of_all_neurons_is_no_gate():
    question = pose(Case(half=40, k=6, depth=None, labels=3))
    everything = torch.arange(80).reshape(1, 2, 40).expand(3, 2, 40).int()
    for kernel in (REFERENCE, NUMBA):
        gated = replace(question, gate=Gate(everything)).ask(kernel)
        assert_close(gated.energy, question.ask(kernel).energy, kernel.name)


@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
@pytest.mark.parametrize("kernel", [REFERENCE, NUMBA], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("scale", [1.0, 30.0], ids=["moderate", "saturated"])
def test_winners_chosen_on_the_drive_are_winners_of_the_activation(kernel, activation, scale):
    """Where activations tie (a sigmoid at 1, a ReLU at 0), what they add up to is the same."""
    question = pose(Case(half=60, k=8, depth=None, activation=activation))
    with torch.no_grad():
        question.shared.mul_(scale)
    answer = question.ask(kernel)
    drive = question.shared[:, None] + question.label[question.candidates]
    active = drive.sigmoid() if activation == "sigmoid" else drive.relu()
    for side in range(2):
        best = active[..., side * 60 : (side + 1) * 60].topk(8, dim=-1).values
        mine = answer.active.value[..., side * 8 : (side + 1) * 8]
        torch.testing.assert_close(
            mine.sort(descending=True).values, best.detach(), rtol=2e-6, atol=0
        )


@pytest.mark.usefixtures("two_threads")
def test_auto_picks_numba_on_a_cpu_and_torch_elsewhere():
    assert kernels.get("auto", CPU).name == "numba"
    assert kernels.get("auto", torch.device("meta")).name == "torch"
    assert kernels.get("torch", CPU).name == "torch"


def test_unknown_backends_and_wrong_devices_are_refused_in_a_line():
    with pytest.raises(ConfigurationError, match="unknown backend 'nunba'; did you mean 'numba'"):
        kernels.get("nunba", CPU)
    with pytest.raises(ConfigurationError, match="runs on a CPU, not on meta"):
        kernels.get("numba", torch.device("meta"))


def test_warming_up_a_second_time_is_quick():
    kernels.warm_up()
    assert kernels.warm_up() < 1.0


@pytest.mark.parametrize("compiled", [False, True], ids=["torch", "compiled"])
@pytest.mark.parametrize("turned", [False, True], ids=["contiguous", "turned"])
@pytest.mark.parametrize("pulled", [False, True], ids=["free", "pulled"])
def test_draw_back_adds_a_pull_towards_the_anchor(pulled, turned, compiled):
    rng = np.random.default_rng(0)
    whole = rng.integers(-9, 9, (5, 37, 11)).astype(np.float32)  # small integers: sums are exact
    grad, curvature, weight, anchor, offset = torch.from_numpy(whole)
    wanted = grad + curvature * (weight - anchor) + (offset if pulled else 0)
    others = curvature.clone(), weight.clone(), anchor.clone(), offset.clone()
    tensors = [grad, curvature, weight, anchor, *([offset] if pulled else [])]
    tensors = [tensor.T if turned else tensor for tensor in tensors]
    kernels.add_quadratic_gradient(*tensors, compiled=compiled)
    assert torch.equal(grad, wanted)
    assert all(map(torch.equal, others, (curvature, weight, anchor, offset)))


def test_draw_back_leaves_other_shapes_and_kinds_to_torch():
    grad = torch.zeros(4)
    one, weight = torch.ones(1), torch.ones(4, requires_grad=True)
    kernels.add_quadratic_gradient(grad, one, weight, torch.zeros(4), compiled=True)
    assert torch.equal(grad, torch.ones(4))
    assert not grad.requires_grad
    half = torch.ones(4, dtype=torch.float16)
    kernels.add_quadratic_gradient(
        half, half.clone(), half.clone(), torch.zeros_like(half), compiled=True
    )
    assert torch.equal(half, torch.full_like(half, 2))


@pytest.mark.parametrize("threads", [1, 2])
def test_numba_leaves_torchs_number_of_threads_as_it_is(threads):
    """Both may use the same OpenMP, whose number of threads numba sets when it starts its own."""
    code = f"""
import torch
torch.set_num_threads({threads})
from sffa import Network
Network(4, hidden=(20,), k=3, classes=range(2), backend="numba").scores(torch.ones(3, 4))
print(torch.get_num_threads())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(threads)]
