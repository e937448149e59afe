"""A lesson: one file that holds the page and its answers, opened from the disk."""

import re
from pathlib import Path
from typing import Any

import pytest

from regard.errors import RequestError
from regard.studio.lesson.publish import LARGEST, modules, publish
from regard.studio.lesson.recorder import key_of, plain
from regard.studio.runs import OpenRun
from tests.studio.conftest import SENTENCE

TEXTS = ("4 1 7", "5 8 0")


@pytest.fixture(scope="module")
def lesson(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lesson") / "lesson.html"
    said = publish(OpenRun(folders["digits"]), TEXTS, path)
    assert "2 sentences" in said
    return path


def test_a_lesson_is_small_and_asks_nobody(lesson: Path) -> None:
    text = lesson.read_text("utf-8")
    assert len(text.encode()) < LARGEST
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)
    assert "regard studio digits" in text


def test_no_module_of_a_lesson_has_an_address() -> None:
    """A module that comes from the disk may not load one beside it."""
    import base64

    for name, address in modules().items():
        source = base64.b64decode(address.partition(",")[2]).decode()
        for wanted in re.findall(r'^(?:import|export)[^;]*? from "([^"]+)"', source, re.MULTILINE):
            assert wanted in modules(), (name, wanted)


def test_what_is_usual_is_no_part_of_a_question() -> None:
    assert key_of("trace", {"source": [0, 3], "run": 0, "off": [], "text": ""}) == (
        'trace {"source":[0,3]}'
    )
    assert key_of("tree", {"b": 1.0, "a": {"z": None}}) == 'tree {"b":1}'
    assert plain({}) is None


def test_what_cannot_be_published_is_said(folders: dict[str, Path], tmp_path: Path) -> None:
    run = OpenRun(folders["digits"])
    with pytest.raises(RequestError, match="at most 10"):
        publish(run, [str(number) for number in range(11)], tmp_path / "a.html")
    with pytest.raises(RequestError, match="1 to 2,000"):
        publish(run, [" "], tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()


def test_held_out_sentences_are_taken_if_none_is_given(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    said = publish(OpenRun(folders["recurrent"]), (), tmp_path / "a.html")
    assert "3 sentences" in said


pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver import Chrome  # noqa: E402

from tests.studio.test_page import Visitor, driver  # noqa: E402

__all__ = ["driver"]

VIEWS = {
    "translate": ".token",
    "model": ".stage .sheet",
    "alignment": ".matrix canvas",
    "heads": ".matrix canvas, .thumbnail, canvas",
    "numbers": ".strip",
    "beam": "svg",
    "training": "svg",
    "positions": "canvas",
    "map": ".view",
}


@pytest.fixture
def disk(driver: tuple[Chrome, Path], lesson: Path) -> Any:
    """The lesson as a visitor opens it; nothing may be said on the console."""
    driver[0].get_log("browser")
    yield Visitor(driver[0], lesson.as_uri(), driver[1])
    assert [each for each in driver[0].get_log("browser") if each["level"] == "SEVERE"] == []


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_alive_from_the_disk(view: str, disk: Visitor) -> None:
    disk.open(view=view, text=TEXTS[1], box="decoder.0.cross_attention")
    disk.wait(lambda: disk.all(f".view {VIEWS[view]}") or disk.all(VIEWS[view]))
    assert disk.text("#output")
    assert [each.text for each in disk.all(".problem")] == []


def test_other_rows_and_heads_are_alive_and_what_is_not_is_said(disk: Visitor) -> None:
    disk.open(view="model", text=TEXTS[0], row=2, col=1, head=1, box="decoder.1.cross_attention")
    disk.wait(lambda: len(disk.all(".sheet")) >= 3)
    assert [each.text for each in disk.all(".problem")] == []
    disk.open(view="translate", text="1 1 1")
    assert "regard studio digits" in disk.text("#output")


def test_a_lesson_of_a_text(
    driver: tuple[Chrome, Path], text_folders: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "tags.html"
    publish(OpenRun(text_folders["tagging"]), [SENTENCE], path)
    visitor = Visitor(driver[0], path.as_uri(), driver[1])
    visitor.driver.get(f"{path.as_uri()}#view=model&box=output&text={SENTENCE}")
    visitor.wait(lambda: visitor.all(".sheet"))
