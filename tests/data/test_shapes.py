"""Drawn shapes: the same for the same number, and enough for a demo."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.cli import demo, main
from regard.data import shapes
from regard.recipe import parse, read
from regard.recipe_names import find


def test_an_image_follows_from_its_number() -> None:
    first, again, other = (shapes.Shape(number).read() for number in (3, 3, 11))
    assert first.shape == (32, 32, 3)
    assert first.dtype == np.uint8
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert shapes.Shape(3).label == shapes.Shape(11).label == "moon"


def test_every_split_has_every_shape_equally_often() -> None:
    found = shapes.shapes()
    assert len(found) == sum(shapes.COUNTS.values())
    for split, count in shapes.COUNTS.items():
        own = [label for label, its in zip(found.labels, found.splits, strict=True) if its == split]
        assert len(own) == count
        assert {own.count(label) for label in shapes.LABELS} <= {count // 8, count // 8 + 1}


@pytest.mark.parametrize("label", shapes.LABELS)
def test_a_shape_is_lighter_than_its_ground_and_small(label: str) -> None:
    for seed in range(5):
        light = shapes.draw(label, seed).mean(-1)
        share = (light > (light.min() + light.max()) / 2).mean()
        assert 0.01 < share < 0.5


def test_outlines_stay_inside_the_image() -> None:
    for outlines in shapes.OUTLINES.values():
        for outline in outlines:
            assert max(np.hypot(x, y) for x, y in outline) < 1.3


def test_files_or_drawn_images_but_not_both() -> None:
    from regard.errors import RecipeError

    task = {"task": "image-classification"}
    assert parse({**task, "data": {"builtin": "shapes"}}, "a").data.shown() == "shapes"
    for wrong in ({}, {"builtin": "shapes", "train": ["photos"]}, {"builtin": "stars"}):
        with pytest.raises(RecipeError):
            parse({**task, "data": wrong}, "a")


def test_the_demo_trains_scores_and_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything but the length of it."""
    monkeypatch.setattr(shapes, "COUNTS", {"train": 64, "valid": 16, "test": 24})
    values = read(find("shapes-vit")).model_dump(mode="json")
    values["train"] |= {"steps": 4, "eval_every": 2, "save_every": 2, "warmup_steps": 1}
    values["train"] |= {"threads": 1, "device": "cpu"}
    monkeypatch.setattr(demo, "shipped", lambda name: parse(values, name))
    out = tmp_path / "shapes"
    main(["demo", "pictures", "--out", str(out)])
    said = capsys.readouterr()
    assert "24 images" in said.out
    assert "most frequent label" in said.out
    assert "patches hidden" in said.out
    assert f"regard studio {out} --open" in said.err
    with Image.open(out / "examples" / "star.png") as image:
        assert image.size == (32, 32)
