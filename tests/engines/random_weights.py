"""Weights for models that are compared with those of transformers."""

from typing import Any

import torch


def randomise(model: Any, seed: int = 1) -> None:
    """Larger weights than a new model has, so that outputs differ."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                gain = parameter.dim() == 1 and "norm" in name.lower() and name.endswith("weight")
                parameter.normal_(mean=float(gain), std=0.25)
