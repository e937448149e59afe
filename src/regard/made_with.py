"""What weights and checkpoints were made with: their recipe, and the files beside them.

It is in their metadata, which has a checksum. A file of the run that was changed since, or that is
of another run, does not fit to it. Weights that were saved before this was noted fit to anything.
"""

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from regard.errors import RegardError, RunError, shown
from regard.recipe import Recipe, parse
from regard.run import Run
from regard.small_files import UNEXPECTED, open_regular, parse_json

KEY = "made_with"
# Files that decide what the weights answer, where a run has them.
FILES_OF_ANSWERS = (
    *("tokenizer.json", "source.tokenizer.json", "target.tokenizer.json", "labels.json"),
    *("words.json", "source_words.bin", "vocabulary.tsv", "series.safetensors"),
    "linear.safetensors",
)
# Digests of the encoded data. They may be deleted after training, with the rest of the folder.
CONTENTS = "training/data/contents.json"
# Without it a translator cannot say which words it has never met, and does all else.
OPTIONAL = ("source_words.bin",)


@dataclass(frozen=True)
class MadeWith:
    settings: Mapping[str, Any]  # by dotted name, without those that a started run may change
    files: Mapping[str, str]  # SHA-256 by name
    corpus: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of what was learned from

    @classmethod
    def of(cls, run: Run, recipe: Recipe, corpus: Mapping[str, str] | None = None) -> Self:
        """What a run has now."""
        files = {name: digest(run.folder / name) for name in (*FILES_OF_ANSWERS, CONTENTS)}
        return cls(fixed_settings(recipe), {n: d for n, d in files.items() if d}, corpus or {})

    @classmethod
    def read(cls, metadata: Mapping[str, str], where: Path) -> Self | None:
        """What is noted in the metadata of a file; None if the file is from before it was."""
        if KEY not in metadata:
            return None
        try:
            found = parse_json(metadata[KEY])
            recipe, files, corpus = found["recipe"], dict(found["files"]), dict(found["corpus"])
            return cls(fixed_settings(parse(recipe, str(where))), files, corpus)
        except RegardError as error:
            raise RunError(
                f"{error}; a later version of regard made it, or it is damaged"
            ) from None
        except UNEXPECTED:
            raise RunError(f"{where}: damaged (it does not say what it was made with)") from None

    def metadata(self) -> dict[str, str]:
        recipe: dict[str, Any] = {}
        for name, value in self.settings.items():
            section, _, key = name.partition(".")
            if key and value is not None:
                recipe.setdefault(section, {})[key] = value
            elif value is not None:
                recipe[section] = value
        noted = {"recipe": recipe, "files": dict(self.files), "corpus": dict(self.corpus)}
        return {KEY: json.dumps(noted, sort_keys=True)}

    def other_files(self, now: Self) -> Iterator[str]:
        """The names of files that are not the same now."""
        for name in sorted(self.files.keys() | now.files.keys()):
            before, found = self.files.get(name), now.files.get(name)
            gone = found is None and name in (*OPTIONAL, CONTENTS)
            if before != found and not gone and not (before is None and name == CONTENTS):
                yield name

    def other_settings(self, now: Self) -> dict[str, str]:
        """What the settings were that are not the same now, in words."""
        names = sorted(self.settings.keys() | now.settings.keys())
        return {
            name: f"{name} = {shown(now.settings.get(name))}, was {shown(self.settings.get(name))}"
            for name in names
            if self.settings.get(name) != now.settings.get(name)
        }

    def changed_corpus(self, now: Self) -> list[str]:
        """The files that were learned from and are there with another content."""
        return [
            name
            for name in self.corpus
            if now.corpus.get(name, self.corpus[name]) != self.corpus[name]
        ]

    def misfit(self, now: Self) -> str:
        """Why something does not belong to this run, in words; "" if it does."""
        settings, files = self.other_settings(now), list(self.other_files(now))
        if settings:
            return "; ".join(list(settings.values())[:3])
        if CONTENTS in files and (changed := self.changed_corpus(now)):
            return f"{' and '.join(changed[:3])} changed since"
        names = ["the encoded data" if name == CONTENTS else name for name in files]
        return f"{' and '.join(names)}: not the same" if names else ""


def check(run: Run, metadata: Mapping[str, str]) -> None:
    """Check that weights belong to the run that they are in, before they answer.

    A file that is not the one they were trained with is an error, and so is a setting that decides
    what the weights mean. Other settings may be edited; a warning names them.
    """
    before = MadeWith.read(metadata, run.model_path)
    if before is None:
        return
    recipe = run.recipe()
    now = MadeWith.of(run, recipe)
    for name in before.other_files(now):
        how = "not the file that the weights were trained with (damaged, or of another run)"
        if name not in now.files:
            how = "missing, and the weights were trained with it"
        raise RunError(f"{run.folder / name}: {how}; copy the whole run again")
    changed = before.other_settings(now)
    if wrong := [words for name, words in changed.items() if decides(recipe, name)]:
        raise RunError(
            f"{run.recipe_path}: not the recipe that the weights were trained with "
            f"({'; '.join(wrong[:3])}); put that back, or train another run"
        )
    if changed:
        warnings.warn(
            f"{run.recipe_path}: changed since the weights were trained "
            f"({'; '.join(changed.values())})",
            stacklevel=2,
        )


def decides(recipe: Recipe, name: str) -> bool:
    """Whether a setting, by its dotted name, decides what trained weights answer."""
    section, _, key = name.partition(".")
    if section in recipe.deciding:
        return not key.endswith("dropout")
    return key in getattr(getattr(recipe, section, None), "deciding", ())


def fixed_settings(recipe: Recipe) -> dict[str, Any]:
    changeable = recipe.changeable_settings()
    found = settings_by_name(recipe)
    return {name: value for name, value in found.items() if name not in changeable}


def settings_by_name(recipe: Recipe) -> dict[str, Any]:
    """The settings of a recipe by dotted name."""
    result: dict[str, Any] = {}
    for key, value in recipe.model_dump(mode="json").items():
        inner = value if isinstance(value, dict) else {"": value}
        result.update({f"{key}.{name}".rstrip("."): each for name, each in inner.items()})
    return result


def digest(path: Path, links: bool = False) -> str:
    """The SHA-256 of a regular file; "" where there is none."""
    try:
        with open_regular(path, links=links) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror or error})") from None
