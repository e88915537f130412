"""The server of the playground: on loopback, for this machine's browser and nobody else."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sffa.core.config import Strict
from sffa.errors import ConfigurationError, DataError, SFFAError
from sffa.playground.networks import ALGORITHMS, THREAD, EndedError, Networks
from sffa.playground.session import (
    BusyError,
    Choice,
    Example,
    Lesson,
    NotFoundError,
    Question,
    Session,
    Sessions,
)

HOST = "127.0.0.1"
LARGEST_BODY = 64 << 10
ENDING_SECONDS = 20.0
STATIC = Path(__file__).with_name("static")
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
Model = TypeVar("Model", bound=Strict)


class TooLargeError(SFFAError):
    """A body of more bytes than any request needs."""


class Nothing(Strict):
    """A request that says all by its address."""


_STATUS = {NotFoundError: 404, BusyError: 409, TooLargeError: 413}


class Playground:
    """The routes of the page and what they answer: JSON in, JSON out, wrong input in one line."""

    def __init__(self, networks: Networks) -> None:
        self.networks = networks
        self.sessions = Sessions(networks)

    def app(self, port: int) -> ASGIApp:
        """Return the application, for a browser that asks for loopback at that port."""
        routes = [
            Route("/", self.index),
            Route("/api/session", self.start, methods=["POST"]),
            self._route("network", Choice, Session.network),
            self._route("read", Question, Session.read),
            self._route("example", Example, Session.example),
            self._route("memory", Choice, Session.remembered),
            self._route("teach", Lesson, Session.teach),
            self._route("parts", Choice, Session.learn_in_parts),
            self._route("job", Nothing, Session.progress),
            self._route("reset", Nothing, Session.start_over),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
        return Guard(Starlette(routes=routes, lifespan=self._lifespan), port)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        threading.Thread(target=self._train_others, name=THREAD, daemon=True).start()
        yield
        self.sessions.stopping.asked = True

    def _train_others(self) -> None:
        """Train what has not been asked for yet, so that a choice need not wait."""
        with suppress(EndedError):
            for algorithm in ALGORITHMS:
                self.networks.get(algorithm, self.sessions.stopping)

    def end(self) -> None:
        """Stop what is being trained, and wait for it: a thread must not outlive Python."""
        self.sessions.stopping.asked = True
        last = time.monotonic() + ENDING_SECONDS
        for thread in threading.enumerate():
            if thread.name == THREAD:
                thread.join(max(last - time.monotonic(), 0.0))

    async def index(self, request: Request) -> Response:
        """Return the page."""
        return FileResponse(STATIC / "index.html")

    async def start(self, request: Request) -> Response:
        """Open a session for a tab, or the one it had."""
        had = request.headers.get("sffa-session", "")
        return await _answered(request, Nothing, lambda _: self.sessions.open(had).about())

    def _route(
        self, name: str, model: type[Model], answer: Callable[[Session, Model], Any]
    ) -> Route:
        async def endpoint(request: Request) -> Response:
            session = request.headers.get("sffa-session", "")
            return await _answered(
                request, model, lambda asked: answer(self.sessions.get(session), asked)
            )

        return Route(f"/api/{name}", endpoint, methods=["POST"])


async def _answered(
    request: Request, model: type[Model], answer: Callable[[Model], Any]
) -> Response:
    """Read a body as a model, and return what is answered to it, or the one line that is wrong."""
    try:
        asked = model(**await _body(request))
        return JSONResponse(await run_in_threadpool(answer, asked) or {})
    except SFFAError as error:
        return _refused(str(error), _STATUS.get(type(error), 400))


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request, of at most `LARGEST_BODY` bytes."""
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise DataError("the body must be application/json")
    content = bytearray()
    try:
        async for part in request.stream():
            content += part
            if len(content) > LARGEST_BODY:
                raise TooLargeError(f"a request has at most {LARGEST_BODY:,} bytes")
        values = json.loads(content)
    except ClientDisconnect:
        raise DataError("the request was broken off") from None
    except (ValueError, RecursionError):
        raise DataError("the body is not JSON") from None
    if not isinstance(values, dict):
        raise DataError("the body must be a JSON object")
    return values


def _refused(message: str, status: int) -> JSONResponse:
    return JSONResponse({"error": " ".join(message.split())[:300]}, status)


class Guard:
    """Refuse what does not come from a page of this server; add headers to what is sent."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if headers.get("host") not in self.hosts:
            await _refused("this server answers to its own address only", 403)(
                scope, receive, sending
            )
        elif origin is not None and origin.removeprefix("http://") not in self.hosts:
            await _refused("this server answers to its own page only", 403)(scope, receive, sending)
        else:
            await self.app(scope, receive, sending)


def listen(port: int) -> socket.socket:
    """Return a socket on loopback; port 0 is any that is free."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        reason = error.strerror or error
        raise ConfigurationError(
            f"cannot listen on port {port} ({reason}); choose another with --port"
        ) from None
    return listening


def server_of(playground: Playground, port: int) -> uvicorn.Server:
    """Return a server that runs until it is interrupted, or its ``should_exit`` is set."""
    config = uvicorn.Config(
        playground.app(port),
        log_level="error",
        access_log=False,
        limit_concurrency=64,
        timeout_graceful_shutdown=1,
        server_header=False,
    )
    return uvicorn.Server(config)
