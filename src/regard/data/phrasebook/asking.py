"""What a traveller asks: where, who, how much, how many, what time, what colour, and whether."""

from regard.data.phrasebook import english, french, phrases, verbs, words
from regard.data.phrasebook import everyday_words as everyday
from regard.data.phrasebook.clauses import asked, invert
from regard.data.phrasebook.descriptions import possession, state_question
from regard.data.phrasebook.draw import Draw
from regard.data.phrasebook.everyday import ability, dealing, doing
from regard.data.phrasebook.phrases import Determiner, Subject, kin, noun_phrase, third
from regard.data.phrasebook.places import SPOTS, TOWNS, Phrase, names
from regard.data.phrasebook.scenes import having_things, looks
from regard.data.phrasebook.sentences import wish_question, yes_no
from regard.data.phrasebook.words import Noun

_PLACES = (*names(*SPOTS), *everyday.SHOPS)
_SOLD = words.without(
    (*words.GOODS, *words.SNACKS, *everyday.THINGS, words.TICKET, everyday.CROISSANT),
    words.EXPENSIVE,
)
_COLOURED = tuple(
    noun
    for noun in everyday.DESCRIBED
    if words.RED in noun.adjectives and noun not in everyday.NATURE
)
_OWN = tuple(subject for subject in phrases.SPEAKERS if subject.person in (1, 4))
_HOW_MANY = (words.BROTHER, words.SISTER, words.CHILD, words.FRIEND, *everyday.COUNTED)
_DEPARTING = tuple(
    Phrase(f"{fr} pour {town.name.fr}", f"{en} to {town.name.en}")
    for fr, en in (("le train", "the train"), ("le bus", "the bus"), ("l'avion", "the plane"))
    for town in TOWNS
)
_OPENING = (*everyday.SHOPS[:4], *everyday.SHOPS[:4], *names(*SPOTS))
_NAMED = (
    ("je", "m'appelle", "my", False),
    ("je", "m'appelle", "my", True),
    ("tu", "t'appelles", "your", False),
    ("tu", "t'appelles", "your", True),
    ("il", "s'appelle", "his", False),
    ("elle", "s'appelle", "her", True),
    ("vous", "vous appelez", "your", True),
    ("vous", "vous appelez", "your", False),
)
_WHETHER = (
    *(yes_no, yes_no, state_question, wish_question, possession),
    *(doing, dealing, looks, having_things, ability),
)
_NEAREST = Phrase("près d'ici", "near here")


def _thing(draw: Draw, nouns: tuple[Noun, ...]) -> Subject:
    noun, many = draw.one(nouns), draw.chance(0.25)
    kinds: tuple[Determiner, ...] = ("the", "this", "own")
    phrase = noun_phrase(draw, noun, draw.one(kinds), many=many, owner=draw.one(_OWN))
    return third(phrase, noun.feminine, many)


def _relative(draw: Draw) -> Subject:
    return kin(draw, draw.one(_OWN)) if draw.chance(0.6) else draw.one(phrases.NAMES)


def where(draw: Draw) -> Phrase:
    """Où est la gare ? Où sont mes clés ? Y a-t-il une pharmacie près d'ici ?"""
    if draw.chance(0.5):
        place = draw.one(everyday.SHOPS if draw.chance(0.5) else _PLACES)
        subject = third(place, feminine=False)
    else:
        subject = _relative(draw) if draw.chance(0.25) else _thing(draw, everyday.THINGS)
    many = subject.many
    is_or_are = "are" if many else "is"
    if draw.chance(0.25):
        finds = "se trouvent" if many else "se trouve"
        fr = f"où {finds} {subject.fr}"
    else:
        fr = f"où {'sont' if many else 'est'} {subject.fr}"
    return asked(Phrase(fr, f"where {is_or_are} {subject.en}"))


def near(draw: Draw) -> Phrase:
    """Y a-t-il un hôtel près d'ici ?"""
    noun = draw.one((*words.IN_TOWN, everyday.SHOP))
    what = noun_phrase(draw, noun, "a")
    if draw.chance(0.4):
        return Phrase(f"il y a {what.fr} {_NEAREST.fr}", f"there is {what.en} {_NEAREST.en}")
    opening = draw.one(("y a-t-il", "est-ce qu'il y a"))
    return asked(Phrase(f"{opening} {what.fr} {_NEAREST.fr}", f"is there {what.en} {_NEAREST.en}"))


