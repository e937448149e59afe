"""Checks of series: what cannot be learned, what is odd, and columns that leak the target."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from regard.checks.report import Example, Fact, Finding, Report, name_of, share, spread, unreadable
from regard.checks.series_findings import Lengths, Looked, findings_of, number
from regard.data.series import SeriesTable
from regard.errors import DataError

SAMPLES = 3


def check_series(
    files: Sequence[object], read: Callable[[], SeriesTable], lengths: Lengths | None = None
) -> Report:
    """Look at a table of series."""
    named = tuple(map(str, files))
    try:
        table = read()
    except DataError as error:
        return unreadable("series", named, error)
    looked = Looked(table, lengths or Lengths(), name_of(named))
    remarks = [Finding("reading", "note", remark) for remark in table.remarks]
    findings = (*remarks, *findings_of(looked))
    return Report("series", named, tuple(facts_of(looked)), findings, tuple(samples_of(table)))


def facts_of(looked: Looked) -> Iterator[Fact]:
    table = looked.table
    series, total = table.series, looked.total
    lengths = [len(each) for each in series]
    each_of = f"{min(lengths):,} to {max(lengths):,} values each"
    if len(series) == 1:
        yield Fact("series", f"1 ({series[0].name}), {total:,} values", 1)
    else:
        yield Fact("series", f"{len(series):,}, {each_of}", len(series))
    yield Fact("values", f"{total:,}", total)
    zone = f" in {table.clock.zone}" if table.clock.zone else ""
    step = f"{table.clock.step}{zone}" if table.has_times else "rows, since there are no times"
    yield Fact("step", step, str(table.clock.step))
    if table.has_times:
        first = min(series, key=lambda each: each.start)
        ending = max(looked.some, key=lambda each: int(table.times(each)[-1]))
        begin = table.clock.labels(first.start, 1)[0]
        end = table.clock.labels(ending.start, len(ending))[-1]
        yield Fact("times", f"from {begin} to {end}", [begin, end])
    count = sum(each.missing for each in series)
    yield Fact("missing", share(count, total), count)
    yield Fact("season", looked.season.why, looked.season.length)
    low, middle, high = np.nanquantile(
        np.concatenate([each.values for each in looked.some]), [0.0, 0.5, 1.0]
    )
    yield Fact(
        "range",
        f"from {number(low)} to {number(high)}, typically {number(middle)}",
        [float(low), float(middle), float(high)],
    )
    if table.known_names:
        least = min(each.future for each in series)
        text = f"{', '.join(table.known_names)}; {least:,} steps after the last value"
        yield Fact("known", text, list(table.known_names))


def samples_of(table: SeriesTable) -> Iterator[Example]:
    for series in spread(table.series, SAMPLES):
        values = ", ".join(map(number, series.values[:6])) + (", …" if len(series) > 6 else "")
        start = table.clock.labels(series.start, 1)[0]
        yield Example(f"{series.name} from {start}", (values,))
