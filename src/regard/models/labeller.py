"""Labels for texts and words: a reader, and a projection of the features of each unit.

A unit is what has a label: the whole text for a classifier, one word for a tagger. Classifier and
tagger are the same model, with one unit or with many.

Shapes: B texts, T tokens, U units of the longest text, L labels, d d_model.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from regard.configs.bert import BertConfig
from regard.configs.head import HeadConfig
from regard.configs.letters import LettersConfig
from regard.configs.recurrent import ReaderConfig
from regard.layers.dropout import Dropout
from regard.models.bert import Bert
from regard.models.letters import Letters
from regard.models.reader import Reader


class Labeller(nn.Module):
    def __init__(
        self,
        config: BertConfig | ReaderConfig,
        head: HeadConfig,
        vocabulary: int,
        labels: int,
        letters: LettersConfig | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.pooling = head.pooling
        if isinstance(config, BertConfig):
            # A reader needs no heads that predict tokens or sentences.
            config = config.model_copy(
                update={"masked_head": False, "pooler": False, "next_sentence": False}
            )
            self.reader: Bert | Reader = Bert(config, vocabulary)
        else:
            self.reader = Reader(config, vocabulary)
        self.letters: Letters | None = None
        if letters is not None and letters.filters:
            self.letters = Letters(letters, vocabulary, config.d_model)
        self.dropout = Dropout(head.dropout)
        self.output = nn.Linear(config.d_model, labels)
        nn.init.normal_(self.output.weight, std=0.02)
        nn.init.zeros_(self.output.bias)

    @property
    def longest(self) -> int:
        """The most tokens a text may have."""
        return self.reader.longest

    def features(self, tokens: Tensor, mask: Tensor, units: Tensor) -> Tensor:
        """[B, T] → [B, U, d], which `output` turns into logits. `units` [B, T] says which unit of
        its text a token belongs to, -1 for none. A unit without tokens gets zeros.
        """
        states = self.states(tokens, mask, units)
        return self.dropout(pooled(states, units, self.pooling))  # type: ignore[no-any-return]

    def states(self, tokens: Tensor, mask: Tensor, units: Tensor) -> Tensor:
        """A vector for each token, [B, T] → [B, T, d]."""
        if self.letters is None or not isinstance(self.reader, Reader):
            return self.reader.features(tokens, mask)
        return self.reader.features(tokens, mask, self.letters(tokens, units))

    def forward(self, tokens: Tensor, mask: Tensor, units: Tensor) -> Tensor:
        """Logits [B, U, L]"""
        return self.output(self.features(tokens, mask, units))  # type: ignore[no-any-return]


def pooled(states: Tensor, units: Tensor, pooling: Literal["mean", "first"]) -> Tensor:
    """[B, T, d] → [B, U, d]"""
    count = int(units.max()) + 1
    belongs = units[:, None] == torch.arange(count, device=units.device)[:, None]  # [B, U, T]
    if pooling == "first":
        # The first token of a unit is the one at which the running count is 1.
        belongs = belongs & (belongs.cumsum(-1) == 1)
    weights = belongs.to(states.dtype)
    return weights @ states / weights.sum(-1, keepdim=True).clamp(min=1)
