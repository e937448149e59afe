"""What `regard check` finds in images."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.cli import main


def draw(path: Path, seed: int, size: tuple[int, int] = (12, 10)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (*size, 3), np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for number in range(40):
        draw(tmp_path / "photos" / ("cat", "dog")[number % 2] / f"{number}.png", number)
    return tmp_path / "photos"


def report(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> dict[str, Any]:
    """The report as JSON."""
    if code:
        with pytest.raises(SystemExit) as stopped:
            main(["check", *map(str, words), "--json"])
        assert stopped.value.code == code
    else:
        main(["check", *map(str, words), "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def codes(found: dict[str, Any], severity: str = "") -> list[str]:
    return [each["code"] for each in found["findings"] if severity in ("", each["severity"])]


def test_good_images_get_facts_and_no_finding(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(capsys, photos)
    assert found["kind"] == "images"
    assert found["facts"]["images"] == 40
    assert found["facts"]["labels"] == {"cat": 20, "dog": 20}
    assert found["facts"]["pixels"] == {"width": 10, "height": 12, "least": 10, "most": 12}
    assert found["facts"]["train takes"]
    assert codes(found) == []
    assert {each["texts"][0] for each in found["samples"]} == {"cat", "dog"}


def test_an_archive_is_recognised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(1)
    arrays = {
        "x_train": random.integers(0, 255, (30, 8, 8), np.uint8),
        "y_train": np.arange(30) % 3,
        "x_test": random.integers(0, 255, (6, 8, 8), np.uint8),
        "y_test": np.arange(6) % 3,
    }
    np.savez(tmp_path / "digits.npz", **arrays)
    found = report(capsys, tmp_path / "digits.npz")
    assert found["facts"]["divided"] == {"train": 30, "test": 6}
    main(["check", str(tmp_path / "digits.npz")])
    assert "digits.npz:train:" in capsys.readouterr().out  # a word between colons stays a word


def test_what_is_odd_is_named(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (photos / "cat" / "0.png").rename(photos / "kept.png")
    (photos / "kept.png").rename(photos / "cat" / "0.png")
    (photos / "dog" / "same.png").write_bytes((photos / "cat" / "0.png").read_bytes())
    (photos / "dog" / "cut.png").write_bytes((photos / "cat" / "2.png").read_bytes()[:100])
    found = report(capsys, photos)
    assert {"duplicates", "conflicts", "damaged"} <= {*codes(found)}
    assert codes(found, "error") == []


def test_every_web_page_and_empty_file_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(400):
        draw(tmp_path / "photos" / ("cat", "dog")[number % 2] / f"{number}.png", number, (8, 8))
    for number in range(0, 400, 40):
        (tmp_path / "photos" / "cat" / f"{number}a.jpg").write_bytes(b"<html>404</html>")
        (tmp_path / "photos" / "dog" / f"{number}b.jpg").touch()
    found = report(capsys, tmp_path / "photos")
    (damaged,) = [each for each in found["findings"] if each["code"] == "damaged"]
    assert damaged["sentence"].startswith("20 of 420")


def test_images_in_both_parts_of_a_split(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photos.rename(photos.parent / "train")
    for name in ("cat/0.png", "dog/1.png"):
        copy = photos / "val" / name
        copy.parent.mkdir(parents=True)
        copy.write_bytes((photos.parent / "train" / name).read_bytes())
    (photos.parent / "train").rename(photos / "train")
    found = report(capsys, photos)
    assert found["facts"]["divided"] == {"train": 40, "valid": 2}
    assert "overlap" in codes(found, "warning")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (
            lambda photos: [each.write_bytes(b"\xff\xd8\xff") for each in photos.rglob("1*")],
            "damaged",
        ),
        (lambda photos: (photos / "dog").rename(photos / "cat" / "inner"), "unreadable"),
    ],
)
def test_what_cannot_be_meant_stops(
    damage: Any, code: str, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(photos)
    found = report(capsys, "--images", photos, code=1)
    assert code in codes(found, "error")
    with pytest.raises(SystemExit):
        main(["train", "--images", str(photos), "--out", str(photos.parent / "run")])
    assert not (photos.parent / "run").exists()


def test_labels_that_differ_in_case_only(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw(photos / "Dog" / "a.png", 77)
    draw(photos / "DOG" / "b.png", 78)
    found = report(capsys, photos)
    assert codes(found, "warning") == ["label-case"]
    (sentence,) = (each["sentence"] for each in found["findings"] if each["code"] == "label-case")
    assert "DOG (1) and Dog (1) and dog (20)" in sentence
