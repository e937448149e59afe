"""Classification and tagging: labels for texts, or for the words of sentences."""

import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from regard import objectives
from regard.checkpoint import Run
from regard.data.batches import Batches
from regard.data.corpus import held_out
from regard.data.label_ids import LabelledIds, write_labelled
from regard.data.labelled import Labelled, read_tagged, read_texts
from regard.errors import DataError
from regard.evaluate.labels import HeldOutLabels
from regard.files import write_file
from regard.recipe import DataSection, Recipe
from regard.text.tokenizer import Tokenizer, Tokenizers
from regard.training.events import Event, ExamplesReady, Note
from regard.training.lesson import Lesson
from regard.training.prepare import known_tokenizers

# More labels than this are a sign that the wrong column was taken.
MOST_LABELS = 10_000


def read_labelled(task: str, paths: list[Path], label: str | int) -> Iterator[Labelled]:
    return (read_texts if task == "classification" else read_tagged)(paths, label)


@dataclass(frozen=True)
class LabelSplit:
    """What is learned from and what is held out, by a hash of the text unless files are named."""

    task: str
    data: DataSection
    seed: int
    share: float

    @classmethod
    def of(cls, recipe: Recipe) -> "LabelSplit":
        data = recipe.data
        count = 0
        if not data.valid:
            count = sum(1 for _ in read_labelled(recipe.task, data.paths("train"), data.label))
        share = min(data.held_out_share, data.held_out_pairs / max(1, count))
        return cls(recipe.task, data, recipe.seed, share)

    def read(self, name: str) -> Iterator[Labelled]:
        paths = self.data.paths("train" if name == "train" else "valid")
        return read_labelled(self.task, paths, self.data.label)

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


def label_lesson(run: Run, recipe: Recipe) -> Generator[Event, None, Lesson]:
    whole_text = recipe.task == "classification"
    folder = run.training / "data"
    known = known_tokenizers(run, recipe)
    tokenizer = known.source if known else None
    if tokenizer is None or not (folder / "train.json").exists():
        tokenizer = yield from encode(run, recipe, tokenizer)

    def opened(name: str) -> LabelledIds:
        assert tokenizer is not None
        return LabelledIds.open(folder, name, tokenizer.specials, whole_text=whole_text)

    train, valid = opened("train"), opened("valid")
    batches = Batches(train.lengths, train.unit_counts, recipe.train.batch_tokens, recipe.seed)
    unit = "texts" if whole_text else "sentences"
    labels = ", ".join(train.labels[:8]) + (", …" if len(train.labels) > 8 else "")
    remark = f"{len(train.labels)} labels: {labels}"
    yield ExamplesReady(len(train), len(valid), unit, batches.padding(), (remark,))
    return Lesson(
        inputs=len(tokenizer),
        outputs=len(train.labels),
        examples=train,
        batches=batches,
        objective=objectives.labelling,
        held_out=HeldOutLabels(valid, tokenizer),
    )


def encode(
    run: Run, recipe: Recipe, tokenizer: Tokenizer | None
) -> Generator[Event, None, Tokenizer]:
    """The labels, the tokenizer unless there is one, and both parts as ids on disk."""
    yield Note("Reading the labelled text …")
    split = LabelSplit.of(recipe)
    learned, labels = labels_of(split)
    if unseen := [label for label in labels if label not in learned]:
        shown = ", ".join(unseen[:8]) + ", …" * (len(unseen) > 8)
        yield Note(f"only in the validation data, so never learned: {shown}", warning=True)
    save_labels(run, labels)
    if tokenizer is None:
        yield Note("Learning the vocabulary …")
        tokenizer = learn(recipe, split)
        run.save_tokenizers(Tokenizers(tokenizer, tokenizer))
    yield Note("Encoding the text …")
    for name, examples in (("valid", split.valid()), ("train", split.train())):
        write_labelled(
            examples,
            tokenizer,
            labels,
            run.training / "data",
            name,
            max_length=min(recipe.data.max_length, recipe.train.batch_tokens),
            whole_text=recipe.task == "classification",
        )
    return tokenizer


def learn(recipe: Recipe, split: LabelSplit) -> Tokenizer:
    section = recipe.tokenizer
    return Tokenizer.train(
        (" ".join(example.units) for example in split.train()),
        kind=section.kind,
        vocabulary_size=section.vocabulary_size,
        lowercase=section.lowercase,
    )


def labels_of(split: LabelSplit) -> tuple[set[str], list[str]]:
    """Those to learn, and all that occur, in the order of the alphabet."""
    found: set[str] = set()
    for example in split.train():
        found.update(example.labels)
        if len(found) > MOST_LABELS:
            raise DataError(
                f"{example.place}: more than {MOST_LABELS:,} labels; "
                "name the column that holds them with --set data.label"
            )
    learned = set(found)
    for example in split.valid():
        found.update(example.labels)
    if len(found) < 2:
        only = f"the only label is {found.pop()!r}" if found else "there are no labels"
        raise DataError(
            f"{split.data.paths('train')[0]}: {only}, and a model learns to tell at least two "
            "apart; give examples of another label, or name the column that holds the labels "
            "with --set data.label"
        )
    if not learned:
        raise DataError(
            "everything was held out for validation; give more examples, or name validation files "
            "with --valid"
        )
    if next(islice(split.valid(), 1), None) is None:
        raise DataError(
            "nothing was held out for validation; give more examples, raise data.held_out_share, "
            "or name validation files with --valid"
        )
    return learned, sorted(found)


def save_labels(run: Run, labels: list[str]) -> None:
    text = json.dumps({"labels": labels}, ensure_ascii=False, indent=1)
    write_file(run.labels_path, text.encode())
