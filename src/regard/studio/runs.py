"""Runs for the page: files describe them at once, and models load in the background."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import tasks
from regard.errors import RegardError, RequestError
from regard.files import is_locked, read_metadata
from regard.run import Run
from regard.small_files import UNEXPECTED, open_regular, read_json
from regard.tasks.neighbours import has_words
from regard.training.log import entry_of

if TYPE_CHECKING:
    from torch import Tensor

    from regard.inspect.flow.parts import Flow
    from regard.inspect.heads.heads import Head
    from regard.inspect.maps import Maps
    from regard.studio.series import Known
    from regard.studio.series_scores import Measuring
    from regard.studio.words import WordMap
    from regard.tasks.translation.translator import Translator

# Models kept in memory for each run: the run's own and the checkpoints looked at last.
MODELS = 3
# How much of the end of a log is read for its last samples.
TAIL_BYTES = 1 << 18
SHOWN = (
    *("encoder_layers", "decoder_layers", "d_model", "d_ff", "num_heads", "positions"),
    *("cell", "attention", "num_layers"),
)


# Of a line of text that is an example.
FEWEST_WORDS, MOST_WORDS = 3, 16
# Models that attend to their own texts.
ATTENDING = ("transformer", "gpt", "bert")
# Updates whose time says how long the next ones take.
RECENT = 40


class OpenRun:
    """A run folder, whose model loads in a thread when it is first needed."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        self.folder = folder
        self.device = device
        self.task = Run.open(folder).task_name()
        self.status = "waiting"
        self.problem = ""
        self._tried = -1
        self._lock = threading.RLock()
        self._starting = threading.Lock()
        self._models: dict[tuple[int, int], Any] = {}
        # The last results, which may be asked for again; used while a model is open.
        self.maps: tuple[str, Maps] | None = None
        self.flow: tuple[str, Flow] | None = None
        self.means: dict[int, dict[Head, Tensor]] = {}
        self.text_maps: tuple[str, Maps] | None = None
        self.passed: tuple[str, Maps] | None = None
        self.confusions: dict[int, dict[str, Any]] = {}
        self.words: tuple[tuple[int, int], WordMap] | None = None
        self.series: Known | None = None
        self.measured: dict[tuple[int, int], Measuring] = {}

    def describe(self) -> dict[str, Any]:
        """A description from the run's files, without PyTorch."""
        run = Run(self.folder)
        recipe, info = run.values(), read_object(run.info_path)
        entry = tasks.TASKS.get(self.task, tasks.Entry(self.task, module=""))
        sizes = recipe.get("model", {})
        return {
            "name": self.folder.name,
            "folder": str(self.folder),
            "status": self.status,
            "problem": self.problem,
            "task": self.task,
            # Whatever has words can show them on a map.
            "views": [*views_of(entry, sizes), *(["map"] if has_words(run) else []), "blocks"],
            "title": entry.title,
            "explanation": entry.explanation,
            "kind": sizes.get("kind", "transformer"),
            "encoder": recipe.get("encoder", {}).get("kind"),
            "model": {name: sizes[name] for name in SHOWN if name in sizes},
            "beam_size": recipe.get("decode", {}).get("beam_size", 5),
            "length_penalty": recipe.get("decode", {}).get("length_penalty", 1.0),
            "languages": info.get("languages"),
            "parameters": info.get("parameters"),
            "step": info.get("step"),
            "steps": recipe.get("train", {}).get("steps"),
            "finished": bool(info),
            "weights": {"step": self._step_of_weights(), "written": str(self._written())},
            "training": self.training(recipe.get("train", {})),
            "validation": info.get("validation"),
            "checkpoints": self.checkpoints(),
            "examples": samples(self.folder / "log.jsonl") or texts_of(recipe, self.task),
        }

    def training(self, train: dict[str, Any]) -> dict[str, Any] | None:
        """How far a training has come that runs now; None if there is none."""
        if not is_locked(Run(self.folder).lock_path):
            return None
        events = last_steps(self.folder / "log.jsonl")
        step, steps = events[-1]["step"] if events else 0, train.get("steps")
        seconds = [each["seconds"] for each in events if each.get("seconds")]
        left = None
        if seconds and isinstance(steps, int):
            left = (steps - step) * sum(seconds) / len(seconds)
        return {"step": step, "steps": steps, "seconds_left": left}

    def _step_of_weights(self) -> int | None:
        """The step at which the weights that answer were saved, if they say so."""
        try:
            return int(read_metadata(self.folder / "model.safetensors")["step"])
        except (OSError, RegardError, KeyError, ValueError):
            return None

    def checkpoints(self) -> list[int]:
        names = (path.stem.removeprefix("step-") for path in self.folder.glob("training/step-*"))
        return sorted({int(name) for name in names if name.isdecimal()})

    def begin(self) -> None:
        """Start to load the model in a thread; after a failure only when there are new weights."""
        with self._starting:
            if self.task not in tasks.TASKS:
                self.status = "ready"  # a log needs no model
            if self.status not in ("waiting", "failed"):
                return
            written = self._written()
            if not written:
                self.status = "failed"
                self.problem = f"{self.folder}: no trained weights yet; they come with validation"
            if not written or written == self._tried:
                return
            self.status, self._tried = "loading", written
        threading.Thread(target=self._load, name=f"load {self.folder.name}", daemon=True).start()

    def _written(self) -> int:
        """The time when the weights were written; a run in training replaces them."""
        try:
            return (self.folder / "model.safetensors").stat().st_mtime_ns
        except OSError:
            return 0

    def _load(self) -> None:
        try:
            with self.opened():
                self.status = "ready"
        except RegardError as error:
            self.problem, self.status = str(error), "failed"
        except Exception as error:
            self.problem, self.status = f"{self.folder}: {error}", "failed"
            raise

    @contextmanager
    def opened(self, step: int = 0) -> Iterator[Any]:
        """The loaded model of a checkpoint, or of the run, for one caller at a time: an inspection
        changes for a moment how a model answers.
        """
        with self._lock:
            yield self._opened(step)

    @contextmanager
    def translator(self, step: int = 0) -> "Iterator[Translator]":
        if "translate" not in tasks.entry(self.task).views:
            raise RequestError(f"{self.folder}: this run does not translate; reload the page")
        with self.opened(step) as found:
            yield found

    def _opened(self, step: int) -> Any:
        if step and step not in self.checkpoints():
            raise RequestError(f"{self.folder}: there is no checkpoint of step {step}")
        key = self.weights_of(step)
        if key not in self._models:
            while len(self._models) >= MODELS:
                del self._models[next(iter(self._models))]
            self._models[key] = load(self.folder, self.task, step, self.device)
            self.maps, self.flow, self.text_maps, self.words = None, None, None, None
            self.passed = None
            self.means, self.confusions = {}, {}
        return self._models[key]

    def weights_of(self, step: int) -> tuple[int, int]:
        """What tells the weights of a step from others: training replaces those of a run."""
        return step, 0 if step else self._written()


