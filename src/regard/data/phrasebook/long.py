"""Long sentences: tales, portraits and news, told clause by clause up to sixty words.

They have the same words and clauses as the short sentences, but more of them: lists of people and
things, clauses that continue with puis, mais and pendant que, reports with several que.
"""

from collections.abc import Callable, Iterator

from regard.data.phrasebook import verbs, words
from regard.data.phrasebook.clauses import being, clause, quality, that
from regard.data.phrasebook.compound import ERRANDS, FELT, do, feel, which, who
from regard.data.phrasebook.descriptions import (
    WHEREABOUTS,
    age,
    birth,
    comparison,
    description,
    possession,
    state,
)
from regard.data.phrasebook.documents import built, diplomacy, handled, treaty, written
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.frames import (
    DOINGS,
    IN_TOWN,
    WORKPLACE,
    Choice,
    Complement,
    Frame,
    pick,
)
from regard.data.phrasebook.french import join
from regard.data.phrasebook.phrases import NAMES, SPEAKERS, Subject, kin, somebody, third
from regard.data.phrasebook.places import IN_TOWNS, NOTHING, Phrase
from regard.data.phrasebook.sentences import REPORTS, negative, since, statement, together, wish
from regard.data.phrasebook.surroundings import existence, timetable, weather, whereabouts
from regard.data.phrasebook.times import TENSES, Scale, Tense, when

LONGEST_WORDS = 60

# Verbs whose objects may be a list: things bought, people met, countries visited.
_LISTED = (
    *(verbs.BUY, verbs.EAT, verbs.DRINK, verbs.READ, verbs.WRITE, verbs.LISTEN, verbs.WATCH),
    *(verbs.VISIT, verbs.MEET, verbs.AWAIT, verbs.SPEAK, verbs.GIVE, verbs.LOSE, verbs.FIND),
)
# Words that may occur more than once in a list.
_SMALL_WORDS = {
    *("a", "an", "the", "this", "these", "two", "three", "four"),
    *("with", "to", "my", "your", "his", "her", "our", "their"),
}
_IMPEDIMENTS = (words.ILL, words.TIRED, words.BUSY)
_WENT_ON = ("then", "then", "then", "other", "other", "not", "errand", "felt", "while")
_NEXT = (Phrase("puis", "then"), Phrase("puis", "then"), Phrase("ensuite", "afterwards"))
# In French the future stands after pendant que and parce que where English has the present.
_WILL_GO_ON = ("then", "then", "then", "other", "other", "not", "errand")

_PORTRAIT = wheel(
    *((state, 4), (age, 1), (birth, 2), (possession, 2), (since, 2), (description, 2)),
    *((comparison, 1), (who, 1), (which, 1), (wish, 2), (negative, 3), (statement, 3)),
)
_NEWS = wheel(
    *((treaty, 4), (diplomacy, 3), (built, 2), (written, 1), (handled, 1), (weather, 2)),
    *((timetable, 2), (whereabouts, 1), (existence, 2)),
)


def num_words(text: str) -> int:
    return text.count(" ") + 1


def long_sentence(draw: Draw, limit: int) -> Phrase:
    """A sentence of as many clauses as fit into `limit` French words; at least one."""
    return draw.one((_tale, _tale, _tale, _portrait, _news))(draw, limit)


def _fitting(clauses: Iterator[Phrase], limit: int) -> list[Phrase]:
    first = next(clauses)
    taken, length = [first], num_words(first.fr)
    for each in clauses:
        length += num_words(each.fr)
        if length > limit:
            break
        taken.append(each)
    return taken


def enumerated(parts: list[Phrase]) -> Phrase:
    """A, B et C; A, B and C."""
    if len(parts) == 1:
        return parts[0]
    *first, last = parts
    return Phrase(
        f"{', '.join(part.fr for part in first)} et {last.fr}",
        f"{', '.join(part.en for part in first)} and {last.en}",
    )


def _stated(draw: Draw, constructions: tuple[Callable[[Draw], Phrase], ...]) -> Iterator[Phrase]:
    """Statements that can be part of a list: they are no questions and contain no commas."""
    while True:
        said = draw.one(constructions)(draw)
        if said.fr[-1] != "?" and "," not in said.fr:
            yield said


