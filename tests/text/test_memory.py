"""Similar texts are found as a search through all of them would, and sameness is exact."""

import random

import pytest
from rapidfuzz.distance import Levenshtein

from regard.text.memory import Match, Memory, words_of

MEMORY = Memory(
    [
        ("The red house has a big door.", "Das rote Haus hat eine große Tür."),
        ("The red house has a big door.", "Das rote Haus hat ein großes Tor."),
        ("Delete %d files?", "%d Dateien löschen?"),
        ("Press Ctrl+S to save 3 files.", "Drücken Sie Strg+S, um 3 Dateien zu sichern."),
    ]
)


def test_the_same_text_is_found_and_the_last_translation_counts() -> None:
    match = MEMORY.exact("The red  house has a big door. ")
    assert match is not None
    assert (match.target, match.percent) == ("Das rote Haus hat ein großes Tor.", 100)
    assert MEMORY.best("The red house has a big door.") == Match(
        "The red house has a big door.", "Das rote Haus hat ein großes Tor.", 100
    )
    assert MEMORY.exact("the red house has a big door.") is None
    assert len(MEMORY) == 3


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        ("the red house has a big door.", 99),  # only a capital differs
        ("The red house has a small door.", 87),
        ("The red house has a big door", 87),
        ("The blue house has a big window.", 75),
        ("A blue house has a big window.", None),
        ("Delete %s files?", 75),  # another placeholder
        ("Press Ctrl+S to save 4 files.", 88),  # another number
        ("", None),
        ("nothing like it", None),
    ],
)
def test_a_percentage_is_that_of_the_words(text: str, percent: int | None) -> None:
    match = MEMORY.best(text)
    assert (match and match.percent) == percent


def test_the_least_percentage_is_asked_for() -> None:
    assert MEMORY.best("The red house has a small door.", 88) is None
    assert MEMORY.best("the red house has a big door.", 100) is None
    assert MEMORY.best("The red house has a big door.", 100) is not None
    low = MEMORY.best("A blue house has no windows.", 35)
    assert low is not None
    assert low.percent == 37


@pytest.mark.parametrize("least", [50, 75, 90])
def test_the_index_finds_what_a_search_through_all_finds(least: int) -> None:
    draw = random.Random(least)
    letters = "abcdefghijklmnop"
    sources = [" ".join(draw.choices(letters, k=draw.randint(1, 12))) for _ in range(400)]
    memory = Memory((source, source.upper()) for source in sources)
    for _ in range(200):
        words = draw.choice(sources).split()
        for _ in range(draw.randint(0, 3)):
            words[draw.randrange(len(words))] = draw.choice([*letters, "new"])
        text = " ".join(words)
        scores = [
            Levenshtein.normalized_similarity(words_of(text), words_of(each)) for each in sources
        ]
        match = memory.best(text, least)
        expected = int(100 * max(scores) + 1e-9)
        assert (match.percent if match else None) == (expected if expected >= least else None)


def test_an_empty_memory_has_nothing() -> None:
    assert Memory([]).best("a") is None
    assert Memory([("a", "b")]).fingerprint != Memory([("a", "c")]).fingerprint
