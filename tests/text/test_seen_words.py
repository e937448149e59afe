"""Which words of a text were never seen in training."""

import tracemalloc
from pathlib import Path

import pytest

from regard.errors import RunError
from regard.text.seen_words import SeenWords, UnseenCount, WordGatherer, remark, words_of


def seen(*texts: str) -> SeenWords:
    gatherer = WordGatherer()
    for text in texts:
        gatherer.watch(text)
    return gatherer.gathered()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L'Afrique, où ?", ["L", "Afrique", "où"]),
        ("vas-tu aujourd’hui ?", ["vas", "tu", "aujourd", "hui"]),
        ("12.5 km en 1992 – 3€", ["km", "en"]),
        ("« Œuvre »…", ["Œuvre"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("他来了。", ["他", "来", "了"]),
        ("สวัสดี", []),
        ("Привет 👋 мир", ["Привет", "мир"]),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_a_capital_elision_punctuation_and_numbers_make_no_new_word() -> None:
    known = seen("Là, le chat dort.", "l'eau froide")
    assert known.unseen("Le Chat dort, L’Eau ! 42") == []
    assert known.unseen("Le zèbre de Zoé dort: le zèbre !") == ["zèbre", "de", "Zoé"]
    assert known.unseen("e\u0301te\u0301") == ["été"]


def test_a_word_in_other_letters_than_training_had_is_new() -> None:
    known = seen("Jane dort.", "L'OTAN dort.")
    assert known.unseen("JANE DORT.") == ["JANE", "DORT"]
    assert known.unseen("jane dort, l'otan aussi") == ["jane", "l", "otan", "aussi"]
    assert known.unseen("L'OTAN dort. Dort Jane ?") == []


def test_a_file_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "words"
    assert SeenWords.load(path) is None
    path.write_bytes(seen("un deux", "deux trois").to_bytes())
    again = SeenWords.load(path)
    assert again is not None
    assert len(again) == 3
    assert "Trois" in again
    assert "quatre" not in again
    assert WordGatherer(again).gathered().to_bytes() == path.read_bytes()
    path.write_bytes(b"abc")
    with pytest.raises(RunError, match="damaged"):
        SeenWords.load(path)


def test_the_remark_names_them() -> None:
    assert remark([]) == ""
    assert remark(["zèbre", "Zoé"]) == "These words were never seen in training: zèbre, Zoé"
    many = [f"w{number}" for number in range(25)]
    assert remark(many).endswith("w9 and 15 more")


def test_many_lines_get_one_remark() -> None:
    count = UnseenCount()
    for unseen in ([], ["zèbre"], ["Zoé", "zèbre"]):
        count.add(unseen)
    said = "In 2 of 3 lines, these words were never seen in training: zèbre, Zoé"
    assert count.remark() == said
    assert UnseenCount().remark() == ""


def test_a_line_of_millions_of_words_needs_little_memory() -> None:
    text = "the same word " * 200_000
    tracemalloc.start()
    try:
        gatherer = WordGatherer()
        gatherer.watch(text)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert [word in gatherer.gathered() for word in ("the", "same", "other")] == [True, True, False]
