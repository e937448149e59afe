"""regard fill: what may stand where something is masked."""

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def fill(
    run: Path,
    texts: tuple[str, ...] = (),
    /,
    *,
    top: int = 5,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    device: str = "auto",
) -> None:
    """Fill in what is masked in a text.

    Write [MASK] where something is missing, and [SEP] between two sentences.

    Parameters
    ----------
    run
        A run folder of a masked language model.
    texts
        Texts to fill in; without any, the lines of standard input.
    top
        Show this many candidates for each mask.
    as_json
        Print one JSON object per text: the filled text, the candidates and their probabilities.
    device
        cpu, cuda, mps or auto.
    """
    from dataclasses import asdict

    from regard.cli.display import results
    from regard.cli.translate import lines
    from regard.errors import RequestError
    from regard.tasks.filler import Filler, ranked

    if top < 1:
        raise RequestError(f"--top {top}: show at least 1 candidate")
    filler = Filler.load(run, device)
    for number, text in enumerate(texts or lines(), start=1):
        if not texts and not text.strip():
            results("{}" if as_json else "")
            continue
        try:
            found = filler.fill(text, top)
        except RequestError as error:
            raise RequestError(f"text {number}: {error}") from None
        if as_json:
            results(json.dumps({"source": text, **asdict(found)}, ensure_ascii=False))
            continue
        results(found.text)
        for candidates in found.candidates:
            results(f"  {ranked(candidates)}")
        sys.stdout.flush()
