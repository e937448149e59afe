"""Recipe files of earlier versions are read; by hand, a setting that does nothing is refused."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from regard import tasks
from regard.errors import RecipeError
from regard.recipe import override, parse, read, to_toml
from regard.recipe_format import UNION, without_other_tasks, written_out

# A recipe.toml as the one schema of all tasks wrote it, without the model.
OLD: dict[str, dict[str, Any]] = {
    "data": {
        "folder": ".",
        "train": ["a.tsv"],
        "valid": [],
        "held_out_share": 0.05,
        "held_out_pairs": 2000,
        "max_length": 99,
        "max_ratio": 4.0,
        "context": 64,
        "direction": "forward",
        "masked_share": 0.15,
        "whole_words": False,
        "counted_window": 0,
        "embeddings": "",
        "label": "",
    },
    "tokenizer": {"kind": "bpe", "vocabulary_size": 900, "joint": True, "lowercase": False},
    "head": {"pooling": "mean", "dropout": 0.2},
    "train": {
        "steps": 700,
        "adam_betas": [0.9, 0.98],
        "adam_epsilon": 1e-9,
        "max_skipped": 20,
        "log_every": 50,
        "eval_sentences": 12,
    },
    "decode": {
        "beam_size": 3,
        "length_penalty": 1.0,
        "max_length_ratio": 2.0,
        "no_repeat_ngram": 0,
    },
}
# What a task keeps of it, beside what every task has.
KEPT = {
    "translation": {
        "data.max_length",
        "data.max_ratio",
        "train.eval_sentences",
        "decode.beam_size",
    },
    "language-model": {"data.context", "data.direction", "train.eval_sentences"},
    "masked-language-model": {"data.context", "data.masked_share"},
    "classification": {"data.max_length", "data.label", "head.dropout"},
    "tagging": {"data.max_length", "data.label", "head.dropout"},
}
TOLD = frozenset().union(*KEPT.values())


def old_recipe(folder: Path, task: str, *settings: str) -> Path:
    path = folder / "recipe.toml"
    values = override({"task": task, "seed": 7, **OLD, "model": {}}, settings)
    path.write_text(tomli_w.dumps(values))
    return path


def value_of(values: Mapping[str, Any], name: str) -> Any:
    section, key = name.split(".")
    return values.get(section, {}).get(key)


@pytest.mark.parametrize("task", KEPT)
def test_a_recipe_that_an_earlier_version_wrote_out_is_read(task: str, tmp_path: Path) -> None:
    recipe = read(old_recipe(tmp_path, task))
    assert type(recipe) is tasks.get(task).recipe
    assert (recipe.seed, recipe.train.steps) == (7, 700)
    found = recipe.model_dump(mode="json")
    for name in TOLD:
        assert value_of(found, name) == (value_of(OLD, name) if name in KEPT[task] else None)


@pytest.mark.parametrize("task", KEPT)
def test_what_is_typed_does_something_or_is_refused(task: str, tmp_path: Path) -> None:
    """Also where the file that it is laid over is of an earlier version."""
    path = old_recipe(tmp_path, task)
    assert read(path, ["train.steps=9"]).train.steps == 9
    for name in TOLD - {"data.direction"}:
        setting = f"{name}={0.25 if name in ('head.dropout', 'data.masked_share') else 17}"
        if name in KEPT[task]:
            assert value_of(read(path, [setting]).model_dump(mode="json"), name) != (
                value_of(OLD, name)
            )
        else:
            with pytest.raises(RecipeError):
                read(path, [setting])


@pytest.mark.parametrize("task", KEPT)
def test_a_recipe_of_this_version_is_not_taken_for_an_old_one(task: str, tmp_path: Path) -> None:
    recipe = parse({"task": task, "data": {"train": ["a.tsv"]}}, "here")
    values = tomllib.loads(to_toml(recipe))
    assert not written_out(values)
    assert without_other_tasks(values, type(recipe)) is values
    path = tmp_path / "recipe.toml"
    for name in TOLD - KEPT[task]:
        path.write_text(tomli_w.dumps(override(values, [f"{name}=17"])))
        with pytest.raises(RecipeError):
            read(path)


@pytest.mark.parametrize(
    ("task", "setting", "sentence"),
    [
        (
            "classification",
            "decode.beam_size=5",
            "decode is for translation and captioning, and would do nothing here; leave it out",
        ),
        (
            "classification",
            "train.eval_sentences=5",
            "train.eval_sentences is for translation, language-model and captioning, and would",
        ),
        (
            "tagging",
            "data.context=64",
            (
                "data.context is for language-model, masked-language-model and forecasting, "
                "and would do nothing"
            ),
        ),
        (
            "language-model",
            "data.label=x",
            "data.label is for classification and tagging, and would do nothing here; leave it out",
        ),
        (
            "masked-language-model",
            "tokenizer.joint=true",
            "tokenizer.joint is for translation, and would do nothing here; leave it out",
        ),
    ],
)
def test_a_setting_by_hand_that_does_nothing_names_the_tasks_that_have_it(
    task: str, setting: str, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'task = "{task}"\n[data]\ntrain = ["a.tsv"]\n')
    read(path)
    with pytest.raises(RecipeError) as raised:
        read(path, [setting])
    assert str(path) in str(raised.value)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


def test_settings_that_no_task_had_are_refused_in_old_recipes_too(tmp_path: Path) -> None:
    path = old_recipe(tmp_path, "classification", "data.colour=red")
    with pytest.raises(RecipeError, match=r"unknown key data\.colour"):
        read(path)


def test_a_setting_under_its_former_name(tmp_path: Path) -> None:
    task = "masked-language-model"
    by_hand = {"task": task, "data": {"train": ["a.txt"], "counted_window": 4}}
    assert parse(by_hand, "here").data.cooccurrence_window == 4
    old = read(old_recipe(tmp_path, task, "data.counted_window=4"))
    assert old.data.cooccurrence_window == 4
    written = tomllib.loads(to_toml(old))
    assert written["data"]["cooccurrence_window"] == 4
    assert "counted_window" not in written["data"]
    assert parse(written, "here") == old


def test_every_setting_that_is_dropped_was_one(tmp_path: Path) -> None:
    """Names in UNION are settings of some task, now or under a former name."""
    known = set()
    for task in KEPT:
        for name, field in tasks.get(task).recipe.model_fields.items():
            known.update(f"{name}.{key}" for key in getattr(field.annotation, "model_fields", {}))
    named = {f"{section}.{key}" for section, keys in UNION.items() for key in keys}
    assert named - known == {"data.counted_window"}
