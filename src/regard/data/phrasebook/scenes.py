"""Where things are, what they look like, and who has them."""

from regard.data.phrasebook import clauses, french, phrases, verbs, words
from regard.data.phrasebook import everyday_words as everyday
from regard.data.phrasebook.clauses import asked, being, clause, having, quality
from regard.data.phrasebook.draw import Draw
from regard.data.phrasebook.everyday import spot
from regard.data.phrasebook.everyday_subjects import person
from regard.data.phrasebook.phrases import Determiner, noun_phrase, third
from regard.data.phrasebook.places import NOTHING, Phrase
from regard.data.phrasebook.sentences import together
from regard.data.phrasebook.times import Tense
from regard.data.phrasebook.words import Adjective

_INSIDE = Phrase("dans", "in")
_OPPOSITES = (
    *({words.BIG, words.SMALL}, {words.OLD, words.NEW}, {words.OLD, everyday.YOUNG}),
    *({everyday.OPEN, everyday.CLOSED}, {everyday.CLEAN, everyday.DIRTY}, {words.HOT, words.COLD}),
    *({everyday.EASY, words.DIFFICULT}, {words.GOOD, everyday.BAD}, {words.HAPPY, words.SAD}),
)
_CONTAINERS = (words.BAG, words.BOX, words.SUITCASE)


def position(draw: Draw) -> Phrase:
    """Le livre est sur la table; il y a un chat sous le lit."""
    noun, many = draw.one((*everyday.THINGS, *everyday.PETS)), draw.chance(0.25)
    where = spot(draw)
    if noun in everyday.SMALL_THINGS and draw.chance(0.25):
        where = together(_INSIDE, noun_phrase(draw, draw.one(_CONTAINERS), "the", adjectives=()))
    if draw.chance(0.4):
        count: Determiner = "two" if many and draw.chance(0.4) else "a"
        what = noun_phrase(draw, noun, count, many=many)
        verb = "are" if many else "is"
        if draw.chance(0.3):
            opening = draw.one(("est-ce qu'il y a", "y a-t-il"))
            return asked(
                Phrase(f"{opening} {what.fr} {where.fr}", f"{verb} there {what.en} {where.en}")
            )
        return Phrase(f"il y a {what.fr} {where.fr}", f"there {verb} {what.en} {where.en}")
    kinds: tuple[Determiner, ...] = ("the", "the", "own", "this")
    owner = draw.one(phrases.SPEAKERS)
    what = noun_phrase(draw, noun, draw.one(kinds), many=many, owner=owner, adjectives=())
    subject = third(what, noun.feminine, many)
    if draw.chance(0.2):
        return clauses.be_question(subject, "present", where, inverted=draw.chance(0.5))
    return being(subject, "present", where, "pas" if draw.chance(0.2) else "")


def looks(draw: Draw) -> Phrase:
    """La maison est petite et rouge; le chat de Paul n'est pas noir; les enfants sont gentils."""
    tense: Tense = "past" if draw.chance(0.2) else "present"
    if draw.chance(0.3):
        who = person(draw)
        qualities: tuple[Adjective, ...] = everyday.MOODS
        subject = who
    else:
        noun = draw.one(everyday.DESCRIBED)
        many = noun in everyday.OFTEN_SEVERAL and draw.chance(0.4)
        kinds: tuple[Determiner, ...] = ("the", "the", "own", "this")
        if noun in everyday.NATURE:
            kinds = ("the",)
        owner = draw.one(phrases.SPEAKERS)
        what = noun_phrase(draw, noun, draw.one(kinds), many=many, owner=owner, adjectives=())
        if noun not in everyday.NATURE and draw.chance(0.2):
            of = draw.one(phrases.NAMES)
            what = phrases.belonging(phrases.nominal(noun, (), many), noun, of, many)
        subject = third(what, noun.feminine, many)
        qualities = noun.adjectives
    first, second = draw.one(qualities), draw.one(qualities)
    said = quality(first, subject)
    if draw.chance(0.1) and first is not second and {first, second} not in _OPPOSITES:
        other = quality(second, subject)
        said = Phrase(f"{said.fr} et {other.fr}", f"{said.en} and {other.en}")
    said = together(draw.one((NOTHING, NOTHING, NOTHING, Phrase("très", "very"))), said)
    if draw.chance(0.15) and subject.person not in (0, 3):
        return clauses.be_question(subject, tense, said, inverted=draw.chance(0.5))
    return being(subject, tense, said, "pas" if draw.chance(0.2) else "")


def having_things(draw: Draw) -> Phrase:
    """J'ai un chat; nous n'avons pas d'argent; as-tu un stylo ?"""
    subject = person(draw)
    if draw.chance(0.15):
        lacked = draw.one(everyday.LACKED)
        has = "has" if subject.singular_third else "have"
        fr = french.elide("de", lacked.fr)
        finite = verbs.HAVE.present[subject.person]
        return having(subject, finite, fr, f"{has} no {lacked.en}", "pas")
    several = draw.chance(0.4)
    noun = draw.one(everyday.COUNTED if several else (*everyday.PETS, *everyday.THINGS))
    denied = draw.chance(0.2) and not several
    if several:
        number = draw.one(everyday.UNITS[1:20])
        what = Phrase(f"{number.fr} {noun.fr_plural}", f"{number.en} {noun.en_plural}")
    else:
        what = noun_phrase(draw, noun, "a", denied=denied, many=draw.chance(0.15))
    if not denied and draw.chance(0.25) and subject.person not in (0, 3):
        inverted = draw.chance(0.6)
        return clauses.question(subject, verbs.HAVE, "present", what, NOTHING, inverted=inverted)
    return clause(subject, verbs.HAVE, "present", what, "pas" if denied else "")
