"""Labelled text is read from its files, encoded, and read back in batches."""

import bz2
from pathlib import Path

import numpy as np
import pytest

from regard.data.label_ids import LabelledIds, encode, write_labelled
from regard.data.labelled import Labelled, read_tagged, read_texts
from regard.errors import DataError
from regard.text.tokenizer import END, PAD, START, Tokenizer

CONLLU = (
    "# text = He didn't.\n"
    "1\tHe\the\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n"
    "2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "2\tdid\tdo\tAUX\tVBD\t_\t0\troot\t_\t_\n"
    "3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_\n"
    "3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_\n"
    "\n"
)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text", "label"),
    [
        ("a.tsv", "good\tfine film\nbad\tdull film\n", ""),
        ("a.tsv", "label\trating\ttext\ngood\t9\tfine film\nbad\t2\tdull film\n", ""),
        ("a.tsv", "text\tverdict\nfine film\tgood\ndull film\tbad\n", "verdict"),
        ("a.tsv", "9\tgood\tfine film\n2\tbad\tdull film\n", 2),
        (
            "a.jsonl",
            '{"label": "good", "text": "fine film"}\n{"label": "bad", "text": "dull film"}\n',
            "",
        ),
    ],
)
def test_texts_with_a_label(tmp_path: Path, name: str, text: str, label: str | int) -> None:
    found = list(read_texts([write(tmp_path, name, text)], label))
    assert [(each.units, each.labels) for each in found] == [
        (("fine film",), ("good",)),
        (("dull film",), ("bad",)),
    ]


def test_bzip2_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.bz2"
    path.write_bytes(bz2.compress(b"1\tfine\n"))
    assert next(read_texts([path])).units == ("fine",)
    path.write_bytes(bz2.compress(b"1\tfine\n" * 1000)[:40])
    with pytest.raises(DataError, match="damaged bzip2"):
        list(read_texts([path]))


