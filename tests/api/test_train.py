"""`regard.train` and `regard.training_run`: the same choices as the command line, from Python."""

import json
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import DataError, RecipeError, RequestError, RunError, tasks
from regard.cli import main
from regard.training.events import Finished, Interrupted, Note, Phase, StepReport
from tests.api.conftest import PAIRS, REVIEWS, SENTENCES, TEXTS, TINY, TRANSLATOR
from tests.tasks import digit_sum


def files(folder: Path = Path()) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def test_each_kind_of_data_trains_what_it_is_for(runs: Path) -> None:
    kinds = {
        "demo": "Translator",
        "book": "Writer",
        "masked": "Filler",
        "reviews": "Classifier",
        "tags": "Tagger",
    }
    for name, kind in kinds.items():
        assert type(regard.load(runs / "runs" / name)).__name__ == kind
        examples = runs / "runs" / name / "training" / "examples" / "train.jsonl"
        assert len(examples.read_text("utf-8").splitlines()) >= 80


def test_the_choices_are_those_of_the_command_line(tmp_path: Path) -> None:
    lines = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    Path("pairs.fr-en.tsv").write_text(lines)
    steps = {"train.steps": 1, "train.device": "cpu"}
    main(
        [
            "train",
            "--pairs",
            "pairs.fr-en.tsv",
            "--set",
            "train.steps=1",
            "--set",
            "train.device=cpu",
            "--out",
            "typed",
        ]
    )
    for name, data in (("files", "pairs.fr-en.tsv"), ("examples", iter(PAIRS))):
        regard.train(pairs=data, languages=("fr", "en"), out=name, settings=steps)
        found, typed = (regard.Run.open(each).recipe() for each in (name, "typed"))
        same = typed.data.model_copy(
            update={"folder": found.data.folder, "train": found.data.train}
        )
        assert found == typed.model_copy(update={"data": same})


def test_the_same_call_resumes_and_other_examples_are_refused() -> None:
    asked: dict[str, Any] = {"languages": ("fr", "en"), "settings": TRANSLATOR}
    events = regard.training_run(pairs=iter(PAIRS), **asked)
    assert any(isinstance(event, StepReport) and event.step == 2 for event in events)
    events.close()  # type: ignore[attr-defined]
    run = regard.train(pairs=PAIRS, **asked)
    assert run.folder == Path("runs/fr-en")
    assert run.info()["step"] == 4
    before = files()
    assert regard.train(pairs=PAIRS, **asked) == run
    with pytest.raises(RunError, match="runs/fr-en: holds a run on other examples than these"):
        regard.train(pairs=PAIRS[:-1], **asked)
    with pytest.raises(RunError, match="holds a run on other examples"):
        regard.train(pairs=PAIRS, valid=PAIRS, **asked)
    assert files() == before


@pytest.mark.filterwarnings("ignore:.*hardly enough:UserWarning")
def test_a_start_that_fails_leaves_nothing() -> None:
    with pytest.raises(DataError, match="example 3: the target is None"):
        regard.train(pairs=[*PAIRS[:2], ("a", None)], out="new/run")
    with pytest.raises(RecipeError, match=r"settings: unknown key train\.stpes; did you mean"):
        regard.train(pairs=PAIRS, out="new/run", settings={"train.stpes": 3})
    with pytest.raises(DataError, match="too few texts"):
        regard.train(labelled=REVIEWS[:2], out="new/run")
    assert not Path("new").exists()
    own = Path("mine/training/examples/notes.txt")
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    with pytest.raises(DataError):
        regard.train(labelled=REVIEWS[:2], out="mine")
    assert files() == [str(own)]


def test_examples_beside_files(tmp_path: Path) -> None:
    Path("valid.jsonl").write_text(json.dumps({"text": REVIEWS[0][0], "label": "pos"}) + "\n")
    run = regard.train(labelled=REVIEWS, valid="valid.jsonl", out="run", settings=TINY)
    data: Any = run.recipe().data
    assert data.paths("train") == [tmp_path / "run/training/examples/train.jsonl"]
    assert data.paths("valid") == [tmp_path / "valid.jsonl"]


def test_a_run_that_was_moved_resumes() -> None:
    regard.train(tagged=SENTENCES, out="here", settings=TINY)
    Path("here").rename("there")
    more = {**TINY, "train.steps": 5}
    assert regard.train(tagged=SENTENCES, out="there", settings=more).info()["step"] == 5


def test_settings_may_be_nested_and_hold_paths_and_numbers(runs: Path) -> None:
    import numpy as np

    nested = {"train": {"steps": np.int64(3), "adam_betas": [0.9, 0.95]}, "seed": 5}
    run = regard.train(
        labelled=REVIEWS,
        out="run",
        from_run=regard.Run(runs / "runs/reviews"),
        settings={**nested, "train.device": "cpu"},
    )
    recipe = run.recipe()
    assert (recipe.train.steps, recipe.seed, recipe.train.adam_betas) == (3, 5, (0.9, 0.95))
    assert recipe.train.from_run == str(runs / "runs/reviews")
    for wrong in ({"train.steps": None}, {"train.steps": object()}, ["train.steps=3"]):
        with pytest.raises(RecipeError, match="settings: "):
            regard.train(labelled=REVIEWS, out="other", settings=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["object", "dict", "file", "path"])
