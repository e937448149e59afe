"""The map of words in the studio: its numbers, and the page in a real browser."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from regard.errors import RequestError
from regard.inspect.word_map import Projection
from regard.recipe import parse
from regard.studio.requests import Near, WordCount
from regard.studio.runs import OpenRun
from regard.studio.words import near, word_map
from regard.tasks.neighbours import WordVectors
from regard.training.run import train
from tests.studio.browser import AXE
from tests.studio.conftest import Serving

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import ActionChains, Chrome, Keys

from tests.studio.test_page import Visitor, driver, no_complaints

__all__ = ["driver", "no_complaints"]

LETTERS = "bdfgklmnprstvz"
WORDS = [f"{a}{vowel}{b}o" for a in LETTERS for vowel in "ai" for b in "nrs"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors of 84 words; words with the same first letter stand near each other."""
    home = tmp_path_factory.mktemp("words")
    draw = random.Random(1)
    lines = []
    for _ in range(600):
        letter = draw.choice(LETTERS)
        lines.append(" ".join(draw.choices([w for w in WORDS if w[0] == letter], k=8)) + ".\n")
    (home / "book.txt").write_text("".join(lines), "utf-8")
    values = {
        "task": "word-vectors",
        "data": {"train": [str(home / "book.txt")], "subsample": 0.0},
        "model": {"d_model": 12},
        "train": {"steps": 40, "batch_tokens": 1024, "eval_every": 20, "save_every": 20}
        | {"threads": 1, "processes": 1, "device": "cpu"},
    }
    train(parse(values, "words"), home / "run")
    return home / "run"


def test_the_map_is_pythons(folder: Path) -> None:
    found = word_map(OpenRun(folder), WordCount(count=50))
    vectors = WordVectors.load(folder)
    assert found["words"] == vectors.words[:50]
    assert found["total"] == len(WORDS)
    expected = Projection.of(vectors.units[:50])
    assert np.allclose(found["points"], expected.points(vectors.units[:50]), atol=1e-4)


def test_neighbours_are_pythons_and_may_be_beside_the_map(folder: Path) -> None:
    vectors = WordVectors.load(folder)
    word = vectors.words[-1]
    found = near(OpenRun(folder), Near(count=10, word=word.capitalize()))["words"]
    assert found[0]["word"] == word
    assert [each["word"] for each in found[1:]] == [n.word for n in vectors.neighbours(word, 12)]
    assert all(np.isfinite(each["point"]).all() for each in found)
    with pytest.raises(RequestError, match="not one of the 84 words"):
        near(OpenRun(folder), Near(word="zebra"))


def test_a_checkpoint_has_its_own_map(folder: Path) -> None:
    run = OpenRun(folder)
    now, before = (word_map(run, WordCount(step=step))["points"] for step in (0, 20))
    assert not np.allclose(now, before, atol=1e-3)


def test_every_run_with_words_has_a_map(
    text_folders: dict[str, Path], folders: dict[str, Path]
) -> None:
    for path in (*text_folders.values(), *folders.values()):
        run = OpenRun(path)
        assert "map" in run.describe()["views"]
        found = word_map(run, WordCount())
        assert len(found["words"]) == len(found["points"]) > 10
        assert not any(word.startswith("<0x") for word in found["words"])


@pytest.fixture(scope="module")
def page(driver: tuple[Chrome, Path], folder: Path) -> Iterator[Visitor]:
    with Serving([folder]) as served:
        yield Visitor(driver[0], served.address, driver[1])


BOXES = """return [...document.querySelectorAll(".word-map .word")].map((each) => {
  const box = each.getBoundingClientRect();
  return [each.textContent, box.left, box.right, box.top + 2, box.bottom - 2];
});"""


def overlaps(boxes: list[list[float]]) -> list[tuple[float, float]]:
    return [
        (one[0], other[0])
        for at, one in enumerate(boxes)
        for other in boxes[at + 1 :]
        if one[1] < other[2] and other[1] < one[2] and one[3] < other[4] and other[3] < one[4]
    ]


def listed(page: Visitor) -> list[str]:
    return page.run(  # type: ignore[no-any-return]
        "return [...document.querySelectorAll('.near-words .piece')].map((e) => e.textContent)"
    )


def test_labels_never_overlap_however_near_one_looks(page: Visitor) -> None:
    page.open(view="map")
    page.wait(lambda: page.all(".word-map .word"))
    assert len(page.all(".word-map circle")) == len(WORDS)
    shown = []
    for _ in range(3):
        boxes = page.run(BOXES)
        shown.append({each[0] for each in boxes})
        assert overlaps(boxes) == []
        page.one('[aria-label="Nearer"]').click()
        page.wait(lambda before=boxes: page.run(BOXES) != before)
    assert len(shown[0]) > 8
    page.all(".controls button")[-1].click()
    page.wait(lambda: {each[0] for each in page.run(BOXES)} == shown[0])


def test_a_searched_word_shows_its_neighbours(page: Visitor, folder: Path) -> None:
    page.open(view="map")
    box = page.one(".word-search")
    box.send_keys("banO", Keys.ENTER)
    vectors = WordVectors.load(folder)
    expected = [each.word for each in vectors.neighbours("bano", 12)]
    page.wait(lambda: listed(page) == expected)
    assert "near=banO" in page.driver.current_url
    assert page.text(".word-panel h3") == "bano"
    lit = page.all(".word-map .word.lit")
    assert lit
    page.all(".near-words button")[0].click()
    page.wait(lambda: page.text(".word-panel h3") == expected[0])
    box.clear()
    box.send_keys("zebra", Keys.ENTER)
    page.wait(lambda: "not one of the 84 words" in page.text(".word-panel"))
    page.driver.get_log("browser")  # the refusal is no fault of the page
    box.send_keys(Keys.ESCAPE)
    page.wait(lambda: "Point at a word" in page.text(".word-panel"))


def test_pointing_at_a_word_shows_its_neighbours(page: Visitor, folder: Path) -> None:
    page.open(view="map")
    page.wait(lambda: page.all(".word-map .word"))
    vectors = WordVectors.load(folder)
    word, x, y = page.run(
        """const dot = document.querySelector(".word-map circle");
        const box = dot.getBoundingClientRect();
        return [dot.dataset.word, box.left + box.width / 2, box.top + box.height / 2];"""
    )
    actions = ActionChains(page.driver)
    actions.w3c_actions.pointer_action.move_to_location(int(x), int(y))
    actions.perform()
    page.wait(lambda: listed(page))
    shown = page.text(".word-panel h3")
    assert listed(page) == [each.word for each in vectors.neighbours(shown, 12)]
    assert word in vectors


def test_the_map_is_saved_as_it_is_shown(page: Visitor) -> None:
    page.open(view="map", near="bano")
    page.wait(lambda: page.all(".word-map .word.lit"))
    for kind, at in (("svg", 0), ("csv", 2)):
        page.all(".view-head .exports button")[at].click()
        text = page.saved(f"regard-map-*.{kind}").read_text("utf-8")
        assert "bano" in text


def test_axe_finds_nothing(page: Visitor) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is missing: python tests/studio/browser.py")
    page.open(view="map", near="bano")
    page.wait(lambda: listed(page))
    page.run(AXE.read_text("utf-8"))
    found = page.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run().then((r) => done(r.violations));"
    )
    assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
