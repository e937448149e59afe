"""Explains an error in a recipe in one sentence, with the key and what may have been meant."""

import difflib
import re
import reprlib
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

    from regard.recipe import Recipe


# Errors that may vanish when the rest of the recipe is known.
OPEN = frozenset({"missing", "value_error"})


def explain(
    error: ValidationError,
    values: Mapping[str, Any],
    schema: "type[BaseModel]",
    inside: tuple[str, ...] = (),
) -> str:
    """The first error in one sentence. `inside` is the section that was read alone."""
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return sentence(error.errors(include_url=False)[0], values, schema, inside) + more


def certain(
    error: ValidationError, values: Mapping[str, Any], schema: "type[BaseModel]"
) -> str | None:
    """The first error that no further setting can mend, in one sentence; None if there is none."""
    for each in error.errors(include_url=False):
        if each["type"] not in OPEN:
            return sentence(each, values, schema)
    return None


def sentence(
    error: "ErrorDetails",
    values: Mapping[str, Any],
    schema: "type[BaseModel]",
    inside: tuple[str, ...] = (),
) -> str:
    location = (*inside, *error["loc"])
    # A place in a list, or a type of several that a key may have, is not part of its name.
    names = location[: 2 if section_of(location, schema) else 1]
    key = ".".join(map(str, names))
    if error["type"] == "extra_forbidden":
        return f"unknown key {key}{suggestion(names, values, schema)}"
    if error["type"] == "missing" and names == location:
        return f"{key} is missing"
    if error["type"] == "value_error":
        message = error["msg"].removeprefix("Value error, ")
        dot = "." if message.startswith("kind = ") else ": "
        return f"{key}{dot}{message}" if key else message
    whole = names == location
    given = reprlib.repr(error["input"] if whole else value_at(names, values))
    if error["type"].startswith(("model_", "dict_")):
        return f"{key} = {given}: {key} is a section; name one of its keys as well"
    inside_list = not whole and isinstance(location[-1], int) and error["type"] != "missing"
    right = wanted(error, field_at(names, schema, values))
    return f"{key} = {given}: {'in the list, ' * inside_list}give {right}"


def value_at(names: tuple[int | str, ...], values: Any) -> Any:
    for name in names:
        values = values[name]
    return values


def wanted(error: "ErrorDetails", field: "FieldInfo | None") -> str:
    """The value that would be right, as far as the error and the field tell."""
    kind, context = error["type"], error.get("ctx", {})
    match kind.split("_"):
        case ["literal", *_]:
            return choices(error["input"], context["expected"])
        case ["bool", *_]:
            return "true or false"
        case ["string", *_]:
            return "a text in quotes"
        case ["tuple" | "list", "type"]:
            return f"{listed(field)} in brackets"
        case ["too", *_] | ["missing"]:
            return listed(field)
    limits: dict[str, Any] = {}
    for each in field.metadata if field is not None else ():
        limits |= {name: getattr(each, name) for name in LIMITS if hasattr(each, name)}
    limits |= {name: context[name] for name in LIMITS if name in context}
    whole = kind.startswith("int") or (field is not None and field.annotation is int)
    finite = "finite " * (kind == "finite_number")
    return f"a {finite}{'whole ' * whole}number{within(limits)}"


LIMITS = ("gt", "ge", "lt", "le")


def within(limits: Mapping[str, Any]) -> str:
    """The bounds of a number in words."""
    match limits:
        case {"ge": low, "le": high}:
            return f" from {shown(low)} to {shown(high)}"
        case {"gt": low, "lt": high}:
            return f" between {shown(low)} and {shown(high)}"
    words = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most"}
    found = [f"{text} {shown(limits[name])}" for name, text in words.items() if name in limits]
    return f" {' and '.join(found)}" if found else ""


def shown(limit: float) -> str:
    """1,024 and 0.5; 1 for 1.0"""
    return f"{int(limit) if limit == int(limit) else limit:,}"


