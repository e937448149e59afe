"""Adjectives, nouns and people.

A noun lists the adjectives that go with it, so that coffee is hot and a dress is red but not
the other way round.
"""

from dataclasses import dataclass, replace
from typing import Literal

from regard.data.phrasebook import english, french

Gender = Literal["m", "f"]


@dataclass(frozen=True, slots=True)
class Adjective:
    """`forms` are masculine, feminine, masculine plural, feminine plural.

    `liaison` is the masculine before a vowel (un vieil hôtel); `before` says that the adjective
    precedes its noun in French; one that `stacks` may stand between another adjective and the
    noun in English (a small red car); `comparative` is None when nobody compares by it.
    """

    forms: tuple[str, str, str, str]
    en: str
    before: bool
    liaison: str
    stacks: bool
    comparative: str | None

    @classmethod
    def of(
        cls,
        masculine: str,
        feminine: str,
        en: str,
        *,
        before: bool = False,
        liaison: str = "",
        stacks: bool = False,
        comparative: str | None = None,
    ) -> "Adjective":
        forms = (masculine, feminine, french.plural(masculine), french.plural(feminine))
        return cls(forms, en, before, liaison or masculine, stacks, comparative)


@dataclass(frozen=True, slots=True)
class Noun:
    fr: str
    en: str
    fr_plural: str
    en_plural: str
    feminine: bool
    adjectives: tuple[Adjective, ...]

    @classmethod
    def of(cls, fr: str, gender: Gender, en: str, *groups: tuple[Adjective, ...]) -> "Noun":
        adjectives = tuple(adjective for group in groups for adjective in group)
        plurals = french.plural(fr), english.plural(en)
        return cls(fr, en, *plurals, gender == "f", adjectives)


SMALL = Adjective.of("petit", "petite", "small", before=True, comparative="smaller")
BIG = Adjective.of("grand", "grande", "big", before=True, comparative="bigger")
BEAUTIFUL = Adjective.of("beau", "belle", "beautiful", before=True, liaison="bel")
OLD = Adjective.of("vieux", "vieille", "old", before=True, liaison="vieil", comparative="older")
NEW = Adjective.of("nouveau", "nouvelle", "new", before=True, liaison="nouvel")
GOOD = Adjective.of("bon", "bonne", "good", before=True)
LONG = Adjective.of("long", "longue", "long", before=True, comparative="longer")

RED = Adjective.of("rouge", "rouge", "red", stacks=True)
WHITE = Adjective.of("blanc", "blanche", "white", stacks=True)
COLOURS = (
    RED,
    WHITE,
    Adjective.of("bleu", "bleue", "blue", stacks=True),
    Adjective.of("vert", "verte", "green", stacks=True),
    Adjective.of("noir", "noire", "black", stacks=True),
    Adjective.of("jaune", "jaune", "yellow", stacks=True),
)
NATIONALITIES = (
    Adjective.of("français", "française", "French", stacks=True),
    Adjective.of("anglais", "anglaise", "English", stacks=True),
    Adjective.of("italien", "italienne", "Italian", stacks=True),
    Adjective.of("espagnol", "espagnole", "Spanish", stacks=True),
    Adjective.of("allemand", "allemande", "German", stacks=True),
    Adjective.of("japonais", "japonaise", "Japanese", stacks=True),
)
FRENCH, ENGLISH, ITALIAN, SPANISH, GERMAN, JAPANESE = NATIONALITIES
INTERESTING = Adjective.of(
    "intéressant", "intéressante", "interesting", comparative="more interesting"
)
IMPORTANT = Adjective.of("important", "importante", "important", comparative="more important")
DIFFICULT = Adjective.of("difficile", "difficile", "difficult", comparative="more difficult")
FAMOUS = Adjective.of("célèbre", "célèbre", "famous", comparative="more famous")
EXPENSIVE = Adjective.of("cher", "chère", "expensive", comparative="more expensive")
COMFORTABLE = Adjective.of(
    "confortable", "confortable", "comfortable", comparative="more comfortable"
)
HOT = Adjective.of("chaud", "chaude", "hot", stacks=True)
COLD = Adjective.of("froid", "froide", "cold", stacks=True)

SIZES = (SMALL, BIG)
STATES = (
    Adjective.of("fatigué", "fatiguée", "tired"),
    Adjective.of("malade", "malade", "ill"),
    Adjective.of("content", "contente", "happy"),
    Adjective.of("triste", "triste", "sad"),
    Adjective.of("prêt", "prête", "ready"),
    Adjective.of("occupé", "occupée", "busy"),
)
TIRED, ILL, HAPPY, SAD, READY, BUSY = STATES

