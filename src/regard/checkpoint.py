"""The run folder: everything a trained model needs, as data that no program ever executes.

    recipe.toml            the whole experiment
    tokenizer.json         or source.tokenizer.json and target.tokenizer.json
    labels.json            what a classifier or tagger tells apart
    model.safetensors      the best weights so far
    run.json               provenance and scores
    log.jsonl  README.md   what happened; a card for people
    training/              checkpoints step-00001000.safetensors and the ids of the data
    alignment.json         what was measured of these weights: heads that align (`regard inspect
    heads.json             alignment`), heads that matter (`regard heads`)
    engines/               the model in other runtimes' forms, made anew when it is missing or old

All of them are written as `regard.files` does: a name always means a whole file.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard.errors import RegardError, RunError
from regard.files import HEADER_BYTES, SCRATCH, take_lock, write_file
from regard.models import Model, build
from regard.recipe import Recipe, read, to_toml
from regard.text.tokenizer import Tokenizers
from regard.weights import load_weights, read_tensors, write_tensors

# The commands that use a run, by its task.
COMMANDS = {
    "translation": (
        'regard translate {run} "…"',
        "regard evaluate {run} --source test.en --reference test.de",
    ),
    "language-model": ('regard generate {run} "…"', "regard score {run} < text.txt"),
    "masked-language-model": (
        'regard fill {run} "… [MASK] …"',
        "regard embed {run} < text.txt",
        "regard evaluate {run} --data test.txt",
    ),
    "classification": ('regard classify {run} "…"', "regard evaluate {run} --data test.tsv"),
    "tagging": ('regard tag {run} "…"', "regard evaluate {run} --data test.conllu"),
}
# A language model that reads from the end cannot go on with a text.
COMMANDS_BACKWARD = ("regard score {run} < text.txt", "regard embed {run} < text.txt")
FORMAT = 1


DRAWING = {
    *(nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_, nn.init.constant_),
    *(Tensor.normal_, Tensor.uniform_, Tensor.zero_, Tensor.fill_),
}


class ShapesOnly(TorchFunctionMode):
    """Draws no weights where there is no memory for them. PyTorch would do that by rules of its
    compiler, which takes longer to load than all the rest.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in DRAWING:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def num_parameters(recipe: Recipe, source_vocabulary: int, target_vocabulary: int) -> int:
    """How many numbers a recipe's model has, found without taking memory for them."""
    with torch.device("meta"), ShapesOnly():
        model = build(recipe.model, source_vocabulary, target_vocabulary, recipe.labels_with)
    return sum(parameter.numel() for parameter in model.parameters())


def commands_for(recipe: Recipe, folder: Path | str) -> list[str]:
    """How to use a run of a recipe."""
    backward = recipe.task == "language-model" and recipe.data.direction == "backward"
    commands = COMMANDS_BACKWARD if backward else COMMANDS[recipe.task]
    return [command.format(run=folder) for command in commands]


