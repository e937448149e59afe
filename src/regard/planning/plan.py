"""What training takes, by formula: work, memory and time, on hardware one need not have.

docs/scale.md says what the formulas were checked against.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

from regard import tasks
from regard.configs.work import loss_flops
from regard.errors import RequestError
from regard.planning.fleet import Device, Fleet
from regard.planning.task_planning import Sizes, TaskPlanning
from regard.recipe import Recipe
from regard.weights import num_parameters

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
    """What one device does of an update: batches, each with the tokens of a side, padding
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


def planning_of(recipe: Recipe) -> TaskPlanning:
    """What the recipe's task knows for a plan, or a sentence where it knows nothing."""
    found = tasks.get(recipe.task).planning
    if found is None or not hasattr(recipe.model, "training_flops"):
        raise RequestError(
            f"{recipe.task}: there is no formula for its work; `regard train` measures it instead"
        )
    return found


def make_plan(recipe: Recipe, fleet: Fleet, sizes: Sizes, parallel: Parallel = "ddp") -> Plan:
    config, planning = recipe.model, planning_of(recipe)
    train: Any = recipe.train
    parameters = num_parameters(recipe, sizes.of_model())
    share = deal(train, fleet.size)
    # Recurrent models stay in float32: a state rounded at each step drifts.
    if train.precision == "float32" or config.kind == "recurrent":
        fleet = replace(fleet, device=replace(fleet.device, bfloat16=0.0))
    mixed = fleet.device.bfloat16 > 0
    part = share.batch_tokens / train.batch_tokens
    work = planning.work(recipe, part, sizes)
    flops = config.training_flops(sizes.outputs, work)
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
        tokens_per_update=planning.counted_tokens(recipe, work) / part * train.accumulate,
        flops_per_update=flops * share.batches * fleet.size,
        waiting_seconds=waiting,
        update_seconds=update,
        seconds=train.steps * update,
    )


def deal(train: Any, devices: int) -> Share:
    """An update is the same on any number of devices: they share its batches, whole if they can."""
    if train.accumulate % devices:
        return Share(train.accumulate, train.batch_tokens / devices, whole=False)
    return Share(train.accumulate // devices, train.batch_tokens, whole=True)


def batch_seconds(
    config: Any, vocabulary: int, device: Device, flops: float, tokens: float
) -> float:
    """Seconds forward and backward, in the precision the device is best at: in mixed precision the
    layers run in bfloat16 and the loss in float32. `tokens` are those of the target.
    """
    pace = CARD_PACE if device.is_card else CPU_PACE
    loss = loss_flops(config.d_model, vocabulary, tokens)
    layers = (flops - loss) / (device.bfloat16 or device.float32)
    products = (layers + loss / device.float32) / pace.share(config.d_model)
    return float(products + pace.layer_seconds * config.depth)


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
    train: Any = recipe.train
    share = deal(train, devices)
    model = 4.0 * parameters
    embedding = 4.0 * recipe.model.d_model * sizes.inputs
    weights, gradients, moments = model, model, 2 * model
    # The loss over a vocabulary makes the gradient of its weight beside the others'.
    beside = 4.0 * recipe.model.d_model * sizes.outputs
    beside *= planning_of(recipe).gradient_beside
    gradients += beside
    if recipe.train.moving_average:
        moments += model
    if parallel == "fsdp":
        # Embeddings and two blocks are whole at a time, and gradients until they are added up.
        whole = embedding + 2 * (model - embedding) / recipe.model.depth
        weights, moments = model / devices + whole, moments / devices
        if share.batches == 1:
            gradients = model / devices + whole + beside
    if mixed:
        weights *= 1.5  # a copy in bfloat16
    part = share.batch_tokens / train.batch_tokens
    return Memory(weights, gradients, moments, activations(recipe, sizes, part, mixed))


def activations(recipe: Recipe, sizes: Sizes, part: float, mixed: bool) -> float:
    """Bytes that the forward pass keeps of a part of a batch, padding included."""
    planning, config = planning_of(recipe), recipe.model
    work = planning.padded_work(recipe, part, sizes)
    kept: float = config.activation_bytes(work, mixed)
    return kept + planning.loss_bytes(recipe, sizes, work)
