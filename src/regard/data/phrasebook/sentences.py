"""Sentences about what people do: statements, negations, questions and their combinations."""

from regard.data.phrasebook import frames, phrases, verbs
from regard.data.phrasebook.clauses import (
    Negation,
    asked,
    clause,
    modal,
    modal_question,
    question,
    that,
)
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.frames import DOINGS, Frame, pick
from regard.data.phrasebook.french import join
from regard.data.phrasebook.phrases import Subject, somebody
from regard.data.phrasebook.places import NOTHING, Phrase
from regard.data.phrasebook.times import DURATIONS, TENSES, Tense, a_year, takes_time, when

_OFTEN = Phrase("souvent", "often")
_ALWAYS = Phrase("toujours", "always")
_ADVERBS: dict[Tense, tuple[Phrase, ...]] = {"present": (_OFTEN, _ALWAYS), "past": (_OFTEN,)}
# Verbs that sound odd with often or always.
_SELDOM = (verbs.WRITE, verbs.OPEN, verbs.CLOSE, verbs.ARRIVE)
_NEGATIONS: tuple[Negation, ...] = wheel(("pas", 5), ("jamais", 3), ("plus", 2))
_QUESTION_WORDS = {
    "what": Phrase("que", "what"),
    "where": Phrase("où", "where"),
    "when": Phrase("quand", "when"),
    "why": Phrase("pourquoi", "why"),
}
_HELPERS = (verbs.WANT, verbs.CAN, verbs.MUST, verbs.GO)
REPORTS = (verbs.SAY, verbs.THINK, verbs.KNOW, verbs.HOPE)


def together(*parts: Phrase) -> Phrase:
    """Phrases one after the other, in the same order in both languages."""
    return Phrase(join([part.fr for part in parts]), join([part.en for part in parts]))


def tense_of(draw: Draw, frame: Frame) -> Tense:
    return "present" if frame.scale == "habit" else draw.one(TENSES)


def circumstances(draw: Draw, frame: Frame, tense: Tense, place: float, time: float) -> Phrase:
    """Maybe a place, maybe a time, with these chances."""
    parts = []
    if frame.places and draw.chance(place):
        parts.append(draw.one(frame.places))
    if draw.chance(time) and takes_time(frame.scale, tense):
        parts.append(when(draw, frame.scale, tense))
    return together(*parts)


def told(draw: Draw, frame: Frame, subject: Subject, tense: Tense, time: float = 0.5) -> Phrase:
    """The subject does what the frame says."""
    rest = together(
        frame.complement(draw, subject, False), circumstances(draw, frame, tense, 0.3, time)
    )
    return clause(subject, frame.verb, tense, rest)


def statement(draw: Draw) -> Phrase:
    frame, subject = pick(draw, DOINGS), somebody(draw)
    tense = tense_of(draw, frame)
    usual = frame.scale == "day" and frame.verb not in _SELDOM
    if usual and tense != "future" and draw.chance(0.25):
        rest = frame.complement(draw, subject, False)
        return clause(subject, frame.verb, tense, rest, adverb=draw.one(_ADVERBS[tense]))
    if takes_time(frame.scale, tense) and draw.chance(0.15):
        said = told(draw, frame, subject, tense, time=0.0)
        time = when(draw, frame.scale, tense)
        return Phrase(f"{time.fr}, {said.fr}", f"{time.en}, {said.en}")
    return told(draw, frame, subject, tense)


def journey(draw: Draw) -> Phrase:
    frame = pick(draw, frames.JOURNEYS)
    subject = somebody(draw, pronouns=draw.chance(0.3))
    tense = "present" if draw.chance(0.3) else draw.one(TENSES)
    return told(draw, frame, subject, tense, time=0.9)


def negative(draw: Draw) -> Phrase:
    negation = draw.one(_NEGATIONS)
    frame = pick(draw, frames.HABITS if negation == "plus" else DOINGS)
    subject = somebody(draw)
    tense: Tense = "present" if negation == "plus" else tense_of(draw, frame)
    if negation == "jamais" and frame.scale != "habit" and draw.chance(0.4):
        tense = "past"
    rest = frame.complement(draw, subject, True)
    time = 0.4 if negation == "pas" else 0.0
    rest = together(rest, circumstances(draw, frame, tense, 0.25, time))
    return clause(subject, frame.verb, tense, rest, negation)


def yes_no(draw: Draw) -> Phrase:
    frame, subject = pick(draw, DOINGS), phrases.asked_about(draw)
    tense = tense_of(draw, frame)
    rest = together(
        frame.complement(draw, subject, False), circumstances(draw, frame, tense, 0.25, 0.4)
    )
    return question(subject, frame.verb, tense, rest, NOTHING, inverted=draw.chance(0.5))


