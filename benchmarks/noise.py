"""Plants five kinds of noise into Multi30k, cleans it, and measures what is caught and lost.

    python -m benchmarks.noise plant FOLDER    write clean, noisy and cleaned pairs, and the shares
    python -m benchmarks.noise train FOLDER    train a small model on each, and score them
    python -m benchmarks.noise typed FOLDER    score them on sources as people type them
    python -m benchmarks.noise alarms          the share of good pairs that other corpora would lose

Noise replaces good pairs, so no noisy pair has a good twin that would give it away. REGARD_DATA
names the folder of the public data sets.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.planted_mistakes import pairs_of, read, text
from regard.cleaning.clean import Cleaner
from regard.data.corpus import Pair

SHARE = 0.2
STRETCH = 50  # lines that are shifted together
NUMBERS = ("zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn")
ENGLISH = re.compile(r"\b(two|three|four|five|six|seven|eight|nine|ten|\d+)\b", re.IGNORECASE)
GERMAN = re.compile(rf"\b({'|'.join(NUMBERS)}|\d+)\b", re.IGNORECASE)
SETTINGS = (
    *("model.encoder_layers=2", "model.decoder_layers=2", "model.d_model=128", "model.d_ff=256"),
    *("model.num_heads=4", "model.dropout=0.1", "model.norm=pre", "tokenizer.vocabulary_size=4000"),
    *("train.batch_tokens=2048", "train.learning_rate=3e-3", "train.schedule=cosine"),
    *("train.warmup_steps=200", "train.save_every=500", "train.eval_every=500"),
    *(
        "train.eval_sentences=200",
        "train.moving_average=0.99",
        "train.processes=1",
        "train.threads=1",
        "seed=1",
    ),
)


@dataclass
class Noisy:
    """Pairs with noise, and the kind of each pair that is no longer good."""

    sources: list[str]
    targets: list[str]
    others: tuple[list[str], ...]  # the same captions in other languages
    chance: random.Random
    kinds: dict[int, str] = field(default_factory=dict)

    def free(self, count: int, fits: Callable[[int], bool] = lambda _: True) -> list[int]:
        rows = [i for i in range(len(self.sources)) if i not in self.kinds and fits(i)]
        return self.chance.sample(rows, count)

    def put(self, row: int, target: str, kind: str) -> None:
        self.targets[row], self.kinds[row] = target, kind


def planted(folder: Path, seed: int) -> Noisy:
    """A fifth of Multi30k's pairs, a fifth of that of each kind."""
    english, german, french, czech = (
        read(folder / f"multi30k/train.{code}.gz") for code in ("en", "de", "fr", "cs")
    )
    noisy = Noisy(english, german, (french, czech), random.Random(seed))
    each = round(SHARE * len(english) / 5)
    for plant in (misaligned, wrong_language, copies, broken, cut_or_renumbered):
        plant(noisy, each)
    return noisy


