"""Public mirrors: one file a URL, or one archive that holds them all."""

from __future__ import annotations

import hashlib
import http.client
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sffa.data.entry import File
from sffa.data.progress import Meter
from sffa.data.unpack import extract
from sffa.errors import DataError, DownloadError

ANSWER_SECONDS = 5.0
"""A mirror that has not answered by then is passed over: two of them cost ten seconds."""
STALL_SECONDS = 20.0
TOTAL_SECONDS = 1800.0
LIMIT = 1 << 30

_CHUNK = 1 << 18


@dataclass(frozen=True)
class Mirror:
    """A web folder with each file as ``<base><name>.gz``."""

    base: str

    @property
    def label(self) -> str:
        """Host of the mirror."""
        return urlsplit(self.base).netloc

    def deliver(self, files: Sequence[File], folder: Path, meter: Meter) -> None:
        """Download each file under its own name."""
        for file in files:
            download(f"{self.base}{file.name}.gz", folder / f"{file.name}.gz", meter)


@dataclass(frozen=True)
class Archive:
    """One archive (zip or tar) on the web that holds the files, found by their names.

    ``sha256`` is the sum of the archive; without it only what is taken out is verified.
    """

    url: str
    sha256: str = ""

    @property
    def label(self) -> str:
        """Host of the mirror."""
        return urlsplit(self.url).netloc

    def deliver(self, files: Sequence[File], folder: Path, meter: Meter) -> None:
        """Download the archive and take the files out of it."""
        archive = folder / urlsplit(self.url).path.rpartition("/")[2]
        download(self.url, archive, meter)
        if self.sha256:
            _check_sum(archive, self.sha256)
        extract(archive, files, folder)
        archive.unlink()


def download(
    url: str,
    path: Path,
    meter: Meter,
    *,
    limit: int = LIMIT,
    answer: float = ANSWER_SECONDS,
    stall: float = STALL_SECONDS,
    total: float = TOTAL_SECONDS,
) -> None:
    """Write what ``url`` serves to ``path``: at most ``limit`` bytes, in ``total`` seconds."""
    deadline = time.monotonic() + total
    try:
        with _open(url, answer, stall) as response, open(path, "wb") as out:
            announced = int(response.headers.get("Content-Length") or -1)
            if announced > limit:
                raise DownloadError(f"{url}: {announced:,} bytes, more than {limit:,}")
            meter.expect(max(0, announced))
            size = 0
            while chunk := response.read(_CHUNK):
                size += len(chunk)
                if size > limit:
                    raise DownloadError(f"{url}: more than {limit:,} bytes")
                if time.monotonic() > deadline:
                    raise DownloadError(f"{url}: not complete after {total:.0f} s")
                out.write(chunk)
                meter.advance(len(chunk))
            if announced >= 0 and size != announced:
                raise DownloadError(f"{url}: ended after {size:,} of {announced:,} bytes")
    except DownloadError:
        raise
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(f"{url}: answered {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise DownloadError(f"{url}: {reason or type(error).__name__}") from None


def _check_sum(archive: Path, expected: str) -> None:
    with open(archive, "rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != expected:
        raise DataError(f"{archive.name}: damaged; SHA-256 is {found}, expected {expected}")


class _NoDowngrade(urllib.request.HTTPRedirectHandler):
    """Follow redirects, but never from https to anything less."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            raise urllib.error.URLError(f"redirects from https to {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(url: str, answer: float, stall: float) -> Any:
    """Open ``url``, giving up after ``answer`` seconds whatever name lookup and connect do.

    Looking up a name cannot be interrupted, hence the thread, which is left behind if late.
    """
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    late = threading.Event()

    def ask() -> None:
        request = urllib.request.Request(url, headers={"User-Agent": "sffa"})
        try:
            response = urllib.request.build_opener(_NoDowngrade).open(request, timeout=stall)
        except Exception as error:
            answers.put(error)
            return
        answers.put(response)
        if late.is_set():
            response.close()

    threading.Thread(target=ask, daemon=True).start()
    try:
        result = answers.get(timeout=answer)
    except queue.Empty:
        late.set()
        with suppress(queue.Empty):
            forgotten = answers.get_nowait()
            if not isinstance(forgotten, Exception):
                forgotten.close()
        raise DownloadError(f"{url}: no answer within {answer:.0f} s") from None
    if isinstance(result, Exception):
        raise result
    return result
