"""regard caption: images in, captions out, in the same order."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from regard.cli.lines import FileFlags, Files, batches
from regard.cli.options import AT_LEAST_1, AsJson, BeamSize, Device, LengthPenalty
from regard.errors import DataError, RequestError, UsageError

if TYPE_CHECKING:
    from regard.decode.search import Search
    from regard.tasks.captioner import Captioner, ImageCaption

AT_ONCE = 64


def caption(
    run: Path,
    /,
    *images: str,
    beam_size: BeamSize = None,
    n_best: Annotated[int, AT_LEAST_1] = 1,
    length_penalty: LengthPenalty = None,
    picture: Path | None = None,
    files: Files = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Describe images with a captioner.

    A line of output has the caption and the file's name, with a tab between them; with --n-best,
    the rank and the score come first.

    Parameters
    ----------
    run
        A run folder of a captioner.
    images
        Image files; without any, the names on the lines of --input or of standard input.
    n_best
        Captions shown for each image.
    picture
        Draw where the model looks in the image at each word, and which parts the word needs, to
        this file: .png, .svg or .pdf.
    as_json
        Print one JSON object per line: image, text, score, tokens and log-probabilities.
    """
    from regard.cli.checks import check_picture, open_run
    from regard.cli.display import say

    check_picture(picture)
    if picture is not None and len(images) != 1:
        raise UsageError(f"--picture {picture}: shows one image; give one, not {len(images)}")
    opened = open_run(run, "caption")
    files = files or FileFlags()
    files.check(images)
    captioner = opened.load(device)
    search = chosen(captioner.search, beam_size, n_best, length_penalty)
    failed = False
    with files.answers():
        for batch in batches(images, files, AT_ONCE, "image"):
            for name, found in answered(captioner, batch, search):
                if isinstance(found, DataError):
                    say(f"regard: error: {found}")
                    failed = True
                else:
                    show(name, found, as_json)
            sys.stdout.flush()
    if picture is not None and not failed:
        draw(captioner, images[0], search, picture)
    if failed:
        sys.exit(1)


def chosen(
    search: "Search", beam_size: int | None, n_best: int, length_penalty: float | None
) -> "Search":
    """The run's search, with what was asked for."""
    from dataclasses import replace

    given: dict[str, Any] = {"n_best": n_best, "beam_size": beam_size or search.beam_size}
    if beam_size is None:
        given["beam_size"] = max(n_best, search.beam_size)
    if length_penalty is not None:
        given["length_penalty"] = length_penalty
    try:
        return replace(search, **given)
    except RequestError as error:
        raise UsageError(str(error)) from None


def answered(
    captioner: "Captioner", batch: list[str], search: "Search"
) -> Iterator[tuple[str, Any]]:
    """Each file with its captions, or with what is wrong with it."""
    try:
        yield from zip(batch, captioner.captions(batch, search), strict=True)
    except DataError as error:
        if len(batch) == 1:
            yield batch[0], error
            return
        for each in batch:
            yield from answered(captioner, [each], search)


def show(name: str, found: "list[ImageCaption]", as_json: bool) -> None:
    from regard.cli.display import results

    if as_json:
        best, *others = map(facts, found)
        more = {"alternatives": others} if others else {}
        results(json.dumps({"image": name, **best, **more}, ensure_ascii=False))
        return
    for rank, each in enumerate(found):
        before = f"{rank + 1}\t{each.score:.4f}\t" if len(found) > 1 else ""
        results(f"{before}{each.text}\t{name}")


def facts(found: "ImageCaption") -> dict[str, Any]:
    return {
        "text": found.text,
        "score": found.score,
        "finished": found.finished,
        "tokens": found.tokens,
        "log_probabilities": found.log_probabilities,
    }


def draw(captioner: "Captioner", image: str, search: "Search", picture: Path) -> None:
    from regard.cli.display import say
    from regard.files import replacing

    maps = captioner.maps(image, captioner.captions([image], search)[0][0].ids)
    with replacing(picture) as temporary:
        maps.save(temporary)
    say(f"Wrote {picture}")
    if maps.warning:
        say(f"warning: {maps.warning}")
