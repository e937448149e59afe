"""What must hold of every model of series: nothing of the future leaks, missing values are masked,
steps equal the whole, and each learns what can be known.
"""

from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from regard.configs.series import (
    SeriesLinearConfig,
    SeriesRecurrentConfig,
    SeriesSizes,
    SeriesTransformerConfig,
)
from regard.data.series_windows import LaidOut, SeriesBatch, Windows, scale_of
from regard.decode.paths import draw_paths
from regard.evaluate.forecasts import forecast_windows
from regard.layers.distributions import DISTRIBUTIONS
from regard.models.series import build_forecaster
from regard.objectives import forecast

SMALL = {"d_model": 16, "num_layers": 2, "dropout": 0.0, "patch_size": 4}
BLOCKS = {**SMALL, "d_ff": 24, "num_heads": 2}
SIZES = SeriesSizes(context=24, horizon=10, known=3, season=6)
CONFIGS: dict[str, Any] = {
    "linear": SeriesLinearConfig(),
    "linear quantiles": SeriesLinearConfig(head="quantiles"),
    "rnn": SeriesRecurrentConfig(**SMALL, cell="rnn"),
    "lstm": SeriesRecurrentConfig(**SMALL, cell="lstm", head="quantiles"),
    "gru paths": SeriesRecurrentConfig(**SMALL, forecast="paths"),
    "lstm paths of single steps": SeriesRecurrentConfig(
        **{**SMALL, "patch_size": 1}, cell="lstm", forecast="paths", head="gaussian"
    ),
    "transformer": SeriesTransformerConfig(**BLOCKS),
    "transformer paths": SeriesTransformerConfig(**BLOCKS, forecast="paths", head="quantiles"),
}
each_model = pytest.mark.parametrize("name", list(CONFIGS))
each_direct = pytest.mark.parametrize("name", [name for name in CONFIGS if "paths" not in name])
each_with_paths = pytest.mark.parametrize("name", [name for name in CONFIGS if "paths" in name])


def build(name: str, sizes: SeriesSizes = SIZES) -> Any:
    torch.manual_seed(5)
    model = build_forecaster(CONFIGS[name], sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.2)
    return model.eval()


def batch(rows: int = 3, sizes: SeriesSizes = SIZES, seed: int = 0) -> SeriesBatch:
    torch.manual_seed(seed)
    past, future = torch.randn(rows, sizes.context), torch.randn(rows, sizes.horizon)
    return SeriesBatch(past, future, torch.randn(rows, sizes.context + sizes.horizon, sizes.known))


@each_direct
@torch.no_grad()
def test_there_are_parameters_for_every_step(name: str) -> None:
    model, given = build(name), batch()
    found = model(given.past, given.known)
    assert found.shape == (3, SIZES.horizon, DISTRIBUTIONS[model.config.head].size)


@each_model
@torch.no_grad()
def test_a_missing_value_is_not_a_number_to_the_model(name: str) -> None:
    """Whatever stood there, the loss is finite and the same; a missing past is not a zero."""
    model, given = build(name), batch()
    for hole in (3, SIZES.context - 1):
        given.past[:, hole] = torch.nan
    given.future[:, 2] = torch.nan
    given.known[0, 5] = torch.nan
    loss = forecast(model, given)
    assert torch.isfinite(loss.total)
    if name.startswith("linear"):
        return  # a missing value is the scale's centre to a linear map
    zero = given._replace(past=given.past.nan_to_num(0.0))
    assert abs(float(loss.total - forecast(model, zero).total)) > 1e-4


@each_model
def test_missing_futures_have_no_gradient(name: str) -> None:
    model, given = build(name), batch()
    future = given.future.clone()
    future[:, 4:] = torch.nan
    given = given._replace(past=torch.full_like(given.past, torch.nan), future=future)
    given.past[:, -1] = 0.5
    forecast(model, given).total.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@each_model
@torch.no_grad()
def test_rows_do_not_know_of_each_other(name: str) -> None:
    model, given = build(name), batch()
    whole, _ = model.predicted(given)
    alone, _ = model.predicted(SeriesBatch(*(each[1:2] for each in given)))
    assert_close(alone, whole[1:2], rtol=0, atol=1e-5)


