"""The time of a training on this machine's processor, estimated without PyTorch."""

import time
from functools import cache

import numpy as np

from regard import tasks
from regard.planning.fleet import Device
from regard.planning.plan import ADAM_BYTES, batch_seconds
from regard.recipe import Recipe
from regard.reporter import SILENT

MEASURED_SECONDS = 0.15
# A cautious guess for any machine: bytes a second that its memory reads and writes.
BANDWIDTH = 10e9


def training_seconds(recipe: Recipe) -> float | None:
    """About how long all updates of a recipe take, validation not counted; None where there is no
    formula for its work. The parameters are those that the arithmetic shows, and the embeddings.
    """
    planning, config = tasks.get(recipe.task).planning, recipe.model
    if planning is None or not hasattr(config, "training_flops"):
        return None
    sizes = planning.facts(recipe, None, SILENT).sizes
    device = Device("this CPU", 0.0, BANDWIDTH, product_rate(), 0.0, 0.0, is_card=False)
    work = planning.work(recipe, 1.0, sizes)
    flops = config.training_flops(sizes.outputs, work)
    batch = batch_seconds(config, sizes.outputs, device, flops, work.target_tokens)
    tokens = max(1.0, work.source_tokens, work.target_tokens)
    parameters = flops / (6 * tokens) + config.d_model * sizes.inputs
    update = recipe.train.accumulate * batch + ADAM_BYTES * parameters / BANDWIDTH
    return float(recipe.train.steps * update)


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
