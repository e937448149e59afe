"""A text is split into sentences, and joined again without a change between them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.translation.markup import split_html
from regard.serve.translation.splitting import Document, split_text


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
    document = split_text(text, "en")
    assert document.sentences == sentences
    assert unchanged(document) == text


@given(st.text(alphabet="ab. !?\n\t«»\"'()é中。😀\u2028\r-", max_size=200))
def test_a_text_goes_together_again(text: str) -> None:
    document = split_text(text, "en")
    joined = unchanged(document)
    # Where two sentences stand without a space, English puts one.
    assert joined.replace(" ", "") == text.replace(" ", "")
    assert joined.count("\n") == text.count("\n")
    assert all(sentence and sentence == sentence.strip() for sentence in document.sentences)


def test_paragraphs_are_kept_in_place() -> None:
    document = split_text("One. Two.\n\nThree.", "en")
    assert document.fill(["1", "2", "3"], "en") == "1 2\n\n3"


def test_sentences_are_joined_as_the_target_is_written() -> None:
    assert split_text("一。二。", "zh").fill(["One.", "Two."], "en") == "One. Two."
    assert split_text("One. Two.", "en").fill(["一。", "二。"], "zh") == "一。二。"


@pytest.mark.parametrize("unit", ["« ", "a. ", "\n", "\"'", "(", "a", "。", "<!--", "<", "&"])
def test_no_text_takes_long(unit: str) -> None:
    text = (unit * 20_000)[:20_000]
    start = time.process_time()
    assert unchanged(split_text(text, "fr")).replace(" ", "") == text.replace(" ", "")
    assert unchanged(split_html(text, "fr")).count("a") == text.count("a")
    assert time.process_time() - start < 30