@each_with_paths
@torch.no_grad()
def test_steps_are_the_whole(name: str) -> None:
    """Fed with what came, each step says of the next patch what training compared with it."""
    model, given = build(name), batch()
    size = model.config.patch_size
    expected, _ = model.predicted(given)
    state = model.start(given.past, given.known)
    values, found = given.past[:, -size:], []
    for place in range(0, SIZES.horizon, size):
        parameters, state = model.step(values, state)
        found.append(parameters)
        values = given.future[:, place : place + size]
    first = SIZES.context - size
    assert_close(
        torch.cat(found, 1)[:, : SIZES.horizon],
        expected[:, first : first + SIZES.horizon],
        rtol=0,
        atol=1e-5,
    )


@each_with_paths
@torch.no_grad()
def test_nothing_of_the_future_is_in_the_past(name: str) -> None:
    model, given = build(name), batch()
    size = model.config.patch_size
    before, _ = model.predicted(given)
    changed = given._replace(future=given.future + 1)
    after, _ = model.predicted(changed)
    assert torch.equal(before[:, : SIZES.context], after[:, : SIZES.context])
    if SIZES.horizon > size:
        assert not torch.equal(before, after)


@each_with_paths
@torch.no_grad()
def test_a_state_can_be_selected(name: str) -> None:
    model, given = build(name), batch()
    size = model.config.patch_size
    rows = torch.tensor([2, 2, 0])
    last = given.past[:, -size:]
    plain, _ = model.step(last, model.start(given.past, given.known))
    chosen = model.start(given.past, given.known).select(rows)
    found, _ = model.step(last[rows], chosen)
    assert_close(found, plain[rows], rtol=0, atol=1e-5)


@each_with_paths
@torch.no_grad()
def test_paths_follow_what_is_certain(name: str) -> None:
    """With draws that are the mean, all paths of a window are the same, and those of windows
    differ.
    """
    model, given = build(name), batch()
    mean = DISTRIBUTIONS[model.config.head].mean
    size = model.config.patch_size
    state = model.start(given.past, given.known)
    found = draw_paths(model.step, state, given.past[:, -size:], mean, 3, 5)
    assert found.shape == (3, 5, 3 * size)
    assert_close(found, found[:, :1].expand_as(found), rtol=0, atol=1e-5)
    assert not torch.allclose(found[0], found[1])


@each_direct
@torch.no_grad()
def test_known_columns_count_in_past_and_future(name: str) -> None:
    model, given = build(name), batch()
    if name.startswith("linear"):
        model.explained.fill_(0.3)
    before = model(given.past, given.known)
    for step in (2, SIZES.context + 3):
        known = given.known.clone()
        known[:, step] += 1
        assert not torch.allclose(model(given.past, known), before)


def test_a_new_linear_model_is_the_mean_of_all_seasons() -> None:
    model = build_forecaster(SeriesLinearConfig(), SIZES).eval()
    given = batch()
    centre = model(given.past, given.known)[..., 0]
    season = given.past.view(3, -1, SIZES.season).mean(1)
    assert_close(centre, season.repeat(1, 2)[:, : SIZES.horizon])


def test_a_linear_model_is_fitted_before_it_learns() -> None:
    """A future that is a linear map of the past is halfway known without any update."""
    torch.manual_seed(0)
    sizes = SIZES._replace(known=0)
    past, true = torch.randn(4000, 24), 0.2 * torch.randn(24, 10)
    given = SeriesBatch(past, past @ true + 0.05 * torch.randn(4000, 10), torch.zeros(4000, 34, 0))
    model = build_forecaster(SeriesLinearConfig(), sizes)
    losses, errors = [], []
    for _ in range(2):
        with torch.no_grad():
            losses.append(float(forecast(model, given).total))
            errors.append(float((model(past, given.known)[..., 0] - past @ true).square().mean()))
        model.initialise(given, [SeriesBatch(*(each[i::2] for each in given)) for i in range(2)])
    assert losses[1] < losses[0]
    assert errors[1] < 0.3 * errors[0]


@each_direct
@torch.no_grad()
def test_every_direct_model_starts_from_the_same_linear_map(name: str) -> None:
    given, other = batch(400), batch(400, seed=1)
    linear, model = (build_forecaster(CONFIGS[each], SIZES) for each in ("linear", name))
    for each in (linear, model):
        each.eval().initialise(given, [given, other])
    found, expected = (
        DISTRIBUTIONS[each.config.head].mean(each(given.past, given.known))
        for each in (model, linear)
    )
    away = found - expected
    assert away.std(0).max() < 1e-5  # for each step, what is fitted to the middle of errors


