"""Single checks: what each sees, and what it leaves alone."""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.checks.characters import Cells, broken_characters, is_header, repaired
from regard.checks.kinds import recognise
from regard.checks.labelled import check_labelled
from regard.checks.languages import alike, languages_of
from regard.checks.pair_sample import PairLimits
from regard.checks.pairs import check_pairs
from regard.checks.report import Report, spread
from regard.checks.sample import BLOCK, BLOCKS, Blocks
from regard.checks.tagged import check_tagged
from regard.checks.text import check_text
from regard.data.corpus import Pair
from regard.data.labelled import Labelled

ENGLISH = "The people of the village were waiting for the bus that never came on that day."
FRENCH = "Les gens du village attendaient le bus qui n'est jamais venu ce jour-là, sous la pluie."
GERMAN = "Die Leute aus dem Dorf warteten auf den Bus, der an diesem Tag niemals gekommen ist."


def codes(report: Report, *severities: str) -> set[str]:
    return {each.code for each in report.findings if each.severity in severities}


def report_on(pairs: list[tuple[str, str]], **limits: object) -> Report:
    read = [Pair(*each, f"a.tsv:{i + 1}") for i, each in enumerate(pairs)]
    return check_pairs(["a.tsv"], lambda: iter(read), PairLimits(**limits))  # type: ignore[arg-type]


def test_a_sample_is_whole_or_evenly_spread() -> None:
    small: Blocks[int] = Blocks()
    for number in range(1000):
        small.add(number)
    assert list(small) == list(range(1000))
    assert [(first, len(run)) for first, run in small.stretches()] == [(0, 1000)]
    large: Blocks[int] = Blocks()
    for number in range(1_000_000):
        large.add(number)
    assert large.count == 1_000_000
    assert BLOCK * BLOCKS <= len(large) <= 2 * BLOCK * BLOCKS
    starts = [first for first, _ in large.stretches()]
    assert {b - a for a, b in itertools.pairwise(starts)} == {starts[1]}
    assert starts[-1] > 950_000
    assert all(run == list(range(first, first + len(run))) for first, run in large.stretches())


def test_a_few_of_many_are_spread() -> None:
    assert spread(range(3), 5) == [0, 1, 2]
    assert spread(range(100), 4) == [12, 37, 62, 87]


@pytest.mark.parametrize(
    ("text", "better"),
    [("lâ€™Ã©tÃ©", "l’été"), ("FuÃŸgÃ¤nger", "Fußgänger"), ("Ð¿Ñ€Ð¸Ð²ÐµÑ‚", "привет")],
)
def test_wrongly_read_letters_are_put_right(text: str, better: str) -> None:
    assert repaired(text) == better


@pytest.mark.parametrize(
    "text", ["l’été", "Fußgänger", "HOLD PÅ", "ÉTÉ”", "Côte d’Azur", "naïve", "привет"]
)
def test_good_letters_are_left_alone(text: str) -> None:
    assert repaired(text) == text


def test_a_few_odd_letters_in_a_large_file_are_no_alarm() -> None:
    good = [("C’était l’été à côté.", f"a:{i}") for i in range(1000)]
    assert list(broken_characters([*good, ("Ã©", "a:9"), ("Ã©", "b:9")], "a")) == []
    (found,) = broken_characters([*good, *([("Ã©tÃ©", "a:9")] * 20)], "a")
    assert (found.code, found.severity) == ("mojibake", "warning")
    (lost,) = broken_characters([("caf\ufffd", "a:1"), *good], "a")
    assert lost.code == "lost-characters"


def test_quotes_of_a_spreadsheet_differ_from_those_of_speech() -> None:
    sheet, speech, everywhere = Cells(), Cells(), Cells()
    for i in range(50):
        sheet.add('"He said ""no"" to her."' if i % 9 == 0 else "He left.", f"a:{i}")
        speech.add('"No," he said, "never."' if i % 9 == 0 else '"No."', f"a:{i}")
        everywhere.add('"He left."', f"a:{i}")
    assert (sheet.in_quotes, speech.in_quotes, everywhere.in_quotes) == (True, False, True)


@pytest.mark.parametrize(
    "cells",
    [
        ("English", "German"),
        ("source", "target"),
        ("en", "de"),
        ("id", "source_text"),
        ("label", "text"),
    ],
)
def test_names_of_columns_are_a_header(cells: tuple[str, str]) -> None:
    assert is_header(cells)


@pytest.mark.parametrize(
    "cells", [("Hello.", "Bonjour."), ("Text", "Text"), ("1", "2"), ("Go.", "Va !"), ("", "")]
)
def test_a_pair_is_no_header(cells: tuple[str, str]) -> None:
    assert not is_header(cells)


