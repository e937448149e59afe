"""The pages for people: to translate by hand, and to read what the server can do."""

from functools import cache
from importlib import resources

from starlette.responses import Response

from regard.serve.http.access import Call, Endpoint, Handler

FILES = {
    "/": ("index.html", "text/html"),
    "/page/style.css": ("style.css", "text/css"),
    "/page/translate.js": ("translate.js", "text/javascript"),
    "/docs": ("docs.html", "text/html"),
    "/page/docs.js": ("docs.js", "text/javascript"),
}


def pages() -> list[Endpoint]:
    """An endpoint for each file, so that no other file can be requested."""
    return [
        Endpoint(path, ("GET",), file(name, kind), is_open=True)
        for path, (name, kind) in FILES.items()
    ]


def file(name: str, kind: str) -> Handler:
    async def answer(call: Call) -> Response:
        return Response(content(name), media_type=kind)

    return answer


@cache
def content(name: str) -> bytes:
    return (resources.files("regard.serve") / "page" / name).read_bytes()
