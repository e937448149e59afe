"""Who does what to what, where and when: each verb with the objects and places that suit it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from regard.data.phrasebook import french, verbs, words
from regard.data.phrasebook.draw import Draw, wheel
from regard.data.phrasebook.phrases import Determiner, Subject, noun_phrase, someone_else
from regard.data.phrasebook.places import (
    AIRPORT,
    AT_HOME,
    BANK,
    BEACH,
    COUNTRIES,
    FLOORS,
    HOSPITAL,
    HOTEL,
    IN_COUNTRIES,
    IN_THE_GARDEN,
    IN_THE_KITCHEN,
    IN_TOWNS,
    LANGUAGES,
    LIBRARY,
    MARKET,
    NOTHING,
    OFFICE,
    PARK,
    RESTAURANT,
    SCHOOL,
    SPOTS,
    STATION,
    THEATRE,
    TOWNS,
    UNIVERSITY,
    Phrase,
    away,
    inside,
    names,
    towards,
)
from regard.data.phrasebook.times import Scale
from regard.data.phrasebook.verbs import Verb
from regard.data.phrasebook.words import Noun

# Draws what follows the verb. The owner decides son or sa; True means that the verb is negated.
Complement = Callable[[Draw, Subject | None, bool], Phrase]


@dataclass(frozen=True, slots=True)
class Frame:
    """One use of a verb. `asks` lists the question words that make sense with it."""

    verb: Verb
    complement: Complement
    places: tuple[Phrase, ...]
    scale: Scale
    asks: tuple[str, ...]


def things(
    nouns: tuple[Noun, ...], *determiners: tuple[Determiner, int], many: float = 0.3
) -> Complement:
    """Countable things: une voiture rouge, ses clés, de belles fleurs."""
    choices = wheel(*determiners)

    def complement(draw: Draw, owner: Subject | None, denied: bool) -> Phrase:
        noun, determiner, plural = draw.one(nouns), draw.one(choices), draw.chance(many)
        return noun_phrase(draw, noun, determiner, many=plural, owner=owner, denied=denied)

    return complement


def stuff(nouns: tuple[Noun, ...]) -> Complement:
    """Uncountable things: du pain, de l'eau froide; pas de pain."""

    def complement(draw: Draw, owner: Subject | None, denied: bool) -> Phrase:
        return noun_phrase(draw, draw.one(nouns), "some", denied=denied)

    return complement


def one_of(phrases: tuple[Phrase, ...]) -> Complement:
    """Words that stay the same under negation: à Paris, le train, l'Afrique."""

    def complement(draw: Draw, owner: Subject | None, denied: bool) -> Phrase:
        return draw.one(phrases)

    return complement


def either(*complements: Complement) -> Complement:
    def complement(draw: Draw, owner: Subject | None, denied: bool) -> Phrase:
        return draw.one(complements)(draw, owner, denied)

    return complement


def someone(before: Phrase = NOTHING) -> Complement:
    """Another person, maybe after a preposition."""

    def complement(draw: Draw, owner: Subject | None, denied: bool) -> Phrase:
        person = someone_else(draw, owner)
        return Phrase(french.join((before.fr, person.fr)), french.join((before.en, person.en)))

    return complement


def to_someone(what: Complement) -> Complement:
    """A thing and the person who gets it: un livre à sa sœur."""

    def complement(draw: Draw, owner: Subject | None, denied: bool) -> Phrase:
        thing = what(draw, owner, denied)
        person = someone_else(draw, owner)
        return Phrase(f"{thing.fr} {french.at(person.fr)}", f"{thing.en} to {person.en}")

    return complement


