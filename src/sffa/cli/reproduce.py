"""``sffa reproduce``: run the paper's studies, or yours, and compare with the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from sffa.cli.options import DataDir, use_data_dir
from sffa.cli.progress_view import LiveView, wide_console
from sffa.cli.signals import terminable
from sffa.cli.text import plain, say
from sffa.errors import ConfigurationError
from sffa.extension import references
from sffa.files import check_writable
from sffa.study import (
    Campaign,
    Estimator,
    Key,
    Record,
    Run,
    Store,
    Study,
    StudyError,
    compare_all,
    export_csv,
    import_csv,
    make_executor,
    read_records,
    read_study_file,
    studies,
)
from sffa.study.compare import CELLS, coverage, shown, tally, write_comparison
from sffa.study.datasets import check_data, own_data, unavailable
from sffa.study.estimate import duration
from sffa.study.executors import check_executor
from sffa.study.grid import seeds as read_seeds
from sffa.study.sources import RESULTS, committed
from sffa.study.study_file import settings
from sffa.study.threads import layout
from sffa.study.user_code import check_code

_DEFAULT_STORE = "runs/STUDY.sqlite"


_SET = "name=value, or name=value,value to sweep; repeatable."
_STUDY = "rq1, rq2, ours, remember, remember-scenarios, all, quick, or a .toml file."
Only = Annotated[str | None, typer.Option(help="Only these, by commas.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say how many runs and how long; run nothing.")
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Try runs again that failed before.")
]
AllowImports = Annotated[
    bool, typer.Option("--allow-imports", help="Let a .toml file import classes of yours.")
]


def reproduce(
    study: Annotated[str, typer.Argument(help=_STUDY)] = "all",
    datasets: Only = None,
    scenarios: Only = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these, by commas; of static runs, the negatives.")
    ] = None,
    algorithms: Only = None,
    seeds: Annotated[str | None, typer.Option(help="Such as 0-9 or 0,3.")] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", help=_SET)] = None,
    store: Annotated[
        Path | None, typer.Option(help="Where records are kept.", show_default=_DEFAULT_STORE)
    ] = None,
    executor: Annotated[str, typer.Option(help="serial, local or ray.")] = "local",
    workers: Annotated[
        int | None, typer.Option(help="Runs at once.", show_default="cores / threads")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of a run.", show_default="1")] = None,
    address: Annotated[str | None, typer.Option(help="Of a running Ray cluster.")] = None,
    dry_run: DryRun = False,
    retry_failed: RetryFailed = False,
    export: Annotated[
        Path | None, typer.Option(help="Write the records as CSV; a folder for several studies.")
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", help="Take in the records of a CSV first.")
    ] = None,
    compare_: Annotated[
        bool, typer.Option("--compare", help="Compare with the paper; run nothing.")
    ] = False,
    from_: Annotated[Path | None, typer.Option("--from", help="Compare this store or CSV.")] = None,
    out: Annotated[
        list[Path] | None, typer.Option(help="Write the comparison as .csv or .md; repeatable.")
    ] = None,
    allow_imports: AllowImports = False,
    data_dir: DataDir = None,
) -> None:
    """Run what is missing of a study; stop and start it as you like."""
    use_data_dir(data_dir)
    if (from_ or out) and not compare_:
        raise ConfigurationError("--from and --out go with --compare")
    part = _Filter(tuple(map(_words, (datasets, scenarios, methods, algorithms))), seeds)
    asked = settings(sets or [])
    chosen = part.of(_studies(study, allow_imports or part.classes(asked)), asked)
    files = _Files(store, import_, export)
    if compare_:
        records = files.records(chosen) if from_ is None else part.among(read_records(from_))
        show_comparison(records, out or [])
        return
    files.check(chosen)
    options = _ExecutorOptions(executor, workers, threads, address)
    check_executor(*options)
    for one in chosen:
        if dry_run:
            _print_plan(one, files, options)
        else:
            _carry_out(one, files, options, retry_failed)


@dataclass(frozen=True)
class _Filter:
    """Which part of a study is asked for: words for dataset, scenario, method and algorithm."""

    words: tuple[list[str] | None, ...]
    seeds: str | None

    def of(self, whole: Sequence[Study], sets: dict[str, list[Any]]) -> list[Study]:
        """Return what is asked for of studies, with the settings of ``--set``."""
        named = dict(zip(("dataset", "scenario", "method", "algorithm"), self.words, strict=True))
        seeds = read_seeds(self.seeds) if self.seeds else None
        return [study.restricted(seeds=seeds, **named).varying(sets) for study in whole]

    def classes(self, sets: dict[str, list[Any]]) -> list[str]:
        """Return the classes that the command line itself names, which may be imported."""
        methods, algorithms = self.words[2:]
        named = {"method": methods or [], "algorithm": algorithms or []}
        named |= sets
        return [
            name for key, values in named.items() for v in values for name in references({key: v})
        ]

    def among(self, records: Sequence[Record]) -> list[Record]:
        """Return those of some records that are asked for."""
        seeds = read_seeds(self.seeds) if self.seeds else None
        return [
            record
            for record in records
            if (seeds is None or record.seed in seeds)
            and all(
                not words or name in words
                for name, words in zip(record.cell, self.words, strict=True)
            )
        ]


@dataclass(frozen=True)
class _Files:
    """Where records are kept, where some come from, and where they go."""

    store: Path | None
    csv: Path | None
    export: Path | None

    def place(self, study: Study) -> Path:
        """Return the store of a study."""
        return self.store or Path(_DEFAULT_STORE.replace("STUDY", study.name))

    def check(self, chosen: Sequence[Study]) -> None:
        """Refuse one CSV for several studies, and one that cannot be written."""
        if self.export and len(chosen) > 1 and self.export.suffix:
            raise ConfigurationError(
                f"--export {self.export}: 'all' is several studies; name a folder, for one CSV each"
            )
        for study in chosen if self.export else ():
            check_writable(self.csv_of(study))

    def csv_of(self, study: Study) -> Path:
        """Return the CSV that a study is exported to."""
        path = self.export or Path()
        return path if path.suffix else path / f"{study.name}.csv"

    def records(self, chosen: Sequence[Study]) -> list[Record]:
        """Return the records of the studies that their stores have."""
        paths = list(dict.fromkeys(self.place(study) for study in chosen))
        there = [path for path in paths if path.is_file()]
        if not there:
            raise StudyError(f"there is no store at {paths[0]} to compare; name one with --from")
        wanted = {run.key for study in chosen for run in study.runs()}
        found = [record for path in there for record in read_records(path)]
        kept = [record for record in found if record.key in wanted]
        check_code(kept)
        return kept


class _ExecutorOptions(NamedTuple):
    """Who does the runs: the executor, its workers, their threads, where it is."""

    executor: str
    workers: int | None
    threads: int | None
    address: str | None


def _studies(name: str, allowed: bool | list[str]) -> list[Study]:
    return [read_study_file(name, allowed)] if name.endswith(".toml") else studies(name)


def _words(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def _say(text: str, style: str = "") -> None:
    say(Console(stderr=True), text, style)


def _prepare(store: Store, study: Study, csv: Path | None, retry_failed: bool) -> None:
    if store.notice:
        _say(store.notice, "yellow")
    if csv is not None:
        records = import_csv(csv)
        _say(f"{store.add(records)} of {len(records)} records of {csv} were new")
    if retry_failed:
        _say(f"{store.retry_failed(study.runs())} failed runs will be tried again")


def _carry_out(study: Study, files: _Files, options: _ExecutorOptions, retry_failed: bool) -> None:
    """Run what is missing of a study, and export what there is, also if that is not all."""
    study.runs()  # refuses what cannot be run before there is a store
    with Store(files.place(study)) as store:
        _prepare(store, study, files.csv, retry_failed)
        try:
            _run(study, store, options)
        except StudyError:
            _export(study, store, files)
            raise
        _export(study, store, files)


def _run(study: Study, store: Store, options: _ExecutorOptions) -> None:
    """Run what is missing, and say in the end what is not there."""
    runs = study.runs()
    missing = _missing(runs, store.statuses())
    absent = unavailable(missing)
    for name, reason in absent.items():
        _say(f"{study.name}: leaving out {name}: {reason}", "yellow")
    wanted = [run for run in runs if run.values["dataset"] not in absent]
    needed = {str(run.values["dataset"]) for run in missing} - {*absent}
    known = store.records(wanted)
    check_data(known, needed)
    check_code(known)
    if any(run.values["dataset"] not in absent for run in missing):
        runner = make_executor(
            options.executor,
            workers=options.workers,
            threads=options.threads,
            address=options.address,
            unfinished=Path(store.path).with_suffix(".unfinished"),
        )
        with terminable(), LiveView(study.name, store.records(), Console(stderr=True)) as view:
            try:
                Campaign(store, wanted, runner, on_change=view).go()
            except KeyboardInterrupt:
                _say(f"{_count(store, runs)}; the same command goes on from here", "yellow")
                raise
    _say(_count(store, runs))
    _raise_if_incomplete(store, runs, absent)


def _missing(runs: Sequence[Run], statuses: Mapping[Key, str]) -> list[Run]:
    return [run for run in runs if statuses.get(run.key) not in ("done", "failed")]


def _count(store: Store, runs: Sequence[Run]) -> str:
    known = store.statuses()
    statuses = [known.get(run.key) for run in runs]
    failed = f", {statuses.count('failed')} failed" if "failed" in statuses else ""
    return f"{statuses.count('done')} of {len(runs)} runs done{failed}, in {store.path}"


def _raise_if_incomplete(store: Store, runs: Sequence[Run], absent: dict[str, str]) -> None:
    """Raise if anything that was asked for is not there."""
    failed = [record for record in store.records(runs) if record.status == "failed"]
    if failed:
        first = failed[0]
        raise StudyError(
            f"{len(failed)} runs failed, the first being {first}: {first.error}; "
            "--retry-failed tries them again"
        )
    if absent:
        advice = (
            "; put them into the directory that 'sffa data path' prints, or leave them out with "
            "--datasets"
        )
        own = all(own_data(name) for name in absent)
        raise StudyError(
            f"not all datasets could be had: {', '.join(absent)}{'' if own else advice}"
        )


def _export(study: Study, store: Store, files: _Files) -> None:
    if files.export is None:
        return
    target = files.csv_of(study)
    count = export_csv(target, store.records(study.runs()))
    _say(f"{count} records in {target}")


def _print_plan(study: Study, files: _Files, options: _ExecutorOptions) -> None:
    """Print how many runs there are, how many are missing, and how long those may take."""
    runs = study.runs()
    path = files.place(study)
    records = [] if files.csv is None else import_csv(files.csv)
    statuses: dict[Key, str] = {record.key: record.status for record in records}
    if path.is_file():
        with Store(path, readonly=True) as store:
            records += store.records()
            statuses = {**store.statuses(), **statuses}
    missing = _missing(runs, statuses)
    elsewhere = [] if records else committed()
    slots = 1 if options.executor == "serial" else layout(options.workers, options.threads).workers
    seconds, unknown = Estimator(records or elsewhere).total(missing, slots)
    known = len(missing) - unknown
    text = f"{study.name}: {len(runs)} runs, {len(missing)} missing"
    if missing and known:
        text += f", about {duration(seconds)} with {slots} at a time"
        text += f" (judged from records like {known} of them)" if unknown else ""
        text += f", by what runs in {RESULTS} took" if elsewhere else ""
    elif missing:
        text += ", how long is not known: no run like these is recorded yet"
    Console().print(text, soft_wrap=True, markup=False, highlight=False)


def show_comparison(records: Sequence[Record], files: Sequence[Path]) -> None:
    """Print ours beside the paper's, and write it to files."""
    lines = compare_all(records)
    if not lines:
        raise StudyError("none of the records has a counterpart in the paper")
    for path in files:
        write_comparison(path, lines)
    table = Table(box=SIMPLE_HEAD)
    for name in CELLS:
        table.add_column(name, no_wrap=True)
    for line in lines:
        style = {True: "", False: "red", None: "dim"}[line.within]
        table.add_row(*map(plain, shown(line)), style=style)
    console = wide_console()
    console.print(table)
    for said in filter(None, (coverage(lines), tally(lines))):
        console.print(said, highlight=False)
    if not all(line.as_paper for line in lines):
        console.print("* not the configuration that stands for the paper", highlight=False)
