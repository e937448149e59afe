"""The page in a real browser, used as a student would use it."""

import csv
import json
import math
import os
import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from regard.tasks.translation.translator import Translator
from tests.studio.browser import AXE, browser
from tests.studio.conftest import Served, Serving

selenium = pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import ActionChains, Chrome, Keys  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.remote.webelement import WebElement  # noqa: E402

TEXT = "4 1 7"
VIEWS = (
    *("translate", "model", "alignment", "heads", "numbers", "beam", "training"),
    *("positions", "compare"),
)
# Seconds; on a machine that is busy with other things, more.
PATIENCE = float(os.environ.get("REGARD_TEST_PATIENCE", "60"))


class Visitor:
    """A browser on the page."""

    def __init__(self, driver: Chrome, address: str, downloads: Path) -> None:
        self.driver = driver
        self.address = address
        self.downloads = downloads

    def open(self, **state: Any) -> None:
        words = "&".join(f"{name}={quote(str(value))}" for name, value in state.items())
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{words}")
        self.settle()

    def settle(self) -> None:
        """Until the model is loaded and the sentence translated."""
        self.wait(
            lambda: (
                self.run("return document.getElementById('status').textContent") == "Ready"
                and not self.all("#output.busy")
                and not self.text("#output").endswith("…")
            )
        )

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait(self, holds: Callable[[], Any]) -> Any:
        until = time.monotonic() + PATIENCE
        while not (found := holds()):
            assert time.monotonic() < until, "the page did not come to that"
            time.sleep(0.03)
        return found

    def all(self, selector: str) -> list[WebElement]:
        found: list[WebElement] = self.driver.find_elements("css selector", selector)
        return found

    def one(self, selector: str) -> WebElement:
        return self.wait(lambda: self.all(selector))[0]  # type: ignore[no-any-return]

    def text(self, selector: str) -> str:
        return str(
            self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
        )

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def select_all(self) -> None:
        chain = ActionChains(self.driver).key_down(Keys.CONTROL)
        chain.send_keys("a").key_up(Keys.CONTROL).perform()

    def hover(self, row: int, col: int, selector: str = ".view .matrix canvas") -> None:
        """Point at a cell of a matrix."""
        place = self.run(
            """const canvas = document.querySelector(arguments[0]);
            canvas.scrollIntoView({block: "center"});
            const box = canvas.getBoundingClientRect();
            const labels = document.querySelectorAll(".row-label").length;
            return [box.left, box.top, box.height / labels];""",
            selector,
        )
        x, y = (int(place[0] + (col + 0.5) * place[2]), int(place[1] + (row + 0.5) * place[2]))
        actions = ActionChains(self.driver)
        actions.w3c_actions.pointer_action.move_to_location(x, y)
        actions.perform()

    def saved(self, name: str) -> Path:
        """The file of this name, or of this pattern, once it is there."""

        def there() -> list[Path]:
            return [each for each in self.downloads.glob(name) if each.stat().st_size > 0]

        return Path(self.wait(there)[0])


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Chrome, Path]]:
    found = browser()
    if found is None:
        pytest.skip("chromium and its driver are missing: python tests/studio/browser.py")
    downloads = tmp_path_factory.mktemp("downloads")
    options = Options()
    options.binary_location = found[0]
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"),
        *("--window-size=1440,1000", "--hide-scrollbars"),
    ):
        options.add_argument(argument)
    preferences = {
        "download.default_directory": str(downloads),
        "profile.default_content_setting_values.automatic_downloads": 1,
    }
    options.add_experimental_option("prefs", preferences)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    made = Chrome(options=options, service=Service(found[1]))
    try:
        yield made, downloads
    finally:
        made.quit()


@pytest.fixture(scope="module")
def page(driver: tuple[Chrome, Path], served: Served) -> Visitor:
    visitor = Visitor(driver[0], served.address, driver[1])
    visitor.open()
    return visitor


