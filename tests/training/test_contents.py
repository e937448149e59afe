"""A run that resumes has its own checkpoints, weights, tokenizers and data, or says what is not."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.errors import RunError
from regard.made_with import CONTENTS
from regard.recipe import Recipe
from regard.run import Run
from regard.training.events import Note, Resumed
from regard.training.run import train, training_run
from tests.toy_runs import swap_pieces, toy_pairs, write_pairs

Tiny = Callable[..., Recipe]


@pytest.fixture(scope="module")
def other(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the same shape with another seed."""
    folder = tmp_path_factory.mktemp("other") / "run"
    train(tiny("seed=4", "train.steps=24"), folder)
    return folder


def resume(recipe: Recipe, folder: Path) -> tuple[int, list[str]]:
    """The step that a run resumes from, and the warnings."""
    warnings: list[str] = []
    events = training_run(recipe, folder)
    for event in events:
        if isinstance(event, Note) and event.warning:
            warnings.append(event.text)
        if isinstance(event, Resumed):
            events.close()  # type: ignore[attr-defined]
            return event.step, warnings
    raise AssertionError("it did not resume")


@pytest.fixture
def longer(tiny: Tiny) -> Recipe:
    return tiny("train.steps=30")


def test_a_run_as_it_was_left_resumes_without_a_word(copy: Path, longer: Recipe) -> None:
    assert resume(longer, copy) == (24, [])


def test_a_checkpoint_of_another_seed_is_set_aside(copy: Path, other: Path, longer: Recipe) -> None:
    shutil.copy(other / "training" / "step-00000024.safetensors", copy / "training")
    step, warnings = resume(longer, copy)
    assert step == 18
    assert "not of this run (seed = 3, was 4); it is set aside" in warnings[0]


def test_weights_of_another_run_are_refused(copy: Path, other: Path, longer: Recipe) -> None:
    shutil.copy(other / "model.safetensors", copy)
    with pytest.raises(RunError, match=r"the weights of another run \(seed = 3, was 4\)"):
        resume(longer, copy)


def test_data_of_another_run_is_refused(copy: Path, other: Path, longer: Recipe) -> None:
    shutil.rmtree(copy / "training" / "data")
    shutil.copytree(other / "training" / "data", copy / "training" / "data")
    with pytest.raises(RunError, match="the encoded data: not the same"):
        resume(longer, copy)


def test_another_tokenizer_of_the_same_size_is_refused(copy: Path, longer: Recipe) -> None:
    data = {path.name: path.read_bytes() for path in (copy / "training" / "data").iterdir()}
    swap_pieces(copy / "tokenizer.json")
    with pytest.raises(RunError, match=r"tokenizer\.json: not the same"):
        resume(longer, copy)
    now = {path.name: path.read_bytes() for path in (copy / "training" / "data").iterdir()}
    assert now == data  # nothing was encoded again


@pytest.mark.parametrize("name", ["valid.jsonl", "train.json", "contents.json"])
def test_damaged_data_is_named(copy: Path, longer: Recipe, name: str) -> None:
    path = copy / "training" / "data" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match=f"{name}: damaged, or not what was encoded"):
        resume(longer, copy)


@pytest.fixture
def own_corpus(copy: Path, tiny: Tiny, tmp_path: Path, corpus: Path) -> Recipe:
    """A recipe of the same run, whose corpus may be changed."""
    folder = Path(shutil.copytree(corpus, tmp_path / "corpus"))
    return tiny("train.steps=30", f"data.folder={folder}")


def test_a_corpus_that_changed_is_named(copy: Path, own_corpus: Recipe, tmp_path: Path) -> None:
    assert resume(own_corpus, copy) == (24, [])
    write_pairs(tmp_path / "corpus", "train", toy_pairs(199, seed=5))
    step, warnings = resume(own_corpus, copy)
    assert step == 24
    assert warnings[0].startswith("train.xx and train.yy: changed since this run began")


def test_a_run_learns_from_nothing_else_when_its_data_is_encoded_again(
    copy: Path, own_corpus: Recipe, tmp_path: Path
) -> None:
    before = {path: path.read_bytes() for path in (tmp_path / "corpus").iterdir()}
    shutil.rmtree(copy / "training" / "data")
    write_pairs(tmp_path / "corpus", "train", toy_pairs(200, seed=5))
    with pytest.raises(RunError, match=r"train\.xx and train\.yy changed since"):
        resume(own_corpus, copy)
    for path, content in before.items():
        path.write_bytes(content)
    assert resume(own_corpus, copy) == (24, [])


def test_data_of_earlier_versions_is_noted_at_the_next_start(copy: Path, longer: Recipe) -> None:
    noted = (copy / CONTENTS).read_bytes()
    (copy / CONTENTS).unlink()
    assert resume(longer, copy) == (24, [])
    assert (copy / CONTENTS).read_bytes() == noted


def test_weights_that_are_not_finite_are_never_saved(tiny: Tiny, tmp_path: Path) -> None:
    settings = ("train.learning_rate=1e38", "train.warmup_steps=0", "train.clip_norm=0")
    with pytest.raises(RunError, match=r"weights of step 5 hold numbers that are not finite; low"):
        train(tiny(*settings), tmp_path / "run")
    assert not Run(tmp_path / "run").model_path.exists()
