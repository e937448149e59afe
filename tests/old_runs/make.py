"""The runs in this folder, made once by the version before tasks became files.

    python tests/old_runs/make.py

trains a tiny run of every task and kind of model on texts that it writes itself, and notes in each
run's expected.json what that version answered. People have runs as old as these, which must still
load, answer and resume. So the folders are kept as they are; do not make them again.
"""

import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import regard
from regard import (
    Attender,
    Classifier,
    Embedder,
    Filler,
    Run,
    Search,
    Tagger,
    Translator,
    Writer,
    Writing,
)

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
# What a stored recipe says of its data instead of where this machine has it.
STORED_DATA = "tests/old_runs/data"
STEPS = 200
# Settings with which a run is resumed; every update is logged.
RESUMED = ["train.steps=220", "train.eval_every=10", "train.log_every=1"]

NOUNS = {"dog": "Hund", "cat": "Kater", "bird": "Vogel", "baker": "Bäcker", "king": "König"}
ADJECTIVES = {"old": "alte", "young": "junge", "red": "rote", "small": "kleine", "good": "gute"}
VERBS = {"sees": "sieht", "hears": "hört", "finds": "findet", "knows": "kennt", "calls": "ruft"}
TAGS = {"the": "DET", **dict.fromkeys(NOUNS, "NOUN"), **dict.fromkeys(VERBS, "VERB")}
TAGS |= {**dict.fromkeys(ADJECTIVES, "ADJ"), ".": "PUNCT"}
PRAISE = ("fine", "lovely", "warm", "bright")
BLAME = ("dull", "poor", "cold", "grey")


