"""French spelling: elision, contraction, plurals and determiners."""

from collections.abc import Sequence

# Every h in this phrasebook is mute (hôtel, homme, hiver, habiter), so it elides like a vowel.
_ELIDES_BEFORE = frozenset("aeiouyhàâéèêîôœAEIOUHÀÂÉÈÊÎÔŒ")

_POSSESSIVES = (
    ("mon", "ma", "mes"),
    ("ton", "ta", "tes"),
    ("son", "sa", "ses"),
    ("notre", "notre", "nos"),
    ("votre", "votre", "vos"),
    ("leur", "leur", "leurs"),
)


def opens_with_vowel(words: str) -> bool:
    return words[0] in _ELIDES_BEFORE


def elide(word: str, following: str) -> str:
    """`je` + `aime` → `j'aime`, `que` + `Paul` → `que Paul`."""
    if opens_with_vowel(following):
        return f"{word[:-1]}'{following}"
    return f"{word} {following}"


def at(words: str) -> str:
    """`à` before a noun phrase: au, à la, à l', aux."""
    if words.startswith("le "):
        return "au " + words[3:]
    if words.startswith("les "):
        return "aux " + words[4:]
    return "à " + words


def of(words: str) -> str:
    """`de` before a noun phrase: du, de la, de l', des, d'."""
    if words.startswith("le "):
        return "du " + words[3:]
    if words.startswith("les "):
        return "des " + words[4:]
    return elide("de", words)


def plural(word: str) -> str:
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    if word.endswith("eau"):
        return word + "x"
    return word + "s"


def agree(masculine: str, feminine: bool, many: bool) -> str:
    """A past participle: allé, allée, allés, allées."""
    word = masculine + "e" if feminine else masculine
    return plural(word) if many else word


def definite(words: str, feminine: bool, many: bool) -> str:
    if many:
        return "les " + words
    return elide("la" if feminine else "le", words)


def indefinite(words: str, feminine: bool) -> str:
    return ("une " if feminine else "un ") + words


def demonstrative(words: str, feminine: bool, many: bool) -> str:
    if many:
        return "ces " + words
    if feminine:
        return "cette " + words
    return ("cet " if opens_with_vowel(words) else "ce ") + words


def possessive(words: str, owner: int, feminine: bool, many: bool) -> str:
    """`owner` is the person of the owner, 0 (je) to 5 (ils)."""
    masculine_form, feminine_form, plural_form = _POSSESSIVES[owner]
    if many:
        return f"{plural_form} {words}"
    if feminine and not opens_with_vowel(words):
        return f"{feminine_form} {words}"
    return f"{masculine_form} {words}"


def join(words: Sequence[str]) -> str:
    """The words with single spaces, leaving out the empty ones."""
    return " ".join([word for word in words if word])
