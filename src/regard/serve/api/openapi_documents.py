"""The description of the endpoints that take documents."""

from typing import Any

from regard.serve.api.openapi_parts import COUNT, FLAG, NAME, TEXT, Schema, get, json_object, post
from regard.text.documents.formats import FORMATS

FILE: Schema = {"type": "string", "contentMediaType": "application/octet-stream"}
FORM = "multipart/form-data"
# Of a table, which column is translated, and into which.
COLUMNS: Schema = {"column": TEXT, "into": TEXT}

VERDICTS: Schema = {"likely fine": COUNT, "check": COUNT}

# Pieces are texts, and tags such as ["open", 1].
SEGMENT = json_object(
    {
        "number": COUNT,
        "line": COUNT,
        "pieces": {"type": "array", "items": {"type": ["string", "array"]}},
        "syntaxes": {"type": "array", "items": TEXT},
    }
)


def documents(sources: Schema, targets: Schema) -> dict[str, Any]:
    named = {"parameters": [NAME]}
    status = json_object({"document_id": TEXT, "status": TEXT, "billed_characters": COUNT})
    return {
        "/translate_file": post(
            f"Translate a file ({', '.join(FORMATS)})",
            json_object(
                {"file": FILE, "source": sources, "target": targets},
                {
                    "api_key": TEXT,
                    "translations": TEXT,
                    "reviewed": TEXT,
                    "confidence": FLAG,
                    **COLUMNS,
                },
            ),
            json_object(
                {"translatedFileUrl": {"type": "string", "format": "uri"}},
                {"regard": json_object({"confidence": json_object(VERDICTS)})},
            ),
            sent_as=FORM,
        ),
        "/segments": post(
            "The texts of a file that are to be translated",
            json_object(
                {"file": FILE, "source": sources, "target": targets}, {"api_key": TEXT, **COLUMNS}
            ),
            json_object(
                {"source": TEXT, "finished": COUNT, "segments": {"type": "array", "items": SEGMENT}}
            ),
            sent_as=FORM,
        ),
        "/v2/document": post(
            "Translate a file as DeepL does",
            json_object(
                {"file": FILE, "target_lang": TEXT},
                {"source_lang": TEXT, "glossary_id": TEXT, **COLUMNS},
            ),
            json_object({"document_id": TEXT, "document_key": TEXT}),
            sent_as=FORM,
        ),
        "/v2/document/{name}": {**named, **get("Whether a file is translated", status)},
        "/v2/document/{name}/result": {**named, **get("The translated file", TEXT)},
    }
