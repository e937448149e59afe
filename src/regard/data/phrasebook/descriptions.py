"""Sentences about how people and things are and what people have."""

from regard.data.phrasebook import french, phrases, verbs, words
from regard.data.phrasebook.clauses import (
    asked,
    be_forms,
    be_question,
    being,
    clause,
    having,
    occupation,
    quality,
    question,
    that,
)
from regard.data.phrasebook.compound import FEELINGS, feel
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.frames import Complement, things
from regard.data.phrasebook.phrases import Subject, noun_phrase, somebody, third
from regard.data.phrasebook.places import (
    AT_HOME,
    COUNTRIES,
    HOTEL,
    IN_COUNTRIES,
    IN_TOWNS,
    NOTHING,
    OFFICE,
    SCHOOL,
    STATION,
    TOWNS,
    Phrase,
    inside,
)
from regard.data.phrasebook.sentences import together
from regard.data.phrasebook.times import (
    AGES,
    TENSES,
    Tense,
    in_month_and_year,
    in_year,
    on_date,
)
from regard.data.phrasebook.words import Noun

_THINGS = (*words.GOODS, *words.READING, words.FILM, words.SONG, *words.HOMES, words.HOTEL)
_OWNED: Complement = things(
    (*words.GOODS, *words.HOMES, words.UMBRELLA, words.SUITCASE), ("a", 1), many=0.2
)
WHEREABOUTS = (
    AT_HOME,
    *inside(SCHOOL, OFFICE, STATION, HOTEL),
    *inside(*TOWNS[:8], *COUNTRIES[:8]),
)
_CONDITIONS = wheel(("state", 4), ("profession", 4), ("place", 2), ("late", 1))
# Elles and nous: who makes the adjective plural.
_GROUPS = tuple(subject for subject in phrases.PRONOUNS if subject.many and subject.feminine)
# Where somebody is from does not change, so it is said in the present only.
_CONDITIONS_NOW = (*_CONDITIONS, *("origin",) * 6)
_DEGREES = (NOTHING, NOTHING, Phrase("très", "very"), Phrase("trop", "too"))
_RELATIVES = (words.BROTHER, words.SISTER, words.COUSIN, words.FRIEND)
_COMPARABLE = tuple(
    noun for noun in _THINGS if any(adjective.comparative for adjective in noun.adjectives)
)
_KINDS = ("the", "this", "own", "of")
_THIS_IS = (
    ("c'est", "it is"),
    ("c'était", "it was"),
    ("ce n'est pas", "it is not"),
)


def _condition(draw: Draw, subject: Subject, tense: Tense) -> Phrase:
    match draw.one(_CONDITIONS_NOW if tense == "present" else _CONDITIONS):
        case "state":
            return quality(draw.one(words.STATES), subject)
        case "origin":
            return quality(draw.one(words.NATIONALITIES), subject)
        case "profession":
            return occupation(draw.one(words.PROFESSIONS), subject)
        case "place":
            return draw.one(WHEREABOUTS)
        case _:
            return Phrase("en retard", "late")


def state(draw: Draw) -> Phrase:
    """Elle est fatiguée, ils étaient à Paris, nous ne sommes plus étudiants."""
    subject, tense = somebody(draw), draw.one(TENSES)
    if draw.chance(0.3):
        subject = draw.one(_GROUPS)
    if draw.chance(0.15):
        return feel(subject, draw.one(tuple(FEELINGS)), tense)
    rest = _condition(draw, subject, tense)
    if draw.chance(0.7):
        return being(subject, tense, rest)
    return being(subject, tense, rest, "plus" if draw.chance(0.3) else "pas")


def state_question(draw: Draw) -> Phrase:
    subject, tense = phrases.asked_about(draw), draw.one(TENSES)
    rest = _condition(draw, subject, tense)
    return be_question(subject, tense, rest, inverted=draw.chance(0.5))


def _thing(draw: Draw, noun: Noun, many: bool, kinds: tuple[str, ...] = _KINDS) -> Subject:
    """A thing to talk about: la voiture de Paul, ce livre, nos clés."""
    match draw.one(kinds):
        case "of":
            owner = somebody(draw, pronouns=False)
            phrase = phrases.belonging(phrases.nominal(noun, (), many), noun, owner, many)
        case "own":
            owner = draw.one(phrases.SPEAKERS)
            phrase = noun_phrase(draw, noun, "own", many=many, owner=owner, adjectives=())
        case "this":
            phrase = noun_phrase(draw, noun, "this", many=many, adjectives=())
        case _:
            phrase = noun_phrase(draw, noun, "the", many=many, adjectives=())
    return third(phrase, noun.feminine, many)


