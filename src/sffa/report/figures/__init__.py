"""The figures, one idea a file: of the theory, of a network looked into, of records."""

from sffa.report.figures.active_neurons import sparsity
from sffa.report.figures.against_paper import agreement
from sffa.report.figures.costs import costs
from sffa.report.figures.diagram import models
from sffa.report.figures.foreign import ood
from sffa.report.figures.kept import kept_figure
from sffa.report.figures.loss import stability
from sffa.report.figures.memory import memory
from sffa.report.figures.neurons import specialisation, usage
from sffa.report.figures.probability import surfaces
from sffa.report.figures.reliability import calibration
from sffa.report.figures.static import accuracy_bars, learning_curves
from sffa.report.figures.stream import streams
from sffa.report.figures.tables import tables_figure
from sffa.report.figures.updates import dynamics
from sffa.report.figures.within import within

__all__ = [
    "accuracy_bars",
    "agreement",
    "calibration",
    "costs",
    "dynamics",
    "kept_figure",
    "learning_curves",
    "memory",
    "models",
    "ood",
    "sparsity",
    "specialisation",
    "stability",
    "streams",
    "surfaces",
    "tables_figure",
    "usage",
    "within",
]
