"""The description of the endpoints for glossaries."""

from typing import Any

from regard.serve.api.openapi_parts import (
    COUNT,
    FLAG,
    NAME,
    TEXT,
    get,
    json_object,
    operation,
    post,
)

PAIR = {"source_lang": TEXT, "target_lang": TEXT}
GLOSSARY = json_object(
    {
        "glossary_id": TEXT,
        "name": TEXT,
        "ready": FLAG,
        **PAIR,
        "creation_time": TEXT,
        "entry_count": COUNT,
    }
)


def glossaries() -> dict[str, Any]:
    formats = {"type": "string", "enum": ["tsv", "csv"]}
    listed = json_object({"glossaries": {"type": "array", "items": GLOSSARY}})
    pairs = {"type": "array", "items": json_object(PAIR)}
    created = post(
        "Keep a glossary",
        json_object({"name": TEXT, **PAIR, "entries": TEXT, "entries_format": formats}),
        GLOSSARY,
    )
    responses = created["post"]["responses"]
    responses["201"] = responses.pop("200")
    deleted = {"delete": operation("Delete a glossary", {})}
    deleted["delete"]["responses"]["204"] = {"description": "It is deleted"}
    del deleted["delete"]["responses"]["200"]
    entries = get("Its terms and their translations, separated by tabs", TEXT)
    entries["get"]["responses"]["200"]["content"] = {"text/tab-separated-values": {"schema": TEXT}}
    named = {"parameters": [NAME]}
    return {
        "/v2/glossary-language-pairs": get(
            "Languages of glossaries", json_object({"supported_languages": pairs})
        ),
        "/v2/glossaries": {**get("The glossaries of the caller", listed), **created},
        "/v2/glossaries/{name}": {**named, **get("A glossary", GLOSSARY), **deleted},
        "/v2/glossaries/{name}/entries": {**named, **entries},
    }
