"""Fans of series: as many charts as series, and times that can be read."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from regard.data.steps import Clock, Step
from regard.evaluate.series import LEVELS, Forecasts, scores_of
from regard.inspect.series_drawing import fans
from regard.tasks.forecast import Forecast

HORIZON, PAST = 12, 48


def forecast(name: str) -> Forecast:
    """A walk of hours in a zone, whose times are as long as times can be."""
    labels = Clock(Step.parse("1h"), "Europe/Berlin").labels(0, PAST + HORIZON)
    middle = np.zeros((1, HORIZON))
    found = Forecasts(middle, middle[..., None] + scores_of(LEVELS))
    return Forecast(
        name,
        labels[PAST:],
        np.arange(HORIZON),
        found,
        naive=middle[0],
        samples=middle,
        past=np.random.default_rng(1).normal(size=PAST),
        past_times=labels[:PAST],
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 9])
def test_each_series_has_a_chart_whose_times_do_not_overlap(count: int) -> None:
    figure = fans([forecast(f"series {number}") for number in range(count)], (50, 80, 95))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    charts = [axes for axes in figure.axes if axes.axison]
    assert len(charts) == min(count, 6)
    for axes in charts:
        boxes = [each.get_window_extent() for each in axes.get_xticklabels()]
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
        assert axes.get_xticklabels()[-1].get_text() == "1970-01-03 12:00+01:00"
