"""The recurrent encoder-decoder, with and without attention.

    attention = "none"      Cho et al. 2014: the decoder starts from the encoder's last state and
                            reads it again at each step
    attention = "additive"  Bahdanau et al. 2015: before a step, the old state attends to the source
    attention = "dot"       Luong et al. 2015: after a step, the new state attends to the source

Shapes: B sentences, S source length, T target length, V vocabulary, R rows of a search, d d_model.
"""

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.configs.recurrent import RecurrentConfig
from regard.layers.dropout import Dropout
from regard.layers.recurrent import LayerState, RecurrentEncoder, RecurrentStack
from regard.layers.state_attention import AdditiveAttention, DotAttention, NoAttention, SourceMemory


@dataclass(frozen=True)
class RecurrentState:
    """What one step passes to the next. The R rows are the hypotheses of B sentences, R / B for
    each, those of a sentence adjacent. The source is stored once per sentence.
    """

    layers: list[LayerState]  # of the decoder: (h,) or (h, c), each [R, d]
    memory: SourceMemory  # [B, S, d]
    fed: Tensor | None  # [R, d], with input feeding: the features of the previous step

    def select(self, rows: Tensor) -> "RecurrentState":
        """The state of the rows that a search continues; row i of it continues `rows[i]`."""
        sentences = self.memory.values.size(0)
        group = self.layers[0][0].size(0) // sentences
        kept, counts = torch.unique_consecutive(rows // group, return_counts=True)
        if not bool((counts == counts[0]).all()):
            kept = rows // group
        same = torch.equal(kept, torch.arange(sentences, device=kept.device))
        return RecurrentState(
            [tuple(part.index_select(0, rows) for part in layer) for layer in self.layers],
            self.memory if same else self.memory.select(kept),
            None if self.fed is None else self.fed.index_select(0, rows),
        )


class Recurrent(nn.Module):
    def __init__(
        self, config: RecurrentConfig, source_vocabulary: int, target_vocabulary: int
    ) -> None:
        super().__init__()
        if config.tied_embeddings == "all" and source_vocabulary != target_vocabulary:
            raise ValueError(
                'tied_embeddings = "all" needs one vocabulary for both sides, '
                f"these have {source_vocabulary} and {target_vocabulary} entries"
            )
        self.config = config
        d_model = config.d_model
        self.target_embedding = nn.Embedding(target_vocabulary, d_model)
        self.source_embedding = (
            self.target_embedding
            if config.tied_embeddings == "all"
            else nn.Embedding(source_vocabulary, d_model)
        )
        self.output = nn.Linear(d_model, target_vocabulary, bias=False)
        if config.tied_embeddings != "none":
            self.output.weight = self.target_embedding.weight
        self.dropout = Dropout(config.dropout)
        self.encoder = RecurrentEncoder(
            config.cell,
            d_model,
            config.encoder_layers,
            config.bidirectional,
            config.dropout,
            config.nonlinearity,
        )
        # Besides the previous token, a step reads its context or the features fed back to it.
        reads_more = config.attention != "dot" or config.input_feeding
        self.decoder = RecurrentStack(
            config.cell,
            2 * d_model if reads_more else d_model,
            d_model,
            config.decoder_layers,
            config.dropout,
            config.nonlinearity,
        )
        self.attention: AdditiveAttention | DotAttention | NoAttention
        if config.attention == "additive":
            self.attention = AdditiveAttention(d_model)
        elif config.attention == "dot":
            self.attention = DotAttention()
        else:
            self.attention = NoAttention()
        parts = config.decoder_layers * self.decoder.layers[0].num_parts
        self.bridge = nn.Linear(d_model, parts * d_model)
        self.readout = nn.Linear(3 * d_model, d_model)
        self.reset()

    @property
    def longest(self) -> int:
        """The most positions a sequence may have; here there is no limit."""
        return sys.maxsize

    def reset(self) -> None:
        """Initialise linear maps by Xavier's rule and embeddings with variance 1/d, which √d in
        `embed` turns into 1. The recurrent layers have initialised themselves.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        # A dict keeps the order of the draws; the order of a set depends on memory addresses.
        for weight in dict.fromkeys((self.source_embedding.weight, self.target_embedding.weight)):
            nn.init.normal_(weight, std=self.config.d_model**-0.5)

    def embed(self, embedding: nn.Embedding, ids: Tensor) -> Tensor:
        """[…] → […, d]"""
        return self.dropout(embedding(ids) * math.sqrt(self.config.d_model))  # type: ignore[no-any-return]

    def encode(self, source: Tensor, source_mask: Tensor) -> Tensor:
        """[B, S] → states [B, S, d]"""
        states: Tensor = self.encoder(self.embed(self.source_embedding, source), source_mask)[0]
        return states

    def start(self, source: Tensor, source_mask: Tensor) -> RecurrentState:
        """Read the source and return the state before the first token: s_0 = tanh(W h), where h is
        the encoder's state after the whole source (Bahdanau et al., A.2.2).
        """
        states, last = self.encoder(self.embed(self.source_embedding, source), source_mask)
        first: Tensor = self.bridge(last).tanh()
        parts = iter(first.chunk(self.bridge.out_features // self.config.d_model, dim=-1))
        return RecurrentState(
            [tuple(next(parts) for _ in range(each.num_parts)) for each in self.decoder.layers],
            self.attention.remember(states, source_mask, last),
            torch.zeros_like(last) if self.config.input_feeding else None,
        )

    def read_out(self, y: Tensor, state: Tensor, context: Tensor) -> Tensor:
        """The features behind p(y_i) = g(y_{i-1}, s_i, c_i): three of [..., d] → [..., d]"""
        features = self.readout(torch.cat((y, state, context), dim=-1)).tanh()
        return self.dropout(features)  # type: ignore[no-any-return]

    def features(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """Features [B, T, d], which `output` turns into logits. Fused kernels compute all that does
        not depend on what the previous step attended to.
        """
        with full_precision(source.device):
            state = self.start(source, source_mask)
            y = self.embed(self.target_embedding, target)
            if self.config.input_feeding:
                return self.feed_each_step(y, state)
            if self.config.attention == "additive":
                s, context = self.search_each_step(y, state)
            elif self.config.attention == "dot":
                s, _ = self.decoder(y, state.layers)
                context = self.attention(s, state.memory)
            else:
                context = self.attention(y, state.memory)
                s, _ = self.decoder(torch.cat((y, context), dim=-1), state.layers)
            return self.read_out(y, s, context)

    def search_each_step(self, y: Tensor, state: RecurrentState) -> tuple[Tensor, Tensor]:
        """Decoder states and contexts, each [B, T, d]. Only the first layer attends to the source,
        as in GNMT (Wu et al. 2016), so the layers above it read all its states at once. The part of
        its input that comes from the tokens is computed for all steps beforehand.
        """
        first, own = self.decoder.layers[0], state.layers[0]
        for_token, for_context = first.input_weight.split(self.config.d_model, dim=1)
        states, contexts = [], []
        for from_token in F.linear(y.transpose(0, 1), for_token, first.input_bias).unbind():
            context = self.attention(own[0][:, None], state.memory)[:, 0]
            own = first.advance(torch.addmm(from_token, context, for_context.T), own)
            states.append(own[0])
            contexts.append(context)
        s, _ = self.decoder(torch.stack(states, dim=1), state.layers, below=1)
        return s, torch.stack(contexts, dim=1)

    def feed_each_step(self, y: Tensor, state: RecurrentState) -> Tensor:
        """Features with input feeding: each step reads those of the previous one, so the steps run
        one by one.
        """
        made = []
        for each in y.unbind(1):
            features, state = self.advance(each, state)
            made.append(features)
        return torch.stack(made, dim=1)

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """Logits [B, T, V] for the token after each target position."""
        return self.output(self.features(source, source_mask, target))  # type: ignore[no-any-return]

    def advance(self, y: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Make one step: embedded tokens [R, d] → features [R, d]."""
        if self.config.attention == "dot":
            x = y if state.fed is None else torch.cat((y, state.fed), dim=-1)
            s, layers = self.decoder.step(x, state.layers)
            context = self.look(s, state.memory)
        else:
            context = self.look(state.layers[0][0], state.memory)
            s, layers = self.decoder.step(torch.cat((y, context), dim=-1), state.layers)
        features = self.read_out(y, s, context)
        fed = None if state.fed is None else features
        return features, replace(state, layers=layers, fed=fed)

    def look(self, query: Tensor, memory: SourceMemory) -> Tensor:
        """Contexts [R, d] of rows; the rows of a sentence share its memory."""
        grouped = query.unflatten(0, (memory.values.size(0), -1))
        return self.attention(grouped, memory).flatten(0, 1)  # type: ignore[no-any-return]

    def step(self, tokens: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """(y, s') = f(x, s): tokens [R] → logits [R, V] for the next token."""
        features, state = self.advance(self.embed(self.target_embedding, tokens), state)
        return self.output(features), state


def full_precision(device: torch.device) -> AbstractContextManager[object]:
    """Turns autocast off: recurrent kernels need one type throughout, and a state that is rounded
    at each step drifts.
    """
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