def choices(given: Any, expected: str) -> str:
    """The words that a setting may have, the likeliest first."""
    known = re.findall("'([^']*)'", expected)
    near = difflib.get_close_matches(str(given), known, n=1)
    if len(known) > 1:
        expected = f"{', '.join(map(repr, known[:-1]))} or {known[-1]!r}"
    return f"{expected}; did you mean {near[0]!r}?" if near else expected


def listed(field: "FieldInfo | None") -> str:
    """A list of as many values as the field has."""
    parts = get_args(field.annotation) if field is not None else ()
    parts = next((get_args(each) for each in parts if get_origin(each) is tuple), parts)
    if not parts or Ellipsis in parts:
        return "a list"
    return f"a list of {len(parts)} values"


def section_of(location: tuple[int | str, ...], schema: Any) -> bool:
    """Whether an error is inside a section, and not about the section itself."""
    return len(location) > 1 and isinstance(location[1], str) and has_keys(schema, location[0])


def has_keys(schema: Any, name: int | str) -> bool:
    if hasattr(schema, "kinds") and schema.kinds(str(name)):
        return True
    field = schema.model_fields.get(name)
    return field is None or hasattr(field.annotation, "model_fields")


def field_at(
    names: tuple[int | str, ...], schema: Any, values: Mapping[str, Any]
) -> "FieldInfo | None":
    *sections, key = map(str, names) if names else ("",)
    with suppress(KeyError, AttributeError, TypeError):
        return section_at(sections, values, schema).model_fields.get(key)
    return None


def suggestion(location: tuple[int | str, ...], values: Mapping[str, Any], schema: Any) -> str:
    """The key that may have been meant, in the same section or in another, or the task that the
    key belongs to.
    """
    *sections, wrong = map(str, location)
    section = section_at(sections, values, schema)
    if typo := nearest(sections, wrong, section, likeness=0.8):
        return typo
    if len(sections) == 1:
        for kind, model in schema.kinds(sections[0]).items():
            if wrong in model.model_fields:
                return f'; it is for {sections[0]}.kind = "{kind}"'
    if others := other_tasks(sections, wrong):
        name = ".".join([*sections, wrong])
        listed = " and ".join([", ".join(others[:-1]), others[-1]] if others[1:] else others)
        return f"; {name} is for {listed}, and would do nothing here; leave it out"
    if near := nearest(sections, wrong, section, likeness=0.6):
        return near
    for name, field in schema.model_fields.items():
        known = [field.annotation, *get_args(field.annotation)]
        if any(wrong in getattr(each, "model_fields", {}) for each in known):
            return f"; did you mean {name}.{wrong}?"
    return f"; known here: {', '.join(section.model_fields)}"


def nearest(
    sections: list[str], wrong: str, section: type[BaseModel], likeness: float
) -> str | None:
    found = difflib.get_close_matches(wrong, section.model_fields, n=1, cutoff=likeness)
    return f"; did you mean {'.'.join([*sections, found[0]])}?" if found else None


def other_tasks(sections: list[str], wrong: str) -> list[str]:
    """The tasks that have such a setting, as far as they can be loaded: some need PyTorch."""
    from regard import tasks

    found = []
    for name in tasks.TASKS:
        with suppress(ModuleNotFoundError):
            schema = tasks.get(name).recipe
            if any(wrong in place.model_fields for place in places(sections, schema)):
                found.append(name)
    return found


def places(sections: list[str], schema: "type[Recipe]") -> list[type[BaseModel]]:
    """What a schema has for a section: nothing, one part, or one for each kind of model."""
    match sections:
        case []:
            return [schema]
        case [name] if kinds := schema.kinds(name):
            return list(kinds.values())
    field = schema.model_fields.get(sections[0])
    part = field.annotation if field is not None else None
    return [part] if isinstance(part, type) and issubclass(part, BaseModel) else []


def section_at(sections: list[str], values: Mapping[str, Any], schema: Any) -> type[BaseModel]:
    """The part of the schema that an error is about."""
    match sections:
        case []:
            return schema  # type: ignore[no-any-return]
        case [name] if kinds := schema.kinds(name):
            return kinds[values.get(name, {}).get("kind", next(iter(kinds)))]  # type: ignore[no-any-return]
    return schema.model_fields[sections[0]].annotation  # type: ignore[no-any-return]
