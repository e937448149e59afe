"""Language models: trained, stopped and resumed, shared among processes, put to work."""

import json
import math
import random
import sys
import tomllib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.cli import main
from regard.errors import RequestError, RunError
from regard.recipe import Recipe, override, parse
from regard.run import Run, commands_for
from regard.tasks.embedder import Embedder
from regard.tasks.translation.translator import Translator
from regard.tasks.writer import Writer
from regard.tasks.writing import Writing
from regard.training.events import StepReport
from regard.training.run import train, training_run
from regard.weights import load_checkpoint

Outcome = Callable[[Path], dict[str, Any]]
LogOf = Callable[[Path, str], list[dict[str, Any]]]

KINDS = {
    "gpt": 'model = {kind = "gpt", num_layers = 1, d_model = 16, d_ff = 32, num_heads = 2, '
    "max_positions = 16, dropout = 0.2}",
    "lstm": 'model = {kind = "recurrent", num_layers = 2, d_model = 16, dropout = 0.2}',
}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "book.txt"
    draw = random.Random(1)
    lines = (" ".join(draw.choices(("one", "two", "three"), k=6)) for _ in range(80))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def recipe_of(book: Path, kind: str, *settings: str) -> Recipe:
    text = f"""
        task = "language-model"
        seed = 3
        data = {{train = ["{book}"], held_out_share = 0.1, context = 12}}
        tokenizer = {{kind = "character", vocabulary_size = 300}}
        {KINDS[kind]}
        [train]
        steps = 9
        batch_tokens = 48
        accumulate = 2
        learning_rate = 0.01
        warmup_steps = 2
        label_smoothing = 0.0
        eval_every = 4
        save_every = 4
        log_every = 1
        average = 1
        threads = 1
        processes = 1
        device = "cpu"
        precision = "float32"
    """
    return parse(override(tomllib.loads(text), settings), "test")


