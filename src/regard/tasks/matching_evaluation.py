"""How well a matcher finds texts for images, and images for texts."""

import numpy as np
import torch

from regard.errors import DataError
from regard.evaluate.matching import Recall, belong, recall
from regard.run import Run
from regard.tasks import caption_data
from regard.tasks.matcher import AT_ONCE, Matcher
from regard.tasks.task import Evaluation, ScoreLine, Test


def evaluate(run: Run, test: Test) -> Evaluation:
    """Recall both ways on images and captions that it has not seen, beside chance."""
    recipe = run.recipe_for("matching")
    matcher = Matcher.load(run.folder, test.device)
    found = caption_data.test_captions(test.without_search().files, recipe.data)
    wanted = sorted({each.image for each in found.captions})
    vectors, images = [], []
    with test.reporter.progress("reading images", len(wanted)) as advance:
        for start in range(0, len(wanted), AT_ONCE):
            part = wanted[start : start + AT_ONCE]
            made, read, problems = matcher.vectors_of_list(found.images, part)
            vectors.append(made)
            images += read
            for each in problems:
                test.reporter.say(each)
            advance(len(part))
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
    scores = recall(similarity, belong(own, same, np.array(images)))
    return evaluation(scores, f"{len(images):,} images, {len(captions):,} captions")


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
