"""Documents are translated in batches that are kept, and what was stopped is resumed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from regard.decode.search import Search
from regard.errors import DataError
from regard.reporter import SILENT
from regard.tasks.translation import documents
from regard.tasks.translation.confidence import Confidence
from regard.tasks.translation.documents import How, translate_file
from regard.tasks.translation.marked import MarkedTranslation, Output, translated
from regard.tasks.translation.translation import Translation
from regard.tasks.translation.translator import Translator
from regard.text.documents.document import Wish
from regard.text.documents.xliff import translated_units
from regard.text.marks import MarkedText
from tests.serve.conftest import tiny_run
from tests.text.documents.samples import FILES

WISH = Wish("en", "de")


class Shouter:
    """Translates a text into capitals, and stops when it is asked for too many."""

    def __init__(self, room: int = 1_000_000) -> None:
        self.search, self.folder, self.room = Search(), None, room
        self.seen: list[str] = []

    def marked(
        self, texts: Sequence[MarkedText], search: Search | None = None
    ) -> list[MarkedTranslation]:
        def translate(plain: Sequence[str], aligned: Sequence[bool]) -> list[Output]:
            self.seen += plain
            if len(self.seen) > self.room:
                raise KeyboardInterrupt
            return [Output(text.upper()) for text in plain]

        return translated(texts, translate, str)

    def marked_translations(
        self, texts: Sequence[MarkedText], search: Search | None = None
    ) -> list[list[MarkedTranslation]]:
        """It is sure of short texts alone."""

        def judged(found: MarkedTranslation) -> MarkedTranslation:
            sure = Confidence(0.9 if len(found.read) < 12 else 0.412, [(found.read, 0.3)])
            scored = replace(Translation("", 0.0, [], [], finished=True), confidence=sure)
            return replace(found, output=replace(found.output, scored=scored))

        return [[judged(each)] for each in self.marked(texts, search)]


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(documents, "FIRST_SEGMENTS", 2)
    monkeypatch.setattr(documents, "SEGMENTS_AT_ONCE", 2)
    path = tmp_path / "a.txt"
    path.write_text("One dog.\nTwo dogs.\nThree dogs. Four cats.\nFive.\nSix.\n")
    return path


def test_a_stopped_translation_is_resumed_and_leaves_nothing_behind(lines: Path) -> None:
    out = lines.with_name("a.de.txt")
    with pytest.raises(KeyboardInterrupt):
        translate_file(Shouter(room=4), lines, out, WISH)
    assert not out.exists()
    second = Shouter()
    done = translate_file(second, lines, out, WISH)
    assert (done.before, done.translated) == (2, 3)
    assert second.seen == ["Three dogs.", "Four cats.", "Five.", "Six."]
    assert out.read_text() == lines.read_text().upper()
    assert sorted(path.name for path in lines.parent.iterdir()) == ["a.de.txt", "a.txt"]


def test_what_another_search_or_a_crash_has_left_is_not_taken(lines: Path) -> None:
    out = lines.with_name("a.de.txt")
    with pytest.raises(KeyboardInterrupt):
        translate_file(Shouter(room=4), lines, out, WISH)
    partial = out.with_name("a.de.txt.partial")
    partial.write_text(partial.read_text() + '["half a li')
    other = Shouter()
    assert translate_file(other, lines, out, WISH, How(Search(beam_size=9))).before == 0


def test_half_a_line_at_the_end_loses_itself_alone(lines: Path) -> None:
    out = lines.with_name("a.de.txt")
    with pytest.raises(KeyboardInterrupt):
        translate_file(Shouter(room=2), lines, out, WISH)
    partial = out.with_name("a.de.txt.partial")
    partial.write_text(partial.read_text() + '["half a li')
    assert translate_file(Shouter(), lines, out, WISH).before == 2
    assert out.read_text() == lines.read_text().upper()


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_translated_with_its_marks(name: str, tmp_path: Path) -> None:
    path, out = tmp_path / name, tmp_path / f"out-{name}"
    path.write_bytes(FILES[name])
    done = translate_file(Shouter(), path, out, WISH)
    assert done.translated
    again = translate_file(Shouter(), path, tmp_path / f"again-{name}", WISH)
    assert out.read_bytes() == again.path.read_bytes()


def test_placeholders_are_not_translated(tmp_path: Path) -> None:
    path, out = tmp_path / "a.po", tmp_path / "b.po"
    path.write_bytes(FILES["a.po"])
    translate_file(Shouter(), path, out, WISH)
    new = out.read_text()
    assert 'msgstr "OPEN %s"' in new
    assert 'msgstr[1] "%d FILES"' in new


def test_a_file_of_both_languages_may_be_its_own_output(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_bytes(FILES["a.po"])
    done = translate_file(Shouter(), path, path, WISH)
    assert (done.translated, done.finished) == (5, 2)
    assert 'msgstr "Zu"' in path.read_text()
    assert translate_file(Shouter(), path, path, WISH).translated == 0
    html = tmp_path / "a.html"
    html.write_bytes(FILES["a.html"])
    with pytest.raises(DataError, match="would be overwritten by its translation"):
        translate_file(Shouter(), html, html, WISH)
    assert html.read_bytes() == FILES["a.html"]


def test_an_earlier_output_keeps_what_a_person_has_written(tmp_path: Path) -> None:
    path, out = tmp_path / "en.json", tmp_path / "de.json"
    path.write_text('{"a": "Dog", "b": "Cat"}')
    out.write_text('{"b": "Katze", "old": "x"}')
    done = translate_file(Shouter(), path, out, WISH)
    assert (done.translated, done.before) == (1, 1)
    assert json.loads(out.read_text()) == {"a": "DOG", "b": "Katze"}
    overwriting = Wish("en", "de", overwrite=True)
    translate_file(Shouter(), path, out, overwriting)
    assert json.loads(out.read_text()) == {"a": "DOG", "b": "CAT"}


def test_an_output_that_is_there_is_not_replaced_unasked(lines: Path) -> None:
    out = lines.with_name("a.de.txt")
    out.write_text("mine")
    with pytest.raises(DataError, match="is there already; give --overwrite"):
        translate_file(Shouter(), lines, out, WISH, None, SILENT)
    assert out.read_text() == "mine"


def test_equal_sentences_are_translated_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Yes.\n" * 50)
    translator = Shouter()
    translate_file(translator, path, tmp_path / "b.txt", WISH)
    assert len(translator.seen) <= 2


def test_a_run_translates_a_file(tmp_path: Path) -> None:
    translator = Translator.load(tiny_run(tmp_path / "run", "en", "de", 1))
    path = tmp_path / "menu.json"
    path.write_text('{"title": "the cat sleeps"}')
    done = translator.translate_file(path)
    assert (done.path, done.translated) == (tmp_path / "menu.de.json", 1)
    assert json.loads(done.path.read_text()) == {"title": translator.translate("the cat sleeps")}
    out = tmp_path / "other.json"
    assert translator.translate_file(path, out, beam_size=1).path == out
    lines = tmp_path / "a.txt"
    lines.write_text("the cat")
    translator.translate_file(lines)
    with pytest.raises(DataError, match="is there already"):
        translator.translate_file(lines)
    assert translator.translate_file(lines, overwrite=True).translated == 1


SURE = How(Search(), confidence=True)
XLIFF_1 = """<xliff version="1.2"><file source-language="en" target-language="de"><body>
 <trans-unit id="1">
  <source>A dog.</source>
 </trans-unit>
 <trans-unit id="2">
  <source>A <g id="1">small</g> dog sleeps.</source>
  <target/>
 </trans-unit>
