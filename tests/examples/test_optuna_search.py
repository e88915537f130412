"""The search with Optuna: better than the worst of its start, and all of it on disk."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from sffa.study import gather

EXAMPLE = Path(__file__).parents[2] / "examples" / "optuna_search.py"


def test_the_search_beats_the_worst_of_its_start_and_keeps_its_trials(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna", reason="optuna is not installed")
    spec = importlib.util.spec_from_file_location("optuna_search", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = example.search(tmp_path, trials=8, epochs=2)

    started = study.trials[: example.START]
    worst = min(started, key=lambda trial: trial.value)
    assert study.best_value > worst.value
    assert study.best_params["lr"] != worst.params["lr"]

    finished = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
    pruned = [trial for trial in study.trials if trial.state.name == "PRUNED"]
    assert len(finished) + len(pruned) == 8
    assert pruned, "nothing was pruned"
    assert {record.config["lr"] for record in gather([tmp_path])} == {
        trial.params["lr"] for trial in finished
    }
    again = optuna.load_study(study_name="lr", storage=f"sqlite:///{tmp_path / 'trials.db'}")
    assert again.best_params == study.best_params
