"""Hold an exported model against the network on a whole test split, and time both.

    python benchmarks/onnx_runtime.py MODEL.safetensors [--dataset mnist] [--threads 1]

Prints predictions that differ, the largest difference of scores, accuracy and the time per image,
for float32 and for eight-bit weights.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

import sffa
from sffa.data import load as load_data
from sffa.integrations import onnx
from sffa.kernels import warm_up

Array = np.ndarray[Any, Any]


def timed(scores: Callable[[Array], Array], x: Array, batch: int) -> tuple[Array, float]:
    scores(x[:batch])
    started = time.perf_counter()
    parts = [scores(x[start : start + batch]) for start in range(0, len(x), batch)]
    return np.concatenate(parts), (time.perf_counter() - started) / len(x)


def session(path: Path, threads: int) -> Callable[[Array], Array]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    made = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda x: made.run(["scores"], {"input": x})[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=250)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    warm_up()
    learner = sffa.load(options.model)
    test = load_data(options.dataset).test
    x = test.flat.astype(np.float32) / 255
    ours, seconds = timed(learner.scores, x, options.batch)
    right = np.array(learner.classes)
    accuracy = 100 * np.mean(right[ours.argmax(axis=1)] == test.y)
    print("| what | MB | accuracy | other predictions | largest difference | ms/image |")
    print("| --- | --- | --- | --- | --- | --- |")
    size = options.model.stat().st_size / 2**20
    print(f"| sffa | {size:.1f} | {accuracy:.2f} % | | | {1e3 * seconds:.3f} |")
    with tempfile.TemporaryDirectory() as folder:
        for name, int8 in (("onnxruntime", False), ("onnxruntime, int8", True)):
            path = Path(folder) / "model.onnx"
            onnx.export(learner, path, int8=int8)
            theirs, seconds = timed(session(path, options.threads), x, options.batch)
            best = right[theirs.argmax(axis=1)]
            other = int((theirs.argmax(axis=1) != ours.argmax(axis=1)).sum())
            print(
                f"| {name} | {path.stat().st_size / 2**20:.1f} | "
                f"{100 * np.mean(best == test.y):.2f} % | {other} of {len(x):,} | "
                f"{np.abs(theirs - ours).max():.1e} | {1e3 * seconds:.3f} |"
            )


if __name__ == "__main__":
    main()
