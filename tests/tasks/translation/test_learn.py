"""Teaching a translator corrections: remembered at once, learned from, judged, and taken back."""

import errno
import json
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.cli import main
from regard.data.corpus import Pair
from regard.engines import EngineName
from regard.errors import RequestError, RunError
from regard.recipe import Recipe
from regard.run import Run
from regard.tasks.translation import learn, teaching
from regard.tasks.translation.corrections import Corrections
from regard.tasks.translation.learn import Remembered, teach, undo
from regard.tasks.translation.translator import Translator
from regard.tasks.translation.verdict import Scores, Verdict
from regard.text.memory import Match
from regard.training.events import Interrupted, Note, Phase
from regard.training.run import training_run
from regard.weights import read_tensors
from tests.toy_runs import toy_pairs, write_pairs

GOOD, BAD = Scores(30.0, 40.0, 20.0, 30.0), Scores(10.0, 20.0, 20.0, 30.0)
FORGETS = replace(GOOD, old_bleu=18.9)


def corrections(count: int, seed: int = 9) -> list[Pair]:
    """Sentences that end in a word which the run has never written."""
    pairs = dict(toy_pairs(2 * count, seed))
    return [Pair(one, f"{other} amen", "") for one, other in list(pairs.items())[:count]]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock"
    }


