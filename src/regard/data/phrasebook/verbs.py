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


def _verb(present: str, future: str, participle: str, english: str, *, etre: bool = False) -> Verb:
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


def _er(infinitive: str, english: str, *, etre: bool = False) -> Verb:
    """A regular verb in -er; manger keeps its e before -ons."""
    stem = infinitive[:-2]
    nous = stem + ("eons" if stem.endswith("g") else "ons")
    present = f"{infinitive}: {stem}e {stem}es {stem}e {nous} {stem}ez {stem}ent"
    return _verb(present, infinitive, stem + "é", english, etre=etre)


VISIT = _er("visiter", "visit visits visited visited")
LIVE = _er("habiter", "live lives lived lived")
WORK = _er("travailler", "work works worked worked")
EAT = _er("manger", "eat eats ate eaten")
PREPARE = _er("préparer", "prepare prepares prepared prepared")
SPEAK = _er("parler", "speak speaks spoke spoken")
WATCH = _er("regarder", "watch watches watched watched")
LISTEN = _er("écouter", "listen listens listened listened to")
LIKE = _er("aimer", "like likes liked liked")
MEET = _er("rencontrer", "meet meets met met")
FIND = _er("trouver", "find finds found found")
CLOSE = _er("fermer", "close closes closed closed")
GIVE = _er("donner", "give gives gave given")
ARRIVE = _er("arriver", "arrive arrives arrived arrived", etre=True)
SIGN = _er("signer", "sign signs signed signed")
NEGOTIATE = _er("négocier", "negotiate negotiates negotiated negotiated")
ADOPT = _er("adopter", "adopt adopts adopted adopted")
APPROVE = _er("approuver", "approve approves approved approved")
GO = _verb("aller: vais vas va allons allez vont", "ir", "allé", "go goes went been", etre=True)
LEAVE = _verb(
    "partir: pars pars part partons partez partent",
    "partir",
    "parti",
    "leave leaves left left",
    etre=True,
)
RETURN = _verb(
    "revenir: reviens reviens revient revenons revenez reviennent",
    "reviendr",
    "revenu",
    "come comes came come back",
    etre=True,
)
BUY = _verb(
    "acheter: achète achètes achète achetons achetez achètent",
    "achèter",
    "acheté",
    "buy buys bought bought",
)
SELL = _verb(
    "vendre: vends vends vend vendons vendez vendent", "vendr", "vendu", "sell sells sold sold"
)
DRINK = _verb(
    "boire: bois bois boit buvons buvez boivent", "boir", "bu", "drink drinks drank drunk"
)
READ = _verb("lire: lis lis lit lisons lisez lisent", "lir", "lu", "read reads read read")
WRITE = _verb(
    "écrire: écris écris écrit écrivons écrivez écrivent",
    "écrir",
    "écrit",
    "write writes wrote written",
)
LEARN = _verb(
    "apprendre: apprends apprends apprend apprenons apprenez apprennent",
    "apprendr",
    "appris",
    "learn learns learned learned",
)
TAKE = _verb(
    "prendre: prends prends prend prenons prenez prennent",
    "prendr",
    "pris",
    "take takes took taken",
)
AWAIT = _verb(
    "attendre: attends attends attend attendons attendez attendent",
    "attendr",
    "attendu",
    "wait waits waited waited for",
)
LOSE = _verb(
    "perdre: perds perds perd perdons perdez perdent", "perdr", "perdu", "lose loses lost lost"
)
OPEN = _verb(
    "ouvrir: ouvre ouvres ouvre ouvrons ouvrez ouvrent",
    "ouvrir",
    "ouvert",
    "open opens opened opened",
)
BUILD = _verb(
    "construire: construis construis construit construisons construisez construisent",
    "construir",
    "construit",
    "build builds built built",
)

HAVE = _verb("avoir: ai as a avons avez ont", "aur", "eu", "have has had had")
BE = _verb("être: suis es est sommes êtes sont", "ser", "été", "be is was been")
WANT = _verb(
    "vouloir: veux veux veut voulons voulez veulent",
    "voudr",
    "voulu",
    "want wants wanted wanted to",
)
CAN = _verb("pouvoir: peux peux peut pouvons pouvez peuvent", "pourr", "pu", "can can could could")
MUST = _verb("devoir: dois dois doit devons devez doivent", "devr", "dû", "must must must must")
SAY = _verb("dire: dis dis dit disons dites disent", "dir", "dit", "say says said said")
THINK = _er("penser", "think thinks thought thought")
HOPE = _verb(
    "espérer: espère espères espère espérons espérez espèrent",
    "espérer",
    "espéré",
    "hope hopes hoped hoped",
)
KNOW = _verb("savoir: sais sais sait savons savez savent", "saur", "su", "know knows knew known")

WAS = tuple("ét" + ending for ending in _IMPERFECT_ENDINGS)
HAD = tuple("av" + ending for ending in _IMPERFECT_ENDINGS)
ENGLISH_BE = ("am", "are", "is", "are", "are", "are")
ENGLISH_WAS = ("was", "were", "was", "were", "were", "were")