def series_that_repeats(length: int = 400) -> Windows:
    """A season of 6 that grows, and a known column that adds to it."""
    random = np.random.default_rng(0)
    steps = np.arange(length)
    effect = random.integers(0, 2, length).astype(float)
    values = 5 * np.sin(2 * np.pi * steps / 6) + 0.02 * steps + 3 * effect
    known = np.stack((effect, np.zeros(length), np.zeros(length)), 1)
    laid = LaidOut.of([(values, known)], SIZES.context, SIZES.horizon)
    places = laid.places(np.array([SIZES.context]), np.array([length - SIZES.horizon]))
    return Windows(laid, places, "standard")


@each_model
def test_each_model_learns_a_season_and_a_known_effect(name: str) -> None:
    torch.manual_seed(1)
    windows = series_that_repeats()
    model = build_forecaster(CONFIGS[name], SIZES)
    sample = windows.batch(np.arange(0, len(windows), 7))
    model.initialise(sample, [sample])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    random = np.random.default_rng(0)
    for _ in range(400):
        loss = forecast(model, windows.batch(random.integers(len(windows), size=32)))
        optimizer.zero_grad()
        (loss.total / loss.count).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    given, scale, future = windows.scaled(np.arange(0, len(windows), 15))
    found = forecast_windows(model.eval(), given, scale, paths=30)
    error = np.abs(found.median - future).mean()
    season = windows.series.slices(windows.places[::15])[0][:, 18:24]
    naive = np.abs(np.tile(season, 2)[:, :10] - future).mean()
    assert error < 0.5 * naive


def test_scales_leave_what_is_missing_out() -> None:
    past = np.array([[1.0, np.nan, 3.0, np.nan], [7.0, 7.0, 7.0, 7.0], [0.0, 0.0, np.nan, 0.0]])
    standard, last, absolute = (
        scale_of(past, scaling) for scaling in ("standard", "last", "absolute")
    )
    assert standard.centre.tolist() == [2, 7, 0]
    assert standard.width[0] == 1
    assert last.centre.tolist() == [3, 7, 0]
    assert absolute.centre.tolist() == [0, 0, 0]
    assert absolute.width.tolist() == [2, 7, 1]
    for scale in (standard, last, absolute):
        assert (scale.width > 0).all()
        np.testing.assert_allclose(scale.undo(scale.apply(past)), past)


def test_a_window_far_from_zero_keeps_its_digits() -> None:
    values = 1e12 + np.sin(np.arange(60.0))
    laid = LaidOut.of([(values, np.zeros((60, 0)))], 24, 10)
    windows = Windows(laid, laid.places(np.array([24]), np.array([50])), "standard")
    given, scale, future = windows.scaled(np.array([0]))
    np.testing.assert_allclose(scale.undo(given.future.double().numpy()), future, atol=1e-3)


def test_windows_without_any_value_on_a_side_are_left_out() -> None:
    values = np.full(100, np.nan)
    values[:10] = 1.0
    values[60:70] = 2.0
    laid = LaidOut.of([(values, np.zeros((100, 0))), (np.ones(50), np.zeros((50, 0)))], 24, 10)
    places = laid.places(np.array([1, 1]), np.array([90, 40]))
    own = places[places[:, 0] == 0, 1]
    assert own.min() == 1
    assert all(any(start <= s < start + 10 for s in (*range(10), *range(60, 70))) for start in own)
    assert all(any(start - 24 <= s < start for s in (*range(10), *range(60, 70))) for start in own)
    assert len(places[places[:, 0] == 1]) == 40


def test_places_are_counted_from_the_last_one() -> None:
    laid = LaidOut.of([(np.ones(50), np.zeros((50, 0)))], 8, 4)
    assert laid.places(np.array([8]), np.array([46]), every=10)[:, 1].tolist() == [16, 26, 36, 46]


def test_a_window_is_a_slice_of_its_series() -> None:
    first, second = np.arange(30.0), 100 + np.arange(20.0)
    known = np.arange(24.0)[:, None]
    laid = LaidOut.of([(first, np.zeros((30, 1))), (second, known)], 8, 4)
    values, columns = laid.slices(np.array([[0, 3], [1, 16], [1, 20]]))
    assert values[0].tolist()[:5] == pytest.approx([np.nan] * 5, nan_ok=True)
    assert values[0].tolist()[5:] == [0, 1, 2, 3, 4, 5, 6]
    assert values[1].tolist() == list(range(108, 120))
    assert values[2].tolist()[:8] == list(range(112, 120))
    assert np.isnan(values[2][8:]).all()
    assert columns[2, :, 0].tolist() == list(range(12, 24))