</body></file></xliff>"""
XLIFF_2 = """<xliff version="2.0" srcLang="en" trgLang="de"><file id="f">
 <unit id="1">
  <segment id="a"><source>A dog.</source></segment>
  <segment><source>A small dog sleeps.</source></segment>
 </unit>
 <unit id="2">
  <mda:metadata xmlns:mda="urn:oasis:names:tc:xliff:metadata:2.0">
   <mda:metaGroup><mda:meta type="own">x</mda:meta></mda:metaGroup>
  </mda:metadata>
  <segment><source>A dog.</source></segment>
 </unit>
</file></xliff>"""


def test_xliff_says_how_sure_a_translation_is(tmp_path: Path) -> None:
    path, out = tmp_path / "a.xlf", tmp_path / "b.xlf"
    path.write_text(XLIFF_1)
    done = translate_file(Shouter(), path, out, WISH, SURE)
    assert (done.likely_fine, done.to_check, done.table) == (1, 1, None)
    new = out.read_text()
    review = '<target state="needs-review-translation" state-qualifier='
    assert (
        f'{review}"x-likely-fine">A DOG.</target>\n  '
        '<alt-trans match-quality="90%" origin="regard"><target>A DOG.</target></alt-trans>\n </'
    ) in new
    text = 'A <g id="1">SMALL</g> DOG SLEEPS.'
    assert (
        f'{review}"x-check">{text}</target>\n  '
        f'<alt-trans match-quality="41%" origin="regard"><target>{text}</target></alt-trans>\n </'
    ) in new
    # What it said is said anew, and taken out where nobody asks for it.
    overwriting = replace(WISH, overwrite=True)
    translate_file(Shouter(), out, out, overwriting, SURE)
    assert out.read_text() == new
    translate_file(Shouter(), out, out, overwriting)
    assert "alt-trans" not in out.read_text()


def test_xliff_2_says_it_in_metadata(tmp_path: Path) -> None:
    path, out = tmp_path / "a.xlf", tmp_path / "b.xlf"
    path.write_text(XLIFF_2)
    translate_file(Shouter(), path, out, WISH, SURE)
    new = out.read_text()
    group = '<mda:metaGroup category="regard">'
    assert (
        ' <unit id="1">\n  <mda:metadata xmlns:mda="urn:oasis:names:tc:xliff:metadata:2.0">'
        f'{group}<mda:meta type="confidence a">0.90</mda:meta>'
        '<mda:meta type="confidence 2">0.41</mda:meta></mda:metaGroup></mda:metadata>\n  <segment '
        'id="a" state="translated" subState="regard:likely-fine"><source>A dog.</source>'
    ) in new
    assert 'subState="regard:check"' in new
    assert (
        f'</mda:metaGroup>\n   {group}<mda:meta type="confidence">0.90</mda:meta></mda:metaGroup>'
        "\n  </mda:metadata>\n  <segment"
    ) in new
    assert '<mda:metaGroup><mda:meta type="own">x</mda:meta></mda:metaGroup>' in new
    translate_file(Shouter(), out, out, replace(WISH, overwrite=True), SURE)
    assert out.read_text() == new
    translate_file(Shouter(), out, out, replace(WISH, overwrite=True))
    assert out.read_text().count("metaGroup") == 2  # its own
    # What nobody has reviewed is no translation to learn from, however sure it is.
    units = [*translated_units("b.xlf", new.encode())]
    assert [each.is_reviewed for each in units] == [False, False, False]


def test_a_comment_in_po_says_how_sure_a_translation_is(tmp_path: Path) -> None:
    path = tmp_path / "de.po"
    path.write_text(
        '# A person\'s remark\n#: a.c:1\nmsgid "A dog."\nmsgstr ""\n\n'
        '#~ msgid "old"\n#~ msgstr "alt"\n\n'
        'msgid "A small dog sleeps."\nmsgstr ""\n\nmsgid "x"\nmsgstr "y"\n'
    )
    done = translate_file(Shouter(), path, path, WISH, SURE)
    assert (done.likely_fine, done.to_check) == (1, 1)
    new = path.read_text()
    assert "\n\n# regard: check, 41 % sure\n#, fuzzy\nmsgid" in new
    assert new.startswith(
        "# regard: likely fine, 90 % sure\n# A person's remark\n#: a.c:1\n#, fuzzy"
    )
    assert new.endswith('msgid "x"\nmsgstr "y"\n')
    translate_file(Shouter(), path, path, replace(WISH, overwrite=True), SURE)
    assert path.read_text().count("# regard:") == 3
    translate_file(Shouter(), path, path, replace(WISH, overwrite=True))
    assert "# regard:" not in path.read_text()


def test_other_formats_have_a_table_beside_them(lines: Path) -> None:
    out = lines.with_name("a.de.txt")
    with pytest.raises(KeyboardInterrupt):
        translate_file(Shouter(room=4), lines, out, WISH, SURE)
    # What is kept of a translation that was stopped says how sure it is, too.
    done = translate_file(Shouter(), lines, out, WISH, SURE)
    assert (done.before, done.likely_fine, done.to_check) == (2, 5, 0)
    assert done.table == lines.with_name("a.de.txt.confidence.tsv")
    rows = [each.split("\t") for each in done.table.read_text().splitlines()]
    assert rows[0] == ["number", "line", "verdict", "sure", "doubtful", "source", "translation"]
    assert rows[1] == ["1", "1", "likely fine", "90%", "One dog.", "One dog.", "ONE DOG."]
    assert len(rows) == 6
    assert out.read_text() == lines.read_text().upper()
    assert done.judged is not None
    assert done.judged[2].text == "THREE DOGS. FOUR CATS."
