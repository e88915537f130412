"""How weights are drawn: by all inputs together as in the paper, or block by block."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sffa import Network, Trainer

HIDDEN = (400, 300)


@pytest.mark.parametrize("inputs", [2, 30, 784])
@pytest.mark.parametrize("algorithm", ["sffa", "ffa"])
def test_with_block_the_images_part_of_a_drive_has_a_deviation_of_three(inputs, algorithm):
    net = Network(inputs, HIDDEN, algorithm, range(3), init="block", seed=1)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(500, inputs))).float()
    for layer in net.layers:
        assert float((x @ layer.image.detach()).std()) == pytest.approx(3.0, rel=0.1)
        assert float(layer.bias.detach().abs().max()) == pytest.approx(3.0, rel=0.05)


def test_with_block_no_part_depends_on_the_size_of_another():
    narrow = Network(2, HIDDEN, classes=range(3), init="block")
    wide = Network(784, HIDDEN, classes=range(3), init="block")
    for name in ("code", "latent", "bias"):
        one, other = (getattr(net.layers[1], name).detach().abs().max() for net in (narrow, wide))
        assert float(one) == pytest.approx(float(other), rel=0.01)


def test_joint_is_the_default_and_has_one_bound_for_all_blocks():
    net = Network(20, HIDDEN, classes=range(3))
    for layer, inputs in zip(net.layers, (120, 520), strict=True):
        for parameter in layer.parameters():
            assert float(parameter.detach().abs().max()) == pytest.approx(inputs**-0.5, rel=0.05)


def test_what_grows_is_drawn_by_block_too():
    net = Network(9, (60, 60), k=5, gate="disjoint", classes=range(3), codes="onehot", init="block")
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(100)  # as training might: new weights take no measure from old ones
    old = net.layers[0].width // 2
    net.add_classes([3, 4])
    first = net.layers[0]
    assert first.width // 2 > old
    fresh = first.image.detach()[:, old : first.width // 2]
    assert float(fresh.abs().max()) <= 3.0 * (3 / 9) ** 0.5
    assert float(first.code.detach()[3:].abs().max()) <= 1
    net.deepen(80)
    assert float(net.layers[2].bias.detach().abs().max()) == pytest.approx(3.0, rel=0.1)


def test_two_features_are_enough_to_learn_a_circle():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.5, 1.5, (900, 2)).astype(np.float32)
    y = (np.hypot(*x.T) < 0.8).astype(np.int64)
    net = Network(2, (100, 100), classes=(0, 1), init="block", objective="contrast")
    Trainer(net, lr=3e-3).fit(x[:600], y[:600], epochs=20, batch_size=64)
    assert (net.predict(x[600:]) == y[600:]).mean() > 0.93
