"""The work of models that forecast and of word vectors, against what PyTorch counts and autograd
keeps.
"""

from dataclasses import replace
from typing import Any

import pytest
import torch

from regard import objectives
from regard.configs.series import (
    SeriesLinearConfig,
    SeriesRecurrentConfig,
    SeriesSizes,
    SeriesTransformerConfig,
)
from regard.configs.series_work import HEADS, patches_of, series_part
from regard.configs.word_vectors import NEGATIVES, CbowConfig, SkipGramConfig, block_length
from regard.configs.work import Work
from regard.data.series_windows import SeriesBatch
from regard.data.word_pairs import WordBatch
from regard.layers.distributions import DISTRIBUTIONS
from regard.models.series import build_forecaster
from regard.models.word_vectors import WordVectorsModel
from regard.planning.fleet import find_fleet
from regard.planning.plan import batch_seconds, make_plan
from regard.planning.task_planning import Sizes
from regard.recipe import parse
from tests.configs.test_image_work import counting, keeping

WINDOWS = 16
STACK = {"num_layers": 2, "d_model": 24, "d_ff": 40, "num_heads": 2, "patch_size": 6}
LAYERS = {"num_layers": 2, "d_model": 24, "patch_size": 6}
# The horizon is no multiple of a patch.
SIZES = [SeriesSizes(48, 20, 3, 12), SeriesSizes(96, 47, 0, 24)]
EXACT = [
    *(SeriesLinearConfig(head=head) for head in HEADS),
    *(SeriesTransformerConfig(**STACK, head=head) for head in HEADS),
    SeriesTransformerConfig(**STACK, forecast="paths", dropout=0.0),
    SeriesTransformerConfig(**STACK, activation="swiglu"),
]
RECURRENT = [
    SeriesRecurrentConfig(**LAYERS, cell=cell, forecast=way)
    for cell in ("rnn", "gru", "lstm")
    for way in ("direct", "paths")
]


def batch(sizes: SeriesSizes) -> SeriesBatch:
    past, future = (torch.randn(WINDOWS, steps) for steps in (sizes.context, sizes.horizon))
    known = torch.randn(WINDOWS, sizes.context + sizes.horizon, sizes.known)
    return SeriesBatch(past, future, known)


def shown(config: Any) -> str:
    return str(config.summary())


def test_heads_are_as_large_as_those_of_the_layers() -> None:
    assert {name: each.size for name, each in DISTRIBUTIONS.items()} == HEADS


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("config", EXACT, ids=shown)
def test_the_work_of_a_forecaster_is_what_pytorch_counts(config: Any, sizes: SeriesSizes) -> None:
    model = build_forecaster(config, sizes)
    with counting() as counter:
        objectives.forecast(model, batch(sizes)).total.backward()
    assert series_part(config, sizes, WINDOWS, mixed=False).flops == counter.get_total_flops()


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("config", RECURRENT, ids=shown)
def test_a_recurrent_forecaster_meets_each_weight_once_a_patch(
    config: Any, sizes: SeriesSizes
) -> None:
    """PyTorch does not count what is inside of an LSTM."""
    model: Any = build_forecaster(config, sizes)
    found = patches_of(config, sizes)
    first = model.embedding.projection.weight.numel()
    inner = sum(each.numel() for each in model.stack.parameters() if each.dim() == 2)
    each = found.read * (4 * first + 6 * inner)
    each += found.predicted * 6 * model.output.weight.numel()
    if config.forecast == "direct":
        each += 4 * model.linear.weight.numel()
    assert series_part(config, sizes, WINDOWS, mixed=False).flops == WINDOWS * each


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("config", [*EXACT, *RECURRENT], ids=shown)
def test_a_forecaster_keeps_about_what_the_rule_says(config: Any, sizes: SeriesSizes) -> None:
    model = build_forecaster(config, sizes).train()
    with keeping(model) as kept:
        objectives.forecast(model, batch(sizes))
    told = series_part(config, sizes, WINDOWS, mixed=False).kept_bytes
    assert told == pytest.approx(sum(kept.values()), rel=0.25 if config in RECURRENT else 0.06)


LARGE = {"d_model": 128, "d_ff": 256, "num_heads": 8, "patch_size": 16}


@pytest.mark.parametrize(
    ("config", "sizes", "windows", "seconds"),
    [
        (SeriesLinearConfig(), (336, 96, 0, 24), 128, 0.0065),
        (SeriesLinearConfig(head="quantiles"), (336, 48, 6, 48), 128, 0.0081),
        (SeriesLinearConfig(), (720, 96, 4, 24), 512, 0.0439),
        (SeriesTransformerConfig(), (336, 96, 4, 24), 128, 0.0767),
        (SeriesTransformerConfig(**LARGE), (336, 96, 4, 24), 128, 0.2166),
        (SeriesTransformerConfig(num_layers=2, patch_size=8), (168, 48, 6, 24), 64, 0.0402),
        (SeriesTransformerConfig(forecast="paths"), (336, 48, 6, 48), 128, 0.0870),
        (SeriesRecurrentConfig(), (336, 96, 4, 24), 128, 0.0473),
        (SeriesRecurrentConfig(cell="lstm", patch_size=12), (336, 96, 4, 24), 128, 0.0833),
        (SeriesRecurrentConfig(num_layers=2, d_model=256), (336, 96, 4, 24), 128, 0.1870),
    ],
)
def test_speeds_of_forecasters_measured_on_a_cpu_are_met(
    config: Any, sizes: tuple[int, ...], windows: int, seconds: float
) -> None:
    """A core of 120 GFLOP/s, the other half of which was busy; the windows are cut as well."""
    device = replace(find_fleet("P100").device, float32=120e9, is_card=False)
    part = series_part(config, SeriesSizes(*sizes), windows, mixed=False)
    assert batch_seconds([part], device) == pytest.approx(seconds, rel=0.25)


def words(window: int, groups: int = 3) -> WordBatch:
    length = block_length(window)
    rows = 256 // length
    near = torch.rand(groups, rows, length, length) < 0.2
    ids = torch.randint(0, 50, (groups, rows, length))
    return WordBatch(ids, near, torch.randint(0, 50, (groups, NEGATIVES)), ids.numel())


@pytest.mark.parametrize("window", [5, 10])
@pytest.mark.parametrize("config", [SkipGramConfig(d_model=32), CbowConfig(d_model=128)], ids=shown)
def test_word_vectors_work_and_keep_what_the_formula_says(config: Any, window: int) -> None:
    model, given = WordVectorsModel(config, 50), words(window)
    work = Work(given.words.numel(), 0, block_length(window), 0)
    with counting() as counter:
        objectives.word_neighbours(model, given, 5.0).total.backward()
    assert config.training_flops(0, work) == counter.get_total_flops()
    with keeping(model) as kept:
        objectives.word_neighbours(model, given, 5.0)
    assert config.activation_bytes(work) == pytest.approx(sum(kept.values()), rel=0.1)


def test_one_moment_for_each_row_takes_little_memory() -> None:
    values = {"task": "word-vectors", "data": {"train": ["a.txt"]}, "model": {"d_model": 100}}
    sizes = Sizes(5000, 5000)
    rows, adam = (
        make_plan(
            parse({**values, "train": {"optimizer": each}}, "test"), find_fleet("P100"), sizes
        )
        for each in ("rowwise", "adam")
    )
    assert rows.parameters == 2 * 5000 * 100
    assert rows.memory.moments == 4 * 2 * 5000
    assert adam.memory.moments == 8 * rows.parameters
