"""Which languages a run translates."""

from pathlib import Path
from typing import get_args

import pytest

from regard.data import phrasebook
from regard.serve.translation.pairs import languages_of


@pytest.mark.parametrize(
    ("data", "languages"),
    [
        ('languages = ["nl", "sv"]', ("nl", "sv")),
        ('train = ["x/train.en", "x/train.de"]', ("en", "de")),
        ('train = ["a.src", "a.tgt"]', None),
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
    (tmp_path / "recipe.toml").write_text('[data]\nlanguages = ["nl", "sv"]\n')
    (tmp_path / "run.json").write_text('{"languages": ["en", "de"]}')
    assert languages_of(tmp_path) == ("en", "de")
