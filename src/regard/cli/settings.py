"""Settings of recipes that are typed as if they were options: --steps 5."""

import difflib
from collections.abc import Sequence

from regard import tasks
from regard.recipe_settings import settings_of

DATA = ("pairs", "text", "labelled", "tagged")


def setting_meant(typed: str, words: Sequence[str]) -> str | None:
    """A sentence with the setting that was meant; None if it is like none."""
    option = typed.partition("=")[0]
    value = value_of(option, words)
    if words[0] == "plan" and option.lstrip("-") in DATA:
        return (
            f"there is no {option}; did you mean regard check {option} {value}, which shows the "
            "sizes and the time for data?"
        )
    known = by_last_name()
    key = option.lstrip("-").replace("-", "_")
    close = [key] if key in known else difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    if not close:
        return None
    given = "…" if value.startswith("-") or not value else value
    meant = " or ".join(f"--set {name}={given}" for name in known[close[0]])
    return f"there is no {option}; did you mean {meant}?"


def value_of(option: str, words: Sequence[str]) -> str:
    """5 in `--steps 5` and in `--steps=5`."""
    for place, word in enumerate(words):
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
        if word == option:
            return next(iter(words[place + 1 : place + 2]), "")
    return ""


def by_last_name() -> dict[str, list[str]]:
    """The settings of all tasks: `steps` and `train.steps` are train.steps."""
    found: dict[str, list[str]] = {}
    for name in tasks.TASKS:
        for setting in settings_of(tasks.get(name).recipe):
            for key in {setting.name, setting.name.rpartition(".")[2]}:
                if setting.name not in found.setdefault(key, []):
                    found[key].append(setting.name)
    return found