def _portrait(draw: Draw, limit: int) -> Phrase:
    """Ma sœur est née à Lyon, nous avons deux vélos et Paul habite à Rome depuis 1999."""
    return enumerated(_fitting(_stated(draw, _PORTRAIT), limit))


def _news(draw: Draw, limit: int) -> Phrase:
    """Marie dit que l'accord a été signé, que le train part à huit heures et qu'il pleut à Rome."""
    main = clause(somebody(draw), draw.one(REPORTS[:3]), "present", NOTHING)
    reported = (Phrase(that(said.fr), f"that {said.en}") for said in _stated(draw, _NEWS))
    return together(main, enumerated(_fitting(reported, limit - num_words(main.fr))))


def _with_scale(*scales: Scale) -> Choice:
    groups = (tuple(frame for frame in group if frame.scale in scales) for group in DOINGS)
    return tuple(group for group in groups if group)


_JOURNEY = _with_scale("journey", "event")
_DAY = _with_scale("day", "event")
_DAY_PAST = _with_scale("day", "event", "accident")


def _tale(draw: Draw, limit: int) -> Phrase:
    """Hier, Marie a visité le musée, puis elle a acheté du pain, mais elle n'a pas lu ce livre."""
    tense, subject = draw.one(TENSES), _teller(draw)
    travels = draw.chance(0.4)
    doings = _JOURNEY if travels else _DAY_PAST if tense == "past" else _DAY
    opening = NOTHING
    match draw.one(("none", "time", "time", "arrival", "report")):
        case "time":
            time = when(draw, "journey" if travels else "event", tense)
            opening = Phrase(f"{time.fr},", f"{time.en},")
        case "arrival" if travels:
            opening = _arrival(draw, subject, tense)
            subject = subject.pronoun
        case "report":
            verb = verbs.HOPE if tense == "future" else draw.one(REPORTS[:3])
            main = clause(somebody(draw), verb, "present", NOTHING)
            told = _told(draw, doings, subject, tense, limit - num_words(main.fr) - 1)
            return Phrase(f"{main.fr} {that(told.fr)}", f"{main.en} that {told.en}")
    used = num_words(opening.fr) if opening.fr else 0
    return together(opening, _told(draw, doings, subject, tense, limit - used))


def _told(draw: Draw, doings: Choice, subject: Subject, tense: Tense, limit: int) -> Phrase:
    parts = _fitting(_events(draw, doings, subject, tense), limit)
    # Each part brings its comma with it, at the end of the part before it.
    return Phrase(
        " ".join(part.fr for part in parts).replace(" ,", ","),
        " ".join(part.en for part in parts).replace(" ,", ","),
    )


def _arrival(draw: Draw, subject: Subject, tense: Tense) -> Phrase:
    """Quand …; after when, the French future is an English present."""
    place = draw.one(IN_TOWNS)
    fr = clause(subject, verbs.ARRIVE, tense, place).fr
    en = clause(subject, verbs.ARRIVE, "present" if tense == "future" else tense, place).en
    return Phrase(f"quand {fr},", f"when {en},")


def _teller(draw: Draw) -> Subject:
    """Whom a tale is about: somebody, several people, or somebody described a little more."""
    match draw.one(("plain", "plain", "plain", "several", "known")):
        case "several":
            return _several_people(draw)
        case "known":
            person = draw.one(NAMES) if draw.chance(0.6) else kin(draw, draw.one(SPEAKERS))
            verb, place = draw.one(((verbs.LIVE, IN_TOWN), (verbs.WORK, WORKPLACE)))
            named = third(
                Phrase(f"{person.fr}, qui", f"{person.en}, who"), person.feminine, person.many
            )
            known = clause(named, verb, "present", place(draw, None, False))
            return third(Phrase(f"{known.fr},", f"{known.en},"), person.feminine, person.many)
        case _:
            return somebody(draw)


