"""Small translators with random weights, and sources, masks and targets for them."""

from typing import Any

import torch
from torch import Tensor
from torch.testing import assert_close

from regard.models.recurrent import Recurrent, RecurrentConfig
from regard.models.transformer import Transformer, TransformerConfig

VOCABULARY = 23
START = 2
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}


def assert_same(ours: Tensor, expected: Tensor, name: str | None = None) -> None:
    assert_close(ours, expected, rtol=0, atol=TOLERANCE[expected.dtype], msg=name)


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


def recurrent(dtype: torch.dtype = torch.float64, **choices: Any) -> Recurrent:
    sizes = {"encoder_layers": 2, "decoder_layers": 3, "d_model": 16, **choices}
    torch.manual_seed(17)
    model = Recurrent(RecurrentConfig(**sizes), VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.normal_(std=0.2)
    return model.to(dtype).eval()


def ids(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(4, VOCABULARY, shape, generator=torch.Generator().manual_seed(seed))


def problem(lengths: tuple[int, ...] = (9, 3, 6), target: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    """Sources of these lengths with their mask, and as many targets."""
    source = ids(len(lengths), max(lengths))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    inputs = ids(len(lengths), target, seed=1)
    inputs[:, 0] = START
    return source.masked_fill(~mask, 0), mask, inputs
