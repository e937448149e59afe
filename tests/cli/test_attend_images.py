"""`regard attend` on a run that sees images, written and not trained."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from regard.cli import main
from regard.recipe import parse
from regard.run import Run
from regard.weights import build, save_model, weights

LABELS = ["cat", "dog", "owl"]
MODELS: dict[str, dict[str, Any]] = {
    "vit": {"num_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 2, "patch_size": 4},
    "cnn": {"widths": [8, 8]},
}


def write_run(folder: Path, kind: str) -> Path:
    data = {"train": ["photos"], "image_size": 16}
    model = {"kind": kind, **MODELS[kind]}
    recipe = parse({"task": "image-classification", "data": data, "model": model}, "test")
    run = Run(folder / kind)
    run.folder.mkdir(parents=True)
    run.save_recipe(recipe)
    run.labels_path.write_text(json.dumps({"labels": LABELS}))
    torch.manual_seed(2)
    sizes = {"height": 16, "width": 16, "channels": 3, "outputs": len(LABELS)}
    save_model(run, weights(build(recipe, sizes)), 1, sizes)
    run.save_info({"step": 1})
    return run.folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("looking")
    for kind in MODELS:
        write_run(folder, kind)
    pixels = np.random.default_rng(1).integers(0, 256, (20, 30, 3), np.uint8)
    Image.fromarray(pixels).save(folder / "photo.png")
    return folder


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    main(["attend", *map(str, arguments), "--device", "cpu"])
    return capsys.readouterr().out


@pytest.mark.parametrize(("kind", "name"), [("vit", "gradient × attention"), ("cnn", "Grad-CAM")])
def test_labels_maps_and_a_picture(
    kind: str, name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, table = tmp_path / "maps.png", tmp_path / "map.csv"
    files = ("--picture", picture, "--csv", table)
    shown = said(capsys, folder / kind, folder / "photo.png", "--label", "owl", *files)
    assert all(label in shown for label in LABELS)
    assert "darker is more" in shown
    assert name in shown
    assert "rank correlation with what hiding each patch does" in shown
    with Image.open(picture) as drawn:
        assert drawn.width > 400
        assert len(drawn.convert("RGB").getcolors(1 << 20) or []) > 100
    found = json.loads(
        said(capsys, folder / kind, folder / "photo.png", "--label", "owl", "--json")
    )
    assert found["label"] == "owl"
    assert sum(found["probabilities"].values()) == pytest.approx(1)
    with table.open() as file:
        rows = list(csv.reader(file))[1:]
    numbers = [[float(each) for each in row[1:]] for row in rows]
    assert np.allclose(numbers, found["maps"][name])


def test_one_head(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = said(capsys, folder / "vit", folder / "photo.png", "--layer", "1", "--head", "0")
    assert "layer 1, head 0" in shown
    assert "rollout" not in shown


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        ("vit", ("nowhere.png",), "nowhere.png: there is no such file"),
        ("vit", ("PHOTO", "--label", "cow"), "no such label; it knows cat, dog, owl"),
        ("vit", ("PHOTO", "--layer", "7"), "layer 7: the model has layers 0 to 1"),
        ("cnn", ("PHOTO", "--layer", "0"), "no attention heads; its map is Grad-CAM"),
        ("vit", ("PHOTO", "--pieces"), "--pieces is for texts"),
        ("vit", ("PHOTO", "--html", "a.html"), "--html is for texts"),
        ("vit", ("PHOTO", "--picture", "a.jpg"), "not a kind of picture"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    kind: str,
    arguments: tuple[str, ...],
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    photo = str(folder / "photo.png")
    with pytest.raises(SystemExit):
        said(capsys, folder / kind, *(each.replace("PHOTO", photo) for each in arguments))
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_a_terminal_with_colours_shows_image_and_maps_side_by_side(folder: Path) -> None:
    from regard.inspect.images.drawing import terminal_maps
    from regard.tasks.image_classification import ImageClassifier

    found = ImageClassifier.load(folder / "vit").maps(folder / "photo.png")
    panels = found.panels(None, None)
    lines = terminal_maps(found.pixels, panels, 100).plain.splitlines()
    assert len(lines) == 1 + 8
    assert {len(line) for line in lines} == {4 * 16 + 6}
    lines = terminal_maps(found.pixels, panels, 40).plain.splitlines()
    assert len(lines) == 2 * (1 + 8)
