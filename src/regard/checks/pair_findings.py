"""What may be wrong with sentence pairs, one function for each mistake."""

from collections.abc import Iterator

from regard.checks.alignment import Shift
from regard.checks.characters import broken_characters, is_header, quotes
from regard.checks.pair_sample import PairCounts, Pairs, shown
from regard.checks.report import EXAMPLES, Example, Finding, share, spread
from regard.checks.sides import language_findings
from regard.data.pair_filter import LARGEST_DROPPED_SHARE

# Shares of the pairs.
COPIES_WRONG, COPIES_ODD = 0.9, 0.2
DUPLICATES_ODD, DROPPED_ODD = 0.1, 0.05
# A shift is seen some lines after it starts.
AT_AN_END = 12
NUMBERS = {1: "one", 2: "two", 3: "three"}


def findings_of(pairs: Pairs) -> Iterator[Finding]:
    copied = pairs.counts.copies > COPIES_WRONG * pairs.counts.total
    yield from header(pairs)
    yield from copies(pairs.counts)
    yield from numbers(pairs)
    for cells, name in zip(pairs.cells, pairs.names, strict=True):
        yield from quotes(cells, name)
    for number, name in enumerate(pairs.names):
        yield from broken_characters(pairs.side(number), name)
    if not copied:
        yield from language_findings(pairs.languages, pairs.limits.languages, pairs.names)
        yield from alignment(pairs)
    yield from duplicates(pairs.counts)
    yield from dropped(pairs)


def header(pairs: Pairs) -> Iterator[Finding]:
    first = pairs.sample[0]
    if is_header((first.source, first.target)):
        yield Finding(
            "header",
            "warning",
            f"{first.place}: the first line seems to name the columns, and would be learned as a "
            "pair",
            "remove the line",
            (shown(first),),
        )


def copies(counts: PairCounts) -> Iterator[Finding]:
    if counts.copies > COPIES_WRONG * counts.total:
        yield Finding(
            "copies",
            "error",
            f"in {share(counts.copies, counts.total)} pairs source and target are the same",
            "give the translations as the second file or column",
            tuple(counts.first_copies),
        )
    elif counts.copies:
        odd = counts.copies > COPIES_ODD * counts.total
        yield Finding(
            "copies",
            "warning" if odd else "note",
            f"in {share(counts.copies, counts.total)} pairs source and target are the same",
            "remove those that should be translated; the model learns to copy" if odd else "",
            tuple(counts.first_copies),
        )


def numbers(pairs: Pairs) -> Iterator[Finding]:
    sides = [side for side, cells in enumerate(pairs.cells) if cells.are_numbers]
    if len(sides) == 1:
        cells, name = pairs.cells[sides[0]], pairs.names[sides[0]]
        yield Finding(
            "numbers",
            "warning" if pairs.alignment.related else "error",
            f"{name}: {share(cells.numbers, cells.total)} texts are only numbers or ids, as of a "
            "table with more columns",
            "keep the two columns of sentences",
            tuple(cells.first_numbers),
        )


def alignment(pairs: Pairs) -> Iterator[Finding]:
    found = pairs.alignment
    for shift in found.shifts:
        count = abs(shift.offset)
        lines = f"{NUMBERS[count]} line{'s' * (count > 1)}"
        way, where = ("late", "below") if shift.offset > 0 else ("early", "above")
        yield Finding(
            "shift",
            "error",
            f"{extent(shift, pairs)} the target is {lines} {way}: each source belongs "
            f"to the target {lines} {where}",
            "look for a line that is missing or extra "
            + (
                f"near {where_is(pairs, shift.first)}"
                if shift.first > AT_AN_END
                else "at the start"
            ),
            tuple(shift_examples(pairs, shift)),
        )
    if found.unrelated:
        yield Finding(
            "unrelated",
            "error",
            f"the two sides do not fit together: in {found.lines:,} pairs neither lengths nor "
            "names and numbers agree more than by chance",
            "check that both sides have the same order",
            tuple(map(shown, spread(pairs.sample, EXAMPLES))),
        )


def extent(shift: Shift, pairs: Pairs) -> str:
    to_the_end = shift.last + 1 > pairs.counts.total - AT_AN_END
    end = where_is(pairs, shift.last)
    if shift.first <= AT_AN_END:
        return "from the first line on" if to_the_end else f"up to about {end}"
    start = f"from about {where_is(pairs, shift.first)}"
    return f"{start} on" if to_the_end else f"{start} to {end}"


def where_is(pairs: Pairs, number: int) -> str:
    """The line of a pair, or with several corpora its file and line."""
    for start, block in pairs.counts.sample.stretches():
        if start <= number < start + len(block):
            place = block[number - start].place
            line = place.rpartition(":")[2]
            several = len(pairs.files) > 2 or not line.isdecimal()
            return place if several else f"line {int(line):,}"
    return f"line {number + 1:,}"


def shift_examples(pairs: Pairs, shift: Shift) -> Iterator[Example]:
    """Sources of the shifted part with the targets that fit better; long ones are easier to see."""
    for start, block in pairs.counts.sample.stretches():
        if not start <= shift.first < start + len(block):
            continue
        begin = max(shift.first - start, -shift.offset)
        rows = range(begin, min(begin + 40, len(block), len(block) - shift.offset))
        for row in sorted(sorted(rows, key=lambda i: -len(block[i].source))[:EXAMPLES]):
            here, there = block[row], block[row + shift.offset]
            file, _, line = pairs.target_place(there).rpartition(":")
            same = here.place.startswith(f"{file}:")
            place = f"{here.place} with {'line ' if same else f'{file}:'}{line}"
            yield Example(place, (here.source, there.target))


def duplicates(counts: PairCounts) -> Iterator[Finding]:
    if not counts.duplicates:
        return
    odd = counts.duplicates > DUPLICATES_ODD * counts.total
    yield Finding(
        "duplicates",
        "warning" if odd else "note",
        f"{share(counts.duplicates, counts.total)} pairs occur earlier in the data",
        "keep one of each, unless they should count more" if odd else "",
        tuple(counts.first_duplicates),
    )


def dropped(pairs: Pairs) -> Iterator[Finding]:
    found = pairs.filtered
    missing = found.total - found.kept
    if not missing:
        return
    odd = missing > DROPPED_ODD * found.total
    refused = missing > LARGEST_DROPPED_SHARE * found.total
    reasons = ", ".join(f"{entry.count:,} {entry.reason}" for entry in found.dropped)
    places = {place for entry in found.dropped for place in entry.places}
    yield Finding(
        "dropped",
        "error" if refused else "warning" if odd else "note",
        f"training would drop about {share(missing, found.total)} pairs: {reasons}",
        "check that the two sides belong together, or set data.max_length and data.max_ratio"
        if odd
        else "",
        tuple(shown(pair) for pair in pairs.sample if pair.place in places)[:EXAMPLES],
    )
