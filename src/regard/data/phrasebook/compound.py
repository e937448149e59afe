"""Two clauses in one sentence: because, when, in order to, who and that."""

from regard.data.phrasebook import french, verbs, words
from regard.data.phrasebook.clauses import (
    be_forms,
    being,
    clause,
    done_to,
    having,
    modal,
    occupation,
    quality,
    that,
)
from regard.data.phrasebook.draw import Draw
from regard.data.phrasebook.frames import (
    EATEN,
    FILMS,
    GIFTS,
    GOODS,
    HOMES,
    IN_COUNTRY,
    IN_TOWN,
    LOSABLE,
    MUSIC,
    PLANE,
    READ,
    RIDES,
    SIGHTS,
    SNACK,
    SONGS,
    TAXI,
    TRAIN,
    VEHICLES,
    Complement,
    either,
    one_of,
    someone,
    stuff,
    things,
)
from regard.data.phrasebook.phrases import Subject, noun_phrase, somebody, third
from regard.data.phrasebook.places import (
    AIRPORT,
    BEACH,
    CINEMA,
    HOTEL,
    IN_TOWNS,
    LANGUAGES,
    LIBRARY,
    MARKET,
    MUSEUM,
    PARK,
    RESTAURANT,
    SCHOOL,
    STATION,
    Phrase,
    towards,
)
from regard.data.phrasebook.sentences import together
from regard.data.phrasebook.times import TENSES, Tense, in_month_and_year
from regard.data.phrasebook.verbs import Verb

Action = tuple[Verb, Complement]

# Feelings that French expresses with avoir and English with to be.
FEELINGS = {
    "hungry": "faim",
    "thirsty": "soif",
    "cold": "froid",
    "hot": "chaud",
}
_HOT_DRINKS = stuff(words.HOT_DRINKS)
_WINDOW = one_of((Phrase("la fenêtre", "the window"),))
_EAT: Action = (verbs.EAT, either(EATEN, SNACK))
FELT: tuple[tuple[str, Action], ...] = (
    ("hungry", _EAT),
    ("hungry", (verbs.BUY, SNACK)),
    ("thirsty", (verbs.DRINK, stuff((*words.COLD_DRINKS, words.TEA)))),
    ("cold", (verbs.DRINK, _HOT_DRINKS)),
    ("cold", (verbs.CLOSE, _WINDOW)),
    ("cold", (verbs.BUY, things((words.COAT, words.HAT), ("a", 1)))),
    ("hot", (verbs.OPEN, _WINDOW)),
    ("hot", (verbs.DRINK, stuff(words.COLD_DRINKS))),
)
_JOYS: tuple[Action, ...] = (
    (verbs.FIND, LOSABLE),
    (verbs.FIND, HOMES),
    (verbs.BUY, GOODS),
    (verbs.VISIT, SIGHTS),
    (verbs.MEET, someone()),
)
_NOT_NOW = (Phrase("aujourd'hui", "today"), Phrase("ce matin", "this morning"))
_LATE = Phrase("en retard", "late")
_RAIN: tuple[Action, ...] = (
    (verbs.READ, READ),
    (verbs.WATCH, FILMS),
    (verbs.LISTEN, either(MUSIC, SONGS)),
    (verbs.TAKE, either(TAXI, RIDES)),
)
_WEATHER: tuple[tuple[Phrase, tuple[Action, ...]], ...] = (
    (Phrase("il pleut", "it rains"), _RAIN),
    (Phrase("il neige", "it snows"), _RAIN),
    (Phrase("il fait froid", "it is cold"), ((verbs.DRINK, _HOT_DRINKS), (verbs.CLOSE, _WINDOW))),
    (
        Phrase("il fait chaud", "it is hot"),
        (
            (verbs.OPEN, _WINDOW),
            (verbs.GO, one_of(towards(BEACH, PARK))),
            (verbs.DRINK, stuff(words.COLD_DRINKS)),
        ),
    ),
)
_ON_ARRIVAL: tuple[Action, ...] = (
    (verbs.VISIT, SIGHTS),
    (verbs.TAKE, either(TAXI, RIDES)),
    (verbs.BUY, GIFTS),
    (verbs.GO, one_of(towards(HOTEL, MUSEUM, RESTAURANT))),
)
ERRANDS: tuple[tuple[Phrase, Action], ...] = (
    (MARKET.towards, (verbs.BUY, EATEN)),
    (MARKET.towards, (verbs.BUY, SNACK)),
    (LIBRARY.towards, (verbs.READ, READ)),
    (CINEMA.towards, (verbs.WATCH, things((words.FILM,), ("a", 2), ("this", 1)))),
    (RESTAURANT.towards, _EAT),
    (STATION.towards, (verbs.TAKE, TRAIN)),
    (AIRPORT.towards, (verbs.TAKE, PLANE)),
    (PARK.towards, (verbs.READ, READ)),
    (SCHOOL.towards, (verbs.SPEAK, someone(Phrase("avec", "with")))),
    (HOTEL.towards, (verbs.MEET, someone())),
)
# What people may have done to a thing, for relative clauses.
_DONE: tuple[tuple[Verb, tuple[words.Noun, ...]], ...] = (
    (verbs.BUY, words.GOODS),
    (verbs.SELL, (*words.GOODS, *words.HOMES)),
    (verbs.WRITE, (*words.WRITING, words.SONG)),
)