def test_a_recipe_in_any_form(kind: str, tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "task": "classification",
        "data": {"train": ["t.tsv"]},
        "model": {"kind": "recurrent"},
    }
    Path("t.tsv").write_text("".join(f"{label}\t{text}\n" for text, label in REVIEWS))
    recipe = regard.Recipe(**values)
    Path("tiny.toml").write_text(str(recipe))
    forms = {"object": recipe, "dict": values, "file": "tiny.toml", "path": Path("tiny.toml")}
    run = regard.train(forms[kind], settings=TINY)
    assert run.folder == Path("runs", "classification" if kind in ("object", "dict") else "tiny")
    assert run.recipe().train.steps == 4


def test_a_recipe_that_comes_with_regard_has_a_name() -> None:
    assert regard.read_recipe("demo") == regard.read_recipe("demo", [])
    with pytest.raises(RecipeError, match="no-such"):
        regard.train("no-such")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "give either a recipe, or one of pairs, text, labelled, tagged"),
        ({"pairs": PAIRS, "text": TEXTS}, "^pairs and text: do not go together; give one of them"),
        ({"recipe": "demo", "pairs": PAIRS}, "give either a recipe, or one of"),
        ({"paris": PAIRS}, "train takes no 'paris'; did you mean pairs?"),
        ({"zzz": PAIRS}, "train takes no 'zzz'; data is pairs, text, labelled, tagged"),
        ({"recipe": PAIRS}, r"is not a recipe; to train on data, name its kind, like"),
        ({"recipe": "demo", "valid": PAIRS}, "valid belongs to data; with a recipe, use settings"),
        ({"pairs": PAIRS, "out": 5}, "out = 5: give the name of a folder"),
    ],
)
def test_calls_that_cannot_be_meant(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError, match=sentence):
        regard.train(**asked)
    assert files() == []


def test_options_are_called_by_their_names_in_python() -> None:
    with pytest.raises(
        regard.RegardError, match=r"^preset fast: belongs to pairs; leave it out for"
    ):
        regard.train(text=TEXTS, preset="fast")
    with pytest.raises(regard.RegardError, match=r"^task tagging: does not fit the data"):
        regard.train(text=TEXTS, task="tagging")


def test_a_text_is_not_taken_for_a_file_without_a_word() -> None:
    with pytest.raises(DataError, match=r"no such file; .*; a string names a file, so put a text"):
        regard.train(text="To be, or not to be")


