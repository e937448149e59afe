"""Parameters that several interfaces read and check in the same way.

Some refusals are LibreTranslate's own, word for word, since clients show or compare them.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from regard.serve.http.refusal import Refusal
from regard.serve.translation.service import Service
from regard.text.languages import base_code

Fields: TypeAlias = Mapping[str, Any]


def required(fields: Fields, key: str) -> str:
    """A text that must be there and must not be empty."""
    value = fields.get(key)
    if not value:
        raise Refusal(400, f"Invalid request: missing {key} parameter")
    if not isinstance(value, str):
        raise Refusal(400, f"Invalid request: {key} parameter must be a string")
    return encodable(value)


def optional(fields: Fields, key: str) -> str:
    """A text that may be left out."""
    return required(fields, key) if fields.get(key) else ""


def whole_number(fields: Fields, key: str, default: int, maximum: int) -> int:
    """A number from 1, which a form can send only as text, or the default."""
    given = fields.get(key)
    if given is None:
        return default
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 10:
        given = int(given)
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= maximum:
        raise Refusal(400, f"Invalid request: {key} must be a whole number from 1 to {maximum}")
    return given


def encodable(text: str) -> str:
    """The text with a question mark for every half of a surrogate pair, which JSON can hold and
    UTF-8 cannot.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def is_true(value: Any) -> bool:
    """A flag, which a form can send only as text."""
    return value is True or (isinstance(value, str) and value.lower() in ("true", "1", "yes"))


def check_characters(service: Service, count: int) -> None:
    limit = service.limits.characters
    if count > limit:
        raise Refusal(400, f"Invalid request: request ({count}) exceeds text limit ({limit})")


def language_code(service: Service, code: str) -> str:
    """The loaded language that a code means. Case does not matter, and a country only where
    models differ by it.
    """
    wanted = code.strip().lower().replace("_", "-")
    for candidate in (wanted, base_code(wanted)):
        if candidate in service.pairs.languages:
            return candidate
    for candidate in service.pairs.languages:
        if base_code(candidate) == wanted:
            return candidate
    shown = wanted if wanted.isprintable() and len(wanted) <= 10 else "this language"
    raise Refusal(400, f"{shown} is not supported")


def source_code(service: Service, code: str) -> str:
    return "auto" if code.lower() == "auto" else language_code(service, code)
