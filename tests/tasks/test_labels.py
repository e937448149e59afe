"""Classifiers, taggers and masked language models: trained, resumed, fine-tuned, put to work."""

import json
import random
import tomllib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch.nn.functional as F

from regard.cli import main
from regard.data.cooccurrence import cooccurrence_vectors
from regard.data.stream import Stream
from regard.errors import DataError, RecipeError, RequestError
from regard.recipe import Recipe, override, parse
from regard.run import Run
from regard.tasks.classification import Classifier
from regard.tasks.embedder import Embedder
from regard.tasks.filler import Filler
from regard.tasks.tagging import Tagger
from regard.training.events import Note, Phase, StepReport
from regard.training.run import train, training_run
from regard.weights import load_model, read_tensors

Outcome = Callable[[Path], dict[str, Any]]

GOOD, BAD = ("fine", "great", "lovely"), ("dull", "poor", "awful")
BERT = """[model]
        kind = "bert"
        num_layers = 1
        d_model = 16
        d_ff = 32
        num_heads = 2
        max_positions = 24
        num_segments = 1
        dropout = 0.1"""
TASKS = {
    "classification": '[model]\nkind = "recurrent"\nd_model = 16\ndropout = 0.2',
    "tagging": BERT,
    "masked-language-model": BERT,
}
LENGTHS = {
    "classification": "max_length = 24",
    "tagging": "max_length = 24",
    "masked-language-model": "context = 16",
}
COMMANDS = {"classification": "classify", "tagging": "tag", "masked-language-model": "fill"}
FILES = {"classification": "a.tsv", "tagging": "a.conll", "masked-language-model": "a.txt"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reviews with a label, their words with a tag, and the same as running text."""
    path = tmp_path_factory.mktemp("labelled")
    draw = random.Random(1)
    texts, tagged = [], []
    for _ in range(120):
        label, words = draw.choice((("pos", GOOD), ("neg", BAD)))
        number = draw.choices(("", "of it", "of them", "of all", "of mine", "of yours"))[0].split()
        words = ["a", draw.choice(words), draw.choice(("film", "book")), *number]
        texts.append((label, " ".join(words)))
        tags = ("B-NP", "I-NP", "I-NP", "B-PP", "B-NP")[: len(words)]
        tagged.append("".join(f"{w}\t{t}\n" for w, t in zip(words, tags, strict=True)) + ".\tO\n")
    (path / "a.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in texts))
    (path / "a.conll").write_text("\n".join(tagged) + "\n")
    (path / "a.txt").write_text("".join(f"{text} .\n" for _, text in texts))
    return path


def recipe_of(folder: Path, task: str, *settings: str, model: bool = True) -> Recipe:
    text = f"""
        task = "{task}"
        seed = 3
        [data]
        folder = "{folder}"
        train = ["{FILES[task]}"]
        held_out_share = 0.2
        {LENGTHS[task]}
        [tokenizer]
        vocabulary_size = 310
        {TASKS[task] if model else ""}
        [train]
        steps = 24
        batch_tokens = 128
        learning_rate = 0.02
        warmup_steps = 4
        label_smoothing = 0.0
        eval_every = 8
        save_every = 8
        log_every = 1
        average = 1
        threads = 1
        processes = 1
        device = "cpu"
        precision = "float32"
    """
    return parse(override(tomllib.loads(text), settings), "test")


@pytest.fixture(scope="module")
def runs(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {task: tmp_path_factory.mktemp("runs") / task for task in TASKS}
    for task, out in folders.items():
        train(recipe_of(folder, task), out)
    return folders


@pytest.mark.parametrize("task", TASKS)
def test_a_stopped_run_ends_with_the_bits_of_one_that_was_not(
    folder: Path, runs: dict[str, Path], task: str, tmp_path: Path, outcome: Outcome
) -> None:
    with closing(training_run(recipe_of(folder, task), tmp_path)) as events:
        for event in events:
            if isinstance(event, StepReport) and event.step == 19:
                break
    train(recipe_of(folder, task), tmp_path)
    assert outcome(tmp_path) == outcome(runs[task])


def test_what_is_told_of_a_run(runs: dict[str, Path]) -> None:
    found = {task: Run(path).info()["validation"] for task, path in runs.items()}
    assert found["classification"]["accuracy"] > 90
    assert found["classification"]["macro_f1"] > 90
    assert found["classification"]["temperature"] > 0
    assert found["tagging"]["accuracy"] > 95
    assert found["tagging"]["span_f1"] > 90
    assert 0 < found["masked-language-model"]["accuracy"] <= 100
    for task, command in COMMANDS.items():
        assert f"regard {command} {runs[task]}" in (runs[task] / "README.md").read_text("utf-8")


def test_a_classifier_gives_probabilities_in_order(runs: dict[str, Path]) -> None:
    classifier = Classifier.load(runs["classification"])
    texts = ["a great film", "a poor book", "a great film " * 40, ""]
    found = classifier.classify(texts)
    assert [each.label for each in found[:2]] == ["pos", "neg"]
    for text, each in zip(texts, found, strict=True):
        values = list(each.probabilities.values())
        assert values == sorted(values, reverse=True)
        assert sum(values) == pytest.approx(1, abs=1e-5)
        (alone,) = classifier.classify([text])
        assert alone.probabilities == pytest.approx(each.probabilities, abs=1e-5)


def test_a_tagger_cuts_words_as_its_data_does(
    runs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    tagger = Tagger.load(runs["tagging"])
    assert tagger.tag("a dull book.") == tagger.tag("a dull book .")
    assert [each.word for each in tagger.tag("a dull book.")] == ["a", "dull", "book", "."]
    assert [each.word for each in tagger.tag([["a", "book."]])[0]] == ["a", "book."]
    main(["tag", str(runs["tagging"]), "a dull book."])
    assert [line.split("\t")[0] for line in capsys.readouterr().out.split("\n")[:4]] == [
        *("a", "dull", "book", "."),
    ]


def test_a_tagger_labels_every_word_of_a_long_sentence(runs: dict[str, Path]) -> None:
    tagger = Tagger.load(runs["tagging"])
    words = ["a", "fine", "film", "."] * 12  # in several rows
    long, empty, short = tagger.tag([words, "", "a dull book ."])
    assert [each.word for each in long] == words
    assert empty == []
    assert [each.label for each in short] == ["B-NP", "I-NP", "I-NP", "O"]


def test_a_filler_ranks_candidates(runs: dict[str, Path]) -> None:
    filler = Filler.load(runs["masked-language-model"])
    found = filler.fill("a [MASK] film . [SEP] a [MASK] book .", top=4)
    assert len(found.candidates) == 2
    for candidates in found.candidates:
        values = [each.probability for each in candidates]
        assert values == sorted(values, reverse=True)
        assert sum(values) <= 1
    assert found.candidates[0][0].text in found.text
    with pytest.raises(RequestError, match=r"no \[MASK\]"):
        filler.fill("a film")
    with pytest.raises(RequestError, match="the model reads 16; shorten it"):
        filler.fill("a [MASK] film " * 12)


def test_a_vector_does_not_depend_on_its_neighbours(runs: dict[str, Path]) -> None:
    for path in runs.values():
        embedder = Embedder.load(path)
        both = embedder.embed(["a fine film", "a book"])
        assert both.shape == (2, 16)
        np.testing.assert_allclose(both[1], embedder.embed(["a book"])[0], atol=1e-6)
        pieces, vectors = embedder.tokens("a fine film")
        assert vectors.shape == (len(pieces), 16)
        # A text longer than the model reads is read in parts, each as if it stood alone.
        reader = embedder.readers[0]
        long = " ".join(["a fine film"] * 40)
        pieces, vectors = embedder.tokens(long)
        ids = reader.tokenizer.encode(long)
        parts = reader.parts(ids)
        assert vectors.shape == (len(ids), 16) == (len(pieces), 16)
        assert [i for part in parts for i in part] == ids
        assert len(parts) > 1
        assert max(map(len, parts)) <= reader.room
        alone = reader.features(parts[1])[1:-1].detach().numpy()
        first = len(parts[0])
        np.testing.assert_allclose(vectors[first : first + len(parts[1])], alone, atol=1e-6)
        means = np.concatenate([reader.features(part).detach().numpy() for part in parts])
        np.testing.assert_allclose(embedder.embed([long])[0], means.mean(0), atol=1e-5)


def test_a_classifier_begins_from_a_masked_language_model(
    folder: Path, runs: dict[str, Path], tmp_path: Path
) -> None:
    start = runs["masked-language-model"]
    settings = (f"train.from_run={start}", "train.steps=2", "train.learning_rate=1e-9")
    run = train(recipe_of(folder, "classification", *settings, model=False), tmp_path / "tuned")
    assert run.tokenizers().source.to_json() == Run(start).tokenizers().source.to_json()
    tuned, _ = read_tensors(run.model_path)
    before, _ = read_tensors(Run(start).model_path)
    name = "encoder.0.feed_forward.inner.weight"
    np.testing.assert_allclose(tuned[f"reader.{name}"], before[name], atol=1e-6)
    assert run.recipe().model == Run(start).recipe().model
    other = recipe_of(folder, "tagging", f"train.from_run={start}", "model.d_model=8")
    with pytest.raises(RecipeError, match=r"in the recipe's model, there it is \(\d+, 16\)"):
        train(other, tmp_path / "other")
    assert not (tmp_path / "other" / "recipe.toml").exists()  # another try begins anew
    with pytest.raises(RecipeError, match="cannot become one for language-model"):
        train(
            parse(
                {
                    "task": "language-model",
                    "data": {"train": ["x"]},
                    "train": {"from_run": str(start)},
                },
                "",
            ),
            tmp_path / "third",
        )


def test_pairs_of_sentences_can_be_learned_as_well(folder: Path, tmp_path: Path) -> None:
    pairs = ("model.pooler=true", "model.next_sentence=true", "model.num_segments=2")
    settings = (*pairs, "data.whole_words=true", "train.steps=2")
    run = train(recipe_of(folder, "masked-language-model", *settings), tmp_path)
    assert 0 <= run.info()["validation"]["next_sentence_accuracy"] <= 100
    assert Filler.load(tmp_path).fill("a [MASK] film . [SEP] a book .").candidates[0]


def test_a_translators_encoder_gives_vectors(finished: Path) -> None:
    embedder = Embedder.load(finished)
    vectors = embedder.embed(["1 2 3", "3"])
    assert vectors.shape == (2, 16)
    np.testing.assert_allclose(vectors[1], embedder.embed(["3"])[0], atol=1e-6)
    pieces, each = embedder.tokens("1 2 3")
    assert each.shape == (len(pieces), 16)


def test_embeddings_begin_with_known_vectors(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    lines = [
        f"{word} " + " ".join(str(i + n) for n in range(16))
        for i, word in enumerate((*GOOD, "zzz"))
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    settings = (f"data.embeddings={path}", "tokenizer.kind=word", "train.steps=1")
    events = list(training_run(recipe_of(folder, "classification", *settings), tmp_path / "run"))
    notes = [event.text for event in events if isinstance(event, Note)]
    assert any("vectors for 3 of" in note for note in notes)
    path.write_text("fine 1 2 3\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"vectors of 3 numbers.*model\.d_model=3"):
        train(recipe_of(folder, "classification", *settings), tmp_path / "other")


def test_embeddings_begin_with_what_counting_tells(folder: Path, tmp_path: Path) -> None:
    settings = ("data.cooccurrence_window=4", "train.steps=1", "train.learning_rate=1e-12")
    recipe = recipe_of(folder, "masked-language-model", *settings)
    events = list(training_run(recipe, tmp_path))
    assert any("Counting which" in event.text for event in events if isinstance(event, Phase))
    run = Run(tmp_path)
    pieces = len(run.tokenizers().source)
    model: Any = load_model(run)
    text = Stream.open(run.training / "data", "train")
    counted = cooccurrence_vectors(text, pieces, 16, 4)
    known = counted.occurrences > 0
    found = model.embedding.weight[known].detach()
    near = F.cosine_similarity(found[:, : counted.vectors.size(1)], counted.vectors[known])
    assert 0 < known.sum() < pieces
    assert near.min() > 0.999
    strength = model.positions.table.detach().square().mean() / found.square().mean()
    assert 0.8 < strength < 1.25
    foreseen = model.output.bias.detach().softmax(0)
    shares = counted.occurrences / counted.occurrences.sum()
    assert (foreseen - shares).abs().max() < 0.05
    # What a finished run knows is not counted anew.
    assert not any(
        "Counting" in getattr(event, "text", "") for event in training_run(recipe, run.folder)
    )


@pytest.mark.parametrize(
    ("task", "settings", "complaint"),
    [
        ("classification", (), "is for masked-language-model, and would do nothing here"),
        ("masked-language-model", ("train.from_run=x",), "cooccurrence_window and train.from_run"),
        (
            "masked-language-model",
            ("data.embeddings=x", "tokenizer.kind=word"),
            "cooccurrence_window and data.embeddings",
        ),
    ],
)
def test_a_model_begins_with_one_thing(
    folder: Path, task: str, settings: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(RecipeError, match=complaint):
        recipe_of(folder, task, "data.cooccurrence_window=4", *settings)


def test_the_commands(
    folder: Path, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(*words: str) -> str:
        main(list(words))
        return capsys.readouterr().out

    run = str(runs["classification"])
    assert answer("classify", run, "a great film").startswith("pos\t")
    picture = tmp_path / "confusion.png"
    data = str(folder / "a.tsv")
    told = json.loads(answer("evaluate", run, "--data", data, "--picture", str(picture), "--json"))
    assert told["scores"]["accuracy"] > 90
    low, high = told["intervals"]["accuracy"]
    assert low <= told["scores"]["accuracy"] <= high
    assert picture.stat().st_size > 1000
    with pytest.raises(SystemExit):
        main(["evaluate", run, "--data", data, "--picture", "confusion.gif"])
    assert "not a kind of picture; end the name in .png" in capsys.readouterr().err
    tagged = answer("tag", str(runs["tagging"]), "a fine film .")
    assert tagged.splitlines()[0] == "a\tB-NP"
    found = json.loads(answer("fill", str(runs["masked-language-model"]), "a [MASK] .", "--json"))
    assert len(found["candidates"][0]) == 5
    masked = runs["masked-language-model"]
    seen = str(folder / FILES["masked-language-model"])
    told = json.loads(answer("evaluate", str(masked), "--data", seen, "--json"))
    assert 1 < told["scores"]["perplexity"] < len(Run(masked).tokenizers().source)
    assert 10 < told["scores"]["accuracy"] <= 100
    with pytest.raises(SystemExit):
        main(["evaluate", str(masked), "--data", seen, "--picture", str(picture)])
    assert "there is nothing to draw of this run" in capsys.readouterr().err
    for more, complaint in {
        ("--beam-size", "3"): "--beam-size: for translators only",
        ("--int8",): "--int8: for translators only",
        ("--bootstrap", "-1"): "--bootstrap. Must be >= 0",
    }.items():
        with pytest.raises(SystemExit):
            main(["evaluate", run, "--data", data, *more])
        assert complaint in capsys.readouterr().err
    answer("evaluate", run, "--data", data, "--output", str(tmp_path / "found.txt"))
    found_labels = (tmp_path / "found.txt").read_text().splitlines()
    texts = [line.split("\t")[1] for line in Path(data).read_text().splitlines()]
    assert found_labels == [each.label for each in Classifier.load(run).classify(texts)]
    tags = ["evaluate", str(runs["tagging"]), "--data", str(folder / FILES["tagging"]), "--json"]
    told = json.loads(answer(*tags, "--output", str(tmp_path / "tags.txt")))
    assert "F1 B-NP" in told["scores"]
    lines = (tmp_path / "tags.txt").read_text().split("\n\n")[0].splitlines()
    words = [line.split("\t")[0] for line in lines]
    assert lines == [f"{w.word}\t{w.label}" for w in Tagger.load(runs["tagging"]).tag([words])[0]]
    answer("embed", run, "a film", "a book", "--output", str(tmp_path / "v.npy"))
    assert np.load(tmp_path / "v.npy", allow_pickle=False).shape == (2, 16)
    assert "labels" in answer("show", run)
    with pytest.raises(SystemExit):
        main(["generate", run, "a"])
    assert "use `regard classify" in capsys.readouterr().err


@pytest.mark.parametrize(("task", "flag"), [("classification", "labelled"), ("tagging", "tagged")])
def test_files_on_the_command_line_go_with_a_run_to_begin_from(
    task: str, flag: str, folder: Path, runs: dict[str, Path], tmp_path: Path
) -> None:
    masked = runs["masked-language-model"]
    words = ["train", f"--{flag}", str(folder / FILES[task]), "--from", str(masked)]
    said = ["--set", "train.steps=8", "--set", "model.dropout=0.25"]
    for _ in range(2):  # the second time it finds what it has done
        main([*words, "--out", str(tmp_path / "run"), *said])
    found = Run(tmp_path / "run")
    # What is said of the model changes that of the run; nothing else does.
    like = Run(masked).recipe().model.model_copy(update={"dropout": 0.25})
    assert found.recipe().model == like
    assert found.tokenizers().source.fingerprint == Run(masked).tokenizers().source.fingerprint


def test_a_preset_has_no_say_in_the_shape_of_another_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.xx", "a.yy"):
        (tmp_path / name).write_text("one two\n")
    pairs = [str(tmp_path / name) for name in ("a.xx", "a.yy")]
    with pytest.raises(SystemExit):
        main(["train", "--pairs", *pairs, "--preset", "fast", "--from", "runs/other"])
    assert "--from takes the run's own shape" in capsys.readouterr().err


@pytest.mark.parametrize("task", ["classification", "tagging", "masked-language-model"])
def test_the_vocabulary_of_another_run_is_taken(
    task: str, folder: Path, runs: dict[str, Path], tmp_path: Path
) -> None:
    other = runs["classification" if task == "tagging" else "tagging"]
    recipe = recipe_of(folder, task, f"tokenizer.folder={other}", "train.steps=1")
    train(recipe, tmp_path / "run")
    assert Run(tmp_path / "run").tokenizers().source.fingerprint == (
        Run(other).tokenizers().source.fingerprint
    )
    assert Run(runs[task]).tokenizers().source.fingerprint != (
        Run(other).tokenizers().source.fingerprint
    )


@pytest.mark.parametrize(
    ("task", "known", "strange"),
    [
        ("classification", "pos\ta great film\n", "odd\ta great film\n"),
        ("tagging", "a B-NP\nfilm I-NP\n\n", "a B-NP\nfilm I-LST\n\n"),
    ],
)
def test_a_label_never_seen_in_training_is_missed(
    task: str,
    known: str,
    strange: str,
    runs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = tmp_path / ("a.tsv" if task == "classification" else "a.conll")
    data.write_text(known + strange)
    words = ["evaluate", str(runs[task]), "--data", str(data), "--json"]
    main(words)
    output = capsys.readouterr()
    told = json.loads(output.out)
    assert told["scores"]["accuracy"] == pytest.approx(50 if task == "classification" else 75)
    unseen = "odd" if task == "classification" else "I-LST"
    assert told["labels"][-1] == unseen
    assert f"counted as missed: {unseen}" in output.err
    assert sum(told["confusion"][-1]) == 1
    data.write_text("so\tstrange\n" if task == "classification" else "a X\nb Y\n\n")
    with pytest.raises(SystemExit):
        main(words)
    assert "is none of the run's" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "task"),
    [
        (["--labelled", "a.tsv"], "classification"),
        (["--tagged", "a.conll"], "tagging"),
        (["--text", "a.txt", "--task", "masked-language-model"], "masked-language-model"),
    ],
)
def test_data_on_the_command_line_is_enough(
    folder: Path, flags: list[str], task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    small = ["train.steps=2", "train.batch_tokens=256", "train.threads=1", "model.d_model=16"]
    if task.startswith("masked"):
        small += ["data.context=16", "model.num_layers=1", "model.num_heads=2"]
    settings = [word for each in small for word in ("--set", each)]
    main(["train", *flags, "--out", str(tmp_path / "run"), *settings])
    assert Run(tmp_path / "run").info()["task"] == task


def test_a_task_that_does_not_fit_the_data(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--labelled", str(folder / "a.tsv"), "--task", "tagging"])
    assert "does not fit the data, which is for classification" in capsys.readouterr().err


def test_a_tagger_reads_letters_and_stands_beside_the_most_frequent_labels(
    folder: Path, tmp_path: Path, outcome: Outcome
) -> None:
    settings = ("letters.filters=8", 'model={kind="recurrent",d_model=16}')
    recipe = recipe_of(folder, "tagging", *settings, model=False)
    whole = train(recipe, tmp_path / "whole").folder
    with closing(training_run(recipe, tmp_path / "stopped")) as events:
        for event in events:
            if isinstance(event, StepReport) and event.step == 19:
                break
    train(recipe, tmp_path / "stopped")
    assert outcome(tmp_path / "stopped") == outcome(whole)
    tagger = Tagger.load(whole)
    assert tagger.model.letters is not None
    assert tagger.model.letters.spelling.any()
    found = tagger.evaluate([["a", "fine", "film"]], [["B-NP", "I-NP", "I-NP"]])
    assert found.score("the most frequent label of each word") == 100
    assert found.score("their span F1") == 100
    assert "the most frequent label of each word" in (whole / "README.md").read_text()
    assert Embedder.load(whole).embed("a fine film").shape == (16,)
    with pytest.raises(RecipeError, match="recurrent"):
        recipe_of(folder, "tagging", "letters.filters=8")
