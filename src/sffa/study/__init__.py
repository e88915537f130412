"""Experiments as data: configuration, grid, run, store, executors, the paper's tables."""

from sffa.record import Key, Record
from sffa.study.campaign import Campaign, Progress
from sffa.study.compare import Comparison, compare, compare_all
from sffa.study.configuration import Run, parse
from sffa.study.errors import StoreError, StudyError
from sffa.study.estimate import Estimator
from sffa.study.execute import execute
from sffa.study.executors import make_executor
from sffa.study.grid import Grid, Study
from sffa.study.presets import studies
from sffa.study.sources import gather, read_records
from sffa.study.static import StaticConfig, run_static
from sffa.study.store.csv_file import export_csv, import_csv
from sffa.study.store.store import Store
from sffa.study.study_file import read_study_file

__all__ = [
    "Campaign",
    "Comparison",
    "Estimator",
    "Grid",
    "Key",
    "Progress",
    "Record",
    "Run",
    "StaticConfig",
    "Store",
    "StoreError",
    "Study",
    "StudyError",
    "compare",
    "compare_all",
    "execute",
    "export_csv",
    "gather",
    "import_csv",
    "make_executor",
    "parse",
    "read_records",
    "read_study_file",
    "run_static",
    "studies",
]
