"""The server answers as LibreTranslate does."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from regard.engines import EngineName
from regard.errors import RunError
from regard.run import Run
from regard.serve.http.limits import Limits
from regard.serve.translation.explaining import confidence, explanation
from regard.tasks.translation.confidence import Calibration, Judged, Searched, least_sure
from regard.tasks.translation.translator import Translator
from regard.text.documents.document import Wish
from regard.text.documents.formats import FORMATS, read_document
from regard.text.protect import protect, unmarked
from tests.serve.conftest import Live, Start, tiny_run
from tests.text.documents.samples import FILES, PO

CAT = "the cat sleeps"


@pytest.fixture(scope="module")
def strict(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Live:
    """A server with narrow limits and a folder for suggestions."""
    limits = Limits(
        characters=100, texts=3, alternatives=2, body_bytes=2000, texts_per_minute=10**6
    )
    return start(limits, suggestions=tmp_path_factory.mktemp("suggestions"))


def test_a_text_is_answered_by_the_offline_translation(live: Live) -> None:
    found = live.post("/translate", q=CAT, source="fr", target="en")
    (expected,) = live.translator("fr", "en").translate([CAT])
    assert (found.status_code, found.json()) == (200, {"translatedText": expected})
    assert expected


def test_query_form_and_json_are_the_same(live: Live) -> None:
    values = {"q": CAT, "source": "fr", "target": "en"}
    answers = [
        live.client.post("/translate", json=values),
        live.client.post("/translate", data=values),
        live.client.post("/translate", params=values),
        live.client.post("/translate", files={"file": ("x.txt", b"")}, data=values),
        live.client.post("/translate", params={"q": "other", "source": "fr"}, json=values),
    ]
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].status_code == 200


def test_a_list_is_answered_by_a_list(live: Live) -> None:
    texts = [CAT, "", "a dog. a bone!", "😀"]
    found = live.post("/translate", q=texts, source="FR", target="en").json()["translatedText"]
    one = [live.post("/translate", q=t, source="fr", target="en") for t in texts if t]
    singles = iter(each.json()["translatedText"] for each in one)
    assert found == [next(singles) if text else "" for text in texts]
    assert found[3] == "😀"


def test_a_long_text_keeps_its_paragraphs(live: Live) -> None:
    text = "the cat sleeps. a dog eats.\n\n  big red apples!\n"
    found = live.post("/translate", q=text, source="fr", target="en").json()["translatedText"]
    expected = live.translator("fr", "en").translate(
        ["the cat sleeps.", "a dog eats.", "big red apples!"]
    )
    assert found == f"{expected[0]} {expected[1]}\n\n  {expected[2]}\n"


def test_form_text_has_plain_line_ends(live: Live) -> None:
    values = {"q": "a cat\r\na dog", "source": "en", "target": "en"}
    assert live.client.post("/translate", data=values).json()["translatedText"] == "a cat\na dog"


def test_each_text_has_its_own_language(live: Live) -> None:
    texts = ["The weather is nice and the children are playing.", "Le chat dort dans la maison."]
    found = live.post("/translate", q=texts, source="auto", target="en").json()
    assert [each["language"] for each in found["detectedLanguage"]] == ["en", "fr"]
    assert all(0 <= each["confidence"] <= 100 for each in found["detectedLanguage"])
    assert found["translatedText"][0] == texts[0]  # from English to English
    single = live.post("/translate", q=texts[1], source="auto", target="en").json()
    assert single["detectedLanguage"]["language"] == "fr"


def test_detection_ranks_the_loaded_languages(live: Live) -> None:
    found = live.post("/detect", q="Le chat dort dans la maison.").json()
    assert found[0]["language"] == "fr"
    assert {each["language"] for each in found} <= {"en", "fr"}


def test_alternatives_come_from_the_beam(live: Live) -> None:
    one = live.post("/translate", q=CAT, source="fr", target="en", alternatives=3).json()
    plain = live.post("/translate", q=CAT, source="fr", target="en").json()
    assert one["translatedText"] == plain["translatedText"]
    assert 1 <= len(one["alternatives"]) <= 3
    assert one["translatedText"] not in one["alternatives"]
    several = live.post("/translate", q=[CAT, "a dog"], source="fr", target="en", alternatives=3)
    assert several.json()["alternatives"][0] == one["alternatives"]
    marked = live.post(
        "/translate", q=f"<p>{CAT}</p>", source="fr", target="en", alternatives="1", format="html"
    )
    assert marked.json()["alternatives"][0].startswith("<p>")


def test_a_run_that_is_not_calibrated_has_no_confidence(live: Live) -> None:
    found = live.post("/translate", q=[CAT, ""], source="fr", target="en", confidence=True).json()
    assert found["regard"] == [{"confidence": None}, {"confidence": None}]
    assert found["translatedText"][0] == live.translator("fr", "en").translate(CAT)
    streamed = live.post(
        "/translate", q=CAT, source="fr", target="en", confidence=True, stream=True
    )
    assert streamed.status_code == 400


def calibration() -> Calibration:
    """The less likely the output, the less sure."""
    return Calibration.of(
        [
            Judged(Searched("a", [0], [-row / 9, -0.1], 2, True, 0), "a", 100 - row)
            for row in range(99)
        ]
    )


def test_a_file_says_how_sure_its_translations_are(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = live.translator("en", "de")
    monkeypatch.setattr(translator, "calibration", calibration())
    values = {"source": "en", "target": "de", "confidence": "true"}
    sent = {"file": ("a.po", PO)}
    answer = live.client.post("/translate_file", data=values, files=sent).json()
    found = live.client.get(answer["translatedFileUrl"]).content.decode()
    counts = answer["regard"]["confidence"]
    assert set(counts) == {"likely fine", "check"}
    assert sum(counts.values()) > 1
    comments = re.findall(r"^# regard: (check|likely fine), \d+ % sure$", found, re.MULTILINE)
    assert len(comments) == found.count("fuzzy") - PO.decode().count("fuzzy")
    without = live.client.post("/translate_file", data={**values, "confidence": ""}, files=sent)
    plain = live.client.get(without.json()["translatedFileUrl"]).content.decode()
    assert "regard" not in without.json()
    lines = [line for line in found.splitlines() if not line.startswith("# regard: ")]
    assert lines == plain.splitlines()


def test_the_confidence_of_a_text_is_that_of_its_least_sure_sentence(tmp_path: Path) -> None:
    folder = tiny_run(tmp_path / "run", "fr", "en", 1)
    Run(folder).save_finding("confidence", calibration().facts())
    loaded = Translator.load(folder)
    found = loaded.marked_translations([unmarked(CAT), unmarked("a dog")])
    sentences = [best for best, *_ in found]
    each = [one.output.scored.confidence for one in sentences if one.output.scored]
    assert confidence(sentences) == {
        **least_sure(each).facts(),  # type: ignore[union-attr]
        "probability": round(min(one.probability for one in each if one), 4),
    }


def test_without_a_direct_pair_a_third_language_helps_and_is_named(live: Live) -> None:
    found = live.post("/translate", q=CAT, source="fr", target="de").json()
    (english,) = live.translator("fr", "en").translate([CAT])
    (german,) = live.translator("en", "de").translate([english])
    assert found == {"translatedText": german, "regard": {"pivot": "en"}}
    explained = live.post("/translate", q=CAT, source="fr", target="de", explain=True).json()
    assert explained["translatedText"] == german
    assert explained["regard"]["pivot"] == "en"


@pytest.mark.parametrize("engine", ["ctranslate2", "torch"])
def test_an_explanation_is_never_of_another_model(tmp_path: Path, engine: EngineName) -> None:
    folder = tiny_run(tmp_path / "run", "fr", "en", 1)
    loaded = Translator.load(folder, engine=engine)

    def explained() -> dict[str, Any]:
        found = loaded.marked_translations([unmarked(CAT)], aligned=True)
        return explanation([best for best, *_ in found], aligned=True)

    before = explained()
    assert before["alignment"]
    other = tiny_run(tmp_path / "other", "fr", "en", 2)
    shutil.copy(other / "model.safetensors", folder / "model.safetensors")
    assert explained() == before
    if engine == "ctranslate2":
        with pytest.raises(RunError, match="another model"):
            loaded.align(CAT, "a cat")
    shutil.rmtree(folder)
    assert explained() == before


def test_an_answer_can_be_explained(live: Live) -> None:
    text = "the cat. a dog"
    found = live.post("/translate", q=text, source="fr", target="en", explain=True).json()
    shown = found["regard"]
    translator = live.translator("fr", "en")
    outputs = [
        each[0] for each in translator.translations(["the cat.", "a dog"], translator.search)
    ]
    assert shown["tokens"] == [token for each in outputs for token in each.tokens]
    assert shown["logprobs"] == pytest.approx(
        [value for each in outputs for value in each.log_probabilities], abs=1e-5
    )
    words = len(found["translatedText"].split(" "))
    assert all(0 <= source < 4 and 0 <= target < words for source, target in shown["alignment"])


def test_html_keeps_its_tags(live: Live) -> None:
    text = '<p>the cat <a href="x">sleeps</a></p><pre>a dog</pre>'
    found = live.post("/translate", q=text, source="fr", target="en", format="html").json()
    pattern = r'<p>(.*)<a href="x">(.*)</a>(.*)</p><pre>a dog</pre>'
    inside = re.fullmatch(pattern, found["translatedText"])
    assert inside
    (expected,) = live.translator("fr", "en").translate([CAT])
    assert "".join(inside.groups()) == expected  # the whole sentence, not what is between tags


@pytest.mark.parametrize("form", ["text", "html"])
@pytest.mark.parametrize("target", ["en", "de"])
@pytest.mark.parametrize("more", [{}, {"explain": True, "alternatives": 2}, {"stream": True}])
def test_placeholders_of_every_kind_are_kept(
    live: Live, form: str, target: str, more: dict[str, Any]
) -> None:
    marks = ["%s", "%(name)s", "{0}", "{{x}}", "$var$", "[X12X]", "me@mail.example"]
    marks.append("https://a.example/b?c=%d")
    asked = {"source": "fr", "target": target, "format": form, **more}
    if "stream" in more:
        answer = live.post("/translate", q=f"the cat {' and '.join(marks)}. a dog", **asked)
        answers = [json.loads(answer.text.split("\n\n")[-3].removeprefix("data: "))]
    else:
        answers = [live.post("/translate", q=f"the {mark} cat", **asked).json() for mark in marks]
    found = " ".join(each["translatedText"] for each in answers)
    assert Counter(protect(found).marks) == Counter(protect(" ".join(marks)).marks)


def test_marks_in_alternatives_are_all_there(live: Live) -> None:
    text = "<p>the <b>cat</b> %s sleeps</p>"
    asked = {"source": "fr", "target": "en", "format": "html", "alternatives": 3, "explain": True}
    found = live.post("/translate", q=text, **asked).json()
    for each in [found["translatedText"], *found["alternatives"]]:
        assert Counter(re.findall("<[^>]+>|%s", each)) == Counter(re.findall("<[^>]+>|%s", text))
    assert found["regard"]["alignment"]


def test_languages_list_their_targets(live: Live) -> None:
    found = {each["code"]: each for each in live.client.get("/languages").json()}
    assert found["en"] == {"code": "en", "name": "English", "targets": ["de", "en", "fr"]}
    assert found["fr"]["targets"] == ["de", "en", "fr"]
    assert found["de"]["targets"] == ["de"]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": "a"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": "a", "source": "zz", "target": "en"}, "zz is not supported"),
        ({"q": "a", "source": "en", "target": "ZZ"}, "zz is not supported"),
        ({"q": "a", "source": "en", "target": "x" * 50}, "this language is not supported"),
        (
            {"q": "a", "source": "de", "target": "fr"},
            "French (fr) is not available as a target language from German (de)",
        ),
        (
            {"q": "a", "source": "en", "target": "de", "format": "xx"},
            "xx format is not supported",
        ),
        (
            {"q": "a" * 101, "source": "en", "target": "de"},
            "Invalid request: request (101) exceeds text limit (100)",
        ),
        (
            {"q": ["a" * 60, "b" * 60], "source": "en", "target": "de"},
            "Invalid request: request (120) exceeds text limit (100)",
        ),
        (
            {"q": ["a"] * 4, "source": "en", "target": "de"},
            "Invalid request: request (4) exceeds batch limit (3)",
        ),
        (
            {"q": "a", "source": "en", "target": "de", "alternatives": 3},
            "Invalid request: alternatives parameter must be <= 2",
        ),
        (
            {"q": "a", "source": "en", "target": "de", "alternatives": "many"},
            "Invalid request: alternatives parameter is not a number",
        ),
        (
            {"q": "a", "source": "en", "target": "de", "alternatives": -1},
            "Invalid request: alternatives parameter is not a number",
        ),
        (
            {"q": ["a", 5], "source": "en", "target": "de"},
            "Invalid request: q parameter must be a string or a list of strings",
        ),
        (
            {"q": "a", "source": ["en"], "target": "de"},
            "Invalid request: source parameter must be a string",
        ),
    ],
)
def test_what_is_wrong_is_said_in_known_words(
    strict: Live, values: dict[str, Any], sentence: str
) -> None:
    assert strict.error("/translate", **values) == (400, sentence)


@pytest.mark.parametrize("body", [b"[1]", b"{", b"5", b"\xff", b"[" * 1000, b"9" * 1900])
def test_json_must_be_an_object(strict: Live, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    found = strict.client.post("/translate", content=body, headers=headers)
    assert (found.status_code, found.json()) == (400, {"error": "Invalid JSON format"})


def test_half_a_surrogate_pair_is_no_trouble(live: Live) -> None:
    body = b'{"q": "a \\ud800 cat", "source": "en", "target": "en"}'
    headers = {"content-type": "application/json"}
    found = live.client.post("/translate", content=body, headers=headers)
    assert found.json() == {"translatedText": "a ? cat"}


def test_suggestions_are_kept_and_answered_from_when_asked(strict: Live) -> None:
    pair = {"source": "en", "target": "de"}
    assert strict.post("/suggest", q="cat", s="Katze", **pair).json() == {"success": True}
    asked = strict.post("/translate", q="cat", **pair, memory=True).json()["translatedText"]
    plain = strict.post("/translate", q="cat", **pair).json()["translatedText"]
    assert asked == "Katze" != plain
    assert strict.error("/suggest", q="cat", **pair) == (
        400,
        "Invalid request: missing s parameter",
    )


def test_a_suggestion_is_text_also_within_markup(strict: Live) -> None:
    pair = {"source": "en", "target": "de"}
    strict.post("/suggest", q="red & blue", s="<script>1</script> & 2", **pair)
    asked = {**pair, "memory": True, "format": "html"}
    for text, expected in (
        ("red &amp; blue", "&lt;script&gt;1&lt;/script&gt; &amp; 2"),
        ("<p>red &amp; blue</p>", "<p>&lt;script&gt;1&lt;/script&gt; &amp; 2</p>"),
    ):
        assert strict.post("/translate", q=text, **asked).json()["translatedText"] == expected


def test_suggestions_are_off_unless_there_is_a_place_for_them(live: Live) -> None:
    assert live.error("/suggest", q="a", s="b", source="en", target="de") == (
        403,
        "Suggestions are disabled on this server.",
    )


def test_a_file_is_translated_and_fetched(live: Live) -> None:
    values = {"source": "fr", "target": "en"}
    sent = {"file": ("my cat.txt", f"{CAT}.\n\n{CAT}.".encode(), "text/plain")}
    url = live.client.post("/translate_file", data=values, files=sent).json()["translatedFileUrl"]
    assert url.startswith(f"{live.url}/download_file/")
    fetched = live.client.get(url)
    (expected,) = live.translator("fr", "en").translate([f"{CAT}."])
    assert fetched.text == f"{expected}\n\n{expected}"
    assert fetched.headers["content-disposition"] == 'attachment; filename="my_cat_en.txt"'
    assert live.client.get("/download_file/..%2f..%2fetc%2fpasswd").status_code == 404


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("source", ["en", "auto"])
def test_a_document_of_every_format_is_translated(live: Live, name: str, source: str) -> None:
    values = {"source": source, "target": "de"}
    if source == "auto" and name.endswith((".csv", ".tsv", ".xlsx")):
        first = name.endswith(".tsv")
        values |= (
            {"column": "source", "into": "target"} if first else {"column": "en", "into": "de"}
        )
    sent = {"file": (name, FILES[name], "application/octet-stream")}
    answer = live.client.post("/translate_file", data=values, files=sent)
    assert answer.status_code == 200, answer.text
    found = live.client.get(answer.json()["translatedFileUrl"]).content
    # A translated file says that it is in the other language.
    known = "" if name.endswith((".arb", ".yaml")) else "en"
    wish = Wish(known, "de", overwrite=not name.endswith(".arb"))
    before, after = (read_document(name, each, wish) for each in (FILES[name], found))
    assert len(after.segments) >= len(before.segments) - 1  # an output may have no words
    if source == "en":
        assert found != FILES[name]


def test_what_is_finished_in_a_document_stays_and_codes_are_kept(live: Live) -> None:
    values = {"source": "en", "target": "de"}
    answer = live.client.post("/translate_file", data=values, files={"file": ("a.po", PO)})
    found = live.client.get(answer.json()["translatedFileUrl"]).content.decode()
    assert 'msgstr "Zu"' in found
    assert found.count("%s") == 2 * PO.decode().count("%s")
    assert '#~ msgstr "Alt"' in found


def test_documents_keep_to_the_limits(strict: Live) -> None:
    values = {"source": "en", "target": "de"}
    long = ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n" + b"a dog " * 30)
    found = strict.client.post("/translate_file", data=values, files={"file": long})
    assert (found.status_code, "exceeds text limit" in found.json()["error"]) == (400, True)
    large = ("a.txt", b"a dog\n" * 1000)
    found = strict.client.post("/translate_file", data=values, files={"file": large})
    assert found.status_code == 413


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        (None, "Invalid request: missing file parameter"),
        (("a.exe", b"MZ"), "Invalid request: file format not supported"),
        (("a.txt", b""), "Invalid request: empty file"),
    ],
)
def test_a_file_that_cannot_be_translated(live: Live, file: Any, sentence: str) -> None:
    files = {"file": file} if file else {"other": ("x.txt", b"x")}
    values = {"source": "fr", "target": "en"}
    found = live.client.post("/translate_file", data=values, files=files)
    assert (found.status_code, found.json()["error"]) == (400, sentence)


def test_settings_tell_a_page_what_there_is(strict: Live) -> None:
    found = strict.client.get("/frontend/settings").json()
    assert found["charLimit"] == 100
    assert found["suggestions"] is True
    assert found["keyRequired"] is False
    assert found["language"]["source"] == {"code": "fr", "name": "French"}
    assert found["supportedFilesFormat"] == list(FORMATS)


def test_the_weblate_check_passes(live: Live) -> None:
    """Weblate reads /languages, translates "test" from English to German, then sends batches."""
    codes = {each["code"] for each in live.client.get("/languages").json()}
    assert {"en", "de"} <= codes
    texts = ["test", *(f"text [X{i}X]" for i in range(19))]
    found = live.post("/translate", api_key="", q=texts, source="en", target="de")
    assert found.status_code == 200
    answers = found.json()["translatedText"]
    assert len(answers) == 20
    for number, answer in enumerate(answers[1:]):
        assert re.findall(r"\[X\d+X\]", answer) == [f"[X{number}X]"]


def test_a_mastodon_post_is_answered(live: Live) -> None:
    body = {
        "q": ["<p>Le chat dort dans la maison.</p>", "Le chien mange dans le jardin."],
        "source": "auto",
        "target": "en",
        "format": "html",
        "api_key": None,
    }
    found = live.client.post("/translate", json=body).json()
    assert [each["language"] for each in found["detectedLanguage"]] == ["fr", "fr"]
    assert found["translatedText"][0].startswith("<p>")
