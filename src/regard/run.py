"""The run folder: everything a trained model needs, as data that no program ever executes.

    recipe.toml            the whole experiment
    tokenizer.json         or source.tokenizer.json and target.tokenizer.json
    labels.json            the labels of a classifier or tagger
    words.json             how the data of a tagger cuts sentences into words
    frequent_labels.json   the most frequent label of each word, which a tagger is compared with
    linear.safetensors     the linear model that a classifier combines with its network
    source_words.bin       which words a translator has met, as hashes of 32 bits
    model.safetensors      the best weights so far
    run.json               provenance and scores
    log.jsonl  README.md   what happened; a card for people
    corrections.jsonl      what a translator was taught (`regard learn`), and in learning/ what
    learning/              takes it back
    training/              checkpoints step-00001000.safetensors and the ids of the data
    alignment.json         measurements of these weights: heads that align (`regard inspect
    confidence.json        alignment`), how sure translations are (`regard inspect confidence`),
    heads.json             heads that matter (`regard heads`)
    shortlist.json         pieces that translate each piece (`regard inspect shortlist`)
    search/                vectors of images that were searched, which the next search adds to

`regard.files` writes all of them, so that a file under its own name is always complete.
"""

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import files, recipe_names, tasks
from regard.errors import DataError, RegardError, RequestError, RunError, shown
from regard.files import HEADER_BYTES, SCRATCH, is_locked, take_lock, write_file
from regard.machine.cores import wait_briefly
from regard.run_info import FORMAT, read_info
from regard.sizes import check_embeddings, check_size, most_bytes, read_sizes
from regard.small_files import link_in, open_regular, read_small, required_json
from regard.text.normalise import is_unicode
from regard.text.tokenizer import Tokenizers

if TYPE_CHECKING:
    from regard.recipe import Recipe


def commands_for(recipe: "Recipe", folder: Path | str) -> list[str]:
    """The commands that use a run of a recipe, as a shell takes them."""
    commands = tasks.get(recipe.task).commands(recipe)
    return [command.format(run=shlex.quote(str(folder))) for command in commands]


