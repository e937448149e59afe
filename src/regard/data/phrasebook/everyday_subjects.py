"""Who acts in small sentences: people, animals, and two of them joined with et."""

from regard.data.phrasebook import everyday_words as everyday
from regard.data.phrasebook import phrases, words
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.phrases import Determiner, Subject, noun_phrase, somebody, third
from regard.data.phrasebook.places import Phrase
from regard.data.phrasebook.words import Noun

# Each person as often as any other, so that all forms of a verb are heard.
_EVERY_PERSON = tuple(
    subject
    for person in range(6)
    for subject in (
        [one for one in phrases.PRONOUNS if one.person == person and one.feminine][-1],
        [one for one in phrases.PRONOUNS if one.person == person and not one.feminine][-1],
    )
)
_KINDS: tuple[Determiner, ...] = wheel(("the", 4), ("this", 2), ("own", 2), ("a", 1))


def _and(first: Subject, second: Subject) -> Subject:
    both = Phrase(f"{first.fr} et {second.fr}", f"{first.en} and {second.en}")
    return third(both, first.feminine and second.feminine, many=True)


def _two(draw: Draw, nouns: tuple[Noun, ...], kinds: tuple[Determiner, ...]) -> Subject:
    """Le chien et le chat; ma mère et mes sœurs; un homme et une femme."""
    kind, owner = draw.one(kinds), draw.one(phrases.SPEAKERS)
    chosen = [draw.one(nouns), draw.one(nouns)]
    while chosen[0].en == chosen[1].en:
        chosen[1] = draw.one(nouns)
    several = [bool(noun.adjectives) and draw.chance(0.15) for noun in chosen]
    return _and(
        *(
            third(noun_phrase(draw, noun, kind, many=many, owner=owner), noun.feminine, many)
            for noun, many in zip(chosen, several, strict=True)
        )
    )


def _two_people(draw: Draw) -> Subject:
    match draw.one(("kin", "kin", "people", "name")):
        case "kin":
            return _two(draw, words.KIN, ("own",))
        case "people":
            return _two(draw, everyday.PEOPLE, ("the", "the", "this", "a"))
        case _:
            name = draw.one(phrases.NAMES)
            other = phrases.kin(draw, name if draw.chance(0.5) else draw.one(phrases.SPEAKERS))
            return _and(name, other)


def creature(draw: Draw) -> Subject:
    """Le chat noir, mon petit chien, les oiseaux, le chien et le chat."""
    if draw.chance(0.2):
        return _two(draw, everyday.ANIMALS, _KINDS)
    noun, many = draw.one(everyday.ANIMALS), draw.chance(0.25)
    owner = draw.one(phrases.SPEAKERS)
    phrase = noun_phrase(draw, noun, draw.one(_KINDS), many=many, owner=owner)
    return third(phrase, noun.feminine, many)


def person(draw: Draw) -> Subject:
    if draw.chance(0.35):
        return draw.one(_EVERY_PERSON)
    if draw.chance(0.2):
        return _two_people(draw)
    if draw.chance(0.25):
        noun, many = draw.one(everyday.PEOPLE), draw.chance(0.25)
        kinds: tuple[Determiner, ...] = ("the", "the", "this", "this", "a")
        phrase = noun_phrase(draw, noun, draw.one(kinds), many=many)
        return third(phrase, noun.feminine, many)
    if draw.chance(0.1):
        noun = draw.one(everyday.RELATIVES)
        owner = draw.one(tuple(one for one in phrases.SPEAKERS if one.person in (0, 1, 4)))
        return third(noun_phrase(draw, noun, "own", owner=owner), noun.feminine)
    return somebody(draw)
