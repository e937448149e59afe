"""Translation memories: the command, Python, documents, and TMX out."""

import json
from pathlib import Path

import pytest

from regard.cli import main
from regard.data.tmx import two_texts
from regard.errors import RequestError
from regard.tasks.translation.translator import Translator
from tests.data.pair_sources import tmx, unit


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    path = tmp_path / "memory.tmx"
    body = unit(xx="a b c d e f g.", yy="known") + unit(xx="h.", yy="K &lt; b")
    path.write_text(tmx(body, "xx"))
    return path


def test_texts_of_the_memory_are_taken(
    folder: Path, memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["translate", str(folder), "h.", "b.", "a b c d e f g.", "--memory", str(memory)])
    out, err = capsys.readouterr()
    assert out.splitlines() == ["K < b", "BB!", "known"]
    assert "2 of 3 texts taken from the memory." in err


def test_the_json_has_the_most_similar_text(
    folder: Path, memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = ["h.", "a b c d e f h.", "b."]
    command = ["translate", str(folder), *texts, "--json", "--memory", str(memory)]
    main(command)
    same, similar, other = map(json.loads, capsys.readouterr().out.splitlines())
    assert (same["text"], same["memory"]["percent"], same["alignment"]) == ("K < b", 100, [])
    assert similar["memory"] == {"source": "a b c d e f g.", "target": "known", "percent": 87}
    assert similar["text"] != "known"
    assert other["memory"] is None
    main([*command, "--min-match", "90"])
    assert json.loads(capsys.readouterr().out.splitlines()[1])["memory"] is None


def test_what_is_translated_becomes_a_memory(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new.tmx"
    given = tmp_path / "in.xx"
    given.write_text("b.\n\nc d.\n")
    main(["translate", str(folder), "--input", str(given), "--output", str(out)])
    pairs = [(source, target) for source, target, _ in two_texts(out)]
    assert pairs == [("b.", "BB!"), ("c d.", "CC DD!")]
    main(["translate", str(folder), "c d.", "b.", "--memory", str(out)])
    assert "2 of 2 texts taken from the memory." in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["translate", str(folder), "b.", "--json", "--output", str(out)])
    assert "a .tmx holds translations alone" in capsys.readouterr().err


def test_python_takes_a_file_or_pairs(folder: Path, memory: Path) -> None:
    translator = Translator.load(folder)
    assert translator.translate(["h.", "b."], memory=memory) == ["K < b", "BB!"]
    assert translator.translate("b.", memory=[("b.", "ß")]) == "ß"
    with pytest.raises(RequestError, match="memory: 5 is none"):
        translator.translate("b.", memory=5)  # type: ignore[call-overload]


XLIFF = """<xliff version="1.2"><file source-language="xx" target-language="yy"><body>
<trans-unit id="1"><source>h.</source></trans-unit>
<trans-unit id="2"><source>a b c d e f h.</source></trans-unit>
<trans-unit id="3"><source><g id="1">h</g>.</source></trans-unit>
</body></file></xliff>"""


def test_an_xliff_says_what_is_from_the_memory(
    folder: Path, memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, out = tmp_path / "a.xlf", tmp_path / "b.xlf"
    given.write_text(XLIFF)
    main(["file", str(folder), str(given), "--out", str(out), "--memory", str(memory)])
    first, second, third = out.read_text().splitlines()[1:4]
    state = 'state="translated" state-qualifier="exact-match"'
    assert f"<target {state}>K &lt; b</target>" in first
    assert "alt-trans" not in first
    assert (
        '</target><alt-trans match-quality="87%" origin="memory"><source>a b c d e f g.</source>'
        "<target>known</target></alt-trans></trans-unit>"
    ) in second
    assert 'state="needs-review-translation"' in second
    assert "K &lt; b" not in third.partition("<alt-trans")[0]  # its formatting would be lost
    assert "2 texts translated, 1 from the memory" in capsys.readouterr().err


def test_a_po_entry_of_the_memory_is_not_fuzzy(folder: Path, memory: Path, tmp_path: Path) -> None:
    given, out = tmp_path / "a.po", tmp_path / "b.po"
    given.write_text('msgid "h."\nmsgstr ""\n\nmsgid "b."\nmsgstr ""\n')
    done = Translator.load(folder).translate_file(given, out, memory=memory)
    assert out.read_text() == ('msgid "h."\nmsgstr "K < b"\n\n#, fuzzy\nmsgid "b."\nmsgstr "BB!"\n')
    assert (done.taken, done.translated) == (1, 1)


def test_sentences_of_a_text_are_taken_too(folder: Path, memory: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>Alpha beta. House door. Gamma a.</p><p>h.</p>")
    done = Translator.load(folder).translate_file(
        page, memory=[("House door.", "Sentence."), ("h.", "x")]
    )
    found = done.path.read_text()
    assert "Sentence." in found
    assert found.endswith("<p>x</p>")
    assert done.taken == 1


TAGGED = (
    unit(
        xx='h <bpt i="1">&lt;b&gt;</bpt>a<ept i="1">&lt;/b&gt;</ept>.',
        yy='<bpt i="1">&lt;b&gt;</bpt>AA<ept i="1">&lt;/b&gt;</ept> hh!',
    )
    + unit(xx='b <ph x="1">%s</ph> c.', yy='<ph x="1">%s</ph> bc!')
    + unit(xx="<hi>d</hi> e.", yy="E <hi>D</hi>!")
)


def test_a_memory_with_tags_is_used_for_the_same_text_with_tags(
    folder: Path, tmp_path: Path
) -> None:
    memory = tmp_path / "memory.tmx"
    memory.write_text(tmx(TAGGED, "xx"))
    page = tmp_path / "page.html"
    page.write_text("<p>h <i class='x'>a</i>.</p><p>b %s c.</p><p><b>d</b> e.</p><p>h a.</p>")
    done = Translator.load(folder).translate_file(page, memory=memory)
    assert done.path.read_text() == (
        "<p><i class='x'>AA</i> hh!</p><p>%s bc!</p><p>E <b>D</b>!</p><p>AA hh!</p>"
    )
    assert done.taken == 4


def test_reviewed_xliff_is_a_memory_with_its_tags(folder: Path, tmp_path: Path) -> None:
    memory, page = tmp_path / "old.xlf", tmp_path / "page.html"
    memory.write_text(
        '<xliff version="1.2"><file source-language="xx" target-language="yy"><body>'
        '<trans-unit id="1"><source>h <g id="1">a</g><x id="2"/>.</source>'
        '<target state="final"><x id="2"/><g id="1">AA</g> hh!</target></trans-unit>'
        "</body></file></xliff>"
    )
    page.write_text("<p>h <b>a</b><wbr>.</p>")
    done = Translator.load(folder).translate_file(page, memory=memory)
    assert done.path.read_text() == "<p><wbr><b>AA</b> hh!</p>"