BOOK = Noun.of("livre", "m", "book", (OLD, NEW, BEAUTIFUL, INTERESTING, DIFFICULT), NATIONALITIES)
NOVEL = Noun.of("roman", "m", "novel", (OLD, NEW, LONG, INTERESTING, FAMOUS), NATIONALITIES)
NEWSPAPER = Noun.of("journal", "m", "newspaper", (OLD,), NATIONALITIES)
LETTER = Noun.of("lettre", "f", "letter", (LONG, OLD, BEAUTIFUL, IMPORTANT))
POEM = Noun.of("poème", "m", "poem", (BEAUTIFUL, LONG, OLD, FAMOUS), NATIONALITIES)
REPORT = Noun.of("rapport", "m", "report", (LONG, NEW, IMPORTANT, INTERESTING, DIFFICULT))
ARTICLE = Noun.of("article", "m", "article", (LONG, NEW, OLD, INTERESTING, IMPORTANT))
FILM = Noun.of("film", "m", "film", (OLD, NEW, LONG, BEAUTIFUL, INTERESTING, FAMOUS), NATIONALITIES)
SONG = Noun.of("chanson", "f", "song", (OLD, NEW, BEAUTIFUL, FAMOUS), NATIONALITIES)
MATCH = Noun.of("match", "m", "match", (LONG, IMPORTANT, DIFFICULT))

READING = (BOOK, NOVEL, NEWSPAPER, LETTER, POEM, REPORT, ARTICLE)
WRITING = (BOOK, NOVEL, LETTER, POEM, REPORT, ARTICLE)
WATCHING = (FILM, MATCH)

CAR = Noun.of("voiture", "f", "car", SIZES, (OLD, NEW, BEAUTIFUL, EXPENSIVE, COMFORTABLE), COLOURS)
BIKE = Noun.of("vélo", "m", "bike", (OLD, NEW, BEAUTIFUL, SMALL, EXPENSIVE), COLOURS)
BOAT = Noun.of("bateau", "m", "boat", SIZES, (OLD, NEW, BEAUTIFUL), COLOURS)
COMPUTER = Noun.of("ordinateur", "m", "computer", (OLD, NEW, SMALL, EXPENSIVE))
TABLE = Noun.of("table", "f", "table", SIZES, (OLD, NEW, BEAUTIFUL, EXPENSIVE), COLOURS)
LAMP = Noun.of("lampe", "f", "lamp", SIZES, (OLD, NEW), COLOURS)
PAINTING = Noun.of("tableau", "m", "painting", SIZES, (OLD, BEAUTIFUL, FAMOUS, EXPENSIVE))
DRESS = Noun.of("robe", "f", "dress", (BEAUTIFUL, NEW, OLD, LONG), COLOURS)
SHIRT = Noun.of("chemise", "f", "shirt", (BEAUTIFUL, NEW, OLD), COLOURS)
COAT = Noun.of("manteau", "m", "coat", (BEAUTIFUL, NEW, OLD, LONG), COLOURS)
HAT = Noun.of("chapeau", "m", "hat", (BEAUTIFUL, NEW, OLD, SMALL, BIG), COLOURS)
FLOWER = Noun.of("fleur", "f", "flower", SIZES, (BEAUTIFUL,), COLOURS)
PRESENT = Noun.of("cadeau", "m", "present", SIZES, (BEAUTIFUL, EXPENSIVE))
WATCH = Noun.of("montre", "f", "watch", (BEAUTIFUL, NEW, OLD, EXPENSIVE))
BAG = Noun.of("sac", "m", "bag", SIZES, (NEW, OLD), COLOURS)
SUITCASE = Noun.of("valise", "f", "suitcase", SIZES, (NEW, OLD), COLOURS)
UMBRELLA = Noun.of("parapluie", "m", "umbrella", (NEW, OLD, BIG), COLOURS)
TELEPHONE = Noun.of("téléphone", "m", "phone", (NEW, OLD, EXPENSIVE))
KEY = Noun.of("clé", "f", "key", (SMALL, OLD))
PASSPORT = Noun.of("passeport", "m", "passport", (NEW, OLD))
WALLET = Noun.of("portefeuille", "m", "wallet", (OLD, NEW))
TICKET = Noun.of("billet", "m", "ticket", ())
TAXI = Noun.of("taxi", "m", "taxi")
BOX = Noun.of("boîte", "f", "box", SIZES, (OLD,), COLOURS)

