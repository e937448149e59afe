"""The norms ‖α v W_O‖ compared with the layers' own parameters; and maps in a notebook."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.data.batch import batch_pairs
from regard.errors import RequestError
from regard.inspect.heads.heads import Head, Part, attentions
from regard.inspect.maps import MapLabels, Maps, attention_maps
from regard.inspect.numbers import numbers
from regard.models.recurrent import Recurrent, RecurrentConfig
from regard.models.transformer import Transformer, TransformerConfig

END = 3
SOURCE, OUTPUT = [5, 9, 12, 7, END], [6, 8, 13, END]


def build(**choices: Any) -> Transformer:
    torch.manual_seed(4)
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 4}
    model = Transformer(TransformerConfig(**{**sizes, **choices}), 15, 15).double().eval()
    for parameter in model.parameters():  # biases are not 0 either
        torch.nn.init.normal_(parameter, std=0.2)
    return model


def recurrent(attention: Any) -> Recurrent:
    torch.manual_seed(4)
    return Recurrent(RecurrentConfig(d_model=16, attention=attention), 15, 15).double().eval()


@torch.no_grad()
def given_and_made(model: Any, part: Part, layer: int) -> tuple[list[Any], Tensor]:
    """The arguments of an attention in one pass, and its output, [T, d_model]."""
    arguments: list[Any] = []
    outputs: list[Tensor] = []
    attention = attentions(model)[part][layer]

    def keep(module: Any, given: tuple[Any, ...], output: Tensor) -> None:
        arguments[:] = given
        outputs.append(output)

    hook = attention.register_forward_hook(keep)
    batch = batch_pairs([SOURCE], [OUTPUT])
    model.features(batch.source, batch.source_mask, batch.target)
    hook.remove()
    return arguments, torch.cat(outputs, dim=1)[0]


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("choices", [{}, {"norm": "pre", "positions": "rotary"}])
@torch.no_grad()
def test_what_is_carried_adds_up_to_what_the_layer_gives(part: Part, choices: Any) -> None:
    model = build(**choices)
    maps = attention_maps(model, SOURCE, OUTPUT)
    given, made = given_and_made(model, part, 1)
    layer: Any = attentions(model)[part][1]
    # By hand: the value rows of W_in, then the columns of W_out that belong to each head.
    if part == "cross":
        values = given[1].values[0]
    else:
        weight, bias = layer.in_projection.weight[32:], layer.in_projection.bias[32:]
        values = (given[0][0] @ weight.T + bias).unflatten(-1, (4, 4)).transpose(0, 1)
    vectors = torch.stack(
        [
            values[head] @ layer.out_projection.weight[:, 4 * head : 4 * head + 4].T
            for head in range(4)
        ]
    )  # [h, K, d_model]
    alpha = getattr(maps, part)[1]
    carried = alpha[..., None] * vectors[:, None]  # [h, T, K, d_model]
    assert_close(carried.sum((0, 2)) + layer.out_projection.bias, made)
    for head in range(4):
        assert_close(maps.norms(part, 1, head), carried[head].norm(dim=-1))
    assert_close(maps.norms(part, 1), carried.sum(0).norm(dim=-1))
    share = carried[2].norm(dim=-1)
    assert_close(maps.weights(part, 1, 2, "norm"), share / share.sum(-1, keepdim=True))


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_rows_of_every_mean_sum_to_one(part: Part) -> None:
    maps = attention_maps(build(cross_heads=(4, 1)), SOURCE, OUTPUT)
    for layer, head in ((0, 0), (1, None), (None, None)):
        found = maps.weights(part, layer, head, "norm")
        assert_close(found.sum(-1), torch.ones(len(found), dtype=torch.float64))
        if part == "decoder":
            assert not found.triu(1).any()
    layers = [maps.weights(part, layer, None, "norm") for layer in (0, 1)]
    assert_close(maps.weights(part, measure="norm"), torch.stack(layers).mean(0))
    assert not torch.isclose(maps.weights(part, 0, 0), maps.weights(part, 0, 0, "norm")).all()


def test_heads_that_are_gone_carry_nothing() -> None:
    maps = attention_maps(build(cross_heads=(4, 1)), SOURCE, OUTPUT)
    assert maps.heads["cross"] == [4, 1]
    assert_close(maps.norms("cross", 1), maps.norms("cross", 1, 0))
    assert not maps.norms("cross", 1, 3).any()


@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_a_recurrent_model_carries_the_states_of_its_encoder(attention: Any) -> None:
    model = recurrent(attention)
    maps = attention_maps(model, SOURCE, OUTPUT)
    batch = batch_pairs([SOURCE], [OUTPUT])
    with torch.no_grad():
        states = model.encode(batch.source, batch.source_mask)[0]
    assert_close(maps.norms("cross", 0, 0), maps.cross[0, 0] * states.norm(dim=-1))
    assert attention_maps(recurrent("none"), SOURCE, OUTPUT).weights("cross", measure="norm").shape


def test_words_and_labels_are_those_of_weights() -> None:
    labels = MapLabels(
        source=["▁a", "b", "▁c", "d", "</s>"],
        source_word=[0, 0, 1, 1, -1],
        source_words=["ab", "cd"],
        predicts=["▁x", "▁y", "z", "</s>"],
        predicts_word=[0, 1, 1, -1],
        target_words=["x", "yz"],
    )
    maps = replace(attention_maps(build(), SOURCE, OUTPUT), labels=labels)
    pieces = maps.weights("cross", 1, 2, "norm")
    matrix = maps.matrix("cross", 1, 2, words=True, measure="norm")
    assert (matrix.rows, matrix.columns) == (["x", "yz"], ["ab", "cd"])
    assert matrix.weights[1][0] == pytest.approx(float(pieces[1:3, :2].sum() / 2))
    with pytest.raises(RequestError, match="without values"):
        Maps(maps.encoder, maps.decoder, maps.cross).weights("cross", 0, 0, "norm")


class Frames(HTMLParser):
    """The attributes of every element, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_notebook_shows_the_page_in_a_frame_of_its_own() -> None:
    nasty = '"></iframe><script>alert(1)</script> & ▁a'
    labels = MapLabels(source=[nasty] * 5, source_word=[0] * 5, source_words=[nasty])
    maps = replace(attention_maps(build(), SOURCE, OUTPUT), labels=labels)
    shown = maps._repr_html_()
    assert shown is not None
    parser = Frames()
    parser.feed(shown)
    # One element: whatever a text says stays inside its attribute.
    assert [tag for tag, _ in parser.found] == ["iframe"]
    frame = parser.found[0][1]
    assert frame["sandbox"] == "allow-scripts"  # its script runs, but in no origin
    page = frame["srcdoc"] or ""
    assert "alert(1)\\u003c/script>" in page  # and inside the page it is data
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=|@import|url\(", page)
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}


def test_what_has_no_attention_shows_no_page() -> None:
    assert attention_maps(recurrent("none"), SOURCE, OUTPUT)._repr_html_() is None


def test_a_notebook_shows_numbers_as_a_table() -> None:
    found = numbers(build(), SOURCE, OUTPUT, Head("cross", 1, 2), query=2, key=1)
    shown = found._repr_html_()
    assert shown.count("<tr>") == 1 + len(SOURCE)
    assert f"<td>{found.weights[3]:.4f}</td>" in shown
    assert "cross.1.2" in shown
