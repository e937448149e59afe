"""Several corpora with weights: exact, the same each time, and never a repeated held-out pair."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from regard.errors import DataError
from regard.recipe import Recipe
from regard.tasks.translation.pairs import Split, corpus, remarks
from regard.tasks.translation.recipe import TranslationRecipe
from regard.training.events import DataReady, Note
from regard.training.run import training_run

Tiny = Callable[..., Recipe]
Two = Callable[..., TranslationRecipe]


@pytest.fixture
def two(tiny: Tiny, tmp_path: Path) -> Two:
    """A recipe with two corpora of 400 pairs, the second in a table."""
    lines = [f"{n} {n % 7}" for n in range(400)]
    for side in ("xx", "yy"):
        (tmp_path / f"a.{side}").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "b.csv").write_text("".join(f"{n} 8,{n} 9\n" for n in range(400)))

    def recipe(*settings: str) -> TranslationRecipe:
        files = f'data.folder="{tmp_path}"', 'data.train=["a.xx", "a.yy", "b.csv"]'
        found = tiny(*files, "data.held_out_share=0.1", *settings)
        assert isinstance(found, TranslationRecipe)
        return found

    return recipe


def counts(split: Split) -> tuple[Counter[str], Counter[str]]:
    """How often each pair of the two corpora is learned from."""
    found: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for pair in split.train():
        found["b.csv" in pair.place][pair.place] += 1
    return found


def test_weights_repeat_what_is_not_held_out(two: Two) -> None:
    plain = Split.of(two(), 800)
    split = Split.of(two("data.weights=[1, 3]"), 800)
    assert list(split.valid()) == list(plain.valid())
    assert len({pair.place for pair in split.valid()}) == len(list(split.valid()))
    assert {"b.csv" in pair.place for pair in split.valid()} == {True, False}
    once, thrice = counts(split)
    assert set(once.values()) == {1}
    assert set(thrice.values()) == {3}
    assert (once.keys(), thrice.keys()) == tuple(each.keys() for each in counts(plain))
    assert list(split.train()) == list(split.train())


def test_a_fraction_is_chosen_by_the_seed(two: Two) -> None:
    split = Split.of(two("data.weights=[0.5, 2.25]"), 800)
    every = counts(Split.of(two(), 800))
    half, more = counts(split)
    assert 0.4 * len(every[0]) < len(half) < 0.6 * len(every[0])
    assert set(half.values()) == {1}
    assert set(more.values()) == {2, 3}
    assert len(more) == len(every[1])
    assert 0.15 < sum(times == 3 for times in more.values()) / len(more) < 0.35
    other = counts(Split.of(two("data.weights=[0.5, 2.25]", "seed=5"), 800))
    assert other[0].keys() != half.keys()


def test_training_says_what_it_reads_and_shows_all_files(two: Two, tmp_path: Path) -> None:
    recipe = two("data.weights=[1, 2]")
    shown = recipe.data.shown()
    assert shown == [f"{tmp_path}/a.xx + {tmp_path}/a.yy ×1", f"{tmp_path}/b.csv ×2"]
    with closing(training_run(recipe, tmp_path / "run")) as events:
        said = []
        for event in events:
            if isinstance(event, Note):
                said.append(event.text)
            if isinstance(event, DataReady):
                break
    assert f"learned from by weight: {', '.join(shown)}" in said
    assert event.train_pairs == sum(map(Counter.total, counts(Split.of(recipe, 800))))
    assert remarks(two().data) == []


def test_more_validation_files_than_two(two: Two, tmp_path: Path) -> None:
    recipe = two('data.valid=["b.csv", "a.xx", "a.yy"]')
    assert len(list(Split.of(recipe, 800).valid())) == 800
    assert len(list(corpus(recipe.data))) == 800


def test_pairs_that_hardly_differ_are_too_few(tiny: Tiny, tmp_path: Path) -> None:
    for side in ("xx", "yy"):
        (tmp_path / f"a.{side}").write_text("the same\n" * 300)
    recipe = tiny(f'data.folder="{tmp_path}"', 'data.train=["a.xx", "a.yy"]', "seed=3")
    with pytest.raises(DataError, match=r"a\.xx: too few different pairs \(1 among 300\) to hold"):
        list(training_run(recipe, tmp_path / "run"))
