"""Uploaded documents, which LibreTranslate's and DeepL's clients send alike."""

import asyncio
import base64
from typing import Any

from regard.serve.api.parameters import check_characters, optional
from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import RequestFields
from regard.serve.translation.files import read_file, translated_name
from regard.serve.translation.service import Service, unfinished
from regard.text.documents.document import Wish
from regard.text.glossary import NO_TERMS, Glossary


async def translated_file(
    service: Service,
    sent: RequestFields,
    source: str,
    target: str,
    glossary: Glossary = NO_TERMS,
) -> dict[str, Any]:
    """The translated file with its name, and how many characters were translated; the server keeps
    it for a download.
    """
    name, data = uploaded_file(sent)
    async with service.reading:  # a document takes many times its size while it is read
        document = await asyncio.to_thread(read_file, name, data, wish_of(sent, source, target))
        characters = sum(map(len, unfinished(document).values()))
        check_characters(service, characters)
        translated = await service.translate_document(document, source, target, glossary)
    return {
        "name": translated_name(name, target),
        "data": base64.b64encode(translated).decode(),
        "characters": characters,
    }


def uploaded_file(sent: RequestFields) -> tuple[str, bytes]:
    if not sent.files:
        raise Refusal(400, "Invalid request: missing file parameter")
    if len(sent.files) > 1:
        raise Refusal(400, "Invalid request: send one file at a time")
    return sent.files[0]


def wish_of(sent: RequestFields, source: str, target: str) -> Wish:
    known = "" if source == "auto" else source
    return Wish(known, target, optional(sent.values, "column"), optional(sent.values, "into"))
