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
    Masking,
    Naive,
    Projection,
    Replay,
    Strategy,
    expectation,
    make_strategy,
    options_of,
)
from sffa.continual.stream import AnyStream, Data, Experience, Stream
from sffa.continual.streams.blurry import Blurry
from sffa.continual.streams.iterated import IteratorStream
from sffa.continual.streams.partition import Partition
from sffa.continual.streams.registry import STREAMS, make_stream, stream_options
from sffa.continual.streams.repetition import Repetition
from sffa.continual.streams.task_free import TaskFree
from sffa.continual.streams.transformed import Permuted, Rotated
from sffa.continual.views import View
from sffa.continual.within import Within
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
    "STREAMS",
    "AnyStream",
    "Batch",
    "Blurry",
    "Clock",
    "Combined",
    "ContinualConfig",
    "ContinualRun",
    "Data",
    "Experience",
    "Gaussian",
    "IteratorStream",
    "Joint",
    "LwF",
    "Masking",
    "Naive",
    "Partition",
    "Permuted",
    "Projection",
    "Repetition",
    "Replay",
    "Result",
    "Rotated",
    "Stopped",
    "Strategy",
    "Stream",
    "TaskFree",
    "View",
    "Within",
    "expectation",
    "make_learner",
    "make_strategy",
    "make_stream",
    "options_of",
    "run",
    "stream_options",
]
