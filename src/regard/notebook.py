"""HTML that notebooks show of results. Every text is escaped; backgrounds are translucent, so that
they suit light and dark pages.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from zlib import crc32

CELL = "padding: 1px 8px; text-align: left"


def table(rows: Iterable[Sequence[object]], header: Sequence[str] = ()) -> str:
    """Rows of a table; numbers are shown as they are given."""
    head = "".join(f'<th style="{CELL}">{escape(name)}</th>' for name in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{escape(str(each))}</td>' for each in row) + "</tr>"
        for row in rows
    )
    return f"<table>{f'<tr>{head}</tr>' if head else ''}{body}</table>"


def bars(values: Mapping[str, float], most: int = 10) -> str:
    """A bar for each probability, the first ones of many."""
    rows = "".join(
        f'<tr><td style="{CELL}">{escape(name)}</td><td style="{CELL}">'
        f'<div style="background: {shade(215, 0.6)}; height: 0.8em; width: {120 * value:.0f}px">'
        f'</div></td><td style="{CELL}">{value:.3f}</td></tr>'
        for name, value in list(values.items())[:most]
    )
    return f"<table>{rows}</table>"


def tagged(words: Iterable[tuple[str, str]]) -> str:
    """Words on the colour of their label, with the label beside them."""
    return " ".join(
        f'<span style="background: {shade(crc32(label.encode()) % 360, 0.3)}; padding: 1px 4px; '
        f'border-radius: 4px; white-space: nowrap">{escape(word)} '
        f"<small>{escape(label)}</small></span>"
        for word, label in words
    )


def weighed(pieces: Iterable[tuple[str, float]]) -> str:
    """Pieces of a text, the darker the less likely they are."""
    return "".join(
        f'<span style="background: {shade(0, 0.6 * (1 - value))}" title="{value:.3f}">'
        f"{escape(piece)}</span>"
        for piece, value in pieces
    )


def grid(columns: Sequence[str], rows: Sequence[str], weights: Sequence[Sequence[float]]) -> str:
    """A table of weights, each as dark as it is large: source words above, target words left."""
    head = "".join(f'<th style="{CELL}">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th style="{CELL}">{escape(name)}</th>'
        + "".join(
            f'<td style="{CELL}; background: {shade(215, value)}" title="{value:.3f}"></td>'
            for value in values
        )
        + "</tr>"
        for name, values in zip(rows, weights, strict=True)
    )
    return f"<table><tr><th></th>{head}</tr>{body}</table>"


def shade(hue: int, strength: float) -> str:
    return f"hsla({hue}, 75%, 50%, {min(1.0, max(0.0, strength)):.2f})"
