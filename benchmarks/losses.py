"""The losses of every kind of model, to the last bit, for changes of the code that must not change
what is learned.

    python -m benchmarks.losses > before.txt
    python -m benchmarks.losses > after.txt
    diff before.txt after.txt

trains each recipe below for a few updates, with one thread, on sentences made here, and prints a
line for each: its name, the loss of every update, that of the last validation with its scores, and
a digest of the weights. Names given as arguments choose recipes that begin with them. The same
machine and the same PyTorch give the same lines, others need not.
"""

import hashlib
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

import regard

STEPS = 15
NOUNS = {"dog": "Hund", "cat": "Kater", "bird": "Vogel", "farmer": "Bauer", "child": "Junge"}
ADJECTIVES = {"old": "alte", "tall": "große", "quiet": "stille", "small": "kleine", "wet": "nasse"}
VERBS = {"sees": "sieht", "hears": "hört", "follows": "verfolgt", "loves": "liebt"}
PLACES = {"in the garden": "im Garten", "at night": "bei Nacht", "by the sea": "am Meer", "": ""}
TAGS = {
    **dict.fromkeys(NOUNS, "NOUN"),
    **dict.fromkeys(ADJECTIVES, "ADJ"),
    **dict.fromkeys(VERBS, "VERB"),
    **dict.fromkeys(("the",), "DET"),
    **dict.fromkeys(("in", "at", "by"), "ADP"),
    **dict.fromkeys(("garden", "night", "sea"), "NOUN"),
}


