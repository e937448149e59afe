"""What is learned by heart: greetings, polite words, set questions, and words alone.

They are for training only: nothing in them could be worked out from other sentences, so a test of
them would test nothing.
"""

from collections.abc import Iterator

from regard.data.phrasebook import everyday_words, french, verbs, words
from regard.data.phrasebook.places import COUNTRIES, TOWNS, Phrase, names
from regard.data.phrasebook.small_talk import HELLO
from regard.data.phrasebook.times import MONTHS, WEEKDAYS
from regard.data.phrasebook.verbs import Verb
from regard.data.phrasebook.words import Adjective

# So often is each of them in the training part; one that is there once is forgotten.
PHRASE_REPEATS, WORD_REPEATS = 8, 2

_SAYINGS = (
    *HELLO,
    Phrase("bonne soirée", "have a nice evening"),
    Phrase("à plus tard", "see you later"),
    Phrase("à tout à l'heure", "see you later"),
    Phrase("bonjour à tous", "hello everyone"),
    Phrase("merci bien", "thank you"),
    Phrase("merci pour tout", "thank you for everything"),
    Phrase("de rien", "you are welcome"),
    Phrase("je vous en prie", "you are welcome"),
    Phrase("s'il vous plaît", "please"),
    Phrase("s'il te plaît", "please"),
    Phrase("excuse-moi", "excuse me"),
    Phrase("désolé", "sorry"),
    Phrase("désolée", "sorry"),
    Phrase("je suis désolé", "I am sorry"),
    Phrase("je suis désolée", "I am sorry"),
    Phrase("oui", "yes"),
    Phrase("non", "no"),
    Phrase("non merci", "no thank you"),
    Phrase("oui merci", "yes thank you"),
    Phrase("peut-être", "maybe"),
    Phrase("d'accord", "all right"),
    Phrase("bien sûr", "of course"),
    Phrase("avec plaisir", "with pleasure"),
    Phrase("pas de problème", "no problem"),
    Phrase("pas encore", "not yet"),
    Phrase("pas mal", "not bad"),
    Phrase("moi aussi", "me too"),
    Phrase("toujours", "always"),
    Phrase("jamais", "never"),
    Phrase("aujourd'hui", "today"),
    Phrase("demain", "tomorrow"),
    Phrase("hier", "yesterday"),
    Phrase("maintenant", "now"),
    Phrase("bravo", "well done"),
    Phrase("félicitations", "congratulations"),
    Phrase("bon appétit", "enjoy your meal"),
    Phrase("bon voyage", "have a good trip"),
    Phrase("bon week-end", "have a nice weekend"),
    Phrase("bonne chance", "good luck"),
    Phrase("bon anniversaire", "happy birthday"),
    Phrase("joyeux anniversaire", "happy birthday"),
    Phrase("joyeux Noël", "merry Christmas"),
    Phrase("bonne année", "happy new year"),
    Phrase("santé", "cheers"),
    Phrase("enchanté", "nice to meet you"),
    Phrase("enchantée", "nice to meet you"),
    Phrase("ça va", "I am fine"),
    Phrase("ça va bien", "I am fine"),
    Phrase("je vais bien", "I am fine"),
    Phrase("je vais bien, merci", "I am fine, thank you"),
    Phrase("très bien", "very well"),
    Phrase("très bien, merci", "very well, thank you"),
    Phrase("tout va bien", "everything is fine"),
    Phrase("c'est la vie", "that is life"),
    Phrase("c'est ça", "that is right"),
    Phrase("au secours", "help"),
    Phrase("à l'aide", "help"),
    Phrase("attention", "watch out"),
    Phrase("je t'aime", "I love you"),
    Phrase("je vous aime", "I love you"),
    Phrase("tu me manques", "I miss you"),
    Phrase("je sais", "I know"),
    Phrase("je ne sais pas", "I do not know"),
    Phrase("je comprends", "I understand"),
    Phrase("je ne comprends pas", "I do not understand"),
    Phrase("je suis perdu", "I am lost"),
    Phrase("je suis perdue", "I am lost"),
    Phrase("l'addition, s'il vous plaît", "the bill, please"),
    Phrase("parlez plus lentement, s'il vous plaît", "speak more slowly, please"),
    Phrase("aidez-moi, s'il vous plaît", "help me, please"),
    Phrase("répétez, s'il vous plaît", "repeat that, please"),
    Phrase("un deux trois", "one two three"),
    Phrase("un, deux, trois", "one, two, three"),
    Phrase("il est midi", "it is noon"),
    Phrase("il est minuit", "it is midnight"),
    Phrase("viens ici", "come here"),
)
_QUESTIONS = (
    Phrase("comment ça va", "how are you"),
    Phrase("comment vas-tu", "how are you"),
    Phrase("comment allez-vous", "how are you"),
    Phrase("et toi", "and you"),
    Phrase("et vous", "and you"),
    Phrase("quoi de neuf", "what is new"),
    Phrase("quelle heure est-il", "what time is it"),
    Phrase("quel jour sommes-nous", "what day is it"),
    Phrase("quel temps fait-il", "what is the weather like"),
    Phrase("combien ça coûte", "how much does it cost"),
    Phrase("c'est combien", "how much is it"),
    Phrase("qu'est-ce que c'est", "what is it"),
    Phrase("qui est-ce", "who is it"),
    Phrase("qui es-tu", "who are you"),
    Phrase("qui êtes-vous", "who are you"),
    Phrase("où suis-je", "where am I"),
    Phrase("où es-tu", "where are you"),
    Phrase("où êtes-vous", "where are you"),
    Phrase("où sont les toilettes", "where are the toilets"),
    Phrase("quel âge as-tu", "how old are you"),
    Phrase("quel âge avez-vous", "how old are you"),
    Phrase("comment t'appelles-tu", "what is your name"),
    Phrase("comment tu t'appelles", "what is your name"),
    Phrase("comment vous appelez-vous", "what is your name"),
    Phrase("d'où viens-tu", "where do you come from"),
    Phrase("d'où venez-vous", "where do you come from"),
    Phrase("que fais-tu", "what do you do"),
    Phrase("que faites-vous", "what do you do"),
    Phrase("pouvez-vous m'aider", "can you help me"),
    Phrase("peux-tu m'aider", "can you help me"),
    Phrase("est-ce que je peux entrer", "can I come in"),
    Phrase("pourquoi", "why"),
    Phrase("pourquoi pas", "why not"),
    Phrase("où", "where"),
    Phrase("quand", "when"),
    Phrase("comment", "how"),
    Phrase("qui", "who"),
    Phrase("quoi", "what"),
    Phrase("combien", "how much"),
)
_NOUNS = (
    *(*everyday_words.DESCRIBED, *everyday_words.PEOPLE, *everyday_words.LACKED),
    *(*words.READING, *words.GOODS, *words.GIFTS, *words.LOSABLE, *words.HOMES, *words.IN_TOWN),
    *(*words.FOOD, *words.SNACKS, *words.DRINKS, words.MUSIC, words.SONG, *words.KIN),
    *(noun for pair in words.PROFESSIONS for noun in pair),
    *(everyday_words.EGG, everyday_words.CROISSANT, everyday_words.TREE),
)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _forms(phrase: Phrase, mark: str) -> Iterator[Phrase]:
    """As people type it: with a capital or not, with a mark at the end or not."""
    fr, en = _capital(phrase.fr), _capital(phrase.en)
    yield phrase
    yield Phrase(fr, en)
    if mark == "?":
        yield Phrase(f"{phrase.fr} ?", f"{phrase.en}?")
        yield Phrase(f"{fr} ?", f"{en}?")
    else:
        yield Phrase(f"{fr}.", f"{en}.")
        yield Phrase(f"{fr} !", f"{en}!")
        yield Phrase(f"{phrase.fr} !", f"{phrase.en}!")


