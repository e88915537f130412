"""Tables, figures, the HTML page and model cards, made from records."""

from sffa.report.card import model_card
from sffa.report.drawing import Drawing
from sffa.report.latex import write_latex
from sffa.report.markdown import write_markdown
from sffa.report.page import render, write

__all__ = ["Drawing", "model_card", "render", "write", "write_latex", "write_markdown"]
