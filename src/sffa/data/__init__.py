"""Where examples come from: a registry of verified datasets, and the user's own."""

from sffa.data.array_files import from_idx, from_npy, from_npz
from sffa.data.arrays import from_arrays
from sffa.data.dataset import Dataset, Split
from sffa.data.image_folder import from_folder, image_files, read_images
from sffa.data.load import load
from sffa.data.reference import Reference
from sffa.data.registry import names
from sffa.data.table_files import from_table, table_features

__all__ = [
    "Dataset",
    "Reference",
    "Split",
    "from_arrays",
    "from_folder",
    "from_idx",
    "from_npy",
    "from_npz",
    "from_table",
    "image_files",
    "load",
    "names",
    "read_images",
    "table_features",
]
