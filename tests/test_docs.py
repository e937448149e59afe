"""What the documents show is true: commands parse, the Python example runs."""

import re
import shlex
from pathlib import Path

import pytest

from regard.cli import app

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

TINY = """
[data]
train = ["some.fr", "some.en"]
held_out_share = 0.2
[tokenizer]
vocabulary_size = 320
[model]
encoder_layers = 1
decoder_layers = 1
d_model = 16
d_ff = 16
num_heads = 2
[train]
steps = 2
batch_tokens = 256
eval_sentences = 2
threads = 1
[decode]
max_length_ratio = 0.1
"""


def commands() -> list[str]:
    """Every `regard …` of the documents: in indented or fenced lines and between back-ticks."""
    found = []
    for path in DOCUMENTS:
        text = path.read_text("utf-8").replace("\\\n", " ")
        found += re.findall(r"^\s*(?:\$ )?(regard .+)$", text, re.MULTILINE)
        found += re.findall(r"`(regard [^`…]+)`", text)
    return sorted({re.sub(r" +", " ", line.split("<")[0].split(" #")[0]) for line in found})


@pytest.mark.parametrize("command", commands())
def test_a_shown_command_is_understood(command: str) -> None:
    words = [word for word in shlex.split(command)[1:] if word not in ("RUN", "[TEXT…]")]
    if words == ["translate"]:
        words = ["translate", "RUN"]
    app.parse_args(words, exit_on_error=False, print_error=False)


def test_there_are_commands_to_check() -> None:
    assert len(commands()) > 8


def test_the_python_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "demo.toml").write_text(TINY, encoding="utf-8")
    for name, text in (("fr", "Marie a {} ans.\n"), ("en", "Marie is {} years old.\n")):
        lines = "".join(text.format(age) for age in range(60))
        (tmp_path / f"some.{name}").write_text(lines, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert (tmp_path / "runs" / "demo" / "model.safetensors").exists()