CLOTHES = (DRESS, SHIRT, COAT, HAT)
GOODS = (CAR, BIKE, BOAT, COMPUTER, TABLE, LAMP, PAINTING, *CLOTHES, WATCH, BAG, TELEPHONE, BOOK)
GIFTS = (FLOWER, BOOK, PRESENT, WATCH, BAG, PAINTING, HAT, LETTER, KEY, UMBRELLA)
LOSABLE = (KEY, PASSPORT, WALLET, TELEPHONE, WATCH, BAG, TICKET, SUITCASE, UMBRELLA)
FOUND = (KEY, BAG, WATCH, SUITCASE, UMBRELLA, TELEPHONE)
DOOR = Noun.of("porte", "f", "door", SIZES, (OLD,), COLOURS)
WINDOW = Noun.of("fenêtre", "f", "window", SIZES)
OPENABLE = (DOOR, WINDOW, BOX, SUITCASE)

HOUSE = Noun.of("maison", "f", "house", SIZES, (OLD, NEW, BEAUTIFUL, COMFORTABLE, EXPENSIVE, WHITE))
FLAT = Noun.of("appartement", "m", "flat", SIZES, (OLD, NEW, BEAUTIFUL, COMFORTABLE, EXPENSIVE))
HOTEL = Noun.of("hôtel", "m", "hotel", SIZES, (OLD, NEW, BEAUTIFUL, COMFORTABLE, EXPENSIVE))
SCHOOL = Noun.of("école", "f", "school", SIZES, (NEW, BEAUTIFUL))
HOSPITAL = Noun.of("hôpital", "m", "hospital", SIZES, (NEW, BEAUTIFUL))
MUSEUM = Noun.of("musée", "m", "museum", SIZES, (NEW, FAMOUS, INTERESTING))
CASTLE = Noun.of("château", "m", "castle", SIZES, (OLD, BEAUTIFUL, FAMOUS))
CATHEDRAL = Noun.of("cathédrale", "f", "cathedral", SIZES, (OLD, BEAUTIFUL, FAMOUS))
CHURCH = Noun.of("église", "f", "church", SIZES, (OLD, FAMOUS))
BRIDGE = Noun.of("pont", "m", "bridge", SIZES, (OLD, NEW, BEAUTIFUL, FAMOUS))
LIBRARY = Noun.of("bibliothèque", "f", "library", SIZES, (NEW, BEAUTIFUL))
THEATRE = Noun.of("théâtre", "m", "theatre", SIZES, (OLD, NEW, FAMOUS))
RESTAURANT = Noun.of("restaurant", "m", "restaurant", SIZES, (GOOD, NEW, EXPENSIVE), NATIONALITIES)
GARDEN = Noun.of("jardin", "m", "garden", SIZES, (BEAUTIFUL, OLD))

HOMES = (HOUSE, FLAT)
SIGHTS = (MUSEUM, CASTLE, CATHEDRAL, CHURCH, GARDEN)
MONUMENTS = (CASTLE, CATHEDRAL, CHURCH, BRIDGE, THEATRE)
BUILDINGS = (HOUSE, BRIDGE, SCHOOL, HOSPITAL, MUSEUM, LIBRARY, THEATRE, HOTEL)
IN_TOWN = (
    HOTEL,
    MUSEUM,
    CASTLE,
    CATHEDRAL,
    BRIDGE,
    LIBRARY,
    THEATRE,
    RESTAURANT,
    GARDEN,
    HOSPITAL,
    SCHOOL,
    CHURCH,
)

FOOD = (
    Noun.of("pain", "m", "bread", (GOOD,)),
    Noun.of("fromage", "m", "cheese", (GOOD, FRENCH, ITALIAN, SPANISH)),
    Noun.of("riz", "m", "rice", ()),
    Noun.of("poisson", "m", "fish", (GOOD,)),
    Noun.of("poulet", "m", "chicken", (COLD,)),
    Noun.of("viande", "f", "meat", (GOOD, COLD)),
    Noun.of("soupe", "f", "soup", (GOOD, HOT)),
    Noun.of("chocolat", "m", "chocolate", (GOOD,)),
    Noun.of("salade", "f", "salad", (GOOD,)),
)
APPLE = Noun.of("pomme", "f", "apple", SIZES, (RED,))
ORANGE = Noun.of("orange", "f", "orange", SIZES)
TOMATO = Noun.of("tomate", "f", "tomato", SIZES, (RED,))
CAKE = Noun.of("gâteau", "m", "cake", SIZES, (GOOD,))
SANDWICH = Noun.of("sandwich", "m", "sandwich", SIZES, (GOOD,))
SNACKS = (APPLE, ORANGE, TOMATO, CAKE, SANDWICH)

