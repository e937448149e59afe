"""What a teaching needs, and what takes it back: a folder in the run that is taught.

before/          the files of the run as they were
plan.json        which corrections are learned from
new.jsonl  old.jsonl  valid.jsonl  judged-new.jsonl  judged-old.jsonl
run/             the training, until its weights are judged
report.json      the scores before and after
"""

import hashlib
import random
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from regard.data.corpus import Pair, held_out, read_pairs
from regard.errors import RegardError, RequestError, RunError
from regard.files import read_json, read_metadata, replacing, write_file, write_json
from regard.made_with import MadeWith
from regard.recipe import parse
from regard.run import Run
from regard.small_files import read_small
from regard.tasks.translation.corrections import LARGEST, Corrections, line_of
from regard.tasks.translation.pairs import Split, bounds, corpus, fitting, survey
from regard.tasks.translation.recipe import TranslationRecipe
from regard.tasks.translation.verdict import Verdict, outputs_of, scores_of
from regard.text.carried_tags import bare
from regard.training.card import replace_line

# The shares of corrections and of old pairs which are held out, and the fewest corrections.
HELD_OUT, OLD_HELD_OUT, LEAST_HELD_OUT = 0.1, 0.1, 20
# The most sentences of a kind that weights are judged on, and that training itself looks at.
JUDGED, WATCHED = 1000, 50
# How far the weights may go from the old ones to the new; the first that forget little are kept.
# All the way, they forget about twice as much, and learn little more.
WAYS = (0.7, 0.5, 0.35, 0.2)
# Old pairs for each correction, and the fewest and the most of them.
OLD_PAIRS, LEAST_OLD, MOST_OLD = 60, 5000, 30_000
# The share of the text of an update that is corrections, how often each is learned from, and the
# fewest and the most updates.
NEW_SHARE, PASSES, LEAST_UPDATES, MOST_UPDATES = 0.35, 50, 100, 600
# The learning rate times the width of the model.
RATE = 0.12
LINE = "- Corrections: "
# Settings of the data that stay as they are.
KEPT_SETTINGS = {"max_length", "max_ratio", "terms", "placeholders", "noise"}
# What a teaching may change; the weights first.
FILES = (
    *("model.safetensors", "confidence.json", "alignment.json", "heads.json"),
    *("run.json", "README.md", "corrections.jsonl"),
)


