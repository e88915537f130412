"""Checkpoints with a right checksum and senseless state: refused in a line, before training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.continual.toy import StopAt, small, toy
from torch import Tensor

from sffa.continual import Stopped, run
from sffa.core import storage
from sffa.errors import ModelFileError

BROKEN: dict[str, Callable[[Tensor], Tensor | None]] = {
    "absent": lambda old: None,
    "longer": lambda old: torch.cat([old.reshape(-1), old.reshape(-1), old.reshape(-1)]),
    "of text": lambda old: old.to(torch.uint8) if old.dtype != torch.uint8 else old.to(torch.bool),
    "not finite": lambda old: old.double() * torch.nan,
    "unheard of": lambda old: old + 100 if old.dtype == torch.int64 else old.bool(),
}
STATE = {
    "replay": ("buffers.x", "buffers.y", "buffers.task", "buffers.key"),
    "derpp": ("buffers.logits", "buffers.y"),
    "gem": ("buffers.x.0", "buffers.y.0"),
    "gaussian": ("buffers.mean", "buffers.count", "buffers.label", "buffers.scale"),
    "lwf": ("buffers.known", "parameter_state.last.body.0.weight"),
    "ewc": ("parameter_state.anchor.body.0.weight", "parameter_state.offset.body.0.bias"),
    "masking": ("parameter_state.mask.body.0.weight",),
    "projection": ("buffers.basis.body.0.weight", "buffers.axis.body.0.weight"),
    "si": ("parameter_state.path.body.0.weight",),
}

FREE = ("parameter_state.last", "parameter_state.mask")


@pytest.mark.parametrize("scenario", ["class", "task"])
@pytest.mark.parametrize("method", list(STATE))
def test_state_that_a_strategy_cannot_have_kept_is_refused(
    method: str, scenario: str, tmp_path: Path
) -> None:
    config = small("bp", method=method, scenario=scenario)
    path = tmp_path / "c.safetensors"
    with pytest.raises(Stopped):
        run(config, toy(), checkpoint=path, callbacks=[StopAt(25)])
    header, tensors = storage.read(path)
    for ending in STATE[method]:
        (name,) = (found for found in tensors if found.endswith(ending))
        for what, broken in BROKEN.items():
            other = broken(tensors[name])
            rest = {n: t for n, t in tensors.items() if n != name}
            if other is None and ending.startswith(FREE):
                continue  # a weight that an earlier network lacked
            storage.write(
                path, header.model_dump(), rest if other is None else {**rest, name: other}
            )
            with pytest.raises(ModelFileError, match="holds a run that cannot go on") as refused:
                run(config, toy(), checkpoint=path)
            assert "\n" not in str(refused.value), what
    storage.write(path, header.model_dump(), tensors)
    assert run(config, toy(), checkpoint=path).done == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"position": {"steps": -1}}, "a position of"),
        ({"position": {"seconds": -1.0}}, "a position of"),
        ({"position": {"experience": 3}}, "rows and"),
        ({"rows": []}, "cannot go on"),
        ({"held": [[0.0, 0.0, 0.0]]}, "1 rows of held-out accuracy"),
        ({"chances": [0.5]}, "1 chances for 3 parts"),
        ({"learned": [1]}, "1 parts learned of 3"),
    ],
)
def test_a_position_that_does_not_go_with_the_results_is_refused(
    changes: dict, said: str, tmp_path: Path
) -> None:
    config = small("bp", method="naive")
    path = tmp_path / "c.safetensors"
    with pytest.raises(Stopped):
        run(config, toy(), checkpoint=path, callbacks=[StopAt(25)])
    header, tensors = storage.read(path)
    values = header.model_dump()
    notes = values["notes"]
    for name, change in changes.items():
        notes[name] = {**notes[name], **change} if isinstance(change, dict) else change
    storage.write(path, values, tensors)
    with pytest.raises(ModelFileError, match=said) as refused:
        run(config, toy(), checkpoint=path)
    assert "\n" not in str(refused.value)
