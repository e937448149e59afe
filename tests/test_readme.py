"""The commands of the README work, in a folder with files of the names that it shows.

Each training makes two updates of a tiny model. Commands that wait for Ctrl-C, or that need the
whole phrasebook or a translator that is good, have tests of their own.
"""

import io
import itertools
import re
import shlex
import sys
from pathlib import Path

import pytest

from regard.cli import main
from tests.text.documents.samples import FILES

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
ELSEWHERE = (
    "studio",
    "serve",
    "experiment",
    "compare",
    "distill",
    "evaluate runs/demo",
    "train phrasebook",
)
SMALL = (
    *("model.d_model=16", "train.steps=2", "train.threads=1"),
    *("train.eval_every=2", "train.save_every=2"),
)
OF_TRANSLATORS = (
    "model.num_heads=2",
    "model.d_ff=16",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
)
SENTENCES = {
    "en": (("The dog", "A child", "My sister", "The old man"), ("runs", "sings", "sleeps")),
    "de": (
        ("Der Hund", "Ein Kind", "Meine Schwester", "Der alte Mann"),
        ("läuft", "singt", "schläft"),
    ),
    "fr": (("Le chien", "Un enfant", "Ma sœur", "Le vieil homme"), ("court", "chante", "dort")),
}
PLACES = {
    "en": ("through the snow", "in the garden", "near the river", "behind our house", "in Paris"),
    "de": ("durch den Schnee", "im Garten", "am Fluss", "hinter unserem Haus", "in Paris"),
    "fr": (
        "dans la neige",
        "dans le jardin",
        "près de la rivière",
        "derrière la maison",
        "à Paris",
    ),
}
TIMES = {
    "en": ("", " today", " every morning", " in winter"),
    "de": ("", " heute", " jeden Morgen", " im Winter"),
    "fr": ("", " aujourd'hui", " chaque matin", " en hiver"),
}


def written(language: str) -> str:
    who, does = SENTENCES[language]
    sentences = itertools.product(who, does, PLACES[language], TIMES[language])
    return "".join(f"{a} {b} {c}{d}.\n" for a, b, c, d in sentences)


def commands() -> list[str]:
    """What the README tells a reader to type, in its order."""
    fenced = "".join(re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL))
    lines = [line.strip() for line in README.split("\n") if line.startswith("    regard ")]
    lines += [line for line in fenced.split("\n") if line.startswith("regard ")]
    return [line.removeprefix("regard ") for line in lines]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for language in ("en", "de"):
        for name in ("train", "test", "input"):
            (tmp_path / f"{name}.{language}").write_text(written(language), "utf-8")
    (tmp_path / "demo.fr").write_text(written("fr"), "utf-8")
    (tmp_path / "demo.en").write_text(written("en"), "utf-8")
    royal = "The king is a man, and the queen is a woman.\n" * 9
    (tmp_path / "book.txt").write_text(royal + written("en"), "utf-8")
    rows = [
        f'{("good", "bad")[n % 2]},"{line}"' for n, line in enumerate(written("en").split("\n"))
    ]
    (tmp_path / "reviews.csv").write_text("\n".join(["label,text", *rows[:-1]]) + "\n", "utf-8")
    (tmp_path / "train.conllu").write_text(conllu(), "utf-8")
    for name, sample in (("messages", "a.po"), ("manual", "a.docx"), ("film", "a.srt")):
        suffix = sample.removeprefix("a")
        (tmp_path / f"{name}{suffix}").write_bytes(FILES[sample])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def conllu() -> str:
    text = ""
    for line in written("en").splitlines():
        words = line.replace(".", " .").split()
        tags = [
            "PUNCT" if word == "." else "DET" if word in ("The", "A") else "NOUN" for word in words
        ]
        for number, (word, tag) in enumerate(zip(words, tags, strict=True), 1):
            text += f"{number}\t{word}\t{word}\t{tag}\t_\t_\t0\tdep\t_\t_\n"
        text += "\n"
    return text


def typed(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a line as a shell would, its trainings in small."""
    line, _, source = line.partition(" < ")
    words = shlex.split(line)
    if source:
        given = Path(source.split()[0]).read_text("utf-8")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    if words[0] == "train":
        for setting in (*SMALL, *(OF_TRANSLATORS if "--pairs" in words else ())):
            words += ["--set", setting]
    main(words)


def test_every_command_works(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = [line for line in commands() if not line.startswith(ELSEWHERE)]
    assert len(here) > 12
    typed("train --pairs demo.fr demo.en --out runs/demo", monkeypatch)
    for line in here:
        capsys.readouterr()
        typed(line, monkeypatch)
        if not line.startswith(("train", "export", "file")):
            assert capsys.readouterr().out.strip(), line
    assert (folder / "demo-ct2" / "model.bin").exists()
    assert (folder / "manual.de.docx").read_bytes() != FILES["a.docx"]


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    short = example.replace("range(1000)", "range(100)")
    short = short.replace('"train.steps": 100', '"train.steps": 2, "model.d_model": 16')
    assert short.count("range(100)") == short.count('"train.steps": 2') == 1
    monkeypatch.chdir(tmp_path)
    exec(compile(short, "README.md", "exec"), {})
    assert (tmp_path / "runs" / "cats" / "model.safetensors").exists()
    assert capsys.readouterr().out.endswith("\n")
