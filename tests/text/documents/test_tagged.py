"""Segments as texts with numbered tags, and back."""

import json

import pytest

from regard.errors import DataError
from regard.text.documents.document import Code, Segment, Wish
from regard.text.documents.formats import read_document
from regard.text.documents.tagged import from_json, numbered, tagged, to_json, untagged

HTML = b"<p>Click <b>here</b> now<br>or <code>f()</code>.</p>"
SEGMENT = Segment(
    ("a ", Code("open", "x", 70), "b", Code("close", "y", 70), Code("alone", "z", 8)), 1
)


def test_tags_are_numbered_in_each_segment() -> None:
    assert tagged(numbered(SEGMENT).pieces) == "a <1>b</1><2/>"
    likely = Segment(("see <3> ", Code("alone", "z", 8)), 1)
    assert tagged(numbered(likely).pieces) == "see <3> <4/>"


def test_a_translation_goes_back_into_its_document() -> None:
    document = read_document("a.html", HTML, Wish("en", "de"))
    texts = [tagged(numbered(each).pieces) for each in document.segments]
    back = {
        row: untagged(text, segment)
        for row, (text, segment) in enumerate(zip(texts, document.segments, strict=True))
    }
    assert document.write(back) == HTML
    moved = untagged("<1>Hier</1> klicken <x> & weg", document.segments[0])
    assert b"<b>Hier</b> klicken &lt;x&gt; &amp; weg" in document.write({0: moved})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a <1>b</1>", "lacks <2/>"),
        ("<1>b</1><2/><2/>", "has more than once <2/>"),
        ("</1>b<1><2/>", "closes before"),
    ],
)
def test_each_tag_is_in_a_translation_once(text: str, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        untagged(text, SEGMENT)


def test_a_segment_survives_the_page() -> None:
    document = read_document("a.html", HTML, Wish("en", "de"))
    for segment in map(numbered, document.segments):
        again = from_json(json.dumps(to_json(segment)))
        assert tagged(again.pieces) == tagged(segment.pieces)
        assert again.syntaxes == segment.syntaxes
        shown = [each.shown for each in again.pieces if isinstance(each, Code)]
        assert shown == [each.shown for each in segment.pieces if isinstance(each, Code)]


@pytest.mark.parametrize(
    "text",
    [
        "a text",
        "[]",
        '{"pieces": []}',
        '{"pieces": [1], "syntaxes": []}',
        '{"pieces": [["wrong", 1]], "syntaxes": []}',
        '{"pieces": [["open", "1"]], "syntaxes": []}',
        '{"pieces": [["open", 1]], "syntaxes": []}',
        '{"pieces": [["close", 1]], "syntaxes": []}',
        '{"pieces": [["open", 1], ["open", 2], ["close", 1], ["close", 2]], "syntaxes": []}',
        '{"pieces": [], "syntaxes": ["perl"]}',
        '{"pieces": [], "syntaxes": [[]]}',
        "[" * 100_000,
    ],
)
def test_what_is_no_segment_is_refused(text: str) -> None:
    with pytest.raises(DataError, match=r"segment|nest"):
        from_json(text)
