"""Requests are answered as the OpenAPI description says."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from regard.serve.answers import Answers
from regard.serve.app import Endpoints
from regard.serve.http.access import Access
from regard.serve.http.keys import Keys
from regard.serve.http.limits import Limits, RateLimiter
from regard.serve.http.metrics import Metrics
from regard.serve.translation.files import Downloads
from tests.data import odd_images
from tests.serve.conftest import Live, Start

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# For people, or fetched by a name that only the server knows.
UNDESCRIBED = {"/", "/try", "/docs", "/download_file/{name}"}


@pytest.fixture(scope="module")
def described(
    start: Start,
    image_runs: dict[str, Path],
    series_runs: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Live:
    limits = Limits(texts_per_minute=10**9, characters=500)
    folder = Path(tmp_path_factory.mktemp("suggestions"))
    runs = (*image_runs.values(), series_runs["rows"])
    return start(limits, more_runs=runs, suggestions=folder)


def test_every_path_is_described(described: Live) -> None:
    access = Access(Limits(), Keys(), RateLimiter(10), Metrics())
    endpoints = Endpoints(Answers(described.service), access, Downloads(1)).table()
    paths = {each.path for each in endpoints if not each.path.startswith("/page/")}
    # No language model is loaded, so that nothing continues a text; glossaries are off.
    off = {path for path in paths if path.startswith("/v2/glossar")}
    answered = paths - UNDESCRIBED - {"/v1/completions"} - off
    assert answered == set(described.client.get("/spec").json()["paths"])


def fields_of(schema: Any) -> Iterator[tuple[str, Any]]:
    """Every field in a description, however deep."""
    if isinstance(schema, list):
        for each in schema:
            yield from fields_of(each)
    elif isinstance(schema, dict):
        if isinstance(fields := schema.get("properties"), dict):
            yield from fields.items()
        if "in" in schema and "schema" in schema:
            yield schema["name"], schema
        for each in schema.values():
            yield from fields_of(each)


def test_every_field_says_what_it_means(described: Live) -> None:
    paths = described.client.get("/spec").json()["paths"]
    silent = {name for name, each in fields_of(paths) if not each.get("description")}
    assert silent == set()


def test_every_request_has_an_example_that_is_answered(described: Live) -> None:
    tried = 0
    for path, operations in described.client.get("/spec").json()["paths"].items():
        body = operations.get("post", {}).get("requestBody", {}).get("content", {})
        if "example" not in body.get("application/json", {}):
            # A form with a file, or a request whose languages are in its address.
            assert "application/json" not in body or "PreOrderBatch" in path
            continue
        response = described.client.post(path, json=body["application/json"]["example"])
        assert (path, response.status_code // 100) == (path, 2), response.text
        tried += 1
    assert tried >= 9


def test_only_what_the_loaded_runs_answer_is_described(live: Live) -> None:
    """A server of translators alone says nothing of images, series or completions."""
    paths = set(live.client.get("/spec").json()["paths"])
    assert {"/translate", "/v2/translate", "/v1/chat/completions"} <= paths
    assert paths.isdisjoint({"/classify", "/caption", "/match", "/forecast", "/v1/embeddings"})


def test_answers_to_images_and_series_are_as_described(described: Live) -> None:
    schema = schemathesis.openapi.from_dict(described.client.get("/spec").json())
    image = base64.b64encode(odd_images.saved(odd_images.scene(), "PNG")).decode()
    sent: dict[str, dict[str, Any]] = {
        "/classify": {"image": image},
        "/caption": {"image": image, "n_best": 3, "beam_size": 5},
        "/match": {"image": [image, image], "texts": ["a", "b"], "templates": "a {}"},
        "/forecast": {"series": [1.5, None, 2.0, 3], "levels": [80], "start": 7},
        "/v1/embeddings": {"model": "gallery", "input": ["a", f"data:image/png;base64,{image}"]},
    }
    for path, body in sent.items():
        case = schema[path]["POST"].Case(body=body, media_type="application/json")
        response = case.call(base_url=described.url, timeout=60)
        assert response.status_code == 200
        case.validate_response(response, checks=CHECKS)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_requests_are_answered_as_described(described: Live, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(described.client.get("/spec").json())
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and operation.method in ("get", "delete"):
            continue  # without parameters there is nothing to send wrongly

        @hypothesis.settings(max_examples=5, database=None, suppress_health_check=list(HealthCheck))
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def check(case: schemathesis.Case) -> None:
            nonlocal tried
            response = case.call(base_url=described.url, timeout=60)
            case.validate_response(response, checks=CHECKS)
            tried += 1

        check()
    assert tried > 30
