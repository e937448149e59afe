"""The interface described in OpenAPI 3.1, with the languages and limits of this very server."""

from importlib.metadata import version
from typing import Any

from regard.serve.translation.files import FORMATS
from regard.serve.translation.service import Service

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean", "default": False}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
EVENT: Schema = {"type": "object", "properties": {"data": TEXT}, "required": ["data"]}


def description(service: Service) -> dict[str, Any]:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "regard",
            "version": version("regard"),
            "description": (
                "Translation with models of your own. Parameters may come in the query, as a form "
                "or as JSON. Where the server has keys, a key goes into `api_key` or into the "
                "header `Authorization: Bearer KEY`."
            ),
        },
        "paths": {**libretranslate(service), **deepl(service), **openai(service), **for_machines()},
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def libretranslate(service: Service) -> dict[str, Any]:
    limits = service.limits
    codes: Schema = {"type": "string", "enum": service.pairs.languages}
    source: Schema = {"type": "string", "enum": ["auto", *service.pairs.sources]}
    one = {"type": "string", "minLength": 1, "maxLength": limits.characters}
    many = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": limits.texts}
    detected = fields({"confidence": NUMBER, "language": TEXT})
    return {
        "/translate": post(
            "Translate a text, or a list of them",
            needs(
                {"q": {"oneOf": [one, many]}, "source": source, "target": codes},
                {
                    "format": {"type": "string", "enum": ["text", "html"]},
                    "alternatives": {**COUNT, "maximum": limits.alternatives},
                    "api_key": TEXT,
                    "explain": FLAG,
                    "memory": FLAG,
                    "stream": FLAG,
                },
            ),
            needs(
                {"translatedText": one_or_list(TEXT)},
                {
                    "detectedLanguage": one_or_list(detected),
                    "alternatives": {"type": "array"},
                    "regard": one_or_list({"type": "object"}),
                },
            ),
            streams=True,
        ),
        "/detect": post(
            "Tell the language of a text",
            needs({"q": one}, {"api_key": TEXT}),
            {"type": "array", "items": detected},
        ),
        "/languages": get(
            "Languages, and where each can be translated to",
            {
                "type": "array",
                "items": fields(
                    {"code": codes, "name": TEXT, "targets": {"type": "array", "items": codes}}
                ),
            },
        ),
        "/translate_file": post(
            f"Translate a file ({', '.join(FORMATS)})",
            needs(
                {
                    "file": {"type": "string", "contentMediaType": "application/octet-stream"},
                    "source": source,
                    "target": codes,
                },
                {"api_key": TEXT},
            ),
            fields({"translatedFileUrl": {"type": "string", "format": "uri"}}),
            sent_as="multipart/form-data",
        ),
        "/suggest": post(
            "Suggest a better translation",
            needs({"q": one, "s": one, "source": codes, "target": codes}, {"api_key": TEXT}),
            fields({"success": {"type": "boolean"}}),
        ),
        "/frontend/settings": get("What a page needs to know", {"type": "object"}),
    }


def deepl(service: Service) -> dict[str, Any]:
    limits = service.limits
    texts = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": limits.texts}
    entry = needs({"detected_source_language": TEXT, "text": TEXT}, {"billed_characters": COUNT})
    listed = needs({"language": TEXT, "name": TEXT}, {"supports_formality": {"type": "boolean"}})
    languages = get("Languages as DeepL lists them", {"type": "array", "items": listed})
    languages["get"]["parameters"] = [
        {
            "name": "type",
            "in": "query",
            "schema": {"type": "string", "enum": ["source", "target"]},
        }
    ]
    return {
        "/v2/translate": post(
            "Translate as DeepL does",
            needs(
                {"text": texts, "target_lang": shouted(service.pairs.languages)},
                {
                    "source_lang": shouted(service.pairs.sources),
                    "tag_handling": {"type": "string", "enum": ["html", "xml"]},
                    "ignore_tags": {"type": "array", "items": TEXT},
                    "show_billed_characters": FLAG,
                },
            ),
            fields({"translations": {"type": "array", "items": entry}}),
        ),
        "/v2/languages": languages,
        "/v2/usage": get(
            "Characters since the server started",
            fields({"character_count": COUNT, "character_limit": COUNT}),
        ),
    }


