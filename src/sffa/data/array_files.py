"""The user's own examples as files of arrays: an .npz file or IDX pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sffa.data import idx, npy
from sffa.data.arrays import from_arrays
from sffa.data.dataset import Array, Dataset
from sffa.data.image_folder import listed
from sffa.errors import DataError
from sffa.files import PathLike

_ARRAYS = frozenset(("x", "y", "x_train", "y_train", "x_test", "y_test", "class_names"))


def from_npz(path: PathLike, *, name: str | None = None) -> Dataset:
    """Read ``x_train, y_train[, x_test, y_test]`` or ``x, y`` from an .npz file, never pickles.

    An array ``class_names`` is used if it is there. What unpacks to far more than the file holds
    (`sffa.data.limits.allowance`) is refused before anything is allocated.

    >>> import numpy as np
    >>> np.savez("mine.npz", x=np.random.default_rng(0).normal(size=(20, 5)), y=np.arange(20) % 2)
    >>> from_npz("mine.npz")
    Dataset('mine', 16 train, 4 test, shape (5,), 2 classes)
    """
    where = Path(path)
    arrays = npy.read_npz(where, _ARRAYS.__contains__)
    train = ("x_train", "y_train") if "x_train" in arrays else ("x", "y")
    if any(key not in arrays for key in train):
        found = ", ".join(npy.names(where)[:12])[:200] or "nothing"
        raise DataError(f"{where}: expected x_train and y_train, or x and y; found {found}")
    classes = arrays.get("class_names")
    return from_arrays(
        arrays[train[0]],
        arrays[train[1]],
        arrays.get("x_test"),
        arrays.get("y_test"),
        class_names=None if classes is None else [str(label) for label in classes.ravel()],
        name=name or where.stem,
    )


def from_npy(path: PathLike, target: str, *, name: str | None = None) -> Dataset:
    """Read an .npy file, mapped into memory; ``target`` is where its labels are.

    That is the number of a column, counted from the end if negative, or another .npy file, named
    from the folder of the first.

    >>> import numpy as np
    >>> table = np.random.default_rng(0).normal(size=(20, 6))
    >>> table[:, -1] = np.arange(20) % 2
    >>> np.save("mine.npy", table)
    >>> from_npy("mine.npy", "-1")
    Dataset('mine', 16 train, 4 test, shape (5,), 2 classes)
    """
    where = Path(path)
    x = npy.read_npy(where)
    if target.lstrip("-").isdecimal():
        place = int(target)
        if x.ndim != 2 or not -x.shape[1] <= place < x.shape[1] or x.shape[1] < 2:
            raise DataError(f"{where}: no column {place} of labels in the shape {x.shape}")
        y = x[:, place]
        x = np.delete(x, place, axis=1)
    else:
        y = npy.read_npy(where.parent / target)
    return from_arrays(x, y, name=name or where.stem)


def from_idx(
    images: PathLike,
    labels: PathLike | None = None,
    test_images: PathLike | None = None,
    test_labels: PathLike | None = None,
    *,
    class_names: Sequence[str] | None = None,
    name: str | None = None,
) -> Dataset:
    """Read IDX pairs (gz or raw, 3-D or 4-D images) from files, or from the folder ``images``.

    In a folder the pairs are told by their names: ``*images*`` goes with ``*labels*``, and
    ``test`` or ``t10k`` in a name means the test split.

    >>> import numpy as np
    >>> from sffa.data import idx
    >>> idx.write("images", np.arange(20 * 64, dtype=np.uint8).reshape(20, 8, 8))
    >>> idx.write("labels", np.arange(20, dtype=np.uint8) % 2)
    >>> from_idx("images", "labels", name="mine")
    Dataset('mine', 16 train, 4 test, shape (8, 8), 2 classes)
    """
    where = Path(images)
    paths: list[PathLike | None] = [where, labels, test_images, test_labels]
    if labels is None:
        found = idx_pairs(where)
        if "train" not in found:
            raise DataError(f"{where}: no pair of IDX files, *images* with *labels*, for training")
        paths = [*found["train"], *found.get("test", (None, None))]
    x, y, x_test, y_test = (None if path is None else idx.read(path) for path in paths)
    _same_count(x, y, paths[0], paths[1])
    _same_count(x_test, y_test, paths[2], paths[3])
    return from_arrays(x, y, x_test, y_test, class_names, name or where.name)


def _same_count(
    x: Array | None, y: Array | None, images: PathLike | None, labels: PathLike | None
) -> None:
    """Raise unless both files, if there, hold the same number of examples."""
    if x is not None and y is not None and len(x) != len(y):
        raise DataError(f"{images} holds {len(x)} images but {labels} {len(y)} labels")


def idx_pairs(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Find (images, labels) of ``train`` and ``test`` in ``folder`` by their names."""
    pairs: dict[str, tuple[Path, Path]] = {}
    present = {path.name: path for path in sorted(listed(folder)) if path.is_file()}
    for file_name, path in present.items():
        prefix, middle, suffix = file_name.partition("images")
        if not middle:
            continue
        stem = f"{prefix}labels{suffix}".replace("idx3", "idx1").replace("idx4", "idx1")
        plain = stem.removesuffix(".gz")
        partner = next((present[n] for n in (stem, f"{plain}.gz", plain) if n in present), None)
        if partner is None:
            continue
        kind = "test" if "test" in file_name or "t10k" in file_name else "train"
        if kind in pairs and pairs[kind][1] != partner:
            raise DataError(
                f"{folder}: {pairs[kind][0].name} and {file_name} both look like {kind} images"
            )
        pairs[kind] = (path, partner)
    return pairs