def who_is(draw: Draw) -> Phrase:
    """Qui est cette femme ? Comment va ton frère ?"""
    if draw.chance(0.4):
        person = _relative(draw)
        fr = f"comment {'vont' if person.many else 'va'} {person.fr}"
        return asked(Phrase(fr, f"how {'are' if person.many else 'is'} {person.en}"))
    if draw.chance(0.5):
        person = _relative(draw)
    else:
        noun, many = draw.one(everyday.PEOPLE), draw.chance(0.25)
        person = third(noun_phrase(draw, noun, "this", many=many), noun.feminine, many)
    fr = f"qui {'sont' if person.many else 'est'} {person.fr}"
    return asked(Phrase(fr, f"who {'are' if person.many else 'is'} {person.en}"))


def how_much(draw: Draw) -> Phrase:
    """Combien coûte ce livre ? Ça coûte dix euros."""
    if draw.chance(0.2):
        number = draw.one(everyday.UNITS[1:])
        thing = _thing(draw, _SOLD)
        fr, en = f"{number.fr} euros", f"{number.en} euros"
        if draw.chance(0.5):
            return Phrase(f"ça coûte {fr}", f"it costs {en}")
        costs = ("coûtent", "cost") if thing.many else ("coûte", "costs")
        return Phrase(f"{thing.fr} {costs[0]} {fr}", f"{thing.en} {costs[1]} {en}")
    thing = _thing(draw, _SOLD)
    verb = "coûtent" if thing.many else "coûte"
    return asked(Phrase(f"combien {verb} {thing.fr}", f"how much {_does(thing)} {thing.en} cost"))


def _does(subject: Subject) -> str:
    return "does" if subject.singular_third else "do"


def how_many(draw: Draw) -> Phrase:
    """Combien de frères as-tu ?"""
    noun, subject = draw.one(_HOW_MANY), draw.one(phrases.YOU_AND_THEY)
    of = french.elide("de", noun.fr_plural)
    fr = f"combien {of} {invert(subject, verbs.HAVE.present[subject.person])}"
    return asked(Phrase(fr, f"how many {noun.en_plural} {_does(subject)} {subject.en} have"))


def what_time(draw: Draw) -> Phrase:
    """À quelle heure part le train pour Lyon ?"""
    at = "à quelle heure"
    if draw.chance(0.5):
        ride = draw.one(_DEPARTING)
        verb, base = "part", "leave"
    else:
        ride = draw.one(_OPENING)
        verb, base = draw.one((("ouvre", "open"), ("ferme", "close")))
    if draw.chance(0.3):
        return asked(
            Phrase(f"{at} est-ce que {ride.fr} {verb}", f"what time does {ride.en} {base}")
        )
    return asked(Phrase(f"{at} {verb} {ride.fr}", f"what time does {ride.en} {base}"))


def what_kind(draw: Draw) -> Phrase:
    """De quelle couleur est la voiture de Paul ? Quel âge a ta sœur ?"""
    if draw.chance(0.5):
        person = _relative(draw)
        fr = f"quel âge {'ont' if person.many else 'a'} {person.fr}"
        return asked(Phrase(fr, f"how old {'are' if person.many else 'is'} {person.en}"))
    thing = _thing(draw, words.without(_COLOURED, *everyday.HUES))
    fr = f"de quelle couleur {'sont' if thing.many else 'est'} {thing.fr}"
    return asked(Phrase(fr, f"what colour {'are' if thing.many else 'is'} {thing.en}"))


def called(draw: Draw) -> Phrase:
    """Je m'appelle Marie; ma sœur s'appelle Claire; comment s'appelle ton frère ?"""
    if draw.chance(0.4):
        subject, finite, their, feminine = draw.one(_NAMED)
        name = _name(draw, feminine)
        return Phrase(f"{subject} {finite} {name}", f"{their} name is {name}")
    noun = draw.one((*words.KIN, *everyday.PETS, *everyday.RELATIVES))
    ask = draw.chance(0.4)
    owner = draw.one(_OWN if ask else phrases.SPEAKERS)
    who = noun_phrase(draw, noun, "own", owner=owner, adjectives=())
    theirs = english.genitive(who.en, many=False)
    if ask:
        return asked(Phrase(f"comment s'appelle {who.fr}", f"what is {theirs} name"))
    name = _name(draw, noun.feminine)
    return Phrase(f"{who.fr} s'appelle {name}", f"{theirs} name is {name}")


def by_tone(draw: Draw) -> Phrase:
    """Tu parles français ? A statement becomes a question by its mark alone."""
    sentence = draw.one(_WHETHER)
    while not (said := sentence(draw)).fr.startswith("est-ce qu"):
        continue
    fr = said.fr.removeprefix("est-ce que ").removeprefix("est-ce qu'")
    return Phrase(fr, said.en)


def _name(draw: Draw, feminine: bool) -> str:
    return draw.one(words.WOMEN if feminine else words.MEN)
