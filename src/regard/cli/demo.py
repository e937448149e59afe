"""regard demo: a model trained, scored and looked at in minutes, with nothing to fetch."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from regard.recipe import Recipe

SENTENCE = "Jane visite l'Afrique en septembre"


def demo(
    what: Literal["translator", "images", "pictures"] = "translator",
    /,
    *,
    out: Annotated[Path | None, Parameter(show_default="runs/demo, for images runs/shapes")] = None,
) -> None:
    """Train, score and show a built-in translator, or a classifier of images.

    It takes minutes and needs no data: the phrasebook and the images come with regard.

    Parameters
    ----------
    what
        The translator, or images: a Vision Transformer that learns to name drawn shapes. Pictures
        are the same.
    out
        The run folder. A finished one is not trained again.
    """
    if what == "translator":
        demo_translator(out or Path("runs/demo"))
    else:
        demo_images(out or Path("runs/shapes"))


def shipped(name: str) -> "Recipe":
    from importlib.resources import as_file, files

    from regard.recipe import read

    with as_file(files("regard") / "recipes" / f"{name}.toml") as path:
        return read(path)


def demo_translator(out: Path) -> None:
    from regard.cli.attend import attend
    from regard.cli.display import say
    from regard.cli.evaluate import evaluate
    from regard.cli.training_screen import show_training
    from regard.data.phrasebook.examples import TO_TRY
    from regard.training.run import training_run

    say("A Transformer learns French → English from the built-in phrasebook.")
    show_training(training_run(shipped("demo"), out), out)
    say("\nSentences it has never seen:")
    evaluate(out, bootstrap=0)
    say(f"\n{SENTENCE}")
    attend(out, SENTENCE)
    say(
        "\nThe model knows only its phrasebook: greetings, everyday things and questions, journeys,"
        " dates, treaties.\nIt names words that it has never seen. Sentences that it can translate:"
    )
    for sentence in TO_TRY:
        say(f"  {sentence}")
    run = shlex.quote(str(out))
    suggest(
        f"regard studio {run} --open",
        f'regard translate {run} "{TO_TRY[1]}"',
        f'regard translate {run} --n-best 3 "{TO_TRY[4]}"',
        f'regard attend {run} "{SENTENCE}" --picture alignment.png',
        f"regard show {run}",
        "regard train --pairs train.en train.de --out runs/en-de",
    )


def demo_images(out: Path) -> None:
    from regard.cli.attend import attend
    from regard.cli.display import say
    from regard.cli.evaluate import evaluate
    from regard.cli.training_screen import show_training
    from regard.data.shapes import LABELS, save_examples
    from regard.training.run import training_run

    say(f"A Vision Transformer learns to name drawn shapes: {', '.join(LABELS)}.")
    show_training(training_run(shipped("shapes-vit"), out), out)
    say("\nImages it has never seen; always naming the most frequent label is the baseline:")
    evaluate(out, bootstrap=0)
    examples = save_examples(out / "examples")
    star = examples["star"]
    say(f"\n{star}, and which patches speak for its label:")
    attend(out, str(star))
    run = shlex.quote(str(out))
    suggest(
        f"regard studio {run} --open",
        f"regard classify {run} {shlex.quote(str(out / 'examples'))}/*.png",
        f"regard attend {run} {shlex.quote(str(star))} --picture maps.png",
        f"regard evaluate {run} --json",
        "regard train --images photos/ --out runs/photos",
    )


def suggest(*commands: str) -> None:
    from regard.cli.display import say

    say("What to try next:")
    for command in commands:
        say(f"  {command}")
