"""The languages of the two sides of pairs, and those that they should have."""

from collections.abc import Iterator

from regard.checks.languages import Languages, alike
from regard.checks.report import EXAMPLES, Example, Finding, spread
from regard.text.languages import language_name

Sides = tuple[Languages, Languages]


def language_findings(
    found: Sides, named: tuple[str, str] | None, names: tuple[str, str]
) -> Iterator[Finding]:
    """Sides that are swapped, in another language than they are named, or both in one language."""
    if named and all(named) and swapped(found, named):
        yield Finding(
            "swapped",
            "error",
            f"the sides seem to be swapped: {names[0]} is in {name(found[0])} and {names[1]} in "
            f"{name(found[1])}, but the languages are named {named[0]} → {named[1]}",
            "give the files in the other order, or name the languages with --languages",
            tuple(each for side in found for each in examples(side, side.main or "")[:1]),
        )
    else:
        wrong = [
            side for side in (0, 1) if named and named[side] and found[side].are_not(named[side])
        ]
        for side in wrong:
            code = named[side] if named else ""
            yield Finding(
                "language",
                "error",
                f"{names[side]}: the {('source', 'target')[side]} is named "
                f"{language_name(code)} ({code}), but the text is in {name(found[side])}",
                "give the right file, or name the languages with --languages",
                examples(found[side], found[side].main or ""),
            )
        first, second = found[0].main, found[1].main
        if not wrong and first and second and alike(first, second) and not same(named):
            yield Finding(
                "one-language",
                "warning",
                f"both sides are in {name(found[0])}",
                "check that the second one holds the translations",
                examples(found[1], found[1].main or ""),
            )
    for file, text in zip(names, found, strict=True):
        yield from other_languages(text, file)


def same(named: tuple[str, str] | None) -> bool:
    return named is not None and alike(*named)


def swapped(found: Sides, named: tuple[str, str]) -> bool:
    main = found[0].main, found[1].main
    if not (main[0] and main[1]) or alike(*named) or alike(main[0], main[1]):
        return False
    return alike(main[0], named[1]) and alike(main[1], named[0])


def other_languages(text: Languages, side: str) -> Iterator[Finding]:
    """Parts of a text that are in another language than the rest."""
    for language in text.others()[:2]:
        part = text.within(language)
        percent = 100 * len(part) / len(text.passages)
        yield Finding(
            "mixed-languages",
            "warning",
            f"{side}: about {percent:.0f} % of the text is in {language_name(language)}, the rest "
            f"in {name(text)}",
            "remove what does not belong there",
            examples(text, language),
        )


def name(text: Languages) -> str:
    return language_name(text.main or "an unknown language")


def examples(text: Languages, language: str) -> tuple[Example, ...]:
    return tuple(Example(p.place, (p.text,)) for p in spread(text.within(language), EXAMPLES))
