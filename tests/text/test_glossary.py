"""Terms are found in a source, and are in its translation whatever a model writes."""

import time

import numpy as np
import pytest

from regard.tasks.translation.marked import Output, ranked_translations
from regard.text.glossary import Glossary, glossary_of, occurrences
from regard.text.marks import Mark, MarkedText, Term
from regard.text.protect import protect
from regard.text.terms import TermUse
from regard.text.units import units

GLOSSARY = glossary_of(
    [
        ("dog", "Hund"),
        ("hot dog", "Hotdog"),
        ("PIN", "PIN"),
        ("C++", ""),
        ("apple", "Apfel"),
        ("Apple", "Apple"),
        ("car", "rotes Auto"),
        ("狗", "Hund"),
    ]
)


def found(text: str) -> list[tuple[str, str]]:
    return [(each.term.source, each.term.target) for each in GLOSSARY.find(text)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("A dog.", [("dog", "Hund")]),
        ("Dog!", [("Dog", "Hund")]),
        ("A DOG", [("DOG", "Hund")]),
        ("dogs, dogma, underdog", []),
        ("A hot  dog and a dog", [("hot  dog", "Hotdog"), ("dog", "Hund")]),
        ("PIN, pin, Pin", [("PIN", "PIN")]),
        ("C++ or C+", [("C++", "C++")]),
        ("Apple has an apple", [("Apple", "Apple"), ("apple", "Apfel")]),
        ("A CAR", [("CAR", "rotes Auto")]),  # a target with a capital stays as it is
        ("我的狗在这里", [("狗", "Hund")]),
        ("dog", [("dog", "Hund")]),
        ("hot", []),
        ("", []),
    ],
)
def test_terms_are_whole_words_and_the_longest_comes_first(
    text: str, terms: list[tuple[str, str]]
) -> None:
    assert found(text) == terms


def test_many_terms_with_one_beginning_cost_a_long_text_little() -> None:
    """The text is searched for the lengths of terms, not for each term."""
    many = glossary_of((f"a {number}", "x") for number in range(50_000))
    start = time.process_time()
    assert [each.term.target for each in many.find("a " * 10_000 + "a 7")] == ["x"]
    assert time.process_time() - start < 5


def test_a_target_in_small_letters_is_in_capitals_where_its_source_is() -> None:
    (only,) = glossary_of([("red", "rot")]).find("RED")
    assert only.term == Term("RED", "ROT")


def test_the_first_of_two_entries_counts_and_empty_ones_are_left_out() -> None:
    assert glossary_of([("a b", "x"), (" a  b ", "y"), ("", "z"), (" ", "")]).entries == {
        "a b": "x"
    }
    assert not glossary_of([])
    assert glossary_of([("a", "b")]).fingerprint != glossary_of([("a", "c")]).fingerprint


@pytest.mark.parametrize(
    ("text", "term", "count"),
    [
        ("ein Hund", Term("dog", "Hund"), 1),
        ("des Hundes, die Hunde", Term("dog", "Hund"), 2),
        ("die Hundehütte", Term("dog", "Hund"), 0),
        ("der Polizeihund", Term("dog", "hund"), 0),
        ("Rot ist rot", Term("red", "rot"), 2),
        ("Pin", Term("pin", "pin"), 0),
        ("Roter", Term("red", "rot"), 0),  # a short word has no endings
        ("iPhones", Term("iPhone", "iPhone"), 0),  # nor has what stays as it is
        ("C++.", Term("C++", "C++"), 1),
        ("我的狗在", Term("dog", "狗"), 1),
    ],
)
def test_a_target_is_found_with_its_endings(text: str, term: Term, count: int) -> None:
    assert occurrences(text, term) == count


def translated(
    source: str,
    *outputs: str,
    reads: bool = False,
    weights: bool = True,
    glossary: Glossary = GLOSSARY,
) -> tuple[str, list[TermUse], list[str]]:
    """A model that writes these outputs one after the other, each word from that of its place."""
    shown: list[str] = []

    def translate(texts: list[str], aligned: list[bool]) -> list[list[Output]]:
        shown.extend(texts)
        text = outputs[min(len(shown), len(outputs)) - 1]
        pieces = [(unit.start, unit.end) for unit in units(text)]
        there = [(unit.start, unit.end) for unit in units(texts[0])]
        attention = np.eye(len(pieces), len(there), dtype=np.float32) if weights else None
        return [[Output(text, attention, there, pieces)]]

    marked = glossary.mark(protect(source))
    ((best,),) = ranked_translations([marked], translate, str, reads)  # type: ignore[arg-type]
    return str(best), [*best.terms], shown


def test_a_term_that_the_model_wrote_stays() -> None:
    text, terms, shown = translated("The dog sleeps.", "Der Hund schläft.")
    assert text == "Der Hund schläft."
    assert terms == [TermUse("dog", "Hund", "written")]
    assert shown == ["The dog sleeps."]


def test_a_term_that_the_model_did_not_write_takes_the_place_of_its_words() -> None:
    text, terms, _ = translated("The dog sleeps.", "Der Köter schläft.")
    assert (text, terms) == ("Der Hund schläft.", [TermUse("dog", "Hund", "replaced")])
    text, _, _ = translated(
        "Car sleeps.", "Wagen schläft.", glossary=glossary_of([("car", "auto")])
    )
    assert text == "Auto schläft."


def test_a_term_is_replaced_as_often_as_it_is_missing() -> None:
    text, terms, _ = translated("dog and dog", "Hund und Köter")
    assert text == "Hund und Hund"
    assert [each.found for each in terms] == ["written", "replaced"]
    text, _, _ = translated("dog and dog", "Köter und Hund")
    assert text == "Hund und Hund"
    text, _, _ = translated("big dog", "Hund groß")  # in another place than the links say
    assert text == "Hund groß"


def test_without_attention_nothing_is_replaced() -> None:
    text, terms, _ = translated("The dog sleeps.", "Der Köter schläft.", weights=False)
    assert (text, terms) == ("Der Köter schläft.", [TermUse("dog", "Hund", "missing")])


def test_tags_and_placeholders_stay_beside_terms() -> None:
    text, terms, _ = translated("The <b>dog</b> has %s.", "Der Köter hat %s.")
    assert text == "Der <b>Hund</b> hat %s."
    assert terms == [TermUse("dog", "Hund", "replaced")]


def test_a_model_that_reads_terms_is_shown_their_targets() -> None:
    _, terms, shown = translated("The dog sleeps.", "Der Hund schläft.", reads=True)
    assert shown == ["The Hund sleeps."]
    assert terms == [TermUse("dog", "Hund", "written")]


def test_if_it_does_not_write_them_the_text_is_translated_as_it_is() -> None:
    outputs = "Der Pudel schläft.", "Der Köter schläft."
    text, terms, shown = translated("The dog sleeps.", *outputs, reads=True)
    assert shown == ["The Hund sleeps.", "The dog sleeps."]
    assert (text, terms) == ("Der Hund schläft.", [TermUse("dog", "Hund", "replaced")])


def test_a_text_without_terms_is_left_as_it_is() -> None:
    text = MarkedText(("No term ", Mark("%s", word=True), " here"))
    assert GLOSSARY.mark(text) == text
    _, terms, shown = translated("A cat.", "Eine Katze.", reads=True)
    assert (terms, shown) == ([], ["A cat."])
