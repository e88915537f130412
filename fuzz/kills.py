"""``python -m fuzz.kills``: commands that are killed at random moments, and many writers at once.

A command is started again until it ends by itself. What it leaves must equal what an undisturbed
one leaves: results to the bit, every record once, no temporary file. Commands run in children
forked from a process that has imported everything, so that a kill costs tenths of a second; with
Ray they are processes of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.worker import in_memory

_TINY = ("--threads", "1", "--backend", "torch", "--hidden", "20,20", "--set", "k=3")
_STUDY = ("reproduce", "quick", "--algorithms", "bp", "--seeds", "0-3", "--threads", "1")
_PATIENCE = 600.0


@dataclass(frozen=True)
class Command:
    """What is run, how long it goes on before a kill at most, and what it is to leave."""

    arguments: Callable[[], list[str]]
    seconds: float
    outcome: Callable[[], object]
    complete: Callable[[], bool] = lambda: False
    """Whether a killed command had done all it was to do."""


@dataclass
class Counts:
    """What came of the kills of one command."""

    name: str
    kills: int = 0
    rounds: int = 0
    findings: list[str] = field(default_factory=list)


def _train() -> list[str]:
    begun = Path("model.safetensors")
    more = ["--resume", str(begun)] if begun.exists() else ["--dataset", "digits", *_TINY]
    return ["train", *more, "--epochs", "6", "--batch-size", "256"]


def _trained() -> object:
    from sffa.core import load

    names = sorted(path.name for path in Path().rglob("*") if path.is_file())
    weights = {n: t.numpy().tobytes() for n, t in load("model.safetensors").state_dict().items()}
    return names, weights, _outcomes(Path("runs"))


def _continual() -> list[str]:
    stream = ["--dataset", "split-digits", "--method", "replay", "--epochs", "1", "--quiet"]
    return ["continual", *stream, *_TINY, "--batch-size", "64"]


def _streamed() -> object:
    return sorted(path.suffix for path in Path("runs").iterdir()), _outcomes(Path("runs"))


def _outcomes(path: Path) -> list[dict[str, Any]]:
    from sffa.study import read_records

    return [record.outcome() for record in read_records(path)]


def _study(executor: str) -> Callable[[], list[str]]:
    return lambda: [*_STUDY, "--executor", executor, "--workers", "2", "--store", "s.sqlite"]


def _studied() -> object:
    """Return the records, how often each was done, and the files; claims must be given back."""
    with contextlib.closing(sqlite3.connect("s.sqlite")) as db:
        done = db.execute("SELECT config_hash, seed FROM events WHERE event = 'done'").fetchall()
        held = db.execute("SELECT count(*) FROM runs WHERE owner IS NOT NULL").fetchone()
    files = sorted(path.name for path in Path().iterdir())
    return _outcomes(Path("s.sqlite")), sorted(Counter(done).items()), held, files


COMMANDS = {
    "train": Command(_train, 0.6, _trained, lambda: any(Path("runs").glob("*.json"))),
    "continual": Command(_continual, 0.6, _streamed),
    "reproduce, serial": Command(_study("serial"), 0.8, _studied),
    "reproduce, local": Command(_study("local"), 1.0, _studied),
    "reproduce, ray": Command(_study("ray"), 30.0, _studied),
}


def kill(name: str, kills: int, seed: int, seconds: float | None = None) -> Counts:
    """Kill a command so often, over as many rounds as that takes; compare what each leaves."""
    command, counts, rng = COMMANDS[name], Counts(name), random.Random(f"{name}/{seed}")
    with _folder():
        wanted = _undisturbed(name)
    deadline = time.monotonic() + (seconds or float("inf"))
    while counts.kills < kills and time.monotonic() < deadline:
        with _folder():
            _round(counts, command, rng, kills, deadline)
            counts.rounds += 1
            if not counts.findings and command.outcome() != wanted:
                counts.findings.append(f"round {counts.rounds}: another result")
        if counts.findings:
            break
    return counts


def _undisturbed(name: str) -> object:
    child = _start(name)
    code = _ended(child, _PATIENCE * 5)
    if code != 0:
        raise RuntimeError(f"{name}: the undisturbed command ended with {code}")
    return COMMANDS[name].outcome()


def _round(
    counts: Counts, command: Command, rng: random.Random, kills: int, deadline: float
) -> None:
    """Start a command again and again, killing it, until it ends by itself."""
    slower = 1.0
    while not command.complete():
        child = _start(counts.name)
        last = counts.kills >= kills or time.monotonic() > deadline
        code = _ended(child, _PATIENCE if last else rng.uniform(0, command.seconds * slower))
        if code is None:
            _end(child)
            if last:
                counts.findings.append(f"round {counts.rounds + 1}: not done in {_PATIENCE} s")
                return
            counts.kills += 1
            slower *= 1.02  # a busy machine gets there, too
        elif code != 0:
            counts.findings.append(f"round {counts.rounds + 1}: ended with {code}")
            return
        else:
            return


def _start(name: str) -> int:
    """Run a command in a child, in a session of its own, without a word."""
    arguments = COMMANDS[name].arguments()
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        quiet = os.open("said", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
        os.unlink("said")
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        if name.endswith("ray"):
            os.execv(sys.executable, [sys.executable, "-m", "sffa", *arguments])
        _run_forked(arguments)
    finally:
        os._exit(99)


def _run_forked(arguments: list[str]) -> None:
    from sffa.cli import main

    spawn = multiprocessing.get_context
    multiprocessing.get_context = lambda _=None: spawn("fork")  # type: ignore[assignment]
    try:
        main(arguments)
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else 0)


def _ended(child: int, seconds: float) -> int | None:
    """Return how a child ended within so many seconds, or None."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def _end(child: int) -> None:
    """Kill a child with SIGKILL; its workers see that it is gone and end by themselves."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    """Be in an empty folder meanwhile."""
    before, folder = os.getcwd(), tempfile.mkdtemp(prefix="kills-", dir=in_memory())
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def write_together(processes: int, each: int) -> Counts:
    """Let processes write records to one store at the same time; all must be there, once."""
    from sffa.study import Store

    counts = Counts(f"{processes} writers of {each}", rounds=1)
    with _folder():
        children = [_writer(number, each) for number in range(processes)]
        codes = [_ended(child, _PATIENCE * 10) for child in children]
        for child, code in zip(children, codes, strict=True):
            if code is None:
                _end(child)
        if any(codes):
            counts.findings.append(f"writers ended with {codes}")
        with Store("s.sqlite") as store:
            keys = [record.key for record in store.records()]
            if store.notice or len(keys) != processes * each or len({*keys}) != len(keys):
                counts.findings.append(f"{len({*keys})} of {processes * each} records")
        left = sorted(path.name for path in Path().iterdir())
        if left != ["s.sqlite"]:
            counts.findings.append(f"left behind: {left}")
    return counts


def _writer(number: int, each: int) -> int:
    """Write records from a child, each in a transaction of its own."""
    from dataclasses import replace

    from fuzz.csv_file import sound
    from sffa.study import Store

    child = os.fork()
    if child:
        return child
    try:
        with Store("s.sqlite") as store:
            for count in range(each):
                store.add([replace(sound()[0], seed=number * each + count)])
        os._exit(0)
    finally:
        os._exit(99)


def prepare() -> None:
    """Import what commands import, and stay at one thread: what is forked has no other."""
    import torch

    import sffa.cli.app
    import sffa.study.execute
    from fuzz.csv_file import sound
    from sffa.environment import describe
    from sffa.report import figures

    torch.set_num_threads(1)
    assert figures
    assert sffa.cli.app
    sound(), describe()


_HEAD = "| command | kills | rounds to the end | findings |\n| --- | ---: | ---: | ---: |"


def _row(name: str, *numbers: int) -> str:
    return f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |"


def table(path: Path) -> str:
    """Return what the lines of a file add up to, a row for each command."""
    sums: dict[str, list[int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found = (row["kills"], row["rounds"], len(row["findings"]))
        for name in (row["name"], "all"):
            sums[name] = [a + b for a, b in zip(sums.pop(name, [0, 0, 0]), found, strict=True)]
    return "\n".join([_HEAD, *(_row(name, *numbers) for name, numbers in sums.items())])


def main() -> int:
    """Kill the commands named, or all, print a table, exit 1 on findings."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.kills", description=__doc__)
    parser.add_argument("--command", action="append", choices=list(COMMANDS))
    parser.add_argument("--kills", type=int, default=20, help="of each command")
    parser.add_argument("--seconds", type=float, help="for each command, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--writers", type=int, default=0, help="processes that write to one store")
    parser.add_argument("--each", type=int, default=1000, help="records of each writer")
    parser.add_argument("--out", type=Path, help="file to add the counts to, as lines of JSON")
    parser.add_argument("--table", type=Path, help="print what such a file adds up to, and end")
    told = parser.parse_args()
    if told.table:
        print(table(told.table))
        return 0
    prepare()
    works: list[Callable[[], Counts]] = []
    if told.writers:
        works.append(lambda: write_together(told.writers, told.each))
    for name in told.command or ([] if told.writers else list(COMMANDS)):
        works.append(lambda name=name: kill(name, told.kills, told.seed, told.seconds))  # type: ignore[misc]
    print(_HEAD)
    bad = False
    for work in works:
        counts = work()
        print(_row(counts.name, counts.kills, counts.rounds, len(counts.findings)))
        print(*counts.findings, sep="\n", end="", flush=True)
        bad = bad or bool(counts.findings)
        if told.out:
            with told.out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(vars(counts)) + "\n")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
