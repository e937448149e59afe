"""python -m benchmarks: measure everything, or one section (docs/benchmarks.md)."""

import argparse
import json
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import busy, decode, memory, train
from benchmarks.process import ROOT
from benchmarks.progress import Progress
from benchmarks.sizes import SIZES
from benchmarks.summary import put
from benchmarks.workload import default_pairs, held_out_sentences, prepare_pairs
from regard.machine.cores import usable_cores
from regard.run import Run

# Settings only to check that everything runs; the figures mean nothing.
QUICK = {"rounds": 1, "seconds": 1.0, "count": 50, "corpora": [29_000, 60_000]}
Section = tuple[str, dict[str, Any], str]


def main() -> None:
    options = read_options()
    measure = {"busy": busy_section, "memory": memory_section, "profile": profile_sections}.get(
        options.what, speed_sections
    )
    where = machine()
    for name, result, table in measure(options):
        text = f"{described(where)}\n\n{table}"
        print(f"{text}\n")
        save(name, {"machine": where, **result}, options.work.resolve())
        if options.out is not None:
            options.out.write_text(put(options.out.read_text("utf-8"), name, text), "utf-8")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add(
        "what",
        nargs="?",
        default="all",
        choices=("all", "train", "decode", "busy", "memory", "profile"),
        help="train and decode beside other libraries, or both (all); what a busy core costs; "
        "memory; where an update goes",
    )
    add("--quick", action="store_true", help="a try of seconds: one short window of everything")
    add("--rounds", type=int, default=7, help="windows of each contender")
    add("--threads", type=int, default=usable_cores(), help="for each contender (all cores)")
    add("--work", type=Path, default=ROOT / "build" / "bench", help="for data, logs, results.json")
    add("--out", type=Path, help="a document whose tables are replaced")
    add("--sizes", "--size", nargs="+", choices=SIZES, default=list(SIZES))
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
    add(
        "--corpora",
        nargs="+",
        type=int,
        default=[29_000, 3_000_000],
        metavar="PAIRS",
        help="sizes of the corpora whose memory is compared",
    )
    options = parser.parse_args()
    if options.out is not None and not options.out.is_file():
        parser.error(f"--out {options.out}: no such document; name one that has tables to replace")
    if options.quick:
        vars(options).update(QUICK)
    return options


def default_run() -> Path:
    runs = [ROOT / "runs" / name for name in ("multi30k", "demo")]
    return next((run for run in runs if (run / "model.safetensors").exists()), runs[-1])


def speed_sections(options: argparse.Namespace) -> Iterator[Section]:
    """Training, size by size, then decoding, each compared with the other libraries."""
    training, decoding = options.what != "decode", options.what != "train"
    sizes = options.sizes if training else []
    beside = options.sizes if options.busy == [] else options.busy or []
    work = options.work.resolve()
    train_plan = train.Plan(
        folder=prepare_pairs(options.pairs, work) if training else work,
        logs=work / "logs",
        rounds=options.rounds,
        seconds=options.seconds,
        threads=options.threads,
    )
    decode_plan = decoding_plan(options)
    expected = sum(train_plan.expected_seconds(size in beside) for size in sizes)
    progress = Progress(expected + decoding * decode_plan.expected_seconds())
    results = []
    for size in sizes:
        results.append(train.measure(size, train_plan, size in beside, progress))
        tables = "\n\n".join(map(train.table, results))
        yield "training", {"sizes": results}, tables
    if decoding:
        found = decode.measure(decode_plan, sentences_of(options), progress)
        yield "decoding", found, decode.table(found)


def decoding_plan(options: argparse.Namespace) -> decode.Plan:
    return decode.Plan(
        run=options.run,
        work=options.work.resolve() / "decoding",
        rounds=options.rounds,
        threads=options.threads,
        batch=options.batch,
    )


def sentences_of(options: argparse.Namespace) -> list[str]:
    return held_out_sentences(Run.open(options.run), options.sentences, options.count)


def busy_section(options: argparse.Namespace) -> Iterator[Section]:
    work = options.work.resolve()
    plan = busy.Plan(
        folder=prepare_pairs(options.pairs, work),
        logs=work / "logs",
        size=options.sizes[0],
        rounds=options.rounds,
        seconds=options.seconds,
        threads=options.threads,
    )
    found = busy.measure(plan, Progress(plan.expected_seconds()))
    yield "busy", found, busy.table(found)


def memory_section(options: argparse.Namespace) -> Iterator[Section]:
    work = options.work.resolve()
    has_run = (options.run / "model.safetensors").exists()
    plan = memory.Plan(
        folder=prepare_pairs(options.pairs, work),
        pairs=options.pairs,
        work=work,
        size=options.sizes[0],
        counts=options.corpora,
        threads=options.threads,
        decoding=decoding_plan(options) if has_run else None,
    )
    sentences = sentences_of(options) if has_run else []
    found = memory.measure(plan, sentences, Progress(plan.expected_seconds()))
    yield "memory", found, memory.table(found)


def profile_sections(options: argparse.Namespace) -> Iterator[Section]:
    from benchmarks import profile

    folder = prepare_pairs(options.pairs, options.work.resolve())
    results = []
    for size in options.sizes:
        updates = 2 if options.quick else 20
        results.append(profile.measure(size, folder, updates, options.threads))
        yield "profile", {"sizes": results}, "\n\n".join(map(profile.table, results))


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
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


def described(facts: dict[str, Any]) -> str:
    where = "{date}, {cores} cores of {processor}, Python {python}, torch {torch}, "
    return (where + "transformers {transformers}, CTranslate2 {ctranslate2}.").format(**facts)


def save(name: str, result: dict[str, Any], work: Path) -> None:
    """Save a result next to those of other sections and earlier calls; a call may be killed."""
    path = work / "results.json"
    results = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps({**results, name: result}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
