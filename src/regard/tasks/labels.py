"""Labelled text, as classifiers and taggers learn from it: labels for texts, or for their words."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field, model_validator

from regard.configs.bert import BertConfig
from regard.configs.head import HeadConfig
from regard.configs.recurrent import ReaderConfig
from regard.data.corpus import held_out
from regard.data.frequent_labels import LabelCounter
from regard.data.labelled import Labelled
from regard.errors import DataError, RequestError
from regard.files import write_file
from regard.recipe import Recipe
from regard.run import Run
from regard.tasks import frequent
from regard.tasks.running_text import described_vocabulary
from regard.tasks.sections import (
    LabelledSection,
    TokenizerSection,
    TokenTraining,
    check_embeddings,
    check_positions,
)
from regard.tasks.task import Description, Sizes
from regard.tasks.tokenizers import known_tokenizers, learn
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.text.word_cutter import CutterLearner
from regard.training.events import Event, ExamplesReady, Note, Phase

if TYPE_CHECKING:
    from torch import nn

    from regard.inspect.maps import Maps
    from regard.tasks.embedder import Reader
    from regard.training.setup import TrainingSetup

# More labels than this are a sign that the wrong column was taken.
MOST_LABELS = 10_000


class LabellingRecipe(Recipe):
    """The settings that recipes of classifiers and taggers have in common."""

    models: ClassVar = {"bert": BertConfig, "recurrent": ReaderConfig}

    data: LabelledSection
    tokenizer: TokenizerSection = TokenizerSection()
    model: BertConfig | ReaderConfig = Field(default_factory=dict, validate_default=True)
    head: HeadConfig = HeadConfig()
    train: TokenTraining = TokenTraining()

    @model_validator(mode="after")
    def fits_together(self) -> Self:
        check_embeddings(self.data, self.tokenizer)
        if isinstance(self.model, BertConfig):
            check_positions(self.model.max_positions, self.data.max_length, "data.max_length")
        return self


@dataclass(frozen=True)
class Units:
    """The units that have a label: a whole text, or each word of a sentence."""

    # The examples of files, with the columns of the label and of the text.
    read: Callable[[Sequence[Path], str | int, str | int], Iterator[Labelled]]
    whole_text: bool
    name: str  # of the examples: "texts", "sentences"
    # How files are read, where that had to be found out.
    remarks: Callable[[Sequence[Path], str | int, str | int], list[str]] = lambda *_: []


@dataclass(frozen=True)
class LabelSplit:
    """The training and the validation set, split by a hash of the text unless files are named."""

    units: Units
    data: LabelledSection
    seed: int
    share: float

    @classmethod
    def of(cls, units: Units, recipe: LabellingRecipe) -> "LabelSplit":
        data = recipe.data
        count = 0
        if not data.valid:
            count = sum(1 for _ in units.read(data.paths("train"), data.label, data.text))
        return cls(units, data, recipe.seed, held_out_share(data, count))

    def read(self, name: str) -> Iterator[Labelled]:
        paths = self.data.paths("train" if name == "train" else "valid")
        return self.units.read(paths, self.data.label, self.data.text)

    def train(self) -> Iterator[Labelled]:
        if self.data.valid:
            return self.read("train")
        return (each for each in self.read("train") if not self.holds_out(each))

    def valid(self) -> Iterator[Labelled]:
        if self.data.valid:
            return self.read("valid")
        return (each for each in self.read("train") if self.holds_out(each))

    def holds_out(self, example: Labelled) -> bool:
        return held_out(" ".join(example.units), self.seed, self.share)


def held_out_share(data: LabelledSection, count: int) -> float:
    """The share of so many examples that is held out."""
    return min(data.held_out_share, data.held_out_pairs / max(1, count))


def build(recipe: LabellingRecipe, sizes: Sizes) -> "nn.Module":
    from regard import models

    letters = getattr(recipe, "letters", None)
    return models.build(recipe.model, sizes["inputs"], sizes["outputs"], recipe.head, letters)


def setup(
    units: Units, run: Run, recipe: LabellingRecipe
) -> "Generator[Event, None, TrainingSetup]":
    from regard import objectives
    from regard.data.batches import Batches
    from regard.data.label_ids import LabelledIds
    from regard.evaluate.labels import HeldOutLabels
    from regard.training.setup import TrainingSetup

    folder = run.training / "data"
    known = known_tokenizers(run, recipe)
    tokenizer = known.source if known else None
    if tokenizer is None or not (folder / "train.json").exists():
        tokenizer = yield from encode(units, run, recipe, tokenizer)

    def opened(name: str) -> LabelledIds:
        assert tokenizer is not None
        return LabelledIds.open(folder, name, tokenizer.specials, whole_text=units.whole_text)

    train, valid = opened("train"), opened("valid")
    batch_tokens = recipe.train.batch_tokens
    batches = Batches(train.lengths, train.unit_counts, batch_tokens, recipe.seed)
    labels = ", ".join(train.labels[:8]) + (", …" if len(train.labels) > 8 else "")
    remark = f"{len(train.labels)} labels: {labels}"
    simple = frequent.load(run)
    yield ExamplesReady(len(train), len(valid), units.name, batches.padding(), (remark,))
    return TrainingSetup(
        sizes={"inputs": len(tokenizer), "outputs": len(train.labels)},
        examples=train,
        batches=batches,
        objective=partial(objectives.labelling, label_smoothing=recipe.train.label_smoothing),
        held_out=HeldOutLabels(valid, tokenizer, batch_tokens),
        beside=simple.scores if simple else {},
        initialise=initialised(recipe, tokenizer),
        remark=f"vocabulary {max(len(tokenizer), len(train.labels)):,}",
    )


def initialised(recipe: LabellingRecipe, tokenizer: Tokenizer) -> "Callable[[nn.Module], str]":
    """What fills a new model with what is known: how tokens are written, and vectors of words."""
    from regard.tasks.embeddings import from_vectors

    take_vectors = from_vectors(recipe.data, tokenizer)

    def initialise(model: Any) -> str:
        if model.letters is not None:
            model.letters.spell(spelled(tokenizer))
        return take_vectors(model) if take_vectors else ""

    return initialise


def spelled(tokenizer: Tokenizer) -> list[str]:
    """How each token is written; tokens that are no part of a word are empty."""
    special = {*tokenizer.specials}
    pieces = tokenizer.pieces(range(len(tokenizer)))
    return [
        "" if number in special else piece.removeprefix("▁") if piece != "▁" else ""
        for number, piece in enumerate(pieces)
    ]


def encode(
    units: Units, run: Run, recipe: LabellingRecipe, tokenizer: Tokenizer | None
) -> Generator[Event, None, Tokenizer]:
    """Write the labels, the tokenizer unless there is one, and the ids of both sets to the disk."""
    from regard.data.label_ids import write_labelled

    yield Phase("Reading the labelled text")
    split, data = LabelSplit.of(units, recipe), recipe.data
    files = [*data.paths("train"), *data.paths("valid")]
    yield from map(Note, units.remarks(files, data.label, data.text))
    learned, labels = labels_of(split)
    if unseen := [label for label in labels if label not in learned]:
        shown = ", ".join(unseen[:8]) + ", …" * (len(unseen) > 8)
        yield Note(f"only in the validation data, so never learned: {shown}", warning=True)
    run.save_labels(labels)
    if tokenizer is None:
        yield Phase("Learning the vocabulary")
        tokenizer = learned_tokenizer(recipe, split)
        run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    yield Phase("Encoding the text")
    cutting = CutterLearner()

    counter = LabelCounter()

    def training_examples() -> Iterator[Labelled]:
        for example in split.train():
            cutting.add(example.units)
            if not units.whole_text:
                counter.add(example.units, example.labels)
            yield example

    for name, examples in (("valid", split.valid()), ("train", training_examples())):
        write_labelled(
            examples,
            tokenizer,
            labels,
            run.training / "data",
            name,
            max_length=min(recipe.data.max_length, recipe.train.batch_tokens),
            whole_text=units.whole_text,
        )
    if not units.whole_text:
        write_file(run.words_path, cutting.learned().to_json().encode())
        frequent.save(run, counter, list(split.valid()))
    return tokenizer


def learned_tokenizer(recipe: LabellingRecipe, split: LabelSplit) -> Tokenizer:
    return learn(recipe.tokenizer, (" ".join(example.units) for example in split.train()))


def described(
    what: str, columns: tuple[str, str, str], recipe: Any, run: Run | None
) -> Description:
    vocabulary, size = described_vocabulary(recipe, run)
    labels = run.labels() if run is not None and run.labels_path.exists() else []
    return Description(
        what=what,
        data=recipe.data.shown(),
        columns=columns,
        facts={"data": recipe.data.shown(), "vocabulary": vocabulary, "labels": labels},
        sizes={"inputs": size, "outputs": max(2, len(labels))},
    )


def attend(folder: Path, text: str, output: str | None, device: str) -> "tuple[Any, Maps]":
    from regard.tasks.attender import attend_labeller

    return attend_labeller(folder, text, output, device)


def reader(run: Run, device: str) -> "Reader":
    from regard.tasks.embedder import labelling_reader

    recipe: Any = run.recipe()
    if recipe.model.kind == "linear":
        raise RequestError(f"{run.folder}: a linear model has no vectors; train a network for them")
    return labelling_reader(run, device)


def sizes_of_old_run(run: Run) -> Sizes:
    return {"inputs": len(run.tokenizers().source), "outputs": len(run.labels())}


def labels_of(split: LabelSplit) -> tuple[set[str], list[str]]:
    """The labels of the training set, and all labels in alphabetical order."""
    return checked_labels(split, split.train(), split.valid())


def checked_labels(
    split: LabelSplit, train: Iterable[Labelled], valid: Iterable[Labelled]
) -> tuple[set[str], list[str]]:
    """The same for examples that were read before."""
    found: set[str] = set()
    for example in train:
        found.update(example.labels)
        if len(found) > MOST_LABELS:
            raise DataError(
                f"{example.place}: more than {MOST_LABELS:,} labels; "
                "name the column that holds them with --set data.label"
            )
    learned, validates = set(found), False
    for example in valid:
        found.update(example.labels)
        validates = True
    if len(found) < 2:
        only = f"the only label is {found.pop()!r}" if found else "there are no labels"
        raise DataError(
            f"{split.data.paths('train')[0]}: {only}, and a model learns to tell at least two "
            "apart; give examples of another label, or name the column that holds the labels "
            "with --set data.label"
        )
    if not learned or not validates:
        texts = [" ".join(example.units) for example in split.read("train")]
        raise split.data.too_few(texts, split.units.name)
    return learned, sorted(found)
