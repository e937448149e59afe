"""Matching of images and texts: from captions to vectors, and back by search."""

import itertools
import json
import math
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import regard
from regard.cli import main
from regard.configs.bert import BertConfig
from regard.configs.clip import BagConfig, SharedSpaceConfig
from regard.configs.gpt import GPTConfig
from regard.configs.image import ImageShape
from regard.configs.recurrent import ReaderConfig
from regard.configs.vit import VitConfig
from regard.data.matching_pairs import batch_texts
from regard.errors import DataError, RecipeError, RegardError, RequestError, RunError
from regard.evaluate.matching import by_chance, pair_loss, recall
from regard.models.clip import Clip
from regard.objectives import contrastive
from regard.recipe import Recipe, read
from regard.reporter import Reporter
from regard.run import Run
from regard.text.tokenizer import Specials
from regard.training.events import Interrupted, Note, StepReport
from regard.training.run import train, training_run

Outcome = Callable[[Path], dict[str, Any]]
LogOf = Callable[[Path, str], list[dict[str, Any]]]

COLOURS = {"blue": (20, 30, 220), "green": (30, 200, 40), "red": (210, 20, 30)}
SETTINGS = [
    *("train.steps=24", "train.eval_every=12", "train.save_every=12", "train.batch_size=24"),
    *("train.threads=1", "train.device=cpu", "train.log_every=1", "train.learning_rate=0.005"),
    *("encoder.widths=[8,8]", "model.kind=recurrent", "model.d_model=16", "space.width=8"),
    *("space.dropout=0.1", "data.held_out_share=0.2"),
]


def draw(path: Path, colour: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 60, (10, 10, 3), np.uint8)
    pixels[2:8, 2:8] = COLOURS[colour]
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def draw_all(folder: Path, count: int) -> Path:
    """Squares of three colours, and two captions for each."""
    rows = ["file\tcaption"]
    for number in range(count):
        colour = list(COLOURS)[number % 3]
        draw(folder / "photos" / f"{colour}{number}.png", colour, number)
        rows.append(f"{colour}{number}.png\ta {colour} square")
        rows.append(f"{colour}{number}.png\tnumber {number} is {colour}")
    (folder / "captions.tsv").write_text("\n".join(rows) + "\n")
    return folder


def trained(folder: Path, out: Path, *more: str) -> Path:
    given = ["--images", str(folder / "photos"), "--captions", str(folder / "captions.tsv")]
    asked = [f"--set={each}" for each in (*SETTINGS, *more)]
    main(["train", *given, "--task", "matching", "--out", str(out), *asked])
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_all(tmp_path_factory.mktemp("matching"), 60)


@pytest.fixture(scope="module")
def run(data: Path) -> Path:
    return trained(data, data / "run")


@pytest.fixture(scope="module")
def recipe(run: Path) -> Recipe:
    return read(run / "recipe.toml")


# The loss.


@settings(deadline=None, max_examples=25)
@given(data=st.data(), rows=st.integers(1, 7))
def test_the_loss_is_that_of_two_plain_loops(data: st.DataObject, rows: int) -> None:
    """Pairs with the same image or the same text are not counted as wrong."""
    numbers = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=rows))
    numbers = numbers[:rows]
    torch.manual_seed(rows)
    images, texts = (
        torch.nn.functional.normalize(torch.randn(rows, 5, dtype=torch.float64), dim=-1)
        for _ in range(2)
    )
    scale = 7.0
    expected = 0.0
    for i, own in enumerate(numbers):
        for ones, others in ((images, texts), (texts, images)):
            total = 0.0
            for j, other in enumerate(numbers):
                if i == j or not (own[0] == other[0] or own[1] == other[1]):
                    total += math.exp(scale * float(ones[i] @ others[j]))
            expected += (math.log(total) - scale * float(ones[i] @ others[i])) / 2
    table = torch.tensor(numbers)
    found = contrastive(images, texts, torch.tensor([scale], dtype=torch.float64), table)
    assert float(found) == pytest.approx(expected, abs=1e-10)
    assert pair_loss(images, texts, scale, table) == pytest.approx(expected, abs=1e-10)


