"""The views of captions and of matching in a real browser."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import regard
from tests.captioned_runs import CAPTIONS, photo, write_captioners, write_matchers
from tests.studio.browser import AXE
from tests.studio.conftest import Serving
from tests.studio.test_image_page import click, values

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import Chrome, Keys

from tests.studio.test_page import Visitor, driver, no_complaints

__all__ = ["driver", "no_complaints"]

RUNS = ("lstm", "mean", "whole", "largest")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("captions")
    made = {**write_captioners(folder), **write_matchers(folder)}
    return {name: made[name] for name in RUNS}


@pytest.fixture(scope="module")
def page(driver: tuple[Chrome, Path], folders: dict[str, Path]) -> Iterator[Visitor]:
    with Serving(list(folders.values())) as served:
        yield Visitor(driver[0], served.address, driver[1])


def words(page: Visitor) -> list[str]:
    script = "return [...document.querySelectorAll('.word .piece')].map((each) => each.innerText)"
    return page.run(script)  # type: ignore[no-any-return]


def opened(page: Visitor, **state: object) -> list[str]:
    page.open(view="caption", **state)
    return page.wait(lambda: words(page))  # type: ignore[no-any-return]


def shown_map(page: Visitor, expected: np.ndarray) -> None:
    page.wait(lambda: values(page) == pytest.approx(expected.flatten().tolist(), abs=1e-5))


def test_a_word_is_shown_over_the_image(page: Visitor, folders: dict[str, Path]) -> None:
    found = opened(page, sample=1)
    captioner = regard.load(folders["lstm"])
    maps = captioner.maps(photo(1))
    assert found == [*maps.words, "⟨end⟩"]
    assert len(page.all(".word canvas")) == len(maps.words)
    grid = maps.hidden.shape[1:]
    weights = maps.weights.repeat(grid[0] // maps.weights.shape[1], 1)
    weights = weights.repeat(grid[1] // maps.weights.shape[2], 2)
    shown_map(page, weights.mean(0))
    click(page, ".word", 1)
    shown_map(page, weights[1])
    assert "word=1" in page.driver.current_url
    click(page, '.image-right input[value="patches hidden"]')
    shown_map(page, maps.hidden[1])
    assert f"“{maps.words[1]}” has" in page.text(".readout-of-patch")


def test_words_are_stepped_through_with_the_keyboard(page: Visitor) -> None:
    found = opened(page)
    page.run("document.querySelector('.word[tabindex=\"0\"]').focus()")
    page.wait(lambda: page.text(".readout-of-patch").startswith(f"“{found[0]}”"))
    page.press(Keys.ARROW_RIGHT)
    page.wait(lambda: page.text(".readout-of-patch").startswith(f"“{found[1]}”"))
    page.press(Keys.ENTER)
    page.wait(lambda: page.all('.word[aria-pressed="true"]'))
    page.wait(lambda: page.all(".candidates"))
    focused = "return document.activeElement.dataset.word"
    page.wait(lambda: page.run(focused) == "1")
    page.press(Keys.HOME)
    page.wait(lambda: page.run(focused) == "0")
    # On to the patches.
    page.run("document.querySelector('.patch[tabindex=\"0\"]').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    page.wait(lambda: page.text(".readout-of-patch").startswith("Row 2, column 2"))
    page.press(Keys.SPACE)
    page.wait(lambda: page.all(".hidden-patch"))
    page.wait(lambda: "The caption" in page.text(".effect"))
    page.press(Keys.ESCAPE)
    page.wait(lambda: not page.all(".hidden-patch") and not page.all(".effect"))


def test_another_word_is_chosen_and_given_up(page: Visitor) -> None:
    before = opened(page, word=0)
    other = page.wait(lambda: page.text(".candidates li:not(.taken) .piece"))
    click(page, ".candidates li:not(.taken) button:enabled")
    page.wait(lambda: page.all(".word.forced"))
    assert words(page)[0].startswith(other)
    click(page, ".image-right .controls button")
    page.wait(lambda: words(page) == before)
    click(page, ".word", 0)
    page.one(".own input").send_keys("yellow", Keys.ENTER)
    page.wait(lambda: words(page)[0].startswith("yellow"))


def test_other_captions_are_chosen_from(page: Visitor) -> None:
    opened(page, sample=2)
    script = "return [...document.querySelectorAll('.outputs button')].map((e) => e.innerText)"
    outputs = page.run(script)
    assert len(outputs) == 5
    click(page, ".outputs button", 1)
    page.wait(lambda: " ".join(words(page)[:-1]) == outputs[1])
    assert page.text(".outputs .taken button") == outputs[1]


def test_hidden_patches_change_what_is_said(page: Visitor, folders: dict[str, Path]) -> None:
    opened(page, hidden="0,1,2,3")
    page.wait(lambda: page.all(".effect"))
    change = float(page.one("[data-change]").get_attribute("data-change") or "0")
    captioner = regard.load(folders["lstm"])
    from regard.inspect.captions import piece_logits, seen_image

    ids = captioner.captions([photo()])[0][0].ids
    labels = [*ids, captioner.tokenizer.specials.end]

    def total(pixels: np.ndarray) -> float:
        logits = piece_logits(captioner, pixels[None], ids)[0].double().log_softmax(-1)
        return float(sum(logits[place, label] for place, label in enumerate(labels)))

    hidden = seen_image(captioner, photo(), [0, 1, 2, 3])
    assert change == pytest.approx(total(hidden) - total(photo()), abs=1e-3)


def test_a_caption_is_saved(page: Visitor, folders: dict[str, Path]) -> None:
    found = opened(page)
    page.press("e")
    picture = page.saved("regard-caption-*.svg").read_text()
    assert all(f">{word} " in picture for word in found[:-1])
    click(page, ".exports button", 2)
    with page.saved("regard-caption-*.csv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header[:2] == ["word", "probability"]
    assert [row[0].lstrip("'") for row in rows] == found[:-1]
    expected = regard.load(folders["lstm"]).maps(photo()).probabilities
    assert [float(row[1]) for row in rows] == pytest.approx(expected.tolist(), rel=1e-4)


def test_a_model_that_sees_the_whole_has_only_hidden_patches(page: Visitor) -> None:
    opened(page, run=2)
    page.wait(lambda: values(page))
    maps = [each.get_attribute("value") for each in page.all(".image-right input[type=radio]")]
    assert maps == ["patches hidden", "image"]


def test_maps_that_are_the_same_are_warned_of(
    page: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(page)
    assert page.text(".warning") == ""
    monkeypatch.setattr("regard.inspect.captions.SAME_MAPS", 2.0)
    opened(page)
    page.wait(lambda: "explains no word" in page.text(".warning"))
    click(page, '.image-right input[value="patches hidden"]')
    page.wait(lambda: page.text(".warning") == "")


def test_an_image_of_ones_own_is_described(
    page: Visitor, folders: dict[str, Path], tmp_path: Path
) -> None:
    opened(page)
    path = tmp_path / "own.png"
    Image.fromarray(photo(7, 30)).save(path)
    page.one(".file-input").send_keys(str(path))
    expected = regard.load(folders["lstm"]).caption(path)
    page.wait(lambda: " ".join(words(page)[:-1]) == expected)
    assert not page.all('.sample[aria-pressed="true"]')


def cells(page: Visitor) -> list[float]:
    return page.run(  # type: ignore[no-any-return]
        "return [...document.querySelectorAll('.fit')].map((each) => Number(each.dataset.value))"
    )


def compared(page: Visitor, **state: object) -> None:
    page.open(view="match", **{"run": 1, **state})
    page.wait(lambda: cells(page))


def test_images_and_texts_are_compared(page: Visitor, folders: dict[str, Path]) -> None:
    compared(page)
    matcher = regard.load(folders["mean"])
    expected = matcher.similarity([photo(each) for each in range(3)], CAPTIONS).T
    assert cells(page) == pytest.approx(expected.flatten().tolist(), abs=1e-5)
    click(page, 'input[value="of texts"]')
    columns = np.array(page.wait(lambda: cells(page))).reshape(3, 3).sum(0)
    assert columns == pytest.approx([1, 1, 1])
    click(page, 'input[value="of images"]')
    page.wait(lambda: np.allclose(np.array(cells(page)).reshape(3, 3).sum(1), 1))
    box = page.one(".text-box")
    box.clear()
    box.send_keys("a red star\n\na red star\ntwo moons\n")
    page.wait(lambda: len(cells(page)) == 6)
    box.clear()
    box.send_keys(" ")
    page.wait(lambda: "Write a text" in page.text("main"))


def test_a_pair_is_looked_into(page: Visitor, folders: dict[str, Path]) -> None:
    compared(page)
    click(page, ".fit", 4)
    page.wait(lambda: page.all(".pair .word"))
    expected = regard.load(folders["mean"]).maps(photo(1), CAPTIONS[1])
    assert words(page) == ["all words", *expected.words]
    notes = [each.text for each in page.all(".pair .word .share")]
    assert notes[0] == f"{expected.similarity:.2f}".replace("-", "-")
    factor = expected.hidden.shape[0] // expected.parts.shape[1]
    parts = expected.parts.repeat(factor, 1).repeat(factor, 2)
    click(page, ".pair .word", 2)
    shown_map(page, parts[1])
    click(page, '.pair input[value="patches hidden"]')
    shown_map(page, expected.together[1])
    click(page, ".patch", 5)
    page.wait(lambda: page.all(".pair h3 .points"))
    changed = float(page.text(".pair h3 .points").replace("−", "-"))
    assert changed == pytest.approx(-expected.hidden.flatten()[5], abs=1e-3)


def test_the_table_is_walked_with_the_keyboard(page: Visitor) -> None:
    compared(page)
    page.run("document.querySelector('.fit[tabindex=\"0\"]').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ENTER)
    page.wait(lambda: page.all(".pair .word"))
    focused = "return document.activeElement.dataset.cell"
    page.wait(lambda: page.run(focused) == "1,1")
    assert "row=1" in page.driver.current_url


def test_a_confusion_is_looked_at(page: Visitor) -> None:
    compared(page)
    click(page, ".confusions button")
    page.wait(lambda: page.all(".confusion"))
    click(page, ".confusion", 0)
    page.wait(lambda: page.all(".pair .word"))
    assert "images=" in page.driver.current_url


def test_images_come_and_go(page: Visitor, tmp_path: Path) -> None:
    compared(page)
    path = tmp_path / "own.png"
    Image.fromarray(photo(8, 30)).save(path)
    page.one(".file-input").send_keys(str(path))
    page.wait(lambda: len(cells(page)) == 12)
    click(page, ".drop", 0)
    page.wait(lambda: len(page.all(".similarity .drop")) == 3)
    click(page, ".sample", 0)
    page.wait(lambda: len(page.all(".similarity .drop")) == 4)


@pytest.mark.parametrize("width", [1440, 375])
@pytest.mark.parametrize(("view", "run"), [("caption", 0), ("match", 1), ("match", 3)])
def test_it_fits_and_nobody_is_shut_out(width: int, view: str, run: int, page: Visitor) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.open(view=view, run=run, word=1, hidden="1,2", row=0, col=0)
        page.wait(lambda: page.all(".word canvas"))
        page.wait(lambda: page.all(".points") or page.all(".effect"))
        assert page.run("return document.documentElement.scrollWidth") <= width
        if AXE.exists():
            page.run(AXE.read_text())
            found = page.driver.execute_async_script(
                "axe.run().then((found) => arguments[0](found.violations.map((v) => v.id)))"
            )
            assert found == []
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