def sentences(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """English and German: the old dog sees the red bird ."""
    chance = random.Random(seed)

    def pick(words: dict[str, str]) -> tuple[str, str]:
        return chance.choice(sorted(words.items()))

    for _ in range(count):
        (a, x), (b, y), (c, z) = pick(ADJECTIVES), pick(NOUNS), pick(VERBS)
        (d, u), (e, v) = pick(ADJECTIVES), pick(NOUNS)
        yield f"the {a} {b} {c} the {d} {e} .", f"der {x} {y} {z} den {u}n {v} ."


def reviews(count: int, seed: int) -> Iterator[tuple[str, str]]:
    chance = random.Random(seed)
    for _ in range(count):
        label, words = chance.choice((("good", PRAISE), ("bad", BLAME)))
        thing = chance.choice(("film", "book", "song"))
        yield label, f"a {chance.choice(words)} and {chance.choice(words)} {thing}"


def write_data() -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    for name, count, seed in (("train", 120, 1), ("valid", 12, 2)):
        pairs = list(sentences(count, seed))
        tagged = ["".join(f"{word}\t{TAGS[word]}\n" for word in en.split()) for en, _ in pairs]
        texts = {
            f"{name}.en": "".join(f"{en}\n" for en, _ in pairs),
            f"{name}.de": "".join(f"{de}\n" for _, de in pairs),
            f"{name}.tsv": "".join(f"{label}\t{text}\n" for label, text in reviews(count, seed)),
            f"{name}.conll": "\n".join(tagged),
        }
        for file, text in texts.items():
            (DATA / file).write_text(text, "utf-8")


TRANSFORMER = """
kind = "transformer"
encoder_layers = 1
decoder_layers = 1
d_model = 16
d_ff = 32
num_heads = 2
dropout = 0.1
tied_embeddings = "output"
"""
RECURRENT = """
kind = "recurrent"
cell = "gru"
d_model = 16
dropout = 0.1
"""
STACK = """
num_layers = 1
d_model = 16
d_ff = 32
num_heads = 2
dropout = 0.1
max_positions = 64
"""
TEXT = 'train = ["train.en"]\nvalid = ["valid.en"]\ncontext = 32'
LABELS = "max_length = 64"


def recipe(task: str, data: str, tokenizer: str, model: str) -> str:
    return f"""task = "{task}"
seed = 1

[data]
folder = "{DATA.as_posix()}"
{data}

[tokenizer]
{tokenizer}

[model]
{model.strip()}

[train]
steps = {STEPS}
batch_tokens = 400
learning_rate = 1e-2
warmup_steps = 20
eval_every = 100
eval_sentences = 4
save_every = 100
log_every = 10
keep = 1
average = 1
device = "cpu"
precision = "float32"
processes = 1
threads = 1
"""


CHARACTERS = 'kind = "character"\nvocabulary_size = 320'
PIECES = "vocabulary_size = 320"
RECIPES = {
    "translation-transformer": recipe(
        "translation",
        'train = ["train.en", "train.de"]\nvalid = ["valid.en", "valid.de"]\nmax_length = 64',
        f"{PIECES}\njoint = false",
        TRANSFORMER,
    ),
    "translation-recurrent": recipe(
        "translation",
        'train = ["train.de", "train.en"]\nvalid = ["valid.de", "valid.en"]\nmax_length = 64',
        PIECES,
        f'{RECURRENT}attention = "additive"',
    ),
    "language-model-gpt": recipe("language-model", TEXT, PIECES, f'kind = "gpt"{STACK}'),
    "language-model-recurrent": recipe(
        "language-model", TEXT, CHARACTERS, f"{RECURRENT}num_layers = 1"
    ),
    "masked-language-model": recipe("masked-language-model", TEXT, PIECES, f'kind = "bert"{STACK}'),
    "classification-recurrent": recipe(
        "classification",
        f'train = ["train.tsv"]\nvalid = ["valid.tsv"]\n{LABELS}',
        CHARACTERS,
        RECURRENT,
    ),
    "classification-bert": recipe(
        "classification",
        f'train = ["train.tsv"]\nvalid = ["valid.tsv"]\n{LABELS}',
        CHARACTERS,
        f'kind = "bert"{STACK}',
    ),
    "tagging": recipe(
        "tagging",
        f'train = ["train.conll"]\nvalid = ["valid.conll"]\n{LABELS}',
        CHARACTERS,
        RECURRENT,
    ),
}


def translated(folder: Path, texts: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"texts": texts}
    search = Search(beam_size=4, n_best=2)
    engines = ["torch"] if "recurrent" in folder.name else ["torch", "ctranslate2"]
    for engine in engines:
        translator = Translator.load(folder, engine=engine)  # type: ignore[arg-type]
        found[engine] = {
            "greedy": translator.translate(texts, beam_size=1),
            "beam": translator.translate(texts),
            "best": [
                [[each.text, each.score] for each in outputs]
                for outputs in translator.translations(texts, search)
            ],
        }
    translator = Translator.load(folder)
    alignment = translator.align(texts[0], found["torch"]["greedy"][0])
    return {**found, "alignment": asdict(alignment)}


def written(folder: Path, texts: list[str]) -> dict[str, Any]:
    writer = Writer.load(folder)
    scored = [[each.piece, each.log_probability] for each in writer.score(texts[0])]
    likeliest = Writing(max_tokens=30, temperature=0)
    drawn = Writing(max_tokens=30, temperature=0.8, seed=3)
    return {
        "texts": texts,
        "generated": [writer.generate(text, likeliest) for text in texts],
        "drawn": [writer.generate(text, drawn) for text in texts],
        "scored": scored,
    }


def filled(folder: Path, texts: list[str]) -> dict[str, Any]:
    filler = Filler.load(folder)
    return {"texts": texts, "filled": [asdict(filler.fill(text, 3)) for text in texts]}


def classified(folder: Path, texts: list[str]) -> dict[str, Any]:
    found = Classifier.load(folder).classify(texts)
    return {"texts": texts, "classified": [asdict(each) for each in found]}


def tagged(folder: Path, texts: list[str]) -> dict[str, Any]:
    found = Tagger.load(folder).tag(texts)
    return {"texts": texts, "tagged": [[asdict(word) for word in each] for each in found]}


EN = ["the old dog sees the red bird .", "the good king hears the young baker ."]
DE = ["der alte Hund sieht den roten Vogel .", "der gute König hört den jungen Bäcker ."]
REVIEWS = ["a fine and warm book", "a dull and cold film"]
ASKED: dict[str, tuple[Callable[[Path, list[str]], dict[str, Any]], list[str]]] = {
    "translation-transformer": (translated, EN),
    "translation-recurrent": (translated, DE),
    "language-model-gpt": (written, ["the old dog ", "the good "]),
    "language-model-recurrent": (written, ["the old dog ", "the good "]),
    "masked-language-model": (filled, ["the old [MASK] sees the red bird .", "the [MASK] king ."]),
    "classification-recurrent": (classified, REVIEWS),
    "classification-bert": (classified, REVIEWS),
    "tagging": (tagged, EN),
}


def answers(folder: Path) -> dict[str, Any]:
    """What a run says, the attention of those that have it, and how its texts are embedded."""
    ask, texts = ASKED[folder.name]
    found = ask(folder, texts)
    plain = [text.replace("[MASK]", "cat") for text in texts]
    found["embedded"] = [row[:4].tolist() for row in Embedder.load(folder).embed(plain)]
    if "gpt" in folder.name or "bert" in folder.name or "masked" in folder.name:
        maps = Attender.load(folder).maps(plain[0])
        weights = maps.decoder if "gpt" in folder.name else maps.encoder
        found["attention"] = weights[0, 0, -1].tolist()
    return found


def losses(folder: Path, after: int = 0) -> dict[str, Any]:
    """By step: of each update, and of each validation with its scores."""
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_bytes().splitlines()]
    entries = [entry for entry in entries if entry["step"] > after]
    left_out = {"event", "step", "seconds", "samples", "crc32"}
    return {
        "updates": {e["step"]: e["loss"] for e in entries if e["event"] == "step"},
        "validations": {
            e["step"]: {name: value for name, value in e.items() if name not in left_out}
            for e in entries
            if e["event"] == "validation"
        },
    }


def rounded(value: Any) -> Any:
    match value:
        case float():
            return round(value, 6)
        case dict():
            return {str(key): rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [rounded(each) for each in value]
    return value


def train(text: str, folder: Path, *settings: str) -> None:
    path = folder.parent / "asked.toml"
    path.write_text(text, "utf-8")
    regard.train(regard.read_recipe(path, settings), folder)
    path.unlink()


def without_this_machine(folder: Path) -> None:
    """Say where the data is within the repository."""
    for path in folder.rglob("*"):
        if path.suffix in (".toml", ".json", ".jsonl", ".md"):
            text = path.read_text("utf-8").replace(str(DATA), STORED_DATA)
            path.write_text(text.replace(str(folder.parent), "tests/old_runs"), "utf-8")
    (folder / "training" / "lock").unlink(missing_ok=True)


def make(name: str) -> None:
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    train(RECIPES[name], folder)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(shutil.copytree(folder, Path(scratch, name)))
        expected = {"answers": answers(copy), "learned": losses(copy)}
        train(RECIPES[name], copy, *RESUMED)
        expected["resumed"] = {
            "settings": RESUMED,
            "learned": losses(copy, after=STEPS),
            "answers": answers(copy),
        }
    assert Run.open(folder).checkpoints()
    without_this_machine(folder)
    shown = json.dumps(rounded(expected), indent=1, ensure_ascii=False)
    (folder / "expected.json").write_text(shown + "\n", "utf-8")


if __name__ == "__main__":
    write_data()
    for each in sys.argv[1:] or RECIPES:
        print(each)
        make(each)
