"""The glossary of a translation, as people give it, and what became of its terms."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from regard.errors import RequestError, shown
from regard.text.glossary import NO_TERMS, Glossary, glossary_of
from regard.text.terms import TermUse

GivenGlossary = Glossary | Mapping[str, str] | Path | str | None


def glossary_from(given: GivenGlossary, languages: tuple[str, str] | None) -> Glossary:
    """A glossary from its file, or from terms and their translations."""
    match given:
        case None:
            return NO_TERMS
        case Glossary():
            return given
        case Path() | str():
            from regard.data.glossary_files import read_glossary

            return read_glossary(Path(given), *(languages or ()))
        case Mapping():
            return glossary_of(given.items())
    raise RequestError(
        f"glossary: {shown(given)} is none; give a file, or terms with their translations"
    )


def remark(terms: Iterable[TermUse]) -> str:
    """A sentence on the terms of a translation; "" if it has none."""
    counts = Counter(term.found for term in terms)
    total = counts.total()
    if not total:
        return ""
    facts = [f"{counts['written']:,} written by the model"]
    if counts["replaced"]:
        facts.append(f"{counts['replaced']:,} in place of other words")
    if counts["missing"]:
        facts.append(f"{counts['missing']:,} missing")
    return f"{total:,} term{'s' if total > 1 else ''}: {', '.join(facts)}"
