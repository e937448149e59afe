"""The flow of a model, by the kind of the model."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from regard.configs.gpt import GPTConfig
from regard.configs.transformer import TransformerConfig
from regard.inspect.flow import recurrent, text
from regard.inspect.flow.parts import Flow

Names = Callable[[Sequence[int]], list[str]]
Sides = dict[str, list[str]]


def flow_of_pair(model: Any, batch: Any, labels: Sides, names: Names) -> Flow:
    """A model that translates, for a batch of one pair."""
    transformer = isinstance(model.config, TransformerConfig)
    build = text.pair_flow if transformer else recurrent.pair_flow
    return build(model, batch, labels, names)


def flow_of_writer(model: Any, tokens: Tensor, labels: Sides, names: Names) -> Flow:
    """A model that continues a text, for tokens [1, T]."""
    gpt = isinstance(model.config, GPTConfig)
    build = text.writer_flow if gpt else recurrent.writer_flow
    return build(model, tokens, labels, names)
