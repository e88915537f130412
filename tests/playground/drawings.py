"""Scripted drawings: strokes of digits and of other signs, never twice the same.

A sign is a list of strokes, a stroke a list of points (x, y) in the unit square, y downwards. Each
drawing of it is turned, sheared, scaled, moved and bent a little, as a hand would.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

Stroke = NDArray[np.float64]


def _arc(x: float, y: float, rx: float, ry: float, start: float, end: float) -> list[list[float]]:
    """Return points of an ellipse from one angle to another, in degrees, clockwise from right."""
    angles = np.radians(np.linspace(start, end, 24))
    return [[x + rx * math.cos(a), y + ry * math.sin(a)] for a in angles]


DIGITS = {
    0: [_arc(0.5, 0.5, 0.24, 0.36, -90, 270)],
    1: [[[0.5, 0.13], [0.5, 0.87]]],
    2: [[*_arc(0.5, 0.33, 0.22, 0.2, -160, 35), [0.28, 0.85], [0.76, 0.85]]],
    3: [[*_arc(0.47, 0.32, 0.21, 0.18, -150, 80), *_arc(0.46, 0.67, 0.25, 0.19, -80, 150)]],
    4: [[[0.38, 0.14], [0.28, 0.55], [0.74, 0.55]], [[0.62, 0.3], [0.6, 0.88]]],
    5: [[[0.72, 0.15], [0.36, 0.15], [0.33, 0.45], *_arc(0.47, 0.64, 0.24, 0.22, -110, 150)]],
    6: [[[0.62, 0.12], [0.4, 0.4], *_arc(0.5, 0.67, 0.19, 0.19, 190, -170)]],
    7: [[[0.27, 0.16], [0.73, 0.16], [0.45, 0.87]]],
    8: [[*_arc(0.5, 0.32, 0.17, 0.17, 90, -270), *_arc(0.5, 0.68, 0.21, 0.19, -90, 270)]],
    9: [[*_arc(0.49, 0.34, 0.19, 0.19, 0, -360), [0.67, 0.5], [0.62, 0.88]]],
}

SIGNS = {
    "triangle": [[[0.5, 0.15], [0.86, 0.82], [0.14, 0.82], [0.5, 0.15]]],
    "square": [[[0.2, 0.2], [0.8, 0.2], [0.8, 0.8], [0.2, 0.8], [0.2, 0.2]]],
    "cross": [[[0.18, 0.18], [0.82, 0.82]], [[0.82, 0.18], [0.18, 0.82]]],
    "plus": [[[0.5, 0.15], [0.5, 0.85]], [[0.15, 0.5], [0.85, 0.5]]],
    "heart": [
        [
            [0.5, 0.85],
            [0.18, 0.5],
            *_arc(0.33, 0.35, 0.17, 0.17, 160, 360),
            *_arc(0.67, 0.35, 0.17, 0.17, 180, 380),
            [0.5, 0.85],
        ]
    ],
    "arrow": [[[0.1, 0.5], [0.88, 0.5]], [[0.62, 0.26], [0.88, 0.5], [0.62, 0.74]]],
    "letter A": [[[0.2, 0.86], [0.5, 0.14], [0.8, 0.86]], [[0.32, 0.6], [0.68, 0.6]]],
    "letter M": [[[0.16, 0.85], [0.2, 0.17], [0.5, 0.62], [0.8, 0.17], [0.84, 0.85]]],
    "letter T": [[[0.18, 0.17], [0.82, 0.17]], [[0.5, 0.17], [0.5, 0.86]]],
    "letter E": [
        [[0.74, 0.15], [0.3, 0.15], [0.3, 0.85], [0.74, 0.85]],
        [[0.3, 0.5], [0.66, 0.5]],
    ],
}


def drawing(strokes: list[list[list[float]]], rng: np.random.Generator) -> list[Stroke]:
    """Return one drawing of a sign, as strokes of points less than a tenth apart."""
    turn, shear = rng.normal(0, 0.08), rng.normal(0, 0.08)
    scale = 0.8 * (1 + rng.normal(0, 0.08, 2))
    matrix = np.array([[math.cos(turn), -math.sin(turn) + shear], [math.sin(turn), math.cos(turn)]])
    shift = 0.5 + rng.normal(0, 0.025, 2)
    phase, bend = rng.uniform(0, 2 * math.pi, 2), rng.normal(0, 0.02, 2)
    drawn = []
    for stroke in strokes:
        points = _dense(np.array(stroke) + rng.normal(0, 0.008, (len(stroke), 2)))
        waves = bend * np.sin(2 * math.pi * points[:, ::-1] + phase)
        moved = ((points - 0.5) * scale + waves) @ matrix.T + shift
        drawn.append(np.clip(moved, 0.02, 0.98))
    return drawn


def _dense(points: Stroke, step: float = 0.08) -> Stroke:
    """Add points between those that lie far apart."""
    parts = [points[:1]]
    for one, other in itertools.pairwise(points):
        count = max(1, math.ceil(float(np.linalg.norm(other - one)) / step))
        parts.append(one + (other - one) * np.linspace(1 / count, 1, count)[:, None])
    return np.concatenate(parts)
