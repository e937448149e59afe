"""HTML keeps its markup."""

import time
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.translation.markup import split_html
from regard.serve.translation.splitting import Document


def unchanged(document: Document, language: str = "en") -> str:
    return document.fill(document.sentences, language)


PAGE = (
    "<!DOCTYPE html>\n<p CLASS=x>Hello <b>big</b> world.<br/>Tom &amp; Jerry &lt;3</P >\n"
    "<!-- note --><script>let a = 1 < 2;</script><code>x = y</code>"
    '<span translate="no">regard<i>!</i></span><x>keep</x> End'
)


def test_only_the_text_between_tags_is_translated() -> None:
    document = split_html(PAGE, "en", frozenset({"x"}))
    assert document.sentences == ["Hello", "big", "world.", "Tom & Jerry <3", "End"]
    assert unchanged(document) == PAGE


def test_a_translation_cannot_become_markup() -> None:
    document = split_html("<p>Hello</p>", "en")
    assert document.fill(["<img src=x>"], "en") == "<p>&lt;img src=x&gt;</p>"


@given(st.text(alphabet="ab <>/!-&;=\"'p\n?", max_size=120))
def test_any_html_goes_together_again(text: str) -> None:
    document = split_html(text, "en")
    if not document.sentences:
        assert unchanged(document) == text
    kept = "".join(part for part in document.parts if isinstance(part, str) and "<" in part)
    assert kept.count("<") <= text.count("<") + text.count("&lt")


@pytest.mark.parametrize(
    "text", ["a <![ b", "<p>a</p> b <![foo[ c ]]> d", "<p>one</p> 3 < 4", "<code>x <b", "a <"]
)
def test_what_is_no_markup_is_text(text: str) -> None:
    document = split_html(text, "en")
    filled = unescape(document.fill(document.sentences, "en"))
    assert filled.replace(" ", "") == text.replace(" ", "")  # sentences get a space between


@pytest.mark.parametrize("opened", ["<a ", "<a x='", "<!--", "<![", "<", "&", "<?", "<script>"])
@pytest.mark.parametrize("end", ["", ">"])
def test_unclosed_markup_costs_little(opened: str, end: str) -> None:
    start = time.process_time()
    split_html(opened * (20_000 // len(opened)) + end, "en")
    assert time.process_time() - start < 10
