"""Small sentences of every day: what people and animals do.

They have two tenses, the present and the past, and what somebody can, must or wants to do.
"""

from regard.data.phrasebook import clauses, french, verbs, words
from regard.data.phrasebook import everyday_words as everyday
from regard.data.phrasebook.clauses import clause
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.everyday_subjects import creature, person
from regard.data.phrasebook.frames import (
    DRUNK,
    EATEN,
    LANGUAGE,
    LIKED,
    SNACK,
    Complement,
    either,
    one_of,
    someone,
    stuff,
    things,
)
from regard.data.phrasebook.phrases import Subject, noun_phrase
from regard.data.phrasebook.places import (
    AT_HOME,
    COUNTRIES,
    IN_THE_GARDEN,
    IN_THE_KITCHEN,
    NOTHING,
    PARK,
    SCHOOL,
    TOWNS,
    Phrase,
    away,
    inside,
)
from regard.data.phrasebook.sentences import together
from regard.data.phrasebook.times import Tense
from regard.data.phrasebook.verbs import Verb
from regard.data.phrasebook.words import Noun

_ON, _UNDER = Phrase("sur", "on"), Phrase("sous", "under")
_IN, _BEFORE = Phrase("dans", "in"), Phrase("devant", "in front of")
_BEHIND = Phrase("derrière", "behind")
_SURFACES = (words.TABLE, everyday.CHAIR, everyday.BED)
_SPOTS: tuple[tuple[Phrase, tuple[Noun, ...]], ...] = wheel(
    ((_ON, _SURFACES), 3),
    ((_UNDER, (*_SURFACES, everyday.TREE)), 2),
    ((_IN, (words.HOUSE, words.GARDEN, everyday.ROOM)), 1),
    ((_BEFORE, (*everyday.FURNITURE, words.HOUSE)), 1),
    ((_BEHIND, (*everyday.FURNITURE, words.HOUSE)), 1),
)
_TENSES: tuple[Tense, ...] = wheel(("present", 2), ("past", 1))
_SHAPES = wheel(("plain", 9), ("pas", 3), ("asked", 3), ("why", 2), ("helper", 2), ("liking", 1))
_HELPERS = (verbs.WANT, verbs.CAN, verbs.MUST, verbs.GO)
_WHY = (
    Phrase("pourquoi", "why"),
    Phrase("où", "where"),
    Phrase("quand", "when"),
)
_WHERE = (
    AT_HOME,
    IN_THE_GARDEN,
    IN_THE_KITCHEN,
    Phrase("dans la rue", "in the street"),
    Phrase("dans la maison", "in the house"),
    Phrase("ici", "here"),
    *inside(PARK, SCHOOL),
)
_HOW = (Phrase("bien", "well"), Phrase("beaucoup", "a lot"), Phrase("vite", "fast"))
_TIMES: dict[Tense, tuple[Phrase, ...]] = {
    "present": (
        Phrase("aujourd'hui", "today"),
        Phrase("maintenant", "now"),
        Phrase("tous les jours", "every day"),
        Phrase("le soir", "in the evening"),
    ),
    "past": (Phrase("hier", "yesterday"), Phrase("ce matin", "this morning")),
}
# Verbs that need nothing after them, and how one may do it.
ALONE: tuple[tuple[Verb, tuple[Phrase, ...]], ...] = (
    (everyday.SLEEP, _HOW[:2]),
    (everyday.PLAY, _HOW[:2]),
    (everyday.RUN, _HOW),
    (everyday.SING, _HOW[:2]),
    (everyday.DANCE, _HOW[:2]),
    (everyday.LAUGH, _HOW[1:2]),
    (everyday.CRY, _HOW[1:2]),
    (everyday.SWIM, _HOW),
    (everyday.STUDY, _HOW[1:2]),
    (verbs.EAT, _HOW),
    (verbs.DRINK, _HOW[1:2]),
    (verbs.READ, _HOW[:2]),
    (verbs.WORK, _HOW[:2]),
    (verbs.SPEAK, _HOW),
)
# Verbs of coming and going, which need no place.
_MOVING = (
    *(verbs.LEAVE, verbs.RETURN, everyday.COME, everyday.WAIT),
    *(everyday.STAY, everyday.GO_OUT, everyday.COME_IN) * 2,
)
_SOON = (
    *(Phrase("maintenant", "now"), Phrase("demain", "tomorrow")),
    *(Phrase("ce soir", "this evening"), Phrase("ici", "here")),
)
OF_ANIMALS = tuple(
    (verb, how)
    for verb, how in ALONE
    if verb in (everyday.SLEEP, everyday.PLAY, everyday.RUN, verbs.EAT, verbs.DRINK)
)
_SEEN = things((*everyday.ANIMALS, *everyday.PEOPLE), ("a", 2), ("the", 2), ("this", 1))
_SOUGHT = things(everyday.THINGS, ("own", 3), ("the", 1), ("a", 2))
_KNOWN = either(someone(), one_of(tuple(place.name for place in (*TOWNS, *COUNTRIES))))
_QUESTION = things((everyday.QUESTION,), ("the", 1), ("this", 1), many=0.0)
_MADE = either(things((words.CAKE,), ("a", 1), many=0.1), stuff((everyday.SOUP, words.COFFEE)))
# Verbs with their objects. With the last group, the past would rather be another word.
WITH: tuple[tuple[Verb, Complement], ...] = (
    (everyday.SEE, either(_SEEN, someone())),
    (everyday.LOOK_FOR, either(_SOUGHT, someone())),
    (everyday.MAKE, _MADE),
    (everyday.COME, one_of(away(*TOWNS, *COUNTRIES))),
    (everyday.STUDY, LANGUAGE),
    (verbs.GO, one_of(tuple(Phrase(french.at(fr), f"to {en}") for fr, en in everyday.SHOPS))),
    (verbs.EAT, either(EATEN, SNACK, stuff((everyday.SOUP, everyday.MEAT)))),
    (verbs.DRINK, either(DRUNK, stuff((everyday.BEER,)))),
)
# Paul et Porto would be an odd pair.
_WITH_PLACES = (verbs.GO, everyday.COME, everyday.KNOW, everyday.LOVE)
_LASTING: tuple[tuple[Verb, Complement], ...] = (
    (verbs.LIKE, LIKED),
    (everyday.LOVE, either(LIKED, one_of(tuple(place.name for place in (*TOWNS, *COUNTRIES))))),
    (everyday.PREFER, LIKED),
    (everyday.HATE, LIKED),
    (everyday.UNDERSTAND, either(LANGUAGE, _QUESTION)),
    (everyday.KNOW, _KNOWN),
)


