"""`sffa.seeds` under the name by which learners and strategies know it."""

from sffa.seeds import generator

__all__ = ["generator"]
