"""The command `regard`: one small file a command. Heavy imports wait inside the commands."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version

from cyclopts import App, CycloptsError, Parameter

from regard.errors import RegardError

app = App(
    name="regard",
    help=(
        "Train translators and other sequence models on your own data, look at what they attend "
        "to, and put them to work.\n\n"
        "Every command takes --debug, which shows where an error came from."
    ),
    version=lambda: version("regard"),
    default_parameter=Parameter(negative=(), show_default=False),
    suppress_keyboard_interrupt=False,  # `main` says that it was interrupted
)
COMMANDS = {
    "demo": "Train the built-in French–English translator and look at it, in minutes.",
    "train": """Train a model from your data or a recipe; goes on where it stopped.

    Two ways to start: `regard train --pairs train.en train.de` (or --text, --labelled, --tagged),
    with sizes chosen for your data, or `regard train RECIPE.toml`, with everything written down.
    Ctrl-C saves and stops.
    """,
    "distill": "Train a smaller or quicker student on what a trained run says.",
    "translate": "Translate texts, or every line of standard input.",
    "generate": "Continue a text with a language model.",
    "score": "How likely a language model holds a text, token by token.",
    "classify": "Label texts with a classifier.",
    "tag": "Label the words of sentences with a tagger.",
    "fill": "Fill in what is masked in a text.",
    "embed": "Vectors of texts, from any model that reads them.",
    "evaluate": "Score a run: BLEU, chrF, TER, exact matches; accuracy and F1; perplexity.",
    "compare": "Several translators, the same sentences: one table, which differences are real.",
    "attend": "Show what attends to what in a translation: any layer, any head, or the alignment.",
    "heads": "Show what a model loses without each of its attention heads.",
    "prune": "Write a smaller run without the heads that are missed least.",
    "studio": "Open a page on a run: translations, attention, heads, beam, training curves.",
    "serve": "Answer translation requests over HTTP, as existing clients send them.",
    "export": "Write a run in the form of another program: CTranslate2, Hugging Face.",
    "import": "Make a run of a model that Hugging Face's transformers saved.",
    "show": "Sizes, parameters, scores and provenance of a run or a recipe.",
    "plan": "Memory, speed and time of training a recipe, on this machine or on any other.",
    "doctor": "What this machine can do, and what regard will use of it.",
}
for _order, (_name, _help) in enumerate(COMMANDS.items()):
    _place = "imports:import_run" if _name == "import" else f"{_name}:{_name}"
    app.command(f"regard.cli.{_place}", name=_name, help=_help, sort_key=_order)
INSPECT = {
    "alignment": "Find the attention head that aligns words best.",
    "positions": "Show the encoding of positions and its dot products.",
    "gradients": "Show how far back a recurrent decoder feels its losses.",
}
_inspect = App(
    name="inspect", help="Measure what goes on inside trained models.", sort_key=len(COMMANDS)
)
for _name, _help in INSPECT.items():
    _inspect.command(f"regard.cli.inspect:{_name}", name=_name, help=_help)
app.command(_inspect)
EXPERIMENTS = {
    "attention-matters": "Train without attention, with it and a Transformer, and compare them.",
}
_experiment = App(
    name="experiment",
    help="Train several models under the same conditions and write a page on how they differ.",
    sort_key=len(COMMANDS) + 1,
)
for _name, _help in EXPERIMENTS.items():
    _function = _name.replace("-", "_")
    _experiment.command(f"regard.cli.experiment:{_function}", name=_name, help=_help)
app.command(_experiment)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; exit 0 when it worked, 1 when it failed, 2 when it was called wrongly."""
    # Threads that spin while they wait for each other make training several times slower as soon as
    # another program takes a core. A short spin costs nothing on a quiet machine; read by libgomp.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    open_what_is_closed()
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError as error:
        fail(2, f"{' '.join(str(error).split())} See `regard {command_of(words)}--help`.", debug)
    except RegardError as error:
        fail(1, str(error), debug)
    except KeyboardInterrupt:
        fail(130, "interrupted", debug)
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell.
        forget_output()
        sys.exit(1)
    except OSError as error:
        forget_output()
        where = error.filename or "the output"
        fail(1, f"{where}: {error.strerror or error}; put that right and try again", debug)


def open_what_is_closed() -> None:
    """A program may be started without standard input, output or errors."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def forget_output() -> None:
    """What could not be written is not tried again when Python ends."""
    with suppress(OSError):  # where it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(code: int, sentence: str, debug: bool) -> None:
    if debug:
        raise
    print(f"regard: error: {sentence}", file=sys.stderr)
    sys.exit(code)


def command_of(words: Sequence[str]) -> str:
    return f"{words[0]} " if words and words[0] in app else ""
