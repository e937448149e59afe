"""The files of a run belong together: weights answer only beside what they were trained with."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import regard
from regard.cli import main
from regard.errors import RunError
from regard.files import read_metadata
from regard.made_with import KEY, MadeWith
from regard.recipe import Recipe
from regard.run import Run
from regard.tasks import TASKS, get
from regard.training.run import train
from regard.weights import load_model, read_tensors, write_tensors
from tests.toy_runs import swap_pieces

Tiny = Callable[..., Recipe]


def replace(path: Path, before: str, after: str) -> None:
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), "utf-8")


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("num_heads = 2", "num_heads = 4", "model.num_heads = 4, was 2"),
        ('"sinusoidal"', '"rotary"', "model.positions = 'rotary', was 'sinusoidal'"),
        ('norm = "pre"', "", "model.norm = 'post', was 'pre'"),
    ],
)
def test_another_model_in_the_recipe_is_refused(
    copy: Path, before: str, after: str, named: str
) -> None:
    replace(copy / "recipe.toml", before, after)
    for engine in ("torch", "auto", "ctranslate2"):
        with pytest.raises(RunError) as raised:
            regard.Translator.load(copy, engine=engine)  # type: ignore[arg-type]
        assert named in str(raised.value)
        assert str(copy / "recipe.toml") in str(raised.value)


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("beam_size = 5", "beam_size = 3", "decode.beam_size = 3, was 5"),
        ("\ndropout = 0.2", "\ndropout = 0.3", "model.dropout = 0.3, was 0.2"),
        ("seed = 3", "seed = 4", "seed = 4, was 3"),
    ],
)
def test_other_settings_may_be_edited_and_a_warning_names_them(
    copy: Path, before: str, after: str, named: str
) -> None:
    answer = regard.load(copy).translate("1 2")
    replace(copy / "recipe.toml", before, after)
    with pytest.warns(UserWarning, match="changed since the weights were trained") as warned:
        assert regard.load(copy).translate("1 2", beam_size=5) == answer
    assert named in str(warned[0].message)


def test_settings_that_a_started_run_may_change_are_no_news(copy: Path) -> None:
    replace(copy / "recipe.toml", "steps = 24", "steps = 99")
    regard.load(copy)  # a warning would be an error


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_tokenizer_with_swapped_pieces_is_found(copy: Path, engine: str) -> None:
    swap_pieces(copy / "tokenizer.json")
    with pytest.raises(RunError, match=r"tokenizer\.json: not the file that the weights were"):
        regard.Translator.load(copy, engine=engine)  # type: ignore[arg-type]


def test_seen_words_and_files_too_many_are_checked_too(copy: Path) -> None:
    words = copy / "source_words.bin"
    words.write_bytes(words.read_bytes() + b"word")
    for engine in ("torch", "ctranslate2"):
        with pytest.raises(RunError, match=r"source_words\.bin: not the file"):
            regard.Translator.load(copy, engine=engine)  # type: ignore[arg-type]
    words.unlink()  # which only costs a remark
    regard.load(copy)
    shutil.copy(copy / "tokenizer.json", copy / "source.tokenizer.json")
    with pytest.raises(RunError, match=r"source\.tokenizer\.json: not the file"):
        regard.load(copy)


def test_weights_of_another_run_of_the_same_shape_are_named(
    copy: Path, tiny: Tiny, tmp_path: Path
) -> None:
    train(tiny("seed=4", f"tokenizer.folder={copy}", "train.steps=5"), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", copy / "model.safetensors")
    shutil.rmtree(copy / "training")
    with pytest.warns(UserWarning, match="seed = 3, was 4"):
        regard.load(copy)


def test_show_looks_too(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replace(copy / "recipe.toml", "num_heads = 2", "num_heads = 4")
    with pytest.raises(SystemExit):
        main(["show", str(copy)])
    assert "model.num_heads = 4, was 2" in capsys.readouterr().err


def test_a_pruned_run_has_a_note_of_its_own(copy: Path, tmp_path: Path) -> None:
    smaller = regard.prune(copy, tmp_path / "smaller", "50%", sentences=4)
    assert KEY in read_metadata(smaller.model_path)
    regard.load(smaller.folder)


def test_weights_without_a_note_are_of_an_old_run(copy: Path) -> None:
    run = Run(copy)
    tensors, metadata = read_tensors(run.model_path)
    del metadata[KEY]
    write_tensors(run.model_path, tensors, metadata)
    replace(run.recipe_path, "beam_size = 5", "beam_size = 3")
    load_model(run)


@pytest.mark.parametrize("note", ["", "{", "[]", '{"recipe": {}}', '{"recipe": 3}', "[" * 10**5])
def test_a_note_may_hold_anything(copy: Path, note: str) -> None:
    run = Run(copy)
    tensors, metadata = read_tensors(run.model_path)
    write_tensors(run.model_path, tensors, {**metadata, KEY: note})
    with pytest.raises(RunError) as raised:
        load_model(run)
    assert "\n" not in str(raised.value)


def test_what_is_noted_is_read_again(copy: Path) -> None:
    run = Run(copy)
    found = MadeWith.read(read_metadata(run.model_path), run.model_path)
    assert found is not None
    assert not found.misfit(MadeWith.of(run, run.recipe()))
    assert set(found.files) == {
        *("tokenizer.json", "source_words.bin", "training/data/contents.json"),
    }
    assert set(found.corpus) == {"train.xx", "train.yy"}
    # Where the data is does not matter, so that a run may be moved.
    assert "data.folder" not in found.settings


@pytest.mark.parametrize("task", sorted(TASKS))
def test_every_section_of_a_model_decides_what_it_answers(task: str) -> None:
    schema = get(task).recipe
    sections = set(schema.model_fields) - {"task", "seed", "data", "train", "decode"}
    assert sections - schema.deciding <= {"augmentation", "tokenizer"}
