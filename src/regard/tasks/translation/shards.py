"""Translates a file that is too large for one process, in shards that many workers share.

A shard is a part of the lines, in a file of its own, in a folder beside the output. The name of the
file holds a digest of the lines, of the model and of the search, so that a translation that is
finished is found again after a stop, and no other is ever mistaken for it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from regard.decode.search import Search
from regard.engines import EngineName
from regard.engines.ctranslate2 import fingerprint
from regard.errors import RunError
from regard.files import write_file
from regard.run import Run
from regard.small_files import open_regular, parse_json
from regard.text.formatted import Format

if TYPE_CHECKING:
    from regard.tasks.translation.translator import Translator

# As many lines at once as `regard translate` has, so that batches are the same, and outputs with
# them.
BATCH_LINES = 1000
SHARD_LINES = 10 * BATCH_LINES
# How much of its digest is in a shard's name.
DIGITS = 32


@dataclass(frozen=True)
class Job:
    """What all shards of a file have in common: everything that decides what their lines become."""

    run: str
    fingerprint: str
    search: dict[str, Any]
    form: Format
    engine: EngineName
    int8: bool

    @classmethod
    def of(cls, run: Run, search: Search, form: Format, engine: EngineName, int8: bool) -> Self:
        folder = str(run.folder.resolve())
        return cls(folder, fingerprint(run), asdict(search), form, engine, int8)

    def text(self) -> str:
        """The job as text, for workers and digests."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Self:
        return cls(**parse_json(text))

    def translator(self) -> "Translator":
        """The translator of a worker, on one core."""
        from regard.tasks.translation.loading import loaded
        from regard.tasks.translation.translator import Translator

        folder = Path(self.run)
        if fingerprint(Run(folder)) != self.fingerprint:
            raise RunError(f"{self.run}: has changed since the translation began; start it again")
        if self.engine == "torch":
            import torch

            torch.set_num_threads(1)
        return Translator(*loaded(folder, "cpu", self.engine, self.int8, cores=1))


@dataclass(frozen=True)
class Shard:
    """Some lines of the input, in a file, and their translations, in another one when they are
    finished.
    """

    source: Path
    lines: int

    @property
    def output(self) -> Path:
        return self.source.with_suffix(".out")

    def is_done(self) -> bool:
        return self.output.is_file()


def cut(
    texts: Iterable[str], folder: Path, job: Job, shard_lines: int = SHARD_LINES
) -> Iterator[Shard]:
    """Write the lines of shards that are not finished yet."""
    source = iter(texts)
    number = 0
    common = job.text()
    while part := list(islice(source, shard_lines)):
        data = as_lines(part)
        digest = hashlib.sha256(common.encode() + b"\0" + data).hexdigest()[:DIGITS]
        shard = Shard(folder / f"{number:06d}-{digest}.txt", len(part))
        if not shard.is_done():
            write_file(shard.source, data)
        yield shard
        number += 1


def translate_shard(translator: "Translator", job: Job, source: Path) -> None:
    """Translate a shard's lines, unless that is done: the worker that did it may have died before
    it could say so.
    """
    from regard.tasks.translation.memories import NO_AIDS

    shard = Shard(source, 0)
    if not shard.is_done():
        texts = iter(lines_of(source))
        search, found = Search(**job.search), []
        while batch := list(islice(texts, BATCH_LINES)):
            found += [each.text for each in translator.helped(batch, job.form, search, NO_AIDS)]
        write_file(shard.output, as_lines(found))
    source.unlink(missing_ok=True)


def outputs(shards: Iterable[Shard]) -> Iterator[str]:
    """The translations of finished shards, in order."""
    for shard in shards:
        yield from lines_of(shard.output)


def remove(folder: Path) -> None:
    """Remove a folder of shards, and nothing that somebody else may have put into it."""
    for pattern in ("*-*.txt", "*-*.out", "lock"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
    with suppress(OSError):  # it holds something else
        folder.rmdir()


def as_lines(texts: Iterable[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode()


def lines_of(path: Path) -> list[str]:
    with open_regular(path) as file:
        return file.read().decode().split("\n")[:-1]
