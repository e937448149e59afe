"""The way through a model: every number of every box is the one that the model computed."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.configs.bert import BertConfig
from regard.configs.gpt import GPTConfig
from regard.configs.head import HeadConfig
from regard.configs.recurrent import ReaderConfig, RecurrentConfig, RecurrentLanguageModelConfig
from regard.configs.transformer import TransformerConfig
from regard.data.batch import batch_pairs
from regard.inspect.flow.flows import flow_of_pair, flow_of_writer
from regard.inspect.flow.parts import At, Box, Flow
from regard.inspect.flow.recording import recorded
from regard.inspect.flow.text import labeller_flow, masked_flow
from regard.inspect.heads.heads import heads_off
from regard.models import build

V, LABELS = 40, 3
SOURCE, OUTPUT = [7, 9, 11, 5, 3], [8, 12, 6, 3]
SMALL = {"d_model": 16, "d_ff": 24, "num_heads": 2}
PAIR = {"encoder_layers": 2, "decoder_layers": 2, **SMALL}
STACK = {"num_layers": 2, **SMALL}

CONFIGS: dict[str, Any] = {
    "transformer": TransformerConfig(**PAIR),
    "pre-norm": TransformerConfig(**PAIR, norm="pre", activation="swiglu", positions="rotary"),
    "rms": TransformerConfig(**PAIR, norm="pre", normalisation="rms", activation="gelu"),
    "learned": TransformerConfig(**PAIR, positions="learned", max_positions=20),
    "additive": RecurrentConfig(d_model=16, cell="gru", attention="additive", encoder_layers=2),
    "dot": RecurrentConfig(d_model=16, cell="lstm", attention="dot", decoder_layers=2),
    "fed": RecurrentConfig(d_model=16, cell="lstm", attention="dot", input_feeding=True),
    "no attention": RecurrentConfig(
        d_model=16, cell="rnn", attention="none", bidirectional=False, decoder_layers=2
    ),
    "gpt": GPTConfig(**STACK),
    "gpt sinusoidal": GPTConfig(**STACK, positions="sinusoidal"),
    "gpt rotary": GPTConfig(**STACK, positions="rotary"),
    "recurrent language model": RecurrentLanguageModelConfig(d_model=16, num_layers=2),
    "bert": BertConfig(**STACK),
    "classifier": BertConfig(**STACK),
    "recurrent classifier": ReaderConfig(d_model=16, cell="gru", num_layers=2),
}


def model_of(name: str) -> nn.Module:
    torch.manual_seed(3)
    head = HeadConfig() if "classifier" in name else None
    model = build(CONFIGS[name], V, LABELS if head else V, head)
    with torch.no_grad():
        for parameter in model.parameters():
            # Biases start as zeros, and what is zero shows no mistake.
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.double().eval()


def names(ids: Any) -> list[str]:
    return [f"piece {each}" for each in ids]


def flow_and_logits(name: str, model: nn.Module) -> tuple[Flow, Tensor]:
    """The flow, and what the model says by itself."""
    tokens = torch.tensor([SOURCE])
    mask = torch.ones_like(tokens, dtype=torch.bool)
    pieces = names(SOURCE)
    with torch.no_grad():
        if isinstance(CONFIGS[name], TransformerConfig | RecurrentConfig):
            batch = batch_pairs([SOURCE], [OUTPUT])
            labels = {"source": pieces, "target": names(OUTPUT)}
            said = model(batch.source, batch.source_mask, batch.target)
            return flow_of_pair(model, batch, labels, names), said[0]
        if "classifier" in name:
            given = (tokens, mask, torch.zeros_like(tokens))
            labels = {"text": pieces, "unit": ["the text"]}
            return labeller_flow(model, given, labels, names, 1.0), model(*given)[0]
        if name == "bert":
            flow = masked_flow(model, tokens, mask, None, {"text": pieces}, names)
            return flow, model(tokens, mask)[0]
        return flow_of_writer(model, tokens, {"text": pieces}, names), model(tokens)[0]


def boxes(flow: Flow) -> list[Box]:
    return [box for stack in flow.stacks for box in stack.boxes]


@torch.no_grad()
@pytest.mark.parametrize("name", CONFIGS)
def test_every_cell_leads_to_its_number(name: str) -> None:
    """The last step of every cell is the number that stands there."""
    flow, _ = flow_and_logits(name, model_of(name))
    for box in boxes(flow):
        for head in range(max(1, box.heads)):
            for stage in box.stages(At(head, {"target": 1, "text": 2})):
                rows, columns = stage.values.shape
                for row in {0, rows // 2, rows - 1}:
                    for column in {0, columns // 2, columns - 1}:
                        found = stage.cell(row, column).steps[-1][1]
                        expected = float(stage.values[row, column])
                        where = (box.name, head, stage.name, row, column)
                        assert found == expected or abs(found - expected) < 1e-9, where


@pytest.mark.parametrize("name", CONFIGS)
def test_the_last_box_has_the_logits_of_the_model(name: str) -> None:
    flow, logits = flow_and_logits(name, model_of(name))
    last = boxes(flow)[-1]
    assert last.name == "output"
    assert torch.allclose(last.output, logits, atol=1e-9)
    shares = last.stages(At(0, {"target": 1, "text": 2, "unit": 0}))[-1]
    row = {"target": 1, "text": 2, "unit": 0}[last.side]
    expected = logits[row].softmax(-1).topk(len(shares.values)).values
    assert torch.allclose(shares.values[:, 0], expected, atol=1e-9)


@pytest.mark.parametrize("name", CONFIGS)
def test_each_box_passes_on_what_the_next_one_reads(name: str) -> None:
    """Boxes hold what modules of that name were seen to give back."""
    model = model_of(name)
    seen: dict[str, Tensor] = {}
    hooks = [
        module.register_forward_hook(
            lambda module, given, output, at=at: seen.__setitem__(at, output)
        )
        for at, module in model.named_modules()
    ]
    flow, _ = flow_and_logits(name, model)
    for hook in hooks:
        hook.remove()
    compared = 0
    for box in boxes(flow):
        output = seen.get(box.name, seen.get(f"reader.{box.name}"))
        more = box.name.endswith(("embedding", "head", "bridge", "readout"))
        if not more and isinstance(output, Tensor) and output.shape[1:] == box.output.shape:
            assert torch.allclose(box.output, output[0], atol=1e-9), box.name
            compared += 1
        block = seen.get(f"{box.name.rsplit('.', 1)[0]}")
        if box.name.endswith("feed_forward_residual") and isinstance(block, Tensor):
            assert torch.allclose(box.output, block[0], atol=1e-9), box.name
            compared += 1
    assert compared >= (1 if "recurrent" not in name and name != "no attention" else 0)


@pytest.mark.parametrize("name", ["transformer", "pre-norm", "gpt rotary", "bert"])
def test_weights_of_attention_carry_what_the_fused_kernel_carried(name: str) -> None:
    flow, _ = flow_and_logits(name, model_of(name))
    found = [box for box in boxes(flow) if box.part]
    assert found
    for box in found:
        for head in range(box.heads):
            stages = {stage.name: stage.values for stage in box.stages(At(head))}
            own = stages["weights · v"]
            width = own.size(1)
            joined = stages["concat"][:, head * width : (head + 1) * width]
            assert torch.allclose(own, joined, atol=1e-9)
            assert torch.allclose(stages["softmax"].sum(-1), own.new_ones(len(own)), atol=1e-9)


@torch.no_grad()
@pytest.mark.parametrize("name", ["additive", "dot", "fed", "no attention"])
def test_steps_made_again_are_those_of_the_fused_kernel(name: str) -> None:
    model = model_of(name)
    flow, _ = flow_and_logits(name, model)
    for box in boxes(flow):
        last = box.stages(At())[-1]
        if "GRU" in box.title or "LSTM" in box.title or "RNN" in box.title:
            for row in range(len(last.values)):
                assert last.cell(row, 0).steps[-1][1] == pytest.approx(
                    float(last.values[row, 0]), abs=1e-9
                )


def test_a_lens_at_the_end_is_the_prediction() -> None:
    flow, logits = flow_and_logits("gpt", model_of("gpt"))
    streams = [box for box in boxes(flow) if box.stream is not None]
    assert [box.layer for box in streams] == [None, 0, 1]
    last = streams[-1].stream
    assert last is not None
    guesses = flow.guesses(last[2], 3)
    best = logits[2].softmax(-1).topk(3)
    assert [each.name for each in guesses] == names(best.indices.tolist())
    assert [each.probability for each in guesses] == pytest.approx(best.values.tolist())


def test_what_may_not_be_looked_at_is_minus_infinity() -> None:
    flow, _ = flow_and_logits("gpt", model_of("gpt"))
    box = next(box for box in boxes(flow) if box.part)
    mask = next(stage for stage in box.stages(At()) if stage.name == "mask")
    assert torch.equal(mask.values.isinf(), torch.ones_like(mask.values).triu(1).bool())
    assert mask.cell(0, 3).steps[-1][1] == -math.inf


def test_heads_that_are_off_are_off_in_the_flow() -> None:
    model = model_of("transformer")
    with heads_off(model, ["cross.1.0"]):
        flow, logits = flow_and_logits("transformer", model)
    box = flow.box("decoder.1.cross_attention")
    assert box is not None
    joined = {stage.name: stage.values for stage in box.stages(At())}["concat"]
    assert not joined[:, :8].any()
    assert joined[:, 8:].any()
    assert torch.allclose(boxes(flow)[-1].output, logits)


@pytest.mark.parametrize("name", ["transformer", "additive", "fed"])
def test_recording_changes_nothing_and_leaves_nothing(name: str) -> None:
    model = model_of(name)
    batch = batch_pairs([SOURCE], [OUTPUT])

    def ask() -> Tensor:
        return model(batch.source, batch.source_mask, batch.target)  # type: ignore[no-any-return]

    before = ask()
    seen: list[Tensor] = []
    recorded(model, lambda: seen.append(ask()))
    assert torch.equal(seen[0], before)
    for module in model.modules():
        assert not module._forward_hooks
        assert "advance" not in vars(module)
