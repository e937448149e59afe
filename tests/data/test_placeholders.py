"""Symbols replace words on both sides of some pairs, in the same way after every resumption."""

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from regard.data.ids import IdPairs, write_ids
from regard.data.placeholders import PairsWithPlaceholders, symbol
from regard.data.switched import WordLinks
from regard.text.marks import Mark
from regard.text.protect import protect
from regard.text.tokenizer import Tokenizer, Tokenizers
from tests.data.test_switched import ENGLISH, GERMAN, TRANSLATION, some_pairs

COUNT = 200


def test_each_symbol_is_one_that_a_translation_keeps() -> None:
    found = {symbol(Random(seed)) for seed in range(500)}
    assert len({re.sub(r"[a-z]{3,}|\d+", "", each) for each in found}) > 8
    for each in found:
        (part,) = protect(each).parts
        assert isinstance(part, Mark)
        assert part.word


@pytest.fixture
def tokenizers() -> Tokenizers:
    sides = (Tokenizer.train(words * 3, vocabulary_size=400) for words in (ENGLISH, GERMAN))
    return Tokenizers(*sides)


@pytest.fixture
def pairs(tmp_path: Path, tokenizers: Tokenizers) -> IdPairs:
    write_ids(some_pairs(COUNT), *tokenizers, tmp_path, "train", max_length=80, max_ratio=4.0)
    return IdPairs.open(tmp_path, "train")


def texts(
    pairs: IdPairs, tokenizers: Tokenizers, folder: Path, share: float, longest: int = 80
) -> list[tuple[str, str]]:
    links = WordLinks.of(pairs, tokenizers, folder)
    made = PairsWithPlaceholders(pairs, links, tokenizers, share, longest)
    torch.manual_seed(1)
    batch = made.batch(np.arange(COUNT))
    sides = (batch.source.tolist(), batch.labels.tolist())
    first, second = (t.decode_batch(ids) for t, ids in zip(tokenizers, sides, strict=True))
    return [*zip(first, second, strict=True)]


def test_a_word_and_its_translation_become_the_same_symbol(
    pairs: IdPairs, tokenizers: Tokenizers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.data.switched.MOST_COMMON", 1.0)
    changed = 0
    for source, target in texts(pairs, tokenizers, tmp_path, 0.5):
        words = [side.replace(",", "").split() for side in (source, target)]
        for one, other in zip(*words, strict=True):
            assert other == TRANSLATION.get(one, one)
        found = [part.text for part in protect(source).parts if isinstance(part, Mark)]
        assert found == [part.text for part in protect(target).parts if isinstance(part, Mark)]
        changed += bool(found)
    assert 0.3 * COUNT < changed < 0.7 * COUNT


def test_a_batch_is_a_function_of_the_seed_and_no_side_becomes_too_long(
    pairs: IdPairs, tokenizers: Tokenizers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.data.switched.MOST_COMMON", 1.0)
    first = texts(pairs, tokenizers, tmp_path, 1.0)
    assert first == texts(pairs, tokenizers, tmp_path, 1.0)
    assert sum("%" in source or "{" in source or "[" in source for source, _ in first) > 0.9 * COUNT
    short = texts(pairs, tokenizers, tmp_path, 1.0, longest=2)
    assert not any(protect(source).marks for source, _ in short)
