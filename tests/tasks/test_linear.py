"""The linear model of classifiers: alone, beside a network, and what speaks for a label."""

import json
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import tasks
from regard.cli import main
from regard.configs.linear import NgramConfig
from regard.errors import RecipeError, RequestError, RunError
from regard.evaluate.validation import Validation
from regard.recipe import Recipe, parse
from regard.run import Run
from regard.start import DataOptions, from_data
from regard.tasks import linear
from regard.tasks.classification import Classifier
from regard.tasks.task import DataFlags
from regard.training.events import Note, StepReport
from regard.training.run import train, training_run

GOOD, BAD = ("fine", "great", "lovely"), ("dull", "poor", "awful")
NETWORK = {
    "tokenizer": {"vocabulary_size": 300},
    "model": {"kind": "recurrent", "d_model": 16},
    "linear": {"words": 2},
    "train": {
        "steps": 12,
        "batch_tokens": 128,
        "learning_rate": 0.02,
        "warmup_steps": 2,
        "eval_every": 4,
        "save_every": 4,
        "average": 1,
        "threads": 1,
    },
}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, draw = tmp_path_factory.mktemp("reviews") / "a.tsv", random.Random(1)
    lines = []
    for number in range(200):
        label, words = draw.choice((("pos", GOOD), ("neg", BAD)))
        lines.append(f"{label}\ta {draw.choice(words)} film number {number}\n")
    path.write_text("".join(lines))
    return path


def recipe_of(reviews: Path, **sections: Any) -> Recipe:
    data = {"train": [str(reviews)], "held_out_share": 0.2, "max_length": 24}
    return parse({"task": "classification", "data": data, **sections}, "test")


def alone(reviews: Path, **model: Any) -> Recipe:
    return recipe_of(reviews, model={"kind": "linear", "words": 2, **model}, train={"threads": 1})


