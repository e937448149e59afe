"""Drawn shapes with their names: images to learn from that need no download.

Each image has one shape of some colour, size and place, turned by some angle, among short lines
that are no shape, with noise over all of it. What an image is follows from its number alone.
"""

from dataclasses import dataclass
from math import cos, pi, sin
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from regard.data.image_files import TEST, TRAIN, VALID, ImageList
from regard.data.images import Pixels

SIZE = 32
# Shapes are drawn this many times larger, and their edges are smooth when they are made smaller.
LARGER = 4
COUNTS = {TRAIN: 8000, VALID: 500, TEST: 1000}
NOISE = 6.0
Point = tuple[float, float]


def polygon(corners: int, inner: float = 1.0) -> list[Point]:
    """Corners on a circle of radius 1; every other one may be nearer to its middle."""
    return [
        (
            (1.0 if corner % 2 == 0 else inner) * sin(2 * pi * corner / corners),
            -(1.0 if corner % 2 == 0 else inner) * cos(2 * pi * corner / corners),
        )
        for corner in range(corners)
    ]


def cross(arm: float = 0.32) -> list[Point]:
    quarter: list[Point] = [(arm, -arm), (arm, -1), (-arm, -1)]
    points, turned = [], quarter
    for _ in range(4):
        points += turned
        turned = [(y, -x) for x, y in turned]
    return points


def heart() -> list[Point]:
    turns = (2 * pi * each / 40 for each in range(40))
    return [
        (
            sin(t) ** 3,
            -(13 * cos(t) - 5 * cos(2 * t) - 2 * cos(3 * t) - cos(4 * t)) / 16,
        )
        for t in turns
    ]


def moon() -> list[Point]:
    """Between the outer half of a circle, and an arc that is less bent."""
    outer = [(-sin(pi * t / 20), -cos(pi * t / 20)) for t in range(21)]
    inner = [(0.35 * x, y) for x, y in reversed(outer)]
    return [(x + 0.5, y) for x, y in outer + inner]


def circle() -> list[Point]:
    return polygon(48)


# Each is one outline, or two: the second is cut out.
OUTLINES: dict[str, tuple[list[Point], ...]] = {
    "circle": (circle(),),
    "cross": (cross(),),
    "heart": (heart(),),
    "moon": (moon(),),
    "ring": (circle(), [(0.58 * x, 0.58 * y) for x, y in circle()]),
    "square": ([(0.8 * x, 0.8 * y) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))],),
    "star": (polygon(10, inner=0.42),),
    "triangle": (polygon(3),),
}
LABELS = tuple(OUTLINES)


@dataclass(frozen=True, slots=True)
class Shape:
    """An image, by its number: the shapes take turns."""

    number: int

    @property
    def label(self) -> str:
        return LABELS[self.number % len(LABELS)]

    def read(self) -> Pixels:
        return draw(self.label, self.number)

    def stamp(self) -> str:
        return "drawn 1"  # another number when the drawing changes


def shapes() -> ImageList:
    """All images, each for learning, validation or a test."""
    splits = [name for name, count in COUNTS.items() for _ in range(count)]
    drawn = [Shape(number) for number in range(len(splits))]
    return ImageList(
        names=[f"{each.label} {each.number}" for each in drawn],
        entries=list(drawn),
        labels=[each.label for each in drawn],
        splits=splits,
    )


def save_examples(folder: Path) -> dict[str, Path]:
    """Write an image of each shape that no model has learned from; the file of each label."""
    folder.mkdir(parents=True, exist_ok=True)
    first = COUNTS[TRAIN] + COUNTS[VALID]
    found = {}
    for number in range(first, first + len(LABELS)):
        shape = Shape(number)
        found[shape.label] = folder / f"{shape.label}.png"
        Image.fromarray(shape.read()).save(found[shape.label])
    return found


def draw(label: str, seed: int) -> Pixels:
    """An image of this shape, [SIZE, SIZE, 3]; the same for the same seed."""
    random = np.random.default_rng((7, seed))
    ground, ink = two_colours(random)
    side = SIZE * LARGER
    image = Image.new("RGB", (side, side), ground)
    pen = ImageDraw.Draw(image)
    for _ in range(int(random.integers(1, 4))):
        stroke(pen, random, side)
    radius = random.uniform(0.22, 0.38) * side
    middle = random.uniform(radius, side - radius, 2)
    angle = random.uniform(0, 2 * pi)
    outer, *cut = (placed(each, middle, radius, angle) for each in OUTLINES[label])
    pen.polygon(outer, fill=ink)
    for each in cut:
        pen.polygon(each, fill=ground)
    small = image.resize((SIZE, SIZE), Image.Resampling.BOX)
    noisy = np.asarray(small, np.float64) + random.normal(0, NOISE, (SIZE, SIZE, 3))
    return noisy.round().clip(0, 255).astype(np.uint8)


def two_colours(random: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A dark colour for the ground, and a light one for the shape."""
    ground, ink = random.integers(10, 90, 3), random.integers(110, 256, 3)
    return tuple(map(int, ground)), tuple(map(int, ink))


def stroke(pen: ImageDraw.ImageDraw, random: np.random.Generator, side: int) -> None:
    """A short line that belongs to no shape."""
    start = random.uniform(0, side, 2)
    angle, length = random.uniform(0, 2 * pi), random.uniform(0.08, 0.2) * side
    end = start + length * np.array([cos(angle), sin(angle)])
    colour = tuple(map(int, random.integers(60, 200, 3)))
    pen.line([*start.tolist(), *end.tolist()], fill=colour, width=LARGER + LARGER // 2)


def placed(
    outline: list[Point], middle: NDArray[np.float64], radius: float, angle: float
) -> list[Point]:
    x, y = middle
    return [
        (
            float(x + radius * (a * cos(angle) - b * sin(angle))),
            float(y + radius * (a * sin(angle) + b * cos(angle))),
        )
        for a, b in outline
    ]
