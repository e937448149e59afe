"""What the translation of a file is called."""

import re
from pathlib import Path

from regard.errors import RequestError
from regard.text.languages import base_code


def default_output(path: Path, source: str, target: str) -> Path:
    """manual.de.md for manual.md and for manual.en.md, de.json for en.json, de/ for en/ of a
    template; values-de/strings.xml for values/strings.xml. Without a target the name stays, except
    that of a template, which is no longer one.
    """
    suffix = ".po" if path.suffix.lower() == ".pot" else path.suffix
    if not target:
        return path.with_name(path.stem + suffix)
    if path.suffix == ".xml" and path.parent.name == "values":
        return path.parent.with_name(f"values-{target}") / path.name
    stem = path.stem
    if named := _language_at_end(stem, target):
        raise RequestError(
            f"{path}: its name says that it is for {named} already; name the output with --out, "
            f"which may be {path.name} itself if it holds both languages"
        )
    if source and _language_at_end(stem, source):
        cut = len(stem) - len(_language_at_end(stem, source))
        return path.with_name(f"{stem[:cut]}{target}{suffix}")
    return path.with_name(f"{stem}.{target}{suffix}")


def _language_at_end(stem: str, language: str) -> str:
    """The code of a language that a name ends with: de of page.de, page_de and de."""
    code = re.escape(base_code(language))
    found = re.search(rf"(?:^|[._-])({code}(?:[-_][A-Z]{{2}})?)$", stem)
    return found[1] if found else ""
