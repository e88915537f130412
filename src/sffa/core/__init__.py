"""What learns: learners, layers, goodness, codes, gates, objectives, presets and the trainer."""

from sffa.core.backprop import Backprop, BackpropConfig
from sffa.core.batch import Batch, Clock
from sffa.core.callbacks import Callback, EarlyStopping, Epoch, Progress
from sffa.core.codes import LabelCode
from sffa.core.config import NetworkConfig
from sffa.core.cost import Cost, multiply_adds
from sffa.core.evaluation import accuracy
from sffa.core.goodness import Goodness
from sffa.core.growth import Growth
from sffa.core.learner import Learner
from sffa.core.model_files import load
from sffa.core.negatives import NegativeScheme, Sampled
from sffa.core.network import Network
from sffa.core.objective import Objective
from sffa.core.presets import PRESETS, make
from sffa.core.trainer import Trainer

__all__ = [
    "PRESETS",
    "Backprop",
    "BackpropConfig",
    "Batch",
    "Callback",
    "Clock",
    "Cost",
    "EarlyStopping",
    "Epoch",
    "Goodness",
    "Growth",
    "LabelCode",
    "Learner",
    "NegativeScheme",
    "Network",
    "NetworkConfig",
    "Objective",
    "Progress",
    "Sampled",
    "Trainer",
    "accuracy",
    "load",
    "make",
    "multiply_adds",
]
