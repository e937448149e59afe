"""A run for another program, and the engine by a flag."""

import json
from pathlib import Path

import pytest
import torch

from regard.cli import main
from regard.recipe import parse
from regard.run import Run
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.weights import build, save_model, weights

ctranslate2 = pytest.importorskip("ctranslate2", reason="needs CTranslate2")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "run"
    folder.mkdir()
    tokenizer = Tokenizer.train(["a b c d e f g"], kind="character", vocabulary_size=300)
    recipe = parse(
        {
            "data": {"train": ["a.x", "a.y"], "max_length": 24},
            "model": {"encoder_layers": 1, "decoder_layers": 1, "d_model": 64, "d_ff": 128},
            "decode": {"beam_size": 2, "max_length_ratio": 0.1},
        },
        "test",
    )
    made = Run(folder)
    made.save_recipe(recipe)
    made.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    torch.manual_seed(1)
    sizes = {"inputs": len(tokenizer), "outputs": len(tokenizer)}
    model = build(recipe, sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # so that no two outputs are as good as each other, up to rounding
    save_model(made, weights(model), step=1, sizes=sizes)
    return folder


def failing(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


def test_a_plain_ctranslate2_reads_the_folder(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    main(["export", str(run), "--to", "ctranslate2", "--out", str(out)])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(out) in captured.err
    facts = json.loads((out / "regard.json").read_bytes())
    assert facts["run"] == str(run)
    assert "ctranslate2" in facts["made_by"]
    tokenizer = Tokenizer.load(out / "tokenizer.json")
    pieces = tokenizer.pieces(tokenizer.encode("a b c"))
    (found,) = ctranslate2.Translator(str(out)).translate_batch([pieces], max_decoding_length=9)
    assert all(isinstance(piece, str) for piece in found.hypotheses[0])
    assert list(out.parent.iterdir()) == [out]


def test_int8_is_smaller(run: Path, tmp_path: Path) -> None:
    sizes = []
    for flags in ([], ["--int8"]):
        out = tmp_path / f"out{len(flags)}"
        main(["export", str(run), "--to", "ctranslate2", str(out), *flags])
        ctranslate2.Translator(str(out))
        sizes.append((out / "model.bin").stat().st_size)
    positions = 4 * 4096 * 64
    assert sizes[1] - positions < 0.4 * (sizes[0] - positions)


def test_nothing_is_overwritten(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    full, empty, file = tmp_path / "full", tmp_path / "empty", tmp_path / "file"
    for folder in (full, empty):
        folder.mkdir()
    for path in (full / "mine", file):
        path.write_text("mine")
    for out in (full, file):
        line = failing(["export", str(run), "--to", "ctranslate2", "--out", str(out)], capsys)
        assert line.startswith(f"regard: error: {out}: ")
    assert [path.name for path in full.iterdir()] == ["mine"]
    assert file.read_text() == "mine"
    main(["export", str(run), "--to", "ctranslate2", "--out", str(empty)])
    assert (empty / "model.bin").exists()
    assert not list(tmp_path.glob(".writing-*"))
    capsys.readouterr()
    line = failing(
        ["export", str(tmp_path / "no"), "--to", "ctranslate2", "--out", str(tmp_path / "out")],
        capsys,
    )
    assert "no such run folder" in line


def test_an_engine_by_name(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for engine in ("torch", "ctranslate2", "auto"):
        main(["translate", str(run), "a b", "", "c", "--engine", engine])
        outputs.append(capsys.readouterr().out)
    main(["translate", str(run), "a b", "--n-best", "2", "--int8"])
    assert capsys.readouterr().out.count("\n") == 2
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0].count("\n") == 3
    line = failing(["translate", str(run), "a", "--engine", "ctranslate2", "--prefix", "b"], capsys)
    assert "begin with a prefix" in line
    main(["translate", str(run), "a", "--prefix", "b"])
    assert capsys.readouterr().out.startswith("b")