_NOWHERE: tuple[Phrase, ...] = ()
_FOR_TOWNS = tuple(Phrase(f"pour {fr}", f"to {en}") for fr, en in names(*TOWNS))
_FOR_SPOTS = tuple(
    Phrase(f"pour {fr}", f"to {en}") for fr, en in names(STATION, AIRPORT, HOTEL, HOSPITAL)
)
_LEAVING = tuple(Phrase(f"pour {fr}", f"for {en}") for fr, en in names(*TOWNS, *COUNTRIES))
_LANGUAGES = tuple(
    Phrase(french.definite(fr, feminine=False, many=False), en) for (fr, en), _ in LANGUAGES
)
_SPOKEN = tuple(language for language, _ in LANGUAGES)
_WORKPLACES = inside(BANK, HOSPITAL, OFFICE, RESTAURANT, HOTEL, UNIVERSITY, LIBRARY, THEATRE)
_TRAIN = Phrase("le train", "the train")
_BUS = Phrase("le bus", "the bus")
_PLANE = Phrase("l'avion", "the plane")
VEHICLES = (_TRAIN, _BUS, _PLANE)
_TELEVISION = Phrase("la télévision", "television")
_RADIO = Phrase("la radio", "the radio")

EATEN = stuff(words.FOOD)
SNACK = things(words.SNACKS, ("a", 3), ("two", 1))
DRUNK = stuff(words.DRINKS)
READ = things(words.READING, ("a", 3), ("the", 2), ("this", 1))
WRITTEN = things(words.NEW_WRITING, ("a", 3), ("this", 1))
FILMS = things(words.WATCHING, ("a", 2), ("this", 1))
THIS_WORK = things((words.FILM, words.SONG, words.NOVEL), ("this", 1))
GOODS = things(words.GOODS, ("a", 4), ("this", 2), ("two", 1))
CLOTHES = things(words.CLOTHES, ("a", 2), ("this", 1))
LOSABLE = either(
    things(words.LOSABLE, ("own", 1), many=0.0),
    things((words.KEY, words.TICKET, words.SUITCASE), ("own", 1), many=1.0),
)
HOMES = things(words.HOMES, ("a", 1), many=0.0)
OPENABLE = things(words.OPENABLE, ("the", 3), ("this", 1))
SIGHTS = things(words.SIGHTS, ("the", 1), ("this", 1))
TO_WRITE = to_someone(things(words.without((words.LETTER,), words.OLD), ("a", 1)))
GIFTS = things(words.GIFTS, ("a", 3), ("this", 2), ("two", 1))
SONGS = things((words.SONG,), ("a", 2), ("this", 2), ("the", 1))
MUSIC = stuff((words.MUSIC,))
LANGUAGE = one_of(_LANGUAGES)
COUNTRY = one_of(names(*COUNTRIES))
TOWN = one_of(names(*TOWNS))
IN_TOWN = one_of(IN_TOWNS)
IN_COUNTRY = one_of(IN_COUNTRIES)
ARRIVALS = one_of(inside(STATION, AIRPORT, SCHOOL, OFFICE, HOTEL))
WORKPLACE = one_of(_WORKPLACES)
TAXI = things((words.TAXI,), ("a", 1), many=0.0)
RIDES = one_of(VEHICLES)
TRAIN = one_of((_TRAIN,))
PLANE = one_of((_PLANE,))


def _of_generic(noun: Noun, many: bool) -> Phrase:
    fr = french.definite(noun.fr_plural if many else noun.fr, noun.feminine, many)
    return Phrase(fr, noun.en_plural if many else noun.en)


# Things that people like in general: French has the article, English has none.
LIKED = one_of(
    tuple(_of_generic(noun, False) for noun in (*words.FOOD, *words.DRINKS, words.MUSIC))
    + tuple(_of_generic(noun, True) for noun in (*words.SNACKS, words.FLOWER))
)

_WHEN_WHY = ("when", "why")
_EVERYWHERE = ("where", "when", "why")
_EVERYTHING = ("what", "where", "when", "why")
_WHAT_WHERE = ("what", "where")
_WHAT_WHY = ("what", "why")

