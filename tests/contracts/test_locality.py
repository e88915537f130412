"""No gradient crosses a layer, checked by autograd; and what symmetry promises of the scores."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contracts.learners import FORWARD, learner, snapshot, trainer

from sffa import Backprop, Network
from sffa.core import Callback
from sffa.core.goodness import SymmetricGoodness
from sffa.core.negatives import KINDS
from sffa.core.objective import layer_loss
from sffa.kernels import Winners


def layer_losses(net: Network, x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    candidates = net.candidates(len(x), None)
    target = candidates == net.columns(y)[:, None]
    return [
        layer_loss(net.config, layer.goodness, response, target, candidates >= 0).total
        for layer, response in zip(net.layers, net.scan(x, candidates), strict=True)
    ]


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("algorithm", FORWARD)
def test_a_layers_loss_has_no_gradient_in_any_other_layer(algorithm, backend, digits):
    x, y = digits[0][:20], digits[1][:20]
    net = learner(algorithm, hidden=(100, 120, 100), backend=backend)
    for number, loss in enumerate(layer_losses(net, x, y)):
        for other, layer in enumerate(net.layers):
            gradients = torch.autograd.grad(
                loss, list(layer.parameters()), retain_graph=True, allow_unused=True
            )
            if number == other:
                assert all(g is not None and bool(g.any()) for g in gradients)
            else:
                assert all(g is None for g in gradients)


@pytest.mark.parametrize("algorithm", FORWARD)
def test_a_layer_learns_the_same_whether_or_not_layers_above_learn_too(algorithm, digits):
    x, y = digits[0][:20], digits[1][:20]
    together, alone = learner(algorithm), learner(algorithm)
    together.loss(x, y).backward()
    alone.loss(x, y, layer=0).backward()
    for one, other in zip(
        together.layers[0].parameters(), alone.layers[0].parameters(), strict=True
    ):
        assert torch.equal(one.grad, other.grad)
    assert all(p.grad is None for p in alone.layers[1].parameters())


@pytest.mark.parametrize("algorithm", FORWARD)
def test_the_loss_of_a_layer_does_depend_on_the_layer_below(algorithm, digits):
    """Without this the two promises above would be empty."""
    x, y = digits[0][:20], digits[1][:20]
    net = learner(algorithm)
    before = layer_losses(net, x, y)[1].item()
    with torch.no_grad():
        net.layers[0].image.add_(torch.linspace(-0.5, 0.5, 100))
    assert layer_losses(net, x, y)[1].item() != before


def test_coupled_losses_still_send_no_gradient_through_the_latents(digits):
    x, y = digits[0][:20], digits[1][:20]
    net = learner("sffa", coupling="product")
    for response in net.scan(x, net.candidates(len(x), None)):
        assert isinstance(response.latent, Winners)
        assert not response.latent.value.requires_grad
    net.loss(x, y).backward()
    assert all(bool(p.grad.any()) for p in net.parameters())


ORDER = [3, 7, 0, 9, 1, 4, 8, 2, 6, 5]


@pytest.mark.parametrize("algorithm", ["sffa", "ffa", "sffa-gated"])
def test_permuting_the_labels_permutes_the_scores(algorithm, digits):
    """A label's code and gate are drawn for the label: they go where it goes."""
    x = digits[0][:30]
    plain, permuted = learner(algorithm), learner(algorithm, classes=ORDER)
    torch.testing.assert_close(permuted.scores(x), plain.scores(x)[:, ORDER], rtol=1e-6, atol=1e-7)
    assert torch.equal(permuted.predict(x), plain.predict(x))


@pytest.mark.parametrize("algorithm", ["onehot", "disjoint", "bp"])
def test_where_columns_decide_a_label_is_only_a_name(algorithm, digits):
    x = digits[0][:30]
    options = {"codes": "onehot"} if algorithm == "disjoint" else {}
    plain, renamed = (learner(algorithm, classes=c, **options) for c in (range(10), ORDER))
    assert torch.equal(renamed.scores(x), plain.scores(x))
    assert torch.equal(renamed.predict(x), torch.tensor(ORDER)[plain.predict(x)])


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("algorithm", FORWARD)
def test_permuted_candidates_get_the_permuted_answers(algorithm, backend, digits):
    x = digits[0][:12]
    net = learner(algorithm, backend=backend)
    order = torch.stack(
        [torch.randperm(10, generator=torch.Generator().manual_seed(b)) for b in range(12)]
    )
    straight = net.scan(x, torch.arange(10).expand(12, 10))
    for one, other in zip(straight, net.scan(x, order), strict=True):
        for mine, theirs in zip(one.energies, other.energies, strict=True):
            torch.testing.assert_close(mine.gather(1, order), theirs, rtol=1e-6, atol=1e-7)


