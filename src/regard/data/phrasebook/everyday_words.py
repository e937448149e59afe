"""Animals, people, household things and verbs of every day, for small sentences."""

from dataclasses import replace

from regard.data.phrasebook.places import Phrase
from regard.data.phrasebook.verbs import AWAIT, er, verb
from regard.data.phrasebook.words import (
    BAG,
    BEAUTIFUL,
    BIG,
    BIKE,
    BOOK,
    BOX,
    CAR,
    CHILD,
    COFFEE,
    COLD,
    COLOURS,
    DIFFICULT,
    DOOR,
    EXPENSIVE,
    FILM,
    FLOWER,
    GOOD,
    HAT,
    HOT,
    IMPORTANT,
    INTERESTING,
    KEY,
    MAN,
    NEW,
    OLD,
    PASSPORT,
    SIZES,
    SMALL,
    STATES,
    SUITCASE,
    TABLE,
    TEA,
    TELEPHONE,
    WATER,
    WHITE,
    WINDOW,
    WOMAN,
    Adjective,
    Noun,
)

PRETTY = Adjective.of("joli", "jolie", "pretty", before=True)
YOUNG = Adjective.of("jeune", "jeune", "young", before=True)
BAD = Adjective.of("mauvais", "mauvaise", "bad", before=True)
GREY = Adjective.of("gris", "grise", "grey", stacks=True)
KIND = Adjective.of("gentil", "gentille", "kind")
FUNNY = Adjective.of("drôle", "drôle", "funny")
INTELLIGENT = Adjective.of("intelligent", "intelligente", "intelligent")
EASY = Adjective.of("facile", "facile", "easy")
CLEAN = Adjective.of("propre", "propre", "clean")
DIRTY = Adjective.of("sale", "sale", "dirty")
DELICIOUS = Adjective.of("délicieux", "délicieuse", "delicious")
OPEN = Adjective.of("ouvert", "ouverte", "open")
CLOSED = Adjective.of("fermé", "fermée", "closed")
EMPTY = Adjective.of("vide", "vide", "empty")
FAST = Adjective.of("rapide", "rapide", "fast")
SLOW = Adjective.of("lent", "lente", "slow")
POSSIBLE = Adjective.of("possible", "possible", "possible")
TRUE = Adjective.of("vrai", "vraie", "true")
HUES = (*COLOURS, GREY)
BLACK = COLOURS[4]
FURS = (BLACK, WHITE, GREY)
CHARACTERS = (KIND, FUNNY, INTELLIGENT, YOUNG, OLD, BEAUTIFUL, PRETTY, BIG, SMALL)
# What may be said with c'est: it is easy.
OPINIONS = (
    *(EASY, DIFFICULT, INTERESTING, IMPORTANT, POSSIBLE, TRUE, GOOD, BEAUTIFUL, EXPENSIVE),
    *(FUNNY, BAD, DELICIOUS, PRETTY, CLOSED, OPEN, NEW),
)
# What may be exclaimed of a thing: what a beautiful house!
STRIKING = (BEAUTIFUL, PRETTY, BIG, SMALL, OLD, GOOD)

CAT = Noun.of("chat", "m", "cat", SIZES, (OLD, BEAUTIFUL, PRETTY), FURS)
DOG = Noun.of("chien", "m", "dog", SIZES, (OLD, BEAUTIFUL), FURS)
BIRD = Noun.of("oiseau", "m", "bird", SIZES, (BEAUTIFUL, PRETTY), HUES)
HORSE = Noun.of("cheval", "m", "horse", SIZES, (OLD, BEAUTIFUL), FURS)
ANIMALS = (CAT, DOG, BIRD, HORSE)
PETS = (CAT, DOG, BIRD)
BABY = Noun.of("bébé", "m", "baby", SIZES)
BOY = Noun.of("garçon", "m", "boy", SIZES, (KIND, INTELLIGENT, FUNNY))
GIRL = Noun.of("fille", "f", "girl", SIZES, (KIND, INTELLIGENT, FUNNY))
PEOPLE = (MAN, WOMAN, BOY, GIRL, BABY, CHILD)
HUSBAND = Noun.of("mari", "m", "husband")
WIFE = Noun.of("femme", "f", "wife")

