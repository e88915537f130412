"""A small dataset of the registry's kind and a mirror on this machine that serves it."""

from __future__ import annotations

import gzip
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from sffa.data import idx
from sffa.data.entry import Entry, File, Source

Answer = bytes | Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Web:
    """What the mirror serves, by path, and what it was asked for."""

    base: str
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        """Say nothing until the test is over."""
        self.closing.wait()

    def stall(self, handler: BaseHTTPRequestHandler) -> None:
        """Send a part of what was announced, then nothing."""
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"x" * 10)
        handler.wfile.flush()
        self.closing.wait()

    def cut(self, handler: BaseHTTPRequestHandler) -> None:
        """Announce more than is sent."""
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"x" * 10)

    def slow(self, blob: bytes) -> Answer:
        """Serve ``blob`` after a moment."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            time.sleep(0.3)
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(blob)))
            handler.end_headers()
            handler.wfile.write(blob)

        return answer


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    served = Web("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            answer = served.answers.get(self.path)
            if answer is None:
                self.send_error(404)
            elif callable(answer):
                answer(self)
            else:
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.base = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield served
    served.closing.set()
    server.shutdown()
    server.server_close()
    thread.join(10)


@dataclass(frozen=True)
class Toy:
    """A dataset of 4x4 images in two classes, its IDX contents and its entry."""

    arrays: dict[str, np.ndarray]

    @property
    def contents(self) -> dict[str, bytes]:
        return {name: idx.encode(array) for name, array in self.arrays.items()}

    @property
    def gz(self) -> dict[str, bytes]:
        return {name: gzip.compress(c, mtime=0) for name, c in self.contents.items()}

    def entry(self, *sources: Source, sums: bool = True, **changes: object) -> Entry:
        """Return the entry; without ``sums`` only its structure can be verified."""
        files = [
            File(name, array.shape, hashlib.sha256(self.contents[name]).hexdigest() * sums)
            for name, array in self.arrays.items()
        ]
        known: dict[str, object] = {
            "train": tuple(files[:2]),
            "test": tuple(files[2:]),
            "sizes": (20, 10),
            "sources": sources,
        }
        return Entry("toy", ("a", "b"), (4, 4), **(known | changes))  # type: ignore[arg-type]

    def serve(self, web: Web, folder: str = "") -> None:
        """Put every file on the mirror."""
        web.answers |= {f"/{folder}{name}.gz": blob for name, blob in self.gz.items()}


@pytest.fixture
def toy() -> Toy:
    generator = np.random.default_rng(0)
    arrays: dict[str, np.ndarray] = {}
    for split, n in (("train", 20), ("t10k", 10)):
        images = generator.integers(0, 256, (n, 4, 4), dtype=np.uint8)
        arrays[f"{split}-images-idx3-ubyte"] = images
        arrays[f"{split}-labels-idx1-ubyte"] = (np.arange(n) % 2).astype(np.uint8)
    return Toy(arrays)
