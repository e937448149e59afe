"""Image classification from folders of images to labels."""

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import regard
from regard.cli import main
from regard.errors import DataError, RecipeError, RequestError
from regard.made_with import CONTENTS
from regard.models import lite0_weights
from regard.run import Run
from regard.training.events import Note
from regard.training.run import training_run
from regard.weights import read_tensors

COLOURS = {"blue": (20, 30, 220), "green": (30, 200, 40), "red": (210, 20, 30)}
TINY: dict[str, Any] = {
    "train.steps": 12,
    "train.eval_every": 6,
    "train.save_every": 6,
    "train.batch_size": 16,
    "train.threads": 1,
    "train.device": "cpu",
    "model.widths": [8, 8],
    "data.image_size": 8,
}


def draw(path: Path, colour: tuple[int, int, int], seed: int) -> None:
    """A square of one colour on noise."""
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 60, (12, 12, 3), np.uint8)
    pixels[3:9, 3:9] = np.array(colour) + random.integers(0, 20, 3)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def draw_all(folder: Path, each: int = 30, first: int = 0) -> Path:
    for label, colour in COLOURS.items():
        for number in range(first, first + each):
            draw(folder / label / f"{label}{number}.png", colour, 1000 * len(label) + number)
    return folder


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    draw_all(folder / "photos")
    draw_all(folder / "test", each=4, first=500)
    return folder


@pytest.fixture(scope="module")
def run(photos: Path) -> Path:
    out = photos / "run"
    settings = [f"--set={name}={value}" for name, value in TINY.items()]
    main(["train", "--images", str(photos / "photos"), "--out", str(out), *settings])
    return out


def test_a_folder_for_each_label_becomes_a_classifier(
    run: Path, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["classify", str(run), *map(str, sorted((photos / "test").rglob("*.png")))])
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 12
    right = sum(label == Path(name).parent.name for label, _, name in rows)
    assert right >= 10
    assert Run(run).labels() == sorted(COLOURS)