BED = Noun.of("lit", "m", "bed", SIZES, (NEW, OLD))
CHAIR = Noun.of("chaise", "f", "chair", SIZES, (NEW, OLD), HUES)
TREE = Noun.of("arbre", "m", "tree", SIZES, (OLD, BEAUTIFUL))
ROOM = Noun.of("chambre", "f", "bedroom", SIZES, (CLEAN, DIRTY, BEAUTIFUL))
PEN = Noun.of("stylo", "m", "pen", (NEW,), HUES)
GLASS = Noun.of("verre", "m", "glass", SIZES, (CLEAN, DIRTY, EMPTY))
CUP = Noun.of("tasse", "f", "cup", SIZES, (CLEAN, DIRTY, EMPTY, WHITE))
BOTTLE = Noun.of("bouteille", "f", "bottle", SIZES, (EMPTY,))
SHOE = Noun.of("chaussure", "f", "shoe", (NEW, OLD, DIRTY), HUES)
BALL = Noun.of("balle", "f", "ball", SIZES, HUES)
THINGS = (BOOK, PEN, GLASS, CUP, BOTTLE, BALL, KEY, BAG, BOX, HAT, FLOWER, TELEPHONE, SHOE)
SMALL_THINGS = (BOOK, PEN, KEY, FLOWER, TELEPHONE, BALL)
FURNITURE = (TABLE, CHAIR, BED, TREE, DOOR, WINDOW)
HOUSE_OF_ANY_COLOUR = Noun.of("maison", "f", "house", SIZES, (OLD, NEW, BEAUTIFUL), HUES)
EGG = Noun.of("œuf", "m", "egg", SIZES)
CROISSANT = Noun.of("croissant", "m", "croissant", (GOOD,))
SOUP = Noun.of("soupe", "f", "soup", (GOOD, HOT, COLD, DELICIOUS))
MEAT = Noun.of("viande", "f", "meat", (GOOD, COLD, DELICIOUS))
BEER = Noun.of("bière", "f", "beer", (GOOD, COLD))
MONEY = Noun.of("argent", "m", "money")
TIME = Noun.of("temps", "m", "time")
WORK = Noun.of("travail", "m", "work")
SKY = Noun.of("ciel", "m", "sky", HUES)
SEA = Noun.of("mer", "f", "sea", (BEAUTIFUL, COLD), HUES)
TOWN = Noun.of("ville", "f", "town", SIZES, (OLD, BEAUTIFUL, PRETTY))
VILLAGE = Noun.of("village", "m", "village", SIZES, (OLD, BEAUTIFUL, PRETTY))
SHOP = Noun.of("magasin", "m", "shop", (OPEN, CLOSED, NEW, EXPENSIVE))
QUESTION = Noun.of("question", "f", "question", (EASY, DIFFICULT, GOOD, INTERESTING, IMPORTANT))
IDEA = Noun.of("idée", "f", "idea", (GOOD, BAD, NEW, INTERESTING))
NATURE = (SKY, SEA)
OFTEN_SEVERAL = (*ANIMALS, *THINGS)
DESCRIBED = (
    *OFTEN_SEVERAL,
    *(TABLE, CHAIR, BED, ROOM, DOOR, WINDOW, CAR, BIKE, FILM, SUITCASE, PASSPORT),
    *(SOUP, MEAT, COFFEE, TEA, WATER, BEER, SKY, SEA, TOWN, VILLAGE, SHOP, QUESTION, IDEA),
    *(HOUSE_OF_ANY_COLOUR,) * 3,
)
MOODS = (*STATES, KIND, FUNNY, INTELLIGENT, YOUNG, OLD)
RELATIVES = (HUSBAND, WIFE)
COUNTED = (CAT, DOG, BIRD, HORSE, BOOK, PEN, KEY, FLOWER, EGG, CROISSANT, GLASS, CHAIR, CHILD)

