"""The parts that a description of an endpoint is made of."""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean", "default": False}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NONE: Schema = {"type": "array", "maxItems": 0}
NAME: Schema = {"name": "name", "in": "path", "required": True, "schema": TEXT}
DETECTED: Schema = {
    "type": "object",
    "properties": {"confidence": NUMBER, "language": TEXT},
    "required": ["confidence", "language"],
}
EVENT: Schema = {"type": "object", "properties": {"data": TEXT}, "required": ["data"]}


def json_object(required: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }


def one_or_list(schema: Schema) -> Schema:
    return {"oneOf": [schema, {"type": "array", "items": schema}]}


def upper_case(codes: list[str]) -> Schema:
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
    described = operation(summary, answer)
    if streams:
        described["responses"]["200"]["content"]["text/event-stream"] = {"schema": EVENT}
    described["requestBody"] = {"required": True, "content": {sent_as: {"schema": body}}}
    return {"post": described}


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
