"""PO and XLIFF files as pairs: what is finished in them, and nothing else."""

from pathlib import Path

import pytest

from regard.checks.kinds import recognise
from regard.data.corpus import corpora, languages_in_header, read_pairs
from regard.errors import DataError
from regard.text.documents.document import Wish
from regard.text.documents.formats import read_document

HEADER = r"""msgid ""
msgstr ""
"Language: {language}\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: {forms}\n"
"""
TWO = "nplurals=2; plural=(n != 1);"
POLISH = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);"
ENTRIES = r"""
#: a.c:1
#, c-format
msgid "Open %s"
msgstr "%s öffnen"

msgid "New"
msgstr ""

#, fuzzy
#| msgid "Quitt"
msgid "Quit"
msgstr "Beenden?"

msgid ""
"Two\n"
"lines\n"
msgstr ""
"Zwei\n"
"Zeilen\n"

#, fuzzy
#~ msgid "Old"
#~ msgstr "Alt"

msgid "After"
msgstr "Danach"
"""
PLURAL = r"""
msgid "%d file"
msgid_plural "%d files"
"""


def po(path: Path, entries: str = ENTRIES, language: str = "de", forms: str = TWO) -> Path:
    path.write_text(HEADER.format(language=language, forms=forms) + entries, "utf-8")
    return path


def xliff(
    path: Path, body: str, languages: str = 'source-language="en" target-language="de"'
) -> Path:
    path.write_text(
        f'<xliff version="1.2"><file original="a" {languages}><body>{body}</body></file></xliff>'
    )
    return path


def rows(*paths: Path, languages: tuple[str, str] | None = None) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs(paths, languages)]


def remark(path: Path) -> str:
    return corpora([path])[0].remark().removeprefix(f"{path}: ")


def test_finished_entries_are_pairs_and_the_others_are_counted(tmp_path: Path) -> None:
    path = po(tmp_path / "app.po")
    found = list(read_pairs([path]))
    assert [(pair.source, pair.target) for pair in found] == [
        ("Open %s", "%s öffnen"),
        ("Two lines", "Zwei Zeilen"),
        ("After", "Danach"),
    ]
    assert found[0].place == f"{path}:9"
    assert remark(path) == (
        "3 finished entries; left out: 1 obsolete, 1 without a translation, 1 fuzzy; "
        "taken to be from English"
    )
    assert recognise([path]).flag == "pairs"


def test_the_languages_of_a_catalogue(tmp_path: Path) -> None:
    path = po(tmp_path / "app.po")
    assert languages_in_header([path]) == ("en", "de")
    assert rows(path, languages=("de", "en"))[0] == ("%s öffnen", "Open %s")
    assert rows(path, languages=("fr", "de"))[0] == ("Open %s", "%s öffnen")
    with pytest.raises(DataError, match="translates en → de, but en → it is asked for"):
        rows(path, languages=("en", "it"))
    unnamed = po(tmp_path / "app.fr.po", language="")
    assert languages_in_header([unnamed]) == ("en", "fr")
    assert languages_in_header([po(tmp_path / "app.po", language="")]) is None


@pytest.mark.parametrize(
    ("language", "forms", "texts", "expected"),
    [
        ("de", TWO, ["%d Datei", "%d Dateien"], [("file", "Datei"), ("files", "Dateien")]),
        ("ja", "nplurals=1; plural=0;", ["%d ファイル"], [("files", "ファイル")]),
        (
            "pl",
            POLISH,
            ["%d plik", "%d pliki", "%d plików"],
            [("file", "plik"), ("files", "plików")],
        ),
        ("de", TWO, ["%d Datei", ""], [("file", "Datei")]),
    ],
)
def test_one_and_several_are_a_pair_each(
    tmp_path: Path, language: str, forms: str, texts: list[str], expected: list[tuple[str, str]]
) -> None:
    entries = PLURAL + "".join(f'msgstr[{n}] "{text}"\n' for n, text in enumerate(texts))
    path = po(tmp_path / "app.po", entries, language, forms)
    assert rows(path) == [(f"%d {source}", f"%d {target}") for source, target in expected]


