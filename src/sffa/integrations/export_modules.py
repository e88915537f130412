"""The label scan of a trained network as a plain module, for programs that know nothing of sffa."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sffa.core import Backprop, Learner, Network
from sffa.core.layers import Layer
from sffa.errors import ConfigurationError, ModelFileError
from sffa.integrations.validation import within_reach
from sffa.kernels.winners import TINY

_NEVER = -1e30


class LabelScan(nn.Module):
    """(batch, inputs) to the scores (batch, classes) and the best class (batch,).

    What does not depend on the input is computed beforehand: each label's part of a drive, with
    the bias. Input is what `Network.scores` takes as floating point numbers.

    >>> import torch, sffa
    >>> network = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    >>> scores, labels = LabelScan(network)(torch.eye(4))
    >>> tuple(scores.shape), bool((labels == network.predict(torch.eye(4))).all())
    ((4, 2), True)
    """

    offset: Tensor
    factor: Tensor
    classes: Tensor

    def __init__(self, network: Network) -> None:
        super().__init__()
        require_trained(network)
        self.register_buffer("offset", -network.mean / network.std)
        self.register_buffer("factor", 1 / network.std)
        self.register_buffer("classes", torch.tensor(network.classes))
        kind = _Symmetric if network.config.algorithm == "sffa" else _Threshold
        self.layers = nn.ModuleList([kind(network, layer) for layer in network.stack])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Scan every label."""
        x = x * self.factor + self.offset
        latent: Tensor | None = None
        scores = []
        for layer in self.layers:
            score, latent = layer(x, latent)
            scores.append(score)
        return _judged(x, torch.stack(scores).mean(dim=0), self.classes)


