"""Small talk: greetings with a name, the weather, opinions, feelings, the calendar, counting."""

from regard.data.phrasebook import (
    asking,
    everyday_words,
    french,
    phrases,
    scenes,
    verbs,
    words,
)
from regard.data.phrasebook.clauses import asked, having
from regard.data.phrasebook.compound import FEELINGS
from regard.data.phrasebook.draw import Draw
from regard.data.phrasebook.phrases import noun_phrase, somebody
from regard.data.phrasebook.places import IN_COUNTRIES, IN_TOWNS, NOTHING, Phrase
from regard.data.phrasebook.requests import ORDERED, order
from regard.data.phrasebook.sentences import negative, polite, statement, together, yes_no
from regard.data.phrasebook.times import MONTHS, WEEKDAYS, Tense

HELLO = (
    Phrase("bonjour", "hello"),
    Phrase("salut", "hi"),
    Phrase("bonsoir", "good evening"),
    Phrase("bonne nuit", "good night"),
    Phrase("au revoir", "goodbye"),
    Phrase("merci", "thank you"),
    Phrase("merci beaucoup", "thank you very much"),
    Phrase("bienvenue", "welcome"),
    Phrase("à demain", "see you tomorrow"),
    Phrase("à bientôt", "see you soon"),
    Phrase("bonne journée", "have a nice day"),
    Phrase("excusez-moi", "excuse me"),
    Phrase("pardon", "sorry"),
)
_ADDRESSED = (
    *(Phrase(name.fr, name.en) for name in phrases.NAMES),
    Phrase("madame", "madam"),
    Phrase("monsieur", "sir"),
    Phrase("mon ami", "my friend"),
    Phrase("mon amie", "my friend"),
    Phrase("mes amis", "my friends"),
    Phrase("tout le monde", "everyone"),
    Phrase("docteur", "doctor"),
    Phrase("maman", "mum"),
    Phrase("papa", "dad"),
)
_BEFORE_QUESTIONS = (HELLO[0], HELLO[1], HELLO[11], HELLO[12])
YES = (
    Phrase("oui", "yes"),
    Phrase("bien sûr", "of course"),
    Phrase("d'accord", "all right"),
    HELLO[5],
)
NO = Phrase("non", "no")
_HELPS = (
    Phrase("votre aide", "your help"),
    Phrase("ton aide", "your help"),
)
_SKIES: dict[Tense, tuple[Phrase, ...]] = {
    "present": (
        Phrase("il fait beau", "the weather is nice"),
        Phrase("il fait mauvais", "the weather is bad"),
        Phrase("il fait froid", "it is cold"),
        Phrase("il fait chaud", "it is hot"),
        Phrase("il y a du soleil", "it is sunny"),
        Phrase("il y a du vent", "it is windy"),
        Phrase("il pleut", "it rains"),
        Phrase("il neige", "it snows"),
    ),
    "past": (
        Phrase("il a fait beau", "the weather was nice"),
        Phrase("il a fait mauvais", "the weather was bad"),
        Phrase("il a fait froid", "it was cold"),
        Phrase("il a plu", "it rained"),
    ),
    "future": (
        Phrase("il fera beau", "the weather will be nice"),
        Phrase("il fera mauvais", "the weather will be bad"),
        Phrase("il fera froid", "it will be cold"),
        Phrase("il pleuvra", "it will rain"),
    ),
}
_DAYS: dict[Tense, tuple[Phrase, ...]] = {
    "present": (Phrase("aujourd'hui", "today"), Phrase("ici", "here"), NOTHING),
    "past": (Phrase("hier", "yesterday"), Phrase("ce matin", "this morning")),
    "future": (Phrase("demain", "tomorrow"), Phrase("ce soir", "this evening")),
}
_FEELINGS = {
    **FEELINGS,
    "sleepy": "sommeil",
    "afraid": "peur",
    "right": "raison",
    "wrong": "tort",
}
_NEEDED = (words.TAXI, words.TICKET, everyday_words.PEN, everyday_words.GLASS, words.UMBRELLA)
_ACHES = (
    Phrase("à la tête", "a headache"),
    Phrase("au ventre", "a stomach ache"),
    Phrase("au dos", "a backache"),
)
# One to twenty, in their order.
_COUNTED = everyday_words.UNITS[:20]
_CLOCK = tuple(Phrase(f"{fr} heures", f"{en} o'clock") for fr, en in everyday_words.UNITS[1:11])


