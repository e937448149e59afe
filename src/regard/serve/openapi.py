"""The OpenAPI description of the interface."""

from typing import Any

from regard.serve.limits import Limits


def description(limits: Limits) -> dict[str, Any]:
    return {"openapi": "3.1.0", "info": {"title": "regard", "version": "1"}, "paths": {}}
