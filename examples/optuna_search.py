"""Search a step size with Optuna: by held-out accuracy, with pruning, trials beside records.

python examples/optuna_search.py search      # then: sffa report search
"""

import json
import sys
from pathlib import Path

import optuna

from sffa.core import Callback
from sffa.data import load
from sffa.study import StaticConfig, run_static

START = 4  # trials drawn at random, before any is pruned or suggested


class Prune(Callback):
    """Ends a trial whose held-out accuracy is below the median of the others' at that epoch."""

    def __init__(self, trial):
        self.trial = trial

    def on_epoch_end(self, progress, epoch):
        """Report an epoch to Optuna."""
        self.trial.report(epoch.accuracy["validation"], epoch.number)
        if self.trial.should_prune():
            raise optuna.TrialPruned


def search(out: Path, trials: int = 12, epochs: int = 4) -> optuna.Study:
    """Search, keep a record for each finished trial in ``out``, and return the study."""
    data = load("digits")
    out.mkdir(parents=True, exist_ok=True)

    def objective(trial):
        size = {"hidden": (60, 60), "network": {"k": 5}, "batch_size": 64, "epochs": epochs}
        lr = trial.suggest_float("lr", 1e-5, 3e-2, log=True)
        config = StaticConfig(dataset="digits", negatives="all", holdout=300, lr=lr, **size)
        record = run_static(config, data, callbacks=[Prune(trial)])
        (out / f"trial-{trial.number}.json").write_text(json.dumps(record.to_json()))
        return max(point["validation"] for point in record.details["curve"])

    study = optuna.create_study(
        direction="maximize",
        study_name="lr",
        storage=f"sqlite:///{out / 'trials.db'}",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=START),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=START),
    )
    study.optimize(objective, n_trials=trials)
    return study


if __name__ == "__main__":
    found = search(Path(sys.argv[1] if len(sys.argv) > 1 else "search"))
    worst = min(trial.value for trial in found.trials[:START])
    pruned = sum(trial.state.name == "PRUNED" for trial in found.trials)
    print(f"held-out accuracy {found.best_value:.2f} % with lr {found.best_params['lr']:.2g}")
    print(f"worst of the start {worst:.2f} %; {pruned} of {len(found.trials)} trials pruned")
