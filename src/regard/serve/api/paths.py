"""Paths that the server and the models name alike. This file loads nothing."""

# What Apertium's clients get, where LibreTranslate's clients POST.
APERTIUM = "GET /translate"
# What else than GET does with DeepL's glossaries.
NEW_GLOSSARY, OLD_GLOSSARY = "POST /v2/glossaries", "DELETE /v2/glossaries/{name}"
# OPUS-CAT's endpoints and their methods. Its clients write the root in both ways.
OPUSCAT, OPUSCAT_TOO = "/MTRestService", "/MtRestService"
OPUSCAT_METHODS = {
    "TranslateJson": "GET",
    "TranslatePost": "POST",
    "Translate": "GET",
    "TranslateStream": "GET",
    "ListSupportedLanguagePairs": "GET",
    "GetLanguagePairModelTags": "GET",
    "CheckModelStatus": "GET",
    "PreOrderBatch": "POST",
}
# Its texts are not read: they are translated when they are asked for.
ANNOUNCED = "PreOrderBatch"
# Whether the models answer.
READY = "/ready"
