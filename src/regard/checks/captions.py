"""Checks of images with captions."""

from collections.abc import Callable, Iterator, Sequence

from regard.checks.caption_findings import findings_of
from regard.checks.caption_sample import Captions
from regard.checks.images import SeenImages, copies, damaged, image_facts, pixel_facts
from regard.checks.report import Fact, Finding, Report, few, name_of, spread, unreadable
from regard.data.captions import CaptionList
from regard.errors import DataError

SAMPLES = 5


def check_captions(
    files: Sequence[object], read: Callable[[], CaptionList], max_length: int = 50
) -> Report:
    """Look at images with captions. `max_length` is the most pieces of one to learn from."""
    named = tuple(map(str, files))
    try:
        found = read()
        seen = SeenImages.of(found.images)
    except DataError as error:
        return unreadable("captions", named, error)
    captions = Captions(found, seen, name_of(named[-1:]), max_length)
    findings = [
        *(Finding("reading", "note", remark) for remark in found.images.remarks),
        *(Finding("reading", "note", each) for each in found.remarks if "data.caption" in each),
        *few(captions.with_captions, "captioned images"),
        *findings_of(captions),
        *damaged(seen),
        *copies(captions.images, seen),
    ]
    samples = tuple(map(captions.example, spread(found.captions, SAMPLES)))
    return Report("captions", named, tuple(facts_of(captions)), tuple(findings), samples)


def facts_of(captions: Captions) -> Iterator[Fact]:
    yield from image_facts(captions.images, captions.seen)
    total, owners = captions.total, captions.with_captions
    yield Fact("captions", f"{total:,}, {total / owners:.1f} an image that has any", total)
    words = [each.text.count(" ") + 1 for each in captions.found.captions]
    mean = sum(words) / total
    yield Fact("words", f"{mean:.1f} on average, {max(words)} at most", round(mean, 2))
    yield Fact("language", str(captions.languages), captions.languages.main)
    yield from pixel_facts(captions.seen)