_FRAMES = (
    Frame(verbs.VISIT, COUNTRY, _NOWHERE, "journey", _WHEN_WHY),
    Frame(verbs.VISIT, TOWN, _NOWHERE, "journey", _WHEN_WHY),
    Frame(verbs.VISIT, SIGHTS, _NOWHERE, "event", ("what", "when", "why")),
    Frame(verbs.GO, one_of(towards(*COUNTRIES, *TOWNS)), _NOWHERE, "journey", _WHEN_WHY),
    Frame(verbs.GO, one_of(towards(*SPOTS)), _NOWHERE, "day", _WHEN_WHY),
    Frame(verbs.LIVE, one_of(IN_TOWNS + IN_COUNTRIES), _NOWHERE, "life", ("why",)),
    Frame(verbs.LIVE, one_of(FLOORS), _NOWHERE, "life", ("why",)),
    Frame(verbs.WORK, one_of(_WORKPLACES), _NOWHERE, "day", _WHEN_WHY),
    Frame(verbs.WORK, one_of(IN_TOWNS + IN_COUNTRIES), _NOWHERE, "life", ("why",)),
    Frame(verbs.ARRIVE, IN_TOWN, _NOWHERE, "event", _WHEN_WHY),
    Frame(verbs.ARRIVE, ARRIVALS, _NOWHERE, "day", _WHEN_WHY),
    Frame(verbs.LEAVE, one_of(_LEAVING), _NOWHERE, "journey", _WHEN_WHY),
    Frame(verbs.RETURN, one_of(away(*COUNTRIES, *TOWNS)), _NOWHERE, "journey", _WHEN_WHY),
    Frame(verbs.RETURN, one_of(away(*SPOTS)), _NOWHERE, "day", _WHEN_WHY),
    Frame(verbs.BUY, GOODS, IN_TOWNS, "event", _EVERYTHING),
    Frame(verbs.BUY, EATEN, inside(MARKET), "day", _EVERYTHING),
    Frame(verbs.EAT, EATEN, (AT_HOME, *inside(RESTAURANT, HOTEL)), "day", _EVERYTHING),
    Frame(verbs.EAT, SNACK, (IN_THE_GARDEN, *inside(PARK, SCHOOL)), "day", _EVERYTHING),
    Frame(verbs.DRINK, DRUNK, (AT_HOME, *inside(RESTAURANT, HOTEL, OFFICE)), "day", _EVERYTHING),
    Frame(verbs.READ, READ, (AT_HOME, IN_THE_GARDEN, *inside(LIBRARY)), "day", _EVERYTHING),
    Frame(verbs.WRITE, WRITTEN, (AT_HOME, *inside(LIBRARY)), "day", _EVERYTHING),
    Frame(verbs.WRITE, TO_WRITE, _NOWHERE, "day", _WHEN_WHY),
    Frame(verbs.LEARN, LANGUAGE, inside(SCHOOL, UNIVERSITY), "life", _EVERYTHING),
    Frame(verbs.LEARN, LANGUAGE, IN_TOWNS, "life", _EVERYTHING),
    Frame(verbs.SPEAK, one_of(_SPOKEN), (AT_HOME, *inside(SCHOOL, OFFICE)), "timeless", ("why",)),
    Frame(verbs.SPEAK, someone(Phrase("avec", "with")), inside(OFFICE), "day", _WHEN_WHY),
    Frame(verbs.WATCH, FILMS, (AT_HOME, *inside(HOTEL)), "day", _EVERYTHING),
    Frame(verbs.WATCH, one_of((_TELEVISION,)), (AT_HOME, *inside(HOTEL)), "day", _WHEN_WHY),
    Frame(verbs.LISTEN, SONGS, (AT_HOME, IN_THE_KITCHEN), "day", _WHAT_WHY),
    Frame(verbs.LISTEN, MUSIC, (AT_HOME, IN_THE_GARDEN), "day", _WHAT_WHY),
    Frame(verbs.LISTEN, one_of((_RADIO,)), (AT_HOME, IN_THE_KITCHEN), "day", _WHEN_WHY),
    Frame(verbs.AWAIT, TRAIN, inside(STATION), "day", _EVERYWHERE),
    Frame(verbs.AWAIT, PLANE, inside(AIRPORT), "day", _EVERYWHERE),
    Frame(verbs.AWAIT, someone(), inside(STATION, AIRPORT, RESTAURANT, PARK), "day", _EVERYWHERE),
    Frame(verbs.TAKE, RIDES, _FOR_TOWNS, "day", _WHEN_WHY),
    Frame(verbs.TAKE, TAXI, _FOR_SPOTS, "day", _WHEN_WHY),
    Frame(verbs.MEET, someone(), IN_TOWNS, "journey", _EVERYWHERE),
    Frame(verbs.MEET, someone(), inside(STATION, PARK, LIBRARY, MARKET), "day", _EVERYWHERE),
    Frame(verbs.FIND, LOSABLE, (IN_THE_KITCHEN, *inside(HOTEL, BEACH)), "accident", _WHAT_WHERE),
    Frame(verbs.FIND, HOMES, IN_TOWNS, "journey", _WHAT_WHY),
    Frame(verbs.LOSE, LOSABLE, inside(STATION, AIRPORT, BEACH, MARKET), "accident", _WHAT_WHERE),
    Frame(verbs.OPEN, OPENABLE, _NOWHERE, "day", _WHAT_WHY),
    Frame(verbs.CLOSE, OPENABLE, _NOWHERE, "day", _WHAT_WHY),
    Frame(verbs.GIVE, to_someone(GIFTS), _NOWHERE, "event", _WHEN_WHY),
    Frame(verbs.LIKE, LIKED, _NOWHERE, "habit", ("what", "why")),
    Frame(verbs.LIKE, TOWN, _NOWHERE, "timeless", ("why",)),
    Frame(verbs.LIKE, COUNTRY, _NOWHERE, "timeless", ("why",)),
    Frame(verbs.LIKE, THIS_WORK, _NOWHERE, "timeless", ("why",)),
)

