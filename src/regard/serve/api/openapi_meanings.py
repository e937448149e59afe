"""What each field of a request or of an answer means, and an example of each request."""

from typing import Any

from regard.serve.api.openapi_parts import Schema
from regard.serve.translation.service import Service

MEANINGS = {
    "alternatives": "How many other answers to give, or these answers",
    "api_key": "The key of the caller, where the server has keys",
    "bearer": "The key of the caller",
    "billed_characters": "Characters that count",
    "calibrated": "Whether the intervals were corrected on held-out data",
    "caption": "A sentence about the image",
    "character_count": "Characters so far",
    "character_limit": "Characters that are allowed",
    "check": "How many translations a person should check",
    "choices": "The answers",
    "code": "The language's code",
    "column": "Of a table: the column to translate; found by its name if it is left out",
    "confidence": "How sure it is, from 0 to 1; in a request, whether to say so",
    "content": "The text of a message",
    "creation_time": "When it was created",
    "data": "The answers, one for each input",
    "detectedLanguage": "The language that was detected, where the source is auto",
    "detected_source_language": "The language of the text",
    "document_id": "The name to ask for the document by",
    "document_key": "The key to the document: the same name",
    "echo": "Whether the answer begins with the prompt",
    "encoding_format": "Numbers, or their bytes as base64",
    "entries": "Terms and their translations, a pair a line",
    "entries_format": "What stands between a term and its translation: a tab or a comma",
    "entry_count": "How many terms it has",
    "explain": "Whether to give scores, alternatives and the alignment of words",
    "file": "The file",
    "finished": "Segments that were translated in the file already",
    "forecasts": "A forecast for each series",
    "format": "What the text is: plain text, HTML, or a segment with tags",
    "glossaries": "All of the caller's glossaries",
    "glossary_id": "The glossary whose terms are used",
    "high": "The upper ends of the interval",
    "id": "The name of the model",
    "ignore_tags": "Elements that are not translated",
    "image": "The image as a data URL or as base64",
    "input": "The texts",
    "intervals": "Intervals by their level in percent",
    "into": "Of a table: the column that gets the translation",
    "known": "Columns that are known in advance, the future included",
    "label": "The likeliest label",
    "langpair": "Source and target with a bar between them",
    "language": "The language's code",
    "levels": "Intervals to give, in percent",
    "likely fine": "How many translations are likely fine",
    "line": "The line of the file",
    "logprobs": "How many alternatives to give at each token with their log-probabilities",
    "low": "The lower ends of the interval",
    "matches": "How well each text fits each image",
    "max_tokens": "The most tokens that are written",
    "mean": "The mean of what may come",
    "median": "The median of what may come",
    "memory": "Whether to look the text up in the translation memory first",
    "messages": "The conversation; the last message of the user is translated",
    "model": "The name of the run, which may be left out where there is one alone",
    "modelTag": "The name of the run; any if it is left out",
    "n": "How many continuations to write",
    "n_best": "How many captions to give",
    "beam_size": "Hypotheses kept at each step of the search",
    "naive": "The seasonal naive forecast, to compare with",
    "name": "A name for people",
    "non_splitting_tags": "Elements that do not end a sentence",
    "number": "The number of the segment in the file, from 0",
    "object": "The kind of the answer",
    "only": "The names of the series to forecast; all of them if it is left out",
    "outline_detection": "Whether to find out by itself which elements end a sentence",
    "pieces": "Texts, and the tags between them",
    "probabilities": "The probability of each",
    "prompt": "The text to continue, or several",
    "prompt_tokens": "Tokens that were read",
    "q": "The text, or a list of texts",
    "ready": "Whether it can be used",
    "regard": "What was asked for with explain or confidence",
    "remarks": "What a person should know of the answer",
    "responseData": "The answer",
    "responseDetails": "What is wrong; nothing here",
    "responseStatus": "200 for an answer",
    "reviewed": "Numbers of the segments that a person has confirmed, as JSON",
    "role": "Who says it: user, assistant or system",
    "s": "The better translation",
    "score": "How well the model likes it",
    "season": "Steps after which the series repeats",
    "seed": "The same seed gives the same answer",
    "segments": "The texts of the file, in order",
    "series": "The numbers so far, null where one is missing; in an answer, the series' name",
    "show_billed_characters": "Whether to count the characters",
    "similarities": "The similarity to each image",
    "source": "The code of the language to translate from; auto detects it",
    "sourceLanguage": "The code of the language to translate from",
    "source_lang": "The code of the language to translate from; detected if it is left out",
    "splitting_tags": "Elements that end a sentence",
    "srcLangCode": "The code of the language to translate from",
    "start": "The time of the first number",
    "status": "How far it is",
    "step": "The time from one number to the next, like 1h or 1d",
    "stop": "Texts at which the answer ends",
    "stream": "Whether the answer is sent in pieces, as they are made",
    "stream_options": "Options of streaming, as OpenAI's clients send them",
    "success": "Whether it was kept",
    "supported_languages": "The pairs of languages",
    "supports_formality": "Whether the register can be chosen; never here",
    "syntaxes": "How the tags are written in the file",
    "table": "Series as a table: rows, or the name of the column",
    "tag_handling": "What tags are in the text: html or xml",
    "target": "The code of the language to translate to",
    "targetLanguage": "The code of the language to translate to",
    "target_lang": "The code of the language to translate to",
    "targets": "The codes of the languages that it can be translated to",
    "temperature": "How bold the choice of tokens is: 0 always takes the likeliest",
    "templates": "Sentences around each text, with {} in its place",
    "text": "The text",
    "texts": "The texts to compare the image with",
    "times": "The time of each number",
    "top_p": "Only the likeliest tokens that together have this share of the probability",
    "total_tokens": "All tokens that count",
    "translatedFileUrl": "Where the translated file can be fetched",
    "translatedText": "The translation, or one for each text",
    "translation": "The translation",
    "translations": "A translation for each text; of a document, those that a person gave, as JSON",
    "trgLangCode": "The code of the language to translate to",
    "type": "Languages to translate from, or to",
    "usage": "Tokens that were read and written",
}
# Paths that runs of one kind answer, as `Models` names them; where there is none, they refuse.
ANSWER_OF = {
    "/v1/completions": "completions",
    "/v1/embeddings": "embeddings",
    "/classify": "labels",
    "/caption": "captions",
    "/match": "matches",
    "/forecast": "forecasts",
}
GLOSSARIES = "/v2/glossar"  # where they are switched on
ALWAYS = frozenset(
    {"/v1/models", "/v1/models/{name}", "/health", "/ready", "/metrics", "/spec"}
    | {"/languages", "/frontend/settings"}
)
# An image of one pixel.
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNoaGgA"
    "AAMEAYFL09IQAAAAAElFTkSuQmCC"
)


