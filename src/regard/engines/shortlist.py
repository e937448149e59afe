"""The pieces that may translate each piece of a source. With them, CTranslate2 computes no
probabilities of others, which is most of its work in a small model.

A batch has the candidates of all its sentences, so its other sentences can change an output.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from regard.errors import RunError
from regard.run import Run
from regard.small_files import refusing
from regard.text.tokenizer import Tokenizers

NAME = "shortlist"
# The file of CTranslate2, beside the weights.
FILE = "vmap.txt"


@dataclass(frozen=True)
class Shortlist:
    pairs: int  # that it was learned from
    always: list[int]  # target pieces that any sentence may need
    candidates: dict[int, list[int]]  # of each source piece, likeliest first

    @classmethod
    def of_run(cls, run: Run) -> Self | None:
        """What was learned for these weights, if anything was."""
        found = run.finding(NAME)
        if found is None:
            return None
        with refusing(RunError(f"{run.folder / f'{NAME}.json'}: damaged; learn it again")):
            sizes = [len(tokenizer) for tokenizer in run.tokenizers()]
            candidates = {int(piece): ids(each, sizes[1]) for piece, each in found[NAME].items()}
            ids(list(candidates), sizes[0])
            return cls(int(found["pairs"]), ids(found["always"], sizes[1]), candidates)

    def finding(self) -> dict[str, Any]:
        facts = asdict(self)
        return {NAME: facts.pop("candidates"), **facts}

    def summary(self) -> str:
        each = sum(map(len, self.candidates.values())) / max(1, len(self.candidates))
        return (
            f"{each:.0f} candidates for each of {len(self.candidates):,} pieces, and "
            f"{len(self.always)} for all, from {self.pairs:,} pairs"
        )

    def lines(self, tokenizers: Tokenizers) -> Iterator[str]:
        """As CTranslate2 reads them: a source piece, a tab, and target pieces."""
        source, target = (tokenizer.vocabulary for tokenizer in tokenizers)
        yield "\t" + " ".join(target[index] for index in self.always)
        for piece, found in self.candidates.items():
            yield f"{source[piece]}\t" + " ".join(target[index] for index in found)

    def write(self, folder: Path, tokenizers: Tokenizers) -> None:
        text = "".join(f"{line}\n" for line in self.lines(tokenizers))
        (folder / FILE).write_text(text, encoding="utf-8")


def ids(values: Any, size: int) -> list[int]:
    """Pieces of a vocabulary of a size; a ValueError if they are none."""
    found = [int(value) for value in values]
    if not all(0 <= value < size for value in found):
        raise ValueError("not pieces of this vocabulary")
    return found
