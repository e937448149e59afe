"""Countries, towns and spots, each with the articles and prepositions that it takes."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from regard.data.phrasebook.french import at, definite, elide, of, opens_with_vowel


class Phrase(NamedTuple):
    """The same words in both languages."""

    fr: str
    en: str


NOTHING = Phrase("", "")


@dataclass(frozen=True, slots=True)
class Place:
    """`name` as the object of a verb (l'Afrique), `inside` (en Afrique), `towards`, `away`."""

    name: Phrase
    inside: Phrase
    towards: Phrase
    away: Phrase


def _country(fr: str, kind: Literal["m", "f", "pl"], en: str) -> Place:
    """Feminine, or with a vowel: en, de. Masculine: au, du. Plural: aux, des."""
    name = definite(fr, kind == "f", kind == "pl")
    inside = f"en {fr}" if kind == "f" or (opens_with_vowel(fr) and kind == "m") else at(name)
    away = elide("de", fr) if inside.startswith("en ") else of(name)
    return Place(
        Phrase(name, en),
        Phrase(inside, f"in {en}"),
        Phrase(inside, f"to {en}"),
        Phrase(away, f"from {en}"),
    )


def _town(fr: str, en: str = "") -> Place:
    en = en or fr
    return Place(
        Phrase(fr, en),
        Phrase(f"à {fr}", f"in {en}"),
        Phrase(f"à {fr}", f"to {en}"),
        Phrase(of(fr), f"from {en}"),
    )


def _spot(fr: str, en: str, *, preposition: str = "at", bare: str = "") -> Place:
    """`bare` is the English after a preposition when it drops its article: to school."""
    bare = bare or en
    return Place(
        Phrase(fr, en),
        Phrase(at(fr), f"{preposition} {bare}"),
        Phrase(at(fr), f"to {bare}"),
        Phrase(of(fr), f"from {bare}"),
    )


FRANCE = _country("France", "f", "France")
ENGLAND = _country("Angleterre", "f", "England")
ITALY = _country("Italie", "f", "Italy")
SPAIN = _country("Espagne", "f", "Spain")
GERMANY = _country("Allemagne", "f", "Germany")
JAPAN = _country("Japon", "m", "Japan")
COUNTRIES = (
    FRANCE,
    ENGLAND,
    ITALY,
    SPAIN,
    GERMANY,
    JAPAN,
    _country("Afrique", "f", "Africa"),
    _country("Asie", "f", "Asia"),
    _country("Europe", "f", "Europe"),
    _country("Grèce", "f", "Greece"),
    _country("Suède", "f", "Sweden"),
    _country("Pologne", "f", "Poland"),
    _country("Chine", "f", "China"),
    _country("Inde", "f", "India"),
    _country("Portugal", "m", "Portugal"),
    _country("Canada", "m", "Canada"),
    _country("Maroc", "m", "Morocco"),
    _country("Brésil", "m", "Brazil"),
    _country("Mexique", "m", "Mexico"),
    _country("Iran", "m", "Iran"),
    _country("États-Unis", "pl", "the United States"),
    _country("Pays-Bas", "pl", "the Netherlands"),
)
TOWNS = (
    _town("Paris"),
    _town("Lyon"),
    _town("Marseille"),
    _town("Londres", "London"),
    _town("Rome"),
    _town("Berlin"),
    _town("Madrid"),
    _town("Lisbonne", "Lisbon"),
    _town("Porto"),
    _town("Genève", "Geneva"),
    _town("Bruxelles", "Brussels"),
    _town("Vienne", "Vienna"),
    _town("Athènes", "Athens"),
    _town("Montréal", "Montreal"),
    _town("Dakar"),
    _town("Tokyo"),
)

SCHOOL = _spot("l'école", "the school", bare="school")
STATION = _spot("la gare", "the station")
AIRPORT = _spot("l'aéroport", "the airport")
MARKET = _spot("le marché", "the market")
UNIVERSITY = _spot("l'université", "the university")
HOSPITAL = _spot("l'hôpital", "the hospital")
OFFICE = _spot("le bureau", "the office")
LIBRARY = _spot("la bibliothèque", "the library")
RESTAURANT = _spot("le restaurant", "the restaurant")
HOTEL = _spot("l'hôtel", "the hotel")
BEACH = _spot("la plage", "the beach")
PARK = _spot("le parc", "the park", preposition="in")
CINEMA = _spot("le cinéma", "the cinema")
THEATRE = _spot("le théâtre", "the theatre")
MUSEUM = _spot("le musée", "the museum")
BANK = _spot("la banque", "the bank")
SPOTS = (
    SCHOOL,
    STATION,
    AIRPORT,
    MARKET,
    UNIVERSITY,
    HOSPITAL,
    OFFICE,
    LIBRARY,
    RESTAURANT,
    HOTEL,
    BEACH,
    PARK,
    CINEMA,
    THEATRE,
    MUSEUM,
    BANK,
)
AT_HOME = Phrase("à la maison", "at home")
IN_THE_KITCHEN = Phrase("dans la cuisine", "in the kitchen")
IN_THE_GARDEN = Phrase("dans le jardin", "in the garden")

# A language and the country where it is learned best.
LANGUAGES = (
    (Phrase("français", "French"), FRANCE),
    (Phrase("anglais", "English"), ENGLAND),
    (Phrase("italien", "Italian"), ITALY),
    (Phrase("espagnol", "Spanish"), SPAIN),
    (Phrase("allemand", "German"), GERMANY),
    (Phrase("japonais", "Japanese"), JAPAN),
)
FLOORS = (
    Phrase("au premier étage", "on the first floor"),
    Phrase("au deuxième étage", "on the second floor"),
    Phrase("au troisième étage", "on the third floor"),
    Phrase("au quatrième étage", "on the fourth floor"),
    Phrase("au cinquième étage", "on the fifth floor"),
)


def names(*places: Place) -> tuple[Phrase, ...]:
    return tuple(place.name for place in places)


def inside(*places: Place) -> tuple[Phrase, ...]:
    return tuple(place.inside for place in places)


def towards(*places: Place) -> tuple[Phrase, ...]:
    return tuple(place.towards for place in places)


def away(*places: Place) -> tuple[Phrase, ...]:
    return tuple(place.away for place in places)


IN_TOWNS = inside(*TOWNS)
IN_COUNTRIES = inside(*COUNTRIES)
