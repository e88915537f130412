"""The user's own examples as a folder of images per class."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from sffa.data.arrays import from_arrays
from sffa.data.dataset import Array, Dataset
from sffa.errors import DataError

_SUFFIXES = frozenset(
    (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
)
_WIDE_GRAY = frozenset(("I", "I;16", "I;16B", "I;16L"))
_GRAY = frozenset(("1", "L", "LA")) | _WIDE_GRAY


def from_folder(path: str | os.PathLike[str], *, name: str | None = None) -> Dataset:
    """Read a folder of images per class, alone or below ``train/`` and ``test/``.

    Grayscale if all images are, otherwise RGB; all must have the same size.
    """
    where = Path(path)
    folders = {child.name for child in listed(where) if child.is_dir()}
    if {"train", "test"} <= folders:
        train, test = _image_paths(where / "train"), _image_paths(where / "test")
    else:
        train, test = _image_paths(where), []
    if len({label for label, _ in train}) < 2:
        raise DataError(f"{where}: images of one class only; at least two classes are needed")
    pixels = read_images([image for _, image in train + test])
    labels = [label for label, _ in train + test]
    cut = len(train)
    shown, answers = (pixels[cut:], labels[cut:]) if test else (None, None)
    return from_arrays(
        pixels[:cut], labels[:cut], shown, answers, name=name or where.resolve().name
    )


def listed(folder: Path) -> list[Path]:
    """List a folder without hidden files."""
    try:
        return [path for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise DataError(f"{folder}: cannot be read ({error.strerror or error})") from None


def _image_paths(folder: Path) -> list[tuple[str, Path]]:
    """Return (class, path) of each image, classes and files in order of their names."""
    classes = sorted(child for child in listed(folder) if child.is_dir())
    if not classes:
        raise DataError(f"{folder}: no folders in it; expected one folder of images per class")
    found: list[tuple[str, Path]] = []
    for directory in classes:
        images = [p for p in sorted(listed(directory)) if p.suffix.lower() in _SUFFIXES]
        if not images:
            raise DataError(f"{directory}: an empty folder, no images in it")
        found += [(directory.name, image) for image in images]
    return found


def image_files(path: Path) -> list[Path]:
    """Return ``path`` itself if it is a file, or the images in and below the folder ``path``."""
    if path.is_file():
        return [path]
    found = _images_below(path)
    if not found:
        raise DataError(f"{path}: an empty folder, no images in it")
    return found


def _images_below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for child in sorted(listed(folder)):
        if child.is_dir():
            found += _images_below(child)
        elif child.suffix.lower() in _SUFFIXES:
            found.append(child)
    return found


def read_images(paths: Sequence[Path], *, gray: bool | None = None) -> Array:
    """Read images of one size as uint8, (N, H, W) if all are grayscale, else (N, H, W, 3).

    ``gray`` converts them to the one or the other.
    """
    size, all_gray = _in_common(paths)
    gray = all_gray if gray is None else gray
    pixels = np.empty((len(paths), size[1], size[0], *(() if gray else (3,))), np.uint8)
    for position, path in enumerate(paths):
        with _opened(path) as image:
            if image.mode in _WIDE_GRAY:
                wide = np.asarray(image)
                narrow = np.clip(wide // (257 if wide.max() > 255 else 1), 0, 255)
                image = Image.fromarray(narrow.astype(np.uint8))
            pixels[position] = np.asarray(image.convert("L" if gray else "RGB"))
    return pixels


def _in_common(paths: Sequence[Path]) -> tuple[tuple[int, int], bool]:
    """Return the (width, height) all images share, and whether all are grayscale."""
    with _opened(paths[0]) as first:
        size, gray = first.size, True
    for path in paths:
        with _opened(path) as image:
            if image.size != size:
                raise DataError(
                    f"{path}: {image.width}x{image.height} pixels, but {paths[0]} has "
                    f"{size[0]}x{size[1]}; all images must have the same size"
                )
            gray = gray and image.mode in _GRAY
    return size, gray


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Open an image; whatever a damaged one raises becomes one ``DataError``."""
    try:
        with Image.open(path) as image:
            yield image
    except DataError:
        raise
    except UnidentifiedImageError:
        raise DataError(f"{path}: not an image that can be read") from None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path}: a damaged image ({error})") from None
