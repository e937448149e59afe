"""A run becomes CTranslate2's model where PyTorch is not installed, and is the same model."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard import layers
from regard.decode.hypothesis import Hypothesis
from regard.decode.search import Search
from regard.engines.aligner import Aligner
from regard.engines.native import Native
from regard.errors import RunError
from regard.files import read_arrays, write_arrays
from regard.layers.positions import Sinusoidal
from regard.models.transformer import Transformer, TransformerConfig
from regard.run import Run
from regard.tasks.translation.translator import Translator

pytest.importorskip("ctranslate2", reason="needs the extra `fast`")
from regard.engines.conversion import convert
from regard.engines.ctranslate2 import CTranslate2
from regard.engines.specification import shapes, sinusoids
from tests.engines.test_ctranslate2 import LEARNED, ROTARY, Within, load, make_run, own_scores

POSITIONS: list[dict[str, Any]] = [{}, LEARNED, ROTARY]
# Those with embeddings that are not all tied have two vocabularies.
COMBINATIONS: list[dict[str, Any]] = [
    {"norm": norm, "activation": activation, "tied_embeddings": tied, **positions}
    for norm, activation, tied, positions in itertools.product(
        ("pre", "post"), ("relu", "swiglu"), ("all", "output", "none"), POSITIONS
    )
]
COMBINATIONS += [
    {"normalisation": "rms", "norm": "pre"},
    {"output_bias": True, "tied_embeddings": "output"},
]
SEARCH = Search(beam_size=3, n_best=2, max_length_ratio=0.3)

WITHOUT_TORCH = """
import json, shutil, sys
from pathlib import Path
from types import SimpleNamespace

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Blocked())

from regard.engines.ctranslate2 import FACTS, CTranslate2
from regard.engines.specification import check, specification
from regard.files import new_folder, read_arrays
from regard.decode.search import Search
from regard.text.tokenizer import Tokenizers

for line in sys.stdin:
    asked = SimpleNamespace(**json.loads(line))
    run, config = Path(asked.run), SimpleNamespace(**asked.config)
    tensors, _ = read_arrays(run / "model.safetensors")
    tokenizers = Tokenizers.load(run)
    check(tensors, config, tokenizers, run / "model.safetensors")
    spec = specification(tensors, config, tokenizers, asked.facts["positions"] or 0)
    spec.validate()
    spec.optimize()
    with new_folder(run / "converted") as scratch:
        spec.save(str(scratch))
        for path in run.glob("*tokenizer.json"):
            shutil.copyfile(path, scratch / path.name)
        (scratch / FACTS).write_text(json.dumps(asked.facts))
    engine = CTranslate2(run / "converted")
    found = engine.search(asked.sources, [[] for _ in asked.sources], engine.defaults)
    print(json.dumps([[vars(one) for one in each] for each in found]))
