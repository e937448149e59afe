"""Decoding speed: the same trained weights, every contender in turn over the same sentences."""

import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.process import KEEP_BUFFERS, REGARD, Contender
from benchmarks.progress import Progress
from benchmarks.summary import markdown, megabytes, paired_ratio, speed
from regard.run import Run
from regard.text.tokenizer import END, Tokenizers


@dataclass(frozen=True)
class Entry:
    name: str
    label: str
    job: dict[str, Any]
    settings: dict[str, str] = field(default_factory=dict)
    # One worker with all threads, or one worker with one thread for each core.
    workers: bool = False


def ctranslate2(compute_type: str) -> dict[str, Any]:
    return {"kind": "ctranslate2", "compute_type": compute_type}


HUGGING_FACE, TUNED, COMMAND = "hugging-face", "ctranslate2-tuned", "regard-translate"
ENTRIES = (
    Entry(COMMAND, "**`regard translate`**", {"kind": "command", "engine": "ctranslate2"}, REGARD),
    Entry("regard", "**regard**, PyTorch engine", {"kind": "regard"}, REGARD),
    Entry(HUGGING_FACE, "Hugging Face `generate`", {"kind": "hugging-face"}, KEEP_BUFFERS),
    Entry("ctranslate2-plain", "CTranslate2, no option set", {"kind": "ctranslate2-plain"}),
    Entry("ctranslate2", "CTranslate2, one worker", ctranslate2("float32")),
    Entry(TUNED, "CTranslate2, a worker a core", ctranslate2("float32"), workers=True),
    Entry(
        "ctranslate2-int8", "CTranslate2, a worker a core, int8", ctranslate2("int8"), workers=True
    ),
)
BEAM_SIZES = (1, 5)
START_SECONDS, PASS_SECONDS = 6.0, 6.0


@dataclass(frozen=True)
class Plan:
    """How often to measure, and on what."""

    run: Path
    work: Path
    rounds: int
    threads: int
    batch: int

    def expected_seconds(self) -> float:
        passes = len(BEAM_SIZES) * self.rounds
        return len(ENTRIES) * (START_SECONDS + passes * PASS_SECONDS)


def measure(plan: Plan, sentences: list[str], progress: Progress) -> dict[str, Any]:
    """Everything that was measured, as values for JSON."""
    prepared = prepare(plan, sentences)
    with ExitStack() as stack:
        contenders = {}
        for entry in ENTRIES:
            contenders[entry.name] = stack.enter_context(start(entry, prepared.job, plan))
            progress.advance(START_SECONDS, f"decoding: {entry.name} is ready")
        results = {
            name: {"start_seconds": contender.start_seconds, "beams": {}}
            for name, contender in contenders.items()
        }
        for beam_size in BEAM_SIZES:
            passes: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders}
            for number in range(plan.rounds):
                for name, contender in contenders.items():
                    passes[name].append(contender.ask({"beam_size": beam_size}))
                    label = f"decoding: beam {beam_size}, round {number + 1}, {name}"
                    progress.advance(PASS_SECONDS, label)
            for name, answers in passes.items():
                found = summed_up(answers, passes[HUGGING_FACE], prepared.tokenizers)
                results[name]["beams"][str(beam_size)] = found
                results[name]["memory_bytes"] = answers[-1]["memory_bytes"]
    return {
        "run": plan.run.name,
        "threads": plan.threads,
        "sentences": len(sentences),
        "batch": plan.batch,
        "logit_difference": prepared.logit_difference,
        "contenders": results,
    }


@dataclass(frozen=True)
class Prepared:
    job: dict[str, Any]  # what the jobs of all contenders have in common
    tokenizers: Tokenizers
    logit_difference: float


