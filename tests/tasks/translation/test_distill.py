"""A student learns what its teacher says, from pairs that anyone can look at."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.cli import main
from regard.decode.search import Search
from regard.errors import RecipeError, RunError
from regard.recipe import Recipe, read
from regard.run import Run
from regard.tasks.translation import distill
from regard.tasks.translation.distill import (
    Pairs,
    Translated,
    distillation,
    student_recipe,
    teach,
)
from regard.tasks.translation.translation import Translation
from regard.tasks.translation.translator import Translator
from regard.training.run import train

Tiny = Callable[..., Recipe]
QUICK = ("train.steps=6", "train.eval_every=6", "train.save_every=6", "decode.beam_size=1")


@pytest.fixture(scope="session")
def teacher(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """It holds pairs out, and has learned little: what words there are, and that outputs end."""
    folder = tmp_path_factory.mktemp("teacher") / "run"
    sparing = ("train.accumulate=1", "train.eval_every=100", "train.save_every=100")
    return train(tiny("train.steps=100", "data.max_length=20", "train.average=1", *sparing), folder)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distill, "CHUNK_PER_CORE", 32)
    monkeypatch.setattr(distill, "usable_cores", lambda: 1)


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], Translation]], None]:
    """Put words into the teacher's mouth."""

    def patch(answer: Callable[[str], Translation]) -> None:
        monkeypatch.setattr(
            Translator, "translations", lambda _, texts, search: [[answer(t)] for t in texts]
        )

    return patch


def said(text: str, finished: bool = True) -> Translation:
    return Translation(text, 0.0, [], [], finished)