COFFEE = Noun.of("café", "m", "coffee", (GOOD, HOT, COLD))
TEA = Noun.of("thé", "m", "tea", (GOOD, HOT, COLD))
WATER = Noun.of("eau", "f", "water", (HOT, COLD))
ORANGE_JUICE = Noun.of("jus d'orange", "m", "orange juice", (COLD,))
DRINKS = (
    COFFEE,
    TEA,
    WATER,
    Noun.of("lait", "m", "milk", (HOT, COLD)),
    Noun.of("vin", "m", "wine", (GOOD, RED, WHITE, FRENCH, ITALIAN, SPANISH, GERMAN)),
    ORANGE_JUICE,
)
MUSIC = Noun.of("musique", "f", "music", (GOOD, OLD, BEAUTIFUL), NATIONALITIES)


def without(nouns: tuple[Noun, ...], *adjectives: Adjective) -> tuple[Noun, ...]:
    """These nouns without some of their adjectives."""
    return tuple(
        replace(noun, adjectives=tuple(kept for kept in noun.adjectives if kept not in adjectives))
        for noun in nouns
    )


# Nobody writes an old letter or gets warm with cold tea.
WORKS = without((*WRITING, SONG), *NATIONALITIES)
NEW_WRITING = without(WRITING, OLD, FAMOUS, *NATIONALITIES)
HOT_DRINKS = without((COFFEE, TEA), COLD)
COLD_DRINKS = without((WATER, ORANGE_JUICE), HOT)

WOMEN = ("Jane", "Marie", "Sophie", "Claire", "Alice", "Emma", "Julie", "Anne", "Nadia", "Inès")
MEN = ("Paul", "Pierre", "Thomas", "Daniel", "Marc", "Antoine", "Omar", "Karim", "Lucas", "Victor")

FATHER = Noun.of("père", "m", "father")
MOTHER = Noun.of("mère", "f", "mother")
BROTHER = Noun.of("frère", "m", "brother")
SISTER = Noun.of("sœur", "f", "sister")
PARENT = Noun.of("parent", "m", "parent")
COUSIN = Noun.of("cousin", "m", "cousin")
FRIEND = Noun.of("ami", "m", "friend")
NEIGHBOUR = Noun.of("voisin", "m", "neighbour")
CHILD = Noun.of("enfant", "m", "child")
KIN = (
    FATHER,
    MOTHER,
    BROTHER,
    SISTER,
    COUSIN,
    FRIEND,
    NEIGHBOUR,
    Noun.of("oncle", "m", "uncle"),
    Noun.of("tante", "f", "aunt"),
    Noun.of("cousine", "f", "cousin"),
    Noun.of("grand-père", "m", "grandfather"),
    Noun.of("grand-mère", "f", "grandmother"),
    Noun.of("fils", "m", "son"),
    Noun.of("fille", "f", "daughter"),
    Noun.of("amie", "f", "friend"),
    Noun.of("voisine", "f", "neighbour"),
)
KIN_PLURAL = (PARENT, CHILD, FRIEND, NEIGHBOUR, BROTHER, SISTER, COUSIN)

# Masculine and feminine forms side by side: the noun agrees with the person.
PROFESSIONS = (
    (Noun.of("médecin", "m", "doctor"), Noun.of("médecin", "m", "doctor")),
    (Noun.of("professeur", "m", "teacher"), Noun.of("professeure", "f", "teacher")),
    (Noun.of("journaliste", "m", "journalist"), Noun.of("journaliste", "f", "journalist")),
    (Noun.of("ingénieur", "m", "engineer"), Noun.of("ingénieure", "f", "engineer")),
    (Noun.of("étudiant", "m", "student"), Noun.of("étudiante", "f", "student")),
    (Noun.of("avocat", "m", "lawyer"), Noun.of("avocate", "f", "lawyer")),
    (Noun.of("infirmier", "m", "nurse"), Noun.of("infirmière", "f", "nurse")),
)
JOURNALISTS = PROFESSIONS[2]
ARCHITECT = Noun.of("architecte", "m", "architect")
CROWDS = (
    Noun.of("touriste", "m", "tourist"),
    Noun.of("élève", "m", "pupil"),
    CHILD,
    PROFESSIONS[4][0],
)
MAN = Noun.of("homme", "m", "man")
WOMAN = Noun.of("femme", "f", "woman")
