"""Tables, figures and the HTML page made from records."""

from sffa.report.drawing import Drawing
from sffa.report.latex import write_latex
from sffa.report.markdown import write_markdown
from sffa.report.page import render, write

__all__ = ["Drawing", "render", "write", "write_latex", "write_markdown"]
