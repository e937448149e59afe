"""One image: read as a person sees it, or refused in one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.data import images
from regard.data.image_costs import PixelBudget
from regard.data.images import decode, fitted, read
from regard.errors import DataError
from tests.data import odd_images

READABLE, GREY, REFUSED = odd_images.readable(), odd_images.grey(), odd_images.refused()
BOMBS = odd_images.bombs()
REFUSED_BOMBS = {
    *("too-large.png", "huge.png", "wrong-texts.png", "tile.tif", "strip.tif", "many-scans.jpg"),
}


def far(found: np.ndarray, wanted: np.ndarray) -> int:
    return int(np.abs(found.astype(int) - wanted.astype(int)).max())


@pytest.mark.parametrize("name", READABLE)
def test_an_odd_file_is_read_as_what_it_shows(name: str) -> None:
    data, tolerance = READABLE[name]
    scene = np.array(odd_images.scene())
    found = decode(data, name, 3)
    assert found.shape == scene.shape
    assert found.dtype == np.uint8
    assert far(found, scene) <= tolerance
    level = np.array(odd_images.scene().convert("L"))[..., None]
    assert far(decode(data, name, 1), level) <= tolerance + 2
    # Around what is transparent the filter overshoots a little differently.
    small, edge = fitted(data, 6, "squeeze", 3, name), 15 if "clear" in name else 3
    assert far(small, fitted(scene, 6, "squeeze", 3)) <= tolerance + edge


@pytest.mark.parametrize("name", GREY)
def test_grey_of_any_depth_is_read(name: str) -> None:
    level = np.array(odd_images.scene().convert("L"))
    assert far(decode(GREY[name], name, 1)[..., 0], level) <= 2
    assert far(decode(GREY[name], name, 3), np.repeat(level[..., None], 3, 2)) <= 2


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("error")
def test_a_bad_file_is_refused_in_one_sentence(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    data, words = REFUSED[name]
    for call in (
        lambda: decode(data, name, 3),
        lambda: fitted(data, 8, "crop", 1, name),
    ):
        with pytest.raises(DataError, match=words) as caught:
            call()
        text = str(caught.value)
        assert text.startswith(f"{name}: ")
        assert "\n" not in text
        assert len(text) < 250
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert capfd.readouterr() == ("", "")


def test_there_are_enough_of_them() -> None:
    assert len(READABLE) + len(GREY) + len(REFUSED) >= 60


def test_black_and_white(tmp_path: Path) -> None:
    checks = np.indices((8, 8)).sum(0) % 2 == 0
    path = tmp_path / "a.png"
    Image.fromarray(checks).save(path)
    assert (read(path, 1)[..., 0] == np.where(checks, 255, 0)).all()


def test_what_is_half_transparent_is_half_white() -> None:
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 128))
    assert far(decode(odd_images.saved(image, "PNG"), "a", 3), np.full((4, 4, 3), 127)) <= 1


def test_what_is_transparent_does_not_bleed_into_its_edges() -> None:
    pixels = np.zeros((8, 8, 4), np.uint8)
    pixels[:, :4] = 200, 0, 0, 255  # the rest is transparent black
    small = fitted(odd_images.saved(Image.fromarray(pixels), "PNG"), 4, "squeeze", 3)
    assert small[..., 0].min() >= 195


def test_colours_are_those_of_the_profile() -> None:
    swapped = odd_images.saved(odd_images.scene(), "PNG", icc_profile=odd_images.wide_profile())
    scene = np.array(odd_images.scene())
    assert far(decode(swapped, "a.png", 3), scene[..., ::-1]) <= 3


def test_a_line_of_pixels() -> None:
    line = Image.fromarray(np.full((1, 500, 3), 77, np.uint8))
    for image in (line, line.transpose(Image.Transpose.ROTATE_90)):
        data = odd_images.saved(image, "PNG")
        assert decode(data, "a", 3).shape == (*image.size[::-1], 3)
        for fit in ("crop", "squeeze"):
            assert (fitted(data, 16, fit, 3) == 77).all()
        padded = fitted(data, 16, "pad", 3)
        assert set(np.unique(padded)) == {77, 128}


def test_the_three_ways_to_fit() -> None:
    pixels = np.zeros((10, 30, 3), np.uint8)
    pixels[:, 10:20] = 200
    assert (fitted(pixels, 10, "crop", 3) == 200).all()
    squeezed = fitted(pixels, 10, "squeeze", 3)
    assert (squeezed[:, 0] == 0).all()
    assert (squeezed[:, 5] > 190).all()
    padded = fitted(pixels, 30, "pad", 1)
    assert (padded[:10] == 128).all()
    assert (padded[20:] == 128).all()
    assert (padded[10:20, 10:20] == 200).all()


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "CMYK"])
def test_every_kind_of_pixels_can_be_padded(mode: str) -> None:
    data = odd_images.saved(Image.new(mode, (8, 4)), "TIFF")
    assert far(fitted(data, 8, "pad", 3)[0], np.full((8, 3), 128)) <= 1


def test_a_square_of_the_right_size_is_left_alone() -> None:
    pixels = np.random.default_rng(1).integers(0, 255, (9, 9, 3), np.uint8)
    for fit in ("crop", "squeeze", "pad"):
        assert (fitted(pixels, 9, fit, 3) == pixels).all()
    assert (fitted(pixels[..., 0], 9, "crop", 1)[..., 0] == pixels[..., 0]).all()


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((4, 4, 3)),
        np.zeros((4, 4, 2), np.uint8),
        np.zeros((0, 4), np.uint8),
        np.zeros(4, np.uint8),
    ],
)
def test_pixels_that_are_none(pixels: np.ndarray) -> None:
    with pytest.raises(DataError, match=r"a\.npz:3: not an image"):
        fitted(pixels, 4, "crop", 3, "a.npz:3")


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "none.jpg", 3)
    with pytest.raises(DataError, match="folder"):
        read(tmp_path, 3)
    pipe = tmp_path / "pipe.jpg"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match="regular"):
        read(pipe, 3)
    large = tmp_path / "large.jpg"
    large.touch()
    os.truncate(large, images.MOST_BYTES + 1)
    with pytest.raises(DataError, match="more than the 50"):
        read(large, 3)
    with pytest.raises(DataError, match="50 MB"):
        decode(bytes(images.MOST_BYTES + 1), "a", 3)


MEASURE = """
import sys, time
from regard.data.images import fitted
from regard.errors import DataError
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    began = time.process_time()
    try:
        fitted(data, 96, "crop", 3)
        found = "read"
    except DataError:
        found = "refused"
    seconds = time.process_time() - began
    most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(path, found, seconds, int(most.split()[1]) / 1000)
