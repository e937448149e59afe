"""Options under the names that they had in earlier versions, which still work."""

import sys
from collections.abc import Mapping, Sequence

# By command: the old name, and the name of today. docs/decisions/0022 has the reasons.
OLD_NAMES: dict[str, dict[str, str]] = {
    "attend": {"--png": "--picture", "--svg": "--picture", "--output": "--translation"},
    "compare": {"--figure": "--picture"},
    "embed": {"--out": "--output"},
    "experiment": {"--data": "--corpus"},
    "fill": {"--top": "--n-best"},
    "heads": {"--how": "--heads-how"},
}


def renamed(words: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """The words with the options of today; each change is reported once."""
    found: list[str] = []
    reported = set()
    for place, word in enumerate(words):
        option, equals, value = word.partition("=")
        if word == "--":
            return [*found, *words[place:]]
        if option in names:
            if option not in reported:
                print(f"regard: {option} is now called {names[option]}", file=sys.stderr)
            reported.add(option)
            word = f"{names[option]}{equals}{value}"
        found.append(word)
    return found
