"""Maps of models that read one text: language models, masked ones, classifiers and taggers."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from regard.cli import main
from regard.errors import RequestError
from regard.inspect.heads.heads import Part
from regard.layers.attention import attention
from regard.recipe import parse
from regard.run import Run
from regard.tasks.attender import Attender, words_of
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.weights import build, save_model, weights

SIZES = {"num_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 2, "max_positions": 40}
TASKS = {
    "language-model": ("gpt", ["a.txt"]),
    "masked-language-model": ("bert", ["a.txt"]),
    "classification": ("bert", ["a.tsv"]),
    "tagging": ("bert", ["a.conllu"]),
}
SENTENCE = "the grey cat sleeps, unseen"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("maps")
    tokenizer = Tokenizer.train([SENTENCE, "a dog sleeps"] * 3, vocabulary_size=300)
    for task, (kind, files) in TASKS.items():
        torch.manual_seed(5)
        choices: dict[str, Any] = {"kind": kind, **SIZES}
        data = {"train": files, "context" if files == ["a.txt"] else "max_length": 40}
        recipe = parse({"task": task, "data": data, "model": choices}, task)
        run = Run(folder / task)
        run.folder.mkdir()
        run.save_recipe(recipe)
        run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
        labelled = hasattr(recipe, "head")
        if labelled:
            run.labels_path.write_text(json.dumps({"labels": ["glad", "sad"]}))
        outputs = 2 if labelled else len(tokenizer)
        sizes = {"inputs": len(tokenizer), "outputs": outputs}
        model = build(recipe, sizes)
        for parameter in model.parameters():  # sharp enough that maps differ from one another
            parameter.data *= 4
        save_model(run, weights(model), 1, sizes)
    return {task: folder / task for task in TASKS}


@pytest.mark.parametrize("task", TASKS)
def test_a_text_has_a_map_of_each_head(task: str, runs: dict[str, Path]) -> None:
    attender = Attender.load(runs[task])
    maps = attender.maps(SENTENCE)
    part = "decoder" if task == "language-model" else "encoder"
    whole = getattr(maps, part)
    count = len(attender.tokenizer.encode(SENTENCE)) + (0 if part == "decoder" else 2)
    assert whole.shape == (2, 2, count, count)
    assert maps.heads == {"encoder": [], "decoder": [], "cross": [], part: [2, 2]}
    assert_close(whole.sum(-1), torch.ones(2, 2, count))
    assert whole.std() > 0.01
    assert (whole.triu(1).abs().max() == 0) == (part == "decoder")  # which only looks back
    for words in (False, True):
        matrix = maps.matrix(part, 1, 0, words=words)
        assert (len(matrix.rows), len(matrix.columns)) == (len(matrix.weights), len(matrix.rows))
    assert matrix.rows == SENTENCE.split()


@torch.no_grad()
def test_the_weights_are_those_of_the_formula(runs: dict[str, Path]) -> None:
    attender = Attender.load(runs["masked-language-model"])
    model: Any = attender.model
    specials = attender.tokenizer.specials
    ids = torch.tensor([[specials.start, *attender.tokenizer.encode(SENTENCE), specials.end]])
    x = model.embed(ids, None)
    layer = model.encoder[0].self_attention
    query, key, value = (
        each.unflatten(-1, (2, -1)).transpose(1, 2) for each in layer.in_projection(x).chunk(3, -1)
    )
    _, expected = attention(query, key, value)
    assert_close(attender.maps(SENTENCE).encoder[0], expected[0])


def test_masks_and_pairs_are_read_as_they_are_filled(runs: dict[str, Path]) -> None:
    attender = Attender.load(runs["masked-language-model"])
    labels = attender.maps("the [MASK] cat[SEP]a dog").labels
    assert labels.source_words == ["the", "[MASK]", "cat", "a", "dog"]
    ends = [place for place, word in enumerate(labels.source_word) if word == -1]
    assert len(ends) == 3  # start, and the end of each sentence
    plain = attender.maps("the grey cat a dog")
    assert not any(word == "[MASK]" for word in plain.labels.source_words)


def test_words_of_characters_and_spaces() -> None:
    tokenizer = Tokenizer.train([SENTENCE], kind="character", vocabulary_size=300)
    ids = tokenizer.encode("grey cat")
    places, words = words_of(tokenizer, ids)
    assert words == ["grey", "cat"]
    assert len(places) == len(ids)
    assert places == sorted(places)


def test_what_cannot_be_inspected_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    attender = Attender.load(runs["classification"])
    with pytest.raises(RequestError, match="empty"):
        attender.maps("  ")
    with pytest.raises(RequestError, match="the model reads 40; shorten it"):
        attender.maps(SENTENCE * 20)


@pytest.mark.parametrize("task", TASKS)
def test_attend_draws_any_of_them(
    task: str, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "all.html"
    main(["attend", str(runs[task]), SENTENCE, "--html", str(page)])
    part = "decoder" if task == "language-model" else "encoder"
    shown = capsys.readouterr().out
    assert f"the mean of {part}" in shown
    assert all(word in shown for word in SENTENCE.split())
    assert part in page.read_text("utf-8")
    main(["attend", str(runs[task]), SENTENCE, "--layer", "1", "--head", "0"])
    assert f"{part}.1.0" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["attend", str(runs[task]), SENTENCE, "--part", "cross"])
    assert "no such head" in capsys.readouterr().err


@pytest.mark.parametrize("task", TASKS)
def test_attend_measures_what_is_carried(
    task: str, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part: Part = "decoder" if task == "language-model" else "encoder"
    flags = ["--layer", "1", "--head", "0", "--pieces", "--measure", "norm"]
    files = {kind: tmp_path / f"map.{kind}" for kind in ("html", "svg", "png", "csv")}
    named = [each for kind, path in files.items() for each in (f"--{kind}", str(path))]
    main(["attend", str(runs[task]), SENTENCE, *flags, *named])
    assert f"what is carried by {part}.1.0" in capsys.readouterr().out
    maps = Attender.load(runs[task]).maps(SENTENCE)
    expected = maps.weights(part, 1, 0, "norm")
    assert_close(expected.sum(-1), torch.ones(len(expected)))
    with files["csv"].open(encoding="utf-8", newline="") as file:
        written = [list(map(float, row[1:])) for row in list(csv.reader(file))[1:]]
    assert_close(torch.tensor(written), expected)
    page = files["html"].read_text("utf-8")
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["measure"] == "norm"
    shown = torch.tensor(data["maps"][part]["layers"][1][0]) / 1000
    assert_close(shown, expected, atol=6e-4, rtol=0)
    assert all(path.stat().st_size > 500 for path in files.values())
