"""A model card: what a trained model is, on what and how it was trained, and what it reaches.

The form is that of the Hugging Face hub: Markdown below a head of YAML, which is written as JSON,
a part of YAML. Every number is from the record or measured here; where the data lie is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sffa.core import Learner, accuracy
from sffa.data import Dataset
from sffa.data.origins import Origin
from sffa.data.registry import lookup
from sffa.extension import reference_to, references
from sffa.record import Record
from sffa.report.markdown import as_markdown, words
from sffa.report.sections import Section, TextTable
from sffa.vocabulary import name_of

PAPER = "https://arxiv.org/abs/2409.07387"
UNKNOWN = "unknown"
_NAMED = 30  # classes that a card lists
_SAID_ELSEWHERE = ("dataset", "scenario")


def model_card(
    learner: Learner,
    data: Dataset,
    record: Record | None = None,
    *,
    model: str = "model.safetensors",
    license: str = UNKNOWN,
) -> str:
    """Return the card of a learner that was trained on ``data``, in the form of the hub.

    ``record`` is that of the training, from which accuracy, settings and versions are taken;
    without one the accuracy on the test split is measured now. ``model`` is the name of the file
    that the card tells how to load, ``license`` an identifier of the hub, such as ``apache-2.0``.

    >>> import sffa
    >>> from sffa.data import load
    >>> digits = load("digits")
    >>> net = sffa.Network(digits.features, hidden=(40,), k=5, classes=range(10))
    >>> print(model_card(net, digits, license="apache-2.0").splitlines()[1])
    license: "apache-2.0"
    """
    name = _plain(model).removesuffix(".safetensors") or "model"
    measured = _measured(learner, data, record)
    sections = [
        Section("", [_summary(learner, data, record)]),
        Section("Load it", [_loading(_plain(model), learner, data)]),
        Section("What it reaches", [*_reached(data, record, measured)]),
        Section("Training", [*_training(learner, record)]),
        Section("Data", [*_notes(data)]),
        Section("Limits", [_limits(data, record)]),
        Section("Cite", [_citation()]),
    ]
    head = _head(name, data, record, measured, _plain(license) or UNKNOWN)
    return f"---\n{head}---\n\n{as_markdown(name, sections)}"


def _measured(learner: Learner, data: Dataset, record: Record | None) -> float | None:
    """Return the accuracy in percent of the learner as it is, so not that of a selected epoch."""
    if record is None:
        return round(accuracy(learner, data.test.flat, data.test.y)[0], 2)
    found = record.metrics.get("last" if record.static else "acc")
    return None if found is None else round(found, 2)


def _head(
    name: str, data: Dataset, record: Record | None, measured: float | None, license: str
) -> str:
    task = "image-classification" if len(data.shape) > 1 else "tabular-classification"
    continual = record is not None and not record.static
    origin = _origin(data)
    hub = origin.hub if origin else ""
    head: dict[str, Any] = {"license": license, "library_name": "sffa", "pipeline_tag": task}
    head["tags"] = ["sffa", "forward-forward", *(["continual-learning"] if continual else [])]
    head |= {"datasets": [hub]} if hub else {}
    if measured is not None:
        known = {"name": _plain(data.name), "type": hub or _plain(data.name), "split": "test"}
        reached = {"type": "accuracy", "name": _metric(record), "value": measured}
        result = {"task": {"type": task}, "dataset": known, "metrics": [reached]}
        head |= {"metrics": ["accuracy"], "model-index": [{"name": name, "results": [result]}]}
    return "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in head.items()
    )


def _metric(record: Record | None) -> str:
    if record is None or record.static:
        return "Test accuracy, %"
    return f"Mean test accuracy of all experiences, {name_of(record.scenario)}, %"


def _summary(learner: Learner, data: Dataset, record: Record | None) -> str:
    kind = type(learner).__name__ if record is None else name_of(record.algorithm)
    weights = sum(each.numel() for each in learner.parameters())
    how = "all classes at once"
    if record is not None and not record.static:
        how = f"as a stream ({name_of(record.scenario)}, {name_of(record.method)})"
    return (
        f"{words(kind)} with {weights:,} weights, for the {len(learner.classes)} classes of "
        f"{words(_title(data))}, learned {words(how)} with sffa, the library of the "
        f"[Symmetric Forward-Forward Algorithm]({PAPER})."
    )


def _loading(model: str, learner: Learner, data: Dataset) -> str:
    shape = " × ".join(map(str, data.shape))
    needed = "".join(f"import {module}  # {names}\n" for module, names in _needed(learner).items())
    return (
        f"```python\nimport sffa\n{needed}\n"
        f"learner = sffa.load({json.dumps(model, ensure_ascii=False)})\n"
        f"learner.predict(x)  # x: (n, {data.features}), numbers as in training\n```\n\n"
        f"An example is {shape} values, {data.train.x.dtype}; bytes are divided by 255, and mean "
        "and deviation of the training data are part of the model. Loading runs no code of the "
        "file."
    )


def _needed(learner: Learner) -> dict[str, str]:
    """Return the modules that must be imported before the file is read, and what it needs there."""
    names = references(learner.config.model_dump(mode="json"))
    kind = type(learner)
    if not kind.__module__.startswith("sffa."):
        names = [reference_to(kind), *names]
    found: dict[str, list[str]] = {}
    for name in names:
        module, _, attribute = name.partition(":")
        found.setdefault(_plain(module), []).append(_plain(attribute))
    return {module: f"has {', '.join(classes)}" for module, classes in found.items()}


def _reached(data: Dataset, record: Record | None, measured: float | None) -> Iterable[Any]:
    if measured is None:
        yield "Nothing was measured."
        return
    seed = "" if record is None else f" One run, seed {record.seed}."
    yield f"{_metric(record)}: **{measured:.2f}** ({len(data.test):,} examples).{seed}"


def _training(learner: Learner, record: Record | None) -> Iterable[Any]:
    if record is None:
        values = learner.config.model_dump(mode="json")
        yield "The learner's settings; those of its training are not known here."
    else:
        values = {k: v for k, v in record.config.items() if k not in _SAID_ELSEWHERE}
        yield "Settings, all of them, with the seed:"
    yield TextTable(
        ("setting", "value"),
        [(str(k), json.dumps(v, ensure_ascii=False)) for k, v in values.items()],
    )
    if record is not None:
        yield _made_with(record)


def _made_with(record: Record) -> str:
    about, libraries = record.environment, record.environment.get("libraries") or {}
    parts = [f"sffa {record.version}" if record.version else ""]
    parts += [f"commit {about['commit']}" if about.get("commit") else ""]
    parts += [f"Python {about['python']}" if about.get("python") else ""]
    parts += [f"torch {libraries['torch']}" if libraries.get("torch") else ""]
    said = [words(part) for part in parts if part]
    return f"Made with {', '.join(said)}." if said else "Versions were not recorded."


def _notes(data: Dataset) -> Iterable[Any]:
    """Yield the notes on the dataset: origin, terms, size, and how its content is known."""
    named = ", ".join(data.class_names[:_NAMED])
    more = len(data.class_names) - _NAMED
    rows = [("name", _title(data))]
    if origin := _origin(data):
        rows += [("origin", origin.title), ("by", origin.makers)]
        rows += [("terms", origin.terms), ("page", origin.link)]
    else:
        rows += [("origin, terms", "not known to sffa: say them here before you publish the model")]
    rows += [
        ("examples", f"{len(data.train):,} to train, {len(data.test):,} to test"),
        ("example", f"{' × '.join(map(str, data.shape))}, {data.train.x.dtype}"),
        ("classes", f"{named} and {more} more" if more > 0 else named),
        ("verified by", data.verified or "nothing: no published sum is known"),
        ("CRC-32 of all arrays", f"{data.checksum:08x}"),
    ]
    yield TextTable(("", ""), rows)


def _limits(data: Dataset, record: Record | None) -> str:
    held = None if record is None else record.config.get("holdout")
    said = [
        "It answers with one of its classes whatever it is shown.",
        "Nothing was measured on other data than the test split: no other writers, cameras or "
        "times, no damaged input.",
        "Scores rank labels; they are no calibrated probabilities (`sffa analyze calibration`).",
    ]
    if record is not None:
        said.append("One seed says nothing of the spread over seeds.")
    if held:
        said.append(f"Held out of the training examples: {held}; the file holds the last epoch.")
    elif record is not None:
        said.append(
            "No training example was held out: settings that were compared by the accuracy above "
            "were chosen on the test split."
        )
    return "\n".join(f"- {each}" for each in said)


def _citation() -> str:
    return (
        "E. B. Terres-Escudero, J. Del Ser, P. Garcia-Bringas: *A Contrastive Symmetric "
        f"Forward-Forward Algorithm (SFFA) for Continual Learning Tasks*. [{PAPER}]({PAPER})"
    )


def _origin(data: Dataset) -> Origin | None:
    """Return who made a dataset of the registry; data of the user's own may have its name."""
    return lookup(data.name).origin if data.verified else None


def _title(data: Dataset) -> str:
    return name_of(data.name) if data.verified else data.name


def _plain(text: str) -> str:
    """Return text as one line of printable characters, which JSON and YAML read alike."""
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))
