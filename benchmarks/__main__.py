"""python -m benchmarks: measure everything, or only `train` or `decode`."""

import argparse
import json
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import decode, train
from benchmarks.process import ROOT
from benchmarks.progress import Progress
from benchmarks.sizes import SIZES
from benchmarks.summary import put
from benchmarks.workload import default_pairs, held_out_sentences, prepare_pairs
from regard.checkpoint import Run
from regard.machine import usable_cores


def main() -> None:
    options = read_options()
    work = options.work.resolve()
    training = options.what != "decode"
    decoding = options.what != "train"
    sizes = options.sizes if training else []
    busy = options.sizes if options.busy == [] else options.busy or []
    train_plan = train.Plan(
        folder=prepare_pairs(options.pairs, work) if training else work,
        logs=work / "logs",
        rounds=options.rounds,
        seconds=options.seconds,
        threads=options.threads,
    )
    decode_plan = decode.Plan(
        run=options.run,
        work=work / "decoding",
        rounds=options.rounds,
        threads=options.threads,
        batch=options.batch,
    )
    expected = sum(train_plan.expected_seconds(size in busy) for size in sizes)
    progress = Progress(expected + decoding * decode_plan.expected_seconds())
    results: dict[str, Any] = {"machine": machine(), "training": [], "decoding": None}
    for size in sizes:
        results["training"].append(train.measure(size, train_plan, size in busy, progress))
        save(results, work)
    if decoding:
        sentences = held_out_sentences(Run.open(options.run), options.sentences, options.count)
        results["decoding"] = decode.measure(decode_plan, sentences, progress)
        save(results, work)
    report(results, options.out)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("what", nargs="?", default="all", choices=("all", "train", "decode"))
    add("--rounds", type=int, default=7, help="windows of each contender")
    add("--threads", type=int, default=usable_cores(), help="for each contender (all cores)")
    add("--work", type=Path, default=ROOT / "build" / "bench", help="for data, logs, results.json")
    add("--out", type=Path, help="a document whose tables are replaced")
    add("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    add("--seconds", type=float, default=20.0, help="of a training window, about")
    add("--pairs", nargs="+", type=Path, default=default_pairs(), metavar="FILE")
    add(
        "--busy",
        nargs="*",
        choices=SIZES,
        help="measure these sizes (or all) also beside a program that takes a core",
    )
    add("--run", type=Path, default=default_run(), help="whose weights to decode with")
    add("--sentences", type=Path, metavar="FILE", help="to translate; else the test set")
    add("--count", type=int, default=1000, help="of sentences")
    add("--batch", type=int, default=64, help="sentences that the peers translate together")
    return parser.parse_args()


def default_run() -> Path:
    runs = [ROOT / "runs" / name for name in ("multi30k", "demo")]
    return next((run for run in runs if (run / "model.safetensors").exists()), runs[-1])


def machine() -> dict[str, Any]:
    """What the figures depend on beside the code."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": names[0] if names else platform.processor(),
        "cores": usable_cores(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers", "ctranslate2")},
    }


def save(results: dict[str, Any], work: Path) -> None:
    (work / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


def report(results: dict[str, Any], out: Path | None) -> None:
    """The tables on standard output, and in the document."""
    facts = results["machine"]
    where = "{date}, {cores} cores of {processor}, Python {python}, torch {torch}, ".format(**facts)
    where += "transformers {transformers}, CTranslate2 {ctranslate2}.".format(**facts)
    texts = {}
    if results["training"]:
        texts["training"] = "\n\n".join([where, *map(train.table, results["training"])])
    if results["decoding"]:
        texts["decoding"] = "\n\n".join([where, decode.table(results["decoding"])])
    print("\n\n".join(texts.values()))
    if out is not None:
        document = out.read_text("utf-8")
        for name, text in texts.items():
            document = put(document, name, text)
        out.write_text(document, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