def test_an_image_that_cannot_be_read_does_not_keep_others_from_an_answer(
    run: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.jpg"
    bad.write_text("<html>not found</html>")
    good = str(photos / "test" / "red" / "red500.png")
    with pytest.raises(SystemExit) as stopped:
        main(["classify", str(run), good, str(bad), good])
    assert stopped.value.code == 1
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 2
    assert "bad.jpg" in shown.err
    assert "web page" in shown.err


def test_it_is_evaluated_on_a_folder_with_pictures_of_what_it_confuses(
    run: Path, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, answers = tmp_path / "confusion.png", tmp_path / "answers.tsv"
    files = ["--picture", str(picture), "--output", str(answers)]
    main(["evaluate", str(run), "--data", str(photos / "test"), *files])
    shown = capsys.readouterr().out
    assert "12 images" in shown
    assert "accuracy" in shown
    assert "most frequent label" in shown
    with Image.open(picture) as drawn:
        assert drawn.width > 200
    assert len(answers.read_text().splitlines()) == 12


def test_images_of_which_none_can_be_read_are_not_scored(run: Path, tmp_path: Path) -> None:
    for label in ("red", "blue"):
        (tmp_path / label).mkdir()
        (tmp_path / label / "a.png").write_bytes(b"no image")
    with pytest.raises(DataError, match="none of the images can be read"):
        regard.evaluate_run(run, tmp_path)


def test_python_takes_files_and_pixels(run: Path, photos: Path) -> None:
    classifier = regard.load(run)
    path = photos / "test" / "blue" / "blue500.png"
    with Image.open(path) as image:
        pixels = np.asarray(image)
        found = classifier.classify([path, str(path), image, pixels, path.read_bytes()])
    assert len({(each.label, round(each.probabilities["blue"], 6)) for each in found}) == 1
    assert classifier.classify(path).label == found[0].label
    assert sum(found[0].probabilities.values()) == pytest.approx(1)
    assert "3 labels" in repr(classifier)
    with pytest.raises(RequestError, match="no image"):
        classifier.classify(3)
    with pytest.raises(DataError, match="no such file"):
        classifier.classify("nowhere.png")


def test_stopping_and_resuming_changes_nothing(run: Path, photos: Path, tmp_path: Path) -> None:
    """Images are changed at random, but as the seed and the number of the update say."""
    recipe = Run(run).recipe()
    out = tmp_path / "again"
    events = training_run(recipe, out)
    for event in events:
        if getattr(event, "step", 0) == 7:
            break
    events.close()  # type: ignore[attr-defined]
    assert len(Run(out).checkpoints()) == 1
    assert not any("Decoding" in getattr(each, "text", "") for each in training_run(recipe, out))
    assert Run(out).model_path.read_bytes() == Run(run).model_path.read_bytes()


def test_two_processes_learn_what_one_does(
    photos: Path, tmp_path: Path, log_of: Callable[[Path, str], list[dict[str, Any]]]
) -> None:
    """Batch normalisation takes its statistics from the rows of both. The last batch of 90 images
    has one row, of which there are no statistics, and only one process has it.
    """
    same = {**TINY, "train.batch_size": 89, "train.accumulate": 2, "train.log_every": 1}
    plain = {"augmentation.shift": 0, "augmentation.flip": False, "model.residual_blocks": 1}
    runs = [
        regard.train(
            images=photos / "photos",
            valid=photos / "test",
            out=tmp_path / str(processes),
            settings={**same, **plain, "train.processes": processes},
        )
        for processes in (1, 2)
    ]
    one, two = ([entry["loss"] for entry in log_of(run.folder, "step")] for run in runs)
    assert len(one) == 12
    assert two == pytest.approx(one, abs=1e-4)
    first, second = (read_tensors(run.model_path)[0] for run in runs)
    for name in (each for each in first if "running" in each):
        np.testing.assert_allclose(second[name], first[name], rtol=0.01, atol=1e-3)


@pytest.mark.parametrize(
    "model",
    [
        {"kind": "vit", "num_layers": 1, "d_model": 16, "d_ff": 16, "num_heads": 2},
        {"kind": "mlp", "d_model": 16},
    ],
    ids=lambda model: str(model["kind"]),
)
def test_other_models_learn_too(model: dict[str, Any], photos: Path, tmp_path: Path) -> None:
    settings = {name: value for name, value in TINY.items() if not name.startswith("model")}
    settings |= {f"model.{name}": value for name, value in model.items()}
    settings["train.steps"] = 4
    done = regard.train(images=photos / "photos", out=tmp_path / "run", settings=settings)
    assert done.info()["validation"]["loss"] < 3
    assert done.load().classify(photos / "test" / "red" / "red500.png").label in COLOURS


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    """A folder without folders, and a table of labels beside it."""
    for label, colour in COLOURS.items():
        for number in range(25):
            draw(tmp_path / "flat" / f"{label}-{number}.png", colour, number)
    return tmp_path / "flat"


def train_with_table(flat: Path, rows: list[str], **settings: Any) -> tuple[Run, list[str]]:
    table = flat.parent / "labels.tsv"
    table.write_text("".join(row + "\n" for row in rows))
    notes: list[str] = []
    done = regard.train(
        images=str(flat),
        labelled=str(table),
        out=flat.parent / "run",
        settings={**TINY, "train.steps": 2, **settings},
        on_event=lambda event: notes.append(event.text) if isinstance(event, Note) else None,
    )
    return done, notes


ROWS = [f"{label}-{number}.png\t{label}" for label in COLOURS for number in range(25)]


def test_a_table_names_the_labels(flat: Path) -> None:
    done, _ = train_with_table(flat, ["file\tlabel", *ROWS])
    assert done.labels() == sorted(COLOURS)
    done = Run(done.folder)
    assert done.recipe().data.labels.endswith("labels.tsv")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([*ROWS, "missing.png\tred"], "without an image"),
        (ROWS[:-1], "without a label"),
        ([row.upper().replace("RED", "red") for row in ROWS], ""),
    ],
)
def test_odd_rows_of_a_table_are_named(flat: Path, rows: list[str], sentence: str) -> None:
    _, notes = train_with_table(flat, rows)
    assert sentence in " ".join(notes)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("../flat/red-0.png\tred", "leads out of the folder"),
        ("/etc/red-0.png\tred", "leads out of the folder"),
        ("red-0.png\tblue", "give an image one label"),
    ],
)
def test_rows_that_cannot_be_meant_are_refused(flat: Path, row: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        train_with_table(flat, [*ROWS, row])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda folder: folder.mkdir(), "no images found"),
        (lambda folder: draw(folder / "a.png", (1, 2, 3), 1), "no labels"),
        (lambda folder: [draw(folder / "a" / f"{n}.png", (1, 2, 3), n) for n in range(9)], "one"),
        (lambda folder: draw_all(folder, each=1), "too few images"),
    ],
)
def test_too_little_is_said_in_a_sentence(
    make: Callable[[Path], Any], sentence: str, tmp_path: Path
) -> None:
    make(tmp_path / "photos")
    with pytest.raises(DataError, match=sentence):
        regard.train(images=tmp_path / "photos", out=tmp_path / "run", settings=TINY, check=False)
    assert not (tmp_path / "run").exists()


def test_splits_in_folders_are_kept(tmp_path: Path) -> None:
    draw_all(tmp_path / "photos" / "train", each=10)
    draw_all(tmp_path / "photos" / "val", each=2, first=100)
    draw_all(tmp_path / "photos" / "test", each=2, first=200)
    settings = {**TINY, "train.steps": 2}
    done = regard.train(images=tmp_path / "photos", out=tmp_path / "run", settings=settings)
    parts = {
        name: json.loads((done.training / "data" / f"{name}.json").read_bytes())["names"]
        for name in ("train", "valid")
    }
    assert {name.partition("/")[0] for name in parts["train"]} == {"train"}
    assert {name.partition("/")[0] for name in parts["valid"]} == {"val"}
    assert (len(parts["train"]), len(parts["valid"])) == (30, 6)
    found = regard.evaluate_run(done.folder, tmp_path / "photos")
    assert "6 images" in found.headline


