"""Small models of every kind, with random weights."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from regard.models.transformer import Transformer, TransformerConfig
from tests.models.problems import VOCABULARY


def transformer(dtype: torch.dtype = torch.float64, **choices: Any) -> Transformer:
    sizes = {
        "encoder_layers": 2,
        "decoder_layers": 3,
        "d_model": 16,
        "d_ff": 24,
        "num_heads": 4,
        "max_positions": 128,
    }
    torch.manual_seed(17)
    model = Transformer(TransformerConfig(**{**sizes, **choices}), VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                # Gains near 1 and biases near 0, all different.
                parameter.normal_(mean=float("normalise" in name or "norm." in name), std=0.2)
    return model.to(dtype).eval()


@pytest.fixture
def build() -> Callable[..., Transformer]:
    return transformer
