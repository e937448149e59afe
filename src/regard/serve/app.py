"""The whole application: every endpoint and its path."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.serve.api import deepl, libretranslate, openai
from regard.serve.api.libretranslate import truth
from regard.serve.api.pages import pages
from regard.serve.http.access import Answering, Call, Door, Endpoint
from regard.serve.http.access_log import AccessLog
from regard.serve.http.keys import Keys
from regard.serve.http.limits import Rates
from regard.serve.http.metrics import Metrics
from regard.serve.http.middleware import Outermost
from regard.serve.http.refusal import Refusal
from regard.serve.translation.service import Service


def build(
    service: Service,
    keys: Keys | None = None,
    metrics: Metrics | None = None,
    log: AccessLog | None = None,
) -> ASGIApp:
    """The application that a server calls."""
    metrics = metrics or Metrics()
    metrics.watch_queue(lambda: service.batcher.waiting)
    door = Door(service, keys or Keys(), Rates(service.limits.texts_per_minute), metrics)
    router = Router(
        [door.route(endpoint) for endpoint in table(door)],
        redirect_slashes=False,
        default=not_found,
    )

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = router  # as Starlette's routes expect before they raise what is wrong
        await router(scope, receive, send)

    return Outermost(routed, metrics, log)


def table(door: Door) -> list[Endpoint]:
    """Every path that is answered."""
    asked, given = ("POST",), ("GET",)
    return [
        Endpoint("/translate", asked, translate),
        Endpoint("/detect", asked, with_fields(libretranslate.detect)),
        Endpoint("/languages", given, alone(libretranslate.languages), is_open=True),
        Endpoint("/translate_file", asked, translate_file),
        Endpoint("/download_file/{name}", given, download_file, is_open=True),
        Endpoint("/suggest", asked, with_fields(libretranslate.suggest)),
        Endpoint("/frontend/settings", given, settings(door), is_open=True),
        Endpoint("/health", given, health, is_open=True),
        Endpoint("/metrics", given, metrics_text(door)),
        Endpoint("/v2/translate", asked, with_fields(deepl.translate)),
        Endpoint("/v2/languages", ("GET", "POST"), with_fields(deepl.languages)),
        Endpoint("/v2/usage", ("GET", "POST"), deepl_usage(door)),
        Endpoint("/v1/models", given, alone(openai.models)),
        Endpoint("/v1/completions", asked, completions),
        Endpoint("/v1/embeddings", asked, with_fields(openai.embeddings)),
        *pages(door.service),
    ]


def with_fields(function: Callable[[Service, dict[str, Any]], Any]) -> Answering:
    async def answer(call: Call) -> Any:
        return await function(call.service, call.sent.fields)

    return answer


def alone(function: Callable[[Service], Any]) -> Answering:
    async def answer(call: Call) -> Any:
        return function(call.service)

    return answer


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise Refusal(404, "there is nothing here; /docs lists what there is")


async def health(call: Call) -> dict[str, str]:
    return {"status": "ok"}


def settings(door: Door) -> Answering:
    async def answer(call: Call) -> Any:
        return libretranslate.settings(call.service, bool(door.keys))

    return answer


def metrics_text(door: Door) -> Answering:
    async def answer(call: Call) -> Response:
        return Response(door.metrics.text(), headers={"content-type": Metrics.content_type})

    return answer


def deepl_usage(door: Door) -> Answering:
    async def answer(call: Call) -> Any:
        return deepl.usage(door.metrics.total_characters())

    return answer


async def translate(call: Call) -> Any:
    fields = call.sent.fields
    if not truth(fields.get("stream")):
        return await libretranslate.translate(call.service, fields)
    return events(await libretranslate.translate_streamed(call.service, fields))


async def completions(call: Call) -> Any:
    fields = call.sent.fields
    wish = openai.read_wish(call.service, fields)
    if not truth(fields.get("stream")):
        return await openai.completions(call.service, wish)
    return events(openai.streamed(call.service, wish))


def events(chunks: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(chunks, media_type="text/event-stream")


async def translate_file(call: Call) -> dict[str, str]:
    name = await libretranslate.translate_file(call.service, call.sent.fields, call.sent.file)
    url = call.request.base_url.replace(path=f"/download_file/{name}", query="")
    return {"translatedFileUrl": str(url)}


async def download_file(call: Call) -> Response:
    found = call.service.downloads.fetch(call.request.path_params["name"])
    return Response(
        found.data,
        media_type="application/octet-stream",
        headers={"content-disposition": f'attachment; filename="{found.name}"'},
    )