def test_the_order_of_rows_changes_nothing_but_the_order() -> None:
    torch.manual_seed(0)
    images, texts = torch.randn(2, 6, 4, dtype=torch.float64)
    numbers = torch.tensor([[0, 0], [0, 1], [1, 2], [2, 3], [2, 4], [3, 2]])
    scale = torch.tensor([3.0], dtype=torch.float64)
    order = torch.randperm(6)
    plain = contrastive(images, texts, scale, numbers)
    mixed = contrastive(images[order], texts[order], scale, numbers[order])
    assert float(mixed) == pytest.approx(float(plain), abs=1e-12)
    right = torch.eye(6, dtype=torch.bool)
    similarity = images @ texts.T
    permuted = recall(similarity[order], right[order])
    assert permuted == recall(similarity, right)


def test_two_processes_compare_with_the_rows_of_both(
    recipe: Recipe, run: Path, tmp_path: Path, log_of: LogOf
) -> None:
    """Gathered rows give the loss, and the gradients, of one process that has all of them."""
    same = {"model": {"dropout": 0.0}, "space": {"dropout": 0.0}, "augmentation": {"flip": False}}
    values = recipe.model_dump()
    for name, section in same.items():
        values[name] |= section
    values["augmentation"]["shift"] = 0
    values["train"] |= {"steps": 6, "eval_every": 6, "save_every": 6, "accumulate": 2}
    for name, processes in (("one", 1), ("two", 2)):
        values["train"]["processes"] = processes
        train(Recipe(**values), tmp_path / name)
    one, two = (
        [entry["loss"] for entry in log_of(tmp_path / name, "step")] for name in ("one", "two")
    )
    assert len(one) == 6
    assert two == pytest.approx(one, abs=1e-5)


# The model.

TEXT_TOWERS = [
    BagConfig(d_model=8, dropout=0),
    ReaderConfig(d_model=8, dropout=0),
    BertConfig(num_layers=1, d_model=8, d_ff=8, num_heads=2, max_positions=20, dropout=0),
    GPTConfig(num_layers=1, d_model=8, d_ff=8, num_heads=2, max_positions=20, dropout=0),
]


def tiny_clip(text: Any) -> Clip:
    torch.manual_seed(3)
    encoder = VitConfig(num_layers=1, d_model=8, d_ff=8, num_heads=2)
    return Clip(encoder, text, SharedSpaceConfig(width=6), ImageShape(8, 8, 3), 30).eval().double()


@pytest.mark.parametrize("text", TEXT_TOWERS, ids=lambda each: each.kind)
def test_padding_changes_no_vector(text: Any) -> None:
    model = tiny_clip(text)
    specials = Specials(pad=0, unknown=1, start=2, end=3)
    rows = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14]]
    together = model.text_vectors(*batch_texts(rows, specials))
    for row, vector in zip(rows, together, strict=True):
        alone = model.text_vectors(*batch_texts([row], specials))[0]
        torch.testing.assert_close(vector, alone)
        assert float(vector.detach().norm()) == pytest.approx(1)


def test_what_a_frozen_encoder_has_made_gives_the_same_vectors() -> None:
    model = tiny_clip(TEXT_TOWERS[0])
    images = torch.randint(256, (3, 3, 8, 8), dtype=torch.uint8)
    torch.testing.assert_close(
        model.image_vectors(model.encoder(images).whole), model.image_vectors(images)
    )


def test_the_scale_stays_below_a_hundred() -> None:
    model = tiny_clip(TEXT_TOWERS[0])
    assert float(model.scale.detach()) == pytest.approx(1 / 0.07)
    with torch.no_grad():
        model.log_scale.fill_(9.0)
    assert float(model.scale.detach()) == 100


# Recall.


def test_recall_counts_the_first_right_answer() -> None:
    similarity = torch.tensor([[0.9, 0.1, 0.5], [0.8, 0.2, 0.3]])
    right = torch.tensor([[True, False, False], [False, True, True]])
    found = recall(similarity, right)
    assert found.to_texts == {1: 50.0, 5: 100.0, 10: 100.0}
    assert found.to_images[1] == pytest.approx(200 / 3)
    # Equal answers help nobody.
    assert recall(torch.zeros(2, 3), right).to_texts[1] == 0


