"""Attention maps: the weights of the pass that was really made, and words made of pieces."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.batch import batch_pairs
from regard.inspect.maps import MapLabels, Maps, attention_maps, merge_words, recording
from regard.layers.attention import MultiHeadAttention
from regard.models.recurrent import Recurrent, RecurrentConfig
from regard.models.transformer import Transformer, TransformerConfig

END = 3
SOURCE, OUTPUT = [5, 9, 12, 7, END], [6, 8, 13, END]


def build(**choices: Any) -> Transformer:
    torch.manual_seed(4)
    sizes = {"encoder_layers": 2, "decoder_layers": 3, "d_model": 16, "d_ff": 16, "num_heads": 4}
    return Transformer(TransformerConfig(**{**sizes, **choices}), 15, 15).eval()


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"norm": "pre", "positions": "rotary", "normalisation": "rms", "activation": "swiglu"},
        {"positions": "learned", "activation": "gelu", "tied_embeddings": "none"},
    ],
)
@torch.no_grad()
def test_recording_changes_no_bit_and_every_row_sums_to_one(choices: dict[str, Any]) -> None:
    model = build(**choices)
    batch = batch_pairs([SOURCE, [8, END]], [OUTPUT, [6, 7, 8, 9, 10, END]])
    inputs = (batch.source, batch.source_mask, batch.target)
    before = model(*inputs)
    with recording(model) as weights:
        assert torch.equal(model(*inputs), before)
    assert len(weights) == 2 + 3 + 3
    for name, recorded in weights.items():
        assert len(recorded) == 1
        assert_close(recorded[0].sum(-1), torch.ones(recorded[0].shape[:-1]))
        if name.startswith("encoder") or "cross" in name:
            assert not recorded[0][1, :, :, 2:].any()
        else:
            assert not recorded[0].triu(1).any()


@torch.no_grad()
def test_steps_are_recorded_as_the_whole_pass_is() -> None:
    model = build(positions="rotary")
    batch = batch_pairs([SOURCE], [OUTPUT])
    with recording(model) as whole:
        model(batch.source, batch.source_mask, batch.target)
    with recording(model) as stepped:
        state = model.start(batch.source, batch.source_mask)
        for token in batch.target[0]:
            _, state = model.step(token[None], state)
    for name, recorded in whole.items():
        if name.startswith("decoder"):
            for place, weights in enumerate(stepped[name]):
                row = recorded[0][0, :, place, : weights.size(-1)]
                assert_close(weights[0, :, 0], row)


def test_recording_ends_with_its_block() -> None:
    model = build()
    with pytest.raises(RuntimeError, match="on purpose"), recording(model):
        raise RuntimeError("on purpose")
    modules = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    assert [module.record for module in modules] == [None] * 8


def test_maps_have_a_row_for_each_piece_of_the_output() -> None:
    maps = attention_maps(build(), SOURCE, OUTPUT)
    assert maps.encoder.shape == (2, 4, 5, 5)
    assert maps.decoder.shape == (3, 4, 4, 4)
    assert maps.cross.shape == (3, 4, 4, 5)
    for weights in (maps.encoder, maps.decoder, maps.cross):
        assert not weights.requires_grad
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_a_row_belongs_to_the_position_that_predicts_its_piece() -> None:
    model = build()
    maps = attention_maps(model, SOURCE, OUTPUT)
    # A row does not depend on pieces that came after the prediction, not even on the predicted one.
    other = attention_maps(model, SOURCE, [*OUTPUT[:2], 14, END])
    assert torch.equal(other.cross[:, :, :3], maps.cross[:, :, :3])
    assert not torch.isclose(other.cross[1:, :, 3], maps.cross[1:, :, 3]).all()


def test_layers_are_in_order() -> None:
    model = build(encoder_layers=12, decoder_layers=12)
    maps = attention_maps(model, SOURCE, OUTPUT)
    batch = batch_pairs([SOURCE], [OUTPUT])
    with recording(model) as weights:
        model(batch.source, batch.source_mask, batch.target)
    for layer in range(12):
        assert torch.equal(
            maps.cross[layer], weights[f"decoder.{layer}.cross_attention"][0][0].detach()
        )
        assert torch.equal(
            maps.encoder[layer], weights[f"encoder.{layer}.self_attention"][0][0].detach()
        )


@pytest.mark.parametrize(("layers", "chosen"), [(1, 0), (2, 0), (3, 1), (6, 4)])
def test_the_alignment_is_of_the_last_layer_but_one(layers: int, chosen: int) -> None:
    cross = torch.rand(layers, 4, 3, 5).softmax(-1)
    maps = Maps(torch.zeros(1, 4, 5, 5), torch.zeros(layers, 4, 3, 3), cross)
    assert_close(maps.alignment(), cross[chosen].mean(0))


def recurrent(attention: Any, **choices: Any) -> Recurrent:
    torch.manual_seed(4)
    config = RecurrentConfig(d_model=16, decoder_layers=2, attention=attention, **choices)
    return Recurrent(config, 15, 15).eval()


@pytest.mark.parametrize(
    "choices",
    [{"attention": "additive"}, {"attention": "dot"}, {"attention": "dot", "input_feeding": True}],
)
@torch.no_grad()
def test_a_recurrent_model_has_one_map_of_one_head(choices: dict[str, Any]) -> None:
    model = recurrent(**choices)
    maps = attention_maps(model, SOURCE, OUTPUT)
    assert maps.cross.shape == (1, 1, 4, 5)
    assert_close(maps.cross.sum(-1), torch.ones(1, 1, 4))
    assert torch.equal(maps.alignment(), maps.cross[0, 0])
    assert maps.encoder.shape == (0, 0, 5, 5)
    assert maps.decoder.shape == (0, 0, 4, 4)
    batch = batch_pairs([SOURCE], [OUTPUT])
    with recording(model) as stepped:
        state = model.start(batch.source, batch.source_mask)
        for token in batch.target[0]:
            _, state = model.step(token[None], state)
    assert_close(torch.cat(stepped["attention"], dim=2)[0], maps.cross[0])


def test_without_attention_nothing_is_looked_at() -> None:
    maps = attention_maps(recurrent("none"), SOURCE, OUTPUT)
    assert maps.cross.shape == (0, 0, 4, 5)
    assert torch.equal(maps.alignment(), torch.zeros(4, 5))


def merged(weights: list[list[float]], target: list[int], source: list[int]) -> Tensor:
    return merge_words(torch.tensor(weights), target, source)


def test_pieces_become_words() -> None:
    weights = [
        [0.1, 0.2, 0.3, 0.4],
        [0.5, 0.1, 0.1, 0.3],
        [0.7, 0.1, 0.1, 0.1],
        [0.0, 0.0, 0.0, 1.0],
    ]
    # Target words of 1 and 2 pieces, source words of 2 and 1, both sides with END.
    found = merged(weights, [0, 1, 1, -1], [0, 0, 1, -1])
    assert_close(found, torch.tensor([[0.3, 0.3], [0.7, 0.1]]))


def test_words_of_one_piece_stay_as_they_are() -> None:
    weights = torch.rand(3, 4).softmax(-1)
    assert_close(merge_words(weights, [0, 1, 2], [0, 1, 2, 3]), weights)


def test_merging_loses_only_what_went_to_the_end() -> None:
    torch.manual_seed(0)
    weights = torch.rand(6, 5).softmax(-1)
    found = merge_words(weights, [0, 0, 1, 1, 1, -1], [0, 1, 1, 2, -1])
    lost = torch.stack((weights[:2, -1].mean(), weights[2:5, -1].mean()))
    assert_close(found.sum(1), 1 - lost)


def test_nothing_but_the_end_has_no_words() -> None:
    assert merged([[1.0]], [-1], [-1]).shape == (0, 0)
    assert merged([[0.4, 0.6]], [-1], [0, -1]).shape == (0, 1)


def test_a_reversed_phrase_shows_as_a_reversed_diagonal() -> None:
    # European Economic Area ← zone économique européenne, and each word of the first is two pieces.
    pieces = torch.tensor([[0, 0, 1.0], [0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0]])
    found = merge_words(pieces, [0, 0, 1, 1, 2], [0, 1, 2])
    assert found.argmax(1).tolist() == [2, 1, 0]


def test_a_row_may_be_called_by_what_it_read_or_by_what_it_predicts() -> None:
    labels = MapLabels(
        source=["▁a", "b", "▁c", "</s>"],
        source_word=[0, 0, 1, -1],
        source_words=["ab", "c"],
        predicts=["▁x", "▁y", "</s>"],
        predicts_word=[0, 1, -1],
        read=["<s>", "▁x", "▁y"],
        read_word=[-1, 0, 1],
        target_words=["x", "y"],
    )
    torch.manual_seed(0)
    cross = torch.rand(2, 2, 3, 4).softmax(-1)
    decoder = torch.rand(2, 2, 3, 3).softmax(-1)
    maps = Maps(torch.zeros(1, 2, 4, 4), decoder, cross, labels)
    pieces = maps.matrix("cross", 1, 0)
    assert (pieces.rows, pieces.columns) == (labels.predicts, labels.source)
    assert pieces.weights == cross[1, 0].tolist()
    assert maps.matrix("cross", 1, 0, "read").rows == labels.read
    predicts = maps.matrix("cross", 1, 0, words=True)
    read = maps.matrix("cross", 1, 0, "read", words=True)
    assert predicts.rows == read.rows == ["x", "y"]
    # Word x is predicted in row 0 and read in row 1.
    assert predicts.weights[0][1] == pytest.approx(float(cross[1, 0, 0, 2]))
    assert read.weights[0][1] == pytest.approx(float(cross[1, 0, 1, 2]))
    own = maps.matrix("decoder", 0, 1)
    assert (own.rows, own.columns) == (labels.predicts, labels.read)
    everything = torch.tensor(maps.matrix("cross").weights)
    assert_close(everything, cross.mean((0, 1)))
    assert maps.matrix("encoder", 0, words=True).columns == ["ab", "c"]


def test_heads_that_are_gone_do_not_dilute_a_mean() -> None:
    model = build(cross_heads=(4, 1, 2))
    maps = attention_maps(model, SOURCE, OUTPUT)
    assert maps.heads["cross"] == [4, 1, 2]
    assert maps.cross.shape == (3, 4, 4, 5)
    assert_close(maps.alignment(), maps.cross[1, 0])
    assert_close(maps.weights("cross").sum(-1), torch.ones(4))