def spot(draw: Draw) -> Phrase:
    """Sur la table, derrière la maison, dans le sac."""
    position, nouns = draw.one(_SPOTS)
    return together(position, noun_phrase(draw, draw.one(nouns), "the", adjectives=()))


def doing(draw: Draw) -> Phrase:
    """Le chat dort sur la table; pourquoi pleures-tu ? ils sont partis hier."""
    if draw.chance(0.2):
        tense = draw.one(_TENSES)
        rest = draw.one(_TIMES[tense]) if draw.chance(0.3) else NOTHING
        shape = draw.one(("plain", "plain", "plain", "pas", "asked"))
        return _shaped(draw, person(draw), draw.one(_MOVING), tense, rest, shape)
    animal = draw.chance(0.3)
    subject = creature(draw) if animal else person(draw)
    verb, how = draw.one(OF_ANIMALS if animal else ALONE)
    tense, shape = draw.one(_TENSES), draw.one(_SHAPES)
    rest = NOTHING
    if draw.chance(0.55):
        rest = draw.one(_WHERE) if draw.chance(0.5) else spot(draw)
        # In the past, these adverbs stand before the participle.
        if tense == "present" and shape in ("plain", "pas", "asked") and draw.chance(0.4):
            rest = draw.one(how)
    if draw.chance(0.2) and shape != "helper":
        rest = together(rest, draw.one(_TIMES[tense]))
    if shape in ("liking", "why"):
        rest = NOTHING
    return _shaped(draw, subject, verb, tense, rest, shape)


