"""The playground as one file that needs no server: networks, modules and style in the page."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sffa.core import Network
from sffa.core.layers import Layer
from sffa.data import Dataset
from sffa.files import write_text
from sffa.playground.forgetting import learn_in_parts
from sffa.playground.networks import ALGORITHMS, Networks, Trained
from sffa.playground.session import Choice, Sessions

STATIC = Path(__file__).with_name("static")
# In the order of their imports: what stands later uses what stands earlier.
MODULES = ("dom", "frame", "pad", "watch", "teach", "parts", "memory", "tour", "main", "local")
EXAMPLES = 10  # of each class


def write_page(path: Path, networks: Networks) -> Path:
    """Write the page with all networks in it, trained now where they are not yet."""
    html = (STATIC / "index.html").read_text(encoding="utf-8")
    style = (STATIC / "style.css").read_text(encoding="utf-8")
    model = json.dumps(model_of(networks), separators=(",", ":")).replace("<", "\\u003c")
    html = html.replace(
        '<link rel="stylesheet" href="static/style.css">', f"<style>\n{style}</style>"
    )
    html = html.replace('<script type="module" src="static/live.js"></script>\n', "")
    scripts = (
        f'<script id="model" type="application/json">{model}</script>\n'
        f'<script type="module">\n{script()}</script>\n</body>'
    )
    write_text(path, html.replace("</body>", scripts))
    return path


def script() -> str:
    """Return the modules one after the other, without the imports and exports between them."""
    parts = [(STATIC / f"{name}.js").read_text(encoding="utf-8") for name in (*MODULES, "fixed")]
    text = "\n".join(parts)
    text = re.sub(r"^import [^;]*;\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def model_of(networks: Networks) -> dict[str, Any]:
    """Return all that the page answers with: networks, statistics, a stream and examples."""
    data = networks.material.data
    session = Sessions(networks).open()
    algorithm = next(iter(ALGORITHMS))
    return {
        "about": session.about(),
        "mean": float(data.mean),
        "std": float(data.std),
        "networks": [network_of(networks.get(name)) for name in ALGORITHMS],
        "memory": session.remembered(Choice(algorithm=algorithm)),
        "parts": learn_in_parts(data, algorithm),
        "examples": [_examples(data, label) for label in range(data.classes)],
    }


def network_of(trained: Trained) -> dict[str, Any]:
    """Return a network as the page's forward pass takes it; codes and biases are one by label."""
    network = trained.network
    config = network.config
    return {
        "about": trained.about(),
        "classes": len(network.classes),
        "winners": config.k if config.algorithm == "sffa" else 0,
        "sigmoid": config.activation == "sigmoid",
        "scale": config.scale,
        "layers": [_layer_of(network, layer) for layer in network.stack],
    }


def _layer_of(network: Network, layer: Layer) -> dict[str, Any]:
    with torch.no_grad():
        label = torch.addmm(layer.bias, network.codes, layer.code)
    return {
        "width": layer.width,
        "image": _eight_bits(layer.image),
        "latent": None if layer.latent is None else _eight_bits(layer.latent),
        "label": _text(label.numpy()),
        "gate": None if layer.gate is None else layer.gate.own.tolist(),
    }


def _eight_bits(weights: Tensor) -> dict[str, str]:
    """Return weights (inputs, width) as whole numbers, and a scale for each neuron."""
    values = weights.detach()
    scales = values.abs().amax(dim=0).clamp(min=1e-12) / 127
    whole = (values / scales).round().to(torch.int8)
    return {"values": _text(whole.numpy()), "scales": _text(scales.numpy())}


def _examples(data: Dataset, label: int) -> list[str]:
    return [_text(picture) for picture in data.test.x[data.test.y == label][:EXAMPLES]]


def _text(values: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
