"""What one tab of the page may do, and how much of it: sessions, bounded in number and time."""

from __future__ import annotations

import base64
import binascii
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field

from sffa.continual import Gaussian, Stopped
from sffa.core import Callback, Network, Progress
from sffa.core.callbacks import StopTraining
from sffa.core.config import Strict
from sffa.errors import DataError, SFFAError
from sffa.playground.forgetting import learn_in_parts
from sffa.playground.material import SIDE, dreams, pooled
from sffa.playground.networks import (
    ALGORITHMS,
    THREAD,
    Networks,
    Stopping,
    accuracy_of,
    checked,
    reading,
)
from sffa.playground.teaching import FINE, teach
from sffa.vocabulary import name_of

SESSIONS = 16
IDLE_SECONDS = 1800.0
OWN_CLASSES = 5  # for each network
DRAWINGS = 5
SHOWN = 8  # means and dreams of a class

Pixels = str  # base64 of (FINE·SIDE)² bytes
Algorithm = Annotated[str, AfterValidator(checked)]


class NotFoundError(SFFAError):
    """A session that is not there, or not any more."""


class BusyError(SFFAError):
    """Something that cannot be done while the session learns."""


class Question(Strict):
    """A drawing to read; ``look`` is the class under which the layers are shown."""

    algorithm: Algorithm
    pixels: Pixels
    look: int | None = None


class Lesson(Strict):
    """A class to teach: its name and the drawings of it."""

    algorithm: Algorithm
    name: str = Field(min_length=1, max_length=16)
    drawings: list[Pixels] = Field(min_length=DRAWINGS, max_length=DRAWINGS)


class Choice(Strict):
    """One of the networks."""

    algorithm: Algorithm


class Example(Strict):
    """A test example to show: one of a class, others by other numbers."""

    label: int = Field(ge=0)
    number: int = Field(default=0, ge=0)


@dataclass
class Job:
    """Something that takes seconds; ``result`` is what is known so far."""

    kind: str
    progress: float = 0.0
    result: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    done: bool = False


class Progressing(Callback):
    """Count the batches of a job of some runs."""

    def __init__(self, job: Job, runs: int = 1) -> None:
        self.job, self.runs = job, runs
        self.batches = 0

    def on_batch_end(self, progress: Progress) -> None:
        """Move on."""
        self.batches += 1
        self.job.progress = min(self.batches / max(progress.steps * self.runs, 1), 1.0)


class Known(NamedTuple):
    """A network as a tab has it, the statistics beside it, and the names of its classes."""

    network: Network
    memory: Gaussian
    names: tuple[str, ...]


