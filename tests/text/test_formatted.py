"""A text is split into sentences, and joined again without a change between them."""

import re
import time
from collections.abc import Callable
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.documents.tags import Tags
from regard.text.formatted import Format, FormattedText, formatted


def unchanged(found: FormattedText, language: str = "en") -> str:
    return found.fill(found.sentences, language)


def shown(found: FormattedText) -> list[str]:
    """The sentences, with codes as <> and </> and <·>, and placeholders as they are."""
    names = {"open": "<>", "close": "</>", "alone": "<·>"}
    return [
        "".join(
            piece if isinstance(piece, str) else piece.raw if piece.is_text else names[piece.kind]
            for piece in sentence
        )
        for sentence in found.sentences
    ]


def with_texts(found: FormattedText, texts: list[str], target: str) -> str:
    return found.fill([(text,) for text in texts], target)


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
        ("Open %s or [X1X]. Then {0}!", ["Open %s or [X1X].", "Then {0}!"]),
    ],
)
def test_sentences_are_found_and_what_is_between_them_stays(
    text: str, sentences: list[str]
) -> None:
    found = formatted(text, "text", "en")
    assert shown(found) == sentences
    assert unchanged(found) == text


@given(st.text(alphabet="ab. !?\n\t«»\"'()é中。😀\u2028\r-", max_size=200))
def test_a_text_goes_together_again(text: str) -> None:
    found = formatted(text, "text", "en")
    joined = unchanged(found)
    # Where two sentences stand without a space, English puts one.
    assert joined.replace(" ", "") == text.replace(" ", "")
    assert joined.count("\n") == text.count("\n")
    assert all(sentence and sentence == sentence.strip() for sentence in shown(found))


def test_paragraphs_are_kept_in_place() -> None:
    found = formatted("One. Two.\n\nThree.", "text", "en")
    assert with_texts(found, ["1", "2", "3"], "en") == "1 2\n\n3"


def test_sentences_are_joined_as_the_target_is_written() -> None:
    chinese = formatted("一。二。", "text", "zh")
    assert with_texts(chinese, ["One.", "Two."], "en") == "One. Two."
    assert with_texts(formatted("One. Two.", "text", "en"), ["一。", "二。"], "zh") == "一。二。"


@pytest.mark.parametrize("form", ["text", "html", "xml"])
@pytest.mark.parametrize("target", ["en", "zh"])
def test_the_first_translations_give_the_beginning_of_the_whole(form: Format, target: str) -> None:
    text = "<p>One. Two %s.</p>  <p>Three <b>four. Five</b> six.</p> Seven.\n\nEight."
    found = formatted(text, form, "en")
    translations = [(f"{number}.",) for number in range(len(found.sentences))]
    whole = found.fill(translations, target)
    beginnings = [found.fill(translations[:count], target) for count in range(len(translations))]
    assert all(whole.startswith(each) for each in beginnings)
    assert sorted(set(beginnings), key=len) == beginnings


PAGE = (
    "<!DOCTYPE html>\n<p CLASS=x>Hello <b>big</b> world.<br/>Tom &amp; Jerry &lt;3</P >\n"
    "<!-- note --><script>let a = 1 < 2;</script><pre>x = y</pre>"
    '<span translate="no">regard<i>!</i></span><p>One <x>keep</x> End</p>'
    "<p>Call <code>f(x)</code> now.</p>"
)


def test_sentences_are_whole_and_markup_stays() -> None:
    found = formatted(PAGE, "html", "en", Tags(ignored=frozenset({"x"})))
    assert shown(found) == [
        *("Hello <>big</> world.", "Tom & Jerry <3", "One <·> End", "Call <·> now."),
    ]
    assert unchanged(found) == PAGE


def test_what_is_not_to_be_translated_is_in_no_sentence() -> None:
    page = '<p translate="no">One</p><div class="a notranslate">Two <p>three</p></div><p>Four</p>'
    assert shown(formatted(page, "html", "en")) == ["Four"]
    xml = formatted("<p>Read <x>One <y>two</y></x> now</p>", "xml", "en", Tags(frozenset({"x"})))
    assert shown(xml) == ["Read <·> now"]