def load(folder: Path, task: str, step: int, device: str) -> Any:
    """The object that answers with a run, with the weights of a step."""
    found = tasks.get(task).load(folder, device)
    if step:
        from regard.weights import load_checkpoint, load_weights

        run = Run.open(folder)
        path = run.checkpoint_path(step)
        tensors, _ = load_checkpoint(run, path)
        # Validation uses the moving average, where a run keeps one.
        group = "average/" if any(name.startswith("average/") for name in tensors) else "weight/"
        kept = {
            name.removeprefix(group): tensor
            for name, tensor in tensors.items()
            if name.startswith(group)
        }
        load_weights(found.model, kept, path)
    return found


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; an empty one if there is none."""
    try:
        found = read_json(path)
    except (OSError, *UNEXPECTED):
        return {}
    return found if isinstance(found, dict) else {}


def views_of(entry: tasks.Entry, sizes: dict[str, Any]) -> list[str]:
    """The views of a task that make sense for a model: a recurrent one counts no positions, and
    only a translator's attends.
    """
    without = set()
    if sizes.get("kind", "transformer") not in ATTENDING:
        translates = "translate" in entry.views
        without = {"positions"} if translates else {"positions", "alignment", "heads", "numbers"}
    return [each for each in entry.views if each not in without]


def tail(log: Path) -> list[bytes]:
    """The last lines of a log."""
    try:
        with open_regular(log) as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            return file.read(TAIL_BYTES).split(b"\n")
    except OSError:
        return []


def last_steps(log: Path) -> list[dict[str, Any]]:
    """The last updates in a log."""
    found: list[dict[str, Any]] = []
    for line in reversed(tail(log)):
        if len(found) == RECENT:
            break
        event = entry_of(line) if line else None
        if event and event.get("event") == "step":
            found.insert(0, event)
    return found


def samples(log: Path) -> list[dict[str, str]]:
    """Sources with references and outputs of the last validation."""
    lines = tail(log)
    while lines:
        line = lines.pop()
        if b'"samples"' in line:
            try:
                found = (entry_of(line) or {})["samples"]
                return [{name: str(value) for name, value in each.items()} for each in found]
            except UNEXPECTED:
                continue
    return []


def texts_of(recipe: dict[str, Any], task: str) -> list[dict[str, str]]:
    """Lines of the held-out text of a run that logs no samples, or else of what it learned from; a
    word is hidden in those of one that fills in.
    """
    data = recipe.get("data", {})
    names = data.get("valid") or data.get("train")
    if "text" not in tasks.entry(task).views or not isinstance(names, list) or not names:
        return []
    path = Path(data.get("folder") or ".") / str(names[0])
    if path.suffix != ".txt":
        return []
    try:
        with open_regular(path) as file:
            lines = file.read(TAIL_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    found = [words for line in lines if FEWEST_WORDS <= len(words := line.split()) <= MOST_WORDS]
    return [{"source": example_of(words, task), "reference": ""} for words in found[:3]]


def example_of(words: list[str], task: str) -> str:
    hidden = len(words) // 2 if "fill" in tasks.entry(task).commands else -1
    return " ".join("[MASK]" if at == hidden else word for at, word in enumerate(words))
