"""Passives: what was built and written, and treaties with names that English turns round.

La zone économique européenne is the European Economic Area: the French order noun, adjective,
adjective is reversed.
"""

from regard.data.phrasebook import french, verbs, words
from regard.data.phrasebook.clauses import clause, passive, passive_question
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.phrases import NAMES, Determiner, Subject, noun_phrase, somebody, third
from regard.data.phrasebook.places import IN_TOWNS, TOWNS, Phrase, names
from regard.data.phrasebook.sentences import together
from regard.data.phrasebook.times import (
    CENTURIES,
    TENSES,
    Tense,
    in_month_and_year,
    in_year,
    on_date,
    when,
)
from regard.data.phrasebook.verbs import Verb
from regard.data.phrasebook.words import Adjective, Noun

_EUROPEAN = Adjective.of("européen", "européenne", "European")
_AFRICAN = Adjective.of("africain", "africaine", "African")
_ASIAN = Adjective.of("asiatique", "asiatique", "Asian")
_INTERNATIONAL = Adjective.of("international", "internationale", "international")
_REGIONS = (_EUROPEAN, _EUROPEAN, _AFRICAN, _ASIAN)

_DOCUMENTS = (
    Noun.of("accord", "m", "agreement"),
    Noun.of("traité", "m", "treaty"),
    Noun.of("convention", "f", "convention"),
    Noun.of("déclaration", "f", "declaration"),
)
# Names, which have capitals and an article in English.
_BODIES = (
    Noun.of("zone économique", "f", "Economic Area"),
    Noun.of("communauté économique", "f", "Economic Community"),
    Noun.of("union monétaire", "f", "Monetary Union"),
    Noun.of("banque centrale", "f", "Central Bank"),
)
# Matters, which have neither.
_MATTERS = (
    Noun.of("commerce", "m", "trade"),
    Noun.of("politique agricole", "f", "agricultural policy"),
    Noun.of("politique monétaire", "f", "monetary policy"),
    Noun.of("coopération économique", "f", "economic cooperation"),
)
_MINISTER = Noun.of("ministre", "m", "minister")
_PRESIDENT = Noun.of("président", "m", "president")
_GOVERNMENT = Noun.of("gouvernement", "m", "government")
_COMPANY = Noun.of("entreprise", "f", "company")
_SIGNATORIES = (
    (_PRESIDENT, False, (words.FRENCH, words.ITALIAN, words.GERMAN)),
    (_MINISTER, False, words.NATIONALITIES),
    (_GOVERNMENT, False, words.NATIONALITIES),
    (_MINISTER, True, (*words.NATIONALITIES, *_REGIONS)),
    (_GOVERNMENT, True, _REGIONS),
)
_OFFICES = (Phrase("le président", "the president"), Phrase("les membres", "the members"))
# A single minister adopts nothing, so the last is for the passive only.
_DEEDS = (verbs.SIGN, verbs.SIGN, verbs.NEGOTIATE, verbs.APPROVE, verbs.ADOPT)
_TENSES: tuple[Tense, ...] = wheel(("past", 5), ("present", 2), ("future", 3))
_MEALS = (Phrase("le dîner", "dinner"), Phrase("le déjeuner", "lunch"))
_HANDLED: tuple[tuple[Verb, tuple[Noun, ...]], ...] = (
    (verbs.PREPARE, ()),
    (verbs.CLOSE, words.OPENABLE),
    (verbs.OPEN, words.OPENABLE),
    (verbs.FIND, words.FOUND),
    (verbs.SELL, (*words.HOMES, words.CAR, words.PAINTING)),
)


def _body(draw: Draw) -> Phrase:
    """A name like the European Economic Area."""
    noun, region = draw.one(_BODIES), draw.one(_REGIONS)
    fr = french.definite(f"{noun.fr} {region.forms[1]}", noun.feminine, many=False)
    return Phrase(fr, f"the {region.en} {noun.en}")


def _matter(draw: Draw) -> Phrase:
    noun, region = draw.one(_MATTERS), draw.one((*_REGIONS, _INTERNATIONAL))
    fr = f"{noun.fr} {region.forms[noun.feminine]}"
    return Phrase(french.definite(fr, noun.feminine, many=False), f"{region.en} {noun.en}")


def _document(draw: Draw) -> Subject:
    noun = draw.one(_DOCUMENTS)
    topic = _body(draw) if draw.chance(0.7) else _matter(draw)
    if draw.chance(0.8):
        name = noun_phrase(draw, noun, "the")
    else:
        name = noun_phrase(draw, noun, "a", adjectives=(words.NEW,))
    whole = Phrase(f"{name.fr} sur {topic.fr}", f"{name.en} on {topic.en}")
    return third(whole, noun.feminine)


def _signatory(draw: Draw) -> Subject:
    """Countries have a government and maybe a president; continents have several ministers."""
    noun, many, origins = draw.one(_SIGNATORIES)
    phrase = noun_phrase(draw, noun, "the", many=many, adjectives=(draw.one(origins),))
    return third(phrase, noun.feminine, many)


