"""Writes translation memories, spreadsheets and archives for tests."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

WORKBOOK = (
    '<workbook xmlns:r="http://r"><sheets>'
    '<sheet name="old" state="hidden" r:id="r1"/><sheet name="terms" r:id="r2"/>'
    '<sheet name="more" r:id="r1"/></sheets></workbook>'
)
LINKS = (
    '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/>'
    '<Relationship Id="r2" Target="worksheets/sheet2.xml"/></Relationships>'
)


def tmx(body: str, source: str = "en", doctype: str = "") -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{doctype}<tmx version="1.4">\n'
        f'<header srclang="{source}" creationtool="t"/>\n<body>\n{body}\n</body>\n</tmx>\n'
    )


def unit(**texts: str) -> str:
    """A unit on a line; codes are written as names, en_GB for en-GB."""
    both = "".join(
        f'<tuv xml:lang="{code.replace("_", "-")}"><seg>{text}</seg></tuv>'
        for code, text in texts.items()
    )
    return f"<tu>{both}</tu>"


def write_sheet(path: Path, rows: Mapping[int, Sequence[str]]) -> Path:
    """A spreadsheet whose texts are shared, as Excel writes them."""
    shared: list[str] = []
    lines = []
    for number, cells in rows.items():
        inner = ""
        for letter, cell in zip("ABCDEF", cells, strict=False):
            if cell:
                inner += f'<c r="{letter}{number}" t="s"><v>{len(shared)}</v></c>'
                shared.append(f"<si><t>{escape(cell)}</t></si>")
        lines.append(f'<row r="{number}">{inner}</row>')
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", WORKBOOK)
        file.writestr("xl/_rels/workbook.xml.rels", LINKS)
        file.writestr("xl/sharedStrings.xml", f"<sst>{''.join(shared)}</sst>")
        file.writestr("xl/worksheets/sheet1.xml", "<worksheet><sheetData/></worksheet>")
        sheet = f"<worksheet><sheetData>{''.join(lines)}</sheetData></worksheet>"
        file.writestr("xl/worksheets/sheet2.xml", sheet)
    return path


def write_zip(path: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in files.items():
            file.writestr(name, text)
    return path
