from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sffa.cli.data import app
from sffa.data import idx, registry
from sffa.data.mirrors import Mirror
from sffa.errors import ConfigurationError, DataError, SFFAError

RUNNER = CliRunner()


@pytest.fixture
def known(web, toy, tmp_path: Path, monkeypatch) -> Path:
    """Add the toy dataset to the registry; give the directory."""
    toy.serve(web)
    monkeypatch.setitem(registry.REGISTRY, "toy", toy.entry(Mirror(web.base)))
    monkeypatch.setenv("SFFA_DATA_DIR", str(tmp_path))
    return tmp_path


def said(*words: str) -> str:
    result = RUNNER.invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_list_tells_what_is_here_and_how_it_is_verified(known: Path):
    before = {item["name"]: item for item in json.loads(said("list", "--json"))}
    assert list(before)[:2] == ["digits", "mnist"]
    assert before["digits"]["status"] == "present"
    assert before["toy"]["status"] == "absent"
    assert before["cifar10"]["verified_by"] == "sha256"
    assert "structure only (2 files)" in before["emnist-letters"]["verified_by"]
    assert (before["mnist"]["train"], before["mnist"]["shape"]) == (60_000, [28, 28])
    said("fetch", "toy")
    after = {item["name"]: item for item in json.loads(said("list", "--json"))}
    assert after["toy"]["status"] == "present"
    (known / "toy" / "train-images-idx3-ubyte.gz").unlink()
    assert "partial" in said("list")


def test_list_draws_a_table_with_every_name(known: Path):
    table = said("list")
    assert all(name in table for name in registry.names())
    assert "not KMNIST" in table


def test_fetch_tells_the_source_and_the_folder(known: Path):
    first = said("fetch", "toy", "digits")
    assert "toy: 127.0.0.1" in first
    assert "digits: scikit-learn" in first
    assert "already there" in said("fetch", "toy")


def test_fetch_replaces_a_bad_file_only_when_forced(known: Path, toy):
    idx.write(known / "toy" / "train-images-idx3-ubyte.gz", toy.arrays["t10k-images-idx3-ubyte"])
    with pytest.raises(DataError, match="--force"):
        said("fetch", "toy")
    said("fetch", "toy", "--force")
    assert json.loads(said("verify", "toy", "--json"))[0]["status"] == "sound"


def test_verify_names_what_is_damaged_and_fails(known: Path):
    said("fetch", "toy")
    assert "sound" in said("verify", "toy")
    path = known / "toy" / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-9])
    result = RUNNER.invoke(app, ["verify", "--json"])
    assert isinstance(result.exception, DataError)
    assert str(path) in str(result.exception)
    verdicts = {verdict["name"]: verdict["status"] for verdict in json.loads(result.stdout)}
    assert (verdicts["toy"], verdicts["digits"]) == ("damaged", "sound")


def test_verify_of_all_passes_over_what_is_absent_but_not_of_one_named(known: Path):
    assert "absent" in said("verify")
    result = RUNNER.invoke(app, ["verify", "toy"])
    assert isinstance(result.exception, DataError)
    assert "toy is absent" in str(result.exception)


def test_path_prints_the_directory_or_the_folder_of_one(known: Path, tmp_path: Path):
    assert said("path").strip() == str(known)
    assert said("path", "toy").strip() == str(known / "toy")
    assert said("path", "--data-dir", str(tmp_path / "x")).strip() == str(tmp_path / "x")


@pytest.mark.parametrize("command", ["fetch", "verify", "path"])
def test_an_unknown_name_is_an_error_with_the_nearest(command: str):
    result = RUNNER.invoke(app, [command, "fmnits"])
    assert isinstance(result.exception, SFFAError)
    assert isinstance(result.exception, ConfigurationError)
    assert "did you mean 'fmnist'" in str(result.exception)


def test_every_option_and_argument_has_help():
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), (name, parameter.name)
