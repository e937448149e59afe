"""What is protected in a text, and what is prose."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.marks import Mark, MarkedText, Syntax
from regard.text.protect import protect
from regard.text.sentences import split


def marks(text: str, *syntaxes: Syntax) -> list[str]:
    return [mark.text for mark in protect(text, *syntaxes).marks]


@pytest.mark.parametrize(
    "text",
    [
        *("100 % sure", "{ and }", "$5 or $10", "5% of all", "100%discount", "a < b > c"),
        *("50%off", "e.g. this", "an [X] here", "a<b and c>d", "I am me@home", "~{x y}~"),
    ],
)
def test_prose_has_no_marks(text: str) -> None:
    assert marks(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s of %d files", ["%s", "%d"]),
        ("%1$s has %2$d", ["%1$s", "%2$d"]),
        ("Hello %(name)s!", ["%(name)s"]),
        ("%@ and %ld", ["%@", "%ld"]),
        ('"%1" has changed', ["%1"]),
        ("{0}, {name} and {user.name!r:>10}", ["{0}", "{name}", "{user.name!r:>10}"]),
        ("{{ user }} said {{x}}", ["{{ user }}", "{{x}}"]),
        ("$var$ and ${x}", ["$var$", "${x}"]),
        ("See https://a.example/b?c=%s.", ["https://a.example/b?c=%s"]),
        ("Write to me@mail.example.", ["me@mail.example"]),
        ("Run `make all` now", ["`make all`"]),
        ("Click [X12X] or [X3X ]", ["[X12X]", "[X3X ]"]),
        ("<b>Bold</b> and <0>link</0><br/>", ["<b>", "</b>", "<0>", "</0>", "<br/>"]),
        ("{n, plural, one {# file} other {# files}}", None),
    ],
)
def test_placeholders_are_found_in_any_text(text: str, expected: list[str] | None) -> None:
    assert marks(text) == (expected or [text])
    assert str(protect(text)) == text


def test_html_reads_entities_and_writes_them_again() -> None:
    found = protect('<a href="x">Tom &amp; <b>Jerry</b></a> &lt;3 <code>a</code>', "html")
    assert found.plain == "Tom & Jerry <3"
    assert str(found) == '<a href="x">Tom &amp; <b>Jerry</b></a> &lt;3 <code>a</code>'
    assert [mark.kind for mark in found.marks] == ["open", "open", "close", "close", "alone"]


def test_the_plain_text_has_one_space_between_words() -> None:
    assert protect("<b>Hello </b> big<br>world").plain == "Hello big world"
    assert protect("f<b>o</b>o").plain == "foo"
    assert protect("a%sb %s c").plain == "a b c"


def test_sentences_keep_their_marks_and_joined_they_are_the_text() -> None:
    text = protect("<b>Hello.</b> See %s. <i>It works</i>.\nBye", "html", "text")
    found = split(text, "en")
    assert [str(each) for each in found] == [
        *("<b>Hello.</b> ", "See %s. ", "<i>It works</i>.\n", "Bye"),
    ]


ANY = st.text(alphabet="ab <>/{}%$sd.&;'\"`[X1]\n(", max_size=60)


@given(ANY)
def test_any_text_is_the_text_of_its_parts(text: str) -> None:
    found = protect(text)
    assert str(found) == text
    assert "".join(str(each) for each in split(found, "en")) == text


@given(ANY)
def test_markup_stays_the_same_when_it_is_read_again(text: str) -> None:
    once = str(protect(text, "html"))
    assert str(protect(once, "html")) == once
    assert Counter(marks(once, "html")) == Counter(marks(text, "html"))


def test_parts_given_by_hand() -> None:
    text = MarkedText(
        ("Hello ", Mark("**", "open", "strong"), "world", Mark("**", "close", "strong"))
    )
    assert (str(text), text.plain) == ("Hello **world**", "Hello world")
