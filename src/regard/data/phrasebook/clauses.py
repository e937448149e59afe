"""Clauses: subject and verb agree, negation wraps the verb, questions turn it round."""

from typing import Literal

from regard.data.phrasebook import french
from regard.data.phrasebook.phrases import Subject
from regard.data.phrasebook.places import NOTHING, Phrase
from regard.data.phrasebook.times import Tense
from regard.data.phrasebook.verbs import (
    BE,
    ENGLISH_BE,
    ENGLISH_WAS,
    HAVE,
    WAS,
    Verb,
)
from regard.data.phrasebook.words import Adjective, Noun

Negation = Literal["", "pas", "jamais", "plus"]


def conjugate(verb: Verb, subject: Subject, tense: Tense) -> tuple[str, str]:
    """The finite verb and, in the passé composé, the participle after it."""
    person = subject.person
    if tense == "present":
        return verb.present[person], ""
    if tense == "future":
        return verb.future[person], ""
    if verb.with_etre:
        return BE.present[person], french.agree(verb.participle, subject.feminine, subject.many)
    return HAVE.present[person], verb.participle


def _say(subject: str, finite: str, negation: str) -> str:
    """Subject, ne and verb with their elisions: je n'aime pas."""
    if negation:
        finite = f"{french.elide('ne', finite)} {negation}"
    return french.elide("je", finite) if subject == "je" else f"{subject} {finite}"


def _english(verb: Verb, subject: Subject, tense: Tense, negation: Negation, adverb: str) -> str:
    """The English verb group with its auxiliaries."""
    third = subject.singular_third
    match tense, negation:
        case "present", "pas":
            group = f"{'does' if third else 'do'} not {verb.base}"
        case "past", "pas":
            group = f"did not {verb.base}"
        case "future", "":
            group = f"will {verb.base}"
        case "future", _:
            group = f"will {_NEGATIVES[negation]} {verb.base}"
        case "past", "jamais":
            group = f"{'has' if third else 'have'} never {verb.past_participle}"
        case "past", _:
            group = f"{adverb} {verb.past}" if adverb else verb.past
        case _:
            finite = verb.third if third else verb.base
            group = f"{_NEGATIVES[negation] or adverb} {finite}".lstrip()
    return f"{group} {verb.particle}" if verb.particle else group


_NEGATIVES: dict[Negation, str] = {
    "": "",
    "pas": "not",
    "jamais": "never",
    "plus": "no longer",
}


def clause(
    subject: Subject,
    verb: Verb,
    tense: Tense,
    rest: Phrase,
    negation: Negation = "",
    adverb: Phrase = NOTHING,
) -> Phrase:
    """A statement. `adverb` (souvent) follows the French finite verb and precedes the English."""
    finite, participle = conjugate(verb, subject, tense)
    fr = french.join((_say(subject.fr, finite, negation), adverb.fr, participle, rest.fr))
    group = _english(verb, subject, tense, negation, adverb.en)
    return Phrase(fr, french.join((subject.en, group, rest.en)))


def done_to(subject: Subject, verb: Verb, thing: Subject) -> Phrase:
    """(Les lettres que) Paul a écrites: with avoir, the participle agrees with a preceding
    object.
    """
    participle = french.agree(verb.participle, thing.feminine, thing.many)
    fr = f"{_say(subject.fr, HAVE.present[subject.person], '')} {participle}"
    return Phrase(fr, f"{subject.en} {verb.past}")


def that(words: str) -> str:
    return french.elide("que", words)


def asked(words: Phrase) -> Phrase:
    """French puts a space before its question mark."""
    return Phrase(f"{words.fr} ?", f"{words.en}?")


def invert(subject: Subject, finite: str) -> str:
    """`achète` → `achète-t-il`; a noun stays in front: Marie achète-t-elle."""
    pronoun = subject.pronoun.fr
    link = "-t-" if finite[-1] in "ae" and subject.person == 2 else "-"
    turned = f"{finite}{link}{pronoun}"
    return turned if pronoun == subject.fr else f"{subject.fr} {turned}"


def question(
    subject: Subject, verb: Verb, tense: Tense, rest: Phrase, asking: Phrase, *, inverted: bool
) -> Phrase:
    """A question; `asking` is the question word or nothing."""
    finite, participle = conjugate(verb, subject, tense)
    if inverted:
        fr = french.join((asking.fr, invert(subject, finite), participle, rest.fr))
    else:
        opening = f"{asking.fr} est-ce" if asking.fr else "est-ce"
        if asking.en == "what":
            opening = "qu'est-ce"
        said = french.join((_say(subject.fr, finite, ""), participle, rest.fr))
        fr = f"{opening} {that(said)}"
    if tense == "present":
        auxiliary = "does" if subject.singular_third else "do"
    else:
        auxiliary = "did" if tense == "past" else "will"
    en = french.join((asking.en, auxiliary, subject.en, verb.base, verb.particle, rest.en))
    return asked(Phrase(fr, en))


