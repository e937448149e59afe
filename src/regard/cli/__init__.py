"""The command `regard`: one small file a command. Heavy imports wait inside the commands."""

import atexit
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError, Group, Parameter, UnknownOptionError, UnusedCliTokensError

from regard.cli.old_names import OLD_NAMES, renamed
from regard.cli.options import shown_default
from regard.cli.streams import as_utf8, forget_output, prepare_streams, shorten_warnings
from regard.cli.unfinished import say_unfinished
from regard.errors import RegardError, UsageError, visible
from regard.machine.cores import wait_briefly

app = App(
    name="regard",
    help=(
        "Train translators and other sequence models on your own data, look inside them, and put "
        "them to work.\n\n"
        "`regard help COMMAND` explains a command. With --debug, an error shows where it came "
        "from."
    ),
    help_format="plaintext",  # Markdown takes a while to load; see `prepare_help`
    version=lambda: version("regard"),
    version_flags=("--version", "-V"),
    default_parameter=Parameter(negative=(), show_default=shown_default),
    suppress_keyboard_interrupt=False,  # `main` says that it was interrupted
)
WITHOUT_TORCH = (
    "this command needs PyTorch, which is not installed; install it with `pip install torch`"
)
# A sentence on each command, under the headings of the list. It is the first of the command's
# docstring, which is not loaded to list it.
COMMANDS = {
    "Train": {
        "demo": "Train, score and show a built-in translator, or a classifier of images.",
        "check": "Check data before it is trained on, and show the sizes chosen for it.",
        "clean": "Sort pairs into those to learn from and those to leave out, with reasons.",
        "align": "Find the pairs of two documents, where lines do not translate each other.",
        "train": "Train a model from your data or from a recipe, or resume a run.",
        "learn": "Teach a translator corrections, without letting it forget.",
        "distill": "Train a smaller or faster student on a run's translations.",
        "experiment": "Train several models under the same conditions and compare them.",
        "plan": "Estimate the memory, speed and time of a training.",
        "recipes": "List the recipes that come with regard, or describe one.",
    },
    "Use": {
        "translate": "Translate texts, or every line of standard input.",
        "file": "Translate documents: PO, XLIFF, Word, subtitles, Markdown, spreadsheets and more.",
        "generate": "Continue a text with a language model.",
        "score": "Show how likely a text is to a language model, token by token.",
        "classify": "Label texts or images with a classifier.",
        "caption": "Describe images with a captioner.",
        "forecast": "Forecast what comes next in series, with intervals.",
        "tag": "Label the words of sentences with a tagger.",
        "fill": "Fill in what is masked in a text.",
        "match": "Find the text that fits an image best, among those you give.",
        "search": "Find the images of a folder that fit a text, or that are like another image.",
        "neighbours": "Find the words most similar to a word, by the vectors of a run.",
        "embed": "Turn texts or images into vectors, with a run of any task.",
        "evaluate": "Score a run on data that it has not seen.",
        "compare": "Compare translators on the same sentences.",
    },
    "Look inside": {
        "studio": "Look inside a run, or inside two runs, in the browser.",
        "attend": "Show what attends to what in a text, or what counts in an image or a series.",
        "heads": "Show what a translator loses without each of its attention heads.",
        "inspect": "Measure what happens inside trained translators.",
        "show": "Show a run, a recipe, or every setting of a task.",
    },
    "Serve and share": {
        "serve": "Answer requests over HTTP, as LibreTranslate, DeepL and OpenAI do.",
        "export": "Write a run for other programs, such as CTranslate2, Argos or a browser.",
        "import": "Make a run of a model that Hugging Face's transformers saved.",
        "prune": "Write a smaller run without the heads that matter least.",
    },
    "This machine": {
        "doctor": "Show what this machine can do, and what regard uses of it.",
        "completion": "Let the Tab key complete commands and options in your shell.",
    },
}
INSIDE = {
    "inspect": {
        "alignment": "Find the attention head that aligns words best.",
        "confidence": "Measure how sure a translator's outputs are, on held-out pairs.",
        "positions": "Show how a Transformer encodes positions, and how alike they are.",
        "gradients": "Show how far back the losses of a recurrent decoder reach.",
        "shortlist": (
            "Learn which pieces translate which, from the pairs that a translator was trained on."
        ),
    },
    "experiment": {
        "attention-matters": "Train without attention, with it, and a Transformer; compare them.",
    },
}
# Commands that take settings of a recipe with --set.
WITH_SETTINGS = ("check", "train", "distill", "experiment", "plan")


