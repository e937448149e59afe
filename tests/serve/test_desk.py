"""The desk in a real browser, used as a translator would use it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.serve.http.limits import Limits
from tests.serve.conftest import Live, Start
from tests.studio.browser import AXE
from tests.text.documents.samples import PO

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import ActionChains, Chrome, Keys

from tests.studio.test_page import Visitor, driver, no_complaints

__all__ = ["driver", "no_complaints"]

HTML = b"""<p>the <b>cat</b> sleeps.</p>
<p>a dog eats.</p>
<p>jo quiz &lt;img src=x onerror=alert(1)&gt;</p>
<p>a dog eats.</p>"""
TEXTS = ("the cat", "a dog", "red apples")


class Translating(Visitor):
    """A translator on the desk."""

    def begin(self) -> None:
        self.driver.get("about:blank")
        self.driver.get(self.address)
        self.wait(lambda: self.run("return document.getElementById('formats')?.textContent"))
        self.run("sessionStorage.clear()")
        self.choose("source", "en")
        self.choose("target", "de")

    def choose(self, name: str, value: str) -> None:
        self.run(
            """const chosen = document.getElementById(arguments[0]);
            chosen.value = arguments[1]; chosen.dispatchEvent(new Event("change"));""",
            name,
            value,
        )

    def open_file(self, path: Path) -> None:
        self.one("#file").send_keys(str(path))
        self.settle()

    def settle(self) -> None:
        self.wait(lambda: "confirmed" in self.text("#counts"))

    def targets(self) -> list[str]:
        script = "return [...document.querySelectorAll('.segment textarea')].map((e) => e.value)"
        return [str(each) for each in self.run(script)]

    def states(self) -> list[str]:
        script = "return [...document.querySelectorAll('.segment')].map((e) => e.dataset.state)"
        return [str(each) for each in self.run(script)]

    def place(self) -> str:
        return str(self.run("return document.activeElement.ariaLabel"))

    def status(self) -> str:
        return str(self.run("return document.getElementById('status').textContent"))

    def keys(self, held: str, *pressed: str) -> None:
        chain = ActionChains(self.driver).key_down(held).send_keys(*pressed)
        chain.key_up(held).perform()

    def type_over(self, text: str) -> None:
        self.keys(Keys.CONTROL, "a")
        self.press(text)


@pytest.fixture(scope="module")
def server(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Live:
    return start(suggestions=tmp_path_factory.mktemp("suggestions"))


@pytest.fixture
def page(driver: tuple[Chrome, Path], server: Live) -> Iterator[Translating]:
    visitor = Translating(driver[0], server.url, driver[1])
    visitor.begin()
    yield visitor
    driver[0].get("about:blank")


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "story.html"
    path.write_bytes(HTML)
    return path


def by_model(server: Live, *texts: str) -> list[str]:
    return server.translator("en", "de").translate(texts)


def test_a_pasted_text_is_translated_line_by_line(page: Translating, server: Live) -> None:
    page.one("#text").send_keys("\n".join(TEXTS))
    page.keys(Keys.CONTROL, Keys.ENTER)
    page.settle()
    assert page.targets() == by_model(server, *TEXTS)
    assert page.text("#pair") == "English → German"
    page.one("#download").click()
    assert page.saved("text_de.txt").read_text() == "\n".join(by_model(server, *TEXTS))


def test_a_document_is_corrected_by_keys_and_downloaded(
    page: Translating, server: Live, story: Path
) -> None:
    page.open_file(story)
    machine = page.targets()
    assert page.place() == "Translation of segment 1"
    page.keys(Keys.ALT, Keys.ARROW_DOWN)
    page.type_over("Ein Hund & mehr")
    assert page.states() == ["machine", "edited", "machine", "machine"]
    page.keys(Keys.CONTROL, Keys.ENTER)
    assert page.place() == "Translation of segment 3"
    assert page.states() == ["machine", "confirmed", "machine", "edited"]  # the same source
    assert page.targets()[3] == "Ein Hund & mehr"
    page.keys(Keys.ALT, Keys.ARROW_UP)
    page.keys(Keys.CONTROL, Keys.ENTER)  # what is confirmed stays
    page.keys(Keys.ALT, Keys.ARROW_DOWN)
    page.type_over("anders")
    page.keys(Keys.ALT, "r")
    assert page.targets()[3] == machine[3]
    page.keys(Keys.CONTROL, "s")
    found = page.saved("story_de.html").read_bytes()
    assert b"<p>Ein Hund &amp; mehr</p>" in found
    assert b"<b>" in found
    assert found.count(b"\n") == HTML.count(b"\n")


def test_corrections_become_suggestions_if_wanted(
    page: Translating, server: Live, story: Path
) -> None:
    memory = server.service.memory
    assert memory is not None
    page.open_file(story)
    page.type_over("<1>Katzen</1> schlafen.")
    page.keys(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: memory.find("en", "de", "the cat sleeps.") == "Katzen schlafen.")
    third = "jo quiz <img src=x onerror=alert(1)>"
    page.keys(Keys.ALT, Keys.ARROW_DOWN)
    page.keys(Keys.CONTROL, Keys.ENTER)  # the model's own translation is no correction
    page.one("#suggest").click()
    page.one("#segments li:nth-child(3) textarea").click()
    page.type_over("nichts")
    page.keys(Keys.CONTROL, Keys.ENTER)
    page.one("#suggest").click()
    page.one("#segments li:nth-child(1) textarea").click()
    page.type_over("<1>Eine Katze</1> schläft.")
    page.keys(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: memory.find("en", "de", "the cat sleeps.") == "Eine Katze schläft.")
    assert memory.find("en", "de", third) is None


def test_tags_are_kept_or_said_to_be_missing(page: Translating, story: Path) -> None:
    page.open_file(story)
    page.type_over("Katzen schlafen")
    assert "Missing: <1> </1>" in page.text(".segment .wrong")
    page.keys(Keys.CONTROL, Keys.ENTER)
    assert page.status() == "Missing: <1> </1>"
    assert page.states()[0] == "edited"
    page.one("#download").click()
    page.wait(lambda: "Segment 1: Missing" in page.text("#problem"))
    for _ in range(2):
        page.one(".segment .wrong button").click()
    assert page.targets()[0] == "Katzen schlafen<1></1>"
    assert page.run("return document.querySelector('.segment .wrong').hidden")


def test_what_a_file_says_is_never_markup(page: Translating, story: Path) -> None:
    page.open_file(story)
    assert page.all("#segments img") == []
    assert "<img src=x onerror=alert(1)>" in page.text("#source-3")


def test_other_translations_can_be_chosen(page: Translating, story: Path) -> None:
    page.open_file(story)
    page.keys(Keys.ALT, "a")
    page.wait(lambda: page.status() == "Choose a translation.")
    other = page.text(".others button")
    assert other not in ("", page.targets()[0])
    page.press(Keys.ENTER)
    assert page.targets()[0] == other
    assert not any(each.is_displayed() for each in page.all(".others"))


def test_doubtful_translations_are_marked(page: Translating, story: Path) -> None:
    page.run(
        """const before = window.fetch;
        window.fetch = async (path, options) => {
          const answer = await before(path, options);
          if (path !== "translate") return answer;
          const asked = JSON.parse(options.body);
          if (!asked.confidence) return answer;
          const value = await answer.json();
          value.regard = asked.q.map((_, i) => ({
            confidence: { probability: 0.25, verdict: i ? "likely fine" : "check" },
          }));
          return new Response(JSON.stringify(value), answer);
        };"""
    )
    page.open_file(story)
    assert page.text(".segment .state") == "check"
    assert page.one(".segment .state.doubtful").get_property("title") == "25 % sure"
    assert page.text("#segments li:nth-child(2) .state") == "likely fine"


def test_a_reload_keeps_what_was_written(page: Translating, story: Path) -> None:
    page.open_file(story)
    page.type_over("<1>Katzen</1>")
    page.keys(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: page.run("return sessionStorage.length"))
    page.driver.get("about:blank")
    page.driver.get(page.address)
    page.wait(lambda: page.run("return document.getElementById('formats')?.textContent"))
    page.choose("source", "en")
    page.choose("target", "de")
    page.open_file(story)
    assert page.targets()[0] == "<1>Katzen</1>"
    assert page.states()[0] == "confirmed"
    assert "1 of your translations" in page.text("#restored")


def test_finished_texts_stay_and_are_counted(page: Translating, tmp_path: Path) -> None:
    path = tmp_path / "menu.po"
    path.write_bytes(PO)
    page.open_file(path)
    assert "translated already" in page.text("#finished")


def test_columns_of_a_table_are_asked_for(page: Translating, tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    path.write_text("a,b\nthe cat,\n")
    page.one("#file").send_keys(str(path))
    page.press("a", Keys.TAB, "b", Keys.ENTER)
    page.settle()
    (german,) = page.targets()
    page.one("#download").click()
    assert page.saved("words_de.csv").read_text() == f"a,b\nthe cat,{german}\n"


def test_a_refused_file_is_explained(page: Translating, tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_bytes(PO.replace(b"Language: de", b"Language: fr"))
    page.one("#file").send_keys(str(path))
    page.wait(lambda: "to French" in page.text("#problem"))
    assert page.one("#opening").is_displayed()
    page.driver.get_log("browser")  # Chromium notes the status there


def test_a_busy_server_is_waited_for_and_long_segments_are_named(
    driver: tuple[Chrome, Path], start: Start, tmp_path: Path
) -> None:
    live = start(Limits(characters=200, texts_per_minute=40))
    page = Translating(driver[0], live.url, driver[1])
    page.begin()
    path = tmp_path / "long.txt"
    lines = [f"the cat {'x' * (row % 9)}" for row in range(50)]
    path.write_text("\n".join([*lines, "a dog " * 60]))
    page.one("#file").send_keys(str(path))
    page.wait(lambda: "Slowdown: 40 per 1 minute. Continuing in" in page.text("#problem"))
    page.wait(lambda: page.states().count("machine") == 50 and "refused" in page.states())
    said = page.run("return document.getElementById('problem-51').textContent")
    assert "exceeds text limit" in said
    driver[0].get("about:blank")
    driver[0].get_log("browser")


def test_the_key_of_a_server_is_asked_for(
    driver: tuple[Chrome, Path], start: Start, story: Path
) -> None:
    live = start(secrets={"secret-of-ours": "desk"})
    page = Translating(driver[0], live.url, driver[1])
    page.begin()
    page.one("#key").send_keys("secret-of-ours")
    page.open_file(story)
    assert all(page.targets())
    page.one("#download").click()
    assert page.saved("story_de (1).html").read_bytes().count(b"<p>") == 4


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is missing: python tests/studio/browser.py")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_desk_is_accessible(page: Translating, story: Path, scheme: str) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    found = [complaints(page)]
    page.open_file(story)
    page.type_over("Katzen")
    page.run("document.getElementById('keys').open = true")
    found.append(complaints(page))
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert found == [[], []]


def complaints(page: Translating) -> list[str]:
    page.run(AXE.read_text("utf-8"))
    found = page.driver.execute_async_script(
        """const done = arguments[0];
        axe.run().then(({ violations }) => done(JSON.stringify(violations)));"""
    )
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in json.loads(found)]


def test_the_desk_fits_a_telephone(page: Translating, story: Path) -> None:
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.open_file(story)
        assert page.run("return document.documentElement.scrollWidth") <= 360
        boxes = page.run(
            "return [...document.querySelectorAll('.segment textarea')].map((e) => e.offsetWidth)"
        )
        assert min(boxes) > 200
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
