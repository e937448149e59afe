"""How sure a translator is, calibrated on held-out pairs."""

import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.cli import main
from regard.errors import RequestError, RunError
from regard.evaluate.scores import sentence_chrf
from regard.recipe import Recipe
from regard.run import Run
from regard.tasks.translation.calibrating import calibrate
from regard.tasks.translation.confidence import (
    Calibration,
    Confidence,
    Judged,
    Searched,
    calibration_of,
    least_sure,
    used,
)
from regard.tasks.translation.translator import Translator
from regard.training.run import train
from tests.toy_runs import toy_pairs, write_pairs


def output(text: str, *chances: float) -> Searched:
    """A search for a text, with the chance of each of its words."""
    values = [math.log(chance) for chance in chances]
    return Searched(text, [*range(len(values))], [*values, -0.1], len(values), True, 0)


def rows(count: int) -> list[Judged]:
    """Translations whose words are right where the search was sure of them."""
    draw, words, found = random.Random(1), ["one", "two", "three", "four"], []
    for _ in range(count):
        sure = draw.choices((0.9, 0.1), k=4)
        right = [word if chance > 0.5 else "x" for word, chance in zip(words, sure, strict=True)]
        chrf = sentence_chrf([" ".join(words)], [" ".join(right)])[0]
        found.append(Judged(output(" ".join(words), *sure), " ".join(right), chrf))
    return found


def test_a_sure_search_is_likely_fine_and_an_unsure_word_is_doubtful() -> None:
    calibration = Calibration.of(rows(300))
    sure = calibration.confidence(output("one two three four", 0.9, 0.9, 0.9, 0.9))
    unsure = calibration.confidence(output("one two three four", 0.9, 0.1, 0.1, 0.1))
    assert (sure.verdict, sure.doubtful) == ("likely fine", [])
    assert (unsure.verdict, unsure.doubtful) == ("check", ["two", "three", "four"])
    assert unsure.probability < 0.5 < sure.probability


def test_a_calibration_is_kept_as_it_is() -> None:
    calibration = Calibration.of(rows(100))
    again = Calibration.from_facts(json.loads(json.dumps(calibration.facts())))
    some = output("a b", 0.3, 0.8)
    assert again.confidence(some) == calibration.confidence(some)


def test_a_word_of_the_reference_stands_for_one_word() -> None:
    assert used("The cat, the cat!", "A cat saw the mouse") == [True, True, False, False]
    assert used("— ja", "Ja — nein") == [True, True]


def test_a_text_is_as_sure_as_its_least_sure_part() -> None:
    one, other = Confidence(0.9, [("a", 0.9)]), Confidence(0.2, [("b", 0.1)])
    assert least_sure([one, other]) == Confidence(0.2, [("a", 0.9), ("b", 0.1)])
    assert least_sure([one, None]) is None
    assert least_sure([]) is None


