"""Heads by name: switched off in whole passes and in searches, and removed."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.data.batch import batch_pairs
from regard.errors import RequestError
from regard.inspect.heads.heads import (
    Head,
    all_but,
    attentions,
    choose_heads,
    head_means,
    heads_of,
    heads_off,
    outputs_of_heads,
)
from regard.inspect.heads.pruning import without_heads
from regard.layers.attention import SelfAttention
from regard.layers.transformer import BlockSizes, EncoderBlock
from regard.models.recurrent import Recurrent, RecurrentConfig
from regard.models.transformer import Transformer, TransformerConfig

END = 3
BATCH = batch_pairs([[5, 9, 12, 7, END], [8, END]], [[6, 8, 13, END], [7, 7, END]])
HOWS = ("zero", "mean", "uniform")


def build(**choices: Any) -> Transformer:
    torch.manual_seed(4)
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 4}
    return Transformer(TransformerConfig(**{**sizes, **choices}), 15, 15).double().eval()


def recurrent(**choices: Any) -> Recurrent:
    torch.manual_seed(4)
    return Recurrent(RecurrentConfig(d_model=16, **choices), 15, 15).double().eval()


def logits(model: Any) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(BATCH.source, BATCH.source_mask, BATCH.target)
    return found


def stepped(model: Any) -> Tensor:
    """The logits, computed one token after the other."""
    state = model.start(BATCH.source, BATCH.source_mask)
    found = []
    with torch.no_grad():
        for tokens in BATCH.target.unbind(1):
            values, state = model.step(tokens, state)
            found.append(values)
    return torch.stack(found, dim=1)


def names(model: Any, *specs: str) -> list[str]:
    return [str(head) for head in choose_heads(model, specs)]


def test_heads_are_named_by_part_layer_and_head() -> None:
    model = build()
    assert len(heads_of(model)) == 3 * 2 * 4
    assert names(model, "cross.1.3") == ["cross.1.3"]
    assert names(model, "encoder.0") == [f"encoder.0.{head}" for head in range(4)]
    assert names(model, "decoder.*.2", "cross.1.3") == ["decoder.0.2", "decoder.1.2", "cross.1.3"]
    assert names(model, "*.1.0") == ["encoder.1.0", "decoder.1.0", "cross.1.0"]
    assert [str(head) for head in all_but(model, ["cross.1.3"])] == [
        *("cross.1.0", "cross.1.1", "cross.1.2")
    ]
    assert [str(head) for head in heads_of(recurrent())] == ["cross.0.0"]
    assert heads_of(recurrent(attention="none")) == []


class Tower(nn.Module):
    """A stack of somebody's own, which is none of ours: blocks, and then an attention alone."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        blocks = [EncoderBlock(BlockSizes(d_model=16, d_ff=16, num_heads=4)) for _ in range(2)]
        self.blocks = nn.ModuleList(blocks)
        self.tower = nn.ModuleDict({"rungs": nn.ModuleList([SelfAttention(16, 2)])})
        self.last = SelfAttention(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        for rung in self.tower["rungs"]:
            x = x + rung(x)
        found: Tensor = self.last(x)
        return found


def test_heads_are_found_in_any_stack() -> None:
    model = Tower().eval()
    blocks = [f"blocks.{layer}.{head}" for layer in range(2) for head in range(4)]
    rungs, last = ["rungs.0.0", "rungs.0.1"], ["last.0.0", "last.0.1"]
    assert [str(head) for head in heads_of(model)] == [*blocks, *rungs, *last]
    assert names(model, "blocks.1", "last") == [*blocks[4:], *last]
    assert names(model, "*.0.1") == ["blocks.0.1", "rungs.0.1", "last.0.1"]
    assert [str(head) for head in all_but(model, ["last.0.1"])] == ["last.0.0"]
    with pytest.raises(RequestError, match=r"it has blocks\.0-1\.0-3, rungs\.0-0\.0-1, last\."):
        choose_heads(model, ["encoder.0.0"])
    assert heads_of(nn.Linear(2, 2)) == []
    assert names(SelfAttention(16, 2), "*") == ["model.0.0", "model.0.1"]


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("spec", ["blocks.1.2", "rungs.0.0", "last.0.1"])
@torch.no_grad()
def test_heads_of_any_stack_are_switched_off(spec: str, how: Any) -> None:
    model, x = Tower().eval(), torch.randn(2, 5, 16)
    before = model(x)
    with heads_off(model, [spec], how) as chosen:
        assert [str(head) for head in chosen] == [spec]
        assert not torch.isclose(model(x), before).all()
    assert torch.equal(model(x), before)


@torch.no_grad()
def test_an_attention_without_all_its_heads_gives_its_bias() -> None:
    model, x = Tower().eval(), torch.randn(2, 5, 16)
    with heads_off(model, ["last"]):
        assert_close(model(x), model.last.out_projection.bias.expand(2, 5, -1))


@pytest.mark.parametrize(
    "spec", ["cross.2", "cross.0.4", "middle.0", "", "cross.0.0.0", "cross.-1"]
)
def test_a_head_that_is_not_there_is_refused(spec: str) -> None:
    with pytest.raises(RequestError, match=r"no such head.*encoder\.0-1\.0-3"):
        choose_heads(build(), [spec])


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize("how", HOWS)
def test_steps_without_heads_are_the_whole_pass_without_them(how: Any, positions: str) -> None:
    model = build(positions=positions)
    before = logits(model)
    off = ["cross.1.3", "encoder.0.1", "decoder.*.2"]
    with heads_off(model, off, how, head_means(model, [BATCH])):
        changed = logits(model)
        assert_close(stepped(model)[BATCH.label_mask], changed[BATCH.label_mask])
        assert not torch.isclose(changed, before).all()
    assert torch.equal(logits(model), before)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_a_recurrent_model_works_without_its_attention(how: Any, attention: Any) -> None:
    model = recurrent(attention=attention)
    before = logits(model)
    with heads_off(model, ["cross"], how, head_means(model, [BATCH])):
        changed = logits(model)
        assert_close(stepped(model)[BATCH.label_mask], changed[BATCH.label_mask])
        assert not torch.isclose(changed, before).all()
    assert torch.equal(logits(model), before)


def test_a_head_at_zero_gives_nothing_and_others_what_they_gave() -> None:
    model = build()
    before = outputs_of_heads(model, BATCH)["encoder"][0]
    with heads_off(model, ["encoder.0.2"]):
        after = outputs_of_heads(model, BATCH)["encoder"][0]
    assert not after[:, :, 2].any()
    assert torch.equal(after[:, :, [0, 1, 3]], before[:, :, [0, 1, 3]])


def test_a_uniform_head_gives_the_mean_of_the_values_it_may_see() -> None:
    model = build()
    seen: list[Tensor] = []
    hook = attentions(model)["decoder"][0].register_forward_pre_hook(
        lambda module, given: seen.append(given[0])
    )
    with heads_off(model, ["decoder.0.1"], "uniform"):
        outputs = outputs_of_heads(model, BATCH)["decoder"][0]
    hook.remove()
    values = model.decoder[0].self_attention.project(seen[0])[2][:, 1]  # [B, T, d_k]
    for place in range(values.size(1)):
        assert_close(outputs[:, place, 1], values[:, : place + 1].mean(1))


def test_means_are_over_real_positions() -> None:
    model = build()
    means = head_means(model, [BATCH, BATCH])
    outputs = outputs_of_heads(model, BATCH)
    assert_close(
        means[Head("encoder", 1, 2)], outputs["encoder"][1][BATCH.source_mask][:, 2].mean(0).float()
    )
    assert_close(
        means[Head("cross", 0, 3)], outputs["cross"][0][BATCH.label_mask][:, 3].mean(0).float()
    )


def test_blocks_add_up_and_end_with_an_error() -> None:
    model = build()
    with heads_off(model, ["cross.0.0", "cross.0.1"]):
        both = logits(model)
    with heads_off(model, ["cross.0.0"]), heads_off(model, ["cross.0.1"]):
        assert torch.equal(logits(model), both)
    with pytest.raises(RuntimeError, match="on purpose"), heads_off(model, ["cross"]):
        raise RuntimeError("on purpose")
    assert all(not each.replaced for layers in attentions(model).values() for each in layers)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_removing_heads_gives_the_same_outputs_as_switching_them_off(positions: str) -> None:
    model = build(positions=positions)
    gone = choose_heads(model, ["cross.1.3", "cross.1.0", "encoder.0.1", "decoder.*.2"])
    with heads_off(model, gone):
        expected = logits(model)
    counts, tensors = without_heads(model, gone)
    assert counts == {"encoder": (3, 4), "decoder": (3, 3), "cross": (4, 2)}
    smaller = build(positions=positions, **{f"{part}_heads": each for part, each in counts.items()})
    smaller.load_state_dict(tensors, strict=False)
    assert {name for name, _ in smaller.named_parameters()} == set(tensors)
    assert_close(logits(smaller), expected)
    assert_close(stepped(smaller)[BATCH.label_mask], expected[BATCH.label_mask])
    assert sum(map(Tensor.numel, tensors.values())) < sum(p.numel() for p in model.parameters())


def test_a_layer_keeps_a_head() -> None:
    model = build()
    with pytest.raises(ValueError, match="at least one"):
        without_heads(model, choose_heads(model, ["cross.1"]))


@pytest.mark.parametrize("counts", [(4,), (0, 4), (5, 4)])
def test_head_counts_have_to_fit(counts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="from 1 to num_heads = 4"):
        build(encoder_heads=counts)