"""


def test_a_bomb_costs_little(tmp_path: Path) -> None:
    """The largest that are read, and many that are refused."""
    for name, data in BOMBS.items():
        assert len(data) < 3_000_000
        (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-c", MEASURE, *(tmp_path / name for name in BOMBS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        path, found, seconds, megabytes = line.split()
        assert found == ("refused" if Path(path).name in REFUSED_BOMBS else "read"), line
        assert float(seconds) < 10, line
        assert float(megabytes) < 300, line


def test_several_images_share_a_budget_that_is_spent_before_they_are_decoded() -> None:
    budget = PixelBudget(2 * 12 * 8 + 1)
    small = odd_images.saved(odd_images.scene(), "PNG")
    for left in (12 * 8 + 1, 1):
        fitted(small, 8, "crop", 3, budget=budget)
        assert budget.left == left
    with pytest.raises(DataError, match=r"image 3: too many pixels in these images together"):
        fitted(small, 8, "crop", 3, "image 3", budget)
    with pytest.raises(DataError, match="cut off"):
        fitted(small[:60], 8, "crop", 3, budget=PixelBudget(12 * 8))
    # A JPEG is made smaller while it is decoded, a progressive one only afterwards.
    budget = PixelBudget(10**6)
    fitted(odd_images.saved(Image.new("L", (800, 800)), "JPEG"), 8, "crop", 3, budget=budget)
    assert budget.left == 10**6 - 100**2
    wide = odd_images.saved(Image.new("L", (800, 800)), "JPEG", progressive=True)
    fitted(wide, 8, "crop", 3, budget=budget)
    assert budget.left == 10**6 - 100**2 - 800**2
