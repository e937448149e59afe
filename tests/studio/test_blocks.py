"""The experiments of the Blocks view."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.studio.conftest import Served


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_the_experiments_compute_what_they_say() -> None:
    script = Path(__file__).with_name("blocks.js")
    found = subprocess.run(
        ["node", "--test", str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert found.returncode == 0, found.stdout


pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import Chrome, Keys  # noqa: E402

from tests.studio.test_page import Visitor, driver, no_complaints  # noqa: E402

__all__ = ["driver", "no_complaints"]


@pytest.fixture
def page(driver: tuple[Chrome, Path], served: Served) -> Visitor:
    return Visitor(driver[0], served.address, driver[1])


@pytest.mark.parametrize(
    "block", ["collapse", "activations", "depth", "unrolled", "root", "kernel"]
)
def test_an_experiment_has_a_link_and_a_result(block: str, page: Visitor) -> None:
    page.driver.get("about:blank")
    page.driver.get(f"{page.address}#view=blocks&block={block}")
    page.wait(lambda: page.all(".block-result svg, .block-result table"))
    assert page.text(".block h3")
    assert page.all(".tour-ask")


def test_a_question_is_checked_and_a_control_is_in_the_link(page: Visitor) -> None:
    page.driver.get("about:blank")
    page.driver.get(f"{page.address}#view=blocks&block=unrolled&knobs=0,0.5,3")
    page.wait(lambda: page.all(".block-chart"))
    assert "0.125" in page.text(".block-legend")
    box = page.one(".tour-ask input[type=text]")
    box.send_keys("0.5", Keys.ENTER)
    assert page.text(".block .tour-said").startswith("Not yet")
    box.clear()
    box.send_keys("0.125", Keys.ENTER)
    assert page.text(".block .tour-said").startswith("Right")
    page.all(".block .segmented input")[1].find_element("xpath", "..").click()
    page.wait(lambda: "knobs=1" in page.driver.current_url)
