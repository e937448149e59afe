"""Several corpora are read one after another, in one direction."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.data.corpus import corpora, read_pairs
from regard.data.pair_files import check_files, language_codes
from regard.errors import DataError

Folder = Callable[..., list[Path]]


@pytest.fixture
def files(tmp_path: Path) -> Folder:
    """Files with a line each that says its name's language; tables and objects have both."""

    def write(*names: str) -> list[Path]:
        for name in names:
            stem = name.split(".")[0]
            text = f"{stem} {name.split('.')[-1]}"
            if name.endswith(".tsv"):
                text = f"{stem} one\t{stem} two"
            if name.endswith(".csv"):
                text = f"English,French\n{stem} en,{stem} fr"
            if name.endswith(".jsonl"):
                text = f'{{"source": "{stem} one", "target": "{stem} two"}}'
            (tmp_path / name).write_text(text + "\n", encoding="utf-8")
        return [tmp_path / name for name in names]

    return write


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("a.en", "a.fr", "b.en", "b.fr"), [("a en", "a fr"), ("b en", "b fr")]),
        (("a.en", "a.fr", "b.fr", "b.en"), [("a en", "a fr"), ("b en", "b fr")]),
        (("a.en", "a.fr", "m.tsv"), [("a en", "a fr"), ("m one", "m two")]),
        (("m.tsv", "a.en", "a.fr"), [("m one", "m two"), ("a en", "a fr")]),
        (("m.tsv", "n.tsv"), [("m one", "m two"), ("n one", "n two")]),
        (("a.en", "a.fr", "m.fr-en.tsv"), [("a en", "a fr"), ("m two", "m one")]),
        (("a.en", "a.fr", "m.fr-en.jsonl"), [("a en", "a fr"), ("m two", "m one")]),
        (("a.fr", "a.en", "m.csv"), [("a fr", "a en"), ("m fr", "m en")]),
        (("a.en", "a.fr", "m.csv"), [("a en", "a fr"), ("m en", "m fr")]),
        (("a.src", "a.tgt", "b.en", "b.fr"), [("a src", "a tgt"), ("b en", "b fr")]),
    ],
)
def test_corpora_follow_each_other(
    files: Folder, names: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    paths = files(*names)
    assert [(pair.source, pair.target) for pair in read_pairs(paths)] == expected


def test_a_corpus_that_is_turned_round_says_so(files: Folder) -> None:
    first, second = corpora(files("a.en", "a.fr", "b.fr", "b.en"))
    assert first.remark() == ""
    assert second.remark().endswith("turned round, as their names show, so that they are en → fr")
    (only,) = corpora(files("a.fr", "a.en"))
    assert not only.turned
    (only,) = corpora(files("a.fr", "a.en"), ("en", "fr"))
    assert [pair.source for pair in only.read()] == ["a en"]
    (_, table) = corpora(files("a.en", "a.fr", "m.fr-en.tsv"))
    assert "turned round, as the file's name shows" in table.remark()


def test_regions_of_a_language_are_the_language_unless_both_are(files: Folder) -> None:
    assert not any(each.turned for each in corpora(files("a.en", "a.pt", "b.en", "b.pt-BR")))
    turned = corpora(files("a.pt-PT", "a.pt-BR", "b.pt-BR", "b.pt-PT"))
    assert [each.turned for each in turned] == [False, True]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a.en", "a.fr", "b.en", "b.de"), r"b\.en: its name shows en and de, but other files are"),
        (("a.en", "b.en", "a.fr", "b.fr"), r"a\.en and .*b\.en: both names show en; give each"),
        (("a.en", "a.fr", "b.en"), r"b\.en: one file of plain text holds no pairs"),
        (("a.en", "m.tsv"), r"a\.en: one file of plain text holds no pairs"),
        (("a.en", "a.fr", "a.en", "a.fr"), r"a\.en: the same file is given twice; .*data\.weights"),
    ],
)
def test_files_that_do_not_go_together(files: Folder, names: tuple[str, ...], said: str) -> None:
    with pytest.raises(DataError, match=said):
        list(read_pairs(files(*names)))


def test_a_table_by_another_name_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\teins\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"a\.txt: .*tabs suggest, give it a name that ends in \.tsv"
    ):
        read_pairs([path])


def test_given_languages_overrule_names_unless_some_names_show_them(files: Folder) -> None:
    assert len(list(read_pairs(files("a.en", "a.de"), ("en", "bar")))) == 1
    assert len(list(read_pairs(files("a.en", "a.de", "b.eng", "b.deu")))) == 2
    with pytest.raises(DataError, match=r"b\.en: its name shows en and de, but other files are"):
        read_pairs(files("a.en", "a.fr", "b.en", "b.de"), ("en", "fr"))


def test_validation_files_are_of_the_same_languages(files: Folder) -> None:
    train = files("a.en", "a.fr")
    (valid,) = corpora(files("v.fr", "v.en"), beside=train)
    assert [(pair.source, pair.target) for pair in valid.read()] == [("v en", "v fr")]
    with pytest.raises(DataError, match=r"v\.en: its name shows en and de"):
        corpora(files("v.en", "v.de"), beside=train)


def test_languages_are_those_of_the_first_corpus_that_shows_them() -> None:
    names = ["a.txt", "b.txt", "m.tsv", "c.en", "c.fr"]
    assert language_codes([Path(name) for name in names]) == ("en", "fr")


def test_the_same_text_twice_in_one_corpus_is_one_file(files: Folder, tmp_path: Path) -> None:
    paths = files("a.en", "a.fr")
    os.link(paths[0], tmp_path / "b.en")
    with pytest.raises(DataError, match="the same file is given twice"):
        check_files([*paths, tmp_path / "b.en", *files("b.fr")])
