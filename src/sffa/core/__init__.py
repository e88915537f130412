"""What learns: codes, goodness, layers, networks, objectives, negatives, trainer, baseline."""

from sffa.core.backprop import Backprop, BackpropConfig
from sffa.core.config import NetworkConfig
from sffa.core.growth import Growth
from sffa.core.learner import Learner
from sffa.core.network import Network
from sffa.core.presets import PRESETS, make
from sffa.core.storage import load
from sffa.core.trainer import Epoch, Trainer, accuracy

__all__ = [
    "PRESETS",
    "Backprop",
    "BackpropConfig",
    "Epoch",
    "Growth",
    "Learner",
    "Network",
    "NetworkConfig",
    "Trainer",
    "accuracy",
    "load",
    "make",
]
