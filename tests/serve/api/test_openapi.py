"""Requests are answered as the OpenAPI description says."""

from pathlib import Path

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

from regard.serve.app import Endpoints
from regard.serve.http.access import Access
from regard.serve.http.keys import Keys
from regard.serve.http.limits import Limits, RateLimiter
from regard.serve.http.metrics import Metrics
from tests.serve.conftest import Live, Start

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# For people, or fetched by a name that only the server knows.
UNDESCRIBED = {"/", "/docs", "/download_file/{name}"}


@pytest.fixture(scope="module")
def described(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Live:
    limits = Limits(texts_per_minute=10**9, characters=500)
    return start(limits, suggestions=Path(tmp_path_factory.mktemp("suggestions")))


def test_every_path_is_described(described: Live) -> None:
    access = Access(Limits(), Keys(), RateLimiter(10), Metrics())
    endpoints = Endpoints(described.service, access).table()
    paths = {each.path for each in endpoints if not each.path.startswith("/page/")}
    assert paths - UNDESCRIBED == set(described.client.get("/spec").json()["paths"])


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_requests_are_answered_as_described(described: Live, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(described.client.get("/spec").json())
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and operation.method == "get":
            continue  # without parameters there is nothing to send wrongly

        @hypothesis.settings(max_examples=5, database=None, suppress_health_check=list(HealthCheck))
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def check(case: schemathesis.Case) -> None:
            nonlocal tried
            response = case.call(base_url=described.url)
            case.validate_response(response, checks=CHECKS)
            tried += 1

        check()
    assert tried > 30
