"""What the command line asks for: which task, which kind of model, and sizes that fit it."""

from pathlib import Path
from typing import Any

import pytest

from regard.cli import main
from regard.cli.train import choose
from regard.errors import RecipeError, RunError, UsageError
from regard.recipe import Recipe
from regard.run import Run
from regard.start import DataOptions, Start

FILES = {
    "translation": {"pairs": (Path("a.en"), Path("a.de"))},
    "language-model": {"text": (Path("a.txt"),)},
    "masked-language-model": {"text": (Path("a.txt"),)},
    "classification": {"labelled": (Path("a.tsv"),)},
    "tagging": {"tagged": (Path("a.tsv"),)},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file for each task; a table of two columns is for a classifier or for a tagger."""
    (tmp_path / "a.tsv").write_text("".join(f"{'no' if i % 3 else 'yes'}\tit\n" for i in range(60)))
    for name in ("a.txt", "a.en", "a.de"):
        (tmp_path / name).write_text("one two three\nfour five\n" * 60)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def started(task: str, *settings: str) -> Start:
    asked = task if task.startswith("masked") else None
    return choose(None, FILES[task], DataOptions(asked, Path("run"), settings=settings))


def chosen(task: str, *settings: str) -> Recipe:
    return started(task, *settings).recipe


def reasons(task: str, *settings: str) -> str:
    return "\n".join(started(task, *settings).reasons)


def test_another_task_in_the_folder_is_refused() -> None:
    for first, second in (
        ("classification", "tagging"),
        ("masked-language-model", "language-model"),
        ("language-model", "masked-language-model"),
    ):
        Path("run").mkdir(exist_ok=True)
        recipe = chosen(first, "train.steps=3")
        Run(Path("run")).save_recipe(recipe)
        again = chosen(first)
        assert (again.task, again.train.steps) == (first, recipe.train.steps)
        with pytest.raises(RunError, match=f"holds a run for {first}, not {second}; choose"):
            chosen(second)
        Run(Path("run")).forget(before=set())


def test_a_task_that_was_set_is_the_one_that_resumes() -> None:
    setting = "task=masked-language-model"
    Path("run").mkdir()
    Run(Path("run")).save_recipe(chosen("language-model", setting))
    assert chosen("language-model", setting).task == "masked-language-model"


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        *(("translation", "transformer"), ("translation", "recurrent")),
        *(("language-model", "gpt"), ("language-model", "recurrent")),
        *(("classification", "bert"), ("classification", "recurrent")),
        *(("tagging", "bert"), ("tagging", "recurrent")),
        ("masked-language-model", "bert"),
    ],
)
def test_sizes_fit_the_kind_that_is_asked_for(task: str, kind: str) -> None:
    recipe = chosen(task, f"model.kind={kind}")
    assert recipe.model.kind == kind
    assert recipe.model.d_model <= 256, "the defaults are for more data than this"


def test_a_kind_that_does_not_exist_is_a_sentence() -> None:
    with pytest.raises(RecipeError, match="kind = 'bert': give 'gpt' or 'recurrent'"):
        chosen("language-model", "model.kind=bert")
    with pytest.raises(RecipeError, match="model = 'recurrent': model is a section"):
        chosen("language-model", "model=recurrent")


def test_a_small_kind_trains(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ("model.kind=recurrent", "model.d_model=16", "train.steps=2", "train.threads=1")
    words = [word for each in settings for word in ("--set", each)]
    main(["train", "--text", "a.txt", "--processes", "1", "--out", "run", *words])
    assert Run.open("run").info()["step"] == 2
    said = capsys.readouterr().err
    assert "characters are the tokens" in said
    assert "of width" not in said, "the width is another"
    assert "passes over the text" not in said, "as is the number of updates"


def test_reasons_for_sizes_are_true() -> None:
    said = reasons("language-model", "model.kind=recurrent", "data.context=32")
    assert "an LSTM of width 256 that sees 32 tokens at a time" in said
    assert "dropout" not in reasons("classification", "model.kind=bert", "model.dropout=0.1")
    said = reasons("translation", "model.kind=recurrent")
    assert "1 + 1 LSTM layers of width 256" in said


@pytest.mark.parametrize("task", ["language-model", "masked-language-model"])
def test_positions_follow_the_context(task: str) -> None:
    for context in (32, 3000):
        assert chosen(task, f"data.context={context}").model.max_positions == context
    both = chosen(task, "data.context=32", "model.max_positions=64")
    assert (both.data.context, both.model.max_positions) == (32, 64)
    assert chosen(task, "model.max_positions=64").data.context == 64


def test_positions_follow_the_longest_text() -> None:
    recipe = chosen("classification", "model.kind=bert", "data.max_length=600")
    assert recipe.model.max_positions == 600


def test_flags_of_pairs_are_refused_elsewhere() -> None:
    flags = {"text": (Path("a.txt"),), "languages": ("en", "de")}
    with pytest.raises(UsageError, match="--languages en de: belongs to --pairs"):
        choose(None, flags, DataOptions())
    with pytest.raises(UsageError, match="--preset fast: belongs to --pairs"):
        choose(None, FILES["tagging"], DataOptions(preset="fast"))
    with pytest.raises(RecipeError, match="--preset fast: is for Transformers"):
        choose(
            None,
            FILES["translation"],
            DataOptions(preset="fast", settings=("model.kind=recurrent",)),
        )


def test_languages_are_those_of_the_columns_that_are_read() -> None:
    rows = "".join(f"cat {n},Katze {n}\n" for n in range(40))
    Path("t.csv").write_text("English,Deutsch\n" + rows, encoding="utf-8")
    for columns, codes in (("", "en-de"), ("[2, 1]", "de-en"), ('["deutsch", "english"]', "de-en")):
        settings = (f"data.columns={columns}",) if columns else ()
        start = choose(None, {"pairs": (Path("t.csv"),)}, DataOptions(settings=settings))
        data: Any = start.recipe
        assert start.out.name == codes
        assert data.data.codes() == tuple(codes.split("-"))
