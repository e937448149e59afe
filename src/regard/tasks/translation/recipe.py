"""The recipe of a translator. It loads without PyTorch."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from regard.configs.recurrent import RecurrentConfig
from regard.configs.transformer import TransformerConfig
from regard.data.corpus import Corpus, corpora
from regard.data.pair_files import PAIR_KINDS, grouped, language_codes
from regard.recipe import Recipe, Section
from regard.run import Run
from regard.tasks.sections import (
    ImportableSection,
    SampledTraining,
    TokenizerSection,
    WordsSection,
    check_embeddings,
)

Builtin = Literal["phrasebook", "phrasebook-long"]
Weight = Annotated[float, Field(gt=0, le=1000)]
# The languages of the corpora that come with the package.
BUILTIN_LANGUAGES = ("fr", "en")


class PairSection(ImportableSection, WordsSection):
    """Sentences and their translations."""

    kinds: ClassVar = PAIR_KINDS

    builtin: Builtin | None = Field(
        default=None, description="A corpus that comes with regard, instead of files."
    )
    languages: tuple[str, str] | None = Field(
        default=None, description="Codes of the two languages, where file names do not show them."
    )
    columns: tuple[str | int, str | int] | None = Field(
        default=None,
        description="The columns of source and target in tables: names, or numbers from 1.",
    )
    weights: tuple[Weight, ...] = Field(
        default=(),
        description="How often each corpus is learned from: [1, 3] takes the second thrice.",
    )
    terms: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of pairs with some source words translated, to learn to write terms.",
    )
    placeholders: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of pairs with symbols such as %s on both sides, to learn to copy them.",
    )
    noise: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of pairs read with typos, in other case, or without the last mark.",
    )
    held_out_pairs: int = Field(
        default=2000, ge=1, description="Most pairs that are held out for validation."
    )
    max_length: int = Field(
        default=256, ge=2, le=100_000, description="Longer pairs are dropped; in pieces."
    )
    max_ratio: float = Field(
        default=4.0, gt=1, description="Pairs are dropped whose sides differ more in length."
    )

    @model_validator(mode="after")
    def has_files(self) -> Self:
        if not self.named():
            raise ValueError(
                "name either the training files (train) or a built-in corpus (builtin)"
            )
        corpora = len(grouped([Path(file) for file in self.train]))
        if self.weights and len(self.weights) != corpora:
            raise ValueError(f"weights has {len(self.weights)} number(s) for {corpora} corpora")
        if self.columns and not self.train:
            raise ValueError("columns are of training files (train), and none are named")
        return self

    def check_files(self) -> None:
        super().check_files()
        for name in ("train", "valid"):
            if self.paths(name):
                for each in self.corpora(name):
                    each.remark()  # which finds the columns of a table

    def named(self) -> bool:
        ways = bool(self.train), self.builtin is not None, self.imported is not None
        return ways.count(True) == 1

    def shown(self) -> str | list[str]:
        if not self.weights:
            return self.builtin or super().shown()
        groups = zip(grouped(self.paths("train")), self.weights, strict=True)
        return [f"{' + '.join(map(str, group))} ×{weight:g}" for group, weight in groups]

    def corpora(self, name: Literal["train", "valid"]) -> list[Corpus]:
        """The corpora of train or valid. Names of the others' files show the languages, too."""
        beside = self.paths("train") if name == "valid" else []
        return corpora(self.paths(name), self.languages, self.columns or (), beside)

    def codes(self) -> tuple[str, str] | None:
        """The languages as named in the recipe, or as the file names show them."""
        if self.builtin:
            return BUILTIN_LANGUAGES
        if self.languages or self.imported is not None:
            return self.languages
        return language_codes(self.paths("train"))


class PairTokenizerSection(TokenizerSection):
    joint: bool = Field(
        default=True, description="One vocabulary for both languages, or one each of that size."
    )


class DecodeSection(Section):
    """The settings of the search for translations."""

    beam_size: int = Field(
        default=5, ge=1, le=1000, description="Hypotheses that the search keeps alive."
    )
    length_penalty: float = Field(
        default=1.0,
        ge=0,
        le=10,
        description="Scores are divided by the length to this power: more prefers longer outputs.",
    )
    max_length_ratio: float = Field(
        default=2.0,
        gt=0,
        le=100,
        description="An output may be this many times as long as its source, and 20 pieces more.",
    )
    no_repeat_ngram: int = Field(
        default=0, ge=0, description="Length of sequences that may not be repeated; 0 = any may."
    )


class TranslationRecipe(Recipe):
    """A model that translates sentences."""

    models: ClassVar = {"transformer": TransformerConfig, "recurrent": RecurrentConfig}
    metrics = ("loss", "bleu", "chrf")

    task: Literal["translation"] = Field(
        default="translation", description="What the model is for."
    )
    data: PairSection
    tokenizer: PairTokenizerSection = PairTokenizerSection()
    model: TransformerConfig | RecurrentConfig = Field(default_factory=dict, validate_default=True)
    train: SampledTraining = SampledTraining()
    decode: DecodeSection = DecodeSection()

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        check_embeddings(self.data, self.tokenizer)
        if self.model.tied_embeddings == "all" and not self.tokenizer.joint:
            raise ValueError(
                'model.tied_embeddings = "all" needs tokenizer.joint = true; '
                'use tied_embeddings = "output" with one vocabulary a language'
            )
        if self.data.terms and not self.tokenizer.joint:
            raise ValueError(
                "data.terms puts target words into sources, which needs tokenizer.joint = true"
            )
        if isinstance(self.model, TransformerConfig):
            check_transformer(self.model, self.data.max_length)
        return self


def check_transformer(model: TransformerConfig, max_length: int) -> None:
    if model.d_model % model.num_heads:
        raise ValueError(
            f"model.d_model {model.d_model} is not a multiple of model.num_heads {model.num_heads}"
        )
    d_k = model.d_model // model.num_heads
    if model.positions == "rotary" and d_k % 2:
        raise ValueError(
            'model.positions = "rotary" turns pairs of numbers, and a head of model.d_model / '
            f"model.num_heads = {d_k} is odd"
        )
    if model.positions == "learned" and model.max_positions < max_length + 1:
        raise ValueError("model.max_positions must be larger than data.max_length")


def recipe_of(run: Run) -> TranslationRecipe:
    """The recipe of a translator; a run of another task is refused with what it can do."""
    recipe: TranslationRecipe = run.recipe_for("translation")
    return recipe
