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

# A batch's table is this full of real tokens.
FULL = 0.92
# Pieces of a sentence, its end included, where the data is not there to be asked.
SENTENCE = 30
# A word is about so many pieces; a text that is labelled has a start and an end as well.
PIECES, AROUND = 1.3, 2
# Labels to tell apart, where the data is not there to be asked.
LABELS = 16
# What a recurrent layer keeps of a token, in numbers for each of its width: from the left, and from
# both ends at half the width each. As autograd was seen to keep on a CPU.
KEPT = {"rnn": (2.25, 3.3), "gru": (8.25, 9.3), "lstm": (17.75, 24.7)}


class Work(NamedTuple):
    """What a batch has a model do: see `training_flops`."""

    source_tokens: float
    target_tokens: float
    source_length: float
    target_length: float


class Windows(NamedTuple):
    """How a batch holds running text: rows, tokens of each, those that come from the text, and
    those that are predicted.
    """

    rows: int
    context: int
    content: int
    predicted: int


def windows_of(recipe: Recipe) -> Windows:
    """Of a whole batch of a recipe whose data is running text."""
    data, model = recipe.data, recipe.model
    content = predicted = data.context
    if isinstance(model, BertConfig):
        # A start and an end go around a window, and an end between two halves.
        content = max(1, data.context - (3 if model.next_sentence else 2))
        predicted = max(1, round(data.masked_share * content))
    rows = max(1, recipe.train.batch_tokens // content)
    return Windows(rows, data.context, content, predicted)


def work_of(recipe: Recipe, share: float, sentence: float, pieces: float = PIECES) -> Work:
    """Of a share of a batch, the whole being 1; in sentences of so many tokens, padded, or in
    windows, which are not. `pieces` is how many make a word.
    """
    full = FULL * recipe.train.batch_tokens * share
    if recipe.task == "translation":
        return Work(full, full, sentence, sentence)
    if recipe.task == "classification":
        return Work(full, full / sentence, sentence, sentence)
    if recipe.task == "tagging":
        return Work(full, full * words_of(sentence, pieces) / sentence, sentence, sentence)
    rows, context, _, predicted = windows_of(recipe)
    read = rows * context if recipe.task == "masked-language-model" else 0
    return Work(share * read, share * rows * predicted, context, context)


def words_of(sentence: float, pieces: float) -> float:
    """Of a labelled text of so many tokens."""
    return max(1.0, (sentence - AROUND) / pieces)


def counted_tokens(recipe: Recipe, work: Work) -> float:
    """Tokens as training counts them: all that are read and predicted; those that were read and
    hidden once, and those around a window not at all.
    """
    if recipe.task == "masked-language-model":
        windows = windows_of(recipe)
        return work.source_tokens * windows.content / windows.context
    return work.source_tokens + work.target_tokens


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


def recurrent_activation_bytes(
    config: RecurrentConfig | RecurrentLanguageModelConfig | ReaderConfig,
    source_tokens: float,
    target_tokens: float,
    source_length: float,
) -> float:
    """The same of recurrent layers, by a rule: what was seen to be kept, to about a fifth. Looking
    for the next word with additive attention keeps a state for each word of the source.
    """
    one_way, both_ways = KEPT[config.cell]
    match config:
        case RecurrentLanguageModelConfig():
            source, target = 0.0, config.num_layers * one_way + 1.5
        case ReaderConfig():
            source = config.num_layers * (both_ways if config.bidirectional else one_way)
            target = 0.0
        case RecurrentConfig():
            source = config.encoder_layers * (both_ways if config.bidirectional else one_way)
            target = config.decoder_layers * one_way + 8
            target += source_length * (config.attention == "additive")
    return 4 * config.d_model * (source * source_tokens + target * target_tokens)


def depth(config: ModelConfig) -> int:
    if isinstance(config, TransformerConfig | RecurrentConfig):
        return config.encoder_layers + config.decoder_layers
    return config.num_layers
