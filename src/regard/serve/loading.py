"""Loads the runs and makes the service that answers with them."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import cast

from regard.engines import EngineName
from regard.machine.cores import usable_cores
from regard.serve.batch_metrics import BatchMetrics
from regard.serve.models import Models, is_served_by_name
from regard.serve.settings import Settings
from regard.serve.translation.batching import Batcher
from regard.serve.translation.detection import Detector
from regard.serve.translation.glossaries import Glossaries
from regard.serve.translation.memory import TranslationMemory
from regard.serve.translation.pairs import LanguagePairs, load_pairs
from regard.serve.translation.service import Service


def build_service(settings: Settings, say: Callable[[str], None]) -> Service:
    """Load all runs; `say` is called with a line for each."""
    by_name = [run for run in settings.runs if is_served_by_name(run)]
    translators = [run for run in settings.runs if run not in by_name]
    engine = cast(EngineName, settings.engine)
    pairs = load_pairs(translators, settings.device, engine, settings.int8, say)
    models = Models()
    for run in by_name:
        say(f"  {models.add(Path(run), settings.device)}")
    limits, metrics = settings.limits, BatchMetrics()
    threads = settings.workers or default_threads(pairs)
    for pair in pairs.pairs:
        if hasattr(pair.translator.engine, "batches_a_call"):
            pair.translator.engine.batches_a_call = 1
    batcher = Batcher(threads, limits.queued_sentences, settings.batch, metrics.record_batch)
    metrics.watch_queue(lambda: batcher.waiting)
    return Service(
        pairs=pairs,
        batcher=batcher,
        metrics=metrics,
        detector=Detector(pairs.sources),
        limits=limits,
        memory=TranslationMemory(settings.suggestions, limits.suggestion_bytes)
        if settings.suggestions
        else None,
        glossaries=Glossaries(settings.glossaries, limits.glossary_bytes)
        if settings.glossaries
        else None,
        models=models,
    )


def default_threads(pairs: LanguagePairs) -> int:
    """One thread for each core; only one where PyTorch searches, which uses all cores itself."""
    fast = all(hasattr(pair.translator.engine, "batches_a_call") for pair in pairs.pairs)
    if not fast:
        return 1
    return usable_cores()


def tune_garbage_collection() -> None:
    """Make full collections rare: one takes a tenth of a second when hundreds of requests wait, and
    stops all of them. What is loaded now stays, and requests leave hardly any garbage.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 100)
