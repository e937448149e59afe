"""The numbers behind a weight are those that the layer computed."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.batch import batch_pairs
from regard.errors import RequestError
from regard.inspect.heads.heads import Head, attentions
from regard.inspect.maps import attention_maps
from regard.inspect.numbers import Numbers, numbers
from regard.models.recurrent import Recurrent, RecurrentConfig
from regard.models.transformer import Transformer, TransformerConfig

END = 3
SOURCE, OUTPUT = [5, 9, 12, 7, END], [6, 8, 13, END]


def exactly(value: Any) -> Any:
    return pytest.approx(value, abs=1e-9, rel=1e-9)


def transformer(**choices: Any) -> Transformer:
    torch.manual_seed(4)
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 4}
    return Transformer(TransformerConfig(**{**sizes, **choices}), 15, 15).double().eval()


def output_of(model: Any, part: Any, layer: int) -> Tensor:
    """The output of an attention in the pass, [T, d_model]."""
    kept: list[Tensor] = []
    hook = attentions(model)[part][layer].register_forward_hook(
        lambda module, given, output: kept.append(output)
    )
    batch = batch_pairs([SOURCE], [OUTPUT])
    with torch.no_grad():
        model.features(batch.source, batch.source_mask, batch.target)
    hook.remove()
    return torch.cat(kept, dim=1)[0]


def check_steps(found: Numbers) -> None:
    """Each number follows from those before it."""
    assert found.dot == exactly(sum(found.products))
    assert found.dots[found.key] == exactly(found.dot)
    assert found.scaled == exactly([dot / found.scale for dot in found.dots])
    assert found.total == exactly(sum(found.exponentials))
    assert found.weights == exactly([e / found.total for e in found.exponentials])
    for weight, visible in zip(found.weights, found.visible, strict=True):
        assert bool(weight) == visible
    sums = [sum(column) for column in zip(*found.weighted, strict=True)]
    assert found.output == exactly(sums)
    assert found.heads[found.head.head] == found.output


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "learned"])
def test_numbers_are_what_the_layer_computed(part: Any, positions: str) -> None:
    model = transformer(positions=positions)
    found = numbers(model, SOURCE, OUTPUT, Head(part, 1, 2), query=2, key=1)
    check_steps(found)
    products = [q * k for q, k in zip(found.query_row, found.key_row, strict=True)]
    assert found.products == exactly(products)
    assert found.scale == 2.0
    maps = attention_maps(model, SOURCE, OUTPUT)
    assert found.weights == exactly(getattr(maps, part)[1, 2, 2].tolist())
    assert found.projected == pytest.approx(output_of(model, part, 1)[2].tolist(), abs=1e-6)
    assert found.visible == [key <= 2 or part != "decoder" for key in range(len(found.visible))]


@pytest.mark.parametrize("part", ["cross"])
def test_shares_of_heads_add_up_to_the_projection(part: Any) -> None:
    model = transformer()
    rows = [numbers(model, SOURCE, OUTPUT, Head(part, 0, head), 1, 0) for head in range(4)]
    total = torch.tensor([row.contribution for row in rows]).sum(0)
    total = total + model.decoder[0].cross_attention.out_projection.bias.detach()
    assert rows[0].projected == pytest.approx(total.tolist(), abs=1e-6)


@pytest.mark.parametrize(
    "choices",
    [{"attention": "additive"}, {"attention": "dot"}, {"attention": "dot", "input_feeding": True}],
)
def test_a_recurrent_model_has_its_numbers_too(choices: Any) -> None:
    torch.manual_seed(4)
    model = Recurrent(RecurrentConfig(d_model=16, **choices), 15, 15).double().eval()
    found = numbers(model, SOURCE, OUTPUT, Head("cross", 0, 0), query=3, key=2)
    check_steps(found)
    maps = attention_maps(model, SOURCE, OUTPUT)
    assert found.weights == exactly(maps.cross[0, 0, 3].tolist())
    assert found.projected == pytest.approx(output_of(model, "cross", 0)[3].tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("head", "query", "key"),
    [("cross.2.0", 0, 0), ("cross.0.4", 0, 0), ("cross.0.0", 4, 0), ("cross.0.0", 0, 5)],
)
def test_what_is_not_there_is_refused(head: str, query: int, key: int) -> None:
    part, layer, number = head.split(".")
    with pytest.raises(RequestError):
        numbers(transformer(), SOURCE, OUTPUT, Head(part, int(layer), int(number)), query, key)  # type: ignore[arg-type]
