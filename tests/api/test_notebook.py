"""The notebook of ten cells works, in the shell that notebooks use."""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return found


def test_there_are_ten_cells_and_no_outputs_that_grow_old() -> None:
    assert len(cells()) == 10
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells())


@pytest.mark.timeout(400)
# IPython opens a history, and some of its parts warn about themselves.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_notebook_runs_and_learns(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(history_length=0, user_ns={})
    shell.history_manager.enabled = False  # type: ignore[union-attr]
    results = []
    try:
        for cell in cells():
            if cell["cell_type"] == "code":
                done = shell.run_cell("".join(cell["source"]))
                assert done.success, done.error_in_exec or done.error_before_exec
                results.append(done.result)
    finally:
        InteractiveShell.clear_instance()
    _, run, translations, evaluation, alignment, accuracy, label = results
    assert translations == ["July 14 , 1999", "May 1 , 2024"]
    assert evaluation.score("exact") >= 99
    assert {(2, 0), (1, 1)} <= set(alignment.pairs())  # the month is first, the day second
    assert accuracy > 0.95
    assert label.label == "spring"
    for each in (run, evaluation, alignment, label):
        html, _ = shell.display_formatter.format(each)  # type: ignore[union-attr]
        assert "text/html" in html


def test_the_page_on_python_runs(runs: Path, tmp_path: Path) -> None:
    """Each block in turn, with small models and the names that the page leaves open."""
    import re
    import shutil
    from typing import Any as Anything

    import regard
    from tests.api.conftest import PAIRS, REVIEWS, TINY, TRANSLATOR

    pandas = pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    shutil.copytree(runs / "runs", "runs")
    shutil.rmtree("runs/reviews")
    table = pandas.DataFrame(REVIEWS, columns=["text", "stars"])
    table.to_csv("reviews.csv", index=False)
    for side, suffix in enumerate(("en", "de")):
        Path(f"train.{suffix}").write_text("".join(f"{pair[side]}\n" for pair in PAIRS))
    texts, labels = list(table["text"]), list(table["stars"])
    names: dict[str, Anything] = {
        "more_pairs": PAIRS,
        "texts": texts,
        "labels": labels,
        "more_texts": texts[:20],
        "more_labels": labels[:20],
        "sources": ["le chat 1 dort."],
        "references": ["the cat 1 sleeps."],
    }
    page = (NOTEBOOK.parent / "python.md").read_text("utf-8")
    train, estimator = regard.train, regard.ClassifierEstimator
    small = {"pairs": TRANSLATOR, "labelled": TINY}

    def quick(**asked: Anything) -> Anything:
        (kind,) = small.keys() & asked.keys()
        return train(**asked, settings=small[kind], check=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(regard, "train", quick)
        patch.setattr(regard, "ClassifierEstimator", lambda settings: estimator(settings=TINY))
        for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            exec(compile(block, "python.md", "exec"), names)
    assert Path("runs/again/model.safetensors").exists()
