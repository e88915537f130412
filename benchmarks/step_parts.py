"""What a training step costs at each size, its parts, and which of them are only products.

The processor's time on one thread, in turns with a plain MLP, some calls of each in a row; what the
fastest tenth of them takes, which is what others who work beside disturb least. Beside that stand
the products of an SFFA, an FFA and an MLP step with nothing around: no arrangement of the rest can
be faster.

python benchmarks/step_parts.py --out results/step_parts.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from sffa.bench.alone import SIZES, _plain
from sffa.bench.contenders import CONTENDERS
from sffa.bench.shape import Shape
from sffa.files import write_text
from sffa.kernels import compiled_loss, openmp, tasks

_LOOPS = {
    "scan": "winners and gather",
    "scan_gated": "winners and gather",
    "pack": "winners and gather",
    "differentiate": "scatter",
    "scatter": "scatter",
    "label_part": "labels' part",
    "label_gradients": "labels' part",
    "adam": "optimiser",
}


_TURNS = 5


class Clock:
    """Adds up what calls of some functions take, by part."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)

    def watch(self, owner: Any, name: str, part: Callable[..., str]) -> None:
        """Time every call of a function from now on."""
        function = getattr(owner, name)

        def timed(*given: Any, **options: Any) -> Any:
            started = time.thread_time()
            try:
                return function(*given, **options)
            finally:
                self.spent[part(*given)] += time.thread_time() - started

        setattr(owner, name, timed)


def watch_all(clock: Clock) -> None:
    """Time products, loops, the loss and the optimiser."""
    clock.watch(torch, "mm", lambda *_: "products")
    clock.watch(torch, "_fused_adam_", lambda *_: "optimiser")
    clock.watch(compiled_loss, "layer_slopes", lambda *_: "loss")

    def part_of(call: Any, *_: Any) -> str:
        made = {getattr(tasks, name).address: part for name, part in _LOOPS.items()}
        return made[call._address]

    clock.watch(openmp.Call, "run", part_of)


def parts(name: str, shape: Shape, clock: Clock) -> dict[str, float]:
    """Return the milliseconds of each part of a step, each in the fastest tenth of the steps."""
    step = CONTENDERS[name](shape).step
    rows: list[dict[str, float]] = []
    for number in range(5 + 8 * _repeats(shape)):
        clock.spent.clear()
        started = time.thread_time()
        step()
        total = time.thread_time() - started
        if number >= 5:
            rest = total - sum(clock.spent.values())
            rows.append({**clock.spent, "everything else": rest, "step": total})
    return {part: 1e3 * _tenth([row[part] for row in rows]) for part in rows[0]}


def compared(shape: Shape, names: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the milliseconds of steps and predictions, and their ratios to the MLP's."""
    mlp = _plain(shape)
    calls = {"mlp": dict(zip(("step", "predict"), mlp[:2], strict=True))}
    for name in names:
        made = CONTENDERS[name](shape)
        calls[name] = {"step": made.step, "predict": made.predict}
    found: dict[str, dict[str, dict[str, float]]] = {name: {} for name in calls}
    for task in ("step", "predict"):
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(_TURNS):
            for name, each in calls.items():
                taken[name] += _times(each[task], _repeats(shape))
        for name, times in taken.items():
            ms = _tenth(times)
            found[name][task] = {"ms": ms, "ratio": ms / _tenth(taken["mlp"])}
    return found


def product_bounds(shape: Shape) -> dict[str, float]:
    """Return the milliseconds of the large products of a step, of each kind of network."""
    batch, inputs, width, labels = shape.batch, shape.inputs, shape.width, shape.labels
    image = [(batch, inputs, width), (inputs, batch, width)]
    hidden = [(batch, width, width), (batch, width, width), (width, batch, width)]
    asked = labels * batch
    return {
        "mlp": _of_products([*image, *hidden]),
        "sffa": _of_products(2 * image),
        "ffa": _of_products([*2 * image, (asked, width, width), (width, asked, width)]),
    }


def _of_products(sizes: list[tuple[int, int, int]]) -> float:
    given = [(torch.randn(n, k), torch.randn(k, m), torch.empty(n, m)) for n, k, m in sizes]

    def run() -> None:
        for left, right, out in given:
            torch.mm(left, right, out=out)

    return _tenth(_times(run, 9 if max(n * k * m for n, k, m in sizes) > 1e8 else 200))


def _times(call: Callable[[], object], repeats: int) -> list[float]:
    """Return the milliseconds of some calls in a row, the first apart."""
    taken = []
    for _ in range(repeats + 1):
        started = time.thread_time()
        call()
        taken.append(1e3 * (time.thread_time() - started))
    return taken[1:]


def _tenth(times: list[float]) -> float:
    return sorted(times)[len(times) // 10]


def _repeats(shape: Shape) -> int:
    return 2 if shape.batch * shape.width > 10**5 else 20


def main() -> None:
    """Measure each size and print what was found; write the JSON where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    result: list[dict[str, Any]] = []
    for shape in SIZES[:5]:
        names = ["sffa", "sffa, disjoint gate", *(["ffa"] if shape.labels < 26 else [])]
        row = {"shape": vars(shape), "compared": compared(shape, names), "parts": {}}
        result.append({**row, "products": product_bounds(shape) if shape.labels < 26 else {}})
        print(json.dumps(result[-1]), flush=True)
    clock = Clock()
    watch_all(clock)
    for row in result[:4]:
        for name in ("sffa", "sffa, disjoint gate"):
            row["parts"][name] = parts(name, Shape(**row["shape"]), clock)
    text = json.dumps(result, indent=1)
    print(json.dumps([row["parts"] for row in result[:4]]))
    if asked.out is not None:
        write_text(asked.out, text + "\n")


if __name__ == "__main__":
    main()
