"""The model view in a real browser."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.studio.model import outline, stage
from regard.studio.requests import Input, InStage
from regard.studio.runs import OpenRun
from tests.studio.browser import AXE
from tests.studio.conftest import SENTENCE, Served, Serving
from tests.studio.test_model import asked

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import Chrome, Keys

from tests.studio.test_page import Visitor, driver, no_complaints

__all__ = ["driver", "no_complaints"]

TEXT = "4 1 7"
TEXT_KINDS = ("language-model", "masked-language-model", "classification", "tagging")


@pytest.fixture(scope="module")
def page(driver: tuple[Chrome, Path], served: Served) -> Visitor:
    return Visitor(driver[0], served.address, driver[1])


def opened(page: Visitor, **state: Any) -> None:
    page.open(view="model", text=TEXT, **state)
    page.wait(lambda: page.all(".model-box"))


def test_the_figure_has_the_boxes_and_numbers_of_python(
    page: Visitor, folders: dict[str, Path]
) -> None:
    opened(page, box="encoder.0.self_attention")
    run = OpenRun(folders["digits"])
    with run.translator() as translator:
        target = translator.tokenizers.target.encode(translator.translate([TEXT])[0])
    values = {**asked(run), "output": target}
    found = outline(run, Input(**values))
    names = [box["name"] for stack in found["stacks"] for box in stack["boxes"]]
    script = "return [...document.querySelectorAll('[data-box]')].map((each) => each.dataset.box)"
    assert page.run(script) == names
    page.wait(lambda: len(page.all(".sheet")) >= 2)
    numbers = stage(run, InStage(**values, box="encoder.0.self_attention", stage=0))
    sheet = page.all(".sheet-frame")[0]
    sheet.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    said = page.wait(lambda: page.text(".sheet-readout"))
    expected = f"{abs(float(numbers[1, 1])):.4f}"
    assert said.endswith(expected)


def test_a_number_is_followed_to_its_products(page: Visitor) -> None:
    opened(page, box="decoder.0.feed_forward")
    page.wait(lambda: len(page.all(".sheet")) >= 3)
    page.all(".stage")[2].find_element("css selector", ".sheet-frame").send_keys(Keys.ENTER)
    page.wait(lambda: page.all(".chain dd"))
    sums = [float(each.get_attribute("data-value") or "nan") for each in page.all(".chain dd")]
    assert sums[-1] == pytest.approx(sum(sums[:-1]), abs=1e-9)
    head = page.text(".behind h5")
    assert f"{abs(sums[-1]):.4f}" in head


def test_a_box_opens_and_closes_by_keyboard_and_is_in_the_link(page: Visitor) -> None:
    opened(page)
    button = page.one("[data-box='decoder.1.cross_attention']")
    button.send_keys(Keys.ENTER)
    page.wait(lambda: page.all(".stages"))
    assert "box=decoder.1.cross_attention" in page.driver.current_url
    assert button.get_attribute("aria-expanded") == "true"
    page.one(".model-detail .link").click()
    page.wait(lambda: "view=numbers" in page.driver.current_url)
    assert "kind=cross" in page.driver.current_url or "layer=1" in page.driver.current_url


@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_every_kind_of_model_has_its_figure(
    kind: str, driver: tuple[Chrome, Path], text_folders: dict[str, Path]
) -> None:
    with Serving([text_folders[kind]]) as served:
        visitor = Visitor(driver[0], served.address, driver[1])
        text = "the [MASK] cat" if kind == "masked-language-model" else SENTENCE
        visitor.driver.get(f"{served.address}#view=model&box=output&text={text}")
        visitor.wait(lambda: visitor.all(".model-box") and visitor.all(".sheet"))
        shares = visitor.all(".stage")
        assert len(shares) >= 2


@pytest.fixture
def narrow(page: Visitor) -> Iterator[None]:
    size = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_an_opened_box_stands_below_its_button_where_there_is_little_room(
    page: Visitor, narrow: None
) -> None:
    opened(page, box="encoder.0.feed_forward")
    page.wait(lambda: page.all(".sheet"))
    where = page.run(
        "const box = (each) => document.querySelector(each).getBoundingClientRect();"
        "return [box('[data-box=\"encoder.0.feed_forward\"]').bottom, box('.model-detail').top,"
        "document.documentElement.scrollWidth]"
    )
    assert abs(where[0] - where[1]) < 30
    assert where[2] == 375


def test_an_opened_box_shuts_nobody_out(page: Visitor) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is missing: python tests/studio/browser.py")
    opened(page, box="decoder.0.cross_attention")
    page.wait(lambda: len(page.all(".sheet")) >= 3)
    page.all(".sheet-frame")[2].send_keys(Keys.ENTER)
    page.wait(lambda: page.all(".chain dd"))
    time.sleep(0.4)
    page.run(AXE.read_text("utf-8"))
    found = page.driver.execute_async_script(
        "axe.run({resultTypes: ['violations']}).then(arguments[0])"
    )
    faults = [
        (each["id"], [node["html"][:120] for node in each["nodes"]][:3])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert faults == []
