"""Nonsense is refused; it never makes the server fail."""

import base64
import json
import math
import random
import socket
from typing import Any

import pytest

from tests.data import odd_images
from tests.serve.conftest import Live
from tests.serve.http.conftest import connection, everything


def test_any_bytes_are_answered_small_and_never_by_a_failure(quick: Live) -> None:
    draw = random.Random(7)
    pieces = [
        *(
            b"POST ",
            b"GET ",
            b"/translate",
            b"/detect",
            b"/v2/translate",
            b"/translate_file",
            b"?q=",
        ),
        *(
            b" HTTP/1.1\r\n",
            b"\r\n",
            b"Host: localhost\r\n",
            b"Content-Length: 5\r\n",
            b"%",
            b"%00",
            b"\xff",
        ),
        *(
            b"Content-Type: application/json\r\n",
            b"Content-Type: multipart/form-data\r\n",
            b"{",
            b"}",
        ),
        *(
            b'"q":',
            b'["a"]',
            b"null",
            b"1e999",
            b"Transfer-Encoding: chunked\r\n",
            b"0\r\n\r\n",
            b":",
        ),
        *(
            b"Content-Type: multipart/form-data; boundary=x\r\n",
            b"--x\r\n",
            b"--x--",
            b"Connection: close\r\n",
        ),
    ]
    for _ in range(150):
        request = b"".join(draw.choices(pieces, k=draw.randint(1, 14)))
        with connection(quick) as sock:
            try:
                sock.sendall(request)
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                continue
            answer = everything(sock)
        assert len(answer) < 16_384 or answer.startswith(b"HTTP/1.1 200")
        assert not answer.startswith(b"HTTP/1.1 500"), request
        assert b"Traceback" not in answer


IMAGE = (
    "data:image/png;base64,"
    + base64.b64encode(odd_images.saved(odd_images.scene(), "PNG")).decode()
)
PATHS = ["/translate", "/detect", "/suggest", "/v2/translate", "/caption", "/match", "/classify"]


@pytest.mark.parametrize("path", [*PATHS, "/v1/embeddings"])
def test_odd_values_are_refused_not_failed(quick: Live, path: str) -> None:
    draw = random.Random(3)
    odd: list[Any] = [
        *(None, 0, -1, 1e308, True, "", "en", "auto", "\x00", "é" * 50, [], {}, [[]], [None], "de"),
        *({"q": "a"}, ["a", "b"], 10**30, "<p>", "html", "\ud800", math.nan, "data:image/"),
        *("data:image/png;base64,AAAA", "AAAA", IMAGE, [IMAGE, "a"], "{}", ["a {}", "{}{}"], "3"),
        *("gallery", "captions", "cnn"),
    ]
    names = ["q", "source", "target", "format", "alternatives", "s", "text", "target_lang"]
    names += ["source_lang", "tag_handling", "ignore_tags", "explain", "memory", "api_key"]
    names += ["image", "texts", "templates", "beam_size", "n_best", "model", "input"]
    for _ in range(80):
        values = {name: draw.choice(odd) for name in draw.sample(names, draw.randint(1, 8))}
        body = json.dumps(values).encode()
        found = quick.client.post(path, content=body, headers={"content-type": "application/json"})
        assert found.status_code in (200, 400, 403, 404), values
        assert len(found.content) < 16_384
