"""Every command of the lecture note is executed, on small runs with the names that it uses."""

import json
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.cli import main
from regard.recipe import parse
from regard.run import Run
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.weights import build, save_model, weights
from tests.studio.conftest import log_lines, pairs

NOTE = Path(__file__).parent.parent / "docs" / "the-transformer.md"
COMMANDS = [
    *re.findall(r"^    (regard .+)$", NOTE.read_text("utf-8"), re.MULTILINE),
    *re.findall(r"`(regard train [^`]+)`", NOTE.read_text("utf-8")),
]
# They train for minutes; `tests/training` and `tests/cli` train the same way, on less.
TRAINS = ("regard demo", "regard train phrasebook-gru-attention --out runs/gru")
REGARD = [sys.executable, "-m", "regard"]


# The demo's layers and heads, narrow, and a recurrent model. Neither has learned anything.
MODELS: dict[str, dict[str, Any]] = {
    "demo": {"encoder_layers": 2, "decoder_layers": 2, "d_model": 16, "d_ff": 16, "num_heads": 4},
    "gru": {"kind": "recurrent", "cell": "gru", "d_model": 16, "attention": "additive"},
}


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two runs of the note. Commands may write into it."""
    place = tmp_path_factory.mktemp("classroom")
    found = {"train": pairs(40, seed=1), "valid": pairs(8, seed=2)}
    for name, examples in found.items():
        for side, suffix in enumerate(("xx", "yy")):
            lines = "".join(pair[side] + "\n" for pair in examples)
            (place / f"{name}.{suffix}").write_text(lines, encoding="utf-8")
    tokenizer = Tokenizer.train((t for pair in found["train"] for t in pair), vocabulary_size=330)
    for name, sizes in MODELS.items():
        data = {"folder": str(place), "train": ["train.xx", "train.yy"]}
        data["valid"] = ["valid.xx", "valid.yy"]
        recipe = parse({"data": data, "model": sizes, "decode": {"max_length_ratio": 0.1}}, name)
        run = Run(place / "runs" / name)
        run.training.mkdir(parents=True)
        run.save_recipe(recipe)
        run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
        torch.manual_seed(1)
        of_data = {"inputs": len(tokenizer), "outputs": len(tokenizer)}
        save_model(run, weights(build(recipe, of_data)), 1, of_data)
        text = "".join(json.dumps(line) + "\n" for line in log_lines(found["train"]))
        (run.folder / "log.jsonl").write_text(text)
        run.save_info({"step": 1, "languages": ["xx", "yy"], "parameters": 12345})
    return place


def test_the_note_has_commands() -> None:
    assert len(COMMANDS) >= 15
    assert set(TRAINS) <= set(COMMANDS)


@pytest.mark.parametrize("command", [each for each in COMMANDS if each not in TRAINS])
def test_a_command_of_the_note_does_what_it_says(
    command: str,
    classroom: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = shlex.split(command)[1:]
    if words[0] == "studio" and "--publish" not in words:
        opens_a_page(words, classroom)
        return
    monkeypatch.chdir(classroom)
    main(words)
    assert capsys.readouterr().out.strip() or {"--picture", "--html"} & set(words)
    for word in words:
        if word.endswith((".html", ".png")):
            assert (classroom / word).stat().st_size > 1_000


def opens_a_page(words: list[str], classroom: Path) -> None:
    """The studio stays open until it is closed; here without a browser."""
    words = [*(word for word in words if word != "--open"), "--port", "0"]
    with subprocess.Popen([*REGARD, *words], cwd=classroom, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().decode().strip()
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"regard studio" in answer.read()
        finally:
            server.terminate()


@pytest.mark.parametrize("command", TRAINS)
def test_a_training_of_the_note_can_begin(command: str) -> None:
    """What it would train is there."""
    from regard.cli import app
    from regard.recipe_catalogue import catalogue

    app.parse_args(shlex.split(command)[1:], exit_on_error=False, print_error=False)
    names = list(catalogue())
    assert "demo" in names
    assert "phrasebook-gru-attention" in names
