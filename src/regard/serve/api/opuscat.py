"""The endpoints of OPUS-CAT, which its plugins for OmegaT, Wordfast, memoQ and Trados ask."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import PlainTextResponse, Response

from regard.serve.api.parameters import Fields, check_characters, language_code, optional, required
from regard.serve.http.refusal import Refusal
from regard.serve.translation.pairs import LanguagePair
from regard.serve.translation.service import Service, TranslationRequest


async def translate_json(service: Service, fields: Fields) -> dict[str, Any]:
    """GET /MTRestService/TranslateJson, POST /MTRestService/TranslatePost"""
    return {"translation": await translation(service, fields)}


async def translate(service: Service, fields: Fields) -> str:
    """GET /MTRestService/Translate"""
    return await translation(service, fields)


async def translate_stream(service: Service, fields: Fields) -> Response:
    """GET /MTRestService/TranslateStream"""
    return PlainTextResponse(await translation(service, fields))


async def language_pairs(service: Service, fields: Fields) -> list[str]:
    """GET /MTRestService/ListSupportedLanguagePairs"""
    return [f"{pair.source}-{pair.target}" for pair in service.pairs.pairs]


async def model_tags(service: Service, fields: Fields) -> list[str]:
    """GET /MTRestService/GetLanguagePairModelTags"""
    source, target = languages(service, fields)
    return [pair.run for pair in service.pairs.route(source, target)]


async def model_status(service: Service, fields: Fields) -> str:
    """GET /MTRestService/CheckModelStatus"""
    return f"Ready: {' and '.join(pair.run for pair in route(service, fields))}"


async def accept_batch(service: Service, fields: Fields) -> Response:
    """POST /MTRestService/PreOrderBatch: announces texts, which are translated when asked for."""
    languages(service, fields)
    return Response()


# What answers each path.
ANSWERS: dict[str, Callable[[Service, Fields], Awaitable[Any]]] = {
    "TranslateJson": translate_json,
    "TranslatePost": translate_json,
    "Translate": translate,
    "TranslateStream": translate_stream,
    "ListSupportedLanguagePairs": language_pairs,
    "GetLanguagePairModelTags": model_tags,
    "CheckModelStatus": model_status,
    "PreOrderBatch": accept_batch,
}


async def translation(service: Service, fields: Fields) -> str:
    text = optional(fields, "input")
    check_characters(service, len(text))
    source, target = languages(service, fields)
    route(service, fields)
    (answer,) = await service.translate(TranslationRequest([text], source, target))
    return answer.text


def languages(service: Service, fields: Fields) -> tuple[str, str]:
    source, target = required(fields, "srcLangCode"), required(fields, "trgLangCode")
    return language_code(service, source), language_code(service, target)


def route(service: Service, fields: Fields) -> list[LanguagePair]:
    """The pairs that translate; a tag has to name one of their runs."""
    found = service.pairs.route(*languages(service, fields))
    tag = optional(fields, "modelTag")
    if tag and tag not in [pair.run for pair in found]:
        shown = ", ".join(pair.run for pair in found)
        raise Refusal(400, f"Invalid request: no model for these languages has this tag; {shown}")
    return found
