"""Sections of recipes that several tasks share. They load without PyTorch."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import AliasChoices, Field, field_validator, model_validator

from regard.data.lines import check_data_file
from regard.datasets import with_data_folder
from regard.errors import DataError, RecipeError
from regard.recipe import Recipe, Section, TrainSection
from regard.run import Run
from regard.text.typography import Typography


class FilesSection(Section):
    """The files of the data. Relative names start at `folder`, and `folder` where you are."""

    changeable = frozenset({"folder"})
    # Endings of files other than text that the task reads, too.
    kinds: ClassVar[tuple[str, ...]] = ()

    folder: str = Field(
        default=".",
        description="Where relative file names start; $REGARD_DATA stands for the data folder.",
    )
    train: tuple[str, ...] = Field(default=(), description="Files to learn from.")
    valid: tuple[str, ...] = Field(
        default=(), description="Files to validate on; without them a share is held out."
    )
    held_out_share: float = Field(
        default=0.05, gt=0, lt=0.5, description="Share of the data held out for validation."
    )

    @field_validator("folder")
    @classmethod
    def in_the_data_folder(cls, folder: str) -> str:
        return with_data_folder(folder)

    @model_validator(mode="after")
    def has_files(self) -> Self:
        if not self.named():
            raise ValueError("name the training files (train)")
        return self

    def named(self) -> bool:
        """Whether the data is named in exactly one way."""
        return bool(self.train)

    def resolved(self) -> Self:
        return self.model_copy(update={"folder": str(Path(self.folder).resolve())})

    def check(self, recipe: Recipe) -> None:
        self.check_files()

    def check_files(self) -> None:
        """Check that the files are there and can be read."""
        for path in (*self.paths("train"), *self.paths("valid")):
            check_data_file(path, self.kinds)

    def paths(self, name: Literal["train", "valid"]) -> list[Path]:
        return [Path(self.folder, file) for file in getattr(self, name)]

    def shown(self) -> str | list[str]:
        """The name of a corpus, or its files."""
        return [str(path) for path in self.paths("train")]

    def too_few(self, texts: Sequence[str], name: str) -> DataError:
        """The error for examples of which none, or all, are held out for validation."""
        needed, different = math.ceil(5 / self.held_out_share), len(set(texts))
        few = f"too few {name} ({len(texts):,})"
        if len(texts) >= needed:
            few = f"too few different {name} ({different:,} among {len(texts):,})"
        way = (
            f"give at least {needed:,}"
            if self.held_out_share >= 0.01
            else "raise data.held_out_share"
        )
        return DataError(
            f"{self.paths('train')[0]}: {few} to hold {100 * self.held_out_share:g} % out for "
            f"validation; {way}, or name validation files with --valid"
        )


class WordsSection(FilesSection):
    """Data whose words may start from vectors that are known."""

    embeddings: str = Field(
        default="",
        description="Vectors of words to start from: a run folder, or a file of Word2Vec or GloVe.",
    )

    def check_files(self) -> None:
        super().check_files()
        self.check_vectors()

    def check_vectors(self) -> None:
        if self.embeddings:
            path = Path(self.folder, self.embeddings)
            if path.is_dir():
                Run.open(path).require_weights()
            else:
                check_data_file(path)


class ImportableSection(FilesSection):
    """Data of a task whose models can be imported: then regard has not seen the data."""

    imported: str | None = Field(
        default=None, description="The folder of an imported model; importing writes it."
    )

    def named(self) -> bool:
        return bool(self.train) != (self.imported is not None)

    def paths(self, name: Literal["train", "valid"]) -> list[Path]:
        if self.imported is not None:
            raise RecipeError(
                "data.imported: what an imported model learned from is not here; "
                "write a recipe that names your own data (data.train)"
            )
        return super().paths(name)

    def shown(self) -> str | list[str]:
        return self.imported or super().shown()


class TextSection(ImportableSection, WordsSection):
    """Running text, read in windows of one length."""

    context: int = Field(
        default=256, ge=2, le=100_000, description="Tokens that the model reads at a time."
    )
    text: str | int = Field(
        default="", description="The column of the text in a table: a name, or a number from 1."
    )


class WindowSection(TextSection):
    """Running text for a language model."""

    deciding = frozenset({"direction"})

    direction: Literal["forward", "backward"] = Field(
        default="forward", description="Which way the model reads; one of each makes good vectors."
    )


class MaskedSection(TextSection):
    """Running text in which some tokens are hidden."""

    masked_share: float = Field(
        default=0.15, gt=0, lt=1, description="Share of the tokens that are hidden."
    )
    whole_words: bool = Field(
        default=False, description="Whether words are hidden whole, not by their pieces."
    )
    cooccurrence_window: int = Field(
        default=0,
        ge=0,
        le=100,
        validation_alias=AliasChoices("cooccurrence_window", "counted_window"),
        description="Embeddings start from which tokens stand this near each other; 0 = at random.",
    )


class LabelledSection(WordsSection):
    """Texts or sentences with labels."""

    held_out_pairs: int = Field(
        default=2000, ge=1, description="Most examples that are held out for validation."
    )
    max_length: int = Field(
        default=256, ge=2, le=100_000, description="Longest text in pieces; the rest is cut off."
    )
    label: str | int = Field(
        default="", description="The column of the labels: a name, or a number from 1."
    )
    text: str | int = Field(
        default="", description="The column of the texts, or words: a name, or a number from 1."
    )


class TokenizerSection(Section):
    """The settings of the tokenizer."""

    kind: Literal["bpe", "unigram", "word", "character"] = Field(
        default="bpe", description="What a token is: a piece of a word, a word, a character."
    )
    vocabulary_size: int = Field(
        default=8000, ge=264, le=1_000_000, description="Most tokens in the vocabulary."
    )
    lowercase: bool = Field(
        default=False, description="Whether capitals are read as small letters."
    )
    typography: Typography = Field(
        default="fold",
        description="fold: marks that the data hardly has (’ for ') are read as the usual ones.",
    )
    folder: str | None = Field(
        default=None, description="A run whose tokenizer is used; it starts at data.folder."
    )

    def check(self, recipe: Recipe) -> None:
        from regard.tasks.tokenizers import given_tokenizers

        given_tokenizers(recipe)


class TokenTraining(TrainSection):
    """Training on batches of text."""

    batch_tokens: int = Field(
        default=4096,
        ge=1,
        description="Size of a batch: rows times its longest sentence on each side, with padding.",
    )
    label_smoothing: float = Field(
        default=0.1, ge=0, lt=1, description="Probability that training gives to wrong answers."
    )

    @property
    def update_tokens(self) -> int:
        return self.batch_tokens * self.accumulate


class SampledTraining(TokenTraining):
    """Training of models that write, with samples of what they write."""

    changeable = TokenTraining.changeable | {"eval_sentences"}

    eval_sentences: int = Field(
        default=500, ge=0, description="Validation sentences that are translated; 0 for no samples."
    )


def check_positions(max_positions: int, longest: int, setting: str) -> None:
    if longest > max_positions:
        raise ValueError(
            f"{setting} = {longest} is longer than model.max_positions = {max_positions}"
        )


def check_embeddings(data: WordsSection, tokenizer: TokenizerSection) -> None:
    if data.embeddings and tokenizer.kind != "word":
        raise ValueError('data.embeddings are of words; set tokenizer.kind = "word"')
