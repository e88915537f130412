"""Import Avalanche where only a CPU build of torch is installed.

Avalanche imports torchvision. A torchvision built for CUDA cannot load its compiled operators
beside a CPU torch, and then fails on registering what belongs to two of them ("operator
torchvision::nms does not exist"). Nobody here calls these operators: declaring their schemas first
is enough.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType

import torch

from sffa.errors import ConfigurationError

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[torch.library.Library] = []


def import_avalanche(module: str = "avalanche") -> ModuleType:
    """Import Avalanche, or a module of it; say how to install it if it is not there."""
    _import_torchvision()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations inside its own dependencies
            return importlib.import_module(module)
    except OSError as error:
        raise ConfigurationError(
            f"Avalanche makes a folder in the home when it is imported, and cannot ({error}); "
            "set HOME to a folder that can be written"
        ) from None
    except ImportError as error:
        raise ConfigurationError(
            f"Avalanche cannot be imported ({error}); install it with "
            "pip install -c constraints.txt 'sffa[avalanche]'"
        ) from None


def _import_torchvision() -> None:
    if "torchvision" in sys.modules:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            importlib.import_module("torchvision")
        except ImportError:
            return
        except RuntimeError:
            for name in [n for n in sys.modules if n.split(".")[0] == "torchvision"]:
                del sys.modules[name]
            library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
            for schema in _SCHEMAS:
                library.define(schema)  # type: ignore[no-untyped-call]
            _declared.append(library)  # a library that is collected takes its schemas along
            importlib.import_module("torchvision")
