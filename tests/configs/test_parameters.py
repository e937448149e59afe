"""Parameters are counted by formula, without PyTorch; here the real models are counted."""

from pathlib import Path
from typing import Any

import pytest

from regard import recipe
from regard.configs.parameters import count_parameters, num_frozen, num_parameters
from regard.configs.series import SeriesSizes
from regard.recipe import override, parse
from regard.tasks import image_data
from regard.weights import without_memory

SHIPPED = sorted((Path(__file__).resolve().parents[2] / "recipes").glob("*.toml"))
STACK = ("model.num_layers=2", "model.d_model=12", "model.d_ff=20", "model.num_heads=3")
PAIR = ("model.encoder_layers=2", "model.decoder_layers=3", "model.d_model=12")
TRANSFORMER = (*PAIR, "model.d_ff=20", "model.num_heads=3")
RECURRENT = (*PAIR, "model.kind=recurrent")
APART = ("tokenizer.joint=false", "model.tied_embeddings=none")
CNN = ("encoder.widths=[8, 12]", "model.d_model=12", "data.image_size=24")
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
    ("forecasting", ("model.kind=linear",)),
    ("forecasting", ("model.kind=linear", "model.head=quantiles", "data.horizon=7")),
    *(
        ("forecasting", ("model.kind=recurrent", "model.d_model=12", *settings))
        for settings in (
            ("model.cell=rnn", "model.num_layers=2", "data.horizon=30"),
            ("model.cell=gru", "model.forecast=paths", "model.head=student"),
            ("model.cell=lstm", "model.patch_size=7", "data.horizon=10", "model.head=gaussian"),
        )
    ),
    *(
        ("forecasting", ("model.kind=transformer", *STACK, *settings))
        for settings in (
            ("data.horizon=30",),
            ("model.forecast=paths", "model.head=student", "data.horizon=30"),
            ("model.activation=swiglu", "model.patch_size=12", "data.context=48"),
        )
    ),
    ("word-vectors", ("model.d_model=12",)),
    ("word-vectors", ("model.kind=cbow",)),
    ("image-classification", ("model.widths=[8, 12]", "model.residual_blocks=2")),
    ("image-classification", ("model.widths=[8]", "data.image_size=17", "data.channels=1")),
    ("image-classification", ("model.kind=vit", *STACK)),
    ("image-classification", ("model.kind=vit", *STACK, "model.stem=patch", "model.pooling=token")),
    ("image-classification", ("model.kind=vit", *STACK, "model.positions=rotary")),
    ("image-classification", ("model.kind=vit", "model.patch_size=16", "model.d_model=9")),
    ("image-classification", ("model.kind=mlp", "model.d_model=12", "model.num_layers=3")),
    ("image-classification", ("model.kind=lite0",)),
    ("image-classification", ("model.kind=lite0", "model.frozen=false", "data.channels=1")),
    ("captioning", CNN),
    ("captioning", (*CNN, "model.attention=none", "model.cell=gru", "model.num_layers=2")),
    ("captioning", (*CNN, "model.kind=transformer", *STACK, "model.activation=swiglu")),
    ("captioning", ("encoder.kind=vit", "model.d_model=12", "model.tied_embeddings=false")),
    ("captioning", ("encoder.kind=lite0", "model.d_model=12")),
    ("matching", CNN),
    ("matching", (*CNN, "model.kind=recurrent", "space.width=20")),
    ("matching", (*CNN, "model.kind=bert", *STACK, "model.pooler=true")),
    ("matching", (*CNN, "model.kind=gpt", *STACK, "model.tied_embeddings=false")),
    ("matching", ("encoder.kind=lite0", "model.d_model=12")),
]


def check(found: Any) -> None:
    joint = getattr(getattr(found, "tokenizer", None), "joint", None)
    labelled = hasattr(found, "head") or not hasattr(found, "tokenizer")
    inputs, outputs = (30, 30) if joint or (joint is None and not labelled) else (30, 7)
    sizes = {"inputs": inputs, "outputs": outputs}
    if hasattr(found.data, "image_size"):
        sizes |= image_data.sizes_of(found.data)
    if hasattr(found.data, "horizon"):
        data = found.data
        sizes |= SeriesSizes(data.context, data.horizon, 5, data.season)._asdict()
    model = without_memory(found, sizes)
    assert num_parameters(found, sizes) == sum(each.numel() for each in model.parameters())
    learned = sum(each.numel() for each in model.parameters() if each.requires_grad)
    if getattr(found, "encoder", found.model).kind == "lite0":
        assert num_parameters(found, sizes) - num_frozen(found) == learned


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_recipes_that_ship_are_counted(path: Path) -> None:
    check(recipe.read(path))


@pytest.mark.parametrize(("task", "settings"), VARIANTS)
def test_every_setting_that_adds_parameters_counts(task: str, settings: tuple[str, ...]) -> None:
    files = ["a.x", "a.y"] if task == "translation" else ["a.tsv"]
    check(parse(override({"task": task, "data": {"train": files}}, settings), "test"))


def test_a_model_of_ones_own_is_not_known() -> None:
    class Config(recipe.Section):
        pass

    assert count_parameters(Config(), 30, 30) == 0
