"""The plain values of recipe files, also of those that earlier versions wrote."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import recipe_names
from regard.errors import RecipeError
from regard.small_files import UNEXPECTED, is_deep, read_small

if TYPE_CHECKING:
    from pydantic import BaseModel

# Before each task had a schema of its own, one schema held the settings of all tasks, and a run's
# recipe.toml contained every one of them. Settings of other tasks did nothing.
UNION: dict[str, frozenset[str]] = {
    "data": frozenset(
        {
            *("held_out_share", "held_out_pairs", "max_length", "max_ratio", "context"),
            *("direction", "masked_share", "whole_words", "counted_window", "embeddings"),
            *("label", "languages", "builtin", "imported"),
        }
    ),
    "tokenizer": frozenset({"joint"}),
    "head": frozenset({"pooling", "dropout"}),
    "train": frozenset({"eval_sentences"}),
    "decode": frozenset({"beam_size", "length_penalty", "max_length_ratio", "no_repeat_ngram"}),
}
# A program wrote any file with all of these: nobody writes them by hand.
WRITTEN_OUT = {
    "": {"seed", "data", "tokenizer", "model", "train"},
    # No task has all of these: recipes of this version are not taken for old ones.
    "data": {"max_ratio", "context", "direction"},
    "decode": UNION["decode"],
    "train": {"adam_betas", "adam_epsilon", "max_skipped", "log_every", "eval_sentences"},
}


# The most bytes of a recipe, which may name many files, and the most names and values in it.
LARGEST, MOST_NAMES = 1 << 19, 20_000
# A string that does not end goes on to the end of its line or of the file, so that each character
# is looked at once.
_STRING_OR_COMMENT = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"""|\Z)'
    r"|\'\'\'(?:[^\']|\'(?!\'\'))*+(?:\'\'\'|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|\'[^\'\n]*+\'?|\#[^\n]*+",
    re.DOTALL,
)
_NAMES = re.compile(r"[.=\[{,]")
_LONG_KEY = re.compile(r"(?:\.[^.,=\n\[\]{}]*+){8}")
_LONG_NUMBER = re.compile(r"[\w+]{64}")
_NO_BRACKETS = re.compile(r"[^][{}]+")


def read_values(path: Path, *, links: bool = True) -> dict[str, Any]:
    """The plain values of a recipe: of a file, or of one that comes with regard, by its name. Every
    reader of recipes goes through here. A file that a person names may be a link.
    """
    try:
        content = read_small(recipe_names.find(path), LARGEST, links=links)
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    try:
        return parse_toml(content.decode())
    except UNEXPECTED as error:
        raise RecipeError(f"{path}: not valid TOML ({error}); mend that line") from None


def parse_toml(text: str) -> dict[str, Any]:
    """The values of a TOML text; a ValueError for one that would take the parser long, or that has
    numbers beyond the 64 bits of TOML.
    """
    bare = _STRING_OR_COMMENT.sub("", text)
    if len(_NAMES.findall(bare)) > MOST_NAMES or _LONG_KEY.search(bare):
        raise ValueError("more names and values than a recipe has")
    if _LONG_NUMBER.search(bare):
        raise ValueError("a number of too many digits")
    if is_deep(_NO_BRACKETS.sub("", bare).encode()):
        raise ValueError("brackets that do not match, or lists too deep inside each other")
    values = tomllib.loads(text)
    check_numbers(values)
    return values


def check_numbers(value: object) -> None:
    match value:
        case dict():
            for inner in value.values():
                check_numbers(inner)
        case list():
            for inner in value:
                check_numbers(inner)
        case int() if not -(2**63) <= value < 2**63:
            raise ValueError("a whole number of more than 64 bits")


def without_other_tasks(values: Mapping[str, Any], schema: "type[BaseModel]") -> Mapping[str, Any]:
    """The values without settings of other tasks, where an earlier version wrote them all."""
    if not written_out(values):
        return values
    kept = dict(values)
    for name, keys in UNION.items():
        if name not in kept:
            continue
        field = schema.model_fields.get(name)
        if field is None:
            del kept[name]
            continue
        section: Any = field.annotation
        known = names_of(section)
        kept[name] = {k: v for k, v in kept[name].items() if k in known or k not in keys}
    return kept


def written_out(values: Mapping[str, Any]) -> bool:
    tables = (
        (values if name == "" else values.get(name), keys) for name, keys in WRITTEN_OUT.items()
    )
    return all(isinstance(table, Mapping) and keys <= table.keys() for table, keys in tables)


def names_of(section: "type[BaseModel]") -> set[str]:
    """The keys that a section takes, under their present and their former names."""
    known = set(section.model_fields)
    for field in section.model_fields.values():
        choices = getattr(field.validation_alias, "choices", ())
        known.update(each for each in choices if isinstance(each, str))
    return known


def with_pretrained(values: Mapping[str, Any], pretrained: Mapping[str, str]) -> dict[str, Any]:
    """The values with a pretrained encoder that `train.from_run` names as the kind of its section;
    `pretrained` has the section of each.
    """
    result, train = dict(values), values.get("train")
    train = train if isinstance(train, Mapping) else {}
    name = train.get("from_run")
    section = pretrained.get(str(name))
    if section is None:
        return result
    own = result.get(section) or {}
    inner = own if isinstance(own, Mapping) else own.model_dump()
    if inner.get("kind", name) != name:
        raise RecipeError(
            f"train.from_run = '{name}' is an encoder, and {section}.kind = '{inner['kind']}' "
            "another; leave one of them out"
        )
    result["train"] = {**train, "from_run": ""}
    result[section] = {**inner, "kind": name}
    return result


def override(values: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """`train.steps=2000` → {"train": {"steps": 2000}}; values are TOML, bare words are strings."""
    result: dict[str, Any] = {
        key: dict(value) if isinstance(value, Mapping) else value for key, value in values.items()
    }
    for setting in settings:
        name, equals, text = setting.partition("=")
        *sections, key = name.strip().split(".")
        if not equals or not all((*sections, key)) or len(sections) > 1:
            raise RecipeError(f"--set {setting}: not a setting; write it like train.steps=2000")
        inner = result.setdefault(sections[0], {}) if sections else result
        if not isinstance(inner, dict):
            raise RecipeError(f"--set {setting}: {sections[0]} is not a section of the recipe")
        inner[key] = toml_value(text.strip())
    return result


def toml_value(text: str) -> Any:
    try:
        return parse_toml(f"value = {text}")["value"]
    except UNEXPECTED:
        return text
