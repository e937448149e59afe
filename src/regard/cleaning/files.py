"""Writes what was kept and what was dropped, all of it or nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from regard.cleaning.clean import Judged, Tally
from regard.files import replacing_together

SIDES = ("source", "target")
DROPPED = "dropped.tsv"
HEADER = "place\treason\tsource\ttarget\n"


def write_sorted(
    judged: Iterable[Judged], out: Path, languages: tuple[str, str] | None
) -> tuple[Tally, tuple[Path, Path]]:
    """Kept pairs go to kept.en and kept.de, the others to dropped.tsv with place and reason. In
    these files a line break inside a text is a space.
    """
    sides = languages if languages and languages[0] != languages[1] else SIDES
    names = (f"kept.{sides[0]}", f"kept.{sides[1]}")
    tally = Tally()
    out.mkdir(parents=True, exist_ok=True)
    with replacing_together(out, [*names, DROPPED]) as scratch:
        sources, targets, dropped = (
            (scratch / name).open("w", encoding="utf-8", errors="replace", newline="\n")
            for name in (*names, DROPPED)
        )
        with sources, targets, dropped:
            dropped.write(HEADER)
            for pair, reason in judged:
                tally.add(reason)
                source, target = one_line(pair.source), one_line(pair.target)
                if reason is None:
                    sources.write(f"{source}\n")
                    targets.write(f"{target}\n")
                else:
                    dropped.write(f"{one_line(pair.place)}\t{reason}\t{source}\t{target}\n")
    return tally, (out / names[0], out / names[1])


def one_line(text: str) -> str:
    """A text that cannot end a line or a cell of a table."""
    if "\n" in text or "\t" in text or "\r" in text or "\0" in text:
        return " ".join(text.replace("\0", " ").split())
    return text