def do(draw: Draw, subject: Subject, tense: Tense, action: Action) -> Phrase:
    verb, complement = action
    return clause(subject, verb, tense, complement(draw, subject, False))


def feel(subject: Subject, feeling: str, tense: Tense) -> Phrase:
    """Avoir faim, to be hungry; the past of a feeling is the imparfait."""
    en = be_forms(subject.person, tense)[1]
    forms = {"present": verbs.HAVE.present, "past": verbs.HAD, "future": verbs.HAVE.future}
    return having(subject, forms[tense][subject.person], FEELINGS[feeling], f"{en} {feeling}")


def _with_reason(main: Phrase, reason: Phrase) -> Phrase:
    return Phrase(f"{main.fr} parce {that(reason.fr)}", f"{main.en} because {reason.en}")


def because(draw: Draw) -> Phrase:
    subject = somebody(draw)
    again = subject.pronoun
    kind = draw.one(("feeling", "feeling", "joy", "joy", "language", "ill", "late"))
    if kind == "feeling":
        feeling, action = draw.one(FELT)
        tense: Tense = "past" if draw.chance(0.5) else "present"
        return _with_reason(do(draw, subject, tense, action), feel(again, feeling, tense))
    if kind == "joy":
        glad = draw.chance(0.6)
        action = draw.one(_JOYS) if glad else (verbs.LOSE, LOSABLE)
        mood = quality(words.HAPPY if glad else words.SAD, subject)
        return _with_reason(being(subject, "present", mood), do(draw, again, "past", action))
    if kind == "language":
        return _language_reason(draw, subject)
    if kind == "ill":
        state = quality(draw.one((words.ILL, words.TIRED, words.BUSY)), subject)
        main = clause(
            subject, draw.one((verbs.WORK, verbs.LEAVE)), "present", draw.one(_NOT_NOW), "pas"
        )
        return _with_reason(main, being(again, "present", state))
    late = third(draw.one(VEHICLES), feminine=False)
    reason = being(again if draw.chance(0.3) else late, "present", _LATE)
    return _with_reason(do(draw, subject, "present", (verbs.TAKE, TAXI)), reason)


def _language_reason(draw: Draw, subject: Subject) -> Phrase:
    """Learning Italian goes with wanting to see Italy."""
    (fr, en), country = draw.one(LANGUAGES)
    language = Phrase(french.definite(fr, feminine=False, many=False), en)
    main = clause(subject, verbs.LEARN, "present", language)
    again = subject.pronoun
    reason = draw.one(
        (
            modal(again, verbs.VISIT, verbs.WANT, country.name, ""),
            clause(again, verbs.LIKE, "present", country.name),
            clause(again, verbs.LIVE, "present", country.inside),
            clause(again, verbs.WORK, "present", country.inside),
            clause(again, verbs.VISIT, "future", country.name),
        )
    )
    return _with_reason(main, reason)


