"""Models that compare images with texts go to transformers' CLIP and back, and answer the same."""

import json
import math
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import load_file, save_file
from tokenizers import pre_tokenizers
from torch.testing import assert_close

import regard
from regard.cli import main
from regard.engines import huggingface_clip
from regard.engines.huggingface import export_run, import_run
from regard.errors import RegardError, RequestError
from regard.recipe import parse
from regard.run import Run
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.weights import build, load_model, save_model, weights
from tests.engines.random_weights import randomise

SIZE = 16
TEXTS = ["The cat's dog, 42 ünï", "a", "a photo of the Dog <b>", "the cat\n at home " * 4]
BLOCKS = {"num_layers": 2, "d_model": 16, "d_ff": 24, "num_heads": 2}
ENCODER: dict[str, Any] = {
    "kind": "vit",
    **BLOCKS,
    "patch_size": 4,
    "stem": "patch",
    "pooling": "token",
    "embedding_norm": True,
}
MODEL: dict[str, Any] = {"kind": "gpt", **BLOCKS, "d_model": 12, "max_positions": 24}
ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
MERGES = [("a", "t</w>"), ("c", "at</w>"), ("t", "h"), ("th", "e</w>"), ("d", "o"), ("do", "g</w>")]
PIECES = [
    *ALPHABET,
    *(f"{letter}</w>" for letter in ALPHABET),
    *(one + other for one, other in MERGES),
    *("<|startoftext|>", "<|endoftext|>"),
]
END = len(PIECES) - 1


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    for seed in range(3):
        pixels = np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{seed}.png")
    return folder


def values_of(**choices: Any) -> dict[str, Any]:
    return {
        "task": "matching",
        "data": {
            "train": ["photos"],
            "captions": ["captions.tsv"],
            "image_size": SIZE,
            "max_length": 20,
            **choices.get("data", {}),
        },
        "encoder": {**ENCODER, **choices.get("encoder", {})},
        "model": {**MODEL, **choices.get("model", {})},
        "space": {"width": 6},
    }


def make_run(folder: Path, **choices: Any) -> Path:
    recipe: Any = parse(values_of(**choices), "test")
    tokenizer = Tokenizer.train(TEXTS * 3, kind="word", vocabulary_size=300, lowercase=True)
    sizes = {"height": SIZE, "width": SIZE, "channels": 3, "inputs": len(tokenizer)}
    model: Any = build(recipe, sizes)
    randomise(model)
    model.encoder.standardise.mean.copy_(torch.tensor([101.3, 120.0, 90.7]))
    folder.mkdir(parents=True)
    run = Run(folder)
    run.save_recipe(recipe)
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    save_model(run, weights(model), 1, sizes)
    return folder


def logits_of(run: Path, photos: Path) -> Any:
    matcher = regard.load(run)
    images = sorted(photos.iterdir())
    return matcher.similarity(images, TEXTS) * float(matcher.model.scale.detach())


@torch.no_grad()
def their_logits(folder: Path, photos: Path, processor: Any = None) -> Any:
    model = transformers.CLIPModel.from_pretrained(folder)
    processor = processor or transformers.AutoProcessor.from_pretrained(folder)
    images = [Image.open(path) for path in sorted(photos.iterdir())]
    given = {"text": TEXTS, "images": images, "padding": True, "truncation": True}
    return model(**processor(**given, return_tensors="pt")).logits_per_image.numpy()


def assert_same_logits(run: Path, folder: Path, photos: Path, processor: Any = None) -> None:
    ours, theirs = logits_of(run, photos), their_logits(folder, photos, processor)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)
    assert theirs.std() > 0.01


SINUSOIDAL = {"positions": "sinusoidal"}


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"encoder": SINUSOIDAL, "model": SINUSOIDAL, "data": {"fit": "squeeze"}},
        {"encoder": {"activation": "swish"}, "model": {"activation": "gelu_tanh"}},
    ],
    ids=str,
)
def test_a_matcher_goes_to_clip_and_back(choices: Any, photos: Path, tmp_path: Path) -> None:
    run, out, again = make_run(tmp_path / "run", **choices), tmp_path / "out", tmp_path / "again"
    export_run(run, out)
    assert_same_logits(run, out, photos)
    import_run(out, again)
    assert_same_logits(again, out, photos)
    first, second = (Run(each).tokenizers().source for each in (run, again))
    assert first.to_json() == second.to_json()
    before, after = (Run(each).recipe() for each in (run, again))
    assert after.data.fit == before.data.fit
    assert after.model.activation == before.model.activation


