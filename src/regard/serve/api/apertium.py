"""The endpoints of Apertium, which OmegaT's connector to a server of one's own asks."""

from typing import Any

from regard.serve.api.parameters import Fields, check_characters, language_code, required
from regard.serve.http.refusal import Refusal
from regard.serve.translation.service import Service, TranslationRequest


async def translate(service: Service, fields: Fields) -> dict[str, Any]:
    """GET /translate: `langpair` is like en|de."""
    text = required(fields, "q")
    source, bar, target = required(fields, "langpair").partition("|")
    if not bar:
        raise Refusal(400, "Invalid request: langpair must be like en|de")
    check_characters(service, len(text))
    request = TranslationRequest(
        texts=[text],
        source=language_code(service, source),
        target=language_code(service, target),
        form="html" if fields.get("format") == "html" else "text",
    )
    (answer,) = await service.translate(request)
    return answered({"translatedText": answer.text})


def pairs(service: Service) -> dict[str, Any]:
    """GET /listPairs"""
    return answered(
        [
            {"sourceLanguage": pair.source, "targetLanguage": pair.target}
            for pair in service.pairs.pairs
        ]
    )


def answered(data: Any) -> dict[str, Any]:
    return {"responseData": data, "responseDetails": None, "responseStatus": 200}
