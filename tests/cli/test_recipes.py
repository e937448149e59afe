import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest

from regard.cli import main
from regard.recipe_names import shipped


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REGARD_DATA", raising=False)


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(words)
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def test_every_recipe_is_listed_with_data_licence_and_score(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = output(capsys, "recipes")
    for name in shipped():
        assert f"  {name} " in shown
    line = next(line for line in shown.splitlines() if line.startswith("  multi30k-en-de "))
    assert "multi30k; BLEU 39.7 on test_2016_flickr in 64 min" in line
    assert "1.1 MB; public domain" in shown


def test_one_recipe_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    shown = output(capsys, "recipes", "rotten-tomatoes-finetuned")
    for part in (
        "https://www.cs.cornell.edu/people/pabo/movie-review-data/",
        "Licence: CC BY 4.0",
        "It starts from runs/reviews-masked",
        f"regard looks for it in {Path('data', 'rotten-tomatoes')}.",
        "regard recipes fetch rotten-tomatoes-finetuned",
        'task = "classification"',
        "learning_rate = 7e-4",
        "regard train rotten-tomatoes-finetuned",
    ):
        assert part in shown


def test_programs_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = [json.loads(line) for line in output(capsys, "recipes", "--json").splitlines()]
    assert {each["name"] for each in found} == shipped().keys()
    one = json.loads(output(capsys, "recipes", "tinyshakespeare", "--json"))
    assert one["minutes"] == 10
    assert one["data"][0]["licence"] == "public domain"
    assert one["settings"]["train"]["steps"] == 6600


def test_a_wrong_name_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["recipes", "tinyshakespear"], ["recipes", "fetch", "tinyshakespear"]):
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert stopped.value.code == 1
        assert "did you mean tinyshakespeare" in capsys.readouterr().err


def test_a_recipe_without_data_needs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    main(["recipes", "fetch", "demo"])
    assert "comes with regard" in capsys.readouterr().err


def test_a_recipe_is_shown_by_name_with_settings(capsys: pytest.CaptureFixture[str]) -> None:
    shown = output(capsys, "show", "tinyshakespeare", "--set", "train.steps=5")
    assert "up to 5" in shown
    assert "    train.steps=5\n" in shown
    assert '    data.train=["input.txt.gz"]' in shown
    facts = json.loads(output(capsys, "show", "demo", "--set", "seed=3", "--json"))
    assert facts["recipe"]["seed"] == 3


def test_the_data_of_a_recipe_is_checked_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["check", "tinyshakespeare"])
    assert "`regard recipes fetch tinyshakespeare` downloads it" in "".join(capsys.readouterr())
    path = tmp_path / "data" / "tinyshakespeare" / "input.txt.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(b"First Citizen: Before we proceed any further.\n" * 300))
    with suppress(SystemExit):  # copies are an error
        main(["check", "tinyshakespeare", "--json"])
    assert json.loads(capsys.readouterr().out)


def test_a_run_has_fixed_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.toml").write_bytes(shipped()["demo"].read_bytes())
    with pytest.raises(SystemExit):
        main(["show", "run", "--set", "train.steps=5"])
    assert "is a run, whose settings are fixed" in capsys.readouterr().err


def test_a_folder_beside_does_not_hide_a_recipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo").mkdir()
    assert "phrasebook" in output(capsys, "show", "demo")
