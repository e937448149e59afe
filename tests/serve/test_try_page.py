"""The pages that try a request and describe the interface, in a real browser."""

import pytest

from tests.serve.conftest import Live
from tests.studio.browser import AXE

pytest.importorskip("selenium", reason="selenium is not installed")
from pathlib import Path

from selenium.webdriver import Chrome

from tests.studio.test_page import Visitor, driver, no_complaints

__all__ = ["driver", "no_complaints"]


def visited(driver: tuple[Chrome, Path], live: Live, path: str) -> Visitor:
    visitor = Visitor(driver[0], live.url, driver[1])
    visitor.driver.get("about:blank")
    visitor.driver.get(f"{live.url}/{path}")
    return visitor


def test_what_is_typed_is_translated(driver: tuple[Chrome, Path], live: Live) -> None:
    page = visited(driver, live, "try")
    page.wait(lambda: page.text("#request"))
    page.one("#text").send_keys("the cat")
    translated = page.wait(lambda: page.text("#translation"))
    asked = page.run("return document.getElementById('source').value")
    target = page.run("return document.getElementById('target').value")
    values = {"q": "the cat", "source": asked, "target": target}
    assert translated == live.client.post("/translate", json=values).json()["translatedText"]
    page.one("#text").clear()
    page.one("#text").send_keys(" ")
    page.wait(lambda: page.text("#translation") == "")
    assert len(page.all("button.copy")) == 3
    page.all("button.copy")[1].click()
    page.wait(lambda: page.all("button.copy")[1].text != "Copy")


def test_the_interface_is_described_field_by_field(driver: tuple[Chrome, Path], live: Live) -> None:
    page = visited(driver, live, "docs")
    page.wait(lambda: len(page.all("section")) > 10)
    shown = page.text("body")
    assert "`" not in shown
    assert "The code of the language to translate to" in shown
    assert "/classify" not in shown
    assert "curl" in shown
    assert page.run("return document.querySelectorAll('td:nth-child(2):empty').length") == 0
    if not AXE.exists():
        pytest.skip("axe-core is missing: python tests/studio/browser.py")
    page.run(AXE.read_text("utf-8"))
    found = page.driver.execute_async_script(
        "axe.run({resultTypes: ['violations']}).then(arguments[0])"
    )
    grave = ("serious", "critical")
    assert [each["id"] for each in found["violations"] if each["impact"] in grave] == []
