"""The definition of a task: a schema for its recipes, and functions that other modules call."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.checks.report import Report
from regard.data.lines import check_file
from regard.errors import RecipeError, RequestError, RunError
from regard.evaluate.metrics import Metric
from regard.planning.task_planning import TaskPlanning
from regard.recipe import Recipe
from regard.reporter import SILENT, Reporter
from regard.run import Run

if TYPE_CHECKING:
    from torch import nn

    from regard.evaluate.validation import HeldOut
    from regard.inspect.evidence import TextEvidence
    from regard.inspect.flow.parts import Flow
    from regard.inspect.images.looked import Looked
    from regard.inspect.maps import Maps
    from regard.inspect.series import SeriesMaps
    from regard.tasks.embedder import Reader
    from regard.training.events import Event
    from regard.training.setup import FoundSetup, TrainingSetup

Section = dict[str, Any]
Sizes = Mapping[str, int]


@dataclass(frozen=True)
class DataFlags:
    """The data as the command line names it, where there is no recipe."""

    train: tuple[Path, ...]
    valid: tuple[Path, ...] = ()
    languages: tuple[str, str] | None = None
    folder: Path | None = None  # where relative names start, if not where we are
    columns: tuple[str | int, ...] = ()  # of tables, as a setting names them
    # Files of the flags beside the task's own.
    companions: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)

    def files(self) -> Section:
        names = {"train": list(map(str, self.train)), "valid": list(map(str, self.valid))}
        return {"folder": str(self.folder), **names} if self.folder else {**names}


@dataclass(frozen=True)
class Reason:
    """A sentence about chosen sizes, and the settings that it refers to."""

    text: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suggestion:
    """Sections of a recipe, and the reasons for them; the first says how much data there is."""

    values: dict[str, Section]
    reasons: list[Reason]


@dataclass(frozen=True)
class Description:
    """A run or a recipe in words."""

    what: str  # "A classifier of texts"
    data: str | list[str] | None  # the name of a corpus, or its files
    columns: tuple[str, str, str] = ("input", "output", "expected")  # of validation samples
    facts: Mapping[str, Any] = field(default_factory=dict)  # lines of `regard show`
    sizes: Sizes = field(default_factory=dict)  # of its model, as far as they are known


@dataclass(frozen=True)
class SearchOptions:
    """Options for a run that searches for its outputs; None leaves its recipe's setting."""

    beam_size: int | None = None
    length_penalty: float | None = None
    engine: str = "auto"
    int8: bool = False
    heads_off: str | None = None
    heads_only: str | None = None
    heads_how: str = "zero"


@dataclass(frozen=True)
class Test:
    """The data to score a run on. A translator takes two files: sources, and their references."""

    files: tuple[Path, ...] = ()
    bootstrap: int = 1000  # resamples for the intervals; 0 for none
    search: SearchOptions | None = None
    # Of series: windows of each, and steps from one to the next; 0 for as many as the horizon.
    backtest: int = 1
    stride: int = 0
    confidence: bool = False  # of a translator: whether to measure how reliable it is
    device: str = "auto"
    reporter: Reporter = SILENT

    def without_search(self) -> "Test":
        if self.search is not None:
            raise RequestError("options of a search: this run does not search; leave them out")
        return self


