"""Language codes and names."""

from regard.text.languages import NAMES, language_name


def test_languages_have_names() -> None:
    assert language_name("de") == "German"
    assert language_name("pt-br") == "Portuguese (BR)"
    assert language_name("qqq") == "qqq"
    assert all(label and label[0].isupper() for label in NAMES.values())
