"""What the demo and the documents promise of runs/demo is what the phrasebook teaches."""

import doctest
import re
from pathlib import Path

import pytest

from regard.cli.demo import SENTENCE
from regard.data import phrasebook
from regard.data.phrasebook import HELD_OUT, everyday_words, verbs, words
from regard.data.phrasebook.clauses import clause, passive, question
from regard.data.phrasebook.draw import Draw
from regard.data.phrasebook.examples import EXAMPLES, TO_TRY
from regard.data.phrasebook.phrases import NAMES, noun_phrase, third
from regard.data.phrasebook.places import COUNTRIES, NOTHING, TOWNS, Phrase
from regard.data.phrasebook.sentences import together
from regard.data.phrasebook.times import MONTHS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = [ROOT / "src" / "regard" / "api" / "__init__.py"]
SOURCES += sorted((ROOT / "src" / "regard" / "tasks" / "translation").glob("*.py"))
NEWCOMER = ROOT / "tests" / "data" / "newcomer.tsv"

# Texts in double quotes, after a command on the demo run or in an example of Python or of curl.
COMMAND = re.compile(r"(regard (?:translate|attend) runs/demo [^\n`]*)")
QUOTED = re.compile(r"\"([^\"\n]+)\"")
GIVEN = (
    re.compile(r"translator\.(?:translate|maps|align)\(\[?\"([^\"\n]+)\""),
    re.compile(r"\"q\": \"([^\"\n]+)\", \"source\": \"fr\""),
)
# What is shown as the answer to the text before it.
ANSWERED = (
    re.compile(r"translator\.translate\(\"([^\"\n]+)\"\)\n\s*'([^'\n]+)'"),
    re.compile(r"\"q\": \"([^\"\n]+)\".*\n\{\"translatedText\":\"([^\"\n]+)\"\}"),
    re.compile(r"translator\.maps\(\"([^\"\n]+)\", \"([^\"\n]+)\"\)"),
)


AREA = Phrase(
    "l'accord sur la zone économique européenne", "the agreement on the European Economic Area"
)


def plain(text: str) -> str:
    return text.replace("’", "'").replace("“", "«").replace("”", "»")


def bare(text: str) -> str:
    return plain(text).rstrip(" .?!").casefold()


def newcomer() -> dict[str, list[str]]:
    rows = [line.split("\t") for line in NEWCOMER.read_text("utf-8").splitlines()]
    return {source: targets for source, *targets in rows}


def found(patterns: tuple[re.Pattern[str], ...]) -> set[tuple[str, ...]]:
    texts = [path.read_text("utf-8") for path in [*PAGES, *SOURCES]]
    matches = [match for text in texts for each in patterns for match in each.finditer(text)]
    return {match.groups() for match in matches}


def test_every_sentence_that_documents_give_the_demo_is_an_example() -> None:
    given = {plain(source) for (source,) in found(GIVEN)}
    given |= {text for (line,) in found((COMMAND,)) for text in QUOTED.findall(line)} - {"…"}
    assert len(given) >= 3
    assert given <= EXAMPLES.keys()


def test_every_answer_that_documents_show_is_that_of_the_example() -> None:
    answered = found(ANSWERED)
    assert len(answered) >= 2
    for source, target in answered:
        assert EXAMPLES[plain(source)] == target


def test_the_demo_suggests_examples() -> None:
    assert {SENTENCE, *TO_TRY} <= EXAMPLES.keys()
    assert SENTENCE == HELD_OUT


def composed() -> dict[str, str]:
    """The examples that are not in the corpus, put together by the grammar."""
    jane, marie = NAMES[0], NAMES[1]
    africa = next(place for place in COUNTRIES if place.name.en == "Africa")
    portugal = next(place for place in COUNTRIES if place.name.en == "Portugal")
    paris = next(place for place in TOWNS if place.name.en == "Paris")
    cat = third(Phrase("le chat", "the cat"), feminine=False)
    coffee = noun_phrase(Draw("coffee"), words.COFFEE, "a", adjectives=())
    rome = next(place for place in TOWNS if place.name.en == "Rome")
    months = {en: Phrase(f"en {fr}", f"in {en}") for fr, en in MONTHS}
    may = Phrase(f"{months['May'].fr} 1992", f"{months['May'].en} 1992")
    august = Phrase(f"{months['August'].fr} 1992", f"{months['August'].en} 1992")
    said = (
        clause(jane, verbs.VISIT, "present", africa.name),
        clause(jane, verbs.VISIT, "present", rome.name),
        clause(jane, verbs.VISIT, "present", together(africa.name, months["September"])),
        clause(marie, verbs.LIVE, "present", paris.inside),
        Phrase(f"je voudrais {coffee.fr}, s'il vous plaît", f"I would like {coffee.en}, please"),
        clause(cat, everyday_words.SLEEP, "present", NOTHING),
        clause(marie, verbs.VISIT, "past", together(portugal.name, may)),
        question(jane, verbs.LIVE, "present", paris.inside, NOTHING, inverted=False),
        passive(third(AREA, feminine=False), verbs.SIGN, "past", august),
    )
    return {bare(phrase.fr): bare(phrase.en) for phrase in said}


def test_examples_are_what_the_phrasebook_teaches() -> None:
    pairs = (pair for split in ("train", "valid", "test") for pair in phrasebook.pairs(split))
    taught = {bare(pair.source): bare(pair.target) for pair in pairs} | composed()
    for source, target in EXAMPLES.items():
        assert taught[bare(source)] == bare(target)


def test_a_newcomer_meets_no_word_that_was_never_taught() -> None:
    words = {
        word
        for pair in phrasebook.pairs("train")
        for word in re.findall(r"\w+", plain(pair.source).casefold())
    }
    unknown = {
        source: missing
        for source in newcomer()
        if (missing := set(re.findall(r"\w+", plain(source).casefold())) - words)
    }
    assert len(newcomer()) >= 60
    assert not unknown


def map_in_the_readme() -> list[str]:
    """Its lines, without those of a word that looks at several, whose shades may differ."""
    shown = (ROOT / "README.md").read_text("utf-8").partition("```text\n")[2].partition("```")[0]
    return [line for line in shown.splitlines() if "░" not in line]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_demo_keeps_its_promises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trains the whole demo."""
    from regard.cli import main
    from regard.tasks.translation.translator import Translator

    monkeypatch.chdir(tmp_path)
    main(["demo"])
    said = capsys.readouterr()
    exact = float(re.search(r"^exact\s+([\d.]+)", said.out, re.MULTILINE).group(1))  # type: ignore[union-attr]
    assert exact >= 98
    assert "knows only its phrasebook" in said.err
    assert len(map_in_the_readme()) >= 10
    assert set(map_in_the_readme()) <= {line.rstrip() for line in said.out.splitlines()}
    (examples,) = doctest.DocTestFinder(recurse=False).find(Translator)
    tried = doctest.DocTestRunner().run(examples)
    assert (tried.attempted, tried.failed) == (5, 0)
    for engine in ("torch", "ctranslate2"):
        translator = Translator.load(tmp_path / "runs" / "demo", engine=engine)
        assert translator.translate(list(EXAMPLES)) == list(EXAMPLES.values())
        typed = translator.translate("Jane visite l’Afrique en septembre.")
        assert typed == "Jane visits Africa in September."
        asked = newcomer()
        answers = dict(zip(asked, translator.translate(list(asked)), strict=True))
        wrong = {
            source: answers[source] for source in asked if answers[source] not in asked[source]
        }
        assert not set(wrong) & set(list(asked)[:20])
        assert len(wrong) <= 2, wrong
