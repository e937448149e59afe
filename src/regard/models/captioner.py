"""Captions of images: an encoder of images, and a decoder that writes while it looks at them.

    recurrent, attention = "additive"  Xu et al. 2015, "Show, Attend and Tell": before each word,
                                       the state attends to the cells of the image's grid
    recurrent, attention = "none"      Vinyals et al. 2015, "Show and Tell": one vector of the whole
                                       image, the lectures' Vec2Seq
    transformer                        the decoder of a Transformer, whose memory is the grid

Shapes: B images, S cells of the grid, T tokens of a caption, V vocabulary, R rows of a search,
d d_model of the decoder.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.configs.captioner import RecurrentCaptionerConfig, TransformerCaptionerConfig
from regard.configs.image import ImageShape
from regard.layers.attention import MultiHeadAttention, SharedKeysValues
from regard.layers.dropout import Dropout
from regard.layers.images import Encoded
from regard.layers.key_value_cache import KEY_MULTIPLE, KeyValueCache, repeat_for_heads
from regard.layers.linear import Linear
from regard.layers.positions import Sinusoidal
from regard.layers.precision import lowered
from regard.layers.recurrent import RecurrentStack
from regard.layers.state_attention import AdditiveAttention, NoAttention, SourceMemory
from regard.layers.transformer import BlockSizes, DecoderBlock
from regard.models.images import ImageConfig, build_encoder
from regard.models.recurrent import RecurrentState, full_precision
from regard.models.transformer import TransformerState

DecoderConfig = RecurrentCaptionerConfig | TransformerCaptionerConfig


class Captioner(nn.Module):
    def __init__(
        self, encoder: ImageConfig, config: DecoderConfig, shape: ImageShape, vocabulary: int
    ) -> None:
        super().__init__()
        self.encoder = build_encoder(encoder, shape)
        self.dropout = Dropout(encoder.dropout)
        self.projection = Linear(self.encoder.d_model, config.d_model)
        self.norm = nn.LayerNorm(config.d_model)
        nn.init.xavier_uniform_(self.projection.weight)
        nn.init.zeros_(self.projection.bias)
        self.decoder: RecurrentDecoder | TransformerDecoder
        if isinstance(config, RecurrentCaptionerConfig):
            self.decoder = RecurrentDecoder(config, vocabulary)
        else:
            self.decoder = TransformerDecoder(config, vocabulary)

    @property
    def output(self) -> nn.Linear:
        return self.decoder.output

    @property
    def longest(self) -> int:
        """The most tokens of a caption; here there is no limit."""
        return sys.maxsize

    def initialise(self, images: Tensor) -> None:
        """Prepare a new model for training on data like these images [N, C, H, W]."""
        self.encoder.initialise(images)

    def encode(self, images: Tensor) -> Encoded:
        """[B, C, H, W] → the grid [B, S, d] and the whole [B, d], as the decoder reads them.

        What a frozen encoder has made of images is taken as it is: a grid [B, S, …], or a vector
        of the whole image [B, …].
        """
        if images.ndim == 4:
            found = self.encoder(images)
        elif images.ndim == 3:
            found = Encoded.of_grid(images)
        else:
            found = Encoded(images[:, None], images)
        return Encoded(self.read(found.grid), self.read(found.whole))

    def read(self, features: Tensor) -> Tensor:
        """[…, encoder's d_model] → […, d]"""
        return self.norm(self.projection(self.dropout(lowered(features))))  # type: ignore[no-any-return]

    def features(self, images: Tensor, target: Tensor) -> Tensor:
        """Features [B, T, d], which `output` turns into logits."""
        return self.decoder.features(self.encode(images), target)

    def forward(self, images: Tensor, target: Tensor) -> Tensor:
        """Logits [B, T, V] for the token after each position of a caption."""
        return self.output(self.features(images, target))  # type: ignore[no-any-return]

    def start(self, images: Tensor) -> RecurrentState | TransformerState:
        """Look at the images and return the state before the first token."""
        return self.decoder.start(self.encode(images))

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """(y, s') = f(x, s): tokens [R] → logits [R, V] for the next token."""
        return self.decoder.step(tokens, state)


class RecurrentDecoder(nn.Module):
    def __init__(self, config: RecurrentCaptionerConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        d_model = config.d_model
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.output = nn.Linear(d_model, vocabulary, bias=False)
        self.dropout = Dropout(config.dropout)
        self.layers = RecurrentStack(
            config.cell,
            2 * d_model,
            d_model,
            config.num_layers,
            config.dropout,
            config.nonlinearity,
        )
        self.attention: AdditiveAttention | NoAttention
        self.attention = AdditiveAttention(d_model) if config.attention != "none" else NoAttention()
        parts = config.num_layers * self.layers.layers[0].num_parts
        self.bridge = nn.Linear(d_model, parts * d_model)
        self.readout = nn.Linear(3 * d_model, d_model)
        initialise(self, self.embedding)
        if config.tied_embeddings:
            self.output.weight = self.embedding.weight

    def start(self, image: Encoded) -> RecurrentState:
        """s_0 = tanh(W v), where v is the vector of the whole image."""
        first: Tensor = self.bridge(image.whole).tanh()
        parts = iter(first.chunk(self.bridge.out_features // self.config.d_model, dim=-1))
        everything = torch.ones(image.grid.shape[:2], dtype=torch.bool, device=first.device)
        return RecurrentState(
            [tuple(next(parts) for _ in range(each.num_parts)) for each in self.layers.layers],
            self.attention.remember(image.grid, everything, image.whole),
            None,
        )

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * math.sqrt(self.config.d_model))  # type: ignore[no-any-return]

    def features(self, image: Encoded, target: Tensor) -> Tensor:
        """Only the first layer attends to the image, so that the layers above it read all its
        states at once. The part of its input that comes from the tokens is computed for all steps
        beforehand.
        """
        with full_precision(target.device):
            image = Encoded(*(part.to(self.embedding.weight.dtype) for part in image))
            state, y = self.start(image), self.embed(target)
            first, own = self.layers.layers[0], state.layers[0]
            for_token, for_context = first.input_weight.split(self.config.d_model, dim=1)
            states, contexts = [], []
            for from_token in F.linear(y.transpose(0, 1), for_token, first.input_bias).unbind():
                context = self.attention(own[0][:, None], state.memory)[:, 0]
                own = first.advance(torch.addmm(from_token, context, for_context.T), own)
                states.append(own[0])
                contexts.append(context)
            s, _ = self.layers(torch.stack(states, dim=1), state.layers, below=1)
            return self.read_out(y, s, torch.stack(contexts, dim=1))

    def read_out(self, y: Tensor, state: Tensor, context: Tensor) -> Tensor:
        """The last token, the state and what was looked at: three of […, d] → […, d]"""
        return self.dropout(self.readout(torch.cat((y, state, context), dim=-1)).tanh())  # type: ignore[no-any-return]

    def step(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """(y, s') = f(x, s): tokens [R] → logits [R, V] for the next token."""
        y = self.embed(tokens)
        context = self.look(state.layers[0][0], state.memory)
        s, layers = self.layers.step(torch.cat((y, context), dim=-1), state.layers)
        logits: Tensor = self.output(self.read_out(y, s, context))
        return logits, replace(state, layers=layers)

    def look(self, query: Tensor, memory: SourceMemory) -> Tensor:
        """Contexts [R, d] of rows; the rows of an image share its memory."""
        grouped = query.unflatten(0, (memory.values.size(0), -1))
        return self.attention(grouped, memory).flatten(0, 1)  # type: ignore[no-any-return]


class TransformerDecoder(nn.Module):
    def __init__(self, config: TransformerCaptionerConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(vocabulary, config.d_model)
        self.output = nn.Linear(config.d_model, vocabulary, bias=False)
        self.positions = Sinusoidal(config.d_model)
        self.dropout = Dropout(config.dropout)
        sizes = BlockSizes(
            d_model=config.d_model,
            d_ff=config.d_ff,
            num_heads=config.num_heads,
            dropout=config.dropout,
            norm="pre",
            activation=config.activation,
        )
        self.decoder: Sequence[DecoderBlock] = nn.ModuleList(  # type: ignore[assignment]
            DecoderBlock(sizes) for _ in range(config.num_layers)
        )
        self.norm = sizes.normaliser()
        initialise(self, self.embedding)
        if config.tied_embeddings:
            self.output.weight = self.embedding.weight

    def embed(self, ids: Tensor, start: int = 0) -> Tensor:
        """Token plus position: [B, T] → [B, T, d]"""
        x = self.embedding(ids) * math.sqrt(self.config.d_model)
        return self.dropout(lowered(x + self.positions(start, ids.size(1), x)))  # type: ignore[no-any-return]

    def features(self, image: Encoded, target: Tensor) -> Tensor:
        x = self.embed(target)
        for block in self.decoder:
            x = block(x, image.grid)
        return self.norm(x)  # type: ignore[no-any-return]

    @torch.no_grad()
    def start(self, image: Encoded) -> TransformerState:
        images, cells, d_model = image.grid.shape
        heads = self.config.num_heads
        room = cells + -cells % KEY_MULTIPLE
        memory = image.grid.new_zeros(len(self.decoder), 2, images, heads, room, d_model // heads)
        for block, (keys, values) in zip(self.decoder, memory[..., :cells, :], strict=True):
            projected = block.cross_attention.project_memory(image.grid)
            keys.copy_(projected.keys)
            values.copy_(projected.values)
        bias = memory.new_zeros(images, room)
        bias[:, cells:] = torch.finfo(memory.dtype).min
        cache = KeyValueCache.empty(len(self.decoder), images, heads, d_model // heads, like=memory)
        return TransformerState(cache, memory, bias)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """(y, s') = f(x, s): tokens [R] → logits [R, V] for the next token."""
        x = self.embed(tokens[:, None], start=state.cache.position)[:, 0]
        cache = state.cache.extended()
        rows = state.memory_bias[:, None].expand(-1, cache.bias.size(1), -1)
        bias = repeat_for_heads(rows, self.config.num_heads)
        for block, (seen, new), (keys, values) in zip(
            self.decoder, cache.layers(), state.memory.flatten(2, 3), strict=True
        ):
            x = block.step(x, seen, new, SharedKeysValues(keys, values, bias))
        return self.output(self.norm(x)), replace(state, cache=cache)


def initialise(decoder: nn.Module, embedding: nn.Embedding) -> None:
    """Linear maps by Xavier's rule and embeddings with variance 1/d, which √d in `embed` turns into
    1. Recurrent layers have initialised themselves.
    """
    for module in decoder.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for module in decoder.modules():
        if isinstance(module, MultiHeadAttention):
            for part in module.in_projection.weight.chunk(3):
                nn.init.xavier_uniform_(part)
    nn.init.normal_(embedding.weight, std=embedding.embedding_dim**-0.5)