def greeting(draw: Draw) -> Phrase:
    """Bonjour Marie; merci pour le café; bonjour, où est la gare ?"""
    hello = draw.one(HELLO)
    if draw.chance(0.25):
        thing = noun_phrase(draw, draw.one((*words.GIFTS, *ORDERED)), "the", adjectives=())
        what = draw.one(_HELPS) if draw.chance(0.3) else thing
        thanks = draw.one(HELLO[5:7])
        return Phrase(f"{thanks.fr} pour {what.fr}", f"{thanks.en} for {what.en}")
    who = draw.one(_ADDRESSED)
    comma = draw.one(("", ","))
    said = Phrase(f"{hello.fr}{comma} {who.fr}", f"{hello.en}{comma} {who.en}")
    if draw.chance(0.4) and hello in _BEFORE_QUESTIONS:
        going = draw.one(
            (
                Phrase("comment ça va", "how are you"),
                Phrase("ça va", "how are you"),
                Phrase("comment vas-tu", "how are you"),
                Phrase("comment allez-vous", "how are you"),
            )
        )
        return asked(Phrase(f"{said.fr}, {going.fr}", f"{said.en}, {going.en}"))
    if draw.chance(0.3):
        return Phrase(f"{said.fr} !", f"{said.en}!")
    return said


def opened(draw: Draw) -> Phrase:
    """Excusez-moi, où est la gare ? Oui, je parle français. Non, je ne comprends pas."""
    kind = draw.one(("question", "question", "yes", "no", "then"))
    if kind == "question":
        opening = draw.one(_BEFORE_QUESTIONS)
        sentence = draw.one((asking.where, asking.how_much, asking.near, yes_no, asking.what_time))
    elif kind == "yes":
        opening = draw.one(YES)
        sentence = draw.one((statement, scenes.looks, scenes.having_things, polite))
    elif kind == "no":
        opening, sentence = NO, negative
    else:
        opening = draw.one(HELLO[:2])
        sentence = draw.one((asking.called, order, polite))
    said = sentence(draw)
    while said.fr.count(" ") > 9:
        said = sentence(draw)
    return Phrase(f"{opening.fr}, {said.fr}", f"{opening.en}, {said.en}")


def sky(draw: Draw) -> Phrase:
    """Il fait beau aujourd'hui; demain, il pleuvra à Paris."""
    tense: Tense = draw.one(("present", "present", "past", "future"))
    said, day = draw.one(_SKIES[tense]), draw.one(_DAYS[tense])
    place = NOTHING
    if draw.chance(0.6) and day.fr != "ici":
        place = draw.one(IN_TOWNS if draw.chance(0.6) else IN_COUNTRIES)
    if day.fr not in ("", "ici") and draw.chance(0.3):
        said = together(said, place)
        return Phrase(f"{day.fr}, {said.fr}", f"{day.en}, {said.en}")
    return together(said, place, day)


def feeling(draw: Draw) -> Phrase:
    """J'ai peur; elle n'a pas sommeil; j'ai besoin d'un taxi; il a mal à la tête."""
    subject = somebody(draw)
    finite = verbs.HAVE.present[subject.person]
    kind = draw.one(("feeling", "feeling", "need", "ache"))
    if kind == "feeling":
        english = draw.one(tuple(_FEELINGS))
        be = verbs.ENGLISH_BE[subject.person]
        denied = draw.chance(0.25)
        said = f"{be} not {english}" if denied else f"{be} {english}"
        return having(subject, finite, _FEELINGS[english], said, "pas" if denied else "")
    if kind == "need":
        what = noun_phrase(draw, draw.one(_NEEDED), "a")
        need = "needs" if subject.singular_third else "need"
        return having(subject, finite, f"besoin {french.of(what.fr)}", f"{need} {what.en}")
    ache = draw.one(_ACHES)
    has = "has" if subject.singular_third else "have"
    return having(subject, finite, f"mal {ache.fr}", f"{has} {ache.en}")


