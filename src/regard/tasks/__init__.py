"""The list of tasks: what a model can be trained for, one row each.

A task is one module (a folder for translation) that holds `TASK`. It is loaded when it is needed;
this list loads nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from regard.errors import RecipeError

if TYPE_CHECKING:
    from regard.tasks.task import Task


@dataclass(frozen=True)
class Column:
    """A part of an example that Python holds. The first name is the one in regard's own files;
    tables may use any of them, and for texts and labels the other names that files may use.
    """

    names: tuple[str, ...]
    holds: Literal["text", "label", "texts", "labels"]


@dataclass(frozen=True)
class Companion:
    """A flag for more data beside a task's own: `--images photos --captions captions.tsv`. Without
    a help text, it is the flag of another task.
    """

    flag: str
    flag_help: str = ""
    needed: bool = False


@dataclass(frozen=True)
class Entry:
    """A task as commands, the server and the studio list it."""

    name: str
    module: str  # which holds TASK
    # `regard train --FLAG FILES…` starts the first task that has the flag and takes its companions.
    flag: str = ""
    flag_help: str = ""
    companions: tuple[Companion, ...] = ()
    # The parts of an example of this data, in the order of a tuple; without any, an example is
    # whatever a line of JSON holds.
    columns: tuple[Column, ...] = ()
    # Whether Python may give examples; else the names of files or folders.
    takes_examples: bool = True
    # Settings of `regard train` beside the files that this task takes.
    options: frozenset[str] = frozenset()
    # Settings of [data] that have a flag of their own, and what each of them says.
    data_flags: Mapping[str, str] = field(default_factory=dict)
    # What the server answers with a run: "translations", "completions", "embeddings", of images
    # "labels", "captions" and "matches" with texts, and of series "forecasts".
    serves: frozenset[str] = frozenset()
    # Tabs of the studio, and the title and explanation of the first.
    views: tuple[str, ...] = ("training",)
    title: str = ""
    explanation: str = ""
    # Commands that take only runs of such a task.
    commands: frozenset[str] = frozenset()
    # Models of Hugging Face's transformers that become runs of this task, and back.
    families: tuple[str, ...] = ()


TEXT = Column(("text",), "text")
# Of tasks whose models read or write a text.
TEXT_VIEWS = (
    *("text", "model", "alignment", "heads", "numbers", "training", "positions"),
    "compare",
)
TASKS: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            name="translation",
            module="regard.tasks.translation.task",
            flag="pairs",
            flag_help=(
                "Sentences and their translations: two files with a sentence a line, or one .tsv, "
                ".csv or .jsonl. Several corpora may follow each other."
            ),
            columns=(Column(("source",), "text"), Column(("target",), "text")),
            options=frozenset({"preset", "languages"}),
            serves=frozenset({"translations"}),
            views=(
                *("translate", "model", "alignment", "heads", "numbers", "beam", "training"),
                *("positions", "compare"),
            ),
            commands=frozenset(
                {"translate", "file", "learn", "compare", "heads", "prune"}
                | {"inspect alignment", "inspect confidence", "inspect gradients"}
                | {"inspect shortlist"}
                | {"export ctranslate2", "export huggingface"}
            ),
            families=("marian", "pegasus"),
        ),
        Entry(
            name="language-model",
            module="regard.tasks.language_model",
            flag="text",
            flag_help=(
                "Running text for a language model: plain text, or the texts of a .tsv, .csv or "
                ".jsonl."
            ),
            columns=(TEXT,),
            serves=frozenset({"completions", "embeddings"}),
            views=TEXT_VIEWS,
            title="Write",
            explanation=(
                "The model continues your text. Under each token is its probability; open one to "
                "see what else might have come, and continue from there."
            ),
            commands=frozenset({"generate", "score", "export huggingface"}),
            families=("gpt2",),
        ),
        Entry(
            name="masked-language-model",
            module="regard.tasks.masked_language_model",
            flag="text",
            columns=(TEXT,),
            serves=frozenset({"embeddings"}),
            views=TEXT_VIEWS,
            title="Fill in",
            explanation=(
                "Write [MASK] where a word is missing: the model ranks what may stand there."
            ),
            commands=frozenset({"fill", "export huggingface"}),
            families=("bert",),
        ),
        Entry(
            name="word-vectors",
            module="regard.tasks.word_vectors",
            flag="text",
            columns=(TEXT,),
            serves=frozenset({"embeddings"}),
        ),
        Entry(
            name="classification",
            module="regard.tasks.classification",
            flag="labelled",
            flag_help=(
                "Texts and their labels for a classifier: a .tsv or .csv with two columns, or a "
                ".jsonl. With --images: the names of files and their labels."
            ),
            columns=(TEXT, Column(("label",), "label")),
            serves=frozenset({"embeddings"}),
            views=TEXT_VIEWS,
            title="Classify",
            explanation="The probability of each label.",
            commands=frozenset({"classify"}),
        ),
        Entry(
            name="tagging",
            module="regard.tasks.tagging",
            flag="tagged",
            flag_help=(
                "Sentences whose words have labels for a tagger: CoNLL columns, or CoNLL-U."
            ),
            columns=(
                Column(("words", "tokens"), "texts"),
                Column(("labels", "tags", "upos", "pos_tags", "ner_tags"), "labels"),
            ),
            serves=frozenset({"embeddings"}),
            views=TEXT_VIEWS,
            title="Tag",
            explanation="A label for each word, with its probability.",
            commands=frozenset({"tag"}),
        ),
        Entry(
            name="image-classification",
            module="regard.tasks.image_classification",
            flag="images",
            flag_help=(
                "Images: a folder that has a folder for each label, or an .npz archive of arrays."
            ),
            companions=(Companion("labelled"),),
            columns=(Column(("image",), "text"), Column(("label",), "label")),
            takes_examples=False,
            serves=frozenset({"labels"}),
            views=("image", "training"),
            title="Classify images",
            explanation=(
                "The probability of each label, and which parts of the image it comes from: hide a "
                "patch and read what changes."
            ),
            commands=frozenset({"classify", "export huggingface"}),
            families=("vit",),
        ),
        Entry(
            name="captioning",
            module="regard.tasks.captioning",
            flag="images",
            companions=(
                Companion(
                    "captions",
                    "With --images: captions of the images, as .tsv, .csv, .json, .jsonl or a "
                    "folder of .txt files.",
                    needed=True,
                ),
            ),
            columns=(Column(("image",), "text"), Column(("caption",), "text")),
            takes_examples=False,
            serves=frozenset({"captions"}),
            views=("caption", "training"),
            title="Describe images",
            explanation=(
                "A caption, word by word. Choose a word to see where the model looks and what else "
                "it might have written; hide a patch, or continue with another word."
            ),
            commands=frozenset({"caption"}),
        ),
        Entry(
            name="matching",
            module="regard.tasks.matching",
            flag="images",
            companions=(Companion("captions", needed=True),),
            columns=(Column(("image",), "text"), Column(("caption",), "text")),
            takes_examples=False,
            serves=frozenset({"embeddings", "matches"}),
            views=("match", "training"),
            title="Match images and texts",
            explanation=(
                "How well each text fits each image. Choose one of each to see which words and "
                "which patches make them fit."
            ),
            commands=frozenset({"match", "search", "export huggingface"}),
            families=("clip",),
        ),
        Entry(
            name="forecasting",
            module="regard.tasks.forecasting",
            flag="series",
            flag_help=(
                "Numbers over time: tables (.csv, .tsv, .jsonl) with a column, an id or a row for "
                "each series."
            ),
            data_flags={
                "target": "With --series: the column to forecast; several have commas in between.",
                "time": "With --series: the column of times.",
                "id": "With --series: the column that tells series apart.",
                "known": "With --series: columns that are known in advance, such as holidays.",
                "horizon": "With --series: how many steps to forecast.",
                "every": "With --series: a longer step, of which means are taken, like 1h.",
                "zone": "With --series: the place whose clock times are on, like Europe/Berlin.",
                "dates": "With --series: what 01/02/2024 means, day-first or month-first.",
            },
            serves=frozenset({"forecasts"}),
            views=("series", "training"),
            title="Forecast",
            explanation=(
                "What comes next, and how sure that is. Drag the end of the past, or switch off "
                "what is known in advance, and the forecast follows."
            ),
            commands=frozenset({"forecast"}),
        ),
    )
}
# The task of a recipe that does not name one.
DEFAULT = next(iter(TASKS))
_loaded: "dict[str, Task]" = {}


def entry(name: str) -> Entry:
    """The row of a task; a RecipeError suggests the nearest one if there is none."""
    if name in TASKS:
        return TASKS[name]
    import difflib

    close = difflib.get_close_matches(name, TASKS, n=1)
    known = f"did you mean {close[0]}?" if close else f"there are {', '.join(TASKS)}"
    raise RecipeError(f"task {name[:80]}: there is no such task; {known}")


def get(name: str) -> "Task":
    """The task itself, with its schema and its functions."""
    if name not in _loaded:
        _loaded[name] = import_module(entry(name).module).TASK
    return _loaded[name]


def add(new: "Task", flag: str = "", flag_help: str = "", columns: tuple[Column, ...] = ()) -> None:
    """Let this process work with a task of your own: train it, evaluate it, load its runs.

    With a flag, `regard train --FLAG FILES…` and `regard.train(FLAG=…)` start it. A run folder is
    data and never code, so every program that uses such a run adds its task first.
    """
    if new.name in TASKS and _loaded.get(new.name) is not new:
        raise RecipeError(f"task {new.name}: there is one of that name; choose another")
    TASKS[new.name] = Entry(new.name, "", flag, flag_help, columns=columns)
    _loaded[new.name] = new


def flags() -> dict[str, str]:
    """The flags that name data, and what each of them takes."""
    entries = TASKS.values()
    own = {each.flag: each.flag_help for each in entries if each.flag_help}
    return own | {
        each.flag: each.flag_help
        for entry in entries
        for each in entry.companions
        if each.flag_help
    }


def data_flags() -> dict[str, str]:
    """The flags that stand for settings of [data], and what each of them says."""
    return {name: text for entry in TASKS.values() for name, text in entry.data_flags.items()}


def for_family(family: str) -> Entry | None:
    """The task that models of a Hugging Face family are for."""
    return next((each for each in TASKS.values() if family in each.families), None)
