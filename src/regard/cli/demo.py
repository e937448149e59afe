"""regard demo: a translator trained, scored and looked at in minutes, with nothing to fetch."""

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
    from regard.cli.display import say, show_training
    from regard.cli.evaluate import evaluate
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
    say("What to try next:")
    for command in (
        f"regard studio {out} --open",
        f'regard translate {out} "Marie a visité le Portugal en mai 1992."',
        f'regard translate {out} --n-best 3 "Est-ce que Jane habite à Paris ?"',
        f'regard attend {out} "{SENTENCE}" --picture alignment.png',
        f"regard show {out}",
        "regard train --pairs train.en train.de --out runs/en-de",
    ):
        say(f"  {command}")
