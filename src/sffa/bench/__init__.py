"""How fast and how large: measurements against baselines in the same run."""

from sffa.bench.contenders import CONTENDERS, Shape
from sffa.bench.measure import Timing, measure, peak_memory

__all__ = ["CONTENDERS", "Shape", "Timing", "measure", "peak_memory"]
