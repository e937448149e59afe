"""From files to encoded pairs: what is held out, what is dropped, what is refused."""

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from regard.errors import DataError, RunError
from regard.evaluate.validation import Validation
from regard.recipe import Recipe
from regard.tasks.translation.pairs import Split
from regard.training.events import DataReady, Event
from regard.training.run import train, training_run

Tiny = Callable[..., Recipe]
Kind = TypeVar("Kind")


def first(kind: type[Kind], events: Iterable[Event]) -> Kind:
    return next(event for event in events if isinstance(event, kind))


def prepare(tiny: Tiny, folder: Path, sources: bytes, targets: bytes) -> DataReady:
    folder.mkdir(exist_ok=True)
    (folder / "a.xx").write_bytes(sources)
    (folder / "a.yy").write_bytes(targets)
    recipe = tiny(f'data.folder="{folder}"', 'data.train=["a.xx", "a.yy"]')
    with closing(training_run(recipe, folder / "run")) as events:
        return first(DataReady, events)


def test_the_split_is_the_same_each_time_and_leaks_nothing(tiny: Tiny, corpus: Path) -> None:
    split = Split.of(tiny("data.held_out_share=0.2"), 200)
    train_pairs, valid = list(split.train()), list(split.valid())
    assert train_pairs == list(split.train())
    assert valid == list(split.valid())
    assert 20 < len(valid) < 60
    assert len(train_pairs) + len(valid) == 200
    assert not {pair.source for pair in train_pairs} & {pair.source for pair in valid}
    other = list(Split.of(tiny("data.held_out_share=0.2", "seed=4"), 200).valid())
    assert {pair.source for pair in other} != {pair.source for pair in valid}


def test_a_sentence_that_occurs_twice_stays_on_one_side(tiny: Tiny, tmp_path: Path) -> None:
    sources = [f"{number % 50}" for number in range(1000)]
    (tmp_path / "a.xx").write_text("".join(f"{text}\n" for text in sources))
    (tmp_path / "a.yy").write_text("".join(f"{n} {text}\n" for n, text in enumerate(sources)))
    recipe = tiny(f'data.folder="{tmp_path}"', 'data.train=["a.xx", "a.yy"]')
    split = Split.of(recipe, 1000)
    assert not {pair.source for pair in split.train()} & {pair.source for pair in split.valid()}


def test_given_validation_files_are_used_and_nothing_is_held_out(
    tiny: Tiny, finished: Path, tmp_path: Path
) -> None:
    recipe = tiny('data.valid=["valid.xx", "valid.yy"]')
    with closing(training_run(recipe, tmp_path)) as events:
        ready = first(DataReady, events)
    assert (ready.train_pairs, ready.valid_pairs) == (200, 20)
    with closing(training_run(tiny(), tmp_path / "held out")) as events:
        ready = first(DataReady, events)
    assert ready.train_pairs + ready.valid_pairs == 200
    assert ready.valid_report is not None
    assert ready.valid_report.total == ready.valid_pairs > 0
    with closing(training_run(tiny(), tmp_path / "held out")) as events:
        assert first(DataReady, events).train_report is None  # encoded by the start before


def test_bad_data_is_named_with_its_line(tiny: Tiny, tmp_path: Path) -> None:
    good = b"".join(b"%d %d\n" % (n, n) for n in range(60))
    cases: dict[str, tuple[bytes, bytes]] = {
        f"{tmp_path}/a.xx:61: not valid UTF-8": (good + b"\xff\n", good + b"x\n"),
        f"{tmp_path}/a.yy: 60 lines, but {tmp_path}/a.xx has 61": (good + b"x\n", good),
        f"{tmp_path}/a.yy: the file is empty": (good, b""),
    }
    for text, (sources, targets) in cases.items():
        with pytest.raises(DataError) as raised:
            prepare(tiny, tmp_path, sources, targets)
        assert str(raised.value).startswith(text)
        assert "\n" not in str(raised.value)
    # Put right, the same folder is used.
    assert prepare(tiny, tmp_path, good, good).train_pairs > 40


def test_so_few_pairs_that_none_is_held_out(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"too few pairs \(1\) to hold 5 % out .* at least 100"
    ) as raised:
        prepare(tiny, tmp_path, b"a\n", b"b\n")
    assert "--valid" in str(raised.value)


def test_a_line_of_a_megabyte_does_not_end_a_run(tiny: Tiny, corpus: Path, tmp_path: Path) -> None:
    """Neither among the pairs to learn from nor among those to translate for validation."""
    lines = ("7 " * 500_000, "7 " * 300, "")
    for name in ("train", "valid"):
        for side in ("xx", "yy"):
            text = (corpus / f"{name}.{side}").read_text()
            (tmp_path / f"{name}.{side}").write_text("\n".join((*lines, text)))
    recipe = tiny(
        f'data.folder="{tmp_path}"',
        'data.valid=["valid.xx", "valid.yy"]',
        "train.steps=3",
        "train.eval_sentences=30",
    )
    events = list(training_run(recipe, tmp_path / "run"))
    ready = first(DataReady, events)
    assert (ready.train_pairs, ready.valid_pairs) == (200, 20)
    for report in (ready.train_report, ready.valid_report):
        assert report is not None
        assert [(drop.reason, drop.count) for drop in report.dropped] == [
            *(("too long", 2), ("empty source", 1))
        ]
        assert report.dropped[0].places[0].endswith(".xx:1")
    # The fourth line is the first that is translated, and nothing has shifted.
    sample = first(Validation, events).samples[0]
    assert sample.source == (corpus / "valid.xx").read_text().splitlines()[0]
    assert sample.reference == (corpus / "valid.yy").read_text().splitlines()[0]
    texts = (tmp_path / "run" / "training" / "data" / "valid.jsonl").read_text().splitlines()
    assert len(texts) == 20


def test_damaged_encoded_texts_are_named(tiny: Tiny, copy: Path) -> None:
    for content in (b'{"source": 1', b'{"sauce": "x"}', b"[1]\n"):
        (copy / "training" / "data" / "valid.jsonl").write_bytes(content)
        with pytest.raises(RunError, match=r"valid\.jsonl: damaged"):
            train(tiny("train.steps=30"), copy)
    (copy / "training" / "data" / "valid.jsonl").unlink()
    assert train(tiny("train.steps=25"), copy).info()["step"] == 25
