"""Plants mistakes into good data, and counts how many `regard check` names.

    python -m benchmarks.planted_mistakes          mistakes that are named
    python -m benchmarks.planted_mistakes alarms   alarms on good data

REGARD_DATA names the folder of the public data sets.
"""

import argparse
import contextlib
import csv
import gzip
import io
import json
import os
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard import cli
from regard.checks.alignment import Stretch, align

Lines = list[str]


@dataclass(frozen=True)
class Data:
    """Good pairs and good labelled texts, and a third language, to plant mistakes into."""

    sources: Lines
    targets: Lines
    languages: tuple[str, str]
    others: Lines  # in a third language
    texts: Sequence[tuple[str, str]]  # label and text
    seed: int = 0


@dataclass(frozen=True)
class Planted:
    """Files with a mistake, the flag to check them with, and the codes that would name it."""

    files: dict[str, bytes]
    flag: str
    codes: frozenset[str]
    words: frozenset[str] = field(default_factory=frozenset)  # one of them is in the sentence


def text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def pair(data: Data, sources: Lines, targets: Lines, *codes: str) -> Planted:
    first, second = data.languages
    files = {f"a.{first}": text(sources), f"a.{second}": text(targets)}
    return Planted(files, "pairs", frozenset(codes))


def table(rows: Sequence[Sequence[str]], *codes: str, flag: str = "pairs", **more: str) -> Planted:
    content = text(["\t".join(row) for row in rows])
    return Planted({"a.tsv": content}, flag, frozenset(codes), frozenset(more.values()))


def shifted_from_the_start(data: Data) -> Planted:
    return pair(data, data.sources, [*data.targets[1:], data.targets[0]], "shift")


def shifted_from_the_middle(data: Data) -> Planted:
    middle = len(data.targets) // 2
    kept = [*data.targets[:middle], *data.targets[middle + 1 :]]
    return pair(data, data.sources, [*kept, data.targets[0]], "shift")


def sides_swapped(data: Data) -> Planted:
    return pair(data, data.targets, data.sources, "swapped")


def the_same_twice(data: Data) -> Planted:
    return pair(data, data.sources, data.sources, "copies")


def another_language(data: Data) -> Planted:
    return pair(data, data.sources, data.others[: len(data.sources)], "language")


def header(data: Data) -> Planted:
    rows = [("English", "Translation"), *zip(data.sources, data.targets, strict=True)]
    return table(rows, "header", "reading", word="first line")


def id_columns(data: Data) -> Planted:
    rows = [
        (str(1276 + 3 * i), source, str(77 + 5 * i), target)
        for i, (source, target) in enumerate(zip(data.sources, data.targets, strict=True))
    ]
    return table(rows, "numbers", "reading", word="column")


def spreadsheet_quotes(data: Data) -> Planted:
    chance = random.Random(data.seed)
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    for source, target in zip(data.sources, data.targets, strict=True):
        spoken = chance.random() < 0.2
        writer.writerow(
            (f'"{source}" she said.', f'"{target}" she said.') if spoken else (source, target)
        )
    content = {"a.tsv": stream.getvalue().encode()}
    return Planted(content, "pairs", frozenset({"quotes", "reading"}), frozenset({"quotes"}))


def mojibake(data: Data) -> Planted:
    wrong = [line.encode().decode("cp1252", "replace") for line in data.targets]
    return pair(data, data.sources, wrong, "mojibake")


def utf16(data: Data) -> Planted:
    first, second = data.languages
    content = "".join(f"{line}\n" for line in data.targets).encode("utf-16")
    files = {f"a.{first}": text(data.sources), f"a.{second}": content}
    return Planted(files, "pairs", frozenset({"unreadable"}), frozenset({"UTF-16", "UTF-8"}))


def label_and_text_swapped(data: Data) -> Planted:
    rows = [(words, label) for label, words in data.texts]
    return table(rows, "swapped", "reading", flag="labelled", word="label")


