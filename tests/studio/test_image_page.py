"""The view of images in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image as Pillow

from regard.tasks.image_classification import ImageClassifier
from tests.studio.browser import AXE
from tests.studio.conftest import Serving
from tests.studio.test_images import photo, write_images

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import Chrome, Keys

from tests.studio.test_page import Visitor, driver, no_complaints

__all__ = ["driver", "no_complaints"]


@pytest.fixture(scope="module")
def image_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_images(tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="module")
def page(driver: tuple[Chrome, Path], image_folders: dict[str, Path]) -> Iterator[Visitor]:
    with Serving(list(image_folders.values())) as served:
        yield Visitor(driver[0], served.address, driver[1])


def shares(page: Visitor) -> dict[str, float]:
    found = page.run(
        """return [...document.querySelectorAll(".label-bar")].map((each) =>
          [each.dataset.label, Number(each.dataset.value)]);"""
    )
    return dict(found)


def click(page: Visitor, selector: str, number: int = 0) -> None:
    """In one step, since an answer of the server may draw the view again between two."""
    page.wait(lambda: len(page.all(selector)) > number)
    page.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, number)


def values(page: Visitor) -> list[float]:
    return page.run(  # type: ignore[no-any-return]
        "return [...document.querySelectorAll('.patch')].map((each) => Number(each.dataset.value))"
    )


def test_a_sample_is_labelled_and_its_map_is_pythons(
    page: Visitor, image_folders: dict[str, Path]
) -> None:
    page.open(view="image", sample=2)
    page.wait(lambda: shares(page))
    assert len(page.all(".sample")) == 6
    pixels = Pillow.open(image_folders["vit"].parent / "photos" / "owl" / "2.png")
    expected = ImageClassifier.load(image_folders["vit"]).maps(pixels)
    assert shares(page) == pytest.approx(expected.probabilities, abs=1e-5)
    drawn = expected.maps["gradient × attention"].flatten().tolist()
    assert values(page) == pytest.approx(drawn, abs=1e-5)
    click(page, ".image-right input[value='rollout']")
    drawn = expected.maps["rollout"].flatten().tolist()
    page.wait(lambda: values(page) == pytest.approx(drawn, abs=1e-5))


def test_a_hidden_patch_changes_the_probabilities_and_comes_back(page: Visitor) -> None:
    page.open(view="image", sample=1, map="patches hidden")
    before = page.wait(lambda: shares(page))
    likeliest, effect = next(iter(before)), values(page)[6]
    click(page, ".patch", 6)
    page.wait(lambda: page.all(".points"))
    assert before[likeliest] - shares(page)[likeliest] == pytest.approx(effect, abs=1e-5)
    assert "hidden=6" in page.driver.current_url
    click(page, ".image-right .controls button")
    page.wait(lambda: not page.all(".points"))
    assert shares(page) == before


def test_only_the_keyboard(page: Visitor) -> None:
    page.open(view="image")
    page.wait(lambda: shares(page))
    page.run("document.querySelector('.patch[tabindex=\"0\"]').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.wait(lambda: page.text(".readout-of-patch").startswith("Row 2, column 3"))
    page.press(Keys.SPACE)
    page.wait(lambda: page.all(".hidden-patch"))
    focused = "return document.activeElement.getAttribute('aria-label')"
    page.wait(lambda: page.run(focused) == "Patch in row 2, column 3, hidden")
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all(".hidden-patch"))


def test_a_head_is_switched_off_and_another_label_asked_about(page: Visitor) -> None:
    page.open(view="image", map="heads", layer=1, head=0)
    before = page.wait(lambda: shares(page))
    click(page, '[aria-label="Head 2 of layer 1 on"]')
    page.wait(lambda: page.all(".head.off"))
    page.wait(lambda: shares(page) != before)
    third = list(shares(page))[2]
    click(page, ".label-bar", 2)
    page.wait(lambda: page.text('.label-bar[aria-pressed="true"]').startswith(third))
    assert "off=encoder.0.1" in page.driver.current_url


def test_an_image_of_ones_own(
    page: Visitor, image_folders: dict[str, Path], tmp_path: Path
) -> None:
    page.open(view="image")
    page.wait(lambda: shares(page))
    path = tmp_path / "own.png"
    path.write_bytes(photo())
    page.one(".file-input").send_keys(str(path))
    expected = ImageClassifier.load(image_folders["vit"]).classify(path).probabilities
    page.wait(lambda: shares(page) == pytest.approx(expected, abs=1e-5))
    assert not page.all('.sample[aria-pressed="true"]')
    bad = tmp_path / "bad.png"
    bad.write_text("<html>")
    page.one(".file-input").send_keys(str(bad))
    page.wait(lambda: "web page" in page.text(".problem"))
    # A refused request is also written to the browser's log, which is no complaint of the page.
    severe = [each for each in page.driver.get_log("browser") if each["level"] == "SEVERE"]
    assert all("400" in each["message"] for each in severe)


@pytest.mark.parametrize("width", [1440, 375])
def test_it_fits_and_nobody_is_shut_out(width: int, page: Visitor) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.open(view="image", map="heads", hidden="1,2")
        page.wait(lambda: page.all(".points"))
        assert page.run("return document.documentElement.scrollWidth") <= width
        if AXE.exists():
            page.run(AXE.read_text())
            found = page.driver.execute_async_script(
                "axe.run().then((found) => arguments[0](found.violations.map((v) => v.id)))"
            )
            assert found == []
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_cnn_has_its_own_map(page: Visitor, tmp_path: Path) -> None:
    page.open(view="image", run=1)
    page.wait(lambda: "Give the model an image" in page.text("main"))
    path = tmp_path / "own.png"
    path.write_bytes(photo())
    page.one(".file-input").send_keys(str(path))
    page.wait(lambda: shares(page))
    maps = [each.get_attribute("value") for each in page.all(".image-right input[type=radio]")]
    assert maps == ["image", "Grad-CAM", "patches hidden"]