def prepare(plan: Plan, sentences: list[str]) -> Prepared:
    """The run's weights for each library, and the sentences."""
    from benchmarks.peers import hugging_face, logit_difference
    from regard.data.batch import batch_pairs
    from regard.engines.conversion import convert
    from regard.engines.ctranslate2 import CTranslate2
    from regard.weights import load_model

    shutil.rmtree(plan.work, ignore_errors=True)
    plan.work.mkdir(parents=True)
    # A copy, since the run may still be in training.
    run = Run(plan.work / plan.run.name)
    run.folder.mkdir()
    for name in ("recipe.toml", "model.safetensors", "*tokenizer.json"):
        for path in plan.run.glob(name):
            shutil.copy(path, run.folder)
    tokenizers = run.tokenizers()
    ours: Any = load_model(run)
    theirs = hugging_face(ours)
    rows = [[*ids, END] for ids in tokenizers.source.encode_batch(sentences[:8])]
    difference = logit_difference(ours, theirs, batch_pairs(rows, rows))
    theirs.save_pretrained(plan.work / "hugging-face")
    CTranslate2.of_run(run.folder)  # kept in the cache, where `regard translate` finds it
    converted = plan.work / "ctranslate2"
    convert(run.folder, converted)
    texts = plan.work / "sentences.json"
    texts.write_text(json.dumps(sentences), encoding="utf-8")
    search = run.recipe().decode
    if search.no_repeat_ngram:
        raise SystemExit(f"{plan.run}: no_repeat_ngram is not measured; choose another --run")
    job = {
        # The peers search by the run's settings, as regard does.
        "length_penalty": search.length_penalty,
        "max_length_ratio": search.max_length_ratio,
        "run": str(run.folder),
        "hugging_face": str(plan.work / "hugging-face"),
        "ctranslate2": str(converted),
        "sentences": str(texts),
        "batch": plan.batch,
    }
    return Prepared(job, tokenizers, difference)


def start(entry: Entry, job: dict[str, Any], plan: Plan) -> Contender:
    shape = {
        "workers": plan.threads if entry.workers else 1,
        "threads": 1 if entry.workers else plan.threads,
    }
    logs = plan.work / "logs"
    return Contender(
        entry.name, "benchmarks.outputs", {**job, **entry.job, **shape}, entry.settings, logs
    )


def summed_up(
    answers: list[dict[str, Any]], theirs: list[dict[str, Any]], pieces: Tokenizers
) -> dict[str, Any]:
    """Speeds of the passes, and for how many sentences the outputs equal Hugging Face's."""
    texts = answers[-1]["texts"]
    agree = sum(a == b for a, b in zip(texts, theirs[-1]["texts"], strict=True))
    result = {
        "rates": [len(texts) / each["seconds"] for each in answers],
        "pieces": sum(map(len, pieces.target.encode_batch(texts))),
        "agree": agree,
    }
    if "first_seconds" in answers[0]:
        result["first_seconds"] = [each["first_seconds"] for each in answers]
        result["rates_once_started"] = [
            (len(texts) - 1) / (each["seconds"] - each["first_seconds"]) for each in answers
        ]
    return result


def table(result: dict[str, Any]) -> str:
    """A paragraph, and a table for each beam size."""
    count = result["sentences"]
    caption = (
        f"{count:,} sentences with the weights of `{result['run']}`, {result['threads']} threads, "
        f"the peers in batches of {result['batch']}; Hugging Face's logits differ by at most "
        f"{result['logit_difference']:.1g}."
    )
    parts = [caption]
    for beam_size in map(str, BEAM_SIZES):
        rows = [row for entry in ENTRIES for row in table_rows(entry, result, beam_size)]
        header = [
            "greedy" if beam_size == "1" else f"beam {beam_size}",
            *("sentences/s (best)", "pieces/s", "× `generate`", "× CTranslate2, a worker a core"),
            *(f"as `generate`, of {count:,}", "start, s", "MB"),
        ]
        parts.append(markdown(header, rows))
    return "\n\n".join(parts)


def table_rows(entry: Entry, result: dict[str, Any], beam_size: str) -> list[list[str]]:
    """A contender's row; the command has a second one, without its starting time."""
    contenders = result["contenders"]
    found = contenders[entry.name]
    beam = found["beams"][beam_size]

    def row(label: str, rates: list[float], start_seconds: float) -> list[str]:
        references = (contenders[name]["beams"][beam_size] for name in (HUGGING_FACE, TUNED))
        return [
            label,
            speed(rates),
            f"{median(rates) * beam['pieces'] / result['sentences']:,.0f}",
            *(str(paired_ratio(rates, each["rates"])) for each in references),
            f"{beam['agree']:,}",
            f"{start_seconds:.1f}",
            megabytes(found["memory_bytes"]),
        ]

    if "first_seconds" not in beam:
        return [row(entry.label, beam["rates"], found["start_seconds"])]
    start_seconds = median(beam["first_seconds"])
    return [
        row(f"{entry.label}, once started", beam["rates_once_started"], start_seconds),
        row(f"{entry.label}, its start included", beam["rates"], start_seconds),
    ]
