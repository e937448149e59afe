"""Sequence-level distillation (Kim and Rush 2016): a student learns the translations of a teacher.

    pairs/train.jsonl    the teacher's training sources, and its own translations of them
    pairs/valid.jsonl    the teacher's validation pairs, as people wrote them
    pairs/teacher.json   who translated and how, how many outputs were left out, and the progress

All are in the student's folder, and its recipe.toml names them, so the training can be repeated.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from regard.configs.transformer import TransformerConfig
from regard.data.corpus import Pair
from regard.decode.search import Search
from regard.engines.ctranslate2 import fingerprint
from regard.errors import RecipeError, RunError
from regard.files import replacing, write_file
from regard.machine.cores import usable_cores
from regard.recipe import override, parse
from regard.run import Run
from regard.small_files import UNEXPECTED, read_json
from regard.tasks.translation.pairs import Split, bounds, corpus, fitting, survey
from regard.tasks.translation.recipe import TranslationRecipe, recipe_of
from regard.tasks.translation.sizes import fast_layers
from regard.tasks.translation.translator import Translator
from regard.training.events import Event

# The settings of the teacher's data that are the student's, too.
TAKEN_OVER = ("max_length", "max_ratio", "terms", "placeholders", "noise")
# After this many pairs per core, the translations are saved on the disk.
CHUNK_PER_CORE = 512
# A teacher with a smaller share of usable outputs has not learned to translate.
LEAST_KEPT = 2 / 3


@dataclass(frozen=True)
class Translated:
    """The teacher's progress, in pairs. An output that is empty, or that did not end by itself, is
    not used.
    """

    total: int
    read: int = 0
    kept: int = 0
    empty: int = 0
    cut_off: int = 0
    unfit: int = 0  # pairs that the teacher did not learn from either

    @property
    def done(self) -> bool:
        return self.read == self.total

    def left_out(self) -> str:
        """The numbers of pairs that were left out, and why; "" if none were."""
        reasons = {
            "empty outputs": self.empty,
            "outputs without an end": self.cut_off,
            "pairs the teacher did not learn from": self.unfit,
        }
        return ", ".join(f"{count:,} {name}" for name, count in reasons.items() if count)


def distillation(
    teacher: Run, student: TranslationRecipe, out: Path, beam_size: int | None = None
) -> Iterator[Translated | Event]:
    """Let a teacher translate its training sources, then train a student on the translations.

    If the process ends early, for whatever reason, finished translations are not made again.
    """
    from regard.training.run import training_run

    run = Run(out)
    if out.exists() and out.samefile(teacher.folder):
        raise RunError(f"{out}: is the teacher's own folder; choose another --out")
    if run.recipe_path.exists() and not Pairs(run).facts.exists():
        raise RunError(f"{out}: holds a run that has no teacher; choose another --out")
    search = Search(**recipe_of(teacher).decode.model_dump())
    if beam_size is not None:
        search = replace(search, beam_size=beam_size)
    run.check_links()
    try:
        run.training.mkdir(parents=True, exist_ok=True)
        Pairs(run).train.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"{out}: cannot be made ({error.strerror}); choose another --out") from None
    with run.lock():
        if student.tokenizer.folder is not None and not run.has_tokenizers():
            run.save_tokenizers(teacher.tokenizers())
        yield from teach(teacher, Pairs(run), search)
    yield from training_run(student, out)


def student_recipe(
    teacher: Run, out: Path, own: TranslationRecipe | None, preset: str, settings: Sequence[str]
) -> TranslationRecipe:
    """The student's own recipe, or the teacher's with other sizes. It uses the teacher's tokenizer,
    unless a setting asks for another, and the pairs that the teacher translates.
    """
    taught = recipe_of(teacher)
    values = (own or taught).model_dump(mode="json", exclude_none=True)
    if own is None and preset == "fast":
        values["model"] |= shape(taught)
    values["tokenizer"] = taught.tokenizer.model_dump(exclude={"folder"})
    if not any(setting.strip().startswith("tokenizer.") for setting in settings):
        values["tokenizer"]["folder"] = "."
    codes = taught.data.codes()
    values["data"] = {
        "folder": str(out.resolve()),
        "train": ["pairs/train.jsonl"],
        "valid": ["pairs/valid.jsonl"],
        **({"languages": list(codes)} if codes else {}),
        **taught.data.model_dump(include={*TAKEN_OVER}),
    }
    recipe = parse(override(values, settings), "command line")
    if not isinstance(recipe, TranslationRecipe):
        raise RecipeError(f"a student of {teacher.folder} translates too; give it such a recipe")
    return recipe


def shape(taught: TranslationRecipe) -> dict[str, int]:
    model = taught.model
    if not isinstance(model, TransformerConfig):
        raise RecipeError(
            f"--preset fast: is for Transformers, the teacher is {model.kind}; "
            "use --preset standard, or a --recipe for the student"
        )
    encoder_layers, decoder_layers = fast_layers(
        model.encoder_layers, model.decoder_layers, model.d_model, model.d_ff
    )
    return {"encoder_layers": encoder_layers, "decoder_layers": decoder_layers}


@dataclass(frozen=True)
class Pairs:
    """The files of a student's pairs."""

    run: Run

    @property
    def train(self) -> Path:
        return self.run.folder / "pairs" / "train.jsonl"

    @property
    def valid(self) -> Path:
        return self.train.with_name("valid.jsonl")

    @property
    def part(self) -> Path:
        """The training pairs before they are complete."""
        return self.train.with_name("train.jsonl.part")

    @property
    def facts(self) -> Path:
        return self.train.with_name("teacher.json")

    def progress(self, who: dict[str, Any]) -> tuple[Translated, int] | None:
        """The progress of an earlier start, and how many bytes it had written by then."""
        try:
            facts = read_json(self.facts)
            found, size = Translated(**facts["pairs"]), int(facts["bytes"])
            same = facts["fingerprint"] == who["fingerprint"] and facts["search"] == who["search"]
        except FileNotFoundError:
            return None
        except (OSError, *UNEXPECTED):
            raise RunError(
                f"{self.facts}: damaged; delete the folder it is in to translate again"
            ) from None
        if not same:
            raise RunError(
                f"{self.run.folder}: its pairs are from another teacher or another search "
                f"(see {self.facts}); choose another --out, or the same teacher and search"
            )
        return found, size

    def save(self, who: dict[str, Any], found: Translated, size: int) -> None:
        facts = {**who, "pairs": asdict(found), "bytes": size}
        write_file(self.facts, json.dumps(facts, indent=2, ensure_ascii=False).encode())


