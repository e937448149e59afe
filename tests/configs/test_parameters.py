"""Parameters are counted by formula, without PyTorch; here the real models are counted."""

from pathlib import Path
from typing import Any

import pytest

from regard import recipe
from regard.configs.parameters import count_parameters
from regard.recipe import override, parse
from regard.weights import without_memory

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "recipes").glob("*.toml"))
STACK = ("model.num_layers=2", "model.d_model=12", "model.d_ff=20", "model.num_heads=3")
PAIR = ("model.encoder_layers=2", "model.decoder_layers=3", "model.d_model=12")
TRANSFORMER = (*PAIR, "model.d_ff=20", "model.num_heads=3")
RECURRENT = (*PAIR, "model.kind=recurrent")
APART = ("tokenizer.joint=false", "model.tied_embeddings=none")
VARIANTS = [
    ("translation", TRANSFORMER),
    ("translation", (*TRANSFORMER, *APART)),
    ("translation", (*TRANSFORMER, "tokenizer.joint=false", "model.tied_embeddings=output")),
    ("translation", (*TRANSFORMER, "model.norm=pre", "model.normalisation=rms")),
    ("translation", (*TRANSFORMER, "model.activation=swiglu", "model.output_bias=true")),
    ("translation", (*TRANSFORMER, "model.positions=learned", "model.max_positions=300")),
    ("translation", (*TRANSFORMER, "model.encoder_heads=[1, 3]", "model.cross_heads=[2, 1, 3]")),
    *(("translation", (*RECURRENT, f"model.cell={cell}")) for cell in ("rnn", "gru", "lstm")),
    ("translation", (*RECURRENT, *APART, "model.attention=none", "model.bidirectional=false")),
    ("translation", (*RECURRENT, "model.attention=dot")),
    ("translation", (*RECURRENT, "model.attention=dot", "model.input_feeding=true")),
    ("language-model", STACK),
    ("language-model", (*STACK, "model.positions=sinusoidal", "model.tied_embeddings=false")),
    ("language-model", (*STACK, "model.activation=swiglu")),
    ("language-model", ("model.kind=recurrent", "model.num_layers=3", "model.d_model=12")),
    ("language-model", ("model.kind=recurrent", "model.d_model=12", "model.tied_embeddings=false")),
    ("masked-language-model", STACK),
    ("masked-language-model", (*STACK, "model.pooler=true", "model.next_sentence=true")),
    ("classification", (*STACK, "model.pooler=true")),
    ("classification", ("model.kind=recurrent", "model.d_model=12", "model.num_layers=2")),
    ("tagging", ("model.kind=recurrent", "model.cell=gru", "model.bidirectional=false")),
]


def check(found: Any) -> None:
    joint = getattr(found.tokenizer, "joint", None)
    labelled = hasattr(found, "head")
    inputs, outputs = (30, 30) if joint or (joint is None and not labelled) else (30, 7)
    model = without_memory(found, {"inputs": inputs, "outputs": outputs})
    counted = count_parameters(found.model, inputs, outputs, labelled)
    assert counted == sum(each.numel() for each in model.parameters())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_recipes_that_ship_are_counted(path: Path) -> None:
    found = recipe.read(path)
    if not hasattr(found, "tokenizer"):
        pytest.skip("models of images are counted when they are built")
    check(found)


@pytest.mark.parametrize(("task", "settings"), VARIANTS)
def test_every_setting_that_adds_parameters_counts(task: str, settings: tuple[str, ...]) -> None:
    files = ["a.x", "a.y"] if task == "translation" else ["a.tsv"]
    check(parse(override({"task": task, "data": {"train": files}}, settings), "test"))


def test_a_model_of_ones_own_is_not_known() -> None:
    class Config(recipe.Section):
        pass

    assert count_parameters(Config(), 30, 30) == 0
