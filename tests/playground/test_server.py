"""The server over real sockets: who may ask, what is refused, and how it ends."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest
from tests.conftest import heed_interrupts
from tests.playground.conftest import pixels

FIRST = "sffa-contrast"
BLANK = np.zeros((56, 56), np.uint8)


def ask(address, path, body=b"{}", **headers):
    """Return status, headers and text of an answer."""
    where = urlsplit(address).netloc
    connection = http.client.HTTPConnection(where, timeout=60)
    given = {
        "content-type": "application/json",
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    method = "GET" if body is None else "POST"
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, text


def asked(address, name, session="", **given):
    body = json.dumps(given).encode()
    status, _, text = ask(address, f"/api/{name}", body, sffa_session=session)
    return status, json.loads(text)


@pytest.fixture
def session(address):
    return asked(address, "session")[1]["session"]


def test_the_page_comes_with_a_policy_that_names_no_other_host(address):
    status, headers, text = ask(address, "/", None)
    assert status == 200
    assert "sffa playground" in text
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1:1", "localhost", ""])
def test_another_host_is_refused(address, host):
    status, _, text = ask(address, "/", None, host=host)
    assert status == 403
    assert "own address" in json.loads(text)["error"]


def test_the_name_of_loopback_is_as_good_as_its_number(address):
    port = urlsplit(address).port
    assert ask(address, "/", None, host=f"localhost:{port}")[0] == 200


def test_a_page_of_another_origin_is_refused(address):
    assert ask(address, "/api/session", origin="http://example.org")[0] == 403
    assert ask(address, "/api/session", origin=address)[0] == 200
    assert ask(address, "/api/session", content_type="text/plain")[0] == 400


def test_a_drawing_is_read(address, session):
    picture = BLANK.copy()
    picture[8:48, 26:31] = 255
    status, found = asked(address, "read", session, algorithm=FIRST, pixels=pixels(picture))
    assert status == 200
    assert found["classes"][found["best"]] == "1"


def test_a_session_is_had_again_by_its_name(address, session):
    assert asked(address, "session", session)[1]["session"] == session
    assert asked(address, "session", "long gone")[1]["session"] != session


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/api/read", b"{", 400, "not JSON"),
        ("/api/read", b"[1]", 400, "JSON object"),
        ("/api/read", b"[" * 30_000, 400, "not JSON"),
        ("/api/read", b"\xff\xfe", 400, "not JSON"),
        ("/api/read", b"{}", 400, "field required"),
        ("/api/read", b'{"algorithm": "sffa", "pixels": "", "x": 1}', 400, "unknown option 'x'"),
        ("/api/read", b'{"algorithm": "sffa", "pixels": ""}', 400, "56 x 56"),
        ("/api/network", b'{"algorithm": "zebra"}', 400, "unknown algorithm"),
        ("/api/teach", b'{"algorithm": "sffa", "name": "x", "drawings": []}', 400, "at least 5"),
        ("/api/example", b'{"label": -1}', 400, "greater than or equal to 0"),
        ("/api/example", b'{"label": 12345678901234567890}', 400, "no example"),
        ("/api/read", b" " * 70_000, 413, "at most"),
    ],
)
def test_wrong_input_is_one_clear_line(address, session, path, body, status, said):
    got, _, text = ask(address, path, body, sffa_session=session)
    error = json.loads(text)["error"]
    assert (got, said in error) == (status, True), (got, error)
    assert "\n" not in error
    assert "Traceback" not in error


def test_a_request_that_is_broken_off_harms_nobody(address, capfd):
    for _ in range(3):
        where = urlsplit(address)
        with socket.create_connection((where.hostname, where.port)) as connection:
            head = f"POST /api/read HTTP/1.1\r\nHost: {where.netloc}\r\n"
            head += "Content-Type: application/json\r\nContent-Length: 900\r\n\r\n{"
            connection.sendall(head.encode())
    assert asked(address, "session")[0] == 200
    assert capfd.readouterr().err == ""


def test_nothing_is_answered_to_a_session_that_is_not_there(address):
    status, found = asked(address, "job", "no such")
    assert (status, found["error"]) == (404, "this session has ended: reload the page")


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/etc", "/api"]
)
def test_no_other_file_is_served(address, path):
    assert ask(address, path, None)[0] in (404, 405)


def test_two_sessions_read_while_one_learns(address, session):
    other = asked(address, "session")[1]["session"]
    assert asked(address, "parts", session, algorithm=FIRST) == (200, {})
    assert asked(address, "parts", session, algorithm=FIRST)[0] == 409
    for _ in range(5):
        status, _ = asked(address, "read", other, algorithm=FIRST, pixels=pixels(BLANK))
        assert status == 200
    assert asked(address, "job", session)[1]["kind"] == "parts"
    assert asked(address, "job", other)[1]["kind"] == ""


def test_ctrl_c_ends_the_command_cleanly_and_a_taken_port_is_one_line():
    command = [sys.executable, "-m", "sffa", "play", "--no-open", "--threads", "1", "--port"]
    running = subprocess.Popen(
        [*command, "0"], stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    )
    assert running.stderr is not None
    try:
        line = next(line for line in running.stderr if "http://" in line)
        address = line.split()[1]
        assert ask(address, "/", None)[0] == 200
        taken = subprocess.run(
            [*command, str(urlsplit(address).port)], capture_output=True, text=True, timeout=120
        )
        assert taken.returncode == 2
        assert taken.stderr.startswith("error: cannot listen on port")
        assert taken.stderr.count("\n") == 1
    finally:
        running.send_signal(signal.SIGINT)
    rest = running.communicate(timeout=60)[1]
    assert (running.returncode, rest) == (0, "ended\n")