@pytest.fixture(scope="module")
def translator(folders: dict[str, Path]) -> Translator:
    return Translator.load(folders["digits"])


@pytest.fixture(autouse=True)
def no_complaints(driver: tuple[Chrome, Path]) -> Iterator[None]:
    """Nothing on the console, and no request to anywhere else."""
    yield
    severe = [each for each in driver[0].get_log("browser") if each["level"] == "SEVERE"]
    # A page that outlives its server asks in vain.
    assert [each for each in severe if "ERR_CONNECTION_REFUSED" not in each["message"]] == []
    for each in driver[0].get_log("performance"):
        message = json.loads(each["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            address = message["params"]["request"]["url"]
            assert re.match(
                r"http://127\.0\.0\.1:\d+/|blob:http://127\.0\.0\.1|data:|about:", address
            )


def test_typing_translates(page: Visitor, translator: Translator) -> None:
    page.open()
    assert page.text("#output")  # of a held-out sentence, to begin with
    box = page.one("#source")
    box.clear()
    box.send_keys(TEXT, Keys.ENTER)
    expected = translator.translate([TEXT])[0]
    page.wait(lambda: page.text("#output") == expected)
    assert quote(TEXT).replace("%20", "+") in page.driver.current_url
    pieces = [each.text for each in page.all(".token .piece")]
    assert pieces[-1] == "⟨end⟩"
    whole = "".join(piece.removeprefix("·") for piece in pieces[:-1])
    assert whole.replace("␣", "") == expected.replace(" ", "")


def test_an_alternative_is_gone_on_from(page: Visitor) -> None:
    page.open(text=TEXT)
    before = page.text("#output")
    page.one(".token").click()
    page.all(".candidates button:enabled .piece")[0].click()
    page.settle()
    assert page.text("#output") != before
    assert page.all(".token.forced")
    page.one(".chip button").click()
    page.wait(lambda: page.text("#output") == before)


def test_a_word_of_ones_own_begins_the_output(page: Visitor) -> None:
    page.open(text=TEXT)
    page.one(".token").click()
    page.one(".own input").send_keys("sep", Keys.ENTER)
    page.wait(lambda: page.text("#output").startswith("sep"))


@pytest.mark.parametrize("words", [True, False])
def test_the_matrix_shows_pythons_numbers(
    words: bool, page: Visitor, translator: Translator
) -> None:
    page.open(view="alignment", text=TEXT, words=int(words), layer=1, head=0)
    output = translator.translations([TEXT], translator.search)[0][0]
    matrix = translator.maps(TEXT, output.ids).matrix("cross", 1, 0, words=words)
    ends = int(words)  # the mark of the end stands beside the words
    page.wait(lambda: len(page.all(".row-label")) == len(matrix.rows) + ends)
    assert len(page.all(".col-label")) == len(matrix.columns) + ends
    for row, col in ((0, 0), (1, 2), (2, 1)):
        page.hover(row, col)
        page.wait(lambda row=row, col=col: lit(page) == [row, col])
        value = float(page.one(".readout .value").get_attribute("data-value"))
        assert value == pytest.approx(matrix.weights[row][col], abs=1e-5)
    assert [each.text for each in page.all(".row-label.lit, .col-label.lit")] != []


def lit(page: Visitor) -> list[int]:
    """The row and the column that are lit."""
    return page.run(  # type: ignore[no-any-return]
        """return ["row", "col"].map((side) => {
          const labels = [...document.querySelectorAll(`.${side}-label`)];
          return labels.findIndex((label) => label.classList.contains("lit"));
        });"""
    )


def test_a_cell_leads_to_its_numbers(page: Visitor, translator: Translator) -> None:
    page.open(view="alignment", text=TEXT, words=0, layer=1, head=1)
    page.one(".row-label")
    page.hover(1, 0)
    page.wait(lambda: lit(page) == [1, 0])
    page.one(".readout .link").click()
    page.wait(lambda: page.all(".scores .chosen"))
    output = translator.translations([TEXT], translator.search)[0][0]
    expected = translator.numbers(TEXT, output.ids, "cross.1.1", 1, 0)
    shown = page.run(
        """return [...document.querySelectorAll(".scores tbody tr")].map((row) =>
          [...row.querySelectorAll("[data-value]")].map((cell) => Number(cell.dataset.value)));"""
    )
    for at, (score, scaled, exponential, weight) in enumerate(shown):
        assert score == pytest.approx(expected.dots[at], abs=1e-5)
        assert scaled == pytest.approx(expected.scaled[at], abs=1e-5)
        assert exponential == pytest.approx(expected.exponentials[at], abs=1e-5)
        assert weight == pytest.approx(expected.weights[at], abs=1e-5)
    assert page.all("math")


def test_a_worked_example_is_checked(page: Visitor) -> None:
    page.open(view="numbers", text=TEXT)
    page.one(".view .controls select").send_keys("By hand: attention")
    first = page.one('[aria-label="Your S = QKᵀ, row 1, column 1"]')
    first.send_keys("9")
    assert first.get_attribute("class") == "wrong"
    first.send_keys(Keys.BACKSPACE, "1")
    assert first.get_attribute("class") == "right"
    changed = page.one('[aria-label="Q, row 1, column 1"]')
    changed.send_keys(Keys.BACKSPACE, "3")
    page.one('[aria-label^="Show A ="]').click()
    shown = [float(each.get_attribute("data-value")) for each in page.all(".small-matrix .number")]
    powers = [math.exp(score / 2) for score in (3, 1, 4)]
    assert shown[:3] == pytest.approx([power / sum(powers) for power in powers], abs=1e-5)


# Examples of the lectures with their results.
LESS, MORE = math.exp(-0.5), math.exp(0.5)
WORKED = {
    "query": {"q": [-1, 1, 0, 1], "q·k": [-1, 1, -1]}
    | {"v": [1, 0, 0, 1, 1, 0], "z": [n / (2 * LESS + MORE) for n in (2 * LESS, MORE)]},
    "recurrent": {"V h": [0, 0, 1], "U x": [1, 0, -1], "ReLU of the sum": [1, 0, 0], "W h": [1]},
    "shapes": {"Q": [3, 1, 2, 1, 0, -1], "S = QKᵀ": [9, 3, -1, -2]},
}


@pytest.mark.parametrize("name", WORKED)
def test_a_link_opens_an_example_of_the_lectures(page: Visitor, name: str) -> None:
    page.open(view="numbers", text=TEXT, worked=name)
    for title, expected in WORKED[name].items():
        page.one(f'[aria-label="Show {title}"]').click()
        found = page.all(f'.small-matrix:has([aria-label="Hide {title}"]) .number')
        values = [float(each.get_attribute("data-value")) for each in found]
        assert values == pytest.approx(expected)
    assert page.all("math")


def test_a_head_switched_off_is_off_in_the_model(page: Visitor, translator: Translator) -> None:
    page.open(view="heads", text=TEXT)
    page.one('[aria-label="Head 1 of layer 2 on"]').click()
    shown = page.wait(lambda: page.all("[data-change]"))[0]
    output = translator.translations([TEXT], translator.search)[0][0]

    def total() -> float:
        steps = translator.alternatives(TEXT, output.ids, 1)
        return sum(each.log_probability for each in steps)

    before = total()
    with translator.heads_off(["cross.1.0"]):
        after = total()
        expected = translator.translate([TEXT])[0]
    assert float(shown.get_attribute("data-change")) == pytest.approx(after - before, abs=1e-5)
    page.wait(lambda: page.text("#output") == expected)
    assert "off=cross.1.0" in page.driver.current_url
    kept = "".join(each.text for each in page.all(".diff span, .diff ins"))
    assert kept.replace(" ", "") == expected.replace(" ", "")
    page.press("0")
    page.wait(lambda: not page.all(".chip"))


@pytest.mark.parametrize("head", [1, -1])
def test_what_weights_carry_is_what_python_says(
    head: int, page: Visitor, translator: Translator
) -> None:
    page.open(view="alignment", text=TEXT, layer=1, head=head)
    page.wait(lambda: page.all(".row-label"))
    page.run("""document.querySelector('input[value="norm"]').click()""")
    page.wait(lambda: "measure=norm" in page.driver.current_url)
    page.wait(lambda: "the contribution of a token" in page.text(".side-panel"))
    output = translator.translations([TEXT], translator.search)[0][0]
    maps = translator.maps(TEXT, output.ids)
    matrix = maps.matrix("cross", 1, None if head < 0 else head, words=True, measure="norm")
    for row, col in ((0, 0), (1, 2), (2, 1)):
        page.hover(row, col)
        page.wait(lambda row=row, col=col: lit(page) == [row, col])
        value = float(page.one(".readout .value").get_attribute("data-value"))
        assert value == pytest.approx(matrix.weights[row][col], abs=1e-5)
    page.run("document.querySelector('.exports button').click()")
    path = page.saved("regard-alignment-digits-4-1-7.svg")
    page.wait(lambda: "contributions" in path.read_text("utf-8"))
    path.unlink()
    page.run("document.querySelector('#tabs [data-view=heads]').click()")
    page.wait(lambda: page.all(".head-grid .thumb") and page.all('input[value="norm"]:checked'))


def test_a_position_is_made_to_look_elsewhere(page: Visitor, translator: Translator) -> None:
    page.open(view="alignment", text=TEXT, words=0, layer=1, head=0)
    before = page.text("#output")
    page.one(".row-label")
    page.hover(1, 0)
    page.wait(lambda: lit(page) == [1, 0])
    ActionChains(page.driver).click().perform()
    page.wait(lambda: "row=1" in page.driver.current_url)
    page.run(
        """for (const each of document.querySelectorAll(".ways button"))
          if (each.textContent === "Make it look elsewhere") each.click();"""
    )
    page.wait(lambda: len(page.all(".band.mark")) == 1)
    for row, col, count in ((0, 2, 2), (1, 0, 1)):  # one more, and the first no longer
        page.hover(row, col)
        ActionChains(page.driver).click().perform()
        page.wait(lambda count=count: len(page.all(".band.mark")) == count)
    page.run("""document.querySelector('.forcing input[value="cross"]').click()""")
    page.run("document.querySelector('.forcing .choices button').click()")
    shown = page.wait(lambda: page.all("[data-change]"))[0]
    output = translator.translations([TEXT], translator.search)[0][0]
    source = translator.tokenizers.source.encode(TEXT)

    def total() -> float:
        return sum(each.log_probability for each in translator.alternatives(TEXT, output.ids, 1))

    usual = total()
    with translator.forced({"cross": {1: [2]}}):
        now = total()
        found = translator.engine.search([source], [output.ids[:1]], translator.search)[0][0]
        expected = translator.tokenizers.target.decode(found.tokens)
        row = translator.maps(TEXT, found.tokens).matrix("cross", 1, 0).weights[1]
    assert float(shown.get_attribute("data-change")) == pytest.approx(now - usual, abs=1e-5)
    page.wait(lambda: page.text("#output") == expected)
    address = page.driver.current_url
    assert "look=2" in address
    assert "lookers=cross" not in address  # which is the usual
    page.driver.get("about:blank")
    page.driver.get(address)
    page.settle()
    page.wait(lambda: page.all(".forcing [data-change]"))
    assert page.text("#output") == expected
    for col in (0, 2):
        page.hover(1, col)
        page.wait(lambda col=col: lit(page) == [1, col])
        value = float(page.one(".readout .value").get_attribute("data-value"))
        assert value == pytest.approx(row[col], abs=1e-5)
    page.run("document.querySelector('.forcing .choices button').click()")
    page.wait(lambda: page.text("#output") == before)
    assert not page.all(".band.mark")
    assert "look" not in page.driver.current_url


def test_keys_make_a_position_look_elsewhere(page: Visitor) -> None:
    page.open(view="alignment", text=TEXT, layer=1, head=0)
    page.one(".row-label")
    page.run("document.querySelector('.matrix-frame').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    page.wait(lambda: lit(page) == [1, 0])
    page.press("f")  # which shows pieces
    page.wait(lambda: "words=0" in page.driver.current_url and page.all(".band.mark"))
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all(".forcing:not([hidden])"))
    page.press("f", Keys.ARROW_RIGHT, Keys.SPACE, Keys.ENTER)
    page.wait(lambda: page.all(".forcing [data-change]"))
    assert "lookers=cross.1.0" in page.driver.current_url
    # Another sentence is looked at as usual.
    page.run("document.querySelector('.example').click()")
    page.wait(lambda: "look" not in page.driver.current_url)
    page.settle()
    assert not page.all(".chip")


def test_what_each_head_is_worth(page: Visitor, folders: dict[str, Path]) -> None:
    kept = json.loads((folders["digits"] / "heads.json").read_text("utf-8"))
    page.open(view="heads", text=TEXT)
    page.wait(lambda: page.all(".worth"))
    lost = [each["bleu"] - kept["bleu"] for each in kept["heads"] if each["part"] == "cross"]
    shown = [float(each.text.replace("\u2212", "-")) for each in page.all(".worth")]
    assert shown == pytest.approx(lost, abs=0.0501)
    assert max(map(abs, lost)) > 0
    assert str(kept["sentences"]) in page.text(".head-grid-box p")
    dots = page.wait(lambda: page.all(".head-detail .chart circle"))
    assert len(dots) == len(kept["curve"])


def test_a_link_brings_everything_back(page: Visitor) -> None:
    page.open(
        view="alignment", text="9 9 2", words=0, kind="decoder", layer=1, head=1, off="cross.0.0"
    )
    page.one(".row-label")
    page.hover(1, 1)
    page.wait(lambda: lit(page) == [1, 1])
    ActionChains(page.driver).click().perform()
    page.wait(lambda: "row=1" in page.driver.current_url)
    value = page.text(".readout .value")
    address = page.driver.current_url
    page.driver.get("about:blank")
    page.driver.get(address)
    page.settle()
    page.wait(lambda: page.text(".readout .value") == value)
    assert page.one("#source").get_attribute("value") == "9 9 2"
    assert page.all(".chip")
    page.run("history.pushState(null, '', '#view=beam'); history.back()")


def test_what_is_exported_is_what_is_shown(page: Visitor, translator: Translator) -> None:
    page.open(view="alignment", text=TEXT, layer=0, head=1)
    page.one(".row-label")
    for kind in ("CSV", "SVG", "PNG"):
        page.run(
            """for (const each of document.querySelectorAll(".exports button"))
              if (each.textContent === arguments[0]) each.click();""",
            kind,
        )
    with page.saved("regard-alignment-digits-4-1-7.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    output = translator.translations([TEXT], translator.search)[0][0]
    matrix = translator.maps(TEXT, output.ids).matrix("cross", 0, 1, words=True)
    assert rows[0][1:] == [*matrix.columns, "⟨end⟩"]
    assert [row[0] for row in rows[1:]] == [*matrix.rows, "⟨end⟩"]
    for row, weights in zip(rows[1:-1], matrix.weights, strict=True):
        assert list(map(float, row[1:-1])) == pytest.approx(weights, abs=1e-5)
    tree = ElementTree.parse(page.saved("regard-alignment-digits-4-1-7.svg"))
    cells = tree.findall(".//{http://www.w3.org/2000/svg}rect")
    assert len(cells) > (1 + len(matrix.rows)) * (1 + len(matrix.columns))
    assert page.saved("regard-alignment-digits-4-1-7.png").read_bytes().startswith(b"\x89PNG")


def test_another_path_of_the_beam_is_adopted(page: Visitor) -> None:
    page.open(view="beam", text=TEXT)
    page.one(".node.finished")
    before = page.text("#output")
    outputs = page.wait(lambda: page.all(".outputs button"))
    wanted = next(each for each in outputs if each.text != before)
    text = wanted.text
    wanted.click()
    page.wait(lambda: page.text("#output") == text)
    page.run("document.querySelector('#tabs [data-view=alignment]').click()")
    page.wait(lambda: page.all(".row-label"))
    labels = [each.text for each in page.all(".row-label")]
    assert "".join(labels[:-1]) == text.replace(" ", "")


def test_training_is_shown_and_a_checkpoint_is_chosen(page: Visitor) -> None:
    page.open(view="training", text=TEXT)
    page.wait(lambda: len(page.all(".chart .curve")) >= 8)
    assert page.all(".said tbody tr")
    steps = page.all(".choices button")
    steps[1].click()
    page.wait(lambda: "step=" in page.driver.current_url)
    page.settle()
    assert "weights of step" in page.run("return document.querySelector('.notes').textContent")


def test_only_the_keyboard(page: Visitor, translator: Translator) -> None:
    page.open(view="translate", text="1 2")
    page.press("/")
    page.select_all()
    page.press(TEXT, Keys.ENTER)
    expected = translator.translate([TEXT])[0]
    page.wait(lambda: page.text("#output") == expected)
    page.press(Keys.ESCAPE)
    page.press("]")
    page.wait(lambda: "view=model" in page.driver.current_url)
    page.press("]")
    page.wait(lambda: page.all(".row-label"))
    page.press("w")
    page.wait(lambda: "words=0" in page.driver.current_url)
    for _ in range(40):
        page.press(Keys.TAB)
        if page.run("return document.activeElement.classList.contains('matrix-frame')"):
            break
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    page.wait(lambda: lit(page) == [1, 1])
    page.press(Keys.ENTER)
    page.wait(lambda: page.all(".scores .chosen"))
    assert "view=numbers" in page.driver.current_url
    page.press("?")
    page.wait(lambda: page.all("dialog[open]"))
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all("dialog[open]"))
    page.press("b")
    page.one(".node.finished")
    page.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
    page.press(Keys.ARROW_DOWN)
    assert page.run("return document.activeElement.getAttribute('aria-label')").startswith("Step 1")


def test_two_models_side_by_side(page: Visitor, folders: dict[str, Path]) -> None:
    page.open(view="compare", text=TEXT)
    page.wait(lambda: len(page.all(".pane canvas")) == 2)
    other = Translator.load(folders["recurrent"]).translate([TEXT])[0]
    page.wait(lambda: page.text(".pane-1 .pane-output") == (other or "(nothing)"))
    page.wait(lambda: page.all(".pane-1 .col-label"))
    page.hover(0, 1, ".pane-0 canvas")
    page.wait(lambda: page.all(".pane-1 .col-label.lit"))


def test_text_is_never_markup(page: Visitor) -> None:
    nasty = "<img src=x onerror=alert(1)> & <b>4</b>"
    for view in ("translate", "alignment", "positions"):
        page.open(view=view, text=nasty)
        assert not page.all("main img")
        assert not page.all("main b")


@pytest.mark.parametrize("view", VIEWS)
def test_nobody_is_shut_out(view: str, page: Visitor) -> None:
    """axe-core finds nothing serious, in light and dark, and nothing spills over at 375 pixels."""
    page.open(view=view, text=TEXT)
    time.sleep(0.3)
    if AXE.exists():
        page.run(AXE.read_text("utf-8"))
        for theme in ("light", "dark"):
            media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
            page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            time.sleep(0.4)  # colours of buttons change gently
            found = page.driver.execute_async_script(
                "axe.run({resultTypes: ['violations']}).then(arguments[0])"
            )
            faults = [
                (each["id"], [node["html"][:120] for node in each["nodes"]][:3])
                for each in found["violations"]
                if each["impact"] in ("serious", "critical")
            ]
            assert faults == []
    size = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        time.sleep(0.2)
        wide = page.run(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide == 0
        page.open(view=view, text=TEXT)
        tab = page.run(
            "const box = document.querySelector('#tabs [aria-current]').getBoundingClientRect();"
            "return [box.left, box.right]"
        )
        assert tab[0] >= 0
        assert tab[1] <= 375
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    if not AXE.exists():
        pytest.skip("axe-core is missing: python tests/studio/browser.py")


@pytest.mark.parametrize(
    ("task", "title"),
    [
        ("language-model", "Write"),
        ("masked-language-model", "Fill in"),
        ("classification", "Classify"),
        ("tagging", "Tag"),
    ],
)
def test_a_text_is_answered_by_its_task(
    task: str, title: str, driver: tuple[Chrome, Path], text_folders: dict[str, Path]
) -> None:
    """A link opens the view with its name and its explanation before the model is loaded."""
    with Serving([text_folders[task]]) as served:
        visitor = Visitor(driver[0], served.address, driver[1])
        visitor.driver.get(f"{served.address}#view=text&text=the+grey+%5BMASK%5D+sleeps")
        visitor.wait(lambda: len(visitor.all(".said-of-text *")) > 1)
        assert visitor.text("main h2") == title
        assert len(visitor.text("main .explain")) > 20


def test_pointing_is_quick_at_64_by_64(page: Visitor) -> None:
    """From a pointer's move to the end of what it changes; the budget is a frame, 16 ms."""
    page.open(view="translate", text=TEXT)
    times = page.driver.execute_async_script(
        """const done = arguments[0];
        import("/matrix.js").then(({ Matrix }) => {
          const matrix = new Matrix({ label: "test" });
          document.getElementById("content").replaceChildren(matrix.element);
          const labels = Array.from({ length: 64 }, (_, at) => `word${at}`);
          const data = Float32Array.from({ length: 4096 }, (_, at) => (at % 64) / 64);
          const scales = new Float32Array(64).fill(1);
          matrix.show({ rows: 64, cols: 64, data, rowLabels: labels, colLabels: labels, scales });
          const times = [];
          for (let at = 0; at < 64; at += 1) {
            const begin = performance.now();
            matrix.point(at, (at * 7) % 64);
            void matrix.frame.getBoundingClientRect().width;
            times.push(performance.now() - begin);
          }
          done(times.sort((a, b) => a - b));
        });"""
    )
    assert times[32] < 16


def test_arithmetic_of_the_page(page: Visitor) -> None:
    script = Path(__file__).with_name("arithmetic.js").read_text("utf-8")
    found = page.driver.execute_async_script(script)
    assert found["merged"] == pytest.approx([(0.75 + 0.3) / 2])
    assert found["without"] == pytest.approx([2 / 3, 1 / 3, 1 / 3, 2 / 3])
    assert found["rollout"] == pytest.approx([1, 0, 0.25 + 0.75 * 0.5, 0.75 * 0.5])
    assert found["mass"] == [0, 0, 1, 1, 1, 0]
    assert found["softmax"] == [0.5, 0.5, 0]
    assert [each["kind"] for each in found["diff"]] == ["same", "gone", "new", "same"]
    assert found["smoothed"] == pytest.approx([1, 7 / 3, 19 / 7])
    assert len(found["thinned"]) <= 50
    assert max(value for _, value in found["thinned"]) == 9
    assert found["ticks"] == [0, 2, 4, 6, 8, 10]
    state = found["state"]
    assert (state["text"], state["prefix"], state["off"]) == ("ä&b=#", [4, 5], ["cross.0.1"])
    assert state["words"] is False
    assert found["csv"] == '\'=1+1,"a""b",2,-2\r\n'
    assert "&lt;&amp;&gt;" in found["svg"]
    assert found["latex"] == "A = \\begin{pmatrix} 1 & 0.5 \\end{pmatrix}"
    assert found["plain"] == "aé b"
    assert found["ranked"] == [[0, 1], [1, 0]]
