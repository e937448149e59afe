"""regard search: the images of a folder that fit a text, or that are like another image."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from regard.cli.options import AsJson, Device
from regard.errors import UsageError
from regard.machine import memory


def search(
    run: Path,
    text: str | None = None,
    /,
    *,
    images: tuple[Path, ...] = (),
    like: Path | None = None,
    n_best: Annotated[int, Parameter(validator=Number(gte=1))] = 10,
    html: Path | None = None,
    index: Path | None = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Find the images of a folder that fit a text, or that are like another image.

    A line of output has the similarity from -1 to 1 and the name of an image, with a tab between
    them; the most similar comes first. The first search of a folder reads all of its images; later
    ones read those that are new or have changed.

    Parameters
    ----------
    run
        A run folder of a model that matches images and texts.
    text
        What to look for, in words.
    images
        A folder or .npz archive of images to search. Repeat it for more.
    like
        An image: look for others like it, instead of a text.
    n_best
        How many images to show.
    html
        Write a page with the images that were found to this file.
    index
        The file that keeps what was read of the images; by default it is in the run folder.
    as_json
        Print one JSON object per image.
    """
    from regard.cli.checks import check_outputs, open_run
    from regard.cli.display import SCREEN, results, say

    opened = open_run(run, "search")
    check_outputs(html)
    if not images:
        raise UsageError("no images are given; name a folder with --images")
    if (text is None) == (like is None):
        raise UsageError('give either a text, like "a dog on a beach", or --like photo.jpg')
    from regard.data.image_files import find_images

    listed = find_images(images)
    memory.keep_big_buffers()
    matcher = opened.load(device)
    query = matcher.query(text, like)
    found = matcher.indexed(listed, images, index, SCREEN)
    for problem in found.problems:
        say(problem)
    say(found.summary())
    hits = found.nearest(query, n_best)
    for hit in hits:
        facts = {"image": hit.name, "similarity": round(hit.similarity, 4)}
        results(
            json.dumps(facts, ensure_ascii=False)
            if as_json
            else f"{hit.similarity:.3f}\t{hit.name}"
        )
    if html is not None:
        from regard.tasks.search_page import save_page

        save_page(html, text or f"like {like}", hits, listed)
        say(f"Wrote {html}")
