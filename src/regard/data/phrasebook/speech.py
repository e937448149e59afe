"""What somebody says, in its words: she says "hello", and "Hello," he says."""

from regard.data.phrasebook import asking, clauses, french, phrases, verbs
from regard.data.phrasebook.clauses import conjugate, invert
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.everyday import ability, dealing, doing
from regard.data.phrasebook.everyday_words import ASK
from regard.data.phrasebook.phrases import Subject, somebody
from regard.data.phrasebook.places import NOTHING, Phrase
from regard.data.phrasebook.scenes import looks
from regard.data.phrasebook.sentences import together
from regard.data.phrasebook.small_talk import HELLO, NO, YES, feeling, greeting
from regard.data.phrasebook.times import Tense

_WORDS = wheel(*((hello, 1) for hello in HELLO), (YES[0], 2), (NO, 2), (YES[2], 1))
_SENTENCES = (doing, dealing, looks, ability, feeling, greeting, asking.where, asking.who_is)
_LONGEST = 6
_TENSES: tuple[Tense, ...] = ("present", "present", "past")


def quoted(draw: Draw) -> Phrase:
    """Elle dit « bonjour », she says "hello"."""
    subject, word = somebody(draw), draw.one(_WORDS)
    tense: Tense = draw.one(("present", "past"))
    said = together(Phrase(f"« {word.fr} »", f'"{word.en}"'), _to_whom(draw))
    return clauses.clause(subject, verbs.SAY, tense, said)


def announced(draw: Draw) -> Phrase:
    """Elle dit : « Bonjour »; Paul a demandé : « Où est la gare ? »"""
    words = _capital(_words(draw))
    verb = ASK if words.fr.endswith("?") and draw.chance(0.5) else verbs.SAY
    subject = _speaker(draw) if verb is ASK else somebody(draw)
    said = clauses.clause(subject, verb, draw.one(_TENSES), NOTHING)
    if verb is verbs.SAY:
        said = together(said, _to_whom(draw))
    return Phrase(f"{said.fr} : « {words.fr} »", f'{said.en}: "{words.en}"')


def direct(draw: Draw) -> Phrase:
    """« Bonjour », dit-il; « Où est la gare ? » demande Marie."""
    words, subject, tense = _capital(_words(draw)), _speaker(draw), draw.one(_TENSES)
    # Demandé-je has a form of its own.
    verb = ASK if words.fr.endswith("?") and subject.person != 0 else verbs.SAY
    finite, participle = conjugate(verb, subject, tense)
    pronoun = subject is subject.pronoun
    fr = french.join(
        (invert(subject, finite), participle) if pronoun else (finite, participle, subject.fr)
    )
    en = clauses.clause(subject, verb, tense, NOTHING).en
    if words.fr.endswith(("?", "!")):
        return Phrase(f"« {words.fr} » {fr}", f'"{words.en}" {en}')
    return Phrase(f"« {words.fr} », {fr}", f'"{words.en}," {en}')


def in_quotes(draw: Draw) -> Phrase:
    """« Le chat dort. »"""
    words = _sentence(draw)
    if draw.chance(0.7):
        words = _capital(words)
    if not words.fr.endswith(("?", "!")) and draw.chance(0.5):
        words = Phrase(f"{words.fr}.", f"{words.en}.")
    return Phrase(f"« {words.fr} »", f'"{words.en}"')


def _capital(words: Phrase) -> Phrase:
    return Phrase(words.fr[0].upper() + words.fr[1:], words.en[0].upper() + words.en[1:])


def _words(draw: Draw) -> Phrase:
    if draw.chance(0.4):
        return _sentence(draw)
    word = draw.one(_WORDS)
    return Phrase(f"{word.fr} !", f"{word.en}!") if draw.chance(0.3) else word


def _sentence(draw: Draw) -> Phrase:
    while (said := draw.one(_SENTENCES)(draw)).fr.count(" ") >= _LONGEST:
        continue
    return said


def _to_whom(draw: Draw) -> Phrase:
    if not draw.chance(0.3):
        return NOTHING
    name = draw.one(phrases.NAMES)
    return Phrase(french.at(name.fr), f"to {name.en}")


def _speaker(draw: Draw) -> Subject:
    """Who is named after what is said: dit-il, demande ma sœur."""
    if draw.chance(0.6):
        return draw.one(
            (
                phrases.HE,
                phrases.HE,
                phrases.SHE,
                phrases.SHE,
                phrases.THEY_M,
                phrases.THEY_F,
                phrases.I_M,
            )
        )
    return somebody(draw, pronouns=False)