def dealing(draw: Draw) -> Phrase:
    """Je cherche mes clés; elle n'aime pas le café."""
    lasting = draw.chance(0.45)
    verb, complement = draw.one(_LASTING if lasting else WITH)
    tense: Tense = "present" if lasting else draw.one(_TENSES)
    subject, shape = person(draw), draw.one(_SHAPES)
    denied = shape == "pas"
    rest = complement(draw, subject, denied)
    if not denied and verb not in _WITH_PLACES and draw.chance(0.15):
        rest = _and_another(draw, complement, subject, rest)
    if lasting and shape in ("helper", "liking", "why"):
        shape = "plain"
    if shape == "plain" and verb is verbs.LIKE and draw.chance(0.3):
        said = clause(subject, verb, tense, rest, adverb=Phrase("beaucoup", ""))
        return Phrase(said.fr, f"{said.en} very much")
    return _shaped(draw, subject, verb, tense, rest, shape)


def _and_another(draw: Draw, complement: Complement, subject: Subject, what: Phrase) -> Phrase:
    """Du pain et du fromage: not the same noun twice, which is the last word in English."""
    while (other := complement(draw, subject, False)).en.split()[-1] == what.en.split()[-1]:
        continue
    return Phrase(f"{what.fr} et {other.fr}", f"{what.en} and {other.en}")


def ability(draw: Draw) -> Phrase:
    """Je dois partir; tu peux rester ici; veux-tu danser ? puis-je entrer ?"""
    subject, helper = person(draw), draw.one(_HELPERS)
    alone = tuple(verb for verb, _ in ALONE)
    verb = draw.one(_MOVING if draw.chance(0.4) else alone)
    rest = draw.one(_SOON) if draw.chance(0.35) else NOTHING
    if not draw.chance(0.3):
        return clauses.modal(subject, verb, helper, rest, "pas" if draw.chance(0.3) else "")
    inverted = draw.chance(0.5)
    if subject.person in (0, 3):
        helper = draw.one((verbs.CAN, verbs.MUST))
        if inverted and subject.person == 0 and helper is verbs.CAN:
            en = french.join(("can I", verb.base, verb.particle, rest.en))
            return clauses.asked(Phrase(french.join(("puis-je", verb.infinitive, rest.fr)), en))
    return clauses.modal_question(subject, verb, helper, rest, inverted=inverted)


def _shaped(
    draw: Draw, subject: Subject, verb: Verb, tense: Tense, rest: Phrase, shape: str
) -> Phrase:
    """A statement, a denial or a question of these parts."""
    if shape in ("asked", "why") and subject.person in (0, 3):
        shape = "plain"
    asking = draw.one(_WHY) if shape == "why" else NOTHING
    pronoun = subject is subject.pronoun
    match shape:
        case "pas":
            return clause(subject, verb, tense, rest, "pas")
        case "asked" | "why":
            inverted = draw.chance(0.5) and (pronoun or shape == "asked")
            return clauses.question(subject, verb, tense, rest, asking, inverted=inverted)
        case "helper":
            helper = draw.one(_HELPERS)
            if subject.person not in (0, 3) and draw.chance(0.25):
                inverted = draw.chance(0.5)
                return clauses.modal_question(subject, verb, helper, rest, inverted=inverted)
            return clauses.modal(subject, verb, helper, rest, "pas" if draw.chance(0.25) else "")
        case "liking":
            like = draw.one((verbs.LIKE, everyday.LOVE, everyday.PREFER, everyday.HATE))
            what = french.join((verb.infinitive, rest.fr))
            english = french.join(("to", verb.base, verb.particle, rest.en))
            return clause(subject, like, "present", Phrase(what, english))
    return clause(subject, verb, tense, rest)
