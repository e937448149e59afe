"""Every setting of a task's recipes, with its default and its description in the schema."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from regard.recipe import Recipe

ORDER = (
    *("data", "augmentation", "tokenizer", "encoder", "model", "linear", "letters", "head"),
    *("space", "train", "decode"),
)


@dataclass(frozen=True)
class Setting:
    name: str  # "train.steps"
    default: Any  # as JSON has it; None where there is none
    required: bool
    choices: tuple[Any, ...]  # where only some values are allowed
    description: str
    kind: str = ""  # of the section that has the setting, where a task has several

    @property
    def shown_name(self) -> str:
        return self.name + (f" ({self.kind})" if self.kind else "")

    @property
    def shown_default(self) -> str:
        if self.required:
            return "required"
        return "" if self.default is None else json.dumps(self.default, ensure_ascii=False)

    @property
    def shown_description(self) -> str:
        known = ", ".join(map(str, self.choices))
        return self.description + (f" One of {known}." if len(self.choices) > 1 else "")


def settings_of(schema: type[Recipe]) -> list[Setting]:
    """The recipe's own settings, then those of each section, in the order of a written recipe."""
    own, inner = [], []
    for name, field in schema.model_fields.items():
        if kinds := schema.kinds(name):
            for kind, config in kinds.items():
                inner += list(section_settings(name, config, kind if len(kinds) > 1 else ""))
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            inner += list(section_settings(name, field.annotation))
        else:
            own.append(setting(name, field))
    return [*own, *sorted((with_metrics(each, schema) for each in inner), key=place)]


def place(each: Setting) -> int:
    section = each.name.partition(".")[0]
    return ORDER.index(section) if section in ORDER else len(ORDER)


def with_metrics(each: Setting, schema: type[Recipe]) -> Setting:
    """The scores that a task measures are in its schema, but in no type."""
    return replace(each, choices=schema.metrics) if each.name == "train.metric" else each


def section_settings(name: str, section: type[BaseModel], kind: str = "") -> Iterator[Setting]:
    for key, field in section.model_fields.items():
        yield setting(f"{name}.{key}", field, kind)


def setting(name: str, field: FieldInfo, kind: str = "") -> Setting:
    default = None if field.default is PydanticUndefined else field.default
    return Setting(
        name=name,
        default=list(default) if isinstance(default, tuple) else default,
        required=field.is_required(),
        choices=choices(field.annotation),
        description=field.description or "",
        kind=kind,
    )


def choices(annotation: Any) -> tuple[Any, ...]:
    """The values of a Literal, also where None is allowed beside it."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return tuple(each for part in get_args(annotation) for each in choices(part))