def _several_people(draw: Draw) -> Subject:
    people: list[Subject] = []
    wanted = draw.one((2, 3, 3, 4))
    while len(people) < wanted:
        person = draw.one(NAMES) if draw.chance(0.8) else kin(draw, draw.one(SPEAKERS))
        if all(person.fr != other.fr for other in people):
            people.append(person)
    together_named = enumerated([Phrase(person.fr, person.en) for person in people])
    return third(together_named, all(person.feminine for person in people), many=True)


def _events(draw: Draw, doings: Choice, subject: Subject, tense: Tense) -> Iterator[Phrase]:
    """What happens first and next, with the words that join each event to the one before."""
    yield _doing(draw, pick(draw, doings), subject, tense)
    kinds = _WILL_GO_ON if tense == "future" else _WENT_ON
    kind = ""
    while True:
        subject = subject.pronoun
        before, kind = kind, draw.one(kinds)
        if kind == before != "then":
            continue
        match kind:
            case "other":
                subject = _other(draw, subject)
                said = _doing(draw, pick(draw, doings), subject, tense)
                yield Phrase(f"et {said.fr}", f"and {said.en}")
            case "not":
                yield _after(Phrase("mais", "but"), _not_done(draw, doings, subject, tense))
            case "errand":
                yield _after(draw.one(_NEXT), _errand(draw, subject, tense))
            case "felt":
                feeling, action = draw.one(FELT)
                said = do(draw, subject, tense, action)
                yield _after(draw.one(_NEXT), _because(said, feel(subject, feeling, tense)))
            case "while":
                meanwhile = being(_other(draw, subject), tense, draw.one(WHEREABOUTS))
                yield Phrase(f"pendant {that(meanwhile.fr)}", f"while {meanwhile.en}")
            case _:
                yield _after(draw.one(_NEXT), _doing(draw, pick(draw, doings), subject, tense))


def _after(joining: Phrase, said: Phrase) -> Phrase:
    return Phrase(f", {joining.fr} {said.fr}", f", {joining.en} {said.en}")


def _because(said: Phrase, why: Phrase) -> Phrase:
    return Phrase(f"{said.fr} parce {that(why.fr)}", f"{said.en} because {why.en}")


def _other(draw: Draw, subject: Subject) -> Subject:
    """Somebody else, maybe a relative of the person in the last clause."""
    if draw.chance(0.5):
        return kin(draw, subject)
    while (other := somebody(draw, pronouns=False)).pronoun is subject.pronoun:
        continue
    return other


def _doing(draw: Draw, frame: Frame, subject: Subject, tense: Tense) -> Phrase:
    if frame.verb in _LISTED and draw.chance(0.5):
        what = _several(draw, frame.complement, subject)
    else:
        what = frame.complement(draw, subject, False)
    place = draw.one(frame.places) if frame.places and draw.chance(0.3) else NOTHING
    return clause(subject, frame.verb, tense, together(what, place))


def _several(draw: Draw, complement: Complement, subject: Subject) -> Phrase:
    """A list in which nothing occurs twice: no hat beside a red hat."""
    found: list[Phrase] = []
    named: set[str] = set()
    for _ in range(draw.one((2, 2, 3, 3, 4, 5))):
        what = complement(draw, subject, False)
        names = set(what.en.split()) - _SMALL_WORDS
        if not names & named:
            found.append(what)
            named |= names
    return enumerated(found)


def _not_done(draw: Draw, doings: Choice, subject: Subject, tense: Tense) -> Phrase:
    frame = pick(draw, doings)
    said = clause(subject, frame.verb, tense, frame.complement(draw, subject, True), "pas")
    if tense == "future" or draw.chance(0.5):
        return said
    return _because(said, being(subject, tense, quality(draw.one(_IMPEDIMENTS), subject)))


def _errand(draw: Draw, subject: Subject, tense: Tense) -> Phrase:
    place, (verb, complement) = draw.one(ERRANDS)
    listed = verb in _LISTED and draw.chance(0.5)
    what = _several(draw, complement, subject) if listed else complement(draw, subject, False)
    aim = Phrase(
        join(("pour", verb.infinitive, what.fr)),
        join(("to", verb.base, verb.particle, what.en)),
    )
    return together(clause(subject, verbs.GO, tense, place), aim)
