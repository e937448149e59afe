"""Training in bfloat16: close to float32 in every kind of model, chosen only where it is safe and
faster, and kept by a run that is resumed.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard import objectives
from regard.configs.bert import BertConfig
from regard.configs.gpt import GPTConfig
from regard.configs.head import HeadConfig
from regard.configs.image import ImageShape
from regard.configs.recurrent import RecurrentConfig
from regard.configs.transformer import TransformerConfig
from regard.layers.attention import attention
from regard.layers.fast_attention import MOST_PLAIN_KEYS, fast_attention
from regard.layers.masks import causal_mask, key_mask
from regard.layers.precision import computing_in, lowered, working_type
from regard.machine import devices
from regard.models.bert import Bert
from regard.models.gpt import GPT
from regard.models.image_labeller import ImageLabeller
from regard.models.images import CnnConfig, MlpConfig, VitConfig
from regard.models.labeller import Labeller
from regard.models.recurrent import Recurrent
from regard.models.transformer import Transformer
from regard.recipe import Recipe
from regard.run import Run
from regard.training import precision
from regard.training.events import Note
from regard.training.run import train, training_run
from regard.weights import load_checkpoint

Tiny = Callable[..., Recipe]
NARROW = torch.bfloat16
VOCABULARY, ROWS, LENGTH = 40, 20, 15
SHAPE = ImageShape(16, 16, 3)


def ids(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(4, VOCABULARY, shape or (ROWS, LENGTH), generator=generator)


MASK = torch.arange(LENGTH) < torch.randint(
    3, LENGTH + 1, (ROWS, 1), generator=torch.Generator().manual_seed(0)
)
PAIRS = SimpleNamespace(
    source=ids(1).masked_fill(~MASK, 0),
    source_mask=MASK,
    target=ids(2),
    labels=ids(3),
    label_mask=MASK,
)
TEXTS = SimpleNamespace(tokens=ids(1), labels=ids(2))
HIDDEN = SimpleNamespace(
    tokens=ids(1),
    mask=MASK,
    segments=None,
    places=torch.arange(2).expand(ROWS, 2),
    labels=ids(3, ROWS, 2),
    follows=ids(4, ROWS) % 2,
)
LABELLED = SimpleNamespace(
    tokens=ids(1), mask=MASK, units=MASK.long() - 1, labels=ids(2, ROWS, 1) % 3
)
IMAGES = SimpleNamespace(images=ids(5, ROWS, 3, 16, 16).float() * 6, labels=ids(6, ROWS) % 5)
SIZES: dict[str, Any] = {"d_model": 32, "d_ff": 64, "num_heads": 4, "dropout": 0.0}
STACK = {**SIZES, "num_layers": 2}


def transformer(**choices: Any) -> nn.Module:
    sizes = {"encoder_layers": 2, "decoder_layers": 2, **SIZES, **choices}
    return Transformer(TransformerConfig(**sizes), VOCABULARY, VOCABULARY)


def images(config: Any) -> nn.Module:
    return ImageLabeller(config, SHAPE, labels=5)


BERT = {**STACK, "max_positions": 20}
PROBLEMS: dict[str, tuple[Callable[[], nn.Module], Any, Any]] = {
    "transformer": (transformer, objectives.translation, PAIRS),
    "transformer, rotary, RMS": (
        lambda: transformer(positions="rotary", norm="pre", normalisation="rms"),
        objectives.translation,
        PAIRS,
    ),
    "transformer, biased output": (
        lambda: transformer(output_bias=True, activation="swiglu"),
        objectives.translation,
        PAIRS,
    ),
    "recurrent": (
        lambda: Recurrent(RecurrentConfig(d_model=32, dropout=0.0), VOCABULARY, VOCABULARY),
        objectives.translation,
        PAIRS,
    ),
    "GPT": (
        lambda: GPT(GPTConfig(**STACK, max_positions=20), VOCABULARY),
        objectives.next_token,
        TEXTS,
    ),
    "BERT": (
        lambda: Bert(BertConfig(**BERT, pooler=True, next_sentence=True), VOCABULARY),
        objectives.masked_token,
        HIDDEN,
    ),
    "classifier": (
        lambda: Labeller(BertConfig(**BERT), HeadConfig(dropout=0.0), VOCABULARY, 3),
        objectives.labelling,
        LABELLED,
    ),
    "ViT": (
        lambda: images(VitConfig(**STACK, patch_size=4, pooling="token")),
        objectives.image_label,
        IMAGES,
    ),
    "ViT of patches": (
        lambda: images(VitConfig(**STACK, patch_size=4, stem="patch", positions="rotary")),
        objectives.image_label,
        IMAGES,
    ),
    "CNN": (lambda: images(CnnConfig(widths=(16, 32))), objectives.image_label, IMAGES),
    "MLP": (
        lambda: images(MlpConfig(num_layers=2, d_model=32, dropout=0.0)),
        objectives.image_label,
        IMAGES,
    ),
}


def learned(model: nn.Module, objective: Any, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
    model.zero_grad(set_to_none=True)
    total = objective(model, batch).total
    total.backward()
    found = {name: each.grad for name, each in model.named_parameters() if each.grad is not None}
    return total.detach(), {name: grad.clone() for name, grad in found.items()}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_what_is_learned_is_nearly_the_same(kind: str) -> None:
    build, objective, batch = PROBLEMS[kind]
    torch.manual_seed(5)
    model = build().train()
    total, gradients = learned(model, objective, batch)
    with computing_in(NARROW):
        rounded, found = learned(model, objective, batch)
    assert total.dtype == rounded.dtype == torch.float32
    assert_close(rounded, total, rtol=0.02, atol=0)
    assert rounded != total  # else nothing was computed in bfloat16
    assert found.keys() == gradients.keys()
    assert all(gradient.dtype == torch.float32 for gradient in found.values())
    ours, exact = (torch.cat([g.flatten() for g in each.values()]) for each in (found, gradients))
    assert torch.cosine_similarity(ours, exact, dim=0) > 0.98


def test_only_the_block_is_lowered() -> None:
    x = torch.ones(2)
    with computing_in(NARROW):
        assert lowered(x).dtype == working_type(torch.float32) == NARROW
    assert lowered(x) is x
    assert working_type(torch.float64) == torch.float64


@pytest.mark.parametrize("keys", [9, MOST_PLAIN_KEYS + 1])
@pytest.mark.parametrize("masked", ["nothing", "padding", "later"])
def test_attention_in_bfloat16_is_the_papers(keys: int, masked: str) -> None:
    torch.manual_seed(1)
    query, key, value = torch.randn(3, 2, 4, keys, 8)
    mask = (
        key_mask(torch.arange(keys) < torch.tensor([[keys], [4]])) if masked == "padding" else None
    )
    causal = masked == "later"
    expected, _ = attention(query, key, value, causal_mask(keys) if causal else mask)
    found = fast_attention(query.to(NARROW), key.to(NARROW), value.to(NARROW), mask, causal)
    assert found.dtype == NARROW
    assert_close(found.float(), expected, rtol=0.02, atol=0.02)


# How auto chooses.


def is_mixed(objective: Any) -> bool:
    """Whether it computes in bfloat16."""
    return getattr(objective, "__name__", "") == "mixed"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A CPU with safe products of bfloat16, on which an update is so many times as fast."""

    def speed(gain: float) -> None:
        def attempt(model: Any, objective: Any, data: Any, rows: Any) -> tuple[int, float]:
            return 1, 1.0 if not is_mixed(objective) else 1 / gain

        monkeypatch.setattr(devices, "claims_bfloat16", lambda: True)
        monkeypatch.setattr(devices, "bfloat16_runs", lambda: True)
        monkeypatch.setattr(precision, "attempt", attempt)
        monkeypatch.setattr(precision, "SHORTEST_SECONDS", 1.0)

    return speed


