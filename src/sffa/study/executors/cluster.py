"""A Ray cluster: only the driver touches the store; workers take JSON and return JSON."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from sffa._version import __version__
from sffa.data.directory import VARIABLE
from sffa.record import Record
from sffa.study.configuration import Run
from sffa.study.errors import StudyError
from sffa.study.execute import execute_text
from sffa.study.executors.contract import Outcome, described
from sffa.study.threads import layout, variables

_PATIENCE = 5.0


class Cluster:
    """Do runs as Ray tasks, on an existing cluster or on a local one made for the occasion.

    Parameters
    ----------
    address
        ``host:port`` of the head node, ``ray://host:port``, or ``auto``; None starts Ray here.
    workers
        For a local Ray only: how many runs at once. A cluster takes as many as fit.
    threads
        Cores that one run asks for and uses.
    """

    name = "ray"

    def __init__(
        self, address: str | None = None, workers: int | None = None, threads: int | None = None
    ) -> None:
        try:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
            import ray
        except ImportError as error:
            raise StudyError("the ray executor needs Ray: pip install 'sffa[ray]'") from error
        self._ray: Any = ray
        self.threads = threads or 1
        self._under_way: dict[Any, Run] = {}
        self._connect(address, workers)
        self._task = self._ray.remote(execute_text).options(
            num_cpus=self.threads, max_retries=0, runtime_env={"env_vars": _environment(self)}
        )

    def _connect(self, address: str | None, workers: int | None) -> None:
        if address not in (None, "auto"):
            _knock(str(address))
        quiet = {"log_to_driver": False, "logging_level": "error"}
        try:
            if address is None:
                here = layout(workers, self.threads)
                self._ray.init(num_cpus=here.workers * here.threads, **quiet, address="local")
            else:
                self._ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise StudyError(
                f"no Ray cluster answers at {address or 'this machine'}: "
                f"{described(error)[0]}; start one with 'ray start --head', or leave --address out"
            ) from error

    def slots(self) -> int:
        """Return how many runs fit on the nodes that are up now."""
        return int(self._ray.cluster_resources().get("CPU", 0)) // self.threads

    def start(self, run: Run) -> None:
        """Hand the run to the cluster."""
        task = self._task.remote(json.dumps(run.values), self.threads, __version__)
        self._under_way[task] = run

    def wait(self, seconds: float) -> list[Outcome]:
        """Collect answers, errors, and deaths of workers and nodes."""
        if not self._under_way:
            return []
        ready, _ = self._ray.wait(
            list(self._under_way), num_returns=len(self._under_way), timeout=seconds
        )
        return [self._outcome(task, self._under_way.pop(task)) for task in ready]

    def _outcome(self, task: Any, run: Run) -> Outcome:
        try:
            return Outcome(run, Record.from_json(json.loads(self._ray.get(task))))
        except self._ray.exceptions.RayTaskError as error:
            line, _ = described(error.cause if error.cause is not None else error)
            return Outcome(run, None, line, str(error))
        except self._ray.exceptions.RayError as error:
            line, detail = described(error)
            return Outcome(run, None, f"WorkerDied: {line.split('. ')[0]}", detail)

    def stop(self) -> None:
        """Cancel what is under way and leave the cluster; a local one ends."""
        if not self._ray.is_initialized():
            return
        for task in self._under_way:
            self._ray.cancel(task, force=True)
        self._under_way.clear()
        self._ray.shutdown()


def _environment(cluster: Cluster) -> dict[str, str]:
    """Return what a worker must know from the driver: threads, and where things are."""
    told = {name: os.environ[name] for name in (VARIABLE, "PYTHONPATH") if os.environ.get(name)}
    if "PYTHONPATH" in told:
        parts = told["PYTHONPATH"].split(os.pathsep)
        told["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts if part)
    return variables(cluster.threads) | told


def _knock(address: str) -> None:
    """See whether anybody listens there, as Ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise StudyError(f"cannot read the Ray address '{address}'; write it as host:port")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except OSError as error:
        raise StudyError(
            f"no Ray cluster answers at {address} ({error.strerror or error}); start one with "
            "'ray start --head', or leave --address out"
        ) from error
