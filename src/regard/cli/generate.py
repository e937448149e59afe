"""regard generate: a language model continues a text."""

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from regard.cli.lines import FileFlags, Files, whole_text
from regard.cli.options import AT_LEAST_1, AsJson, Device


def generate(
    run: Path,
    prompt: str = "",
    /,
    *,
    max_tokens: Annotated[int, AT_LEAST_1] = 200,
    temperature: Annotated[float, Parameter(validator=Number(gte=0, lte=100))] = 0.8,
    top_k: Annotated[int, Parameter(validator=Number(gte=0))] = 0,
    top_p: Annotated[float, Parameter(validator=Number(gt=0, lte=1))] = 1.0,
    seed: Annotated[int, Parameter(validator=Number(gte=0, lt=2**63))] = 1,
    stream: bool = False,
    files: Files = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Continue a text with a language model.

    Parameters
    ----------
    run
        A run folder of a language model.
    prompt
        The beginning of the text; without it, --input or standard input, or the start of a text.
    max_tokens
        Write at most this many tokens.
    temperature
        Below 1 is more cautious, above 1 more varied; 0 takes the likeliest token each time.
    top_k
        Draw from the k likeliest tokens; 0 from all.
    top_p
        Draw from the likeliest tokens of this total probability.
    seed
        The same seed draws the same text.
    stream
        Print the text while it is written, also into a pipe.
    as_json
        Print one JSON object: prompt, text and how it was drawn.
    """
    from dataclasses import asdict

    from regard.cli.checks import open_run
    from regard.cli.display import results
    from regard.errors import UsageError, visible

    if as_json and stream:
        raise UsageError("--json is one object at the end; leave --stream out")
    open_run(run, "generate")
    files = files or FileFlags()
    files.check([prompt] if prompt else [])
    from regard.tasks.writer import Writer
    from regard.tasks.writing import Writing

    writing = Writing(max_tokens, temperature, top_k, top_p, seed)
    writer = Writer.load(run, device)
    if not prompt and (files.input or not sys.stdin.isatty()):
        prompt = whole_text(files.input)
    with files.answers():
        if as_json:
            facts = {"prompt": prompt, "text": writer.generate(prompt, writing), **asdict(writing)}
            results(json.dumps(facts, ensure_ascii=False))
            return
        at_once = stream or sys.stdout.isatty()
        shown = visible if sys.stdout.isatty() else str

        def write(text: str) -> None:
            sys.stdout.write(shown(text))

        pieces = writer.stream(prompt, writing)
        # What cannot be continued is refused before anything is shown.
        write(prompt + next(pieces, ""))
        for piece in pieces:
            write(piece)
            if at_once:
                sys.stdout.flush()
        sys.stdout.write("\n")
