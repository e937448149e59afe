"""Looks at the data of a recipe before it is trained on, for each kind of data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.checks.labelled import check_labelled
from regard.checks.report import Finding, Report
from regard.checks.tagged import check_tagged
from regard.checks.text import check_text
from regard.data.labelled import read_tagged, read_texts, text_remarks
from regard.data.lines import kind_of
from regard.data.objects import OBJECTS
from regard.data.tables import TABLES
from regard.data.texts import document_remarks, read_documents


def labelled_report(data: Any) -> Report:
    """On texts with a label each."""

    def reader(name: Any) -> Callable[[], Any]:
        return lambda: read_texts(data.paths(name), data.label, data.text)

    valid = reader("valid") if data.valid else None
    report = check_labelled(data.paths("train"), reader("train"), valid)
    return with_remarks(report, lambda: text_remarks(data.paths("train"), data.label, data.text))


def tagged_report(data: Any) -> Report:
    """On sentences whose words have labels."""

    def reader(name: Any) -> Callable[[], Any]:
        return lambda: read_tagged(data.paths(name), data.label, data.text)

    valid = reader("valid") if data.valid else None
    return check_tagged(data.paths("train"), reader("train"), valid)


def text_report(data: Any) -> Report:
    """On running text."""

    def reader(name: Any) -> Callable[[], Any]:
        return lambda: placed_lines(data.paths(name), data.text)

    valid = reader("valid") if data.valid else None
    report = check_text(data.paths("train"), reader("train"), valid)
    return with_remarks(report, lambda: document_remarks(data.paths("train"), data.text))


def with_remarks(report: Report, remarks: Callable[[], Sequence[str]]) -> Report:
    """The report with notes on how tables are read, if they can be read."""
    if report.unread:
        return report
    notes = [Finding("reading", "note", remark) for remark in remarks()]
    return replace(report, findings=(*notes, *report.findings))


def placed_lines(paths: Sequence[Path], column: str | int) -> Iterator[tuple[str, str]]:
    """Each line with its place: the line of a file of plain text, or the text of a table."""
    for path in paths:
        number, document = 0, 1
        table = kind_of(path) in (*TABLES, *OBJECTS)
        for text in read_documents([path], column):
            if text is None:
                document += 1
                continue
            number += 1
            place = f"{path}, text {document:,}" if table else f"{path}:{number}"
            yield text.removesuffix("\n"), place
