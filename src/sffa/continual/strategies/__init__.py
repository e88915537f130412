"""What protects the past, one method a file; `registry` knows them by name."""

from sffa.continual.strategies.agem import AGEM
from sffa.continual.strategies.base import Combined, Strategy
from sffa.continual.strategies.derpp import DERPP
from sffa.continual.strategies.er_ace import ERACE
from sffa.continual.strategies.ewc import EWC
from sffa.continual.strategies.gaussian import Gaussian
from sffa.continual.strategies.gem import GEM
from sffa.continual.strategies.joint import Joint
from sffa.continual.strategies.lwf import LwF
from sffa.continual.strategies.mas import MAS
from sffa.continual.strategies.masking import Masking
from sffa.continual.strategies.naive import Naive
from sffa.continual.strategies.projection import Projection
from sffa.continual.strategies.registry import (
    METHODS,
    PAPER,
    expectation,
    make_strategy,
    options_of,
)
from sffa.continual.strategies.replay import Replay
from sffa.continual.strategies.si import SI

__all__ = [
    "AGEM",
    "DERPP",
    "ERACE",
    "EWC",
    "GEM",
    "MAS",
    "METHODS",
    "PAPER",
    "SI",
    "Combined",
    "Gaussian",
    "Joint",
    "LwF",
    "Masking",
    "Naive",
    "Projection",
    "Replay",
    "Strategy",
    "expectation",
    "make_strategy",
    "options_of",
]
