"""Is every changed byte of a run noticed?

    python -m benchmarks.flips --flips 10000

trains small runs of several kinds, changes one bit or one byte of one of their files at a time, and
uses the run as a command would: it answers, shows itself, and gets ready to resume. A change is
detected (an error or a warning of one sentence, or a derived file that is made again), harmless
(all is as it was), or missed. The files share the changes equally, whatever their size.
"""

import argparse
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import regard
from regard.engines import cache
from regard.engines.ctranslate2 import LAYOUT, CTranslate2
from regard.errors import RegardError
from regard.files import read_metadata
from regard.made_with import MadeWith
from regard.run import Run
from regard.training import contents
from regard.training.log import damaged_lines, entry_of
from regard.weights import load_checkpoint

FINDINGS = ("alignment", "heads", "calibration")
SENTENCES = ["1 the aa", "4 the five"]
SHORT = {
    "train.steps": 8,
    "train.eval_every": 4,
    "train.save_every": 4,
    "train.log_every": 1,
    "train.threads": 1,
    "train.device": "cpu",
}
NARROW = {"model.d_model": 16, "model.d_ff": 16, "model.num_heads": 2, "model.num_layers": 1}
VOCABULARY = {"tokenizer.vocabulary_size": 300}


class Kind(NamedTuple):
    folder: Path
    answer: Callable[[Path], Any]


@dataclass
class Tally:
    """What became of the changes of a file."""

    counts: Counter[str]
    missed: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flips", description=__doc__)
    parser.add_argument("--flips", type=int, default=10_000, help="changes over all files")
    parser.add_argument("--seed", type=int, default=1, help="of the changes")
    parser.add_argument("--work", type=Path, default=Path("build/flips"), help="for the runs")
    options = parser.parse_args()
    kinds = trained(options.work)
    tallies = measured(kinds, options.flips, options.seed)
    print(table(tallies))
    missed = [each for tally in tallies.values() for each in tally.missed]
    print(*missed, sep="\n")
    sys.exit(bool(missed))


def trained(work: Path) -> dict[str, Kind]:
    """A small run of each kind; those that are there already are taken as they are."""
    work.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    rows = [draw.choices(range(10), k=draw.randint(2, 8)) for _ in range(200)]
    texts = [f"{row[0]} the {' '.join('abcdefghij'[digit] * 2 for digit in row)}" for row in rows]
    labels = ["odd" if row[0] % 2 else "even" for row in rows]
    words = [text.split() for text in texts]
    train = partial(one_run, work)
    sides = {"model.encoder_layers": 1, "model.decoder_layers": 1, **NARROW, **VOCABULARY}
    del sides["model.num_layers"]
    lstm = {"model.kind": "recurrent", "model.d_model": 8, **VOCABULARY}
    small = {"data.image_size": 8, "model.widths": [8, 8]}
    series = {"data.context": 24, "data.horizon": 6, "model.kind": "linear"}
    counts = {"data.min_count": 1, "model.d_model": 8, "task": "word-vectors"}
    translator = train("translator", sides, pairs=[(each, each.upper()) for each in texts])
    tables = {"text": texts, "label": labels}, {"words": words, "labels": words}
    return {
        "translator": Kind(translator, translated),
        "translator (CTranslate2)": Kind(translator, translated_quickly),
        "classifier": Kind(train("classifier", lstm, labelled=rows_of(tables[0])), classified),
        "tagger": Kind(train("tagger", lstm, tagged=rows_of(tables[1])), tagged),
        "image classifier": Kind(train("images", small, images=drawn(work / "drawn")), seen),
        "forecaster": Kind(train("series", series, series=hours(work / "hours.csv")), forecast),
        "word vectors": Kind(train("words", counts, text=texts), near),
    }


def one_run(work: Path, name: str, settings: dict[str, Any], **data: Any) -> Path:
    folder = work / name
    if not Run(folder).info_path.exists():
        regard.train(out=folder, settings={**SHORT, **settings}, check=False, **data)
    return folder


def rows_of(columns: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*columns.values(), strict=True))