def place_of(command: str) -> str:
    """Where the function of a command is."""
    module, _, name = command.partition(" ")
    if module == "import":  # a word of Python
        return "regard.cli.imports:import_run"
    if module == "recipes":  # a command that has another inside
        return "regard.cli.recipes:app"
    return f"regard.cli.{module}:{(name or module).replace('-', '_')}"


def add_commands() -> None:
    for heading, commands in COMMANDS.items():
        group = Group.create_ordered(heading)
        for order, (name, text) in enumerate(commands.items()):
            if name in INSIDE:
                inner = App(name=name, help=text, group=group, sort_key=order)
                for each, sentence in INSIDE[name].items():
                    inner.command(place_of(f"{name} {each}"), name=each, help=sentence)
                app.command(inner)
            else:
                app.command(place_of(name), name=name, help=text, group=group, sort_key=order)
    about = Group.create_ordered("About regard")
    for flag in ("--help", "--version"):
        app[flag].group = about


add_commands()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; exit 0 when it worked, 1 when it failed, 2 when it was called wrongly."""
    wait_briefly()
    prepare_streams()
    shorten_warnings()
    words = as_utf8(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = with_names_of_today([word for word in words if word != "--debug"])
    try:
        prepare_help(words)
        command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
        if {"run", "runs"} & bound.arguments.keys():
            say_unfinished(bound.arguments)
        command(*bound.args, **bound.kwargs)
        sys.stdout.flush()
    except CycloptsError as error:
        fail(2, explained(error, words), debug)
    except UsageError as error:
        fail(2, str(error), debug)
    except RegardError as error:
        fail(1, str(error), debug)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        fail(1, WITHOUT_TORCH, debug)
    except KeyboardInterrupt:
        try:
            fail(130, "interrupted", debug)
        except SystemExit:
            if arguments is None:
                leave(130)
            raise
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell.
        forget_output()
        sys.exit(1)
    except OSError as error:
        forget_output()
        where = error.filename or "the output"
        fail(1, f"{where}: {error.strerror or error}; put that right and try again", debug)


def with_names_of_today(words: list[str]) -> list[str]:
    """`regard help X` is `regard X --help`, and options may have the names of earlier versions."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if words and words[0] in OLD_NAMES:
        words = renamed(words, OLD_NAMES[words[0]])
    return words


def prepare_help(words: Sequence[str]) -> None:
    """Let the page of a command show all of its docstring, not only the sentence in the list."""
    if not {"--help", "-h"} & set(words):
        return
    command = app
    for word in words:
        if word.startswith("-") or word not in command:
            break
        command = command[word]
    if command.default_command is not None:
        command.help, command.help_format = None, "markdown"


def explained(error: CycloptsError, words: Sequence[str]) -> str:
    """What is wrong with the command line, and where to read on."""
    if isinstance(error, UnknownOptionError) and words[0] in WITH_SETTINGS:
        from regard.cli.settings import setting_meant

        typed = error.token.keyword or error.token.value
        if sentence := setting_meant(typed, words):
            return sentence
    command = f"{words[0]} " if words and words[0] in app else ""
    if isinstance(error, UnusedCliTokensError):
        too_many = " ".join(error.unused_tokens or ())
        advice = f"leave it out. See `regard {command}--help`."
        return f"{too_many}: more than `regard {command.strip()}` takes; {advice}"
    sentence = " ".join(str(error).split()).partition(" Available commands:")[0]
    return f"{sentence} See `regard {command}--help`."


def fail(code: int, sentence: str, debug: bool) -> None:
    if debug:
        raise
    print(f"regard: error: {visible(sentence)}", file=sys.stderr)
    sys.exit(code)


def leave(code: int) -> None:
    """End the program at once. Where a Ctrl-C has met native threads at work, Python sometimes
    waits for them for ever when it clears up.
    """
    atexit._run_exitfuncs()
    sys.stderr.flush()
    os._exit(code)
