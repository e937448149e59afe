"""What the studio says of images, and what it refuses before it costs anything."""

import base64
import io
import json
import resource
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from regard.data.image_cache import build
from regard.data.image_files import find_images
from regard.errors import DataError, RequestError
from regard.run import Run
from regard.studio.images import image, image_positions, image_samples, packed, square
from regard.studio.requests import Asked, Image, Samples
from regard.studio.runs import OpenRun
from regard.tasks.image_classification import ImageClassifier
from tests.cli.test_attend_images import LABELS, write_run
from tests.studio.conftest import Served, Serving


def write_images(folder: Path) -> dict[str, Path]:
    """Runs of a ViT and a CNN that have learned nothing, the ViT with validation images."""
    made = {kind: write_run(folder, kind) for kind in ("vit", "cnn")}
    random = np.random.default_rng(4)
    for number, label in enumerate(LABELS * 2):
        path = folder / "photos" / label / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Pillow.fromarray(random.integers(0, 256, (16, 16, 3), np.uint8)).save(path)
    images = find_images([folder / "photos"])
    data = Run(made["vit"]).training / "data"
    build(images, data / "images", 16, "crop", 3)
    part = {
        "rows": list(range(6)),
        "labels": [LABELS.index(each) for each in images.labels],
        "names": images.names,
    }
    (data / "valid.json").write_text(json.dumps(part))
    return made


@pytest.fixture(scope="module")
def image_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_images(tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="module")
def runs(image_folders: dict[str, Path]) -> dict[str, OpenRun]:
    return {kind: OpenRun(folder) for kind, folder in image_folders.items()}


@pytest.fixture(scope="module")
def serving(image_folders: dict[str, Path]) -> Iterator[Served]:
    with Serving(list(image_folders.values())) as server:
        yield server


def photo(width: int = 40, height: int = 25) -> bytes:
    pixels = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
    file = io.BytesIO()
    Pillow.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("kind", ["vit", "cnn"])
def test_the_answer_is_pythons(kind: str, runs: dict[str, OpenRun]) -> None:
    run = runs[kind]
    given = square(run, photo())
    assert (given["size"], given["channels"]) == (16, 3)
    found = image(run, Image(pixels=given["pixels"], label="owl"))
    expected = ImageClassifier.load(run.folder).maps(photo(), "owl")
    assert found["labels"] == pytest.approx(expected.probabilities)
    assert np.allclose(found["hidden"], expected.hidden, atol=1e-6)
    assert found["agreement"] == pytest.approx(expected.agreement)
    assert list(found["maps"]) == list(expected.maps)
    assert [len(layer) for layer in found["heads"]] == [len(each) for each in expected.heads]
    for each in (*found["maps"].values(), *(head for layer in found["heads"] for head in layer)):
        assert np.shape(each) == tuple(found["grid"])


def test_hiding_and_switching_off_change_the_answer(runs: dict[str, OpenRun]) -> None:
    pixels = square(runs["vit"], photo())["pixels"]
    usual = image(runs["vit"], Image(pixels=pixels))
    hidden = image(runs["vit"], Image(pixels=pixels, label=usual["label"], hidden=[5]))
    fall = usual["labels"][usual["label"]] - hidden["labels"][usual["label"]]
    assert fall == pytest.approx(usual["hidden"][1][1], abs=1e-6)
    off = image(runs["vit"], Image(pixels=pixels, off=["encoder.0.1", "encoder.1.0"]))
    assert off["labels"] != usual["labels"]
    assert image(runs["vit"], Image(pixels=pixels)) == usual
    with pytest.raises(RequestError, match="no such head"):
        image(runs["vit"], Image(pixels=pixels, off=["encoder.9.1"]))
    with pytest.raises(RequestError, match="patches 0 to 15"):
        image(runs["vit"], Image(pixels=pixels, hidden=[16]))


def test_pixels_that_are_none_are_refused(runs: dict[str, OpenRun]) -> None:
    for wrong in ("", "!", packed(np.zeros((8, 8, 3), np.uint8))):
        with pytest.raises(RequestError, match="not the pixels"):
            image(runs["vit"], Image(pixels=wrong))
    with pytest.raises(DataError, match="web page"):
        square(runs["vit"], b"<html>not found</html>")


def test_validation_images_take_turns_by_label(runs: dict[str, OpenRun]) -> None:
    found = image_samples(runs["vit"], Samples())
    assert [each["label"] for each in found["samples"]] == LABELS * 2
    assert len(base64.b64decode(found["samples"][0]["pixels"])) == 16 * 16 * 3
    # A run whose images were removed still has its view.
    assert image_samples(runs["cnn"], Samples())["samples"] == []
    assert runs["cnn"].describe()["views"] == ["image", "training", "blocks"]


def test_positions_are_of_patches(runs: dict[str, OpenRun]) -> None:
    alike = image_positions(runs["vit"], Asked())["alike"]
    assert np.shape(alike) == (16, 16)
    assert np.allclose(np.diagonal(alike), 1, atol=1e-5)
    assert image_positions(runs["cnn"], Asked())["alike"] is None


def send(served: Served, data: bytes, **headers: str) -> Any:
    kind = {"Content-Type": "application/octet-stream"}
    return served.ask("/api/square?run=0", data, {**kind, **headers})


def test_a_file_is_sent_as_it_is(serving: Served, runs: dict[str, OpenRun]) -> None:
    answer = send(serving, photo())
    assert answer.status == 200
    assert answer.json() == square(runs["vit"], photo())
    found = serving.ask("/api/image", {"pixels": answer.json()["pixels"]})
    assert set(found.json()["labels"]) == set(LABELS)
    # What a form of another page could send is not read.
    refused = send(serving, photo(), **{"Content-Type": "text/plain"})
    assert refused.status == 400


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def bomb(side: int) -> bytes:
    """A small PNG of very many pixels."""
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    packer = zlib.compressobj(9)
    row = bytes(1 + 3 * side)
    lines = b"".join(packer.compress(row) for _ in range(min(side, 2000))) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bomb(50_000), "80 million pixels"),
        (bomb(9_000), "too many"),
        (b"\0" * 16_000_001, "more than 16 MB"),
        (b"", "empty"),
    ],
    ids=["pixels", "fewer pixels", "bytes", "nothing"],
)
def test_a_bomb_costs_nothing(data: bytes, message: str, serving: Served) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    try:
        answer = send(serving, data)
    except (BrokenPipeError, ConnectionError):
        assert len(data) > 16_000_000  # refused before all of it was sent
        return
    assert answer.status == 400
    assert message in answer.json()["error"]
    assert time.process_time() - start < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
