"""Products agree with torch's, whichever library makes them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import sffa
from sffa.kernels import products
from sffa.kernels.products import linear, product

ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


@pytest.fixture(params=["torch", "oneDNN"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "oneDNN" and not ONEDNN:
        pytest.skip("this torch has no oneDNN")
    monkeypatch.setattr(products, "wide_only_in_onednn", lambda: request.param == "oneDNN")
    return str(request.param)


def matrices(rows: int, inner: int, columns: int) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(rows)
    return torch.randn(rows, inner, generator=rng), torch.randn(inner, columns, generator=rng)


def assert_near(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-4)


SIZES = [(64, 300, 400), (1, 1400, 1600), (16, 784, 200), (5000, 17, 31), (3, 4, 5)]


@pytest.mark.parametrize("size", SIZES)
def test_a_product_is_that_of_the_numbers(library: str, size: tuple[int, int, int]) -> None:
    left, right = matrices(*size)
    wanted = left.double() @ right.double()
    assert_near(product(left, right), wanted)
    out = torch.full_like(wanted, torch.nan, dtype=torch.float32)
    assert product(left, right, out=out) is out
    assert_near(out, wanted)


def test_views_are_multiplied_as_they_are_seen(library: str) -> None:
    left, right = matrices(300, 300, 300)
    wide = torch.randn(300, 900)
    for a, b in ((left.t(), right), (left, right.t()), (left.t(), right.t()), (left, wide[:, ::3])):
        assert_near(product(a, b), a.double() @ b.double())
    assert_near(product(left[::2], right), left[::2].double() @ right.double())


@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_are_those_of_torchs_linear(library: str, transposed: bool) -> None:
    x, weight = matrices(128, 256, 256)
    weight = weight.t() if transposed else weight
    given = [x, weight, torch.ones(256)]
    found = torch.autograd.functional.vjp(linear, tuple(given), torch.ones(128, 256))[1]
    wanted = torch.autograd.functional.vjp(
        F.linear, tuple(t.double() for t in given), torch.ones(128, 256).double()
    )[1]
    for mine, its in zip(found, wanted, strict=True):
        assert_near(mine, its)


def test_only_what_asks_for_a_gradient_gets_one(library: str) -> None:
    x, weight = matrices(128, 256, 256)
    weight.requires_grad_()
    product(x, weight).sum().backward()
    assert x.grad is None
    assert_near(weight.grad, x.double().sum(dim=0)[:, None].expand(256, 256))  # type: ignore[arg-type]
    assert weight.grad is not None
    assert weight.grad.is_contiguous()
    with torch.no_grad():
        assert not product(x, weight).requires_grad


def test_other_types_are_left_to_torch(library: str) -> None:
    left, right = matrices(64, 300, 400)
    assert product(left.double(), right.double()).dtype == torch.float64
    with pytest.raises(RuntimeError):
        product(left, right.t())


@pytest.mark.parametrize("algorithm", ["sffa", "ffa", "bp"])
def test_networks_learn_the_same_to_rounding(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not ONEDNN:
        pytest.skip("this torch has no oneDNN")
    rng = torch.Generator().manual_seed(0)
    x, y = torch.randn(256, 300, generator=rng), torch.arange(256) % 4

    def learned(wide: bool) -> tuple[Tensor, Tensor]:
        monkeypatch.setattr(products, "wide_only_in_onednn", lambda: wide)
        net = sffa.core.make(algorithm, 300, (400, 400), classes=range(4))
        trainer = sffa.Trainer(net, lr=1e-3, standardise=False)
        losses = torch.stack([trainer.step(x, y) for _ in range(3)])
        return losses, net.scores(x)

    for found, wanted in zip(learned(True), learned(False), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)
