"""Recipes by name, and what is known of those that come with regard."""

import tomllib
from pathlib import Path

import pytest

from regard import datasets, recipe
from regard.errors import RecipeError, RequestError
from regard.recipe_catalogue import SCORES, catalogue, datasets_named, recipe_named
from regard.recipe_names import find, is_shipped, shipped

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(datasets.VARIABLE, raising=False)
    return tmp_path


def test_a_recipe_is_found_by_its_name() -> None:
    assert find("tinyshakespeare") == shipped()["tinyshakespeare"]
    assert recipe.read("tinyshakespeare", ["train.steps=5"]).train.steps == 5
    assert is_shipped("demo")
    assert not is_shipped("demo.toml")


def test_a_file_of_that_name_comes_first(empty_folder: Path) -> None:
    (empty_folder / "demo").write_text('[data]\nbuiltin = "phrasebook"\n[train]\nsteps = 7\n')
    assert recipe.read("demo").train.steps == 7
    assert not is_shipped("demo")


def test_a_folder_of_that_name_does_not_hide_the_recipe(empty_folder: Path) -> None:
    (empty_folder / "tinyshakespeare").mkdir()
    assert find("tinyshakespeare") == shipped()["tinyshakespeare"]


def test_a_wrong_name_gets_the_nearest() -> None:
    with pytest.raises(RecipeError, match=r"did you mean tinyshakespeare .*`regard recipes` lists"):
        find("tinyshakespear")
    with pytest.raises(RecipeError, match=r"did you mean multi30k-en-de "):
        find("recipes/multi30k-en-d.toml")
    with pytest.raises(RequestError, match="did you mean demo"):
        recipe_named("demos")


def test_a_path_is_never_a_name() -> None:
    with pytest.raises(RecipeError, match="no such recipe file"):
        find("elsewhere/demo")


def test_the_data_folder_is_named_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = "$REGARD_DATA/multi30k"
    assert Path(datasets.with_data_folder(folder)) == Path("data/multi30k")
    monkeypatch.setenv(datasets.VARIABLE, "/elsewhere")
    assert Path(datasets.with_data_folder(folder)) == Path("/elsewhere/multi30k")
    assert datasets.with_data_folder("$REGARD_DATABASE/x") == "$REGARD_DATABASE/x"
    assert datasets.with_data_folder("data/mine") == "data/mine"


def test_a_recipe_looks_in_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"data": {"folder": "$REGARD_DATA/mine", "train": ["a.en", "a.de"]}}
    assert recipe.parse(values, "here").data.paths("train")[0] == Path("data/mine/a.en")
    monkeypatch.setenv(datasets.VARIABLE, "/elsewhere")
    assert recipe.parse(values, "here").data.paths("train")[0] == Path("/elsewhere/mine/a.en")
    chosen = recipe.read("multi30k-en-de", ["data.folder=data/mine"])
    assert chosen.data.paths("train")[0] == Path("data/mine/train.en.gz")  # type: ignore[attr-defined]


@pytest.mark.parametrize("known", catalogue().values(), ids=lambda known: known.name)
def test_every_recipe_says_where_its_data_comes_from(known: object) -> None:
    each = catalogue()[known.name]  # type: ignore[attr-defined]
    assert each.about.endswith(".")
    data = each.values["data"]
    assert bool(each.datasets) != bool(data.get("builtin"))
    offered = {f"{one.name}/{made.name}" for one in each.datasets for made in one.files}
    inside = data.get("folder", "").removeprefix("$REGARD_DATA").strip("/")
    for name in (*data.get("train", ()), *data.get("valid", ())):
        assert f"{inside}/{name}".strip("/") in offered


def test_scores_are_of_recipes_that_there_are() -> None:
    assert tomllib.loads(SCORES.read_text("utf-8")).keys() <= catalogue().keys()


def test_the_demo_has_one_score_everywhere() -> None:
    share = catalogue()["demo"].score.split(" of ")[0]
    assert f"| {share} exact" in (ROOT / "README.md").read_text("utf-8")
    assert f"| 1 | {share} [" in (ROOT / "docs" / "experiments.md").read_text("utf-8")


def test_data_is_named_by_recipe_or_by_set() -> None:
    names = [each.name for each in datasets_named("reviews-masked")]
    assert names == ["wikitext2", "imdb", "rotten-tomatoes"]
    assert [each.name for each in datasets_named("wikitext2")] == ["wikitext2"]
    assert datasets_named("demo") == ()


def test_what_is_here_is_seen(empty_folder: Path) -> None:
    assert recipe_named("demo").is_here
    assert not recipe_named("tinyshakespeare").is_here
    path = empty_folder / "data" / "tinyshakespeare" / "input.txt.gz"
    path.parent.mkdir(parents=True)
    path.touch()
    assert recipe_named("tinyshakespeare").is_here


def test_the_shared_data_is_found_by_every_recipe_that_can_be_fetched_in_minutes(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(datasets.VARIABLE, str(shared_data))
    missing = {each.name for each in catalogue().values() if not each.is_here}
    assert missing == {"wmt14-en-de-base", "wmt14-en-de-big"}
