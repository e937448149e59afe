"""A publisher on this machine, which can be good or bad in many ways."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Publisher:
    """What the server offers, and how it misbehaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    address: str = ""
    cut_after: int | None = None  # bytes after which each answer breaks off
    cuts: int = 1_000_000  # how many answers break off
    pause_seconds: float = 0.0  # between blocks of an answer
    says_length: bool = True
    takes_ranges: bool = True
    redirects: dict[str, str] = field(default_factory=dict)
    status: int = 0  # answer nothing but this
    asked: list[tuple[str, str]] = field(default_factory=list)  # path and Range of each request
    tag: str = '"one"'

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    state = Publisher()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.lstrip("/")
            wanted = self.headers.get("Range", "")
            state.asked.append((name, wanted))
            if name in state.redirects:
                self.send_response(302)
                self.send_header("Location", state.redirects[name])
                self.end_headers()
                return
            if state.status or name not in state.files:
                self.send_error(state.status or 404)
                return
            content = state.files[name]
            start = 0
            if wanted and state.takes_ranges and self.headers.get("If-Range") in (None, state.tag):
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                if start >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/*")
            else:
                self.send_response(200)
            self.send_header("ETag", state.tag)
            body = content[start:]
            if state.says_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if state.cut_after is not None and state.cuts > 0:
                state.cuts -= 1
                body = body[: state.cut_after]
            for place in range(0, len(body), 1000):
                self.wfile.write(body[place : place + 1000])
                time.sleep(state.pause_seconds)

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause between attempts, and no proxy."""
    monkeypatch.setattr("regard.datasets.download.PAUSE_SECONDS", 0.0)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
