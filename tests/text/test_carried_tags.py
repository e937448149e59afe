"""A memory answers a text with tags where it has one with tags in the same places."""

import pytest

from regard.text.documents.document import Code, Pieces
from regard.text.documents.sentences import marked, unmarked
from regard.text.memory import Memory
from regard.text.protect import protect


@pytest.mark.parametrize(
    ("source", "target", "asked", "answer"),
    [
        (
            "Click <b>here</b>.",
            "<b>Hier</b> klicken.",
            "Click <i>here</i>.",
            "<i>Hier</i> klicken.",
        ),
        (
            "Click <1>here</1>.",
            "<1>Hier</1> klicken.",
            "Click <i>here</i>.",
            "<i>Hier</i> klicken.",
        ),
        (
            "<b>A</b> <i>b</i><br/>",
            "<i>B</i><br/> <b>A</b>",
            "<u>A</u>  <a>b</a><hr>",
            "<a>B</a><hr> <u>A</u>",
        ),
        ("<b>a</b> <b>c</b>", "<b>A</b> <b>C</b>", "<i>a</i> <u>c</u>", "<i>A</i> <u>C</u>"),
        ("%s <b>files</b>", "<b>Dateien</b>: %s", "%s <i>files</i>", "<i>Dateien</i>: %s"),
        ("%s of %s", "%s von %s", "%s of %s", "%s von %s"),
        ("%d files", "%d Dateien", "%s files", None),  # another placeholder
        ("Click <b>here</b>.", "Hier klicken.", "Click <i>here</i>.", None),  # a tag is lost
        ("Click <b>here</b>.", "<b>Hier</b>", "<i>Click</i> here.", None),  # elsewhere
        ("Click here.", "Hier klicken.", "Click <i>here</i>.", None),
        ("%s files", "Dateien", "%s files", None),  # the placeholder is lost
    ],
)
def test_tags_of_the_text_stand_where_those_of_the_memory_do(
    source: str, target: str, asked: str, answer: str | None
) -> None:
    found = Memory([(source, target)]).exact_marked(protect(asked))
    assert (found and str(found)) == answer


def test_codes_of_a_document_are_carried_too() -> None:
    pieces: Pieces = (
        "Open ",
        Code("open", "r:1", 5),
        "%s",
        Code("close", "r:2", 5),
        Code("alone", "<ph/>", 6, "{name}"),
        "!",
    )
    memory = Memory([("Open <b>%s</b>{name}!", "{name} <b>%s</b> öffnen!")])
    text, codes = marked(pieces)
    found = memory.exact_marked(text)
    assert found is not None
    assert unmarked(found, codes) == (
        Code("alone", "<ph/>", 6, "{name}"),
        " ",
        Code("open", "r:1", 5),
        "%s",
        Code("close", "r:2", 5),
        " öffnen!",
    )


def test_a_text_without_tags_is_known_from_one_with_tags() -> None:
    memory = Memory([("Click <1>here</1> now.", "<1>Hier</1> klicken.")])
    match = memory.exact("Click here now.")
    assert match is not None
    assert match.target == "Hier klicken."
    similar = memory.best("Click here soon.", 50)
    assert similar is not None
    assert (similar.source, similar.target) == ("Click here now.", "Hier klicken.")