def drawn(folder: Path) -> Path:
    generator = np.random.default_rng(1)
    for number in range(60):
        path = folder / ("dark", "light")[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 100, (8, 8, 3)) + 150 * (number % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    return folder


def hours(path: Path) -> Path:
    start = np.datetime64("2024-03-16T00")
    lines = (f"{start + step}:00,{(step % 24) + step / 100:.2f}" for step in range(300))
    path.write_text("time,load\n" + "\n".join(lines) + "\n")
    return path


def translated(folder: Path) -> Any:
    translator = regard.Translator.load(folder)
    (found,) = translator.translations(SENTENCES[:1], replace(translator.search, beam_size=1))
    return vars(found[0]), translator.unseen_words(SENTENCES[1]), translator.languages()


def translated_quickly(folder: Path) -> Any:
    translator = regard.Translator.load(folder, engine="ctranslate2")
    return translator.translate(SENTENCES[:1], beam_size=1), translator.unseen_words(SENTENCES[1])


def classified(folder: Path) -> Any:
    return repr(regard.load(folder).classify(SENTENCES))


def tagged(folder: Path) -> Any:
    return repr(regard.load(folder).tag(SENTENCES))


def seen(folder: Path) -> Any:
    return repr(
        regard.load(folder).classify([np.full((8, 8, 3), shade, np.uint8) for shade in (20, 200)])
    )


def forecast(folder: Path) -> Any:
    return vars(regard.load(folder).forecast())


def near(folder: Path) -> Any:
    vectors = regard.load(folder)
    return [list(map(repr, vectors.neighbours(word))) for word in vectors.words[:5]]


def used(kind: Kind) -> str:
    """All that commands get from a run, in words. Raises a RegardError where something is wrong,
    and what is warned of is an error, too.
    """
    run = Run(kind.folder)
    path = kind.folder / "log.jsonl"
    if numbers := damaged_lines(path):
        raise RegardError(f"{path}: damaged in line {numbers}")
    log = [entry_of(line) for line in path.read_bytes().splitlines()]
    return repr((kind.answer(kind.folder), run.info(), log, *map(run.finding, FINDINGS)))


def resumed(kind: Kind) -> str:
    """What a start reads of what an earlier one has left in training/, in words."""
    run = Run(kind.folder)
    recipe = run.recipe()
    contents.check(run)
    noted = contents.noted(run)
    now = MadeWith.of(run, recipe, noted.get("corpus"))
    contents.check_started(run, now)
    for note in contents.changes(run, recipe):
        raise RegardError(note.text)
    for path in run.checkpoints():
        before = MadeWith.read(read_metadata(path), path)
        load_checkpoint(run, path)
        if before is None or before.misfit(now):
            raise RegardError(f"{path}: not of this run")
    return repr(noted)


def outcome(use: Callable[[], str], expected: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            found = use()
        except (RegardError, UserWarning) as error:
            return "detected" if "\n" not in str(error) else "missed (several lines)"
        except Exception as error:
            return f"missed ({type(error).__name__})"
    return "harmless" if found == expected else "missed (another answer)"


def changed(content: bytes, draw: random.Random) -> tuple[bytes, str]:
    """The content with one bit turned, or with one other byte, and what was done."""
    place = draw.randrange(len(content))
    value = content[place] ^ (
        1 << draw.randrange(8) if draw.random() < 0.5 else draw.randint(1, 255)
    )
    return content[:place] + bytes([value]) + content[place + 1 :], f"{place} to {value:#04x}"


def measured(kinds: dict[str, Kind], flips: int, seed: int) -> dict[tuple[str, str], Tally]:
    places = [
        (name, path)
        for name, kind in kinds.items()
        for path in sorted(kind.folder.rglob("*"))
        if path.is_file() and path.stat().st_size
    ]
    quick = kinds.get("translator (CTranslate2)")
    kept = kept_engine(quick.folder) if quick else None
    engine = sorted(kept.iterdir()) if kept else []
    each = -(-flips // (len(places) + len(engine)))
    tallies = {}
    for name, path in places:
        shown = path.relative_to(kinds[name].folder).as_posix()
        use = partial(resumed if shown.startswith("training/") else used, kinds[name])
        test = partial(outcome, use, use())
        tallies[name, shown] = flipped(path, each, random.Random(f"{seed} {name} {shown}"), test)
    for path in engine:
        tallies["the kept engine", path.name] = flipped(
            path, each, random.Random(f"{seed} {path.name}"), lambda: of_engine(kept)
        )
    return tallies


def kept_engine(folder: Path) -> Path | None:
    """What is kept of a translator for CTranslate2."""
    CTranslate2.of_run(folder)
    return cache.find(cache.key(Run(folder), LAYOUT))


def of_engine(kept: Path | None) -> str:
    """A kept engine that is not as it was written is made again, which other tests look at."""
    return "missed" if kept and cache.find(kept.name) else "detected"


def flipped(path: Path, count: int, draw: random.Random, test: Callable[[], str]) -> Tally:
    content, tally = path.read_bytes(), Tally(Counter(), [])
    try:
        for _ in range(count):
            other, what = changed(content, draw)
            path.write_bytes(other)
            found = test()
            tally.counts[found.partition(" ")[0]] += 1
            if found.startswith("missed"):
                tally.missed.append(f"{path}: {found}: byte {what}")
    finally:
        path.write_bytes(content)
    return tally


def table(tallies: dict[tuple[str, str], Tally]) -> str:
    lines = ["| run | file | detected | harmless | missed |", "|---|---|---|---|---|"]
    total: Counter[str] = Counter()
    for (name, file), tally in tallies.items():
        total += tally.counts
        cells = (tally.counts[each] for each in ("detected", "harmless", "missed"))
        lines.append(f"| {name} | `{file}` | {' | '.join(map(str, cells))} |")
    cells = (f"{total[each]:,}" for each in ("detected", "harmless", "missed"))
    return "\n".join([*lines, f"| all | {total.total():,} changes | {' | '.join(cells)} |"])


if __name__ == "__main__":
    main()
