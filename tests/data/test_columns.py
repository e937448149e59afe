"""Which columns are read, and the sentence where that cannot be told."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from regard.data.columns import text_layout
from regard.data.corpus import languages_in_header, read_pairs
from regard.data.label_columns import label_layout
from regard.data.labelled import read_tagged, read_texts, text_remarks
from regard.data.pair_columns import language_of, pair_layout
from regard.data.texts import read_documents
from regard.errors import DataError

Writer = Callable[..., Path]
Reader = Callable[[list[Path]], Iterator[object]]
Cells = tuple[list[str], ...]

SENTENCES = [f"This is sentence {n}." for n in range(60)]
TRANSLATIONS = [f"Das ist Satz {n}." for n in range(60)]
LABELS = ["good", "bad", "good"] * 20
IDS = [str(1000 + n) for n in range(60)]
KEYS = [f"{n * 2654435761 % 2**32:08x}" for n in range(1, 61)]
PAGES = ["https://example.org/about"] * 30 + ["https://example.org/news"] * 30
CONLL = "Jim\tNNP\tB-PER\nsleeps\tVBZ\tO\n.\t.\tO\n\n" * 10


def columns(*cells: list[str], header: str = "") -> str:
    lines = ["\t".join(row) for row in zip(*cells, strict=True)]
    return "\n".join([header, *lines] if header else lines) + "\n"


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    def write_file(text: str, name: str = "t.tsv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_file


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("en", "en"),
        ("English", "en"),
        ("Français", "fr"),
        ("PT-br", "PT-br"),
        (" de ", "de"),
        ("yes", ""),
        ("id", "id"),
    ],
)
def test_languages_are_known_by_code_and_name(name: str, code: str) -> None:
    assert language_of(name) == code


@pytest.mark.parametrize(
    ("header", "languages", "taken"),
    [
        ("source\ttarget", None, (0, 1)),
        ("TGT\tSRC", None, (1, 0)),
        ("Quelle\tÜbersetzung", None, (0, 1)),
        ("Traduction\tOriginal", None, (1, 0)),
        ("en\tde", None, (0, 1)),
        ("English\tGerman", None, (0, 1)),
        ("German (Austria)\tEnglish [UK]", ("en", "de"), (1, 0)),
        ("Target (de)\tSource (en)", None, (1, 0)),
        ("English\tGerman", ("de", "en"), (1, 0)),
        ("en-US\tde-DE", ("de", "en"), (1, 0)),
    ],
)
def test_a_header_names_the_pair_and_is_no_pair(
    write: Writer, header: str, languages: tuple[str, str] | None, taken: tuple[int, int]
) -> None:
    path = write(columns(SENTENCES, TRANSLATIONS, header=header))
    layout = pair_layout(path, languages)
    assert layout.columns == taken
    assert layout.header == tuple(header.split("\t"))
    sides = SENTENCES, TRANSLATIONS
    first, *rest = read_pairs([path], languages)
    assert (first.source, first.target) == (sides[taken[0]][0], sides[taken[1]][0])
    assert first.place == f"{path}:2"
    assert len(rest) == 59


@pytest.mark.parametrize("name", ["id", "ID", "no"])
@pytest.mark.parametrize("ids", [IDS, KEYS])
def test_a_column_of_ids_is_no_language(write: Writer, name: str, ids: list[str]) -> None:
    path = write(columns(ids, SENTENCES, TRANSLATIONS, header=f"{name}\ten\tde"))
    assert pair_layout(path).columns == (1, 2)
    assert languages_in_header([path]) == ("en", "de")


@pytest.mark.parametrize("inside", ["{}", '{{"id": "no-1", "translation": {}}}'])
def test_the_keys_of_objects_name_the_languages(write: Writer, inside: str) -> None:
    path = write(inside.format('{"id": "7", "en": "one", "de": "eins"}') + "\n", "t.jsonl")
    assert languages_in_header([path]) == ("en", "de")
    (pair,) = read_pairs([path], ("en", "de"))
    assert (pair.source, pair.target) == ("one", "eins")
    named = write('{"source": "one", "target": "eins"}\n', "u.jsonl")
    assert languages_in_header([named]) is None


def test_a_csv_of_tabs_may_have_quotation_marks_in_its_sentences(write: Writer) -> None:
    said = [f'"Yes", she said, {n} times' for n in range(60)]
    path = write(columns(said, TRANSLATIONS), "t.csv")
    assert [pair.source for pair in read_pairs([path])] == said


def test_other_languages_than_those_asked_for(write: Writer) -> None:
    path = write(columns(SENTENCES, TRANSLATIONS, header="English\tGerman"))
    with pytest.raises(
        DataError, match=r"t\.tsv:1: the columns are English, German, and en and fr"
    ):
        pair_layout(path, ("en", "fr"))
    assert languages_in_header([path]) == ("en", "de")
    assert languages_in_header([write(columns(SENTENCES, TRANSLATIONS))]) is None


@pytest.mark.parametrize(
    ("cells", "taken", "said"),
    [
        ((SENTENCES, TRANSLATIONS), (0, 1), ""),
        ((IDS, SENTENCES, IDS, TRANSLATIONS), (1, 3), "column 1 holds numbers, column 3 holds num"),
        ((SENTENCES, TRANSLATIONS, ["CC-BY 2.0 (France)"] * 60), (0, 1), "the first two"),
        ((IDS, ["eng"] * 60, SENTENCES, IDS, ["deu"] * 60, TRANSLATIONS), (2, 5), 'only "eng"'),
        ((LABELS, SENTENCES, TRANSLATIONS), (1, 2), 'column 1 holds only "good", "bad"'),
        ((["0.93", "0.5", "-1.2"] * 20, SENTENCES, TRANSLATIONS), (1, 2), "column 1 holds numbers"),
        ((KEYS, SENTENCES, TRANSLATIONS), (1, 2), "column 1 holds ids"),
        ((PAGES, KEYS, SENTENCES, TRANSLATIONS), (2, 3), "column 1 holds ids, column 2 holds ids"),
        (([f"sent-{n}" for n in IDS], SENTENCES, TRANSLATIONS), (1, 2), "column 1 holds ids"),
        ((IDS, SENTENCES), (0, 1), "though column 1 holds numbers"),
        ((KEYS, SENTENCES), (0, 1), "though column 1 holds ids"),
        ((IDS, IDS), (0, 1), "numbers"),
    ],
)
def test_pairs_are_the_first_two_columns_of_text(
    write: Writer, cells: Cells, taken: tuple[int, int], said: str
) -> None:
    path = write(columns(*cells))
    layout = pair_layout(path)
    assert layout.columns == taken
    assert said in layout.why
    assert bool(layout.remark(path)) == bool(said)
    assert len(list(read_pairs([path]))) == 60


def test_a_header_above_numbers(write: Writer) -> None:
    path = write(columns(IDS, SENTENCES, TRANSLATIONS, header="nr\teins\tzwei"))
    assert pair_layout(path).header == ("nr", "eins", "zwei")
    assert len(list(read_pairs([path]))) == 60


def test_columns_that_a_person_chooses(write: Writer) -> None:
    path = write(columns(IDS, SENTENCES, TRANSLATIONS, header="nr\tEins\tZwei"))
    for chosen in ([3, 2], ["zwei", "EINS"], ["Zwei", 2]):
        first = next(read_pairs([path], columns=chosen))
        assert (first.source, first.target) == (TRANSLATIONS[0], SENTENCES[0])
    with pytest.raises(DataError, match="no column 'drei' among nr, eins, zwei; give"):
        next(read_pairs([path], columns=["eins", "drei"]))
    with pytest.raises(DataError, match=r"there is no column 4, only 3"):
        next(read_pairs([path], columns=[1, 4]))


@pytest.mark.parametrize(
    ("cells", "header"),
    [((LABELS, SENTENCES), ""), ((SENTENCES, LABELS), ""), ((SENTENCES, LABELS), "text\tlabel")],
)
def test_labelled_texts_are_no_pairs(write: Writer, cells: Cells, header: str) -> None:
    path = write(columns(*cells, header=header))
    with pytest.raises(DataError, match=r"labels.* are for --labelled; if .* set data\.columns"):
        list(read_pairs([path]))
    assert len(list(read_pairs([path], columns=[1, 2]))) == 60


@pytest.mark.parametrize(
    ("cells", "header", "taken"),
    [
        ((LABELS, SENTENCES), "", (0, 1)),
        ((SENTENCES, LABELS), "", (1, 0)),
        ((SENTENCES[:6], LABELS[:6]), "", (1, 0)),
        ((SENTENCES[:2], LABELS[:2]), "", (1, 0)),
        ((["fine film", "dull film"] * 30, ["1", "0"] * 30), "", (1, 0)),
        ((["it"] * 60, LABELS), "", (1, 0)),
        ((IDS, LABELS, SENTENCES), "", (1, 2)),
        ((IDS, SENTENCES, LABELS), "", (2, 1)),
        ((SENTENCES, LABELS), "Review\tVerdict", (1, 0)),
        ((IDS, SENTENCES, LABELS), "nr\treview\tverdict", (2, 1)),
        ((LABELS, SENTENCES, TRANSLATIONS), "label\ttitle\tdescription", (0, 2)),
        ((SENTENCES, LABELS), "utterance\tintent", (1, 0)),
        ((LABELS, SENTENCES), "label\tblurb", (0, 1)),
    ],
)
def test_the_label_is_the_column_with_few_values(
    write: Writer, cells: Cells, header: str, taken: tuple[int, int]
) -> None:
    path = write(columns(*cells, header=header))
    layout = label_layout(path)
    assert layout.columns == taken
    assert layout.header == tuple(header.split("\t") if header else ())
    (first, *_) = read_texts([path])
    assert first.labels == (cells[taken[0]][0],)
    assert first.units == (cells[taken[1]][0],)


def test_swapped_columns_are_said(write: Writer) -> None:
    path = write(columns(SENTENCES, LABELS))
    (remark,) = text_remarks([path])
    assert remark == (
        f"{path}: label is column 2, text is column 1 (column 2 has only 2 different values)"
    )
    assert text_remarks([write(columns(LABELS, SENTENCES))]) == []


def test_a_label_that_looks_like_the_name_of_a_column(write: Writer) -> None:
    path = write(columns(["question", "review"] * 30, SENTENCES))
    assert label_layout(path).header == ()
    assert len(list(read_texts([path]))) == 60


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (
            (LABELS, ["yes", "no", "maybe"] * 20),
            r"2 different values in 60 rows \(\"good\", \"bad\"",
        ),
        ((SENTENCES, TRANSLATIONS), r"60 different .* translations are for --pairs"),
        ((SENTENCES, LABELS, ["x", "y", "z"] * 20), "cannot be told"),
    ],
)
def test_where_the_label_cannot_be_told(write: Writer, cells: Cells, said: str) -> None:
    path = write(columns(*cells))
    with pytest.raises(DataError, match=r"cannot be told which column is the label") as raised:
        list(read_texts([path]))
    assert raised.match(said)
    assert "set data.label and data.text to the numbers" in str(raised.value)
    assert len(list(read_texts([path], 1, 2))) == 60


@pytest.mark.parametrize("read", [read_pairs, read_texts, read_documents])
def test_words_with_labels_are_for_a_tagger(write: Writer, read: Reader) -> None:
    for name in ("t.tsv", "t.conll", "t.conllu"):
        path = write(CONLL, name)
        if read is read_pairs and name != "t.tsv":
            continue
        with pytest.raises(DataError, match=r"labels are for --tagged"):
            list(read([path]))


def test_texts_with_a_label_are_not_for_a_tagger(write: Writer) -> None:
    for name, text in (
        ("t.tsv", columns(LABELS, SENTENCES)),
        ("t.txt", columns(SENTENCES, LABELS)),
        ("t.csv", "good,This is a text.\n"),
        ("t.jsonl", '{"text": "This is a text.", "label": "good"}\n'),
    ):
        with pytest.raises(DataError, match=r"texts with a label each are for --labelled"):
            list(read_tagged([write(text, name)]))
    assert len(list(read_tagged([write(CONLL)]))) == 10


def test_the_words_of_a_tagger_may_be_in_another_column(write: Writer) -> None:
    path = write("1\tJim\tNNP\n2\tsleeps\tVBZ\n\n" * 3)
    assert next(read_tagged([path], "", 2)).units == ("Jim", "sleeps")
    with pytest.raises(DataError, match="no names, and 'word' is asked for"):
        next(read_tagged([path], "", "word"))


@pytest.mark.parametrize(
    ("cells", "header", "taken"),
    [
        ((LABELS, SENTENCES), "", 1),
        ((SENTENCES, LABELS), "", 0),
        ((SENTENCES, IDS), "", 0),
        ((LABELS, SENTENCES, IDS), "label\tbody\tnr", 1),
        ((SENTENCES,), "", 0),
        ((SENTENCES,), "text", 0),
    ],
)
def test_the_column_of_running_text(write: Writer, cells: Cells, header: str, taken: int) -> None:
    path = write(columns(*cells, header=header))
    assert text_layout(path).columns == (taken,)
    assert list(read_documents([path]))[:2] == [f"{cells[taken][0]}\n", None]


def test_a_list_of_strings_is_running_text(write: Writer) -> None:
    path = write('["One day.", "Two days."]', "t.json")
    assert list(read_documents([path])) == ["One day.", None, "Two days.", None]


def test_a_sentence_about_cells_of_several_lines_is_one_line(write: Writer) -> None:
    path = write('"Two\nlines","Six\nwords"\n"Three\nlines","Some\nwords"\n' * 30, "t.csv")
    with pytest.raises(DataError, match=r'\("Two lines", "Three lines"\)') as raised:
        list(read_texts([path]))
    assert "\n" not in str(raised.value)
