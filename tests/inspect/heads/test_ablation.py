"""What heads are worth: a head that does nothing is worth nothing, and it goes first."""

from typing import Any

import pytest
import torch

from regard.data.corpus import Pair
from regard.evaluate.pairs import references_of
from regard.inspect.heads.ablation import Bench, Importance, greedy_curve, removable
from regard.inspect.heads.heads import Head, choose_heads, heads_of
from regard.models.transformer import Transformer, TransformerConfig
from regard.text.tokenizer import Tokenizer, Tokenizers

TEXTS = ["a b c", "b a", "c c a b", "a"]


@pytest.fixture(scope="module")
def bench() -> Bench:
    """Heads encoder.1.0 and cross.0.1 have no way to the output."""
    tokenizer = Tokenizer.train(TEXTS * 5, kind="word", vocabulary_size=300)
    torch.manual_seed(5)
    sizes: dict[str, Any] = {"encoder_layers": 2, "decoder_layers": 1, "d_model": 8, "d_ff": 8}
    model = Transformer(TransformerConfig(num_heads=2, **sizes), len(tokenizer), len(tokenizer))
    with torch.no_grad():
        model.encoder[1].self_attention.out_projection.weight[:, :4] = 0
        model.decoder[0].cross_attention.out_projection.weight[:, 4:] = 0
    pairs = [Pair(text, text[::-1], "here") for text in TEXTS]
    return Bench(model.eval(), Tokenizers(tokenizer, tokenizer), pairs)


def test_a_head_without_effect_is_worth_nothing(bench: Bench) -> None:
    whole = bench.log_probability()
    for head in heads_of(bench.model):
        idle = str(head) in ("encoder.1.0", "cross.0.1")
        assert (bench.without(head).log_probability == pytest.approx(whole, abs=1e-7)) == idle


def test_the_curve_removes_what_is_missed_least(bench: Bench) -> None:
    points = list(greedy_curve(bench))
    assert [point.kept for point in points] == [8, 7, 6, 5, 4]
    gone: list[Head] = []
    for point in points[1:]:
        loose = removable(heads_of(bench.model), gone)
        (name,) = point.removed
        best = max(loose, key=lambda head: bench.log_probability([*gone, head]))
        assert bench.log_probability([*gone, best]) == pytest.approx(point.log_probability)
        gone += choose_heads(bench.model, [name])
    left = [head for head in heads_of(bench.model) if head not in gone]
    assert sorted((head.part, head.layer) for head in left) == [
        *(("cross", 0), ("decoder", 0), ("encoder", 0), ("encoder", 1))
    ]


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_model_without_capitals_is_not_blamed_for_them(bench: Bench, lowercase: bool) -> None:
    tokenizer = Tokenizer.train(TEXTS * 5, vocabulary_size=300, lowercase=lowercase)
    pairs = [Pair("a", "A Ä b", "here")]
    loud = Bench(bench.model, Tokenizers(tokenizer, tokenizer), pairs)
    assert references_of(loud) == ["a ä b" if lowercase else "A Ä b"]


def test_what_was_measured_survives_json(bench: Bench) -> None:
    import json
    from dataclasses import asdict

    found = Importance(4, "zero", 1.0, -2.0, [bench.without(Head("cross", 0, 0))], [])
    assert Importance.from_json(json.loads(json.dumps(asdict(found)))) == found