assert "torch" not in sys.modules
"""


def question(folder: Path, choices: dict[str, Any]) -> dict[str, Any]:
    """What the process without PyTorch is asked: one of our runs and sources to translate."""
    make_run(folder, choices, 1.5)
    model: TransformerConfig = Run(folder).recipe_for("translation").model  # type: ignore[assignment]
    positions = {"sinusoidal": 64, "learned": model.max_positions, "rotary": None}
    return {
        "run": str(folder),
        "config": {**model.model_dump(), "d_k": model.d_k},
        "facts": {
            "search": vars(SEARCH),
            "longest_source": 23,
            "positions": positions[model.positions],
            "positions_end": model.positions == "learned",
        },
        "sources": load(folder)[1][:6],
    }


def test_converted_without_torch_it_finds_what_torch_finds(tmp_path: Path) -> None:
    asked = [
        question(tmp_path / str(number), choices) for number, choices in enumerate(COMBINATIONS)
    ]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH],
        input="\n".join(map(json.dumps, asked)),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    for choices, each, answer in zip(COMBINATIONS, asked, answers, strict=True):
        model, sources = load(Path(each["run"]))[0], each["sources"]
        expected = Native(Within(model)).search(sources, [[] for _ in sources], SEARCH)  # type: ignore[arg-type]
        for source, ours, theirs in zip(sources, json.loads(answer), expected, strict=True):
            assert [one["tokens"] for one in ours] == [one.tokens for one in theirs], choices
            for one in ours:
                found = Hypothesis(**one)
                scores = own_scores(model, source, found)
                assert found.log_probabilities == pytest.approx(scores, abs=1e-4), choices


@pytest.mark.parametrize(
    "choices",
    [*COMBINATIONS, {"output_bias": True}, {"encoder_layers": 3, "decoder_layers": 1}],
    ids=str,
)
def test_it_knows_the_parameters_of_a_transformer(choices: dict[str, Any]) -> None:
    config = TransformerConfig(
        **{"encoder_layers": 2, "decoder_layers": 2, "d_model": 8, "d_ff": 12, "num_heads": 2}
        | choices
    )
    source = 11 if config.tied_embeddings == "all" else 7
    with torch.device("meta"):
        model = Transformer(config, source, 11)
    expected = {name: tuple(tensor.shape) for name, tensor in model.named_parameters()}
    assert shapes(config, source, 11) == expected


@pytest.mark.parametrize("d_model", [2, 7, 64, 512])
def test_sinusoids_are_those_of_the_model(d_model: int) -> None:
    expected = layers.positions.sinusoids(4096, d_model).float().numpy()
    found = sinusoids(4096, d_model)
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    # Both round the same numbers of 64 bits, which may differ in their last bit.
    assert np.abs(found - expected).max() <= 2**-24
    assert (found == expected).mean() > 0.999
    start = Sinusoidal(d_model)(0, 256, torch.empty(0)).numpy()
    assert np.abs(found[:256] - start).max() <= 2**-24


Tensors = dict[str, Any]


def renamed(tensors: Tensors, name: str) -> None:
    tensors[f"{name}2"] = tensors.pop(name)


def reshaped(tensors: Tensors, name: str) -> None:
    tensors[name] = tensors[name][None]


def halved(tensors: Tensors, name: str) -> None:
    tensors[name] = tensors[name].astype(np.float16)


def unbounded(tensors: Tensors, name: str) -> None:
    tensors[name][..., -1] = np.inf


@pytest.mark.parametrize("change", [renamed, reshaped, halved, unbounded])
def test_weights_of_another_model_are_refused(
    change: Callable[[Tensors, str], None], tmp_path: Path
) -> None:
    path = make_run(tmp_path / "run", {}) / "model.safetensors"
    tensors, metadata = read_arrays(path)
    name = sorted(tensors)[3]
    change(tensors, name)
    write_arrays(path, tensors, metadata)
    with pytest.raises(RunError, match=rf"{path}: .*{name}") as raised:
        convert(tmp_path / "run", tmp_path / "out")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("promise", "reason"),
    [
        ("num_heads = 3", r"not a multiple of model\.num_heads"),
        ('positions = "rotary"\nnum_heads = 32', "turns pairs of numbers"),
        ("encoder_layers = 200", "differs in encoder.10.feed_forward"),
        ("d_model = 65536", "is .*the recipe's model has"),
    ],
)
def test_a_recipe_of_another_model_is_refused(promise: str, reason: str, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", {})
    path = folder / "recipe.toml"
    names = [line.partition(" ")[0] for line in promise.splitlines()]
    lines = [line for line in path.read_text().splitlines() if line.partition(" ")[0] not in names]
    lines.insert(lines.index("[model]") + 1, promise)
    path.write_text("\n".join(lines))
    with pytest.raises(RunError, match=reason) as raised:
        convert(folder, tmp_path / "out")
    assert "\n" not in str(raised.value)


def test_two_vocabularies_where_one_was_promised(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", {})
    two = Run(make_run(tmp_path / "two", {"tied_embeddings": "output"})).tokenizers()
    (folder / "tokenizer.json").unlink()
    Run(folder).save_tokenizers(two)
    with pytest.raises(RunError, match="the files are not from the same run"):
        convert(folder, tmp_path / "out")


@pytest.mark.parametrize("opened", [convert, lambda folder, _: Translator.load(folder)])
def test_two_vocabularies_of_one_size_where_one_was_promised(
    opened: Callable[[Path, Path], object], tmp_path: Path
) -> None:
    folder = make_run(tmp_path / "run", {})
    source = Run(folder).tokenizers().source
    found = json.loads(source.to_json())
    pieces = found["model"]["vocab"]
    first, last = sorted(pieces, key=pieces.__getitem__)[-2:]
    pieces[first], pieces[last] = pieces[last], pieces[first]
    (folder / "tokenizer.json").unlink()
    (folder / "source.tokenizer.json").write_text(source.to_json())
    (folder / "target.tokenizer.json").write_text(json.dumps(found))
    with pytest.raises(RunError, match="the two tokenizers have different pieces, but the model"):
        opened(folder, tmp_path / "out")


@pytest.mark.parametrize("aligner", [Aligner(0, 0), Aligner(1, 2, read=True), Aligner(1)], ids=str)
def test_it_aligns_as_pytorch_does_and_translates_as_before(
    aligner: Aligner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head that aligns best is the first of its layer; else the model is the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = make_run(tmp_path / "run", {}, 1.5)
    score = {"layer": aligner.layer, "head": aligner.head, "aer": 0.1, "sharpness": 0.9}
    reading = "read" if aligner.read else "predicts"
    before = CTranslate2.of_run(folder)
    Run(folder).save_finding("alignment", {"scores": [{**score, "reading": reading}]})
    after = CTranslate2.of_run(folder)
    model, sources = load(folder)
    outputs = after.best(sources, [[] for _ in sources], SEARCH)
    assert outputs == before.best(sources, [[] for _ in sources], SEARCH)
    native = Native(model, aligner=Aligner.of_run(Run(folder), 2))
    assert native.aligner == aligner
    ours, theirs = after.attention(sources, outputs), native.attention(sources, outputs)
    for source, output, one, other in zip(sources, outputs, ours, theirs, strict=True):
        assert one is not None
        assert one.shape == (len(output), len(source))
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert any(each.size and each.max() > 0.2 for each in ours if each is not None)