SLEEP = verb(
    "dormir: dors dors dort dormons dormez dorment", "dormir", "dormi", "sleep sleeps slept slept"
)
LAUGH = verb("rire: ris ris rit rions riez rient", "rir", "ri", "laugh laughs laughed laughed")
RUN = verb("courir: cours cours court courons courez courent", "courr", "couru", "run runs ran run")
SEE = verb("voir: vois vois voit voyons voyez voient", "verr", "vu", "see sees saw seen")
UNDERSTAND = verb(
    "comprendre: comprends comprends comprend comprenons comprenez comprennent",
    "comprendr",
    "compris",
    "understand understands understood understood",
)
KNOW = verb(
    "connaître: connais connais connaît connaissons connaissez connaissent",
    "connaîtr",
    "connu",
    "know knows knew known",
)
COME = verb(
    "venir: viens viens vient venons venez viennent",
    "viendr",
    "venu",
    "come comes came come",
    etre=True,
)
GO_OUT = verb(
    "sortir: sors sors sort sortons sortez sortent",
    "sortir",
    "sorti",
    "go goes went gone out",
    etre=True,
)
STAY = er("rester", "stay stays stayed stayed", etre=True)
COME_IN = er("entrer", "come comes came come in", etre=True)
WAIT = replace(AWAIT, particle="")
PREFER = verb(
    "préférer: préfère préfères préfère préférons préférez préfèrent",
    "préférer",
    "préféré",
    "prefer prefers preferred preferred",
)
MAKE = verb("faire: fais fais fait faisons faites font", "fer", "fait", "make makes made made")
PLAY = er("jouer", "play plays played played")
SING = er("chanter", "sing sings sang sung")
DANCE = er("danser", "dance dances danced danced")
CRY = er("pleurer", "cry cries cried cried")
SWIM = er("nager", "swim swims swam swum")
ASK = er("demander", "ask asks asked asked")
LOOK_FOR = er("chercher", "look looks looked looked for")
LOVE = er("adorer", "love loves loved loved")
HATE = er("détester", "hate hates hated hated")
STUDY = er("étudier", "study studies studied studied")

# Money and time, which somebody has or has not.
LACKED = (MONEY, TIME, WORK)

UNITS = (
    Phrase("un", "one"),
    Phrase("deux", "two"),
    Phrase("trois", "three"),
    Phrase("quatre", "four"),
    Phrase("cinq", "five"),
    Phrase("six", "six"),
    Phrase("sept", "seven"),
    Phrase("huit", "eight"),
    Phrase("neuf", "nine"),
    Phrase("dix", "ten"),
    Phrase("onze", "eleven"),
    Phrase("douze", "twelve"),
    Phrase("treize", "thirteen"),
    Phrase("quatorze", "fourteen"),
    Phrase("quinze", "fifteen"),
    Phrase("seize", "sixteen"),
    Phrase("dix-sept", "seventeen"),
    Phrase("dix-huit", "eighteen"),
    Phrase("dix-neuf", "nineteen"),
    Phrase("vingt", "twenty"),
    Phrase("trente", "thirty"),
    Phrase("quarante", "forty"),
    Phrase("cinquante", "fifty"),
)
# Places to ask for and to go to.
SHOPS = (
    Phrase("la boulangerie", "the bakery"),
    Phrase("la pharmacie", "the pharmacy"),
    Phrase("la poste", "the post office"),
    Phrase("le supermarché", "the supermarket"),
    Phrase("le métro", "the metro"),
    Phrase("la sortie", "the exit"),
    Phrase("la mer", "the sea"),
)