def test_languages_are_named_on_enough_evidence_only() -> None:
    assert languages_of([(ENGLISH, "a:1")] * 3).main is None
    assert languages_of([("ok", "a:1")] * 30).main is None
    assert languages_of([(ENGLISH, "a:1")] * 30).main == "en"
    mixed = languages_of([(ENGLISH, "a:1")] * 80 + [(GERMAN, "a:81")] * 20)
    assert (mixed.main, mixed.others()) == ("en", ["de"])
    assert mixed.within("de")[0].place == "a:81"
    assert alike("nb", "no")
    assert alike("pt-BR", "pt")
    assert not alike("de", "fr")


def test_a_language_that_nobody_knows_is_not_contradicted() -> None:
    text = languages_of([(ENGLISH, "a:1")] * 30)
    assert text.are_not("de")
    assert not text.are_not("en-GB")
    assert not text.are_not("tlh")


def test_sides_that_are_named_rightly_are_good() -> None:
    pairs = [(ENGLISH, FRENCH)] * 40
    assert codes(report_on(pairs, languages=("en", "fr")), "error") == set()
    assert codes(report_on(pairs, languages=("fr", "en")), "error") == {"swapped"}
    assert codes(report_on(pairs, languages=("en", "de")), "error") == {"language"}


def test_both_sides_in_one_language_may_be_meant() -> None:
    pairs = [(ENGLISH, ENGLISH.replace("bus", "train"))] * 40
    assert "one-language" in codes(report_on(pairs), "warning")
    assert codes(report_on(pairs, languages=("en", "en-simple")), "error", "warning") == {
        "duplicates"
    }


def test_what_training_drops_is_counted() -> None:
    good = [(f"{ENGLISH} {i}", f"{FRENCH} {i}") for i in range(40)]
    found = report_on([*good, ("", "vide"), ("word " * 300, "mot")])
    (dropped,) = [each for each in found.findings if each.code == "dropped"]
    assert dropped.severity == "note"
    assert "1 empty source" in dropped.sentence
    assert "1 too long" in dropped.sentence
    refused = report_on([("one", "")] * 30 + good[:10])
    assert "dropped" in codes(refused, "error")


def test_ids_are_wrong_and_numbers_with_their_words_are_not() -> None:
    texts = sentences(60)
    assert "numbers" in codes(report_on([(str(1276 + i), t) for i, t in enumerate(texts)]), "error")
    keys = [f"sent-{i}" for i in range(60)]
    assert "numbers" in codes(report_on(list(zip(keys, texts, strict=True))), "error")
    chance = random.Random(4)
    numbers = ["".join(chance.choices("123", k=chance.randint(1, 9))) for _ in range(60)]
    names = {"1": "one", "2": "two", "3": "three"}
    spelt = [(number, " ".join(names[digit] for digit in number)) for number in numbers]
    assert "numbers" in codes(report_on(spelt), "warning")


def test_hardly_any_pairs_are_a_warning() -> None:
    (few,) = report_on([(ENGLISH, FRENCH)]).of("warning")
    assert few.code == "few"
    assert few.sentence.startswith("1 pair is hardly enough")
    assert report_on([]).unread


def test_pairs_of_validation_that_are_learned_are_reported() -> None:
    pairs = [Pair(f"{ENGLISH} {i}", f"{FRENCH} {i}", f"a:{i}") for i in range(40)]
    found = check_pairs(["a"], lambda: iter(pairs), PairLimits(), lambda: iter(pairs[:20]))
    assert "overlap" in codes(found, "warning")


def labelled(rows: list[tuple[str, str]], tagged: bool = False) -> Report:
    def read() -> Iterator[Labelled]:
        for i, (label, text) in enumerate(rows):
            units = tuple(text.split()) if tagged else (text,)
            labels = tuple(label.split()) if tagged else (label,)
            yield Labelled(units, labels, f"a.tsv:{i + 1}")

    return (check_tagged if tagged else check_labelled)(["a.tsv"], read)


def sentences(count: int) -> list[str]:
    chance = random.Random(3)
    words = (ENGLISH + " And nobody in the whole town could say why it had been so late.").split()
    return [" ".join(chance.sample(words, 9)) for _ in range(count)]


def test_good_labels_are_good() -> None:
    rows = [("pos" if i % 2 else "neg", text) for i, text in enumerate(sentences(200))]
    assert codes(labelled(rows), "error") == set()
    found = next(fact for fact in labelled(rows).facts if fact.name == "labels")
    assert found.value == {"pos": 100, "neg": 100}


def test_labels_that_differ_in_case_only_are_named() -> None:
    texts = sentences(200)
    rows = [(("pos", "Pos", "neg")[i % 3], text) for i, text in enumerate(texts)]
    assert "label-case" in codes(labelled(rows), "warning")
    letters = [(("a", "A", "b")[i % 3], text) for i, text in enumerate(texts)]
    assert "label-case" not in codes(labelled(letters), "warning")


