"""Which file is of which format."""

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath

from regard.errors import DataError
from regard.text.documents.document import Document, Wish

# The module that reads files with this suffix.
FORMATS = {
    ".po": "po",
    ".pot": "po",
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".json": "json",
    ".arb": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".properties": "properties",
    ".xml": "android",
    ".srt": "subtitles",
    ".vtt": "subtitles",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".docx": "docx",
    ".odt": "odt",
    ".csv": "table",
    ".tsv": "table",
    ".xlsx": "xlsx",
    ".txt": "plain",
}
# A file is kept in memory, and several times while it is read.
MOST_BYTES = 64 << 20


def read_document(name: str, data: bytes, wish: Wish) -> Document:
    """Read a file by the suffix of its name."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in FORMATS:
        raise DataError(
            f"{name}: documents of the kind {suffix or 'without a suffix'} cannot be translated; "
            f"these can: {' '.join(FORMATS)}"
        )
    if len(data) > MOST_BYTES:
        raise DataError(f"{name}: is larger than {MOST_BYTES >> 20} MiB; cut it into smaller files")
    module = import_module(f"regard.text.documents.{FORMATS[suffix]}")
    read: Callable[[str, bytes, Wish], Document] = module.read
    return read(name, data, wish)
