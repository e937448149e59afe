"""Running text on disk, and the windows in which a model reads it."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.batch import RowStates
from regard.data.stream import CarriedState, Stream, TextExamples, WindowBatches, write_stream
from regard.data.texts import after, count_characters, read_documents, up_to
from regard.errors import DataError, RunError
from regard.text.tokenizer import END, Tokenizer

TEXT = "The cat sat.\n\n  It  sat on\tthe mat.\nThe end.\n"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([TEXT], kind="character", vocabulary_size=400, verbatim=True)


def test_a_text_comes_back_as_it_was(tokenizer: Tokenizer, tmp_path: Path) -> None:
    lines: list[str | None] = [*TEXT.splitlines(keepends=True), None]
    write_stream([*lines, "More\n", None], tokenizer, tmp_path, "train")
    stream = Stream.open(tmp_path, "train")
    ids = stream.window(0, len(stream)).tolist()
    first = ids.index(END)
    assert tokenizer.decode(ids[:first]) == TEXT
    assert ids[-1] == END
    assert stream.characters == len(TEXT) + 5
    backward = Stream.open(tmp_path, "train", backward=True)
    assert backward.window(0, len(backward)).tolist() == ids[::-1]


def test_damage_is_named(tokenizer: Tokenizer, tmp_path: Path) -> None:
    write_stream([TEXT, None], tokenizer, tmp_path, "train")
    (tmp_path / "train.ids").write_bytes(b"\0\0")
    with pytest.raises(RunError, match=r"train\.ids: damaged \(2 bytes instead of"):
        Stream.open(tmp_path, "train")
    (tmp_path / "train.json").write_text("{}")
    with pytest.raises(RunError, match="not what regard writes"):
        Stream.open(tmp_path, "train")


@given(
    size=st.integers(12, 400),
    context=st.integers(1, 11),
    rows=st.integers(1, 5),
    epoch=st.integers(0, 3),
)
def test_windows_follow_each_other_without_a_gap(
    size: int, context: int, rows: int, epoch: int
) -> None:
    windows = WindowBatches(size, context, rows * context, seed=3)
    starts = np.sort(np.concatenate(windows.epoch(epoch)))
    assert (np.diff(starts) == context).all()
    assert 0 <= starts[0] < context
    assert size - 2 * context - 1 < starts[-1] <= size - context - 1
    again = WindowBatches(size, context, rows * context, seed=3).epoch(epoch)
    assert all(map(np.array_equal, windows.epoch(epoch), again))


@given(size=st.integers(12, 400), context=st.integers(1, 11), rows=st.integers(1, 5))
def test_lanes_continue_where_they_stopped_and_never_overlap(
    size: int, context: int, rows: int
) -> None:
    batches = WindowBatches(size, context, rows * context, seed=3, in_lanes=True).epoch(1)
    for before, behind in pairwise(batches):
        assert np.array_equal(before + context, behind)
    ends, begins = batches[-1] + context, batches[0]
    assert ends[-1] < size
    assert not set(ends.tolist()) & set(begins.tolist())


def test_a_text_shorter_than_a_context_is_refused() -> None:
    with pytest.raises(DataError, match=r"8 tokens.*context is 8"):
        WindowBatches(8, 8, 8, seed=1)


def test_labels_are_what_follows(tokenizer: Tokenizer, tmp_path: Path) -> None:
    write_stream([TEXT, None], tokenizer, tmp_path, "train")
    stream = Stream.open(tmp_path, "train")
    batch = TextExamples(stream, 5).batch(np.array([0, 7]))
    assert torch.equal(batch.tokens[:, 1:], batch.labels[:, :-1])
    assert batch.labels[1, -1] == stream.ids[12]


def test_states_are_carried_to_their_places() -> None:
    carried_state = CarriedState()
    RowStates(carried_state.states, [0, 50], [10, 60]).keep(
        torch.tensor([[[1.0]], [[float("nan")]]])
    )
    before = RowStates(carried_state.states, [10, 60, 99], []).before(torch.zeros(1))
    assert before is not None
    assert before.flatten().tolist() == [1.0, 0.0, 0.0]
    assert RowStates(carried_state.states, [0], []).before(torch.zeros(1)) is None
    table = carried_state.table([60, 10])
    carried_state.load({})
    assert carried_state.table([60, 10]) == {}
    carried_state.load(table)
    carried_state.forget_all_but([10, 11])
    assert list(carried_state.states) == [10]


@given(st.lists(st.text(max_size=9), max_size=9), st.integers(0, 80))
def test_a_text_is_cut_in_two(parts: list[str], place: int) -> None:
    texts: list[str | None] = [*parts, None]
    head = "".join(text for text in up_to(texts, place) if text)
    tail = "".join(text for text in after(texts, place) if text)
    assert head + tail == "".join(parts)
    assert len(head) == min(place, count_characters(texts))


def test_documents_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "one\\ntwo"}\n\n{"text": "three"}\n', encoding="utf-8")
    assert list(read_documents([path])) == ["one\n", "two", None, "three", None]
    path.write_text('{"txt": "one"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r'a\.jsonl:1: no "text" in the object'):
        list(read_documents([path]))


def test_documents_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("Label\tText\trating\n1\tone\t9\n\n0\ttwo\t3\n", encoding="utf-8")
    assert list(read_documents([path])) == ["one\n", None, "two\n", None]
    path.write_text("1\tone\n0\ttwo\n", encoding="utf-8")
    assert list(read_documents([path])) == ["one\n", None, "two\n", None]
    path.write_text("label\ttext\n1\tone\n0\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.tsv:3: 1 columns, but the text is in column 2"):
        list(read_documents([path]))
