"""The description of the endpoints for images."""

from typing import Any

from regard.serve.api.openapi_parts import (
    COUNT,
    NUMBER,
    TEXT,
    Schema,
    json_object,
    one_or_list,
    post,
)
from regard.serve.translation.service import Service

SHARES: Schema = {"type": "object", "additionalProperties": NUMBER}
FILE: Schema = {"type": "string", "contentMediaType": "application/octet-stream"}
CHOICE: Schema = {"model": TEXT, "api_key": TEXT}


def images(service: Service) -> dict[str, Any]:
    limits = service.limits
    scored = {"caption": TEXT, "score": NUMBER}
    search = {
        "n_best": {**COUNT, "minimum": 1, "maximum": limits.alternatives + 1},
        "beam_size": {**COUNT, "minimum": 1, "maximum": limits.beam_size},
    }
    texts = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": limits.texts}
    several = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": limits.images}
    fit = json_object({"text": TEXT, "probabilities": SHARES, "similarities": SHARES})
    return {
        "/classify": asked_with_images(
            "Label an image, given as a data URL, as base64, or as the file of a form",
            {"image": TEXT},
            json_object({"model": TEXT, "label": TEXT, "probabilities": SHARES}),
            optional=CHOICE,
        ),
        "/caption": asked_with_images(
            "Describe an image, given as a data URL, as base64, or as the file of a form",
            {"image": TEXT},
            json_object(
                {
                    "model": TEXT,
                    **scored,
                    "alternatives": {"type": "array", "items": json_object(scored)},
                }
            ),
            optional={**search, **CHOICE},
        ),
        "/match": asked_with_images(
            "Tell how well texts fit images, given as data URLs, as base64, or as files of a form",
            {"image": {"oneOf": [TEXT, several]}, "texts": {"oneOf": [TEXT, texts]}},
            json_object({"model": TEXT, "matches": {"type": "array", "items": fit}}),
            optional={"templates": one_or_list(TEXT), **CHOICE},
            files={"oneOf": [FILE, {**several, "items": FILE}]},
        ),
    }


def asked_with_images(
    summary: str, required: Schema, answer: Schema, optional: Schema, files: Schema = FILE
) -> dict[str, Any]:
    """A description of the request as JSON, and as a form with files."""
    described = post(summary, json_object(required, optional), answer)
    form = json_object({"file": files, **required}, optional)
    form["properties"].pop("image")
    form["required"].remove("image")
    described["post"]["requestBody"]["content"]["multipart/form-data"] = {"schema": form}
    return described