def modal(
    subject: Subject, verb: Verb, helper: Verb, rest: Phrase, negation: Literal["", "pas"]
) -> Phrase:
    """Want, can, must or (with aller) be going to do something."""
    finite = helper.present[subject.person]
    fr = french.join((_say(subject.fr, finite, negation), verb.infinitive, rest.fr))
    group = modal_group(subject, helper, negation)
    return Phrase(fr, french.join((subject.en, group, verb.base, verb.particle, rest.en)))


def modal_group(subject: Subject, helper: Verb, negation: Literal["", "pas"]) -> str:
    if helper.infinitive == "aller":
        return f"{ENGLISH_BE[subject.person]}{' not' if negation else ''} going to"
    if helper.particle:
        if negation:
            return f"{'does' if subject.singular_third else 'do'} not {helper.base} to"
        return f"{helper.third if subject.singular_third else helper.base} to"
    if negation:
        return "cannot" if helper.base == "can" else f"{helper.base} not"
    return helper.base


def modal_question(
    subject: Subject, verb: Verb, helper: Verb, rest: Phrase, *, inverted: bool
) -> Phrase:
    finite = helper.present[subject.person]
    if inverted:
        opening = invert(subject, finite)
    else:
        opening = f"est-ce {that(_say(subject.fr, finite, ''))}"
    if helper.infinitive == "aller":
        auxiliary, linking = ENGLISH_BE[subject.person], "going to"
    elif helper.particle:
        auxiliary, linking = ("does" if subject.singular_third else "do"), f"{helper.base} to"
    else:
        auxiliary, linking = helper.base, ""
    en = french.join((auxiliary, subject.en, linking, verb.base, verb.particle, rest.en))
    return asked(Phrase(french.join((opening, verb.infinitive, rest.fr)), en))


def passive(
    thing: Subject, verb: Verb, tense: Tense, rest: Phrase, negation: Literal["", "pas"] = ""
) -> Phrase:
    """Est, a été or sera signé; the past participle agrees with the thing."""
    if tense == "past":
        finite, en = HAVE.present[thing.person], ENGLISH_WAS[thing.person]
    else:
        finite, en = be_forms(thing.person, tense)
    if negation:
        en = "will not be" if tense == "future" else f"{en} not"
    participle = french.agree(verb.participle, thing.feminine, thing.many)
    been = "été" if tense == "past" else ""
    fr = french.join((_say(thing.fr, finite, negation), been, participle, rest.fr))
    return Phrase(fr, french.join((thing.en, en, verb.past_participle, rest.en)))


def passive_question(thing: Subject, verb: Verb, tense: Tense, rest: Phrase) -> Phrase:
    fr = f"est-ce {that(passive(thing, verb, tense, rest).fr)}"
    if tense == "future":
        opening = f"will {thing.en} be"
    else:
        forms = ENGLISH_BE if tense == "present" else ENGLISH_WAS
        opening = f"{forms[thing.person]} {thing.en}"
    return asked(Phrase(fr, french.join((opening, verb.past_participle, rest.en))))


def be_forms(person: int, tense: Tense) -> tuple[str, str]:
    """Être and to be; the past of a state is the imparfait."""
    if tense == "present":
        return BE.present[person], ENGLISH_BE[person]
    if tense == "past":
        return WAS[person], ENGLISH_WAS[person]
    return BE.future[person], "will be"


def being(
    subject: Subject, tense: Tense, rest: Phrase, negation: Literal["", "pas", "plus"] = ""
) -> Phrase:
    """Somebody or something is, was or will be."""
    finite, en = be_forms(subject.person, tense)
    fr = f"{_say(subject.fr, finite, negation)} {rest.fr}"
    if negation:
        word = _NEGATIVES[negation]
        en = f"will {word} be" if tense == "future" else f"{en} {word}"
    return Phrase(fr, f"{subject.en} {en} {rest.en}")


def having(
    subject: Subject, finite: str, rest_fr: str, en: str, negation: Literal["", "pas"] = ""
) -> Phrase:
    """Avoir where English says something else: avoir faim, avoir vingt ans."""
    return Phrase(f"{_say(subject.fr, finite, negation)} {rest_fr}", f"{subject.en} {en}")


def be_question(subject: Subject, tense: Tense, rest: Phrase, *, inverted: bool) -> Phrase:
    finite, en = be_forms(subject.person, tense)
    if inverted:
        opening = invert(subject, finite)
    else:
        opening = f"est-ce {that(_say(subject.fr, finite, ''))}"
    if tense == "future":
        return asked(Phrase(f"{opening} {rest.fr}", f"will {subject.en} be {rest.en}"))
    return asked(Phrase(f"{opening} {rest.fr}", f"{en} {subject.en} {rest.en}"))


def quality(adjective: Adjective, subject: Subject) -> Phrase:
    """An adjective that agrees with its subject."""
    return Phrase(adjective.forms[2 * subject.many + subject.feminine], adjective.en)


def occupation(pair: tuple[Noun, Noun], subject: Subject) -> Phrase:
    """Elle est étudiante, she is a student; French drops the article."""
    noun = pair[subject.feminine]
    if subject.many:
        return Phrase(noun.fr_plural, noun.en_plural)
    article = "an" if noun.en[0] in "aeiou" else "a"
    return Phrase(noun.fr, f"{article} {noun.en}")
