"""Looking into a trained network: sparsity, usage, probability surfaces, update dynamics."""

from sffa.analysis.calibration import Calibration, calibration_of, reliability
from sffa.analysis.depth import Depth, accuracy_by_layer
from sffa.analysis.dynamics import descend, simulate
from sffa.analysis.memory import Remembered, memory_of
from sffa.analysis.ood import Separation, familiarity, noise, separation
from sffa.analysis.sparsity import Sparsity, hoyer, sparsity_of
from sffa.analysis.stability import Trace, compare
from sffa.analysis.surfaces import Surface, ffa_surface, sffa_surface
from sffa.analysis.usage import Usage, as_map, usage_of

__all__ = [
    "Calibration",
    "Depth",
    "Remembered",
    "Separation",
    "Sparsity",
    "Surface",
    "Trace",
    "Usage",
    "accuracy_by_layer",
    "as_map",
    "calibration_of",
    "compare",
    "descend",
    "familiarity",
    "ffa_surface",
    "hoyer",
    "memory_of",
    "noise",
    "reliability",
    "separation",
    "sffa_surface",
    "simulate",
    "sparsity_of",
    "usage_of",
]