def answered(path: str, service: Service) -> bool:
    """Whether the runs that are loaded answer at a path."""
    if (answer := ANSWER_OF.get(path)) is not None:
        return any(each == answer for each, _, _ in service.models.loaded())
    if path.startswith(GLOSSARIES) and service.glossaries is None:
        return False
    return path in ALWAYS or bool(service.pairs.pairs)


def with_meanings(described: Any) -> Any:
    """The same description, where each field and each parameter says what it means."""
    if isinstance(described, list):
        return [with_meanings(each) for each in described]
    if not isinstance(described, dict):
        return described
    found = {key: with_meanings(value) for key, value in described.items()}
    if isinstance(fields := described.get("properties"), dict):
        found["properties"] = {name: meant(name, with_meanings(fields[name])) for name in fields}
    if "in" in described and "schema" in described:
        return meant(described["name"], found)
    return found


def meant(name: str, schema: Schema) -> Schema:
    meaning = MEANINGS.get(name)
    return schema if meaning is None else {"description": meaning, **schema}


def examples(service: Service) -> dict[str, Any]:
    """A request for each path that takes JSON, which the loaded runs answer."""
    names = {answer: name for answer, name, _ in service.models.loaded()}
    found: dict[str, Any] = {
        "/v1/completions": {"prompt": "Once upon a time", "max_tokens": 20},
        "/v1/embeddings": {"input": ["A fine film.", "A dull film."]},
        "/classify": {"image": PIXEL},
        "/caption": {"image": PIXEL},
        "/match": {"image": PIXEL, "texts": ["a cat", "a dog"]},
        "/forecast": {"series": [3, 4, 6, 5, 3, 4, 7, 5], "levels": [80]},
    }
    for path, answer in ANSWER_OF.items():
        found[path]["model"] = names.get(answer, "")
    if not service.pairs.pairs:
        return found
    pair = service.pairs.pairs[0]
    texts = {"source": pair.source, "target": pair.target}
    upper = {"source_lang": pair.source.upper(), "target_lang": pair.target.upper()}
    entries = {"entries": "hello\tgood day", "entries_format": "tsv"}
    said = {"role": "user", "content": "Hello!"}
    return {
        **found,
        "/translate": {"q": "Hello!", **texts},
        "/detect": {"q": "Hello, how are you today?"},
        "/suggest": {"q": "Hello!", "s": "Good day!", **texts},
        "/v2/translate": {"text": ["Hello!"], **upper},
        "/v2/glossaries": {"name": "greetings", **upper, **entries},
        "/v1/chat/completions": {"model": f"{pair.source}-{pair.target}", "messages": [said]},
    }


def with_examples(paths: dict[str, Any], service: Service) -> dict[str, Any]:
    """The paths with an example of each request that is JSON."""
    for path, example in examples(service).items():
        for operation in paths.get(path, {}).values():
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                content["application/json"]["example"] = example
    return paths
