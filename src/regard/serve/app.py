"""The application of the server: every path, and what answers there."""

import base64
import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.serve.api.pages import pages
from regard.serve.api.paths import (
    ANNOUNCED,
    APERTIUM,
    NEW_GLOSSARY,
    OLD_GLOSSARY,
    OPUSCAT,
    OPUSCAT_METHODS,
    OPUSCAT_TOO,
    READY,
)
from regard.serve.http.access import Access, Call, Endpoint, Handler
from regard.serve.http.access_log import AccessLog
from regard.serve.http.keys import Keys
from regard.serve.http.limits import CALLER, Limits, RateLimiter
from regard.serve.http.metrics import Metrics
from regard.serve.http.middleware import HEALTH, OuterMiddleware
from regard.serve.http.quotas import Usage
from regard.serve.http.refusal import Refusal
from regard.serve.http.root_path import ROOT_PATH
from regard.serve.http.sites import Sites
from regard.serve.question import Answerer, Question
from regard.serve.translation.files import Downloads

METRICS = "/metrics"
# There is no quota, but clients of DeepL expect the number of one.
NO_QUOTA = 1_000_000_000_000


def build(
    answerer: Answerer,
    limits: Limits,
    keys: Keys | None = None,
    metrics: Metrics | None = None,
    log: AccessLog | None = None,
    sites: Sites | None = None,
    usage: Usage | None = None,
    metrics_apart: bool = False,
) -> ASGIApp:
    """The application that a server calls."""
    metrics = metrics or Metrics()
    rates = RateLimiter(limits.texts_per_minute)
    access = Access(limits, keys or Keys(), rates, metrics, usage or Usage())
    router = Router(
        [
            access.route(endpoint)
            for endpoint in Endpoints(answerer, access, Downloads(limits.file_bytes)).table()
            if not (metrics_apart and endpoint.path == METRICS)
        ],
        redirect_slashes=False,
        default=not_found,
    )

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = router  # Starlette's routes raise errors only if an application is set
        await router(scope, receive, send)

    return OuterMiddleware(routed, metrics, log or AccessLog(quiet=True), sites or Sites())


def build_for_operators(answerer: Answerer, limits: Limits, metrics: Metrics) -> ASGIApp:
    """The application at the port for metrics, which asks for no key."""
    access = Access(limits, Keys(), RateLimiter(limits.texts_per_minute), metrics)
    endpoints = Endpoints(answerer, access, Downloads(0)).for_operators()
    routes = [access.route(replace(each, is_open=True)) for each in endpoints]
    router = Router(routes, redirect_slashes=False, default=not_found)
    return OuterMiddleware(router, Metrics(), AccessLog(quiet=True), Sites())


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise Refusal(404, "there is nothing here; /docs lists what there is")


