"""What the page says is true: of filters, colours, crosshairs, weights that training replaces."""

import csv
import math
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.cli import main
from regard.files import read_metadata
from regard.run import Run
from regard.tasks.translation.translator import Translator
from regard.text.seen_words import WordGatherer
from regard.weights import load_checkpoint, save_model, saved_sizes
from tests.studio.conftest import Serving

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import ActionChains, Chrome, Keys

from tests.studio.test_page import TEXT, Visitor, driver, lit, no_complaints, page, translator

__all__ = ["driver", "no_complaints", "page", "translator"]


def press_export(page: Visitor, kind: str) -> None:
    page.run(
        """for (const each of document.querySelectorAll(".exports button"))
          if (each.textContent === arguments[0]) each.click();""",
        kind,
    )


def hold(page: Visitor, row: int, col: int) -> None:
    page.hover(row, col)
    page.wait(lambda: lit(page) == [row, col])
    ActionChains(page.driver).click().perform()
    page.wait(lambda: f"row={row}" in page.driver.current_url)


def empty(page: Visitor) -> None:
    box = page.one("#source")
    box.click()
    page.select_all()
    page.press(Keys.BACKSPACE, Keys.ENTER)
    page.wait(lambda: page.text("#output") == "The translation appears here.")


def test_a_filter_dims_cells_and_changes_no_value(page: Visitor, translator: Translator) -> None:
    page.open(view="alignment", text=TEXT, words=0, layer=1, head=1, mass=20)
    output = translator.translations([TEXT], translator.search)[0][0]
    weights = translator.maps(TEXT, output.ids).matrix("cross", 1, 1).weights
    page.wait(lambda: len(page.all(".row-label")) == len(weights))
    col = min(range(len(weights[0])), key=lambda each: weights[0][each])
    page.hover(0, col)
    page.wait(lambda: lit(page) == [0, col])
    value = float(page.one(".readout .value").get_attribute("data-value") or "nan")
    assert value == pytest.approx(weights[0][col], abs=1e-5)
    press_export(page, "CSV")
    path = page.saved("regard-alignment-digits-4-1-7.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    path.unlink()
    for row, expected in zip(rows, weights, strict=True):
        assert list(map(float, row[1:])) == pytest.approx(expected, abs=1e-5)


def test_each_strip_of_numbers_has_the_scale_of_its_own_colours(page: Visitor) -> None:
    page.open(view="numbers", text=TEXT, layer=1, head=0, row=0, col=0)
    page.wait(lambda: len(page.all(".vectors")) == 3)
    for button in page.all(".vectors > button"):
        button.click()
    strips = page.run(
        """return [...document.querySelectorAll(".vectors")].map((box) => [
          box.querySelectorAll(".legend span")[2].textContent,
          Math.max(...[...box.querySelectorAll("[data-value]")].map(
            (each) => Math.abs(Number(each.dataset.value)))),
        ]);"""
    )
    for scale, most in strips:
        assert float(scale) == pytest.approx(most, abs=6e-5)
    assert len({scale for scale, _ in strips}) == 3


def test_a_held_cell_stays_the_same_cell(page: Visitor) -> None:
    """Words become pieces; in Compare, another sentence has no cell that was pointed at."""
    page.open(view="alignment", text=TEXT, layer=1, head=0)
    page.one(".row-label")
    hold(page, 1, 2)
    labels = "return [...document.querySelectorAll('.row-label.lit, .col-label.lit')]"
    before = page.run(f"{labels}.map((each) => each.textContent)")
    page.run("document.querySelector('input[value=\"false\"]').click()")
    page.wait(lambda: "words=0" in page.driver.current_url)
    page.wait(lambda: page.run(f"{labels}.map((each) => each.textContent)") == before)
    page.open(view="compare", text=TEXT)
    page.wait(lambda: page.all(".pane-1 .col-label"))
    page.hover(1, 1, ".pane-0 canvas")
    page.wait(lambda: page.all(".pane-0 .col-label.lit"))
    page.run("[...document.querySelectorAll('.example')].at(-1).click()")
    page.wait(lambda: page.text("#source") != TEXT)
    page.settle()
    page.wait(lambda: not page.all(".pane .lit"))


def test_digits_switch_heads_of_the_layer_that_is_shown(
    page: Visitor, folders: dict[str, Path]
) -> None:
    """A link may show a mean of another layer than the first."""
    page.open(view="alignment", text=TEXT, layer=1, head=-1)
    page.one(".row-label")
    page.press("2")
    page.wait(lambda: "off=cross.1.1" in page.driver.current_url)
    page.press("0")
    page.open(view="heads", text=TEXT, kind="decoder", layer=1, head=0)
    page.wait(lambda: page.all(".thumb"))
    page.press("1")
    page.wait(lambda: "off=decoder.1.0" in page.driver.current_url)
    page.press("0")
    page.wait(lambda: not page.all(".chip"))


def test_the_length_penalty_is_part_of_the_link(page: Visitor) -> None:
    page.open(view="beam", text=TEXT)
    page.one(".node.finished")
    slide = """const box = document.querySelector(`[aria-label="${arguments[0]}"]`);
        box.value = arguments[1]; box.dispatchEvent(new Event("input"));"""
    page.run(slide, "Length penalty", 2.5)
    page.wait(lambda: "penalty=2.5" in page.driver.current_url)
    page.settle()
    page.run(slide, "Beam size", 3)
    page.wait(lambda: "beam=3" in page.driver.current_url)
    page.settle()
    assert "penalty=2.5" in page.driver.current_url
    page.wait(lambda: "length penalty 2.5" in page.text(".view"))
    page.open(view="beam", text=TEXT, penalty=2.5, beam=3)
    page.wait(lambda: "length penalty 2.5" in page.text(".view"))


def test_nothing_is_shown_of_a_sentence_that_is_gone(page: Visitor) -> None:
    for view, there in (
        ("alignment", ".row-label"),
        ("heads", ".thumb"),
        ("numbers", ".strip"),
        ("beam", ".node"),
        ("compare", ".pane-0 .row-label"),
        ("positions", ".trial td"),
    ):
        page.open(view=view, text=TEXT)
        page.wait(lambda there=there: page.all(there))
        empty(page)
        page.wait(lambda there=there: not page.all(there))


def test_the_crosshair_names_the_step_of_each_value(page: Visitor) -> None:
    page.open(view="training", text=TEXT)
    page.wait(lambda: len(page.all(".chart .curve")) >= 8)
    figure = page.run(
        """const chart = [...document.querySelectorAll(".chart-box")].find((each) =>
          each.querySelector("figcaption").textContent.startsWith("BLEU"));
        const drawing = chart.querySelector(".chart");
        const box = drawing.getBoundingClientRect();
        drawing.dispatchEvent(new PointerEvent("pointermove", {
          clientX: box.left + 50 + (box.width - 64) * 0.6, clientY: box.top + 40 }));
        return chart.querySelector(".chart-value").innerText;"""
    )
    assert "at 60" in figure  # the validation nearest to step 72; there is none at 72


def test_words_suit_what_is_shown(page: Visitor) -> None:
    page.open(view="alignment", text=TEXT, kind="encoder", layer=0, head=0)
    page.wait(lambda: page.all(".row-label"))
    explained = page.text("main .explain")
    assert "Dark" not in explained
    assert "output" not in explained
    assert "words on average" in page.text(".side-panel")
    page.open(view="alignment", text=TEXT, kind="encoder", layer=0, head=0, words=0)
    page.wait(lambda: "pieces on average" in page.text(".side-panel"))
    page.open(view="numbers", text=TEXT)
    page.wait(lambda: "the model’s own" in page.text("main .explain"))
    page.open(view="numbers", text=TEXT, worked="attention")
    page.wait(lambda: "not the model’s" in page.text("main .explain"))
    page.open(view="alignment", text=TEXT)
    page.wait(lambda: page.all(".row-label"))
    for odd in ("Row is", "what they carry", "Off is"):
        assert odd not in page.text("main")


def test_one_scale_of_colours_for_what_heads_are_worth(page: Visitor) -> None:
    """The same loss has the same colour in every kind of attention."""
    colours: dict[str, set[str]] = {}
    for kind in ("encoder", "decoder", "cross"):
        page.open(view="heads", text=TEXT, kind=kind)
        page.wait(lambda: page.all(".worth"))
        for each in page.all(".worth"):
            colours.setdefault(each.text, set()).add(each.value_of_css_property("background-color"))
    shown = page.run("return document.querySelector('.head-grid-box p').textContent")
    assert "all kinds of attention" in shown
    for found in colours.values():
        parts = [list(map(float, re.findall(r"[\d.]+", each)))[:3] for each in found]
        # What is rounded to the same number may differ a little.
        assert all(max(each) - min(each) < 12 for each in zip(*parts, strict=True))


@pytest.fixture
def in_training(folders: dict[str, Path], tmp_path: Path) -> Iterator[Path]:
    """A run that is still in training."""
    folder = tmp_path / "begun"
    shutil.copytree(folders["digits"], folder)
    (folder / "run.json").unlink()
    with Run(folder).lock():
        yield folder


def test_a_page_follows_a_run_in_training(
    in_training: Path, folders: dict[str, Path], driver: tuple[Chrome, Path]
) -> None:
    run = Run(in_training)
    with Serving([in_training]) as served:
        visitor = Visitor(driver[0], served.address, driver[1])
        visitor.driver.get("about:blank")
        visitor.driver.get(f"{served.address}#view=alignment&words=0&text={TEXT}&layer=1&head=0")
        visitor.wait(lambda: visitor.all(".row-label"))
        visitor.wait(lambda: "Weights of step 120" in visitor.text("#status"))
        status = visitor.text("#status")
        assert "step 120 of" in status
        assert "left" in status

        tensors, _ = load_checkpoint(run, run.checkpoint_path(60))
        kept = {name.removeprefix("weight/"): each for name, each in tensors.items()}
        time.sleep(0.02)
        save_model(run, kept, 60, saved_sizes(run, read_metadata(run.model_path)))
        visitor.wait(lambda: "Weights of step 60" in visitor.text("#status"))
        expected = Translator.load(in_training).translate([TEXT])[0]
        visitor.wait(lambda: visitor.text("#output") == (expected or "(nothing)"))


def test_a_server_that_is_gone_is_noticed(
    folders: dict[str, Path], driver: tuple[Chrome, Path]
) -> None:
    with Serving([folders["recurrent"]]) as served:
        visitor = Visitor(driver[0], served.address, driver[1])
        visitor.open(view="translate", text=TEXT)
        assert visitor.all("#status .dot.good")
    visitor.wait(lambda: visitor.all("#status .dot.bad"))
    assert "does not answer" in visitor.text("#status")
    driver[0].get_log("browser")  # the failed request, which is what was wanted


def test_a_recurrent_run_has_no_view_of_positions(
    folders: dict[str, Path], driver: tuple[Chrome, Path]
) -> None:
    with Serving([folders["recurrent"]]) as served:
        visitor = Visitor(driver[0], served.address, driver[1])
        visitor.open(view="positions", text=TEXT)
        shown = "return document.querySelector('#tabs [data-view=positions]').hidden"
        assert visitor.run(shown)
        assert not visitor.all("main .problem")


@pytest.mark.parametrize(
    "state",
    [
        {"kind": "foo"},
        {"layer": "7e9"},
        {"layer": 99, "head": 99},
        {"beam": -3, "penalty": 1000},
        {"measure": "x", "by": "y", "label": "z", "scale": "w"},
        {"step": "1.5", "run": -4},
    ],
)
def test_a_link_may_say_anything(state: dict[str, Any], page: Visitor) -> None:
    for view in ("alignment", "heads", "numbers"):
        page.open(view=view, text=TEXT, **state)
        page.wait(lambda: page.all(".row-label, .strip"))


def test_arrows_walk_through_the_tree_and_enter_keeps_the_focus(page: Visitor) -> None:
    page.open(view="beam", text=TEXT)
    page.one(".node.finished")
    page.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
    name = "return document.activeElement.getAttribute('aria-label') ?? ''"
    assert page.run(name).startswith("Step 1,")
    page.press(Keys.ARROW_RIGHT)
    assert page.run(name).startswith("Step 2,")
    second = page.run(name)
    page.press(Keys.ARROW_DOWN)
    assert page.run(name).startswith("Step 2,")
    assert page.run(name) != second
    page.press(Keys.ARROW_UP, Keys.ARROW_LEFT)
    assert page.run(name).startswith("Step 1,")
    before = page.driver.current_url
    page.press(Keys.ENTER)
    page.wait(lambda: page.driver.current_url != before)
    page.settle()
    page.wait(lambda: page.run("return document.activeElement.classList.contains('node')"))


ENDLESS = "x" * 300


def test_an_endless_word_widens_no_view(page: Visitor) -> None:
    size = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for view in ("translate", "alignment", "numbers", "beam", "compare"):
            page.open(view=view, text=ENDLESS)
            time.sleep(0.2)
            assert page.run("return document.documentElement.scrollWidth") == 375
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_marks_of_start_and_end_stand_beside_words(page: Visitor, translator: Translator) -> None:
    """Each row of words sums to 1: nothing is hidden."""
    page.open(view="alignment", text=TEXT, layer=1, head=0)
    page.wait(lambda: page.all(".row-label"))
    columns = [each.text for each in page.all(".col-label")]
    assert columns == [*TEXT.split(), "⟨end⟩"]
    assert page.all(".row-label")[-1].text == "⟨end⟩"
    press_export(page, "CSV")
    path = page.saved("regard-alignment-digits-4-1-7.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    path.unlink()
    for row in rows:
        assert sum(map(float, row[1:])) == pytest.approx(1, abs=1e-5)
    page.run("document.querySelector('.view .toggle input').click()")
    page.wait(lambda: [each.text for each in page.all(".col-label")] == TEXT.split())


def test_what_is_masked_is_not_zero(page: Visitor) -> None:
    page.open(view="alignment", text=TEXT, kind="decoder", layer=0, head=0, words=0)
    page.wait(lambda: page.all(".row-label"))
    page.hover(0, 2)
    page.wait(lambda: "masked" in page.text(".readout"))
    page.hover(2, 0)
    page.wait(lambda: page.all(".readout .value[data-value]"))
    colours = page.run(
        """const canvas = document.querySelector(".view .matrix canvas");
        const context = canvas.getContext("2d");
        const size = canvas.height / document.querySelectorAll(".row-label").length;
        return [[0, 2], [2, 0]].map(([row, col]) => {
          const { data } = context.getImageData(col * size, row * size, size, size);
          return new Set([...new Uint32Array(data.buffer)]).size > 1 && data[3] < 255;
        });"""
    )
    assert colours == [True, False]


def test_pieces_that_continue_a_word_have_a_dot(page: Visitor, translator: Translator) -> None:
    text = "77 1"
    page.open(view="alignment", text=text, words=0, layer=1, head=0)
    page.wait(lambda: page.all(".col-label"))
    pieces = translator.tokenizers.source.pieces(translator.tokenizers.source.encode(text))
    words = translator.tokenizers.source.word_of(translator.tokenizers.source.encode(text))
    continues = [at > 0 and words[at] == words[at - 1] for at in range(len(words))]
    assert any(continues)
    labels = [each.text for each in page.all(".col-label")][:-1]
    assert [label.startswith("·") for label in labels] == continues
    assert len(labels) == len(pieces)
    assert "continues a word" in page.text(".side-panel")


def test_few_controls_on_a_narrow_screen(page: Visitor) -> None:
    size = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    shown = """return [...document.querySelectorAll(".view .controls > *, .view .more > *")]
        .filter((each) => each.offsetParent).length"""
    try:
        page.open(view="alignment", text=TEXT)
        page.wait(lambda: page.all(".row-label"))
        assert page.run(shown) == 4  # three, and More
        page.run("document.querySelector('.more-button').click()")
        assert page.run(shown) > 7
        page.run("document.querySelector('.more-button').click()")
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_crosshair_leaves_the_colours(page: Visitor) -> None:
    page.open(view="alignment", text=TEXT, layer=1, head=0, row=0, col=0)
    page.wait(lambda: page.all(".lit"))
    for band in (".band.row", ".band.col"):
        assert page.one(band).value_of_css_property("background-color") == "rgba(0, 0, 0, 0)"
        assert page.one(band).value_of_css_property("box-shadow") != "none"


def in_a_matrix(page: Visitor, count: int, script: str) -> Any:
    """What a script gives that has a matrix of so many words."""
    return page.driver.execute_async_script(
        """const [count, done] = arguments;
        import("/matrix.js").then(async ({ Matrix }) => {
          const matrix = new Matrix({ label: "test" });
          document.getElementById("content").replaceChildren(matrix.element);
          const labels = Array.from({ length: count }, (_, at) => `word${at}`);
          const data = Float32Array.from({ length: count * count }, (_, at) => (at % 7) / 7);
          const scales = new Float32Array(count).fill(1);
          const sizes = { rows: count, cols: count };
          matrix.show({ ...sizes, data, rowLabels: labels, colLabels: labels, scales });
          await new Promise((resolve) => setTimeout(resolve, 200));
          done((() => { BODY })());
        });""".replace("BODY", script),
        count,
    )


@pytest.mark.parametrize("count", [20, 60, 90])
def test_labels_do_not_overlap(count: int, page: Visitor) -> None:
    """Lines of letters at an angle are as far apart as the columns, times its sine."""
    page.open(view="translate", text=TEXT)
    shown, cell, turn, font = in_a_matrix(
        page,
        count,
        """const { cell, turn, font } = matrix.size;
        return [document.querySelectorAll(".col-label").length, cell, turn, font];""",
    )
    assert shown == count
    assert cell * abs(math.sin(math.radians(turn))) >= 1.05 * font


def test_five_hundred_pieces_are_enlarged(page: Visitor) -> None:
    page.open(view="translate", text=TEXT)
    found = in_a_matrix(
        page,
        500,
        """const before = document.querySelectorAll(".col-label").length;
        const plus = document.querySelector('.matrix-zoom [aria-label="Larger cells"]');
        for (let at = 0; at < 4; at += 1) plus.click();
        matrix.point(250, 250);
        return [before, document.querySelectorAll(".col-label").length, matrix.size.cell,
          matrix.canvas.width, document.documentElement.scrollWidth - innerWidth];""",
    )
    assert found[0] == 0
    assert found[1] == 500
    assert found[2] >= 24
    assert found[3] <= 8000
    assert found[4] <= 0


def test_pictures_say_what_the_screen_says(page: Visitor) -> None:
    """Numbers, a colour scale, whole captions, names that tell files apart."""
    text = "4 1 7 9 9 2 5 5 0 1"
    page.open(view="alignment", text=text, layer=1, head=0)
    page.wait(lambda: page.all(".row-label"))
    press_export(page, "SVG")
    drawn = page.saved("regard-alignment-digits-4-1-7-9-9-2-5-5-0-1.svg").read_text("utf-8")
    assert "layer 2, head 1" in drawn
    assert "attention weight" in drawn
    assert "⟨end⟩" in drawn
    page.open(view="numbers", text=TEXT, layer=1, head=0, row=0, col=0)
    page.wait(lambda: len(page.all(".vectors")) == 3)
    press_export(page, "SVG")
    drawn = page.saved("regard-numbers-digits-4-1-7.svg").read_text("utf-8")
    for title in ("Query of", "From scores to weights", "weighted mean", "What leaves the layer"):
        assert title in drawn
    page.open(view="positions", text=TEXT)
    page.wait(lambda: page.all(".wave path"))
    time.sleep(0.3)
    press_export(page, "PNG")
    png = page.saved("regard-positions-digits.png").read_bytes()
    wide, high = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    assert wide <= 3400
    assert high <= 7000


def test_layers_and_heads_are_named_as_on_the_command_line(page: Visitor) -> None:
    page.open(view="heads", text=TEXT, layer=1, head=0)
    page.wait(lambda: "cross.1.0 on the command line, which counts from 0" in page.text("main"))
    page.open(view="alignment", text=TEXT, layer=1, head=0)
    page.wait(lambda: "cross.1.0" in page.text(".side-panel code"))


def test_words_that_training_never_saw_are_marked(
    folders: dict[str, Path], tmp_path: Path, driver: tuple[Chrome, Path]
) -> None:
    folder = tmp_path / "seen"
    shutil.copytree(folders["digits"], folder)
    seen = WordGatherer()
    seen.watch("kva")
    Run(folder).source_words_path.write_bytes(seen.gathered().to_bytes())
    with Serving([folder]) as served:
        visitor = Visitor(driver[0], served.address, driver[1])
        visitor.open(view="alignment", text="4 xu 1", layer=1, head=0)
        visitor.wait(lambda: visitor.all(".col-label.unseen"))
        assert [each.text for each in visitor.all(".col-label.unseen")] == ["xu"]
        assert "never seen in training" in visitor.text(".side-panel")


def test_the_best_map_is_the_same_everywhere(
    folders: dict[str, Path], tmp_path: Path, driver: tuple[Chrome, Path]
) -> None:
    """A mean of heads that aligns best is what the page shows, as `regard attend` does."""
    folder = tmp_path / "aligned"
    shutil.copytree(folders["digits"], folder)
    scores = [
        {"layer": 1, "head": None, "reading": "predicts", "aer": 0.1, "sharpness": 0.9},
        {"layer": 0, "head": 1, "reading": "read", "aer": 0.2, "sharpness": 0.8},
    ]
    found = {"scores": scores, "pairs": 9, "sentences": 9}
    Run(folder).save_finding("alignment", found)
    aligned = Translator.load(folder).align(TEXT)
    assert "the mean of cross.1, which aligns best" in aligned.name
    with Serving([folder]) as served:
        visitor = Visitor(driver[0], served.address, driver[1])
        visitor.open(view="alignment", text=TEXT)
        visitor.wait(lambda: "mean of layer 2, which aligns best" in visitor.text(".side-panel"))
        visitor.hover(0, 1)
        visitor.wait(lambda: lit(visitor) == [0, 1])
        value = float(visitor.one(".readout .value").get_attribute("data-value") or "nan")
        assert value == pytest.approx(aligned.weights[0][1], abs=1e-5)
        visitor.press("1")
        visitor.wait(lambda: "off=cross.0.0" in visitor.driver.current_url)
        visitor.settle()


def test_a_third_run_is_refused_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["studio", "a", "b", "c"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "c: more than `regard studio` takes; leave it out" in said
    assert "Unused" not in said
