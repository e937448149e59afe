"""Noun phrases and subjects: determiner, adjectives and noun agree and are in their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regard.data.phrasebook import english, french, words
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.places import Phrase
from regard.data.phrasebook.times import COUNTS
from regard.data.phrasebook.words import Adjective, Noun

Determiner = Literal["a", "the", "this", "own", "some", "two"]


@dataclass(frozen=True, slots=True)
class Subject:
    """Who acts. `person` is 0 (je) to 5 (ils); vous (4) may be one polite person or `many`."""

    fr: str
    en: str
    person: int
    feminine: bool
    many: bool

    @property
    def singular_third(self) -> bool:
        return self.person == 2

    @property
    def pronoun(self) -> "Subject":
        """The pronoun by which a sentence refers to this subject again."""
        if self.person == 2:
            return SHE if self.feminine else HE
        if self.person == 5:
            return THEY_F if self.feminine else THEY_M
        return self

    @property
    def their(self) -> str:
        """The English possessive; his or her follows the subject, not the thing owned."""
        return ("my", "your", "her" if self.feminine else "his", "our", "your", "their")[
            self.person
        ]


def third(phrase: Phrase, feminine: bool, many: bool = False) -> Subject:
    """A noun phrase as a subject."""
    return Subject(phrase.fr, phrase.en, 5 if many else 2, feminine, many)


HE = third(Phrase("il", "he"), feminine=False)
SHE = third(Phrase("elle", "she"), feminine=True)
THEY_M = third(Phrase("ils", "they"), feminine=False, many=True)
THEY_F = third(Phrase("elles", "they"), feminine=True, many=True)
WHO = third(Phrase("qui", "who"), feminine=False)
I_M = Subject("je", "I", 0, False, False)
I_F = Subject("je", "I", 0, True, False)

YOU_AND_THEY = wheel(
    (Subject("tu", "you", 1, False, False), 3),
    (Subject("tu", "you", 1, True, False), 3),
    (Subject("vous", "you", 4, False, False), 1),
    (Subject("vous", "you", 4, True, False), 1),
    (Subject("vous", "you", 4, False, True), 2),
    (Subject("vous", "you", 4, True, True), 2),
    (HE, 1),
    (SHE, 1),
    (THEY_M, 1),
    (THEY_F, 1),
)
PRONOUNS = YOU_AND_THEY + wheel(
    (I_M, 5),
    (I_F, 5),
    (Subject("nous", "we", 3, False, True), 5),
    (Subject("nous", "we", 3, True, True), 5),
)
NAMES = (
    *(third(Phrase(name, name), feminine=True) for name in words.WOMEN),
    *(third(Phrase(name, name), feminine=False) for name in words.MEN),
)
# Owners of people and things that may begin a sentence; with son or sa, his or her is unclear.
SPEAKERS = tuple(subject for subject in PRONOUNS if subject.person != 2)

_KINDS = wheel(
    ("pronoun", 62), ("name", 16), ("kin", 11), ("kin of", 4), ("profession", 4), ("couple", 3)
)
_KINDS_OTHER = wheel(("name", 45), ("kin", 30), ("kin of", 10), ("profession", 9), ("couple", 6))


def nominal(noun: Noun, adjectives: Sequence[Adjective], many: bool) -> Phrase:
    """Noun and adjectives without a determiner: petite voiture rouge, small red car."""
    form = 2 * many + noun.feminine
    fr = noun.fr_plural if many else noun.fr
    en = noun.en_plural if many else noun.en
    for adjective in adjectives:
        if not adjective.before:
            fr = f"{fr} {adjective.forms[form]}"
            en = f"{adjective.en} {en}"
    for adjective in adjectives:
        if adjective.before:
            liaison = form == 0 and french.opens_with_vowel(fr)
            fr = f"{adjective.liaison if liaison else adjective.forms[form]} {fr}"
            en = f"{adjective.en} {en}"
    return Phrase(fr, en)


def some_adjectives(draw: Draw, noun: Noun) -> tuple[Adjective, ...]:
    """None, one, or one on each side of the noun."""
    if not noun.adjectives or draw.chance(0.55):
        return ()
    first = draw.one(noun.adjectives)
    if first.before and draw.chance(0.5):
        second = draw.one(noun.adjectives)
        if second.stacks:
            return (first, second)
    return (first,)


def noun_phrase(
    draw: Draw,
    noun: Noun,
    determiner: Determiner,
    *,
    many: bool = False,
    owner: Subject | None = None,
    denied: bool = False,
    adjectives: Sequence[Adjective] | None = None,
) -> Phrase:
    """A noun with determiner and adjectives.

    `denied` puts the object of a negated verb under de (pas de pain). An unknown owner (Who lost
    …?) turns `own` into `the`.
    """
    if adjectives is None:
        adjectives = some_adjectives(draw, noun)
    if determiner == "two":
        many = True
    fr, en = nominal(noun, adjectives, many)
    match determiner:
        case "a" | "some" if denied:
            bare = many or determiner == "some"
            return Phrase(french.elide("de", fr), en if bare else english.indefinite(en))
        case "a" if many:
            preposed = any(adjective.before for adjective in adjectives)
            return Phrase(french.elide("de", fr) if preposed else f"des {fr}", en)
        case "a":
            return Phrase(french.indefinite(fr, noun.feminine), english.indefinite(en))
        case "some":
            return Phrase(french.of(french.definite(fr, noun.feminine, many=False)), en)
        case "this":
            fr = french.demonstrative(fr, noun.feminine, many)
            return Phrase(fr, f"these {en}" if many else f"this {en}")
        case "two":
            count = draw.one(COUNTS)
            return Phrase(f"{count.fr} {fr}", f"{count.en} {en}")
        case "own" if owner is not None:
            fr = french.possessive(fr, owner.person, noun.feminine, many)
            return Phrase(fr, f"{owner.their} {en}")
        case _:
            return Phrase(french.definite(fr, noun.feminine, many), f"the {en}")


def belonging(thing: Phrase, noun: Noun, owner: Subject, many: bool) -> Phrase:
    """La sœur de Paul, Paul's sister; la maison de mes parents, my parents' house."""
    fr = f"{french.definite(thing.fr, noun.feminine, many)} {french.of(owner.fr)}"
    plural = owner.many and " and " not in owner.en
    return Phrase(fr, f"{english.genitive(owner.en, plural)} {thing.en}")


def kin(draw: Draw, owner: Subject) -> Subject:
    """A relative or friend of the owner: ma sœur, leurs voisins."""
    many = draw.chance(0.35)
    noun = draw.one(words.KIN_PLURAL if many else words.KIN)
    phrase = noun_phrase(draw, noun, "own", many=many, owner=owner, adjectives=())
    return third(phrase, noun.feminine, many)


def _kin_of(draw: Draw) -> Subject:
    owner = draw.one(NAMES)
    many = draw.chance(0.3)
    noun = draw.one(words.KIN_PLURAL if many else words.KIN)
    return third(belonging(nominal(noun, (), many), noun, owner, many), noun.feminine, many)


def _profession(draw: Draw) -> Subject:
    if draw.chance(0.35):
        noun, many = draw.one(words.CROWDS), True
    else:
        noun, many = draw.one(draw.one(words.PROFESSIONS)), False
    phrase = noun_phrase(draw, noun, "the", many=many, adjectives=())
    return third(phrase, noun.feminine, many)


def _couple(draw: Draw) -> Subject:
    first, second = draw.one(NAMES), draw.one(NAMES)
    while second is first:
        second = draw.one(NAMES)
    feminine = first.feminine and second.feminine
    both = Phrase(f"{first.fr} et {second.fr}", f"{first.en} and {second.en}")
    return third(both, feminine, many=True)


def somebody(draw: Draw, *, pronouns: bool = True) -> Subject:
    """Anybody who may be the subject of a sentence."""
    match draw.one(_KINDS if pronouns else _KINDS_OTHER):
        case "pronoun":
            return draw.one(PRONOUNS)
        case "name":
            return draw.one(NAMES)
        case "kin":
            return kin(draw, draw.one(SPEAKERS))
        case "kin of":
            return _kin_of(draw)
        case "profession":
            return _profession(draw)
        case _:
            return _couple(draw)


def asked_about(draw: Draw) -> Subject:
    """Whom a question is about; nobody asks about himself."""
    return draw.one(YOU_AND_THEY) if draw.chance(0.6) else somebody(draw, pronouns=False)


def someone_else(draw: Draw, subject: Subject | None) -> Phrase:
    """A person as an object, never the subject itself."""
    while True:
        if subject is not None and draw.chance(0.5):
            other = kin(draw, subject)
        else:
            other = draw.one(NAMES) if draw.chance(0.7) else _profession(draw)
        if subject is None or other.fr not in subject.fr:
            return Phrase(other.fr, other.en)
