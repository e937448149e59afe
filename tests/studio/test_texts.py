"""What the studio says of texts, for models that do not translate."""

from pathlib import Path

import numpy as np
import pytest

from regard.errors import RequestError
from regard.studio.requests import Text, TextLayer
from regard.studio.runs import OpenRun
from regard.studio.texts import text, text_layer
from regard.tasks.classification import Classifier
from regard.tasks.filler import Filler
from regard.tasks.tagging import Tagger
from regard.tasks.writer import Writer
from tests.studio.conftest import SENTENCE, TEXT_TASKS


@pytest.fixture(scope="module")
def runs(text_folders: dict[str, Path]) -> dict[str, OpenRun]:
    return {task: OpenRun(folder) for task, folder in text_folders.items()}


def test_a_continuation_is_the_likeliest_and_can_be_led(runs: dict[str, OpenRun]) -> None:
    run = runs["language-model"]
    found = text(run, Text(text=SENTENCE, more=5))
    writer = Writer.load(run.folder)
    given = writer.tokenizer.encode(SENTENCE)
    assert found["ids"][: len(given)] == given
    assert found["given"] == len(given)
    assert [step["rank"] for step in found["steps"][len(given) :]] == [0] * (
        len(found["ids"]) - len(given)
    )
    scored = writer.score(writer.tokenizer.decode(given))
    for step, token in zip(found["steps"], scored, strict=False):
        assert step["log_probability"] == pytest.approx(token.log_probability, abs=1e-5)
    second = found["steps"][len(given)]["choices"][1]["token"]
    led = text(run, Text(text=SENTENCE, more=5, prefix=[second]))
    assert led["ids"][len(given)] == second


def test_masks_are_filled_as_the_filler_fills_them(runs: dict[str, OpenRun]) -> None:
    run = runs["masked-language-model"]
    found = text(run, Text(text="the [MASK] cat [MASK]"))
    expected = Filler.load(run.folder).fill("the [MASK] cat [MASK]", 8)
    assert found["filled"]["text"] == expected.text
    assert len(found["filled"]["candidates"]) == 2
    with pytest.raises(RequestError, match="no \\[MASK\\]"):
        text(run, Text(text=SENTENCE))


def test_labels_are_those_of_the_tasks(runs: dict[str, OpenRun]) -> None:
    classes = text(runs["classification"], Text(text=SENTENCE))["labels"]
    classifier = Classifier.load(runs["classification"].folder)
    assert classes == pytest.approx(classifier.classify([SENTENCE])[0].probabilities)
    tags = text(runs["tagging"], Text(text=SENTENCE))["tags"]
    expected = Tagger.load(runs["tagging"].folder).tag([SENTENCE])[0]
    assert [tag["label"] for tag in tags] == [each.label for each in expected]
    assert [tag["word"] for tag in tags] == SENTENCE.split()


@pytest.mark.parametrize("task", TEXT_TASKS)
def test_every_token_attends_to_all_it_may(task: str, runs: dict[str, OpenRun]) -> None:
    given = "the [MASK] cat" if task == "masked-language-model" else SENTENCE
    found = text(runs[task], Text(text=given))
    assert found["heads"] == [2, 2]
    for layer in range(2):
        weights = text_layer(runs[task], TextLayer(text=given, layer=layer)).numpy()
        assert weights.shape == (2, len(found["pieces"]), len(found["pieces"]))
        assert np.allclose(weights.sum(-1), 1, atol=1e-5)
        assert np.triu(weights, 1).any() == (task != "language-model")
    with pytest.raises(RequestError, match="2 layers"):
        text_layer(runs[task], TextLayer(text=given, layer=2))


def test_only_the_views_that_make_sense_are_offered(runs: dict[str, OpenRun]) -> None:
    for run in runs.values():
        assert run.describe()["views"] == [
            *("text", "model", "alignment", "heads", "numbers", "training", "positions"),
            *("compare", "map", "blocks"),
        ]
        with pytest.raises(RequestError, match="does not translate"), run.translator():
            pass