def test_columns_that_hold_no_labels_are_seen() -> None:
    texts = sentences(200)
    assert codes(
        labelled([(t, "pos" if i % 2 else "neg") for i, t in enumerate(texts)]), "error"
    ) == {"swapped"}
    assert codes(labelled([(t, t[::-1]) for t in texts]), "error") == {"pairs"}
    assert codes(labelled([(str(i), t) for i, t in enumerate(texts)]), "error") == {"labels"}
    words = [(f"word{i}", "NOUN" if i % 2 else "VERB") for i in range(200)]
    assert codes(labelled(words), "error") == {"tagged"}
    assert codes(labelled([("pos", t) for t in texts]), "error") == {"one-label"}


def test_texts_with_two_labels_are_reported() -> None:
    rows = [("pos" if i % 2 else "neg", text) for i, text in enumerate(sentences(100))]
    found = labelled([*rows, *[("neg" if a == "pos" else "pos", b) for a, b in rows[:10]], rows[0]])
    assert "conflicts" in codes(found, "warning")
    assert "duplicates" in codes(found, "note")


def test_a_tagger_wants_short_labels_for_words() -> None:
    rows = [(" ".join("XY"[j % 2] for j in range(9)), text) for text in sentences(100)]
    assert codes(labelled(rows, tagged=True), "error") == set()
    lemmas = [(" ".join(f"l{i}-{j}" for j in range(9)), t) for i, t in enumerate(sentences(100))]
    assert codes(labelled(lemmas, tagged=True), "error") == {"labels"}
    long = [(" ".join("XY"[j % 2] for j in range(9 * 200)), " ".join(sentences(200)))]
    assert codes(labelled(long, tagged=True), "error") == {"no-sentences"}


def test_the_words_of_a_tagger_are_neither_labels_nor_numbers() -> None:
    texts = [
        " ".join(f"{word}{i % 7}" for word in text.split()) for i, text in enumerate(sentences(100))
    ]
    swapped = [(text, " ".join("XY"[j % 2] for j in range(9))) for text in texts]
    assert codes(labelled(swapped, tagged=True), "error") == {"swapped"}
    numbered = [("X Y X Y", f"{i} {i + 1} {i + 2} {i + 3}") for i in range(100)]
    assert codes(labelled(numbered, tagged=True), "error") == {"numbers"}


def text_report(lines: list[str]) -> Report:
    return check_text(["a.txt"], lambda: ((line, f"a.txt:{i}") for i, line in enumerate(lines)))


def test_text_that_is_no_running_text_is_seen() -> None:
    assert codes(text_report(sentences(100)), "error", "warning") == set()
    assert codes(text_report([f"{i}\t{t}" for i, t in enumerate(sentences(50))]), "warning") == {
        "table"
    }
    assert "numbers" in codes(text_report([f"{i}, {i}" for i in range(50)]), "warning")
    assert "markup" in codes(text_report([f"<p>{t}</p>" for t in sentences(50)]), "warning")
    assert codes(text_report([f"{t} <unk>" for t in sentences(50)]), "warning") == set()
    assert "duplicates" in codes(text_report(sentences(50) * 2), "warning")


def test_findings_on_several_files_are_not_held_against_the_first() -> None:
    lines = sentences(50) * 2
    found = check_text(["a.txt", "b.txt"], lambda: ((line, "b.txt:1") for line in lines))
    (duplicates,) = [each for each in found.findings if each.code == "duplicates"]
    assert duplicates.sentence.startswith("the 2 files: ")


@pytest.mark.parametrize(
    ("names", "content", "flag"),
    [
        (("a.en", "a.de"), "one two\nthree\n", "pairs"),
        (("a.en", "a.de", "b.en"), "one two\nthree\n", "pairs"),
        (("a.en", "b.en"), "one two\nthree\n", "pairs"),
        (("a.en", "b.en", "c.en"), "one two\nthree\n", "text"),
        (("a.txt",), "one two\nthree\n", "text"),
        (("a.conllu",), "1\tone\n", "tagged"),
        (("a.txt",), "one X\ntwo Y\n\none X\ntwo Y\n\n", "tagged"),
        (("a.tsv",), "pos\tit is good\nneg\tit was bad, {}\n", "labelled"),
        (("a.tsv",), "this is {}\tdas ist {}\n", "pairs"),
        (("a.tsv",), "1{}\teng\tthis is {}\t2{}\tdeu\tdas ist {}\n", "pairs"),
        (("a.jsonl",), '{"text": "a"}\n', "text"),
        (("a.jsonl",), '"one two"\n', "text"),
        (("a.jsonl",), '{"text": "a", "label": "b"}\n', "labelled"),
        (("a.jsonl",), '{"translation": {"en": "a", "de": "b"}}\n', "pairs"),
    ],
)
def test_files_are_recognised(
    names: tuple[str, ...], content: str, flag: str, tmp_path: Path
) -> None:
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.write_text("".join(content.replace("{}", str(i)) for i in range(30)))
    assert recognise(paths).flag == flag
