"""Noise changes a share of the training pairs, in the same way after every resumption."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from regard.data.corpus import Pair
from regard.data.ids import IdPairs, write_ids
from regard.data.noise import (
    KINDS,
    NoisyPairs,
    in_small_letters,
    in_title_case,
    with_typos,
    without_end_mark,
)
from regard.text.tokenizer import Tokenizer, Tokenizers

SOURCE, TARGET = "Open the file {name} at <b>Once</b>, please.", "Öffne die Datei {name}."


def test_each_kind_changes_what_it_says() -> None:
    draw = Random(1)
    small = in_small_letters(SOURCE, TARGET, draw)
    assert small == ("open the file {name} at <b>once</b>, please.", TARGET)
    titled = in_title_case(SOURCE, TARGET, draw)
    assert titled == ("Open The File {name} At <b>Once</b>, Please.", TARGET)
    assert without_end_mark(SOURCE, TARGET, draw) == (SOURCE[:-1], TARGET[:-1])
    assert without_end_mark("Why?", "Warum", draw) == ("Why?", "Warum")
    assert without_end_mark("...", "...", draw) == ("...", "...")


def test_a_typo_changes_few_letters_and_no_placeholder() -> None:
    found = {with_typos(SOURCE, TARGET, Random(seed)) for seed in range(200)}
    assert len(found) > 50
    assert all("{name}" in source and "<b>" in source for source, _ in found)
    assert all(abs(len(source) - len(SOURCE)) <= 5 for source, _ in found)
    assert {target for _, target in found} == {TARGET}
    assert with_typos("7", "7", Random(1)) == ("7", "7")


@pytest.fixture
def tokenizers() -> Tokenizers:
    tokenizer = Tokenizer.train([SOURCE, TARGET] * 9, vocabulary_size=400)
    return Tokenizers(tokenizer, tokenizer)


@pytest.fixture
def pairs(tmp_path: Path, tokenizers: Tokenizers) -> IdPairs:
    rows = (Pair(SOURCE, TARGET, f"t:{row}") for row in range(200))
    write_ids(rows, *tokenizers, tmp_path, "train", max_length=80, max_ratio=4.0)
    return IdPairs.open(tmp_path, "train")


def sources(pairs: NoisyPairs, tokenizers: Tokenizers, seed: int) -> list[str]:
    torch.manual_seed(seed)
    batch = pairs.batch(np.arange(200))
    assert batch.source.size(1) <= pairs.max_length
    return tokenizers.source.decode_batch(batch.source.tolist())


def test_a_share_is_changed_and_the_seed_says_which(pairs: IdPairs, tokenizers: Tokenizers) -> None:
    noisy = NoisyPairs(pairs, tokenizers, 0.3, 80)
    first = sources(noisy, tokenizers, 1)
    assert first == sources(noisy, tokenizers, 1) != sources(noisy, tokenizers, 2)
    assert 30 < sum(text != SOURCE for text in first) < 90
    assert len(set(first)) > len(KINDS)
    assert set(sources(NoisyPairs(pairs, tokenizers, 0.0, 80), tokenizers, 1)) == {SOURCE}


def test_no_pair_becomes_too_long(pairs: IdPairs, tokenizers: Tokenizers) -> None:
    longest = int(pairs.source_lengths.max())
    assert len(set(sources(NoisyPairs(pairs, tokenizers, 1.0, longest), tokenizers, 1))) > 1
