"""Tagging: words of sentences to labels."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from pydantic import Field

from regard.data.labelled import read_tagged
from regard.errors import RequestError
from regard.evaluate.metrics import ACCURACY, SPAN_F1
from regard.run import Run
from regard.tasks import label_sizes, labels
from regard.tasks.task import Evaluation, Section, Task, Test, TextQuestion

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models import Labeller
    from regard.tasks.labelling import Labelling

UNITS = labels.Units(read_tagged, whole_text=False, name="sentences")


class TaggingRecipe(labels.LabellingRecipe):
    """A model that labels the words of sentences."""

    metrics = ("loss", "accuracy", "span_f1")

    task: Literal["tagging"] = Field(default="tagging", description="What the model is for.")


@dataclass(frozen=True)
class TaggedWord:
    word: str
    label: str
    probability: float


class Tagger:
    """Predicts the labels of the words of sentences."""

    def __init__(self, labelling: "Labelling") -> None:
        self.labelling = labelling

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """The tagger of a run folder."""
        from regard.tasks.labelling import Labelling

        return cls(Labelling.load(folder, "tagging", device))

    @property
    def model(self) -> "Labeller":
        return self.labelling.model

    def tag(self, sentences: Sequence[str | Sequence[str]]) -> list[list[TaggedWord]]:
        """The labels of each sentence's words; a sentence that is a string is split at spaces."""
        if isinstance(sentences, str):
            raise RequestError("tag takes a list of sentences; put the sentence in brackets")
        words = [each.split() if isinstance(each, str) else list(each) for each in sentences]
        found = iter(
            self.labelling.probabilities([each for each in words if each], whole_text=False)
        )
        return [self._tagged(each, next(found)) if each else [] for each in words]

    def _tagged(self, words: list[str], probabilities: "Tensor") -> list[TaggedWord]:
        best = probabilities.max(-1)
        return [
            TaggedWord(word, self.labelling.names[label], value)
            for word, label, value in zip(
                words, best.indices.tolist(), best.values.tolist(), strict=True
            )
        ]


def evaluate(run: Run, test: Test) -> Evaluation:
    """Accuracy and F1 of the labels of words, and of the spans that they make."""
    from regard.evaluate.labels import confusion, has_spans, macro_f1, span_f1
    from regard.tasks.labelling import TEXTS_AT_ONCE, label_evaluation, with_unknown

    recipe = run.recipe_for("tagging")
    tagger = Tagger.load(run.folder, "auto")
    examples = list(read_tagged(list(test.without_search().files), recipe.data.label))
    names = with_unknown(examples, tagger.labelling.names, test)
    found: list[list[str]] = []
    with test.reporter.progress("tagging", len(examples)) as advance:
        for start in range(0, len(examples), TEXTS_AT_ONCE):
            part = [each.units for each in examples[start : start + TEXTS_AT_ONCE]]
            found += [[word.label for word in words] for words in tagger.tag(part)]
            advance(len(part))
    true = [list(each.labels) for each in examples]
    numbers = {name: number for number, name in enumerate(names)}
    flat = [np.array([numbers[label] for row in rows for label in row]) for rows in (found, true)]
    table = confusion(flat[0], flat[1], len(names))
    right = np.array(
        [
            [sum(a == b for a, b in zip(mine, theirs, strict=True)), len(theirs)]
            for mine, theirs in zip(found, true, strict=True)
        ],
        float,
    )
    scores = {"accuracy": 100 * right[:, 0].sum() / right[:, 1].sum(), "macro-F1": macro_f1(table)}
    if has_spans(names):
        scores["span F1"] = span_f1(found, true)
    answers = []
    for example, tags in zip(examples, found, strict=True):
        answers += [f"{word}\t{tag}" for word, tag in zip(example.units, tags, strict=True)]
        answers.append("")
    count = f"{len(examples)} {UNITS.name}"
    return label_evaluation(test, count, scores, right, names, table, answers)


def look(tagger: Tagger, asked: TextQuestion) -> Section:
    """A label for each word, and the pieces that the model read."""
    found = tagger.tag([asked.text])[0]
    labelling = tagger.labelling
    pieces = labelling.tokenizer.pieces(labelling.last_row(asked.text.split(), whole_text=False))
    return {"pieces": pieces, "tags": [asdict(each) for each in found]}


TASK = Task(
    name="tagging",
    recipe=TaggingRecipe,
    build=labels.build,
    setup=partial(labels.setup, UNITS),
    load=Tagger.load,
    evaluate=evaluate,
    test_files="data",
    gives_labels=True,
    metrics=(ACCURACY, SPAN_F1),
    describe=partial(labels.described, "A tagger of words", ("sentence", "tags", "true tags")),
    commands=lambda recipe: ('regard tag {run} "…"', "regard evaluate {run} --data test.conllu"),
    suggest=partial(label_sizes.suggest, UNITS, TaggingRecipe),
    planning=label_sizes.planning(UNITS),
    look=look,
    attend=labels.attend,
    reader=labels.reader,
    sizes_of_old_run=labels.sizes_of_old_run,
)
