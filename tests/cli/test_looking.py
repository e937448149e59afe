"""Looking inside from the command line, at a run that was written and not trained."""

import json
import random
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch

from regard.cli import main
from regard.configs.transformer import TransformerConfig
from regard.files import read_metadata
from regard.recipe import Recipe, parse
from regard.run import Run
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.weights import build, load_model, save_model, saved_sizes, weights

WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "<b>&": "</script>"}
TEXT = "one two three"


def recipe(folder: Path, **model: object) -> Recipe:
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 2}
    return parse(
        {
            "data": {"folder": str(folder), "train": ["t.en", "t.fr"], "valid": ["v.en", "v.fr"]},
            "model": model or sizes,
            "decode": {"max_length_ratio": 0.1},
        },
        "test",
    )


def write_run(folder: Path, out: Path, **model: object) -> Path:
    texts = [*WORDS, *WORDS.values()]
    tokenizer = Tokenizer.train(texts * 9, kind="word", vocabulary_size=300)
    chosen = recipe(folder, **model)
    torch.manual_seed(3)
    run = Run(out)
    out.mkdir()
    run.save_recipe(chosen)
    run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    sizes = {"inputs": len(tokenizer), "outputs": len(tokenizer)}
    save_model(run, weights(build(chosen, sizes)), step=7, sizes=sizes)
    run.save_info({"step": 7, "languages": ["en", "fr"]})
    (out / "README.md").write_text("# run\n\n- `recipe.toml` repeats the run\n")
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("looking")
    draw = random.Random(1)
    for name, count in (("t", 60), ("v", 6)):
        lines = [draw.choices(list(WORDS), k=draw.randint(1, 4)) for _ in range(count)]
        (folder / f"{name}.en").write_text("".join(" ".join(line) + "\n" for line in lines))
        (folder / f"{name}.fr").write_text(
            "".join(" ".join(WORDS[word] for word in line) + "\n" for line in lines)
        )
    return folder


@pytest.fixture(scope="module")
def written(folder: Path) -> Path:
    return write_run(folder, folder / "run")


@pytest.fixture
def run(written: Path, tmp_path: Path) -> Path:
    """A copy for one test to write into."""
    return shutil.copytree(written, tmp_path / "run")


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    main(arguments)
    return capsys.readouterr().out


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == code
    return capsys.readouterr().err


