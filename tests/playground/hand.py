"""A hand for a browser: draws strokes on the pad by mouse or by touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.pointer_input import PointerInput

BOX = (
    "const box = document.getElementById('pad').getBoundingClientRect();"
    "return [box.left, box.top, box.width]"
)


def draw(browser: Any, strokes: Sequence[np.ndarray], kind: str = "mouse") -> None:
    """Draw strokes of points in the unit square; ``kind`` is mouse or touch."""
    left, top, side = browser.execute_script(BOX)
    for stroke in strokes:
        pointer = PointerInput(kind, f"the {kind}")
        actions = ActionBuilder(browser, mouse=pointer, duration=1)
        for number, (x, y) in enumerate(stroke):
            actions.pointer_action.move_to_location(round(left + side * x), round(top + side * y))
            if number == 0:
                actions.pointer_action.pointer_down()
        actions.pointer_action.pointer_up()
        actions.perform()
