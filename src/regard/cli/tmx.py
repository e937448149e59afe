"""Translations as a translation memory."""

from collections.abc import Iterator
from contextlib import contextmanager

from regard.errors import RequestError, UsageError


def check_tmx(languages: tuple[str, str] | None, is_more: bool) -> None:
    """Refuse what a translation memory cannot hold."""
    if is_more:
        raise UsageError(
            "--output: a .tmx holds translations alone; leave out --json, --align, --confidence "
            "and --n-best, or name another file"
        )
    if languages is None:
        raise RequestError("--output: a .tmx names languages, which this run does not know")


@contextmanager
def in_tmx(languages: tuple[str, str] | None) -> Iterator[None]:
    """What is before and after the units of a translation memory, if one is written."""
    if languages is None:
        yield
        return
    from regard.cli.display import results
    from regard.data.memories import TMX_END, tmx_head

    results(tmx_head(languages))
    yield
    results(TMX_END)


def tmx_units(texts: list[str], lines: list[str], languages: tuple[str, str]) -> list[str]:
    from regard.data.memories import tmx_unit

    pairs = zip(texts, lines, strict=True)
    return [tmx_unit(text, line, languages) for text, line in pairs if text.strip()]
