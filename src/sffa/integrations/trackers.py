"""Trackers by name: CSV files, MLflow and TensorBoard, all in folders of one's own."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sffa.errors import ConfigurationError, nearest
from sffa.files import destination
from sffa.integrations.tracker import Tracker
from sffa.record import canonical

__all__ = ["CSVTracker", "MLflowTracker", "Tracker", "open_tracker"]


class CSVTracker(Tracker):
    """Appends a line ``step,name,value`` for every number; a file that is there goes on.

    Examples
    --------
    >>> import sffa, torch
    >>> from sffa.integrations.trackers import CSVTracker
    >>> net = sffa.Network(4, hidden=(40,), k=5)
    >>> x, y = torch.eye(4), torch.tensor([0, 0, 1, 1])
    >>> with CSVTracker("numbers.csv") as tracker:
    ...     _ = sffa.Trainer(net).fit(x, y, 2, watch={"test": (x, y)}, callbacks=[tracker])
    >>> tracker.path.read_text().splitlines()[0]
    'step,name,value'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = destination(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.exists()
        self._file = self.path.open("a", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        if new:
            self._writer.writerow(["step", "name", "value"])

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Append numbers; they are in the file when this returns."""
        self._writer.writerows([step, name, value] for name, value in values.items())
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class MLflowTracker(Tracker):
    """Keeps a run with MLflow's own client, in a local folder or wherever an address leads.

    Parameters
    ----------
    place
        A folder, or an address such as ``sqlite:///mlflow.db`` or that of a server.
    run
        Name of the run.
    experiment
        Name of the experiment, which is made if there is none.

    Examples
    --------
    >>> with MLflowTracker("mlruns") as tracker:  # doctest: +SKIP
    ...     tracker.scalars({"accuracy": 0.9}, step=1)
    """

    def __init__(
        self, place: str | os.PathLike[str], run: str = "run", experiment: str = "sffa"
    ) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        address = os.fspath(place)
        if "://" not in address:
            # MLflow asks for this word before it writes plain files, which need no database.
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
            address = Path(address).absolute().as_uri()
        try:
            from mlflow.tracking import MlflowClient
        except ImportError:
            raise ConfigurationError(
                "MLflow is not installed; pip install 'sffa[mlflow]'"
            ) from None
        self.client: Any = MlflowClient(tracking_uri=address)
        known = self.client.get_experiment_by_name(experiment)
        number = known.experiment_id if known else self.client.create_experiment(experiment)
        self.run_id: str = self.client.create_run(number, run_name=run).info.run_id

    def parameters(self, values: Mapping[str, Any]) -> None:
        """Keep settings, nested ones as JSON."""
        for name, value in values.items():
            text = value if isinstance(value, str) else canonical(value)
            self.client.log_param(self.run_id, name, text[:500])

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Keep numbers by name."""
        for name, value in values.items():
            self.client.log_metric(self.run_id, name, float(value), step=step)

    def close(self) -> None:
        """Mark the run as finished."""
        self.client.set_terminated(self.run_id)


def _tensorboard(place: str, run: str) -> Tracker:
    from sffa.integrations.tensorboard import Board

    return Board(Path(place) / run)


_KINDS: dict[str, Callable[[str, str], Tracker]] = {
    "csv": lambda place, run: CSVTracker(place),
    "mlflow": lambda place, run: MLflowTracker(place, run),
    "tensorboard": _tensorboard,
}


def open_tracker(text: str, run: str) -> Tracker:
    """Open a tracker named as ``kind:place``, such as ``mlflow:mlruns``, for a run of that name.

    >>> with open_tracker("csv:numbers.csv", "one run") as tracker:
    ...     type(tracker).__name__
    'CSVTracker'
    """
    kind, _, place = text.partition(":")
    if kind not in _KINDS or not place:
        hint = nearest(kind, list(_KINDS)) if kind not in _KINDS else ""
        raise ConfigurationError(
            f"--track takes kind:place, such as csv:numbers.csv, got '{text[:80]}'{hint} "
            f"(kinds: {', '.join(_KINDS)})"
        )
    return _KINDS[kind](place, run)
