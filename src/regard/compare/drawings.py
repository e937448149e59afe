"""Drawings inside a page: curves by length and alignment matrices, in the page's own colours.

Lengths are in pixels of the drawing; a narrow page scales it down.
"""

from html import escape

from regard.compare.measure import Comparison
from regard.compare.table import ceiling
from regard.evaluate.scores import Metric
from regard.tasks.translation.looking import Alignment

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 14, 44
CELL = 24
LETTER = 7.2  # the approximate width of a letter at 12 pixels
COLOURS = 6
# A dot, a triangle, a square, a diamond.
CORNERS: tuple[tuple[tuple[int, int], ...], ...] = (
    (),
    ((0, -5), (5, 4), (-5, 4)),
    ((-4, -4), (4, -4), (4, 4), (-4, 4)),
    ((0, -6), (5, 0), (0, 6), (-5, 0)),
)


def colour(number: int) -> str:
    return f"var(--c{number % COLOURS})"


def mark(number: int, x: float, y: float) -> str:
    """The mark of a run, with its own shape and colour, so that either is enough to know it."""
    style = f'style="fill: {colour(number)}"'
    corners = CORNERS[number % len(CORNERS)]
    if not corners:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {style}/>'
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{points}" {style}/>'


def curves(comparison: Comparison, metric: Metric) -> str:
    """The scores of one metric against the length of the source in words, a line for each run."""
    top = ceiling(value for run in comparison.runs for value in run.by_length[metric])
    longest = max(each.longest_words for each in comparison.bins)
    across = (WIDTH - LEFT - RIGHT) / longest
    up = (HEIGHT - TOP - BOTTOM) / top
    base = HEIGHT - BOTTOM
    parts = []
    for level in range(0, int(top) + 1, 20 if top > 50 else 10):
        y = base - level * up
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(
            f'<text class="quiet" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{level}</text>'
        )
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 10**9) if longest <= 8 * step)
    for words in range(0, longest + 1, step):
        x = LEFT + words * across
        parts.append(
            f'<text class="quiet" x="{x:.1f}" y="{base + 18}" text-anchor="middle">{words}</text>'
        )
    middle = f'x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle"'
    parts.append(f'<text class="quiet" {middle}>words of the source</text>')
    for number, run in enumerate(comparison.runs):
        points = [
            (LEFT + each.mean_words * across, base - value * up)
            for each, value in zip(comparison.bins, run.by_length[metric], strict=True)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline class="curve" points="{path}" style="stroke: {colour(number)}"/>')
        parts += [mark(number, x, y) for x, y in points]
    return svg(WIDTH, HEIGHT, f"{metric} against source length", parts)


def matrix(alignment: Alignment, title: str) -> str:
    """A row for each target word; the darker a cell, the more attention."""
    sources, targets = alignment.source_words, alignment.target_words
    left = max(map(len, targets), default=0) * LETTER + 10
    top = max(map(len, sources), default=0) * LETTER + 10
    width, height = left + CELL * len(sources), top + CELL * len(targets)
    parts = []
    for column, word in enumerate(sources):
        x = left + CELL * (column + 0.5) + 4
        turned = f'transform="rotate(-90 {x:.1f} {top - 6:.1f})"'
        parts.append(f'<text x="{x:.1f}" y="{top - 6:.1f}" {turned}>{escape(word)}</text>')
    for line, (word, weights) in enumerate(zip(targets, alignment.weights, strict=True)):
        y = top + CELL * line
        parts.append(
            f'<text x="{left - 6:.1f}" y="{y + 16:.1f}" text-anchor="end">{escape(word)}</text>'
        )
        parts += [
            f'<rect class="cell" x="{left + CELL * column:.1f}" y="{y:.1f}" width="{CELL}" '
            f'height="{CELL}" fill-opacity="{min(1.0, weight):.3f}"/>'
            for column, weight in enumerate(weights)
            if weight > 0.005
        ]
    frame = f'width="{CELL * len(sources)}" height="{CELL * len(targets)}"'
    parts.append(f'<rect class="frame" x="{left:.1f}" y="{top:.1f}" {frame}/>')
    return svg(width, height, title, parts)


def svg(width: float, height: float, title: str, parts: list[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
