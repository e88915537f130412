"""TensorBoard: scalars, histograms of goodness, sparsity of latents and maps of neurons.

Needs the extra ``tensorboard``; nothing of it is imported before a board is opened.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from sffa.analysis.sparsity import hoyer
from sffa.core import Learner, Network
from sffa.core.batch import Array
from sffa.errors import ConfigurationError
from sffa.integrations.tracker import Tracker
from sffa.kernels import Winners, expand

_EXAMPLES = 512
_ROWS = 28


class Board(Tracker):
    """Writes what happens in training into a folder that TensorBoard shows.

    Parameters
    ----------
    folder
        Where the event files go.
    x, y
        Examples to look into the network with; the first 512 are used. Without them only
        scalars are written. Looking draws nothing from any generator and changes no weight.

    Examples
    --------
    ``trainer.fit(x, y, callbacks=[board])`` writes after every epoch; so does `continual.run`.

    >>> from pathlib import Path
    >>> import sffa
    >>> x, y = torch.eye(4), torch.tensor([0, 0, 1, 1])
    >>> with Board("events", x, y) as board:
    ...     _ = sffa.Trainer(sffa.Network(4, hidden=(40,), k=5)).fit(x, y, 2, callbacks=[board])
    >>> len(list(Path("events").glob("events.*")))
    1
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        x: Tensor | Array | None = None,
        y: Tensor | Array | None = None,
    ) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise ConfigurationError(
                "TensorBoard is not installed; pip install 'sffa[tensorboard]'"
            ) from None
        self.x = None if x is None else x[:_EXAMPLES]
        self.y = None if y is None else y[:_EXAMPLES]
        self.writer: Any = SummaryWriter(os.fspath(folder))

    def scalars(self, values: Mapping[str, float], step: int) -> None:
        """Write numbers by name."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    @torch.no_grad()
    def look(self, learner: Learner, step: int) -> None:
        """Write goodness, sparsity and usage of every layer of a forward-forward network."""
        if self.x is None or self.y is None or not isinstance(learner, Network):
            return
        known = torch.isin(torch.as_tensor(self.y).long(), torch.tensor(learner.classes))
        if not bool(known.any()):
            return
        right = learner.columns(torch.as_tensor(self.y)[known])
        wrong = (right + 1) % len(learner.classes)
        pair = torch.stack([right, wrong], dim=1) if len(learner.classes) > 1 else right[:, None]
        x = torch.as_tensor(self.x)[known]
        for number, (layer, response) in enumerate(
            zip(learner.layers, learner.scan(x, pair), strict=True), start=1
        ):
            active = response.active
            latent = expand(active, layer.width) if isinstance(active, Winners) else active  # type: ignore[arg-type]
            goodness = layer.goodness.probability(response.energies)  # type: ignore[operator, union-attr]
            self._layer(number, goodness, latent, step)
        self.writer.flush()

    def _layer(self, number: int, goodness: Tensor, latent: Tensor, step: int) -> None:
        """Write one layer: ``goodness`` (batch, pair) and ``latent`` (batch, pair, width)."""
        for column, sign in zip(range(goodness.shape[1]), ("positive", "negative"), strict=False):
            tag = f"layer {number}/goodness of {sign} inputs"
            self.writer.add_histogram(tag, goodness[:, column], step)
            score = float(hoyer(latent[:, column]).mean())
            self.scalars({f"layer {number}/Hoyer of {sign} inputs": score}, step)
        usage = latent[:, 0].sum(dim=0)
        columns = -(-len(usage) // _ROWS)
        picture = usage.new_zeros(_ROWS * columns)
        picture[: len(usage)] = usage / usage.max().clamp(min=1e-12)
        tag = f"layer {number}/usage of neurons"
        image = picture.view(1, _ROWS, columns)
        self.writer.add_image(tag, image, step)

    def close(self) -> None:
        """Write what is left and close the files."""
        self.writer.close()