def test_units_of_xliff_are_pairs_if_they_are_translated_and_reviewed(tmp_path: Path) -> None:
    path = xliff(
        tmp_path / "app.xliff",
        '<trans-unit id="1"><source>A <g id="1">big</g><x id="2"/> day</source>\n'
        '<target>Ein <g id="1">großer</g><x id="2"/> Tag</target></trans-unit>'
        '<trans-unit id="2"><source>New</source></trans-unit>'
        '<trans-unit id="3"><source>x</source><target state="new">x</target></trans-unit>'
        '<trans-unit id="4"><source>y</source>'
        '<target state="needs-review-translation">z</target></trans-unit>'
        '<trans-unit id="5"><source>Hi <ph id="1">%s</ph>, <ph id="2">&lt;b&gt;</ph>you</source>'
        '<target>Hallo <ph id="1">%s</ph>, <ph id="2">&lt;b&gt;</ph>du</target></trans-unit>'
        '<trans-unit id="6"><source>Hi <x id="1" equiv-text="{{name}}"/>!</source>'
        '<target>Hallo <x id="1" equiv-text="{{name}}"/>!</target></trans-unit>'
        '<trans-unit id="7"><source>One. Two.</source><seg-source>'
        '<mrk mtype="seg" mid="0">One.</mrk> <mrk mtype="seg" mid="1">Two.</mrk></seg-source>'
        '<target><mrk mtype="seg" mid="0">Eins.</mrk> <mrk mtype="seg" mid="1">Zwei.</mrk></target>'
        "</trans-unit>",
    )
    assert rows(path) == [
        ("A big day", "Ein großer Tag"),
        ("Hi %s, you", "Hallo %s, du"),
        ("Hi {{name}}!", "Hallo {{name}}!"),
        ("One.", "Eins."),
        ("Two.", "Zwei."),
    ]
    assert remark(path) == (
        "5 finished entries; left out: 2 without a translation, 1 to be reviewed"
    )
    assert languages_in_header([path]) == ("en", "de")
    assert rows(path, languages=("de", "en"))[0] == ("Ein großer Tag", "A big day")


def test_what_regard_has_translated_is_not_learned_before_a_review(tmp_path: Path) -> None:
    untranslated = {
        "app.po": HEADER.format(language="de", forms=TWO) + '\nmsgid "Open"\nmsgstr ""\n',
        "one.xlf": '<xliff version="1.2"><file original="a" source-language="en"><body>'
        '<trans-unit id="1"><source>Open</source></trans-unit></body></file></xliff>',
        "two.xlf": '<xliff version="2.1" srcLang="en"><file id="f"><unit id="u"><segment id="s">'
        "<source>Open</source></segment></unit></file></xliff>",
    }
    for name, text in untranslated.items():
        path = tmp_path / name
        path.write_bytes(read_document(name, text.encode(), Wish("en", "de")).write({0: ("Auf",)}))
        with pytest.raises(DataError, match=r"0 finished entries; left out: 1 (fuzzy|to be rev)"):
            rows(path)
        mended = path.read_text().replace("#, fuzzy\n", "").replace("needs-review-translation", "")
        path.write_text(mended.replace("regard:unreviewed", ""))
        assert rows(path) == [("Open", "Auf")]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.po", "msgid oops", r"a\.po:1: not a line of a PO file"),
        ("a.po", "", "the file is empty"),
        ("a.po", 'msgid "a"\nmsgstr "b\n', r"a\.po:2: a string has no end"),
        ("a.xlf", "<xliff version='1.2'>", r"a\.xlf:1: not valid XML"),
        ("a.xlf", "<!DOCTYPE x [<!ENTITY a 'b'>]><xliff/>", "DOCTYPE"),
        ("a.xlf", "<xliff version='9'/>", "is XLIFF 9; 1.2, 2.0, 2.1 and 2.2 can be read"),
        ("a.xlf", "<xliff version='1.2'/>", "0 finished entries; give a file with finished"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=said) as raised:
        rows(path)
    assert str(raised.value).startswith(str(path))


def test_files_of_several_languages_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlf"
    unit = "<trans-unit><source>a</source><target>b</target></trans-unit>"
    file = f'<file source-language="en" target-language="{{}}">{unit}</file>'
    path.write_text(f'<xliff version="1.2">{file.format("de")}{file.format("fr")}</xliff>')
    with pytest.raises(DataError, match="holds en → de, en → fr; give a file of one pair"):
        rows(path)
