"""What can go wrong, as a person would sort it.

RegardError
├── RecipeError    the recipe or a command-line setting
├── DataError      a file of training or input text
├── RunError       a run folder: missing, damaged or made for something else
└── RequestError   a request that cannot be answered as asked
    └── UsageError     options of a command that are wrong or do not go together
"""

import reprlib


class RegardError(Exception):
    """Every error of regard: one sentence that says where, what is wrong, and what to do.

    Examples
    --------
    >>> import regard
    >>> try:
    ...     regard.load("nowhere")
    ... except regard.RegardError as error:
    ...     print(error)
    nowhere: no such run folder; `regard train` makes one
    """


class RecipeError(RegardError):
    """The recipe or a setting cannot be used."""


class DataError(RegardError):
    """A data file cannot be read or does not hold what it should."""


class RunError(RegardError):
    """A run folder is missing, damaged or unfit for the command."""


class RequestError(RegardError):
    """A request asks for something that cannot be given."""


class UsageError(RequestError):
    """A command was called with options that are wrong or do not go together."""


def shown(value: object) -> str:
    """A value as a sentence can hold it: short, and on one line."""
    text = " ".join(reprlib.repr(value).split())
    return text if len(text) <= 90 else text[:89] + "…"


# What would steer a terminal: control characters but the ends of lines and tabs, and those that
# turn the direction of the text around.
_STEERED = (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F))
_STEERING = dict.fromkeys((*_STEERED, *range(0x2066, 0x206A)), "\ufffd")


def visible(text: str) -> str:
    """A text as a terminal may show it, whoever wrote it."""
    return text.translate(_STEERING)
