"""What a guest orders, and what one person asks another to do."""

from regard.data.phrasebook import everyday_words, frames, french, verbs, words
from regard.data.phrasebook.draw import Draw
from regard.data.phrasebook.phrases import noun_phrase
from regard.data.phrasebook.places import Phrase
from regard.data.phrasebook.sentences import together

_PLEASE = (Phrase("s'il vous plaît", "please"), Phrase("s'il te plaît", "please"))
_CONTAINED = (
    (Phrase("un verre", "a glass"), (words.WATER, words.ORANGE_JUICE)),
    (Phrase("une tasse", "a cup"), (words.COFFEE, words.TEA)),
    (Phrase("une bouteille", "a bottle"), (words.WATER, everyday_words.BEER)),
)
ORDERED = (
    *(words.COFFEE, words.TEA, everyday_words.BEER, everyday_words.CROISSANT, words.SANDWICH),
    *(words.CAKE, words.TICKET, words.APPLE, everyday_words.EGG),
)


def order(draw: Draw) -> Phrase:
    """Un café, s'il vous plaît; je voudrais une bouteille d'eau."""
    if draw.chance(0.3):
        vessel, drinks = draw.one(_CONTAINED)
        drink = draw.one(drinks)
        what = Phrase(f"{vessel.fr} {french.elide('de', drink.fr)}", f"{vessel.en} of {drink.en}")
    elif draw.chance(0.4):
        number, noun = draw.one(everyday_words.UNITS[1:10]), draw.one(ORDERED)
        what = Phrase(f"{number.fr} {noun.fr_plural}", f"{number.en} {noun.en_plural}")
    else:
        what = noun_phrase(draw, draw.one(ORDERED), "a", many=False)
    please = draw.one(_PLEASE)
    if draw.chance(0.25):
        return Phrase(f"{what.fr}, {please.fr}", f"{what.en}, {please.en}")
    asking_for = draw.one(
        (
            Phrase("je voudrais", "I would like"),
            Phrase("je voudrais", "I would like"),
            Phrase("je veux", "I want"),
            Phrase("nous voudrions", "we would like"),
        )
    )
    said = together(asking_for, what)
    if draw.chance(0.3):
        return Phrase(f"{said.fr}, {please.fr}", f"{said.en}, {please.en}")
    return said


def request(draw: Draw) -> Phrase:
    """Ferme la porte, s'il te plaît; ouvrez la fenêtre !"""
    verb, complement = draw.one(
        (
            (verbs.OPEN, frames.OPENABLE),
            (verbs.CLOSE, frames.OPENABLE),
            (verbs.READ, frames.READ),
            (verbs.TAKE, frames.GOODS),
            (verbs.EAT, frames.EATEN),
            (verbs.DRINK, frames.DRUNK),
            (verbs.LISTEN, frames.SONGS),
            (verbs.WATCH, frames.FILMS),
        )
    )
    polite_one = draw.chance(0.5)
    finite = verb.present[4 if polite_one else 1]
    if not polite_one and finite.endswith("es"):
        finite = finite[:-1]
    denied = draw.chance(0.2)
    what = complement(draw, None, denied)
    said = Phrase(f"{finite} {what.fr}", french.join((verb.base, verb.particle, what.en)))
    if denied:
        fr = f"{french.elide('ne', finite)} pas {what.fr}"
        said = Phrase(fr, f"do not {said.en}")
    if draw.chance(0.5):
        please = _PLEASE[0 if polite_one else 1]
        return Phrase(f"{said.fr}, {please.fr}", f"{said.en}, {please.en}")
    return Phrase(f"{said.fr} !", f"{said.en}!")
