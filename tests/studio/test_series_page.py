"""The view of series in a real browser."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.studio.requests import Looked, Window
from regard.studio.runs import OpenRun
from regard.studio.series import series_forecast, series_past
from tests.series_runs import CONTEXT, HORIZON, LENGTH, write_forecasters
from tests.studio.browser import AXE
from tests.studio.conftest import Serving
from tests.studio.test_image_page import click

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import ActionChains, Chrome, Keys

from tests.studio.test_page import Visitor, driver, no_complaints

__all__ = ["driver", "no_complaints"]

USUAL = LENGTH - HORIZON


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_forecasters(tmp_path_factory.mktemp("series"))


@pytest.fixture(scope="module")
def page(driver: tuple[Chrome, Path], folders: dict[str, Path]) -> Iterator[Visitor]:
    with Serving(list(folders.values())) as served:
        yield Visitor(driver[0], served.address, driver[1])


def opened(page: Visitor, **state: Any) -> None:
    page.open(view="series", **state)
    page.wait(lambda: page.all(".fan .median") and page.all(".past-bar"))


def end(page: Visitor) -> int:
    return int(page.one(".end-handle").get_attribute("aria-valuenow") or -1)


def median(page: Visitor) -> str:
    """The line of the forecast; "" while it is not there."""
    script = "return document.querySelector('.fan .median')?.getAttribute('d') ?? ''"
    return str(page.run(script))


def other(page: Visitor, before: str) -> str:
    """The line of another forecast than before."""
    return str(page.wait(lambda: median(page) if median(page) != before else ""))


def kept(page: Visitor, name: str, value: object) -> None:
    """The address holds what was chosen."""
    page.wait(lambda: f"{name}={value}" in page.driver.current_url)


def test_a_series_has_a_fan_and_dates_of_the_place(page: Visitor, folders: dict[str, Path]) -> None:
    opened(page)
    assert len(page.all(".fan .interval")) == 3
    for name in ("past", "came", "naive", "median"):
        assert page.all(f".fan .curve.{name}")
    assert not page.all(".fan .usual")
    assert end(page) == USUAL
    found = series_forecast(OpenRun(folders["transformer"]), Window(end=USUAL))
    said = page.text(".series-note")
    assert "what came on average, seasonal naive" in said
    assert "Europe/Berlin" in said
    spoken = page.one(".end-handle").get_attribute("aria-valuetext")
    assert spoken == found["ahead"][0]
    ticks = page.run("return [...document.querySelectorAll('.fan .tick')].map((e) => e.innerHTML)")
    assert any(tick.startswith("Apr ") for tick in ticks)
    assert page.text(".warning") == ""


def test_the_end_of_the_past_is_moved_by_keys(page: Visitor) -> None:
    opened(page)
    first = median(page)
    page.run("document.querySelector('.end-handle').focus()")
    page.press(Keys.ARROW_LEFT)
    second = other(page, first)
    assert end(page) == USUAL - 1
    page.press(Keys.PAGE_DOWN)
    page.wait(lambda: end(page) == USUAL - 25)
    other(page, second)
    kept(page, "end", USUAL - 25)
    page.press(Keys.HOME)
    page.wait(lambda: end(page) == 1)
    page.wait(lambda: "The model learned from the shaded part" in page.text(".series-note"))
    page.press(Keys.END)
    page.wait(lambda: end(page) == LENGTH)
    page.wait(lambda: "not known yet" in page.text(".series-note"))
    assert not page.all(".fan .came")
    page.press(Keys.PAGE_UP, Keys.ARROW_RIGHT)
    kept(page, "end", LENGTH)
    assert end(page) == LENGTH
    assert page.run("return document.activeElement.getAttribute('class')") == "end-handle"


def test_the_end_of_the_past_is_dragged(page: Visitor) -> None:
    opened(page)
    first = median(page)
    grip = page.one(".end-handle .grip")
    hand = ActionChains(page.driver).click_and_hold(grip).move_by_offset(-90, 0).pause(0.5)
    hand.move_by_offset(-90, 0).pause(0.5).move_by_offset(60, 0).release().perform()
    other(page, first)
    width = page.run("return document.querySelector('.fan').clientWidth")
    # The chart has what the model reads, a horizon, and another one before it.
    steps = CONTEXT + 2 * HORIZON
    assert USUAL - end(page) == pytest.approx(120 * steps / width, abs=2)
    kept(page, "end", end(page))
    # The other slider moves over the whole series.
    page.run(
        """const range = document.querySelector(".overview-box input");
        range.value = 100;
        range.dispatchEvent(new Event("input"));"""
    )
    page.wait(lambda: end(page) == 100)
    kept(page, "end", 100)


def test_a_column_is_switched_off(page: Visitor) -> None:
    opened(page, run=1)
    first = median(page)
    click(page, ".columns-known input", 0)
    changed = other(page, first)
    assert changed
    page.wait(lambda: page.all(".fan .usual"))
    page.wait(lambda: page.text(".series-effect").startswith("Without holiday, the median moves"))
    kept(page, "without", 0)
    click(page, ".columns-known input", 1)
    page.wait(lambda: "holiday and time of day" in page.text(".series-effect"))
    click(page, ".columns-known button")
    page.wait(lambda: median(page) == first)
    assert not page.all(".fan .usual")
    assert page.text(".series-effect") == ""


def test_a_series_is_searched_for(page: Visitor) -> None:
    opened(page)
    first = median(page)
    box = page.one(".series-search input")
    box.click()
    box.send_keys(Keys.BACKSPACE, "wing")
    page.wait(lambda: "1 of 3 match" in page.text(".series-search"))
    box.send_keys(Keys.ENTER)
    page.wait(lambda: box.get_attribute("value") == "north wing")
    kept(page, "series", 2)
    other(page, first)
    box.click()
    box.send_keys(Keys.BACKSPACE, "nowhere")
    page.wait(lambda: "No series has this" in page.text(".series-search"))
    box.send_keys(Keys.ESCAPE)
    page.wait(lambda: box.get_attribute("value") == "north wing")
    click(page, ".series-search button", 1)
    page.wait(lambda: box.get_attribute("value") == "north")


def test_the_past_that_counts_is_below_the_chart(page: Visitor, folders: dict[str, Path]) -> None:
    opened(page, end=300)
    found = series_past(OpenRun(folders["transformer"]), Looked(end=300))
    parts = len(found["parts"])
    page.wait(lambda: len(page.all(".past-cell")) == parts * len(found["ahead"]))
    assert len(page.all(".past-bar")) == parts
    titles = page.run(
        "return [...document.querySelectorAll('.past-cell title')].map((each) => each.textContent)"
    )
    share = 100 * found["attention"][0][0]
    assert titles[0] == f"from {found['ahead'][0]} to {found['parts'][0]}: {share:.1f} %"
    page.run("document.querySelector('.past-numbers').open = true")
    assert len(page.all(".past-numbers tbody tr")) == parts
    assert found["parts"][0] in page.text(".past-numbers")
    # The last part ends where the past does.
    places = page.run(
        """const last = (name) => [...document.querySelectorAll(name)].at(-1);
        const box = (name) => last(name).getBoundingClientRect();
        return [box(".past-cell").right, box(".end-handle line").left];"""
    )
    assert places[0] == pytest.approx(places[1], abs=2)
    page.run(
        """const box = document.querySelector(".series-body select");
        box.selectedIndex = 2;
        box.dispatchEvent(new Event("change"));"""
    )
    kept(page, "layer", 1)
    page.wait(lambda: len(page.all(".series-body select")) == 2)
    opened(page, run=1)
    assert not page.all(".past-cell")
    assert "no attention" in page.text(".series-body")


def test_scores_stand_beside_seasonal_naive(page: Visitor) -> None:
    opened(page, run=1)
    click(page, ".series-scores button")
    page.wait(lambda: page.all(".score-tables"))
    text = page.text(".series-scores")
    for word in ("MASE", "seasonal naive", "before calibration", "95 %", "by hour of the day"):
        assert word in text
    assert "better than seasonal naive" in text
    page.wait(lambda: len(page.all(".series-scores .chart .curve")) == 4)


def test_a_run_that_loses_says_so(page: Visitor) -> None:
    opened(page, run=2)
    assert "no better than the seasonal naive forecast" in page.text(".warning")


def test_it_is_saved(page: Visitor) -> None:
    opened(page, end=300)
    click(page, ".exports button", 0)
    drawn = page.saved("regard-series-*.svg").read_text()
    assert drawn.count("<polygon") == 3
    assert "north" in drawn
    click(page, ".exports button", 2)
    with page.saved("regard-series-*.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(bool(row["median"]) for row in rows) == HORIZON
    assert {"low_95", "high_95", "seasonal naive"} <= rows[0].keys()


def test_training_has_the_scores_of_forecasts(page: Visitor) -> None:
    page.open(view="training")
    page.wait(lambda: "MASE (validation)" in page.text(".charts"))
    assert "seasonal naive" in page.text(".charts")
    page.wait(lambda: "12 steps ahead" in page.text(".sample-outputs"))
    assert not page.all(".sample-outputs td button")


def test_dates_of_an_axis(page: Visitor) -> None:
    script = """const done = arguments[0];
    import("/dates.js").then(({ dateTicks }) => {
      const pad = (value) => String(value).padStart(2, "0");
      const day = (at) => new Date(Date.UTC(2023, 11, 20) + at * 864e5).toISOString().slice(0, 10);
      const many = (length, name) => Array.from({ length }, (_, at) => name(at));
      const hour = (at) => `${day(Math.floor(at / 24))} ${pad(at % 24)}:00`;
      const month = (at) => `${2010 + Math.floor(at / 12)}-${pad(1 + (at % 12))}-01`;
      done({
        hours: dateTicks(many(48, hour), 8),
        days: dateTicks(many(30, day), 6),
        years: dateTicks(many(120, month), 5),
        rows: dateTicks(["300", "301", "302", "303", "304"], 3),
        one: dateTicks(["2024-01-01"], 3),
      });
    });"""
    page.open(view="series")
    found = page.driver.execute_async_script(script)
    assert found["hours"] == [
        *([6, "Dec 20 06:00"], [12, "12:00"], [18, "18:00"], [24, "Dec 21"]),
        *([30, "06:00"], [36, "12:00"], [42, "18:00"]),
    ]
    assert found["days"] == [
        *([5, "Dec 25, 2023"], [12, "Jan 1"], [19, "Jan 8"], [26, "Jan 15"]),
    ]
    assert found["years"] == [[24, "2012"], [48, "2014"], [72, "2016"], [96, "2018"]]
    assert found["rows"] == [[0, "300"], [2, "302"], [4, "304"]]
    assert found["one"] == [[0, "2024-01-01"]]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 375])
def test_it_fits_and_nobody_is_shut_out(width: int, theme: str, page: Visitor) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        opened(page, without=0, end=360)
        click(page, ".series-scores button")
        page.wait(lambda: page.all(".score-tables"))
        assert page.run("return document.documentElement.scrollWidth") <= width
        if AXE.exists():
            page.run(AXE.read_text())
            found = page.driver.execute_async_script(
                "axe.run().then((found) => arguments[0](found.violations.map((v) => v.id)))"
            )
            assert found == []
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