def test_an_archive_of_arrays_is_read(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 60)
    images = random.integers(0, 40, (60, 10, 10), np.uint8) + (labels * 150)[:, None, None].astype(
        np.uint8
    )
    np.savez(tmp_path / "digits.npz", x_train=images, y_train=labels)
    settings = {**TINY, "train.steps": 2}
    done = regard.train(images=tmp_path / "digits.npz", out=tmp_path / "run", settings=settings)
    recipe = done.recipe()
    assert (recipe.data.channels, recipe.augmentation.flip) == (1, False)
    assert done.labels() == ["0", "1"]


def test_labels_that_are_rare_may_count_more(photos: Path, tmp_path: Path) -> None:
    settings = {**TINY, "train.steps": 2, "train.class_weights": True}
    done = regard.train(images=photos / "photos", out=tmp_path / "run", settings=settings)
    assert done.recipe().train.class_weights


def test_flags_that_do_not_go_together(photos: Path) -> None:
    folder = str(photos / "photos")
    for flags in (["--images", folder, "--text", "a.txt"], ["--images", folder, "--pairs", "a"]):
        with pytest.raises(SystemExit) as stopped:
            main(["train", *flags])
        assert stopped.value.code == 2


def test_commands_for_other_runs_say_what_this_one_is_for(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["translate", "x"], ["generate", "x"], ["heads"]):
        with pytest.raises(SystemExit) as stopped:
            main([words[0], str(run), *words[1:]])
        assert stopped.value.code == 1
        assert "image-classification" in capsys.readouterr().err


LITE0: dict[str, Any] = {
    name: value for name, value in TINY.items() if not name.startswith(("model", "data"))
} | {"model.input_size": 32, "train.steps": 6, "train.eval_every": 3, "train.save_every": 3}


def test_a_pretrained_encoder_sees_each_image_once(photos: Path, tmp_path: Path) -> None:
    pytest.importorskip(lite0_weights.PACKAGE, reason="needs the extra images")
    done = regard.train(
        images=photos / "photos", from_run="lite0", out=tmp_path / "run", settings=LITE0
    )
    recipe = done.recipe()
    assert (recipe.model.kind, recipe.train.from_run) == ("lite0", "")
    assert recipe.augmentation.flip
    data = done.training / "data"
    sizes = {
        name: len(json.loads((data / f"{name}.json").read_bytes())["rows"])
        for name in ("train", "valid")
    }
    files = {name: data / f"{name}.features" for name in sizes}
    assert files["train"].stat().st_size == 2 * 2 * 1280 * sizes["train"]
    assert files["valid"].stat().st_size == 2 * 1280 * sizes["valid"]
    found = done.load().classify(sorted((photos / "test").rglob("*.png")))
    assert len({each.label for each in found}) > 1


def test_a_stop_while_images_are_encoded_changes_nothing(photos: Path, tmp_path: Path) -> None:
    pytest.importorskip(lite0_weights.PACKAGE, reason="needs the extra images")
    images = {"images": photos / "photos", "from_run": "lite0", "settings": LITE0}
    whole = regard.train(out=tmp_path / "whole", **images)
    events = training_run(whole.recipe(), tmp_path / "stopped")
    for event in events:
        if getattr(event, "step", 0) == 4:
            break
    events.close()  # type: ignore[attr-defined]
    stopped = Run(tmp_path / "stopped")
    path = stopped.training / "data" / "train.features"
    path.write_bytes(path.read_bytes()[: 70 * 2 * 2 * 1280 + 5])
    (stopped.folder / CONTENTS).unlink()  # which is written when all are encoded
    deque(training_run(whole.recipe(), tmp_path / "stopped"), maxlen=0)
    assert path.read_bytes() == (whole.training / "data" / "train.features").read_bytes()
    assert stopped.model_path.read_bytes() == whole.model_path.read_bytes()


def test_an_encoder_that_is_not_installed_is_named_before_images_are_read(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lite0_weights, "PACKAGE", "a_package_that_nobody_has")
    with pytest.raises(RequestError, match=r"regard\[images\]"):
        regard.train(images=photos / "photos", from_run="lite0", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_two_encoders_are_one_too_many(photos: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="leave one of them out"):
        regard.train(
            images=photos / "photos",
            from_run="lite0",
            out=tmp_path / "run",
            settings={"model.kind": "cnn"},
        )


@pytest.mark.parametrize(
    ("labels", "channels", "mirrored"),
    [("0123", 1, False), ("0123", 3, True), ("abcd", 3, False)],
    ids=["grey digits", "coloured images of numbered classes", "letters"],
)
def test_letters_and_digits_are_not_mirrored(
    tmp_path: Path, labels: str, channels: int, mirrored: bool
) -> None:
    shape = (40, 16, 16) if channels == 1 else (40, 16, 16, channels)
    pixels = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    np.savez(tmp_path / "images.npz", x=pixels, y=np.array([*labels] * 10))
    from regard.tasks.image_classification import suggest

    found = suggest({"train": [str(tmp_path / "images.npz")]}, {}, "standard")
    assert found.values["augmentation"]["flip"] == mirrored
