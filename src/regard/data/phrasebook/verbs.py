"""Verbs and their forms in both languages."""

from dataclasses import dataclass

_FUTURE_ENDINGS = ("ai", "as", "a", "ons", "ez", "ont")
_IMPERFECT_ENDINGS = ("ais", "ais", "ait", "ions", "iez", "aient")


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb; forms by person are in the order je, tu, il, nous, vous, ils.

    `particle` is the English word that stays at the end of a question: What does he look *for*?
    """

    infinitive: str
    present: tuple[str, ...]
    future: tuple[str, ...]
    participle: str
    with_etre: bool
    base: str
    third: str
    past: str
    past_participle: str
    particle: str


def verb(present: str, future: str, participle: str, english: str, *, etre: bool = False) -> Verb:
    """`present` is `infinitive: six forms`; `english` is four forms and maybe a particle."""
    infinitive, forms = present.split(": ")
    base, third, past, past_participle, *particle = english.split()
    return Verb(
        infinitive,
        tuple(forms.split()),
        tuple(future + ending for ending in _FUTURE_ENDINGS),
        participle,
        etre,
        base,
        third,
        past,
        past_participle,
        " ".join(particle),
    )


def er(infinitive: str, english: str, *, etre: bool = False) -> Verb:
    """A regular verb in -er; manger keeps its e before -ons."""
    stem = infinitive[:-2]
    nous = stem + ("eons" if stem.endswith("g") else "ons")
    present = f"{infinitive}: {stem}e {stem}es {stem}e {nous} {stem}ez {stem}ent"
    return verb(present, infinitive, stem + "é", english, etre=etre)


VISIT = er("visiter", "visit visits visited visited")
LIVE = er("habiter", "live lives lived lived")
WORK = er("travailler", "work works worked worked")
EAT = er("manger", "eat eats ate eaten")
PREPARE = er("préparer", "prepare prepares prepared prepared")
SPEAK = er("parler", "speak speaks spoke spoken")
WATCH = er("regarder", "watch watches watched watched")
LISTEN = er("écouter", "listen listens listened listened to")
LIKE = er("aimer", "like likes liked liked")
MEET = er("rencontrer", "meet meets met met")
FIND = er("trouver", "find finds found found")
CLOSE = er("fermer", "close closes closed closed")
GIVE = er("donner", "give gives gave given")
ARRIVE = er("arriver", "arrive arrives arrived arrived", etre=True)
SIGN = er("signer", "sign signs signed signed")
NEGOTIATE = er("négocier", "negotiate negotiates negotiated negotiated")
ADOPT = er("adopter", "adopt adopts adopted adopted")
APPROVE = er("approuver", "approve approves approved approved")
GO = verb("aller: vais vas va allons allez vont", "ir", "allé", "go goes went been", etre=True)
LEAVE = verb(
    "partir: pars pars part partons partez partent",
    "partir",
    "parti",
    "leave leaves left left",
    etre=True,
)
RETURN = verb(
    "revenir: reviens reviens revient revenons revenez reviennent",
    "reviendr",
    "revenu",
    "come comes came come back",
    etre=True,
)
BUY = verb(
    "acheter: achète achètes achète achetons achetez achètent",
    "achèter",
    "acheté",
    "buy buys bought bought",
)
SELL = verb(
    "vendre: vends vends vend vendons vendez vendent", "vendr", "vendu", "sell sells sold sold"
)
DRINK = verb("boire: bois bois boit buvons buvez boivent", "boir", "bu", "drink drinks drank drunk")
READ = verb("lire: lis lis lit lisons lisez lisent", "lir", "lu", "read reads read read")
WRITE = verb(
    "écrire: écris écris écrit écrivons écrivez écrivent",
    "écrir",
    "écrit",
    "write writes wrote written",
)
LEARN = verb(
    "apprendre: apprends apprends apprend apprenons apprenez apprennent",
    "apprendr",
    "appris",
    "learn learns learned learned",
)
TAKE = verb(
    "prendre: prends prends prend prenons prenez prennent",
    "prendr",
    "pris",
    "take takes took taken",
)
AWAIT = verb(
    "attendre: attends attends attend attendons attendez attendent",
    "attendr",
    "attendu",
    "wait waits waited waited for",
)
LOSE = verb(
    "perdre: perds perds perd perdons perdez perdent", "perdr", "perdu", "lose loses lost lost"
)
OPEN = verb(
    "ouvrir: ouvre ouvres ouvre ouvrons ouvrez ouvrent",
    "ouvrir",
    "ouvert",
    "open opens opened opened",
)
BUILD = verb(
    "construire: construis construis construit construisons construisez construisent",
    "construir",
    "construit",
    "build builds built built",
)

HAVE = verb("avoir: ai as a avons avez ont", "aur", "eu", "have has had had")
BE = verb("être: suis es est sommes êtes sont", "ser", "été", "be is was been")
WANT = verb(
    "vouloir: veux veux veut voulons voulez veulent",
    "voudr",
    "voulu",
    "want wants wanted wanted to",
)
CAN = verb("pouvoir: peux peux peut pouvons pouvez peuvent", "pourr", "pu", "can can could could")
MUST = verb("devoir: dois dois doit devons devez doivent", "devr", "dû", "must must must must")
SAY = verb("dire: dis dis dit disons dites disent", "dir", "dit", "say says said said")
THINK = er("penser", "think thinks thought thought")
HOPE = verb(
    "espérer: espère espères espère espérons espérez espèrent",
    "espérer",
    "espéré",
    "hope hopes hoped hoped",
)
KNOW = verb("savoir: sais sais sait savons savez savent", "saur", "su", "know knows knew known")

WAS = tuple("ét" + ending for ending in _IMPERFECT_ENDINGS)
HAD = tuple("av" + ending for ending in _IMPERFECT_ENDINGS)
ENGLISH_BE = ("am", "are", "is", "are", "are", "are")
ENGLISH_WAS = ("was", "were", "was", "were", "were", "were")
