"""One SQLite file a study: schema, claims, recovery, and the same records as CSV."""

from sffa.study.store.csv_file import export_csv, import_csv
from sffa.study.store.store import LEASE, TRIES, Store

__all__ = ["LEASE", "TRIES", "Store", "export_csv", "import_csv"]
