"""The download tier against a server on this machine: checksums, and what is not offered."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from quant.gnn import download


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Drop the line."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Serve the folder ``served`` and give its address."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "ind.tiny.x").write_bytes(b"good")
    handler = partial(_Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()
        thread.join()


def test_a_file_with_its_checksum_is_kept(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
):
    checksum = hashlib.sha256(b"good").hexdigest()
    monkeypatch.setitem(download.DOWNLOADS, "tiny", {"x": checksum})
    folder = download.fetch("tiny", tmp_path / "here", server)
    assert (folder / "ind.tiny.x").read_bytes() == b"good"


def test_a_file_with_another_checksum_is_refused(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(download.DOWNLOADS, "tiny", {"x": hashlib.sha256(b"bad").hexdigest()})
    with pytest.raises(ValueError, match=r"SHA256 hash of downloaded file .* does not match"):
        download.fetch("tiny", tmp_path / "here", server)
    assert not (tmp_path / "here" / "ind.tiny.x").exists()


def test_a_set_without_checksums_is_not_offered():
    with pytest.raises(
        ValueError, match="^a download must be one of citeseer, pubmed, not 'cora'$"
    ):
        download.fetch("cora")


def test_every_set_has_its_eight_files():
    parts = {"x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"}
    for files in download.DOWNLOADS.values():
        assert set(files) == parts
        assert all(len(checksum) == 64 for checksum in files.values())