def entries(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def new_pairs(folder: Path) -> Pairs:
    pairs = Pairs(Run(folder))
    pairs.train.parent.mkdir(parents=True)
    return pairs


def test_the_pairs_are_the_teachers_own_translations(teacher: Run, tmp_path: Path) -> None:
    pairs = new_pairs(tmp_path / "student")
    search = Search(beam_size=2)
    *_, found = teach(teacher, pairs, search)
    written = entries(pairs.train)
    assert found.done
    assert found.kept == len(written) > 20
    assert found.kept + found.empty + found.cut_off + found.unfit == found.total
    translator = Translator.load(teacher.folder, engine="auto")
    outputs = translator.texts([each["source"] for each in written], search)
    assert outputs == [each["target"] for each in written]


def test_what_is_held_out_is_not_taught(teacher: Run, corpus: Path, tmp_path: Path) -> None:
    pairs = new_pairs(tmp_path / "student")
    list(teach(teacher, pairs, Search(beam_size=1)))
    held_out = {each["source"]: each["target"] for each in entries(pairs.valid)}
    assert held_out.keys().isdisjoint(each["source"] for each in entries(pairs.train))
    sources = (corpus / "train.xx").read_text("utf-8").splitlines()
    targets = (corpus / "train.yy").read_text("utf-8").splitlines()
    # As people wrote them, not as the teacher would say.
    assert held_out.items() <= set(zip(sources, targets, strict=True))


def test_outputs_that_teach_nothing_are_left_out_and_counted(
    teacher: Run, tmp_path: Path, says: Callable[..., None]
) -> None:
    def answer(text: str) -> Translation:
        if text.startswith("1"):
            return said("")
        return said(text[::-1], finished=not text.startswith("2"))

    says(answer)
    pairs = new_pairs(tmp_path / "student")
    *_, found = teach(teacher, pairs, Search())
    assert found.empty
    assert found.cut_off
    kept = entries(pairs.train)
    assert len(kept) == found.kept
    assert not {each["source"][0] for each in kept} & {"1", "2"}
    assert all(each["target"] == each["source"][::-1] for each in kept)


def test_an_interrupted_teacher_goes_on_where_it_was(
    teacher: Run, tmp_path: Path, says: Callable[..., None]
) -> None:
    asked: list[str] = []

    def answer(text: str) -> Translation:
        if len(asked) == 70:
            raise KeyboardInterrupt
        asked.append(text)
        return said(f"a {text}")

    says(answer)
    whole = new_pairs(tmp_path / "whole")
    stopped = new_pairs(tmp_path / "stopped")
    with pytest.raises(KeyboardInterrupt):
        list(teach(teacher, stopped, Search()))
    assert not stopped.train.exists()
    # A process that is killed may have written more than it had counted.
    with stopped.part.open("ab") as file:
        file.write(b'{"source": "torn')
    begun = json.loads(stopped.facts.read_text("utf-8"))["pairs"]["read"]
    assert begun == 64
    again: list[str] = []
    says(lambda text: again.append(text) or said(f"a {text}"))  # type: ignore[func-returns-value]
    first, *_ = teach(teacher, stopped, Search())
    assert first.read == begun
    count = len(again)
    list(teach(teacher, whole, Search()))
    assert stopped.train.read_bytes() == whole.train.read_bytes()
    assert count < len(again) - count
    assert [each.done for each in teach(teacher, stopped, Search())] == [True]


def test_other_searches_do_not_mix(teacher: Run, tmp_path: Path) -> None:
    pairs = new_pairs(tmp_path / "student")
    list(teach(teacher, pairs, Search(beam_size=1)))
    with pytest.raises(RunError, match="another search"):
        list(teach(teacher, pairs, Search(beam_size=3)))
    pairs.facts.write_text("{}")
    with pytest.raises(RunError, match="damaged"):
        list(teach(teacher, pairs, Search(beam_size=1)))


def test_a_student_trains_and_its_recipe_repeats_it(
    teacher: Run, tmp_path: Path, says: Callable[..., None]
) -> None:
    says(lambda text: said(text[::-1]))
    out = tmp_path / "student"
    recipe = student_recipe(teacher, out, None, "fast", QUICK)
    events: list[Any] = list(distillation(teacher, recipe, out, beam_size=1))
    assert isinstance(events[0], Translated)
    student = Run.open(out)
    assert (out / "tokenizer.json").read_bytes() == (teacher.folder / "tokenizer.json").read_bytes()
    assert student.recipe().model.decoder_layers == 1
    assert len(Translator.load(out).translate(["1 2 3"])) == 1
    # Even when the teacher is gone.
    again = train(read(student.recipe_path), tmp_path / "again")
    assert again.model_path.read_bytes() == student.model_path.read_bytes()
    (note,) = list(distillation(teacher, recipe, out, beam_size=1))[1:]
    assert "is finished" in note.text


def test_a_student_may_have_its_own_shape_and_vocabulary(
    teacher: Run, tiny: Tiny, tmp_path: Path
) -> None:
    own = tiny("model.d_model=8", "tokenizer.kind=word", "data.max_length=99")
    recipe = student_recipe(teacher, tmp_path / "student", own, "fast", ())
    assert recipe.model.d_model == 8
    assert recipe.model.encoder_layers == own.model.encoder_layers
    assert (recipe.tokenizer.kind, recipe.tokenizer.folder) == ("bpe", ".")
    assert recipe.data.max_length == 20
    settings = ("tokenizer.vocabulary_size=290", "tokenizer.kind=character")
    recipe = student_recipe(teacher, tmp_path / "student", None, "standard", settings)
    assert (recipe.tokenizer.kind, recipe.tokenizer.folder) == ("character", None)
    assert recipe.model == teacher.recipe().model


def test_a_tokenizer_that_is_named_is_taken(teacher: Run, tiny: Tiny, tmp_path: Path) -> None:
    quick = tiny(*QUICK, f"tokenizer.folder={teacher.folder}", "data.max_length=20")
    run = train(quick, tmp_path / "run")
    assert run.tokenizers().source.fingerprint == teacher.tokenizers().source.fingerprint
    for wrong, sentence in (
        ((f"tokenizer.folder={tmp_path}",), "tokenizer.folder: .* cannot be read"),
        (
            (f"tokenizer.folder={teacher.folder}", "tokenizer.joint=false"),
            "tokenizer.joint=true",
        ),
    ):
        other = tiny(*QUICK, "model.tied_embeddings=output", *wrong)
        with pytest.raises(RecipeError, match=sentence):
            train(other, tmp_path / sentence[-4:])


def test_folders_that_are_taken_are_refused(teacher: Run, tmp_path: Path) -> None:
    recipe = student_recipe(teacher, tmp_path, None, "fast", QUICK)
    with pytest.raises(RunError, match="own folder"):
        next(distillation(teacher, recipe, teacher.folder))
    other = shutil.copytree(teacher.folder, tmp_path / "other")
    with pytest.raises(RunError, match="no teacher"):
        next(distillation(teacher, recipe, other))


def test_a_teacher_with_nothing_to_say_has_no_students(
    teacher: Run, tmp_path: Path, says: Callable[..., None]
) -> None:
    says(lambda text: said(text, finished=text[0] in "12345"))
    with pytest.raises(RunError, match="outputs without an end"):
        list(teach(teacher, new_pairs(tmp_path / "student"), Search()))


def test_the_command(
    teacher: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    says: Callable[..., None],
) -> None:
    says(lambda text: said(text[::-1]))
    out = tmp_path / "student"
    settings = [word for setting in QUICK for word in ("--set", setting)]
    words = ["distill", str(teacher.folder), "--out", str(out), "--beam-size", "1", *settings]
    main(words)
    told = capsys.readouterr().err
    assert "The teacher translates" in told
    assert "pairs to learn from" in told
    assert str(out) in told
    assert (
        json.loads((out / "pairs" / "teacher.json").read_text("utf-8"))["search"]["beam_size"] == 1
    )
    with pytest.raises(SystemExit) as stop:
        main([*words, "--preset", "fast", "--recipe", str(out / "recipe.toml")])
    assert stop.value.code == 2


def test_a_student_learns_from_changed_sources_as_its_teacher(tiny: Tiny, tmp_path: Path) -> None:
    (tmp_path / "teacher").mkdir()
    teacher = Run(tmp_path / "teacher")
    teacher.save_recipe(tiny("data.terms=0.2", "data.noise=0.1"))
    recipe = student_recipe(teacher, tmp_path / "student", None, "standard", ())
    assert (recipe.data.terms, recipe.data.noise) == (0.2, 0.1)
