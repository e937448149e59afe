"""What shows on a single pair."""

import pytest

from regard.cleaning.numbers import disagree
from regard.cleaning.rules import Languages, addresses, broken, copied, empty, lengths, rules

GERMAN = Languages.of("en", "de-AT")


def reason(source: str, target: str, languages: Languages = GERMAN) -> str | None:
    return next(filter(None, (rule(source, target) for rule in rules(languages))), None)


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("The dog sleeps on the sofa.", "Der Hund schläft auf dem Sofa.", None),
        (" ", "Der Hund schläft.", "empty source"),
        ("The dog sleeps.", "\t", "empty target"),
        ("The dog sleeps.", "Der Hund schlÃ¤ft.", "broken characters"),
        ("The dog sleeps.", "Der Hund schl\ufffdft.", "broken characters"),
        ("The dog sleeps.", "Der Hund\x07 schläft.", "broken characters"),
        ("The dog sleeps here.", "the dog sleeps here", "copy of the source"),
        (
            "The dog sleeps on the sofa now.",
            "The dog sleeps on the Sofa now !",
            "copy of the source",
        ),
        ("A dog.", "Ein Hund, der " + "sehr " * 20 + "müde ist.", "lengths"),
        ("See https://a.org/x.", "Siehe https://b.org/x.", "other addresses"),
        ("See https://a.org/x.", "Siehe https://a.org/x", None),
        ("The dog sleeps on the sofa.", "Le chien dort sur le canapé.", "target in French"),
        ("Der Hund schläft auf dem Sofa.", "Der Kater schläft dort im Bett.", "source in German"),
    ],
)
def test_the_first_rule_that_says_something_is_the_reason(
    source: str, target: str, said: str | None
) -> None:
    assert reason(source, target) == said


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Berlin", "Berlin"),
        ("New York City Marathon", "New York City Marathon"),
        ("%(value)s million", "%(value)s Million"),
        ("Taxi", "Taxi"),
        ("iPhone 12 Pro", "iPhone 12 Pro"),
        ("Usti nad Labem region, Liberec region", "Bezirk Ústí nad Labem, Bezirk Liberec"),
    ],
)
def test_names_and_short_texts_are_left_alone(source: str, target: str) -> None:
    found = [rule(source, target) for rule in (empty, broken, copied, lengths, addresses)]
    assert not any(found)


def test_a_language_that_cannot_be_told_is_not_judged() -> None:
    assert (
        reason("The dog sleeps.", "Lu cani dormi supra lu divanu.", Languages.of("en", "xx"))
        is None
    )
    assert Languages.of(None, "de") == Languages("", "de")


@pytest.mark.parametrize(
    ("source", "target", "first", "second", "disagrees"),
    [
        ("Two dogs", "Drei Hunde", "en", "de", True),
        ("Two dogs", "Zwei Hunde", "en", "de", False),
        ("2 dogs", "zwei Hunde", "en", "de", False),
        ("Two dogs", "Ein paar Hunde", "en", "de", False),
        ("1,500 men", "1.500 Männer", "en", "de", False),
        ("In 1987", "Im Jahr 1986", "en", "de", True),
        ("the 1980s", "die 80er", "en", "de", False),
        ("at 2 p.m.", "um 14 Uhr", "en", "de", False),
        ("at 2:30 p.m.", "um 14.30 Uhr", "en", "de", False),
        ("five of them", "cinq d'entre eux", "en", "fr", False),
        ("five of them", "six d'entre eux", "en", "fr", True),
        ("five of them", "sei di loro", "en", "it", False),
        ("5 + 6", "五 6", "en", "zh", False),
        ("%1$s of 3", "%2$s von 3", "en", "de", False),
    ],
)
def test_numbers_disagree_if_each_side_has_one_that_the_other_lacks(
    source: str, target: str, first: str, second: str, disagrees: bool
) -> None:
    assert bool(disagree(source, target, first, second)) is disagrees
