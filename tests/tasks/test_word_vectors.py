"""Word vectors: trained, stopped and resumed, asked, scored, exported, and taken up by others."""

import io
import json
import math
import random
import tomllib
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.cli import main
from regard.errors import DataError, RecipeError, RegardError, RequestError, RunError
from regard.recipe import Recipe, override, parse
from regard.run import Run
from regard.tasks.embedder import Embedder
from regard.tasks.neighbours import Neighbour, WordVectors, queries_of, terms_of
from regard.text.vectors import read_vectors
from regard.training.events import StepReport
from regard.training.run import train, training_run
from regard.weights import load_model

Outcome = Callable[[Path], dict[str, Any]]
# Words of one kind stand among each other, and so do sums: kings and queens among their own.
KINDS = (
    ("cat", "dog", "cow", "hen", "owl"),
    ("red", "blue", "green", "pink", "grey"),
    ("one", "two", "three", "four", "five"),
)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each line has words of one kind, and words that stand everywhere."""
    path = tmp_path_factory.mktemp("book") / "book.txt"
    draw = random.Random(1)
    lines = []
    for _ in range(700):
        words = [*draw.choices(draw.choice(KINDS), k=5), "the", "and"]
        draw.shuffle(words)
        lines.append(" ".join(words).capitalize() + ".")
    path.write_text("\n".join(lines) + "\nonce\n", encoding="utf-8")
    return path


def recipe_of(book: Path, *settings: str) -> Recipe:
    text = f"""
        task = "word-vectors"
        seed = 3
        data = {{train = ["{book}"], held_out_share = 0.1, window = 3, subsample = 0.01}}
        model.d_model = 8
        [train]
        steps = 60
        batch_tokens = 1024
        eval_every = 20
        save_every = 20
        log_every = 1
        threads = 1
        processes = 1
        device = "cpu"
        precision = "float32"
    """
    return parse(override(tomllib.loads(text), settings), "test")


@pytest.fixture(scope="module", params=["skip-gram", "cbow"])
def either(
    request: pytest.FixtureRequest, book: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("either") / str(request.param)
    train(recipe_of(book, f"model.kind={request.param}"), folder)
    return folder


@pytest.fixture(scope="module")
def run(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "vectors"
    train(recipe_of(book), folder)
    return folder


def test_words_that_are_used_alike_become_neighbours(either: Path) -> None:
    vectors = WordVectors.load(either)
    for kind in KINDS:
        for word in kind:
            assert {each.word for each in vectors.neighbours(word, 4)} == {*kind} - {word}
    info = Run.open(either).info()
    assert info["validation"]["loss"] < 0.9 * 6 * math.log(2)
    card = (either / "README.md").read_text("utf-8")
    assert "vectors that know nothing have a loss of 4.159" in card


@pytest.mark.parametrize("step", [7, 20, 33])
def test_a_stopped_run_ends_with_the_bits_of_one_that_was_not(
    step: int, run: Path, book: Path, tmp_path: Path, outcome: Outcome
) -> None:
    recipe = recipe_of(book)
    with closing(training_run(recipe, tmp_path / "again")) as events:
        for event in events:
            if isinstance(event, StepReport) and event.step == step:
                break
    train(recipe, tmp_path / "again")
    assert outcome(tmp_path / "again") == outcome(run)


@pytest.mark.slow
def test_two_processes_learn_as_well(book: Path, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    train(recipe_of(book, "train.processes=2"), folder)
    vectors = WordVectors.load(folder)
    assert {each.word for each in vectors.neighbours("cat", 4)} == {*KINDS[0]} - {"cat"}


def test_similarity_is_the_cosine_and_vectors_have_no_mean(run: Path) -> None:
    vectors = WordVectors.load(run)
    one, two = vectors.vector("cat"), vectors.vector("Dog")
    cosine = one @ two / np.linalg.norm(one) / np.linalg.norm(two)
    assert vectors.similarity("cat", "dog") == pytest.approx(float(cosine), abs=1e-5)
    assert vectors.similarity("cat", "cat") == pytest.approx(1.0, abs=1e-5)
    assert np.allclose(vectors.vectors.mean(0), 0, atol=1e-5)
    model: Any = load_model(Run.open(run))
    table = model.embedding.weight.detach().numpy()
    assert np.allclose(vectors.vectors, table - table.mean(0), atol=1e-5)
    assert "cat" in vectors
    assert "once" not in vectors


def test_an_analogy_is_a_sum_of_unit_vectors_without_its_words(run: Path) -> None:
    vectors = WordVectors.load(run)
    units = {word: vectors.units[vectors.place(word)] for word in vectors.words}
    wanted = units["red"] - units["cat"] + units["dog"]
    others = {word: float(unit @ wanted) for word, unit in units.items()}
    expected = sorted(others.keys() - {"red", "cat", "dog"}, key=lambda word: -others[word])
    found = vectors.analogy("cat", "red", "dog", 5)
    assert [each.word for each in found] == expected[:5]
    assert found == vectors.neighbours("red - cat + dog", 5)
    assert len(vectors.neighbours("cat", 1000)) == len(vectors.words) - 1


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("king", [(1, "king")]),
        ("king - man + woman", [(1, "king"), (-1, "man"), (1, "woman")]),
        ("- man + woman", [(-1, "man"), (1, "woman")]),
    ],
)
def test_sums_of_words_are_read(query: str, terms: list[tuple[int, str]]) -> None:
    assert terms_of(query) == terms


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("", "a word is missing"),
        ("king -", "a word is missing"),
        ("king man", "is missing before 'man'"),
        ("king - - man", "is missing before"),
    ],
)
def test_what_is_no_sum_is_refused(query: str, problem: str) -> None:
    with pytest.raises(RequestError, match=problem):
        terms_of(query)


def test_words_of_a_command_line_are_questions() -> None:
    assert queries_of(["king", "queen"]) == ["king", "queen"]
    assert queries_of(["king", "-", "man", "+", "woman", "cat"]) == ["king - man + woman", "cat"]
    assert queries_of(["king - man", "cat"]) == ["king - man", "cat"]


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("gren", "not one of the 17 words of this run; did you mean green"),
        ("zzzz", "not one of the 17 words of this run$"),
        ("cat dog", "one word; give one, without spaces"),
        (7, "not a word"),
    ],
)
def test_an_unknown_word_is_refused(word: Any, problem: str, run: Path) -> None:
    with pytest.raises(RequestError, match=problem):
        WordVectors.load(run).vector(word)


def test_the_command_answers(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["neighbours", str(run), "--n-best", "2", "red", "-", "cat", "+", "dog"])
    lines = capsys.readouterr().out.splitlines()
    expected = WordVectors.load(run).neighbours("red - cat + dog", 2)
    assert lines == [f"{each.word}\t{each.similarity:.3f}" for each in expected]
    main(["neighbours", str(run), "cat", "red", "--n-best", "1", "--json"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["query"] for each in found] == ["cat", "red"]
    assert found[0]["neighbours"][0]["word"] in KINDS[0]


def test_three_words_are_an_analogy(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = [
        f"{e.word}\t{e.similarity:.3f}"
        for e in WordVectors.load(run).analogy("cat", "red", "dog", 2)
    ]
    for words in (["cat", "red", "dog"], ["cat red dog"], ["red", "-", "cat", "+", "dog"]):
        main(["neighbours", str(run), "--analogy", *words, "--n-best", "2"])
        assert capsys.readouterr().out.splitlines() == expected
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(b"cat red dog\nred - cat + dog\n"))
    )
    main(["neighbours", str(run), "--analogy", "--n-best", "2", "--json"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["query"] for each in found] == ["red - cat + dog"] * 2


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("--analogy", "cat", "dog"), 1, "'cat dog': an analogy has three words"),
        (("cat", "-dog"), 2, "-dog: no such option; to subtract a word, put a space after the -"),
        (("cat", "--best", "3"), 2, "--best: no such option"),
        (("mouse",), 1, "'mouse': not one of the 17 words"),
    ],
)
def test_the_command_says_what_is_wrong(
    words: tuple[str, ...],
    code: int,
    problem: str,
    run: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["neighbours", str(run), *words])
    assert stopped.value.code == code
    assert problem in capsys.readouterr().err


def test_rated_pairs_are_scored_beside_counting(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = tmp_path / "pairs.tsv"
    alike = [(a, b, 9.0) for kind in KINDS for a, b in pairwise(kind)]
    apart = [(a, b, 1.0) for a, b in zip(KINDS[0], KINDS[1], strict=True)]
    rows = [*alike, *apart, ("cat", "unheard", 3.0)]
    test.write_text("".join(f"{a}\t{b}\t{rating}\n" for a, b, rating in rows), "utf-8")
    main(["evaluate", str(run), "--data", str(test), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["pairs"] == len(rows)
    assert found["covered"] == len(rows) - 1
    assert found["scores"]["Spearman's ρ"] > 0.7
    assert found["scores"]["counted neighbours"] > 0.7
    low, high = found["intervals"]["Spearman's ρ"]
    assert low <= found["scores"]["Spearman's ρ"] <= high
    main(["evaluate", str(run), "--data", str(test), "--bootstrap", "0"])
    assert "17 of 18 pairs have vectors" in capsys.readouterr().out


def test_analogies_are_scored_by_section(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = tmp_path / "questions.txt"
    text = ": some\ncat cow red blue\nCat dog one two\n: others\none two cat dog\na b c d\n"
    test.write_text(text, "utf-8")
    main(["evaluate", str(run), "--data", str(test), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["analogies"], found["covered"]) == (4, 3)
    assert found["sections"] == {"some": 2, "others": 1}
    scores = found["scores"]
    assert scores["accuracy"] == pytest.approx((2 * scores["some (2)"] + scores["others (1)"]) / 3)


def test_other_text_is_scored_by_its_loss(
    run: Path, book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = []
    for name, text in (("same", book.read_text("utf-8")), ("odd", "cat one the red and\n" * 99)):
        path = tmp_path / f"{name}.txt"
        path.write_text(text, "utf-8")
        main(["evaluate", str(run), "--data", str(path), "--json"])
        scores.append(json.loads(capsys.readouterr().out)["scores"])
    assert scores[0]["loss"] < scores[1]["loss"]
    assert scores[0]["vectors that know nothing"] == pytest.approx(6 * math.log(2))


@pytest.mark.parametrize(
    ("text", "problem"),
    [("x y 1\nz w 2\n", "0 of its 2 pairs"), (": s\na b c d\n", "no analogy"), ("zz\n", "none")],
)
def test_a_test_without_known_words_is_refused(
    text: str, problem: str, run: Path, tmp_path: Path
) -> None:
    from regard.api import evaluate

    path = tmp_path / "test.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=problem):
        evaluate(run, path)


@pytest.mark.parametrize("binary", [False, True])
def test_vectors_are_exported_as_they_are(
    binary: bool, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / ("vectors.bin" if binary else "vectors.txt")
    words = ["export", str(run), "--to", "word2vec", "--out", str(path), *["--binary"] * binary]
    main(words)
    vectors = WordVectors.load(run)
    found = read_vectors(path, set(vectors.words), 8)
    assert list(found) == vectors.words
    assert np.allclose(np.stack(list(found.values())), vectors.vectors, atol=1e-5)
    with pytest.raises(SystemExit):
        main(words)
    assert "is there already" in capsys.readouterr().err


def classifier(folder: Path, *settings: str) -> Recipe:
    data = folder / "reviews.tsv"
    rows = [f"good\tred dog {n}\nbad\tblue cat {n}\n" for n in range(60)]
    data.write_text("".join(rows), "utf-8")
    text = f"""
        task = "classification"
        data = {{train = ["{data}"]}}
        tokenizer = {{kind = "word", vocabulary_size = 300}}
        model = {{kind = "recurrent", d_model = 8}}
        train = {{steps = 1, threads = 1, processes = 1, learning_rate = 1e-9}}
    """
    return parse(override(tomllib.loads(text), settings), "test")


def test_the_vectors_start_the_embeddings_of_another_task(run: Path, tmp_path: Path) -> None:
    train(classifier(tmp_path, f"data.embeddings={run}"), tmp_path / "classifier")
    own, other = WordVectors.load(run), WordVectors.load(tmp_path / "classifier")
    for one, two in (("red", "blue"), ("red", "dog"), ("cat", "dog")):
        # Both have lost a mean, though not of the same words.
        raw = [
            each.vectors[each.place(one)] - each.vectors[each.place(two)] for each in (own, other)
        ]
        lengths = [float(np.linalg.norm(vector)) for vector in raw]
        assert float(raw[0] @ raw[1]) / lengths[0] / lengths[1] == pytest.approx(1, abs=1e-4)


def test_a_flag_names_the_vectors_and_chooses_what_fits_them(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier(tmp_path)
    out = tmp_path / "flag"
    main(
        [
            *("train", "--labelled", str(tmp_path / "reviews.tsv"), "--embeddings", str(run)),
            *("--out", str(out), "--set", "train.steps=1", "--set", "train.threads=1"),
        ]
    )
    recipe: Any = Run.open(out).recipe()
    assert recipe.model.d_model == 8
    assert recipe.tokenizer.kind == "word"
    assert f"{run}: vectors for 4 of" in capsys.readouterr().err


def data_of_every_kind(folder: Path) -> dict[str, list[str]]:
    """The flags of each task that reads or writes words, and their files; each has a red dog."""
    texts = [
        f"the {'red dog' if n % 2 else 'blue cat'} number {'abcdefgh'[n % 8]}" for n in range(80)
    ]
    (folder / "photos").mkdir()
    for n, _ in enumerate(texts[:40]):
        Image.new("RGB", (12, 12), (5 * n, 9, 90)).save(folder / "photos" / f"{n}.png")
    files = {
        "reviews.tsv": [f"{text}\t{n % 2}" for n, text in enumerate(texts)],
        "tagged.conll": [
            "\n".join(f"{w} {'XY'[len(w) % 2]}" for w in text.split()) + "\n" for text in texts
        ],
        "book.txt": 10 * texts,
        "pairs.en": texts,
        "pairs.xx": [text[::-1] for text in texts],
        "captions.tsv": [
            "file\tcaption",
            *(f"{n}.png\t{text}" for n, text in enumerate(texts[:40])),
        ],
    }
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n", "utf-8")
    images = ["--images", str(folder / "photos"), "--captions", str(folder / "captions.tsv")]
    return {
        "classification": ["--labelled", str(folder / "reviews.tsv")],
        "tagging": ["--tagged", str(folder / "tagged.conll")],
        "language-model": ["--text", str(folder / "book.txt")],
        "masked-language-model": ["--text", str(folder / "book.txt")],
        "translation": ["--pairs", str(folder / "pairs.en"), str(folder / "pairs.xx")],
        "captioning": images,
        "matching": images,
    }


@pytest.mark.parametrize(
    "task",
    [
        *("classification", "tagging", "language-model", "masked-language-model", "translation"),
        *("captioning", "matching"),
    ],
)
def test_the_flag_starts_the_embeddings_of_every_task_of_words(
    task: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = data_of_every_kind(tmp_path)[task]
    short = ("train.steps=1", "train.threads=1", "train.processes=1", "train.learning_rate=1e-9")
    out = tmp_path / "run"
    main(
        [
            *("train", *flags, "--task", task, "--embeddings", str(run), "--anyway"),
            *("--out", str(out), *(f"--set={each}" for each in short)),
        ]
    )
    assert f"{run}: vectors for " in capsys.readouterr().err
    own, other = WordVectors.load(run), WordVectors.load(out)
    ways = [
        each.vectors[each.place("red")] - each.vectors[each.place("dog")] for each in (own, other)
    ]
    lengths = [float(np.linalg.norm(vector)) for vector in ways]
    assert float(ways[0] @ ways[1]) / lengths[0] / lengths[1] == pytest.approx(1, abs=1e-4)


def test_a_run_without_the_width_or_the_words_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"vectors of 8 numbers, the model's have 16"):
        train(classifier(tmp_path, f"data.embeddings={run}", "model.d_model=16"), tmp_path / "a")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError, match="not a run folder"):
        train(classifier(tmp_path, f"data.embeddings={tmp_path / 'empty'}"), tmp_path / "b")


def test_any_run_with_words_has_neighbours(run: Path, tmp_path: Path) -> None:
    train(classifier(tmp_path), tmp_path / "classifier")
    found = WordVectors.load(tmp_path / "classifier").neighbours("red", 3)
    assert len(found) == 3
    assert all(isinstance(each, Neighbour) for each in found)


def test_a_text_is_the_mean_of_its_words(run: Path) -> None:
    vectors, embedder = WordVectors.load(run), Embedder.load(run)
    assert np.allclose(embedder.embed("Cat!"), vectors.vector("cat"), atol=1e-5)
    mean = (vectors.vector("cat") + vectors.vector("red")) / 2
    assert np.allclose(embedder.embed("unheard cat: red"), mean, atol=1e-5)
    assert np.allclose(embedder.embed(""), 0)
    pieces, found = embedder.tokens("the cat")
    assert pieces == ["the", "cat"]
    assert np.allclose(found[1], vectors.vector("cat"), atol=1e-5)


def test_training_continues_on_other_text_with_the_same_words(
    run: Path, book: Path, tmp_path: Path
) -> None:
    recipe = recipe_of(book, f"train.from_run={run}", "train.steps=1", "data.min_count=1")
    train(recipe, tmp_path / "more")
    more = WordVectors.load(tmp_path / "more")
    assert more.words == WordVectors.load(run).words
    before = WordVectors.load(run).similarity("cat", "dog")
    assert more.similarity("cat", "dog") == pytest.approx(before, abs=0.1)


def test_sizes_are_chosen_for_the_text(
    book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ("--set", "train.steps=2", "--set", "train.threads=1")
    words = ("train", "--text", str(book), "--task", "word-vectors", *short)
    main([*words, "--out", str(tmp_path / "run")])
    said = capsys.readouterr().err
    assert "words that occur 2 times or more" in said
    assert "neighbours" in said
    main(["plan", str(tmp_path / "run")])
    assert "words" in capsys.readouterr().out
    main(["show", str(tmp_path / "run")])
    assert "17 words" in capsys.readouterr().out
    main(["check", "--text", str(book), "--set", "task=word-vectors"])


@pytest.mark.parametrize(
    ("text", "settings", "problem"),
    [
        ("one two three\n", (), "0 words occur 5 times or more"),
        ("17 42 99 !\n" * 99, (), "0 words occur"),
        ("cat dog\n" * 9, ("data.held_out_share=0.01",), "the text to validate on"),
    ],
)
def test_too_little_text_is_refused_and_nothing_is_left(
    text: str, settings: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "short.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError, match=problem):
        train(recipe_of(path, *settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_setting_of_another_task_is_refused(book: Path) -> None:
    with pytest.raises(RecipeError, match="context"):
        recipe_of(book, "data.context=5")