def openai(service: Service) -> dict[str, Any]:
    limits = service.limits
    texts = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": limits.texts}
    some = {"oneOf": [{"type": "string"}, texts]}
    tokens = fields({"prompt_tokens": COUNT, "total_tokens": COUNT})
    listed = {"object": {"const": "list"}, "data": {"type": "array", "items": {"type": "object"}}}
    return {
        "/v1/models": get("Language models and encoders", fields(listed)),
        "/v1/completions": post(
            "Continue a text, as OpenAI does",
            needs(
                {"model": TEXT, "prompt": some},
                {
                    "max_tokens": {**COUNT, "minimum": 0, "maximum": limits.completion_tokens},
                    "temperature": {**NUMBER, "minimum": 0, "maximum": 2},
                    "top_p": {**NUMBER, "exclusiveMinimum": 0, "maximum": 1},
                    "n": {**COUNT, "minimum": 1, "maximum": limits.completions},
                    "stop": one_or_list(TEXT),
                    "seed": COUNT,
                    "stream": FLAG,
                    "echo": FLAG,
                    "logprobs": {"type": ["integer", "null"], "minimum": 0},
                },
            ),
            fields({"choices": {"type": "array"}, "model": TEXT, "usage": tokens}),
            streams=True,
        ),
        "/v1/embeddings": post(
            "Vectors of texts, as OpenAI gives them",
            needs(
                {"model": TEXT, "input": some},
                {"encoding_format": {"type": "string", "enum": ["float", "base64"]}},
            ),
            fields({**listed, "model": TEXT, "usage": tokens}),
        ),
    }


def for_machines() -> dict[str, Any]:
    metrics = get("Prometheus metrics", TEXT)
    content = metrics["get"]["responses"]["200"]
    content["content"] = {"text/plain": {"schema": TEXT}}
    return {
        "/health": get("Whether the server answers", fields({"status": {"const": "ok"}})),
        "/metrics": metrics,
        "/spec": get("This description", {"type": "object"}),
    }


def fields(properties: Schema) -> Schema:
    """An object that has all of them."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def needs(required: Schema, optional: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
    }


def one_or_list(schema: Schema) -> Schema:
    return {"oneOf": [schema, {"type": "array", "items": schema}]}


def shouted(codes: list[str]) -> Schema:
    return {"type": "string", "enum": [code.upper() for code in codes]}


def get(summary: str, answer: Schema) -> dict[str, Any]:
    return {"get": operation(summary, answer)}


def post(
    summary: str,
    body: Schema,
    answer: Schema,
    sent_as: str = "application/json",
    streams: bool = False,
) -> dict[str, Any]:
    asked = operation(summary, answer)
    if streams:
        asked["responses"]["200"]["content"]["text/event-stream"] = {"schema": EVENT}
    asked["requestBody"] = {"required": True, "content": {sent_as: {"schema": body}}}
    return {"post": asked}


def operation(summary: str, answer: Schema) -> dict[str, Any]:
    refusals = {
        "400": "Cannot be answered as asked, or the key is missing",
        "401": "The key is missing or wrong",
        "403": "The key is wrong, or this is switched off",
        "404": "There is no such model here",
        "413": "Too large",
        "415": "Neither JSON nor a form",
        "429": "Too many texts in a minute; Retry-After says when to come again",
        "503": "Too many requests at once; Retry-After says when to come again",
    }
    wrong = {"schema": {"type": "object"}}
    return {
        "summary": summary,
        "security": [{}, {"key": []}],
        "responses": {
            "200": {
                "description": "The answer",
                "content": {"application/json": {"schema": answer}},
            },
            **{
                status: {"description": text, "content": {"application/json": wrong}}
                for status, text in refusals.items()
            },
        },
    }
