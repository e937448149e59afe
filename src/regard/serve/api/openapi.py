"""The description of the interface in OpenAPI 3.1, with the languages and limits of a server."""

from importlib.metadata import version
from typing import Any

from regard.serve.api.openapi_desks import apertium_translate, desks
from regard.serve.api.openapi_documents import documents
from regard.serve.api.openapi_glossaries import glossaries
from regard.serve.api.openapi_images import images
from regard.serve.api.openapi_meanings import answered, with_examples, with_meanings
from regard.serve.api.openapi_parts import (
    COUNT,
    DETECTED,
    FLAG,
    NAME,
    NUMBER,
    TEXT,
    Schema,
    get,
    json_object,
    one_or_list,
    post,
    upper_case,
)
from regard.serve.api.openapi_series import series
from regard.serve.translation.service import Service


def description(service: Service) -> dict[str, Any]:
    """All that the loaded runs answer, with meanings of fields and examples of requests."""
    paths = {
        **libretranslate(service),
        **documents(source_codes(service), language_codes(service)),
        **desks(service),
        **deepl(service),
        **openai(service),
        **images(service),
        **series(service),
        **for_machines(),
    }
    served = {path: each for path, each in paths.items() if answered(path, service)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "regard",
            "version": version("regard"),
            "description": (
                "Translation with models of your own, and the answers of other models. Parameters "
                "may come in the query, as a form or as JSON. Where the server has keys, a key "
                "goes into `api_key` or into the header `Authorization: Bearer KEY`."
            ),
        },
        "paths": with_examples(with_meanings(served), service),
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def libretranslate(service: Service) -> dict[str, Any]:
    limits = service.limits
    codes = language_codes(service)
    one = {"type": "string", "minLength": 1, "maxLength": limits.characters}
    return {
        "/translate": {**translate(service, one), **apertium_translate(service)},
        "/detect": post(
            "Tell the language of a text",
            json_object({"q": one}, {"api_key": TEXT}),
            {"type": "array", "items": DETECTED},
        ),
        "/languages": get(
            "Languages, and where each can be translated to",
            {
                "type": "array",
                "items": json_object(
                    {"code": codes, "name": TEXT, "targets": {"type": "array", "items": codes}}
                ),
            },
        ),
        "/suggest": post(
            "Suggest a better translation",
            json_object({"q": one, "s": one, "source": codes, "target": codes}, {"api_key": TEXT}),
            json_object({"success": {"type": "boolean"}}),
        ),
        "/frontend/settings": get("What a page needs to know", {"type": "object"}),
    }


def translate(service: Service, one: Schema) -> dict[str, Any]:
    limits = service.limits
    many = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": limits.texts}
    return post(
        "Translate a text, or a list of them",
        json_object(
            {
                "q": {"oneOf": [one, many]},
                "source": source_codes(service),
                "target": language_codes(service),
            },
            {
                "format": {"type": "string", "enum": ["text", "html", "segment"]},
                "alternatives": {**COUNT, "maximum": limits.alternatives},
                "api_key": TEXT,
                "explain": FLAG,
                "confidence": FLAG,
                "memory": FLAG,
                "stream": FLAG,
            },
        ),
        json_object(
            {"translatedText": one_or_list(TEXT)},
            {
                "detectedLanguage": one_or_list(DETECTED),
                "alternatives": {"type": "array"},
                "regard": one_or_list({"type": "object"}),
            },
        ),
        streams=True,
    )


def language_codes(service: Service) -> Schema:
    return {"type": "string", "enum": service.pairs.languages}


def source_codes(service: Service) -> Schema:
    return {"type": "string", "enum": ["auto", *service.pairs.sources]}


def deepl(service: Service) -> dict[str, Any]:
    limits = service.limits
    texts = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": limits.texts}
    entry = json_object(
        {"detected_source_language": TEXT, "text": TEXT}, {"billed_characters": COUNT}
    )
    listed = json_object(
        {"language": TEXT, "name": TEXT}, {"supports_formality": {"type": "boolean"}}
    )
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
            json_object(
                {"text": texts, "target_lang": upper_case(service.pairs.languages)},
                {
                    "source_lang": upper_case(service.pairs.sources),
                    "tag_handling": {"type": "string", "enum": ["html", "xml"]},
                    **{
                        f"{what}_tags": {"type": "array", "items": TEXT}
                        for what in ("ignore", "splitting", "non_splitting")
                    },
                    "outline_detection": FLAG,
                    "glossary_id": TEXT,
                    "show_billed_characters": FLAG,
                },
            ),
            json_object({"translations": {"type": "array", "items": entry}}),
        ),
        "/v2/languages": languages,
        "/v2/usage": get(
            "Characters since the server started",
            json_object({"character_count": COUNT, "character_limit": COUNT}),
        ),
        **glossaries(),
    }


def openai(service: Service) -> dict[str, Any]:
    limits = service.limits
    texts = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": limits.texts}
    some = {"oneOf": [{"type": "string"}, texts]}
    tokens = json_object({"prompt_tokens": COUNT, "total_tokens": COUNT})
    listed = {"object": {"const": "list"}, "data": {"type": "array", "items": {"type": "object"}}}
    return {
        "/v1/models": get("All models, and the pairs of languages", json_object(listed)),
        "/v1/models/{name}": {"parameters": [NAME], **get("A model", json_object({"id": TEXT}))},
        "/v1/chat/completions": chat(),
        "/v1/completions": post(
            "Continue a text, as OpenAI does",
            json_object(
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
            json_object({"choices": {"type": "array"}, "model": TEXT, "usage": tokens}),
            streams=True,
        ),
        "/v1/embeddings": post(
            "Vectors of texts, as OpenAI gives them; with a matcher, also of images as data URLs",
            json_object(
                {"model": TEXT, "input": some},
                {"encoding_format": {"type": "string", "enum": ["float", "base64"]}},
            ),
            json_object({**listed, "model": TEXT, "usage": tokens}),
        ),
    }


def chat() -> dict[str, Any]:
    content = one_or_list({"type": "object"})
    content["oneOf"][0] = TEXT
    message = json_object({"role": TEXT, "content": content})
    return post(
        "Translate the last message of the user, as OpenAI's chat; `model` names a pair: fr-en",
        json_object(
            {"model": TEXT, "messages": {"type": "array", "items": message, "minItems": 1}},
            {"stream": FLAG, "stream_options": {"type": ["object", "null"]}},
        ),
        json_object({"choices": {"type": "array"}, "model": TEXT, "usage": {"type": "object"}}),
        streams=True,
    )


def for_machines() -> dict[str, Any]:
    metrics = get("Prometheus metrics", TEXT)
    content = metrics["get"]["responses"]["200"]
    content["content"] = {"text/plain": {"schema": TEXT}}
    return {
        "/health": get("Whether the server answers", json_object({"status": {"const": "ok"}})),
        "/ready": get("Whether the models answer", json_object({"status": {"const": "ready"}})),
        "/metrics": metrics,
        "/spec": get("This description", {"type": "object"}),
    }
