"""Every public name explains itself, and the examples in the docstrings work."""

import doctest
import inspect
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import regard

# What these examples print depends on what was learned, and small runs learn little: they only run.
TRAINED = re.compile(r'"runs/(demo|book|masked|reviews|tags|load)"')


def own_methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers(kind):
        if name.startswith("_") or not callable(value) or isinstance(value, type):
            continue
        # The functions of a Task are its fields, which its comments describe.
        if kind is not regard.Task and (getattr(value, "__module__", "") or "").startswith(
            "regard."
        ):
            yield f"{kind.__name__}.{name}", value


def documented() -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(regard, name) for name in regard.__all__}
    for value in list(found.values()):
        if isinstance(value, type):
            found |= dict(own_methods(value))
    return found


def sections(docstring: str) -> set[str]:
    return set(re.findall(r"^(\w+)\n-+$", inspect.cleandoc(docstring), re.MULTILINE))


@pytest.mark.parametrize("name", regard.__all__)
def test_a_public_function_says_what_it_takes_gives_and_raises(name: str) -> None:
    value = getattr(regard, name)
    found = sections(value.__doc__)
    if inspect.isfunction(value):
        assert found >= {"Parameters", "Raises", "Examples"}
        assert found & {"Returns", "Yields"}
    elif not issubclass(value, Exception):
        assert "Examples" in found or name in WITHOUT_EXAMPLE, name


# Results, which the examples of what gives them show.
WITHOUT_EXAMPLE = {
    *("Translation", "Alignment", "Classification", "TaggedSentence", "TaggedWord", "Filled"),
    *("ScoreLine", "Match", "Hit", "ImageCaption", "Neighbour", "Neighbours"),
    *("TranslatedFile", "Confidence"),
}


def test_every_public_method_is_documented() -> None:
    assert [name for name, value in documented().items() if not value.__doc__] == []


@pytest.mark.parametrize("name", documented())
def test_quotes_are_written_as_code(name: str) -> None:
    """Elsewhere the reference prints curly ones, which Python does not understand."""
    text = inspect.cleandoc(documented()[name].__doc__).partition("\nExamples\n---")[0]
    assert '"' not in re.sub(r"`[^`]+`", "", text)


class AnyOutput(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return True


def examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(recurse=False)
    found = {
        test.docstring: test
        for name, value in documented().items()
        for test in finder.find(value, name, module=False, globs={})
        if test.examples
    }
    return list(found.values())


@pytest.mark.parametrize("test", examples(), ids=lambda test: test.name)
def test_an_example_works(
    test: doctest.DocTest, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(runs / "runs", "runs")
    for side in ("fr", "en"):
        Path(f"test.{side}").write_text("a b\n")
    trained = TRAINED.search(test.docstring or "")
    runner = doctest.DocTestRunner(checker=AnyOutput() if trained else None, verbose=False)
    output: list[str] = []
    runner.run(test, out=output.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)
    assert runner.tries > 0
