"""Model folders as a stranger could make them: each is a good run that was changed.

`originals` makes the good runs, one for each kind of model. `FOLDERS` lists the changes.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image

from regard.data.series import Series, SeriesTable
from regard.data.series_arrays import save_table
from regard.data.steps import Clock, Step
from regard.data.zones import HOUR
from regard.files import read_arrays, read_metadata, write_arrays
from regard.recipe import parse
from regard.run import Run
from regard.text.word_vocabulary import WordVocabulary
from regard.weights import build, load_model, save_model, saved_sizes, weights
from tests.captioned_runs import CAPTIONERS, MATCHERS, disturb
from tests.captioned_runs import write_run as write_captioned

OLD = Path(__file__).resolve().parent / "old_runs"
FROM_OLD = {
    "translator": "translation-transformer",
    "recurrent translator": "translation-recurrent",
    "writer": "language-model-gpt",
    "filler": "masked-language-model",
    "classifier": "classification-bert",
    "tagger": "tagging",
}
SEEING = {"captioner", "matcher", "image classifier"}
Change = Callable[[Path], object]


class Hostile(NamedTuple):
    name: str
    kind: str
    change: Change
    # Whether the command that answers with the run must refuse it. Else the harm is in what that
    # command does not read, or does no harm.
    refused: bool = True


def originals(folder: Path) -> dict[str, Path]:
    """A good run of each kind."""
    made = {}
    for kind, name in FROM_OLD.items():
        made[kind] = folder / kind.replace(" ", "-")
        shutil.copytree(OLD / name, made[kind])
        run = Run(made[kind])
        sizes = saved_sizes(run, read_metadata(run.model_path))
        save_model(run, weights(load_model(run)), 200, sizes)
    for kind, task, sections in (
        ("captioner", "captioning", CAPTIONERS["lstm"]),
        ("matcher", "matching", MATCHERS["mean"]),
    ):
        made[kind] = write_captioned(folder / kind, task, sections)
    made["image classifier"] = write_run(
        folder / "image-classifier",
        {
            "task": "image-classification",
            "data": {"train": ["photos"], "image_size": 8},
            "model": {"kind": "cnn", "widths": [8, 8]},
        },
        {"height": 8, "width": 8, "channels": 3, "outputs": 3},
    )
    Run(made["image classifier"]).save_labels(["blue", "green", "red"])
    words = ("king", "queen", "man", "woman")
    made["vectors"] = write_run(
        folder / "vectors",
        {"task": "word-vectors", "data": {"train": ["a.txt"]}, "model": {"d_model": 8}},
        {"inputs": len(words)},
    )
    made["forecaster"] = write_run(
        folder / "forecaster",
        {
            "task": "forecasting",
            "data": {"train": ["a.csv"], "context": 8, "horizon": 2, "known": ["warm"]},
            "model": {"kind": "linear"},
        },
        {"context": 8, "horizon": 2, "season": 1, "known": 5},
    )
    save_table(hours(), made["forecaster"] / "series.safetensors")
    vocabulary = WordVocabulary(words, np.array([9, 8, 7, 6], np.int64))
    (made["vectors"] / "vocabulary.tsv").write_text(vocabulary.to_tsv())
    return made


def hours() -> SeriesTable:
    """Two days of hours, and whether it was warm."""
    values = np.arange(48, dtype=np.float64) % 24
    series = [Series(name, 0, values, np.zeros((50, 1))) for name in ("north", "south")]
    return SeriesTable(series, Clock(Step(HOUR, "microsecond"), "Europe/Berlin"), "load", ("warm",))


def write_run(folder: Path, values: dict[str, Any], sizes: dict[str, int]) -> Path:
    recipe, run = parse(values, "test"), Run(folder)
    folder.mkdir()
    run.save_recipe(recipe)
    torch.manual_seed(1)
    model = build(recipe, sizes)
    disturb(model)
    save_model(run, weights(model), 1, sizes)
    run.save_info({"step": 1, "regard": "0.1.0", "torch": "2", "seconds": 1.0, "machine": "x"})
    return folder


def inputs(folder: Path) -> dict[str, Path]:
    """What a person gives to the commands: data of each kind."""
    image = folder / "photo.png"
    Image.fromarray(np.full((16, 16, 3), 99, np.uint8)).save(image)
    for label in ("blue", "green", "red"):
        (folder / "photos" / label).mkdir(parents=True)
        for number in range(12):
            pixels = np.full((16, 16, 3), number, np.uint8)
            Image.fromarray(pixels).save(folder / "photos" / label / f"{number}.png")
    rows = [f"2024-01-{1 + hour // 24:02} {hour % 24:02}:00,{hour % 24},0" for hour in range(240)]
    (folder / "load.csv").write_text("\n".join(["time,load,warm", *rows, ""]))
    return {"image": image, "photos": folder / "photos", "series": folder / "load.csv"}


def commands(kind: str, run: Path, given: dict[str, Path]) -> dict[str, list[str]]:
    """The commands that open a run: the one that answers with it is `use`."""
    image, data, steps = str(given["image"]), OLD / "data", "--set=train.steps=1"
    pairs = [f"{data}/train.en", f"{data}/train.de"]
    use = {
        "translator": ["translate", "the old dog"],
        "recurrent translator": ["translate", "the old dog"],
        "writer": ["generate", "the old", "--max-tokens=5"],
        "filler": ["fill", "the [MASK] dog"],
        "classifier": ["classify", "a fine song"],
        "tagger": ["tag", "the old dog"],
        "captioner": ["caption", image],
        "matcher": ["match", image, "a red star", "a green heart"],
        "image classifier": ["classify", image],
        "vectors": ["neighbours", "king"],
        "forecaster": ["forecast"],
    }[kind]
    attended = {"forecaster": []}.get(kind, [image] if kind in SEEING else ["the old dog"])
    attended += ["--text=a red star"] if kind == "matcher" else []
    target = "huggingface" if kind in ("translator", "writer", "filler") else "word2vec"
    trained = {
        "translator": ["--pairs", *pairs],
        "recurrent translator": ["--pairs", *pairs],
        "classifier": ["--labelled", f"{data}/train.tsv"],
        "tagger": ["--tagged", f"{data}/train.conll"],
        "image classifier": ["--images", str(given["photos"])],
        "captioner": ["--images", str(given["photos"])],
        "matcher": ["--images", str(given["photos"])],
        "forecaster": ["--series", str(given["series"]), "--horizon=2"],
    }.get(kind, ["--text", pairs[0]])
    trained += {"filler": ["--task=masked-language-model"], "vectors": ["--task=word-vectors"]}.get(
        kind, []
    )
    name, *rest = use
    return {
        "show": ["show", str(run)],
        "use": [name, str(run), *rest],
        "attend": ["attend", str(run), *attended],
        "serve": ["serve", str(run), "--port=0"],
        "studio": ["studio", str(run), "--port=0"],
        "export": ["export", str(run), f"--to={target}", "--out=exported"],
        "train": ["train", *trained, "--from", str(run), "--out=trained", "--anyway", steps],
    }


# What becomes of a file.


def link(name: str) -> Change:
    """The file is a link to a good copy in somebody's private folder."""

    def change(folder: Path) -> None:
        outside = folder.parent / "outside"
        outside.mkdir(exist_ok=True)
        (folder / name).touch()
        (folder / name).rename(outside / name)
        (folder / name).symlink_to(outside / name)

    return change