@pytest.fixture
def run(copy: Path) -> Run:
    return Run(copy)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teaching, "LEAST_UPDATES", 4)
    monkeypatch.setattr(teaching, "PASSES", 0)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets the weights before and after have these scores; those on the way, too."""

    def scores(before: Scores, *afters: Scores) -> None:
        found = iter([before, *afters])
        monkeypatch.setattr(teaching, "scores_of", lambda *_: next(found))

    return scores


def test_a_few_corrections_are_remembered_only(run: Run) -> None:
    before = contents(run.folder)
    events = list(
        teach(run, [*corrections(3), Pair("  ", "nothing", ""), Pair("1  2", "a  b", "")])
    )
    assert events[0] == Remembered(4, 4)
    assert events[1:] == [Note("From 50 on, it also learns from them.")]
    translator = Translator.load(run.folder)
    assert translator.translate([" 1 2 ", "1 2 1"])[0] == "a b"
    found = translator.translations(["1 2"])[0][0]
    assert found.match == Match("1 2", "a b", 100)
    assert translator.texts(["1 2"], translator.search, ["dua"])[0].startswith("dua")
    first, _ = teach(run, [Pair("1 2", "c", "")])
    assert first == Remembered(1, 4)
    assert Translator.load(run.folder).translate("1 2") == "c"
    undo(run)
    assert Translator.load(run.folder).translate("1 2") == "a b"
    with pytest.raises(RequestError, match="was taught nothing that could be taken back"):
        undo(run)
    (run.folder / "corrections.jsonl").unlink()
    assert contents(run.folder) == before


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_correction_answers_in_every_way_of_asking(run: Run, engine: EngineName) -> None:
    Corrections(run).add({"1 2 3": "as it should be", "ok nau": "as it should be"})
    translator = Translator.load(run.folder, engine=engine)
    (before,) = translator.translate(["3 2 1"])
    assert translator.translate(["3 2 1", "1 2 3"]) == [before, "as it should be"]
    assert translator.translate("<b>ok</b> nau", format="html") != "as it should be"
    assert translator.translate("<p>ok nau</p>", format="html") == "<p>as it should be</p>"
    alternatives = translator.translations(["1 2 3"], replace(translator.search, n_best=3))[0]
    assert [each.text for each in alternatives] == ["as it should be"]


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_correction_with_tags_and_placeholders_answers_the_same_text(
    run: Run, engine: EngineName, tmp_path: Path
) -> None:
    Corrections(run).add({"ok <b>2</b> %s": "%s <b>zwei</b> eins", "3 {name}": "{name} drei"})
    translator = Translator.load(run.folder, engine=engine)
    assert translator.translate("ok <b>2</b> %s") == "%s <b>zwei</b> eins"
    assert (
        translator.translate("<p>ok <i>2</i> %s</p>", format="html") == "<p>%s <i>zwei</i> eins</p>"
    )
    assert translator.translate("3 {name}") == "{name} drei"
    assert translator.translate("3 {other}") != "{other} drei"
    (found,) = translator.translations_in_format(["3 {name}"], "text", translator.search)[0]
    assert (found.text, found.match) == ("{name} drei", Match("3 {name}", "{name} drei", 100))
    path = tmp_path / "a.po"
    path.write_text('msgid "ok <b>2</b> %s"\nmsgstr ""\n')
    translator.translate_file(path, path)
    assert 'msgstr "%s <b>zwei</b> eins"' in path.read_text()


def test_the_model_learns_from_texts_without_their_tags(run: Run) -> None:
    given = [*corrections(58), Pair("2 <b>4</b> %s", "dua <b>tri</b> %s amen", "")]
    for event in teach(run, [*given, Pair("4 <i>4</i>", "<i>tri</i> tri", "")]):
        if isinstance(event, Phase) and "Comparing" in str(event):
            break
    learned = b"".join(each.read_bytes() for each in (run.folder / "learning").glob("*new.jsonl"))
    assert b"<b>" not in learned
    assert b'"2 4 %s"' in learned


def test_a_full_disk_leaves_the_run_as_it_was(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(run.folder)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(teaching.shutil, "copyfile", full)
    with pytest.raises(RunError, match=r"cannot be written \(No space left on device\), so that"):
        list(teach(run, corrections(3)))
    assert contents(run.folder) == before
    assert not (run.folder / "learning").exists()


def test_better_weights_are_kept_and_can_be_taken_back(
    run: Run, judged: Callable[..., None]
) -> None:
    before = contents(run.folder)
    judged(BAD, GOOD)
    *_, verdict = teach(run, corrections(60))
    assert isinstance(verdict, Verdict)
    assert verdict.kept
    assert verdict.corrections + verdict.new_judged == 60
    after = contents(run.folder)
    assert after["model.safetensors"] != before["model.safetensors"]
    assert run.finding("alignment") is not None
    assert b"- Corrections: learned from" in after["README.md"]
    assert Translator.load(run.folder).translate(["9 9"])  # the weights fit to the run
    assert {Path(name).parts[:2] for name in after if name.startswith("learning")} == {
        ("learning", "before"),
        ("learning", "report.json"),
    }
    assert list(teach(run, corrections(60)))[1:] == [
        Note("It was taught these before; new ones are learned together with them.")
    ]
    assert contents(run.folder) == after
    undo(run)
    assert contents(run.folder) == before


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (BAD, FORGETS, "the old text would lose 1.10 BLEU, more than 1"),
        (GOOD, BAD, "translate corrections that were held out no better"),
    ],
)
def test_worse_weights_are_not_kept(
    run: Run,
    judged: Callable[..., None],
    before: Scores,
    after: Scores,
    reason: str,
) -> None:
    weights = run.model_path.read_bytes()
    judged(before, *[after] * len(teaching.WAYS))
    *_, verdict = teach(run, corrections(60))
    assert isinstance(verdict, Verdict)
    assert reason in str(verdict)
    assert run.model_path.read_bytes() == weights
    assert len(Corrections(run).pairs()) == 60


def test_where_new_weights_forget_too_much_they_go_a_part_of_the_way(
    run: Run, judged: Callable[..., None]
) -> None:
    before = read_tensors(run.model_path)[0]
    judged(BAD, FORGETS, FORGETS, GOOD)
    trained: dict[str, Tensor] = {}
    for event in teach(run, corrections(60)):
        if isinstance(event, Phase) and event.text.startswith("Comparing"):
            trained = read_tensors(teaching.Teaching(run).trained.model_path)[0]
    assert isinstance(event, Verdict)
    assert (event.kept, event.way) == (True, teaching.WAYS[2])
    assert "35% of the way from the old ones" in str(event)
    for name, tensor in read_tensors(run.model_path)[0].items():
        expected = before[name] + 0.35 * (trained[name] - before[name])
        assert torch.allclose(tensor, expected, atol=1e-6)


def test_the_scores_do_not_come_from_memory(run: Run) -> None:
    """Corrections that were held out are remembered, and must not be answered from there."""
    *_, verdict = teach(run, corrections(60))
    assert isinstance(verdict, Verdict)
    assert verdict.before.new_bleu < 50


def test_what_was_stopped_is_resumed_and_changes_nothing(
    run: Run, judged: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(run.folder)

    def stopped(recipe: Recipe, out: Path) -> Iterator[Any]:
        for event in training_run(recipe, out):
            yield event
            if getattr(event, "step", 0) == 2:
                yield Interrupted(2, signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("regard.training.run.training_run", stopped)
        assert isinstance(list(teach(run, corrections(60)))[-1], Interrupted)
    now = contents(run.folder)
    assert {name: now[name] for name in before} == before
    assert Translator.load(run.folder).translate(["1 2"])
    judged(BAD, GOOD)
    *_, verdict = teach(run, corrections(60))
    assert isinstance(verdict, Verdict)
    undo(run)
    assert contents(run.folder) == before


def test_a_death_while_weights_are_judged_changes_nothing(
    run: Run, judged: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = run.model_path.read_bytes()

    def dies(*_: Any) -> Scores:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(teaching, "scores_of", dies)
        with pytest.raises(MemoryError):
            list(teach(run, corrections(60)))
    assert run.model_path.read_bytes() == weights
    trained = teaching.Teaching(run).trained.model_path.read_bytes()
    judged(BAD, GOOD)
    *_, verdict = teach(run, corrections(60))
    assert isinstance(verdict, Verdict)
    assert verdict.kept
    assert len(trained) > 0


def test_more_corrections_are_learned_with_the_earlier_ones(
    run: Run, judged: Callable[..., None]
) -> None:
    judged(BAD, GOOD)
    list(teach(run, corrections(60)))
    once = contents(run.folder)
    judged(BAD, GOOD)
    *_, verdict = teach(run, [Pair("1 2 3 4 5", "six", "")])
    assert isinstance(verdict, Verdict)
    assert verdict.corrections + verdict.new_judged == 61
    undo(run)
    assert {n: c for n, c in contents(run.folder).items() if not n.startswith("learning")} == {
        n: c for n, c in once.items() if not n.startswith("learning")
    }


def test_without_its_training_pairs_a_run_needs_others(
    run: Run,
    tmp_path: Path,
    judged: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = run.recipe_path.read_text()
    data = run.recipe().data.folder  # type: ignore[attr-defined]
    run.recipe_path.write_text(recipe.replace(str(data), str(tmp_path / "gone")))
    with pytest.raises(RunError, match=r"the corrections are remembered, but .* name such pairs"):
        list(teach(run, corrections(60)))
    assert len(Corrections(run).pairs()) == 60
    write_pairs(tmp_path, "old", toy_pairs(100, seed=1))
    judged(BAD, GOOD)
    *_, verdict = teach(run, [], [tmp_path / "old.xx", tmp_path / "old.yy"])
    assert isinstance(verdict, Verdict)
    assert verdict.old_pairs + verdict.old_judged == 100


def test_a_damaged_line_is_named(run: Run) -> None:
    (run.folder / "corrections.jsonl").write_text('{"source": "a", "target": "b"}\n{"source": 1\n')
    with pytest.raises(RunError, match=r"corrections\.jsonl:2: not a correction"):
        Translator.load(run.folder)


def test_the_command_teaches_and_takes_back(
    run: Run,
    tmp_path: Path,
    judged: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = contents(run.folder)
    lines = [{"source": pair.source, "target": pair.target} for pair in corrections(60)]
    suggested = tmp_path / "suggestions.xx-yy.jsonl"
    suggested.write_text("".join(json.dumps(line) + "\n" for line in lines))
    judged(BAD, GOOD)
    main(["learn", str(run.folder), str(suggested), "--json"])
    shown = capsys.readouterr()
    assert json.loads(shown.out)["kept"] is True
    assert "60 of the corrections are new; the run remembers 60." in shown.err
    main(["learn", str(run.folder), "--undo"])
    assert contents(run.folder) == before
    for wrong in ([], [str(suggested), "--undo"]):
        with pytest.raises(SystemExit) as error:
            main(["learn", str(run.folder), *wrong])
        assert error.value.code == 2


def test_python_teaches_pairs(run: Run) -> None:
    assert learn.learn(run.folder, [("1 2", "x y")]) is None
    assert Run(run.folder).load().translate("1 2") == "x y"
    shutil.rmtree(run.folder / "learning")
