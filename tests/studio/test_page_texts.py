"""The views that all models share, for models that do not translate, in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.inspect.maps import recorded_maps
from regard.studio.requests import Text
from regard.studio.runs import OpenRun, texts_of
from regard.studio.texts import text
from regard.tasks.attender import Attender
from tests.studio.browser import AXE
from tests.studio.conftest import Serving

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import Chrome

from tests.studio.test_page import Visitor, driver, lit, no_complaints

__all__ = ["driver", "no_complaints"]

TASKS = ("language-model", "masked-language-model", "classification", "tagging")
TEXT = "the grey [MASK] sleeps"


@pytest.fixture(scope="module", params=TASKS)
def opened(
    request: pytest.FixtureRequest, driver: tuple[Chrome, Path], text_folders: dict[str, Path]
) -> Iterator[tuple[Visitor, Path]]:
    folder = text_folders[request.param]
    with Serving([folder]) as served:
        yield Visitor(driver[0], served.address, driver[1]), folder
        driver[0].get("about:blank")


def maps_of(folder: Path) -> tuple[str, Any]:
    """The part of attention that a model has, and its maps of the text."""
    attender = Attender.load(folder)
    whole = attender.whole_pass(TEXT)
    maps = recorded_maps(attender.model, whole.read, whole.places, whole.places)
    return ("decoder" if attender.use == "writes" else "encoder"), maps


def test_attention_is_what_python_says(opened: tuple[Visitor, Path]) -> None:
    page, folder = opened
    page.open(view="alignment", text=TEXT, words=0, layer=1, head=1)
    part, maps = maps_of(folder)
    weights = maps.weights(part, 1, 1)
    page.wait(lambda: len(page.all(".row-label")) == len(weights))
    assert page.text("#tabs [aria-current]") == "Attention"
    for row, col in ((1, 0), (4, 2)):
        page.hover(row, col)
        page.wait(lambda row=row, col=col: lit(page) == [row, col])
        value = float(page.one(".readout .value").get_attribute("data-value") or "nan")
        assert value == pytest.approx(float(weights[row, col]), abs=1e-5)
    page.hover(1, 4)
    if part == "decoder":
        page.wait(lambda: "masked" in page.text(".readout"))
    else:
        page.wait(lambda: lit(page) == [1, 4] and page.all(".readout .value[data-value]"))


def test_numbers_add_up_to_the_weight(opened: tuple[Visitor, Path]) -> None:
    page, folder = opened
    part, maps = maps_of(folder)
    page.open(view="numbers", text=TEXT, kind=part, layer=1, head=0, row=3, col=2)
    page.wait(lambda: page.all(".scores .chosen"))
    shown = page.run(
        """return [...document.querySelectorAll(".scores tbody tr")].map((row) =>
          Number([...row.querySelectorAll("[data-value]")].at(-1).dataset.value));"""
    )
    assert shown == pytest.approx(maps.weights(part, 1, 0)[3].tolist(), abs=1e-5)


def test_a_head_is_switched_off_in_the_model(opened: tuple[Visitor, Path]) -> None:
    page, folder = opened
    page.open(view="heads", text=TEXT)
    part, _ = maps_of(folder)
    name = f"{part}.0.0"
    page.one('[aria-label="Head 1 of layer 1 on"]').click()
    page.wait(lambda: f"off={name}" in page.driver.current_url)
    page.wait(lambda: page.all(".effect h3"))
    run = OpenRun(folder)
    before, now = (text(run, Text(text=TEXT, off=off)) for off in ([], [name]))
    if "labels" in now:
        cells = [
            float(each.get_attribute("data-value") or "nan") for each in page.all("td[data-value]")
        ]
        order = sorted(before["labels"], key=lambda each: -before["labels"][each])
        expected = [kept["labels"][label] for label in order for kept in (before, now)]
        assert cells == pytest.approx(expected, abs=1e-6)
        assert expected[0] != expected[1]
    elif "steps" in now:
        totals = [
            sum(each["log_probability"] for each in kept["steps"][: kept["given"]])
            for kept in (before, now)
        ]
        change = float(page.one("[data-change]").get_attribute("data-change") or "nan")
        assert change == pytest.approx(totals[1] - totals[0], abs=1e-4)
    else:
        assert page.all("td[data-value]")
    page.run("document.querySelector('#tabs [data-view=text]').click()")
    page.wait(lambda: "1 head off" in page.text("main .below, .view .below"))
    page.run("document.querySelector('.view .below > button').click()")
    page.wait(lambda: "off=" not in page.driver.current_url)


def test_positions_and_compare_are_there(opened: tuple[Visitor, Path]) -> None:
    page, _ = opened
    page.open(view="positions", text=TEXT)
    page.wait(lambda: page.all(".view .matrix canvas"))
    page.wait(lambda: len([each for each in page.all(".trial td") if each.text != "…"]) == 2)
    page.open(view="compare", text=TEXT)
    page.wait(lambda: page.all(".pane-0 .row-label"))
    page.wait(lambda: page.text(".pane-0 .pane-output"))


@pytest.mark.parametrize("view", ["alignment", "heads", "numbers", "positions", "compare", "text"])
def test_nobody_is_shut_out(view: str, opened: tuple[Visitor, Path]) -> None:
    page, _ = opened
    size = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.open(view=view, text=TEXT)
        page.wait(lambda: page.all(".view h2"))
        assert page.run("return document.documentElement.scrollWidth") == 375
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    if not AXE.exists():
        pytest.skip("axe-core is missing: python tests/studio/browser.py")
    page.run(AXE.read_text("utf-8"))
    found = page.driver.execute_async_script(
        "axe.run({resultTypes: ['violations']}).then(arguments[0])"
    )
    serious = [
        each["id"] for each in found["violations"] if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_examples_are_lines_of_the_held_out_text(tmp_path: Path) -> None:
    lines = ["one", "a small grey cat sleeps", "two dogs sleep in the house", "x " * 40]
    (tmp_path / "held.txt").write_text("\n".join(lines), encoding="utf-8")
    recipe = {"data": {"folder": str(tmp_path), "train": ["no.txt"], "valid": ["held.txt"]}}
    found = [each["source"] for each in texts_of(recipe, "language-model")]
    assert found == lines[1:3]
    hidden = [each["source"] for each in texts_of(recipe, "masked-language-model")]
    assert hidden[0] == "a small [MASK] cat sleeps"
    assert texts_of({"data": {"train": ["gone.txt"]}}, "language-model") == []