@pytest.fixture(scope="module")
def found(reviews: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(alone(reviews), tmp_path_factory.mktemp("runs") / "linear").folder


@pytest.fixture(scope="module")
def both(reviews: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(recipe_of(reviews, **NETWORK), tmp_path_factory.mktemp("runs") / "both").folder


def test_a_linear_run_answers_and_is_scored(found: Path, reviews: Path, tmp_path: Path) -> None:
    classifier = Classifier.load(found)
    assert [each.label for each in classifier.classify(["a great film", "so poor"])] == [
        "pos",
        "neg",
    ]
    scores = classifier.evaluate(["great", "awful", "lovely"], ["pos", "neg", "pos"])
    assert scores.score("accuracy") == 100
    assert scores.score("always the most frequent label") == pytest.approx(200 / 3)
    assert classifier.classify("").probabilities.keys() == {"pos", "neg"}
    assert classifier.classify([]) == []
    again = train(alone(reviews), tmp_path / "again").folder
    for name in ("model.safetensors", "labels.json"):
        assert (again / name).read_bytes() == (found / name).read_bytes()


def test_a_text_alone_is_answered_as_among_others(found: Path) -> None:
    classifier = Classifier.load(found)
    texts = ["a great film", "", "poor, poor film", "nothing known"]
    for text, each in zip(texts, classifier.classify(texts), strict=True):
        assert classifier.classify(text).probabilities == pytest.approx(each.probabilities)


def test_a_finished_linear_run_is_not_trained_again(found: Path, reviews: Path) -> None:
    events = list(training_run(alone(reviews), found))
    assert [type(each) for each in events] == [Note]


def test_settings_of_a_network_are_refused(reviews: Path) -> None:
    for section, wrong in (
        ("train", {"learning_rate": 0.5}),
        ("tokenizer", {"lowercase": True}),
        ("linear", {"words": 1}),
    ):
        values = {"model": {"kind": "linear"}, section: wrong}
        with pytest.raises(RecipeError, match="linear model"):
            recipe_of(reviews, **values)
    with pytest.raises(RecipeError, match="set it to 1"):
        recipe_of(reviews, model={"kind": "linear"}, train={"steps": 5})
    with pytest.raises(RecipeError, match="nothing to read"):
        recipe_of(reviews, model={"kind": "linear", "words": 0})


def test_the_first_answer_comes_before_the_network_and_can_be_used_at_once(
    reviews: Path, tmp_path: Path
) -> None:
    said: list[str] = []
    with closing(training_run(recipe_of(reviews, **NETWORK), tmp_path / "run")) as events:
        for event in events:
            if isinstance(event, Note) and not event.warning:
                said.append(event.text)
            if isinstance(event, Validation):
                break
    assert any("first answer" in text for text in said)
    assert event.step == 0
    assert event.scores["linear_accuracy"] == event.scores["accuracy"]
    classifier = Classifier.load(tmp_path / "run")
    assert classifier.labeller.weights.network == 0
    assert classifier.classify("a lovely film").label == "pos"


def test_a_combination_ends_with_the_same_bits_wherever_it_was_stopped(
    reviews: Path, both: Path, tmp_path: Path
) -> None:
    recipe = recipe_of(reviews, **NETWORK)
    with closing(training_run(recipe, tmp_path)) as events:
        for event in events:
            if isinstance(event, StepReport) and event.step == 6:
                break
    train(recipe, tmp_path)
    for name in ("model.safetensors", "linear.safetensors"):
        assert (tmp_path / name).read_bytes() == (both / name).read_bytes()


def test_a_combination_reports_its_parts(both: Path) -> None:
    info = Run(both).info()["validation"]
    assert {"linear_accuracy", "network_accuracy", "linear_weight"} <= info.keys()
    card = (both / "README.md").read_text()
    assert "linear model alone" in card
    assert "always the most frequent label" in card
    scores = Classifier.load(both).evaluate(["great", "awful"], ["pos", "neg"])
    assert scores.score("linear model alone") == 100
    assert {"network alone", "accuracy"} <= {each.name for each in scores.scores}


def test_a_linear_model_of_another_run_is_refused(both: Path, tmp_path: Path) -> None:
    import shutil

    other = Path(shutil.copytree(both, tmp_path / "other"))
    content = bytearray((other / "linear.safetensors").read_bytes())
    content[-3] ^= 1
    (other / "linear.safetensors").write_bytes(content)
    with pytest.raises(RunError, match=r"linear\.safetensors"):
        Classifier.load(other)


def test_words_speak_for_a_label(
    found: Path, both: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, table = tmp_path / "page.html", tmp_path / "table.csv"
    text = "a lovely <film>, never dull"
    main(["attend", str(found), text, "--label", "pos", "--html", str(page), "--csv", str(table)])
    shown = capsys.readouterr().out
    assert shown.startswith("pos: ")
    assert "&lt;" in page.read_text()
    assert "<film>" not in page.read_text()
    values = dict(line.rsplit(",", 1) for line in table.read_text().splitlines()[1:])
    assert float(values["lovely"]) > 0 > float(values["dull"])
    main(["attend", str(both), text, "--json"])
    assert json.loads(capsys.readouterr().out)["ngrams"]


def test_the_evidence_adds_up_to_the_logits(found: Path) -> None:
    model = Classifier.load(found).labeller.linear
    assert model is not None
    text = "a great film, a dull film"
    summed = torch.stack([each.logits for each in model.evidence(text)]).sum(0) + model.bias
    assert torch.allclose(summed, model([text])[0], atol=1e-5)


def test_what_needs_a_network_says_so(found: Path) -> None:
    with pytest.raises(SystemExit):
        main(["embed", str(found), "a text"])
    reader = tasks.get("classification").reader
    assert reader is not None
    with pytest.raises(RequestError, match="no vectors"):
        reader(Run(found), "cpu")


def test_data_alone_starts_with_a_linear_model(reviews: Path, tmp_path: Path) -> None:
    flags = DataFlags((reviews,))
    chosen = from_data("labelled", flags, DataOptions(out=tmp_path / "run"))
    recipe: Any = chosen.recipe
    assert recipe.linear.words == 3
    assert recipe.linear.characters == 5
    assert "linear model" in " ".join(chosen.reasons)
    only = DataOptions(out=tmp_path / "run", settings=("model.kind=linear",))
    assert from_data("labelled", flags, only).recipe.model.kind == "linear"


def test_common_ngrams_have_the_weights_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(linear, "MOST_WEIGHTS", 8)
    texts = ["one two", "one two three", "one two four", "one five"]
    numbers = torch.tensor([0, 1, 0, 1])
    config = NgramConfig(words=1, min_texts=1)
    model = linear.find(config, (texts, numbers), (texts, numbers), 2).model
    assert len(model.keys) <= 4
    assert (model.places(linear.ngram_sets(["one two"], 1, 0).keys) >= 0).all()
