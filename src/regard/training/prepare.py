"""From the recipe's files to ids on disk: tokenizers learned once, pairs encoded once."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from regard.checkpoint import Run
from regard.data import phrasebook
from regard.data.corpus import Pair, held_out, language_codes, read_pairs
from regard.data.ids import IdPairs, write_ids
from regard.data.pair_filter import FilterReport, PairFilter
from regard.errors import DataError, RecipeError, RunError
from regard.files import write_file
from regard.recipe import DataSection, Recipe
from regard.text.tokenizer import Tokenizer, Tokenizers

# Texts kept for translation during validation; the loss is over all pairs.
VALID_TEXTS = 2000


@dataclass(frozen=True)
class Survey:
    """What a first reading of the training pairs tells."""

    pairs: int
    words: int  # both sides
    characters: int


@dataclass(frozen=True)
class Prepared:
    tokenizers: Tokenizers
    train: IdPairs
    valid: IdPairs
    valid_pairs: list[Pair]


def corpus(data: DataSection) -> Iterator[Pair]:
    """All pairs of the training files, held-out ones included."""
    if data.builtin:
        return phrasebook.pairs("train", data.builtin)
    return read_pairs(data.paths("train"), data.languages)


def languages(data: DataSection) -> tuple[str, str] | None:
    """The languages as named in the recipe, or as the file names tell."""
    if data.builtin:
        return ("fr", "en")
    return data.languages or language_codes(data.paths("train"))


def survey(pairs: Iterable[Pair]) -> Survey:
    count = words = characters = 0
    for pair in pairs:
        count += 1
        words += pair.source.count(" ") + pair.target.count(" ") + 2
        characters += len(pair.source) + len(pair.target)
    return Survey(count, words, characters)


@dataclass(frozen=True)
class Split:
    """The training and the validation pairs of a recipe, to be read as often as needed.

    Without files for validation, a share is held out by a hash of the source sentence, so that a
    sentence that occurs twice is never on both sides.
    """

    data: DataSection
    seed: int
    share: float

    @classmethod
    def of(cls, recipe: Recipe, pairs: int) -> "Split":
        data = recipe.data
        return cls(data, recipe.seed, min(data.held_out_share, data.held_out_pairs / max(1, pairs)))

    def holds_out(self) -> bool:
        return self.data.builtin is None and not self.data.valid

    def train(self) -> Iterator[Pair]:
        pairs = corpus(self.data)
        if not self.holds_out():
            return pairs
        return (pair for pair in pairs if not held_out(pair.source, self.seed, self.share))

    def valid(self) -> Iterator[Pair]:
        if self.data.builtin:
            return phrasebook.pairs("valid", self.data.builtin)
        if self.data.valid:
            return read_pairs(self.data.paths("valid"), self.data.languages)
        return (pair for pair in corpus(self.data) if held_out(pair.source, self.seed, self.share))


def known_tokenizers(run: Run, recipe: Recipe) -> Tokenizers | None:
    """Those of the run, or else those of another that the recipe names, which become its own."""
    if not run.has_tokenizers():
        given = given_tokenizers(recipe)
        if given is None:
            return None
        run.save_tokenizers(given)
    return run.tokenizers()


def given_tokenizers(recipe: Recipe) -> Tokenizers | None:
    """Those of another run, if the recipe names one."""
    section = recipe.tokenizer
    if section.folder is None:
        return None
    folder = Path(recipe.data.folder, section.folder)
    try:
        given = Tokenizers.load(folder)
    except RunError as error:
        raise RecipeError(f"tokenizer.folder: {error}") from None
    if given.joint != section.joint:
        raise RecipeError(
            f"tokenizer.folder: {folder} has {'two vocabularies' if section.joint else 'one'}; "
            f"set tokenizer.joint={str(not section.joint).lower()} as it has"
        )
    return given


def learn_tokenizers(recipe: Recipe, split: Split) -> Tokenizers:
    """From the training side only."""
    section = recipe.tokenizer

    def learn(texts: Iterable[str]) -> Tokenizer:
        return Tokenizer.train(
            texts,
            kind=section.kind,
            vocabulary_size=section.vocabulary_size,
            lowercase=section.lowercase,
        )

    if section.joint:
        tokenizer = learn(text for pair in split.train() for text in (pair.source, pair.target))
        return Tokenizers(tokenizer, tokenizer)
    return Tokenizers(
        learn(pair.source for pair in split.train()), learn(pair.target for pair in split.train())
    )


def encode_pairs(
    run: Run, recipe: Recipe, split: Split, tokenizers: Tokenizers
) -> list[FilterReport]:
    """Both parts to ids on disk, and some validation texts beside them."""
    folder = run.training / "data"
    limits = bounds(recipe)
    if next(split.valid(), None) is None:
        raise DataError(
            "no pair was held out for validation; give more pairs, raise data.held_out_share, "
            "or name validation files with --valid"
        )
    reports = [
        write_ids(
            pairs,
            *tokenizers,
            folder,
            name,
            max_length=limits.max_length,
            max_ratio=limits.max_ratio,
        )
        for name, pairs in (("valid", split.valid()), ("train", split.train()))
    ]
    texts = islice(fitting(split.valid(), tokenizers, limits), VALID_TEXTS)
    lines = [json.dumps(asdict(pair)) for pair in texts]
    write_file(folder / "valid.jsonl", ("\n".join(lines) + "\n").encode())
    return reports


def bounds(recipe: Recipe) -> DataSection:
    """The data's settings, where no pair is longer than a whole batch: it would not fit one."""
    longest = min(recipe.data.max_length, recipe.train.batch_tokens)
    return recipe.data.model_copy(update={"max_length": longest})


def fitting(pairs: Iterable[Pair], tokenizers: Tokenizers, limits: DataSection) -> Iterator[Pair]:
    """Those whose ids were kept: a line of a megabyte must not be translated either."""
    pair_filter = PairFilter(limits.max_length, limits.max_ratio)
    for pair in pairs:
        if not pair_filter.too_long_to_encode(pair):
            lengths = (
                len(tokenizers.source.encode(pair.source)) + 1,
                len(tokenizers.target.encode(pair.target)) + 1,
            )
            if pair_filter.keeps(pair, *lengths):
                yield pair


def load_prepared(run: Run, tokenizers: Tokenizers) -> Prepared | None:
    """What an earlier start left on disk, if it is all there and made by these tokenizers."""
    folder = run.training / "data"
    names = ("train.json", "valid.json", "valid.jsonl")
    if not all((folder / name).exists() for name in names):
        return None
    start = tokenizers.target.specials.start
    train, valid = (IdPairs.open(folder, name, start) for name in ("train", "valid"))
    fingerprints = (tokenizers.source.fingerprint, tokenizers.target.fingerprint)
    for pairs in (train, valid):
        if (pairs.source_tokenizer, pairs.target_tokenizer) != fingerprints:
            return None
    return Prepared(tokenizers, train, valid, read_texts(folder / "valid.jsonl"))


def read_texts(path: Path) -> list[Pair]:
    try:
        lines = path.read_bytes().split(b"\n")
        return [Pair(**json.loads(line)) for line in lines if line]
    except (OSError, ValueError, TypeError):
        raise RunError(
            f"{path}: damaged; delete it and start the run again to encode the text anew"
        ) from None
