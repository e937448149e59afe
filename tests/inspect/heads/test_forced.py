"""Heads that are forced to look somewhere do so in whole passes and in searches."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.batch import batch_pairs
from regard.decode.search import Search
from regard.engines.native import Native
from regard.errors import RequestError
from regard.inspect.heads.forced import forced
from regard.inspect.heads.heads import Head, attentions, heads_off, outputs_of_heads
from regard.inspect.maps import attention_maps
from regard.inspect.numbers import numbers
from regard.models.recurrent import Recurrent, RecurrentConfig
from regard.models.transformer import Transformer, TransformerConfig

END = 3
SOURCE, OUTPUT = [5, 9, 12, 7, END], [6, 8, 13, END]
BATCH = batch_pairs([SOURCE, [8, 4, END]], [OUTPUT, [7, 7, 9, END]])


def build(**choices: Any) -> Transformer:
    torch.manual_seed(4)
    sizes = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 4}
    model = Transformer(TransformerConfig(**{**sizes, **choices}), 15, 15).double().eval()
    for parameter in model.parameters():  # sharp enough that where heads look matters
        torch.nn.init.normal_(parameter, std=0.5)
    return model


@torch.no_grad()
def logits(model: Any) -> Tensor:
    found: Tensor = model(BATCH.source, BATCH.source_mask, BATCH.target)
    return found


@torch.no_grad()
def stepped(model: Any) -> Tensor:
    """The logits, computed one token after the other."""
    state = model.start(BATCH.source, BATCH.source_mask)
    found = []
    for tokens in BATCH.target.unbind(1):
        values, state = model.step(tokens, state)
        found.append(values)
    return torch.stack(found, dim=1)


@pytest.mark.parametrize("choices", [{}, {"positions": "rotary"}, {"cross_heads": (4, 2)}])
@pytest.mark.parametrize("spec", ["cross.1.1", "cross.0", "cross"])
def test_steps_look_where_the_whole_pass_looks(spec: str, choices: Any) -> None:
    model = build(**choices)
    before = logits(model)
    with forced(model, {spec: {2: [1], 0: [0, 2]}}):
        changed = logits(model)
        assert_close(stepped(model), changed)
    for position in (0, 2):
        assert not torch.isclose(changed[:, position], before[:, position]).all()
    assert torch.equal(logits(model), before)


def test_weights_are_shared_out_among_the_pieces_that_are_left() -> None:
    model = build()
    before = attention_maps(model, SOURCE, OUTPUT).cross
    with forced(model, {"cross.0.1": {2: [1, 3]}}):
        after = attention_maps(model, SOURCE, OUTPUT).cross
    row = torch.zeros(5, dtype=torch.float64)
    row[[1, 3]] = before[0, 1, 2, [1, 3]] / before[0, 1, 2, [1, 3]].sum()
    assert_close(after[0, 1, 2], row)
    # The other heads of the layer and the other positions do not change at all.
    assert torch.equal(after[0, [0, 2, 3]], before[0, [0, 2, 3]])
    assert torch.equal(after[:, :, :2], before[:, :, :2])
    assert torch.equal(after[0, 1, 3], before[0, 1, 3])
    assert not torch.isclose(after[1, :, 2], before[1, :, 2]).all()  # the next layer reads it


def test_outputs_of_what_is_not_forced_stay_to_the_last_bit() -> None:
    model = build()
    before = outputs_of_heads(model, BATCH)["cross"][0]
    with forced(model, {"cross.0.1": {2: [1]}}):
        after = outputs_of_heads(model, BATCH)["cross"][0]
    same = torch.ones(before.shape[:3], dtype=torch.bool)
    same[:, 2, 1] = False
    assert torch.equal(after[same], before[same])
    assert not torch.isclose(after[~same], before[~same]).all()


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_search_finds_what_whole_passes_score(beam_size: int) -> None:
    """The log-probabilities that beam search gives its outputs are those of a whole pass."""
    model = build()
    engine, search = Native(model), Search(beam_size=beam_size, n_best=beam_size)
    usual = engine.search([SOURCE[:-1]], [[]], search)[0]
    with forced(model, {"cross": {1: [2]}}):
        found = engine.search([SOURCE[:-1]], [[6]], search)[0]
        for each in found:
            ids = [*each.tokens, END] if each.finished else each.tokens
            batch = batch_pairs([SOURCE], [ids])
            with torch.no_grad():
                scores = model(batch.source, batch.source_mask, batch.target)[0].log_softmax(-1)
            expected = scores.gather(1, torch.tensor(ids)[:, None])[:, 0]
            assert each.log_probabilities == pytest.approx(expected.tolist(), abs=1e-9)
            assert each.tokens[0] == 6
    assert found[0].tokens != usual[0].tokens
    assert engine.search([SOURCE[:-1]], [[]], search)[0][0].tokens == usual[0].tokens


def test_a_sentence_without_these_pieces_is_read_as_before() -> None:
    model = build()
    before = logits(model)
    with forced(model, {"cross": {0: [4]}}):  # the second source has three pieces
        changed = logits(model)
        assert_close(stepped(model), changed)
    assert_close(changed[1], before[1])
    assert not torch.isclose(changed[0], before[0]).all()


def test_the_numbers_behind_a_forced_weight_are_those_of_the_map() -> None:
    model = build()
    with forced(model, {"cross.1.2": {1: [0, 3]}}):
        row = attention_maps(model, SOURCE, OUTPUT).cross[1, 2, 1]
        found = numbers(model, SOURCE, OUTPUT, Head("cross", 1, 2), query=1, key=3)
        other = numbers(model, SOURCE, OUTPUT, Head("cross", 1, 0), query=1, key=3)
    assert found.weights == pytest.approx(row.tolist(), abs=1e-12)
    assert found.visible == [True, False, False, True, False]
    assert all(other.visible)


def test_blocks_add_up_and_end_with_an_error() -> None:
    model = build()
    with forced(model, {"cross.0": {1: [2]}, "cross.1": {1: [2]}}):
        both = logits(model)
    with forced(model, {"cross.0": {1: [2]}}), forced(model, {"cross.1": {1: [2]}}):
        assert torch.equal(logits(model), both)
    with forced(model, {"cross.0": {1: [2, 3]}}), forced(model, {"cross.0": {1: [1, 2]}}):
        assert attention_maps(model, SOURCE, OUTPUT).cross[0, 0, 1].argmax() == 2
    # A head that is off outputs 0, wherever it is forced to look.
    with heads_off(model, ["cross.0.1"]):
        off = logits(model)
        with forced(model, {"cross.0.1": {1: [2]}}):
            assert torch.equal(logits(model), off)
    with pytest.raises(RuntimeError, match="on purpose"), forced(model, {"cross": {0: [0]}}):
        raise RuntimeError("on purpose")
    assert all(not each.forced for each in attentions(model)["cross"])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("looks", "sentence"),
    [
        ({"cross.9": {0: [0]}}, "no such head"),
        ({"decoder.0.1": {0: [0]}}, "only cross attention can be forced"),
        ({"*.0": {0: [0]}}, "only cross attention can be forced"),
        ({"cross": {0: []}}, "at least one piece"),
        ({"cross": {-1: [0]}}, "count from 0"),
        ({"cross": {0: [2, -1]}}, "count from 0"),
    ],
)
def test_what_cannot_be_forced_is_refused(looks: Any, sentence: str) -> None:
    model = build()
    before = logits(model)
    with pytest.raises(RequestError, match=sentence), forced(model, looks):
        pass
    assert torch.equal(logits(model), before)


@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_a_recurrent_model_is_refused(attention: Any) -> None:
    model = Recurrent(RecurrentConfig(d_model=16, attention=attention), 15, 15)
    refusal = pytest.raises(RequestError, match="does not count positions")
    with refusal, forced(model, {"cross": {0: [0]}}):
        pass
