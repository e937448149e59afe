"""What training takes, by formula: work, memory and time, on hardware one need not have.

docs/scale.md says what the formulas were checked against. d is d_model, f is d_ff.
"""

from dataclasses import dataclass, replace
from typing import Literal

from regard.models import BertConfig, GPTConfig, ModelConfig, TransformerConfig
from regard.planning.fleet import Device, Fleet
from regard.recipe import LABELLING, RUNNING_TEXT, Recipe, TrainSection
from regard.weights import num_parameters
from regard.work import (
    LABELS,
    PIECES,
    SENTENCE,
    activation_bytes,
    counted_tokens,
    depth,
    loss_flops,
    recurrent_activation_bytes,
    stack_activation_bytes,
    training_flops,
    work_of,
)

Parallel = Literal["ddp", "fsdp"]

# What a process takes before there is a model: libraries, and buffers that come and go.
PROGRAM_BYTES = 0.5e9
# Adam reads four numbers of float32 for each parameter and writes three.
ADAM_BYTES = 28


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
class Sizes:
    """What the data decides: how many tokens or labels are told apart where a model reads and where
    it predicts, and the mean length of a sentence and of a word in pieces; both sides of a pair are
    taken as equally long.
    """

    inputs: int
    outputs: int
    sentence: float = SENTENCE
    word: float = PIECES

    @classmethod
    def assumed(cls, recipe: Recipe) -> "Sizes":
        """Where nothing is known: the vocabulary as large as it may become."""
        vocabulary = recipe.tokenizer.vocabulary_size
        return cls(vocabulary, LABELS if recipe.task in LABELLING else vocabulary)


@dataclass(frozen=True)
class Plan:
    fleet: Fleet
    parallel: Parallel
    precision: Literal["float32", "bfloat16"]
    sizes: Sizes
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
    recipe: Recipe, fleet: Fleet, parallel: Parallel = "ddp", sizes: Sizes | None = None
) -> Plan:
    config, train = recipe.model, recipe.train
    sizes = sizes or Sizes.assumed(recipe)
    parameters = num_parameters(recipe, sizes.inputs, sizes.outputs)
    share = deal(train, fleet.size)
    # Recurrent models stay in float32: a state rounded at each step drifts.
    if train.precision == "float32" or config.kind == "recurrent":
        fleet = replace(fleet, device=replace(fleet.device, bfloat16=0.0))
    mixed = fleet.device.bfloat16 > 0
    part = share.batch_tokens / train.batch_tokens
    work = work_of(recipe, part, sizes.sentence, sizes.word)
    flops = training_flops(config, sizes.outputs, *work)
    each = batch_seconds(config, sizes.outputs, fleet.device, flops, work.target_tokens)
    waiting = waiting_seconds(parameters, fleet, share, each, parallel)
    adam = ADAM_BYTES * parameters / fleet.device.bandwidth
    adam /= fleet.size if parallel == "fsdp" else 1
    update = share.batches * each + waiting + adam
    return Plan(
        fleet=fleet,
        parallel=parallel,
        precision="bfloat16" if mixed else "float32",
        sizes=sizes,
        parameters=parameters,
        share=share,
        memory=memory(recipe, sizes, parameters, fleet.size, parallel, mixed),
        tokens_per_update=counted_tokens(recipe, work) / part * train.accumulate,
        flops_per_update=flops * share.batches * fleet.size,
        waiting_seconds=waiting,
        update_seconds=update,
        seconds=train.steps * update,
    )


def deal(train: TrainSection, devices: int) -> Share:
    """An update is the same on any number of devices: they share its batches, whole if they can."""
    if train.accumulate % devices:
        return Share(train.accumulate, train.batch_tokens / devices, whole=False)
    return Share(train.accumulate // devices, train.batch_tokens, whole=True)


def batch_seconds(
    config: ModelConfig, vocabulary: int, device: Device, flops: float, tokens: float
) -> float:
    """Forward and backward over so many target tokens, in the precision the device is best at: in
    mixed precision the layers run in bfloat16 and the loss in float32.
    """
    pace = CARD_PACE if device.is_card else CPU_PACE
    loss = loss_flops(config, vocabulary, tokens)
    layers = (flops - loss) / (device.bfloat16 or device.float32)
    products = (layers + loss / device.float32) / pace.share(config.d_model)
    return products + pace.layer_seconds * depth(config)


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
    sizes: Sizes,
    parameters: int,
    devices: int,
    parallel: Parallel,
    mixed: bool,
) -> Memory:
    """Weights, gradients and Adam's two moments in float32; activations of a full batch."""
    share = deal(recipe.train, devices)
    model = 4.0 * parameters
    embedding = 4.0 * recipe.model.d_model * sizes.inputs
    weights, gradients, moments = model, model, 2 * model
    # The loss over a vocabulary makes the gradient of its weight beside the others'.
    beside = 4.0 * recipe.model.d_model * sizes.outputs
    beside *= recipe.task in ("translation", "language-model")
    gradients += beside
    if recipe.train.moving_average:
        moments += model
    if parallel == "fsdp":
        # Embeddings and two blocks are whole at a time, and gradients until they are added up.
        whole = embedding + 2 * (model - embedding) / depth(recipe.model)
        weights, moments = model / devices + whole, moments / devices
        if share.batches == 1:
            gradients = model / devices + whole + beside
    if mixed:
        weights *= 1.5  # a copy in bfloat16
    part = share.batch_tokens / recipe.train.batch_tokens
    return Memory(weights, gradients, moments, activations(recipe, sizes, part, mixed))


def activations(recipe: Recipe, sizes: Sizes, part: float, mixed: bool) -> float:
    """Bytes that the forward pass keeps of a part of a batch, padding included."""
    config, work = recipe.model, work_of(recipe, part, sizes.sentence, sizes.word)
    if recipe.task in RUNNING_TEXT:
        source, target = work.source_tokens, work.target_tokens
    else:
        source = target = recipe.train.batch_tokens * part
    match config:
        case TransformerConfig():
            return activation_bytes(config, source, target, mixed)
        case GPTConfig():
            return stack_activation_bytes(config, target, mixed)
        case BertConfig():
            found = stack_activation_bytes(config, source, mixed)
            # Here the loss keeps its probabilities, of what is hidden alone.
            logits = 4.0 * sizes.outputs * target
            return found + logits * (recipe.task == "masked-language-model")
        case _:
            return recurrent_activation_bytes(config, source, target, work.source_length)
