"""Does a classifier gain from pre-training? A test set of a thousand sentences is too small to
decide, so cross-validation tests on every labelled sentence once.

    python -m benchmarks.folds RECIPE --from RUN --test FILE

trains the recipe twice for each fold, once from the run's weights and once from random weights with
its vocabulary, and compares the two sentence by sentence. Finished folds are not trained again.
"""

import argparse
import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, product
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from benchmarks.process import environment
from regard.data.labelled import Labelled, read_texts
from regard.engines.ctranslate2 import fingerprint
from regard.errors import RegardError, RunError
from regard.recipe import Recipe, read
from regard.run import Run

RESAMPLES = 10_000
WAYS = ("fine-tuned", "from nothing")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.folds", description=__doc__)
    add = parser.add_argument
    add("recipe", type=Path, help="of a classifier, which begins with nothing")
    add("--from", dest="run", type=Path, required=True, help="the run that it starts from")
    add("--test", type=Path, nargs="+", required=True, help="labelled files beside the recipe's")
    add("--folds", type=int, default=10, help="parts; one tests, one validates, the rest trains")
    add("--seed", type=int, default=1, help="of the folds; fold N is trained with seed N")
    add("--out", type=Path, default=Path("build/folds"), help="where runs and answers are kept")
    options = parser.parse_args()
    if options.folds < 3:
        parser.error("--folds: at least 3, one to test, one to validate, one to learn from")
    try:
        recipe = read(options.recipe)
        known = list(read_texts(recipe.data.paths("train"), recipe.data.label))
        held_out = [*recipe.data.paths("valid"), *options.test]
        unknown = list(read_texts(held_out, recipe.data.label))
        begin(options, recipe)
    except RegardError as error:
        parser.error(str(error))
    # Sentences that a masked model may have read without their labels, and others.
    rows = [(row, True) for row in known] + [(row, False) for row in unknown]
    random.Random(options.seed).shuffle(rows)
    parts = [rows[number :: options.folds] for number in range(options.folds)]
    write_folds([[row for row, _ in part] for part in parts], options.out)

    cores: SimpleQueue[int] = SimpleQueue()
    for core in os.sched_getaffinity(0):
        cores.put(core)

    def on_a_core(job: tuple[int, str]) -> None:
        core = cores.get()
        try:
            train(options, *job, core)
        finally:
            cores.put(core)

    with ThreadPoolExecutor(cores.qsize()) as pool:
        try:
            list(pool.map(on_a_core, product(range(options.folds), WAYS)))
        except subprocess.CalledProcessError:
            pool.shutdown(cancel_futures=True)
            sys.exit(f"A training failed; the logs in {options.out} say why.")
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            sys.exit("Stopped; the same command continues from there.")

    right = {
        way: np.concatenate([answers(options.out, way, n, part) for n, part in enumerate(parts)])
        for way in WAYS
    }
    unread = np.array([not seen for part in parts for _, seen in part])
    report("all sentences", right, np.ones(len(rows), bool))
    report("not among the recipe's training sentences", right, unread)


def begin(options: argparse.Namespace, recipe: Recipe) -> None:
    """Make the folder, or check that what is in it belongs to the same question."""
    asked = {
        "recipe": recipe.model_dump(mode="json"),
        "from": fingerprint(Run.open(options.run)),
        "test": [str(path) for path in options.test],
        "folds": options.folds,
        "seed": options.seed,
    }
    note = options.out / "asked.json"
    if note.exists() and json.loads(note.read_bytes()) != asked:
        raise RunError(
            f"{options.out}: holds folds of another recipe, run or split; --out elsewhere"
        )
    options.out.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps(asked, indent=2), encoding="utf-8")


def write_folds(parts: list[list[Labelled]], out: Path) -> None:
    for number in range(len(parts)):
        test, valid, *train = parts[number:] + parts[:number]
        folder = out / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        for name, chosen in ("test", test), ("valid", valid), ("train", list(chain(*train))):
            lines = [f"{row.labels[0]}\t{row.units[0]}\n" for row in chosen]
            (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")


def train(options: argparse.Namespace, number: int, way: str, core: int) -> None:
    """Train on one fold and label its test sentences, on one core."""
    folder = options.out / str(number)
    found, run = folder / f"{way}.jsonl", folder / way
    if found.exists():
        return
    start = ["--from", str(options.run)]
    if way == "from nothing":
        start = ["--set", f"tokenizer.folder={options.run.resolve()}"]
    settings = [
        f"data.folder={folder.resolve()}",
        'data.train=["train.tsv"]',
        'data.valid=["valid.tsv"]',
        f"seed={number + 1}",
    ]
    command = ["train", str(options.recipe), "--out", str(run), "--processes", "1", *start]
    for setting in settings:
        command += ["--set", setting]
    regard(command, "", core, folder / f"{way}.log")
    if not Run(run).info():  # it was asked to stop
        raise KeyboardInterrupt
    lines = (folder / "test.tsv").read_text("utf-8").rstrip("\n").split("\n")
    texts = "".join(line.split("\t", 1)[1] + "\n" for line in lines)
    answer = regard(["classify", str(run), "--json"], texts, core, folder / f"{way}.log")
    found.write_text(answer, encoding="utf-8")
    print(f"fold {number + 1} of {options.folds}, {way}: labelled", flush=True)


def regard(command: list[str], given: str, core: int, log: Path) -> str:
    with log.open("a") as file:
        return subprocess.run(
            ["taskset", "-c", str(core), sys.executable, "-m", "regard", *command],
            input=given,
            stdout=subprocess.PIPE,
            stderr=file,
            env=environment(1, {}),
            encoding="utf-8",
            check=True,
        ).stdout


def answers(
    out: Path, way: str, number: int, part: list[tuple[Labelled, bool]]
) -> NDArray[np.bool]:
    """Which sentences of a fold were labelled correctly."""
    lines = (out / str(number) / f"{way}.jsonl").read_text("utf-8").rstrip("\n").split("\n")
    found = [json.loads(line)["label"] for line in lines]
    right = [label == row.labels[0] for label, (row, _) in zip(found, part, strict=True)]
    print(f"fold {number + 1}, {way}: {100 * np.mean(right):.2f}")
    return np.array(right)


def report(title: str, right: dict[str, NDArray[np.bool]], chosen: NDArray[np.bool]) -> None:
    values = {way: 100.0 * right[way][chosen] for way in WAYS}
    values["difference"] = values[WAYS[0]] - values[WAYS[1]]
    print(f"{title}, {chosen.sum():,}:")
    for name, each in values.items():
        rng, count = np.random.default_rng(1), len(each)
        means = [each[rng.integers(count, size=count)].mean() for _ in range(RESAMPLES)]
        low, high = np.percentile(means, [2.5, 97.5])
        print(f"  {name:<12} {each.mean():6.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
