"""From the arguments of `regard.train` to the recipe and the folder of a training."""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import tasks
from regard.data.examples import Given, write
from regard.errors import DataError, RecipeError, RegardError, RequestError, RunError, shown
from regard.run import Run

if TYPE_CHECKING:
    from regard.start import Start
    from regard.tasks.task import DataFlags

# Where examples are written in the run folder.
EXAMPLES = Path("training", "examples")


@dataclass(frozen=True)
class Asked:
    """The arguments of `regard.train`; `settings` are as on the command line."""

    recipe: Any
    out: Path | str | None
    data: Mapping[str, Any]
    valid: Any
    task: str | None
    languages: tuple[str, str] | None
    preset: str | None
    settings: tuple[str, ...]

    @property
    def data_flags(self) -> dict[str, Any]:
        """Settings of [data] that have a name of their own, such as horizon."""
        known = tasks.data_flags()
        return {
            name: plain_setting(name, value)
            for name, value in self.data.items()
            if name in known and value is not None
        }

    def check(self) -> None:
        """Refuse arguments that are not of their kind."""
        out = self.folder()
        try:
            if out is not None:
                out.lstat()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", error)
            raise RunError(f"{out}: cannot be a folder ({reason}); choose another out") from None
        codes: Any = self.languages
        if codes is None:
            return
        pair = isinstance(codes, list | tuple) and len(codes) == 2
        if not pair or not all(isinstance(code, str) for code in codes):
            raise RequestError(f'languages = {shown(codes)}: give two codes, like ("en", "de")')

    def folder(self) -> Path | None:
        out: Any = self.out
        if out is None:
            return None
        if not isinstance(out, str | os.PathLike) or not os.fspath(out):
            raise RequestError(f"out = {shown(out)}: give the name of a folder")
        return Path(out)

    def for_data(self) -> Mapping[str, Any]:
        """The arguments that a recipe does not take."""
        names = ("valid", "task", "languages", "preset")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@contextmanager
def prepared(asked: Asked) -> "Iterator[Start]":
    """The recipe and the folder of a training. If it fails before anything is learned, the
    examples that were written for it are removed again.
    """
    try:
        flag, data, companions = data_of(asked)
        asked.check()
        if asked.recipe is not None:
            yield from_recipe(asked)
            return
        from regard.start import DataOptions, from_data

        with in_files(flag, data, companions, asked) as (flags, out):
            flags_given = asked.data_flags
            options = DataOptions(asked.task, out, asked.preset, asked.settings, flags_given)
            yield from_data(flag, flags, options)
    except RegardError as error:
        error.args = (in_python(str(error)),)
        raise


def in_python(sentence: str) -> str:
    """A sentence about options of the command line and about files of examples, as the caller of
    `train` knows them.
    """
    for name, kind in (("train", "example"), ("valid", "validation example")):
        path = rf"[^\s(]*{EXAMPLES.as_posix()}/{name}\.jsonl"
        sentence = re.sub(rf"{path}:(\d+)", rf"{kind} \1", sentence)
        sentence = re.sub(path, f"the {kind}s", sentence)
    for option, name in (("--set ", "settings "), ("--from ", "from_run "), ("--", "")):
        sentence = re.sub(rf"(?<![\w-]){option}(?=[a-z])", name, sentence)
    return sentence.replace("command line: ", "settings: ")


def data_of(asked: Asked) -> tuple[str, Any, dict[str, Any]]:
    """The data that was given, as a flag of the command line, and that of its companions; the flag
    is "" for a recipe.
    """
    own = dict.fromkeys(entry.flag for entry in tasks.TASKS.values() if entry.flag)
    flags = list(own | tasks.flags())
    given = {}
    for name, data in asked.data.items():
        if name in tasks.data_flags():
            continue
        flag = name if name in flags else name.removesuffix("s")
        if flag not in flags:
            near = get_close_matches(name, [*flags, "valid", "settings", "out"], n=1)
            near = near or [f'settings={{"{each}": {shown(data)}}}' for each in setting_names(name)]
            way = f"did you mean {' or '.join(near)}?" if near else f"data is {', '.join(flags)}"
            raise RequestError(f"train takes no {name!r}; {way}")
        if data is not None and flag in given:
            raise RequestError(f"{flag} and {flag}s are the same; give one of them")
        if data is not None:
            given[flag] = data
    if not given and asked.recipe is not None:
        if not is_recipe(asked.recipe):
            raise RequestError(
                f"{shown(asked.recipe)} is not a recipe; to train on data, name its kind, "
                f"like regard.train({flags[0]}=…)"
            )
        for name in (*asked.for_data(), *asked.data_flags):
            raise RequestError(f"{name} belongs to data; with a recipe, use settings")
        return "", None, {}
    if not given or asked.recipe is not None:
        raise RequestError(f"give either a recipe, or one of {', '.join(flags)}")
    from regard.start import split_flags

    flag, others = split_flags(given)
    return flag, given[flag], {each: given[each] for each in others}


def setting_names(name: str) -> list[str]:
    """The settings that end like this: train.steps for steps."""
    from regard.cli.settings import by_last_name

    return by_last_name().get(name, [])


