"""The errors a user can cause, each with what was wrong and what to do."""

import warnings


class SFFAError(Exception):
    r"""Root of every error that sffa raises on purpose; one line, whatever names it quotes.

    >>> str(SFFAError("a name with\na break"))
    'a name with a break'
    """

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())


class ConfigurationError(SFFAError, ValueError):
    """An option, or a combination of options, that cannot work.

    >>> import sffa
    >>> sffa.Network(4, gates=0.3)
    Traceback (most recent call last):
    sffa.errors.ConfigurationError: ...
    """


class DataError(SFFAError, ValueError):
    """Examples or labels that cannot be used as given.

    >>> import numpy as np
    >>> from sffa.data import from_arrays
    >>> from_arrays(np.zeros((3, 2)), [0, 1])
    Traceback (most recent call last):
    sffa.errors.DataError: ...
    """


class DownloadError(SFFAError, OSError):
    """A dataset that no source could deliver.

    >>> from sffa.data import load
    >>> try:  # doctest: +SKIP
    ...     load("mnist", download=True)
    ... except DownloadError as error:
    ...     print(error)
    """


class OutputError(SFFAError, OSError):
    """A path that cannot be written: a directory, a device or a loop of links stands there.

    >>> from pathlib import Path
    >>> from sffa.integrations.trackers import CSVTracker
    >>> Path("folder").mkdir()
    >>> CSVTracker("folder")
    Traceback (most recent call last):
    sffa.errors.OutputError: ...
    """


class ModelFileError(SFFAError, ValueError):
    """A model file that is damaged, foreign or of a newer format.

    >>> from pathlib import Path
    >>> import sffa
    >>> written = Path("model.safetensors").write_text("no model")
    >>> sffa.load("model.safetensors")
    Traceback (most recent call last):
    sffa.errors.ModelFileError: ...
    """


class SFFAWarning(UserWarning):
    """Something that works now and will not later; one line, which commands print as such.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("an option that will go", SFFAWarning)
    >>> [str(warning.message) for warning in heard]
    ['an option that will go']
    """


def warn_renamed(old: str, new: str) -> None:
    """Warn that an old name still works, and will not after this release.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     warn_renamed("hiden", "hidden")
    >>> str(heard[0].message)
    'hiden is now hidden; the old name works until the next release'
    """
    warnings.warn(
        f"{old} is now {new}; the old name works until the next release",
        FutureWarning,
        stacklevel=3,
    )


def nearest(name: str, known: list[str]) -> str:
    """Return the hint ``; did you mean 'x'?`` for a name close to a known one, or nothing.

    Close is what shares two thirds of its letters, in order, or half of them and its beginning.

    >>> nearest("mnits", ["mnist", "digits"])
    "; did you mean 'mnist'?"
    >>> nearest("zebra", ["mnist"]), nearest("negatives", ["gate"])
    ('', '')
    """
    import difflib

    for close in difflib.get_close_matches(name, known, n=3, cutoff=0.5):
        alike = difflib.SequenceMatcher(None, name, close).ratio() >= 0.65
        if alike or name[:4] == close[:4]:
            return f"; did you mean '{close}'?"
    return ""