Choice = tuple[tuple[Frame, ...], ...]


def _by_verb(frames: Iterable[Frame]) -> Choice:
    """Group the uses of each verb, so that verbs with many uses are not drawn more often."""
    uses: dict[str, list[Frame]] = {}
    for frame in frames:
        uses.setdefault(frame.verb.infinitive, []).append(frame)
    return tuple(tuple(group) for group in uses.values())


_ONCE = (
    verbs.ARRIVE,
    verbs.LEAVE,
    verbs.RETURN,
    verbs.FIND,
    verbs.LOSE,
    verbs.MEET,
    verbs.GIVE,
)
_TRAVEL = (verbs.VISIT, verbs.GO, verbs.LEAVE, verbs.RETURN)

DOINGS = _by_verb(_FRAMES)
# What somebody may no longer do.
HABITS = _by_verb(frame for frame in _FRAMES if frame.verb not in _ONCE)
# What somebody may want, have or be about to do.
PLANS = _by_verb(
    frame for frame in _FRAMES if frame.scale != "accident" and frame.verb is not verbs.LIKE
)
# Journeys with countries and months; visits are half of them.
_VISITS, *_OTHER_JOURNEYS = _by_verb(
    frame for frame in _FRAMES if frame.scale == "journey" and frame.verb in _TRAVEL
)
JOURNEYS = wheel((_VISITS, 3), *((journeys, 1) for journeys in _OTHER_JOURNEYS))
# Verbs that go with where: Where do you live?
WHEREABOUTS = (verbs.GO, verbs.LIVE, verbs.WORK)


def pick(draw: Draw, choice: Choice) -> Frame:
    return draw.one(draw.one(choice))
