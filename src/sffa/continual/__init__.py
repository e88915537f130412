"""Learning over time: streams and scenarios, strategies, metrics and the run."""

from sffa.continual.config import ContinualConfig
from sffa.continual.loop import ContinualRun, Stopped, make_learner, run
from sffa.continual.result import Result
from sffa.continual.strategies import (
    AGEM,
    DERPP,
    ERACE,
    EWC,
    GEM,
    MAS,
    METHODS,
    PAPER,
    SI,
    Combined,
    Gaussian,
    Joint,
    LwF,
    Naive,
    Replay,
    Strategy,
    expectation,
    make_strategy,
    options_of,
)
from sffa.continual.stream import Data, Experience, Stream
from sffa.continual.views import View
from sffa.core import Batch, Clock

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
    "Batch",
    "Clock",
    "Combined",
    "ContinualConfig",
    "ContinualRun",
    "Data",
    "Experience",
    "Gaussian",
    "Joint",
    "LwF",
    "Naive",
    "Replay",
    "Result",
    "Stopped",
    "Strategy",
    "Stream",
    "View",
    "expectation",
    "make_learner",
    "make_strategy",
    "options_of",
    "run",
]
