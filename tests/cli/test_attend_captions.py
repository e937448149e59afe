"""`regard attend` and `regard inspect positions` on runs that describe images or match them."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import regard
from regard.cli import main
from tests.captioned_runs import CAPTIONS, photo, write_captioners, write_matchers


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attending")
    write_captioners(folder)
    write_matchers(folder)
    Image.fromarray(photo(5, 20)).save(folder / "photo.png")
    return folder


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    main([*map(str, arguments), "--device", "cpu"])
    return capsys.readouterr().out


def test_a_caption_is_shown_word_by_word(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, image = folder / "transformer", folder / "photo.png"
    picture, table = tmp_path / "words.png", tmp_path / "words.csv"
    asked = ("attend", run, image, "--text", CAPTIONS[0])
    shown = said(capsys, *asked, "--picture", picture, "--csv", table)
    assert shown.startswith(CAPTIONS[0])
    assert "%  star" in shown
    assert "what hiding each patch does" in shown
    found = json.loads(said(capsys, *asked, "--json"))
    captioner = regard.load(run)
    expected = captioner.maps(image, captioner.tokenizer.encode(CAPTIONS[0]))
    assert found["words"] == CAPTIONS[0].split()
    assert np.allclose(found["hidden"], expected.hidden)
    with table.open() as file:
        header, *rows = csv.reader(file)
    assert header[1:3] == ["row 1, column 1", "row 1, column 2"]
    numbers = [[float(each) for each in row[1:]] for row in rows]
    assert np.allclose(numbers, expected.weights.reshape(5, -1))
    with Image.open(picture) as drawn:
        assert drawn.width > 600
    head = said(capsys, *asked, "--layer", "1", "--head", "0")
    assert "star: layer 1, head 0" in head
    # Without a text, the caption is the model's own.
    own = said(capsys, "attend", run, image)
    assert own.splitlines()[0] == captioner.caption(image)


@pytest.mark.parametrize("name", ["mean", "token"])
def test_a_text_is_compared_with_an_image(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, image, picture = folder / name, folder / "photo.png", tmp_path / "pair.svg"
    asked = ("attend", run, image, "--text", "a red star")
    shown = said(capsys, *asked, "--picture", picture)
    assert "without “red”" in shown
    assert ("share of the similarity" in shown) == (name == "mean")
    assert picture.read_text().count("<image") > 4
    found = json.loads(said(capsys, *asked, "--json"))
    expected = regard.load(run).similarity([image], ["a red star"])[0, 0]
    assert found["similarity"] == pytest.approx(float(expected), abs=1e-6)
    assert np.shape(found["together"]) == (3, *np.shape(found["hidden"]))


def test_positions_of_patches(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "positions.png"
    shown = said(capsys, "inspect", "positions", folder / "transformer", "--picture", picture)
    assert "4 × 4 patches" in shown
    with Image.open(picture) as drawn:
        assert drawn.width > 300
    found = json.loads(said(capsys, "inspect", "positions", folder / "mean", "--json"))
    alike = np.array(found["alike"])
    assert alike.shape == (4, 4, 4, 4)
    assert np.allclose([alike[r, c, r, c] for r in range(4) for c in range(4)], 1, atol=1e-5)
    assert np.allclose(alike, alike.transpose(2, 3, 0, 1), atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("attend", "mean", "PHOTO"), "say which text to compare"),
        (("attend", "mean", "PHOTO", "--text", " "), "the text is empty"),
        (("attend", "mean", "PHOTO", "--text", "a", "--layer", "0"), "no maps of heads"),
        (("attend", "mean", "PHOTO", "--label", "cat"), "takes --text instead"),
        (("attend", "lstm", "PHOTO", "--label", "cat"), "takes --text instead"),
        (("attend", "lstm", "PHOTO", "--text", ""), "the caption is empty"),
        (("attend", "lstm", "PHOTO", "--layer", "3"), "layer 3: the model has layers 0 to 0"),
        (("attend", "whole", "PHOTO", "--layer", "0"), "looks at the image as a whole"),
        (("attend", "lstm", "nowhere.png"), "nowhere.png: there is no such file"),
        (("inspect", "positions", "lstm"), "no positions of patches"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    arguments: tuple[str, ...],
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {"PHOTO": str(folder / "photo.png")}
    names |= {name: str(folder / name) for name in ("mean", "lstm", "whole")}
    with pytest.raises(SystemExit):
        said(capsys, *(names.get(each, each) for each in arguments))
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1