def teach(teacher: Run, pairs: Pairs, search: Search) -> Iterator[Translated]:
    """Write the student's pairs, and report progress after each chunk."""
    who = {
        "teacher": str(teacher.folder.resolve()),
        "fingerprint": fingerprint(teacher),
        "search": asdict(search),
    }
    recipe = recipe_of(teacher)
    earlier = pairs.progress(who)
    if earlier is not None and earlier[0].done and pairs.train.exists():
        yield earlier[0]
        return
    split = Split.of(recipe, survey(corpus(recipe.data)).pairs)
    with replacing(pairs.valid) as path:
        write_pairs(path, split.valid())
    found, size = earlier or (Translated(sum(1 for _ in split.train())), 0)
    yield found
    translator = Translator.load(teacher.folder, device="auto", engine="auto")
    sources = islice(split.train(), found.read, None)
    try:
        with pairs.part.open("r+b" if size else "wb") as file:
            file.truncate(size)
            file.seek(size)
            while chunk := list(islice(sources, CHUNK_PER_CORE * usable_cores())):
                fit = list(fitting(chunk, translator.tokenizers, bounds(recipe)))
                lines, found = translations(translator, search, chunk, fit, found)
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
                pairs.save(who, found, file.tell())
                yield found
        if found.kept < LEAST_KEPT * (found.total - found.unfit):
            raise RunError(
                f"{teacher.folder}: of {found.total:,} sources {found.kept:,} got an output to "
                f"learn from ({found.left_out()}); train the teacher longer first"
            )
        pairs.part.replace(pairs.train)
    except OSError as error:
        raise RunError(
            f"{pairs.part}: cannot be written ({error.strerror}); put that right and run the same "
            "command"
        ) from None


def translations(
    translator: Translator, search: Search, chunk: list[Pair], fit: list[Pair], found: Translated
) -> tuple[bytes, Translated]:
    """The lines of a chunk, and the progress that now includes it."""
    lines, empty, cut_off = [], 0, 0
    outputs = translator.translations([pair.source for pair in fit], search)
    for pair, (best, *_) in zip(fit, outputs, strict=True):
        if not best.text:
            empty += 1
        elif not best.finished:
            cut_off += 1
        else:
            lines.append(line(pair.source, best.text))
    return b"".join(lines), replace(
        found,
        read=found.read + len(chunk),
        kept=found.kept + len(lines),
        empty=found.empty + empty,
        cut_off=found.cut_off + cut_off,
        unfit=found.unfit + len(chunk) - len(fit),
    )


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    with path.open("wb") as file:
        file.writelines(line(pair.source, pair.target) for pair in pairs)


def line(source: str, target: str) -> bytes:
    text = json.dumps({"source": source, "target": target}, ensure_ascii=False)
    return text.encode("utf-8", "replace") + b"\n"