def description(draw: Draw) -> Phrase:
    noun, many = draw.one(_THINGS), draw.chance(0.25)
    subject = _thing(draw, noun, many)
    adjective = draw.one(noun.adjectives)
    said = quality(adjective, subject)
    if adjective not in words.NATIONALITIES and adjective not in words.COLOURS:
        degree = draw.one(_DEGREES)
        said = together(degree, said)
    if draw.chance(0.2):
        return be_question(subject, "present", said, inverted=False)
    tense: Tense = "past" if draw.chance(0.3) else "present"
    return being(subject, tense, said, "pas" if draw.chance(0.25) else "")


def comparison(draw: Draw) -> Phrase:
    """La maison de Paul est plus grande que la maison de Marie."""
    noun, many = draw.one(_COMPARABLE), draw.chance(0.2)
    subject = _thing(draw, noun, many, kinds=("own", "of", "this"))
    other = _thing(draw, noun, many, kinds=("own", "of"))
    while other.fr == subject.fr:
        other = _thing(draw, noun, many, kinds=("own", "of"))
    adjective = draw.one([option for option in noun.adjectives if option.comparative])
    form = quality(adjective, subject).fr
    if draw.chance(0.6):
        said = Phrase(f"plus {form} que {other.fr}", f"{adjective.comparative} than {other.en}")
    else:
        said = Phrase(f"aussi {form} que {other.fr}", f"as {adjective.en} as {other.en}")
    return being(subject, "present", said)


def introduction(draw: Draw) -> Phrase:
    """C'est une belle maison; ce n'est pas mon sac; est-ce que c'est la valise de Paul ?"""
    if draw.chance(0.5):
        what = noun_phrase(draw, draw.one((*_THINGS, *words.IN_TOWN)), "a")
    else:
        noun = draw.one((*words.GOODS, *words.LOSABLE, *words.HOMES))
        subject = _thing(draw, noun, many=False, kinds=("own", "of"))
        what = Phrase(subject.fr, subject.en)
    if draw.chance(0.25):
        return asked(Phrase(f"est-ce que c'est {what.fr}", f"is it {what.en}"))
    fr, en = draw.one(_THIS_IS)
    return Phrase(f"{fr} {what.fr}", f"{en} {what.en}")


def possession(draw: Draw) -> Phrase:
    """J'ai un frère et deux sœurs; elle n'a pas de voiture."""
    subject = somebody(draw)
    if draw.chance(0.2):
        first, second = draw.one(_RELATIVES), draw.one(_RELATIVES)
        one = noun_phrase(draw, first, "a", adjectives=())
        if second is not first:
            two = noun_phrase(draw, second, "two", adjectives=())
            one = Phrase(f"{one.fr} et {two.fr}", f"{one.en} and {two.en}")
        return clause(subject, verbs.HAVE, "present", one)
    denied = draw.chance(0.25)
    rest = _OWNED(draw, subject, denied)
    if not denied and draw.chance(0.25) and subject.person != 0:
        inverted = draw.chance(0.5)
        return question(subject, verbs.HAVE, "present", rest, NOTHING, inverted=inverted)
    if draw.chance(0.3):
        en = f"did not have {rest.en}" if denied else f"had {rest.en}"
        finite = verbs.HAD[subject.person]
        return having(subject, finite, rest.fr, en, "pas" if denied else "")
    tense: Tense = "future" if draw.chance(0.3) else "present"
    return clause(subject, verbs.HAVE, tense, rest, "pas" if denied else "")


def age(draw: Draw) -> Phrase:
    subject, years = draw.one((*phrases.PRONOUNS, *phrases.NAMES)), draw.one(AGES)
    tense = draw.one(TENSES)
    finite = {"present": verbs.HAVE.present, "past": verbs.HAD, "future": verbs.HAVE.future}
    en = f"{be_forms(subject.person, tense)[1]} {years.en} years old"
    return having(subject, finite[tense][subject.person], f"{years.fr} ans", en)


def birth(draw: Draw) -> Phrase:
    """Ma sœur est née à Lyon en 1985."""
    subject = somebody(draw)
    finite = verbs.BE.present[subject.person]
    born = french.agree("né", subject.feminine, subject.many)
    en = f"{be_forms(subject.person, 'past')[1]}"
    if draw.chance(0.2) and subject.person != 0:
        word = draw.one((Phrase("où", "where"), Phrase("quand", "when")))
        fr = f"{word.fr} est-ce {that(f'{subject.fr} {finite} {born}')}"
        return asked(Phrase(fr, f"{word.en} {en} {subject.en} born"))
    place = draw.one(IN_TOWNS if draw.chance(0.6) else IN_COUNTRIES)
    time = draw.one((in_year, in_month_and_year, on_date))(draw, "past")
    rest = draw.one((place, time, together(place, time)))
    return having(subject, finite, f"{born} {rest.fr}", f"{en} born {rest.en}")
