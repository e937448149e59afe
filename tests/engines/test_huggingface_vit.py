"""Classifiers of images go to transformers' ViT and back, with the same answers."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

import regard
from regard.cli import main
from regard.engines.huggingface import export_run, import_run
from regard.errors import RegardError
from regard.recipe import parse
from regard.run import Run
from regard.weights import build, load_model, save_model, weights
from tests.engines.random_weights import randomise

SIZE = 16
LABELS = ["bird", "cat", "dog"]
MODEL: dict[str, Any] = {
    "kind": "vit",
    "num_layers": 2,
    "d_model": 16,
    "d_ff": 24,
    "num_heads": 2,
    "patch_size": 4,
    "stem": "patch",
    "pooling": "token",
}


def draw(path: Path, seed: int, size: tuple[int, int] = (SIZE, SIZE)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def make_run(folder: Path, data: Any = None, **choices: Any) -> Path:
    values = {
        "task": "image-classification",
        "data": {"train": ["photos"], "image_size": SIZE, **(data or {})},
        "model": {**MODEL, **choices},
    }
    recipe: Any = parse(values, "test")
    channels = recipe.data.channels
    sizes = {"height": SIZE, "width": SIZE, "channels": channels, "outputs": len(LABELS)}
    model: Any = build(recipe, sizes)
    randomise(model)
    statistics = model.encoder.standardise
    statistics.mean.copy_(torch.tensor([101.3, 120.0, 90.7])[:channels])
    statistics.std.copy_(torch.tensor([50.0, 61.3, 70.9])[:channels])
    folder.mkdir(parents=True)
    run = Run(folder)
    run.save_recipe(recipe)
    run.save_labels(LABELS)
    save_model(run, weights(model), 1, sizes)
    # Probabilities are calibrated by a temperature.
    run.save_info({"task": recipe.task, "step": 1, "validation": {"temperature": 1.7}})
    return folder


@torch.no_grad()
def assert_same_answers(run: Path, folder: Path, image: Path) -> None:
    """Both say the same of a file, each with its own reader of images, and of numbers."""
    classifier = regard.load(run)
    theirs = transformers.ViTForImageClassification.from_pretrained(folder)
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    with Image.open(image) as opened:
        channels = classifier.reader.channels
        inputs = processor(opened.convert("L" if channels == 1 else "RGB"), return_tensors="pt")
    logits = theirs(**inputs).logits
    pixels = torch.from_numpy(classifier.reader.pixels([image])).permute(0, 3, 1, 2)
    ours = classifier.model(pixels) / classifier.temperature
    assert_close(ours, logits, rtol=0, atol=1e-4)
    assert float(logits.std()) > 0.1
    found = classifier.classify(image).probabilities
    for number, probability in enumerate(logits.softmax(-1)[0].tolist()):
        assert found[theirs.config.id2label[number]] == pytest.approx(probability, abs=1e-5)
    standardised = torch.randn(3, channels, SIZE, SIZE)
    statistics = classifier.model.encoder.standardise
    as_pixels = standardised * statistics.std[:, None, None] + statistics.mean[:, None, None]
    ours = classifier.model(as_pixels) / classifier.temperature
    assert_close(ours, theirs(pixel_values=standardised).logits, rtol=0, atol=1e-4)


CHOICES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"fit": "squeeze"}, {"positions": "sinusoidal", "activation": "relu"}),
    ({"channels": 1}, {"activation": "quick_gelu", "norm_epsilon": 1e-12}),
]


@pytest.mark.parametrize(("data", "choices"), CHOICES, ids=str)
def test_a_classifier_goes_to_vit_and_back(data: Any, choices: Any, tmp_path: Path) -> None:
    run, out, again = make_run(tmp_path / "run", data, **choices), tmp_path / "out", tmp_path / "b"
    image = draw(tmp_path / "a.png", 1)
    export_run(run, out)
    assert_same_answers(run, out, image)
    import_run(out, again)
    assert_same_answers(again, out, image)
    before, after = (Run(each).recipe() for each in (run, again))
    assert {**dict(before.model), "positions": "learned"} == dict(after.model)
    for name in ("image_size", "channels", "fit"):
        assert after.data.__dict__[name] == before.data.__dict__[name]
    assert Run(again).labels() == LABELS
    for name, tensor in weights(load_model(Run(again))).items():
        if name != "encoder.positions" and not name.startswith("output."):
            assert torch.equal(tensor, weights(load_model(Run(run)))[name]), name


def test_larger_images_become_squares_as_the_run_says(tmp_path: Path) -> None:
    wide = Image.open(draw(tmp_path / "wide.png", 2, (SIZE, 2 * SIZE)))
    seen = {}
    for fit in ("crop", "squeeze"):
        run = make_run(tmp_path / fit, {"fit": fit})
        export_run(run, tmp_path / f"{fit}-out")
        processor = transformers.AutoImageProcessor.from_pretrained(tmp_path / f"{fit}-out")
        (seen[fit],) = processor(wide, return_tensors="pt").pixel_values
        pixels = torch.from_numpy(regard.load(run).reader.square(np.asarray(wide)))
        encoder: Any = load_model(Run(run)).encoder
        ours = encoder.standardise(pixels.permute(2, 0, 1)[None])[0]
        assert float((ours - seen[fit]).abs().mean()) < 0.05
    assert float((seen["crop"] - seen["squeeze"]).abs().mean()) > 0.3


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({}, {"kind": "cnn"}, 'no model.kind = "cnn", only vit'),
    ({}, {"stem": "convolution"}, 'no model.stem = "convolution", only patch'),
    ({}, {"positions": "rotary"}, 'no model.positions = "rotary", only learned or sinusoidal'),
    ({}, {"pooling": "mean"}, 'no model.pooling = "mean", only token'),
    ({}, {"activation": "swiglu"}, 'no model.activation = "swiglu", only relu'),
    ({}, {"embedding_norm": True}, "no model.embedding_norm = true, only false"),
    ({"fit": "pad"}, {}, 'no data.fit = "pad", only crop or squeeze'),
]


@pytest.mark.parametrize(("data", "choices", "complaint"), REFUSED, ids=str)
def test_what_vit_cannot_express_is_refused(
    data: Any, choices: Any, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run")
    path = run / "recipe.toml"
    values = {**MODEL, **choices} if "kind" not in choices else choices
    recipe = {"data": {"train": ["photos"], "image_size": SIZE, **data}, "model": values}
    path.write_text(str(parse({"task": "image-classification", **recipe}, "test")))
    with pytest.raises(SystemExit):
        main(["export", str(run), "--to", "huggingface", "--out", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert f"Hugging Face: ViT has {complaint}" in said
    assert len(said.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def write(path: Path, **values: Any) -> None:
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **values}))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like that of google/vit-base-patch16-224, with its older image processor."""
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        image_size=SIZE,
        patch_size=4,
        id2label={0: "crane", 1: "tench, Tinca tinca", 2: "crane"},
    )
    model = transformers.ViTForImageClassification(config)
    randomise(model)
    folder = tmp_path_factory.mktemp("theirs") / "vit"
    model.eval().save_pretrained(folder)
    write(
        folder / "preprocessor_config.json",
        do_normalize=True,
        do_resize=True,
        size=SIZE,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return folder


@torch.no_grad()
def logits_of(folder: Path, image: Path) -> torch.Tensor:
    model = transformers.ViTForImageClassification.from_pretrained(folder)
    processor = transformers.ViTImageProcessor.from_pretrained(folder)
    with Image.open(image) as opened:
        found: torch.Tensor = model(**processor(opened, return_tensors="pt")).logits[0]
    return found


def test_a_foreign_vit_becomes_a_run(
    theirs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, image = tmp_path / "run", draw(tmp_path / "a.png", 3)
    main(["import", str(theirs), "--out", str(run)])
    assert "a run for image-classification: vit, 2 layers" in capsys.readouterr().err
    recipe: Any = Run(run).recipe()
    assert (recipe.data.fit, recipe.data.image_size) == ("squeeze", SIZE)
    assert (recipe.model.norm_epsilon, recipe.model.positions) == (1e-12, "learned")
    # Two of ImageNet's labels have the same name.
    assert Run(run).labels() == ["crane (0)", "tench, Tinca tinca", "crane (2)"]
    expected = logits_of(theirs, image).softmax(-1)
    main(["classify", str(run), str(image), "--json"])
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)["probabilities"]
    assert [found[label] for label in Run(run).labels()] == pytest.approx(
        expected.tolist(), abs=1e-5
    )
    main(["attend", str(run), str(image), "--json"])
    assert json.loads(capsys.readouterr().out)["heads"]
    main(["show", str(run)])
    assert str(theirs) in capsys.readouterr().out
    export_run(run, tmp_path / "back")
    before, after = (load_file(each / "model.safetensors") for each in (theirs, tmp_path / "back"))
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        assert torch.equal(tensor, after[name]), name
    assert_close(logits_of(tmp_path / "back", image), logits_of(theirs, image))


def without_biases(folder: Path) -> None:
    write(folder / "config.json", qkv_bias=False)
    kept = load_file(folder / "model.safetensors")
    parts = ("query.bias", "key.bias", "value.bias")
    save_file(
        {k: t for k, t in kept.items() if not k.endswith(parts)}, folder / "model.safetensors"
    )


def with_a_pooler(folder: Path) -> None:
    extra = {"vit.pooler.dense.weight": torch.ones(16, 16), "vit.pooler.dense.bias": torch.ones(16)}
    path = folder / "model.safetensors"
    save_file({**load_file(path), **extra}, path)


def in_half_precision(folder: Path) -> None:
    path = folder / "model.safetensors"
    save_file({name: tensor.half() for name, tensor in load_file(path).items()}, path)


def with_a_new_processor(folder: Path) -> None:
    square = {"height": SIZE, "width": SIZE}
    (folder / "preprocessor_config.json").unlink()
    write(
        folder / "processor_config.json",
        image_processor={
            "image_processor_type": "ViTImageProcessor",
            "do_center_crop": True,
            "size": {"shortest_edge": SIZE},
            "crop_size": square,
            "rescale_factor": 1 / 127.5,
            "image_mean": 1.0,
            "image_std": [1.0, 1.0, 1.0],
        },
    )


@pytest.mark.parametrize(
    "change", [without_biases, with_a_pooler, in_half_precision, with_a_new_processor]
)
def test_forms_in_which_others_save_a_vit(
    theirs: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = Path(shutil.copytree(theirs, tmp_path / "theirs"))
    image = draw(tmp_path / "a.png", 4)
    expected = logits_of(theirs, image)
    change(folder)
    if change is without_biases:
        expected = logits_of(folder, image)
    import_run(folder, tmp_path / "run")
    classifier = regard.load(tmp_path / "run")
    assert classifier.reader.fit == ("crop" if change is with_a_new_processor else "squeeze")
    found = classifier.probabilities(classifier.reader.pixels([image]))[0]
    near = 2e-2 if change is in_half_precision else 1e-5
    assert_close(found, expected.softmax(-1), rtol=0, atol=near)


def harmed(file: str, **values: Any) -> Callable[[Path], None]:
    return lambda folder: write(folder / file, **values)


def without(file: str) -> Callable[[Path], None]:
    return lambda folder: (folder / file).unlink()


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def changed(**tensors: torch.Tensor | None) -> Callable[[Path], None]:
    def harm(folder: Path) -> None:
        path = folder / "model.safetensors"
        named = {name.replace("__", "."): each for name, each in tensors.items()}
        kept = {k: t for k, t in {**load_file(path), **named}.items() if t is not None}
        save_file(kept, path)

    return harm


PROCESSOR = "preprocessor_config.json"
HARMS = {
    "the weights are pickled": pickled,
    "no preprocessor_config.json here": without(PROCESSOR),
    "has no classifier": changed(classifier__weight=None, classifier__bias=None),
    "output.bias is .1, 3. of": changed(classifier__bias=torch.zeros(1, 3)),
    "cls_token is missing": changed(vit__embeddings__cls_token=None),
    "position_embeddings has no place|encoder.positions is": changed(
        vit__embeddings__position_embeddings=torch.zeros(1, 5, 16)
    ),
    "not finite": changed(classifier__bias=torch.full((3,), torch.nan)),
    "id2label is .*names of 3 labels": harmed("config.json", id2label={"0": "a", "1": "b"}),
    "id2label is .*a name each": harmed("config.json", id2label={"0": "a", "1": 2, "2": "b"}),
    "hidden_act is 'mish'": harmed("config.json", hidden_act="mish"),
    "image_size is .16, 32.; a whole": harmed("config.json", image_size=[16, 32]),
    "patch_size 3 does not divide": harmed("config.json", patch_size=3),
    "num_hidden_layers|a whole number from 1 to 200": harmed(
        "config.json", num_hidden_layers=10**6
    ),
    "a number for each of 5 channels": harmed("config.json", num_channels=5),
    "problem_type is 'regression'": harmed("config.json", problem_type="regression"),
    "head_dim is 4": harmed("config.json", head_dim=4),
    "size is .*no part of more": harmed(PROCESSOR, size={"height": 24, "width": 24}),
    "crop_size is 12": harmed(PROCESSOR, do_center_crop=True, crop_size=12),
    "do_resize is False": harmed(PROCESSOR, do_resize=False),
    "image_mean is .*each of 3": harmed(PROCESSOR, image_mean=[0.5]),
    "image_std is .*above 0": harmed(PROCESSOR, image_std=[0.5, 0.0, 0.5]),
    "image_std is .*a number": harmed(PROCESSOR, image_std=["0.5"] * 3),
    "rescale_factor is": harmed(PROCESSOR, rescale_factor=0),
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


def test_an_imported_vit_learns_other_labels_and_goes_back(
    theirs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import_run(theirs, tmp_path / "start")
    photos, out = tmp_path / "photos", tmp_path / "run"
    for number in range(24):
        draw(photos / ("red" if number % 2 else "blue") / f"{number}.png", number, (20, 24))
    settings = ["steps=3", "eval_every=3", "save_every=3", "batch_size=8", "threads=1"]
    asked = [f"--set=train.{each}" for each in (*settings, "device=cpu", "warmup_steps=1000000")]
    asked += ["--set=data.held_out_share=0.3", "--from", str(tmp_path / "start")]
    main(["train", "--images", str(photos), "--out", str(out), *asked])
    assert "learning slowly" in capsys.readouterr().err
    start, learned = (Run(each) for each in (tmp_path / "start", out))
    recipe: Any = learned.recipe()
    assert recipe.model == start.recipe().model
    assert (recipe.data.image_size, recipe.data.fit) == (SIZE, "squeeze")
    assert learned.labels() == ["blue", "red"]
    before = weights(load_model(start))
    for name, tensor in weights(load_model(learned)).items():
        if not name.startswith("output."):
            assert_close(tensor, before[name], rtol=0, atol=1e-6)
    main(["export", str(out), "--to", "huggingface", "--out", str(tmp_path / "back")])
    assert_same_answers(out, tmp_path / "back", draw(tmp_path / "a.png", 5))
    card = (tmp_path / "back" / "README.md").read_text()
    assert 'ViTForImageClassification.from_pretrained("back")' in card
    # Images of another size would need other positions.
    asked += ["--set=data.image_size=24"]
    with pytest.raises(SystemExit):
        main(["train", "--images", str(photos), "--out", str(tmp_path / "other"), *asked])
    assert "encoder.positions is (37, 16) in the recipe's model" in capsys.readouterr().err
