"""Small models of every kind, with random weights."""

from collections.abc import Callable

import pytest

from regard.models.transformer import Transformer
from tests.models.problems import transformer


@pytest.fixture
def build() -> Callable[..., Transformer]:
    return transformer
