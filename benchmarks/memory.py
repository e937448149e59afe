"""The peak memory of training and decoding, and a check that it does not grow with the corpus."""

import gzip
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks import decode
from benchmarks.process import KEEP_BUFFERS, ROOT, Contender, environment, high_water_bytes
from benchmarks.progress import Progress
from benchmarks.sizes import SIZES
from benchmarks.summary import markdown, megabytes
from benchmarks.workload import TRAIN, VOCABULARY
from regard.data import phrasebook
from regard.recipe import to_toml
from regard.tasks.translation.recipe import PairSection, PairTokenizerSection, TranslationRecipe

UPDATES = 40
# Pairs per second that are read, used to learn the vocabulary and encoded, all three together.
PAIRS_A_SECOND = 15_000
TRAIN_SECONDS, DECODE_SECONDS = 60.0, 25.0
SAMPLE_SECONDS = 0.2
PEER = "Hugging Face Marian, tuned malloc"


@dataclass(frozen=True)
class Plan:
    folder: Path  # of prepared pairs, for the peer
    pairs: Sequence[Path]
    work: Path
    size: str
    counts: Sequence[int]  # pairs of the corpora
    threads: int
    decoding: decode.Plan | None

    def expected_seconds(self) -> float:
        reading = sum(self.counts) / PAIRS_A_SECOND
        runs = len(self.counts) + 1
        return reading + runs * TRAIN_SECONDS + 3 * DECODE_SECONDS * bool(self.decoding)


def measure(plan: Plan, sentences: list[str], progress: Progress) -> dict[str, Any]:
    """Peaks in bytes: for each corpus after each phase, for the peer, and for decoding."""
    training = []
    for count in plan.counts:
        with tempfile.TemporaryDirectory(prefix="regard-memory-") as folder:
            write_corpus(plan.pairs, count, Path(folder))
            phases = train(plan, Path(folder))
        training.append({"pairs": count, "phases": phases})
        progress.advance(count / PAIRS_A_SECOND + TRAIN_SECONDS, f"memory: {count:,} pairs")
    peer = train_peer(plan)
    progress.advance(TRAIN_SECONDS, "memory: the peer")
    decoding = decode_peaks(plan.decoding, sentences, progress) if plan.decoding else {}
    return {"size": plan.size, "training": training, "peer": peer, "decoding": decoding}


def write_corpus(pairs: Sequence[Path], count: int, folder: Path) -> None:
    """Write `count` pairs, each made different from all others by its number."""
    with (
        (folder / "train.aa").open("w", encoding="utf-8") as sources,
        (folder / "train.bb").open("w", encoding="utf-8") as targets,
    ):
        for number, (source, target) in enumerate(islice(cycle(some_pairs(pairs)), count)):
            sources.write(f"{source} {number}\n")
            targets.write(f"{target} {number}\n")


def some_pairs(pairs: Sequence[Path]) -> list[tuple[str, str]]:
    if not pairs:
        return [(pair.source, pair.target) for pair in phrasebook.pairs("train")]
    sides = [lines(path) for path in pairs]
    return list(zip(*sides, strict=True))


def lines(path: Path) -> list[str]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return text.rstrip("\n").split("\n")


def train(plan: Plan, folder: Path) -> dict[str, int]:
    """Run `regard train` in one process, from files to weights; return the peak after each
    phase.
    """
    recipe = TranslationRecipe(
        data=PairSection(folder=str(folder), train=("train.aa", "train.bb")),
        tokenizer=PairTokenizerSection(vocabulary_size=VOCABULARY),
        model=SIZES[plan.size],
        train=TRAIN.model_copy(
            update={"steps": UPDATES, "processes": 1, "eval_sentences": 16, "average": 1}
        ),
    )
    (folder / "recipe.toml").write_text(to_toml(recipe), encoding="utf-8")
    words = ["train", str(folder / "recipe.toml"), "--out", str(folder / "run")]
    with subprocess.Popen(
        [sys.executable, "-m", "regard", *words],
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(plan.threads, {}),
        text=True,
    ) as process:
        phases = dict(peaks(process))
    if process.returncode:
        raise SystemExit(f"regard train ended with code {process.returncode}")
    return phases


def peaks(process: "subprocess.Popen[str]") -> Iterator[tuple[str, int]]:
    """The peak memory when the process reports the end of a phase, and at the end."""
    ends = {"Learning": "read", "Encoding": "learned", "pairs to learn": "encoded"}
    highest = 0

    def watch() -> None:
        nonlocal highest
        while process.poll() is None:
            try:
                highest = max(highest, high_water_bytes(str(process.pid)))
            except (OSError, StopIteration):
                return
            time.sleep(SAMPLE_SECONDS)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    assert process.stderr is not None
    for line in process.stderr:
        for mark, phase in ends.items():
            if mark in line:
                yield phase, high_water_bytes(str(process.pid))
    watcher.join()
    yield "trained", highest


def train_peer(plan: Plan) -> int:
    """Run the plain loop of another library over the ids of the usual corpus; return the peak."""
    job = {
        "kind": "hugging-face",
        "size": plan.size,
        "folder": str(plan.folder),
        "processes": 1,
        "threads": plan.threads,
    }
    logs = plan.work / "logs"
    with Contender("memory-peer", "benchmarks.updates", job, KEEP_BUFFERS, logs) as contender:
        return int(contender.ask({"updates": UPDATES})["memory_bytes"])


def decode_peaks(plan: decode.Plan, sentences: list[str], progress: Progress) -> dict[str, int]:
    prepared = decode.prepare(plan, sentences)
    found = {}
    for entry in decode.ENTRIES[:3]:
        with decode.start(entry, prepared.job, plan) as contender:
            found[entry.label] = int(contender.ask({"beam_size": 5})["memory_bytes"])
        progress.advance(DECODE_SECONDS, f"memory: decoding, {entry.name}")
    return found


def table(result: dict[str, Any]) -> str:
    peer = result["peer"]
    rows = [
        [
            f"`regard train`, {each['pairs']:,} pairs",
            *(megabytes(each["phases"][name]) for name in ("read", "learned", "encoded")),
            megabytes(each["phases"]["trained"]),
            f"{each['phases']['trained'] / peer:.2f}",
        ]
        for each in result["training"]
    ]
    rows.append([PEER, "", "", "", megabytes(peer), "1.00"])
    header = ["MB at most, until", "read", "learned", "encoded", "trained", "× Hugging Face"]
    parts = [f"**{result['size']}**, one process.", markdown(header, rows)]
    if result["decoding"]:
        generate = result["decoding"][decode.ENTRIES[2].label]
        rows = [
            [label, megabytes(each), f"{each / generate:.2f}"]
            for label, each in result["decoding"].items()
        ]
        parts.append(markdown(["beam 5", "MB", "× `generate`"], rows))
    return "\n\n".join(parts)