@pytest.mark.parametrize(
    ("text", "label", "said"),
    [
        ("good fine\n", "", r"a\.tsv:1: no tab"),
        ("good\tfine\nbad\n", "", r"a\.tsv:2: 1 columns, the first line has 2"),
        ("label\ttext\n1\tx\n", "verdict", r"a\.tsv:1: no column 'verdict' among label, text"),
        ("good\tfine\n", 3, r"a\.tsv:1: there is no column 3"),
        ("good\tfine\n", "verdict", r"a\.tsv:1: the columns have no names"),
        ("good\tfine\n \tdull\n", "", r"a\.tsv:2: the label is empty"),
    ],
)
def test_bad_labelled_text_is_named(tmp_path: Path, text: str, label: str | int, said: str) -> None:
    with pytest.raises(DataError, match=said):
        list(read_texts([write(tmp_path, "a.tsv", text)], label))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"label": 0.5, "text": "x"}', r'a\.jsonl:1: "label" is 0\.5, and a label is a text or'),
        ('{"label": null, "text": "x"}', r'"label" is null, and a label is'),
        ('{"verdict": 1, "text": "x"}', r'no "label" in the object; rename'),
        ('{"label": 1, "blob": "x"}', r'no "text" in the object; rename'),
        ('{"label": 1, "text": ["x"]}', r'"text" is \["x"\]; give a text in quotes'),
        ("[1, 2]", r"a\.jsonl:1: not an object; write"),
    ],
)
def test_bad_objects_are_refused_with_the_reason(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        list(read_texts([write(tmp_path, "a.jsonl", line)]))


def test_whole_numbers_are_labels(tmp_path: Path) -> None:
    (found,) = read_texts([write(tmp_path, "a.jsonl", '{"label": 4, "text": "x"}')])
    assert found.labels == ("4",)


def test_messages_about_columns_help_where_nothing_can_be_set(tmp_path: Path) -> None:
    for text in ("verdict\ttext\n1\tx\n", "1\tx\n"):
        with pytest.raises(
            DataError, match=r"a\.tsv:1: .*; (give|name) .*, or train with data"
        ) as e:
            list(read_texts([write(tmp_path, "a.tsv", text)], "coarse"))
        assert "--set" not in str(e.value)


def test_tagged_sentences(tmp_path: Path) -> None:
    words = "-DOCSTART- -X- O\n\nSanjay NNP B-NP\nJoshi NNP I-NP\n\n. . O\n"
    found = list(read_tagged([write(tmp_path, "a.txt", words)]))
    assert [each.units for each in found] == [("Sanjay", "Joshi"), (".",)]
    assert [each.labels for each in found] == [("B-NP", "I-NP"), ("O",)]
    assert found[0].place.endswith("a.txt:3")
    assert next(read_tagged([tmp_path / "a.txt"], 2)).labels == ("NNP", "NNP")
    with pytest.raises(DataError, match=r"b\.txt:1: a word without a label"):
        list(read_tagged([write(tmp_path, "b.txt", "word\n")]))
    with pytest.raises(DataError, match=r"c\.txt:1: the label is empty"):
        list(read_tagged([write(tmp_path, "c.txt", "word\t\n")]))


def test_the_last_column_is_the_same_for_every_word(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conll", "Sanjay NNP B-NP\nJoshi NNP\n")
    with pytest.raises(DataError, match=r"a\.conll:2: 2 columns, the first word has 3"):
        list(read_tagged([path]))
    assert next(read_tagged([path], 2)).labels == ("NNP", "NNP")


def test_conllu_leaves_out_ranges_and_empty_words(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conllu", CONLLU)
    (sentence,) = read_tagged([path])
    assert sentence.units == ("He", "did", "n't")
    assert sentence.labels == ("PRON", "AUX", "PART")
    assert next(read_tagged([path], "xpos")).labels == ("PRP", "VBD", "RB")
    with pytest.raises(DataError, match="'pos' is no column; choose from lemma, upos"):
        list(read_tagged([path], "pos"))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["the cat sat on the mat"] * 3, vocabulary_size=300)


def test_rows_hold_whole_words_and_cut_long_texts(tokenizer: Tokenizer) -> None:
    words = ["the", "cat", "\u00ad", "sat on", "mat"]
    rows = list(encode([words], tokenizer, 10, whole_text=False))
    assert sum(len(row.sizes) for _, _, row in rows) == len(words)
    assert [first for _, first, _ in rows] == list(
        np.cumsum([0, *(len(r.sizes) for _, _, r in rows)])[:-1]
    )
    assert all(sum(row.sizes) == len(row.pieces) <= 8 for _, _, row in rows)
    ((_, _, row),) = encode([["the cat sat on the mat"]], tokenizer, 6, whole_text=True)
    assert (len(row.pieces), list(row.sizes)) == (4, [4])


def test_labels_come_back_with_their_words(tokenizer: Tokenizer, tmp_path: Path) -> None:
    examples = [
        Labelled(("the", "cat"), ("D", "N"), "a:1"),
        Labelled(("sat",), ("V",), "a:4"),
    ]
    write_labelled(
        examples, tokenizer, ["D", "N", "V"], tmp_path, "train", max_length=64, whole_text=False
    )
    ids = LabelledIds.open(tmp_path, "train", tokenizer.specials, whole_text=False)
    batch = ids.batch(np.array([0, 1]))
    assert batch.labels.tolist() == [[0, 1], [2, -1]]
    assert batch.tokens[:, 0].tolist() == [START, START]
    for row, length in enumerate(ids.lengths):
        assert batch.tokens[row, length - 1] == END
        assert (batch.tokens[row, length:] == PAD).all()
        assert batch.mask[row].sum() == length
        assert batch.units[row, 0] == batch.units[row, length - 1] == -1
    first = batch.tokens[0][batch.units[0] == 1].tolist()
    assert tokenizer.decode(first) == "cat"
    whole = LabelledIds.open(tmp_path, "train", tokenizer.specials, whole_text=True)
    assert (whole.batch(np.array([1])).units == 0).all()
