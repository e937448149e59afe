"""Classification: texts to labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field

from regard.data.labelled import read_texts
from regard.errors import RequestError
from regard.evaluate.metrics import ACCURACY, CALIBRATION_ERROR, MACRO_F1, TEMPERATURE
from regard.run import Run
from regard.tasks import label_sizes, labels
from regard.tasks.task import Evaluation, Section, Task, Test, TextQuestion

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models import Labeller
    from regard.tasks.labelling import Labelling

UNITS = labels.Units(read_texts, whole_text=True, name="texts")


class ClassificationRecipe(labels.LabellingRecipe):
    """A model that labels texts."""

    metrics = ("loss", "accuracy", "macro_f1")

    task: Literal["classification"] = Field(
        default="classification", description="What the model is for."
    )


@dataclass(frozen=True)
class Classification:
    """The likeliest label of a text, and the probability of each."""

    label: str
    probabilities: dict[str, float]  # the likeliest first


class Classifier:
    """Predicts the labels of texts."""

    def __init__(self, labelling: "Labelling") -> None:
        self.labelling = labelling

    @classmethod
    def load(cls, folder: Path | str, device: str = "cpu") -> Self:
        """The classifier of a run folder."""
        from regard.tasks.labelling import Labelling

        return cls(Labelling.load(folder, "classification", device))

    @property
    def model(self) -> "Labeller":
        return self.labelling.model

    def classify(self, texts: Sequence[str]) -> list[Classification]:
        """The labels of texts, in order; a long text is cut to the length that the model reads."""
        if isinstance(texts, str):
            raise RequestError("classify takes a list of texts; put the text in brackets")
        found = self.labelling.probabilities([[text] for text in texts], whole_text=True)
        return [self._classification(each[0]) for each in found]

    def _classification(self, probabilities: "Tensor") -> Classification:
        order = probabilities.argsort(descending=True, stable=True).tolist()
        ranked = {self.labelling.names[i]: float(probabilities[i]) for i in order}
        return Classification(next(iter(ranked)), ranked)


def evaluate(run: Run, test: Test) -> Evaluation:
    """Accuracy, F1 and calibration of the labels of texts."""
    import torch

    from regard.evaluate.labels import accuracy, calibration_error, confusion, macro_f1
    from regard.tasks.labelling import TEXTS_AT_ONCE, label_evaluation, with_unknown

    recipe = run.recipe_for("classification")
    classifier = Classifier.load(run.folder, "auto")
    examples = list(read_texts(list(test.without_search().files), recipe.data.label))
    names = with_unknown(examples, classifier.labelling.names, test)
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
    found = classifier.classify([asked.text])[0]
    labelling = classifier.labelling
    pieces = labelling.tokenizer.pieces(labelling.last_row([asked.text], whole_text=True))
    return {"pieces": pieces, "labels": found.probabilities}


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
    planning=label_sizes.planning(UNITS),
    look=look,
    attend=labels.attend,
    reader=labels.reader,
    sizes_of_old_run=labels.sizes_of_old_run,
)