@dataclass(frozen=True)
class Teaching:
    """The folder of a teaching, in the run that is taught."""

    run: Run

    @property
    def folder(self) -> Path:
        return self.run.folder / "learning"

    @property
    def before(self) -> Path:
        return self.folder / "before"

    @property
    def trained(self) -> Run:
        return Run(self.folder / "run")

    @property
    def mixed(self) -> Run:
        """Weights between those before and after the training."""
        return Run(self.folder / "mixed")

    @property
    def report(self) -> Path:
        return self.folder / "report.json"

    @property
    def plan(self) -> Path:
        return self.folder / "plan.json"

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"

    def state(self) -> str:
        """Identifies the corrections that are learned from."""
        return hashlib.sha256(read_small(Corrections(self.run).path, LARGEST)).hexdigest()

    def is_done(self) -> bool:
        """Whether these corrections were learned from, or could not be."""
        return self.report.exists() and read_json(self.report).get("corrections") == self.state()

    def keep_files(self) -> None:
        """Copy what a teaching may change, unless one that has not ended did that."""
        if self.plan.exists():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        part = self.folder / "before.part"
        try:
            part.mkdir(parents=True)
            for name in FILES:
                if (self.run.folder / name).exists():
                    shutil.copyfile(self.run.folder / name, part / name)
            part.rename(self.before)
        except OSError as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise RunError(
                f"{self.before}: cannot be written ({error.strerror}), so that nothing could be "
                "taken back; the run is as it was, put that right and run the same command"
            ) from None

    def undo(self) -> None:
        if not self.before.exists():
            raise RequestError(f"{self.run.folder}: was taught nothing that could be taken back")
        for name in FILES:
            path, kept = self.run.folder / name, self.before / name
            if kept.exists():
                with replacing(path) as temporary:
                    shutil.copyfile(kept, temporary)
            else:
                path.unlink(missing_ok=True)
        shutil.rmtree(self.folder)

    def prepare(self, recipe: TranslationRecipe, old: Sequence[Path]) -> TranslationRecipe:
        """Write the pairs, unless that was done for the same corrections, and say how to learn."""
        known = Corrections(self.run).pairs()
        pairs = [Pair(bare(one), bare(other), "") for one, other in known.items()]
        fit = list(fitting(pairs, self.run.tokenizers(), bounds(recipe)))
        share = max(HELD_OUT, LEAST_HELD_OUT / max(1, len(fit)))
        new = [pair for pair in fit if not held_out(pair.source, recipe.seed, share)]
        judged_new = [pair for pair in fit if held_out(pair.source, recipe.seed, share)][:JUDGED]
        if not self.plan.exists() or read_json(self.plan).get("corrections") != self.state():
            shutil.rmtree(self.trained.folder, ignore_errors=True)
            replay, judged_old = self.old_pairs(recipe, old, len(new))
            for name, some in (
                ("new", new),
                ("old", replay),
                ("valid", [*judged_new[:WATCHED], *judged_old[:WATCHED]][:WATCHED]),
                ("judged-new", judged_new),
                ("judged-old", judged_old),
            ):
                lines = b"".join(line_of(pair.source, pair.target) for pair in some)
                write_file(self.file(name), lines)
            write_json(self.plan, {"corrections": self.state()})
        return self.recipe(recipe)

    def old_pairs(
        self, recipe: TranslationRecipe, old: Sequence[Path], corrections: int
    ) -> tuple[list[Pair], list[Pair]]:
        """Old sources with the run's own translations, so that it learns to stay as it is (Li and
        Hoiem 2016), and other pairs to judge by.
        """
        from regard.tasks.translation.held_out import held_out_texts

        most = min(max(LEAST_OLD, OLD_PAIRS * corrections), MOST_OLD)
        if old:
            given = list(read_pairs(old, recipe.data.codes()))
            apart = [held_out(pair.source, recipe.seed, OLD_HELD_OUT) for pair in given]
            judged = [pair for pair, each in zip(given, apart, strict=True) if each]
            replay = sample((p for p, each in zip(given, apart, strict=True) if not each), most)
        else:
            try:
                split = Split.of(recipe, survey(corpus(recipe.data)).pairs)
                replay = sample(split.train(), most)
                judged = held_out_texts(self.run, recipe)
            except RegardError as error:
                raise RunError(
                    f"{self.run.folder}: the corrections are remembered, but nothing is learned "
                    f"from them, since the pairs that it was trained on cannot be read ({error}); "
                    "name such pairs with --old"
                ) from None
        fit = list(fitting(replay, self.run.tokenizers(), bounds(recipe)))
        outputs = outputs_of(self.run, fit)
        kept = [replace(pair, target=text) for pair, text in zip(fit, outputs, strict=True) if text]
        # A model that writes nothing yet has nothing to keep.
        return kept or fit, judged[:JUDGED]

    def recipe(self, recipe: TranslationRecipe) -> TranslationRecipe:
        """How to learn: slowly, on corrections and old pairs together."""
        sizes = {name: self.file(name).stat().st_size for name in ("new", "old")}
        weight = NEW_SHARE / (1 - NEW_SHARE) * sizes["old"] / max(1, sizes["new"])
        new = sum(len(line) for line in read_small(self.file("new"), LARGEST).split(b"\n"))
        # About three bytes a piece, and two sides.
        steps = round(PASSES * new / 6 / NEW_SHARE / recipe.train.batch_tokens)
        steps = min(max(LEAST_UPDATES, steps), MOST_UPDATES)
        values = recipe.model_dump(mode="json", exclude_none=True)
        codes = recipe.data.codes()
        values["data"] = {
            "folder": str(self.folder.resolve()),
            "train": ["old.jsonl", "new.jsonl"],
            "valid": ["valid.jsonl"],
            "weights": [1, round(min(1000.0, max(1.0, weight)), 2)],
            **({"languages": list(codes)} if codes else {}),
            **recipe.data.model_dump(include=KEPT_SETTINGS),
        }
        values["tokenizer"].pop("folder", None)
        values["train"] |= {
            "from_run": str(self.run.folder.resolve()),
            "steps": steps,
            "learning_rate": float(f"{RATE / recipe.model.d_model:.2g}"),
            "schedule": "cosine",
            "final_learning_rate": 0.0,
            "warmup_steps": steps // 10,
            "eval_every": steps,
            "save_every": max(20, steps // 8),
            "keep": 1,
            "average": 1,
            "moving_average": 0.0,
            "patience": 0,
            "metric": "loss",
            "eval_sentences": WATCHED,
        }
        found = parse(values, "learning")
        assert isinstance(found, TranslationRecipe)
        return found

    def verdict(self, may_lose: float) -> Verdict:
        """Judge the old weights, and those on the way to the new ones, from far to near (Wortsman
        et al. 2022), on the same sentences.
        """
        from regard.weights import read_tensors, save_model, saved_sizes

        new, old = (list(read_pairs([self.file(f"judged-{name}")])) for name in ("new", "old"))
        before = scores_of(self.run, new, old)
        start, _ = read_tensors(self.run.model_path)
        end, metadata = read_tensors(self.trained.model_path)
        sizes = saved_sizes(self.trained, metadata)
        made_with = MadeWith.read(metadata, self.trained.model_path)
        shutil.rmtree(self.mixed.folder, ignore_errors=True)
        shutil.copytree(
            self.trained.folder, self.mixed.folder, ignore=shutil.ignore_patterns("training")
        )
        for way in WAYS:
            mixed = {name: start[name].lerp(end[name], way) for name in end}
            save_model(self.mixed, mixed, int(metadata["step"]), sizes, made_with)
            after = scores_of(self.mixed, new, old)
            if after.old_bleu >= before.old_bleu - may_lose or after.new_chrf <= before.new_chrf:
                break
        learned, replayed = count(self.file("new")), count(self.file("old"))
        return Verdict(learned, replayed, len(new), len(old), before, after, way, may_lose)

    def accept(self, recipe: TranslationRecipe, verdict: Verdict) -> None:
        """Give the run the weights that were judged, and measure them again as after training."""
        from regard.tasks.translation.alignment import rank_aligners
        from regard.tasks.translation.calibrating import calibrate
        from regard.weights import read_tensors, save_model, saved_sizes

        run = self.run
        tensors, metadata = read_tensors(self.mixed.model_path)
        noted = MadeWith.read(read_metadata(run.model_path), run.model_path)
        made_with = MadeWith.of(run, recipe, noted.corpus if noted else None)
        step = int(run.info().get("step", 0))
        save_model(run, tensors, step, saved_sizes(self.mixed, metadata), made_with)
        with suppress(RegardError):  # a model without attention, or too few pairs
            rank_aligners(run.folder)
        with suppress(RegardError):
            calibrate(run)
        with suppress(RegardError):
            replace_line(run, LINE, f"{LINE}{verdict.summary()}")

    def finish(self, verdict: Verdict) -> None:
        """Write the report, and remove what only the training needed."""
        write_json(self.report, {"corrections": self.state(), "verdict": verdict.facts()})
        for run in (self.trained, self.mixed):
            shutil.rmtree(run.folder, ignore_errors=True)
        for path in (*self.folder.glob("*.jsonl"), self.plan):
            path.unlink(missing_ok=True)


def sample(pairs: Iterable[Pair], most: int) -> list[Pair]:
    """So many pairs at random, in order; always the same ones."""
    draw, kept = random.Random(1), list[tuple[int, Pair]]()
    for number, pair in enumerate(pairs):
        if len(kept) < most:
            kept.append((number, pair))
        elif (place := draw.randrange(number + 1)) < most:
            kept[place] = (number, pair)
    return [pair for _, pair in sorted(kept, key=lambda each: each[0])]


def count(path: Path) -> int:
    return read_small(path, LARGEST).count(b"\n")