def question_word(draw: Draw) -> Phrase:
    if draw.chance(0.15):
        return _where(draw)
    frame = pick(draw, DOINGS)
    tense = tense_of(draw, frame)
    if draw.chance(0.2):
        rest = together(
            frame.complement(draw, None, False), circumstances(draw, frame, tense, 0.4, 0.4)
        )
        return asked(clause(phrases.WHO, frame.verb, tense, rest))
    subject = phrases.asked_about(draw)
    word = draw.one(frame.asks)
    rest = NOTHING if word == "what" else frame.complement(draw, subject, False)
    place = 0.0 if word == "where" else 0.4
    time = 0.0 if word == "when" else 0.5 if word == "what" else 0.15
    rest = together(rest, circumstances(draw, frame, tense, place, time))
    # After a question word, only a pronoun may follow the verb.
    inverted = word != "what" and subject is subject.pronoun and draw.chance(0.5)
    asking = _QUESTION_WORDS[word]
    return question(subject, frame.verb, tense, rest, asking, inverted=inverted)


def _where(draw: Draw) -> Phrase:
    verb, subject = draw.one(frames.WHEREABOUTS), phrases.asked_about(draw)
    tense = draw.one(TENSES)
    rest = when(draw, "journey", tense) if draw.chance(0.5) else NOTHING
    inverted = subject is subject.pronoun and draw.chance(0.5)
    return question(subject, verb, tense, rest, _QUESTION_WORDS["where"], inverted=inverted)


def _plan(draw: Draw, subject: Subject, denied: bool) -> tuple[Frame, Phrase]:
    frame = pick(draw, frames.PLANS)
    rest = frame.complement(draw, subject, denied)
    time = 0.0 if frame.scale == "life" else 0.35
    return frame, together(rest, circumstances(draw, frame, "future", 0.25, time))


def wish(draw: Draw) -> Phrase:
    denied = draw.chance(0.25)
    subject = somebody(draw)
    frame, rest = _plan(draw, subject, denied)
    return modal(subject, frame.verb, draw.one(_HELPERS), rest, "pas" if denied else "")


def wish_question(draw: Draw) -> Phrase:
    subject = phrases.asked_about(draw)
    frame, rest = _plan(draw, subject, False)
    return modal_question(subject, frame.verb, draw.one(_HELPERS), rest, inverted=draw.chance(0.5))


def report(draw: Draw) -> Phrase:
    """Paul dit que …; what is hoped for lies in the future."""
    speaker, verb = somebody(draw), draw.one(REPORTS)
    frame = pick(draw, frames.PLANS)
    tense = "future" if verb is verbs.HOPE else draw.one(TENSES)
    same = speaker.person in (2, 5) and draw.chance(0.5)
    subject = speaker.pronoun if same else somebody(draw)
    inner = told(draw, frame, subject, tense, time=0.3)
    main = clause(speaker, verb, "present", NOTHING)
    return Phrase(f"{main.fr} {that(inner.fr)}", f"{main.en} that {inner.en}")


def since(draw: Draw) -> Phrase:
    """Habite depuis, has lived since: the French present is an English perfect."""
    subject = somebody(draw)
    verb, complement = draw.one(
        (
            (verbs.LIVE, frames.IN_TOWN),
            (verbs.LIVE, frames.IN_COUNTRY),
            (verbs.WORK, frames.IN_TOWN),
            (verbs.WORK, frames.WORKPLACE),
        )
    )
    place = complement(draw, subject, False)
    if draw.chance(0.5):
        year = a_year(draw, "past")
        time = Phrase(f"depuis {year}", f"since {year}")
    else:
        time = draw.one(DURATIONS)
    fr = clause(subject, verb, "present", together(place, time)).fr
    perfect = f"{'has' if subject.singular_third else 'have'} {verb.past_participle}"
    return Phrase(fr, f"{subject.en} {perfect} {place.en} {time.en}")


def polite(draw: Draw) -> Phrase:
    """What a traveller asks for."""
    what = draw.one((frames.EATEN, frames.SNACK, frames.DRUNK, frames.CLOTHES))
    if draw.chance(0.6):
        thing = what(draw, None, False)
        said = Phrase(f"je voudrais {thing.fr}", f"I would like {thing.en}")
    else:
        subject = phrases.I_M
        frame, rest = _plan(draw, subject, False)
        fr = f"je voudrais {join((frame.verb.infinitive, rest.fr))}"
        en = f"I would like to {join((frame.verb.base, frame.verb.particle, rest.en))}"
        said = Phrase(fr, en)
    if draw.chance(0.5):
        return Phrase(f"{said.fr}, s'il vous plaît", f"{said.en}, please")
    return said
