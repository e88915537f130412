"""Reading model cards in tests."""

from __future__ import annotations

import re
from typing import Any

import yaml


def head(card: str) -> dict[str, Any]:
    """Return the YAML above a card, as the hub reads it."""
    found = re.match(r"---\n(.*?)\n---\n", card, re.DOTALL)
    assert found is not None
    values = yaml.safe_load(found[1])
    assert isinstance(values, dict)
    return values


def row(card: str, title: str) -> str:
    """Return the second cell of the row that begins with ``title``."""
    found = re.search(rf"^\| {re.escape(title)} \| (.*) \|$", card, re.MULTILINE)
    assert found is not None, f"no row {title}"
    return found[1]
