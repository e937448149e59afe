"""Checks of images with a label each."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.checks.labelled import label_findings, labels_fact
from regard.checks.report import (
    EXAMPLES,
    Example,
    Fact,
    Finding,
    Report,
    few,
    name_of,
    share,
    spread,
    unreadable,
)
from regard.data.image_cache import MOST_UNREADABLE, digest_of
from regard.data.image_files import TEST, VALID, ImageList
from regard.data.images import check_format, decode
from regard.errors import DataError

# Images that are read; if there are more, this many of them, evenly spread.
LOOKED_AT = 2000
# Of these all pixels are decoded, to see sizes and damage.
DECODED = 300
DUPLICATES_ODD, OVERLAP_ODD = 0.1, 0.01
SAMPLES = 5


@dataclass
class SeenImages:
    """What a look at some images has found."""

    sides: list[tuple[int, int]] = field(default_factory=list)  # height, width
    decoded: int = 0
    problems: list[Example] = field(default_factory=list)
    numbers: dict[int, list[int]] = field(default_factory=dict)  # by a hash of the content

    @classmethod
    def of(cls, images: ImageList) -> "SeenImages":
        found = cls()
        looked_at = spread(range(len(images)), LOOKED_AT)
        closely = {*spread(looked_at, DECODED)}
        for number in looked_at:
            name = images.names[number]
            try:
                source = images.read(number)
                if isinstance(source, bytes):
                    check_format(source, name)
                if number in closely:
                    found.decoded += 1
                    pixels = decode(source, name, 3) if isinstance(source, bytes) else source
                    found.sides.append((pixels.shape[0], pixels.shape[1]))
                found.numbers.setdefault(digest_of(source), []).append(number)
            except DataError as error:
                found.problems.append(Example(name, (str(error),)))
        return found

    @property
    def looked_at(self) -> int:
        return sum(map(len, self.numbers.values())) + len(self.problems)


def check_images(files: Sequence[object], read: Callable[[], ImageList]) -> Report:
    """Look at images with a label each."""
    named = tuple(map(str, files))
    try:
        images = read()
        seen = SeenImages.of(images)
    except DataError as error:
        return unreadable("images", named, error)
    findings = [
        *(Finding("reading", "note", remark) for remark in images.remarks),
        *few(len(images), "images"),
        *label_findings(Counter(filter(None, images.labels)), len(images), name_of(named)),
        *damaged(seen),
        *copies(images, seen),
    ]
    facts = tuple(facts_of(images, seen))
    chosen = spread(range(len(images)), SAMPLES)
    samples = tuple(Example(images.names[each], (images.labels[each],)) for each in chosen)
    return Report("images", named, facts, tuple(findings), samples)


def damaged(seen: SeenImages) -> Iterator[Finding]:
    if not seen.problems:
        return
    many = len(seen.problems) > MOST_UNREADABLE * seen.looked_at
    yield Finding(
        "damaged",
        "error" if many else "warning",
        f"{share(len(seen.problems), seen.looked_at)} images that were looked at cannot be read",
        "replace or remove them" if many else "they would be left out",
        tuple(seen.problems[:EXAMPLES]),
    )


def copies(images: ImageList, seen: SeenImages) -> Iterator[Finding]:
    """Images that occur several times: with other labels, and on both sides of a split."""
    several = [numbers for numbers in seen.numbers.values() if len(numbers) > 1]
    if not several:
        return
    conflicts = [
        each for each in several if images.labels and len({images.labels[i] for i in each}) > 1
    ]
    extra = sum(len(each) - 1 for each in several)
    odd = extra > DUPLICATES_ODD * seen.looked_at
    yield Finding(
        "duplicates",
        "warning" if odd else "note",
        f"{share(extra, seen.looked_at)} images occur earlier in the data",
        "keep one of each, unless they should count more" if odd else "",
        shown(images, several),
    )
    if conflicts:
        yield Finding(
            "conflicts",
            "warning",
            f"{len(conflicts):,} images occur with different labels",
            "decide on one label for each",
            shown(images, conflicts),
        )
    both = [each for each in several if len({side(images, i) for i in each}) > 1]
    if both:
        odd = len(both) > OVERLAP_ODD * seen.looked_at
        yield Finding(
            "overlap",
            "warning" if odd else "note",
            f"{share(len(both), seen.looked_at)} images are in the training data and in the "
            "validation or test data; training leaves them out",
            "remove them from one of the two" if odd else "",
            shown(images, both),
        )


def side(images: ImageList, number: int) -> str:
    split = images.splits[number] if images.splits else ""
    return split if split in (VALID, TEST) else ""


def shown(images: ImageList, groups: list[list[int]]) -> tuple[Example, ...]:
    return tuple(
        Example(images.names[each[0]], tuple(images.names[i] for i in each[1:3]))
        for each in groups[:EXAMPLES]
    )


def facts_of(images: ImageList, seen: SeenImages) -> Iterator[Fact]:
    yield from image_facts(images, seen)
    yield labels_fact(Counter(filter(None, images.labels)))
    yield from pixel_facts(seen)


def image_facts(images: ImageList, seen: SeenImages) -> Iterator[Fact]:
    """How many images there are, and what for."""
    count = len(images)
    closely = "" if seen.looked_at == count else f"; {seen.looked_at:,} of them were looked at"
    yield Fact("images", f"{count:,}{closely}", count)
    if images.splits:
        parts = Counter(each or "train" for each in images.splits)
        words = ", ".join(f"{name} {number:,}" for name, number in parts.items())
        yield Fact("divided", words, dict(parts))


def pixel_facts(seen: SeenImages) -> Iterator[Fact]:
    if not seen.sides:
        return
    heights, widths = np.array(seen.sides).T
    middle = int(np.median(widths)), int(np.median(heights))
    smallest = int(np.minimum(heights, widths).min())
    largest = int(np.maximum(heights, widths).max())
    yield Fact(
        "pixels",
        f"typically {middle[0]} × {middle[1]}, sides from {smallest} to {largest}",
        {"width": middle[0], "height": middle[1], "least": smallest, "most": largest},
    )
