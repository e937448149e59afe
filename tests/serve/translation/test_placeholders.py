"""Placeholders are in the translation as well."""

from regard.serve.translation.placeholders import keeps_placeholders, split_at_placeholders


def test_marks_come_back_where_they_were() -> None:
    document = split_at_placeholders("Open [X1X] or [X23X ]. Then [X1X]!", "en")
    assert document.sentences == ["Open", "or", "Then"]
    assert document.fill(["Öffne", "oder", "Dann"], "de") == "Öffne [X1X] oder [X23X ]. Dann [X1X]!"
    assert keeps_placeholders("a [X1X] b [X2X]", "[X2X] b a [X1X ]")
    assert not keeps_placeholders("a [X1X]", "a")
    assert not keeps_placeholders("a [X1X]", "a [X1X] [X1X]")
    assert not keeps_placeholders("a", "a [X1X]")
