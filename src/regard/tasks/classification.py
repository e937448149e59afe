"""Classification: texts to labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

from pydantic import Field, model_validator

from regard.configs.bert import BertConfig
from regard.configs.linear import LinearConfig, NgramConfig
from regard.configs.recurrent import ReaderConfig
from regard.data.labelled import Labelled, read_texts, text_remarks
from regard.errors import RequestError
from regard.evaluate.metrics import (
    ACCURACY,
    CALIBRATION_ERROR,
    LINEAR_ACCURACY,
    LINEAR_WEIGHT,
    MACRO_F1,
    MOST_FREQUENT,
    NETWORK_ACCURACY,
    NETWORK_WEIGHT,
    TEMPERATURE,
)
from regard.recipe import parse_section
from regard.run import Run
from regard.tasks import first_answer, label_sizes, labels
from regard.tasks.checking import labelled_report
from regard.tasks.from_run import FromRun
from regard.tasks.inputs import items_of, same_length, summary, texts_of
from regard.tasks.task import Description, Evaluation, Section, Suggestion, Task, Test, TextQuestion

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.inspect.evidence import TextEvidence
    from regard.inspect.flow.parts import Flow
    from regard.tasks.text_labeller import TextLabeller

TEXTS_AT_ONCE = 512

UNITS = labels.Units(read_texts, whole_text=True, name="texts", remarks=text_remarks)


class ClassificationRecipe(labels.LabellingRecipe):
    """A model that labels texts."""

    metrics = ("loss", "accuracy", "macro_f1")

    models: ClassVar = {**labels.LabellingRecipe.models, "linear": LinearConfig}

    task: Literal["classification"] = Field(
        default="classification", description="What the model is for."
    )
    model: BertConfig | ReaderConfig | LinearConfig = Field(  # type: ignore[assignment]
        default_factory=dict, validate_default=True
    )
    # The linear model beside a network.
    linear: NgramConfig = NgramConfig()

    @model_validator(mode="before")
    @classmethod
    def is_found_at_once(cls, values: Any) -> Any:
        """A linear model has no updates, but for the one that finds it."""
        match values:
            case {"model": {"kind": "linear"}, **others}:
                train = others.get("train", {})
                if isinstance(train, Mapping):
                    return {**values, "train": {"steps": 1, **train}}
        return values

    @model_validator(mode="after")
    def has_only_what_its_model_uses(self) -> Self:
        if isinstance(self.model, LinearConfig):
            first_answer.refuse_unused(self)
        return self


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

    def __init__(self, labeller: "TextLabeller", folder: Path | None = None) -> None:
        self.labeller = labeller
        self.folder = folder

    def __repr__(self) -> str:
        return summary("Classifier", self.folder, self.model, f"{len(self.labels)} labels")

    @classmethod
    def _of(cls, run: Run, recipe: Any, model: Any) -> Self:
        from regard.tasks.text_labeller import TextLabeller

        return cls(TextLabeller.of(run, recipe, model), run.folder)

    @property
    def model(self) -> "nn.Module":
        """The network; the linear model, where there is no network."""
        network, linear = self.labeller.network, self.labeller.linear
        found = network.model if network else linear
        assert found is not None
        return found

    @property
    def labels(self) -> list[str]:
        """The labels that it tells apart."""
        return list(self.labeller.names)

    @overload
    def classify(self, texts: str) -> Classification: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, texts: Iterable[str]) -> list[Classification]: ...
    def classify(self, texts: str | Iterable[str]) -> Classification | list[Classification]:
        """Label texts.

        Parameters
        ----------
        texts
            A text, or several in a list, an iterator or a column of a table. Of a long text, a
            network reads the beginning, and a linear model all of it.

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
        ranked = [
            self._classification(each)
            for start in range(0, len(given), TEXTS_AT_ONCE)
            for each in self.labeller.probabilities(given[start : start + TEXTS_AT_ONCE])
        ]
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
        ranked = {self.labeller.names[i]: float(probabilities[i]) for i in order}
        return Classification(next(iter(ranked)), ranked)


def evaluate(run: Run, test: Test) -> Evaluation:
    recipe = run.recipe_for("classification")
    classifier = Classifier.load(run.folder, test.device)
    data, files = recipe.data, list(test.without_search().files)
    examples = list(read_texts(files, data.label, data.text))
    return scored(classifier, examples, test)