def test_chance_is_what_all_orders_give() -> None:
    right = torch.tensor([2.0, 1.0], dtype=torch.float64)
    places = list(itertools.permutations(range(7)))
    for k in (1, 5):
        hits = [sum(min(order[:n]) < k for order in places) / len(places) for n in (2, 1)]
        assert by_chance(right, 7)[k] == pytest.approx(50 * sum(hits))
    assert by_chance(right, 3)[10] == 100


# A run.


def test_it_learns_which_texts_belong_to_which_images(
    run: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = Run(run).info()["validation"]
    assert scores["mean_recall"] > scores["chance"] + 5
    main(["evaluate", str(run), "--data", str(data / "photos"), str(data / "captions.tsv")])
    shown = capsys.readouterr().out
    assert "60 images, 120 captions" in shown
    assert "text→image R@10 by chance" in shown
    found = regard.evaluate_run(run, data / "photos")  # with the captions of the run
    for way in ("image→text R@5", "text→image R@5"):
        assert found.score(way) > found.score(f"{way} by chance") + 10


def test_show_counts_both_parts(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["show", str(run), "--json"])
    counted = json.loads(capsys.readouterr().out)["parameters"]
    model = regard.load(run).model
    assert counted == sum(parameter.numel() for parameter in model.parameters())


def test_texts_are_chosen_for_images(
    run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = [str(data / "photos" / f"{name}.png") for name in ("blue0", "green1", "red2")]
    picture = tmp_path / "matrix.png"
    template = ["--template", "a {} square", "--template", "a {}"]
    main(["match", str(run), *images, *COLOURS, *template, "--picture", str(picture)])
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert len(rows) == 9
    assert [row[2] for row in rows[::3]] == list(COLOURS)
    assert sum(float(row[0]) for row in rows[:3]) == pytest.approx(1, abs=2e-3)
    with Image.open(picture) as drawn:
        assert drawn.width > 300
    main(["match", str(run), images[0], "red", "blue", "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert set(facts["similarities"]) == {"red", "blue"}


def test_python_matches_and_embeds(run: Path, data: Path) -> None:
    matcher = regard.load(run)
    assert isinstance(matcher, regard.Matcher)
    assert "vectors of 8 numbers" in repr(matcher)
    path = data / "photos" / "red2.png"
    match = matcher.match(path, ["a red square", "a blue square"])
    assert match.text == "a red square"
    with Image.open(path) as image:
        vectors = matcher.embed_images([path, image])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    texts = ["a red square", "a blue square"]
    table = matcher.similarity([path, path], texts)
    np.testing.assert_allclose(table[0], [match.similarities[text] for text in texts], atol=1e-6)
    mirrored = matcher.similarity([path], texts[::-1])
    np.testing.assert_allclose(mirrored[0], table[0][::-1], atol=1e-6)
    assert matcher.embed_texts([]).shape == (0, 8)
    embedder = regard.Embedder.load(run)
    np.testing.assert_allclose(embedder.embed(texts), matcher.embed_texts(texts), atol=1e-6)


def test_embed_takes_images_and_texts(
    run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(data / "photos" / "red2.png")
    main(["embed", str(run), "a red square", path])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [sorted(each) for each in found] == [["text", "vector"], ["image", "vector"]]
    table = tmp_path / "vectors.npy"
    main(["embed", str(run), "a red square", path, "--output", str(table)])
    np.testing.assert_allclose(np.load(table)[1], found[1]["vector"], atol=1e-6)
    with pytest.raises(RequestError, match="one vector"):
        regard.Embedder.load(run).tokens("a red square")


def test_confusions_are_drawn_and_listed(
    run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "confusions.png"
    files = ["--data", str(data / "photos"), str(data / "captions.tsv")]
    main(["evaluate", str(run), *files, "--picture", str(picture), "--json"])
    found = json.loads(capsys.readouterr().out)["confusions"]
    assert set(found) == {"image_to_text", "text_to_image"}
    for each in (*found["image_to_text"], *found["text_to_image"]):
        assert each["wrong_similarity"] > each["right_similarity"]
        assert each["wrong"] != each["right"]
    assert found["image_to_text"]
    with Image.open(picture) as drawn:
        assert drawn.width > 1000


def test_an_interrupted_training_ends_in_the_same_bits(
    recipe: Recipe, run: Path, tmp_path: Path, outcome: Outcome
) -> None:
    out = tmp_path / "out"
    with closing(training_run(recipe, out)) as events:
        for event in events:
            if isinstance(event, StepReport) and event.step == 7:
                signal.raise_signal(signal.SIGTERM)
        assert isinstance(event, Interrupted)
    train(recipe, out)
    assert outcome(out) == outcome(run)


def test_splits_of_the_table_are_kept(data: Path, tmp_path: Path) -> None:
    rows = (data / "captions.tsv").read_text().splitlines()
    splits = ["train", "train", "train", "val", "test", "other"]
    table = [f"{row}\t{splits[i // 2 % 6]}" for i, row in enumerate(rows[1:])]
    (tmp_path / "captions.tsv").write_text("\n".join([f"{rows[0]}\tsplit", *table]) + "\n")
    (tmp_path / "photos").symlink_to(data / "photos")
    out = trained(tmp_path, tmp_path / "run", "train.steps=1", "train.eval_every=1")
    for name, count in (("train", 30), ("valid", 10)):
        saved = json.loads((out / "training" / "data" / f"{name}.json").read_bytes())
        assert len(saved["rows"]) == count
    found = regard.evaluate_run(out, data / "photos")
    assert found.headline == "10 images, 20 captions"


# Searching.


class Counter:
    """Counts the images that a search reads."""

    def __init__(self) -> None:
        self.read = 0

    def reporter(self) -> Reporter:
        from contextlib import contextmanager

        @contextmanager
        def progress(_: str, count: int) -> Iterator[Callable[[int], None]]:
            self.read += count
            yield lambda done: None

        return Reporter(progress=progress)


def test_an_index_is_updated_not_rebuilt(run: Path, tmp_path: Path) -> None:
    folder = draw_all(tmp_path, 12) / "photos"
    matcher = regard.load(run)

    def search() -> tuple[int, list[Any]]:
        counter = Counter()
        hits = matcher.search(folder, "a red square", n_best=4, reporter=counter.reporter())
        return counter.read, hits

    read, hits = search()
    assert read == 12
    assert all(hit.name.startswith("red") for hit in hits)
    assert search() == (0, hits)
    draw(folder / "red99.png", "red", 99)  # new
    draw(folder / "blue0.png", "red", 100)  # changed
    (folder / "red2.png").unlink()  # removed
    (folder / "green1.png").write_bytes(b"<html>")  # no longer an image
    read, hits = search()
    assert read == 3
    fresh = matcher.search(folder, "a red square", n_best=20, index=tmp_path / "fresh.safetensors")
    again = matcher.search(folder, "a red square", n_best=20)
    assert [(hit.name, round(hit.similarity, 5)) for hit in fresh] == [
        (hit.name, round(hit.similarity, 5)) for hit in again
    ]
    names = {hit.name for hit in again}
    assert {"red99.png", "blue0.png"} <= names
    assert not {"red2.png", "green1.png"} & names
    assert search()[0] == 0  # what cannot be read is not tried again
    assert matcher.search(folder, like=folder / "red99.png", n_best=1)[0].name == "red99.png"


def test_an_interrupted_index_is_continued(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.tasks import image_index

    monkeypatch.setattr(image_index, "AT_ONCE", 4)
    folder = draw_all(tmp_path, 12) / "photos"
    matcher = regard.load(run)
    encode, calls = matcher.vectors_of_list, []

    def interrupted(images: Any, numbers: Any) -> Any:
        calls.append(numbers)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(images, numbers)

    monkeypatch.setattr(matcher, "vectors_of_list", interrupted)
    with pytest.raises(KeyboardInterrupt):
        matcher.search(folder, "a red square")
    matcher.search(folder, "a red square")
    assert [len(each) for each in calls] == [4, 4, 4, 4]


def test_a_search_writes_a_page(
    run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "hits.html"
    where = ["--images", str(data / "photos")]
    main(["search", str(run), *where, "a <red> square", "--n-best", "3", "--html", str(page)])
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 3
    assert "60 new" in shown.err
    text = page.read_text("utf-8")
    assert text.count("data:image/jpeg;base64,") == 3
    assert "a &lt;red&gt; square" in text
    assert "<red>" not in text
    main(["search", str(run), *where, "--like", str(data / "photos" / "blue0.png"), "--json"])
    shown = capsys.readouterr()
    assert json.loads(shown.out.splitlines()[0])["image"] == "blue0.png"
    assert "nothing new" in shown.err


# What cannot be meant.


def test_bad_requests_are_one_sentence(run: Path, data: Path, tmp_path: Path) -> None:
    matcher = regard.load(run)
    path = data / "photos" / "red2.png"
    for ask, words in [
        (lambda: matcher.match(path, []), "no text"),
        (lambda: matcher.match(path, ["a", "a"]), "twice"),
        (lambda: matcher.match(path, ["a"], "a photo"), "is missing"),
        (lambda: matcher.match("nowhere.jpg", ["a"]), "no such file"),
        (lambda: matcher.search(data / "photos"), "either a text or an image"),
        (lambda: matcher.search(data / "photos", " "), "empty"),
        (lambda: matcher.search(tmp_path, "a dog"), "no images found"),
    ]:
        with pytest.raises(RegardError, match=words) as caught:
            ask()
        assert "\n" not in str(caught.value)
    index = tmp_path / "index.safetensors"
    index.write_bytes(b"not an index at all")
    with pytest.raises(RunError, match="index"):
        matcher.search(data / "photos", "a dog", index=index)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["match", "RUN", "a dog"], "no image is given"),
        (["match", "RUN", "PHOTO"], "no text is given"),
        (["search", "RUN", "a dog"], "--images"),
        (["search", "RUN", "--images", "PHOTOS"], "either a text"),
        (["evaluate", "RUN", "--data", "TABLE"], "captions without images"),
        (["classify", "RUN", "PHOTO"], "a run of task matching"),
        (["train", "--captions", "TABLE"], "--images"),
    ],
)
def test_a_command_says_what_is_missing(
    run: Path,
    data: Path,
    words: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {
        "RUN": run,
        "PHOTO": data / "photos" / "red2.png",
        "PHOTOS": data / "photos",
        "TABLE": data / "captions.tsv",
    }
    with pytest.raises(SystemExit):
        main([str(places.get(word, word)) for word in words])
    shown = capsys.readouterr().err
    assert sentence in shown
    assert "Traceback" not in shown


def test_bad_data_is_refused_before_training(data: Path, tmp_path: Path) -> None:
    (tmp_path / "captions.tsv").write_text("file\tcaption\nnowhere.png\ta dog\n")
    given = {"images": data / "photos", "task": "matching", "out": tmp_path / "run"}
    with pytest.raises(DataError, match="none of its images"):
        regard.train(**given, captions=tmp_path / "captions.tsv")
    with pytest.raises(RecipeError, match="cut_mix"):
        regard.train(
            **given, captions=data / "captions.tsv", settings={"augmentation.cut_mix": 0.5}
        )


def test_an_unreadable_image_is_named_and_left_out(data: Path, tmp_path: Path) -> None:
    draw_all(tmp_path, 30)
    (tmp_path / "photos" / "red5.png").write_bytes(b"")
    with (tmp_path / "captions.tsv").open("a") as table:
        table.write("blue3.png\t \nnowhere.png\ta dog\n")
    recipe = read(data / "run" / "recipe.toml")
    values = recipe.model_dump()
    values["data"] |= {"folder": str(tmp_path), "train": ["photos"], "captions": ["captions.tsv"]}
    values["train"] |= {"steps": 1, "eval_every": 1}
    notes = [
        event.text
        for event in training_run(Recipe(**values), tmp_path / "run")
        if isinstance(event, Note)
    ]
    said = " ".join(notes)
    assert "red5.png" in said
    assert "nowhere.png" in said
    assert "1 empty caption" in said
