"""What is wrong with a recipe, in one sentence that names the key and what may have been meant."""

import difflib
import reprlib
from collections.abc import Mapping
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
    """The first complaint in one sentence. `inside` is the section that was read alone."""
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
    """The nearest key people may have meant, in the same section, in another, or the task that it
    belongs to.
    """
    *sections, wrong = map(str, location)
    section = section_at(sections, values, schema)
    close = difflib.get_close_matches(wrong, section.model_fields, n=1)
    if close:
        return f"; did you mean {'.'.join([*sections, close[0]])}?"
    if sections == ["model"]:
        for kind, model in schema.models.items():
            if wrong in model.model_fields:
                return f'; it is for model.kind = "{kind}"'
    for name, field in schema.model_fields.items():
        known = [field.annotation, *get_args(field.annotation)]
        if any(wrong in getattr(each, "model_fields", {}) for each in known):
            return f"; did you mean {name}.{wrong}?"
    if others := other_tasks(sections, wrong):
        name = ".".join([*sections, wrong])
        return f"; {name} is for {' and '.join(others)}, and would do nothing here; leave it out"
    return f"; known here: {', '.join(section.model_fields)}"


def other_tasks(sections: list[str], wrong: str) -> list[str]:
    """The tasks that have such a setting."""
    from regard import tasks

    found = []
    for name in tasks.TASKS:
        schema: type[Recipe] = tasks.get(name).recipe
        place: Any = schema
        for each in sections:
            field = place.model_fields.get(each)
            place = field.annotation if field is not None else None
            if not hasattr(place, "model_fields"):
                break
        if wrong in getattr(place, "model_fields", {}):
            found.append(name)
    return found


def section_at(sections: list[str], values: Mapping[str, Any], schema: Any) -> type[BaseModel]:
    """The part of the schema that a complaint is about."""
    match sections:
        case []:
            return schema  # type: ignore[no-any-return]
        case ["model"] if schema.models:
            kinds = schema.models
            return kinds[values.get("model", {}).get("kind", next(iter(kinds)))]  # type: ignore[no-any-return]
    return schema.model_fields[sections[0]].annotation  # type: ignore[no-any-return]