def texts_for_a_tagger(data: Data) -> Planted:
    return table(data.texts, "labelled", "unreadable", flag="tagged", word="--labelled")


def duplicates(data: Data) -> Planted:
    """Every fifth pair is one that occurs already."""
    chance = random.Random(data.seed)
    rows = list(range(len(data.sources) * 4 // 5))
    rows += chance.choices(rows, k=len(data.sources) // 5)
    chance.shuffle(rows)
    return pair(
        data, [data.sources[i] for i in rows], [data.targets[i] for i in rows], "duplicates"
    )


MISTAKES: dict[str, Callable[[Data], Planted]] = {
    "shifted by one line from the start": shifted_from_the_start,
    "shifted by one line from the middle": shifted_from_the_middle,
    "sides swapped": sides_swapped,
    "the same text twice": the_same_twice,
    "another language in one file": another_language,
    "a header line": header,
    "columns of ids": id_columns,
    "quotes of a spreadsheet": spreadsheet_quotes,
    "mojibake": mojibake,
    "UTF-16": utf16,
    "label and text swapped": label_and_text_swapped,
    "texts with labels for a tagger": texts_for_a_tagger,
    "20 % duplicates": duplicates,
}


def checked(planted: Planted, folder: Path) -> tuple[object, dict[str, object]]:
    """The exit status of `regard check`, and its report."""
    for name, content in planted.files.items():
        (folder / name).write_bytes(content)
    shown = io.StringIO()
    status: object = 0
    with contextlib.chdir(folder), contextlib.redirect_stdout(shown):
        try:
            cli.main(["check", f"--{planted.flag}", *planted.files, "--json"])
        except SystemExit as stop:
            status = stop.code
    return status, json.loads(shown.getvalue())


def naming(planted: Planted, report: dict[str, object]) -> str:
    """The sentence that names the mistake; "" if none does."""
    findings: list[dict[str, str]] = report.get("findings", [])  # type: ignore[assignment]
    for found in findings:
        named = found["code"] in planted.codes
        said = f"{found['sentence']}; {found['advice']}"
        fits = not planted.words or any(word in said for word in planted.words)
        if named and fits and (found["severity"] != "note" or found["code"] == "reading"):
            return f"{found['severity']}: {found['sentence']}"
    return ""


def read(path: Path) -> Lines:
    with gzip.open(path) as file:
        return file.read().decode().split("\n")[:-1]


def corpora(folder: Path) -> Iterator[tuple[str, Data]]:
    """Good data of several kinds."""
    labelled = read(folder / "rotten-tomatoes/train.tsv.gz")
    rows = [line.split("\t", 1) for line in labelled]
    random.Random(1).shuffle(rows)
    texts = [(row[0], row[1]) for row in rows if row[0] in ("0", "1")]
    english = {code: read(folder / f"tatoeba-en-{code}/train.en.gz") for code in ("de", "fr", "es")}
    third = {"de": "fr", "fr": "es", "es": "de"}
    for code, sources in english.items():
        targets = read(folder / f"tatoeba-en-{code}/train.{code}.gz")
        others = read(folder / f"tatoeba-en-{third[code]}/train.{third[code]}.gz")
        yield f"tatoeba-en-{code}", Data(sources, targets, ("en", code), others, texts)
    sources = read(folder / "multi30k/train.en.gz")
    for code, other in (("de", "fr"), ("fr", "cs"), ("cs", "de")):
        targets, others = (read(folder / f"multi30k/train.{each}.gz") for each in (code, other))
        yield f"multi30k-en-{code}", Data(sources, targets, ("en", code), others, texts)


def part(data: Data, size: int, seed: int) -> Data:
    """Some neighbouring pairs of a corpus."""
    start = random.Random(seed).randrange(len(data.sources) - size)
    rows = slice(start, start + size)
    return Data(
        data.sources[rows],
        data.targets[rows],
        data.languages,
        data.others[start % 10_000 :][:size],
        data.texts[seed * 100 :][:size],
        seed,
    )


def count_named(folder: Path, sizes: Sequence[int], seeds: int) -> None:
    named: dict[str, Counter[int]] = defaultdict(Counter)
    tried: Counter[int] = Counter()
    sentences: dict[str, str] = {}
    for name, data in corpora(folder):
        for size in sizes:
            for seed in range(seeds):
                tried[size] += 1
                some = part(data, size, seed)
                for mistake, plant in MISTAKES.items():
                    with tempfile.TemporaryDirectory() as place:
                        planted = plant(some)
                        _, report = checked(planted, Path(place))
                    sentence = naming(planted, report)
                    named[mistake][size] += bool(sentence)
                    sentences.setdefault(mistake, sentence)
                    if not sentence:
                        print(f"missed: {mistake}, {name}, {size}, seed {seed}", file=sys.stderr)
    print(f"| mistake | {' | '.join(f'{size:,} pairs' for size in sizes)} | the sentence |")
    print("|---|" + "---|" * (len(sizes) + 1))
    for mistake in MISTAKES:
        counts = " | ".join(f"{named[mistake][size]} of {tried[size]}" for size in sizes)
        print(f"| {mistake} | {counts} | `{sentences[mistake]}` |")


def pairs_of(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Every pair of files of the public sets that translate each other."""
    for first in sorted(folder.glob("*/*.en.gz")):
        if first.parent.name in ("multi30k", "newstest", "flores200") or "tatoeba" in str(first):
            stem = first.name.removesuffix(".en.gz")
            for second in sorted(first.parent.glob(f"{stem}.*.gz")):
                if second != first and "images" not in second.name:
                    yield f"{first.parent.name}/{stem} {second.name.split('.')[-2]}", first, second
    for first in sorted((folder / "ui-strings").glob("*.en.gz")):
        second = first.with_name(first.name.replace(".en.gz", f".{first.name[3:5]}.gz"))
        yield f"ui-strings/{first.name[:-6]}", first, second


def count_alarms(folder: Path, sizes: Sequence[int], seeds: int) -> None:
    """Verdicts on the alignment of random parts of good pairs, neighbours or not."""
    alarms: Counter[tuple[int, str]] = Counter()
    tried: Counter[int] = Counter()
    for name, first, second in pairs_of(folder):
        sources, targets = read(first), read(second)
        for size in sizes:
            for seed in range(seeds if size <= len(sources) else 0):
                chance = random.Random(seed)
                rows = chance.sample(range(len(sources)), size)
                start = chance.randrange(len(sources) - size + 1)
                for chosen in (sorted(rows), rows, range(start, start + size)):
                    tried[size] += 1
                    stretch = Stretch(0, [sources[i] for i in chosen], [targets[i] for i in chosen])
                    found = align([stretch])
                    if found.shifts:
                        alarms[size, "shift"] += 1
                        print(f"shift: {name}, {size}, seed {seed}: {found}", file=sys.stderr)
                    if found.unrelated:
                        alarms[size, "unrelated"] += 1
                        print(f"unrelated: {name}, {size}, seed {seed}: {found}", file=sys.stderr)
    print("| pairs | parts tried | called shifted | called unrelated |\n|---|---|---|---|")
    for size in sizes:
        shift, unrelated = alarms[size, "shift"], alarms[size, "unrelated"]
        print(f"| {size:,} | {tried[size]:,} | {shift} | {unrelated} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("named", "alarms"), default="named")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=None)
    given = parser.parse_args()
    folder = Path(os.environ.get("REGARD_DATA", "data"))
    if given.what == "named":
        count_named(folder, given.sizes or (200, 3000), given.seeds)
    else:
        count_alarms(folder, given.sizes or (200, 1000, 3000, 10_000), given.seeds)


if __name__ == "__main__":
    main()
