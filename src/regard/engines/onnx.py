"""A Transformer as ONNX graphs, with the inputs and outputs that programs know from Marian: an
encoder, and a decoder that takes what it has computed for the tokens before.

What is inside is the model of the run, with the order of its norms and its activations. The keys
and values of the source are computed for what the cache does not hold of it: for all of the source
at the first step, for nothing later. So one graph serves for every step.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx

from regard import made_with
from regard.configs.transformer import TransformerConfig
from regard.engines import settings as theirs
from regard.engines.onnx_graph import HIDDEN, POSITIONS, Graph, ids, numbers
from regard.engines.vocabulary import tokenizer_files
from regard.errors import RequestError
from regard.files import new_folder, read_arrays
from regard.run import Run
from regard.text.tokenizer import Tokenizers

EVERYTHING = 2**31


def encoder(tensors: dict[str, Any], config: TransformerConfig) -> Any:
    graph = Graph(tensors, config)
    x = graph.embed("source", "input_ids", graph.whole(0))
    bias = graph.bias_of("attention_mask")
    for layer in range(config.encoder_layers):
        block = f"encoder.{layer}"

        def attention(y: str, name: str = f"{block}.self_attention") -> str:
            queries, keys, values = graph.projections(y, name, (0, 1, 2))
            found = graph.attend(queries, keys, values, bias)
            return graph.linear(found, f"{name}.out_projection")

        def inner(y: str, name: str = f"{block}.feed_forward") -> str:
            return graph.feed_forward(y, name)

        x = graph.residual(x, f"{block}.self_attention", attention)
        x = graph.residual(x, f"{block}.feed_forward", inner)
    if config.norm == "pre":
        x = graph.norm(x, "encoder_norm")
    graph.named(x, "last_hidden_state")
    inputs = [ids("input_ids", "source"), ids("attention_mask", "source")]
    return graph.model(inputs, [numbers("last_hidden_state", "source", config.d_model)])


def causal_bias(graph: Graph, past: str) -> str:
    """[T, P + T]: a token sees itself and those before it."""
    end = graph.op("Add", past, graph.length("input_ids", 1))
    first, last = (graph.op("Squeeze", each, graph.whole(0)) for each in (past, end))
    zero, one = graph.constant(0, "int64"), graph.constant(1, "int64")
    keys = graph.op("Unsqueeze", graph.op("Range", zero, last, one), graph.whole(0))
    queries = graph.op("Unsqueeze", graph.op("Range", first, last, one), graph.whole(1))
    later = graph.op("Greater", keys, queries)
    return str(graph.op("Where", later, graph.constant(HIDDEN), graph.constant(0.0)))


def decoder(tensors: dict[str, Any], config: TransformerConfig) -> Any:
    graph = Graph(tensors, config)
    past = graph.length("past_key_values.0.decoder.key", 2)
    x = graph.embed("target", "input_ids", past)
    source_bias, own_bias = graph.bias_of("encoder_attention_mask"), causal_bias(graph, past)
    caches: list[tuple[str, str]] = []

    def cached(new: Sequence[str], layer: int, side: str) -> list[str]:
        """Keys and values, those of the cache first."""
        both = []
        for name, value in zip(("key", "value"), new, strict=True):
            before = f"{layer}.{side}.{name}"
            found = graph.op("Concat", f"past_key_values.{before}", value, axis=2)
            graph.named(found, f"present.{before}")
            caches.append((before, "past" if side == "decoder" else "known"))
            both.append(found)
        return both

    for layer in range(config.decoder_layers):
        block = f"decoder.{layer}"

        def own(y: str, layer: int = layer, name: str = f"{block}.self_attention") -> str:
            queries, *new = graph.projections(y, name, (0, 1, 2))
            keys, values = cached(new, layer, "decoder")
            found = graph.attend(queries, keys, values, own_bias)
            return graph.linear(found, f"{name}.out_projection")

        def cross(y: str, layer: int = layer, name: str = f"{block}.cross_attention") -> str:
            known = graph.length(f"past_key_values.{layer}.encoder.key", 2)
            everything = graph.whole(EVERYTHING)
            rest = graph.op("Slice", "encoder_hidden_states", known, everything, graph.whole(1))
            (queries,) = graph.projections(y, name, (0,))
            new = graph.projections(rest, name, (1, 2))
            keys, values = cached(new, layer, "encoder")
            found = graph.attend(queries, keys, values, source_bias)
            return graph.linear(found, f"{name}.out_projection")

        def inner(y: str, name: str = f"{block}.feed_forward") -> str:
            return graph.feed_forward(y, name)

        x = graph.residual(x, f"{block}.self_attention", own)
        x = graph.residual(x, f"{block}.cross_attention", cross)
        x = graph.residual(x, f"{block}.feed_forward", inner)
    if config.norm == "pre":
        x = graph.norm(x, "decoder_norm")
    if "output.weight" not in tensors:
        graph.tensors = {**tensors, "output.weight": tensors["target_embedding.weight"]}
    graph.named(graph.linear(x, "output"), "logits")
    shape = (config.num_heads, config.d_k)
    inputs = [
        ids("input_ids", "target"),
        numbers("encoder_hidden_states", "source", config.d_model),
        ids("encoder_attention_mask", "source"),
        *(numbers(f"past_key_values.{name}", shape[0], axis, shape[1]) for name, axis in caches),
    ]
    outputs = [
        numbers("logits", "target", len(graph.tensors["output.weight"])),
        *(numbers(f"present.{name}", shape[0], f"{axis} + new", shape[1]) for name, axis in caches),
    ]
    return graph.model(inputs, outputs)


def export_graphs(folder: Path, path: Path) -> None:
    """Write the run in `folder` as transformers.js and ONNX Runtime load a Marian."""
    run = Run.open(folder)
    recipe: Any = run.recipe()
    config = recipe.model
    refuse(folder, config)
    tokenizers = run.tokenizers()
    if not tokenizers.joint:
        raise RequestError(
            f"{folder}: has a vocabulary for each language, and Marian's programs read one; train "
            "it with tokenizer.joint = true"
        )
    run.require_weights()
    tensors, metadata = read_arrays(run.model_path)
    made_with.check(run, metadata)
    tensors = {name: array.astype("float32") for name, array in tensors.items()}
    settings = configuration(config, tokenizers)
    with new_folder(path) as scratch:
        (scratch / "onnx").mkdir()
        for name, build in (("encoder_model", encoder), ("decoder_model_merged", decoder)):
            onnx.save_model(build(tensors, config), str(scratch / "onnx" / f"{name}.onnx"))
        files = {"config.json": settings, **tokenizer_files(tokenizers.source, settings)}
        files["generation_config.json"] = {
            **{key: settings[key] for key in ("pad_token_id", "eos_token_id")},
            "decoder_start_token_id": settings["decoder_start_token_id"],
            "bad_words_ids": [[index] for index in tokenizers.target.specials.never],
            "num_beams": 1,
            "max_new_tokens": 2 * recipe.data.max_length,
        }
        for name, content in files.items():
            text = json.dumps(content, ensure_ascii=False, indent=1)
            (scratch / name).write_text(text + "\n", encoding="utf-8")


def refuse(folder: Path, config: Any) -> None:
    """Refuse what Marian's inputs and outputs cannot carry."""
    if not isinstance(config, TransformerConfig):
        raise RequestError(
            f"{folder}: Marian is a Transformer that translates, this is a model of kind "
            f'"{config.kind}"'
        )
    if config.pruned:
        raise RequestError(f"{folder}: Marian has as many heads in each layer, here some are gone")
    if config.positions == "rotary":
        raise RequestError(f"{folder}: the graphs have no rotary positions; use --to web")


def configuration(config: TransformerConfig, tokenizers: Tokenizers) -> dict[str, Any]:
    """The contents of config.json. What Marian has no setting for is in the graphs."""
    plain = {"norm": "post", "normalisation": "layer", "positions": "sinusoidal"}
    alike = config.model_copy(update={**plain, "activation": "relu"})
    sizes = len(tokenizers.source), len(tokenizers.target)
    found = theirs.marian(alike, *sizes, tokenizers.target.specials)
    longest = config.max_positions if config.positions == "learned" else POSITIONS
    return {**found, "max_position_embeddings": longest}
