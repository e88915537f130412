"""Progress bars: callbacks that show a run on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from sffa.continual import Result
from sffa.core import Callback, Epoch, Learner, Progress

MOST_SHOWN = 12  # groups of classes whose accuracies are shown one by one


class Bar(Callback):
    """A bar over the batches of a run, and a line for each epoch or experience.

    ``stop`` is looked at after each batch: once it holds anything, the run stops there.
    """

    def __init__(self, console: Console, title: str, stop: Sequence[int] = ()) -> None:
        columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn()
        self.bars = Bars(*columns, console=console, transient=True)
        self.title = title
        self.stop = stop
        self.task: TaskID | None = None

    def __enter__(self) -> Self:
        self.bars.start()
        self.task = self.bars.add_task(self.title, total=None)
        return self

    def __exit__(self, *_: object) -> None:
        self.bars.stop()

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self.bars.console.print(text, highlight=False, markup=False)

    def on_batch_end(self, progress: Progress) -> bool:
        """Move the bar."""
        assert self.task is not None
        self.bars.update(self.task, completed=progress.step, total=progress.steps or None)
        return bool(self.stop)


class EpochBar(Bar):
    """The bar of a static run."""

    def on_epoch_end(self, progress: Progress, epoch: Epoch) -> None:
        """Print what an epoch came to."""
        layers = " ".join(f"{value:.2f}" for value in epoch.layer_accuracy["test"])
        layer = f"  layer {epoch.layer + 1}" if epoch.layer is not None else ""
        shown = "  ".join(f"{name} {value:.2f} %" for name, value in epoch.accuracy.items())
        self.say(
            f"epoch {epoch.number:3d}{layer}  loss {epoch.loss:.4f}  {shown}"
            + (f"  (by layer {layers})" if layers else "")
            + f"  {epoch.seconds:.1f} s"
        )


class ExperienceBar(Bar):
    """The bar of a continual run."""

    def on_experience_end(self, learner: Learner, result: Result) -> None:
        """Print the accuracies on the experiences seen."""
        if result.done:
            learned = result.learned or range(1, len(result.chances) + 1)
            row = zip(result.rows[-1], learned, strict=True)
            known = [v for v, at in row if at is not None and at <= result.done]
            classes = result.experiences[-1]["classes"]
            total = "" if result.total is None else f" of {result.total}"
            told = _accuracies(known)
            self.say(f"{self.title}: experience {result.done}{total}, classes {classes}: {told}")


def _accuracies(known: list[float]) -> str:
    """Return the accuracies on what has been learned, of many their mean.

    >>> _accuracies([97.25, 91.0]), _accuracies([50.0, 60.0] * 10), _accuracies([])
    ('97.2, 91.0 %', '55.0 % on average over 20', 'nothing is learned whole yet')
    """
    if not known:
        return "nothing is learned whole yet"
    if len(known) > MOST_SHOWN:
        return f"{fmean(known):.1f} % on average over {len(known)}"
    return ", ".join(f"{value:.1f}" for value in known) + " %"
