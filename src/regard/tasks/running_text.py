"""Running text, as language models and masked language models learn from it."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from regard.configs.work import Work
from regard.data.texts import (
    after,
    count_characters,
    document_remarks,
    paragraphs,
    read_documents,
    up_to,
)
from regard.errors import DataError, RecipeError
from regard.planning.task_planning import DataFacts
from regard.run import Run
from regard.tasks.measuring import SAMPLE
from regard.tasks.sections import TextSection
from regard.tasks.tokenizers import known_tokenizers, learn
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.training.events import Event, Note, Phase

if TYPE_CHECKING:
    from regard.data.stream import Stream

# Characters per piece, where the vocabulary is not learned yet.
CHARACTERS = 4


@dataclass(frozen=True)
class TextSplit:
    """The training text and the validation text, which is its end unless files are named."""

    data: Any  # a section that names files of text
    held_out_from: int  # characters

    @classmethod
    def of(cls, data: Any) -> "TextSplit":
        if data.valid:
            return cls(data, 0)
        characters = count_characters(read_documents(data.paths("train"), data.text))
        return cls(data, int(characters * (1 - data.held_out_share)))

    def train(self) -> Iterator[str | None]:
        texts = read_documents(self.data.paths("train"), self.data.text)
        return texts if self.data.valid else up_to(texts, self.held_out_from)

    def valid(self) -> Iterator[str | None]:
        if self.data.valid:
            return read_documents(self.data.paths("valid"), self.data.text)
        return after(read_documents(self.data.paths("train"), self.data.text), self.held_out_from)


def require(text: "Stream", least: int, data: TextSection, name: Literal["train", "valid"]) -> None:
    """Checks that there are enough tokens, or says where more can come from."""
    if len(text) >= least:
        return
    held_out = name == "valid" and not data.valid
    way = "set a smaller data.context"
    if held_out:
        way = "raise data.held_out_share, or name a file with --valid"
    use = "learn from" if name == "train" else "validate on"
    raise DataError(
        f"{data.paths('train' if held_out else name)[0]}: the text to {use} has {len(text):,} "
        f"tokens, and at least {least:,} are needed; give more text, or {way}"
    )


def streams(
    run: Run, recipe: Any, verbatim: bool, backward: bool = False
) -> "Generator[Event, None, tuple[Tokenizer, Stream, Stream]]":
    """The tokenizer and both texts, made by this start or by an earlier one."""
    from regard.data.stream import Stream, write_stream

    known = known_tokenizers(run, recipe)
    tokenizer = known.source if known else None
    if verbatim and tokenizer and not tokenizer.keeps_lines and not run.checkpoints():
        where = recipe.tokenizer.folder or recipe.train.from_run or run.folder
        raise RecipeError(
            f"{where}: its tokenizer loses line breaks, which a language model learns; take that "
            "of a language model, or leave tokenizer.folder out to learn one"
        )
    folder = run.training / "data"
    names = ("valid", "train")
    if tokenizer is None or not up_to_date(run, tokenizer):
        yield Phase("Reading the text")
        data = recipe.data
        files = [*data.paths("train"), *data.paths("valid")]
        yield from map(Note, document_remarks(files, data.text))
        split = TextSplit.of(recipe.data)
        if tokenizer is None:
            yield Phase("Learning the vocabulary")
            tokenizer = learned(recipe, split, verbatim)
            run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
        yield Phase("Encoding the text")
        for name, texts in zip(names, (split.valid(), split.train()), strict=True):
            parts = texts if verbatim else paragraphs(texts)
            write_stream(parts, tokenizer, folder, name)
    valid, train = (Stream.open(folder, name, backward=backward) for name in names)
    return tokenizer, train, valid


def up_to_date(run: Run, tokenizer: Tokenizer) -> bool:
    from regard.data.stream import Stream

    folder = run.training / "data"
    if not all((folder / f"{name}.json").exists() for name in ("train", "valid")):
        return False
    return all(
        Stream.open(folder, name).tokenizer == tokenizer.fingerprint for name in ("train", "valid")
    )


def learned(recipe: Any, split: TextSplit, verbatim: bool) -> Tokenizer:
    texts = (text for text in split.train() if text is not None)
    return learn(recipe.tokenizer, texts, verbatim)


def learned_tokenizers(verbatim: bool, recipe: Any) -> Tokenizers:
    tokenizer = learned(recipe, TextSplit.of(recipe.data), verbatim)
    return Tokenizers(tokenizer, tokenizer)


def measured(recipe: Any, found: DataFacts, tokenizers: Tokenizers | None) -> DataFacts:
    """The number of tokens in one pass over the text."""
    data = recipe.data
    characters = count_characters(read_documents(data.paths("train"), data.text))
    kept = characters * (1 if data.valid else 1 - data.held_out_share)
    if tokenizers is None:
        return replace(found, tokens=kept / CHARACTERS)
    sample = [
        text for text in islice(read_documents(data.paths("train"), data.text), SAMPLE) if text
    ]
    pieces = sum(map(len, tokenizers.source.encode_batch(sample)))
    return replace(found, tokens=kept * pieces / max(1, count_characters(sample)))


class Windows(NamedTuple):
    """The shape of a batch of running text: rows, tokens of each, how many of them come from the
    text, and how many are predicted.
    """

    rows: int
    context: int
    content: int
    predicted: int

    def work(self, share: float, reads: bool) -> Work:
        """The work for a share of the batch; `reads` if a model reads more than it predicts."""
        read = self.rows * self.context if reads else 0
        return Work(share * read, share * self.rows * self.predicted, self.context, self.context)

    def batch(self, share: float) -> str:
        rows = self.rows * share
        count = f"{rows:,.0f}" if rows == int(rows) else f"{rows:,.1f}"
        return f"{count} windows of {self.context:,} tokens"


def described_vocabulary(recipe: Any, run: Run | None) -> tuple[str, int]:
    """The vocabulary in words, and its size, as far as it is known."""
    known = run.tokenizers() if run is not None and run.has_tokenizers() else None
    size = len(known.target) if known else recipe.tokenizer.vocabulary_size
    imported = getattr(recipe.data, "imported", None)
    kind = "imported" if imported else recipe.tokenizer.kind
    return f"{kind}, " + ("" if known else "up to ") + f"{size:,} pieces", size


def same_size(run: Run) -> dict[str, int]:
    """The sizes of an old run that reads and predicts with one vocabulary."""
    size = len(run.tokenizers().source)
    return {"inputs": size, "outputs": size}
