"""Two short clauses in one sentence, joined with et or mais."""

from dataclasses import replace

from regard.data.phrasebook.clauses import clause
from regard.data.phrasebook.descriptions import state
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.everyday import ALONE, OF_ANIMALS, WITH, ability, dealing, doing
from regard.data.phrasebook.everyday_subjects import creature, person
from regard.data.phrasebook.frames import Complement, one_of
from regard.data.phrasebook.places import NOTHING, Phrase
from regard.data.phrasebook.requests import order
from regard.data.phrasebook.scenes import having_things, looks
from regard.data.phrasebook.sentences import negative, statement
from regard.data.phrasebook.small_talk import feeling, sky
from regard.data.phrasebook.times import Tense
from regard.data.phrasebook.verbs import Verb

_LONGEST_CLAUSE = 6
_CLAUSES = wheel(
    *((statement, 5), (negative, 2), (doing, 4), (dealing, 4), (ability, 4), (looks, 3)),
    *((state, 3), (feeling, 2), (sky, 2), (having_things, 2), (order, 1)),
)
_TENSES: tuple[Tense, ...] = ("present", "present", "past")
_AND = Phrase(" et", " and")
_JOINING = wheel(
    (_AND, 5),
    (Phrase(", et", ", and"), 1),
    (Phrase(" mais", " but"), 2),
    (Phrase(", mais", ", but"), 3),
)


def two_clauses(draw: Draw) -> Phrase:
    """Je mange une pomme et je bois de l'eau; il pleut, mais je suis content."""
    if draw.chance(0.4):
        return _same_subject(draw)
    return _joined(_short(draw), draw.one(_JOINING), _short(draw))


def _joined(first: Phrase, joining: Phrase, second: Phrase) -> Phrase:
    fr = f"{first.fr}{joining.fr} {second.fr.strip()}"
    return Phrase(fr, f"{first.en}{joining.en} {second.en}")


def _short(draw: Draw) -> Phrase:
    """A statement of a few words without a comma or an et of its own."""
    while True:
        said = draw.one(_CLAUSES)(draw)
        plain = not set(said.fr) & set(",?!") and " et " not in said.fr
        if plain and said.fr.count(" ") < _LONGEST_CLAUSE:
            return said


def _same_subject(draw: Draw) -> Phrase:
    """Le chat mange et dort; elle a chanté et elle a dansé: the subject is named again or not."""
    animal = draw.chance(0.25)
    subject, tense = creature(draw) if animal else person(draw), draw.one(_TENSES)
    if animal or draw.chance(0.4):
        again, tense = replace(subject, fr="", en=""), "present"
    else:
        again = subject.pronoun
    first, second = _action(draw, animal), _action(draw, animal)
    while second[0] is first[0]:
        second = _action(draw, animal)
    did = [
        clause(who, verb, tense, complement(draw, who, False))
        for who, (verb, complement) in ((subject, first), (again, second))
    ]
    return _joined(did[0], _AND, did[1])


def _action(draw: Draw, animal: bool) -> tuple[Verb, Complement]:
    if animal or draw.chance(0.4):
        return draw.one(OF_ANIMALS if animal else ALONE)[0], one_of((NOTHING,))
    return draw.one(WITH)
