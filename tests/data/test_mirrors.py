from __future__ import annotations

import io
from email import message_from_string
from pathlib import Path
from urllib.response import addinfourl

import pytest

from sffa.data import mirrors
from sffa.data.mirrors import download
from sffa.data.progress import Meter
from sffa.errors import DownloadError


def test_a_silent_mirror_is_given_up_fast(web, tmp_path: Path):
    web.answers["/x"] = web.hang
    with pytest.raises(DownloadError, match="no answer within"):  # it says nothing until the end
        download(f"{web.base}x", tmp_path / "x", Meter(), answer=0.3)
    assert 2 * mirrors.ANSWER_SECONDS <= 10


def test_a_stalled_mirror_is_given_up(web, tmp_path: Path):
    web.answers["/x"] = web.stall
    with pytest.raises(DownloadError, match="timed out"):
        download(f"{web.base}x", tmp_path / "x", Meter(), stall=0.3)


def test_the_whole_download_has_a_time_limit(web, tmp_path: Path):
    web.answers["/x"] = bytes(100)
    with pytest.raises(DownloadError, match="not complete after 0 s"):
        download(f"{web.base}x", tmp_path / "x", Meter(), total=0)


def test_downloads_are_limited_in_size_announced_or_not(web, tmp_path: Path):
    def unannounced(handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(bytes(1000))

    web.answers |= {"/told": bytes(1000), "/untold": unannounced}
    for path in ("told", "untold"):
        with pytest.raises(DownloadError, match=r"more than 999"):
            download(f"{web.base}{path}", tmp_path / "x", Meter(), limit=999)


def test_a_refused_connection_is_one_line(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(DownloadError, match="refused"):
        download("http://127.0.0.1:9/x", tmp_path / "x", Meter())


@pytest.mark.parametrize("scheme", ["http", "ftp", "https"])
def test_a_redirect_never_leaves_https(tmp_path: Path, monkeypatch, scheme: str):
    asked = []

    def answered(self, request):
        """Answer /a with a redirect and anything else with a word, over no wire."""
        asked.append(request.full_url)
        moved = request.full_url.endswith("/a")
        head = message_from_string(f"Location: {scheme}://example.org/b\n" if moved else "")
        answer = addinfourl(io.BytesIO(b"word"), head, request.full_url, 302 if moved else 200)
        answer.msg = ""
        return answer

    for handler in ("HTTPSHandler.https_open", "HTTPHandler.http_open", "FTPHandler.ftp_open"):
        monkeypatch.setattr(f"urllib.request.{handler}", answered)
    if scheme == "https":
        download("https://example.org/a", tmp_path / "x", Meter())
        assert (tmp_path / "x").read_bytes() == b"word"
        assert asked == ["https://example.org/a", "https://example.org/b"]
        return
    with pytest.raises(DownloadError, match=f"redirects from https to {scheme}://example.org/b"):
        download("https://example.org/a", tmp_path / "x", Meter())
    assert asked == ["https://example.org/a"]