class Session:
    """One tab: the networks as it taught them, and what it is learning."""

    def __init__(self, networks: Networks, stopping: Stopping) -> None:
        self.id = secrets.token_urlsafe(16)
        self.used = time.monotonic()
        self.job = Job("", done=True)
        self._networks, self._stopping = networks, stopping
        self._material = networks.material
        self._taught: dict[str, Known] = {}
        self._starting = threading.Lock()

    def about(self) -> dict[str, Any]:
        """Return what the page must know before anything is drawn."""
        return {
            "session": self.id,
            "side": SIDE,
            "fine": FINE,
            "drawings": DRAWINGS,
            "classes": list(self._material.data.class_names),
            "data": self._material.data.name,
            "dreamed": self._material.dreamed,
            "algorithms": [{"algorithm": key, "name": name_of(key)} for key in ALGORITHMS],
        }

    def example(self, wanted: Example) -> dict[str, Any]:
        """Return a test example of a class."""
        test = self._material.data.test
        places = np.flatnonzero(test.y == wanted.label)
        if not len(places):
            raise DataError(f"there is no example of class {wanted.label}")
        picture = test.x[places[wanted.number % len(places)]]
        return {"pixels": base64.b64encode(picture.tobytes()).decode()}

    def progress(self, _: Strict) -> dict[str, Any]:
        """Return how far the last job is."""
        return asdict(self.job)

    def read(self, question: Question) -> dict[str, Any]:
        """Return what the network makes of a drawing."""
        picture = pooled(pixels_of(question.pixels)[None], FINE)
        known = self._known(question.algorithm)
        return {**reading(known.network, picture, question.look), "classes": known.names}

    def network(self, choice: Choice) -> dict[str, Any]:
        """Return what is known of a network, trained now if it has to be."""
        about = self._networks.get(choice.algorithm, self._stopping).about()
        return {**about, "classes": self.names(choice.algorithm)}

    def names(self, algorithm: str) -> tuple[str, ...]:
        """Return the names of the classes that a network knows, trained or not."""
        taught = self._taught.get(algorithm)
        return self._material.data.class_names if taught is None else taught.names

    def remembered(self, choice: Choice) -> dict[str, Any]:
        """Return the means that are kept of each class, and pictures drawn from what is kept."""
        _, memory, names = self._known(choice.algorithm)
        means = memory.means()
        drawn = dreams(memory, SHOWN * len(names))
        return {
            "kilobytes": round(1024 * memory.megabytes),
            "classes": [
                {
                    "name": name,
                    "means": [_shown(row) for row in means.x[means.y == label].numpy()],
                    "dreams": [_shown(row) for row in drawn.x[drawn.y == label]],
                }
                for label, name in enumerate(names)
            ],
        }

    def teach(self, lesson: Lesson) -> None:
        """Start to teach a class of the user's own."""
        drawings = np.stack([pixels_of(pixels) for pixels in lesson.drawings])
        names = self.names(lesson.algorithm)
        name = " ".join(lesson.name.split())
        if not name or not name.isprintable():
            raise DataError("a class needs a name that can be read")
        if name in names:
            raise DataError(f"there is a class '{name}' already: choose another name")
        if len(names) >= self._material.data.classes + OWN_CLASSES:
            raise DataError(f"a network has room for {OWN_CLASSES} classes of yours: start over")
        self._start("teach", lambda job: self._teach(job, lesson.algorithm, name, drawings))

    def _teach(self, job: Job, algorithm: str, name: str, drawings: NDArray[np.uint8]) -> None:
        known = self._known(algorithm)
        data, label = self._material.data, len(known.names)
        before = accuracy_of(known.network, data)
        looking = [Progressing(job), self._stopping]
        taught, memory = teach(known.network, known.memory, drawings, label, callbacks=looking)
        self._taught[algorithm] = Known(taught, memory, (*known.names, name))
        after = accuracy_of(taught, data)
        job.result = {"name": name, "class": label, "before": before, "after": after}

    def learn_in_parts(self, choice: Choice) -> None:
        """Start to learn two classes at a time, with every method."""

        def work(job: Job) -> None:
            job.result = learn_in_parts(
                self._material.data,
                choice.algorithm,
                callbacks=[Progressing(job, runs=3), self._stopping],
                tell=lambda found: setattr(job, "result", found),
            )

        self._start("parts", work)

    def start_over(self, _: Strict) -> None:
        """Forget every class of the user's own."""
        with self._starting:
            self._refuse_if_busy()
            self._taught.clear()
            self.job = Job("", done=True)

    def _known(self, algorithm: str) -> Known:
        taught = self._taught.get(algorithm)
        if taught is not None:
            return taught
        network = self._networks.get(algorithm, self._stopping).network
        return Known(network, self._material.memory, self._material.data.class_names)

    def _refuse_if_busy(self) -> None:
        if not self.job.done:
            raise BusyError("this tab is still learning: wait until it is done")

    def _start(self, kind: str, work: Callable[[Job], None]) -> None:
        with self._starting:
            self._refuse_if_busy()
            self.job = job = Job(kind)
        threading.Thread(target=self._carry_out, args=(job, work), name=THREAD, daemon=True).start()

    def _carry_out(self, job: Job, work: Callable[[Job], None]) -> None:
        try:
            with self._networks.computing:
                work(job)
        except (StopTraining, Stopped):
            job.error = "stopped"
        except SFFAError as error:
            job.error = str(error)
        except Exception as error:
            job.error = f"that failed ({type(error).__name__})"
            raise
        finally:
            job.done = True


class Sessions:
    """At most `SESSIONS` of them; the one that rested longest makes room, idle ones end."""

    def __init__(self, networks: Networks) -> None:
        self.stopping = Stopping()
        self._networks = networks
        self._open: dict[str, Session] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, had: str = "") -> Session:
        """Return the session of that name, or a new one if it has ended."""
        session = Session(self._networks, self.stopping)
        with self._lock:
            self._end_idle()
            if had in self._open:
                return self._open[had]
            if len(self._open) >= SESSIONS:
                resting = [other for other in self._open.values() if other.job.done]
                if not resting:
                    raise BusyError(f"{SESSIONS} tabs are learning at once: wait for one of them")
                del self._open[min(resting, key=lambda other: other.used).id]
            self._open[session.id] = session
        return session

    def get(self, name: str) -> Session:
        """Return a session that is open."""
        with self._lock:
            self._end_idle()
            if name not in self._open:
                raise NotFoundError("this session has ended: reload the page")
            self._open[name].used = time.monotonic()
            return self._open[name]

    def _end_idle(self) -> None:
        now = time.monotonic()
        for session in list(self._open.values()):
            if session.job.done and now - session.used > IDLE_SECONDS:
                del self._open[session.id]


def pixels_of(text: Pixels) -> NDArray[np.uint8]:
    """Return a drawing (FINE·SIDE, FINE·SIDE) from its base64."""
    side = FINE * SIDE
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise DataError("a drawing is base64 of its pixels") from None
    if len(content) != side * side:
        raise DataError(f"a drawing has {side} x {side} bytes, got {len(content):,}")
    return np.frombuffer(content, np.uint8).reshape(side, side)


def _shown(picture: NDArray[np.floating[Any]]) -> str:
    """Return a picture of shares of white as base64 of bytes."""
    return base64.b64encode(
        np.clip(np.rint(picture * 255), 0, 255).astype(np.uint8).tobytes()
    ).decode()