def pairs(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """English and German sentences of unlike lengths."""
    chance = random.Random(seed)

    def pick(words: dict[str, str]) -> tuple[str, str]:
        return chance.choice(list(words.items()))

    for _ in range(count):
        (a, x), (b, y), (c, z), (d, u), (e, v) = map(
            pick, (ADJECTIVES, NOUNS, VERBS, NOUNS, PLACES)
        )
        yield f"The {a} {b} {c} the {d} {e}".strip(), f"Der {x} {y} {z} den {u} {v}".strip()


def write_data(folder: Path) -> None:
    chance = random.Random(3)
    for name, count, seed in (("train", 300, 1), ("valid", 24, 2)):
        found = list(pairs(count, seed))
        files = {f"{name}.en": "\n".join(en for en, _ in found) + "\n"}
        files[f"{name}.de"] = "\n".join(de for _, de in found) + "\n"
        labelled = [("left" if "dog" in en else "right", en) for en, _ in found]
        files[f"{name}.tsv"] = "".join(f"{label}\t{text}\n" for label, text in labelled)
        tagged = [
            "".join(f"{word}\t{TAGS[word.lower()]}\n" for word in en.split()) for en, _ in found
        ]
        files[f"{name}.conll"] = "\n".join(tagged)
        for file, text in files.items():
            (folder / file).write_text(text, "utf-8")
    rows = (f"{word} {' '.join(f'{chance.gauss(0, 1):.4f}' for _ in range(32))}\n" for word in TAGS)
    (folder / "vectors.txt").write_text("".join(rows), "utf-8")


TRAIN = f"""
steps = {STEPS}
batch_tokens = 300
learning_rate = 3e-3
warmup_steps = 5
eval_every = 5
save_every = 5
log_every = 1
device = "cpu"
precision = "float32"
processes = 1
threads = 1
"""
PLAIN = "vocabulary_size = 320"
LAYERS = "encoder_layers = 2\ndecoder_layers = 2\n"
SIZES = "d_model = 32\nd_ff = 64\nnum_heads = 4\ndropout = 0.1\n"
STACK = f"num_layers = 2\n{SIZES}max_positions = 64\n"
DATA = {
    "translation": 'train = ["train.en", "train.de"]\nvalid = ["valid.en", "valid.de"]\n'
    "max_length = 64\n",
    "language-model": 'train = ["train.en"]\nvalid = ["valid.en"]\ncontext = 24\n',
    "masked-language-model": 'train = ["train.en"]\nvalid = ["valid.en"]\ncontext = 24\n',
    "classification": 'train = ["train.tsv"]\nvalid = ["valid.tsv"]\nmax_length = 64\n',
    "tagging": 'train = ["train.conll"]\nvalid = ["valid.conll"]\nmax_length = 64\n',
}


def recipe(
    task: str,
    model: str,
    *,
    data: str = "",
    tokenizer: str = PLAIN,
    head: str = "",
    train: str = "",
    decode: str = "",
) -> str:
    """A recipe as TOML with only what matters to its task; {folder} and {runs} are filled in."""
    sections = {
        "data": f'folder = "{{folder}}"\n{DATA[task]}{data}',
        "tokenizer": tokenizer,
        "model": model,
        "head": head,
        "train": TRAIN + train,
        "decode": decode,
    }
    shown = [f"[{name}]\n{text.strip()}\n" for name, text in sections.items() if text]
    return f'task = "{task}"\nseed = 7\n\n' + "\n".join(shown)


def translator(model: str = "", **sections: str) -> str:
    sections.setdefault("decode", "beam_size = 2")
    sections["train"] = "eval_sentences = 4\n" + sections.get("train", "")
    return recipe("translation", f'kind = "transformer"\n{LAYERS}{SIZES}{model}', **sections)


def recurrent_translator(model: str, **sections: str) -> str:
    sections["train"] = "eval_sentences = 4\n" + sections.get("train", "")
    sizes = 'kind = "recurrent"\nd_model = 32\ndropout = 0.2\n'
    return recipe("translation", sizes + model, **sections)


def gpt(model: str = "", **sections: str) -> str:
    return recipe("language-model", f'kind = "gpt"\n{STACK}{model}', **sections)


def recurrent_writer(cell: str, **sections: str) -> str:
    sizes = f'kind = "recurrent"\ncell = "{cell}"\nnum_layers = 2\nd_model = 32\ndropout = 0.3\n'
    return recipe("language-model", sizes, **sections)


def masked(model: str = "", **sections: str) -> str:
    return recipe("masked-language-model", f'kind = "bert"\n{STACK}{model}', **sections)


def labeller(task: str, model: str = "", pooling: str = "mean", **sections: str) -> str:
    kind = model or f'kind = "bert"\n{STACK}'
    return recipe(task, kind, head=f'pooling = "{pooling}"\ndropout = 0.2', **sections)


def tuned(task: str, run: str, **sections: str) -> str:
    """Begins with the weights and the tokenizer of a recipe above it."""
    train = f'from_run = "{{runs}}/{run}"\n' + sections.pop("train", "")
    return recipe(task, "", tokenizer="", train=train, **sections)


READER = 'kind = "recurrent"\ncell = "{}"\nd_model = 32\ndropout = 0.3\n'
LSTM, GRU = READER.format("lstm"), READER.format("gru")
EVERYTHING = """
accumulate = 2
moving_average = 0.9
label_smoothing = 0.2
optimizer = "adamw"
weight_decay = 0.01
schedule = "cosine"
final_learning_rate = 1e-4
clip_norm = 0.5
"""

RECIPES = {
    "translation/post-norm": translator(),
    "translation/pre-norm": translator('norm = "pre"\nnormalisation = "rms"\n'),
    "translation/learned": translator('positions = "learned"\nmax_positions = 80\n'),
    "translation/rotary": translator('positions = "rotary"\nactivation = "gelu"\n'),
    "translation/swiglu": translator('norm = "pre"\nactivation = "swiglu"\n'),
    "translation/dropouts": translator("attention_dropout = 0.1\nfeed_forward_dropout = 0.1\n"),
    "translation/two-vocabularies": translator(
        'tied_embeddings = "output"\noutput_bias = true\n', tokenizer=f"{PLAIN}\njoint = false"
    ),
    "translation/untied": translator(
        'tied_embeddings = "none"\n', tokenizer=f'{PLAIN}\nkind = "unigram"\nlowercase = true'
    ),
    "translation/everything": translator(
        train=EVERYTHING + 'metric = "chrf"\n',
        decode="beam_size = 3\nlength_penalty = 0.6\nmax_length_ratio = 1.5\nno_repeat_ngram = 2",
    ),
    "translation/characters": translator(tokenizer=f'{PLAIN}\nkind = "character"'),
    "translation/rnn": recurrent_translator(
        'cell = "rnn"\nattention = "none"\nnonlinearity = "relu"\n'
    ),
    "translation/gru-dot": recurrent_translator('cell = "gru"\nattention = "dot"\n'),
    "translation/gru-additive": recurrent_translator(
        'cell = "gru"\nattention = "additive"\nencoder_layers = 2\ndecoder_layers = 2\n'
    ),
    "translation/lstm-none": recurrent_translator(
        'cell = "lstm"\nattention = "none"\nbidirectional = false\n'
    ),
    "translation/lstm-additive": recurrent_translator(
        'cell = "lstm"\nattention = "additive"\ntied_embeddings = "none"\n', train=EVERYTHING
    ),
    "translation/lstm-feeding": recurrent_translator(
        'cell = "lstm"\nattention = "dot"\ninput_feeding = true\ntied_embeddings = "output"\n',
        tokenizer=f"{PLAIN}\njoint = false",
    ),
    "language-model/gpt": gpt(train="eval_sentences = 0\n"),
    "language-model/gpt-rotary": gpt('positions = "rotary"\ntied_embeddings = false\n'),
    "language-model/gpt-sinusoidal": gpt('positions = "sinusoidal"\n', train=EVERYTHING),
    "language-model/gpt-backward": gpt(data='direction = "backward"\n'),
    "language-model/lstm": recurrent_writer("lstm"),
    "language-model/lstm-characters": recurrent_writer(
        "lstm", tokenizer=f'{PLAIN}\nkind = "character"'
    ),
    "language-model/gru": recurrent_writer("gru", train=EVERYTHING),
    "language-model/backward": recurrent_writer("lstm", data='direction = "backward"\n'),
    "masked-language-model/bert": masked(),
    "masked-language-model/whole-words": masked(data="whole_words = true\nmasked_share = 0.3\n"),
    "masked-language-model/next-sentence": masked("pooler = true\nnext_sentence = true\n"),
    "masked-language-model/counted": masked(
        "num_segments = 1\n",
        data="counted_window = 4\n",
        train=EVERYTHING + 'metric = "accuracy"\n',
    ),
    "classification/bert-mean": labeller("classification"),
    "classification/bert-first": labeller("classification", pooling="first", train=EVERYTHING),
    "classification/lstm": labeller("classification", LSTM, train='metric = "macro_f1"\n'),
    "classification/gru-first": labeller(
        "classification", f"{GRU}bidirectional = false\n", pooling="first"
    ),
    "classification/vectors": labeller(
        "classification",
        LSTM,
        data='embeddings = "vectors.txt"\n',
        tokenizer=f'{PLAIN}\nkind = "word"\nlowercase = true',
        train='schedule = "linear"\n',
    ),
    "tagging/bert": labeller("tagging", train='metric = "span_f1"\n'),
    "tagging/bert-first": labeller("tagging", pooling="first", train='schedule = "constant"\n'),
    "tagging/lstm": labeller("tagging", LSTM, train=EVERYTHING),
    "tagging/gru": labeller("tagging", f"{GRU}num_layers = 2\n", pooling="first"),
    "tuned/translation": tuned(
        "translation", "translation/post-norm", train="eval_sentences = 4\n"
    ),
    "tuned/language-model": tuned("language-model", "language-model/gpt"),
    "tuned/masked-language-model": tuned("masked-language-model", "masked-language-model/bert"),
    "tuned/classification": tuned("classification", "masked-language-model/bert"),
    "tuned/tagging": tuned("tagging", "masked-language-model/bert", head='pooling = "first"'),
}


def shown(value: Any) -> str:
    return value.hex() if isinstance(value, float) else str(value)


def digest(path: Path) -> str:
    """Of the numbers in a file of weights, in the order of their names."""
    found = hashlib.sha256()
    for name, tensor in sorted(load_file(path).items()):
        found.update(f"{name} {tensor.shape}".encode() + tensor.tobytes())
    return found.hexdigest()[:16]


def line(name: str, text: str, out: Path) -> str:
    """Train a recipe and tell what there is to compare."""
    path = out.parent / f"{out.name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    losses, validation = [], None
    for event in regard.training_run(regard.read_recipe(path), out):
        # By their names: where the classes are may change.
        match type(event).__name__:
            case "StepReport":
                losses.append(shown(event.loss))
            case "Validation":
                validation = event
    assert len(losses) == STEPS
    assert validation is not None
    scores = [f"{key}={shown(value)}" for key, value in validation.scores.items()]
    weights = digest(out / "model.safetensors")
    return "  ".join((name, *losses, shown(validation.loss), *scores, weights))


def main() -> None:
    chosen = [name for name in RECIPES if name.startswith(tuple(sys.argv[1:]) or "")]
    # With those that others begin from.
    wanted = {name for name in RECIPES if any(f'/{name}"' in RECIPES[each] for each in chosen)}
    wanted |= {*chosen}
    with tempfile.TemporaryDirectory() as scratch:
        folder, runs = Path(scratch, "data"), Path(scratch, "runs")
        folder.mkdir()
        write_data(folder)
        for name, text in RECIPES.items():
            if name in wanted:
                filled = text.format(folder=folder.as_posix(), runs=runs.as_posix())
                print(line(name, filled, runs / name), flush=True)


if __name__ == "__main__":
    main()
