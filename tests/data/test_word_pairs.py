"""Words and their neighbours: which words are paired, and that chance follows from the seed."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.configs.word_vectors import GROUP_WORDS, NEGATIVES, block_length
from regard.data.stream import Stream
from regard.data.word_pairs import WordExamples, chances, write_words
from regard.text.word_vocabulary import WordVocabulary

VOCABULARY = WordVocabulary(tuple("abcdefgh"), np.array([400, 200, 100, 50, 20, 10, 5, 5]))
END = VOCABULARY.end


def stream(ids: list[int]) -> Stream:
    return Stream(np.array(ids, np.int64), len(ids), "")


def examples(ids: list[int], window: int = 3, subsample: float = 0.0) -> WordExamples:
    return WordExamples.of(stream(ids), VOCABULARY.counts, window, subsample)


def mixed(size: int, ends: int = 0) -> list[int]:
    ids = np.random.default_rng(1).integers(0, 8, size)
    if ends:
        ids[::ends] = END
    return [int(each) for each in ids]


def test_lines_that_end_a_sentence_are_passages_and_others_are_joined(tmp_path: Path) -> None:
    texts = ["a b\n", "c d.\n", "e z\n", "\n", "\n", "f\n", None, "g h!\n", None]
    write_words(texts, VOCABULARY, tmp_path, "train")
    found = Stream.open(tmp_path, "train")
    assert found.ids.tolist() == [0, 1, 2, 3, END, 4, END, 5, END, 6, 7, END]


@pytest.mark.parametrize("window", [1, 3, 10])
def test_neighbours_are_near_and_in_the_same_passage(window: int) -> None:
    torch.manual_seed(1)
    given = examples(mixed(500, ends=17), window)
    ids = torch.from_numpy(given.stream.ids)[: given.passage]
    batch = given.batch(np.array([0]))
    words, near = batch.words.flatten(0, 1), batch.near.flatten(0, 1)
    kept = torch.nonzero(ids != END).flatten()
    # Blocks hold the words in their order, and then what fills the last group.
    assert torch.equal(words.flatten()[: len(kept)], ids[kept])
    passage = (ids == END).cumsum(0)[kept]
    length = block_length(window)
    seen = set()
    for block, first, second in near.nonzero().tolist():
        one, other = block * length + first, block * length + second
        assert max(one, other) < len(kept)
        assert passage[one] == passage[other]
        assert 0 < abs(one - other) <= window
        seen.add(abs(one - other))
    assert seen == set(range(1, window + 1))


def test_each_word_sees_all_neighbours_up_to_some_distance() -> None:
    torch.manual_seed(1)
    near = examples(mixed(300), window=4).batch(np.array([0])).near.flatten(0, 1)
    for row in near[0, 8:20]:
        places = row.nonzero().flatten().tolist()
        assert len(places) % 2 == 0
        assert places[-1] - places[0] == len(places)  # a gap only where the word itself is


def test_what_chance_decides_follows_from_the_seed() -> None:
    given = examples(mixed(4000, ends=30), subsample=1e-2)
    rows = np.array([0, 1500, 40])

    def drawn(seed: int) -> list[torch.Tensor]:
        torch.manual_seed(seed)
        batch = given.batch(rows)
        return [batch.words, batch.near, batch.negatives]

    first, again, other = drawn(1), drawn(1), drawn(2)
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[2], other[2])


def test_frequent_words_are_left_out_as_often_as_they_should() -> None:
    torch.manual_seed(1)
    given = examples([0, 1, 2, 7] * 3000, subsample=0.01)
    batch = given.batch(np.arange(0, 9000, 1000))
    kept = torch.bincount(batch.words[batch.near.any(-1)], minlength=8)
    expected = chances(VOCABULARY.counts, 0.01)
    assert float(expected[7]) == 1.0
    shares = kept[:3] / kept[7]
    assert torch.allclose(shares, expected[:3], atol=0.05)


def test_without_subsampling_all_words_stay() -> None:
    assert chances(VOCABULARY.counts, 0.0).tolist() == [1.0] * 8


def test_negatives_are_drawn_by_smoothed_counts() -> None:
    torch.manual_seed(1)
    found = torch.bincount(examples(mixed(50)).negatives(2000).flatten(), minlength=8).double()
    expected = torch.from_numpy(VOCABULARY.counts**0.75)
    assert torch.allclose(found / found.sum(), expected / expected.sum(), atol=0.005)


@pytest.mark.parametrize("ids", [[0, 1], [END, END, END], mixed(3000)])
def test_every_batch_is_whole_groups(ids: list[int]) -> None:
    given = examples(ids)
    batch = given.batch(np.array([0]))
    groups, rows, length = batch.words.shape
    assert groups >= 1
    assert rows * length == GROUP_WORDS
    assert batch.near.shape == (groups, rows, length, length)
    assert batch.negatives.shape == (groups, NEGATIVES)
    assert batch.size == given.passage
