"""Typographic variants are read as the data writes them, and what it distinguishes stays."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.errors import RunError
from regard.text.tokenizer import Tokenizer
from regard.text.typography import AMONG_FEW, AMONG_MANY, HARDLY, Rule, Variants, read_rules

FRENCH = ["l'eau est-elle là ?", "il dit « bonjour » !", "voilà : rien... ;"] * 40
ENGLISH = ["the boy's well-known dog", 'he says "hello"!', "is it? yes: it is; well..."] * 40
GERMAN = ["er sagt „hallo“ – na gut", "geht’s?", "E-Mail"] * 40


def rules_of(texts: list[str], verbatim: bool = False) -> list[Rule]:
    variants = Variants()
    assert list(variants.watch(texts)) == texts
    return variants.rules(verbatim)


def reader(texts: list[str], verbatim: bool = False) -> Tokenizer:
    plain = Tokenizer.train(texts, vocabulary_size=320, verbatim=verbatim)
    return plain.folding(rules_of(texts, verbatim))


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("l’eau lʼeau l′eau l`eau l´eau", "l'eau l'eau l'eau l'eau l'eau"),
        ("est‑elle est–elle", "est-elle est-elle"),
        ("là?", "là ?"),
        ("là\u202f? là\u00a0! là !", "là ? là ! là !"),
        ("quoi ?!", "quoi ?!"),
        ("il dit “bonjour”.", "il dit « bonjour »."),
        ('il dit "bonjour", ("oui").', "il dit « bonjour », (« oui »)."),
        ("il dit «bonjour»…", "il dit « bonjour »..."),
        ("à 12:30 : voilà: rien", "à 12:30 : voilà : rien"),
    ],
)
def test_french_reads_what_is_typed_otherwise(typed: str, read: str) -> None:
    assert reader(FRENCH).normalise(typed) == read


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("boy’s", "boy's"),
        ("he says “hello” !", 'he says "hello"!'),
        ("he says « hello » and »bye«", 'he says "hello" and "bye"'),
        ("is it ?", "is it?"),
        ("well— known…", "well- known..."),
    ],
)
def test_english_reads_what_is_typed_otherwise(typed: str, read: str) -> None:
    assert reader(ENGLISH).normalise(typed) == read


def test_german_quotation_marks_and_dashes_stay() -> None:
    german = reader(GERMAN)
    assert german.normalise("„so“ – ja") == "„so“ – ja"
    assert german.normalise('"so" — ja, geht\'s') == "„so“ – ja, geht’s"


def test_what_the_data_distinguishes_stays() -> None:
    both = ["it's", "it’s"] * 30
    assert reader(both).normalise("it's it’s") == "it's it’s"
    usual = ["it's"] * AMONG_FEW * (HARDLY - 1)
    assert reader(usual + ["it’s"] * (HARDLY - 1)).normalise("it’s") == "it's"
    assert reader(usual + ["it’s"] * HARDLY).normalise("it’s") == "it’s"
    more = ["it's"] * AMONG_MANY * HARDLY
    assert reader(more + ["it’s"] * HARDLY).normalise("it’s") == "it's"


def test_without_any_variant_nothing_is_folded() -> None:
    plain = ["a b", "b a"]
    assert rules_of(plain) == []
    tokenizer = Tokenizer.train(plain, vocabulary_size=300)
    assert tokenizer.folding([]) is tokenizer


def test_verbatim_text_keeps_its_spaces_before_marks() -> None:
    book = reader(["«so»? 'yes'\n"] * 20, verbatim=True)
    assert book.normalise("yes\u202f? ‘so’\n") == "yes ? 'so'\n"


@example(text=":    :")
@given(text=st.text(alphabet="ab '’\"“”„«»?!:;.…-–— \u00a0\n", max_size=40))
def test_reading_twice_changes_nothing_more(text: str) -> None:
    for tokenizer in READERS:
        once = tokenizer.normalise(text)
        assert tokenizer.normalise(once) == once


READERS = [reader(FRENCH), reader(ENGLISH), reader(GERMAN)]


def test_rules_are_data_of_the_tokenizer() -> None:
    french = READERS[0]
    again = Tokenizer.from_json(french.to_json())
    assert again.to_json() == french.to_json()
    assert again.encode("l’eau là?") == french.encode("l'eau là ?")
    steps = json.loads(french.to_json())["normalizer"]["normalizers"]
    assert len(steps) == 5 + len(rules_of(FRENCH))


@pytest.mark.parametrize(
    "step",
    [
        {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "'"},
        {"type": "Replace", "pattern": {"String": "’"}, "content": "a hostile text"},
        {"type": "Replace", "pattern": {"String": "e"}, "content": "'"},
        {"type": "Prepend", "prepend": "'"},
    ],
)
def test_other_rules_are_refused(step: dict[str, object]) -> None:
    assert read_rules([step]) is None
    document = json.loads(READERS[0].to_json())
    document["normalizer"]["normalizers"].insert(2, step)
    with pytest.raises(RunError, match="not a tokenizer that regard wrote"):
        Tokenizer.from_json(json.dumps(document))


def test_words_are_those_that_were_typed() -> None:
    french = READERS[0]
    typed = "il dit “bonjour” à l’eau là?"
    ids = french.encode(typed)
    words, owners = french.typed_words(typed, ids)
    assert words == typed.split()
    assert len(owners) == len(ids)
    assert owners == sorted(owners)
    assert set(owners) == set(range(len(words)))
    assert french.decode(ids) == "il dit « bonjour » à l'eau là ?"


def test_the_rules_of_older_runs_are_still_read() -> None:
    patterns = {r"\s{1,3}\?": "?", r"(?<!\w)«\s{0,3}": "«"}
    steps = [
        {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
        for pattern, content in patterns.items()
    ]
    assert read_rules(steps) == [Rule(*each) for each in patterns.items()]
