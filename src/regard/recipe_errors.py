"""Explains an error in a recipe in one sentence, with the key and what may have been meant."""

import difflib
import reprlib
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from regard.recipe import Recipe


def explain(
    error: ValidationError,
    values: Mapping[str, Any],
    schema: "type[BaseModel]",
    inside: tuple[str, ...] = (),
) -> str:
    """The first error in one sentence. `inside` is the section that was read alone."""
    first = error.errors(include_url=False)[0]
    location = (*inside, *first["loc"])
    key = ".".join(str(part) for part in location)
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        return f"unknown key {key}{suggestion(location, values, schema)}{more}"
    if first["type"] == "missing":
        return f"{key} is missing{more}"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error":
        dot = "." if message.startswith("kind = ") else ": "
        return (f"{key}{dot}{message}" if key else message) + more
    return f"{key} = {reprlib.repr(first['input'])}: {message[0].lower()}{message[1:]}{more}"


def suggestion(location: tuple[int | str, ...], values: Mapping[str, Any], schema: Any) -> str:
    """The key that may have been meant, in the same section or in another, or the task that the
    key belongs to.
    """
    *sections, wrong = map(str, location)
    section = section_at(sections, values, schema)
    if typo := nearest(sections, wrong, section, likeness=0.8):
        return typo
    if sections == ["model"]:
        for kind, model in schema.models.items():
            if wrong in model.model_fields:
                return f'; it is for model.kind = "{kind}"'
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
        case ["model"] if schema.models:
            return list(schema.models.values())
    field = schema.model_fields.get(sections[0])
    part = field.annotation if field is not None else None
    return [part] if isinstance(part, type) and issubclass(part, BaseModel) else []


def section_at(sections: list[str], values: Mapping[str, Any], schema: Any) -> type[BaseModel]:
    """The part of the schema that an error is about."""
    match sections:
        case []:
            return schema  # type: ignore[no-any-return]
        case ["model"] if schema.models:
            kinds = schema.models
            return kinds[values.get("model", {}).get("kind", next(iter(kinds)))]  # type: ignore[no-any-return]
    return schema.model_fields[sections[0]].annotation  # type: ignore[no-any-return]
