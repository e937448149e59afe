"""What a masked language model sees: how many tokens are hidden, where, and by what."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.data.masked import MaskedExamples, Masking
from regard.data.stream import Stream, write_stream
from regard.evaluate.masked import HeldOutMasked
from regard.text.tokenizer import END, START, UNKNOWN, Tokenizer

TEXT = "the cat sat on the mat and the dog lay under the tree while it rained all day"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train([TEXT] * 3, vocabulary_size=310)


@pytest.fixture
def stream(tokenizer: Tokenizer, tmp_path: Path) -> Stream:
    write_stream([TEXT, None] * 40, tokenizer, tmp_path, "train")
    return Stream.open(tmp_path, "train")


def test_fifteen_in_a_hundred_are_hidden_eight_in_ten_behind_the_mask(
    tokenizer: Tokenizer, stream: Stream
) -> None:
    torch.manual_seed(1)
    examples = MaskedExamples(stream, 100, Masking.of(tokenizer, 0.15, whole_words=False))
    starts = np.arange(0, len(stream) - 100, 3)
    batch = examples.batch(starts)
    assert batch.labels.shape == (len(starts), 15)
    seen = batch.tokens.gather(1, batch.places)
    assert not torch.isin(batch.labels, torch.tensor(list(tokenizer.specials))).any()
    shares = [(seen == UNKNOWN), (seen == batch.labels)]
    masked, kept = (float(each.double().mean()) for each in shares)
    assert masked == pytest.approx(0.8, abs=0.03)
    assert kept == pytest.approx(0.1, abs=0.03)
    restored = batch.tokens.scatter(1, batch.places, batch.labels)
    assert (restored[:, 0] == START).all()
    assert (restored[:, -1] == END).all()
    window = stream.window(int(starts[5]), 100).tolist()
    assert restored[5, 1:-1].tolist() == window


def test_the_draw_follows_from_the_seed(tokenizer: Tokenizer, stream: Stream) -> None:
    examples = MaskedExamples(stream, 30, Masking.of(tokenizer, 0.15, whole_words=True))
    found = []
    for seed in (4, 4, 5):
        torch.manual_seed(seed)
        found.append(examples.batch(np.array([0, 50])).tokens)
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_words_are_hidden_as_a_whole(tokenizer: Tokenizer, stream: Stream) -> None:
    torch.manual_seed(2)
    masking = Masking.of(tokenizer, 0.3, whole_words=True)
    batch = MaskedExamples(stream, 60, masking).batch(np.arange(0, 200, 10))
    restored = batch.tokens.scatter(1, batch.places, batch.labels)
    for row, places in zip(restored, batch.places, strict=True):
        begins = [tokenizer.begins_word(piece) for piece in tokenizer.pieces(row.tolist())]
        word = np.cumsum([begin or i == 0 for i, begin in enumerate(begins)])
        special = np.isin(row.numpy(), list(tokenizer.specials))
        hidden = set(places.tolist())
        cut = 0
        for number in set(word[list(hidden)].tolist()):
            pieces = {i for i in np.flatnonzero(word == number).tolist() if not special[i]}
            cut += not pieces <= hidden
        assert cut <= 1


def test_pairs_of_sentences_follow_in_half_of_the_cases(
    tokenizer: Tokenizer, stream: Stream
) -> None:
    torch.manual_seed(3)
    examples = MaskedExamples(stream, 20, Masking.of(tokenizer, 0.15, False), in_pairs=True)
    starts = np.arange(0, len(stream) - 20)
    batch = examples.batch(starts)
    assert batch.follows is not None
    assert batch.segments is not None
    assert float(batch.follows.double().mean()) == pytest.approx(0.5, abs=0.08)
    assert batch.segments[0].tolist() == [0] * 12 + [1] * 11
    restored = batch.tokens.scatter(1, batch.places, batch.labels)
    assert (restored[:, 11] == END).all()
    for row in np.flatnonzero(batch.follows.numpy())[:5]:
        window = stream.window(int(starts[row]), 20).tolist()
        assert restored[row, 1:11].tolist() + restored[row, 12:-1].tolist() == window


def test_a_sample_shows_gaps_and_no_other_special_piece(
    tokenizer: Tokenizer, stream: Stream
) -> None:
    examples = MaskedExamples(stream, 30, Masking.of(tokenizer, 0.15, whole_words=False))
    first, second = tokenizer.encode("the tree é"), tokenizer.encode("the cat")
    tokens = [START, *first, END, second[0], UNKNOWN, *second[1:], UNKNOWN, UNKNOWN, END]
    places = [i for i, index in enumerate(tokens) if index == UNKNOWN]
    answers = tokenizer.encode("the the the")
    sample = HeldOutMasked(examples, tokenizer, batch_tokens=100).sample(
        *(torch.tensor(each) for each in (tokens, places, answers))
    )
    assert sample.source == "the tree é the [MASK] cat [MASK] [MASK]"
    assert sample.output == "the tree é the the cat the the"
