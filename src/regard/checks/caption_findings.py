"""What may be wrong with images and captions."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from regard.checks.caption_order import CaptionOrder, Row
from regard.checks.caption_sample import Captions
from regard.checks.characters import Cells, broken_characters, quotes
from regard.checks.report import EXAMPLES, Example, Finding, share
from regard.checks.sides import other_languages
from regard.data.image_files import SPLITS, TRAIN
from regard.data.image_formats import READ_ENDINGS
from regard.data.image_names import without_ending

MISSING_ODD, WITHOUT_ODD, DUPLICATES_ODD = 0.1, 0.5, 0.1
OTHER_SPLIT_ODD = 0.5
# One caption for more than this share of the images, and for this many, says little of any.
SAME_CAPTION, LEAST_SAME = 0.2, 30
# Fewer different captions than this share of the images, and each of few words, are labels.
FEW_CAPTIONS, LABEL_WORDS = 0.02, 3
NAMES_WRONG, MARKUP_ODD, LONG_ODD, LONG_WRONG = 0.5, 0.02, 0.05, 1 / 3
# Fewer captions than this are not judged as a whole.
LEAST_CAPTIONS = 20
PIECES_OF_WORD = 1.3

MARKUP = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>|&(?:[a-z]{2,8}|#\d{2,6});")
COLUMN = "set data.caption to the name or number of the captions' column"


def findings_of(captions: Captions) -> Iterator[Finding]:
    yield from what_is_missing(captions)
    yield from wrong_column(captions)
    yield from out_of_step(captions)
    yield from repeated(captions)
    yield from characters(captions)
    yield from too_long(captions)
    yield from other_splits(captions)


def what_is_missing(captions: Captions) -> Iterator[Finding]:
    """Captions without an image, images without a caption, and captions without a word."""
    left_out, name = captions.found.left_out, captions.name
    if missing := left_out.missing:
        named = len(missing) + captions.with_captions
        odd = len(missing) > MISSING_ODD * named
        yield Finding(
            "missing-images",
            "warning" if odd else "note",
            f"{name}: {share(len(missing), named)} images that it names are not there, so their "
            "captions are left out",
            "check that all images are in the folder, and how the names are written" if odd else "",
            tuple(Example(name, (each,)) for each in missing[:EXAMPLES]),
        )
    if without := left_out.without:
        count = len(captions.images)
        odd = len(without) > WITHOUT_ODD * count
        yield Finding(
            "without-caption",
            "warning" if odd else "note",
            f"{share(len(without), count)} images have no caption, so they are left out",
            "check that this is the right file of captions" if odd else "",
            tuple(Example(each, ()) for each in without[:EXAMPLES]),
        )
    if empty := left_out.empty:
        yield Finding(
            "empty",
            "warning",
            f"{name}: {share(len(empty), len(empty) + captions.total)} captions are empty, so they "
            "are left out",
            "write them, or remove the lines",
            tuple(Example(each, ()) for each in empty[:EXAMPLES]),
        )


def wrong_column(captions: Captions) -> Iterator[Finding]:
    """Captions that are names of files, numbers or labels: the file has other columns."""
    sample, name = captions.sample, captions.name
    names = [each for each in sample if is_file_name(each.text, captions.images.names[each.image])]
    cells = Cells()
    for each in sample:
        cells.add(each.text, each.place)
    judged = captions.total >= LEAST_CAPTIONS
    if names:
        wrong = len(names) > NAMES_WRONG * len(sample)
        yield Finding(
            "file-names",
            "error" if wrong else "warning",
            f"{name}: {share(len(names), len(sample))} captions are names of files",
            COLUMN if wrong else "write what is to be seen, or remove the lines",
            tuple(map(captions.example, names[:EXAMPLES])),
        )
    elif cells.are_numbers and judged:
        yield Finding(
            "numbers",
            "error",
            f"{name}: {share(cells.numbers, cells.total)} captions are only numbers or ids",
            COLUMN,
            tuple(cells.first_numbers),
        )
    elif judged:
        yield from labels(captions)
    yield from quotes(cells, name)


def is_file_name(text: str, image: str) -> bool:
    """Whether a caption is the name of a file, or that of its own image without the ending."""
    last = PurePosixPath(image).name
    if text in (image, last) or (text.lower().endswith(READ_ENDINGS) and " " not in text):
        return True
    own = without_ending(last)
    return text == own and any(each.isdigit() or each in "_-" for each in own)


def labels(captions: Captions) -> Iterator[Finding]:
    """Few different captions of a word or two, each for many images."""
    counts = Counter(each.text for each in captions.found.captions)
    short = sum(count for text, count in counts.items() if len(text.split()) <= LABEL_WORDS)
    if len(counts) > max(2, FEW_CAPTIONS * captions.with_captions) or short < captions.total:
        return
    shown = ", ".join(text for text, _ in counts.most_common(EXAMPLES))
    yield Finding(
        "labels",
        "warning",
        f"{captions.name}: {captions.with_captions:,} images have {len(counts):,} different "
        f"captions, as short as labels: {shown}{', …' * (len(counts) > EXAMPLES)}",
        "give the file with --labelled to train a classifier; or " + COLUMN,
    )


def out_of_step(captions: Captions) -> Iterator[Finding]:
    """Captions beside the wrong images, as far as the words show it."""
    rows = captions.sample
    names = captions.images.names
    order = CaptionOrder(
        [Row(each.image, PurePosixPath(names[each.image]).stem, each.text) for each in rows]
    )
    if shift := order.shift():
        count, first = abs(shift.offset), rows[shift.first]
        late = "late" if shift.offset < 0 else "early"
        whole = shift.first <= len(rows) // 50
        start = "from the first row on" if whole else f"from about {first.place} on"
        yield Finding(
            "shift",
            "error",
            f"{start} captions and images are out of step: by their words, the captions of an "
            f"image begin {count} row{'s' * (count > 1)} {late}",
            "look for a row that is missing or extra "
            + ("at the start" if whole else f"near {first.place}")
            + ", in one column only",
            tuple(map(captions.example, rows[shift.first : shift.first + EXAMPLES])),
        )
    elif order.unrelated():
        yield Finding(
            "unrelated",
            "warning",
            f"{captions.name}: captions of the same image have no more words in common than "
            "captions of different images",
            "check that captions and images have the same order",
            tuple(map(captions.example, rows[:EXAMPLES])),
        )


def repeated(captions: Captions) -> Iterator[Finding]:
    """The same caption again for an image, or for very many images."""
    found, total = captions.found, captions.total
    owners: dict[str, set[int]] = {}
    again = []
    for each in found.captions:
        known = owners.setdefault(each.text, set())
        if each.image in known:
            again.append(each)
        known.add(each.image)
    if again:
        odd = len(again) > DUPLICATES_ODD * total
        yield Finding(
            "duplicates",
            "warning" if odd else "note",
            f"{share(len(again), total)} captions occur earlier for the same image",
            "keep one of each" if odd else "",
            tuple(map(captions.example, again[:EXAMPLES])),
        )
    text, images = max(owners.items(), key=lambda each: len(each[1]))
    if len(images) > max(LEAST_SAME, SAME_CAPTION * captions.with_captions):
        yield Finding(
            "same-caption",
            "warning",
            f"{captions.name}: {share(len(images), captions.with_captions)} images have the "
            f"caption {text!r}",
            "a model learns to say it of all; write what is to be seen, or remove the lines",
        )


def characters(captions: Captions) -> Iterator[Finding]:
    """Signs in the text that it was saved or exported wrongly, and other languages."""
    lines = [(each.text, each.place) for each in captions.sample]
    yield from broken_characters(lines, captions.name)
    yield from other_languages(captions.languages, captions.name)
    marked = [each for each in captions.sample if MARKUP.search(each.text)]
    if len(marked) > MARKUP_ODD * len(lines):
        yield Finding(
            "markup",
            "warning",
            f"{captions.name}: {share(len(marked), len(lines))} captions have tags or entities of "
            "HTML, which would be learned",
            "remove the markup",
            tuple(map(captions.example, marked[:EXAMPLES])),
        )


def too_long(captions: Captions) -> Iterator[Finding]:
    most = captions.max_length / PIECES_OF_WORD
    long = [each for each in captions.found.captions if each.text.count(" ") + 1 > most]
    if not long:
        return
    odd = len(long) > LONG_ODD * captions.total
    yield Finding(
        "dropped",
        "error" if len(long) > LONG_WRONG * captions.total else "warning" if odd else "note",
        f"training would leave out about {share(len(long), captions.total)} captions, which have "
        f"more than {captions.max_length} pieces",
        "set data.max_length, or shorten them" if odd else "",
        tuple(map(captions.example, long[:EXAMPLES])),
    )


def other_splits(captions: Captions) -> Iterator[Finding]:
    """Values of the column `split` that mean nothing to a training."""
    splits = captions.images.splits
    others = Counter(each for each in splits if each and each not in SPLITS)
    if splits and not {"", TRAIN} & {*splits}:
        known = ", ".join(sorted({*splits})[:EXAMPLES])
        yield Finding(
            "splits",
            "error",
            f"no image is of the split train, so there is nothing to learn from; there are {known}",
            "write train for the images to learn from, or leave the column out",
        )
        return
    if not others:
        return
    count = others.total()
    odd = count > OTHER_SPLIT_ODD * len(splits)
    names = ", ".join(f"{name} ({number:,})" for name, number in others.most_common(EXAMPLES))
    yield Finding(
        "splits",
        "warning" if odd else "note",
        f"{share(count, len(splits))} images are of other splits than train, valid and test, so "
        f"they are left out: {names}{', …' * (len(others) > EXAMPLES)}",
        "write train, valid or test, or leave the column out" if odd else "",
    )
