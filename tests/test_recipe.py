"""Recipes: a closed schema, complaints of one sentence, TOML there and back."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from regard.configs.recurrent import RecurrentConfig
from regard.configs.transformer import TransformerConfig
from regard.errors import RecipeError
from regard.recipe import TrainSection, override, parse, read, to_toml

SMALLEST: dict[str, Any] = {"data": {"builtin": "phrasebook"}}


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, "utf-8")
    return path


def complaint(values: dict[str, Any]) -> str:
    with pytest.raises(RecipeError) as caught:
        parse(values, "mine.toml")
    message = str(caught.value)
    assert message.startswith("mine.toml: ")
    assert "\n" not in message
    assert len(message) < 300
    return message.removeprefix("mine.toml: ")


def test_the_papers_choices_are_the_defaults() -> None:
    recipe = parse(SMALLEST, "mine.toml")
    model = recipe.model
    assert isinstance(model, TransformerConfig)
    assert (model.encoder_layers, model.d_model, model.d_ff, model.num_heads) == (6, 512, 2048, 8)
    assert (model.norm, model.positions, model.activation) == ("post", "sinusoidal", "relu")
    assert recipe.train.label_smoothing == 0.1
    assert recipe.train.warmup_steps == 4000


def test_a_model_is_a_transformer_unless_it_says_otherwise() -> None:
    assert parse(SMALLEST, "mine.toml").model == TransformerConfig()
    small = parse({**SMALLEST, "model": {"d_model": 64}}, "mine.toml").model
    assert small == TransformerConfig(d_model=64)
    assert parse(RECURRENT, "mine.toml").model == RecurrentConfig(cell="gru")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"train": {"stepz": 1}}, "unknown key train.stepz; did you mean train.steps?"),
        ({"trian": {"steps": 1}}, "unknown key trian; did you mean train?"),
        ({"model": {"d_modle": 8}}, "unknown key model.d_modle; did you mean model.d_model?"),
        (
            {"train": {"beam_size": 4}},
            "unknown key train.beam_size; did you mean decode.beam_size?",
        ),
        ({"steps": 5}, "unknown key steps; did you mean train.steps?"),
        ({"d_ff": 5}, "unknown key d_ff; did you mean model.d_ff?"),
        ({"decode": {"zzz": 5}}, "unknown key decode.zzz; known here: beam_size, length_penalty"),
        (
            {"model": {"kind": "recurrent", "d_modle": 8}},
            "unknown key model.d_modle; did you mean model.d_model?",
        ),
        ({"model": {"cell": "gru"}}, 'unknown key model.cell; it is for model.kind = "recurrent"'),
        (
            {"model": {"kind": "recurrent", "d_ff": 8}},
            'unknown key model.d_ff; it is for model.kind = "transformer"',
        ),
    ],
)
def test_an_unknown_key_is_an_error_with_a_suggestion(values: dict[str, Any], said: str) -> None:
    assert complaint({**SMALLEST, **values}).startswith(said)


TEXT: dict[str, Any] = {"data": {"train": ["a.txt"]}}


@pytest.mark.parametrize(
    ("task", "values", "key", "others"),
    [
        (
            "classification",
            {"data": {"train": ["a.tsv"], "context": 5}},
            "data.context",
            "language-model, masked-language-model and forecasting",
        ),
        ("tagging", {"data": {"train": ["a"], "max_ratio": 2.0}}, "data.max_ratio", "translation"),
        (
            "language-model",
            {"data": {"train": ["a.txt"], "held_out_pairs": 9}},
            "data.held_out_pairs",
            "translation, classification and tagging",
        ),
        (
            "language-model",
            {**TEXT, "tokenizer": {"joint": True}},
            "tokenizer.joint",
            "translation",
        ),
        (
            "language-model",
            {**TEXT, "decode": {"beam_size": 2}},
            "decode",
            "translation and captioning",
        ),
        ("language-model", {**TEXT, "head": {}}, "head", "classification and tagging"),
        (
            "masked-language-model",
            {"data": {"train": ["a.txt"], "direction": "backward"}},
            "data.direction",
            "language-model",
        ),
        (
            "classification",
            {**TEXT, "train": {"eval_sentences": 5}},
            "train.eval_sentences",
            "translation, language-model and captioning",
        ),
        (
            "masked-language-model",
            {**TEXT, "model": {"cell": "gru"}},
            "model.cell",
            (
                "translation, language-model, classification, tagging, captioning, matching and "
                "forecasting"
            ),
        ),
        (
            "translation",
            {**SMALLEST, "model": {"num_segments": 2}},
            "model.num_segments",
            "masked-language-model, classification, tagging and matching",
        ),
        (
            "translation",
            {"data": {"builtin": "phrasebook", "masked_share": 0.2}},
            "data.masked_share",
            "masked-language-model",
        ),
    ],
)
def test_a_setting_that_does_nothing_is_refused_with_the_tasks_that_have_it(
    task: str, values: dict[str, Any], key: str, others: str
) -> None:
    assert complaint({"task": task, **values}) == (
        f"unknown key {key}; {key} is for {others}, and would do nothing here; leave it out"
    )


def test_a_typed_setting_that_does_nothing_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, 'task = "classification"\n[data]\ntrain = ["a.tsv"]\n')
    assert read(path).task == "classification"
    with pytest.raises(
        RecipeError, match=r"decode is for translation and captioning, and would do"
    ):
        read(path, ["decode.beam_size=3"])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"data": {}}, "data: name either the training files (train) or a built-in corpus"),
        ({"data": {"builtin": "phrasebook", "train": ["a", "b"]}}, "data: name either"),
        (
            {"data": {"train": ["a.en", "a.de", "b.csv"], "weights": [3]}},
            "data: weights has 1 number",
        ),
        ({"data": {"builtin": "phrasebook", "columns": [1, 2]}}, "data: columns are of training"),
        ({"train": {"steps": 0}}, "train.steps = 0: give a whole number of at least 1"),
        ({"train": {"steps": "many"}}, "train.steps = 'many': give a whole number of at least 1"),
        ({"train": {"schedule": "step"}}, "train.schedule = 'step': give 'inverse_sqrt', "),
        ({"train": {"average": 9}}, "train: average = 9 needs keep to be as large, it is 3"),
        ({"train": 3}, "train = 3: train is a section; name one of its keys"),
        ({"model": {"kind": "mamba"}}, "model.kind = 'mamba': give 'transformer' or"),
        ({"model": 3}, "model = 3: model is a section"),
        ({"model": {"d_model": "wide"}}, "model.d_model = 'wide': give a whole number from 2 to"),
        (
            {"model": {"kind": "recurrent", "cell": "grue"}},
            "model.cell = 'grue': give 'rnn', 'gru' or 'lstm'; did you mean 'gru'?",
        ),
        (
            {"model": {"kind": "recurrent", "input_feeding": True}},
            'model: input_feeding goes with attention = "dot"',
        ),
        (
            {"model": {"kind": "recurrent"}, "tokenizer": {"joint": False}},
            'model.tied_embeddings = "all" needs tokenizer.joint',
        ),
        ({"model": {"d_model": 10, "num_heads": 4}}, "model.d_model 10 is not a multiple of"),
        ({"tokenizer": {"joint": False}}, 'model.tied_embeddings = "all" needs tokenizer.joint'),
        (
            {"model": {"positions": "learned", "max_positions": 256}},
            "model.max_positions must be larger than data.max_length",
        ),
        (
            {"model": {"d_model": 12, "num_heads": 4, "positions": "rotary"}},
            'model.positions = "rotary" turns pairs of numbers, and a head of',
        ),
        (
            {"train": {"adam_betas": [0.9, 1.0]}},
            "train.adam_betas = [0.9, 1.0]: in the list, give",
        ),
        (
            {"train": {"learning_rate": float("inf")}},
            "train.learning_rate = inf: give a finite",
        ),
        ({"train": {"schedule": "x" * 9999}}, "train.schedule = 'xxxx"),
        ({"train": {"steps": 2.5}}, "train.steps = 2.5: give a whole number of at least 1"),
        ({"train": {"adam_betas": [0.9]}}, "train.adam_betas = [0.9]: give a list of 2 values"),
        ({"train": {"adam_betas": 0.9}}, "train.adam_betas = 0.9: give a list of 2 values in"),
        ({"train": {"tensorboard": "maybe"}}, "train.tensorboard = 'maybe': give true or false"),
        ({"train": {"device": 3}}, "train.device = 3: give a text in quotes"),
        (
            {"train": {"processes": 5000}},
            "train.processes = 5000: give a whole number from 0",
        ),
        (
            {"train": {"optimizer": "adm"}},
            "train.optimizer = 'adm': give 'adam', 'adamw', 'muon' or 'rowwise",
        ),
        ({"model": {"kind": ["rnn"]}}, "model.kind = ['rnn']: give 'transformer' or"),
        (
            {"model": {"encoder_heads": [1, "x"]}},
            "model.encoder_heads = [1, 'x']: in the list",
        ),
        ({"data": {"train": "a.en"}}, "data.train = 'a.en': give a list in brackets"),
        (
            {"data": {"builtin": "phrasebook", "held_out_share": 0.5}},
            "data.held_out_share = 0.5:",
        ),
        ({"seed": -1}, "seed = -1: give a whole number of at least 0"),
        (
            {"train": {"steps": 0, "keep": 0}},
            "train.steps = 0: give a whole number",
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_in_one_sentence(values: dict[str, Any], said: str) -> None:
    assert complaint({**SMALLEST, **values}).startswith(said)


def test_more_complaints_are_counted() -> None:
    assert complaint({**SMALLEST, "train": {"steps": 0, "keep": 0}}).endswith("(1 more)")
    assert complaint({}) == "data is missing"


def test_settings_are_laid_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'seed = 4\n[data]\nbuiltin = "phrasebook"\n[train]\nsteps = 10\n')
    settings = [
        "train.steps=2_000",
        "train.schedule = cosine",
        "decode.beam_size=7",
        "train.learning_rate=1e-3",
        "train.adam_betas=[0.8, 0.9]",
        "train.tensorboard=true",
        "train.steps=3000",
        "seed=9",
    ]
    recipe = read(path, settings)
    assert recipe.train.steps == 3000
    assert recipe.train.schedule == "cosine"
    assert recipe.decode.beam_size == 7
    assert recipe.train.learning_rate == 1e-3
    assert recipe.train.adam_betas == (0.8, 0.9)
    assert recipe.train.tensorboard is True
    assert recipe.seed == 9
    assert read(path).train.steps == 10
    with pytest.raises(RecipeError, match=r"unknown key train.stepz; did you mean train.steps\?"):
        read(path, ["train.stepz=5"])


def test_settings_leave_what_they_are_laid_over() -> None:
    values = {"train": {"steps": 10}}
    assert override(values, ["train.steps=20"]) == {"train": {"steps": 20}}
    assert values == {"train": {"steps": 10}}


@pytest.mark.parametrize("setting", ["train.steps", "=5", "train.=5", ".steps=5", "a.b.c=5", ""])
def test_a_setting_that_is_none_is_refused(setting: str) -> None:
    with pytest.raises(RecipeError, match=r"not a setting; write it like train\.steps=2000"):
        override({}, [setting])


def test_a_setting_cannot_open_what_is_no_section() -> None:
    with pytest.raises(RecipeError, match="seed is not a section"):
        override({"seed": 3}, ["seed.more=5"])


FULL: dict[str, Any] = {
    "seed": 2**63 - 1,
    "data": {"folder": "a b", "train": ["tr.en", 'tr."dé'], "languages": ["en", "de"]},
    "tokenizer": {"kind": "unigram", "joint": False},
    "model": {"d_model": 64, "tied_embeddings": "output", "positions": "rotary"},
    "train": {"learning_rate": 1e-5, "adam_epsilon": 1e-12, "device": "cuda:1"},
    "decode": {"length_penalty": 0.6},
}


RECURRENT: dict[str, Any] = {**SMALLEST, "model": {"kind": "recurrent", "cell": "gru"}}


@pytest.mark.parametrize("values", [SMALLEST, FULL, RECURRENT])
def test_toml_there_and_back(tmp_path: Path, values: dict[str, Any]) -> None:
    recipe = parse(values, "mine.toml")
    path = write(tmp_path, to_toml(recipe))
    assert read(path) == recipe
    assert to_toml(read(path)) == to_toml(recipe)


def test_a_written_recipe_is_complete() -> None:
    """Every default is written out, so that a later default never changes an old run."""

    # TOML has no null: what is None is left out, and None is what it becomes again.
    def keys(section: BaseModel) -> set[str]:
        return {name for name, value in section if value is not None}

    recipe = parse(FULL, "mine.toml")
    written = tomllib.loads(to_toml(recipe))
    assert written.keys() == keys(recipe)
    for name in written.keys() - {"task", "seed"}:
        assert written[name].keys() == keys(getattr(recipe, name))


def test_a_recipe_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="frozen"):
        parse(SMALLEST, "mine.toml").train.steps = 5  # type: ignore[misc]


def test_files_are_found_from_the_folder() -> None:
    data = parse({"data": {"folder": "corpus", "train": ["a.en", "a.de"]}}, "mine.toml").data
    assert data.paths("train") == [Path("corpus/a.en"), Path("corpus/a.de")]
    assert data.paths("valid") == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"seed = \n", r"mine\.toml: not valid TOML \(.*line 1.*\); mend that line"),
        (b"\xff\xfe", r"mine\.toml: not valid TOML"),
        (b"[data]\nbuiltin = 'phrasebook'\n[data]\n", r"mine\.toml: not valid TOML"),
        (b"", r"mine\.toml: data is missing"),
    ],
)
def test_a_file_that_is_no_recipe(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(RecipeError, match=said) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"none\.toml: no such recipe"):
        read(tmp_path / "none.toml")
    with pytest.raises(RecipeError, match=r"cannot be read \(Is a directory\)"):
        read(tmp_path)


def test_a_section_alone_is_checked_too() -> None:
    with pytest.raises(ValueError, match="needs keep to be as large"):
        TrainSection(keep=1, average=2)
