"""What runs in a worker process: runs come in, records go out, as JSON."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from multiprocessing.connection import Connection, wait
from pathlib import Path

from sffa.study.executors.contract import described


def work(pipe: Connection, threads: int, unfinished: Path | None = None) -> None:
    """Do the runs that come through the pipe until it closes, or until the parent is gone."""
    threading.Thread(target=_die_with_parent, daemon=True).start()
    from sffa.environment import describe
    from sffa.study.execute import execute_text

    describe()  # notes the commit while it is the one that was imported
    while True:
        try:
            text = pipe.recv_bytes().decode()
        except EOFError:
            return
        answer: dict[str, object]
        try:
            answer = {"record": json.loads(execute_text(text, threads, unfinished=unfinished))}
        except Exception as error:
            line, detail = described(error)
            answer = {"error": line, "detail": detail}
        pipe.send_bytes(json.dumps(answer).encode())


def _die_with_parent() -> None:
    """End this process at once when its parent ends, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
