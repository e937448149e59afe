"""The built-in corpus: held-out sentences stay held out, each sentence has one translation, and the
French is correct.
"""

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from typing import get_args

import pytest

from regard.data import phrasebook
from regard.data.corpus import Pair
from regard.data.phrasebook import HELD_OUT, Split, french, pairs, verbs, words
from regard.data.phrasebook.clauses import being, clause, passive, quality, question
from regard.data.phrasebook.phrases import I_F, NAMES, PRONOUNS, nominal, third
from regard.data.phrasebook.places import COUNTRIES, NOTHING, Phrase
from regard.data.phrasebook.set_phrases import learned_by_heart

SPLITS: tuple[Split, ...] = get_args(Split)
# A change here changes what everybody's demo model learns; change it knowingly.
DIGEST = "d5a5c91098c09911"
LONG_DIGEST, LONG_BEGINNING = "fd63ce4cf433bb12", "14ad62e129b8c3f1"
# Words that join clauses in the long variant and do not occur in short sentences.
JOINING = {"ensuite", "pendant", "puis"}, {"then", "afterwards", "while"}

INVERSION = re.compile(r"-(?:t-)?(?=(?:il|elle|ils|elles|tu|vous|nous|ce)\b)")
FRENCH_WORD = re.compile(r"\d+|\w+(?:-\w+)*'?")
ENGLISH_WORD = re.compile(r"\d+|\w+(?:-\w+)*(?:'clock)?")

Corpus = dict[Split, list[Pair]]


BY_HEART = {phrase.fr: phrase.en for phrase in learned_by_heart()}


@pytest.fixture(scope="module")
def whole() -> Corpus:
    return {split: list(pairs(split)) for split in SPLITS}


@pytest.fixture(scope="module")
def corpus(whole: Corpus) -> Corpus:
    """What the grammar composes, without what is learned by heart."""
    return {
        split: [pair for pair in whole[split] if pair.source not in BY_HEART] for split in SPLITS
    }


@pytest.fixture(scope="module")
def long_corpus() -> Corpus:
    """The first fifth of each split; all of it takes as long as all other tests of this file."""
    with pytest.MonkeyPatch.context() as patch:
        sizes = {"train": 20_000, "valid": 200, "test": 400}
        patch.setitem(phrasebook._SIZES, "phrasebook-long", sizes)
        phrasebook._corpus.cache_clear()
        some = {split: list(pairs(split, "phrasebook-long")) for split in SPLITS}
    phrasebook._corpus.cache_clear()
    return some


@pytest.fixture(scope="module")
def everything(corpus: Corpus) -> list[Pair]:
    return [pair for split in SPLITS for pair in corpus[split]]


@pytest.fixture(scope="module")
def french_text(everything: list[Pair]) -> str:
    return "\n".join(pair.source for pair in everything)


@pytest.fixture(scope="module")
def english_text(everything: list[Pair]) -> str:
    return "\n".join(pair.target for pair in everything)


