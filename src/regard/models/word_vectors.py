"""Word vectors: skip-gram and continuous bag of words (Mikolov et al. 2013).

A word has two vectors: one where it predicts, which is kept as the word's vector, and one where it
is predicted. How well two words fit is the dot product of these.

Shapes: G groups of R blocks of T words, K negatives for each group, d d_model.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.configs.word_vectors import TwoTables


class Scores(NamedTuple):
    """How well pairs fit: words that do stand near each other, and words drawn at random. A weight
    says how often each pair counts.
    """

    near: Tensor
    near_weights: Tensor
    far: Tensor  # [G, R × T, K]
    far_weights: Tensor  # [G, R × T, 1]


class WordVectorsModel(nn.Module):
    def __init__(self, config: TwoTables, words: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(words, config.d_model)
        self.context = nn.Embedding(words, config.d_model)
        nn.init.uniform_(self.embedding.weight, -0.5 / config.d_model, 0.5 / config.d_model)
        nn.init.zeros_(self.context.weight)

    def forward(self, words: Tensor, near: Tensor, negatives: Tensor) -> Scores:
        """Words [G, R, T], which of them are neighbours [G, R, T, T], negatives [G, K]."""
        groups, _, length = words.shape
        weights = near.flatten(0, 1).to(self.embedding.weight.dtype)  # [G × R, T, T]
        vectors = self.embedding(words.view(-1, length))  # [G × R, T, d]
        # One look-up, since the gradient of each would be a whole table.
        found = self.context(torch.cat((words.flatten(), negatives.flatten())))
        contexts = found[: words.numel()].view_as(vectors)
        drawn = found[words.numel() :].view(groups, -1, found.size(-1))
        pairs = weights.sum(-1, keepdim=True)  # [G × R, T, 1]
        if self.config.kind == "cbow":
            vectors = torch.bmm(weights / pairs.clamp(min=1), vectors)
            pairs = pairs.clamp(max=1)
            scores, weights = (vectors * contexts).sum(-1, keepdim=True), pairs
        else:
            scores = torch.bmm(vectors, contexts.transpose(1, 2))
        far = torch.bmm(vectors.view(groups, -1, found.size(-1)), drawn.transpose(1, 2))
        return Scores(scores, weights, far, pairs.view(groups, -1, 1))
