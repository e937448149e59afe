"""Uploaded documents, which LibreTranslate's and DeepL's clients send alike."""

import asyncio
import base64
import json
from collections import Counter
from typing import Any

from regard.errors import DataError
from regard.serve.api.parameters import (
    check_characters,
    encodable,
    is_true,
    language_code,
    optional,
    required,
    source_code,
)
from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import RequestFields
from regard.serve.translation.documents import Wanted, translate_document
from regard.serve.translation.files import read_file, translated_name, unfinished
from regard.serve.translation.service import Service
from regard.text.documents.document import Document, Pieces, Wish
from regard.text.documents.tagged import numbered, to_json, untagged
from regard.text.glossary import NO_TERMS, Glossary


async def translated_file(
    service: Service,
    sent: RequestFields,
    source: str,
    target: str,
    glossary: Glossary = NO_TERMS,
) -> dict[str, Any]:
    """The translated file with its name, how many characters the model translated, and how sure it
    is, if that was asked for; the server keeps it for a download.
    """
    name, data = uploaded_file(sent)
    async with service.reading:  # a document takes many times its size while it is read
        document = await asyncio.to_thread(read_file, name, data, wish_of(sent, source, target))
        given = await asyncio.to_thread(given_translations, sent, document)
        texts = [text for row, text in unfinished(document).items() if row not in given]
        characters = sum(map(len, texts))
        check_characters(service, characters)
        wanted = Wanted(glossary, given, is_true(sent.values.get("confidence")))
        translated = await translate_document(service, document, source, target, wanted)
    return {
        "name": translated_name(name, target),
        "data": base64.b64encode(translated).decode(),
        "characters": characters,
        "confidence": counts(document) if wanted.confidence else None,
    }


def counts(document: Document) -> dict[str, int]:
    """How many translations of the model are of each verdict."""
    verdicts = Counter(each.verdict for each in document.sure.values())
    return {verdict: verdicts[verdict] for verdict in ("likely fine", "check")}


async def segments(service: Service, sent: RequestFields) -> dict[str, Any]:
    """POST /segments: the texts of a document that are to be translated, for a page where a person
    edits the translations.
    """
    name, data = uploaded_file(sent)
    source = source_code(service, required(sent.values, "source"))
    target = language_code(service, required(sent.values, "target"))
    async with service.reading:
        document = await asyncio.to_thread(read_file, name, data, wish_of(sent, source, target))
        found = await asyncio.to_thread(
            lambda: [
                {"number": row, "line": segment.line, **to_json(numbered(segment))}
                for row, segment in enumerate(document.segments)
                if not segment.finished
            ]
        )
        source = await service.source_of(document, source)
    finished = len(document.segments) - len(found)
    return {"source": source, "finished": finished, "segments": found}


def given_translations(sent: RequestFields, document: Document) -> dict[int, Pieces]:
    """The field `translations`, an object of texts by the numbers of their segments. One without
    words leaves its segment as it is.
    """
    given = sent.values.get("translations") or "{}"
    try:
        values = json.loads(given) if isinstance(given, str) else given
        texts = {int(row): encodable(text) for row, text in values.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise Refusal(400, "Invalid request: translations are texts by numbers") from None
    found = {}
    for row, text in texts.items():
        if not 0 <= row < len(document.segments):
            raise Refusal(400, f"Invalid request: there is no segment {row}")
        try:
            found[row] = untagged(text, document.segments[row]) if text.strip() else ()
        except DataError as error:
            raise Refusal(400, f"Invalid request: segment {row}: {error}") from None
    return found


def uploaded_file(sent: RequestFields) -> tuple[str, bytes]:
    if not sent.files:
        raise Refusal(400, "Invalid request: missing file parameter")
    if len(sent.files) > 1:
        raise Refusal(400, "Invalid request: send one file at a time")
    return sent.files[0]


def wish_of(sent: RequestFields, source: str, target: str) -> Wish:
    known = "" if source == "auto" else source
    column, into = optional(sent.values, "column"), optional(sent.values, "into")
    return Wish(known, target, column, into, reviewed=reviewed(sent))


def reviewed(sent: RequestFields) -> frozenset[int]:
    """The field `reviewed`: the numbers of the segments whose translations a person has confirmed,
    with commas between them.
    """
    numbers = optional(sent.values, "reviewed").split(",")
    try:
        return frozenset(int(each) for each in numbers if each)
    except ValueError:
        raise Refusal(400, "Invalid request: reviewed are numbers of segments") from None
