"""What answers at each path: the functions of all interfaces, over the loaded models."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeAlias

from starlette.responses import Response, StreamingResponse

from regard.serve.api import (
    apertium,
    chat,
    deepl,
    documents,
    glossaries,
    images,
    libretranslate,
    openai,
    opuscat,
    series,
)
from regard.serve.api.openapi import description
from regard.serve.api.parameters import Fields, is_true
from regard.serve.api.paths import APERTIUM, NEW_GLOSSARY, OLD_GLOSSARY, OPUSCAT, READY
from regard.serve.api.streaming import within
from regard.serve.http.request_fields import RequestFields
from regard.serve.http.responses import json_response
from regard.serve.question import Question
from regard.serve.translation.service import Service

# A response, or a value to send as JSON.
Answering: TypeAlias = Callable[[Question], Awaitable[Any]]
Events: TypeAlias = AsyncGenerator[dict[str, Any], None]


class Answers:
    """Answers what is asked at the paths that regard.serve.app hands on."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._description = description(service)
        self.by_path: dict[str, Answering] = {
            "/translate": self.translate,
            "/detect": self.with_fields(libretranslate.detect),
            "/languages": self.plain(libretranslate.languages),
            "/translate_file": self.with_files(libretranslate.translate_file),
            "/segments": self.with_files(documents.segments),
            "/suggest": self.with_fields(libretranslate.suggest),
            "/frontend/settings": self.settings,
            "/metrics": self.metrics,
            READY: self.ready,
            "/spec": self.spec,
            "/v2/translate": self.with_fields(deepl.translate),
            "/v2/document": self.with_files(deepl.translate_document),
            "/v2/languages": self.with_fields(deepl.languages),
            "/v2/glossary-language-pairs": self.with_fields(glossaries.language_pairs),
            "/v2/glossaries": self.with_fields(glossaries.listed),
            NEW_GLOSSARY: self.with_fields(glossaries.create),
            "/v2/glossaries/{name}": self.with_fields(glossaries.details),
            OLD_GLOSSARY: self.with_fields(glossaries.delete),
            "/v2/glossaries/{name}/entries": self.with_fields(glossaries.entries_of),
            "/v1/models": self.plain(openai.models),
            "/v1/models/{name}": self.model,
            "/v1/chat/completions": self.chat,
            "/v1/completions": self.completions,
            "/v1/embeddings": self.with_fields(openai.embeddings),
            "/classify": self.with_files(images.classify),
            "/caption": self.with_files(images.caption),
            "/match": self.with_files(images.match),
            "/forecast": self.with_files(series.forecast),
            APERTIUM: self.with_fields(apertium.translate),
            "/listPairs": self.plain(apertium.pairs),
            **{
                f"{OPUSCAT}/{name}": self.with_fields(function)
                for name, function in opuscat.ANSWERS.items()
            },
        }

    async def __call__(self, question: Question) -> Response:
        result = await self.by_path[question.path](question)
        return result if isinstance(result, Response) else json_response(result)

    def with_fields(self, function: Callable[[Service, Fields], Awaitable[Any]]) -> Answering:
        """What answers by a function that needs the request's fields."""

        async def answer(question: Question) -> Any:
            return await function(self._service, question.fields.values)

        return answer

    def with_files(self, function: Callable[[Service, RequestFields], Awaitable[Any]]) -> Answering:
        """What answers by a function that needs the request's fields and files."""

        async def answer(question: Question) -> Any:
            return await function(self._service, question.fields)

        return answer

    def plain(self, function: Callable[[Service], Any]) -> Answering:
        """What answers by a function that needs nothing of the request."""

        async def answer(question: Question) -> Any:
            return function(self._service)

        return answer

    async def translate(self, question: Question) -> Any:
        fields = question.fields.values
        if not is_true(fields.get("stream")):
            return await libretranslate.translate(self._service, fields)
        return self.events(question, await libretranslate.translate_streamed(self._service, fields))

    async def completions(self, question: Question) -> Any:
        fields = question.fields.values
        request = openai.read_request(self._service, fields)
        if not is_true(fields.get("stream")):
            return await openai.completions(self._service, request)
        return self.events(question, openai.streamed(self._service, request))

    async def chat(self, question: Question) -> Any:
        fields = question.fields.values
        if not is_true(fields.get("stream")):
            return await chat.chat(self._service, fields)
        return self.events(question, await chat.chat_streamed(self._service, fields))

    async def settings(self, question: Question) -> Any:
        return libretranslate.settings(self._service, question.has_keys)

    async def metrics(self, question: Question) -> Any:
        return Response(self._service.metrics.text())

    async def ready(self, question: Question) -> Any:
        return {}

    async def spec(self, question: Question) -> Any:
        return self._description

    async def model(self, question: Question) -> Any:
        return openai.model(self._service, question.fields.values["name"])

    def events(self, question: Question, values: Events) -> Response:
        found = within(self._service.limits.request_seconds, values, question.path)
        return StreamingResponse(found, media_type="text/event-stream")
