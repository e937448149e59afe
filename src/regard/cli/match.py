"""regard match: which of several texts fits an image."""

import json
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from regard.cli.options import AsJson, Device
from regard.errors import UsageError


def match(
    run: Path,
    /,
    *inputs: str,
    template: tuple[str, ...] = (),
    texts: Annotated[Path | None, Parameter(name="--texts")] = None,
    picture: Path | None = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Find the text that fits an image best, among those you give.

    Names of image files are images, everything else is a text: `regard match RUN a.jpg "a dog"
    "a cat"`. A line of output has the probability of a text if one of them is right, its
    similarity from -1 to 1, the text and the image, with tabs between them; the best comes first.

    Parameters
    ----------
    run
        A run folder of a model that matches images and texts.
    inputs
        Images and texts, in any order.
    template
        A sentence with {} where each text goes, like "a photo of a {}". Repeat it for more
        sentences, whose mean is taken.
    texts
        A file with more texts, one on each line.
    picture
        Draw how similar each image is to each text to this file: .png, .svg or .pdf.
    as_json
        Print one JSON object per image: probabilities and similarities of the texts.
    """
    from regard.cli.checks import check_inputs, check_picture, open_run
    from regard.data.image_files import is_image_name

    opened = open_run(run, "match")
    check_picture(picture)
    check_inputs(texts)
    images = [each for each in inputs if is_image_name(each)]
    given = [each for each in inputs if not is_image_name(each)]
    if texts is not None:
        from regard.data.lines import lines

        given += [line for line, _ in lines(texts) if line.strip()]
    if not images:
        raise UsageError("no image is given; name a file such as photo.jpg")
    if not given:
        raise UsageError('no text is given; write what may be in the image, like "a dog" "a cat"')
    matcher = opened.load(device)
    found = matcher.match(images, given, template or ("{}",))
    for image, each in zip(images, found, strict=True):
        show(image, each, as_json)
    if picture is not None:
        from regard.inspect.similarity import save_similarity

        rows = [[each.similarities[text] for text in given] for each in found]
        save_similarity(matcher.reader.pixels(images), images, given, rows, picture)


def show(image: str, found: Any, as_json: bool) -> None:
    from regard.cli.display import results

    if as_json:
        facts = {
            "image": image,
            "text": found.text,
            "probabilities": found.probabilities,
            "similarities": found.similarities,
        }
        results(json.dumps(facts, ensure_ascii=False))
        return
    for text, share in found.probabilities.items():
        results(f"{share:.3f}\t{found.similarities[text]:.3f}\t{text}\t{image}")
