"""Captioning from images and a table of captions to sentences."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import regard
from regard.cli import main
from regard.errors import DataError, RecipeError, RequestError
from regard.models import lite0_weights
from regard.run import Run
from regard.start import DataOptions, from_data
from regard.tasks.task import DataFlags
from regard.training.checks import with_model_of
from regard.training.events import Note
from regard.training.run import training_run

# There are three captions for all images, as the check of the data says.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*images have the caption:UserWarning",
    "ignore:.*captions are empty:UserWarning",
    "ignore:.*images have no caption:UserWarning",
    "ignore:.*hardly enough to learn from:UserWarning",
)

COLOURS = {"blue": (20, 30, 220), "green": (30, 200, 40), "red": (210, 20, 30)}
TINY: dict[str, Any] = {
    "train.steps": 160,
    "train.eval_every": 80,
    "train.save_every": 80,
    "train.label_smoothing": 0.0,
    "model.dropout": 0.0,
    "train.warmup_steps": 5,
    "train.learning_rate": 0.01,
    "train.batch_tokens": 256,
    "train.threads": 1,
    "train.device": "cpu",
    "tokenizer.kind": "word",
    "encoder.widths": [8, 8],
    "model.d_model": 32,
    "data.image_size": 12,
    "data.held_out_share": 0.1,
}


def draw(path: Path, colour: tuple[int, int, int], seed: int) -> None:
    """A square of one colour on noise."""
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 60, (12, 12, 3), np.uint8)
    pixels[3:9, 3:9] = np.array(colour) + random.integers(0, 20, 3)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def draw_all(folder: Path, each: int = 25, first: int = 0) -> list[tuple[str, str]]:
    """Images, and two captions of each."""
    rows = []
    for name, colour in COLOURS.items():
        for number in range(first, first + each):
            file = f"{name}{number}.png"
            draw(folder / file, colour, 1000 * len(name) + number)
            rows += [(file, f"A {name} square ."), (file, f"a square that is {name}")]
    return rows


def table(path: Path, rows: list[tuple[str, ...]], header: str = "file\tcaption") -> Path:
    path.write_text("\n".join([header, *("\t".join(row) for row in rows)]) + "\n")
    return path


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captions")
    table(folder / "captions.tsv", draw_all(folder / "photos"))
    table(folder / "test.tsv", draw_all(folder / "test", each=3, first=500))
    return folder


@pytest.fixture(scope="module")
def run(photos: Path) -> Path:
    out = photos / "run"
    settings = [f"--set={name}={value}" for name, value in TINY.items()]
    files = ["--images", str(photos / "photos"), "--captions", str(photos / "captions.tsv")]
    main(["train", *files, "--out", str(out), *settings])
    return out


def test_images_and_captions_become_a_captioner(
    run: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    main(["caption", str(run), *map(str, sorted((photos / "test").glob("*.png")))])
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 9
    right = sum(Path(name).stem.rstrip("0123456789") in caption for caption, name in rows)
    assert right >= 7
    card = (run / "README.md").read_text()
    assert "With the images shuffled, BLEU-4 falls from" in card
    assert "for every image has BLEU-4" in card
    assert "attention maps of a caption's words" in card
    main(["show", str(run), "--json"])
    counted = json.loads(capsys.readouterr().out)["parameters"]
    model = regard.load(run).model
    assert counted == sum(parameter.numel() for parameter in model.parameters())
    last = json.loads((run / "run.json").read_text())["validation"]
    assert last["shuffled_cider"] < last["cider"]


def test_a_training_that_starts_from_a_run_takes_its_encoder_and_its_images(
    run: Path, photos: Path, tmp_path: Path
) -> None:
    files = DataFlags((photos / "photos",), companions={"captions": (photos / "captions.tsv",)})
    options = DataOptions(out=tmp_path / "new", settings=(f"train.from_run={run}",))
    recipe: Any = with_model_of(from_data("images", files, options).recipe, Run(tmp_path / "new"))
    start: Any = Run(run).recipe()
    assert (recipe.encoder, recipe.model) == (start.encoder, start.model)
    assert recipe.data.image_size == 12
    # Sizes that are asked for stay; weights that do not fit them are refused later.
    asked = (*options.settings, "data.image_size=16", "encoder.widths=[4,4]")
    other = from_data("images", files, replace(options, settings=asked)).recipe
    recipe = with_model_of(other, Run(tmp_path / "new"))
    assert (recipe.data.image_size, recipe.encoder.widths) == (16, (4, 4))


def test_captions_may_be_several_with_all_that_is_known(
    run: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = str(photos / "test" / "red500.png")
    main(["caption", str(run), image, "--n-best", "3", "--beam-size", "4", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["image"] == image
    scores = [found["score"], *(each["score"] for each in found["alternatives"])]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    main(["caption", str(run), image, "--n-best", "2"])
    assert [line[:2] for line in capsys.readouterr().out.splitlines()] == ["1\t", "2\t"]


def test_a_picture_has_a_small_image_for_each_word(
    run: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image, picture = str(photos / "test" / "red500.png"), tmp_path / "words.png"
    main(["caption", str(run), image, "--picture", str(picture)])
    with Image.open(picture) as drawn:
        assert drawn.width > 500
    captioner = regard.load(run)
    maps = captioner.maps(image)
    assert maps.words == captioner.caption(image).split(" ")
    assert maps.weights.shape == (len(maps.words), *captioner.model.encoder.grid)
    np.testing.assert_allclose(maps.weights.sum((1, 2)), 1, atol=1e-5)
    assert 0 <= maps.difference <= 1
    with pytest.raises(SystemExit) as stopped:
        main(["caption", str(run), image, image, "--picture", str(picture)])
    assert stopped.value.code == 2


def test_an_image_that_cannot_be_read_does_not_keep_others_from_a_caption(
    run: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.jpg"
    bad.write_text("<html>not found</html>")
    good = str(photos / "test" / "red500.png")
    with pytest.raises(SystemExit) as stopped:
        main(["caption", str(run), good, str(bad), good])
    assert stopped.value.code == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 2
    assert "bad.jpg" in shown.err


def test_it_is_evaluated_with_both_controls(
    run: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = tmp_path / "answers.tsv"
    files = ["--data", str(photos / "test"), str(photos / "test.tsv"), "--output", str(answers)]
    main(["evaluate", str(run), *files, "--json", "--beam-size", "2", "--bootstrap", "20"])
    found = json.loads(capsys.readouterr().out)
    scores = {each["name"]: each for each in found["scores"]}
    assert found["images"] == 9
    assert found["captions"] == 18
    assert scores["CIDEr-D, images shuffled"]["value"] < scores["CIDEr-D"]["value"]
    assert scores["BLEU-4, one sentence for all"]["value"] <= 100
    assert "nrefs:2|bs:20" in scores["BLEU-4"]["signature"]
    assert scores["BLEU-4"]["low"] <= scores["BLEU-4"]["high"]
    assert len(answers.read_text().splitlines()) == 9
    python = regard.load(run).evaluate(
        [photos / "test" / "red500.png", photos / "test" / "blue500.png"],
        [["a red square ."], ["a blue square .", "blue"]],
        bootstrap=0,
    )
    assert "2 images with 3 captions" in python.headline
    with pytest.raises(RequestError, match="1 references"):
        regard.load(run).evaluate([photos / "a.png", photos / "b.png"], [["one"]])


def test_python_takes_files_and_pixels(run: Path, photos: Path) -> None:
    captioner = regard.load(run)
    path = photos / "test" / "blue500.png"
    with Image.open(path) as image:
        found = captioner.caption([path, str(path), image, np.asarray(image), path.read_bytes()])
    assert len(set(found)) == 1
    assert captioner.caption(path, beam_size=1)
    assert "beam 5" in repr(captioner)
    assert captioner.captions([path])[0][0].text == found[0]


def test_stopping_and_resuming_changes_nothing(run: Path, tmp_path: Path) -> None:
    recipe = Run(run).recipe()
    events = training_run(recipe, tmp_path / "again")
    for event in events:
        if getattr(event, "step", 0) == 81:
            break
    events.close()  # type: ignore[attr-defined]
    again = Run(tmp_path / "again")
    assert len(again.checkpoints()) == 1
    texts = [getattr(each, "text", "") for each in training_run(recipe, again.folder)]
    assert not any("Decoding" in each for each in texts)
    assert again.model_path.read_bytes() == Run(run).model_path.read_bytes()


def train(photos: Path, out: Path, rows: list[tuple[str, ...]], **more: Any) -> list[str]:
    """Train for two updates without a check before, and return what was noted."""
    notes: list[str] = []
    settings = {**TINY, "train.steps": 2, "train.eval_sentences": 4, **more.pop("settings", {})}
    regard.train(
        images=photos / "photos",
        captions=table(out.parent / "table.tsv", rows, more.pop("header", "file\tcaption")),
        out=out,
        settings=settings,
        check=False,
        on_event=lambda event: notes.append(event.text) if isinstance(event, Note) else None,
        **more,
    )
    return notes


ROWS = [(f"{name}{number}.png", f"a {name} square") for name in COLOURS for number in range(25)]


def test_odd_rows_are_named_and_splits_are_kept(photos: Path, tmp_path: Path) -> None:
    rows = [(*row, "val" if place % 10 == 0 else "train") for place, row in enumerate(ROWS)]
    rows[7] = (rows[7][0], " ", "train")
    rows += [("missing.png", "nothing", "train"), (ROWS[1][0], "square " * 90, "train")]
    del rows[11]
    notes = " ".join(train(photos, tmp_path / "run", rows, header="file\tcaption\tsplit"))
    assert "1 image (missing.png) that are not there" in notes
    assert "empty caption" in notes
    assert "without a caption" in notes
    assert "1 captions of more than 50 pieces are left out" in notes
    part = json.loads((tmp_path / "run" / "training" / "data" / "valid.json").read_bytes())
    assert len(part["rows"]) == 8


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("../photos/red0.png", "x")], "leads out of the folder"),
        ([("nobody.png", "x")], "none of its images is there"),
        ([("red0.png", "")], "red0|empty|none"),
        (ROWS[:1], "too few images with captions"),
    ],
)
def test_captions_that_cannot_be_meant_are_refused(
    photos: Path, tmp_path: Path, rows: list[tuple[str, ...]], sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence):
        train(photos, tmp_path / "run", rows)
    assert not (tmp_path / "run").exists()


def test_other_models_learn_too(photos: Path, tmp_path: Path) -> None:
    settings = {name: value for name, value in TINY.items() if name != "encoder.widths"}
    settings |= {"train.steps": 2, "encoder.kind": "vit", "encoder.num_layers": 1}
    settings |= {"encoder.d_model": 16, "encoder.d_ff": 16, "encoder.num_heads": 2}
    settings |= {"encoder.patch_size": 4, "model.kind": "transformer", "model.num_heads": 2}
    done = regard.train(
        images=photos / "photos",
        captions=photos / "captions.tsv",
        out=tmp_path / "run",
        settings=settings,
    )
    captioner = done.load()
    maps = captioner.maps(
        photos / "test" / "red500.png", captioner.tokenizer.encode("a red square")
    )
    assert maps.words == ["a", "red", "square"]
    assert maps.weights.shape == (3, 3, 3)


@pytest.mark.parametrize("attention", ["additive", "none"])
def test_a_pretrained_encoder_sees_each_image_once(
    photos: Path, tmp_path: Path, attention: str
) -> None:
    pytest.importorskip(lite0_weights.PACKAGE, reason="needs the extra images")
    settings = {name: value for name, value in TINY.items() if name != "encoder.widths"}
    settings |= {"train.steps": 4, "encoder.input_size": 64, "model.attention": attention}
    done = regard.train(
        images=photos / "photos",
        captions=photos / "captions.tsv",
        from_run="lite0",
        out=tmp_path / "run",
        settings=settings,
    )
    recipe = done.recipe()
    assert (recipe.encoder.kind, recipe.train.from_run) == ("lite0", "")
    data = done.training / "data"
    images = len(json.loads((data / "train.json").read_bytes())["rows"])
    cells = 4 if attention == "additive" else 1
    assert (data / "train.features").stat().st_size == images * 2 * cells * 1280 * 2
    captioner = done.load()
    assert isinstance(captioner.caption(photos / "test" / "red500.png"), str)
    if attention == "none":
        maps = captioner.maps(photos / "test" / "red500.png", [5, 6])
        assert len(maps.weights) == 0
        assert maps.hidden.shape[1:] == (6, 6)


def test_settings_of_the_encoder_are_checked_by_its_kind() -> None:
    data = {"train": ["photos"], "captions": ["captions.tsv"]}
    with pytest.raises(RecipeError, match=r"encoder\.kind = 'mlp'"):
        regard.Recipe(task="captioning", data=data, encoder={"kind": "mlp"})
    with pytest.raises(RecipeError, match=r"it is for encoder\.kind = .vit"):
        regard.Recipe(task="captioning", data=data, encoder={"kind": "cnn", "patch_size": 4})
    with pytest.raises(RecipeError, match="d_model"):
        regard.Recipe(task="captioning", data=data, model={"kind": "transformer", "d_model": 30})


def test_images_are_not_mixed_since_a_caption_is_of_one() -> None:
    with pytest.raises(RecipeError, match="cut_mix"):
        regard.Recipe(task="captioning", data={"train": ["a"]}, augmentation={"cut_mix": 0.5})
