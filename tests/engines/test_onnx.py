"""Graphs in Marian's shape compute what the run computes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.cli import main
from regard.errors import RequestError
from regard.run import Run
from regard.text.tokenizer import Tokenizers
from regard.weights import load_model
from tests.engines.test_web import make_run

pytest.importorskip("onnx", reason="needs onnx")
from onnx.reference import ReferenceEvaluator

from regard.engines.onnx import export_graphs

CONFIGS: dict[str, dict[str, Any]] = {
    "post": {"output_bias": True},
    "swiglu": {"norm": "pre", "normalisation": "rms", "activation": "swiglu"},
    "learned": {"tied_embeddings": "none", "activation": "gelu", "positions": "learned"},
    "swish": {"norm": "pre", "tied_embeddings": "output", "activation": "swish"},
    "quick": {"activation": "quick_gelu"},
}


def joint(folder: Path, **model: Any) -> Path:
    made = make_run(folder, **model)
    tokenizer = Run(made).tokenizers().target
    Run(made).save_tokenizers(Tokenizers(tokenizer, tokenizer))
    return made


def graphs(folder: Path) -> tuple[Any, Any]:
    names = "encoder_model", "decoder_model_merged"
    found = [ReferenceEvaluator(str(folder / "onnx" / f"{name}.onnx")) for name in names]
    return found[0], found[1]


def empty_cache(decoder: Any, batch: int) -> dict[str, Any]:
    names = [name for name in decoder.input_names if name.startswith("past")]
    return {name: np.zeros((batch, 2, 0, 8), np.float32) for name in names}


def cache_of(found: dict[str, Any]) -> dict[str, Any]:
    return {
        name.replace("present", "past_key_values"): value
        for name, value in found.items()
        if name.startswith("present")
    }


@pytest.mark.parametrize("config", CONFIGS)
def test_graphs_compute_the_logits_of_the_run(tmp_path: Path, config: str) -> None:
    run = joint(tmp_path / "run", **CONFIGS[config])
    export_graphs(run, tmp_path / "onnx")
    encoder, decoder = graphs(tmp_path / "onnx")
    model: Any = load_model(Run(run)).eval()
    source = torch.tensor([[5, 9, 7, 3], [8, 3, 0, 0]])
    mask = source != 0
    target = torch.tensor([[2, 6, 11], [2, 9, 9]])
    with torch.no_grad():
        expected = model(source, mask, target).numpy()
    ones = mask.long().numpy()
    (memory,) = encoder.run(None, {"input_ids": source.numpy(), "attention_mask": ones})
    shared = {"encoder_hidden_states": memory, "encoder_attention_mask": ones}

    def run_decoder(ids: Any, cache: dict[str, Any]) -> dict[str, Any]:
        values = decoder.run(None, {"input_ids": ids.numpy(), **shared, **cache})
        return dict(zip(decoder.output_names, values, strict=True))

    whole = run_decoder(target, empty_cache(decoder, 2))
    np.testing.assert_allclose(whole["logits"], expected, atol=1e-4)
    first = run_decoder(target[:, :2], empty_cache(decoder, 2))
    last = run_decoder(target[:, 2:], cache_of(first))
    np.testing.assert_allclose(last["logits"][:, 0], expected[:, 2], atol=1e-4)
    np.testing.assert_array_equal(last["present.0.encoder.key"], first["present.0.encoder.key"])


def test_the_command_writes_what_transformers_js_reads(tmp_path: Path) -> None:
    run, out = joint(tmp_path / "run", norm="pre"), tmp_path / "out"
    main(["export", str(run), "--to", "onnx", "--out", str(out)])
    config = json.loads((out / "config.json").read_text())
    assert (config["model_type"], config["decoder_layers"]) == ("marian", 2)
    document = json.loads((out / "tokenizer.json").read_text())
    assert document["post_processor"] is not None
    generation = json.loads((out / "generation_config.json").read_text())
    assert generation["decoder_start_token_id"] == Run(run).tokenizers().target.specials.start


@pytest.mark.parametrize(
    ("model", "complaint"),
    [({"positions": "rotary"}, "no rotary positions"), ({"cross_heads": [1, 2]}, "some are gone")],
)
def test_what_marian_cannot_carry_is_refused(
    tmp_path: Path, model: dict[str, Any], complaint: str
) -> None:
    run = joint(tmp_path / "run", **model)
    with pytest.raises(RequestError, match=complaint):
        export_graphs(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()
