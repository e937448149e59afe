"""What training takes, by formula: work, memory and time, on hardware one need not have.

docs/scale.md says what the formulas were checked against. d is d_model, f is d_ff.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from regard.checkpoint import num_parameters
from regard.devices import Device, Fleet
from regard.errors import RequestError
from regard.models import (
    BertConfig,
    GPTConfig,
    ModelConfig,
    ReaderConfig,
    RecurrentConfig,
    RecurrentLanguageModelConfig,
    TransformerConfig,
)
from regard.recipe import LABELLING, Recipe, TrainSection

Parallel = Literal["ddp", "fsdp"]
# Models that are stacks of blocks, whose work and memory can be told beforehand.
Stacked = TransformerConfig | GPTConfig | BertConfig

# A batch's table is this full of real tokens.
FULL = 0.92
# Pieces of a sentence, its end included, where the data is not there to be asked.
SENTENCE = 30
# Where nothing is known of the labels, and of the words that have them.
LABELS, PIECES_OF_A_WORD = 16, 1.5
# What a process takes before there is a model: libraries, and buffers that come and go.
PROGRAM_BYTES = 0.5e9
# Adam reads four numbers of float32 for each parameter and writes three.
ADAM_BYTES = 28


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
    inner = kept * f * {"relu": 1, "gelu": 2, "swiglu": 4}[config.activation]
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


@dataclass(frozen=True)
class Pace:
    """How training falls short of the peak: narrow layers spend more of their time outside of
    products, and every layer costs something however small the batch is.
    """

    ceiling: float
    half_width: float
    layer_seconds: float

    def share(self, d_model: int) -> float:
        """Of the peak, as long as batches are large."""
        return self.ceiling * d_model / (d_model + self.half_width)


# Measured on a CPU, and published for cards; docs/scale.md has the figures of both.
CPU_PACE = Pace(ceiling=0.92, half_width=70, layer_seconds=2e-3)
CARD_PACE = Pace(ceiling=0.5, half_width=0, layer_seconds=4.2e-3)


@dataclass(frozen=True)
class Memory:
    """Bytes a device holds at the most."""

    weights: float
    gradients: float
    moments: float
    activations: float
    program: float = PROGRAM_BYTES

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.moments + self.activations + self.program


@dataclass(frozen=True)
class Share:
    """What one device does of an update: so many batches of so many tokens a side, padding
    included. Not `whole` when each batch of the recipe is split over the devices.
    """

    batches: int
    batch_tokens: float
    whole: bool


@dataclass(frozen=True)
class Plan:
    fleet: Fleet
    parallel: Parallel
    precision: Literal["float32", "bfloat16"]
    parameters: int
    share: Share
    memory: Memory
    tokens_per_update: float
    flops_per_update: float
    waiting_seconds: float  # of an update, for what other devices send
    update_seconds: float
    seconds: float

    @property
    def fits(self) -> bool:
        return self.memory.total <= self.fleet.device.memory

    @property
    def tokens_per_second(self) -> float:
        return self.tokens_per_update / self.update_seconds

    @property
    def peak_flops(self) -> float:
        device = self.fleet.device
        peak = device.bfloat16 if self.precision == "bfloat16" else device.float32
        return peak * self.fleet.size

    @property
    def share_of_peak(self) -> float:
        return self.flops_per_update / self.update_seconds / self.peak_flops


def make_plan(
    recipe: Recipe, fleet: Fleet, parallel: Parallel = "ddp", sentence: float = SENTENCE
) -> Plan:
    """`sentence` is the mean length in pieces; both sides are taken as equally long."""
    config, train, vocabulary = recipe.model, recipe.train, recipe.tokenizer.vocabulary_size
    if not isinstance(config, TransformerConfig | GPTConfig | BertConfig):
        raise RequestError(
            f"model.kind {config.kind}: only a transformer can be planned; `regard train` tries "
            "any model and tells its time before it begins"
        )
    outputs = LABELS if recipe.task in LABELLING else vocabulary
    parameters = num_parameters(recipe, vocabulary, outputs)
    share = deal(train, fleet.size)
    if train.precision == "float32":
        fleet = replace(fleet, device=replace(fleet.device, bfloat16=0.0))
    mixed = fleet.device.bfloat16 > 0
    work = work_of(recipe, share.batch_tokens, sentence)
    flops = training_flops(config, outputs, *work)
    each = batch_seconds(config, outputs, fleet.device, flops, work.target_tokens)
    waiting = waiting_seconds(parameters, fleet, share, each, parallel)
    adam = ADAM_BYTES * parameters / fleet.device.bandwidth
    adam /= fleet.size if parallel == "fsdp" else 1
    update = share.batches * each + waiting + adam
    return Plan(
        fleet=fleet,
        parallel=parallel,
        precision="bfloat16" if mixed else "float32",
        parameters=parameters,
        share=share,
        memory=memory(recipe, config, parameters, fleet.size, parallel, mixed),
        tokens_per_update=work.counted * train.batch_tokens / share.batch_tokens * train.accumulate,
        flops_per_update=flops * share.batches * fleet.size,
        waiting_seconds=waiting,
        update_seconds=update,
        seconds=train.steps * update,
    )


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


def deal(train: TrainSection, devices: int) -> Share:
    """An update is the same on any number of devices: they share its batches, whole if they can."""
    if train.accumulate % devices:
        return Share(train.accumulate, train.batch_tokens / devices, whole=False)
    return Share(train.accumulate // devices, train.batch_tokens, whole=True)


def batch_seconds(
    config: Stacked, vocabulary: int, device: Device, flops: float, tokens: float
) -> float:
    """Forward and backward over so many target tokens, in the precision the device is best at: in
    mixed precision the layers run in bfloat16 and the loss in float32.
    """
    pace = CARD_PACE if device.is_card else CPU_PACE
    loss = loss_flops(config, vocabulary, tokens)
    layers = (flops - loss) / (device.bfloat16 or device.float32)
    products = (layers + loss / device.float32) / pace.share(config.d_model)
    return products + pace.layer_seconds * depth(config)


def depth(config: Stacked) -> int:
    if isinstance(config, TransformerConfig):
        return config.encoder_layers + config.decoder_layers
    return config.num_layers


def ring_seconds(num_bytes: float, devices: int, link: float) -> float:
    """To add up over a ring, each device sends all but one part, twice (Patarasuk & Yuan 2009)."""
    return 2 * (devices - 1) / devices * num_bytes / link


def waiting_seconds(
    parameters: int, fleet: Fleet, share: Share, each: float, parallel: Parallel
) -> float:
    """Gradients travel during the backward pass of the last batch, two thirds of the seconds that
    `each` batch takes; what takes longer is waited for. FSDP also gathers the weights for each.
    """
    gradients = ring_seconds(4 * parameters, fleet.size, fleet.link)
    if parallel == "ddp":
        return max(0.0, gradients - each * 2 / 3)
    # Gathering is half of adding up; so is leaving each device the sum of its own part.
    return max(0.0, (share.batches + 0.5) * gradients - share.batches * each)


def memory(
    recipe: Recipe,
    config: Stacked,
    parameters: int,
    devices: int,
    parallel: Parallel,
    mixed: bool,
) -> Memory:
    """Weights, gradients and Adam's two moments in float32; activations of a full batch."""
    share = deal(recipe.train, devices)
    model = 4.0 * parameters
    embedding = 4.0 * config.d_model * recipe.tokenizer.vocabulary_size
    tokens = share.batch_tokens
    if isinstance(config, TransformerConfig):
        activations = activation_bytes(config, tokens, tokens, mixed)
    else:
        activations = stack_activation_bytes(config, tokens, mixed)
    # The loss makes the gradient of its weight beside the others'.
    weights, gradients, moments = model, model + embedding, 2 * model
    if recipe.train.moving_average:
        moments += model
    if parallel == "fsdp":
        # Embeddings and two blocks are whole at a time, and gradients until they are added up.
        whole = embedding + 2 * (model - embedding) / depth(config)
        weights, moments = model / devices + whole, moments / devices
        if share.batches == 1:
            gradients = model / devices + whole + embedding
    if mixed:
        weights *= 1.5  # a copy in bfloat16
    return Memory(weights, gradients, moments, activations)
