"""The recipes of an experiment differ only in their models."""

import tomllib
from importlib import resources

import pytest

from regard.compare.experiment import load_experiment
from regard.errors import RecipeError, RequestError

FILES = sorted((resources.files("regard") / "experiments").iterdir(), key=lambda file: file.name)
DATA = [
    (file.name.removesuffix(".toml"), data)
    for file in FILES
    for data in tomllib.loads(file.read_text("utf-8"))["data"]
]


@pytest.mark.parametrize(("name", "data"), DATA)
def test_all_see_the_same_batches_for_the_same_time(name: str, data: str) -> None:
    experiment = load_experiment(name, data)
    first, *others = experiment.recipes.values()
    assert len(others) == 2
    for other in others:
        assert (other.seed, other.data, other.tokenizer) == (
            first.seed,
            first.data,
            first.tokenizer,
        )
        for key in ("steps", "batch_tokens", "accumulate"):
            assert getattr(other.train, key) == getattr(first.train, key)
    kinds = [getattr(recipe.model, "attention", "all") for recipe in experiment.recipes.values()]
    assert kinds[0] == "none"
    assert kinds[1] in ("additive", "dot")
    assert kinds[2] == "all"


def test_settings_are_for_all() -> None:
    experiment = load_experiment("attention-matters", "phrasebook-long", ["train.steps=7"])
    assert {recipe.train.steps for recipe in experiment.recipes.values()} == {7}
    with pytest.raises(RecipeError, match=r"unknown key train\.stesp"):
        load_experiment("attention-matters", "phrasebook-long", ["train.stesp=7"])


def test_unknown_data_is_answered_with_what_is_known() -> None:
    with pytest.raises(RequestError, match="phrasebook-long or multi30k"):
        load_experiment("attention-matters", "wmt14")
