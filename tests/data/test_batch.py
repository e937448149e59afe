"""Pairs of ids as padded tensors."""

import numpy as np
import torch

from regard.data.batch import batch_pairs, batch_sources, pad
from regard.text.tokenizer import END, PAD, START


def test_rows_are_padded_to_the_right() -> None:
    assert pad([[5, 6, 7], [8]]).tolist() == [[5, 6, 7], [8, PAD, PAD]]
    assert pad([np.array([5, 6], dtype=np.uint16)]).dtype == torch.long


def test_the_mask_is_true_at_real_tokens() -> None:
    source, mask = batch_sources([[5, END], [6, 7, 8, END]])
    assert source.tolist() == [[5, END, PAD, PAD], [6, 7, 8, END]]
    assert mask.tolist() == [[True, True, False, False], [True] * 4]


def test_the_target_is_the_labels_a_step_later() -> None:
    batch = batch_pairs([[5, END], [6, 7, END]], [[8, 9, END], [END]])
    assert batch.labels.tolist() == [[8, 9, END], [END, PAD, PAD]]
    assert batch.target[:, 0].tolist() == [START, START]
    assert torch.equal(batch.target[:, 1:], batch.labels[:, :-1])
    assert batch.label_mask.tolist() == [[True] * 3, [True, False, False]]
    assert batch.tokens == 2 + 3 + 3 + 1


def test_a_batch_moves_as_a_whole() -> None:
    batch = batch_pairs([[5, END]], [[6, END]])
    assert batch.to(torch.device("cpu")) is batch
    moved = batch.to(torch.device("meta"))
    tensors = (moved.source, moved.source_mask, moved.target, moved.labels, moved.label_mask)
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert moved.tokens == 4
