"""Numbers that disagree: each side has one that the other lacks.

A number that only one side has is no sign: "1,5 Mio." and "1.5 million" differ freely, and "a
couple" may be "zwei". But where one side says two and the other three, one of them is wrong.
"""

from __future__ import annotations

import re

_DIGITS = re.compile(r"(?<![\w.,:/%{$#-])\d+(?:[.,:\u00a0\u202f' ]\d+)*(?![\w}])")
_SEPARATORS = re.compile(r"\D")
_WORD = re.compile(r"[^\W\d_]+")

# Two to twelve; "one" is an article in many languages. Forms of a number stand with a stroke.
_TABLE = {
    "en": "two three four five six seven eight nine ten eleven twelve",
    "de": "zwei/zwo/zweien drei/dreien vier fünf sechs sieben acht neun zehn elf zwölf",
    "nl": "twee drie vier vijf zes zeven acht negen tien elf twaalf",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze",
    "es": "dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "pt": "dois/duas três quatro cinco seis sete oito nove dez onze doze",
    "it": "due tre quattro cinque sei sette otto nove dieci undici dodici",
    "sv": "två tre fyra fem sex sju åtta nio tio elva tolv",
    "da": "to tre fire fem seks syv otte ni ti elleve tolv",
    "pl": "dwa/dwie/dwóch/dwaj trzy/trzech/trzej cztery/czterech pięć/pięciu sześć/sześciu "
    "siedem/siedmiu osiem/ośmiu dziewięć/dziewięciu dziesięć/dziesięciu jedenaście dwanaście",
    "cs": "dva/dvě/dvou tři/tří čtyři/čtyř pět/pěti šest/šesti sedm/sedmi osm/osmi devět/devíti "
    "deset/deseti jedenáct dvanáct",
}
NAMED = {
    code: {
        form: number
        for number, forms in enumerate(words.split(), start=2)
        for form in forms.split("/")
    }
    for code, words in _TABLE.items()
}
# Words that are something else more often.
AMBIGUOUS = {"it": {"sei"}, "fr": set(), "sv": {"sex"}, "da": {"to", "ti"}, "nl": {"acht"}}
# Where "acht" and the like are missing on a side, other numbers still count.
NOON = 12


def disagree(source: str, target: str, first: str, second: str) -> str | None:
    """ "other numbers" if each side has a number that the other lacks."""
    mine, theirs = numbers_in(source, first), numbers_in(target, second)
    if not mine or not theirs:
        return None
    missing = {each for each in mine if not any(same(each, other) for other in theirs)}
    extra = {each for each in theirs if not any(same(each, other) for other in mine)}
    return "other numbers" if missing and extra and comparable(missing, extra) else None


def comparable(missing: set[str], extra: set[str]) -> bool:
    """Whether one can stand for the other: units, such as feet and metres, are converted."""
    return len(missing) == len(extra)


def numbers_in(text: str, code: str) -> set[str]:
    """Digits without what separates them, and number words as digits."""
    found = {plain(each) for each in _DIGITS.findall(text)}
    words = NAMED.get(code, {})
    skipped = AMBIGUOUS.get(code, set())
    for word in _WORD.findall(text.lower()):
        if word in words and word not in skipped:
            found.add(str(words[word]))
    return found


def plain(number: str) -> str:
    digits = _SEPARATORS.sub("", number).lstrip("0")
    return digits or "0"


def same(one: str, other: str) -> bool:
    """The same number as people write it: 1.5 and 15 tenths, 2.30 p.m. and 14:30, 1990s and 90."""
    if one == other or one.rstrip("0") == other.rstrip("0"):
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(longer) == 4 and len(shorter) == 2 and longer.endswith(shorter):
        return True
    return len(longer) <= 4 and any(
        int(longer) - int(shorter) == hours for hours in (NOON, NOON * 100)
    )
