"""Learning over time: scenarios, streams, strategies, metrics and the loop."""

from sffa.continual.config import ContinualConfig
from sffa.continual.loop import ContinualRun, Stopped, make_learner, run
from sffa.continual.result import Result
from sffa.continual.strategies.base import Clock, Combined, Strategy
from sffa.continual.strategies.registry import METHODS, PAPER, make_strategy, options_of
from sffa.continual.stream import Data, Experience, Stream
from sffa.continual.views import Batch, View

__all__ = [
    "METHODS",
    "PAPER",
    "Batch",
    "Clock",
    "Combined",
    "ContinualConfig",
    "ContinualRun",
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