def device(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to("/dev/zero")

    return change


def pipe(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return change


def sparse(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).touch()
        os.truncate(folder / name, 3 << 30)

    return change


def is_folder(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return change


def content(name: str, data: bytes | str) -> Change:
    def change(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)

    return change


def edited(name: str, old: str, new: str) -> Change:
    """A text is another one, in a file that must have it."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text("utf-8")
        assert old in text, f"{folder / name} has no {old}"
        (folder / name).write_text(text.replace(old, new, 1), "utf-8")

    return change


def changed(name: str, edit: Callable[[Any], object]) -> Change:
    """The value of a JSON file is changed in place."""

    def change(folder: Path) -> None:
        value = json.loads((folder / name).read_text("utf-8"))
        edit(value)
        (folder / name).write_text(json.dumps(value), "utf-8")

    return change


def swapped(name: str, kind: str) -> Change:
    """The file of another run."""

    def change(folder: Path) -> None:
        shutil.copy(folder.parents[1] / "originals" / kind / name, folder / name)

    return change


def arrays_with(name: str, edit: Callable[[dict[str, Any], dict[str, str]], object]) -> Change:
    """Other arrays or metadata, with a checksum that is right."""

    def change(folder: Path) -> None:
        arrays, metadata = read_arrays(folder / name)
        edit(arrays, metadata)
        write_arrays(folder / name, arrays, metadata)

    return change


def weights_with(edit: Callable[[dict[str, Any], dict[str, str]], object]) -> Change:
    return arrays_with("model.safetensors", edit)


def foreign(edit: Callable[[dict[str, Any]], object]) -> Change:
    """A tokenizer as transformers writes it, with the pieces of the run's own, changed."""

    def change(folder: Path) -> None:
        path = folder / "tokenizer.json"
        own = json.loads(path.read_text("utf-8"))
        named = {"pad": 0, "unknown": 1, "start": 2, "end": 3}
        pieces = ["<pad>", "<unk>", "<s>", "</s>"]
        own["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
            "special_tokens": {
                role: {"id": role, "ids": [number], "tokens": [pieces[number]]}
                for role, number in named.items()
            },
        }
        own["normalizer"] = {"type": "NFC"}
        own["pre_tokenizer"] = {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "always",
            "split": True,
        }
        own["decoder"] = {"type": "Fuse"}
        edit(own)
        path.write_text(json.dumps(own), "utf-8")

    return change


def sequence(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(parts)}


def replace(old: Any, new: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": old, "content": new}


ESCAPES = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202e"
DEEP = "[" * 100_000 + "]" * 100_000
# The files of each kind that the command which answers reads.
READ = {
    "translator": ("recipe.toml", "source.tokenizer.json", "model.safetensors"),
    "recurrent translator": ("recipe.toml", "tokenizer.json", "model.safetensors"),
    "writer": ("recipe.toml", "tokenizer.json", "model.safetensors"),
    "filler": ("tokenizer.json", "model.safetensors"),
    "classifier": ("tokenizer.json", "labels.json", "run.json"),
    "tagger": ("tokenizer.json", "labels.json"),
    "captioner": ("recipe.toml", "tokenizer.json", "model.safetensors"),
    "matcher": ("tokenizer.json", "model.safetensors"),
    "image classifier": ("labels.json", "model.safetensors"),
    "vectors": ("recipe.toml", "vocabulary.tsv", "model.safetensors"),
    "forecaster": ("recipe.toml", "series.safetensors", "model.safetensors"),
}
WAYS = {"link": link, "device": device, "pipe": pipe, "sparse": sparse, "folder": is_folder}


def unreadable() -> Iterator[Hostile]:
    """Each file that is read is no regular file, or is no text."""
    for kind, files in READ.items():
        for name in files:
            for way, change in WAYS.items():
                yield Hostile(f"{name} {way}", kind, change(name))
    for kind, name in (
        ("translator", "recipe.toml"),
        ("writer", "tokenizer.json"),
        ("classifier", "labels.json"),
        ("classifier", "run.json"),
        ("vectors", "vocabulary.tsv"),
        ("tagger", "model.safetensors"),
    ):
        for title, data in (
            ("empty", b""),
            ("binary", bytes(range(256)) * 9),
            ("deep", DEEP.encode()),
            ("zeros", bytes(100_000)),
        ):
            yield Hostile(f"{name} {title}", kind, content(name, data))


def recipes() -> Iterator[Hostile]:
    for title, text in {
        "dotted key": "a." * 50_000 + "a = 1",
        "brackets": "a = " + "[" * 100_000,
        "digits": "seed = " + "1" * 100_000,
        "hexadecimal": "seed = 0x" + "f" * 100_000,
        "many tables": "".join(f"[t{i}]\n" for i in range(30_000)),
        "unknown task": 'task = "../../../etc/passwd"',
        "task list": 'task = ["translation"]',
        "escapes": f'task = "{ESCAPES}"'.replace("\x1b", "\\u001B").replace("\x07", "\\u0007"),
    }.items():
        yield Hostile(f"recipe {title}", "translator", content("recipe.toml", text))
    for title, old, new in (
        ("negative width", "d_model = 16", "d_model = -16"),
        ("zero heads", "num_heads = 2", "num_heads = 0"),
        ("huge layers", "encoder_layers = 1", "encoder_layers = 1000000000"),
        ("huge width", "d_model = 16", "d_model = 4611686018427387904"),
        ("nan", "dropout = 0.1", "dropout = nan"),
        ("text for number", "d_model = 16", 'd_model = "wide"'),
        ("other shapes", "d_model = 16", "d_model = 32"),
        ("unknown key", "d_model = 16", "d_model = 16\n__class__ = 1"),
    ):
        yield Hostile(f"recipe {title}", "translator", edited("recipe.toml", old, new))


def facts() -> Iterator[Hostile]:
    """run.json, labels.json, log.jsonl and the rest with values of other kinds."""
    for title, key, value in (
        ("step text", "step", "many"),
        ("step huge", "step", 10**400),
        ("step list", "step", [1]),
        ("seconds text", "seconds", "\x1b[2J"),
        ("validation list", "validation", [1, 2]),
        ("validation text", "validation", {"temperature": "hot"}),
        ("temperature nan", "validation", {"temperature": float("nan")}),
        ("parameters text", "parameters", {"a": []}),
        ("format", "format", 99),
    ):
        edit = lambda info, key=key, value=value: info.__setitem__(key, value)  # noqa: E731
        yield Hostile(f"run.json {title}", "classifier", changed("run.json", edit), False)
    for title, labels in (
        ("numbers", [1, 2]),
        ("too few", ["one"]),
        ("too many", ["a", "b", "c", "d", "e", "f", "g"]),
        ("surrogate", ["good", "\ud800"]),
        ("text", "good"),
    ):
        edit = lambda found, labels=labels: found.__setitem__("labels", labels)  # noqa: E731
        yield Hostile(f"labels {title}", "classifier", changed("labels.json", edit))
    edit = lambda found: found.__setitem__("labels", [ESCAPES, f"x{ESCAPES}"])  # noqa: E731
    yield Hostile("labels escapes", "classifier", changed("labels.json", edit), False)
    for way, change in WAYS.items():
        yield Hostile(f"log {way}", "writer", change("log.jsonl"), False)
        yield Hostile(f"run.json {way}", "translator", change("run.json"), False)
        yield Hostile(f"alignment {way}", "translator", change("alignment.json"), False)
        yield Hostile(f"confidence {way}", "translator", change("confidence.json"), False)
    yield Hostile("log deep", "writer", content("log.jsonl", DEEP + "\n"), False)
    yield Hostile("alignment deep", "translator", content("alignment.json", DEEP), False)
    yield Hostile("python", "writer", content("__init__.py", "raise SystemExit(7)"), False)
    yield Hostile("lock pipe", "writer", pipe("training/lock"), False)
    languages = lambda info: info.__setitem__("languages", [ESCAPES, "../../x"])  # noqa: E731
    yield Hostile("languages", "translator", changed("run.json", languages), False)
    yield Hostile("words counts", "vectors", content("vocabulary.tsv", "king\t" + "9" * 400 + "\n"))
    yield Hostile("words negative", "vectors", content("vocabulary.tsv", "king\t-1\nqueen\t2\n"))
    yield Hostile("words others", "vectors", content("vocabulary.tsv", "king\t3\nqueen\t2\n"))


def weight_files() -> Iterator[Hostile]:
    huge = (1 << 62).to_bytes(8, "little")
    header = b'{"a":{"dtype":"F32","shape":[9223372036854775807],"data_offsets":[0,4]}}'
    for title, data in (
        ("huge header", huge + b"{}"),
        ("deep header", (100_000).to_bytes(8, "little") + b"[" * 100_000),
        ("huge shape", len(header).to_bytes(8, "little") + header + bytes(4)),
    ):
        yield Hostile(f"weights {title}", "writer", content("model.safetensors", data))
    for title, sizes in (
        ("deep", DEEP),
        ("negative", '{"inputs": -1, "outputs": -1}'),
        ("huge", '{"inputs": 1000000000, "outputs": 1000000000}'),
        ("text", '{"inputs": "1"}'),
        ("none", "{}"),
        ("digits", '{"inputs": ' + "1" * 10_000 + "}"),
    ):
        edit = lambda _, about, sizes=sizes: about.__setitem__("sizes", sizes)  # noqa: E731
        yield Hostile(f"sizes {title}", "writer", weights_with(edit))

    def not_finite(arrays: dict[str, Any], _: dict[str, str]) -> None:
        for name in arrays:
            arrays[name] = np.full_like(arrays[name], np.nan)

    def renamed(arrays: dict[str, Any], _: dict[str, str]) -> None:
        arrays["../../outside"] = arrays.pop(next(iter(arrays)))

    def turned(arrays: dict[str, Any], _: dict[str, str]) -> None:
        for name, array in arrays.items():
            arrays[name] = np.ascontiguousarray(array.T)

    for title, change in (("not finite", not_finite), ("renamed", renamed), ("turned", turned)):
        yield Hostile(f"weights {title}", "translator", weights_with(change))

    def flipped(folder: Path) -> None:
        data = bytearray((folder / "model.safetensors").read_bytes())
        data[-1] ^= 1
        (folder / "model.safetensors").write_bytes(data)

    yield Hostile("weights checksum", "translator", flipped)
    yield Hostile("weights of another", "writer", swapped("model.safetensors", "filler"))


def tokenizers() -> Iterator[Hostile]:
    doubling = sequence(*[replace({"String": "a"}, "aa")] * 30)
    nested: dict[str, Any] = {"type": "NFC"}
    for _ in range(60):
        nested = sequence(nested)
    changes: dict[str, Callable[[dict[str, Any]], object]] = {
        "doubling": lambda found: found.update(normalizer=doubling),
        "empty pattern": lambda found: found.update(normalizer=replace({"String": ""}, "x")),
        "long content": lambda found: found.update(
            normalizer=replace({"String": "a"}, "x" * 5_000_000)
        ),
        "prepend": lambda found: found.update(
            normalizer={"type": "Prepend", "prepend": "x" * 5_000_000}
        ),
        "pattern list": lambda found: found.update(
            pre_tokenizer={
                "type": "Split",
                "pattern": {"Regex": ["a"]},
                "behavior": "Isolated",
                "invert": False,
            }
        ),
        "pattern text": lambda found: found.update(normalizer=replace("a", "b")),
        "slow pattern": lambda found: found.update(normalizer=replace({"Regex": "(a|a)*b"}, "x")),
        "many parts": lambda found: found.update(normalizer=sequence(*[{"type": "NFC"}] * 9999)),
        "nested": lambda found: found.update(normalizer=nested),
        "bytes again": lambda found: found.update(
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
                ]
                * 30,
            }
        ),
        "decoder doubling": lambda found: found.update(
            decoder={"type": "Sequence", "decoders": doubling["normalizers"]}
        ),
        "decoder appends": lambda found: found.update(
            decoder={"type": "BPEDecoder", "suffix": "x" * 9999}
        ),
        "dropout": lambda found: found["model"].update(dropout=0.9),
        "merges": lambda found: found["model"].update(merges=[["x", "y"]] * 9),
        "added": lambda found: found.update(
            added_tokens=[{"id": 10**6 + i, "content": f"x{i}"} for i in range(50_000)]
        ),
        "added id": lambda found: found.update(added_tokens=[{"id": -1, "content": "x"}]),
        "no model": lambda found: found.pop("model"),
        "type list": lambda found: found.update(normalizer={"type": ["NFC"]}),
        "truncation": lambda found: found.update(truncation={"max_length": 1}),
        "special": lambda found: found["post_processor"].update(special_tokens={"pad": 1}),
    }
    for title, edit in changes.items():
        yield Hostile(f"tokenizer {title}", "writer", foreign(edit))
    own: dict[str, Callable[[dict[str, Any]], object]] = {
        "ids": lambda found: found["model"]["vocab"].update(x=10**9),
        "piece": lambda found: found["model"]["vocab"].update({"x" * 9999: 1}),
        "more pieces": lambda found: found["model"]["vocab"].update(
            {f"zz{i}": len(found["model"]["vocab"]) + i for i in range(50)}
        ),
        "rules": lambda found: found["normalizer"]["normalizers"].extend(
            [replace({"String": " "}, "« ")] * 40
        ),
        "large": lambda found: found.update(comment="x" * 20_000_000),
    }
    for title, edit in own.items():
        yield Hostile(f"tokenizer {title}", "recurrent translator", changed("tokenizer.json", edit))
    yield Hostile("tokenizer of another", "writer", swapped("tokenizer.json", "matcher"))


def tables() -> Iterator[Hostile]:
    """The end of the series that a forecaster has learned from, with a checksum that is right."""

    def with_facts(edit: Callable[[dict[str, Any]], object]) -> Change:
        def change(_: dict[str, Any], about: dict[str, str]) -> None:
            facts = json.loads(about["table"])
            edit(facts)
            about["table"] = json.dumps(facts)

        return arrays_with("series.safetensors", change)

    for title, name, value in (
        ("unknown unit", "step", [1, "lustrum"]),
        ("step zero", "step", [0, "day"]),
        ("step huge", "step", [10**17, "month"]),
        ("step negative", "step", [-1, "microsecond"]),
        ("step text", "step", "1h"),
        ("other step", "step", [1, "day"]),
        ("no calendar", "step", [1, "row"]),
        ("zone path", "zone", "../../../etc/passwd"),
        ("zone escapes", "zone", ESCAPES),
        ("names numbers", "names", [1, 2]),
        ("names too many", "names", ["a", "b", "c"]),
        ("names half", "names", ["\ud800", "b"]),
        ("known more", "known", ["warm", "cold"]),
        ("remarks numbers", "remarks", [1]),
        ("deep", "remarks", json.loads("[" * 40 + "]" * 40)),
    ):
        edit = lambda facts, name=name, value=value: facts.__setitem__(name, value)  # noqa: E731
        yield Hostile(f"table {title}", "forecaster", with_facts(edit))
    escapes = {"names": [ESCAPES, "b"], "target": ESCAPES, "remarks": [ESCAPES]}
    shown = with_facts(lambda facts: facts.update(escapes))
    yield Hostile("table escapes", "forecaster", shown, False)
    far = np.array([1 << 62, 1 << 62])
    for title, name, array in (
        ("far", "starts", far),
        ("before time", "starts", -far),
        ("starts numbers", "starts", np.zeros(2, np.float32)),
        ("lengths wrap", "lengths", np.array([[far[0], 50], [far[0], 50]])),
        ("lengths negative", "lengths", np.array([[-48, 50], [144, 50]])),
        ("lengths none", "lengths", np.array([[0, 0], [96, 100]])),
        ("values flat", "values", np.zeros((96, 2))),
        ("values texts", "values", np.zeros(96, np.uint8)),
        ("values nan", "values", np.full(96, np.nan)),
        ("values infinite", "values", np.full(96, np.inf)),
        ("values huge", "values", np.full(96, 1e308)),
        ("known flat", "known", np.zeros(100)),
    ):
        other = lambda found, _, name=name, array=array: found.__setitem__(name, array)  # noqa: E731
        yield Hostile(f"table {title}", "forecaster", arrays_with("series.safetensors", other))


def folders_in_it() -> Iterator[Hostile]:
    """Folders in the run that lead elsewhere."""
    for name in ("engines", "training", "search"):

        def change(folder: Path, name: str = name) -> None:
            outside = folder.parent / "outside"
            (outside / ".writing-mine").mkdir(parents=True)
            (outside / "step-00000001.safetensors").write_bytes(b"secret")
            shutil.rmtree(folder / name, ignore_errors=True)
            (folder / name).symlink_to(outside)

        # Nothing is in a folder of this name today.
        yield Hostile(f"{name} link", "translator", change, name != "engines")
    step = "training/step-00000200.safetensors"
    for way in ("link", "device", "pipe", "sparse"):

        def checkpoint(folder: Path, way: str = way) -> None:
            (folder / "training").mkdir(exist_ok=True)
            (folder / step).touch()
            if way == "link":
                (folder / step).unlink()
                (folder / step).symlink_to("/etc/passwd")
            else:
                WAYS[way](step)(folder)

        yield Hostile(f"checkpoint {way}", "writer", checkpoint, way in ("link", "device"))


FOLDERS = [
    *(
        *unreadable(),
        *recipes(),
        *facts(),
        *weight_files(),
        *tokenizers(),
        *tables(),
        *folders_in_it(),
    ),
]
