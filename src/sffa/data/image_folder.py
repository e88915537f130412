"""The user's own examples as a folder of images per class."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from PIL import Image, UnidentifiedImageError

from sffa.data.arrays import from_arrays
from sffa.data.dataset import Array, Dataset
from sffa.data.limits import check_size
from sffa.errors import DataError, SFFAError, SFFAWarning
from sffa.files import reading

_SUFFIXES = frozenset(
    (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
)
_FORMATS = ("PNG", "JPEG", "BMP", "DIB", "GIF", "TIFF", "WEBP", "PPM")
"""Only these decoders are tried, whatever a file is called: others may run programs."""
_BYTES_A_PIXEL = 4
_WIDE_GRAY = frozenset(("I", "I;16", "I;16B", "I;16L"))
_GRAY = frozenset(("1", "L", "LA")) | _WIDE_GRAY


def from_folder(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    size: tuple[int, int] | None = None,
    skip_unreadable: bool = False,
) -> Dataset:
    """Read a folder of images per class, alone or below ``train/`` and ``test/``.

    Grayscale if all images are, otherwise RGB; all must have the same size, unless they are
    brought to one: ``size`` (width, height). Images that unpack to far more than their files hold
    (`sffa.data.limits.allowance`) are refused undecoded. ``skip_unreadable`` leaves out those that
    cannot be read, with a warning.

    >>> from pathlib import Path
    >>> from PIL import Image
    >>> folder = Path("pictures")
    >>> for name in ("cat", "dog"):
    ...     (folder / name).mkdir(parents=True)
    ...     for number in range(5):
    ...         Image.new("L", (8, 8), number).save(folder / name / f"{number}.png")
    >>> data = from_folder(folder)
    >>> data.class_names, data.shape
    (('cat', 'dog'), (8, 8))
    """
    where = Path(path)
    folders = {child.name for child in listed(where) if child.is_dir()}
    if {"train", "test"} <= folders:
        train, test = _image_paths(where / "train"), _image_paths(where / "test")
    else:
        train, test = _image_paths(where), []
    if skip_unreadable:
        train, test = _readable(train), _readable(test)
    if len({label for label, _ in train}) < 2:
        raise DataError(f"{where}: images of one class only; at least two classes are needed")
    pixels = read_images([image for _, image in train + test], size=size)
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


def _readable(images: list[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """Return the images that can be decoded, and warn of the others."""
    found, unreadable = [], []
    for label, path in images:
        try:
            with _opened(path) as image:
                image.load()
            found.append((label, path))
        except DataError as error:
            unreadable.append(str(error))
    if unreadable:
        warnings.warn(
            f"{len(unreadable)} of {len(images)} images cannot be read and are left out, the "
            f"first: {unreadable[0]}",
            SFFAWarning,
            stacklevel=3,
        )
    return found


def image_files(path: Path) -> list[Path]:
    """Return ``path`` itself if it is a file, or the images in and below the folder ``path``.

    >>> from pathlib import Path
    >>> from PIL import Image
    >>> Image.new("L", (8, 8)).save("one.png")
    >>> [path.name for path in image_files(Path())]
    ['one.png']
    """
    if path.is_file():
        return [path]
    found = _images_below(path)
    if not found:
        raise DataError(f"{path}: an empty folder, no images in it")
    return found


def _images_below(folder: Path) -> list[Path]:
    """Return the images below ``folder``; a folder that links lead back to is visited once."""
    found: list[Path] = []
    visited = {_identity(folder)}
    waiting = sorted(listed(folder), reverse=True)
    while waiting:
        child = waiting.pop()
        if child.is_dir():
            if (place := _identity(child)) not in visited:
                visited.add(place)
                waiting += sorted(listed(child), reverse=True)
        elif child.suffix.lower() in _SUFFIXES:
            found.append(child)
    return found


def _identity(folder: Path) -> tuple[int, int] | None:
    """Return what tells a folder from others, however links lead to it; None if it is gone."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def read_images(
    paths: Sequence[Path], *, gray: bool | None = None, size: tuple[int, int] | None = None
) -> Array:
    """Read images of one size as uint8, (N, H, W) if all are grayscale, else (N, H, W, 3).

    ``gray`` converts them to the one or the other, ``size`` (width, height) brings them to one.

    >>> from pathlib import Path
    >>> from PIL import Image
    >>> path = Path("one.png")
    >>> Image.new("RGB", (12, 8)).save(path)
    >>> read_images([path]).shape, read_images([path], gray=True, size=(4, 4)).shape
    ((1, 8, 12, 3), (1, 4, 4))
    """
    if not paths:
        raise DataError("no images to read")
    (width, height), all_gray, stored = _in_common(paths, size)
    gray = all_gray if gray is None else gray
    shape = (len(paths), height, width, *(() if gray else (3,)))
    check_size(int(np.prod(shape, dtype=object)), stored, f"{paths[0].parent} and the like")
    pixels = np.empty(shape, np.uint8)
    for position, path in enumerate(paths):
        with _opened(path) as image:
            plain = _narrow(image).convert("L" if gray else "RGB")
            pixels[position] = plain if size is None else plain.resize(size)
    return pixels


def _narrow(image: Image.Image) -> Image.Image:
    """Return an image of more than eight bits a pixel as one of eight."""
    if image.mode not in _WIDE_GRAY:
        return image
    wide = np.asarray(image)
    narrow = np.clip(wide // (257 if wide.max() > 255 else 1), 0, 255)
    return Image.fromarray(narrow.astype(np.uint8))


def _in_common(
    paths: Sequence[Path], wanted: tuple[int, int] | None
) -> tuple[tuple[int, int], bool, int]:
    """Return the (width, height) all images share, whether all are gray, and their files' bytes.

    Images that are brought to a ``wanted`` size may have any.
    """
    size = wanted
    gray, stored = True, 0
    for path in paths:
        with _opened(path) as image:
            size = size or image.size
            if image.size != size and wanted is None:
                raise DataError(
                    f"{path}: {image.width}x{image.height} pixels, but {paths[0]} has "
                    f"{size[0]}x{size[1]}; all images must have the same size: give one with "
                    "--size, or size="
                )
            gray = gray and image.mode in _GRAY
        stored += path.stat().st_size
    return size or (0, 0), gray, stored


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """Open an image, decoding nothing yet; what a damaged one raises is one ``DataError``."""
    with reading(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stored = os.fstat(file.fileno()).st_size
        try:
            check_size(_webp_canvas(file) * _BYTES_A_PIXEL, stored, path)
            with Image.open(file, formats=_FORMATS) as image:
                if not image.width or not image.height:
                    raise DataError(f"{path}: an image without pixels")
                check_size(image.width * image.height * _BYTES_A_PIXEL, stored, path)
                yield image
        except (SFFAError, MemoryError):
            raise
        except UnidentifiedImageError:
            raise DataError(f"{path}: not an image that can be read") from None
        except Exception as error:  # decoders raise whatever damaged bytes lead them to
            told = " ".join(str(error).split())[:200] or type(error).__name__
            raise DataError(f"{path}: a damaged image ({told})") from None


def _webp_canvas(file: IO[bytes]) -> int:
    """Return the pixels that an extended WebP file announces: opening it allocates them.

    The header: ``RIFF``, size, ``WEBP``, ``VP8X``, size, flags, then width - 1 and height - 1 as
    24-bit numbers.
    """
    head = file.read(30)
    file.seek(0)
    if head[:4] != b"RIFF" or head[8:16] != b"WEBPVP8X":
        return 0
    return (int.from_bytes(head[24:27], "little") + 1) * (int.from_bytes(head[27:30], "little") + 1)