@settings(max_examples=200)
@given(st.floats(0, 1e6, width=32), st.floats(0, 1e6, width=32))
def test_swapping_the_polarities_turns_p_into_one_minus_p(e, i):
    goodness = SymmetricGoodness(epsilon=1e-9, clamp=1e-4)
    pair = torch.tensor(e), torch.tensor(i)
    for p in (goodness.score, goodness.probability):
        assert (p(pair) + p(pair[::-1])).item() == pytest.approx(1, abs=2e-7)
    truth = torch.tensor(True)
    assert torch.equal(goodness.bce(pair, truth), goodness.bce(pair[::-1], ~truth))


def test_a_network_at_rest_is_undecided():
    goodness = SymmetricGoodness(epsilon=1e-9, clamp=1e-4)
    assert goodness.score((torch.zeros(()), torch.zeros(()))).item() == 0.5


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("algorithm", ["sffa", "sffa-gated", "disjoint"])
def test_exactly_k_neurons_of_each_half_win_and_all_are_the_labels_own(algorithm, backend, digits):
    net = learner(algorithm, backend=backend)
    candidates = net.candidates(10, None)
    for layer, response in zip(net.layers, net.scan(digits[0][:10], candidates), strict=True):
        index = response.active.index.long()
        assert index.shape == (10, 10, 10)
        counts = torch.zeros(10, 10, 100).scatter_add_(2, index, torch.ones(index.shape))
        assert counts.max() == 1
        assert torch.equal(counts[..., :50].sum(-1), torch.full((10, 10), 5.0))
        assert torch.equal(counts[..., 50:].sum(-1), torch.full((10, 10), 5.0))
        if layer.gate is not None:
            assert bool((counts <= layer.gate.mask(100).float()).all())


@pytest.mark.parametrize("norm", ["unit", "literal", "rms"])
def test_normalised_halves_have_the_power_they_should(norm, digits):
    net = learner("sffa", norm=norm)
    for response in net.scan(digits[0][:10], net.candidates(10, None)):
        energy = torch.stack(response.energies, dim=-1).detach()
        power = response.latent.value.view(10, 10, 2, 5).square().sum(-1)
        wanted = {"unit": torch.ones(()), "literal": 1 / energy, "rms": torch.tensor(50.0)}[norm]
        torch.testing.assert_close(power, wanted.expand_as(power), rtol=1e-5, atol=0)


def test_back_propagation_does_cross_layers(digits):
    net = Backprop(64, (20, 20), range(10))
    net.loss(*digits).backward()
    assert all(bool(p.grad.any()) for p in net.parameters())


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(
    ("algorithm", "backend"), [("ffa", "torch"), ("sffa", "torch"), ("sffa", "numba")]
)
def test_two_threads_give_the_same_gradients_every_time(algorithm, backend):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 64, generator=generator)
    y = torch.randint(10, (200,), generator=generator)
    net = learner(algorithm, hidden=(600, 600), backend=backend)
    gradients = []
    for _ in range(4):
        net.zero_grad()
        net.loss(x, y).backward()
        gradients.append([p.grad.clone() for p in net.parameters()])
    for other in gradients[1:]:
        assert all(torch.equal(a, b) for a, b in zip(gradients[0], other, strict=True))


@pytest.mark.parametrize("negatives", KINDS)
@pytest.mark.parametrize("algorithm", FORWARD)
def test_a_greedy_schedule_leaves_the_other_layers_alone(algorithm, negatives, digits):
    x, y = digits
    teacher = trainer(algorithm, negatives, "greedy")
    start = snapshot(teacher.learner)
    states = []

    class Keep(Callback):
        def on_epoch_end(self, progress, epoch):
            states.append(snapshot(progress.learner))

    teacher.fit(x[:80], y[:80], batch_size=40, callbacks=[Keep()])
    first, second = states

    def moved(before: dict, after: dict) -> set[str]:
        layers = [name for name in before if name.startswith("layers")]
        return {".".join(n.split(".")[:2]) for n in layers if not torch.equal(before[n], after[n])}

    assert moved(start, first) == {"layers.0"}
    assert moved(first, second) == {"layers.1"}
