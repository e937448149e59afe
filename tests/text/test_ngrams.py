"""N-grams: their numbers are the same everywhere, and their places are right."""

from hypothesis import given
from hypothesis import strategies as st

from regard.text.ngrams import ngram_sets, occurrences

TEXTS = st.lists(st.text(alphabet="aB ,ß\u0130\n漢", max_size=12), max_size=4)


def test_the_numbers_stay_the_same() -> None:
    """Saved models hold them."""
    found = ngram_sets(["Good film"], 2, 0)
    assert sorted(found.keys.tolist()) == sorted(
        each.key for each in occurrences("good FILM", 2, 0)
    )
    assert found.keys.tolist() == KNOWN


KNOWN = [209201099992, 391592730324, 1044394078499]


@given(TEXTS, st.integers(0, 3), st.integers(0, 4))
def test_a_text_alone_has_the_ngrams_that_it_has_among_others(
    texts: list[str], words: int, characters: int
) -> None:
    together = ngram_sets(texts, words, characters)
    for number, text in enumerate(texts):
        own = together.keys[together.texts == number].tolist()
        assert own == ngram_sets([text], words, characters).keys.tolist()
        assert own == sorted({each.key for each in occurrences(text, words, characters)})


def test_places_are_those_of_the_text() -> None:
    text = "Not  bad, İstanbul"
    found = [text[each.begin : each.end] for each in occurrences(text, 2, 0)]
    assert found == [
        *("Not", "bad", ",", "İstanbul"),
        *("Not  bad", "bad,", ", İstanbul"),
    ]
    letters = ["abc"[each.begin : each.end] for each in occurrences("abc", 0, 3)]
    assert letters == ["ab", "bc", "abc"]


def test_a_letter_is_not_the_word_of_that_letter() -> None:
    words = ngram_sets(["a b"], 2, 0).keys.tolist()
    characters = ngram_sets(["ab"], 0, 2).keys.tolist()
    assert not set(words) & set(characters)
