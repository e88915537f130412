"""Learning over time: scenarios, streams, strategies, metrics and the loop."""

from sffa.continual.config import ContinualConfig
from sffa.continual.loop import Course, Stopped, make_learner, run
from sffa.continual.methods import METHODS, PAPER, make_strategy, options_of
from sffa.continual.result import Result
from sffa.continual.strategy import Clock, Combined, Strategy
from sffa.continual.stream import Data, Experience, Stream
from sffa.continual.views import Batch, View

__all__ = [
    "METHODS",
    "PAPER",
    "Batch",
    "Clock",
    "Combined",
    "ContinualConfig",
    "Course",
    "Data",
    "Experience",
    "Result",
    "Stopped",
    "Strategy",
    "Stream",
    "View",
    "make_learner",
    "make_strategy",
    "options_of",
    "run",
]
