"""The endpoints of DeepL."""

from typing import Any, cast

from regard.serve.api.documents import translated_file
from regard.serve.api.glossaries import glossary_for
from regard.serve.api.parameters import (
    Fields,
    check_characters,
    encodable,
    is_true,
    language_code,
    required,
)
from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import RequestFields
from regard.serve.translation.service import Service, TranslationRequest
from regard.text.documents.tags import Tags
from regard.text.formatted import Format
from regard.text.languages import language_name


async def translate(service: Service, fields: Fields) -> dict[str, Any]:
    """POST /v2/translate"""
    texts = fields.get("text")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts:
        raise Refusal(400, "Parameter 'text' not specified.")
    if not all(isinstance(text, str) for text in texts):
        raise Refusal(400, "Bad request. Reason: text must be a list of strings.")
    if len(texts) > service.limits.texts:
        raise Refusal(413, f"more than {service.limits.texts} texts at once")
    check_characters(service, sum(map(len, texts)))
    source, target = read_languages(service, fields)
    request = TranslationRequest(
        texts=[encodable(text) for text in texts],
        source=source,
        target=target,
        form=read_tag_handling(fields),
        tags=read_tags(fields),
        glossary=glossary_for(service, fields, source, target),
    )
    shown = []
    for text, answer in zip(texts, await service.translate(request), strict=True):
        code = answer.detected.language if answer.detected else request.source
        entry: dict[str, Any] = {"detected_source_language": code.upper(), "text": answer.text}
        if is_true(fields.get("show_billed_characters")):
            entry["billed_characters"] = len(text)
        shown.append(entry)
    return {"translations": shown}


async def translate_document(service: Service, sent: RequestFields) -> dict[str, Any]:
    """POST /v2/document"""
    source, target = read_languages(service, sent.values)
    glossary = glossary_for(service, sent.values, source, target)
    return await translated_file(service, sent, source, target, glossary)


def read_languages(service: Service, fields: Fields) -> tuple[str, str]:
    """Source and target; without a source it is detected."""
    source = fields.get("source_lang")
    return (
        language_code(service, required(fields, "source_lang")) if source else "auto",
        language_code(service, required(fields, "target_lang")),
    )


async def languages(service: Service, fields: Fields) -> list[dict[str, Any]]:
    """GET /v2/languages"""
    wanted = fields.get("type") or "source"
    if wanted not in ("source", "target"):
        raise Refusal(400, "Parameter 'type' is invalid. 'source' and 'target' are valid values.")
    pairs = service.pairs
    if wanted == "source":
        return [{"language": code.upper(), "name": language_name(code)} for code in pairs.sources]
    targets = sorted({pair.target for pair in pairs.pairs})
    return [
        {"language": code.upper(), "name": language_name(code), "supports_formality": False}
        for code in targets
    ]


def read_tag_handling(fields: Fields) -> Format:
    given = fields.get("tag_handling") or "text"
    if given not in ("text", "html", "xml"):
        raise Refusal(400, "Value for 'tag_handling' not supported. It must be html or xml.")
    return cast(Format, given)


def read_tags(fields: Fields) -> Tags:
    """What the fields say of tags. Names of HTML are the same in capitals."""
    lower = fields.get("tag_handling") == "html"
    return Tags(
        ignored=tag_names(fields.get("ignore_tags"), lower),
        splitting=tag_names(fields.get("splitting_tags"), lower),
        joining=tag_names(fields.get("non_splitting_tags"), lower),
        outline=fields.get("outline_detection") not in (False, 0, "0", "false"),
    )


def tag_names(given: Any, lower: bool) -> frozenset[str]:
    """The names of tags, sent as a list or separated by commas."""
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, list):
        return frozenset()
    names = (str(tag).strip() for tag in given[:100])
    return frozenset(name.lower() if lower else name for name in names if name)