def bare(text: str) -> str:
    """The words without any punctuation."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def digest(everything: list[Pair]) -> str:
    lines = "\n".join(f"{pair.place}\t{pair.source}\t{pair.target}" for pair in everything)
    return hashlib.sha256(lines.encode()).hexdigest()[:16]


def french_words(text: str) -> list[str]:
    return FRENCH_WORD.findall(INVERSION.sub(" ", text).casefold())


def english_words(text: str) -> list[str]:
    return ENGLISH_WORD.findall(re.sub(r"'s?(?= |$)", "", text).casefold())


def test_sizes_and_places(corpus: Corpus) -> None:
    sizes = {split: len(corpus[split]) for split in SPLITS}
    assert sizes == {"train": 112_000, "valid": 1_000, "test": 2_000}
    assert corpus["train"][16].place == "phrasebook/train:17"
    assert corpus["test"][0].place == "phrasebook/test:1"


def test_every_source_is_there_once(everything: list[Pair]) -> None:
    assert len({pair.source for pair in everything}) == len(everything)


def test_one_translation_whatever_the_punctuation(everything: list[Pair]) -> None:
    translations: dict[str, str] = {}
    for pair in everything:
        known = translations.setdefault(bare(pair.source), bare(pair.target))
        assert bare(pair.target) == known, pair


def test_what_is_learned_by_heart_is_never_asked(whole: Corpus) -> None:
    known = {bare(text) for phrase in BY_HEART.items() for text in phrase}
    for split in ("valid", "test"):
        for pair in whole[split]:
            assert not known & {bare(pair.source), bare(pair.target)}, pair
    learned = [pair for pair in whole["train"] if pair.source in BY_HEART]
    assert {pair.source for pair in learned} == BY_HEART.keys()
    translations: dict[str, str] = {}
    for source, target in BY_HEART.items():
        known_as = translations.setdefault(bare(source), bare(target))
        assert known_as == bare(target) or source.endswith("?"), source


@pytest.mark.parametrize("side", ["source", "target"])
def test_splits_share_no_sentence(corpus: Corpus, side: str) -> None:
    train, valid, test = ({bare(getattr(pair, side)) for pair in corpus[s]} for s in SPLITS)
    assert not train & test
    assert not train & valid
    assert not valid & test


def test_same_corpus_everywhere(whole: Corpus) -> None:
    assert digest([pair for split in SPLITS for pair in whole[split]]) == DIGEST


def test_order_does_not_depend_on_the_hash_seed(whole: Corpus) -> None:
    code = (
        "from regard.data.phrasebook import pairs; import sys\n"
        "sys.stdout.reconfigure(encoding='utf-8')\n"
        "print(*(f'{p.place}\\t{p.source}\\t{p.target}' for p in pairs('train')), sep='\\n')"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    lines = [f"{pair.place}\t{pair.source}\t{pair.target}" for pair in whole["train"]]
    assert ran.stdout.decode().splitlines() == lines


def test_running_sentence_is_new_but_familiar(everything: list[Pair], corpus: Corpus) -> None:
    sources = [pair.source for pair in everything]
    assert not [s for s in sources if "Jane visite l'Afrique" in s and "septembre" in s]
    assert all("Jane visits Africa in September" not in pair.target for pair in everything)
    train = "\n".join(pair.source for pair in corpus["train"])
    counts = Counter(french_words(train))
    assert all(counts[word] >= 300 for word in french_words(HELD_OUT))
    for kind in (
        "Jane visite .* en .*",
        "\\w+ visite l'Afrique en .*",
        "\\w+ visite .* en septembre",
    ):
        assert len(re.findall(rf"^{kind}\.?$", train, re.MULTILINE)) >= 10


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (
            r"[Ll]'accord sur la zone économique européenne",
            "greement on the European Economic Area",
        ),
        (r"l'union monétaire africaine", "the African Monetary Union"),
        (r"aux États-Unis", "(in|to) the United States"),
        (r"\bau Portugal", "(in|to) Portugal"),
        (r"\ben août \d", r"in August \d"),
        (r"au dix-huitième siècle", "in the eighteenth century"),
        (r"\ble 1er \w+ \d{4}", r"on 1 \w+ \d{4}"),
        (r"\bn\S+ \S+ pas ", r"\b(not|cannot|no)\b"),
        (r"\bn\S+ \S+ jamais ", r"\bnever\b"),
        (r"\bn(e |')(a|ont|as|ai|avez|avons) jamais ", "(has|have) never"),
        (r"\bn\S+ \S+ plus ", "no longer"),
        (r"^Est-ce qu", r"^(Do|Does|Did|Will|Is|Are|Was|Were|Can|Must)\b.*\?$"),
        (r"^(Visites|Achètes|Bois|Lis)-tu [^?]", "^Do you (visit|buy|drink|read) "),
        (r"^(Visitera|Ira|Boira|Lira)-t-(il|elle) ", "^Will s?he (visit|go|drink|read) "),
        (r"^Qu'est-ce qu", "^What (do|does|did|will) "),
        (r"\b(va|vont|vais|vas|allons|allez) (visiter|acheter)", "going to (visit|buy)"),
        (r"\bvoiture (rouge|bleue)", "(red|blue) car"),
        (r"\b(vieil|nouvel) (hôtel|appartement)", "(old|new) (hotel|flat)"),
        (r"^La sœur d['e]", "^[A-Z].*'s sister"),
        (r" parce qu", " because "),
        (r"^Quand [^?]* arrivera à .*,", "^When .* arrives in .* will "),
        (r" depuis (\d+|.* (ans|mois))", "(has|have) (lived|worked)"),
        (r"s'il vous plaît", ", please"),
        (
            r"^(?!.*\?)(Paul|Omar|Marc|Daniel|Victor) (a perdu|rencontre|attend) (son|sa|ses) ",
            " his ",
        ),
        (
            r"^(?!.*\?)(Marie|Jane|Anne|Emma|Alice) (a perdu|rencontre|attend) (son|sa|ses) ",
            " her ",
        ),
        (r" souvent ", r" often "),
        (
            r"^(?!.*\?)Le (chien|chat|cheval) et le (chien|chat|cheval) ",
            "^The (dog|cat|horse) and the ",
        ),
        (r"^(?!.*\?)(Mon|Ma) \w+ et (mon|ma) \w+ ", r"^My \w+ and my "),
        (r"^(?!.*\?)(Paul|Omar|Marc) et (son|sa|ses) ", r"^\w+ and his "),
        (r"^(?!.*\?)(Marie|Jane|Anne) et (son|sa|ses) ", r"^\w+ and her "),
        (r"^(?!.*\?)Je \w+ [^,]* et je \w+ ", r"^I \w+ [^,]* and I "),
        (r"^Le chat (mange|boit|dort|joue|court) et \w+[.!]?$", r"^The cat \w+s and \w+s[.!]?$"),
        (r", mais ", ", but "),
        (r"^(?!.*\?)Je dois (partir|dormir|manger|rester)\b", "^I must (leave|sleep|eat|stay)"),
        (r"^Puis-je ", r"^Can I .*\?$"),
        (r"^Tu [^?]* \?$", r"^(Do|Did|Will|Are|Were|Can|Must) you "),
        (r"^« [^»]*[^?!] », (dit|disent)-(ils?|elles?)", '^"[^"]*," (he|she|they) says?'),
        (r"^« [^»]* [?!] » (dit|demande)[- ]", r'^"[^"]*[?!]" .*\b(says|asks)'),
        (r"^\w+ dit : « [^»]* »$", r'^\w+ says: "[^"]*"$'),
        (r"(?i)^(un,? )?deux,? trois", r"(?i)^(one,? )?two,? three"),
    ],
)
def test_constructions(corpus: Corpus, source: str, target: str) -> None:
    pattern = re.compile(source)
    found = [pair for pair in corpus["train"] if pattern.search(pair.source)]
    assert len(found) >= 5
    assert not [pair for pair in found if not re.search(target, pair.target)][:3]


FRENCH_MISTAKES = [
    # Every h here is mute, and huit and onze never follow a word that could elide. After a verb,
    # je does not elide: puis-je entrer.
    r"(?<!-)\b([Ll][ea]|[Dd]e|[Nn]e|[Jj]e|[Qq]ue|[Cc]e) [aeiouyhàâéèêîôœAEIOUÉ]",
    r"\b([LlDdNnJj]|[Qq]u)'[^aeiouyhàâéèêîôœAEIOUÉ]",
    r"\b(à|de) les? ",
    r"\b([MmTt]a|sa) [aeiouhàâéèêîôœ]",
    r"\b(un|le|ce|cet|mon|ton|son) (beau|nouveau|vieux) [aeiouhéèêôœ]",
    r"\bdes (petite?s|grande?s|beaux|belles|vieux|vieilles|bons|bonnes|longs) ",
    r"\ben (Portugal|Canada|Japon|Maroc|Brésil|Mexique|États-Unis|Paris|Lyon)\b",
    r"\bà (France|Italie|Portugal|Japon|États-Unis)\b",
    r"\b[Ee]lle est (allé|arrivé|parti|revenu|né)\b",
    r"\b[Ii]ls sont (allée?|arrivée?|partie?|revenue?|née?)\b",
    r"  | ,|[^ ][?!]|«[^ ]|[^ ]»",
]


@pytest.mark.parametrize("mistake", FRENCH_MISTAKES)
def test_no_french_mistake(french_text: str, mistake: str) -> None:
    assert not re.findall(f"^.*(?:{mistake}).*$", french_text, re.MULTILINE)[:3]


ENGLISH_MISTAKES = [
    r"\b[Aa] (?!European)[aeiouAEIOU]",
    r"\b[Aa]n [^aeiouAEIOU]",
    r"^(He|She) (do|have|are|go|want|say)\b",
    r"\b(january|may|monday|french|italian)\b",
    r"\b(in|to|visits?|for|from) (United States|Netherlands)",
    r"\b(does|did|will|do) not (went|was|\w+ed)\b",
    r"  | ,| [?!]|[«»’]",
]


@pytest.mark.parametrize("mistake", ENGLISH_MISTAKES)
def test_no_english_mistake(english_text: str, mistake: str) -> None:
    assert not re.findall(f"^.*(?:{mistake}).*$", english_text, re.MULTILINE)[:3]


def test_vocabulary_is_small_and_every_word_frequent(corpus: Corpus) -> None:
    source = Counter(word for pair in corpus["train"] for word in french_words(pair.source))
    target = Counter(word for pair in corpus["train"] for word in english_words(pair.target))
    assert 1_300 <= len(source) <= 1_500
    assert 700 <= len(target) <= 900
    for counts in (source, target):
        often = {word: count for word, count in counts.items() if not word.isdigit()}
        rare = [word for word, count in often.items() if count < 6]
        assert not rare
        assert sum(count >= 60 for count in often.values()) >= 0.8 * len(often)
    heard = {word for pair in corpus["test"] for word in french_words(pair.source)}
    assert {word for word in heard if not word.isdigit()} <= source.keys()


def test_lengths(everything: list[Pair]) -> None:
    source = [len(french_words(pair.source)) for pair in everything]
    target = [len(english_words(pair.target)) for pair in everything]
    for lengths in (source, target):
        assert min(lengths) >= 2
        assert max(lengths) <= 25
        assert 6 <= sum(lengths) / len(lengths) <= 12


def test_target_mirrors_punctuation(everything: list[Pair]) -> None:
    for pair in everything:
        assert pair.source.endswith(" ?") == pair.target.endswith("?")
        assert pair.source.endswith(" !") == pair.target.endswith("!")
        if pair.source[0].islower():
            first = re.split(r"[ ,']", pair.target)[0]
            assert pair.target[0].islower() or first == "I" or first in NAMED, pair
        assert pair.source.endswith(".") == pair.target.endswith(".")
    statements = [pair for pair in everything if not pair.source.endswith("?")]
    without = sum(not pair.source.endswith(".") for pair in statements)
    assert 0.25 <= without / len(statements) <= 0.35


JANE = NAMES[0]
NAMED = {name.en for name in NAMES}
SISTERS = third(Phrase("mes sœurs", "my sisters"), feminine=True, many=True)
VOUS = next(subject for subject in PRONOUNS if subject.fr == "vous" and not subject.many)
ACCORD = third(Phrase("l'accord", "the agreement"), feminine=False)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (clause(I_F, verbs.BUY, "present", NOTHING), ("j'achète", "I buy")),
        (clause(I_F, verbs.GO, "past", NOTHING), ("je suis allée", "I went")),
        (clause(I_F, verbs.LIKE, "present", NOTHING, "pas"), ("je n'aime pas", "I do not like")),
        (clause(SISTERS, verbs.GO, "past", NOTHING), ("mes sœurs sont allées", "my sisters went")),
        (
            clause(JANE, verbs.BUY, "past", NOTHING, "pas"),
            ("Jane n'a pas acheté", "Jane did not buy"),
        ),
        (
            clause(JANE, verbs.EAT, "past", NOTHING, "jamais"),
            ("Jane n'a jamais mangé", "Jane has never eaten"),
        ),
        (
            clause(VOUS, verbs.TAKE, "future", NOTHING, "pas"),
            ("vous ne prendrez pas", "you will not take"),
        ),
        (
            question(JANE, verbs.VISIT, "present", NOTHING, NOTHING, inverted=True),
            ("Jane visite-t-elle ?", "does Jane visit?"),
        ),
        (
            question(VOUS, verbs.AWAIT, "past", NOTHING, Phrase("que", "what"), inverted=False),
            ("qu'est-ce que vous avez attendu ?", "what did you wait for?"),
        ),
        (
            passive(ACCORD, verbs.SIGN, "past", NOTHING),
            ("l'accord a été signé", "the agreement was signed"),
        ),
        (
            being(SISTERS, "past", quality(words.HAPPY, SISTERS), "plus"),
            ("mes sœurs n'étaient plus contentes", "my sisters were no longer happy"),
        ),
        (
            nominal(words.CAR, (words.SMALL, words.RED), False),
            ("petite voiture rouge", "small red car"),
        ),
        (nominal(words.HOTEL, (words.OLD,), False), ("vieil hôtel", "old hotel")),
        (nominal(words.HOTEL, (words.OLD,), True), ("vieux hôtels", "old hotels")),
    ],
)
def test_composition(said: Phrase, expected: tuple[str, str]) -> None:
    assert said == expected


def test_countries_take_their_prepositions() -> None:
    forms = {country.name.fr: (country.inside.fr, country.away.fr) for country in COUNTRIES}
    assert forms["l'Afrique"] == ("en Afrique", "d'Afrique")
    assert forms["la France"] == ("en France", "de France")
    assert forms["le Portugal"] == ("au Portugal", "du Portugal")
    assert forms["l'Iran"] == ("en Iran", "d'Iran")
    assert forms["les États-Unis"] == ("aux États-Unis", "des États-Unis")


def test_contraction_and_agreement() -> None:
    assert french.at("le marché") == "au marché"
    assert french.at("l'école") == "à l'école"
    assert french.of("les voisins") == "des voisins"
    assert french.of("Alice") == "d'Alice"
    assert french.possessive("amie", 0, feminine=True, many=False) == "mon amie"
    assert french.demonstrative("ordinateur", feminine=False, many=False) == "cet ordinateur"
    assert [french.agree("né", f, m) for m in (False, True) for f in (False, True)] == [
        "né",
        "née",
        "nés",
        "nées",
    ]


def test_long_sentences_are_held_out_like_short_ones(long_corpus: Corpus) -> None:
    everything = [pair for split in SPLITS for pair in long_corpus[split]]
    sizes = {split: len(long_corpus[split]) for split in SPLITS}
    assert sizes == {"train": 20_000, "valid": 200, "test": 400}
    assert long_corpus["test"][0].place == "phrasebook-long/test:1"
    assert len({pair.source for pair in everything}) == len(everything)
    for side in ("source", "target"):
        train, valid, test = (
            {bare(getattr(pair, side)) for pair in long_corpus[split]} for split in SPLITS
        )
        assert not train & test
        assert not train & valid
        assert not valid & test
    assert not [p for p in everything if "Jane visite l'Afrique" in p.source and "sept" in p.source]
    assert digest(everything) == LONG_BEGINNING


@pytest.mark.slow
def test_the_whole_long_variant_is_unchanged() -> None:
    whole = {split: list(pairs(split, "phrasebook-long")) for split in SPLITS}
    everything = [pair for split in SPLITS for pair in whole[split]]
    assert len({pair.source for pair in everything}) == len(everything) == 103_000
    assert digest(everything) == LONG_DIGEST
    for split, fewest in (("train", 4_000), ("test", 80)):
        lengths = check_lengths(whole[split], fewest)
        assert all(lengths[length] for length in range(5, 60))


def test_long_sentences_have_all_lengths(long_corpus: Corpus) -> None:
    check_lengths(long_corpus["test"], 16)
    lengths = check_lengths(long_corpus["train"], 800)
    assert all(lengths[length] for length in range(5, 60))


def check_lengths(some: list[Pair], fewest: int) -> Counter[int]:
    """Check that each bin of five lengths has at least `fewest` sentences, and none is above 60."""
    lengths = Counter(len(pair.source.split()) for pair in some)
    assert max(lengths) == 60
    for shortest in range(6, 60, 5):
        assert sum(lengths[shortest + more] for more in range(5)) >= fewest, shortest
    return lengths


def test_long_sentences_have_the_words_of_short_ones(corpus: Corpus, long_corpus: Corpus) -> None:
    for side, found, joining in (
        ("source", french_words, JOINING[0]),
        ("target", english_words, JOINING[1]),
    ):
        short, long = (
            {word for pair in each["train"] for word in found(getattr(pair, side))}
            for each in (corpus, long_corpus)
        )
        assert long - short == joining


@pytest.mark.parametrize(
    ("side", "mistakes"), [("source", FRENCH_MISTAKES), ("target", ENGLISH_MISTAKES)]
)
def test_no_mistake_in_long_sentences(long_corpus: Corpus, side: str, mistakes: list[str]) -> None:
    text = "\n".join(getattr(pair, side) for pair in long_corpus["train"])
    for mistake in mistakes:
        assert not re.findall(f"^.*(?:{mistake}).*$", text, re.MULTILINE)[:3]
    assert not re.findall(r"^.*,(?:,|\.| et | and ).*$", text, re.MULTILINE)[:3]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (r", puis ", ", then "),
        (r", ensuite ", ", afterwards "),
        (r", mais \w+ n", ", but "),
        (r" pendant qu", " while "),
        (r"^(Paul|Marie|Jane), qui (habite|travaille) .*, ", "^(Paul|Marie|Jane), who "),
        (r" dit que .*, que .* et que ", " says that .*, that .* and that "),
        (r" pour acheter .*, .* et ", " to buy .*, .* and "),
    ],
)
def test_what_joins_clauses(long_corpus: Corpus, source: str, target: str) -> None:
    found = [pair for pair in long_corpus["train"] if re.search(source, pair.source)]
    assert len(found) >= 50
    assert not [pair for pair in found if not re.search(target, pair.target)][:3]
