"""Sentences about the surroundings: where things are, what a town has, weather, timetables."""

from regard.data.phrasebook import french, phrases, verbs, words
from regard.data.phrasebook.clauses import asked, be_question, being, clause, question
from regard.data.phrasebook.draw import Draw
from regard.data.phrasebook.frames import VEHICLES
from regard.data.phrasebook.phrases import Determiner, noun_phrase, third
from regard.data.phrasebook.places import (
    IN_COUNTRIES,
    IN_TOWNS,
    NOTHING,
    SPOTS,
    TOWNS,
    Phrase,
    names,
)
from regard.data.phrasebook.sentences import together
from regard.data.phrasebook.times import HOURS, TENSES, Tense, when

_NEAR = (
    Phrase("près", "near"),
    Phrase("loin", "far from"),
    Phrase("à côté", "next to"),
    Phrase("en face", "opposite"),
)
# Present, past and future of it is cold, it rains, it snows.
_WEATHER: dict[Tense, tuple[Phrase, ...]] = {
    "present": (
        Phrase("il fait froid", "it is cold"),
        Phrase("il fait chaud", "it is hot"),
        Phrase("il pleut", "it rains"),
        Phrase("il neige", "it snows"),
        Phrase("il pleut souvent", "it often rains"),
        Phrase("il ne neige jamais", "it never snows"),
    ),
    "past": (
        Phrase("il a fait froid", "it was cold"),
        Phrase("il a fait chaud", "it was hot"),
        Phrase("il a plu", "it rained"),
        Phrase("il a neigé", "it snowed"),
        Phrase("il n'a pas plu", "it did not rain"),
    ),
    "future": (
        Phrase("il fera froid", "it will be cold"),
        Phrase("il fera chaud", "it will be hot"),
        Phrase("il pleuvra", "it will rain"),
        Phrase("il neigera", "it will snow"),
        Phrase("il ne pleuvra pas", "it will not rain"),
    ),
}
_SPOTS = names(*SPOTS)
_WHEN = Phrase("quand", "when")


def whereabouts(draw: Draw) -> Phrase:
    """La gare est près de l'hôtel; où est le musée ?"""
    spot, other = draw.one(_SPOTS), draw.one(_SPOTS)
    while other is spot:
        other = draw.one(_SPOTS)
    if draw.chance(0.02):
        return asked(Phrase(f"où est {spot.fr}", f"where is {spot.en}"))
    near = draw.one(_NEAR)
    subject = third(spot, feminine=False)
    rest = Phrase(f"{near.fr} {french.of(other.fr)}", f"{near.en} {other.en}")
    if draw.chance(0.3):
        return be_question(subject, "present", rest, inverted=False)
    tense: Tense = "past" if draw.chance(0.3) else "present"
    return being(subject, tense, rest, "pas" if draw.chance(0.3) else "")


def existence(draw: Draw) -> Phrase:
    """Il y a deux musées à Paris, there are two museums in Paris."""
    noun, place = draw.one(words.IN_TOWN), draw.one(IN_TOWNS)
    many = draw.chance(0.35)
    adjectives = phrases.some_adjectives(draw, noun)
    if draw.chance(0.25):
        fr, en = phrases.nominal(noun, adjectives, many)
        denied = f"il n'y a pas {french.elide('de', fr)} {place.fr}"
        return Phrase(denied, f"there {'are' if many else 'is'} no {en} {place.en}")
    determiner: Determiner = "two" if many and draw.chance(0.5) else "a"
    fr, en = noun_phrase(draw, noun, determiner, many=many, adjectives=adjectives)
    verb = "are" if many else "is"
    if draw.chance(0.3):
        said = Phrase(f"est-ce qu'il y a {fr} {place.fr}", f"{verb} there {en} {place.en}")
        return asked(said)
    return Phrase(f"il y a {fr} {place.fr}", f"there {verb} {en} {place.en}")


def weather(draw: Draw) -> Phrase:
    tense = draw.one(TENSES)
    place = draw.one(IN_TOWNS if draw.chance(0.6) else IN_COUNTRIES)
    time = when(draw, "journey", tense)
    while tense == "future" and time.fr[-1].isdigit():
        time = when(draw, "journey", tense)
    said = draw.one(_WEATHER[tense])
    if draw.chance(0.2):
        return Phrase(f"{time.fr}, {said.fr} {place.fr}", f"{time.en}, {said.en} {place.en}")
    return together(said, place, time)


def timetable(draw: Draw) -> Phrase:
    """Le train pour Lyon part à huit heures."""
    vehicle, place, hour = draw.one(VEHICLES), draw.one(TOWNS), draw.one(HOURS)
    tense = draw.one(TENSES)
    if draw.chance(0.5):
        ride = Phrase(f"{vehicle.fr} pour {place.name.fr}", f"{vehicle.en} to {place.name.en}")
        verb = verbs.LEAVE
    else:
        ride = together(vehicle, place.away)
        verb = verbs.ARRIVE
    subject = third(ride, feminine=False)
    if draw.chance(0.25):
        if draw.chance(0.2):
            return question(subject, verb, tense, NOTHING, _WHEN, inverted=False)
        return question(subject, verb, tense, hour, NOTHING, inverted=False)
    if draw.chance(0.4):
        day = when(draw, "event", tense)
        hour = together(day, hour) if "heures" not in day.fr else hour
    return clause(subject, verb, tense, hour)