def _date(draw: Draw, tense: Tense) -> Phrase:
    if tense == "present":
        return when(draw, "event", tense)
    return draw.one((in_month_and_year, in_month_and_year, in_year, on_date))(draw, tense)


def treaty(draw: Draw) -> Phrase:
    """L'accord sur la zone économique européenne a été signé en août 1992."""
    document, verb, tense = _document(draw), draw.one(_DEEDS), draw.one(_TENSES)
    parts = []
    if draw.chance(0.3):
        by = _signatory(draw)
        parts.append(Phrase(f"par {by.fr}", f"by {by.en}"))
    if draw.chance(0.4):
        parts.append(draw.one(IN_TOWNS))
    if draw.chance(0.75) or not parts:
        parts.append(_date(draw, tense))
    rest = together(*parts)
    if draw.chance(0.15):
        return passive_question(document, verb, tense, rest)
    return passive(document, verb, tense, rest, "pas" if draw.chance(0.15) else "")


def diplomacy(draw: Draw) -> Phrase:
    """Les ministres européens signeront l'accord …; the president of … visited Lisbon."""
    tense = draw.one(_TENSES)
    date = _date(draw, tense)
    if tense != "present" and draw.chance(0.7):
        document = _document(draw)
        what = together(Phrase(document.fr, document.en), date)
        return clause(_signatory(draw), draw.one(_DEEDS[:-1]), tense, what)
    office, body = draw.one(_OFFICES), _body(draw)
    whole = Phrase(f"{office.fr} {french.of(body.fr)}", f"{office.en} of {body.en}")
    subject = third(whole, feminine=False, many=office is _OFFICES[1])
    if draw.chance(0.5):
        return clause(subject, verbs.VISIT, tense, together(draw.one(names(*TOWNS)), date))
    return clause(subject, verbs.ARRIVE, tense, together(draw.one(IN_TOWNS), date))


def _by(noun: Phrase) -> Phrase:
    return Phrase(f"par {noun.fr}", f"by {noun.en}")


def _by_professional(draw: Draw, *nouns: Noun) -> Phrase:
    origin = draw.one(words.NATIONALITIES)
    return _by(noun_phrase(draw, draw.one(nouns), "a", adjectives=(origin,)))


def _by_somebody(draw: Draw) -> Phrase:
    maker = somebody(draw, pronouns=False)
    return _by(Phrase(maker.fr, maker.en))


def _said_passively(
    draw: Draw, work: Subject, verb: Verb, tense: Tense, by: Phrase, time: Phrase
) -> Phrase:
    # Without an agent, the present would describe a state: the shop is open, not opened.
    rest = by if tense == "present" else draw.one((by, time, together(by, time)))
    if draw.chance(0.2):
        return passive_question(work, verb, tense, rest)
    return passive(work, verb, tense, rest, "pas" if draw.chance(0.15) else "")


def _work(
    draw: Draw, nouns: tuple[Noun, ...], adjectives: tuple[Adjective, ...] | None = None
) -> Subject:
    noun, many = draw.one(nouns), draw.chance(0.25)
    determiner: Determiner = "the" if draw.chance(0.4) else "this"
    phrase = noun_phrase(draw, noun, determiner, many=many, adjectives=adjectives)
    return third(phrase, noun.feminine, many)


def built(draw: Draw) -> Phrase:
    """Ce pont a été construit par une entreprise allemande."""
    tense: Tense = "future" if draw.chance(0.2) else "past"
    if tense == "past" and draw.chance(0.6):
        by, time = _by_professional(draw, words.ARCHITECT), draw.one(CENTURIES)
        work = _work(draw, words.MONUMENTS, adjectives=())
    else:
        by, time = _by_professional(draw, words.ARCHITECT, _COMPANY), in_year(draw, tense)
        work = _work(draw, words.BUILDINGS, adjectives=())
    return _said_passively(draw, work, verbs.BUILD, tense, by, time)


def written(draw: Draw) -> Phrase:
    """Cette chanson est écrite par Marie."""
    work = _work(draw, words.WORKS)
    name = draw.one(NAMES)
    by = _by(Phrase(name.fr, name.en))
    if draw.chance(0.3):
        by = _by_professional(draw, *words.JOURNALISTS)
    if draw.chance(0.2):
        return passive(work, verbs.WRITE, "present", by)
    return _said_passively(draw, work, verbs.WRITE, "past", by, in_year(draw, "past"))


def handled(draw: Draw) -> Phrase:
    """La fenêtre a été fermée par ma sœur; le dîner sera préparé ce soir."""
    verb, nouns = draw.one(_HANDLED)
    tense: Tense = "past" if verb is verbs.FIND else draw.one(TENSES)
    work = _work(draw, nouns) if nouns else third(draw.one(_MEALS), feminine=False)
    return _said_passively(draw, work, verb, tense, _by_somebody(draw), when(draw, "event", tense))
