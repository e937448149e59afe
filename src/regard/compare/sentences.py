"""The sentences on which runs are compared: no run may have learned from them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.data import phrasebook
from regard.data.corpus import Pair, read_pairs
from regard.errors import DataError, RequestError
from regard.run import Run
from regard.tasks.translation.held_out import held_out_pairs
from regard.tasks.translation.recipe import TranslationRecipe, recipe_of


@dataclass(frozen=True)
class TestSet:
    """Sentences, their translations, and facts about them. `builtin` sentences have one correct
    translation each, so exact matches are counted.
    """

    name: str
    sources: list[str]
    references: list[str]
    languages: tuple[str, str] | None
    builtin: bool

    @property
    def source_language(self) -> str | None:
        return self.languages[0] if self.languages else None

    @property
    def target_language(self) -> str | None:
        return self.languages[1] if self.languages else None


def common_test_set(runs: Sequence[Run], source: Path | None, reference: Path | None) -> TestSet:
    """The sentences of the files or, without files, those that all runs held out: the test part of
    the built-in corpus, or the validation pairs.
    """
    first, recipe = runs[0], recipe_of(runs[0])
    codes = recipe.data.codes()
    for run in runs[1:]:
        check_languages(first, run)
    if source is not None and reference is not None:
        return _test_set(str(source), read_pairs([source, reference]), codes, builtin=False)
    if source is not None or reference is not None:
        raise RequestError(
            "give both --source and --reference, a file of sentences and one of translations, "
            "or neither"
        )
    for run in runs[1:]:
        if held_out_by(recipe_of(run)) != held_out_by(recipe):
            raise RequestError(
                f"{run.folder}: learned from other pairs than {first.folder}, which may include "
                "what that held out; give --source and --reference, sentences new to both"
            )
    if builtin := recipe.data.builtin:
        return _test_set(f"{builtin} test", phrasebook.pairs("test", builtin), codes, builtin=True)
    return _test_set("validation pairs", held_out_pairs(recipe), codes, builtin=False)


def _test_set(
    name: str, pairs: Iterator[Pair], codes: tuple[str, str] | None, *, builtin: bool
) -> TestSet:
    found = list(pairs)
    if not any(pair.source.strip() for pair in found):
        raise DataError(f"{name}: no sentence to translate; give a file with one on each line")
    return TestSet(
        name, [pair.source for pair in found], [pair.target for pair in found], codes, builtin
    )


def check_languages(first: Run, other: Run) -> None:
    """Refuse runs of different languages. A run whose languages are unknown is accepted."""
    one, two = recipe_of(first).data.codes(), recipe_of(other).data.codes()
    if one and two and one != two:
        raise RequestError(
            f"{other.folder}: translates {two[0]} → {two[1]}, but {first.folder} "
            f"{one[0]} → {one[1]}; compare runs of the same languages"
        )


def held_out_by(recipe: TranslationRecipe) -> object:
    """What decides which pairs a run does not learn from."""
    data = recipe.data
    if data.builtin:
        return data.builtin
    files = [path.resolve() for path in (*data.paths("train"), *data.paths("valid"))]
    if data.valid:
        return files
    return files, recipe.seed, data.held_out_share, data.held_out_pairs
