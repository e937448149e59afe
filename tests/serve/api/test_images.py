"""POST /classify: an image in, its label out, and nothing that costs more than an image."""

import base64
import io
import resource
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.tasks.image_classification import ImageClassifier
from tests.cli.test_attend_images import LABELS, write_run
from tests.serve.conftest import Live, Start
from tests.studio.test_images import bomb


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("served"), "cnn")


@pytest.fixture(scope="module")
def live(start: Start, folder: Path) -> Live:
    return start(more_runs=(folder,))


def photo() -> bytes:
    pixels = np.random.default_rng(1).integers(0, 256, (20, 30, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_an_image_is_labelled_however_it_is_sent(live: Live, folder: Path) -> None:
    expected = ImageClassifier.load(folder).classify([photo()])[0]
    answers = [
        live.post("/classify", image=text(photo())),
        live.post("/classify", image=f"data:image/png;base64,{text(photo())}", model="cnn"),
        live.client.post("/classify", files={"file": ("a.png", photo())}, data={"model": "cnn"}),
    ]
    for answer in answers:
        assert answer.status_code == 200
        found = answer.json()
        assert (found["model"], found["label"]) == ("cnn", expected.label)
        assert set(found["probabilities"]) == set(LABELS)
        assert found["probabilities"] == pytest.approx(expected.probabilities)


@pytest.mark.parametrize(
    ("values", "status", "message"),
    [
        ({}, 400, "missing image"),
        ({"image": 3}, 400, "missing image"),
        ({"image": "%%%"}, 400, "not valid base64"),
        ({"image": "data:image/png,abc"}, 400, "data URL of base64"),
        ({"image": "https://example.org/a.png"}, 400, "not fetched"),
        ({"image": text(b"<html>")}, 400, "web page"),
        ({"image": text(photo()[:200])}, 400, "cut off"),
        ({"image": text(photo()), "model": "other"}, 404, "there are: cnn"),
        ({"image": text(photo()), "model": ["cnn"]}, 400, "must be a string"),
        ({"image": "A" * 5_000_000}, 413, "longer than"),
    ],
)
def test_what_is_no_image_is_refused_in_a_sentence(
    live: Live, values: dict[str, object], status: int, message: str
) -> None:
    found, sentence = live.error("/classify", **values)
    assert found == status
    assert message in sentence


def test_a_bomb_costs_nothing(live: Live) -> None:
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    status, sentence = live.error("/classify", image=text(bomb(50_000)))
    assert (status, "80 million pixels" in sentence) == (400, True)
    assert time.process_time() - start < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_a_server_without_classifiers_says_so(start: Start) -> None:
    status, sentence = start().error("/classify", image=text(photo()))
    assert (status, "start the server with the run of one" in sentence) == (404, True)
