"""Models and a criterion for Avalanche. Needs the extra ``avalanche``.

Avalanche computes ``loss = criterion(model(x), y)``. A forward-forward network has one loss a layer
and none on its output, so the output (batch, labels), the mean goodness, carries the layers'
responses along, and the criterion asks them. Plugins see an ordinary tensor: metrics take its
largest column, MAS its norm, LwF distils it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sffa.core import Network
from sffa.core.layers import Response
from sffa.errors import ConfigurationError
from sffa.integrations.avalanche_import import import_avalanche

try:
    _models = import_avalanche("avalanche.models.dynamic_modules")
except ConfigurationError as error:
    raise ImportError(str(error)) from None

_DynamicModule: Any = _models.DynamicModule
_MultiTaskModule: Any = _models.MultiTaskModule
_CARRIED = "sffa_scan"


@dataclass(frozen=True)
class _Scan:
    """What the criterion needs: the responses of all layers and the label of each candidate.

    ``columns`` (batch, candidates) are the network's, -1 where an example has no candidate;
    ``labels`` are Avalanche's names of them.
    """

    network: Network
    responses: list[Response]
    columns: Tensor
    labels: Tensor

    def loss(self, y: Tensor) -> Tensor:
        """Return the sum of the local losses; a label never met has wrong candidates only."""
        valid = self.columns >= 0
        target = valid & (self.labels == y[:, None])
        config = self.network.config
        if config.contrast_with == "current" and not self.network.tasks:
            valid = valid & self._allowed(target)
        return self.network.loss_of(self.responses, target, valid)

    def _allowed(self, target: Tensor) -> Tensor:
        """Contrast new examples with new classes alone; see `Network.training_labels`."""
        current = torch.tensor(self.network.current, device=self.columns.device)
        at_hand = torch.isin(self.columns, current)
        new = (target & at_hand).any(dim=1, keepdim=True)
        return at_hand | ~new


class LocalLoss(nn.Module):
    """The criterion: the layers' local losses, of the output a model here gave.

    >>> import torch, sffa
    >>> model = ForwardForward(sffa.Network(4, hidden=(40,), k=5, classes=range(2)))
    >>> LocalLoss()(model(torch.eye(4)), torch.tensor([0, 0, 1, 1])).backward()
    >>> all(parameter.grad is not None for parameter in model.parameters())
    True
    """

    def forward(self, output: Tensor, y: Tensor) -> Tensor:
        """Return the loss of a batch with labels ``y`` (batch,)."""
        scan = getattr(output, _CARRIED, None)
        if not isinstance(scan, _Scan):
            raise ConfigurationError(
                "LocalLoss needs the very output of a ForwardForward model; this tensor does not "
                "carry the layers' responses, as it was made by another model or computed from one"
            )
        return scan.loss(y) if scan.responses else output.new_zeros(())


class ForwardForward(_DynamicModule):
    """A network in Class and Domain IL: it meets the classes of each experience it trains on.

    Columns of the output are labels, as Avalanche expects; a label not met has a goodness of 0.

    Parameters
    ----------
    network
        A `Network`; its classes so far, if any, stay.

    Examples
    --------
    >>> import torch, sffa
    >>> model = ForwardForward(sffa.Network(4, hidden=(40,), k=5, classes=[0, 2]))
    >>> tuple(model(torch.eye(4)).shape)  # a column for each label up to the largest
    (4, 3)
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def adaptation(self, experience: Any) -> None:
        """Meet the classes of an experience; evaluation teaches nothing."""
        if self.training:
            self.network.add_classes(sorted(experience.classes_in_this_experience))

    def forward(self, x: Tensor) -> Tensor:
        """Return the goodness (batch, labels)."""
        network = self.network
        labels = torch.tensor(network.classes, device=x.device)
        return _scanned(network, x, network.candidates(len(x), None), labels)


class MultiTaskForwardForward(_MultiTaskModule):
    """A network in Task IL: an example is judged under the labels of its task alone.

    Two tasks may use the same label, as with class ids that begin at zero in each experience: to
    the network they are two classes, each with its code. Of a task not met nothing is known: its
    examples have a goodness of 0 throughout.

    >>> import torch, sffa
    >>> network = sffa.Network(4, hidden=(40,), k=5)
    >>> for task, labels in enumerate([[0, 1], [2, 3]]):
    ...     _ = network.add_classes(labels, task)
    >>> goodness = MultiTaskForwardForward(network)(torch.eye(4), 1)
    >>> goodness[:, :2].abs().sum().item()  # labels of the other task
    0.0
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self._labels: dict[int, int] = {label: label for label in network.classes}
        self._met: dict[tuple[int, int], int] = {}

    def adaptation(self, experience: Any) -> None:
        """Meet the classes of a task; evaluation teaches nothing."""
        super().adaptation(experience)
        if not self.training:
            return
        labels = sorted(int(label) for label in experience.classes_in_this_experience)
        for task in sorted(int(task) for task in experience.task_labels):
            self.network.add_classes([self._class(task, label) for label in labels], task)

    def forward(self, x: Tensor, task_labels: Any) -> Any:
        """Return the goodness (batch, labels); without task labels, one such for each task met."""
        if task_labels is None:
            return {task: self.forward(x, task) for task in self.network.tasks}
        network = self.network
        tasks = torch.as_tensor(task_labels, device=x.device).reshape(-1).expand(len(x))
        known = torch.tensor(sorted(network.tasks), device=x.device)
        if not self.training and not bool(torch.isin(tasks, known).all()):
            return _unknown(network, x, self.max_class_label)
        labels = [self._labels[label] for label in network.classes]
        columns = network.candidates(len(x), tasks)
        return _scanned(network, x, columns, torch.tensor(labels, device=x.device))

    def _class(self, task: int, label: int) -> int:
        """Return the network's class for a label of a task: the label itself, if it is free."""
        if (task, label) not in self._met:
            free = label if label not in self._labels else max(self._labels) + 1
            self._met[task, label] = free
            self._labels[free] = label
        return self._met[task, label]


def _scanned(network: Network, x: Tensor, columns: Tensor, label_of: Tensor) -> Tensor:
    """Scan the candidates and lay their goodness out by label."""
    responses = list(network.scan(x, columns))
    layers = [
        layer.goodness.score(response.energies)
        for layer, response in zip(network.stack, responses, strict=True)
    ]
    labels = label_of[columns.clamp(min=0)]
    width = int(label_of.max()) + 1
    places = labels.masked_fill(columns < 0, width)
    scores = torch.stack(layers).mean(dim=0)
    output = scores.new_zeros(len(x), width + 1).scatter(1, places, scores)[:, :width]
    setattr(output, _CARRIED, _Scan(network, responses, columns, labels))
    return output


def _unknown(network: Network, x: Tensor, width: int) -> Tensor:
    """Return zero goodness for every label, with nothing to learn from."""
    output = torch.zeros(len(x), max(width, 1), device=x.device)
    nothing = torch.empty(len(x), 0, dtype=torch.int64, device=x.device)
    setattr(output, _CARRIED, _Scan(network, [], nothing, nothing))
    return output
