"""regard forecast: what comes next in series, and how sure that is."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from regard.cli.options import AsJson, Device
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.tasks.forecast import Forecast

# Series whose steps are printed, and steps of each, if there are more.
MOST_SERIES, MOST_STEPS = 5, 60


def forecast(
    run: Path,
    /,
    *,
    series: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    only: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    levels: str = "50,80,95",
    picture: Path | None = None,
    csv: Path | None = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Forecast what comes next in series, with intervals.

    Without --series, the data that the run learned from is continued. Each line has the time, the
    median, and the lower and upper end of each interval, with tabs between them.

    Parameters
    ----------
    run
        A run folder of a forecaster.
    series
        Newer data, in tables like those that it learned from.
    only
        Names of series, where not all are wanted.
    levels
        The intervals, in percent.
    picture
        Draw the past and the forecast to this file: .png, .svg or .pdf.
    csv
        Write all forecasts to this file: a row for each series and step.
    as_json
        Print one JSON object per line: the times, means, medians and intervals of a series.
    """
    from regard.cli.checks import check_inputs, check_outputs, check_picture, open_run
    from regard.cli.display import results, say
    from regard.files import replacing
    from regard.tasks.forecast import facts

    percents = levels_of(levels)
    check_picture(picture)
    check_outputs(csv)
    check_inputs(*series)
    forecaster = open_run(run, "forecast").load(device)
    table = forecaster.table(list(series) or None)
    for remark in table.remarks if series else ():
        say(remark)
    found = forecaster.forecast(table, only)
    found = found if isinstance(found, list) else [found]
    if as_json:
        for each in found:
            results(json.dumps(facts(each, percents), ensure_ascii=False))
    else:
        show(found, percents)
    if csv is not None:
        write_csv(found, percents, csv)
        say(f"Wrote {csv}")
    if picture is not None:
        from regard.inspect.series_drawing import save_fans

        with replacing(picture) as temporary:
            save_fans(found, percents, temporary)
        say(f"Wrote {picture}")


def levels_of(text: str) -> list[float]:
    """50,80,95"""
    try:
        found = sorted({float(each) for each in text.split(",")})
    except ValueError:
        found = []
    if not found or not all(0 < each < 100 for each in found):
        raise UsageError(f"--levels {text}: give percentages like 50,80,95")
    return found


def show(found: "Sequence[Forecast]", percents: Sequence[float]) -> None:
    from regard.cli.display import results, say
    from regard.evaluate.forecasts import number

    heads = [f"{end} {percent:g} %" for percent in percents for end in ("low", "high")]
    for each in found[:MOST_SERIES]:
        results("\t".join((each.name, "median", *heads)))
        ends = [end for percent in percents for end in each.interval(percent)]
        for step, time in enumerate(each.times[:MOST_STEPS]):
            values = (each.median[step], *(end[step] for end in ends))
            results("\t".join((time, *map(number, values))))
        if len(each.times) > MOST_STEPS:
            say(f"{len(each.times) - MOST_STEPS:,} more steps; --csv and --json have all of them")
    if len(found) > MOST_SERIES:
        say(f"{len(found) - MOST_SERIES:,} more series; --csv and --json have all of them")


def write_csv(found: "Sequence[Forecast]", percents: Sequence[float], path: Path) -> None:
    from regard.files import write_file

    text = io.StringIO()
    rows = [row for each in found for row in each.rows(percents)]
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_file(path, text.getvalue().encode())