def _in_quotes(phrase: Phrase) -> Iterator[Phrase]:
    for mark_fr, mark_en in (("", ""), (" !", "!")):
        for fr, en in (phrase, (_capital(phrase.fr), _capital(phrase.en))):
            yield Phrase(f"« {fr}{mark_fr} »", f'"{en}{mark_en}"')


def _alone() -> Iterator[Phrase]:
    """Nouns, numbers, names of days, colours and verbs by themselves."""
    for noun in _NOUNS:
        the = french.definite(noun.fr, noun.feminine, many=False)
        yield Phrase(noun.fr, noun.en)
        yield Phrase(the, f"the {noun.en}")
    yield from (*everyday_words.UNITS, *MONTHS, *WEEKDAYS, *names(*COUNTRIES, *TOWNS))
    for group in (words, everyday_words):
        for entry in vars(group).values():
            if isinstance(entry, Adjective):
                yield Phrase(entry.forms[0], entry.en)
    for group in (verbs, everyday_words):
        for entry in vars(group).values():
            if isinstance(entry, Verb) and entry not in (verbs.CAN, verbs.MUST):
                yield Phrase(entry.infinitive, french.join(("to", entry.base, entry.particle)))


def learned_by_heart() -> Iterator[Phrase]:
    """Every phrase in every form, each as often as it needs to be learned."""
    said: dict[str, Phrase] = {}
    for phrase in _SAYINGS:
        said.update((form.fr, form) for form in _forms(phrase, "!"))
    for phrase in HELLO:
        said.update((form.fr, form) for form in _in_quotes(phrase))
    for phrase in _QUESTIONS:
        said.update((form.fr, form) for form in _forms(phrase, "?"))
    lone: dict[str, Phrase] = {}
    for phrase in _alone():
        for form in (phrase, Phrase(_capital(phrase.fr), _capital(phrase.en))):
            if form.fr not in said:
                lone.setdefault(form.fr, form)
    for phrases, repeats in ((said, PHRASE_REPEATS), (lone, WORD_REPEATS)):
        for phrase in phrases.values():
            yield from (phrase,) * repeats
