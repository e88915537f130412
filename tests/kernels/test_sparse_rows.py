"""Products that go through what is awake, against torch's of the whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

import sffa
from sffa.kernels import sparse_rows as module
from sffa.kernels.dense import Awake
from sffa.kernels.sparse_rows import SparseRows, product, sparse_rows, transposed

ROWS, WIDTH = 300, 250


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """With more of them torch's product is preferred sooner."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _mostly_zero() -> Tensor:
    value = (_draw(ROWS, WIDTH, seed=0) - 1).relu()
    value[3], value[:, 5] = 0, 0  # an example that wakes nobody, a neuron nobody wakes
    return value


def _found(value: Tensor) -> SparseRows:
    rows = sparse_rows(value)
    assert rows is not None
    return rows


@pytest.mark.parametrize("width", [1, 63, 64, 127, 128, 129, 200, 256])
def test_products_are_those_of_the_whole_matrix_whatever_its_width(width: int) -> None:
    value, rows = _mostly_zero(), _found(_mostly_zero())
    weight, other = _draw(WIDTH, width, seed=1), _draw(ROWS, width, seed=2)
    torch.testing.assert_close(product(rows, weight), value @ weight, rtol=1e-5, atol=1e-5)
    ours = product(transposed(rows), other)
    torch.testing.assert_close(ours, value.t() @ other, rtol=1e-5, atol=1e-5)
    strided = _draw(width, WIDTH, seed=3).t()
    torch.testing.assert_close(product(rows, strided), value @ strided, rtol=1e-5, atol=1e-5)


def test_a_matrix_goes_as_it_is_where_much_is_awake_or_little_to_gain() -> None:
    value = _mostly_zero()
    assert sparse_rows(value + 1) is None
    assert sparse_rows(value[:20]) is None
    assert sparse_rows(value.double()) is None
    assert sparse_rows(value.t()) is None
    assert Awake(value, None).rows is None
    assert Awake(value, None, compiled=True).rows is not None


def test_a_matrix_that_does_not_fit_is_refused_and_not_read_as_something_else() -> None:
    rows = _found(_mostly_zero())
    for weight in (torch.zeros(WIDTH - 1, 130), torch.zeros(WIDTH, 130, dtype=torch.float64)):
        with pytest.raises(ValueError, match=f"expected {WIDTH} rows of float32"):
            product(rows, weight)


def test_the_default_type_of_new_tensors_does_not_matter() -> None:
    value, weight = _mostly_zero(), _draw(WIDTH, 130, seed=1)
    expected = product(_found(value), weight)
    torch.set_default_dtype(torch.float64)
    try:
        torch.testing.assert_close(product(_found(value), weight), expected)
    finally:
        torch.set_default_dtype(torch.float32)


def _network(backend: str, silent: int) -> sffa.Network:
    net = sffa.Network(20, (WIDTH, 130), algorithm="ffa", classes=range(3), backend=backend)
    with torch.no_grad():
        net.layers[0].bias -= 0.5
        net.layers[0].bias[:silent] -= 100
    return net


@pytest.mark.parametrize("silent", [0, 80])
@pytest.mark.parametrize("graph", [False, True])
def test_ffa_learns_the_same_under_both_backends_once_most_of_it_is_silent(
    silent: int, graph: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where some neurons are left out for all examples."""
    asked: list[int] = []

    def counted(rows: SparseRows, weight: Tensor) -> Tensor:
        asked.append(len(weight))
        return product(rows, weight)

    monkeypatch.setattr(module, "product", counted)
    monkeypatch.setattr(module, "LEAST", 1)
    x, y = _draw(4 * ROWS, 20, seed=4), torch.arange(4 * ROWS) % 3
    gradients, scores = {}, {}
    for backend in ("torch", "numba"):
        asked.clear()
        net = _network(backend, silent)
        if graph:
            net.loss(x, y).backward()
        else:
            net.backward(x, y)
        assert bool(asked) == (backend == "numba")
        gradients[backend] = {name: p.grad for name, p in net.named_parameters()}
        scores[backend] = net.scores(x)
    torch.testing.assert_close(scores["numba"], scores["torch"], rtol=1e-4, atol=1e-4)
    for name, expected in gradients["torch"].items():
        assert expected is not None
        bound = 1e-5 * float(expected.abs().max())
        torch.testing.assert_close(
            gradients["numba"][name], expected, rtol=1e-4, atol=bound, msg=name
        )
