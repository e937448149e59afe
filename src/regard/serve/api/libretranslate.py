"""The endpoints of LibreTranslate.

The refusals are LibreTranslate's own, word for word, since clients show or compare them.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal, TypeAlias, cast

from regard.serve.api.documents import translated_file
from regard.serve.api.parameters import (
    Fields,
    check_characters,
    encodable,
    is_true,
    language_code,
    required,
    source_code,
)
from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import RequestFields
from regard.serve.translation.service import (
    Answer,
    Service,
    TranslationRequest,
    best_answers,
)
from regard.text.documents.formats import FORMATS
from regard.text.languages import language_name

Events: TypeAlias = AsyncGenerator[dict[str, Any], None]


async def translate(service: Service, fields: Fields) -> dict[str, Any]:
    """POST /translate"""
    request, is_list = read_request(service, fields)
    return response(await service.translate(request), request, is_list)


async def translate_streamed(service: Service, fields: Fields) -> Events:
    """POST /translate with `stream`: the pieces of each text, then the whole answer.

    A request that cannot be answered is refused before the first piece.
    """
    request, is_list = read_request(service, fields)
    if request.alternatives or request.explain or request.confidence:
        raise Refusal(
            400, "Invalid request: alternatives, explain and confidence cannot be streamed"
        )
    texts = await service.split(request)

    async def pieces() -> Events:
        filled = [""] * len(texts)
        async with aclosing(service.stream(texts, request)) as found:
            async for number, piece in found:
                filled[number] += piece
                yield {"index": number, "text": piece}
        yield response(best_answers(texts, filled), request, is_list)

    return pieces()


def read_request(service: Service, fields: Fields) -> tuple[TranslationRequest, bool]:
    """The request, and whether its texts came as a list."""
    texts, is_list = read_texts(service, fields)
    request = TranslationRequest(
        texts=texts,
        source=source_code(service, required(fields, "source")),
        target=language_code(service, required(fields, "target")),
        form=read_format(fields),
        alternatives=read_alternatives(service, fields),
        explain=is_true(fields.get("explain")),
        confidence=is_true(fields.get("confidence")),
        use_memory=is_true(fields.get("memory")),
    )
    return request, is_list


def response(answers: list[Answer], request: TranslationRequest, is_list: bool) -> dict[str, Any]:
    """The JSON of some answers: a text for a text, lists for a list."""

    def one_or_all(values: list[Any]) -> Any:
        return values if is_list else values[0]

    shown: dict[str, Any] = {"translatedText": one_or_all([each.text for each in answers])}
    if request.source == "auto":
        found = [each.detected.as_json() for each in answers if each.detected]
        shown["detectedLanguage"] = one_or_all(found)
    if request.alternatives:
        shown["alternatives"] = one_or_all([each.alternatives for each in answers])
    if any(each.extra for each in answers):
        shown["regard"] = one_or_all([each.extra for each in answers])
    return shown


async def detect(service: Service, fields: Fields) -> list[dict[str, Any]]:
    """POST /detect"""
    text = required(fields, "q")
    check_characters(service, len(text))
    ranked = await asyncio.to_thread(service.detector.rank, text)
    likely = [each.as_json() for each in ranked if each.confidence > 0]
    return likely or [each.as_json() for each in ranked[:1]]


def languages(service: Service) -> list[dict[str, Any]]:
    """GET /languages"""
    pairs = service.pairs
    return [
        {"code": code, "name": language_name(code), "targets": pairs.targets(code)}
        for code in pairs.languages
    ]


async def suggest(service: Service, fields: Fields) -> dict[str, Any]:
    """POST /suggest"""
    if service.memory is None:
        raise Refusal(403, "Suggestions are disabled on this server.")
    text, better = required(fields, "q"), required(fields, "s")
    source = language_code(service, required(fields, "source"))
    target = language_code(service, required(fields, "target"))
    check_characters(service, len(text) + len(better))
    await asyncio.to_thread(service.memory.add, source, target, text.strip(), better.strip())
    return {"success": True}


def settings(service: Service, keys_required: bool) -> dict[str, Any]:
    """GET /frontend/settings"""
    first = service.pairs.pairs[0] if service.pairs.pairs else None
    source, target = (first.source, first.target) if first else ("", "")
    return {
        "charLimit": service.limits.characters,
        "frontendTimeout": 500,
        "apiKeys": keys_required,
        "keyRequired": keys_required,
        "suggestions": service.memory is not None,
        "filesTranslation": True,
        "supportedFilesFormat": list(FORMATS),
        "language": {
            "source": {"code": source, "name": language_name(source)},
            "target": {"code": target, "name": language_name(target)},
        },
    }


async def translate_file(service: Service, sent: RequestFields) -> dict[str, Any]:
    """POST /translate_file"""
    source = source_code(service, required(sent.values, "source"))
    target = language_code(service, required(sent.values, "target"))
    return await translated_file(service, sent, source, target)


def read_texts(service: Service, fields: Fields) -> tuple[list[str], bool]:
    """The texts, and whether they came as a list. Texts beyond the limits are refused."""
    given = fields.get("q")
    if not given:
        raise Refusal(400, "Invalid request: missing q parameter")
    is_list = isinstance(given, list)
    texts = given if is_list else [given]
    if not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "Invalid request: q parameter must be a string or a list of strings")
    if len(texts) > service.limits.texts:
        raise Refusal(
            400,
            f"Invalid request: request ({len(texts)}) exceeds batch limit ({service.limits.texts})",
        )
    check_characters(service, sum(map(len, texts)))
    return [encodable(text) for text in texts], is_list


def read_format(fields: Fields) -> Literal["text", "html", "segment"]:
    given = fields.get("format") or "text"
    if given not in ("text", "html", "segment"):
        shown = given if isinstance(given, str) and given.isalnum() and len(given) <= 10 else "this"
        raise Refusal(400, f"{shown} format is not supported")
    return cast(Literal["text", "html", "segment"], given)


def read_alternatives(service: Service, fields: Fields) -> int:
    given = fields.get("alternatives") or 0
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 10:
        given = int(given)
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise Refusal(400, "Invalid request: alternatives parameter is not a number")
    limit = service.limits.alternatives
    if given > limit:
        raise Refusal(400, f"Invalid request: alternatives parameter must be <= {limit}")
    return given