@dataclass(frozen=True)
class Endpoints:
    """All endpoints. Most ask the models, which are in a process of their own."""

    answerer: Answerer
    access: Access
    downloads: Downloads

    def table(self) -> list[Endpoint]:
        """Every path that is answered."""
        get, post = ("GET",), ("POST",)
        both = (*get, *post)
        return [
            Endpoint("/translate", post, self.ask),
            Endpoint("/translate", get, self.asking(APERTIUM)),
            Endpoint("/listPairs", get, self.ask, is_open=True),
            Endpoint("/detect", post, self.ask),
            Endpoint("/languages", get, self.ask, is_open=True),
            Endpoint("/translate_file", post, self.translate_file),
            Endpoint("/download_file/{name}", get, self.download_file, is_open=True),
            Endpoint("/segments", post, self.ask),
            Endpoint("/suggest", post, self.ask),
            Endpoint("/frontend/settings", get, self.ask, is_open=True),
            *self.for_operators(),
            Endpoint("/spec", get, self.ask, is_open=True),
            Endpoint("/v2/translate", post, self.ask),
            Endpoint("/v2/document", post, self.deepl_document),
            Endpoint("/v2/document/{name}", both, self.deepl_document_status),
            Endpoint("/v2/document/{name}/result", both, self.download_file),
            Endpoint("/v2/languages", both, self.ask),
            Endpoint("/v2/usage", both, self.deepl_usage),
            Endpoint("/v2/glossary-language-pairs", get, self.ask),
            Endpoint("/v2/glossaries", get, self.ask),
            Endpoint("/v2/glossaries", post, self.asking(NEW_GLOSSARY)),
            Endpoint("/v2/glossaries/{name}", get, self.ask),
            Endpoint("/v2/glossaries/{name}", ("DELETE",), self.asking(OLD_GLOSSARY)),
            Endpoint("/v2/glossaries/{name}/entries", get, self.ask),
            Endpoint("/v1/models", get, self.ask),
            Endpoint("/v1/models/{name}", get, self.ask),
            Endpoint("/v1/chat/completions", post, self.ask),
            Endpoint("/v1/completions", post, self.ask),
            Endpoint("/v1/embeddings", post, self.ask),
            Endpoint("/classify", post, self.ask),
            Endpoint("/caption", post, self.ask),
            Endpoint("/match", post, self.ask),
            Endpoint("/forecast", post, self.ask),
            *(
                Endpoint(
                    f"{root}/{name}",
                    (method,),
                    self.asking(f"{OPUSCAT}/{name}"),
                    ignores_body=name == ANNOUNCED,
                )
                for root in (OPUSCAT, OPUSCAT_TOO)
                for name, method in OPUSCAT_METHODS.items()
            ),
            *pages(),
        ]

    def for_operators(self) -> list[Endpoint]:
        get = ("GET",)
        return [
            Endpoint(HEALTH, get, self.health, is_open=True),
            Endpoint(READY, get, self.ready, is_open=True),
            Endpoint(METRICS, get, self.metrics),
        ]

    async def ask(self, call: Call, path: str = "") -> Response:
        """Ask the models; the path is that of the request, unless another one is given."""
        path = path or call.request.scope["regard.route"]
        fields, has_keys = call.fields, bool(self.access.keys)
        fields.values.update(call.request.path_params)
        return await self.answerer(Question(path, fields, CALLER.get(), has_keys))

    def asking(self, path: str) -> Handler:
        """What asks the models for what another path means."""

        async def answer(call: Call) -> Any:
            return await self.ask(call, path)

        return answer

    async def translated_file(self, call: Call) -> tuple[str, dict[str, int] | None]:
        """Keep the translated file here, where it outlives the worker that translated it, and
        return the name to fetch it under, and how sure the model is. The key pays for the
        characters that were translated.
        """
        found = json.loads(bytes((await self.ask(call)).body))
        with self.access.counted(call, found["characters"]):
            data = base64.b64decode(found["data"])
            name = self.downloads.keep(found["name"], data, found["characters"])
        return name, found["confidence"]

    async def translate_file(self, call: Call) -> dict[str, Any]:
        name, confidence = await self.translated_file(call)
        path = f"{call.request.scope.get(ROOT_PATH, '')}/download_file/{name}"
        url = call.request.base_url.replace(path=path, query="")
        said = {} if confidence is None else {"regard": {"confidence": confidence}}
        return {"translatedFileUrl": str(url), **said}

    async def deepl_document(self, call: Call) -> dict[str, str]:
        """POST /v2/document: the name is the key as well, since nobody can guess it."""
        name, _ = await self.translated_file(call)
        return {"document_id": name, "document_key": name}

    async def deepl_document_status(self, call: Call) -> dict[str, Any]:
        """The status of a document, which was translated when it was sent."""
        name = call.request.path_params["name"]
        found = self.downloads.fetch(name)
        return {"document_id": name, "status": "done", "billed_characters": found.characters}

    async def download_file(self, call: Call) -> Response:
        found = self.downloads.fetch(call.request.path_params["name"])
        return Response(
            found.data,
            media_type="application/octet-stream",
            headers={"content-disposition": f'attachment; filename="{found.name}"'},
        )

    async def health(self, call: Call) -> dict[str, str]:
        return {"status": "ok"}

    async def ready(self, call: Call) -> dict[str, str]:
        """Whether the models answer; if not, a refusal says when to ask again."""
        await self.answerer(Question(READY))
        return {"status": "ready"}

    async def metrics(self, call: Call) -> Response:
        """The metrics of the server and, if there is one, of the worker."""
        text = self.access.metrics.text()
        with suppress(Refusal):
            text += bytes((await self.ask(call)).body)
        return Response(text, headers={"content-type": Metrics.content_type})

    async def deepl_usage(self, call: Call) -> dict[str, int]:
        """GET /v2/usage: what the key has used of its quota, or all characters since the start."""
        if call.key is not None and call.key.quota is not None:
            used = self.access.usage.used(call.key.digest.hex(), call.key.quota)
            return {"character_count": used, "character_limit": call.key.quota.characters}
        used = self.access.metrics.total_characters()
        return {"character_count": used, "character_limit": NO_QUOTA}