def at_the_time(draw: Draw) -> Phrase:
    """Quand …; after when, the French future is an English present."""
    subject = somebody(draw)
    again = subject.pronoun
    kind = draw.one(("weather", "arrival", "arrival", "feeling"))
    if kind == "weather":
        weather, actions = draw.one(_WEATHER)
        said = do(draw, subject, "present", draw.one(actions))
        if draw.chance(0.5):
            return Phrase(f"quand {weather.fr}, {said.fr}", f"when {weather.en}, {said.en}")
        return Phrase(f"{said.fr} quand {weather.fr}", f"{said.en} when {weather.en}")
    if kind == "feeling":
        feeling, action = draw.one(FELT)
        felt, said = feel(subject, feeling, "present"), do(draw, again, "present", action)
        return Phrase(f"quand {felt.fr}, {said.fr}", f"when {felt.en}, {said.en}")
    tense = draw.one(TENSES)
    place = draw.one(IN_TOWNS)
    arrival = clause(subject, verbs.ARRIVE, tense, place)
    if tense == "future":
        arrival = Phrase(arrival.fr, clause(subject, verbs.ARRIVE, "present", place).en)
    said = do(draw, again, tense, draw.one(_ON_ARRIVAL))
    return Phrase(f"quand {arrival.fr}, {said.fr}", f"when {arrival.en}, {said.en}")


def errand(draw: Draw) -> Phrase:
    """Somebody goes somewhere to do something there."""
    subject = somebody(draw)
    place, (verb, complement) = draw.one(ERRANDS)
    main = clause(subject, verbs.GO, draw.one(TENSES), place)
    what = complement(draw, subject, False)
    aim = Phrase(
        french.join(("pour", verb.infinitive, what.fr)),
        french.join(("to", verb.base, verb.particle, what.en)),
    )
    return together(main, aim)


def who(draw: Draw) -> Phrase:
    """L'homme qui habite à Lyon est médecin."""
    many = draw.chance(0.25)
    noun = draw.one((words.MAN, words.WOMAN))
    head = third(noun_phrase(draw, noun, "the", many=many, adjectives=()), noun.feminine, many)
    verb, complement = draw.one(
        (
            (verbs.LIVE, IN_TOWN),
            (verbs.LIVE, IN_COUNTRY),
            (verbs.WORK, IN_TOWN),
            (verbs.BUY, GOODS),
            (verbs.AWAIT, someone()),
            (verbs.SPEAK, someone(Phrase("avec", "with"))),
        )
    )
    tense: Tense = "past" if verb is verbs.BUY else "present"
    relative = clause(
        third(Phrase(f"{head.fr} qui", f"{head.en} who"), noun.feminine, many),
        verb,
        tense,
        complement(draw, None, False),
    )
    if draw.chance(0.7):
        said = occupation(draw.one(words.PROFESSIONS), head)
    else:
        said = quality(draw.one((*words.NATIONALITIES, *words.STATES)), head)
    return being(third(relative, noun.feminine, many), "present", said)


def which(draw: Draw) -> Phrase:
    """Les lettres que Paul a écrites sont longues: the participle agrees with the object before
    it.
    """
    verb, nouns = draw.one(_DONE)
    noun = draw.one(nouns)
    many = draw.chance(0.35)
    head = third(noun_phrase(draw, noun, "the", many=many, adjectives=()), noun.feminine, many)
    relative = done_to(somebody(draw), verb, head)
    if draw.chance(0.15):
        relative = together(relative, in_month_and_year(draw, "past"))
    whole = Phrase(f"{head.fr} {that(relative.fr)}", f"{head.en} that {relative.en}")
    said = quality(draw.one(noun.adjectives), head)
    return being(third(whole, noun.feminine, many), "present", said)
