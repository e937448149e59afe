"""The planning functions of forecasting."""

from typing import Any

from regard.configs.series import SeriesSizes
from regard.configs.series_work import series_part
from regard.configs.work import Part, Work
from regard.data.series_arrays import load_table
from regard.planning.task_planning import DataFacts, Sizes, TaskPlanning
from regard.reporter import Reporter
from regard.run import Run
from regard.tasks import series_data

# Columns of the sine and the cosine of the day, the week and the year, where the data, and so its
# step, is not available.
CALENDAR = {"none": 0, "week": 4, "year": 6}


def facts(recipe: Any, home: Run | None, reporter: Reporter) -> DataFacts:
    """The number of known columns, and of windows to learn from."""
    data = recipe.data
    if home is not None and home.has_data():
        table = load_table(home.training / "data" / series_data.TABLE)
    elif all(path.exists() for path in data.paths("train")):
        reporter.say("Reading the series")
        table = series_data.read_table(data)
    else:
        known = len(data.known) + CALENDAR[data.calendar]
        return DataFacts(Sizes(0, 0, known=known), vocabulary_known=True)
    known = series_data.sizes_of(data, table).known
    windows = series_data.Split.of(table, data).count
    return DataFacts(Sizes(0, 0, known=known), vocabulary_known=True, tokens=float(windows))


def work(recipe: Any, share: float, sizes: Sizes) -> Work:
    windows = recipe.train.batch_size * share
    return Work(windows, windows, 1, 1)


def parts(recipe: Any, sizes: Sizes, work: Work, mixed: bool) -> list[Part]:
    data = recipe.data
    found = SeriesSizes(data.context, data.horizon, sizes.known, data.season)
    return [series_part(recipe.model, found, work.source_tokens, mixed)]


PLANNING = TaskPlanning(
    facts=facts,
    work=work,
    padded_work=work,
    counted_tokens=lambda recipe, work: work.source_tokens,
    examples="windows",
    batch=lambda recipe, windows: f"{windows:,.0f} windows",
    parts=parts,
    has_lengths=False,
)
