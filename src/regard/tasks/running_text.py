"""Language models: running text, of which each token is foreseen from those before it."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal

from regard import objectives
from regard.checkpoint import Run
from regard.data.stream import CarriedState, Stream, TextExamples, WindowBatches, write_stream
from regard.data.texts import after, count_characters, paragraphs, read_documents, up_to
from regard.errors import DataError, RecipeError
from regard.evaluate.running_text import HeldOutText
from regard.models import RecurrentLanguageModelConfig
from regard.recipe import DataSection, Recipe
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.training.events import Event, ExamplesReady, Note
from regard.training.lesson import Lesson
from regard.training.prepare import known_tokenizers


@dataclass(frozen=True)
class TextSplit:
    """The text to learn from and the text to validate on: its end, unless files are named."""

    data: DataSection
    held_out_from: int  # characters

    @classmethod
    def of(cls, data: DataSection) -> "TextSplit":
        if data.valid:
            return cls(data, 0)
        characters = count_characters(read_documents(data.paths("train")))
        return cls(data, int(characters * (1 - data.held_out_share)))

    def train(self) -> Iterator[str | None]:
        texts = read_documents(self.data.paths("train"))
        return texts if self.data.valid else up_to(texts, self.held_out_from)

    def valid(self) -> Iterator[str | None]:
        if self.data.valid:
            return read_documents(self.data.paths("valid"))
        return after(read_documents(self.data.paths("train")), self.held_out_from)


def text_lesson(run: Run, recipe: Recipe) -> Generator[Event, None, Lesson]:
    tokenizer, train, valid = yield from streams(run, recipe, verbatim=True)
    context = recipe.data.context
    carrying = isinstance(recipe.model, RecurrentLanguageModelConfig)
    carried_state = CarriedState() if carrying else None
    require(train, context + 1, recipe.data, "train")
    require(valid, 2, recipe.data, "valid")
    batches = WindowBatches(len(train), context, recipe.train.batch_tokens, recipe.seed, carrying)
    yield ExamplesReady(len(train), len(valid), "tokens", batches.padding())
    sampled = recipe.train.eval_sentences > 0 and recipe.data.direction == "forward"
    return Lesson(
        inputs=len(tokenizer),
        outputs=len(tokenizer),
        examples=TextExamples(train, context, carried_state),
        batches=batches,
        objective=objectives.next_token_carried if carrying else objectives.next_token,
        held_out=HeldOutText(valid, tokenizer, context, carrying, sampled),
        carried_state=carried_state,
    )


def require(text: Stream, least: int, data: DataSection, name: Literal["train", "valid"]) -> None:
    """So many tokens at least, or a sentence about where more can come from."""
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
    run: Run, recipe: Recipe, verbatim: bool
) -> Generator[Event, None, tuple[Tokenizer, Stream, Stream]]:
    """The tokenizer and both texts, made by this start or by an earlier one."""
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
        yield Note("Reading the text …")
        split = TextSplit.of(recipe.data)
        if tokenizer is None:
            yield Note("Learning the vocabulary …")
            tokenizer = learn(recipe, split, verbatim)
            run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
        yield Note("Encoding the text …")
        for name, texts in zip(names, (split.valid(), split.train()), strict=True):
            parts = texts if verbatim else paragraphs(texts)
            write_stream(parts, tokenizer, folder, name)
    backward = recipe.data.direction == "backward"
    valid, train = (Stream.open(folder, name, backward=backward) for name in names)
    return tokenizer, train, valid


def up_to_date(run: Run, tokenizer: Tokenizer) -> bool:
    folder = run.training / "data"
    if not all((folder / f"{name}.json").exists() for name in ("train", "valid")):
        return False
    return all(
        Stream.open(folder, name).tokenizer == tokenizer.fingerprint for name in ("train", "valid")
    )


def learn(recipe: Recipe, split: TextSplit, verbatim: bool) -> Tokenizer:
    section = recipe.tokenizer
    return Tokenizer.train(
        (text for text in split.train() if text is not None),
        kind=section.kind,
        vocabulary_size=section.vocabulary_size,
        lowercase=section.lowercase,
        verbatim=verbatim,
    )
