"""The pages for people: translate by hand, read what the server can do."""

from functools import cache
from importlib import resources

from starlette.responses import Response

from regard.serve.api.openapi import description
from regard.serve.http.access import Answering, Call, Endpoint
from regard.serve.http.middleware import json_response
from regard.serve.translation.service import Service

FILES = {
    "/": ("index.html", "text/html"),
    "/page/style.css": ("style.css", "text/css"),
    "/page/translate.js": ("translate.js", "text/javascript"),
    "/docs": ("docs.html", "text/html"),
    "/page/docs.js": ("docs.js", "text/javascript"),
}


def pages(service: Service) -> list[Endpoint]:
    """Each file under its own path: no other file can be asked for."""
    shown = [
        Endpoint(path, ("GET",), file(name, kind), is_open=True)
        for path, (name, kind) in FILES.items()
    ]
    return [*shown, Endpoint("/spec", ("GET",), spec(service), is_open=True)]


def file(name: str, kind: str) -> Answering:
    async def answer(call: Call) -> Response:
        return Response(content(name), media_type=kind)

    return answer


@cache
def content(name: str) -> bytes:
    return (resources.files("regard.serve") / "page" / name).read_bytes()


def spec(service: Service) -> Answering:
    shown = description(service)

    async def answer(call: Call) -> Response:
        return json_response(shown)

    return answer