def test_a_scale_beyond_the_limit_is_the_limit(photos: Path, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    model: Any = load_model(Run(run))
    with torch.no_grad():
        model.log_scale.fill_(9.0)
    sizes = {
        "height": SIZE,
        "width": SIZE,
        "channels": 3,
        "inputs": len(model.reader.embedding.weight),
    }
    save_model(Run(run), weights(model), 1, sizes)
    export_run(run, tmp_path / "out")
    assert_same_logits(run, tmp_path / "out", photos)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"encoder": {"embedding_norm": False}}, "no encoder.embedding_norm = false, only true"),
    ({"encoder": {"stem": "convolution"}}, 'no encoder.stem = "convolution", only patch'),
    ({"encoder": {"pooling": "mean"}}, 'no encoder.pooling = "mean", only token'),
    ({"model": {"kind": "bert"}}, 'no model.kind = "bert", only gpt'),
    ({"model": {"positions": "rotary"}}, 'no model.positions = "rotary", only learned or'),
    ({"data": {"fit": "pad"}}, 'no data.fit = "pad", only crop or squeeze'),
]


@pytest.mark.parametrize(("choices", "complaint"), REFUSED, ids=str)
def test_what_clip_cannot_express_is_refused(choices: Any, complaint: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    (run / "recipe.toml").write_text(str(parse(values_of(**choices), "test")))
    with pytest.raises(RequestError, match=f"^Hugging Face: CLIP has {complaint}"):
        export_run(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_end_that_clip_does_not_look_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path / "run")
    monkeypatch.setattr(huggingface_clip, "OLD_END", Run(run).tokenizers().source.specials.end)
    with pytest.raises(RequestError, match="ends a text with piece 3"):
        export_run(run, tmp_path / "out")


def write(path: Path, **values: Any) -> None:
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **values}))


def tokenizer_of(folder: Path) -> Any:
    """CLIP's tokenizer with few merges."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "vocab.json", **{piece: index for index, piece in enumerate(PIECES)})
    lines = ["#version: 0.2", *(" ".join(pair) for pair in MERGES)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n")
    return transformers.CLIPTokenizer.from_pretrained(folder, model_max_length=24)


def processor_of(folder: Path) -> Any:
    square = {"height": SIZE, "width": SIZE}
    images = transformers.CLIPImageProcessorPil(size={"shortest_edge": SIZE}, crop_size=square)
    return transformers.CLIPProcessor(images, tokenizer_of(folder))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of openai/clip-vit-base-patch32, whose id of the end is a wrong one."""
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = transformers.CLIPConfig(
        text_config={
            **sizes,
            "hidden_size": 12,
            "vocab_size": len(PIECES),
            "eos_token_id": 2,
            "bos_token_id": 0,
            "max_position_embeddings": 24,
        },
        vision_config={**sizes, "hidden_size": 16, "image_size": SIZE, "patch_size": 4},
        projection_dim=6,
    )
    model = transformers.CLIPModel(config)
    randomise(model)
    model.logit_scale.data.fill_(math.log(100))
    folder = tmp_path_factory.mktemp("theirs") / "clip"
    model.eval().save_pretrained(folder)
    processor_of(folder).save_pretrained(folder)
    return folder


