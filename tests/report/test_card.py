"""Model cards: the hub can read them, every number is a measured one, and text stays text."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.report.cards import head, row
from tests.report.made import continual

import sffa
from sffa.core import Goodness, accuracy
from sffa.data import Dataset, from_arrays, load
from sffa.data.registry import REGISTRY
from sffa.record import Record
from sffa.report import model_card
from sffa.study.static import StaticConfig, train_static

HOSTILE = "x\"\n---\n| <script>alert(1)</script> [a](http://elsewhere) \u2028 \x7f: #' `"


def body(card: str) -> str:
    return card.split("\n---\n", 1)[1]


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits")


@pytest.fixture(scope="module")
def net(digits: Dataset) -> sffa.Network:
    return sffa.Network(digits.features, hidden=(40,), k=5, classes=range(10))


def test_without_a_record_the_accuracy_is_measured_and_no_seed_is_named(
    net: sffa.Network, digits: Dataset
) -> None:
    card = model_card(net, digits)
    found = accuracy(net, digits.test.flat, digits.test.y)[0]
    [result] = head(card)["model-index"][0]["results"]
    assert result["metrics"][0]["value"] == pytest.approx(found, abs=0.005)
    assert "seed 0" not in card
    assert head(card)["license"] == "unknown"


class Polar(Goodness):
    """The difference of the energies."""

    def log_odds(self, energies):
        return energies[0] - energies[1]


def test_a_file_that_needs_a_class_is_loaded_after_the_import_of_its_module(
    net: sffa.Network, digits: Dataset
) -> None:
    made = sffa.Network(64, hidden=(40,), k=5, classes=range(10), goodness=Polar)
    assert f"import sffa\nimport {__name__}  # has Polar\n" in model_card(made, digits)
    assert "# has" not in model_card(net, digits)


def test_a_record_without_a_number_makes_a_card_without_one(
    net: sffa.Network, digits: Dataset
) -> None:
    config = StaticConfig(dataset="digits", hidden=(40,), network={"k": 5}, epochs=1, holdout=0)
    record, learner = train_static(config, digits)
    card = model_card(learner, digits, replace(record, metrics={}))
    assert "model-index" not in head(card)
    assert "metrics" not in head(card)
    assert not re.search(r"\*\*[\d.]+\*\*", card)


def test_a_stream_s_card_names_its_scenario_and_mean(net: sffa.Network, digits: Dataset) -> None:
    record = Record.from_json(continual("split-digits", "task", "replay"))
    card = model_card(net, digits, record)
    [result] = head(card)["model-index"][0]["results"]
    assert result["metrics"][0]["value"] == pytest.approx(record.metrics["acc"], abs=0.005)
    assert "Task IL" in result["metrics"][0]["name"]
    assert "continual-learning" in head(card)["tags"]


def test_names_and_licences_of_users_stay_text(digits: Dataset) -> None:
    x = np.random.default_rng(0).random((40, 4), np.float32)
    data = from_arrays(x, np.where(np.arange(40) % 2, HOSTILE, "plain"), name=HOSTILE)
    net = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    card = model_card(net, data, model=f"{HOSTILE}.safetensors", license=HOSTILE)
    values = head(card)
    assert [*values] == [
        *("license", "library_name", "pipeline_tag", "tags", "metrics", "model-index")
    ]
    assert "<script>" in values["license"]
    text = re.sub(r"^```python\n.*?^```", "", body(card), flags=re.DOTALL | re.MULTILINE)
    assert "<script>" not in text
    assert "](http://elsewhere)" not in text.replace("\\](", "")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in table)
    compile(re.findall(r"^```python\n(.*?)^```", card, re.DOTALL | re.MULTILINE)[0], "card", "exec")


def test_the_notes_name_origin_terms_and_sums_of_a_known_dataset(
    net: sffa.Network, digits: Dataset
) -> None:
    card = model_card(net, digits)
    assert "Alpaydin" in row(card, "by")
    assert row(card, "verified by") == "part of scikit-learn"
    assert row(card, "CRC-32 of all arrays") == f"{digits.checksum:08x}"
    assert row(card, "examples") == "1,437 to train, 360 to test"


@pytest.mark.parametrize("name", REGISTRY)
def test_every_dataset_of_the_registry_has_makers_and_terms(name: str) -> None:
    origin = REGISTRY[name].origin
    assert origin is not None
    assert all((origin.title, origin.makers, origin.terms, origin.link))
