"""Documents are translated in batches that are kept, and what was stopped is resumed."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from regard.decode.search import Search
from regard.errors import DataError
from regard.reporter import SILENT
from regard.tasks.translation import documents
from regard.tasks.translation.documents import translate_file
from regard.tasks.translation.marked import MarkedTranslation, Output, translated
from regard.tasks.translation.translator import Translator
from regard.text.documents.document import Wish
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
    assert translate_file(other, lines, out, WISH, Search(beam_size=9)).before == 0


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