def scored(classifier: Classifier, examples: Sequence[Labelled], test: Test) -> Evaluation:
    """Accuracy, F1 and calibration of the labels of texts, and the accuracy of simpler answers."""
    import torch

    from regard.evaluate.labels import confusion, text_scores
    from regard.tasks.labelling import label_evaluation, with_unknown

    labeller = classifier.labeller
    occurring = {label for each in examples for label in each.labels}
    names = with_unknown(occurring, labeller.names, test)
    numbers = {name: number for number, name in enumerate(names)}
    true = torch.tensor([numbers[each.labels[0]] for each in examples])
    rows = []
    with test.reporter.progress("classifying", len(examples)) as advance:
        for start in range(0, len(examples), TEXTS_AT_ONCE):
            part = [each.units[0] for each in examples[start : start + TEXTS_AT_ONCE]]
            rows.append(labeller.parts(part, every=True))
            advance(len(part))
    parts = {name: torch.cat([row[name] for row in rows]) for name in rows[0]}
    logits = labeller.combined(parts)
    found = logits.argmax(-1)
    table = confusion(found.numpy(), true.numpy(), len(names))
    measured = text_scores(logits, true, len(names))
    scores = {
        "accuracy": measured["accuracy"],
        "macro-F1": measured["macro_f1"],
        "calibration error": measured["calibration_error"],
        **labeller.alone(parts, true),
        MOST_FREQUENT.title: measured["most_frequent"],
    }
    right = (found == true).numpy().astype(float).reshape(-1, 1)
    answers = [names[label] for label in found.tolist()]
    count = f"{len(examples)} {UNITS.name}"
    return label_evaluation(test, count, scores, right, names, table, answers)


def suggest(data: Section, asked: Mapping[str, Any], preset: str) -> Suggestion:
    """Sizes of a network and of the linear model beside it, or of a linear model alone."""
    section = parse_section(ClassificationRecipe, "data", data, "command line")
    amount = label_sizes.amount_of(UNITS, section)
    network = label_sizes.suggest_for(UNITS, section, data, asked, amount)
    return first_answer.suggested(network, asked, amount.characters)


def look(classifier: Classifier, asked: TextQuestion) -> Section:
    """The probability of each label, and the pieces that the network read."""
    found = classifier.classify(asked.text)
    network = classifier.labeller.network
    if network is None:
        return {"pieces": [], "labels": found.probabilities}
    pieces = network.tokenizer.pieces(network.last_row([asked.text], whole_text=True))
    if not classifier.labeller.weights.network:  # its attention is shown all the same
        network.probabilities([[asked.text]], whole_text=True)
    return {"pieces": pieces, "labels": found.probabilities}


def flow(classifier: Classifier, asked: TextQuestion) -> "Flow":
    from regard.tasks.text_flow import labels_flow

    network = classifier.labeller.network
    if network is None:
        raise RequestError("a linear model has one step and no layers; `regard attend` shows it")
    return labels_flow(network, [asked.text], whole_text=True)


def describe(recipe: Any, run: Run | None) -> Description:
    columns = ("text", "label", "true label")
    found = labels.described("A classifier of texts", columns, recipe, run)
    return first_answer.described(found, recipe, run)


def verdict(scores: Mapping[str, float | None]) -> str:
    """Which of the two models answers, where there are two."""
    network, linear = scores.get("network_weight"), scores.get("linear_weight")
    if network is None or linear is None:
        return ""
    if not network:
        return "The linear model answers alone: on held-out texts the network adds nothing to it."
    if not linear:
        return "The network answers alone: on held-out texts the linear model adds nothing to it."
    return "The network and the linear model answer together: each knows what the other does not."


def attend_words(folder: Path, text: str, label: str | None, device: str) -> "TextEvidence | None":
    """What the words of a text speak for; None without a linear model, and where no label is asked
    about and the attention of a network can be shown.
    """
    recipe = Run.open(folder).recipe_for("classification")
    if isinstance(recipe.model, BertConfig) and label is None:
        return None
    if not (isinstance(recipe.model, LinearConfig) or recipe.linear.reads):
        return None
    from regard.tasks.text_labeller import evidence

    classifier = Classifier.load(folder, device)
    return evidence(classifier.labeller, text, label)


TASK = Task(
    name="classification",
    recipe=ClassificationRecipe,
    build=labels.build,
    setup=partial(first_answer.setup, UNITS),
    load=Classifier.load,
    evaluate=evaluate,
    test_files="data",
    gives_labels=True,
    metrics=(
        *(ACCURACY, MACRO_F1, TEMPERATURE, CALIBRATION_ERROR, MOST_FREQUENT),
        *(LINEAR_ACCURACY, NETWORK_ACCURACY, NETWORK_WEIGHT, LINEAR_WEIGHT),
    ),
    verdict=verdict,
    describe=describe,
    commands=lambda recipe: (
        'regard classify {run} "…"',
        "regard evaluate {run} --data test.tsv",
    ),
    suggest=suggest,
    check=labelled_report,
    planning=label_sizes.planning(UNITS),
    look=look,
    flow=flow,
    attend=labels.attend,
    attend_words=attend_words,
    reader=labels.reader,
    sizes_of_old_run=labels.sizes_of_old_run,
)
