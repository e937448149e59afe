"""The translation memory."""

import json
from pathlib import Path

import pytest

from regard.cli.train import choose
from regard.data.corpus import read_pairs
from regard.data.pair_files import language_codes
from regard.errors import RequestError
from regard.serve.http.refusal import Refusal
from regard.serve.translation.memory import TranslationMemory
from regard.start import DataOptions
from tests.serve.conftest import Start


def test_suggestions_are_pairs_to_train_on(tmp_path: Path) -> None:
    memory = TranslationMemory(tmp_path, 10_000)
    memory.add("en", "de", "line\nbreak \u2028 \ud800", "Zeile")
    memory.add("en", "de", "cat", "Hund")
    memory.add("en", "de", "cat", "Katze")
    path = tmp_path / "suggestions.en-de.jsonl"
    assert [pair.target for pair in read_pairs([path])] == ["Zeile", "Hund", "Katze"]
    assert language_codes([path]) == ("en", "de")
    start = choose(None, {"pairs": (path,)}, DataOptions(out=tmp_path / "run"))
    assert start.recipe.data.languages == ("en", "de")
    again = TranslationMemory(tmp_path, 10_000)
    assert again.find("en", "de", "cat") == memory.find("en", "de", "cat") == "Katze"
    assert again.find("de", "en", "cat") is None


def test_suggestions_end_before_the_disk_does(tmp_path: Path) -> None:
    memory = TranslationMemory(tmp_path, 200)
    memory.add("en", "de", "cat", "Katze")
    with pytest.raises(Refusal, match="full"):
        memory.add("en", "de", "x" * 300, "y")
    assert memory.find("en", "de", "x" * 300) is None


def test_a_damaged_file_of_suggestions_is_named(tmp_path: Path) -> None:
    (tmp_path / "suggestions.en-de.jsonl").write_text(json.dumps({"source": "a"}) + "\n")
    with pytest.raises(RequestError, match=r"suggestions.en-de.jsonl:1: not a suggestion"):
        TranslationMemory(tmp_path, 10_000)


def test_a_memory_answers_after_the_suggestions(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "old.tsv"
    path.write_text("en\tde\nthe cat sleeps.\tSie schläft.\na dog eats.\tEr frisst.\n")
    server = start(memory=(f"en:de={path}",), suggestions=tmp_path / "kept")
    server.post("/suggest", q="a dog eats.", s="Er isst.", source="en", target="de")

    def asked(text: str, target: str = "de", **more: object) -> str:
        sent = {"q": text, "source": "en", "target": target, "memory": True, **more}
        return str(server.post("/translate", **sent).json()["translatedText"])

    assert asked("the cat sleeps.") == "Sie schläft."
    assert asked("a dog eats.") == "Er isst."
    assert asked("the cat sleeps. a dog eats.") == "Sie schläft. Er isst."
    assert asked("the cat sleeps.", memory=False) != "Sie schläft."
    assert asked("the cat sleeps.", target="fr") != "Sie schläft."


@pytest.mark.parametrize("place", ["old.tsv", "de:fr=old.tsv"])
def test_a_memory_is_of_languages_that_are_served(start: Start, place: str) -> None:
    with pytest.raises(RequestError, match="name it, like en:de=FILE"):
        start(memory=(place,))
