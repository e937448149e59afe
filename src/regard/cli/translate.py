"""regard translate: texts in, translations out, in the same order."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from regard.cli.heads import HeadFlags, switched
from regard.cli.options import OF_RUN, AsJson, BeamSize, Device, Engine, Int8, LengthPenalty
from regard.errors import RequestError, UsageError

if TYPE_CHECKING:
    from regard.decode.search import Search
    from regard.run import Run
    from regard.tasks.translation.translation import Translation
    from regard.tasks.translation.translator import Translator

LINES_AT_ONCE = 1000


@dataclass
class SearchFlags:
    """How to search for a translation. The run's recipe has the defaults.

    Parameters
    ----------
    n_best
        Translations shown for each text.
    max_length_ratio
        An output may be this many times as long as its source.
    min_length
        The fewest pieces of an output.
    no_repeat_ngram
        Do not repeat any sequence of this many pieces; 0 allows it.
    temperature
        Draw at random instead of searching: below 1 is more cautious, above 1 more varied.
    top_k
        With a temperature: draw from the k likeliest pieces.
    top_p
        With a temperature: draw from the likeliest pieces of this total probability.
    seed
        With a temperature: the same seed draws the same text.
    """

    beam_size: BeamSize = None
    n_best: Annotated[int | None, OF_RUN] = None
    length_penalty: LengthPenalty = None
    max_length_ratio: Annotated[float | None, OF_RUN] = None
    min_length: Annotated[int | None, OF_RUN] = None
    no_repeat_ngram: Annotated[int | None, OF_RUN] = None
    temperature: Annotated[float | None, OF_RUN] = None
    top_k: Annotated[int | None, OF_RUN] = None
    top_p: Annotated[float | None, OF_RUN] = None
    seed: Annotated[int | None, OF_RUN] = None

    def over(self, defaults: "Search") -> "Search":
        from dataclasses import replace

        given = self.given()
        n_best = given.get("n_best", 1)
        if "beam_size" not in given and n_best > defaults.beam_size:
            given["beam_size"] = n_best
        try:
            return replace(defaults, **given)
        except RequestError as error:
            raise UsageError(str(error)) from None

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def check(self, run: "Run") -> None:
        """Before a model is loaded: what was given goes with what the run's recipe has."""
        if self.given():
            from regard.decode.search import Search

            recipe: Any = run.recipe()
            self.over(Search(**recipe.decode.model_dump()))


def translate(
    run: Path,
    texts: tuple[str, ...] = (),
    /,
    *,
    search: Annotated[SearchFlags | None, Parameter(name="*")] = None,
    prefix: str | None = None,
    align: bool = False,
    heads: Annotated[HeadFlags | None, Parameter(name="*")] = None,
    as_json: AsJson = False,
    device: Device = "auto",
    engine: Engine = "auto",
    int8: Int8 = False,
) -> None:
    """Translate texts, or every line of standard input.

    Parameters
    ----------
    run
        A run folder.
    texts
        Texts to translate; without any, lines are read from standard input.
    prefix
        Begin every output with these words.
    align
        Print word alignments instead of texts, like 0-0 1-2: source word, target word, from 0.
    as_json
        Print one JSON object per line: text, score, tokens, log-probabilities, alignment.
    """
    # Nothing is forked here, which the tokenizer's own threads would be in the way of.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from regard.cli.checks import open_run
    from regard.cli.display import progress_bar, results
    from regard.tasks.translation.translator import Translator

    flags = search or SearchFlags()
    flags.check(open_run(run, "translate"))
    translator = Translator.load(run, device, engine, int8)
    chosen = flags.over(translator.search)
    live = not texts and sys.stdin.isatty()
    # A bar only where it stands alone: not between the results on the same screen.
    aside = not texts and not sys.stdout.isatty()
    with (
        switched(translator, heads),
        progress_bar("translated", None) if aside else nullcontext() as bar,
    ):
        for chunk in chunks(texts or lines(), 1 if live else LINES_AT_ONCE):
            prefixes = [prefix] * len(chunk) if prefix else []
            if as_json or chosen.n_best > 1:
                found = translator.translations(chunk, chosen, prefixes)
                for text, each in zip(chunk, found, strict=True):
                    show(text, each, translator, as_json)
            elif align:
                found = translator.translations(chunk, chosen, prefixes)
                for text, each in zip(chunk, found, strict=True):
                    results(pharaoh(text, each[0], translator))
            else:
                results("\n".join(translator.texts(chunk, chosen, prefixes)))
            sys.stdout.flush()
            if bar is not None:
                bar.advance(bar.task_ids[0], len(chunk))


def lines() -> Iterator[str]:
    """Lines of standard input, split at newlines only: output line i answers input line i."""
    return (line.rstrip("\r\n") for line in whole_lines())


def whole_lines() -> Iterator[str]:
    """Lines of standard input with their ends."""
    from regard.errors import DataError

    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"standard input:{number}: not valid UTF-8 (byte 0x{line[error.start]:02x}); "
                "save the text as UTF-8"
            ) from None


def chunks(texts: Sequence[str] | Iterator[str], size: int) -> Iterator[list[str]]:
    source = iter(texts)
    while chunk := list(islice(source, size)):
        yield chunk


def show(
    text: str, found: "Sequence[Translation]", translator: "Translator", as_json: bool
) -> None:
    from regard.cli.display import results

    if not as_json:
        for rank, each in enumerate(found):
            results(f"{rank + 1}\t{each.score:.4f}\t{each.text}")
        return
    best = facts(text, found[0], translator)
    if len(found) > 1:
        best["alternatives"] = [facts(text, each, translator) for each in found[1:]]
    results(json.dumps({"source": text, **best}, ensure_ascii=False))


def pharaoh(text: str, translation: "Translation", translator: "Translator") -> str:
    """0-0 1-2: the format of the Pharaoh decoder, which other tools read."""
    links = translator.align(text, translation.ids).pairs() if translation.ids else []
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def facts(text: str, translation: "Translation", translator: "Translator") -> dict[str, object]:
    """What a program may want to know; words are aligned as (source, target)."""
    alignment = translator.align(text, translation.ids).pairs() if translation.text else []
    return {
        "text": translation.text,
        "score": translation.score,
        "finished": translation.finished,
        "tokens": translation.tokens,
        "log_probabilities": translation.log_probabilities,
        "alignment": alignment,
    }
