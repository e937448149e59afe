"""Our weights under Hugging Face's names: its models give the same outputs, and the weights come
back the same.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from torch.testing import assert_close

from regard.data.batch import batch_pairs
from regard.engines import settings
from regard.engines.renaming import to_ours, to_theirs
from regard.engines.settings import Settings
from regard.errors import RequestError, RunError
from regard.models import bert, gpt, transformer
from regard.text.tokenizer import Specials

VOCABULARY = 31
from_marian = partial(settings.from_marian, tensors={})
SIZES = {"d_model": 24, "d_ff": 40, "num_heads": 4}


def randomised(model: Any) -> Any:
    torch.manual_seed(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            gain = parameter.dim() == 1 and "norm" in name and name.endswith("weight")
            parameter.normal_(mean=float(gain), std=0.2)
    return model.eval()


def loaded(theirs: Any, config: Any, model: Any) -> Any:
    """Their model with our weights and no others."""
    tensors = to_theirs(config, dict(model.named_parameters()))
    unexpected = theirs.load_state_dict(tensors, strict=False).unexpected_keys
    theirs.tie_weights()
    own = {name for name, each in theirs.named_parameters() if each.requires_grad}
    assert own <= tensors.keys()
    assert not unexpected
    return theirs.eval()


def assert_comes_back(config: Any, model: Any) -> None:
    ours = {name: each.detach() for name, each in model.named_parameters()}
    again = to_ours(config, to_theirs(config, ours), "file")
    assert again.keys() == ours.keys()
    for name, tensor in again.items():
        assert torch.equal(tensor, ours[name]), name


def ids(*shape: int) -> Tensor:
    return torch.randint(4, VOCABULARY, shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("family", "norm", "tied"),
    [
        (("MarianMTModel", "MarianConfig"), "post", "all"),
        (("MarianMTModel", "MarianConfig"), "post", "output"),
        (("MarianMTModel", "MarianConfig"), "post", "none"),
        (("PegasusForConditionalGeneration", "PegasusConfig"), "pre", "all"),
    ],
)
@pytest.mark.parametrize(
    ("activation", "bias"), [("relu", False), ("gelu", True), ("gelu_tanh", False), ("swish", True)]
)
@torch.no_grad()
def test_marian_and_pegasus_give_the_outputs_of_the_transformer(
    family: Any, norm: str, tied: str, activation: str, bias: bool
) -> None:
    their_model, their_config = (getattr(transformers, name) for name in family)
    config = transformer.TransformerConfig.model_validate(
        {
            **SIZES,
            "encoder_layers": 2,
            "decoder_layers": 3,
            "norm": norm,
            "tied_embeddings": tied,
            "activation": activation,
            "output_bias": bias,
        }
    )
    source = VOCABULARY if tied == "all" else VOCABULARY + 5
    ours = randomised(transformer.Transformer(config, source, VOCABULARY))
    values = settings.marian(config, source, VOCABULARY, Specials())
    theirs = loaded(their_model(their_config(**values)), config, ours)
    batch = batch_pairs([[5, 9, 12, 7, 7, 21, 3], [8, 3]], [[6, 6, 13, 3], [20, 9, 4, 17, 8, 3]])
    logits = theirs(
        input_ids=batch.source, attention_mask=batch.source_mask, decoder_input_ids=batch.target
    ).logits
    mine = ours(batch.source, batch.source_mask, batch.target)
    assert_close(mine, logits, rtol=0, atol=1e-4)
    assert_comes_back(config, ours)
    tensors = to_theirs(config, dict(ours.named_parameters()))
    read = settings.from_marian(Settings(theirs.config.to_dict(), Path("config.json")), tensors)
    assert transformer.TransformerConfig(**read) == config


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh"])
@torch.no_grad()
def test_gpt2_gives_the_outputs_of_gpt(tied: bool, activation: str) -> None:
    config = gpt.GPTConfig.model_validate(
        {
            **SIZES,
            "num_layers": 3,
            "max_positions": 16,
            "tied_embeddings": tied,
            "activation": activation,
            "norm_epsilon": 1e-3,
        }
    )
    ours = randomised(gpt.GPT(config, VOCABULARY))
    values = settings.gpt2(config, VOCABULARY, Specials())
    theirs = loaded(transformers.GPT2LMHeadModel(transformers.GPT2Config(**values)), config, ours)
    assert_close(ours(ids(3, 16)), theirs(ids(3, 16)).logits, rtol=0, atol=1e-4)
    assert_comes_back(config, ours)
    read = settings.from_gpt2(Settings(theirs.config.to_dict(), Path("config.json")))
    assert gpt.GPTConfig(**read) == config


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh"])
@torch.no_grad()
def test_their_bert_gives_the_outputs_of_ours(activation: str) -> None:
    config = bert.BertConfig.model_validate(
        {**SIZES, "num_layers": 3, "max_positions": 16, "activation": activation}
    )
    ours = randomised(bert.Bert(config, VOCABULARY))
    values = settings.bert(config, VOCABULARY, Specials())
    theirs = loaded(transformers.BertForMaskedLM(transformers.BertConfig(**values)), config, ours)
    tokens, segments = ids(3, 12), (ids(3, 12) > 15).long()
    mask = torch.arange(12) < torch.tensor([[12], [4], [7]])
    logits = theirs(input_ids=tokens, attention_mask=mask, token_type_ids=segments).logits
    assert_close(ours(tokens, mask, segments)[mask], logits[mask], rtol=0, atol=1e-4)
    assert_comes_back(config, ours)
    read = settings.from_bert(
        Settings(theirs.config.to_dict(), Path("config.json")), to_theirs(config, state(ours))
    )
    assert bert.BertConfig(**read) == config


@torch.no_grad()
def test_the_pooler_of_their_bert_gives_the_outputs_of_ours() -> None:
    config = bert.BertConfig(**SIZES, num_layers=2, masked_head=False, pooler=True)
    ours = randomised(bert.Bert(config, VOCABULARY))
    values = settings.bert(config, VOCABULARY, Specials())
    theirs = transformers.BertModel(transformers.BertConfig(**values))
    tensors = to_theirs(config, dict(ours.named_parameters()))
    theirs.load_state_dict({n.removeprefix("bert."): each for n, each in tensors.items()})
    tokens, mask = ids(2, 9), torch.ones(2, 9, dtype=torch.bool)
    expected = theirs.eval()(input_ids=tokens, attention_mask=mask)
    features = ours.features(tokens, mask)
    assert_close(features, expected.last_hidden_state, rtol=0, atol=1e-4)
    assert_close(ours.pooled(features), expected.pooler_output, rtol=0, atol=1e-4)
    assert_comes_back(config, ours)


def state(model: Any) -> dict[str, Tensor]:
    return {name: each.detach() for name, each in model.named_parameters()}


def impossible() -> Iterator[Any]:
    for key, value in {
        "normalisation": "rms",
        "positions": "learned",
        "activation": "swiglu",
    }.items():
        config = transformer.TransformerConfig.model_validate({**SIZES, key: value})
        yield pytest.param(
            settings.marian, config, (9, 9), f'Marian has no model.{key} = "{value}"'
        )
    config = transformer.TransformerConfig(**SIZES, norm="pre", tied_embeddings="output")
    yield pytest.param(
        settings.marian, config, (9, 9), 'Pegasus has no model.tied_embeddings = "output"'
    )
    config = gpt.GPTConfig(**SIZES, positions="rotary")
    yield pytest.param(settings.gpt2, config, (9,), "GPT-2 has no model.positions")


@pytest.mark.parametrize(("write", "config", "sizes", "complaint"), list(impossible()))
def test_what_they_cannot_express_is_refused(
    write: Any, config: Any, sizes: tuple[int, ...], complaint: str
) -> None:
    with pytest.raises(RequestError, match=complaint):
        write(config, *sizes, Specials())


@pytest.mark.parametrize(
    ("read", "values", "complaint"),
    [
        (from_marian, {}, "scale_embedding is None; regard's model has only True"),
        (from_marian, {"scale_embedding": True, "d_model": "x"}, "d_model is 'x'"),
        (
            from_marian,
            {"scale_embedding": True, "decoder_ffn_dim": 5},
            "decoder_ffn_dim is 5; regard's model has only 4096",
        ),
        (
            from_marian,
            {"model_type": "pegasus", "scale_embedding": True, "normalize_before": False},
            "normalize_before is False; regard's model has only True",
        ),
        (settings.from_gpt2, {"activation_function": "mish"}, "activation_function is 'mish'"),
        (settings.from_gpt2, {"n_layer": -1}, "n_layer is -1; a whole number"),
        (settings.from_gpt2, {"attn_pdrop": True}, "attn_pdrop is True; a number"),
        (settings.from_gpt2, {"scale_attn_weights": False}, "scale_attn_weights is False"),
    ],
)
def test_what_we_cannot_express_is_refused(read: Any, values: Any, complaint: str) -> None:
    with pytest.raises(RunError, match=f"^config.json: {complaint}"):
        read(Settings(values, Path("config.json")))


def test_a_tensor_too_few_or_too_many_is_named() -> None:
    config = gpt.GPTConfig(**SIZES, num_layers=1, max_positions=8)
    tensors = to_theirs(config, state(gpt.GPT(config, VOCABULARY)))
    uneven = {**tensors, "transformer.h.0.attn.c_attn.weight": torch.zeros(())}
    with pytest.raises(RunError, match=r"^file: transformer.h.0.attn.c_attn.weight does not fit"):
        to_ours(config, uneven, "file")
    with pytest.raises(RunError, match=r"^file: score.weight has no place"):
        to_ours(config, {**tensors, "score.weight": torch.zeros(3)}, "file")
    del tensors["transformer.wpe.weight"]
    with pytest.raises(RunError, match=r"^file: transformer.wpe.weight is missing"):
        to_ours(config, tensors, "file")