@pytest.fixture(scope="module")
def folder(tiny: Callable[..., Recipe], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with enough held-out pairs to be calibrated at the end of its training."""
    data = tmp_path_factory.mktemp("data")
    write_pairs(data, "train", toy_pairs(200, seed=1))
    write_pairs(data, "valid", toy_pairs(120, seed=2))
    folder = tmp_path_factory.mktemp("confident") / "run"
    valid = 'data.valid=["valid.xx", "valid.yy"]'
    train(tiny(f"data.folder={data}", valid, "train.steps=150"), folder)
    return folder


def test_training_calibrates_a_translator(folder: Path) -> None:
    facts = json.loads((folder / "confidence.json").read_text())
    assert facts["checks"]["pairs"] == 120
    assert "- Confidence: reliability error 0." in (folder / "README.md").read_text()
    found = Translator.load(folder).translations(["1 2 3"])[0][0].confidence
    assert found is not None
    assert 0 < found.probability < 1


def test_ctranslate2_is_as_sure(folder: Path) -> None:
    texts = [source for source, _ in toy_pairs(20, seed=3)]
    slow = Translator.load(folder).translations(texts)
    fast = Translator.load(folder, engine="ctranslate2").translations(texts)
    # A model that has learned so little may end a search elsewhere after rounding.
    same = [(a, b) for (a, *_), (b, *_) in zip(slow, fast, strict=True) if a.ids == b.ids]
    assert len(same) > 10
    for ours, theirs in same:
        assert ours.confidence is not None
        assert theirs.confidence is not None
        expected = pytest.approx(ours.confidence.probability, abs=1e-3)
        assert theirs.confidence.probability == expected
        chances = [chance for _, chance in ours.confidence.words]
        assert [chance for _, chance in theirs.confidence.words] == pytest.approx(chances, abs=0.01)


def test_parts_of_a_long_text_are_judged_one_by_one(folder: Path) -> None:
    translator = Translator.load(folder)
    translator.limit = 8
    parts = translator.translations(["1 2 3 4"])[0][0], translator.translations(["7 7 9 9"])[0][0]
    both = translator.translations(["1 2 3 4 7 7 9 9"])[0][0]
    expected = least_sure([each.confidence for each in parts])
    assert both.confidence is not None
    assert expected is not None
    assert both.confidence.probability == pytest.approx(expected.probability, abs=1e-5)
    assert [word for word, _ in both.confidence.words] == both.text.split()


def test_other_weights_are_not_calibrated(folder: Path, copy: Path) -> None:
    (copy / "confidence.json").write_bytes((folder / "confidence.json").read_bytes())
    translator = Translator.load(copy)
    assert translator.translations(["1 2"])[0][0].confidence is None
    with pytest.raises(RunError, match=f"`regard inspect confidence {copy}` measures it"):
        translator.require_calibration()
    with pytest.raises(RequestError, match="held-out pairs, and confidence needs at least 100"):
        calibrate(copy)


def test_the_command_calibrates_an_older_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "confidence.json").read_bytes()
    facts = json.loads(before)
    (folder / "confidence.json").unlink()
    main(["inspect", "confidence", str(folder), "--json"])
    assert json.loads(capsys.readouterr().out)["pairs"] == 120
    again = json.loads((folder / "confidence.json").read_text())
    assert again["sentence"]["weights"] == pytest.approx(facts["sentence"]["weights"], abs=0.05)
    (folder / "confidence.json").write_bytes(before)


def test_damaged_numbers_are_refused(folder: Path) -> None:
    run = Run(folder)
    found = run.finding("confidence")
    assert found is not None
    for spoil in ({"sentence": {}}, {"word": None}):
        run.save_finding("confidence", {**found, **spoil})
        with pytest.raises(RunError, match=r"confidence\.json: damaged"):
            calibration_of(folder)
    short = {**found["sentence"], "weights": found["sentence"]["weights"][1:]}
    zero = {**found["sentence"], "spreads": [0.0] * len(found["sentence"]["spreads"])}
    for sentence in (short, zero):
        run.save_finding("confidence", {**found, "sentence": sentence})
        with pytest.raises(RunError, match=r"confidence\.json: damaged"):
            calibration_of(folder)
    run.save_finding("confidence", found)


def test_translate_prints_how_sure_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["translate", str(folder), "1 2 3", "", "--confidence"])
    first, second = capsys.readouterr().out.splitlines()
    chance, verdict, text, doubtful = first.split("\t")
    assert re.fullmatch(r"\d+%", chance)
    assert verdict in ("check", "likely fine")
    assert set(doubtful.split()) <= set(text.split())
    assert second.split("\t") == ["", "", "", ""]
    main(["translate", str(folder), "1 2 3", "--confidence", "--n-best", "2"])
    assert capsys.readouterr().out.splitlines()[0].split("\t")[2:] == first.split("\t")
    main(["translate", str(folder), "1 2 3", "--json"])
    found = json.loads(capsys.readouterr().out)["confidence"]
    assert f"{found['probability']:.0%}" == chance
    assert [word for word, _ in found["words"]] == text.split()
    with pytest.raises(SystemExit):
        main(["translate", str(folder), "1", "--confidence", "--align"])


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_file_says_how_sure_its_translations_are(
    folder: Path, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    po, lines = tmp_path / "a.po", tmp_path / "b.txt"
    po.write_text('msgid "a 1 2 3"\nmsgstr ""\n')
    lines.write_text("a 1 2 3\nb 7 7 9\n")
    command = ["file", str(folder), str(po), str(lines), "--out-dir", str(tmp_path / "yy")]
    main([*command, "--confidence", "--engine", engine])
    said = capsys.readouterr().err
    confidence = Translator.load(folder).translations(["a 1 2 3"])[0][0].confidence
    assert confidence is not None
    comment = f"# regard: {confidence.verdict}, {round(100 * confidence.probability)} % sure\n"
    assert (tmp_path / "yy" / "a.po").read_text().startswith(f"{comment}#, fuzzy\n")
    table = tmp_path / "yy" / "b.txt.confidence.tsv"
    rows = [each.split("\t") for each in table.read_text().splitlines()]
    assert [row[1] for row in rows] == ["line", "1", "2"]
    verdicts = [rows[1][2], rows[1][2], rows[2][2]]
    fine, check = verdicts.count("likely fine"), verdicts.count("check")
    assert f"to check: see {table}." in said
    assert f"In all {fine} likely fine, {check} to check." in said


def test_file_needs_a_run_that_is_calibrated(copy: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a 1 2\n")
    with pytest.raises(RunError, match="is not calibrated"):
        Translator.load(copy).translate_file(path, confidence=True)
    assert [each.name for each in tmp_path.glob("a*")] == ["a.txt"]


def test_evaluate_says_how_reliable_the_confidence_is(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pairs(tmp_path, "test", toy_pairs(30, seed=4))
    files = ["--source", str(tmp_path / "test.xx"), "--reference", str(tmp_path / "test.yy")]
    command = ["evaluate", str(folder), *files, "--bootstrap", "0", "--json", "--confidence"]
    main([*command, "--picture", str(tmp_path / "picture.svg"), "--output", str(tmp_path / "out")])
    scores = {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)["scores"]}
    assert 0 <= scores["reliability error"] <= 1
    assert (tmp_path / "picture.svg").exists()
    outputs = (tmp_path / "out").read_text()
    main([*command[:-1], "--output", str(tmp_path / "plain")])
    assert (tmp_path / "plain").read_text() == outputs
    assert {"reliability error", "worst tenth found"}.isdisjoint(
        each["name"] for each in json.loads(capsys.readouterr().out)["scores"]
    )
