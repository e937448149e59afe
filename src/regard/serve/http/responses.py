"""Responses in JSON, and errors in the shape that the clients of each interface read."""

import json
import math
from typing import Any

from starlette.responses import Response

from regard.serve.http.refusal import Refusal


def json_response(value: Any, status: int = 200) -> Response:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(body.encode("utf-8", "replace"), status, media_type="application/json")


def error_body(path: str, refusal: Refusal) -> dict[str, Any]:
    """The error in the shape of the interface that a path belongs to."""
    sentence = str(refusal)
    if path.startswith("/v1/"):  # OpenAI
        kind = "invalid_request_error" if refusal.status < 500 else "server_error"
        return {"error": {"message": sentence, "type": kind, "param": None, "code": None}}
    if path.startswith("/v2/"):  # DeepL
        return {"message": sentence}
    return {"error": sentence}


def error_response(path: str, refusal: Refusal) -> Response:
    response = json_response(error_body(path, refusal), refusal.status)
    response.headers.update(refusal.headers)
    if refusal.retry_after_seconds is not None:
        response.headers["retry-after"] = str(max(1, math.ceil(refusal.retry_after_seconds)))
    return response
