"""CLIP: one encoder for images and one for texts, which meet in one space (Radford et al. 2021).

Shapes: B images or texts, C channels, H × W pixels, T tokens, d width of an encoder, w width of the
shared space. Masks: True = a real token.
"""

import math
import sys

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.configs.bert import BertConfig
from regard.configs.clip import BagConfig, SharedSpaceConfig
from regard.configs.gpt import GPTConfig
from regard.configs.image import ImageShape
from regard.configs.recurrent import ReaderConfig
from regard.layers.dropout import Dropout
from regard.models.bert import Bert
from regard.models.gpt import GPT
from regard.models.images import ImageConfig, build_encoder, whole_of
from regard.models.reader import Reader

TextConfig = BagConfig | BertConfig | ReaderConfig | GPTConfig


class Clip(nn.Module):
    def __init__(
        self,
        encoder: ImageConfig,
        text: TextConfig,
        space: SharedSpaceConfig,
        shape: ImageShape,
        vocabulary: int,
    ) -> None:
        super().__init__()
        self.config = text
        self.space = space
        self.encoder = build_encoder(encoder, shape)
        self.reader = build_reader(text, vocabulary)
        self.dropout = Dropout(space.dropout)
        self.image_projection = nn.Linear(encoder.d_model, space.width, bias=False)
        self.text_projection = nn.Linear(text.d_model, space.width, bias=False)
        for projection in (self.image_projection, self.text_projection):
            nn.init.normal_(projection.weight, std=projection.in_features**-0.5)
        self.log_scale = nn.Parameter(torch.tensor([math.log(1 / space.temperature)]))

    @property
    def longest(self) -> int:
        """The most tokens a text may have."""
        return self.reader.longest

    @property
    def scale(self) -> Tensor:
        """What similarities are multiplied by before they are compared, [1]."""
        return self.log_scale.exp().clamp(max=self.space.largest_scale)

    def initialise(self, images: Tensor) -> None:
        """Prepare a new model for training on data like these images [N, C, H, W]."""
        self.encoder.initialise(images)

    def image_vectors(self, images: Tensor) -> Tensor:
        """Pixels [B, C, H, W], or what the encoder has made of them [B, d] → [B, w], each of
        length 1.
        """
        encoded = images.dim() == 2
        whole = images if encoded else whole_of(self.encoder, images)
        whole = whole.to(self.log_scale.dtype)
        return F.normalize(self.image_projection(self.dropout(whole)), dim=-1)

    def text_vectors(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """[B, T] → [B, w], each of length 1."""
        if isinstance(self.reader, GPT):
            # A token sees those before it, so the last one has seen all.
            states = self.reader.features(tokens)
            last = mask.sum(1) - 1
            pooled = states[torch.arange(len(tokens), device=tokens.device), last]
        else:
            weights = mask[..., None].to(self.log_scale.dtype)
            pooled = (weights * self.reader.features(tokens, mask)).sum(1) / weights.sum(1)
        return F.normalize(
            self.text_projection(self.dropout(pooled.to(self.log_scale.dtype))), dim=-1
        )

    def text_parts(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The states of tokens in the shared space [B, T, w], and how much each counts [B, T]: the
        vector of a text is their weighted sum, made as long as 1.
        """
        if isinstance(self.reader, GPT):
            states, last = self.reader.features(tokens), mask.sum(1) - 1
            counts = F.one_hot(last, tokens.size(1)).to(states.dtype)
        else:
            states = self.reader.features(tokens, mask)
            counts = mask.to(states.dtype) / mask.sum(1, keepdim=True)
        return self.text_projection(states), counts

    def image_parts(self, images: Tensor) -> Tensor | None:
        """What each cell adds to the vector of the image, [B, S, w]: it is their sum, made as long
        as 1. None if the encoder takes neither the mean of the cells nor their largest numbers.
        """
        grid, whole = self.encoder(images)
        largest = grid == whole[:, None]
        parts = grid / grid.size(1)
        if largest.any(1).all():
            parts = grid * largest / largest.sum(1, keepdim=True)
        if not torch.allclose(whole, parts.sum(1), atol=1e-4, rtol=1e-4):
            return None
        return self.image_projection(parts)  # type: ignore[no-any-return]

    def forward(
        self, images: Tensor, tokens: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The vectors of images and of texts, [B, w] each, and the scale of their similarities."""
        return self.image_vectors(images), self.text_vectors(tokens, mask), self.scale


class Bag(nn.Module):
    """A vector for each word, whatever stands beside it."""

    longest = sys.maxsize

    def __init__(self, config: BagConfig, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, config.d_model)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.dropout = Dropout(config.dropout)

    def features(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """[B, T] → [B, T, d]"""
        return self.dropout(self.embedding(tokens))  # type: ignore[no-any-return]


def build_reader(config: TextConfig, vocabulary: int) -> Bag | Bert | Reader | GPT:
    match config:
        case BagConfig():
            return Bag(config, vocabulary)
        case BertConfig():
            # It predicts no tokens or sentences.
            heads = {"masked_head": False, "pooler": False, "next_sentence": False}
            return Bert(config.model_copy(update=heads), vocabulary)
        case GPTConfig():
            return GPT(config.model_copy(update={"tied_embeddings": True}), vocabulary)
        case ReaderConfig():
            return Reader(config, vocabulary)
