"""Marks are put back into any translation: none lost, none invented, nesting valid."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.text.marks import Mark, MarkedText
from regard.text.projection import Source, project
from regard.text.protect import protect
from regard.text.units import linked, units

NAMES = ("a", "b", "i")


@st.composite
def nested(draw: st.DrawFn, depth: int = 3) -> list[str | Mark]:
    """Words, pairs of tags around such, tags that are alone and placeholders."""
    parts: list[str | Mark] = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["words", "pair", "alone", "word"]))
        if kind == "pair" and depth:
            name = draw(st.sampled_from(NAMES))
            inside = draw(nested(depth - 1))
            parts += [Mark(f"<{name}>", "open", name), *inside, Mark(f"</{name}>", "close", name)]
        elif kind == "alone":
            parts.append(Mark("<br/>", "alone", "br"))
        elif kind == "word":
            parts.append(Mark(draw(st.sampled_from(["%s", "%d"])), word=True, ordered=True))
        else:
            parts.append(draw(st.sampled_from([" one", "two ", " three, four ", ".", " "])))
    return parts


LOOSE = st.lists(
    st.sampled_from(
        [
            *(Mark(f"<{name}>", "open", name) for name in NAMES),
            *(Mark(f"</{name}>", "close", name) for name in NAMES),
            *(Mark("<br/>", "alone", "br"), "one ", "two", " three."),
        ]
    ),
    max_size=12,
)


def placed(parts: list[str | Mark], output: str, seed: int, kind: str) -> list[str | Mark]:
    marked = MarkedText(()).with_parts(parts)
    layout = marked.layout()
    found = units(layout.text)
    places = [sum(unit.end <= start for unit in found) for start, _ in layout.spans]
    source = Source(marked, found, places, frozenset())
    target = units(output)
    shape = len(target), len(found)
    draw = np.random.default_rng(seed)
    weights = {
        "random": draw.random(shape) ** 8,
        "none": None,
        "zero": np.zeros(shape),
        "first": np.eye(1, shape[1], 0).repeat(shape[0], 0) if shape[1] else np.zeros(shape),
        "back": np.fliplr(np.eye(*shape)),
    }[kind]
    return project(source, output, target, linked(found, target, weights))


def is_nested(parts: list[str | Mark]) -> bool:
    open_names: list[str] = []
    for part in parts:
        if isinstance(part, Mark) and part.kind == "open":
            open_names.append(part.name)
        elif isinstance(part, Mark) and part.kind == "close":
            if open_names[-1:] != [part.name]:
                return False
            open_names.pop()
    return not open_names


OUTPUT = st.text(alphabet="xyz ,.", max_size=20)
KIND = st.sampled_from(["random", "none", "zero", "first", "back"])


def same_but_for_spaces(parts: list[str | Mark], output: str) -> bool:
    text = "".join(part for part in parts if isinstance(part, str))
    return re.sub(r"\s", "", text) == re.sub(r"\s", "", output)


@settings(max_examples=300)
@given(nested(), OUTPUT, st.integers(0, 9), KIND)
def test_any_links_keep_every_mark_and_the_nesting(
    parts: list[str | Mark], output: str, seed: int, kind: str
) -> None:
    found = placed(parts, output, seed, kind)
    before = [part for part in parts if isinstance(part, Mark)]
    after = [part for part in found if isinstance(part, Mark)]
    assert Counter(after) == Counter(before)
    assert is_nested(found)
    assert same_but_for_spaces(found, output)
    assert [m for m in after if m.ordered] == [m for m in before if m.ordered]


@settings(max_examples=300)
@given(LOOSE, OUTPUT, st.integers(0, 9), KIND)
def test_tags_that_are_no_pairs_stay_as_valid_as_they_were(
    parts: list[str | Mark], output: str, seed: int, kind: str
) -> None:
    """Sentences of one paragraph may share a pair; the halves stay in an order that closes."""
    found = placed(parts, output, seed, kind)
    assert Counter(p for p in found if isinstance(p, Mark)) == Counter(
        p for p in parts if isinstance(p, Mark)
    )
    assert same_but_for_spaces(found, output)
    assert balance(found) == balance(parts)


def test_tags_that_cross_keep_their_order() -> None:
    names = ("/a", "a", "/b", "/a")
    marks = [
        Mark(f"<{name}>", "close" if name[0] == "/" else "open", name.lstrip("/")) for name in names
    ]
    found = placed(["one ", *marks, "one "], "x", 0, "none")
    assert [part for part in found if isinstance(part, Mark)] == marks


def balance(parts: list[str | Mark]) -> tuple[list[str], list[str]]:
    """The names that are closed without having been opened, and those that stay open."""
    closed: list[str] = []
    opened: list[str] = []
    for part in parts:
        if isinstance(part, Mark) and part.kind == "open":
            opened.append(part.name)
        elif isinstance(part, Mark) and part.kind == "close":
            if part.name in opened:
                del opened[len(opened) - 1 - opened[::-1].index(part.name)]
            else:
                closed.append(part.name)
    return closed, opened


def by_words(text: str, output: str, links: list[tuple[int, int]]) -> str:
    """The output with the tags of a text; links are (output word, source word)."""
    from regard.text.protect import protect

    marked = protect(text, "html")
    layout = marked.layout()
    found, target = units(layout.text), units(output)
    places = [sum(unit.end <= start for unit in found) for start, _ in layout.spans]
    weights = np.zeros((len(target), len(found)))
    for row, column in links:
        weights[row, column] = 1.0
    parts = project(
        Source(marked, found, places, frozenset()), output, target, linked(found, target, weights)
    )
    return str(marked.with_parts(parts))


def test_tags_follow_their_words() -> None:
    text = "The <b>red</b> <i>car</i>, here."
    links = [(0, 0), (1, 2), (2, 1), (3, 3), (4, 4), (5, 5)]
    assert by_words(text, "La voiture rouge, ici.", links) == "La <i>voiture</i> <b>rouge</b>, ici."


def test_a_tag_around_everything_stays_around_everything() -> None:
    assert by_words("<p>Hi <b>you</b>!</p>", "Na du!", [(0, 0), (1, 1)]) == "<p>Na <b>du</b>!</p>"


def test_punctuation_is_inside_where_it_was_inside() -> None:
    assert by_words("<b>Stop!</b> Go.", "Halt! Los.", [(0, 0), (2, 2)]) == "<b>Halt!</b> Los."
    assert by_words("<b>Stop</b>! Go.", "Halt! Los.", [(0, 0), (2, 2)]) == "<b>Halt</b>! Los."


def test_many_marks_keep_their_order() -> None:
    text = "<b>one</b> " * 200
    found = by_words(text, "eins " * 200, [])
    assert re.findall("<[^>]*>", found) == ["<b>", "</b>"] * 200


@pytest.mark.parametrize(
    ("source", "output", "written"),
    [
        ("Show %ss", "zeigen", "zeigen %s"),
        ("%ss are shown", "werden gezeigt", "%s werden gezeigt"),
        ("{n}px wide", "px breit", "{n}px breit"),  # as in the source
        ("page %2/%3", "Seite", "Seite %2 %3"),
        ("page %s%s", "Seite", "Seite %s%s"),
        ("%1-file", "Datei", "%1 Datei"),
        ("(%s) here", "hier", "%s hier"),
    ],
)
def test_a_placeholder_touches_a_word_only_where_it_touched_the_same(
    source: str, output: str, written: str
) -> None:
    marked = protect(source)
    layout = marked.layout()
    found = units(layout.text)
    places = [sum(unit.end <= start for unit in found) for start, _ in layout.spans]
    given = Source(marked, found, places, frozenset())
    target = units(output)
    weights = np.zeros((len(target), len(found)))
    for row in range(len(target)):
        weights[row, min(row, len(found) - 1)] = 1.0
    parts = project(given, output, target, linked(found, target, weights))
    text = "".join(each if isinstance(each, str) else each.text for each in parts)
    assert sorted(text.split()) == sorted(written.split()), text
