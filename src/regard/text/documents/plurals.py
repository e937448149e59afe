"""How many forms a noun has beside a number, language by language, as gettext and Android say it.

The rules are those of Unicode's CLDR for whole numbers.
"""

import gettext
import re
from collections.abc import Callable

from regard.text.languages import base_code

_TWO = "n != 1"
_SLAVIC = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2"
_CZECH = "n==1 ? 0 : n>=2 && n<=4 ? 1 : 2"
_NO_FORMS = {"id", "ja", "jv", "km", "ko", "lo", "ms", "my", "su", "th", "vi", "yo", "zh", "yue"}
_FRENCH = {
    *("ak", "am", "as", "bn", "fa", "fr", "gu", "hi", "hy", "kab", "kn", "ln", "mg", "pa", "pt"),
    *("si", "ti", "wa", "zu"),
}
# A rule of gettext, and the names that Unicode has for its forms.
_RULES: dict[str, tuple[str, str]] = {
    **dict.fromkeys(_NO_FORMS, ("0", "other")),
    **dict.fromkeys(_FRENCH, ("n > 1", "one other")),
    **dict.fromkeys(["be", "bs", "hr", "ru", "sr", "uk"], (_SLAVIC, "one few many")),
    **dict.fromkeys(["cs", "sk"], (_CZECH, "one few other")),
    "pl": (
        "n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2",
        "one few many",
    ),
    "lt": (
        (
            "n%10==1 && (n%100<11 || n%100>19) ? 0 : n%10>=2 && n%10<=9 && (n%100<11 || "
            "n%100>19) ? 1 : 2"
        ),
        "one few other",
    ),
    "lv": ("n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2", "one other zero"),
    "ro": ("n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2", "one few other"),
    "sl": ("n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3", "one two few other"),
    "ga": ("n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4", "one two few many other"),
    "cy": (
        "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n==3 ? 3 : n==6 ? 4 : 5",
        "zero one two few many other",
    ),
    "mt": (
        "n==1 ? 0 : n==0 || (n%100>1 && n%100<11) ? 1 : n%100>10 && n%100<20 ? 2 : 3",
        "one few many other",
    ),
    "ar": (
        "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5",
        "zero one two few many other",
    ),
    "he": ("n==1 ? 0 : n==2 ? 1 : 2", "one two other"),
    "is": ("n%10!=1 || n%100==11", "one other"),
    "mk": ("n%10==1 && n%100!=11 ? 0 : 1", "one other"),
}  # fmt: skip
LARGEST = 1000
_HEADER = re.compile(r"nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+)")


def plural_header(language: str) -> str:
    """gettext's Plural-Forms of a language."""
    rule, names = _RULES.get(base_code(language), (_TWO, "one other"))
    return f"nplurals={len(names.split())}; plural=({rule});"


def quantities(language: str) -> list[str]:
    """The forms of a language as Android and i18next name them; every language has `other`."""
    _, names = _RULES.get(base_code(language), (_TWO, "one other"))
    return [*dict.fromkeys([*names.split(), "other"])]


def example_numbers(header: str) -> list[int] | None:
    """A number for each form that a Plural-Forms header defines; None if it defines none."""
    found = _forms(header)
    if found is None:
        return None
    count, forms = found
    if count == 1:
        return [0]
    # The form of 1 may be that of other numbers as well.
    return [
        1 if forms[1] == form else next((n for n in range(2, LARGEST) if forms[n] == form), 0)
        for form in range(count)
    ]


def form_of(number: int, header: str) -> int:
    """The form beside a number; the last of two if the header does not define any."""
    found = _forms(header)
    return found[1][number] if found else 1


def _forms(header: str) -> tuple[int, list[int]] | None:
    """How many forms a header defines, and that of each number from 0."""
    found = _HEADER.search(header)
    if not found or not 0 < int(found[1]) <= 10 or len(found[2]) > LARGEST:
        return None
    try:
        rule: Callable[[int], int] = gettext.c2py(found[2].strip())
        return int(found[1]), [rule(number) for number in range(LARGEST)]
    except (ValueError, ArithmeticError, RecursionError):
        return None
