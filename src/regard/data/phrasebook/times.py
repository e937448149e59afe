"""When something happens: adverbs, days, months, years and dates that suit the tense."""

from typing import Literal

from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.places import Phrase

Tense = Literal["present", "past", "future"]
# The future has the most forms of its own, so it is drawn a little more often.
TENSES: tuple[Tense, ...] = wheel(("present", 3), ("past", 3), ("future", 4))
# Which times suit an event: times of a repeated day, of one day, of a journey in some month, of a
# life. An accident has a time only in the past. A habit has the present tense only, and neither a
# habit nor anything timeless takes a time.
Scale = Literal["day", "event", "journey", "life", "accident", "habit", "timeless"]

_PAST_YEARS = tuple(str(year) for year in range(1980, 2025))
_FUTURE_YEARS = tuple(str(year) for year in range(2027, 2037))
_DAYS_OF_MONTH = tuple(str(day) for day in range(1, 29))

MONTHS = (
    Phrase("janvier", "January"),
    Phrase("février", "February"),
    Phrase("mars", "March"),
    Phrase("avril", "April"),
    Phrase("mai", "May"),
    Phrase("juin", "June"),
    Phrase("juillet", "July"),
    Phrase("août", "August"),
    Phrase("septembre", "September"),
    Phrase("octobre", "October"),
    Phrase("novembre", "November"),
    Phrase("décembre", "December"),
)
WEEKDAYS = (
    Phrase("lundi", "Monday"),
    Phrase("mardi", "Tuesday"),
    Phrase("mercredi", "Wednesday"),
    Phrase("jeudi", "Thursday"),
    Phrase("vendredi", "Friday"),
    Phrase("samedi", "Saturday"),
    Phrase("dimanche", "Sunday"),
)
SEASONS = (
    Phrase("au printemps", "in spring"),
    Phrase("en été", "in summer"),
    Phrase("en automne", "in autumn"),
    Phrase("en hiver", "in winter"),
)
_NUMBERS = (
    Phrase("deux", "two"),
    Phrase("trois", "three"),
    Phrase("quatre", "four"),
    Phrase("cinq", "five"),
    Phrase("six", "six"),
    Phrase("sept", "seven"),
    Phrase("huit", "eight"),
    Phrase("neuf", "nine"),
    Phrase("dix", "ten"),
    Phrase("onze", "eleven"),
)
COUNTS = _NUMBERS[:3]
_TENS = (
    Phrase("quinze", "fifteen"),
    Phrase("vingt", "twenty"),
    Phrase("trente", "thirty"),
    Phrase("quarante", "forty"),
    Phrase("cinquante", "fifty"),
    Phrase("soixante", "sixty"),
)
AGES = (*_NUMBERS[-2:], *_TENS)
HOURS = tuple(Phrase(f"à {fr} heures", f"at {en} o'clock") for fr, en in _NUMBERS)
CENTURIES = (
    Phrase("au seizième siècle", "in the sixteenth century"),
    Phrase("au dix-septième siècle", "in the seventeenth century"),
    Phrase("au dix-huitième siècle", "in the eighteenth century"),
    Phrase("au dix-neuvième siècle", "in the nineteenth century"),
)
DURATIONS = tuple(
    Phrase(f"depuis {number.fr} {unit.fr}", f"for {number.en} {unit.en}")
    for number in _NUMBERS
    for unit in (Phrase("ans", "years"), Phrase("mois", "months"))
)