@pytest.fixture(scope="module")
def runs(book: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {kind: tmp_path_factory.mktemp("runs") / kind for kind in KINDS}
    for kind, folder in folders.items():
        train(recipe_of(book, kind), folder)
    return folders


@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_run_ends_with_the_bits_of_one_that_was_not(
    book: Path, runs: dict[str, Path], kind: str, tmp_path: Path, outcome: Outcome
) -> None:
    """What a recurrent model carries is in the checkpoint, or losses would differ."""
    for step in (5, 8):
        with closing(training_run(recipe_of(book, kind), tmp_path)) as events:
            for event in events:
                if isinstance(event, StepReport) and event.step == step:
                    break
    train(recipe_of(book, kind), tmp_path)
    assert outcome(tmp_path) == outcome(runs[kind])


@pytest.mark.parametrize("kind", ["lstm", pytest.param("gpt", marks=pytest.mark.slow)])
def test_two_processes_learn_what_one_does(
    book: Path, kind: str, tmp_path: Path, log_of: LogOf
) -> None:
    settings = ("model.dropout=0", "train.accumulate=1", "train.steps=6")
    for count in (1, 2):
        recipe = recipe_of(book, kind, *settings, f"train.processes={count}")
        train(recipe, tmp_path / str(count))
    one, two = (log_of(tmp_path / str(count), "step") for count in (1, 2))
    for mine, theirs in zip(one, two, strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], abs=1e-5)
    if kind == "lstm":
        checkpoints = [Run(tmp_path / str(count)).checkpoints()[-1] for count in (1, 2)]
        carried = [load_checkpoint(Run(path.parent.parent), path)[0] for path in checkpoints]
        first, second = (
            dict(zip(each["carried/places"].tolist(), each["carried/states"], strict=True))
            for each in carried
        )
        assert first.keys() == second.keys()
        for place, state in first.items():
            torch.testing.assert_close(state, second[place], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_a_run(runs: dict[str, Path], kind: str, log_of: LogOf) -> None:
    entries = log_of(runs[kind], "validation")
    for entry in entries:
        assert entry["perplexity"] == pytest.approx(math.exp(entry["loss"]))
        # One token a character, but for the end of the text.
        assert entry["bits_per_character"] == pytest.approx(entry["loss"] / math.log(2), rel=0.02)
    assert entries[-1]["loss"] < entries[0]["loss"]
    assert Run(runs[kind]).info()["task"] == "language-model"
    assert f"regard generate {runs[kind]}" in (runs[kind] / "README.md").read_text("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_streams_what_it_generates(runs: dict[str, Path], kind: str) -> None:
    writer = Writer.load(runs[kind])
    writing = Writing(max_tokens=40, temperature=1.0, top_k=5, seed=4)
    pieces = list(writer.stream("one t", writing))
    assert len(pieces) > 20
    assert "".join(pieces) == writer.generate("one t", writing)
    assert writer.generate("one t", Writing(40, 1.0, seed=5)) != "".join(pieces)
    greedy = Writing(max_tokens=6, temperature=0)
    assert writer.generate("one t", greedy) == writer.generate("one t", greedy)
    assert writer.generate("", greedy) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_writing_is_what_scores_best(runs: dict[str, Path], kind: str) -> None:
    """The cached steps of writing and the one pass of scoring agree."""
    writer = Writer.load(runs[kind])
    written = writer.generate("two on", Writing(max_tokens=5, temperature=0))
    best = writer.score("two on" + written)
    for place in range(6, 6 + len(written)):
        for other in "abent":
            text = "two on" + written[: place - 6] + other
            assert writer.score(text)[place].log_probability <= best[place].log_probability + 1e-5


def test_a_score_does_not_depend_on_what_follows(runs: dict[str, Path]) -> None:
    for kind in KINDS:
        writer = Writer.load(runs[kind])
        # A GPT has positions for more than the context, which nothing was learned about.
        assert writer.limit == (12 if kind == "gpt" else sys.maxsize)
        text = "one two three " * 4  # longer than the context of the GPT
        whole = [each.log_probability for each in writer.score(text)]
        assert len(whole) == len(text)
        part = [each.log_probability for each in writer.score(text[:9])]
        assert whole[:9] == pytest.approx(part, abs=1e-5)


def test_a_command_that_does_not_fit_names_one_that_does(runs: dict[str, Path]) -> None:
    with pytest.raises(
        RunError, match=r"task language-model, not translation; use `regard generate"
    ):
        Translator.load(runs["gpt"])
    with pytest.raises(RequestError, match="temperature must be"):
        Writing(temperature=-1)


def test_two_directions_give_vectors_that_know_both_sides(
    book: Path, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = recipe_of(book, "lstm", "data.direction=backward", "train.steps=2")
    train(recipe, tmp_path / "backward")
    embedder = Embedder.load(runs["lstm"], backward=tmp_path / "backward")
    pieces, vectors = embedder.tokens("one two")
    assert vectors.shape == (len(pieces), 32)
    _, changed = embedder.tokens("one twx")
    forward, backward = (vectors - changed)[:, :16], (vectors - changed)[:, 16:]
    assert abs(forward[0]).max() == 0  # what follows cannot reach it
    assert abs(backward[0]).max() > 0
    with pytest.raises(RequestError, match="give a forward and a backward language model"):
        Embedder.load(tmp_path / "backward", backward=runs["lstm"])
    with pytest.raises(RequestError, match="reads backwards"):
        next(Writer.load(tmp_path / "backward").stream("one"))
    assert len(Writer.load(tmp_path / "backward").score("one two")) == 7
    with pytest.raises(SystemExit):
        main(["generate", str(tmp_path / "backward"), "one"])
    assert capsys.readouterr().out == ""  # not even the beginning is shown
    # Only what such a run can do is suggested, on the screen and in the card.
    assert commands_for(recipe, "run")[0] == "regard score run < text.txt"
    card = (tmp_path / "backward" / "README.md").read_text()
    assert "regard embed" in card
    assert "generate" not in card
    assert "continues" not in card


def test_the_commands(book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(*words: str) -> str:
        main(list(words))
        return capsys.readouterr().out

    run = str(tmp_path / "run")
    small = ("model.num_layers=1", "model.d_model=16", "model.d_ff=16", "model.num_heads=2")
    short = ("train.steps=2", "train.batch_tokens=256", "train.threads=1", "data.context=16")
    settings = [word for each in (*small, *short) for word in ("--set", each)]
    answer("train", "--text", str(book), "--out", run, *settings)
    assert Run(Path(run)).recipe().task == "language-model"
    text = answer("generate", run, "one", "--max-tokens", "9", "--stream")
    assert text.startswith("one")
    told = json.loads(answer("generate", run, "one", "--max-tokens", "9", "--json"))
    assert told["prompt"] + told["text"] + "\n" == text
    found = json.loads(answer("score", run, "one two", "--json"))
    assert len(found["tokens"]) == len(found["log_probabilities"]) == 7
    assert found["log_probability"] == pytest.approx(sum(found["log_probabilities"]))
    # What a text's characters are does not depend on how its lines end.
    ended = json.loads(answer("score", run, "one\r\ntwo", "--json"))
    assert ended["bits_per_character"] == pytest.approx(
        json.loads(answer("score", run, "one\ntwo", "--json"))["bits_per_character"]
    )
    scores = json.loads(answer("evaluate", run, "--data", str(book), "--json"))["scores"]
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert "language-model" in answer("show", run)
