"""Tagging: words of sentences to labels."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from pydantic import Field, model_validator

from regard.configs.letters import LettersConfig
from regard.data.frequent_labels import FrequentLabels
from regard.data.labelled import Labelled, read_tagged
from regard.errors import RequestError, shown
from regard.evaluate.metrics import ACCURACY, FREQUENT_LABELS, FREQUENT_LABELS_F1, SPAN_F1
from regard.run import Run
from regard.tasks import frequent, label_sizes, labels
from regard.tasks.checking import tagged_report
from regard.tasks.from_run import FromRun
from regard.tasks.inputs import items_of, same_length, summary
from regard.tasks.task import Evaluation, Section, Task, Test, TextQuestion
from regard.text.word_cutter import WordCutter

if TYPE_CHECKING:
    from torch import Tensor

    from regard.inspect.flow.parts import Flow
    from regard.models import Labeller
    from regard.tasks.labelling import Labelling

FREQUENT = {metric.name: metric for metric in (FREQUENT_LABELS, FREQUENT_LABELS_F1)}
UNITS = labels.Units(read_tagged, whole_text=False, name="sentences")


class TaggingRecipe(labels.LabellingRecipe):
    """A model that labels the words of sentences."""

    metrics = ("loss", "accuracy", "span_f1")

    task: Literal["tagging"] = Field(default="tagging", description="What the model is for.")
    letters: LettersConfig = LettersConfig()

    @model_validator(mode="after")
    def letters_are_read(self) -> Self:
        if self.letters.filters and self.model.kind != "recurrent":
            raise ValueError('letters.filters is for model.kind = "recurrent"; leave it out')
        return self


@dataclass(frozen=True, repr=False)
class TaggedWord:
    """A word with its likeliest label.

    Attributes
    ----------
    word : str
    label : str
    probability : float
        Of the label.
    """

    word: str
    label: str
    probability: float

    def __repr__(self) -> str:
        return f"TaggedWord({self.word!r}, {self.label!r}, {self.probability:.3f})"


class TaggedSentence(list[TaggedWord]):
    """The words of a sentence with their labels: a list that a notebook shows in colours."""

    def _repr_html_(self) -> str:
        from regard import notebook

        return notebook.tagged((each.word, each.label) for each in self)


class Tagger(FromRun):
    """Predicts the labels of the words of sentences.

    `regard.load` or `Tagger.load` gives one of a run folder.

    Examples
    --------
    >>> import regard
    >>> tagger = regard.load("runs/tags")
    >>> tagger.tag("He reads.")[1:]
    [TaggedWord('reads', 'VERB', 0.989), TaggedWord('.', 'PUNCT', 1.000)]
    """

    task = "tagging"

    def __init__(self, labelling: "Labelling") -> None:
        self.labelling = labelling

    @cached_property
    def cutter(self) -> WordCutter:
        """Cuts a sentence into words as the training data does."""
        folder = self.labelling.folder
        return WordCutter.load(Run(Path(folder)).words_path) if folder else WordCutter()

    @cached_property
    def frequent(self) -> FrequentLabels | None:
        """The most frequent label of each word, which results stand beside."""
        folder = self.labelling.folder
        return frequent.load(Run(Path(folder))) if folder else None

    def __repr__(self) -> str:
        count = f"{len(self.labelling.names)} labels"
        return summary("Tagger", self.labelling.folder, self.model, count)

    @classmethod
    def _of(cls, run: Run, recipe: Any, model: Any) -> Self:
        from regard.tasks.labelling import Labelling

        return cls(Labelling.of(run, recipe, model))

    @property
    def model(self) -> "Labeller":
        return self.labelling.model

    @property
    def labels(self) -> list[str]:
        """The labels that it tells apart."""
        return list(self.labelling.names)

    @overload
    def tag(self, sentences: str) -> TaggedSentence: ...  # type: ignore[overload-overlap]
    @overload
    def tag(self, sentences: Iterable[str | Sequence[str]]) -> list[TaggedSentence]: ...
    def tag(
        self, sentences: str | Iterable[str | Sequence[str]]
    ) -> TaggedSentence | list[TaggedSentence]:
        """Label the words of sentences.

        Parameters
        ----------
        sentences
            A sentence, or several in a list, an iterator or a column of a table. A string is cut
            into words as the training data is (`"go."` into `"go"` and `"."`); a list is of words.

        Returns
        -------
        TaggedSentence or list of TaggedSentence
            One for a sentence, a list in the same order for several. Each is a list of words.

        Raises
        ------
        RequestError
            What was given is not a sentence.
        """
        given = [sentences] if isinstance(sentences, str) else sentences
        words = [
            words_of(each, number, self.cutter)
            for number, each in enumerate(items_of(given, "tag", "sentence"), start=1)
        ]
        found = iter(
            self.labelling.probabilities([each for each in words if each], whole_text=False)
        )
        tagged = [TaggedSentence(self._tagged(each, next(found)) if each else ()) for each in words]
        return tagged[0] if isinstance(sentences, str) else tagged

    def evaluate(
        self,
        sentences: Iterable[str | Sequence[str]],
        labels: Iterable[Sequence[Any]],
        bootstrap: int = 1000,
    ) -> Evaluation:
        """Score the tagger on sentences whose labels are known.

        Parameters
        ----------
        sentences
            Sentences that it has not learned from: lists of words, or strings that are split at
            spaces.
        labels
            The labels of each sentence's words.
        bootstrap
            Resamples for the 95 % interval of the accuracy; 0 leaves it out.

        Returns
        -------
        Evaluation
            Accuracy, macro-F1, the F1 of each label, and that of spans if labels are like B-NP.

        Raises
        ------
        RequestError
            There are not as many labels as words.
        DataError
            No label is one that the tagger knows.

        Examples
        --------
        >>> import regard
        >>> tagger = regard.load("runs/tags")
        >>> tagger.evaluate([["She", "reads"]], [["PRON", "VERB"]]).score("accuracy")
        100.0
        """
        given = items_of(sentences, "evaluate", "sentence")
        true = items_of(labels, "evaluate", "label")
        same_length("evaluate", sentences=given, labels=true)
        examples = []
        for number, (sentence, row) in enumerate(zip(given, true, strict=True), start=1):
            words = words_of(sentence, number, WordCutter())
            names = tuple(map(str, items_of(row, f"evaluate, sentence {number}", "label")))
            same_length(f"evaluate, sentence {number}", words=words, labels=list(names))
            examples.append(Labelled(tuple(words), names, f"sentence {number}"))
        return scored(self, examples, Test(bootstrap=bootstrap))

    def _tagged(self, words: list[str], probabilities: "Tensor") -> list[TaggedWord]:
        best = probabilities.max(-1)
        return [
            TaggedWord(word, self.labelling.names[label], value)
            for word, label, value in zip(
                words, best.indices.tolist(), best.values.tolist(), strict=True
            )
        ]


def words_of(sentence: Any, number: int, cutter: WordCutter) -> list[str]:
    words = cutter.cut(sentence) if isinstance(sentence, str) else sentence
    if isinstance(words, bytes) or not isinstance(words, Iterable):
        raise RequestError(
            f"sentence {number} is {shown(sentence)}; give a text or a list of words"
        )
    found = list(words)
    for each in found:
        if not isinstance(each, str):
            raise RequestError(f"sentence {number}: {shown(each)} is not a word; give a string")
    return found


def evaluate(run: Run, test: Test) -> Evaluation:
    recipe = run.recipe_for("tagging")
    tagger = Tagger.load(run.folder, test.device)
    data, files = recipe.data, list(test.without_search().files)
    examples = list(read_tagged(files, data.label, data.text))
    return scored(tagger, examples, test)


def scored(tagger: Tagger, examples: Sequence[Labelled], test: Test) -> Evaluation:
    """Accuracy and F1 of the labels of words, and of the spans that they make."""
    from regard.evaluate.labels import confusion, has_spans, macro_f1, span_f1
    from regard.tasks.labelling import TEXTS_AT_ONCE, label_evaluation, with_unknown

    occurring = {label for each in examples for label in each.labels}
    names = with_unknown(occurring, tagger.labelling.names, test)
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
    if tagger.frequent is not None:
        simple = [tagger.frequent.labels(each.units) for each in examples]
        for name, value in frequent.scores(simple, true).items():
            scores[FREQUENT[name].title] = value
    answers = []
    for example, tags in zip(examples, found, strict=True):
        answers += [f"{word}\t{tag}" for word, tag in zip(example.units, tags, strict=True)]
        answers.append("")
    count = f"{len(examples)} {UNITS.name}"
    return label_evaluation(test, count, scores, right, names, table, answers)


def look(tagger: Tagger, asked: TextQuestion) -> Section:
    """A label for each word, and the pieces that the model read."""
    found = tagger.tag(asked.text)
    labelling = tagger.labelling
    words = [each.word for each in found]
    pieces = labelling.tokenizer.pieces(labelling.last_row(words, whole_text=False))
    return {"pieces": pieces, "tags": [asdict(each) for each in found]}


def flow(tagger: Tagger, asked: TextQuestion) -> "Flow":
    from regard.tasks.text_flow import labels_flow

    words = words_of(asked.text, 1, tagger.cutter)
    return labels_flow(tagger.labelling, words, whole_text=False)


TASK = Task(
    name="tagging",
    recipe=TaggingRecipe,
    build=labels.build,
    setup=partial(labels.setup, UNITS),
    load=Tagger.load,
    evaluate=evaluate,
    test_files="data",
    gives_labels=True,
    metrics=(ACCURACY, SPAN_F1, *FREQUENT.values()),
    describe=partial(labels.described, "A tagger of words", ("sentence", "tags", "true tags")),
    commands=lambda recipe: ('regard tag {run} "…"', "regard evaluate {run} --data test.conllu"),
    suggest=partial(label_sizes.suggest, UNITS, TaggingRecipe),
    check=tagged_report,
    planning=label_sizes.planning(UNITS),
    look=look,
    flow=flow,
    attend=labels.attend,
    reader=labels.reader,
    sizes_of_old_run=labels.sizes_of_old_run,
)