class Page(HTMLParser):
    """What a page would load, and the data in it."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.tags: list[str] = []
        self.data = ""
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]
        self.inside = ("id", "data") in attrs

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.data += data
            self.inside = False


def test_attend_writes_every_kind_of_file(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {kind: tmp_path / f"map.{kind}" for kind in ("html", "svg", "png", "csv")}
    flags = [word for kind, path in paths.items() for word in (f"--{kind}", str(path))]
    evil = "one <b>& <script>alert(1)</script>"
    shown = said(
        [
            "attend",
            str(run),
            evil,
            "--output",
            "</script> deux",
            *flags,
            "--layer",
            "1",
            "--pieces",
        ],
        capsys,
    )
    assert "the mean of cross.1" in shown
    assert paths["png"].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in paths["svg"].read_bytes()
    page = Page()
    page.feed(paths["html"].read_text("utf-8"))
    assert page.loads == []
    assert page.tags.count("script") == 2
    data = json.loads(page.data)
    assert data["labels"]["target_words"] == ["</script>", "deux"]
    maps = data["maps"]["cross"]
    assert [len(heads) for heads in maps["layers"]] == [2, 2]
    assert len(maps["means"]) == 2
    # It opens with the map that the terminal shows, and says its name.
    assert (data["part"], data["layer"], data["head"]) == ("cross", 1, None)
    assert "the mean of cross.1" in data["name"]
    (first, *rows) = paths["csv"].read_text("utf-8").splitlines()
    assert first.endswith("</s>")
    assert all(abs(sum(map(float, row.split(",")[1:])) - 1) < 1e-5 for row in rows)


@pytest.mark.parametrize(
    ("flags", "code", "sentence"),
    [
        (["--layer", "2"], 1, "no such head"),
        (["--layer", "0", "--head", "5"], 1, "no such head"),
        (["--head", "1"], 2, "say of which layer"),
        (["--picture", "x.gif"], 2, "end the name in .png"),
        (["--csv", "/nowhere/x.csv"], 1, "cannot be written"),
    ],
)
def test_attend_refuses_in_one_sentence(
    run: Path, flags: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in failing(["attend", str(run), TEXT, *flags], capsys, code)


def test_a_found_alignment_is_named_and_used(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = said(["attend", str(run), TEXT], capsys)
    assert "regard inspect alignment" in before
    table = said(["inspect", "alignment", str(run)], capsys)
    assert table.count("cross.") >= 2 * (4 + 2)
    found = json.loads((run / "alignment.json").read_text())
    best = found["scores"][0]
    assert best["aer"] == min(score["aer"] for score in found["scores"])
    assert "which aligns best" in said(["attend", str(run), TEXT], capsys)
    card = (run / "README.md").read_text()
    said(["inspect", "alignment", str(run)], capsys)
    assert (run / "README.md").read_text() == card
    assert card.count("- Alignment: cross.") == 1
    # Other weights: what was measured no longer counts.
    opened = Run(run)
    sizes = saved_sizes(opened, read_metadata(opened.model_path))
    doubled = {name: 2 * weight for name, weight in weights(load_model(opened)).items()}
    save_model(opened, doubled, step=8, sizes=sizes)
    assert opened.finding("alignment") is None


def test_alignments_are_written_as_pharaoh_does(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = said(["translate", str(run), TEXT, "--align", "--engine", "torch"], capsys)
    pairs = [tuple(map(int, link.split("-"))) for link in line.split()]
    assert pairs == sorted(pairs)
    assert all(0 <= source < 3 for source, _ in pairs)
    assert said(["translate", str(run), "", "--align"], capsys) == "\n"


def test_heads_are_switched_off_in_translate(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["translate", str(run), TEXT, "--json", "--engine", "torch"]
    whole = json.loads(said(command, capsys))
    same = json.loads(said([*command, "--heads-only", "cross.*"], capsys))
    assert same["score"] == whole["score"]
    scores = {
        json.loads(said([*command, *flags], capsys))["score"]
        for flags in (
            ["--heads-off", "cross.1.0"],
            ["--heads-only", "cross.1.0"],
            ["--heads-off", "cross,encoder.0", "--heads-how", "mean"],
            ["--heads-off", "cross,encoder.0", "--heads-how", "uniform"],
        )
    }
    assert len(scores | {whole["score"]}) == 5
    assert "no such head" in failing([*command, "--heads-off", "cross.7"], capsys)


@pytest.mark.parametrize("command", [["heads"], ["inspect", "alignment"]])
def test_what_cannot_be_kept_is_shown_all_the_same(
    command: list[str], run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / f"{command[-1]}.json").mkdir()  # a way to be refused that root feels, too
    main([*command, str(run), "--sentences", "4"])
    told = capsys.readouterr()
    assert "cross" in told.out
    assert "what was measured cannot be kept there" in " ".join(told.err.split())


def test_heads_are_measured_once_and_removed(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "heads.png"
    flags = ["--sentences", "6", "--curve", "--picture", str(picture)]
    table = said(["heads", str(run), *flags], capsys)
    assert "With all 12 heads" in table
    assert picture.read_bytes().startswith(b"\x89PNG")
    kept = (run / "heads.json").stat().st_mtime_ns
    found = json.loads(said(["heads", str(run), "--sentences", "6", "--json"], capsys))
    assert (run / "heads.json").stat().st_mtime_ns == kept
    assert len(found["heads"]) == 12
    assert [point["kept"] for point in found["curve"]] == [12, 11, 10, 9, 8, 7, 6]
    out = tmp_path / "smaller"
    said(["prune", str(run), "--keep", "75%", "--out", str(out), "--sentences", "6"], capsys)
    gone = [name for point in found["curve"] for name in point["removed"]][:3]
    command = [TEXT, "--json", "--engine", "torch"]
    pruned = json.loads(said(["translate", str(out), *command], capsys))
    off = ["--heads-off", ",".join(gone)]
    without = json.loads(said(["translate", str(run), *command, *off], capsys))
    assert pruned["tokens"] == without["tokens"]
    assert pruned["score"] == pytest.approx(without["score"], abs=1e-5)
    smaller = Run(out)
    assert smaller.info()["pruned_from"] == str(run)
    model = smaller.recipe().model
    assert isinstance(model, TransformerConfig)
    counts = (*model.encoder_heads, *model.decoder_heads, *model.cross_heads)
    assert (len(counts), sum(counts)) == (6, 9)
    assert smaller.model_path.stat().st_size < Run(run).model_path.stat().st_size


@pytest.mark.parametrize(
    ("keep", "code", "sentence"),
    [
        ("half", 2, "like 50% or 12"),
        ("nan%", 2, "like 50% or 12"),
        ("5", 1, "keep from 6"),
        ("13", 1, "keep from 6"),
    ],
)
def test_prune_refuses_in_one_sentence(
    run: Path,
    tmp_path: Path,
    keep: str,
    code: int,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["prune", str(run), "--keep", keep, "--out", str(tmp_path / "new")]
    assert sentence in failing(command, capsys, code)
    assert not (tmp_path / "new").exists()


def test_a_pruned_run_is_refused_by_ctranslate2(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ctranslate2")
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 16, "num_heads": 2}
    run = write_run(folder, tmp_path / "pruned", **sizes, cross_heads=[1])
    error = failing(["translate", str(run), TEXT, "--engine", "ctranslate2"], capsys)
    assert "have lost heads" in error
    assert said(["translate", str(run), TEXT], capsys)  # by torch


def test_positions_are_shown_and_drawn(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "positions.svg"
    shown = said(
        ["inspect", "positions", str(run), "--length", "8", "--picture", str(picture)], capsys
    )
    assert "sinusoidal" in shown
    assert b"<svg" in picture.read_bytes()
    found = json.loads(said(["inspect", "positions", str(run), "--length", "8", "--json"], capsys))
    assert (len(found["table"]), len(found["table"][0]), len(found["dots"])) == (8, 16, 8)
    failed = failing(["inspect", "positions", str(run), "--length", "0"], capsys, code=2)
    assert "--length. Must be >= 1" in failed


def test_a_model_without_attention_has_nothing_to_show(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(folder, tmp_path / "rnn", kind="recurrent", d_model=16, attention="none")
    for command in (["attend", str(run), TEXT], ["heads", str(run)]):
        assert "no attention" in failing(command, capsys)
    assert "attends to no source" in failing(["inspect", "alignment", str(run)], capsys)
    assert "counts no positions" in failing(["inspect", "positions", str(run)], capsys)
    pruning = ["prune", str(run), "--keep", "50%", "--out", str(tmp_path / "new")]
    assert "no heads to remove" in failing(pruning, capsys)
