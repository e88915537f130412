from __future__ import annotations

import pytest
from tests.study.conftest import TINY, tiny

from sffa.errors import ConfigurationError
from sffa.study import parse


def test_the_hash_ignores_the_seed_and_nothing_else() -> None:
    first = tiny()
    assert tiny(seed=7).key.config_hash == first.key.config_hash
    assert tiny(seed=7).key != first.key
    changes = {
        "epochs": 3,
        "lr": 1e-2,
        "hidden": [42],
        "network": {"k": 6},
        "holdout": 100,
        "negatives": "hard",
        "schedule": "greedy",
        "backend": "numba",
        "batch_size": 128,
        "dataset": "mnist",
        "algorithm": "ffa",
    }
    hashes = {
        tiny(**{"network": {}, name: value}).key.config_hash for name, value in changes.items()
    }
    assert len(hashes) == len(changes)
    assert first.key.config_hash not in hashes


def test_the_order_of_keys_does_not_matter() -> None:
    turned = dict(reversed(list(TINY.items())))
    assert parse(turned).key == parse(TINY).key


def test_the_configuration_is_complete() -> None:
    given = parse({"scenario": "class"}).values
    assert given["epochs"] == 2
    assert given["hidden"] == [1400, 1400]
    assert parse(given).key == parse({"scenario": "class"}).key


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        ({"scenario": "static", "epoch": 1}, "'epochs'"),
        ({"scenario": "statik"}, "'static'"),
        ({"scenario": "static", "algorithm": "sfffa"}, "'sffa'"),
        ({"scenario": "static", "network": {"gates": 1}}, "'gate'"),
        ({"scenario": "class", "methods": "ewc"}, "'method'"),
        ({"scenario": "class", "method": "replai"}, "'replay'"),
    ],
)
def test_an_unknown_name_is_an_error_that_names_its_nearest_neighbour(
    values: dict[str, object], hint: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"did you mean {hint}"):
        parse(values)


def test_back_propagation_has_no_negatives_and_the_others_need_some() -> None:
    assert tiny(algorithm="bp", network={}).method == "none"
    assert tiny().method == "uniform"
    with pytest.raises(ConfigurationError, match="does not go with"):
        tiny(algorithm="bp", network={}, negatives="hard")
    with pytest.raises(ConfigurationError, match="does not go with"):
        tiny(negatives="none")
