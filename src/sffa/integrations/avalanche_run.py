"""The bridge between the two worlds: our streams as Avalanche's benchmarks, its runs as results."""

from __future__ import annotations

import time
import warnings
from typing import Any

import torch
from torch import nn

from sffa.continual import ContinualConfig, Data, Result, Stream, View, make_learner, options_of
from sffa.continual.evaluation import evaluate
from sffa.continual.options import own
from sffa.core import Network
from sffa.errors import ConfigurationError, nearest
from sffa.integrations.avalanche import ForwardForward, LocalLoss, MultiTaskForwardForward
from sffa.integrations.avalanche_import import import_avalanche

# Our methods that Avalanche has too, with its plugin and its names of our options.
PLUGINS: dict[str, tuple[str, dict[str, str]]] = {
    "ewc": ("EWCPlugin", {"strength": "ewc_lambda"}),
    "mas": ("MASPlugin", {"strength": "lambda_reg", "alpha": "alpha"}),
    "replay": ("ReplayPlugin", {"capacity": "mem_size"}),
    "gem": ("GEMPlugin", {"patterns": "patterns_per_experience", "strength": "memory_strength"}),
}


def benchmark(stream: Stream) -> Any:
    """Return a stream as a benchmark of Avalanche: the same experiences, in the same order.

    >>> from sffa.continual import Stream
    >>> from sffa.data import load
    >>> made = benchmark(Stream(load("digits"), "class", seed=0))
    >>> [sorted(one.classes_in_this_experience) for one in made.train_stream][:2]
    [[1, 4], [5, 7]]
    """
    utils = import_avalanche("avalanche.benchmarks.utils.classification_dataset")
    scenarios = import_avalanche("avalanche.benchmarks.scenarios")

    def dataset(view: View) -> Any:
        return utils._make_taskaware_classification_dataset(
            torch.utils.data.TensorDataset(view.x, view.y),
            targets=view.y.tolist(),
            task_labels=0 if view.task is None else int(view.task),
        )

    made = scenarios.benchmark_from_datasets(
        train=[dataset(experience.train) for experience in stream],
        test=[dataset(experience.test) for experience in stream],
    )
    return scenarios.with_task_labels(scenarios.with_classes_timeline(made))


def run(config: ContinualConfig, data: Data, plugins: list[Any] | None = None) -> Result:
    """Let Avalanche train what `sffa.continual.run` would, and give a result of the same form.

    Parameters
    ----------
    config
        A run with a forward-forward network. Its method becomes Avalanche's plugin of that name
        with the same strength, unless ``plugins`` are given.
    data
        The dataset.
    plugins
        Plugins of Avalanche instead.

    Examples
    --------
    >>> from sffa.continual import ContinualConfig
    >>> from sffa.data import load
    >>> config = ContinualConfig(algorithm="sffa", method="replay", hidden=(60,), epochs=1)
    >>> len(run(config, load("digits")).experiences)
    5
    """
    stream = Stream(data, config.scenario, config.seed, config.experiences, config.class_order)
    network = make_learner(config, data.features, len(stream.classes))
    if not isinstance(network, Network):
        raise ConfigurationError(
            f"algorithm '{config.algorithm}' is not a forward-forward network; for "
            "back-propagation use a model of Avalanche"
        )
    network.standardise(data.mean, data.std)
    model = (MultiTaskForwardForward if config.scenario == "task" else ForwardForward)(network)
    strategy = _strategy(config, model, plugins_of(config) if plugins is None else plugins)
    result = Result(config, stream.chances)
    result.rows.append(evaluate(network, stream).row)
    experiences = list(zip(stream, benchmark(stream).train_stream, strict=True))
    # Avalanche draws from torch's global generator, and its plugins use what it has deprecated.
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings(record=True):
        torch.manual_seed(config.seed)
        for ours, theirs in experiences:
            started = time.perf_counter()
            strategy.train(theirs)
            seconds = time.perf_counter() - started
            row, _, result.per_class = evaluate(network, stream)
            result.rows.append(row)
            result.experiences.append({"classes": list(ours.classes), "seconds": seconds})
            result.seconds += seconds
    return result


def plugins_of(config: ContinualConfig) -> list[Any]:
    """Make Avalanche's plugins for the methods of a configuration.

    >>> from sffa.continual import ContinualConfig
    >>> [type(plugin).__name__ for plugin in plugins_of(ContinualConfig(method="replay"))]
    ['ReplayPlugin']
    """
    plugins = import_avalanche("avalanche.training.plugins")
    made = []
    for part in config.parts:
        if part == "naive":
            continue
        if part not in PLUGINS:
            raise ConfigurationError(
                f"Avalanche has no plugin for method '{part}'{nearest(part, list(PLUGINS))} "
                f"(known: naive, {', '.join(PLUGINS)}); give plugins"
            )
        name, renamed = PLUGINS[part]
        given = {**options_of(part), **own(part, config.options)}
        made.append(
            getattr(plugins, name)(**{renamed[k]: v for k, v in given.items() if k in renamed})
        )
    return made


def _strategy(config: ContinualConfig, model: nn.Module, plugins: list[Any]) -> Any:
    templates = import_avalanche("avalanche.training.templates")
    library = import_avalanche("avalanche.training.plugins")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nobody listens
        silent = library.EvaluationPlugin()
    return templates.SupervisedTemplate(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=config.lr),
        criterion=LocalLoss(),
        train_mb_size=config.batch_size,
        train_epochs=config.epochs,
        eval_mb_size=config.batch_size,
        plugins=plugins,
        evaluator=silent,
    )
