"""The segments of a document, for a page where a person edits their translations."""

import json
from typing import Any

import pytest

from regard.serve.http.limits import Limits
from regard.text.documents.tagged import from_json, tagged
from tests.serve.conftest import Live, Start
from tests.text.documents.samples import FILES, PO

HTML = b"<p>the <b>cat</b> sleeps. a dog eats.</p><p>jo quiz <code>f()</code></p>"
PAIR = {"source": "en", "target": "de"}


def opened(live: Live, name: str, data: bytes, **values: str) -> Any:
    answer = live.client.post("/segments", data={**PAIR, **values}, files={"file": (name, data)})
    assert answer.status_code == 200, answer.text
    return answer.json()


def written(live: Live, name: str, data: bytes, translations: dict[int, str], **more: str) -> Any:
    values = {**PAIR, "translations": json.dumps(translations), **more}
    answer = live.client.post("/translate_file", data=values, files={"file": (name, data)})
    if answer.status_code != 200:
        return answer.json()["error"]
    return live.client.get(answer.json()["translatedFileUrl"]).content


def sent(segment: Any) -> str:
    return json.dumps({key: segment[key] for key in ("pieces", "syntaxes")})


@pytest.mark.parametrize("name", FILES)
def test_segments_are_translated_as_in_the_whole_file(live: Live, name: str) -> None:
    data = FILES[name]
    found = opened(live, name, data)["segments"]
    texts = [sent(each) for each in found]
    answers = live.post("/translate", q=texts, format="segment", **PAIR).json()["translatedText"]
    numbers = [each["number"] for each in found]
    ours = written(live, name, data, dict(zip(numbers, answers, strict=True)))
    assert ours == written(live, name, data, {})


def test_a_person_moves_tags_and_the_rest_is_translated(live: Live) -> None:
    found = opened(live, "a.html", HTML)
    assert found["segments"][0] == {
        "number": 0,
        "line": 1,
        "pieces": ["the ", ["open", 1], "cat", ["close", 1], " sleeps. a dog eats."],
        "syntaxes": ["text"],
    }
    assert found["segments"][1]["pieces"] == ["jo quiz ", ["alone", 1, "<code>f()</code>"]]
    plain = written(live, "a.html", HTML, {})
    ours = written(live, "a.html", HTML, {0: "<1>Katzen</1> & mehr"})
    _, _, end = plain.partition(b"</p>")
    assert ours == b"<p><b>Katzen</b> &amp; mehr</p>" + end
    assert written(live, "a.html", HTML, {0: "", 1: " "}) == HTML


def test_the_language_is_detected_and_finished_texts_are_counted(live: Live) -> None:
    text = "Le chat dort dans la maison avec le petit chien."
    assert opened(live, "a.txt", text.encode(), source="auto")["source"] == "fr"
    found = opened(live, "a.po", PO)
    assert found["finished"] > 0
    assert all(each["number"] >= 0 and each["line"] > 1 for each in found["segments"])


@pytest.mark.parametrize(
    ("translations", "sentence"),
    [
        ("{", "translations are texts by numbers"),
        ("[1]", "translations are texts by numbers"),
        ('{"0": 1}', "translations are texts by numbers"),
        ('{"x": "y"}', "translations are texts by numbers"),
        ('{"7": "y"}', "there is no segment 7"),
        ('{"0": "no tags"}', "segment 0: the translation lacks <1>; write it exactly once"),
    ],
)
def test_translations_that_do_not_fit_are_refused(
    live: Live, translations: str, sentence: str
) -> None:
    values = {**PAIR, "translations": translations}
    answer = live.client.post("/translate_file", data=values, files={"file": ("a.html", HTML)})
    assert (answer.status_code, answer.json()["error"]) == (400, f"Invalid request: {sentence}")


@pytest.mark.parametrize(
    ("name", "mark", "instead"),
    [("a.po", b"fuzzy", b""), ("one.xlf", b"needs-review-translation", b'"translated"')],
)
def test_what_a_person_has_reviewed_is_not_marked_for_review(
    live: Live, name: str, mark: bytes, instead: bytes
) -> None:
    data = FILES[name]
    segments = opened(live, name, data)["segments"]
    texts = {each["number"]: tagged(from_json(sent(each)).pieces) for each in segments}
    some = written(live, name, data, texts)
    all_of_them = written(live, name, data, texts, reviewed=",".join(map(str, texts)))
    assert some.count(mark) > data.count(mark) == all_of_them.count(mark)
    assert instead in all_of_them
    assert "numbers of segments" in written(live, name, data, texts, reviewed="1,x")


def test_segments_that_cannot_be_translated(live: Live) -> None:
    known = {"format": "segment", "target": "de"}
    for source, text, sentence in (
        ("en", "the cat", "not a segment, as /segments gives them"),
        ("auto", sent({"pieces": ["the cat"], "syntaxes": []}), "needs the language"),
    ):
        status, found = live.error("/translate", q=text, source=source, **known)
        assert status == 400
        assert sentence in found


def test_a_long_document_is_opened_and_translated_part_by_part(start: Start) -> None:
    live = start(Limits(characters=500, texts_per_minute=300))
    lines = [f"the cat sleeps {'x' * (row % 7)} a dog" for row in range(200)]
    data = "\n".join(lines).encode()
    found = opened(live, "a.txt", data)["segments"]
    translations = {}
    for segment in found:
        answer = live.post("/translate", q=[sent(segment)], format="segment", **PAIR)
        translations[segment["number"]] = answer.json()["translatedText"][0]
    assert len(written(live, "a.txt", data, translations).split(b"\n")) == 200
    assert "exceeds text limit" in written(live, "a.txt", data, {})
