"""How long each command takes to say that something is wrong, in seconds of processor time.

python -m benchmarks.wrong_commands
"""

import os
import sys
import tempfile
from pathlib import Path

from regard.recipe import parse
from regard.run import Run

LIMIT = 0.7
TIMES = 3
# By command: a wrong run or recipe, a wrong file, a wrong option, where it takes such things.
WRONG = {
    "train": ("train no.toml", "train --pairs a.en no.fr", "train --pairs a.en a.fr --steps 5"),
    "distill": ("distill no --out s", "distill run --out a.en/s", "distill run --out s --set x=1"),
    "experiment attention-matters": (
        "",
        "experiment attention-matters --out e --source no --reference a.fr",
        "experiment attention-matters --out e --corpus no",
    ),
    "plan": ("plan no.toml", "", "plan run --device no"),
    "translate": ("translate no a", "", "translate run a --top-k 3"),
    "generate": ("generate no", "", "generate text --top-p 2"),
    "score": ("score no", "", "score text --device no"),
    "classify": ("classify no", "", "classify text --device no"),
    "tag": ("tag no", "", "tag text --device no"),
    "fill": ("fill no", "", "fill text --n-best 0"),
    "embed": ("embed no", "embed run --output no/a.npy", "embed run --device no"),
    "evaluate": (
        "evaluate no",
        "evaluate run --source no --reference a.fr",
        "evaluate run --bootstrap -1",
    ),
    "compare": ("compare no", "compare run --html no/a.html", "compare run --picture a.jpg"),
    "studio": ("studio no", "", "studio run --port 99999"),
    "attend": ("attend no a", "attend run a --csv no/a.csv", "attend run a --picture a.jpg"),
    "heads": ("heads no", "heads run --picture no/a.png", "heads run --heads-how no"),
    "inspect alignment": ("inspect alignment no", "", "inspect alignment run --sentences 0"),
    "inspect positions": (
        "inspect positions no",
        "inspect positions run --picture no/a.png",
        "inspect positions run --length 0",
    ),
    "inspect gradients": ("inspect gradients no", "", "inspect gradients run --device no"),
    "show": ("show no", "", "show --settings no"),
    "serve": ("serve no", "serve run --api-keys no", "serve run --port 99999"),
    "export": ("export no --to ctranslate2", "export run --to ctranslate2 --out .", "export run"),
    "import": ("import no --out n", "import run --out n", "import run"),
    "prune": ("prune no --keep 5 --out n", "prune run --keep 5 --out .", "prune run --keep no"),
    "check": ("check no.toml", "check --pairs a.en no.fr", "check --nope"),
    "recipes": ("", "", "recipes no"),
    "doctor": ("", "", "doctor --nope"),
}


def seconds(words: str) -> float:
    """The least processor time of several tries, without what waits."""
    tries = []
    for _ in range(TIMES):
        command = [sys.executable, "-m", "regard", *words.split()]
        actions = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
        child = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions)
        _, status, used = os.wait4(child, 0)
        assert os.waitstatus_to_exitcode(status) in (1, 2), f"regard {words} is not refused"
        tries.append(used.ru_utime + used.ru_stime)
    return min(tries)


def make_runs() -> None:
    """Runs whose weights are never read, and two files."""
    for name, values in {
        "run": {"data": {"builtin": "phrasebook"}},
        "text": {"task": "language-model", "data": {"train": ["a.en"]}},
    }.items():
        Path(name).mkdir()
        Run(Path(name)).save_recipe(parse(values, "benchmark"))
        Run(Path(name)).model_path.touch()
    for name in ("a.en", "a.fr"):
        Path(name).write_text("one two three\n" * 50)


def main() -> None:
    print("| command | wrong run or recipe | wrong file or folder | wrong option |")
    print("|---|---|---|---|")
    slowest = 0.0
    for name, commands in WRONG.items():
        found = [seconds(words) if words else None for words in commands]
        slowest = max([slowest, *(each for each in found if each is not None)])
        cells = ("" if each is None else f"{each:.2f}" for each in found)
        print(f"| `{name}` | {' | '.join(cells)} |", flush=True)
    print(f"\nThe slowest takes {slowest:.2f} s of processor time; at most {LIMIT} are allowed.")
    if slowest > LIMIT:
        sys.exit(1)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        os.chdir(folder)
        make_runs()
        main()
