"""The time of a training on this machine's processor, estimated without PyTorch."""

import time
from functools import cache

import numpy as np

from regard import tasks
from regard.configs.parameters import num_frozen, num_parameters
from regard.planning.fleet import Device
from regard.planning.plan import ADAM_BYTES, batch_seconds
from regard.recipe import Recipe
from regard.reporter import SILENT

MEASURED_SECONDS = 0.15
# A cautious guess for any machine: bytes a second that its memory reads and writes.
BANDWIDTH = 10e9


def training_seconds(recipe: Recipe) -> float | None:
    """About how long all updates of a recipe take, validation not counted; None where there is no
    formula for its work.
    """
    planning = tasks.get(recipe.task).planning
    if planning is None:
        return None
    sizes = planning.facts(recipe, None, SILENT).sizes
    device = Device("this CPU", 0.0, BANDWIDTH, product_rate(), 0.0, 0.0, is_card=False)
    parts = planning.parts(recipe, sizes, planning.work(recipe, 1.0, sizes), False)
    learned = num_parameters(recipe, sizes.of_model()) - num_frozen(recipe)
    update = recipe.train.accumulate * batch_seconds(parts, device)
    return float(recipe.train.steps * (update + ADAM_BYTES * learned / BANDWIDTH))


@cache
def product_rate() -> float:
    """FLOP/s of a feed-forward layer's product, the best of several."""
    rows = np.ones((2048, 512), np.float32)
    weight = np.ones((512, 2048), np.float32)
    product = rows @ weight
    best, until = float("inf"), time.perf_counter() + MEASURED_SECONDS
    while time.perf_counter() < until or best == float("inf"):
        started = time.perf_counter()
        np.matmul(rows, weight, out=product)
        best = min(best, time.perf_counter() - started)
    return 2.0 * rows.size * weight.shape[1] / best
