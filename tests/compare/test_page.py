"""A comparison as text, as a page and as a figure."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from regard.compare import table
from regard.compare.figure import save_by_length
from regard.compare.measure import Comparison, Look, Measured, as_json
from regard.compare.page import NO_ATTENTION, page
from regard.errors import RequestError
from regard.evaluate.lengths import Bin
from regard.evaluate.scores import Score
from regard.evaluate.significance import Difference
from regard.tasks.translation.looking import Alignment

NASTY = '<b onclick="x">$a & "b"'
BINS = (Bin(1, 5, 3.5, tuple(range(10))), Bin(6, 10, 8.0, tuple(range(10, 30))))


def measured(name: str, low: float, differences: tuple[Difference, ...] = ()) -> Measured:
    return Measured(
        name=name,
        folder=f"runs/{name}",
        model="recurrent, lstm",
        parameters=1_234_567,
        updates=1200,
        training_seconds=125.0,
        training_tokens=2_500_000,
        machine="x86_64, 2 threads",
        scores=(
            Score("BLEU", low, low - 1, low + 1, "sig"),
            Score("chrF", 70.0, 69.0, 71.0, "sig"),
            Score("exact", 50.0, None, None, "sig"),
        ),
        by_length={"exact": [90.0, low], "BLEU": [95.0, low]},
        differences=differences,
    )


@pytest.fixture
def comparison() -> Comparison:
    worse = (Difference("BLEU", -20.0, 0.001, 0.002), Difference("chrF", 0.1, 0.3, 0.4))
    runs = (measured("first", 80.0), measured(NASTY, 60.0, worse))
    return Comparison("a test", 30, ("BLEU", "chrF", "exact"), ("exact", "BLEU"), BINS, runs)


@pytest.fixture
def looks() -> list[Look]:
    words, output = ["<un>", "deux"], ["one", "two"]
    attending = Alignment(words, output, [[0.9, 0.1], [0.2, 0.8]])
    blind = Alignment(words, output, [[0.0, 0.0], [0.0, 0.0]])
    empty = Alignment(words, [], [])
    return [
        Look("first", "one two", attending),
        Look(NASTY, "one <two>", blind),
        Look("silent", "", empty),
    ]


def test_the_text_has_the_table_the_verdicts_and_a_plot(comparison: Comparison) -> None:
    text = table.text(comparison, 1000)
    assert "1,234,567" in text
    assert "20,000" in text  # tokens a second
    assert "2:05 min" in text
    assert "80.0 [79.0, 81.0]" in text
    assert "Against first:" in text
    assert "BLEU -20.0, real (p = 0.002)" in text
    assert "chrF +0.1, may be chance (p = 0.400)" in text
    plot = text[text.index("exact by words") :].splitlines()
    # In the short bin the second run lies on the first; in the long bin they are 20 points apart.
    assert [line.count("●") for line in plot].count(1) == 2
    assert [line.count("▲") for line in plot].count(1) == 3
    assert "1–5" in text
    assert all(len(line) == len(line.rstrip()) for line in text.splitlines())


def test_an_unfinished_run_has_dashes(comparison: Comparison) -> None:
    unknown = replace(comparison.runs[0], training_seconds=None, training_tokens=None, updates=None)
    alone = replace(comparison, runs=(unknown,))
    text = table.text(alone, 1000)
    assert text.count("–") > 2
    assert "Against" not in text
    assert "Which differences" not in page(
        alone, title="t", about=(), sentence="", looks=(), resamples=10
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_the_page_stands_alone_and_shows_text_as_text(
    comparison: Comparison, looks: list[Look]
) -> None:
    text = page(
        comparison, title=NASTY, about=[NASTY], sentence="<un> deux", looks=looks, resamples=1000
    )
    tags = Tags()
    tags.feed(text)
    names = {tag for tag, _ in tags.seen}
    assert not names & {"script", "link", "img", "iframe", "b", "un", "two"}
    assert not [attributes for _, attributes in tags.seen if {"onclick", "src"} & set(attributes)]
    assert set(re.findall(r"https?://[^\s\"]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme: dark" in text
    assert text.count(NO_ATTENTION) == 1
    assert "one &lt;two&gt;" in text
    assert "Its translation is empty." in text
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert all(ElementTree.fromstring(drawing).get("width") for drawing in drawings)
    cells = [drawing for drawing in drawings if 'class="cell"' in drawing]
    assert [drawing.count('class="cell"') for drawing in cells] == [4]
    curves = [drawing for drawing in drawings if "polyline" in drawing]
    assert [drawing.count("<polyline") for drawing in curves] == [2, 2]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_figure_is_drawn(comparison: Comparison, tmp_path: Path, ending: str) -> None:
    path = tmp_path / "deep" / f"curve.{ending}"
    save_by_length(comparison, path)
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if ending == "png" else b"<?xml" in start


def test_a_figure_that_cannot_be_written(comparison: Comparison, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="cannot be written"):
        save_by_length(comparison, tmp_path / "file" / "curve.png")


def test_programs_get_plain_values(comparison: Comparison) -> None:
    facts = as_json(comparison)
    assert facts["bins"][1] == {
        "shortest_words": 6,
        "longest_words": 10,
        "mean_words": 8.0,
        "sentences": 20,
    }
    assert facts["runs"][0]["tokens_per_second"] == 20_000
    assert facts["runs"][1]["differences"][0]["real"] is True
    assert facts["runs"][1]["differences"][1]["verdict"] == "may be chance (p = 0.400)"
