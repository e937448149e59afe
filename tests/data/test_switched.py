"""Words of sources are replaced by their translations, in the same way after every resumption."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.data.corpus import Pair
from regard.data.ids import IdPairs, write_ids
from regard.data.switched import NAME, SwitchedPairs, WordLinks
from regard.text.tokenizer import END, Tokenizer, Tokenizers

ENGLISH = [
    "red",
    "green",
    "house",
    "garden",
    "bridge",
    "river",
    "window",
    "table",
    "spoon",
    "dress",
]
GERMAN = ["rot", "grün", "Haus", "Garten", "Brücke", "Fluss", "Fenster", "Tisch", "Löffel", "Kleid"]
TRANSLATION = dict(zip(ENGLISH, GERMAN, strict=True))


def some_pairs(count: int) -> list[Pair]:
    draw = np.random.default_rng(1)
    pairs = []
    for row in range(count):
        words = draw.choice(ENGLISH, size=4, replace=False).tolist()
        target = " ".join(TRANSLATION[word] for word in words)
        pairs.append(Pair(f"{' '.join(words)}, {row}.", f"{target}, {row}.", f"t:{row}"))
    return pairs


@pytest.fixture
def tokenizers() -> Tokenizers:
    tokenizer = Tokenizer.train([*ENGLISH, *GERMAN] * 3, vocabulary_size=400)
    return Tokenizers(tokenizer, tokenizer)


@pytest.fixture
def pairs(tmp_path: Path, tokenizers: Tokenizers) -> IdPairs:
    write_ids(some_pairs(300), *tokenizers, tmp_path, "train", max_length=80, max_ratio=4.0)
    return IdPairs.open(tmp_path, "train")


def switched(
    pairs: IdPairs, tokenizers: Tokenizers, folder: Path, share: float, longest: int = 80
) -> SwitchedPairs:
    return SwitchedPairs(WordLinks.of(pairs, tokenizers, folder), share, longest)


def test_words_are_replaced_by_their_translations_and_nothing_else_changes(
    pairs: IdPairs, tokenizers: Tokenizers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.data.switched.MOST_COMMON", 1.0)
    found = switched(pairs, tokenizers, tmp_path, 1.0)
    torch.manual_seed(1)
    replaced = 0
    for row in range(len(pairs)):
        before = tokenizers.source.decode(pairs.source(row)).replace(",", " ,").split()
        ids = found.switched(row)
        assert ids[-1] == END
        after = tokenizers.source.decode(ids).replace(",", " ,").split()
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            assert new in (old, TRANSLATION.get(old))
            replaced += new != old
    assert replaced > 1.5 * len(pairs)  # one, two or three of four words


def test_a_batch_is_a_function_of_the_seed(
    pairs: IdPairs, tokenizers: Tokenizers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.data.switched.MOST_COMMON", 1.0)
    rows = np.arange(50)
    found = switched(pairs, tokenizers, tmp_path, 0.5)
    torch.manual_seed(5)
    first = found.batch(rows)
    torch.manual_seed(5)
    again = switched(pairs, tokenizers, tmp_path, 0.5).batch(rows)  # the links are read
    assert torch.equal(first.source, again.source)
    torch.manual_seed(6)
    assert not torch.equal(first.source, found.batch(rows).source)
    plain = pairs.batch(rows)
    assert torch.equal(first.labels, plain.labels)
    width = plain.source.size(1)
    same = sum(
        torch.equal(row[:width][row[:width] > 0], other[other > 0])
        for row, other in zip(first.source, plain.source, strict=True)
    )
    assert 10 < same < 40


def test_no_source_becomes_too_long(
    pairs: IdPairs, tokenizers: Tokenizers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.data.switched.MOST_COMMON", 1.0)
    longest = int(np.median(pairs.source_lengths))
    found = switched(pairs, tokenizers, tmp_path, 1.0, longest)
    torch.manual_seed(1)
    for row in range(len(pairs)):
        assert len(found.switched(row)) <= max(longest, len(pairs.source(row)))


def test_common_words_stay(pairs: IdPairs, tokenizers: Tokenizers, tmp_path: Path) -> None:
    found = switched(pairs, tokenizers, tmp_path, 1.0)  # every word is a tenth of the text
    assert all(np.array_equal(found.switched(row), pairs.source(row)) for row in range(20))


def test_links_of_other_pairs_are_found_again(
    pairs: IdPairs, tokenizers: Tokenizers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.data.switched.MOST_COMMON", 1.0)
    switched(pairs, tokenizers, tmp_path, 1.0)
    before = (tmp_path / f"{NAME}.json").read_bytes()
    write_ids(some_pairs(200), *tokenizers, tmp_path, "train", max_length=80, max_ratio=4.0)
    fewer = IdPairs.open(tmp_path, "train")
    found = switched(fewer, tokenizers, tmp_path, 1.0)
    assert (tmp_path / f"{NAME}.json").read_bytes() != before
    assert len(found.batch(np.arange(200)).source) == 200
