"""A text comes apart into sentences and goes together again; markup stays as it is."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.translation.languages import NAMES, name
from regard.serve.translation.markup import html
from regard.serve.translation.placeholders import kept, marked
from regard.serve.translation.splitting import Document, plain


def unchanged(document: Document, language: str = "en") -> str:
    return document.fill(document.sentences, language)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two!", ["One.", "Two!"]),
        ("Mr. Smith sleeps. He snores.", ["Mr. Smith sleeps.", "He snores."]),
        ("  One.\n\n\tTwo.  ", ["One.", "Two."]),
        ("😀 — 🎉", []),
        ("", []),
        ("no full stop", ["no full stop"]),
        ("3.14 is pi.", ["3.14 is pi."]),
    ],
)
def test_sentences_are_found_and_what_is_between_them_stays(
    text: str, sentences: list[str]
) -> None:
    document = plain(text, "en")
    assert document.sentences == sentences
    assert unchanged(document) == text


@given(st.text(alphabet="ab. !?\n\t«»\"'()é中。😀\u2028\r-", max_size=200))
def test_a_text_goes_together_again(text: str) -> None:
    document = plain(text, "en")
    joined = unchanged(document)
    # Where two sentences stand without a space, English puts one.
    assert joined.replace(" ", "") == text.replace(" ", "")
    assert joined.count("\n") == text.count("\n")
    assert all(sentence and sentence == sentence.strip() for sentence in document.sentences)


def test_paragraphs_are_kept_in_place() -> None:
    document = plain("One. Two.\n\nThree.", "en")
    assert document.fill(["1", "2", "3"], "en") == "1 2\n\n3"


def test_sentences_are_joined_as_the_target_is_written() -> None:
    assert plain("一。二。", "zh").fill(["One.", "Two."], "en") == "One. Two."
    assert plain("One. Two.", "en").fill(["一。", "二。"], "zh") == "一。二。"


@pytest.mark.parametrize("unit", ["« ", "a. ", "\n", "\"'", "(", "a", "。", "<!--", "<", "&"])
def test_no_text_takes_long(unit: str) -> None:
    text = (unit * 20_000)[:20_000]
    start = time.process_time()
    assert unchanged(plain(text, "fr")).replace(" ", "") == text.replace(" ", "")
    assert unchanged(html(text, "fr")).count("a") == text.count("a")
    assert time.process_time() - start < 5


PAGE = (
    "<!DOCTYPE html>\n<p CLASS=x>Hello <b>big</b> world.<br/>Tom &amp; Jerry &lt;3</P >\n"
    "<!-- note --><script>let a = 1 < 2;</script><code>x = y</code>"
    '<span translate="no">regard<i>!</i></span><x>keep</x> End'
)


def test_only_the_text_between_tags_is_translated() -> None:
    document = html(PAGE, "en", frozenset({"x"}))
    assert document.sentences == ["Hello", "big", "world.", "Tom & Jerry <3", "End"]
    assert unchanged(document) == PAGE


def test_a_translation_cannot_become_markup() -> None:
    document = html("<p>Hello</p>", "en")
    assert document.fill(["<img src=x>"], "en") == "<p>&lt;img src=x&gt;</p>"


@given(st.text(alphabet="ab <>/!-&;=\"'p\n?", max_size=120))
def test_any_html_goes_together_again(text: str) -> None:
    document = html(text, "en")
    if not document.sentences:
        assert unchanged(document) == text
    kept = "".join(part for part in document.parts if isinstance(part, str) and "<" in part)
    assert kept.count("<") <= text.count("<") + text.count("&lt")


def test_marks_come_back_where_they_were() -> None:
    document = marked("Open [X1X] or [X23X ]. Then [X1X]!", "en")
    assert document.sentences == ["Open", "or", "Then"]
    assert document.fill(["Öffne", "oder", "Dann"], "de") == "Öffne [X1X] oder [X23X ]. Dann [X1X]!"
    assert kept("a [X1X] b [X2X]", "[X2X] b a [X1X ]")
    assert not kept("a [X1X]", "a")
    assert not kept("a [X1X]", "a [X1X] [X1X]")
    assert not kept("a", "a [X1X]")


def test_languages_have_names() -> None:
    assert name("de") == "German"
    assert name("pt-br") == "Portuguese (BR)"
    assert name("qqq") == "qqq"
    assert all(label and label[0].isupper() for label in NAMES.values())
