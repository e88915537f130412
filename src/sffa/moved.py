"""Modules that have moved: the old names import the very same modules, with one warning each.

The classes in them are the same objects, so that files pickled by the first edition, and
``module:Class`` in old commands and studies, still mean what they meant.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

from sffa.errors import warn_renamed


def _within(old: str, new: str, names: str) -> dict[str, str]:
    """Return the moves of modules that kept their last name, or as ``last=new_last``."""
    pairs = (name.partition("=")[::2] for name in names.split())
    return {f"{old}.{last}": f"{new}.{then or last}" for last, then in pairs}


MODULES = {
    "sffa.adapters": "sffa.integrations",
    "sffa.own": "sffa.extension",
    "sffa.continual.strategy": "sffa.continual.strategies.base",
    "sffa.continual.methods": "sffa.continual.strategies.registry",
    "sffa.core.algorithms": "sffa.core.presets",
    "sffa.cli.live": "sffa.cli.progress_view",
    "sffa.study.sweep": "sffa.study.study_file",
    **_within(
        "sffa.adapters",
        "sffa.integrations",
        "avalanche avalanche_import avalanche_run estimator onnx sklearn tensorboard "
        "label_scan=export_modules lifelong=incremental proportions=defaults tables=validation",
    ),
    **_within(
        "sffa.continual",
        "sffa.continual.strategies",
        "agem buffer episodes ewc gem joint mas naive quadratic replay si",
    ),
    **_within("sffa.data", "sffa.data", "own=arrays own_files=array_files own_images=image_folder"),
    **_within(
        "sffa.report",
        "sffa.report",
        "looks=network_report embed=page_data overview=summary vector=svg",
    ),
    **_within(
        "sffa.study",
        "sffa.study.store",
        "csv_file heartbeat owner schema sqlite_file salvage=recovery",
    ),
}
"""Old and new name of each module that has moved; ``sffa.study.store`` is a package now."""

NAMES = {
    "sffa.adapters.lifelong": {"Lifelong": "Incremental"},
    "sffa.continual.strategy": {"copied": "snapshot", "like": "zeros_like"},
    "sffa.own": {"import_own": "import_class", "is_own": "is_reference"},
    "sffa.report.embed": {"embed": "page_data"},
    "sffa.study.sqlite_file": {"speaking": "translate_errors"},
    "sffa.study.sweep": {"read_sweep": "read_study_file"},
}
"""What was called otherwise in a module that has moved."""


class MovedModules:
    """Finds a module under its old name and puts the new one there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load ``fullname`` if it is an old name."""
        return ModuleSpec(fullname, self) if fullname in MODULES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an empty module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Import the new module, put it under the old name and warn."""
        old = module.__name__
        new = MODULES[old]
        parent, _, last = old.rpartition(".")
        if new != f"{MODULES.get(parent)}.{last}":  # else the package has warned already
            warn_renamed(old, new)
        found = importlib.import_module(new)
        for before, now in NAMES.get(old, {}).items():
            if not hasattr(found, before) and hasattr(found, now):
                setattr(found, before, getattr(found, now))
        sys.modules[old] = found


def install() -> None:
    """Let old names be imported; before the usual finders, which would load a second copy."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())
