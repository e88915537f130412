"""The contracts as functions: call them on a class of your own, in a test or a notebook.

Each raises an AssertionError whose message names the promise that is broken.

>>> from sffa import Backprop
>>> from sffa.testing import check_learner
>>> check_learner(Backprop)
"""

from sffa.testing.backends import check_backend
from sffa.testing.learners import check_learner
from sffa.testing.strategies import check_strategy
from sffa.testing.toy import Toy, toy

__all__ = ["Toy", "check_backend", "check_learner", "check_strategy", "toy"]