_TODAY = Phrase("aujourd'hui", "today")
_MONTHLY = tuple(Phrase(f"en {fr}", f"in {en}") for fr, en in MONTHS)
_DAY_ADVERBS: dict[Tense, tuple[Phrase, ...]] = {
    "present": (
        _TODAY,
        Phrase("tous les jours", "every day"),
        Phrase("le matin", "in the morning"),
        Phrase("le soir", "in the evening"),
        Phrase("chaque semaine", "every week"),
    ),
    "past": (
        Phrase("hier", "yesterday"),
        Phrase("hier soir", "yesterday evening"),
        Phrase("ce matin", "this morning"),
        Phrase("la semaine dernière", "last week"),
    ),
    "future": (
        Phrase("demain", "tomorrow"),
        Phrase("demain matin", "tomorrow morning"),
        Phrase("ce soir", "this evening"),
        Phrase("la semaine prochaine", "next week"),
    ),
}
_JOURNEY_ADVERBS: dict[Tense, tuple[Phrase, ...]] = {
    "present": (Phrase("chaque année", "every year"), Phrase("chaque été", "every summer")),
    "past": (
        Phrase("la semaine dernière", "last week"),
        Phrase("le mois dernier", "last month"),
        Phrase("l'année dernière", "last year"),
        Phrase("l'été dernier", "last summer"),
    ),
    "future": (
        Phrase("la semaine prochaine", "next week"),
        Phrase("le mois prochain", "next month"),
        Phrase("l'année prochaine", "next year"),
        Phrase("l'été prochain", "next summer"),
    ),
}
_WEEKDAYS: dict[Tense, tuple[Phrase, ...]] = {
    "present": tuple(Phrase(f"le {fr}", f"on {en}s") for fr, en in WEEKDAYS),
    "past": tuple(Phrase(f"{fr} dernier", f"last {en}") for fr, en in WEEKDAYS),
    "future": tuple(Phrase(f"{fr} prochain", f"next {en}") for fr, en in WEEKDAYS),
}
_JOURNEY_KINDS: dict[Tense, tuple[str, ...]] = {
    "present": wheel(("month", 6), ("season", 2), ("adverb", 2)),
    "past": wheel(("month", 3), ("season", 1), ("adverb", 2), ("month year", 3), ("date", 1)),
    "future": wheel(("month", 4), ("season", 2), ("adverb", 3), ("month year", 2), ("date", 1)),
}


def a_year(draw: Draw, tense: Tense) -> str:
    return draw.one(_FUTURE_YEARS if tense == "future" else _PAST_YEARS)


def in_year(draw: Draw, tense: Tense) -> Phrase:
    year = a_year(draw, tense)
    return Phrase(f"en {year}", f"in {year}")


def in_month_and_year(draw: Draw, tense: Tense) -> Phrase:
    month, year = draw.one(_MONTHLY), a_year(draw, tense)
    return Phrase(f"{month.fr} {year}", f"{month.en} {year}")


def on_date(draw: Draw, tense: Tense) -> Phrase:
    """Le 1er mai 1992; only the first of the month is an ordinal in French."""
    day, month, year = draw.one(_DAYS_OF_MONTH), draw.one(MONTHS), a_year(draw, tense)
    ordinal = "1er" if day == "1" else day
    return Phrase(f"le {ordinal} {month.fr} {year}", f"on {day} {month.en} {year}")


def takes_time(scale: Scale, tense: Tense) -> bool:
    if scale == "accident":
        return tense == "past"
    return scale not in ("habit", "timeless")


def when(draw: Draw, scale: Scale, tense: Tense) -> Phrase:
    """A time that suits the kind of event and the tense of its verb."""
    if scale == "life":
        return in_year(draw, tense) if tense != "present" else _TODAY
    if scale == "journey":
        return _of_journey(draw, tense)
    if scale != "day" and tense == "present":
        return _TODAY
    if draw.chance(0.3):
        return draw.one(_WEEKDAYS[tense])
    if scale == "day" and draw.chance(0.25):
        return draw.one(HOURS)
    return draw.one(_DAY_ADVERBS[tense])


def _of_journey(draw: Draw, tense: Tense) -> Phrase:
    match draw.one(_JOURNEY_KINDS[tense]):
        case "month":
            return draw.one(_MONTHLY)
        case "season":
            return draw.one(SEASONS)
        case "month year":
            return in_month_and_year(draw, tense)
        case "date":
            return on_date(draw, tense)
        case _:
            return draw.one(_JOURNEY_ADVERBS[tense])
