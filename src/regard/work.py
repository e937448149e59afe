"""The work of a model, by formula: the products of its layers, and what a forward pass keeps.

docs/scale.md says what the formulas were checked against. d is d_model, f is d_ff.
"""

from typing import NamedTuple

from regard.models import (
    BertConfig,
    GPTConfig,
    ModelConfig,
    ReaderConfig,
    RecurrentConfig,
    RecurrentLanguageModelConfig,
    TransformerConfig,
)
from regard.recipe import Recipe

# Models that are stacks of blocks, whose work and memory can be told beforehand.
Stacked = TransformerConfig | GPTConfig | BertConfig

# A batch's table is this full of real tokens.
FULL = 0.92
# Pieces of a sentence, its end included, where the data is not there to be asked.
SENTENCE = 30
# Where nothing is known of the labels, and of the words that have them.
LABELS, PIECES_OF_A_WORD = 16, 1.5


class Work(NamedTuple):
    """What a batch has a model do: see `training_flops`."""

    source_tokens: float
    target_tokens: float
    source_length: float
    target_length: float

    @property
    def counted(self) -> float:
        """Tokens as training counts them: what is predicted of what was read counts once."""
        return max(self.source_tokens, self.target_tokens) + (
            self.target_tokens if self.source_tokens == self.target_tokens else 0.0
        )


def work_of(recipe: Recipe, tokens: float, sentence: float) -> Work:
    """Of a batch of so many tokens, padding included."""
    data, full = recipe.data, FULL * tokens
    match recipe.task:
        case "translation":
            return Work(full, full, sentence, sentence)
        case "language-model":
            return Work(0.0, tokens, data.context, data.context)
        case "masked-language-model":
            return Work(tokens, data.masked_share * tokens, data.context, data.context)
        case "classification":
            return Work(full, full / sentence, sentence, sentence)
        case "tagging":
            return Work(full, full / PIECES_OF_A_WORD, sentence, sentence)


def training_flops(
    config: ModelConfig,
    vocabulary: int,
    source_tokens: float,
    target_tokens: float,
    source_length: float = SENTENCE,
    target_length: float = SENTENCE,
) -> float:
    """Multiplications and additions of the products of a forward and a backward pass: 2 for each
    weight and token forward, and twice that backward. The lengths are what attention looks at.
    """
    match config:
        case TransformerConfig():
            source, target = transformer_weights(config, source_length, target_length)
        case RecurrentConfig():
            source, target = recurrent_weights(config, source_length)
        case GPTConfig():
            source, target = 0.0, stack_weights(config, target_length)
        case BertConfig():
            source, target = stack_weights(config, source_length), 0.0
        case RecurrentLanguageModelConfig():
            source, target = 0.0, 2.0 * config.num_layers * gates(config.cell) * config.d_model**2
        case ReaderConfig():
            share = 1.5 if config.bidirectional else 2
            source = share * config.num_layers * gates(config.cell) * config.d_model**2
            target = 0.0
    layers = 6.0 * (source * source_tokens + target * target_tokens)
    return layers + loss_flops(config, vocabulary, target_tokens)


def loss_flops(config: ModelConfig, vocabulary: int, target_tokens: float) -> float:
    """The projection on the vocabulary, forward and backward."""
    return 6.0 * config.d_model * vocabulary * target_tokens


def stack_weights(config: GPTConfig | BertConfig, length: float) -> float:
    """Weights that a token meets in a stack of blocks with self-attention alone."""
    d = config.d_model
    feed_forward = (3 if config.activation == "swiglu" else 2) * d * config.d_ff
    return config.num_layers * (4 * d * d + feed_forward + 2 * d * length)


def gates(cell: str) -> int:
    return {"rnn": 1, "gru": 3, "lstm": 4}[cell]


def transformer_weights(
    config: TransformerConfig, source_length: float, target_length: float
) -> tuple[float, float]:
    """Weights that a source and a target token meet, the numbers that attention compares it with
    among them; keys and values of the decoder's looks at the source are made of source tokens.
    """
    d = config.d_model
    feed_forward = (3 if config.activation == "swiglu" else 2) * d * config.d_ff
    encoder = 4 * d * d + feed_forward + 2 * d * source_length
    decoder = 6 * d * d + feed_forward + 2 * d * (source_length + target_length)
    source = config.encoder_layers * encoder + config.decoder_layers * 2 * d * d
    return source, config.decoder_layers * decoder


def recurrent_weights(config: RecurrentConfig, source_length: float) -> tuple[float, float]:
    """The same of a recurrent model, whose two directions of reading share the width."""
    d = config.d_model
    square = d * d * gates(config.cell)
    source = config.encoder_layers * square * (1.5 if config.bidirectional else 2)
    reads_more = config.attention != "dot" or config.input_feeding
    target: float = config.decoder_layers * 2 * square + square * reads_more + 3 * d * d
    if config.attention == "additive":
        source, target = source + d * d, target + d * d
    if config.attention != "none":
        target += 2 * d * source_length
    return source, target


def activation_bytes(
    config: TransformerConfig, source_tokens: float, target_tokens: float, mixed: bool = False
) -> float:
    """What the forward pass keeps for the backward pass, padding included.

    Products keep what goes in, attention its queries, keys, values and result, norms what goes in,
    dropout a byte a number. Mixed precision halves what products and attention keep.
    """
    d, f = config.d_model, config.d_ff
    kept = 2 if mixed else 4
    normed = 4 * d * (2 if config.normalisation == "rms" else 1)
    norm = normed + d * (config.dropout > 0)
    attention = kept * d * (8 if config.positions == "rotary" else 5) + norm
    cross = kept * d * 3 + norm
    inner = kept * f * {"relu": 1, "swiglu": 4}.get(config.activation, 2)
    if config.feed_forward_dropout:
        # Only relu keeps what comes out of it, and then dropout's result is one more.
        inner += f + kept * f * (config.activation == "relu")
    feed_forward = kept * d + inner + norm
    ends = kept * d + d * (config.dropout > 0) + normed * (config.norm == "pre")
    source = config.encoder_layers * (attention + feed_forward) + ends
    source += config.decoder_layers * kept * 2 * d
    target = config.decoder_layers * (attention + cross + feed_forward) + ends + 4 * d
    return source * source_tokens + target * target_tokens


def stack_activation_bytes(
    config: GPTConfig | BertConfig, tokens: float, mixed: bool = False
) -> float:
    """The same of a stack of blocks with self-attention alone."""
    d, kept, rotary = config.d_model, 2 if mixed else 4, False
    norm = 4 * d + d * (config.dropout > 0)
    if isinstance(config, GPTConfig):
        rotary = config.positions == "rotary"
    attention = kept * d * (8 if rotary else 5) + norm
    inner = kept * config.d_ff * {"relu": 1, "swiglu": 4}.get(config.activation, 2)
    ends = kept * d + norm + 4 * d
    return tokens * (config.num_layers * (attention + kept * d + inner + norm) + ends)


def depth(config: Stacked) -> int:
    if isinstance(config, TransformerConfig):
        return config.encoder_layers + config.decoder_layers
    return config.num_layers