@dataclass(frozen=True)
class ScoreLine:
    """A score of a test set.

    Attributes
    ----------
    name : str
        Such as `"BLEU"` or `"accuracy"`.
    value : float
    low, high : float or None
        Its 95 % interval, where there is one.
    signature : str
        sacreBLEU's, which says how it was computed.
    decimals : int
        Digits after the point that are shown.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    signature: str = ""
    decimals: int = 2

    def interval(self) -> str:
        """The 95 % interval, as it is printed; `""` without one."""
        if self.low is None:
            return ""
        return f"[{self.low:.{self.decimals}f}, {self.high:.{self.decimals}f}]"

    def shown(self) -> str:
        """The value, as it is printed."""
        return f"{self.value:.{self.decimals}f}"


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The scores of a run on a test set, and what it answered.

    `print` shows it as `regard evaluate` does, a notebook as a table.

    Attributes
    ----------
    headline : str
        What was scored.
    scores : sequence of ScoreLine
    answers : sequence of str
        What the run answered: translations, or labels.
    labels : sequence of str
        Of a classifier or tagger.
    confusion : sequence of sequence of int
        [true label, label that was found]: how often.
    images : mapping
        (true label, label that was found) → the pixels of such an image, where images were scored.
    draw : function or None
        Draws what else was confused to a file, where there are no labels.
    facts : mapping
        Everything, as JSON holds it.

    Examples
    --------
    >>> import regard
    >>> found = regard.Evaluation("2 texts", [regard.ScoreLine("accuracy", 50.0)])
    >>> found
    Evaluation(2 texts: accuracy 50.00)
    >>> found.score("accuracy")
    50.0
    """

    headline: str
    scores: Sequence[ScoreLine]
    answers: Sequence[str] = ()
    labels: Sequence[str] = ()
    confusion: Sequence[Sequence[int]] = ()
    images: Mapping[tuple[int, int], Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    # Draws the scores to a file, where that is more than which labels are confused.
    draw: Callable[[Path], None] | None = field(default=None, compare=False)

    def score(self, name: str) -> float:
        """Look up a score by its name.

        Parameters
        ----------
        name
            Such as `"BLEU"` or `"accuracy"`.

        Returns
        -------
        float

        Raises
        ------
        RequestError
            There is no such score.
        """
        for each in self.scores:
            if each.name == name:
                return each.value
        known = ", ".join(each.name for each in self.scores)
        raise RequestError(f"there is no score {name!r}; there are {known}")

    def __repr__(self) -> str:
        shown = [f"{each.name} {each.shown()} {each.interval()}".strip() for each in self.scores]
        return f"Evaluation({self.headline}: {', '.join(shown[:5])}{', …' * (len(shown) > 5)})"

    def __str__(self) -> str:
        usual = 17 if any(score.signature for score in self.scores) else 19
        width = max([usual, *(len(score.name) + 1 for score in self.scores)])
        lines = [self.headline]
        for score in self.scores:
            interval = f"  {score.interval()}" if score.interval() else ""
            lines.append(f"{score.name:<{width}}{score.shown():>7}{interval}")
            if score.signature:
                lines.append(f"{'':{width}}{score.signature}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from regard import notebook

        names = ["score", "value", "95 % interval", "signature"]
        rows = [(s.name, s.shown(), s.interval(), s.signature) for s in self.scores]
        used = [place for place in range(4) if place < 2 or any(row[place] for row in rows)]
        table = [[row[place] for place in used] for row in rows]
        return f"<p>{escape(self.headline)}</p>" + notebook.table(table, [names[u] for u in used])


@dataclass(frozen=True)
class TextQuestion:
    """A question of the studio about a text."""

    text: str
    prefix: tuple[int, ...] = ()  # tokens that follow it
    more: int = 0  # tokens to write after these


@dataclass(frozen=True)
class ImageQuestion:
    """A question about an image: what speaks for a label, or what a text looks at or comes from."""

    label: str | None = None
    text: str | None = None

    def only(self, taken: str) -> "ImageQuestion":
        """Refuse an option that this run does not take."""
        for name in ("label", "text"):
            if name != taken and getattr(self, name) is not None:
                raise RequestError(f"--{name}: this run takes --{taken} instead; leave it out")
        return self


@dataclass(frozen=True)
class FineTuning:
    """Settings to train a model that has learned before: the learning rate times its width, and
    the divisor of the usual number of updates.
    """

    rate: float = 0.05
    shorter: int = 5


def no_suggestion(data: Section, model: Mapping[str, Any], preset: str) -> Suggestion:
    raise RecipeError("this task chooses no sizes by itself; write a recipe")


def no_old_runs(run: Run) -> Sizes:
    raise RunError(f"{run.model_path}: damaged (no sizes in its metadata)")


def no_evaluation(run: Run, test: Test) -> Evaluation:
    raise RequestError(f"{run.folder}: runs of this task cannot be evaluated on files")


@dataclass(frozen=True)
class Task:
    """A task: a recipe schema, and functions that take recipes of it.

    Only the first five are needed. docs/write-a-task.md builds one; `regard.tasks.add` makes it
    known.

    Examples
    --------
    >>> from regard import tasks
    >>> tasks.get("translation").recipe.__name__
    'TranslationRecipe'
    """

    name: str
    recipe: type[Recipe]
    # A fresh model. The sizes come from the training setup and are saved with the weights.
    build: "Callable[[Any, Sizes], nn.Module]"
    # Reads the data and says what to train on; what it yields is shown meanwhile.
    setup: "Callable[[Run, Any], Generator[Event, None, TrainingSetup | FoundSetup]]"
    # The object that answers with a run, and a device to answer on.
    load: Callable[[Path, str], Any]

    evaluate: Callable[[Run, Test], Evaluation] = no_evaluation
    # The files that it is evaluated on: "data" that it must be given, "pairs" of sentences and
    # references, or "" if it needs none.
    test_files: str = ""
    check_test: Callable[[Path], None] = check_file  # that such a file can be read
    searches: bool = False  # whether its outputs are searched for, with a beam
    gives_labels: bool = False  # which an evaluation can write and draw
    draws_scores: bool = False  # whether an evaluation can be drawn without labels
    metrics: tuple[Metric, ...] = ()
    unit: str = "tokens"  # what the speed of training counts
    describe: Callable[[Any, Run | None], Description] = lambda recipe, run: Description(
        f"A model for {recipe.task}", None
    )
    commands: Callable[[Any], Sequence[str]] = lambda recipe: ("regard evaluate {run}",)
    # Facts for run.json beside the facts of every task.
    info: Callable[[Any], Section] = lambda recipe: {}
    # Lines for the card, measured with the weights that were kept.
    after_training: "Callable[[Run, Any, nn.Module, HeldOut], list[str]] | None" = None
    measures: str = "the model"  # what that measures, in words
    # A sentence that has to be said of validation scores, such as that a simpler way is as good.
    verdict: Callable[[Mapping[str, float | None]], str] = lambda scores: ""
    # From the command line to a [data] section and a name for the run, where these are more than
    # the files and the name of the task; then to whole recipes. What is asked of the model comes
    # with it, and what is asked of an encoder of its own in `encoder`.
    data_section: Callable[[DataFlags], tuple[Section, str]] | None = None
    suggest: Callable[[Section, Mapping[str, Any], str], Suggestion] = no_suggestion
    # Looks at the data of a [data] section; None where there is nothing to look at.
    check: Callable[[Any], Report | None] = lambda data: None
    fine_tuning: FineTuning = FineTuning()
    planning: TaskPlanning | None = None
    # Looking inside: an answer for the studio's text view, attention maps, vectors of texts.
    look: Callable[[Any, TextQuestion], Section] | None = None
    attend: "Callable[[Path, str, str | None, str], tuple[Any, Maps]] | None" = None
    # The way of a text through the model, box by box, for the studio's model view.
    flow: "Callable[[Any, TextQuestion], Flow] | None" = None
    # What the words of a text speak for: run folder, text, label, device. None where the run has
    # nothing to say about it, and attention is shown instead.
    attend_words: "Callable[[Path, str, str | None, str], TextEvidence | None] | None" = None
    # The same for an image: run folder, image, what to ask about it, device.
    attend_image: "Callable[[Path, Path, ImageQuestion, str], Looked] | None" = None
    # The same for a series: run folder, files of newer data, name of the series, device.
    attend_series: "Callable[[Path, Sequence[Path], str, str], SeriesMaps] | None" = None
    reader: "Callable[[Run, str], Reader] | None" = None
    # Runs of the first version have no sizes in their weights.
    sizes_of_old_run: Callable[[Run], Sizes] = no_old_runs