def is_recipe(given: Any) -> bool:
    if isinstance(given, str | os.PathLike | Mapping):
        return True
    from regard.recipe import Recipe

    return isinstance(given, Recipe)


def from_recipe(asked: Asked) -> "Start":
    from regard import start
    from regard.recipe import Recipe, override, parse

    recipe, out = asked.recipe, asked.folder()
    if isinstance(recipe, str | os.PathLike):
        return start.from_recipe(Path(recipe), out, asked.settings)
    if not isinstance(recipe, Recipe):
        recipe = parse(override(recipe, asked.settings), "recipe")
    elif asked.settings:
        values = recipe.model_dump(mode="json", exclude_none=True)
        recipe = parse(override(values, asked.settings), "recipe")
    return start.Start(recipe, out or Path("runs", recipe.task))


@contextmanager
def in_files(
    flag: str, data: Any, beside: Mapping[str, Any], asked: Asked
) -> "Iterator[tuple[DataFlags, Path]]":
    """The data as the command line names it, and the run folder, which holds the examples that
    were given.
    """
    from regard.data.lines import check_file
    from regard.recipe import override
    from regard.start import section_of, task_for
    from regard.tasks.task import DataFlags

    settings = override({}, asked.settings)
    entry = task_for(flag, asked.task or settings.get("task"), beside)
    if not entry.takes_examples:
        train, valid = paths_of(flag, data), paths_of("valid", asked.valid)
        companions = {name: paths_of(name, each) for name, each in beside.items()}
        flags = DataFlags(train, valid, asked.languages, companions=companions)
        yield flags, asked.folder() or Path("runs", section_of(entry, flags)[1])
        return
    label = dict(settings.get("data", {})).get("label")
    given = {"train": Given.of(flag, data, entry, asked.languages, label)}
    if asked.valid is not None:
        given["valid"] = Given.of("valid", asked.valid, entry, asked.languages, label)
    files = {name: each.files() for name, each in given.items()}
    for name, paths in files.items():
        for path in paths or ():
            try:
                check_file(path)
            except DataError as error:
                if (way := given[name].instead_of_files()) and not path.exists():
                    raise DataError(f"{error}; {way}") from None
                raise
    flags = DataFlags(files["train"] or (), files.get("valid") or (), asked.languages)
    out = asked.folder() or Path("runs", section_of(entry, flags)[1])
    if None not in files.values():
        yield flags, out
        return
    with written({name: given[name] for name in files if files[name] is None}, out) as folder:
        # Names of files that were given start where we are, those of examples in their folder.
        names = {
            name: tuple(path.resolve() for path in paths) if paths else (Path(f"{name}.jsonl"),)
            for name, paths in files.items()
        }
        yield DataFlags(names["train"], names.get("valid", ()), asked.languages, folder), out


def paths_of(name: str, data: Any) -> tuple[Path, ...]:
    """Names of files or folders, one or several."""
    if data is None:
        return ()
    names = [data] if isinstance(data, str | os.PathLike) else data
    if (
        not isinstance(names, list | tuple)
        or not names
        or not all(isinstance(each, str | os.PathLike) for each in names)
    ):
        raise DataError(f"{name}: {shown(data)} names no files; give the name of a file or folder")
    return tuple(map(Path, names))


@contextmanager
def written(given: Mapping[str, Given], out: Path) -> Iterator[Path]:
    """The folder of a run that holds these examples in files."""
    run, made = Run(out), Run(out).missing_folders()
    run.check_place()
    folder, started = out / EXAMPLES, run.recipe_path.exists()
    # Examples that are there already may be those of a training that is just starting.
    own = [path for name in given if not (path := folder / f"{name}.jsonl").exists()]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{out}: cannot be made ({error.strerror}); choose another out"
            ) from None
        for name, each in given.items():
            write(each, folder / f"{name}.jsonl", started)
        yield folder.resolve()
    except BaseException:
        if not run.recipe_path.exists():
            for path in own:
                path.unlink(missing_ok=True)
            for path in (folder, run.training, *made):
                with suppress(OSError):  # not empty, or never made
                    path.rmdir()
        raise


def setting_lines(
    settings: Mapping[str, Any] | None, from_run: "Run | Path | str | None"
) -> tuple[str, ...]:
    """Settings as the command line writes them: train.steps=200."""
    if settings is not None and not isinstance(settings, Mapping):
        raise RecipeError(f'settings: {shown(settings)}; write them like {{"train.steps": 200}}')
    flat: dict[str, Any] = {}
    for name, value in (settings or {}).items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            flat[str(name)] = value
    if from_run is not None:
        flat["train.from_run"] = from_run.folder if isinstance(from_run, Run) else from_run
    return tuple(f"{name}={as_toml(name, value)}" for name, value in flat.items())


def plain_setting(name: str, value: Any) -> Any:
    """A text, a number or a list of them."""
    return json.loads(as_toml(name, list(value) if isinstance(value, tuple) else value))


def as_toml(name: str, value: Any) -> str:
    if hasattr(value, "item") and callable(value.item):
        value = value.item()  # a number of numpy
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    try:
        if value is not None:  # which neither has a word for
            # What JSON writes of texts, numbers and lists is TOML, too.
            return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        pass
    raise RecipeError(f"settings: {name} = {shown(value)}: give a text, a number or a list")
