"""Products that go through what is awake, against torch's of the whole."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import sffa
from sffa.kernels.dense import Awake
from sffa.kernels.sparse_rows import SparseRows, product, sparse_rows, transposed

ROWS, WIDTH = 300, 250


def _mostly_zero(seed: int = 0) -> Tensor:
    rng = torch.Generator().manual_seed(seed)
    value = torch.randn(ROWS, WIDTH, generator=rng) - 1
    value = value.relu()
    value[3], value[:, 5] = 0, 0  # an example that wakes nobody, a neuron nobody wakes
    return value


def _found(value: Tensor) -> SparseRows:
    rows = sparse_rows(value)
    assert rows is not None
    return rows


@pytest.mark.parametrize("width", [1, 63, 64, 127, 128, 129, 200, 256])
def test_products_are_those_of_the_whole_matrix_whatever_its_width(width: int) -> None:
    value, rng = _mostly_zero(), torch.Generator().manual_seed(1)
    rows = _found(value)
    weight, other = torch.randn(WIDTH, width, generator=rng), torch.randn(ROWS, width)
    torch.testing.assert_close(product(rows, weight), value @ weight, rtol=1e-5, atol=1e-5)
    ours = product(transposed(rows, WIDTH), other)
    torch.testing.assert_close(ours, value.t() @ other, rtol=1e-5, atol=1e-5)
    strided = torch.randn(width, WIDTH, generator=rng).t()
    torch.testing.assert_close(product(rows, strided), value @ strided, rtol=1e-5, atol=1e-5)


def test_a_matrix_goes_as_it_is_where_much_is_awake_or_little_to_gain() -> None:
    value = _mostly_zero()
    assert sparse_rows(value + 1) is None
    assert sparse_rows(value[:20]) is None
    assert sparse_rows(value.double()) is None
    assert sparse_rows(value.t()) is None
    assert Awake(value, None).rows is None
    assert Awake(value, None, compiled=True).rows is not None


def test_ffa_learns_the_same_under_both_backends_once_most_of_it_is_silent() -> None:
    rng = torch.Generator().manual_seed(2)
    x, y = torch.randn(ROWS, 20, generator=rng), torch.arange(ROWS) % 3
    gradients = {}
    for backend in ("torch", "numba"):
        net = sffa.Network(20, (WIDTH, 130), algorithm="ffa", classes=range(3), backend=backend)
        with torch.no_grad():
            net.layers[0].bias -= 0.5
        net.backward(x, y)
        gradients[backend] = {name: p.grad.clone() for name, p in net.named_parameters()}
        first = next(iter(net.scan(x, net.candidates(ROWS, None))))
        awake = (first.active > 0).float().mean()
        assert 0.01 < awake < 0.25
        assert all((each.rows is None) == (backend == "torch") for each in first.latent.latents)
    for name, expected in gradients["torch"].items():
        scale = float(expected.abs().max())
        torch.testing.assert_close(
            gradients["numba"][name], expected, rtol=1e-4, atol=1e-5 * scale, msg=name
        )
