"""Estimates by formula the work, memory and time of training, on hardware that need not be here.

docs/scale.md says what the formulas were checked against.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

from regard import tasks
from regard.configs.parameters import num_parameters
from regard.configs.work import loss_flops
from regard.errors import RequestError
from regard.planning.fleet import Device, Fleet
from regard.planning.task_planning import Sizes, TaskPlanning
from regard.recipe import Recipe

Parallel = Literal["ddp", "fsdp"]

# Memory of a process beside its model: libraries, and temporary buffers.
PROGRAM_BYTES = 0.5e9
# Adam reads four numbers of float32 for each parameter and writes three.
ADAM_BYTES = 28


@dataclass(frozen=True)
class Pace:
    """The ways training falls short of the peak: narrow layers spend more of their time outside of
    products, and every layer costs something however small the batch is.
    """

    ceiling: float
    half_width: float
    layer_seconds: float

    def share(self, d_model: int) -> float:
        """The share of the peak that large batches reach."""
        return self.ceiling * d_model / (d_model + self.half_width)


# Measured on a CPU, and published for cards; docs/scale.md has the figures of both.
CPU_PACE = Pace(ceiling=0.92, half_width=70, layer_seconds=2e-3)
CARD_PACE = Pace(ceiling=0.5, half_width=0, layer_seconds=4.2e-3)


@dataclass(frozen=True)
class Memory:
    """The most bytes that a device holds."""

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
    """The part of an update that one device computes: batches, each with the tokens of a side,
    padding included. Not `whole` when each batch of the recipe is split over the devices.
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
    waiting_seconds: float  # of an update, for data from other devices
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
    """The planning functions of the recipe's task; a RequestError where it has none."""
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
    share = split_update(train, fleet.size)
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


def split_update(train: Any, devices: int) -> Share:
    """Share an update among devices: by whole batches if they divide evenly, else by rows."""
    if train.accumulate % devices:
        return Share(train.accumulate, train.batch_tokens / devices, whole=False)
    return Share(train.accumulate // devices, train.batch_tokens, whole=True)


def batch_seconds(
    config: Any, vocabulary: int, device: Device, flops: float, tokens: float
) -> float:
    """Seconds of a forward and backward pass, in the fastest precision of the device: in mixed
    precision the layers run in bfloat16 and the loss in float32. `tokens` are target tokens.
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
    """Gradients are sent during the backward pass of the last batch, which is two thirds of the
    seconds of `each` batch; the devices wait for the rest. FSDP also gathers weights for each.
    """
    gradients = ring_seconds(4 * parameters, fleet.size, fleet.link)
    if parallel == "ddp":
        return max(0.0, gradients - each * 2 / 3)
    # An all-gather takes half the time of an all-reduce, and so does a reduce-scatter.
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
    share = split_update(train, devices)
    model = 4.0 * parameters
    embedding = 4.0 * recipe.model.d_model * sizes.inputs
    weights, gradients, moments = model, model, 2 * model
    # The loss over a vocabulary allocates one more gradient for its weight.
    loss_gradient = 4.0 * recipe.model.d_model * sizes.outputs
    loss_gradient *= planning_of(recipe).gradient_beside
    gradients += loss_gradient
    if recipe.train.moving_average:
        moments += model
    if parallel == "fsdp":
        # Embeddings and two blocks are gathered at a time; gradients are whole until the sum.
        whole = embedding + 2 * (model - embedding) / recipe.model.depth
        weights, moments = model / devices + whole, moments / devices
        if share.batches == 1:
            gradients = model / devices + whole + loss_gradient
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
