"""Which languages a run translates."""

from pathlib import Path
from typing import Any, get_args

import pytest

from regard.data import phrasebook
from regard.decode.search import Search
from regard.tasks.translation.translator import Translator

TRAIN = 'train = ["a.src", "a.tgt"]'


def languages_of(folder: Path) -> tuple[str, str] | None:
    """As a translator says them, which needs neither model nor tokenizers for it."""
    nothing: Any = None
    return Translator(nothing, nothing, nothing, Search(), 0, folder).languages()


@pytest.mark.parametrize(
    ("data", "languages"),
    [
        (f'{TRAIN}\nlanguages = ["nl", "sv"]', ("nl", "sv")),
        ('train = ["x/train.en", "x/train.de"]', ("en", "de")),
        (TRAIN, None),
    ],
)
def test_a_recipe_names_the_languages(
    tmp_path: Path, data: str, languages: tuple[str, str] | None
) -> None:
    (tmp_path / "recipe.toml").write_text(f"[data]\n{data}\n")
    assert languages_of(tmp_path) == languages


@pytest.mark.parametrize("corpus", get_args(phrasebook.Variant))
def test_the_languages_of_every_builtin_corpus_are_known(tmp_path: Path, corpus: str) -> None:
    (tmp_path / "recipe.toml").write_text(f'[data]\nbuiltin = "{corpus}"\n')
    assert languages_of(tmp_path) == ("fr", "en")


def test_a_finished_run_names_its_languages_itself(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(f'[data]\n{TRAIN}\nlanguages = ["nl", "sv"]\n')
    (tmp_path / "run.json").write_text('{"format": 1, "languages": ["en", "de"]}')
    assert languages_of(tmp_path) == ("en", "de")


def test_a_damaged_run_file_leaves_the_languages_to_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(f'[data]\n{TRAIN}\nlanguages = ["nl", "sv"]\n')
    (tmp_path / "run.json").write_text('{"languages": ["en", ')
    assert languages_of(tmp_path) == ("nl", "sv")
