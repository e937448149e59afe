"""Classification: texts to labels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from pydantic import Field

from regard.data.labelled import Labelled, read_texts, text_remarks
from regard.evaluate.metrics import ACCURACY, CALIBRATION_ERROR, MACRO_F1, TEMPERATURE
from regard.run import Run
from regard.tasks import label_sizes, labels
from regard.tasks.checking import labelled_report
from regard.tasks.from_run import FromRun
from regard.tasks.inputs import items_of, same_length, summary, texts_of
from regard.tasks.task import Evaluation, Section, Task, Test, TextQuestion

if TYPE_CHECKING:
    from torch import Tensor

    from regard.inspect.flow.parts import Flow
    from regard.models import Labeller
    from regard.tasks.labelling import Labelling

UNITS = labels.Units(read_texts, whole_text=True, name="texts", remarks=text_remarks)


class ClassificationRecipe(labels.LabellingRecipe):
    """A model that labels texts."""

    metrics = ("loss", "accuracy", "macro_f1")

    task: Literal["classification"] = Field(
        default="classification", description="What the model is for."
    )


@dataclass(frozen=True, repr=False)
class Classification:
    """The likeliest label of a text, and the probability of each.

    Attributes
    ----------
    label : str
        The likeliest label.
    probabilities : dict of str to float
        The probability of each label, the likeliest first.
    """

    label: str
    probabilities: dict[str, float]

    def __repr__(self) -> str:
        return f"Classification({self.label!r}, {self.probabilities[self.label]:.3f})"

    def _repr_html_(self) -> str:
        from regard import notebook

        return notebook.bars(self.probabilities)


class Classifier(FromRun):
    """Predicts the labels of texts.

    `regard.load` or `Classifier.load` gives one of a run folder.

    Examples
    --------
    >>> import regard
    >>> classifier = regard.load("runs/reviews")
    >>> classifier.classify("this movie is so great").label
    'pos'
    >>> classifier.classify(["so great", "so bad"])
    [Classification('pos', 0.998), Classification('neg', 0.997)]
    """

    task = "classification"

    def __init__(self, labelling: "Labelling") -> None:
        self.labelling = labelling

    def __repr__(self) -> str:
        count = f"{len(self.labelling.names)} labels"
        return summary("Classifier", self.labelling.folder, self.model, count)

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
    def classify(self, texts: str) -> Classification: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Iterable[str]) -> list[Classification]: ...
    def classify(self, texts: str | Iterable[str]) -> Classification | list[Classification]:
        """Label texts.

        Parameters
        ----------
        texts
            A text, or several in a list, an iterator or a column of a table. A long text is cut to
            the length that the model reads.

        Returns
        -------
        Classification or list of Classification
            One for a text, a list in the same order for several.

        Raises
        ------
        RequestError
            What was given is not a text.
        """
        given = texts_of(texts, "classify")
        found = self.labelling.probabilities([[text] for text in given], whole_text=True)
        ranked = [self._classification(each[0]) for each in found]
        return ranked[0] if isinstance(texts, str) else ranked

    def evaluate(
        self, texts: Iterable[str], labels: Iterable[Any], bootstrap: int = 1000
    ) -> Evaluation:
        """Score the classifier on texts whose labels are known.

        Parameters
        ----------
        texts
            Texts that it has not learned from.
        labels
            Their labels, one for each text; those that are not strings are compared as strings.
        bootstrap
            Resamples for the 95 % interval of the accuracy; 0 leaves it out.

        Returns
        -------
        Evaluation
            Accuracy, macro-F1, calibration error and the F1 of each label.

        Raises
        ------
        RequestError
            There are not as many labels as texts, or none.
        DataError
            No label is one that the classifier knows.

        Examples
        --------
        >>> import regard
        >>> found = regard.load("runs/reviews").evaluate(["so great", "so bad"], ["pos", "neg"])
        >>> found.score("accuracy")
        100.0
        """
        given, true = texts_of(texts, "evaluate"), items_of(labels, "evaluate", "label")
        same_length("evaluate", texts=given, labels=true)
        rows = zip(given, true, strict=True)
        examples = [
            Labelled((text,), (str(label),), f"label {number}")
            for number, (text, label) in enumerate(rows, start=1)
        ]
        return scored(self, examples, Test(bootstrap=bootstrap))

    def _classification(self, probabilities: "Tensor") -> Classification:
        order = probabilities.argsort(descending=True, stable=True).tolist()
        ranked = {self.labelling.names[i]: float(probabilities[i]) for i in order}
        return Classification(next(iter(ranked)), ranked)


def evaluate(run: Run, test: Test) -> Evaluation:
    recipe = run.recipe_for("classification")
    classifier = Classifier.load(run.folder, test.device)
    data, files = recipe.data, list(test.without_search().files)
    examples = list(read_texts(files, data.label, data.text))
    return scored(classifier, examples, test)


def scored(classifier: Classifier, examples: Sequence[Labelled], test: Test) -> Evaluation:
    """Accuracy, F1 and calibration of the labels of texts."""
    import torch

    from regard.evaluate.labels import accuracy, calibration_error, confusion, macro_f1
    from regard.tasks.labelling import TEXTS_AT_ONCE, label_evaluation, with_unknown

    occurring = {label for each in examples for label in each.labels}
    names = with_unknown(occurring, classifier.labelling.names, test)
    true = torch.tensor([names.index(each.labels[0]) for each in examples])
    rows = []
    with test.reporter.progress("classifying", len(examples)) as advance:
        for start in range(0, len(examples), TEXTS_AT_ONCE):
            part = [each.units for each in examples[start : start + TEXTS_AT_ONCE]]
            rows += classifier.labelling.probabilities(part, whole_text=True)
            advance(len(part))
    probabilities = torch.cat(rows).double()
    found = probabilities.argmax(-1)
    table = confusion(found.numpy(), true.numpy(), len(names))
    scores = {
        "accuracy": accuracy(found.numpy(), true.numpy()),
        "macro-F1": macro_f1(table),
        "calibration error": calibration_error(probabilities, true),
    }
    right = (found == true).numpy().astype(float).reshape(-1, 1)
    answers = [names[label] for label in found.tolist()]
    count = f"{len(examples)} {UNITS.name}"
    return label_evaluation(test, count, scores, right, names, table, answers)


def look(classifier: Classifier, asked: TextQuestion) -> Section:
    """The probability of each label, and the pieces that the model read."""
    found = classifier.classify(asked.text)
    labelling = classifier.labelling
    pieces = labelling.tokenizer.pieces(labelling.last_row([asked.text], whole_text=True))
    return {"pieces": pieces, "labels": found.probabilities}


def flow(classifier: Classifier, asked: TextQuestion) -> "Flow":
    from regard.tasks.text_flow import labels_flow

    return labels_flow(classifier.labelling, [asked.text], whole_text=True)


TASK = Task(
    name="classification",
    recipe=ClassificationRecipe,
    build=labels.build,
    setup=partial(labels.setup, UNITS),
    load=Classifier.load,
    evaluate=evaluate,
    test_files="data",
    gives_labels=True,
    metrics=(ACCURACY, MACRO_F1, TEMPERATURE, CALIBRATION_ERROR),
    describe=partial(labels.described, "A classifier of texts", ("text", "label", "true label")),
    commands=lambda recipe: (
        'regard classify {run} "…"',
        "regard evaluate {run} --data test.tsv",
    ),
    suggest=partial(label_sizes.suggest, UNITS, ClassificationRecipe),
    check=labelled_report,
    planning=label_sizes.planning(UNITS),
    look=look,
    flow=flow,
    attend=labels.attend,
    reader=labels.reader,
    sizes_of_old_run=labels.sizes_of_old_run,
)
