"""Tours: the built-in one, and those that a teacher writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.errors import RequestError
from regard.studio.tour import BUILT_IN, read_tour
from tests.studio.conftest import Served, Serving

STEP = {"title": "Look", "text": "Look at this.", "link": "view=heads&layer=1"}


def written(folder: Path, values: object) -> Path:
    path = folder / "my.json"
    path.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
    return path


def test_the_built_in_tour_asks_something_at_each_of_about_twelve_steps() -> None:
    tour = read_tour(BUILT_IN)
    # A model has one of three kinds of positions.
    steps = [step for step in tour["steps"] if "rotary" not in step["only"]]
    assert 11 <= len([step for step in steps if "learned" not in step["only"]]) <= 14
    assert all(step["ask"] and step["after"] for step in tour["steps"])


def test_a_tour_of_ones_own(tmp_path: Path) -> None:
    ask = {"question": "How many?", "number": 2}
    path = written(tmp_path, {"title": "Mine", "steps": [{**STEP, "ask": ask}]})
    assert read_tour(path)["steps"][0]["ask"]["within"] == 0.005


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ("{", "my.json: not JSON"),
        ({"title": "a"}, "my.json: steps: Field required"),
        ({"title": "a", "steps": []}, "steps: List should have at least 1"),
        ({"title": "a", "steps": [STEP, {"title": "b"}]}, "step 2, text: Field required"),
        ({"title": "a", "steps": [{**STEP, "link": "view=nowhere"}]}, "no view 'nowhere'"),
        ({"title": "a", "steps": [{**STEP, "link": "colour=red"}]}, "a link has no 'colour'"),
        (
            {"title": "a", "steps": [{**STEP, "ask": {"question": "?", "state": {"x": "*"}}}]},
            "a link has no 'x'",
        ),
        ({"title": "a", "steps": [{**STEP, "hint": "no"}]}, "step 1, hint: Extra inputs"),
    ],
)
def test_what_is_wrong_with_a_tour_is_said(values: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as found:
        read_tour(written(tmp_path, values))
    assert says in str(found.value)


@pytest.mark.parametrize(
    "ask",
    [
        {"question": "?", "number": 1, "fact": "pieces"},
        {"question": "?"},
        {"question": "?", "options": ["a", "b"], "right": 2},
        {"question": "?", "fact": "weather"},
    ],
)
def test_a_question_that_cannot_be_checked_is_refused(ask: Any, tmp_path: Path) -> None:
    path = written(tmp_path, {"title": "a", "steps": [{**STEP, "ask": ask}]})
    with pytest.raises(RequestError, match="step 1, ask"):
        read_tour(path)


def test_a_tour_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"none\.json: cannot be read"):
        read_tour(tmp_path / "none.json")


pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import Chrome, Keys  # noqa: E402

from tests.studio.browser import AXE  # noqa: E402
from tests.studio.test_page import Visitor, driver, no_complaints  # noqa: E402

__all__ = ["driver", "no_complaints"]

TEXT = "4 1 7"


@pytest.fixture(scope="module")
def page(driver: tuple[Chrome, Path], served: Served) -> Visitor:
    return Visitor(driver[0], served.address, driver[1])


def said(page: Visitor) -> str:
    return page.text(".tour-said")


def answer(page: Visitor, number: str) -> None:
    box = page.one(".tour-ask input")
    box.clear()
    box.send_keys(number, Keys.ENTER)


def test_the_tour_sets_the_page_asks_and_checks(page: Visitor) -> None:
    page.open(text=TEXT)
    page.wait(lambda: page.one("#tour").is_displayed())
    page.one("#tour").click()
    page.wait(lambda: "view=alignment" in page.driver.current_url)
    page.settle()
    answer(page, "99")
    assert "Not yet" in said(page)
    pieces = page.run("return document.querySelectorAll('.row-label').length") - 1
    answer(page, str(pieces))
    assert said(page).startswith("Right")
    page.one("#tour-card .next").click()
    page.wait(lambda: "box=source_embedding" in page.driver.current_url)
    answer(page, "32")
    assert said(page).startswith("Right")


def test_an_action_is_seen(page: Visitor) -> None:
    steps = read_tour(BUILT_IN)["steps"]
    steps = [each for each in steps if not {"rotary", "learned"} & set(each["only"])]
    number = next(at for at, each in enumerate(steps) if each["title"].startswith("Do we need"))
    page.open(text=TEXT, tour=number + 1, view="heads")
    page.wait(lambda: page.text("#tour-card h2").startswith("Do we need"))
    assert said(page) == ""
    page.press("1")
    page.wait(lambda: said(page).startswith("Right"))


def test_a_choice_is_checked_and_the_tour_ends(page: Visitor) -> None:
    page.open(text=TEXT, tour=60, view="training")
    page.wait(lambda: page.all(".tour-option"))
    page.all(".tour-option")[0].click()
    assert "Not yet" in said(page)
    page.all(".tour-option")[1].click()
    assert said(page).startswith("Right")
    page.one("#tour-card .next").click()
    page.wait(lambda: not page.one("#tour-card").is_displayed())
    assert "tour=" not in page.driver.current_url


def test_the_card_shuts_nobody_out(page: Visitor) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is missing: python tests/studio/browser.py")
    page.open(text=TEXT, tour=2, view="model", box="source_embedding")
    page.wait(lambda: page.all("#tour-card h2"))
    page.run(AXE.read_text("utf-8"))
    found = page.driver.execute_async_script(
        "axe.run('#tour-card', {resultTypes: ['violations']}).then(arguments[0])"
    )
    assert [x["id"] for x in found["violations"] if x["impact"] in ("serious", "critical")] == []


def test_a_run_gets_the_steps_that_it_has_views_for(
    driver: tuple[Chrome, Path], text_folders: dict[str, Path]
) -> None:
    with Serving([text_folders["tagging"]]) as served:
        visitor = Visitor(driver[0], served.address, driver[1])
        visitor.driver.get(f"{served.address}#view=text&text=the+cat")
        visitor.wait(lambda: visitor.one("#tour").is_displayed())
        visitor.one("#tour").click()
        visitor.wait(lambda: "worked=attention" in visitor.driver.current_url)
        assert "1 of 2" in visitor.text("#tour-card")
