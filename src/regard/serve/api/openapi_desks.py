"""The description of the endpoints that programs for translators ask: Apertium's and OPUS-CAT's."""

from typing import Any

from regard.serve.api.openapi_parts import TEXT, Schema, get, json_object, operation
from regard.serve.api.paths import ANNOUNCED, OPUSCAT, OPUSCAT_METHODS, OPUSCAT_TOO
from regard.serve.translation.service import Service

TEXTS: Schema = {"type": "array", "items": TEXT}
STATUS: Schema = {"responseStatus": {"const": 200}, "responseDetails": {"type": "null"}}
DONE = json_object({"translation": TEXT})
# The summary of each endpoint of OPUS-CAT, its answer, and whether it takes a text.
SUMMARIES: dict[str, tuple[str, Schema, bool]] = {
    "TranslateJson": ("Translate a text, as OPUS-CAT does", DONE, True),
    "TranslatePost": ("The same for Wordfast", DONE, True),
    "Translate": ("Translate a text; the answer is a string", TEXT, True),
    "TranslateStream": ("Translate a text; the answer is the text alone", TEXT, True),
    "ListSupportedLanguagePairs": ("Pairs of languages, like en-de", TEXTS, False),
    "GetLanguagePairModelTags": ("The runs that translate a pair", TEXTS, False),
    "CheckModelStatus": ("Whether a pair can be translated", TEXT, False),
    "PreOrderBatch": ("Announce texts, which are translated when asked for", {}, False),
}


def desks(service: Service) -> dict[str, Any]:
    return {**list_pairs(), **opus_cat(service)}


def list_pairs() -> dict[str, Any]:
    pair = json_object({"sourceLanguage": TEXT, "targetLanguage": TEXT})
    return {
        "/listPairs": get(
            "Pairs of languages, as Apertium lists them",
            json_object({"responseData": {"type": "array", "items": pair}, **STATUS}),
        ),
    }


def apertium_translate(service: Service) -> dict[str, Any]:
    """What GET means on the path where LibreTranslate's clients POST."""
    asked = [f"{pair.source}|{pair.target}" for pair in service.pairs.pairs]
    found = get(
        "Translate a text, as Apertium does",
        json_object({"responseData": json_object({"translatedText": TEXT}), **STATUS}),
    )
    found["get"]["parameters"] = [
        in_query("q", {**TEXT, "minLength": 1}),
        in_query("langpair", {"type": "string", "enum": asked}),
        in_query("format", {"type": "string", "enum": ["txt", "html"]}, required=False),
    ]
    return found


def opus_cat(service: Service) -> dict[str, Any]:
    languages = {"type": "string", "enum": service.pairs.languages}
    pair = [in_query("srcLangCode", languages), in_query("trgLangCode", languages)]
    described = {}
    for name, method in OPUSCAT_METHODS.items():
        summary, answer, takes_text = SUMMARIES[name]
        found = operation(summary, answer)
        if name in ("TranslateStream", ANNOUNCED):
            found["responses"]["200"]["content"] = {"text/plain": {"schema": TEXT}}
        if name == ANNOUNCED:
            found["requestBody"] = {"content": {"application/json": {"schema": TEXTS}}}
            del found["responses"]["200"]["content"]
        found["parameters"] = [
            *(pair if name != "ListSupportedLanguagePairs" else []),
            *([in_query("input", TEXT, required=False)] if takes_text else []),
            *([in_query("modelTag", TEXT, required=False)] if takes_text else []),
        ]
        for root in (OPUSCAT, OPUSCAT_TOO):
            described[f"{root}/{name}"] = {method.lower(): found}
    return described


def in_query(name: str, schema: Schema, required: bool = True) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": schema}