def test_what_is_not_there_is_said_before_pytorch_is_loaded() -> None:
    code = """
import sys, regard
for asked in ({"pairs": ["a.en", "a.de"]}, {"text": "b.txt"}, {"labelled": "c.tsv"},
              {"tagged": "d.conll"}, {"recipe": "e.toml"}, {"pairs": [("a", 1)]},
              {"labelled": [("a", "b"), ("c", "d")], "settings": {"train.stpes": 1}}):
    try:
        regard.train(**asked)
    except regard.RegardError as error:
        assert "torch" not in sys.modules, asked
    else:
        raise AssertionError(asked)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_data_that_cannot_be_meant_is_refused_and_odd_data_warned_of() -> None:
    same = [(f"the cat {n} sleeps", f"the cat {n} sleeps") for n in range(400)]
    with pytest.raises(DataError, match=r"if it is meant, train with check=False$"):
        regard.train(pairs=same, languages=("en", "fr"), settings=TRANSLATOR)
    assert files() == []
    run = regard.train(pairs=same, languages=("en", "fr"), settings=TRANSLATOR, check=False)
    assert run.info()["step"] == 4
    few = [*REVIEWS, *REVIEWS[:60]]
    with pytest.warns(UserWarning, match=r"\(example 121\b.*keep one of each") as caught:
        regard.train(labelled=few, out="few", settings=TINY)
    with pytest.warns(UserWarning, match="keep one of each") as in_loop:
        for _ in regard.training_run(labelled=few, out="loop", settings=TINY):
            pass
    assert [each.filename for each in (*caught, *in_loop)] == [__file__] * 2


def test_the_data_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.checks import training

    looks, look, events = [], training.check_recipe, []
    monkeypatch.setattr(
        training, "check_recipe", lambda recipe: (looks.append(recipe), look(recipe))[1]
    )
    with pytest.warns(UserWarning, match="keep one of each"):
        regard.train(
            labelled=[*REVIEWS, *REVIEWS[:60]], out="r", settings=TINY, on_event=events.append
        )
    assert len(looks) == 1
    assert events[0] == Phase("Checking the data")
    assert not [
        event for event in events if isinstance(event, Note) and "one of each" in event.text
    ]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"languages": "fr"}, r"languages = 'fr': give two codes, like \(\"en\", \"de\"\)$"),
        ({"languages": 3}, "languages = 3: give two codes"),
        ({"languages": ("fr", None)}, r"languages = \('fr', None\): give two codes"),
        ({"preset": "fst"}, "preset fst: there is no such preset; write standard or fast$"),
        ({"on_event": "print"}, "on_event = 'print': give a function"),
        ({"out": "file"}, "file: is not a folder; choose another out$"),
        ({"out": "file/run"}, "file: is not a folder; choose another out$"),
        ({"out": ""}, "out = '': give the name of a folder$"),
        ({"steps": 3}, r"train takes no 'steps'; did you mean settings=\{\"train.steps\": 3\}\?$"),
        ({"pairs": ["le chat", "the cat"]}, r'strings name files, so write \("source", "target"\)'),
        ({"pairs": Path("none.tsv")}, r"none\.tsv: there is no such file; check the path$"),
        ({"pairs": Path()}, "this is a folder; give the file in it$"),
        ({"out": "a" * 300}, r"a+: cannot be a folder \(File name too long\); choose another out$"),
        ({"out": "a\0b"}, r"cannot be a folder \(embedded null byte\); choose another out$"),
        (
            {"text": ["", ""], "pairs": None, "settings": None},
            "the training texts are empty; give some text",
        ),
        ({"text": ["a"], "texts": ["b"], "pairs": None}, "text and texts are the same; give one"),
    ],
)
def test_what_is_odd_is_said_before_anything_is_written(
    asked: dict[str, Any], sentence: str
) -> None:
    Path("file").write_text("mine")
    given = {"pairs": PAIRS, "settings": TRANSLATOR, "out": "run", **asked}
    with pytest.raises(regard.RegardError, match=sentence):
        regard.train(**given)
    assert files() == ["file"]


def test_a_start_that_fails_leaves_the_examples_of_another_that_has_begun() -> None:
    asked: dict[str, Any] = {"labelled": REVIEWS, "out": "run", "settings": TINY}
    first = regard.training_run(**asked)
    while not Path("run/training/examples/train.jsonl").exists():
        next(first)
    with pytest.raises(DataError, match="the label is"):
        regard.train(labelled=[*REVIEWS, ("odd", None)], out="run", settings=TINY)
    with pytest.raises(RecipeError, match="unknown key"):
        regard.train(labelled=REVIEWS, out="run", settings={"train.stpes": 1})
    assert [event for event in first if isinstance(event, Finished)]


def test_events_are_handed_over() -> None:
    events: list[Any] = []
    regard.train(labelled=REVIEWS, out="run", settings=TINY, on_event=events.append)
    assert [event.step for event in events if isinstance(event, StepReport)] == [1, 2, 3, 4]
    assert isinstance(events[-1], Finished)


def interrupt(event: Any) -> None:
    if isinstance(event, StepReport) and event.step == 2:
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_saves_and_raises_and_the_same_call_resumes() -> None:
    asked: dict[str, Any] = {"labelled": REVIEWS, "out": "run", "settings": TINY}
    with pytest.raises(KeyboardInterrupt, match=r"stopped after update \d, and saved"):
        regard.train(**asked, on_event=interrupt)
    assert regard.Run.open("run").checkpoints()
    assert "classification, stopped at update " in repr(regard.Run.open("run"))
    assert regard.train(**asked).info()["step"] == 4


def test_ctrl_c_ends_the_loop_over_events() -> None:
    events = []
    for event in regard.training_run(labelled=REVIEWS, out="run", settings=TINY):
        events.append(event)
        interrupt(event)
    assert isinstance(events[-1], Interrupted)


def test_training_in_another_thread() -> None:
    found: list[Any] = []
    asked: dict[str, Any] = {"labelled": REVIEWS, "out": "run", "settings": TINY}
    thread = threading.Thread(target=lambda: found.append(regard.train(**asked)))
    thread.start()
    thread.join()
    assert found[0].info()["step"] == 4


def test_a_task_of_ones_own_takes_its_data_by_its_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task itself draws its data; here it is told how many rows it was given."""
    section = {"examples": 60}

    def sized(flags: Any) -> tuple[dict[str, Any], str]:
        lines = Path(flags.folder, flags.train[0]).read_text() if flags.folder else ""
        section["examples"] = max(60, len(lines.splitlines()))
        return section, "sums"

    from regard.tasks.task import Reason, Suggestion

    schema = type(
        "Named",
        (digit_sum.SumRecipe,),
        {"__annotations__": {"task": str}, "task": "digit-sum-of", "__module__": __name__},
    )
    new = replace(
        digit_sum.TASK,
        name="digit-sum-of",
        recipe=schema,
        data_section=sized,
        suggest=lambda data, model, preset: Suggestion(
            {"data": data, "train": {"steps": 2, "device": "cpu"}}, [Reason("few")]
        ),
    )
    monkeypatch.setattr(tasks, "TASKS", dict(tasks.TASKS))
    monkeypatch.setattr(tasks, "_loaded", dict(tasks._loaded))
    tasks.add(new, flag="digits", flag_help="Rows of digits.")
    run = regard.train(digits=[[1, 2, 3, 4]] * 70)
    assert run.folder == Path("runs/sums")
    assert run.recipe().data.examples == 70  # type: ignore[attr-defined]
