"""English spelling: plurals, a or an, genitives."""

_IRREGULAR_PLURALS = {"man": "men", "woman": "women", "child": "children"}
_LIKE_YOU = ("Eu", "uni")


def plural(word: str) -> str:
    if word in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[word]
    if word.endswith(("s", "x", "ch", "sh", "tomato")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def indefinite(words: str) -> str:
    vowel = words[0] in "aeiouAEIOU" and not words.startswith(_LIKE_YOU)
    return ("an " if vowel else "a ") + words


def genitive(owner: str, many: bool) -> str:
    """`Thomas` → `Thomas's`, `my parents` → `my parents'`, `the children` → `the children's`."""
    return owner + ("'" if many and owner.endswith("s") else "'s")
