"""The endpoints for images: labels, captions, and how well texts fit."""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from regard.errors import RegardError
from regard.serve.api.parameters import (
    Fields,
    check_characters,
    encodable,
    optional,
    whole_number,
)
from regard.serve.http.refusal import Refusal
from regard.serve.http.request_fields import RequestFields
from regard.serve.translation.service import Service

if TYPE_CHECKING:
    from regard.data.images import Pixels
    from regard.decode.search import Search
    from regard.tasks.image_inputs import ImageReader

Result = TypeVar("Result")
Given = TypeVar("Given")
# Where a text goes in a template.
GAP = "{}"


async def classify(service: Service, sent: RequestFields) -> dict[str, Any]:
    """POST /classify"""
    name, classifier = service.models.classifier(optional(sent.values, "model"))
    images = [one_image(service, sent)]
    (found,) = await look(service, classifier.reader, images, classifier.classify)
    return {"model": name, "label": found.label, "probabilities": found.probabilities}


async def caption(service: Service, sent: RequestFields) -> dict[str, Any]:
    """POST /caption"""
    name, captioner = service.models.captioner(optional(sent.values, "model"))
    search = read_search(service, sent.values, captioner.search)
    images = [one_image(service, sent)]
    (found,) = await look(
        service, captioner.reader, images, lambda pixels: captioner.captions(pixels, search)
    )
    best, *others = [{"caption": each.text, "score": each.score} for each in found]
    return {"model": name, **best, "alternatives": others}


async def match(service: Service, sent: RequestFields) -> dict[str, Any]:
    """POST /match"""
    name, matcher = service.models.matcher(optional(sent.values, "model"))
    texts, templates = read_texts(service, sent.values)
    images = read_images(service, sent)
    found = await look(
        service, matcher.reader, images, lambda pixels: matcher.match(pixels, texts, templates)
    )
    matches = [
        {
            "text": each.text,
            "probabilities": each.probabilities,
            "similarities": each.similarities,
        }
        for each in found
    ]
    return {"model": name, "matches": matches}


async def look(
    service: Service,
    reader: "ImageReader",
    images: Sequence[bytes],
    answer: "Callable[[list[Pixels]], Result]",
) -> Result:
    """What a model answers to images. What each costs is known before it is decoded."""
    from regard.data.image_costs import PixelBudget

    def work() -> Result:
        budget = PixelBudget(service.limits.pixels)
        try:
            return answer([reader.square(data, place, budget) for place, data in named(images)])
        except RegardError as error:
            raise Refusal(400, f"Invalid request: {error}") from None

    return await service.thread.run(work)


def read_search(service: Service, fields: Fields, search: "Search") -> "Search":
    """The run's search, with the beam and the number of captions that are asked for."""
    limits = service.limits
    n_best = whole_number(fields, "n_best", 1, limits.alternatives + 1)
    usual = max(search.beam_size, n_best)
    beam_size = whole_number(fields, "beam_size", usual, max(limits.beam_size, usual))
    if n_best > beam_size:
        raise Refusal(400, "Invalid request: n_best must not be larger than beam_size")
    return replace(search, n_best=n_best, beam_size=beam_size)


def read_texts(service: Service, fields: Fields) -> tuple[list[str], list[str]]:
    """The texts of a match and their templates. Each text within each template counts."""
    texts = string_list(fields.get("texts"), "texts")
    templates = string_list(fields.get("templates") or GAP, "templates")
    limit = service.limits.texts
    if len(texts) * len(templates) > limit:
        raise Refusal(
            400, f"Invalid request: at most {limit} texts; each counts once for each template"
        )
    if len(set(texts)) < len(texts):
        raise Refusal(400, "Invalid request: the same text twice in texts; leave one out")
    gaps = [template.count(GAP) for template in templates]
    if not all(gaps):
        raise Refusal(
            400,
            "Invalid request: a template without {}; write it where the text goes, as in "
            '"a photo of a {}"',
        )
    around = len(texts) * (sum(map(len, templates)) - len(GAP) * sum(gaps))
    check_characters(service, around + sum(gaps) * sum(map(len, texts)))
    return texts, templates


def string_list(given: Any, key: str) -> list[str]:
    """A text or a list of texts."""
    texts = given if isinstance(given, list) else [given]
    if not given:
        raise Refusal(400, f"Invalid request: missing {key} parameter")
    if not all(isinstance(text, str) and text for text in texts):
        raise Refusal(400, f"Invalid request: {key} parameter must be a list of strings")
    return [encodable(text) for text in texts]


def one_image(service: Service, sent: RequestFields) -> bytes:
    images = read_images(service, sent)
    if len(images) > 1:
        raise Refusal(400, "Invalid request: send one image at a time")
    return images[0]


def read_images(service: Service, sent: RequestFields) -> list[bytes]:
    """The content of each image: of the files of a form, of data URLs, or of base64."""
    given = sent.values.get("image")
    texts = given if isinstance(given, list) else [given]
    check_image_count(service, len(sent.files or texts))
    if not sent.files and not texts:
        raise missing("image")
    return [data for _, data in sent.files] or decoded(texts)


def check_image_count(service: Service, count: int) -> None:
    limit = service.limits.images
    if count > limit:
        raise Refusal(400, f"Invalid request: at most {limit} images at once")


def named(images: Sequence[Given]) -> list[tuple[str, Given]]:
    """Each image with the name that an error gives it."""
    several = len(images) > 1
    return [(f"image {n}" if several else "image", each) for n, each in enumerate(images, start=1)]


def decoded(texts: Sequence[Any]) -> list[bytes]:
    """The contents of images, of data URLs or of base64."""
    return [image_bytes(place, text) for place, text in named(texts)]


def image_bytes(place: str, given: Any) -> bytes:
    if not given or not isinstance(given, str):
        raise missing(place)
    if given[:5].lower() == "data:":
        head, comma, given = given.partition(",")
        if not comma or not head.lower().endswith(";base64"):
            raise Refusal(400, f"Invalid request: {place} must be a data URL of base64")
    elif "://" in given[:20]:
        raise Refusal(400, "Invalid request: images are not fetched; send the image itself")
    try:
        return base64.b64decode(given.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(400, f"Invalid request: {place} is not valid base64") from None


def missing(place: str) -> Refusal:
    return Refusal(400, f"Invalid request: missing {place} parameter; give base64 or a file")