@pytest.mark.parametrize(
    ("text", "tags", "sentences"),
    [
        ("Press <b>Continue</b> to go.", Tags(), ["Press <>Continue</> to go."]),
        (
            "<d><t>A title</t><c><par>One. Two.</par> <par>Three <x/> four.</par></c></d>",
            Tags(),
            ["A title", "One.", "Two.", "Three <·> four."],
        ),
        ("<par>The firm </par><par>was it.</par>", Tags(), ["The firm", "was it."]),
        (
            "<par>The firm </par><par>was it.</par>",
            Tags(joining=frozenset({"par"})),
            ["<>The firm </><>was it.</>"],
        ),
        ("One <br/> two", Tags(splitting=frozenset({"br"})), ["One", "two"]),
        (
            "<d><t>A title</t> <par>One</par> <par>two</par></d>",
            Tags(splitting=frozenset({"t"}), outline=False),
            ["A title", "<>One</> <>two</>"],
        ),
        ("<a>x &lt; y</b> &amp; z</a>", Tags(), ["x < y<·> & z"]),
        ("<A>One</A> <![CDATA[<q>]]> <?php x ?> two", Tags(), ["<>One</> <·> <·> two"]),
    ],
)
def test_tags_of_xml_split_where_no_text_is_beside_them(
    text: str, tags: Tags, sentences: list[str]
) -> None:
    found = formatted(text, "xml", "en", tags)
    assert shown(found) == sentences
    assert unchanged(found) == text


@pytest.mark.parametrize("form", ["html", "xml"])
def test_a_translation_cannot_become_markup(form: Format) -> None:
    found = formatted("<p>Hello</p>", form, "en")
    assert with_texts(found, ["<img src=x>"], "en") == "<p>&lt;img src=x&gt;</p>"


@given(st.text(alphabet="ab <>/!-&;=\"'p\n?[", max_size=120), st.sampled_from(["html", "xml"]))
def test_any_markup_goes_together_again(text: str, form: Format) -> None:
    found = formatted(text, form, "en")
    if not found.sentences:
        assert unchanged(found) == text
    again = unescape(unchanged(found))
    assert re.sub(r"\s", "", again) == re.sub(r"\s", "", unescape(text))


@pytest.mark.parametrize(
    "text", ["a <![ b", "<p>a</p> b <![foo[ c ]]> d", "<p>one</p> 3 < 4", "<code>x <b", "a <"]
)
@pytest.mark.parametrize("form", ["html", "xml"])
def test_what_is_no_markup_is_text(text: str, form: Format) -> None:
    filled = unescape(unchanged(formatted(text, form, "en")))
    assert filled.replace(" ", "") == text.replace(" ", "")  # sentences get a space between


OPENED = ["<a ", "<a x='", "<!--", "<![", "<", "&", "<?", "<script>", "<b>", "</b>", "<i>a. "]
OPENED += ["<code>", "<![CDATA[", '<a b="', "a <b>c</b>. ", "{a,select,", "%(a", "`", "a@b.", "x."]


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.parametrize("opened", OPENED)
@pytest.mark.parametrize("end", ["", ">"])
@pytest.mark.parametrize("form", ["text", "html", "xml"])
def test_unclosed_markup_costs_little(opened: str, end: str, form: Format) -> None:
    text = opened * (20_000 // len(opened)) + end
    assert seconds(lambda: unchanged(formatted(text, form, "en"))) < 10


@pytest.mark.parametrize("unit", ["« ", "a. ", "\n", "\"'", "(", "a", "。", "<!--", "<", "&"])
@pytest.mark.parametrize("form", ["text", "html", "xml"])
def test_no_text_takes_long(unit: str, form: Format) -> None:
    text = (unit * 20_000)[:20_000]
    start = time.process_time()
    found = unchanged(formatted(text, form, "fr"))
    assert found.count("a") == text.count("a")
    if form == "text":
        assert found.replace(" ", "") == text.replace(" ", "")
    assert time.process_time() - start < 30
