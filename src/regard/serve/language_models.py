"""Language models and encoders, which are served under the names of their run folders."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from regard import tasks
from regard.errors import RequestError
from regard.run import Run
from regard.serve.http.refusal import Refusal

if TYPE_CHECKING:
    from regard.tasks.embedder import Embedder
    from regard.tasks.writer import Writer
    from regard.tasks.writing import Writing


@dataclass
class LanguageModels:
    writers: "dict[str, Writer]" = field(default_factory=dict)
    embedders: "dict[str, Embedder]" = field(default_factory=dict)

    def add(self, folder: Path, device: str = "cpu") -> None:
        """Load a run to give embeddings, and to write text if it is a language model."""
        from regard.tasks.embedder import Embedder
        from regard.tasks.writer import Writer

        name = folder.resolve().name
        if name in self.embedders:
            raise RequestError(f"two runs are called {name}; rename the folder of one of them")
        self.embedders[name] = Embedder.load(folder, device)
        if "completions" in served(folder):
            self.writers[name] = Writer.load(folder, device)

    @property
    def names(self) -> list[str]:
        return list(self.embedders)

    def writer(self, name: str) -> "Writer":
        if name not in self.writers:
            raise Refusal(404, f"no such language model here; {available(self.writers)}")
        return self.writers[name]

    def embedder(self, name: str) -> "Embedder":
        if name not in self.embedders:
            raise Refusal(404, f"no such encoder here; {available(self.embedders)}")
        return self.embedders[name]


def available(models: Iterable[str]) -> str:
    names = ", ".join(models)
    return f"there are: {names}" if names else "start the server with the run of one"


def served(folder: Path) -> frozenset[str]:
    """What the server answers with a run: translations, completions, embeddings, labels."""
    return tasks.entry(Run.open(folder).task_name()).serves


def until_stopped(pieces: Iterator[str], stops: Sequence[str]) -> Iterator[str]:
    """The pieces of a text up to the first stop sequence, which may be spread over pieces."""
    held = ""
    longest = max(map(len, stops), default=0)
    for piece in pieces:
        held += piece
        found = [at for stop in stops if (at := held.find(stop)) >= 0]
        if found:
            yield held[: min(found)]
            return
        ready = len(held) - max(0, longest - 1)
        if ready > 0:
            yield held[:ready]
            held = held[ready:]
    if held:
        yield held


def complete(
    writer: "Writer", prompt: str, writing: "Writing", stops: Sequence[str]
) -> Iterator[str]:
    return until_stopped(writer.stream(prompt, writing), stops)
