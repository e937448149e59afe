"""Counts the placeholders and tags that translations keep, lose and invent.

    python -m benchmarks.marks RUN [--engine ctranslate2] [--strings 5000]

The texts are all strings of programs with placeholders or tags (ui-strings), and captions
(Multi30k test sets) that get tags and placeholders at random places. For the captions of 2016 chrF
is compared with that of the same captions without tags. REGARD_DATA names the folder of the data.
"""

import argparse
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import sacrebleu

from benchmarks.planted_mistakes import read
from regard.tasks.translation.marked import MarkedTranslation
from regard.tasks.translation.translator import Translator
from regard.text.marks import MarkedText
from regard.text.protect import protect

PAIRS = ("b", "i", "a href='https://example.org/x'", 'span class="c"', "code2", "g id='1'")
ALONE = ("<br/>", "<img src='a.png'/>", "<x id='2'/>")
SYMBOLS = ("%s", "%(name)s", "{0}", "{{x}}", "[X12X]", "$var$", "https://example.org/a?b=1")
AT_ONCE = 256


def strings(data: Path) -> Iterator[str]:
    """All strings of programs that have a mark, each once."""
    seen: dict[str, None] = {}
    for path in sorted((data / "ui-strings").glob("en-*.en.gz")):
        seen |= dict.fromkeys(text for text in read(path) if protect(text).marks)
    yield from seen


def tagged(text: str, draw: random.Random, tags_only: bool = False) -> str:
    """A text with one or two pairs of tags, one inside the other or apart, and something alone."""
    words = text.split()
    for _ in range(draw.randint(1, 2)):
        name = draw.choice(PAIRS)
        first = draw.randrange(len(words))
        last = draw.randint(first, min(len(words) - 1, first + 3))
        inside = " ".join(words[first : last + 1])
        words[first : last + 1] = [f"<{name}>{inside}</{name.split()[0]}>"]
    if not tags_only:
        words.insert(draw.randint(0, len(words)), draw.choice(ALONE + SYMBOLS))
    return " ".join(words)


def is_nested(text: MarkedText) -> bool:
    waiting: list[str] = []
    for mark in text.marks:
        if mark.kind == "open":
            waiting.append(mark.name)
        elif mark.kind == "close" and (not waiting or waiting.pop() != mark.name):
            return False
    return not waiting


def translated(translator: Translator, texts: Sequence[MarkedText]) -> list[MarkedTranslation]:
    order = sorted(range(len(texts)), key=lambda row: len(str(texts[row])))
    found: dict[int, MarkedTranslation] = {}
    for start in range(0, len(order), AT_ONCE):
        rows = order[start : start + AT_ONCE]
        outputs = translator.marked([texts[row] for row in rows])
        found |= dict(zip(rows, outputs, strict=True))
    return [found[row] for row in range(len(texts))]


def counted(name: str, texts: Sequence[MarkedText], found: Sequence[MarkedTranslation]) -> None:
    """Count in the written translations. Lost is a mark that is not there, letter by letter; what
    still looks like a mark without all of the source's is invented.
    """
    total = lost = invented = broken = 0
    for text, output in zip(texts, found, strict=True):
        rest = str(output)
        for mark in sorted(text.marks, key=lambda mark: -len(mark.text)):
            before, there, after = rest.partition(mark.text)
            lost += not there
            rest = f"{before} {after}" if there else rest
        total += len(text.marks)
        invented += len(protect(rest).marks)
        broken += is_nested(text) and not is_nested(output.text)
    kept = sum(each.placing == "kept" for each in found)
    print(
        f"| {name} | {len(texts):,} | {total:,} | {lost} | {invented} | {broken} | "
        f"{kept / len(texts):.0%} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--engine", choices=("ctranslate2", "torch"), default="ctranslate2")
    parser.add_argument("--strings", type=int, default=10_000)
    parser.add_argument("--beam-size", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    data, draw = Path(os.environ.get("REGARD_DATA", "data")), random.Random(given.seed)
    translator = Translator.load(given.run, engine=given.engine)
    translator.search = replace(translator.search, beam_size=given.beam_size)
    captions = read(data / "multi30k/test_2016_flickr.en.gz")
    references = read(data / "multi30k/test_2016_flickr.de.gz")
    more = read(data / "multi30k/test_2017_flickr.en.gz")
    sets = {
        "strings of programs": [*strings(data)][: given.strings],
        "captions with tags": [tagged(text, draw, tags_only=True) for text in captions],
        "captions with tags and placeholders": [tagged(text, draw) for text in more],
    }
    begin = time.process_time()
    print("| texts | count | marks | lost | invented | not nested | as the model wrote them |")
    print("|---|---|---|---|---|---|---|")
    for name, texts in sets.items():
        marked = [protect(text) for text in texts]
        found = translated(translator, marked)
        counted(name, marked, found)
        if name == "captions with tags":
            plain = [protect(text) for text in captions]
            outputs = (
                [each.text.plain for each in found],
                [*map(str, translated(translator, plain))],
            )
            scores = [sacrebleu.corpus_chrf(each, [references]).score for each in outputs]
    print(f"chrF of captions: with tags {scores[0]:.2f}, without {scores[1]:.2f}: ", end="")
    print(f"{scores[0] / scores[1]:.4f}; {time.process_time() - begin:.0f} s of one core")


if __name__ == "__main__":
    main()