@dataclass(frozen=True, repr=False)
class Run:
    """A run folder and its files. Nothing is read before it is needed.

    Attributes
    ----------
    folder : Path

    Examples
    --------
    >>> import regard
    >>> run = regard.Run.open("runs/demo")
    >>> run
    Run('runs/demo': translation, 24 updates)
    >>> run.recipe().train.steps
    24
    >>> translator = run.load()
    """

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def __repr__(self) -> str:
        facts = []
        with suppress(RegardError):
            facts = [self.task_name()] if self.recipe_path.is_file() else ["not started"]
            if words := self.unfinished():
                facts.append(words)
            elif step := self.info().get("step"):
                facts.append(f"{step:,} updates")
        return f"Run({str(self.folder)!r}: {', '.join(facts) or 'damaged'})"

    def _repr_html_(self) -> str:
        from html import escape

        from regard import notebook

        facts: dict[str, Any] = {"folder": self.folder}
        with suppress(RegardError):
            info = self.info()
            facts["task"] = self.task_name()
            facts |= {name: f"{info[name]:,}" for name in ("parameters", "step") if name in info}
            for name, value in info.get("validation", {}).items():
                if isinstance(value, int | float):
                    facts[f"validation {name.replace('_', ' ')}"] = f"{value:.3f}"
        return f"<p>{escape(repr(self))}</p>" + notebook.table(facts.items())

    @classmethod
    def open(cls, folder: Path | str) -> "Run":
        """Open a folder that holds a run.

        Parameters
        ----------
        folder
            The run folder.

        Returns
        -------
        Run

        Raises
        ------
        RunError
            There is no such folder, or no run in it.
        """
        if not isinstance(folder, str | os.PathLike):
            raise RequestError(f"{shown(folder)}: give the name of a run folder")
        run = cls(Path(folder))
        if not run.folder.is_dir():
            raise RunError(f"{folder}: no such run folder; {recipe_names.what_makes(run.folder)}")
        if not run.recipe_path.is_file():
            raise RunError(f"{folder}: not a run folder (it has no recipe.toml)")
        run.check_links()
        return run

    @property
    def recipe_path(self) -> Path:
        return self.folder / "recipe.toml"

    @property
    def model_path(self) -> Path:
        return self.folder / "model.safetensors"

    @property
    def info_path(self) -> Path:
        return self.folder / "run.json"

    @property
    def labels_path(self) -> Path:
        return self.folder / "labels.json"

    @property
    def words_path(self) -> Path:
        return self.folder / "words.json"

    @property
    def source_words_path(self) -> Path:
        return self.folder / "source_words.bin"

    @property
    def training(self) -> Path:
        return self.folder / "training"

    @property
    def lock_path(self) -> Path:
        return self.training / "lock"

    def recipe(self) -> "Recipe":
        """The recipe that the run was trained with."""
        from regard import recipe  # loads pydantic, which a converted run does not need

        try:
            return recipe.from_file(self.values(), str(self.recipe_path))
        except RegardError as error:
            raise RunError(str(error)) from None

    def save_recipe(self, recipe: "Recipe") -> None:
        """Write recipe.toml."""
        from regard.recipe import to_toml

        write_file(self.recipe_path, to_toml(recipe).encode())

    def load(self, device: str = "cpu") -> Any:
        """Load what answers with this run.

        Parameters
        ----------
        device
            cpu, cuda, mps, or auto for the best that there is.

        Returns
        -------
        Translator, Writer, Filler, WordVectors, Classifier or Tagger
            By the task of the run; for a task of your own, what it loads.

        Raises
        ------
        RunError
            The run is damaged, or has no weights yet.
        """
        wait_briefly()
        return tasks.get(self.task_name()).load(self.folder, device)

    def task_name(self) -> str:
        """The task as the recipe names it; the rest of the recipe may be wrong."""
        return str(self.values().get("task", tasks.DEFAULT))

    def values(self) -> dict[str, Any]:
        """The plain values of the recipe."""
        from regard.recipe_format import read_values  # a converted run does not need it

        try:
            return read_values(self.recipe_path, links=False)
        except RegardError as error:
            raise RunError(str(error)) from None

    def recipe_for(self, *names: str) -> Any:
        """The recipe, if its task is one of these; else a RunError says what the run can do."""
        if self.task_name() in names:
            return self.recipe()
        recipe = self.recipe()
        ways = " or ".join(f"`{each}`" for each in commands_for(recipe, self.folder))
        raise RunError(
            f"{self.folder}: a run of task {recipe.task}, not {' or '.join(names)}; use {ways}"
        )

    def info(self) -> dict[str, Any]:
        """Provenance and scores as written in run.json; empty before the first save."""
        return read_info(self.info_path) if os.path.lexists(self.info_path) else {}

    def save_info(self, info: Mapping[str, Any]) -> None:
        """Write run.json."""
        files.write_json(self.info_path, {"format": FORMAT, **info})

    def fingerprint(self, *others: Path, layout: str = "") -> str:
        """Identifies the weights: a hash of the safetensors header, which contains their checksum.
        With other files, or the layout of something made of them, it identifies these as well; `""`
        without weights.
        """
        found = hashlib.sha256(layout.encode())
        try:
            with open_regular(self.model_path) as file:
                if not (size := int.from_bytes(file.read(8), "little")):
                    return ""  # no weights, but perhaps gigabytes of nothing
                found.update(file.read(min(size, HEADER_BYTES)))
            for path in others:
                content = hashlib.sha256(read_small(path, most_bytes({}))).hexdigest()
                found.update(f"{path.name} {content}".encode())
        except OSError:
            return ""
        return found.hexdigest()[:16]

    def finding(self, name: str) -> dict[str, Any] | None:
        """A saved measurement of these weights; None if there is none, or one of other weights."""
        path = self.folder / f"{name}.json"
        found = files.read_json(path) if path.is_file() else {}
        return found if found.get("weights") == self.fingerprint() else None

    def save_finding(self, name: str, found: Mapping[str, Any]) -> None:
        """Write a measurement of these weights, which `finding` reads."""
        files.write_json(self.folder / f"{name}.json", {"weights": self.fingerprint(), **found})

    def is_started(self) -> bool:
        """Whether a training has left anything here beside its recipe."""
        made = (self.training, self.model_path, self.info_path)
        return self.has_tokenizers() or any(path.exists() for path in made)

    def has_data(self) -> bool:
        """Whether an earlier start has encoded the data, so that its files are no longer read."""
        return {"train.json", "valid.json"} <= {each.name for each in self.training.glob("data/*")}

    def has_tokenizers(self) -> bool:
        """Whether the vocabulary has been learned."""
        names = {path.name for path in self.folder.glob("*tokenizer.json")}
        return "tokenizer.json" in names or len(names) == 2

    def tokenizers(self) -> Tokenizers:
        """The tokenizers of source and target; the same one twice, where there is one."""
        sizes = read_sizes(self.model_path)
        found = Tokenizers.load(self.folder, most_bytes(sizes))
        check_size(self.folder, len(found.source), "pieces", sizes.get("inputs"))
        if not self.labels_path.exists():
            check_size(self.folder, len(found.target), "pieces", sizes.get("outputs"))
        if not found.joint:
            check_embeddings(self.folder, self.recipe().model)
        return found

    def save_tokenizers(self, tokenizers: Tokenizers) -> None:
        """Write one tokenizer.json, or one for each side."""
        if tokenizers.source is tokenizers.target:
            write_file(self.folder / "tokenizer.json", tokenizers.source.to_json().encode())
            return
        for name, tokenizer in tokenizers._asdict().items():
            write_file(self.folder / f"{name}.tokenizer.json", tokenizer.to_json().encode())

    def require_weights(self) -> None:
        """Raise a RunError if there are no trained weights yet."""
        if not self.model_path.exists():
            raise RunError(f"{self.folder}: no trained weights yet; `regard train` writes them")

    def labels(self) -> list[str]:
        """The labels of a classifier or tagger, in the order of its outputs."""
        match required_json(self.labels_path):
            case {"labels": [*names]} if len(names) > 1 and all(map(is_unicode, names)):
                outputs = read_sizes(self.model_path).get("outputs")
                check_size(self.folder, len(names), "labels", outputs)
                return names
        raise RunError(f"{self.labels_path}: damaged (no labels in it)")

    def save_labels(self, labels: Sequence[str]) -> None:
        """Write labels.json."""
        if wrong := [label for label in labels if not is_unicode(label)]:
            raise DataError(f"label {wrong[0]!a}: it is not UTF-8; write whole characters")
        files.write_json(self.labels_path, {"labels": list(labels)})

    def checkpoints(self) -> list[Path]:
        """Checkpoints from the oldest to the newest."""
        paths = self.training.glob("step-*.safetensors")
        return sorted(path for path in paths if path.stem.removeprefix("step-").isdecimal())

    def unfinished(self) -> str:
        """Words on a training that has not ended, `"stopped at update 97 of 200"`; `""` if it
        has, or if the run was not trained here.
        """
        if not self.training.is_dir() or not self.recipe_path.is_file():
            return ""
        reached = max((int(path.stem.partition("-")[2]) for path in self.checkpoints()), default=0)
        if is_locked(self.lock_path):
            return "in training now"
        if reached <= self.info().get("step", -1):
            return ""
        match self.values():
            case {"train": {"steps": int(steps)}} if reached:
                return f"stopped at update {reached:,} of {steps:,}"
        return "stopped before its first checkpoint"

    def checkpoint_path(self, step: int) -> Path:
        """The file of the checkpoint of a step."""
        return self.training / f"step-{step:08d}.safetensors"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from training in this folder at the same time."""
        self.check_links()
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

    def check_place(self) -> None:
        """Check that the folder is there and can be written to, or that it can be made."""
        self.check_links()
        made = self.missing_folders()
        parent = made[-1].parent if made else self.folder
        if not parent.is_dir():
            raise RunError(f"{parent}: is not a folder; choose another --out")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise RunError(f"{parent}: no permission to write there; choose another --out")

    def check_links(self) -> None:
        """Raise a RunError if a folder of the run is a link or holds one: it may lead to somebody
        else's files, and a run removes what it no longer needs. The run folder itself may be one.
        """
        for name in ("training", "search", "pairs", "learning"):
            if link := link_in(self.folder / name):
                raise RunError(
                    f"{link}: it is a link, which is not followed; put the files themselves there"
                )

    def missing_folders(self) -> list[Path]:
        """The folders that the first start has to make, the innermost first."""
        return [path for path in (self.folder, *self.folder.parents) if not os.path.exists(path)]

    def forget(self, before: set[Path], made: Iterable[Path] = ()) -> None:
        """Remove what a start has made before anything was learned: recipe, labels and tokenizers
        that were not there `before`, encoded data, and the folders that it `made`. Other files are
        somebody's own. The caller holds the lock.
        """
        own = ["recipe.toml", "labels.json", "words.json", "source_words.bin", "vocabulary.tsv"]
        own += ["series.safetensors", "linear.safetensors", "frequent_labels.json"]
        for old in {*map(self.folder.joinpath, own), *self.folder.glob("*tokenizer.json")} - before:
            old.unlink(missing_ok=True)
        shutil.rmtree(self.training / "data", ignore_errors=True)
        # The lock last: from here on, another process may start.
        self.lock_path.unlink(missing_ok=True)
        for folder in (self.training, *made):
            with suppress(OSError):  # not empty, or no longer there
                folder.rmdir()

    def sweep(self) -> None:
        """Remove what interrupted writes left behind."""
        for folder in (self.folder, self.training, self.training / "data"):
            for scratch in folder.glob(f"{SCRATCH}*"):
                shutil.rmtree(scratch, ignore_errors=True)

    def require_space(self, num_bytes: int) -> None:
        """Raise a RunError if the disk has no room for this many bytes."""
        made = self.missing_folders()
        free = shutil.disk_usage(made[-1].parent if made else self.folder).free
        if free < num_bytes:
            digits = 0 if num_bytes - free >= 1e6 else 6  # so that the two differ
            raise RunError(
                f"{self.folder}: {free / 1e6:.{digits}f} MB free on this disk, training needs "
                f"{num_bytes / 1e6:.{digits}f} MB for checkpoints; make room or choose another "
                "--out"
            )
