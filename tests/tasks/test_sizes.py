"""Sizes follow from the data; the fast ones are as large, and of another shape."""

from pathlib import Path

import pytest

from regard import tasks
from regard.cli import main
from regard.configs.parameters import num_parameters
from regard.recipe import Recipe, parse, read
from regard.run import Run
from regard.tasks.suggestions import suggest_from
from regard.tasks.translation.sizes import fast_layers, suggest
from regard.weights import save_model

RECIPES = Path(__file__).parent.parent.parent / "recipes"


def parameters(recipe: Recipe) -> int:
    size = recipe.tokenizer.vocabulary_size
    return num_parameters(recipe, {"inputs": size, "outputs": size})


@pytest.mark.parametrize(
    ("shape", "fast"),
    [((4, 4, 128, 256), (8, 1)), ((6, 6, 512, 2048), (12, 1)), ((6, 1, 64, 64), (6, 1))],
)
def test_the_decoder_gives_its_parameters_to_the_encoder(
    shape: tuple[int, int, int, int], fast: tuple[int, int]
) -> None:
    assert fast_layers(*shape) == fast


def test_the_fast_preset_is_as_large(corpus: Path) -> None:
    data = {"folder": str(corpus), "train": ["train.xx", "train.yy"]}
    standard, fast = (
        parse(suggest(data, {}, preset).values, "test") for preset in ("standard", "fast")
    )
    assert fast.model.decoder_layers == 1 < standard.model.decoder_layers
    assert fast.train == standard.train
    assert 0.85 < parameters(fast) / parameters(standard) <= 1


def test_the_fast_recipe_is_as_large_as_the_usual_one() -> None:
    usual, fast = (read(RECIPES / f"multi30k-en-de{name}.toml") for name in ("", "-fast"))
    assert 0.95 < parameters(fast) / parameters(usual) <= 1
    assert (usual.data, usual.tokenizer, usual.train) == (fast.data, fast.tokenizer, fast.train)


def test_a_preset_is_for_pairs(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", str(RECIPES / "demo.toml"), "--preset", "fast"])
    assert "--preset belong to data on the command line" in capsys.readouterr().err


def test_a_translator_that_goes_on_has_half_the_time_and_a_lower_rate(
    corpus: Path, tmp_path: Path
) -> None:
    data = {"folder": str(corpus), "train": ["train.xx", "train.yy"]}
    fresh = parse(suggest(data, {}, "standard").values, "test")
    first = Run(tmp_path)
    first.save_recipe(fresh)
    save_model(first, {}, 1, {})
    found = suggest_from(tasks.get("translation"), str(tmp_path), data)
    values, reasons = found.values, found.reasons
    assert not {"model", "tokenizer"} & values.keys()
    train = values["train"]
    assert train["steps"] == fresh.train.steps // 2
    assert 0.2 < train["learning_rate"] / fresh.train.learning_rate < 0.5
    assert any(str(tmp_path) in reason.text for reason in reasons)
