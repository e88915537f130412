"""Measure which does the paper's grid sooner: one worker with all threads, or one a core.

Runs the same sample of the paper's continual grid (Split-MNIST, Class IL, one seed; by default
every algorithm with naive, ewc and replay) in both layouts, turn and turn about, on a quiet
machine. A worker that is started but idle costs nothing here: before the clock starts, each
worker has done a run, so that imports, compilation and loading are not counted.

    python benchmarks/workers.py --rounds 2 --out results/workers.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from sffa.environment import cores, describe
from sffa.files import write_text
from sffa.study import Campaign, Run, Store, studies
from sffa.study.executors.local import Local


class Warm(Local):
    """Workers that outlive a campaign, to be used again when they are warm."""

    def stop(self) -> None:
        if not self.pids(busy=True):
            return
        super().stop()

    def dismiss(self) -> None:
        super().stop()


def sample(methods: list[str], algorithms: list[str], seed: int, epochs: int) -> list[Run]:
    (study,) = studies("rq2")
    return (
        study.restricted(
            seeds=(seed,),
            dataset=["split-mnist"],
            scenario=["class"],
            method=methods,
            algorithm=algorithms,
        )
        .varying({"epochs": [epochs]})
        .runs()
    )


def seconds(executor: Warm, runs: list[Run]) -> float:
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s.sqlite") as store:
        started = time.perf_counter()
        progress = Campaign(store, runs, executor).go()
        spent = time.perf_counter() - started
        if progress.failed:
            raise SystemExit(next(r.error for r in store.records() if r.error))
    return spent


def measure(arguments: argparse.Namespace) -> dict[str, object]:
    available = arguments.cores or cores()
    layouts = {
        f"1 worker x {available} threads": (1, available),
        f"{available} workers x 1 thread": (available, 1),
    }
    runs = sample(arguments.methods, arguments.algorithms, 0, arguments.epochs)
    times: dict[str, list[float]] = {name: [] for name in layouts}
    for turn in range(arguments.rounds):
        order = list(layouts) if turn % 2 == 0 else list(reversed(layouts))
        for name in order:
            workers, threads = layouts[name]
            executor = Warm(workers, threads)
            warm_up = [
                run
                for seed in range(100, 100 + workers)
                for run in sample(["naive"], ["sffa"], seed, 1)
            ]
            seconds(executor, warm_up)
            times[name].append(seconds(executor, runs))
            executor.dismiss()
            print(f"round {turn + 1}, {name}: {times[name][-1]:.1f} s", flush=True)
    return {
        "runs": [str(run) for run in runs],
        "epochs": arguments.epochs,
        "seconds": times,
        "median": {name: statistics.median(values) for name, values in times.items()},
        "environment": describe(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--cores", type=int, default=None)
    parser.add_argument("--methods", nargs="+", default=["naive", "ewc", "replay"])
    parser.add_argument("--algorithms", nargs="+", default=["bp", "ffa", "sffa"])
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    found = measure(arguments)
    (slow, worst), (quick, best) = sorted(
        found["median"].items(),  # type: ignore[attr-defined]
        key=lambda item: -item[1],
    )
    count = len(found["runs"])  # type: ignore[arg-type]
    print(f"{quick}: {best / count:.2f} s a run; {slow}: {worst / count:.2f} s a run")
    print(f"{quick} is {worst / best:.2f} times as fast")
    if arguments.out:
        write_text(arguments.out, json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
