"""How well a matcher finds texts for images, and images for texts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from regard.errors import DataError
from regard.evaluate.matching import Recall, belong, recall
from regard.inspect.matching import Confusion, Confusions, both_confusions
from regard.inspect.similarity import save_confusions
from regard.run import Run
from regard.tasks import caption_data
from regard.tasks.matcher import Matcher
from regard.tasks.task import Evaluation, ScoreLine, Test

# Confusions that are listed and drawn, each way.
MOST_CONFUSIONS = 8


def evaluate(run: Run, test: Test) -> Evaluation:
    """Recall both ways on images and captions that it has not seen, beside chance."""
    recipe = run.recipe_for("matching")
    matcher = Matcher.load(run.folder, test.device)
    found = caption_data.test_captions(test.without_search().files, recipe.data)
    wanted = sorted({each.image for each in found.captions})
    vectors, images = [], []
    for pixels, read in matcher.reader.read_all(
        found.images, wanted, "reading images", test.reporter
    ):
        vectors.append(matcher.vectors_of(pixels))
        images += read
    readable = set(images)
    captions = [each for each in found.captions if each.image in readable]
    if len(images) < 2:
        raise DataError(f"{test.files[0]}: {len(images)} images with captions; give at least 2")
    with test.reporter.progress("reading captions", 0):
        texts = matcher.embed_texts([each.text for each in captions])
    numbers: dict[str, int] = {}
    own = np.array([each.image for each in captions])
    same = np.array([numbers.setdefault(each.text, len(numbers)) for each in captions])
    similarity = torch.from_numpy(np.concatenate(vectors) @ texts.T)
    right = belong(own, same, np.array(images))
    result = evaluation(
        recall(similarity, right), f"{len(images):,} images, {len(captions):,} captions"
    )
    confused = both_confusions(similarity, right, MOST_CONFUSIONS)
    names = [found.images.names[number] for number in images]
    said = [each.text for each in captions]

    def draw(path: Path) -> None:
        numbers = confused.images()
        pixels, _, _ = matcher.reader.readable(found.images, [images[each] for each in numbers])
        save_confusions(confused, dict(zip(numbers, pixels, strict=True)), said, path)

    listed = confusion_facts(confused, names, said)
    return replace(result, facts={**result.facts, "confusions": listed}, draw=draw)


def confusion_facts(
    found: Confusions, names: Sequence[str], texts: Sequence[str]
) -> dict[str, Any]:
    def facts(each: Confusion, queries: Sequence[str], answers: Sequence[str]) -> dict[str, Any]:
        return {
            "query": queries[each.query],
            "right": answers[each.right],
            "right_similarity": each.right_similarity,
            "wrong": answers[each.wrong],
            "wrong_similarity": each.wrong_similarity,
        }

    return {
        "image_to_text": [facts(each, names, texts) for each in found.to_texts],
        "text_to_image": [facts(each, texts, names) for each in found.to_images],
    }


def evaluation(found: Recall, headline: str) -> Evaluation:
    lines = [
        ScoreLine(f"{way} R@{k}{end}", shares[k])
        for way, values, chance in (
            ("image→text", found.to_texts, found.chance_to_texts),
            ("text→image", found.to_images, found.chance_to_images),
        )
        for k in values
        for end, shares in (("", values), (" by chance", chance))
    ]
    lines += [
        ScoreLine("mean recall", found.mean),
        ScoreLine("mean recall by chance", found.chance),
    ]
    scores = {line.name: line.value for line in lines}
    return Evaluation(headline, lines, facts={"data": headline, "scores": scores})
