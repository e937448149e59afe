"""regard clean: leave out pairs that are better not learned from."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from regard.cli.options import AsJson, Device

if TYPE_CHECKING:
    from regard.cleaning.clean import Cleaner, Tally
    from regard.data.corpus import Corpus, Pair
    from regard.reporter import Advance

T = TypeVar("T")

MOST_REASONS = 20


def clean(
    pairs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    /,
    *,
    out: Path,
    languages: tuple[str, str] | None = None,
    score: Path | None = None,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Sort pairs into those to learn from and those to leave out, with reasons.

    Left out are duplicates, copies of the source, texts in another language, other numbers or
    addresses on both sides, broken characters, and pairs whose sides do not fit together by a
    dictionary that is learned from the pairs themselves. The folder gets the kept pairs as two
    files of text, and dropped.tsv with the place, the reason and the texts of all others.

    Parameters
    ----------
    pairs
        Files of pairs, as `regard train --pairs` reads them.
    out
        The folder to write, which must be new or empty.
    languages
        Two language codes, where the files do not show them.
    score
        A run folder of a translator, whose score of each pair that is left is one more sign.
    as_json
        Print one JSON object: how many pairs were kept, and how many dropped for which reason.
    """
    from regard.cleaning.clean import Cleaner
    from regard.cleaning.files import write_sorted
    from regard.cli.checks import check_new_folder, open_run
    from regard.cli.display import say, shown_progress
    from regard.data.corpus import corpora, languages_in_header
    from regard.data.pair_files import check_files, language_codes
    from regard.errors import DataError

    check_new_folder(out)
    if score is not None:
        open_run(score, "heads")
    check_files(pairs)
    codes = languages or language_codes(pairs) or languages_in_header(pairs)
    found = corpora(pairs, codes)
    for remark in filter(None, (each.remark() for each in found)):
        say(remark)
    with shown_progress("read", 0) as advance:
        cleaner = Cleaner.learned(told(every(found), advance), codes)
    if not cleaner.total:
        raise DataError(f"{pairs[0]}: no pairs; give files with sentences")
    if cleaner.fit is None:
        say(
            "These are too few pairs to learn a dictionary from, so only what shows on one pair"
            " is found."
        )
    if score is not None:
        with_model(cleaner, score, device)
    with shown_progress("judged", cleaner.total) as advance:
        judged = told(cleaner.judged(every(found)), advance)
        tally, files = write_sorted(judged, out, codes)
    show(tally, files, out, as_json)


def every(found: "Iterable[Corpus]") -> "Iterator[Pair]":
    return chain.from_iterable(each.read() for each in found)


def told(items: "Iterable[T]", advance: "Advance") -> "Iterator[T]":
    """Report how far the reading of some items is."""
    for item in items:
        advance(1)
        yield item


def with_model(cleaner: "Cleaner", folder: Path, device: Device) -> None:
    from regard.cli.display import say
    from regard.tasks.translation.pair_scores import PairScorer
    from regard.tasks.translation.translator import Translator

    say("Loading PyTorch …")
    translator = Translator.load(folder, device, "torch")
    cleaner.scorer = PairScorer.of(translator, cleaner.good)


def show(tally: "Tally", files: tuple[Path, Path], out: Path, as_json: bool) -> None:
    from regard.cleaning.files import DROPPED
    from regard.cli.display import results

    if as_json:
        facts = {"total": tally.total, "kept": tally.kept, "dropped": dict(tally.reasons)}
        results(json.dumps({**facts, "files": list(map(str, files))}, ensure_ascii=False))
        return
    share = 100 * tally.kept / tally.total
    results(f"kept {tally.kept:,} of {tally.total:,} pairs ({share:.1f} %): {files[0]} {files[1]}")
    for reason, count in tally.reasons.most_common(MOST_REASONS):
        results(f"dropped {count:,}: {reason}")
    if tally.dropped:
        results(f"their places and texts: {out / DROPPED}")
