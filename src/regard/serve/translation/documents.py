"""Translates the texts of a document, and says how sure the translations are."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.errors import DataError
from regard.serve.http.refusal import Refusal
from regard.serve.translation.files import unfinished
from regard.serve.translation.pairs import LanguagePair
from regard.serve.translation.service import Service
from regard.tasks.translation.documents import together
from regard.tasks.translation.judged import how_sure
from regard.tasks.translation.kept import Made
from regard.text.documents.document import Document, Pieces, Translations
from regard.text.documents.sentences import cut, marked
from regard.text.glossary import NO_TERMS, Glossary


@dataclass(frozen=True)
class Wanted:
    """What a document is translated with: terms, translations that are `given` instead of the
    model's, and whether it is to be said how sure the model is.
    """

    glossary: Glossary = NO_TERMS
    given: Translations = field(default_factory=dict)
    confidence: bool = False


async def translate_document(
    service: Service, document: Document, source: str, target: str, wanted: Wanted
) -> bytes:
    """The file of a document with its unfinished texts translated. Equal sentences are translated
    once. The document is told how sure the model is of each.
    """
    source = await service.source_of(document, source)
    route = service.pairs.route(source, target)
    rows = [row for row in unfinished(document) if row not in wanted.given] if route else []
    cuts = await asyncio.to_thread(
        lambda: {row: cut(document.segments[row], source) for row in rows}
    )
    places: dict[Pieces, int] = {}
    for each in cuts.values():
        for sentence in each.sentences:
            places.setdefault(sentence, len(places))
    found = await translated(service, route, [*places], wanted)
    filled: dict[int, Pieces] = {}
    for row, each in cuts.items():
        parts = [found[places[text]] for text in each.sentences]
        filled[row] = each.filled({at: made.pieces for at, made in enumerate(parts)}, target)
        if sure := together(parts):
            document.sure[row] = how_sure(sure)
    try:
        filled |= {row: pieces for row, pieces in wanted.given.items() if pieces}
        return await asyncio.to_thread(document.write, filled)
    except DataError as error:
        raise Refusal(400, f"Invalid request: {error}") from None


async def translated(
    service: Service, route: Sequence[LanguagePair], sentences: list[Pieces], wanted: Wanted
) -> list[Made]:
    """The translation of each sentence by the pairs of a route, and how sure the last one is."""
    if not (route and wanted.confidence):
        for pair in route:
            sentences = await service.translated(pair, sentences, wanted.glossary)
        return [*map(Made, sentences)]
    for pair in route[:-1]:
        sentences = await service.translated(pair, sentences, wanted.glossary)
    given = [marked(sentence) for sentence in sentences]
    texts = await asyncio.to_thread(lambda: [wanted.glossary.mark(text) for text, _ in given])
    translator = route[-1].translator
    outputs = await service.batcher.scored(translator, texts, translator.search)
    return [Made.of(best, codes) for (best, *_), (_, codes) in zip(outputs, given, strict=True)]
