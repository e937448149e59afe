"""Estimates by formula the work, memory and time of training, on hardware that need not be here.

docs/scale.md says what the formulas were checked against.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from regard import tasks
from regard.configs.parameters import num_frozen, num_parameters
from regard.configs.work import Part, Work
from regard.errors import RequestError
from regard.planning.fleet import Device, Fleet
from regard.planning.task_planning import Sizes, TaskPlanning, batch_size
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
    padding included, or with examples that count as one token each. Not `whole` when each batch of
    the recipe is split over the devices.
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
    if found is None:
        raise RequestError(
            f"{recipe.task}: there is no formula for its work; `regard train` measures it instead"
        )
    return found


def make_plan(recipe: Recipe, fleet: Fleet, sizes: Sizes, parallel: Parallel = "ddp") -> Plan:
    planning = planning_of(recipe)
    train: Any = recipe.train
    parameters = num_parameters(recipe, sizes.of_model())
    share = split_update(train, fleet.size)
    # Recurrent models stay in float32: a state rounded at each step drifts.
    if train.precision == "float32" or recipe.model.kind == "recurrent":
        fleet = replace(fleet, device=replace(fleet.device, bfloat16=0.0))
    mixed = fleet.device.bfloat16 > 0
    part = share.batch_tokens / batch_size(train)
    work = planning.work(recipe, part, sizes)
    parts = planning.parts(recipe, sizes, work, mixed)
    each = batch_seconds(parts, fleet.device)
    waiting = waiting_seconds(parameters, fleet, share, each, parallel)
    adam = ADAM_BYTES * (parameters - num_frozen(recipe)) / fleet.device.bandwidth
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
        flops_per_update=total_flops(parts) * share.batches * fleet.size,
        waiting_seconds=waiting,
        update_seconds=update,
        seconds=train.steps * update,
    )


def split_update(train: Any, devices: int) -> Share:
    """Share an update among devices: by whole batches if they divide evenly, else by rows."""
    whole = batch_size(train)
    if train.accumulate % devices:
        return Share(train.accumulate, whole / devices, whole=False)
    return Share(train.accumulate // devices, whole, whole=True)


def training_formula(recipe: Recipe, sizes: Mapping[str, int]) -> Callable[[Work], float] | None:
    """The arithmetic of training a recipe as a function of the work, for a model of these sizes;
    None for a task that has no formula.
    """
    planning = tasks.get(recipe.task).planning
    if planning is None:
        return None
    known = Sizes(sizes.get("inputs", 0), sizes.get("outputs", 0), known=sizes.get("known", 0))
    return lambda work: total_flops(planning.parts(recipe, known, work, False))


def total_flops(parts: Sequence[Part]) -> float:
    return sum(part.flops + part.loss_flops for part in parts)


def batch_seconds(parts: Sequence[Part], device: Device) -> float:
    """Seconds of a forward and backward pass, in the fastest precision of the device: in mixed
    precision the layers run in bfloat16 and the loss in float32.
    """
    pace = CARD_PACE if device.is_card else CPU_PACE
    seconds = 0.0
    for part in parts:
        layers = part.flops / (device.bfloat16 or device.float32)
        loss = part.loss_flops / (device.loss or device.float32)
        seconds += (layers + loss) / pace.share(part.width) + pace.layer_seconds * part.depth
    return seconds


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
    model, learned = 4.0 * parameters, 4.0 * (parameters - num_frozen(recipe))
    width = recipe.model.d_model if sizes.inputs or sizes.outputs else 0  # of a vocabulary's table
    embedding = 4.0 * width * sizes.inputs
    weights, gradients, moments = model, learned, 2 * learned
    if train.optimizer == "rowwise":
        moments = learned / recipe.model.d_model  # one for each row
    # The loss over a vocabulary allocates one more gradient for its weight.
    loss_gradient = 4.0 * width * sizes.outputs
    loss_gradient *= planning_of(recipe).gradient_beside
    gradients += loss_gradient
    if recipe.train.moving_average:
        moments += learned
    if parallel == "fsdp":
        # Embeddings and two blocks are gathered at a time; gradients are whole until the sum.
        whole = embedding + 2 * (model - embedding) / recipe.model.depth
        weights, moments = model / devices + whole, moments / devices
        if share.batches == 1:
            gradients = learned / devices + whole + loss_gradient
    if mixed:
        weights *= 1.5  # a copy in bfloat16
    part = share.batch_tokens / batch_size(train)
    return Memory(weights, gradients, moments, activations(recipe, sizes, part, mixed))


def activations(recipe: Recipe, sizes: Sizes, part: float, mixed: bool) -> float:
    """Bytes that the forward pass keeps of a part of a batch, padding included."""
    planning = planning_of(recipe)
    work = planning.padded_work(recipe, part, sizes)
    kept = sum(each.kept_bytes for each in planning.parts(recipe, sizes, work, mixed))
    return kept + planning.loss_bytes(recipe, sizes, work)
