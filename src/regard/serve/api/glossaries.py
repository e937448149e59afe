"""DeepL's endpoints for glossaries."""

import asyncio
from typing import Any

from starlette.responses import Response

from regard.data.glossary_files import entries, rows_of
from regard.errors import DataError
from regard.serve.api.parameters import Fields, language_code, required
from regard.serve.http.limits import CALLER
from regard.serve.http.refusal import Refusal
from regard.serve.http.responses import json_response
from regard.serve.translation.glossaries import LONGEST_NAME, Glossaries, Head
from regard.serve.translation.service import Service
from regard.text.glossary import NO_TERMS, Glossary, glossary_of

DELIMITERS = {"tsv": "\t", "csv": ","}


async def language_pairs(service: Service, fields: Fields) -> dict[str, Any]:
    """GET /v2/glossary-language-pairs"""
    pairs = service.pairs.pairs if service.glossaries else ()
    found = [{"source_lang": pair.source, "target_lang": pair.target} for pair in pairs]
    return {"supported_languages": found}


async def listed(service: Service, fields: Fields) -> dict[str, Any]:
    """GET /v2/glossaries"""
    if service.glossaries is None:
        return {"glossaries": []}
    found = await asyncio.to_thread(service.glossaries.all, owner())
    return {"glossaries": [shown(*each) for each in found]}


async def create(service: Service, fields: Fields) -> Response:
    """POST /v2/glossaries"""
    kept = kept_glossaries(service)
    name = required(fields, "name")
    if len(name) > LONGEST_NAME:
        raise Refusal(400, f"Bad request. Reason: the name has more than {LONGEST_NAME} characters")
    source, target = (
        language_code(service, required(fields, key)) for key in ("source_lang", "target_lang")
    )
    if not any((pair.source, pair.target) == (source, target) for pair in service.pairs.pairs):
        raise Refusal(400, "Unsupported glossary source and target language pair")
    delimiter = DELIMITERS.get(required(fields, "entries_format"))
    if delimiter is None:
        raise Refusal(400, "Bad request. Reason: entries_format must be tsv or csv")
    text = required(fields, "entries")
    glossary = await asyncio.to_thread(read_entries, text, delimiter)
    added = await asyncio.to_thread(kept.add, owner(), name, source, target, glossary)
    return json_response(shown(*added), 201)


def read_entries(text: str, delimiter: str) -> Glossary:
    """The entries of a request, which have no header."""
    try:
        found = [(cells, place) for cells, place in rows_of(text, delimiter, "entries")]
        for cells, place in found:
            if len(cells) < 2 or not all(cell.strip() for cell in cells[:2]):
                raise DataError(f"{place}: a term without a translation")
        glossary = glossary_of(entries([([], ""), *found], "entries", "", ""))
    except DataError as error:
        raise Refusal(
            400, f"Bad request. Reason: Invalid glossary entries provided: {error}"
        ) from None
    if not glossary:
        raise Refusal(400, "Bad request. Reason: the glossary has no entries")
    return glossary


async def details(service: Service, fields: Fields) -> dict[str, Any]:
    """GET /v2/glossaries/{name}"""
    identity = required(fields, "name")
    return shown(identity, kept_glossaries(service).find(owner(), identity))


async def delete(service: Service, fields: Fields) -> Response:
    """DELETE /v2/glossaries/{name}"""
    kept_glossaries(service).remove(owner(), required(fields, "name"))
    return Response(status_code=204)


async def entries_of(service: Service, fields: Fields) -> Response:
    """GET /v2/glossaries/{name}/entries"""
    found = kept_glossaries(service).glossary(owner(), required(fields, "name"))
    rows = "".join(f"{term}\t{translation}\n" for term, translation in found.entries.items())
    return Response(rows, media_type="text/tab-separated-values")


def glossary_for(service: Service, fields: Fields, source: str, target: str) -> Glossary:
    """The glossary of a request for a translation."""
    if not fields.get("glossary_id"):
        return NO_TERMS
    identity = required(fields, "glossary_id")
    head = kept_glossaries(service).find(owner(), identity)
    if source == "auto":
        raise Refusal(400, "Bad request. Reason: glossary_id requires source_lang")
    if (head.source, head.target) != (source, target):
        raise Refusal(
            400, f"Bad request. Reason: the glossary is for {head.source} to {head.target}"
        )
    return kept_glossaries(service).glossary(owner(), identity)


def kept_glossaries(service: Service) -> Glossaries:
    if service.glossaries is None:
        raise Refusal(403, "Glossaries are disabled on this server.")
    return service.glossaries


def owner() -> str:
    """Who may see a glossary: the caller with this key, or everyone where nobody has one."""
    caller = CALLER.get()
    return caller if caller.startswith("key ") else ""


def shown(identity: str, head: Head) -> dict[str, Any]:
    return {
        "glossary_id": identity,
        "name": head.name,
        "ready": True,
        "source_lang": head.source,
        "target_lang": head.target,
        "creation_time": head.created,
        "entry_count": head.count,
    }
