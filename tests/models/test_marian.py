"""Ours against Hugging Face's Marian, written from the same paper, with weights copied."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from torch.testing import assert_close

from regard.data.batch import batch_pairs, batch_sources
from regard.decode.sample import collect
from regard.engines import settings
from regard.engines.renaming import stream_order, to_theirs
from regard.layers.cross_entropy import smoothed_cross_entropy
from regard.models.transformer import Transformer
from regard.objectives import translation
from regard.text.tokenizer import Specials

Build = Callable[..., Transformer]
PAD, START, END = 0, 2, 3
SOURCES = [[5, 9, 12, 7, 7, 21, 3], [8, 3], [11, 4, 6, 3]]
TARGETS = [[6, 6, 13, 3], [20, 9, 4, 17, 8, 3], [3]]


def marian_tensors(model: Transformer) -> dict[str, Tensor]:
    """Our weights under Marian's names; or our gradients, if they have replaced the weights."""
    return to_theirs(model.config, dict(model.named_parameters()))


def copied(model: Transformer) -> "transformers.MarianMTModel":
    vocabulary = model.output.out_features
    values = settings.marian(model.config, vocabulary, vocabulary, Specials())
    theirs = transformers.MarianMTModel(transformers.MarianConfig(**{**values, "dropout": 0.0}))
    theirs = theirs.to(model.output.weight.dtype)
    assert model.positions is not None
    named = {name: each for name, each in theirs.named_parameters() if each.requires_grad}
    with torch.no_grad():
        for stack in (theirs.model.encoder, theirs.model.decoder):
            # The same formula, rounded to the type in which the model computes.
            weight = stack.embed_positions.weight
            table = model.positions(0, len(weight), weight)
            assert_close(weight, table[:, stream_order(model.config)], rtol=0, atol=1e-5)
            weight.copy_(table[:, stream_order(model.config)])
        ours = marian_tensors(model)
        assert ours.keys() == named.keys()
        for name, tensor in ours.items():
            named[name].copy_(tensor)
    return theirs.eval()


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=str
)
def test_logits_loss_and_gradients_are_those_of_marian(
    build: Build, dtype: torch.dtype, tolerance: float, activation: str
) -> None:
    ours = build(dtype, activation=activation)
    theirs = copied(ours)
    batch = batch_pairs(SOURCES, TARGETS)
    logits = theirs(
        input_ids=batch.source, attention_mask=batch.source_mask, decoder_input_ids=batch.target
    ).logits
    mine = ours(batch.source, batch.source_mask, batch.target)
    assert_close(mine, logits, rtol=0, atol=tolerance)

    real = batch.label_mask
    expected = smoothed_cross_entropy(logits[real], batch.labels[real], 0.1)
    loss = translation(ours, batch, 0.1)
    assert_close(loss.total, expected, rtol=tolerance, atol=0)
    named = {name: p for name, p in theirs.named_parameters() if p.requires_grad}
    gradients = torch.autograd.grad(expected / loss.count, list(named.values()))
    (loss.total / loss.count).backward()
    for parameter in ours.parameters():
        parameter.data = parameter.grad
    renamed = marian_tensors(ours)
    for name, gradient in zip(named, gradients, strict=True):
        assert_close(renamed[name], gradient, rtol=0, atol=tolerance, msg=name)


def test_greedy_translations_are_those_of_marian(build: Build) -> None:
    torch.manual_seed(0)
    # A new model repeats itself; one that has half learned a few sentences gives varied outputs.
    rows: list[list[int]] = [[4 + n, 22 - n, 4 + n // 3, END] for n in range(18)]
    outputs = [[*ids, END] for ids in (torch.randint(4, 23, (n,)).tolist() for n in range(1, 19))]
    ours = build(torch.float32, encoder_layers=1, decoder_layers=2, d_model=32)
    optimizer = torch.optim.Adam(ours.parameters(), lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        translation(ours, batch_pairs(rows, outputs)).total.backward()
        optimizer.step()
    theirs = copied(ours)
    source, mask = batch_sources(rows)
    settings: dict[str, Any] = {"max_new_tokens": 12, "num_beams": 1, "do_sample": False}
    generated = theirs.generate(input_ids=source, attention_mask=mask, **settings)
    found = collect(
        ours.step,
        ours.start(source, mask),
        torch.full((len(rows),), START),
        max_lengths=torch.full((len(rows),), 12),
        end=END,
    )
    assert {each.finished for each in found} == {True, False}
    assert len({tuple(each.tokens) for each in found}) > 10
    for each, row in zip(found, generated.tolist(), strict=True):
        tokens = [*each.tokens, END] if each.finished else each.tokens
        assert row == [START, *tokens, *[PAD] * (len(row) - 1 - len(tokens))]
