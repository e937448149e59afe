"""Scores a captioner, and always what its scores would be without the images."""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.data.captions import CaptionList
from regard.evaluate.caption_scores import CaptionReferences, CaptionScores
from regard.run import Run
from regard.tasks.caption_data import test_captions
from regard.tasks.captioner import Captioner
from regard.tasks.task import Evaluation, ScoreLine, SearchOptions, Test

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from regard.decode.search import Search

SHUFFLED, ONE = "images shuffled", "one sentence for all"
LOOKED_AT = 50


def evaluate(run: Run, test: Test) -> Evaluation:
    """Score a run on images, of which a file or the run's own data has captions."""
    captioner = Captioner.load(run.folder, test.device)
    found = test_captions(test.files, run.recipe_for("captioning").data)
    for remark in found.remarks:
        test.reporter.say(remark)
    options = test.search or SearchOptions()
    asked = {"beam_size": options.beam_size, "length_penalty": options.length_penalty}
    given: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    search = replace(captioner.search, **given)
    return scored(captioner, found, search, test, str(test.files[0]))


def scored(
    captioner: Captioner, found: CaptionList, search: "Search", test: Test, name: str = ""
) -> Evaluation:
    """BLEU-1 to BLEU-4 and CIDEr-D, of the captions and of both controls."""
    started = time.perf_counter()
    captions, kept = [], []
    numbers = range(len(found.images))
    reading = captioner.reader.read_all(found.images, numbers, "describing", test.reporter)
    for pixels, read in reading:
        captions += [each[0].text for each in captioner.search_pixels(pixels, search)]
        kept += read
    seconds = time.perf_counter() - started
    test.reporter.say("Scoring …")
    references = CaptionReferences([found.by_image[number] for number in kept])
    sentence = references.best_sentence(captions)
    rows = {
        "": references.scores(captions),
        SHUFFLED: references.scores(references.shuffled(captions)),
        ONE: references.scores([sentence] * len(kept)),
    }
    scores = score_lines(references, captions, rows, test.bootstrap)
    total = sum(len(found.by_image[number]) for number in kept)
    return Evaluation(
        headline=(
            f"{name}{': ' * bool(name)}{len(kept):,} images with {total:,} captions in "
            f"{seconds:.1f} s, beam {search.beam_size}; one sentence for all: {sentence}"
        ),
        scores=scores,
        answers=[
            f"{caption}\t{found.images.names[number]}"
            for caption, number in zip(captions, kept, strict=True)
        ],
        facts={
            "test": name,
            "images": len(kept),
            "captions": total,
            "beam_size": search.beam_size,
            "seconds": round(seconds, 2),
            "one_sentence": sentence,
            "scores": [asdict(score) for score in scores],
        },
    )


def score_lines(
    references: CaptionReferences,
    captions: Sequence[str],
    rows: dict[str, CaptionScores],
    bootstrap: int,
) -> list[ScoreLine]:
    own, shuffled, one = rows[""], rows[SHUFFLED], rows[ONE]
    low, high = references.bleu_interval(captions, bootstrap)
    cider = references.cider_interval(captions, bootstrap)
    return [
        *(ScoreLine(f"BLEU-{order}", own.bleu[order - 1]) for order in (1, 2, 3)),
        ScoreLine("BLEU-4", own.bleu[3], low, high, references.signature),
        ScoreLine("CIDEr-D", own.cider, *cider),
        ScoreLine(f"BLEU-4, {SHUFFLED}", shuffled.bleu[3]),
        ScoreLine(f"CIDEr-D, {SHUFFLED}", shuffled.cider),
        ScoreLine(f"BLEU-4, {ONE}", one.bleu[3]),
        ScoreLine(f"CIDEr-D, {ONE}", one.cider),
    ]


def controls(model: Any, held_out: Any) -> list[str]:
    """Lines for the card: what is left of the validation scores without the images."""
    if not held_out.names:
        return []
    captions = held_out.greedy(model)
    references: CaptionReferences = held_out.references
    own = references.scores(captions)
    shuffled = references.scores(references.shuffled(captions))
    sentence = references.best_sentence(captions)
    one = references.scores([sentence] * len(captions))
    falls = (
        f"BLEU-4 falls from {own.bleu[3]:.1f} to {shuffled.bleu[3]:.1f} and CIDEr-D from "
        f"{own.cider:.1f} to {shuffled.cider:.1f}"
    )
    reached = f"has BLEU-4 {one.bleu[3]:.1f} and CIDEr-D {one.cider:.1f}"
    lines = [
        f"- With the images shuffled, {falls}: what is left is the language.",
        f'- "{sentence}" for every image {reached}.',
    ]
    from regard.inspect.captions import SAME_MAPS

    differences = map_differences(model, held_out)
    if len(differences):
        mean = float(np.mean(differences))
        word = "hardly differ" if mean < SAME_MAPS else "differ"
        lines.append(
            f"- The attention maps of a caption's words {word}: on average {100 * mean:.0f} % of "
            "a word's attention is elsewhere than that of the others."
        )
    return lines


def map_differences(model: Any, held_out: Any) -> "NDArray[np.float64]":
    """How much the maps of words differ within some captions; none without attention."""
    from regard.inspect.captions import difference, word_weights

    ids = held_out.tokenizer.encode_batch(held_out.greedy(model)[:LOOKED_AT])
    found = []
    for number, pieces in enumerate(ids):
        images = held_out.examples.images.plain(np.array([number]))
        weights = word_weights(model, images, pieces, held_out.tokenizer)
        if weights is not None and len(weights) > 1:
            found.append(difference(weights))
    return np.array(found)
