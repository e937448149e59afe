"""Loads the runs and makes the service that answers with them."""

import gc
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from regard.data.memories import read_memory
from regard.engines import EngineName
from regard.errors import RequestError
from regard.machine.cores import usable_cores
from regard.serve.batch_metrics import BatchMetrics
from regard.serve.models import Models, is_served_by_name
from regard.serve.settings import Settings
from regard.serve.translation.batching import Batcher
from regard.serve.translation.detection import Detector
from regard.serve.translation.glossaries import Glossaries
from regard.serve.translation.memory import TranslationMemory
from regard.serve.translation.pairs import WITH_LANGUAGES, LanguagePairs, load_pairs
from regard.serve.translation.service import Service
from regard.text.memory import Memory


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
        memories=memories_of(settings.memory, pairs),
        glossaries=Glossaries(settings.glossaries, limits.glossary_bytes)
        if settings.glossaries
        else None,
        models=models,
    )


def memories_of(places: Sequence[str], pairs: LanguagePairs) -> dict[tuple[str, str], Memory]:
    """The memory of each language pair: of its files, as `en:de=FILE`, or FILE for the only one."""
    files: dict[tuple[str, str], list[Path]] = defaultdict(list)
    served = [(pair.source, pair.target) for pair in pairs.pairs]
    for place in places:
        named = WITH_LANGUAGES.fullmatch(place)
        languages = (named[1].lower(), named[2].lower()) if named else served[0] if served else None
        if languages not in served or (named is None and len(served) > 1):
            known = ", ".join(f"{source}:{target}" for source, target in served)
            raise RequestError(
                f"{place}: a memory is for a pair of languages that is served ({known or 'none'}); "
                "name it, like en:de=FILE"
            )
        files[languages].append(Path(named[3] if named else place))
    return {languages: read_memory(found, languages) for languages, found in files.items()}


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
