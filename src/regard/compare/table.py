"""A comparison as plain text: the table, which differences are real, and scores by length."""

import math
from collections.abc import Iterable, Sequence

from regard.compare.measure import Comparison, Measured
from regard.evaluate.scores import Score
from regard.evaluate.significance import LEVEL, SHUFFLES_A_RESAMPLE

MARKS = "●▲■◆○△□◇"
HEIGHT = 11


def interval(score: Score) -> str:
    if score.low is None or score.high is None:
        return f"{score.value:.1f}"
    return f"{score.value:.1f} [{score.low:.1f}, {score.high:.1f}]"


def clock(seconds: float | None) -> str:
    """A time as text: 43 s, 2:05 min, 3:05 h."""
    if seconds is None:
        return "–"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes}:{rest:02d} min"
    return f"{minutes // 60}:{minutes % 60:02d} h"


def thousands(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def rows(comparison: Comparison) -> list[list[str]]:
    """The head and a row for each run."""
    head = ["run", "parameters", "tokens/s", "training", *comparison.metrics]
    return [head, *(row(run) for run in comparison.runs)]


def row(run: Measured) -> list[str]:
    return [
        run.name,
        thousands(run.parameters),
        thousands(run.tokens_per_second),
        clock(run.training_seconds),
        *(interval(score) for score in run.scores),
    ]


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Align columns with spaces: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]


def differences(comparison: Comparison) -> list[str]:
    """A line for each run but the first: its name and, for each metric, difference and verdict."""
    others = comparison.runs[1:]
    width = max(len(run.name) for run in others)
    return [
        "  ".join(
            [
                run.name.ljust(width),
                *(f"{each.metric} {each.value:+.1f}, {each.verdict()}" for each in run.differences),
            ]
        )
        for run in others
    ]


def how_tested(resamples: int) -> str:
    return (
        f"Real: p below {LEVEL} both by paired bootstrap ({resamples:,} resamples) and by paired "
        f"approximate randomisation ({SHUFFLES_A_RESAMPLE * resamples:,} shuffles); "
        "p is the larger of the two."
    )


def text(comparison: Comparison, resamples: int) -> str:
    lines = [f"{comparison.test}: {comparison.sentences:,} sentences", ""]
    lines += aligned(rows(comparison))
    if len(comparison.runs) > 1:
        lines += ["", f"Against {comparison.runs[0].name}:"]
        lines += [f"  {line}" for line in differences(comparison)]
        lines += [f"  {how_tested(resamples)}"]
    if comparison.bins:
        lines += ["", *plot(comparison)]
    return "\n".join(lines)


def plot(comparison: Comparison) -> list[str]:
    """The first curve against the source length, drawn in characters; later runs cover earlier."""
    metric = comparison.curves[0]
    curves = [run.by_length[metric] for run in comparison.runs]
    labels = [each.label for each in comparison.bins]
    width = max(map(len, labels)) + 2
    top = ceiling(value for curve in curves for value in curve)
    cells = [[" "] * (width * len(labels)) for _ in range(HEIGHT)]
    for mark, curve in zip(cycled(len(curves)), curves, strict=True):
        for place, value in enumerate(curve):
            level = round((1 - value / top) * (HEIGHT - 1))
            cells[level][place * width + width // 2] = mark
    lines = [f"{metric} by words of the source"]
    for level, line in enumerate(cells):
        height = top * (1 - level / (HEIGHT - 1))
        lines.append(f"{height:6.0f} ┤{''.join(line)}".rstrip())
    lines.append("       └" + "─" * (width * len(labels)))
    lines.append(f"{'words':>7} " + "".join(label.center(width) for label in labels).rstrip())
    counts = (f"{len(each.rows):,}" for each in comparison.bins)
    lines.append(f"{'lines':>7} " + "".join(count.center(width) for count in counts).rstrip())
    names = (run.name for run in comparison.runs)
    lines += [
        f"        {mark} {name}" for mark, name in zip(cycled(len(curves)), names, strict=True)
    ]
    return lines


def cycled(count: int) -> str:
    return "".join(MARKS[number % len(MARKS)] for number in range(count))


def ceiling(scores: Iterable[float]) -> float:
    """The round score just above all scores. Rounding can put a perfect one slightly above 100."""
    return min(100.0, max(10.0, 10.0 * math.ceil(max(scores) / 10)))
