"""regard demo: a translator trained, scored and looked at in minutes, with nothing to fetch."""

import shlex
from pathlib import Path

SENTENCE = "Jane visite l'Afrique en septembre"


def demo(*, out: Path = Path("runs/demo")) -> None:
    """Train, score and show the built-in French–English translator.

    It takes minutes and needs no data: the corpus comes with regard.

    Parameters
    ----------
    out
        The run folder. A finished one is not trained again.
    """
    from importlib.resources import as_file, files

    from regard.cli.attend import attend
    from regard.cli.display import say
    from regard.cli.evaluate import evaluate
    from regard.cli.training_screen import show_training
    from regard.data.phrasebook.examples import TO_TRY
    from regard.recipe import read
    from regard.training.run import training_run

    with as_file(files("regard") / "recipes" / "demo.toml") as path:
        recipe = read(path)
    say("A Transformer learns French → English from the built-in phrasebook.")
    show_training(training_run(recipe, out), out)
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
    say("What to try next:")
    for command in (
        f"regard studio {run} --open",
        f'regard translate {run} "{TO_TRY[1]}"',
        f'regard translate {run} --n-best 3 "{TO_TRY[4]}"',
        f'regard attend {run} "{SENTENCE}" --picture alignment.png',
        f"regard show {run}",
        "regard train --pairs train.en train.de --out runs/en-de",
    ):
        say(f"  {command}")
