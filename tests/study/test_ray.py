"""Item 2: the grid on a real two-node Ray cluster on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.study.conftest import GRID, SIZE, begin, complete, environment, outcomes
from tests.study.test_survival import count, events

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None,
        reason="Ray is not installed (pip install sffa[ray])",
    ),
]

# A process of its own holds the cluster, so that Ray's threads and warnings stay out of pytest.
HOLDER = """
import json, os, sys
from ray.cluster_utils import Cluster
small = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
cluster = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
second = cluster.add_node(**small)
raylet = second.all_processes["raylet"][0].process.pid
print(json.dumps({"address": cluster.address, "raylet": raylet}), flush=True)
for line in sys.stdin:
    cluster.remove_node(second, allow_graceful=False)
    print("{}", flush=True)
cluster.shutdown()
"""


class TwoNodes:
    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOLDER],
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        told = self._read()
        self.address, self.raylet = str(told["address"]), int(told["raylet"])

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith("{"):
                return dict(json.loads(line))
        raise AssertionError("the Ray cluster did not start")

    def kill_second(self) -> None:
        """Kill the second node's raylet and all it holds, with SIGKILL."""
        assert self._process.stdin is not None
        self._process.stdin.write("kill\n")
        self._process.stdin.flush()
        self._read()
        assert not psutil.pid_exists(self.raylet)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        finally:
            self._process.stdout.close()
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoNodes]:
    nodes = TwoNodes(tmp_path_factory.mktemp("cluster"))
    try:
        yield nodes
    finally:
        nodes.close()


def test_two_nodes_give_the_same_records(
    tmp_path: Path, cluster: TwoNodes, expected: list[dict[str, Any]]
) -> None:
    store = tmp_path / "s.sqlite"
    arguments = (*GRID, "--executor", "ray", "--address", cluster.address, "--store", store)
    code, said = complete(*arguments, cwd=tmp_path)
    assert code == 0, said
    assert outcomes(store) == expected
    assert count(store, "events WHERE event = 'done'") == SIZE
    assert [file.name for file in tmp_path.iterdir()] == ["s.sqlite"]


def test_a_node_killed_in_the_middle_costs_no_record(
    tmp_path: Path, cluster: TwoNodes, expected: list[dict[str, Any]]
) -> None:
    store = tmp_path / "s.sqlite"
    process = begin(
        *GRID, "--executor", "ray", "--address", cluster.address, "--store", store, cwd=tmp_path
    )
    while count(store, "runs WHERE status = 'done'") < 4:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    cluster.kill_second()
    assert count(store, "runs WHERE status = 'done'") < SIZE, "the node died too late to matter"
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert outcomes(store) == expected
    assert sum(event == "done" for *_, event, _ in events(store)) == SIZE
    assert count(store, "runs WHERE owner IS NOT NULL") == 0


def test_ray_without_an_address_starts_here_and_ends_with_the_study(
    tmp_path: Path, expected: list[dict[str, Any]]
) -> None:
    arguments = (*GRID, "--executor", "ray", "--workers", "1", "--seeds", "0")
    code, said = complete(*arguments, "--store", "s.sqlite", cwd=tmp_path)
    assert code == 0, said
    firsts = [one for one in expected if one["parts"][1] == 0]
    assert outcomes(tmp_path / "s.sqlite") == firsts


def test_an_address_where_nobody_answers_is_one_line_within_seconds(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = (*GRID, "--executor", "ray", "--store", "s.sqlite", "--address")
    code, said = complete(*arguments, f"127.0.0.1:{port}", cwd=tmp_path)
    assert code == 2
    assert said.strip().startswith(f"error: no Ray cluster answers at 127.0.0.1:{port}")
    assert len(said.strip().splitlines()) == 1
    code, said = complete(*arguments, "nonsense", cwd=tmp_path)
    assert code == 2
    assert "write it as host:port" in said