def misaligned(noisy: Noisy, count: int) -> None:
    """Half are stretches whose targets are one line late, half have the target of another pair."""
    blocks = noisy.chance.sample(range(len(noisy.sources) // STRETCH), count // (2 * STRETCH))
    for block in blocks:
        rows = range(block * STRETCH, (block + 1) * STRETCH)
        moved = [noisy.targets[row] for row in rows]
        for row, target in zip(rows, [moved[-1], *moved[:-1]], strict=True):
            noisy.put(row, target, "misaligned")
    rest = noisy.free(count - len(blocks) * STRETCH)
    moved = [noisy.targets[row] for row in rest]
    for row, target in zip(rest, [*moved[1:], moved[0]], strict=True):
        noisy.put(row, target, "misaligned")


def wrong_language(noisy: Noisy, count: int) -> None:
    for number, row in enumerate(noisy.free(count)):
        noisy.put(row, noisy.others[number % 2][row], "wrong language")


def copies(noisy: Noisy, count: int) -> None:
    """Half are exact; the others have lost their capitals and their last mark."""
    for number, row in enumerate(noisy.free(count)):
        source = noisy.sources[row]
        noisy.put(row, source if number % 2 else source.lower().rstrip("."), "copies")


def broken(noisy: Noisy, count: int) -> None:
    """UTF-8 read as Windows-1252, or a tenth of the letters lost."""
    wide = noisy.free(count // 2, lambda row: not noisy.targets[row].isascii())
    for row in wide:
        noisy.put(row, noisy.targets[row].encode().decode("cp1252", "replace"), "mojibake")
    for row in noisy.free(count - len(wide)):
        letters = list(noisy.targets[row])
        for place in noisy.chance.sample(range(len(letters)), max(1, len(letters) // 10)):
            letters[place] = "\ufffd"
        noisy.put(row, "".join(letters), "mojibake")


def cut_or_renumbered(noisy: Noisy, count: int) -> None:
    """Half have another number on the target side, half have lost 40 to 70 % of its end."""

    def has_numbers(row: int) -> bool:
        return bool(ENGLISH.search(noisy.sources[row]) and GERMAN.search(noisy.targets[row]))

    def other(found: re.Match[str]) -> str:
        if found[0].isdigit():
            return str(int(found[0]) + noisy.chance.randrange(1, 10))
        choice = noisy.chance.choice([each for each in NUMBERS if each != found[0].lower()])
        return choice.capitalize() if found[0][0].isupper() else choice

    for row in noisy.free(count // 2, has_numbers):
        noisy.put(row, GERMAN.sub(other, noisy.targets[row], count=1), "other number")
    for row in noisy.free(count - count // 2, lambda row: len(noisy.targets[row].split()) >= 5):
        words = noisy.targets[row].split()
        kept = max(1, round(len(words) * noisy.chance.uniform(0.3, 0.6)))
        noisy.put(row, " ".join(words[:kept]), "truncated")


def write(folder: Path, name: str, sources: list[str], targets: list[str]) -> None:
    (folder / f"{name}.en").write_bytes(text(sources))
    (folder / f"{name}.de").write_bytes(text(targets))


def plant(data: Path, folder: Path, seed: int) -> None:
    """Write what is left of the good pairs, and these with the noise."""
    folder.mkdir(parents=True, exist_ok=True)
    noisy = planted(data, seed)
    good = [row for row in range(len(noisy.sources)) if row not in noisy.kinds]
    write(
        folder, "clean", *([side[row] for row in good] for side in (noisy.sources, noisy.targets))
    )
    write(folder, "noisy", noisy.sources, noisy.targets)
    begin = time.process_time()
    pairs = [
        Pair(source, target, f"noisy.en:{row + 1}")
        for row, (source, target) in enumerate(zip(noisy.sources, noisy.targets, strict=True))
    ]
    reasons = [reason for _, reason in Cleaner.learned(pairs, ("en", "de")).judged(pairs)]
    kept = [row for row, reason in enumerate(reasons) if reason is None]
    write(
        folder, "cleaned", *([side[row] for row in kept] for side in (noisy.sources, noisy.targets))
    )
    kinds = [noisy.kinds.get(row, "good") for row in range(len(pairs))]
    total, dropped = Counter(kinds), Counter(kinds[row] for row, each in enumerate(reasons) if each)
    print("| pairs | planted | dropped | share |\n|---|---|---|---|")
    for kind, count in sorted(total.items()):
        print(f"| {kind} | {count:,} | {dropped[kind]:,} | {dropped[kind] / count:.2%} |")
    noise = total.total() - total["good"]
    caught = dropped.total() - dropped["good"]
    print(f"| all noise | {noise:,} | {caught:,} | {caught / noise:.2%} |")
    why = Counter(each for row, each in enumerate(reasons) if each and kinds[row] == "good")
    print(f"{time.process_time() - begin:.0f} s; good pairs were lost as {dict(why)}")


def alarms(data: Path, most: int) -> None:
    """What cleaning drops of corpora that are as good as their makers left them."""
    print("| pairs | looked at | dropped | why |\n|---|---|---|---|")
    for name, first, second in pairs_of(data):
        if not name.split("/")[-1].startswith(("train", "dev ", "newstest2012", "en-")):
            continue
        rows = list(zip(read(first), read(second), strict=True))[:most]
        pairs = [Pair(source, target, f"{name}:{i}") for i, (source, target) in enumerate(rows)]
        if len(pairs) < 900 or "test" in name.split("/")[-1][-7:]:
            continue
        codes = "en", second.name.split(".")[-2]
        why = Counter(each for _, each in Cleaner.learned(pairs, codes).judged(pairs) if each)
        reasons = ", ".join(f"{each} {count}" for each, count in why.most_common(4))
        share = f"{why.total() / len(pairs):.2%}"
        print(f"| {name} | {len(pairs):,} | {share} | {reasons} |", flush=True)


def train(data: Path, folder: Path, names: list[str], more: Sequence[str]) -> None:
    """Train on each of the corpora with the same settings and score the last model on test_2016."""
    regard = [sys.executable, "-m", "regard"]
    corpus = data / "multi30k"
    for name in names:
        run = run_of(folder, name, more)
        pairs = [str(folder / f"{name}.{code}") for code in ("en", "de")]
        valid = [str(corpus / f"val.{code}.gz") for code in ("en", "de")]
        settings = [part for each in (*SETTINGS, *more) for part in ("--set", each)]
        command = [
            *regard,
            "train",
            "--pairs",
            *pairs,
            "--valid",
            *valid,
            "--languages",
            "en",
            "de",
        ]
        subprocess.run([*command, "--anyway", "--out", str(run), *settings], check=True)
        test = ["--source", str(corpus / "test_2016_flickr.en.gz")]
        test += ["--reference", str(corpus / "test_2016_flickr.de.gz")]
        subprocess.run([*regard, "evaluate", str(run), *test], check=True)


def run_of(folder: Path, name: str, more: Sequence[str]) -> Path:
    """The run of a corpus with more settings; how long it trains is not in its name."""
    others = [each for each in more if not each.startswith("train.steps=")]
    return folder / "-".join(["runs", name, *(each.replace("=", "-") for each in others)])


def typed(data: Path, folder: Path) -> None:
    """BLEU of each run on test_2016 as it is, and with each kind of noise in every source."""
    from regard.data.noise import KINDS
    from regard.evaluate.scores import bleu
    from regard.tasks.translation.translator import Translator

    test = data / "multi30k/test_2016_flickr"
    pairs = [*zip(read(Path(f"{test}.en.gz")), read(Path(f"{test}.de.gz")), strict=True)]
    kinds = {
        kind.__name__.replace("_", " "): [
            kind(source, target, random.Random(row)) for row, (source, target) in enumerate(pairs)
        ]
        for kind in KINDS
    }
    sets = {"as it is": pairs, **kinds}
    print("| run |" + "".join(f" {name} |" for name in sets) + "\n|---|" + "---|" * len(sets))
    for run in sorted(folder.glob("runs-*")):
        translator = Translator.load(run, engine="auto")
        scores = [
            bleu(translator.translate([one for one, _ in texts]), [other for _, other in texts])
            for texts in sets.values()
        ]
        print(f"| {run.name} |" + "".join(f" {score:.2f} |" for score in scores), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("plant", "train", "typed", "alarms"))
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/noise"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--most", type=int, default=10_000, help="pairs of a corpus")
    parser.add_argument("--corpora", nargs="+", default=["clean", "noisy", "cleaned"])
    parser.add_argument("--set", nargs="+", default=[], help="more settings of the training")
    given = parser.parse_args()
    data = Path(os.environ.get("REGARD_DATA", "data"))
    if given.what == "plant":
        plant(data, given.folder, given.seed)
    elif given.what == "alarms":
        alarms(data, given.most)
    elif given.what == "typed":
        typed(data, given.folder)
    else:
        more = [f"train.steps={given.steps}", *given.set]
        train(data, given.folder, given.corpora, more)


if __name__ == "__main__":
    main()
