"""The runs that are served under the names of their folders: all but translators."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import tasks
from regard.errors import RequestError
from regard.run import Run
from regard.serve.http.refusal import Refusal

if TYPE_CHECKING:
    from regard.tasks.captioner import Captioner
    from regard.tasks.embedder import Embedder
    from regard.tasks.forecaster import Forecaster
    from regard.tasks.image_classification import ImageClassifier
    from regard.tasks.matcher import Matcher
    from regard.tasks.writer import Writer


@dataclass(frozen=True)
class Kind:
    name: str
    path: str  # where such a model answers


# By what a run answers, as the list of tasks says it.
KINDS = {
    "completions": Kind("language model", "/v1/completions"),
    "embeddings": Kind("encoder", "/v1/embeddings"),
    "labels": Kind("classifier of images", "/classify"),
    "captions": Kind("captioner", "/caption"),
    "matches": Kind("matcher", "/match"),
    "forecasts": Kind("forecaster", "/forecast"),
}


class Models:
    def __init__(self) -> None:
        self._found: dict[str, dict[str, Any]] = {answer: {} for answer in KINDS}
        self.names: list[str] = []

    def add(self, folder: Path, device: str = "cpu") -> str:
        """Load a run for everything that it answers; returns how to ask it."""
        from regard.tasks.embedder import Embedder

        name, answers = folder.resolve().name, served(folder)
        if name in self.names:
            raise RequestError(f"two runs are called {name}; rename the folder of one of them")
        others = answers - {"embeddings"}
        loaded: Any = Run.open(folder).load(device) if others else None
        for answer in others:
            self._found[answer][name] = loaded
        if "matches" in answers:
            from regard.tasks.matcher import reader_of

            self._found["embeddings"][name] = Embedder([reader_of(loaded)], folder)
        elif "embeddings" in answers:
            self._found["embeddings"][name] = Embedder.load(folder, device)
        self.names.append(name)
        paths = [kind.path for answer, kind in KINDS.items() if answer in answers]
        return f"{name}: {folder}, {' and '.join(paths)}"

    def loaded(self) -> list[tuple[str, str, Any]]:
        """What each model answers, its name, and the model."""
        return [
            (answer, name, model)
            for answer, found in self._found.items()
            for name, model in found.items()
        ]

    def writer(self, name: str) -> "Writer":
        found: Writer = self._find("completions", name)[1]
        return found

    def embedder(self, name: str) -> "Embedder":
        found: Embedder = self._find("embeddings", name)[1]
        return found

    def classifier(self, name: str) -> "tuple[str, ImageClassifier]":
        return self._find("labels", name)

    def captioner(self, name: str) -> "tuple[str, Captioner]":
        return self._find("captions", name)

    def matcher(self, name: str) -> "tuple[str, Matcher]":
        return self._find("matches", name)

    def forecaster(self, name: str) -> "tuple[str, Forecaster]":
        return self._find("forecasts", name)

    def available(self, answer: str) -> str:
        """The models that answer so, in words."""
        names = ", ".join(self._found[answer])
        return f"there are: {names}" if names else "start the server with the run of one"

    def _find(self, answer: str, name: str) -> tuple[str, Any]:
        """The model of this name; without a name, the only one that answers so."""
        found, kind, others = self._found[answer], KINDS[answer].name, self.available(answer)
        if not name and len(found) == 1:
            name = next(iter(found))
        if name in found:
            return name, found[name]
        if name in self.names:
            raise Refusal(400, f"{name} is no {kind}; {others}")
        if not name and found:
            raise Refusal(400, f"Invalid request: missing model parameter; {others}")
        raise Refusal(404, f"no such {kind} here; {others}")


def served(folder: Path) -> frozenset[str]:
    """What the server answers with a run, by its task."""
    return tasks.entry(Run.open(folder).task_name()).serves


def is_served_by_name(run: str) -> bool:
    """Whether a run is one of these. Any other is loaded as a translator, which reports what is
    wrong with it.
    """
    folder = Path(run)
    return (folder / "recipe.toml").is_file() and not served(folder).isdisjoint(KINDS)