def test_a_foreign_clip_becomes_a_run(
    theirs: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, one = tmp_path / "run", str(photos / "1.png")
    main(["import", str(theirs), "--out", str(run)])
    assert "a run for matching: vit, 2 layers" in capsys.readouterr().err
    assert_same_logits(run, theirs, photos)
    assert Run(run).recipe().model.activation == "quick_gelu"
    main(["match", str(run), one, "a cat", "a dog", "--json"])
    found = json.loads(capsys.readouterr().out.splitlines()[0])
    assert sum(found["probabilities"].values()) == pytest.approx(1)
    main(["search", str(run), "--images", str(photos), "--like", one])
    assert "1.png" in capsys.readouterr().out.splitlines()[0]
    main(["embed", str(run), "a cat", one])
    assert len(capsys.readouterr().out.splitlines()) == 2
    main(["show", str(run)])
    assert f"imported, {len(PIECES)} pieces" in capsys.readouterr().out
    tokenizer = Run(run).tokenizers().source
    assert tokenizer.decode(tokenizer.encode(TEXTS[0])) == "the cat 's dog , 4 2 ünï"
    assert END not in tokenizer.encode("<|endoftext|>")
    export_run(run, tmp_path / "back")
    assert_same_logits(run, tmp_path / "back", photos)
    before, after = (load_file(each / "model.safetensors") for each in (theirs, tmp_path / "back"))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name


def as_two_files(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    assert (folder / "vocab.json").is_file()


def with_an_older_tokenizer(folder: Path) -> None:
    def without_special_pieces(document: dict[str, Any]) -> None:
        cut = document["pre_tokenizer"]["pretokenizers"][0]["pattern"]
        cut["Regex"] = cut["Regex"].removeprefix(r"<\|startoftext\|>|<\|endoftext\|>|")

    document = json.loads((folder / "tokenizer.json").read_text())
    without_special_pieces(document)
    write(folder / "tokenizer.json", **document)


def as_older_files_were(folder: Path) -> None:
    """Sizes are plain numbers, and ids of positions are beside the weights."""
    (folder / "processor_config.json").unlink()
    write(
        folder / "preprocessor_config.json",
        feature_extractor_type="CLIPFeatureExtractor",
        size=SIZE,
        crop_size=SIZE,
        image_mean=[0.48145466, 0.4578275, 0.40821073],
        image_std=[0.26862954, 0.26130258, 0.27577711],
        resample=3,
    )
    config = json.loads((folder / "config.json").read_text())
    moved = {f"{name}_dict": config[name] for name in ("text_config", "vision_config")}
    write(folder / "config.json", **moved, text_config=None, vision_config={})
    path = folder / "model.safetensors"
    places = {"text_model.embeddings.position_ids": torch.arange(24)[None]}
    save_file({**load_file(path), **places}, path)


def with_the_right_end(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    write(folder / "config.json", text_config={**config["text_config"], "eos_token_id": END})


def with_a_large_scale(folder: Path) -> None:
    path = folder / "model.safetensors"
    save_file({**load_file(path), "logit_scale": torch.tensor(math.log(150))}, path)


@pytest.mark.parametrize(
    "change",
    [
        *(as_two_files, with_an_older_tokenizer, as_older_files_were, with_the_right_end),
        with_a_large_scale,
    ],
)
def test_forms_in_which_others_save_a_clip(
    theirs: Path, photos: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = Path(shutil.copytree(theirs, tmp_path / "theirs"))
    change(folder)
    import_run(folder, tmp_path / "run")
    assert_same_logits(tmp_path / "run", folder, photos, processor_of(tmp_path / "files"))
    scale = 150 if change is with_a_large_scale else 100
    assert float(regard.load(tmp_path / "run").model.scale.detach()) == pytest.approx(scale)


@pytest.fixture(scope="module")
def cut(theirs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokenizer]:
    """The imported tokenizer, of one file and of two."""
    folder = tmp_path_factory.mktemp("cut")
    two = Path(shutil.copytree(theirs, folder / "theirs"))
    as_two_files(two)
    import_run(theirs, folder / "one")
    import_run(two, folder / "two")
    return {name: Run(folder / name).tokenizers().source for name in ("one", "two")}


@given(text=st.text(max_size=30) | st.text("catdoghe'sé 4.<|>\n\u3000", max_size=30))
def test_texts_are_cut_as_clip_cuts_them(
    cut: dict[str, Tokenizer], theirs: Path, text: str
) -> None:
    expected = transformers_tokenizer(theirs)(text)["input_ids"]
    for tokenizer in cut.values():
        start, end = tokenizer.specials.start, tokenizer.specials.end
        assert [start, *tokenizer.encode(text), end] == expected


@cache
def transformers_tokenizer(folder: Path) -> Any:
    return transformers.CLIPTokenizer.from_pretrained(folder)


def harmed(file: str, **values: Any) -> Callable[[Path], None]:
    return lambda folder: write(folder / file, **values)


def in_text(**values: Any) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        write(folder / "config.json", text_config={**config["text_config"], **values})

    return harm


def changed(name: str, tensor: torch.Tensor) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        path = folder / "model.safetensors"
        save_file({**load_file(path), name: tensor}, path)

    return harm


def with_merges(text: str) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        (folder / "tokenizer.json").unlink()
        (folder / "merges.txt").write_text(text)

    return harm


def without_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "merges.txt").unlink()


HARMS = {
    "no tokenizer.json here, and no vocab.json with merges.txt": without_tokenizer,
    "merge 2 is no pair": with_merges("a t\na b c\n"),
    "Token `no` out of vocabulary": with_merges("no pieces\n"),
    "eos_token_id is 5; the tokenizer ends": in_text(eos_token_id=5),
    "hidden_act is 'mish'": in_text(hidden_act="mish"),
    "text_config is 3; an object": harmed("config.json", text_config=3),
    "is missing; the file is not whole": in_text(num_hidden_layers=3),
    "data.max_length = 1: give a whole number": in_text(max_position_embeddings=1),
    "logit_scale is 50": changed("logit_scale", torch.tensor(50.0)),
    "logit_scale is nan": changed("logit_scale", torch.tensor(torch.nan)),
    "the tokenizer has": changed("text_model.embeddings.token_embedding.weight", torch.ones(9, 12)),
    "image_projection.weight is": changed("visual_projection.weight", torch.zeros(6, 3)),
    "q_proj.weight does not fit": changed(
        "text_model.encoder.layers.1.self_attn.k_proj.weight", torch.zeros(12, 5)
    ),
}


@pytest.mark.parametrize("complaint", HARMS)
def test_a_folder_that_cannot_be_read_is_refused_in_a_sentence(
    theirs: Path, tmp_path: Path, complaint: str
) -> None:
    folder = Path(shutil.copytree(theirs, tmp_path / "theirs"))
    HARMS[complaint](folder)
    with pytest.raises(RegardError, match=complaint) as error:
        import_run(folder, tmp_path / "run")
    assert str(error.value).startswith(str(folder))
    assert "\n" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["theirs"]


def test_an_imported_clip_learns_from_captions_and_goes_back(
    theirs: Path, photos: Path, tmp_path: Path
) -> None:
    import_run(theirs, tmp_path / "start")
    out, rows = tmp_path / "run", ["file\tcaption"]
    for number in range(16):
        pixels = np.random.default_rng(50 + number).integers(0, 256, (20, 20, 3), np.uint8)
        (tmp_path / "images").mkdir(exist_ok=True)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{number}.png")
        rows.append(f"{number}.png\tthe dog of cat {number}")
    (tmp_path / "captions.tsv").write_text("\n".join(rows) + "\n")
    settings = ["steps=3", "eval_every=3", "save_every=3", "batch_size=8", "threads=1"]
    asked = [f"--set=train.{each}" for each in (*settings, "device=cpu", "warmup_steps=1000000")]
    asked += ["--set=data.held_out_share=0.3", "--from", str(tmp_path / "start")]
    given = ["--images", str(tmp_path / "images"), "--captions", str(tmp_path / "captions.tsv")]
    main(["train", *given, "--task", "matching", "--out", str(out), *asked])
    start, learned = (Run(each).recipe() for each in (tmp_path / "start", out))
    for section in ("model", "encoder", "space"):
        assert getattr(learned, section) == getattr(start, section)
    before = weights(load_model(Run(tmp_path / "start")))
    for name, tensor in weights(load_model(Run(out))).items():
        assert_close(tensor, before[name], rtol=0, atol=1e-5)
    main(["export", str(out), "--to", "huggingface", "--out", str(tmp_path / "back")])
    assert_same_logits(out, tmp_path / "back", photos)
    assert "CLIPProcessor" in (tmp_path / "back" / "README.md").read_text()