@dataclass(frozen=True)
class Run:
    """A folder and what is in it. Nothing is read before it is asked for."""

    folder: Path

    @classmethod
    def open(cls, folder: Path | str) -> "Run":
        """A folder that holds a run, or a sentence that says why it does not."""
        run = cls(Path(folder))
        if not run.folder.is_dir():
            raise RunError(f"{folder}: no such run folder; `regard train` makes one")
        if not run.recipe_path.is_file():
            raise RunError(f"{folder}: not a run folder (it has no recipe.toml)")
        return run

    @property
    def recipe_path(self) -> Path:
        return self.folder / "recipe.toml"

    @property
    def model_path(self) -> Path:
        return self.folder / "model.safetensors"

    @property
    def labels_path(self) -> Path:
        return self.folder / "labels.json"

    @property
    def training(self) -> Path:
        return self.folder / "training"

    @property
    def lock_path(self) -> Path:
        return self.training / "lock"

    @property
    def engines(self) -> Path:
        return self.folder / "engines"

    def recipe(self) -> Recipe:
        try:
            return read(self.recipe_path)
        except RegardError as error:
            raise RunError(str(error)) from None

    def save_recipe(self, recipe: Recipe) -> None:
        write_file(self.recipe_path, to_toml(recipe).encode())

    def recipe_for(self, *tasks: str) -> Recipe:
        """The recipe, if its task is one of these; or a sentence that says what the run can do."""
        recipe = self.recipe()
        if recipe.task not in tasks:
            ways = " or ".join(f"`{each}`" for each in commands_for(recipe, self.folder))
            raise RunError(
                f"{self.folder}: a run of task {recipe.task}, not {' or '.join(tasks)}; use {ways}"
            )
        return recipe

    def info(self) -> dict[str, Any]:
        """Provenance and scores as written in run.json; empty before the first save."""
        path = self.folder / "run.json"
        try:
            info = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            raise RunError(f"{path}: damaged (not valid JSON)") from None
        if not isinstance(info, dict) or info.get("format") != FORMAT:
            raise RunError(f"{path}: written in a format this version of regard does not know")
        return info

    def save_info(self, info: Mapping[str, Any]) -> None:
        text = json.dumps({"format": FORMAT, **info}, indent=2, ensure_ascii=False)
        write_file(self.folder / "run.json", text.encode())

    def fingerprint(self) -> str:
        """Of the weights, told by the header of their file, which holds their checksum."""
        try:
            with self.model_path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
                return hashlib.sha256(file.read(min(size, HEADER_BYTES))).hexdigest()[:16]
        except OSError:
            return ""

    def finding(self, name: str) -> dict[str, Any] | None:
        """What was measured of the weights that are here; None if nothing was, or of others."""
        try:
            found = json.loads((self.folder / f"{name}.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            return None  # measured again when it is asked for
        known = isinstance(found, dict) and found.get("weights") == self.fingerprint()
        return found if known else None

    def save_finding(self, name: str, found: Mapping[str, Any]) -> None:
        text = json.dumps({"weights": self.fingerprint(), **found}, indent=1)
        write_file(self.folder / f"{name}.json", text.encode())

    def has_tokenizers(self) -> bool:
        names = {path.name for path in self.folder.glob("*tokenizer.json")}
        return "tokenizer.json" in names or len(names) == 2

    def tokenizers(self) -> Tokenizers:
        return Tokenizers.load(self.folder)

    def save_tokenizers(self, tokenizers: Tokenizers) -> None:
        if tokenizers.source is tokenizers.target:
            write_file(self.folder / "tokenizer.json", tokenizers.source.to_json().encode())
            return
        for name, tokenizer in tokenizers._asdict().items():
            write_file(self.folder / f"{name}.tokenizer.json", tokenizer.to_json().encode())

    def labels(self) -> list[str]:
        """The labels that a classifier or tagger tells apart, in the order of its outputs."""
        try:
            found = json.loads(self.labels_path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{self.labels_path}: cannot be read ({error})") from None
        match found:
            case {"labels": [*names]} if len(names) > 1 and all(type(n) is str for n in names):
                return names
        raise RunError(f"{self.labels_path}: damaged (no labels in it)")

    def model(self, tokenizers: Tokenizers) -> Model:
        """The translator's model, with the best weights and ready to answer."""
        return cast("Model", self.network(len(tokenizers.source), len(tokenizers.target)))

    def network(self, inputs: int, outputs: int) -> nn.Module:
        """The model of any task, which reads and predicts one of so many; see `build`."""
        if not self.model_path.exists():
            raise RunError(f"{self.folder}: no trained weights yet; `regard train` writes them")
        recipe = self.recipe()
        try:
            expected = 4 * num_parameters(recipe, inputs, outputs)
        except ValueError as error:
            raise RunError(f"{self.recipe_path}: no such model can be built ({error})") from None
        found = self.model_path.stat().st_size
        # Sizes are compared before memory is taken: a recipe may promise anything.
        if not expected <= found <= expected + HEADER_BYTES:
            raise RunError(
                f"{self.model_path}: {found} bytes, the recipe's model has {expected}; "
                "one of the two files is from another run"
            )
        model = build(recipe.model, inputs, outputs, recipe.labels_with)
        tensors, _ = read_tensors(self.model_path)
        load_weights(model, tensors, self.model_path)
        return model.eval()

    def save_model(self, tensors: Mapping[str, Tensor], step: int) -> None:
        write_tensors(self.model_path, tensors, {"step": str(step)})

    def checkpoints(self) -> list[Path]:
        """Checkpoints from the oldest to the newest."""
        paths = self.training.glob("step-*.safetensors")
        return sorted(path for path in paths if path.stem.removeprefix("step-").isdecimal())

    def checkpoint_path(self, step: int) -> Path:
        return self.training / f"step-{step:08d}.safetensors"

    def save_checkpoint(
        self, step: int, tensors: Mapping[str, Tensor], progress: Mapping[str, Any]
    ) -> Path:
        path = self.checkpoint_path(step)
        write_tensors(path, tensors, {"progress": json.dumps(progress), "step": str(step)})
        return path

    def load_checkpoint(self, path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, metadata = read_tensors(path)
        try:
            step, progress = int(metadata["step"]), json.loads(metadata["progress"])
        except (KeyError, ValueError, RecursionError):
            raise RunError(f"{path}: not a checkpoint") from None
        if self.checkpoint_path(step) != path:
            raise RunError(f"{path}: holds step {step}, not the one in its name")
        return tensors, progress

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from training in this folder at the same time."""
        try:
            held = take_lock(self.lock_path)
        except BlockingIOError:
            raise RunError(
                f"{self.folder}: another process is training here; "
                "wait for it, stop it, or choose another --out"
            ) from None
        except OSError as error:
            raise RunError(
                f"{self.lock_path}: cannot be locked ({error.strerror}); choose another --out"
            ) from None
        with held:
            yield

    def sweep(self) -> None:
        """Remove what interrupted writes left behind."""
        for folder in (self.folder, self.engines, self.training, self.training / "data"):
            for scratch in folder.glob(f"{SCRATCH}*"):
                shutil.rmtree(scratch, ignore_errors=True)

    def missing_folders(self) -> list[Path]:
        """What the first start has to make, the innermost first."""
        return [path for path in (self.folder, *self.folder.parents) if not os.path.exists(path)]

    def forget(self, made: Iterable[Path] = ()) -> None:
        """Remove what a start has made before anything was learned, these folders included. Whoever
        calls holds the lock.
        """
        for path in (self.recipe_path, self.labels_path, *self.folder.glob("*tokenizer.json")):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.training / "data", ignore_errors=True)
        # The lock last: from here on, another process may begin.
        self.lock_path.unlink(missing_ok=True)
        for folder in (self.training, *made):
            with suppress(OSError):  # not empty, or no longer there
                folder.rmdir()

    def require_space(self, num_bytes: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < num_bytes:
            raise RunError(
                f"{self.folder}: {free / 1e6:.0f} MB free on this disk, training needs "
                f"{num_bytes / 1e6:.0f} MB for checkpoints; make room or choose another --out"
            )
