"""The description of the endpoint for series."""

from typing import Any

from regard.serve.api.openapi_images import CHOICE, FILE
from regard.serve.api.openapi_parts import (
    COUNT,
    NUMBER,
    TEXT,
    Schema,
    json_object,
    one_or_list,
    post,
)
from regard.serve.api.series import MOST_LEVELS
from regard.serve.translation.service import Service

GAPPY: Schema = {"type": ["number", "null"]}
TIME: Schema = {"type": ["string", "number"]}


def series(service: Service) -> dict[str, Any]:
    limit = service.limits.values
    gappy = {"type": "array", "items": GAPPY, "minItems": 1, "maxItems": limit}
    percent = {**NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 100}
    levels = {"type": "array", "items": percent, "minItems": 1, "maxItems": MOST_LEVELS}
    rows = {"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": limit}
    shared = {"levels": {"oneOf": [TEXT, levels]}, "only": one_or_list(TEXT), **CHOICE}
    described = post(
        "Forecast what follows a series, with intervals, beside the seasonal naive forecast",
        json_object(
            {},
            {
                "series": gappy,
                "start": TIME,
                "step": TEXT,
                "times": {"type": "array", "items": TIME, "maxItems": limit},
                "known": {"type": "object", "additionalProperties": gappy},
                "table": {"oneOf": [TEXT, rows]},
                **shared,
            },
        ),
        json_object(
            {
                "model": TEXT,
                "forecasts": {"type": "array", "items": one_forecast(), "minItems": 1},
                "season": {**COUNT, "minimum": 1},
                "calibrated": {"type": "boolean"},
                "remarks": {"type": "array", "items": TEXT},
            }
        ),
    )
    described["post"]["requestBody"]["content"]["multipart/form-data"] = {
        "schema": json_object({}, {"file": FILE, "table": TEXT, **shared})
    }
    return {"/forecast": described}


def one_forecast() -> Schema:
    numbers = {"type": "array", "items": NUMBER}
    interval = json_object({"low": numbers, "high": numbers})
    return json_object(
        {
            "series": TEXT,
            "times": {"type": "array", "items": TEXT},
            "mean": numbers,
            "median": numbers,
            "naive": numbers,
            "intervals": {"type": "object", "additionalProperties": interval},
        }
    )
