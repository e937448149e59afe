"""The application: every endpoint and its path."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.serve.api import deepl, libretranslate, openai
from regard.serve.api.pages import pages
from regard.serve.api.parameters import Fields, is_true
from regard.serve.http.access import Access, Call, Endpoint, Handler
from regard.serve.http.access_log import AccessLog
from regard.serve.http.keys import Keys
from regard.serve.http.limits import RateLimiter
from regard.serve.http.metrics import Metrics
from regard.serve.http.middleware import HEALTH, OuterMiddleware
from regard.serve.http.refusal import Refusal
from regard.serve.image_models import classify, image_bytes
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
    rates = RateLimiter(service.limits.texts_per_minute)
    access = Access(service.limits, keys or Keys(), rates, metrics)
    router = Router(
        [access.route(endpoint) for endpoint in Endpoints(service, access).table()],
        redirect_slashes=False,
        default=not_found,
    )

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = router  # Starlette's routes raise errors only if an application is set
        await router(scope, receive, send)

    return OuterMiddleware(routed, metrics, log)


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise Refusal(404, "there is nothing here; /docs lists what there is")


@dataclass(frozen=True)
class Endpoints:
    """All endpoints of a service."""

    service: Service
    access: Access

    def table(self) -> list[Endpoint]:
        """Every path that is answered."""
        get, post = ("GET",), ("POST",)
        both = (*get, *post)
        return [
            Endpoint("/translate", post, self.translate),
            Endpoint("/detect", post, self.with_fields(libretranslate.detect)),
            Endpoint("/languages", get, self.plain(libretranslate.languages), is_open=True),
            Endpoint("/translate_file", post, self.translate_file),
            Endpoint("/download_file/{name}", get, self.download_file, is_open=True),
            Endpoint("/suggest", post, self.with_fields(libretranslate.suggest)),
            Endpoint("/frontend/settings", get, self.settings, is_open=True),
            Endpoint(HEALTH, get, self.health, is_open=True),
            Endpoint("/metrics", get, self.metrics),
            Endpoint("/v2/translate", post, self.with_fields(deepl.translate)),
            Endpoint("/v2/languages", both, self.with_fields(deepl.languages)),
            Endpoint("/v2/usage", both, self.deepl_usage),
            Endpoint("/v1/models", get, self.plain(openai.models)),
            Endpoint("/v1/completions", post, self.completions),
            Endpoint("/v1/embeddings", post, self.with_fields(openai.embeddings)),
            Endpoint("/classify", post, self.classify),
            *pages(self.service),
        ]

    def with_fields(self, function: Callable[[Service, Fields], Any]) -> Handler:
        """The handler of a function that needs the request's fields."""

        async def answer(call: Call) -> Any:
            return await function(self.service, call.fields.values)

        return answer

    def plain(self, function: Callable[[Service], Any]) -> Handler:
        """The handler of a function that needs nothing of the request."""

        async def answer(call: Call) -> Any:
            return function(self.service)

        return answer

    async def translate(self, call: Call) -> Any:
        fields = call.fields.values
        if not is_true(fields.get("stream")):
            return await libretranslate.translate(self.service, fields)
        return event_stream(await libretranslate.translate_streamed(self.service, fields))

    async def translate_file(self, call: Call) -> dict[str, str]:
        fields = call.fields
        name = await libretranslate.translate_file(self.service, fields.values, fields.file)
        url = call.request.base_url.replace(path=f"/download_file/{name}", query="")
        return {"translatedFileUrl": str(url)}

    async def download_file(self, call: Call) -> Response:
        found = self.service.downloads.fetch(call.request.path_params["name"])
        return Response(
            found.data,
            media_type="application/octet-stream",
            headers={"content-disposition": f'attachment; filename="{found.name}"'},
        )

    async def classify(self, call: Call) -> dict[str, Any]:
        fields = call.fields
        name, classifier = self.service.image_models.classifier(fields.values.get("model") or "")
        data = image_bytes(fields.values.get("image"), fields.file)
        return {"model": name, **await self.service.thread.run(classify, classifier, data)}

    async def settings(self, call: Call) -> dict[str, Any]:
        return libretranslate.settings(self.service, bool(self.access.keys))

    async def health(self, call: Call) -> dict[str, str]:
        return {"status": "ok"}

    async def metrics(self, call: Call) -> Response:
        text = self.access.metrics.text()
        return Response(text, headers={"content-type": Metrics.content_type})

    async def deepl_usage(self, call: Call) -> dict[str, int]:
        return deepl.usage(self.access.metrics.total_characters())

    async def completions(self, call: Call) -> Any:
        fields = call.fields.values
        request = openai.read_request(self.service, fields)
        if not is_true(fields.get("stream")):
            return await openai.completions(self.service, request)
        return event_stream(openai.streamed(self.service, request))


def event_stream(events: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(events, media_type="text/event-stream")