def opinion(draw: Draw) -> Phrase:
    """C'est très facile; quelle belle maison !"""
    if draw.chance(0.3):
        noun = draw.one((*everyday_words.ANIMALS, *everyday_words.THINGS, *words.IN_TOWN))
        adjective = draw.one(
            [one for one in noun.adjectives if one in everyday_words.STRIKING] or [words.BEAUTIFUL]
        )
        what = noun_phrase(draw, noun, "a", adjectives=(adjective,))
        which = "quelle" if noun.feminine else "quel"
        fr = what.fr.removeprefix("une ").removeprefix("un ")
        return Phrase(f"{which} {fr} !", f"what {what.en}!")
    adjective = draw.one(everyday_words.OPINIONS)
    opening = draw.one((("c'est", "it is"), ("ce n'est pas", "it is not"), ("c'était", "it was")))
    degree = draw.one((NOTHING, Phrase("très", "very"), Phrase("trop", "too")))
    said = together(degree, Phrase(adjective.forms[0], adjective.en))
    said = together(Phrase(*opening), said)
    if opening[0] == "ce n'est pas" or draw.chance(0.7):
        return said
    who = draw.one(_ADDRESSED[: len(phrases.NAMES)])
    return Phrase(f"{said.fr}, {who.fr}", f"{said.en}, {who.en}")


def calendar(draw: Draw) -> Phrase:
    """Il est trois heures; nous sommes lundi; j'ai 25 ans."""
    if draw.chance(0.35):
        subject = draw.one((*phrases.PRONOUNS, *phrases.NAMES))
        years = str(draw.one(range(2, 99)))
        en = f"{verbs.ENGLISH_BE[subject.person]} {years} years old"
        return having(subject, verbs.HAVE.present[subject.person], f"{years} ans", en)
    if draw.chance(0.4):
        clock = draw.one(_CLOCK)
        time = draw.one(
            (
                NOTHING,
                Phrase("du matin", "in the morning"),
                Phrase("et demie", "and a half"),
            )
        )
        if time.fr == "et demie":
            hour = clock.en.removesuffix(" o'clock")
            return Phrase(f"il est {clock.fr} et demie", f"it is half past {hour}")
        return together(Phrase("il est", "it is"), clock, time)
    day, month = draw.one(WEEKDAYS), draw.one(MONTHS)
    number = str(draw.one(range(2, 29)))
    return draw.one(
        (
            Phrase(f"nous sommes {day.fr}", f"it is {day.en}"),
            Phrase(f"aujourd'hui, c'est {day.fr}", f"today is {day.en}"),
            Phrase(f"nous sommes le {number} {month.fr}", f"it is {number} {month.en}"),
            Phrase(
                f"nous sommes {day.fr} {number} {month.fr}", f"it is {day.en} {number} {month.en}"
            ),
        )
    )


def counting(draw: Draw) -> Phrase:
    """Un, deux, trois; trois deux un; sept, douze et neuf."""
    length, comma = draw.one((2, 3, 3, 4, 5, 6)), draw.one((" ", ", ", ", "))
    # Without commas, quatre vingt would be eighty.
    if comma == " " or draw.chance(0.5):
        start = draw.one(range(len(_COUNTED) - length + 1))
        numbers = _COUNTED[start : start + length]
        if draw.chance(0.2):
            numbers = numbers[::-1]
    else:
        numbers = tuple(draw.one(everyday_words.UNITS) for _ in range(length))
    last = draw.one((comma, comma, " et "))
    fr = comma.join(number.fr for number in numbers[:-1])
    en = comma.join(number.en for number in numbers[:-1])
    ending = numbers[-1]
    return Phrase(f"{fr}{last}{ending.fr}", f"{en}{last.replace('et', 'and')}{ending.en}")
