"""The pages for people: to translate documents, to try a request, and to read what there is."""

from functools import cache
from importlib import resources

from starlette.responses import Response

from regard.serve.http.access import Call, Endpoint, Handler

PAGES = {"/": "index.html", "/try": "try.html", "/docs": "docs.html"}
PARTS = (
    *(
        "style.css",
        "copying.js",
        "desk.css",
        "desk.js",
        "http.js",
        "kept.js",
        "languages.js",
        "segment.js",
    ),
    *("tags.js", "translating.js", "try.js", "docs.js"),
)
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def pages() -> list[Endpoint]:
    """An endpoint for each file, so that no other file can be requested."""
    files = {**PAGES, **{f"/page/{name}": name for name in PARTS}}
    return [Endpoint(path, ("GET",), file(name), is_open=True) for path, name in files.items()]


def file(name: str) -> Handler:
    kind = KINDS[name.rpartition(".")[2]]

    async def answer(call: Call) -> Response:
        return Response(content(name), media_type=kind)

    return answer


@cache
def content(name: str) -> bytes:
    return (resources.files("regard.serve") / "page" / name).read_bytes()