def _judged(x: Tensor, scores: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
    """Return scores and the best class; of an example that is not finite, NaN and class -1."""
    finite = (x.abs() < torch.inf).all(dim=1)
    best = classes[scores.argmax(dim=1)]
    return torch.where(finite[:, None], scores, torch.nan), torch.where(finite, best, -1)


def exact_sigmoid(drive: Tensor) -> Tensor:
    """Return 1 / (1 + exp(−z)) by its formula: goodness is a ratio of energies however small.

    Runtimes approximate their sigmoid to an absolute error, which at rest is larger than it.

    >>> import torch
    >>> exact_sigmoid(torch.tensor([0.0, -20.0]))
    tensor([5.0000e-01, 2.0612e-09])
    """
    return 1 / (1 + torch.exp(-drive))


class _FrozenLayer(nn.Module):
    """Weights of a layer: ``image`` (inputs, width), ``label`` (classes, width), ``latent``."""

    image: Tensor
    label: Tensor
    latent: Tensor | None
    allowed: Tensor | None

    def __init__(self, network: Network, layer: Layer) -> None:
        super().__init__()
        self.norm = network.config.norm
        self.activation = torch.relu if network.config.activation == "relu" else exact_sigmoid
        self.width = layer.width
        codes = network.codes
        self.register_buffer("image", layer.image.detach().clone())
        self.register_buffer("label", torch.addmm(layer.bias, codes, layer.code).detach())
        latent = None if layer.latent is None else layer.latent.detach().clone()
        self.register_buffer("latent", latent)
        allowed = None if layer.gate is None else layer.gate.mask(layer.width)
        self.register_buffer("allowed", allowed)

    def drive(self, x: Tensor, below: Tensor | None) -> Tensor:
        """Return the drive (batch, classes, width)."""
        drive = (x @ self.image)[:, None, :] + self.label
        if below is None or self.latent is None:
            return drive
        return drive + below @ self.latent

    def normal(self, active: Tensor, energy: Tensor, neurons: int) -> Tensor:
        """Divide latents (batch, classes, n) by what their energy (batch, classes, 1) says."""
        safe = energy.clamp(min=TINY)
        if self.norm == "literal":
            return active / safe
        return active / safe.sqrt() * (neurons**0.5 if self.norm == "rms" else 1.0)


class _Symmetric(_FrozenLayer):
    """SFFA: k winners in each half; the positive share of the energy."""

    silence: Tensor

    def __init__(self, network: Network, layer: Layer) -> None:
        super().__init__(network, layer)
        self.k = network.config.k
        self.score = layer.goodness.score
        if self.allowed is not None:
            self.register_buffer("silence", torch.where(self.allowed, 0.0, _NEVER))

    def forward(self, x: Tensor, below: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the goodness (batch, classes) and the latent (batch, classes, width)."""
        drive = self.drive(x, below)
        if self.allowed is not None:
            drive = drive + self.silence
        half = self.width // 2
        energies, latents = [], []
        for part in (drive[..., :half], drive[..., half:]):
            won, index = part.topk(self.k, dim=-1)
            active = self.activation(won)
            energy = active.square().sum(dim=-1, keepdim=True)
            normal = self.normal(active, energy, half)
            latents.append(torch.zeros_like(part).scatter(-1, index, normal))
            energies.append(energy.squeeze(-1))
        return self.score((energies[0], energies[1])), torch.cat(latents, dim=-1)


class _Threshold(_FrozenLayer):
    """FFA: every neuron counts; the scaled energy, or its probability."""

    def __init__(self, network: Network, layer: Layer) -> None:
        super().__init__(network, layer)
        self.score = layer.goodness.score

    def forward(self, x: Tensor, below: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the score (batch, classes) and the latent (batch, classes, width)."""
        active = self.activation(self.drive(x, below))
        if self.allowed is not None:
            active = active * self.allowed
        energy = active.square().sum(dim=-1, keepdim=True)
        return self.score((energy.squeeze(-1),)), self.normal(active, energy, self.width)


class Perceptron(nn.Module):
    """The back-propagation baseline in the same form.

    >>> import torch, sffa
    >>> learner = sffa.Backprop(4, hidden=(20,), classes=range(3))
    >>> logits, labels = Perceptron(learner)(torch.eye(4))
    >>> tuple(logits.shape), tuple(labels.shape)
    ((4, 3), (4,))
    """

    offset: Tensor
    factor: Tensor
    classes: Tensor

    def __init__(self, learner: Backprop) -> None:
        super().__init__()
        require_trained(learner)
        if "all" not in learner.heads:
            raise ConfigurationError(
                "this network has one head a task, so its classes do not compete: "
                "only networks that were not told the task can be exported"
            )
        self.register_buffer("offset", -learner.mean / learner.std)
        self.register_buffer("factor", 1 / learner.std)
        self.register_buffer("classes", torch.tensor(learner.classes))
        self.body, self.head = learner.body, learner.heads["all"]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits (batch, classes) and the best class (batch,)."""
        logits = self.head(self.body(x * self.factor + self.offset))
        return _judged(x, logits, self.classes)


class Classifier(nn.Module):
    """A classifier for scikit-learn, with the scaling before it and what it cuts of outliers.

    (batch, features) to scores in the order of its ``classes_``, and the place of the best in it.

    >>> import numpy as np, torch
    >>> from sffa.integrations.sklearn import SFFAClassifier
    >>> model = SFFAClassifier(hidden=(40,), epochs=1).fit(np.eye(4), ["a", "a", "b", "b"])
    >>> scores, places = Classifier(model)(torch.eye(4))
    >>> bool((model.classes_[places] == model.predict(np.eye(4))).all())
    True
    """

    low: Tensor | None
    high: Tensor | None
    columns: Tensor
    places: Tensor

    def __init__(self, classifier: Any, steps: Sequence[nn.Module] = ()) -> None:
        super().__init__()
        self.steps = nn.ModuleList(steps)
        self.scan = plain(classifier.network_)
        self.register_buffer("columns", torch.as_tensor(classifier._columns))
        self.register_buffer("places", torch.arange(len(self.columns)))
        low, high = None, None
        if classifier.standardise:
            far = np.full((1, classifier.network_.inputs), np.inf)
            scale = classifier.mean_, classifier.scale_
            low, high = (torch.from_numpy(within_reach(x, *scale)) for x in (-far, far))
        self.register_buffer("low", low)
        self.register_buffer("high", high)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Scale, cut and scan; scaling is in double precision, as in scikit-learn."""
        given = x
        for step in self.steps:
            given = step(given.double())
        given = given.float()
        cut = given
        if self.low is not None and self.high is not None:
            cut = torch.minimum(torch.maximum(given, self.low), self.high)
        scores, _ = self.scan(cut)
        return _judged(given, scores[:, self.columns], self.places)


class Affine(nn.Module):
    """x · factor + offset, cut to ``limits``: what a scaler of scikit-learn does.

    >>> import torch
    >>> Affine([2.0], [1.0], limits=(0.0, 4.0))(torch.tensor([[1.0], [5.0]]))
    tensor([[3.],
            [4.]], dtype=torch.float64)
    """

    factor: Tensor
    offset: Tensor

    def __init__(self, factor: Any, offset: Any, limits: tuple[float, float] | None = None) -> None:
        super().__init__()
        self.register_buffer("factor", torch.as_tensor(factor, dtype=torch.float64))
        self.register_buffer("offset", torch.as_tensor(offset, dtype=torch.float64))
        self.limits = limits

    def forward(self, x: Tensor) -> Tensor:
        """Scale."""
        x = x * self.factor + self.offset
        return x if self.limits is None else x.clamp(*self.limits)


class Impute(nn.Module):
    """NaN replaced by one value a feature.

    >>> import torch
    >>> Impute([7.0])(torch.tensor([[torch.nan], [1.0]]))
    tensor([[7.],
            [1.]], dtype=torch.float64)
    """

    values: Tensor

    def __init__(self, values: Any) -> None:
        super().__init__()
        self.register_buffer("values", torch.as_tensor(values, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Replace."""
        return torch.where(x.isnan(), self.values, x)


def preprocessing(step: Any) -> nn.Module:
    """Return a fitted step of a pipeline as a module; one that is not known here is refused.

    >>> import torch
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> step = MinMaxScaler().fit([[0.0], [10.0]])
    >>> preprocessing(step)(torch.tensor([[5.0]])).item()
    0.5
    """
    kind = type(step).__name__
    if kind not in _STEPS:
        raise ConfigurationError(
            f"the step {kind} of the pipeline cannot be exported; known: {', '.join(_STEPS)}"
        )
    try:
        return _STEPS[kind](step)
    except (AttributeError, TypeError):
        raise ConfigurationError(
            f"the step {kind} is not fitted to numbers: fit it first"
        ) from None


def _scaler(centre: Any, scale: Any, features: int) -> Affine:
    factor = np.ones(features) if scale is None else 1 / scale
    return Affine(factor, np.zeros(features) if centre is None else -centre * factor)


def _imputer(step: Any) -> Impute:
    if not np.isnan(step.missing_values) or step.add_indicator or np.isnan(step.statistics_).any():
        raise ConfigurationError("a SimpleImputer is exported if it fills NaN, and adds no column")
    return Impute(step.statistics_)


_STEPS: dict[str, Callable[[Any], nn.Module]] = {
    "StandardScaler": lambda s: _scaler(
        s.mean_ if s.with_mean else None, s.scale_, s.n_features_in_
    ),
    "RobustScaler": lambda s: _scaler(s.center_, s.scale_, s.n_features_in_),
    "MaxAbsScaler": lambda s: _scaler(None, s.scale_, s.n_features_in_),
    "MinMaxScaler": lambda s: Affine(s.scale_, s.min_, s.feature_range if s.clip else None),
    "SimpleImputer": _imputer,
}


def split_pipeline(model: Any) -> tuple[Any, list[Any]]:
    """Return the classifier and the steps before it; of a classifier alone, none.

    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sffa.integrations.sklearn import SFFAClassifier
    >>> model = make_pipeline(StandardScaler(), SFFAClassifier(hidden=(40,), epochs=1))
    >>> classifier, steps = split_pipeline(model.fit(np.eye(4), [0, 0, 1, 1]))
    >>> type(classifier).__name__, steps
    ('SFFAClassifier', [StandardScaler()])
    """
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    classifier = steps[-1]
    if not hasattr(classifier, "network_"):
        raise ConfigurationError(
            f"expected a network, or a fitted SFFAClassifier or FFAClassifier, alone or at the end "
            f"of a pipeline; got a {type(classifier).__name__}"
        )
    return classifier, [step for step in steps[:-1] if step not in (None, "passthrough")]


def plain(model: Any) -> nn.Module:
    """Return what a model computes as a module of torch alone, on the CPU, ready to export.

    A model is a `Network`, a `Backprop`, a classifier for scikit-learn, or a pipeline with one.

    >>> import sffa
    >>> type(plain(sffa.Backprop(4, hidden=(20,), classes=range(3)))).__name__
    'Perceptron'
    """
    module: nn.Module
    if isinstance(model, Network):
        module = LabelScan(model)
    elif isinstance(model, Backprop):
        module = Perceptron(model)
    else:
        classifier, steps = split_pipeline(model)
        module = Classifier(classifier, [preprocessing(step) for step in steps])
    return module.cpu().eval().requires_grad_(False)


def program(model: Any) -> torch.export.ExportedProgram:
    """Export with `torch.export`, the batch size free.

    >>> import sffa
    >>> net = sffa.Network(4, hidden=(40,), k=5, classes=range(2))
    >>> scores, labels = program(net).module()(torch.eye(4))
    >>> tuple(scores.shape), tuple(labels.shape)
    ((4, 2), (4,))
    """
    module = plain(model)
    example = torch.zeros(2, model.inputs if isinstance(model, Learner) else model.n_features_in_)
    batch = torch.export.Dim("batch", min=1)
    return torch.export.export(module, (example,), dynamic_shapes=({0: batch},))


def require_trained(learner: Learner) -> None:
    """Refuse a network that has met no class: there is nothing to scan.

    >>> import sffa
    >>> require_trained(sffa.Network(4, hidden=(40,), k=5))
    Traceback (most recent call last):
    sffa.errors.ModelFileError: ...
    """
    if not learner.classes:
        raise ModelFileError("the network has met no class yet: train it before you export it")
