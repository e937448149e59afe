"""Prepares the pairs of a recipe once: learns the tokenizers, and writes the ids to the disk."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain, islice, repeat
from pathlib import Path

from regard.data.corpus import Pair, held_out
from regard.data.ids import IdPairs, write_ids
from regard.data.pair_filter import FilterReport, PairFilter
from regard.errors import RunError
from regard.files import write_file
from regard.run import Run
from regard.small_files import parse_json, read_small, refusing
from regard.tasks.tokenizers import learn_pairs
from regard.tasks.translation.recipe import PairSection, TranslationRecipe
from regard.text.seen_words import SeenWords, WordGatherer
from regard.text.tokenizer import Tokenizers

# Texts kept for translation during validation; the loss is over all pairs.
VALID_TEXTS = 2000


@dataclass(frozen=True)
class Survey:
    """The counts from a first reading of the training pairs."""

    pairs: int
    words: int  # both sides
    characters: int


@dataclass(frozen=True)
class Prepared:
    tokenizers: Tokenizers
    train: IdPairs
    valid: IdPairs
    valid_pairs: list[Pair]


def corpus(data: PairSection) -> Iterator[Pair]:
    """All pairs of the training files, held-out ones included."""
    if data.builtin:
        from regard.data import phrasebook

        return phrasebook.pairs("train", data.builtin)
    return chain.from_iterable(each.read() for each in data.corpora("train"))


def remarks(data: PairSection) -> list[str]:
    """How the files are read, where that had to be found out."""
    if data.builtin:
        return []
    every = [*data.corpora("train"), *(data.corpora("valid") if data.valid else ())]
    found = [remark for each in every if (remark := each.remark())]
    if data.weights:
        found.append(f"learned from by weight: {', '.join(data.shown())}")
    return found


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

    data: PairSection
    seed: int
    share: float

    @classmethod
    def of(cls, recipe: TranslationRecipe, pairs: int) -> "Split":
        data = recipe.data
        return cls(data, recipe.seed, min(data.held_out_share, data.held_out_pairs / max(1, pairs)))

    def holds_out(self) -> bool:
        return self.data.builtin is None and not self.data.valid

    def train(self) -> Iterator[Pair]:
        """The pairs to learn from, each as often as the weight of its corpus says."""
        if not self.data.weights:
            return self.without_held_out(corpus(self.data))
        weighted = zip(self.data.corpora("train"), self.data.weights, strict=True)
        return chain.from_iterable(
            repeated(self.without_held_out(each.read()), weight, self.seed)
            for each, weight in weighted
        )

    def without_held_out(self, pairs: Iterator[Pair]) -> Iterator[Pair]:
        if not self.holds_out():
            return pairs
        return (pair for pair in pairs if not held_out(pair.source, self.seed, self.share))

    def valid(self) -> Iterator[Pair]:
        if self.data.builtin:
            from regard.data import phrasebook

            return phrasebook.pairs("valid", self.data.builtin)
        if self.data.valid:
            return chain.from_iterable(each.read() for each in self.data.corpora("valid"))
        return (pair for pair in corpus(self.data) if held_out(pair.source, self.seed, self.share))


def repeated(pairs: Iterator[Pair], weight: float, seed: int) -> Iterator[Pair]:
    """Each pair as often as the weight says: 2.5 takes every pair twice, and half of them once
    more, which a hash chooses.
    """
    times, share = int(weight), weight % 1
    for pair in pairs:
        again = share and held_out(f"again:{pair.source}\t{pair.target}", seed, share)
        yield from repeat(pair, times + bool(again))


def learn_tokenizers(recipe: TranslationRecipe, split: Split) -> Tokenizers:
    """Learn the tokenizers from the training pairs only."""
    return learn_pairs(recipe.tokenizer, split.train, recipe.tokenizer.joint)


def encode_pairs(
    run: Run, recipe: TranslationRecipe, split: Split, tokenizers: Tokenizers
) -> list[FilterReport]:
    """Write the ids of both sets to the disk, and some validation texts beside them."""
    folder = run.training / "data"
    limits = bounds(recipe)
    if next(split.valid(), None) is None:
        raise recipe.data.too_few([pair.source for pair in corpus(recipe.data)], "pairs")
    before = words_before(recipe)
    words = WordGatherer(before)

    def training_pairs() -> Iterator[Pair]:
        for pair in split.train():
            words.watch(pair.source)
            yield pair

    reports = [
        write_ids(
            pairs,
            *tokenizers,
            folder,
            name,
            max_length=limits.max_length,
            max_ratio=limits.max_ratio,
        )
        for name, pairs in (("valid", split.valid()), ("train", training_pairs()))
    ]
    if before is not None or not recipe.train.from_run:
        write_file(run.source_words_path, words.gathered().to_bytes())
    texts = islice(fitting(split.valid(), tokenizers, limits), VALID_TEXTS)
    # The name of a file without its folder, since the same data may be read from another one.
    lines = [json.dumps({**asdict(pair), "place": Path(pair.place).name}) for pair in texts]
    write_file(folder / "valid.jsonl", ("\n".join(lines) + "\n").encode())
    return reports


def words_before(recipe: TranslationRecipe) -> SeenWords | None:
    """The words that the model knows already, if it starts from a run that says them. Without them,
    nobody can say which words it has never seen.
    """
    start = recipe.train.from_run
    return SeenWords.load(Run(Path(start)).source_words_path) if start else None


def bounds(recipe: TranslationRecipe) -> PairSection:
    """The data's settings, with a max_length at which a pair still fits into a batch."""
    longest = min(recipe.data.max_length, recipe.train.batch_tokens)
    return recipe.data.model_copy(update={"max_length": longest})


def fitting(pairs: Iterable[Pair], tokenizers: Tokenizers, limits: PairSection) -> Iterator[Pair]:
    """The pairs whose ids were kept: a line of a megabyte must not be translated either."""
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
    """The data that an earlier start prepared, if it is complete and from these tokenizers."""
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


# The most bytes of the validation pairs.
LARGEST_TEXTS = 256 << 20


def read_texts(path: Path) -> list[Pair]:
    refusal = RunError(
        f"{path}: damaged; delete it and start the run again to encode the text again"
    )
    try:
        lines = read_small(path, LARGEST_TEXTS).split(b"\n")
    except OSError:
        raise refusal from None
    with refusing(refusal):
        return [Pair(**parse_json(line)) for line in lines if line]