def trained_in(folder: Path) -> str:
    run = Run.open(folder)
    found: str = load_checkpoint(run, run.checkpoints()[-1])[1]["conditions"]["precision"]
    return found


AUTO = "train.precision=auto"


def notes(recipe: Recipe, folder: Path) -> str:
    return " ".join(e.text for e in training_run(recipe, folder) if isinstance(e, Note))


@pytest.mark.parametrize(("gain", "chosen"), [(1.6, "bfloat16"), (1.05, "float32")])
def test_auto_takes_what_is_faster(
    gain: float, chosen: str, tiny: Tiny, tmp_path: Path, measured: Any
) -> None:
    measured(gain)
    said = notes(tiny(AUTO, "train.steps=6"), tmp_path)
    assert trained_in(tmp_path) == chosen
    assert ("1.6 × as fast" in said) == (chosen == "bfloat16")


@pytest.mark.parametrize("asked", ["claims_bfloat16", "bfloat16_runs"])
def test_without_safe_products_nothing_is_tried_or_said(
    asked: str, tiny: Tiny, tmp_path: Path, measured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(2.0)
    monkeypatch.setattr(devices, asked, lambda: False)
    assert "bfloat16" not in notes(tiny(AUTO, "train.steps=6"), tmp_path)
    assert trained_in(tmp_path) == "float32"


def test_a_short_training_starts_no_child(
    tiny: Tiny, tmp_path: Path, measured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(2.0)
    monkeypatch.setattr(precision, "SHORTEST_SECONDS", 60.0)
    monkeypatch.setattr(devices, "bfloat16_runs", lambda: pytest.fail("a child was started"))
    train(tiny(AUTO, "train.steps=6"), tmp_path)
    assert trained_in(tmp_path) == "float32"


def test_a_layer_that_accepts_one_type_only_stays_in_it(
    tiny: Tiny, tmp_path: Path, measured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(2.0)

    def refuses(model: Any, objective: Any, data: Any, rows: Any) -> tuple[int, float]:
        if is_mixed(objective):
            raise RuntimeError("expected m1 and m2 to have the same dtype")
        return 1, 1.0

    monkeypatch.setattr(precision, "attempt", refuses)
    train(tiny(AUTO, "train.steps=6"), tmp_path)
    assert trained_in(tmp_path) == "float32"


def test_the_trial_changes_nothing(
    tiny: Tiny, outcome: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chosen after real passes, or asked for: the same bits."""
    monkeypatch.setattr(devices, "claims_bfloat16", lambda: True)
    monkeypatch.setattr(devices, "bfloat16_runs", lambda: True)
    monkeypatch.setattr(precision, "SHORTEST_SECONDS", 0.0)
    monkeypatch.setattr(precision, "LEAST_GAIN", 0.0)
    train(tiny(AUTO, "train.steps=6"), tmp_path / "auto")
    train(tiny("train.precision=bfloat16", "train.steps=6"), tmp_path / "asked")
    found, expected = outcome(tmp_path / "auto"), outcome(tmp_path / "asked")
    assert trained_in(tmp_path / "auto") == "bfloat16"
    for part in ("tensors", "log"):
        assert found[part] == expected[part]


def test_a_resumed_run_keeps_its_type(
    tiny: Tiny, outcome: Any, tmp_path: Path, measured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(2.0)
    train(tiny(AUTO, "train.steps=12"), tmp_path / "whole")
    train(tiny(AUTO, "train.steps=6"), tmp_path / "resumed")
    monkeypatch.setattr(precision, "gain_in_bfloat16", lambda *_: pytest.fail("measured again"))
    assert notes(tiny(AUTO, "train.steps=12"), tmp_path / "resumed") == ""
    assert trained_in(tmp_path / "resumed") == "bfloat16"
    name = "step-00000012.safetensors"
    assert (
        outcome(tmp_path / "resumed")["tensors"][name]
        == (outcome(tmp_path / "whole")["tensors"][name])
    )


def test_a_run_moved_to_another_machine_goes_on_in_float32(
    tiny: Tiny, tmp_path: Path, measured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(2.0)
    train(tiny(AUTO, "train.steps=6"), tmp_path)
    monkeypatch.setattr(devices, "bfloat16_runs", lambda: False)
    said = notes(tiny(AUTO, "train.steps=12"), tmp_path)
    assert "precision: float32 now, bfloat16 in the start before" in said
    assert trained_in(tmp_path) == "float32"


def test_this_cpu_can_do_what_it_claims() -> None:
    if not devices.claims_bfloat16():
        pytest.skip("this CPU has no products of bfloat16")
    if not devices.bfloat16_runs():
        pytest.skip("this CPU claims products of bfloat16 and cannot run them")
    a = torch.randn(64, 64)
    assert_close((a.to(NARROW) @ a.to(NARROW)).float(), a @ a, rtol=0.05, atol=0.5)


def test_a_machine_that_says_nothing_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise FileNotFoundError

    monkeypatch.setattr("builtins.open", missing)
    assert not devices.claims_bfloat16()
