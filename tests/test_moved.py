"""Names of the first edition: the very same modules and classes, one warning each."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from sffa import moved
from sffa.continual.strategies.base import Strategy
from sffa.continual.strategies.ewc import EWC
from sffa.errors import ConfigurationError
from sffa.extension import import_class


def in_a_fresh_interpreter(code: str, *flags: str) -> object:
    done = subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_new_name_of_a_module_exists():
    for new in moved.MODULES.values():
        assert importlib.util.find_spec(new) is not None, new
    assert not set(moved.MODULES) & set(moved.MODULES.values())


EVERY = """
import importlib, json, sys, warnings
warnings.simplefilter("always")
import sffa.moved as moved
wrong = []
for old, new in moved.MODULES.items():
    if "avalanche" in old or "tensorboard" in old or "onnx" in old:
        continue
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = importlib.import_module(old)
        importlib.import_module(old)
    messages = [str(one.message) for one in told if one.category is FutureWarning]
    ours = [message for message in messages if "sffa" in message]
    if found is not importlib.import_module(new) or found.__name__ != new:
        wrong.append(old)
    if found.__spec__.name != new or len(ours) > 1:
        wrong.append([old, found.__spec__.name, ours])
    for before, now in moved.NAMES.get(old, {}).items():
        if getattr(found, before) is not getattr(found, now):
            wrong.append([old, before])
print(json.dumps(wrong))
"""


def test_every_old_name_imports_the_new_module_itself():
    assert in_a_fresh_interpreter(EVERY) == []


def test_a_class_imported_or_unpickled_by_its_old_name_is_the_same_class():
    code = """
import json, pickle, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("default")
    loaded = pickle.loads(b"csffa.adapters.sklearn\\nSFFAClassifier\\n.")
    from sffa.adapters.sklearn import SFFAClassifier as old
    from sffa.adapters.lifelong import Lifelong
from sffa.integrations.sklearn import SFFAClassifier as new
from sffa.integrations.incremental import Incremental
print(json.dumps([old is new, loaded is new, Lifelong is Incremental,
                  [str(one.message).split(";")[0] for one in told]]))
"""
    assert in_a_fresh_interpreter(code) == [
        True,
        True,
        True,
        [
            "sffa.adapters is now sffa.integrations",
            "sffa.adapters.lifelong is now sffa.integrations.incremental",
        ],
    ]


def test_importing_by_the_new_names_warns_of_nothing():
    code = "import sffa, sffa.continual, sffa.study, sffa.data; print('true')"
    assert in_a_fresh_interpreter(code, "-W", "error::FutureWarning") is True


def test_a_module_that_never_was_is_still_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("sffa.continual.ewcc")


def test_an_old_reference_means_the_same_class_and_says_so():
    sys.modules.pop("sffa.continual.ewc", None)
    with pytest.warns(FutureWarning, match=r"now sffa\.continual\.strategies\.ewc"):
        assert import_class("sffa.continual.ewc:EWC", Strategy) is EWC
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert import_class("sffa.continual.ewc:EWC", Strategy) is EWC


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise RuntimeError('two\\nlines')", "fails when imported: RuntimeError: two lines"),
        ("def f(:\n", "fails when imported: SyntaxError"),
        ("import no_such_module", "cannot import 'broken': No module named 'no_such_module'"),
        ("x = 1", "has no Strategy named 'Mine'"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(tmp_path: Path, monkeypatch, text, says):
    (tmp_path / "broken.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    with pytest.raises(ConfigurationError) as raised:
        import_class("broken:Mine", Strategy)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
