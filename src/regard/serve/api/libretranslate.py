"""The endpoints that LibreTranslate's clients speak to: plain values in, plain values out.

Sentences of refusals are LibreTranslate's own, word for word, since clients show or compare them.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from regard.serve.http.refusal import TOO_LONG, Refusal
from regard.serve.translation.files import FORMATS, read_text, translated_name
from regard.serve.translation.languages import base, name
from regard.serve.translation.service import Answer, Service, Wish, answers_of

Fields = Mapping[str, Any]
Result = TypeVar("Result")


async def translate(service: Service, fields: Fields) -> dict[str, Any]:
    """POST /translate"""
    wish, many = read_wish(service, fields)
    return show(await service.translate(wish), wish, many)


async def translate_streamed(service: Service, fields: Fields) -> AsyncGenerator[bytes, None]:
    """POST /translate with `stream`: events, which begin once it is clear that it can be done."""
    wish, many = read_wish(service, fields)
    if wish.alternatives or wish.explain:
        raise Refusal(400, "Invalid request: alternatives and explain cannot be streamed")
    texts = await service.take_apart(wish)
    until = asyncio.get_running_loop().time() + service.limits.request_seconds

    async def events() -> AsyncGenerator[bytes, None]:
        filled = [""] * len(texts)
        try:
            async with aclosing(service.stream(texts, wish)) as pieces:
                while found := await within(until, anext(pieces, None)):
                    number, piece = found
                    filled[number] += piece
                    yield event({"index": number, "text": piece})
            yield event(show(answers_of(texts, filled), wish, many))
        except Refusal as refusal:
            yield event({"error": str(refusal)})
        except TimeoutError:
            yield event({"error": TOO_LONG})
        yield b"data: [DONE]\n\n"

    return events()


async def within(until: float, awaited: Awaitable[Result]) -> Result:
    async with asyncio.timeout_at(until):
        return await awaited


def event(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def read_wish(service: Service, fields: Fields) -> tuple[Wish, bool]:
    """What is asked, and whether it is asked of a list."""
    texts, many = read_texts(service, fields)
    wish = Wish(
        texts=texts,
        source=source_code(service, required(fields, "source")),
        target=language_code(service, required(fields, "target")),
        is_html=read_format(fields) == "html",
        alternatives=read_alternatives(service, fields),
        explain=truth(fields.get("explain")),
        from_memory=truth(fields.get("memory")),
    )
    return wish, many


def show(answers: list[Answer], wish: Wish, many: bool) -> dict[str, Any]:
    """One text is answered by a text, a list by lists."""

    def one_or_all(values: list[Any]) -> Any:
        return values if many else values[0]

    shown: dict[str, Any] = {"translatedText": one_or_all([each.text for each in answers])}
    if wish.source == "auto":
        found = [each.detected.as_json() for each in answers if each.detected]
        shown["detectedLanguage"] = one_or_all(found)
    if wish.alternatives:
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
        {"code": code, "name": name(code), "targets": pairs.targets(code)}
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
            "source": {"code": source, "name": name(source)},
            "target": {"code": target, "name": name(target)},
        },
    }


async def translate_file(
    service: Service, fields: Fields, uploaded: tuple[str, bytes] | None
) -> str:
    """POST /translate_file: the name under which the translated file can be fetched."""
    if uploaded is None:
        raise Refusal(400, "Invalid request: missing file parameter")
    file_name, data = uploaded
    source = source_code(service, required(fields, "source"))
    target = language_code(service, required(fields, "target"))
    text, is_html = read_text(file_name, data)
    check_characters(service, len(text))
    (answer,) = await service.translate(Wish([text], source, target, is_html))
    name = translated_name(file_name, target)
    return service.downloads.keep(name, answer.text.encode("utf-8", "replace"))


def read_texts(service: Service, fields: Fields) -> tuple[list[str], bool]:
    """The texts, and whether they came as a list; within the limits."""
    given = fields.get("q")
    if not given:
        raise Refusal(400, "Invalid request: missing q parameter")
    many = isinstance(given, list)
    texts = given if many else [given]
    if not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "Invalid request: q parameter must be a string or a list of strings")
    if len(texts) > service.limits.texts:
        raise Refusal(
            400,
            f"Invalid request: request ({len(texts)}) exceeds batch limit ({service.limits.texts})",
        )
    check_characters(service, sum(map(len, texts)))
    return [sound(text) for text in texts], many


def check_characters(service: Service, count: int) -> None:
    limit = service.limits.characters
    if count > limit:
        raise Refusal(400, f"Invalid request: request ({count}) exceeds text limit ({limit})")


def required(fields: Fields, key: str) -> str:
    """A text that must be there; an empty one is not."""
    value = fields.get(key)
    if not value:
        raise Refusal(400, f"Invalid request: missing {key} parameter")
    if not isinstance(value, str):
        raise Refusal(400, f"Invalid request: {key} parameter must be a string")
    return sound(value)


def sound(text: str) -> str:
    """Half a surrogate pair, which JSON can hold and UTF-8 cannot, becomes a question mark."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def language_code(service: Service, code: str) -> str:
    """A code in the form we list it: lower case, and without a country we have no model for."""
    wanted = code.strip().lower().replace("_", "-")
    for candidate in (wanted, base(wanted)):
        if candidate in service.pairs.languages:
            return candidate
    for candidate in service.pairs.languages:
        if base(candidate) == wanted:
            return candidate
    shown = wanted if wanted.isprintable() and len(wanted) <= 10 else "this language"
    raise Refusal(400, f"{shown} is not supported")


def source_code(service: Service, code: str) -> str:
    return "auto" if code.lower() == "auto" else language_code(service, code)


def read_format(fields: Fields) -> str:
    given = fields.get("format") or "text"
    if given not in ("text", "html"):
        shown = given if isinstance(given, str) and given.isalnum() and len(given) <= 10 else "this"
        raise Refusal(400, f"{shown} format is not supported")
    return str(given)


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


def truth(value: Any) -> bool:
    """A flag, which forms can only give as text."""
    return value is True or (isinstance(value, str) and value.lower() in ("true", "1", "yes"))
