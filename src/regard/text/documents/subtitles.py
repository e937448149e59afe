"""Subtitles: SRT and WebVTT.

A sentence often runs over several cues, so cues are joined to sentences. Where one ends and the
next begins is a code in the sentence, and the translation is cut where the code has come to stand.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from regard.errors import DataError
from regard.text.documents.content import Content, Edit
from regard.text.documents.document import (
    Code,
    Document,
    Piece,
    Pieces,
    Segments,
    Translations,
    Wish,
    has_words,
    words_of,
)

_TIME = r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMING = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}[^\r\n]*")
_BLANK = re.compile(r"(?:\r?\n)[ \t]*(?=\r?\n|\Z)|\Z")
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[a-zA-Z]+|\d[\d:.]*)(?:[.\s][^<>]*)?>|\{\\[^{}]*\}|\{/?[yY]:[^{}]*\}"
)
# A tag, or what may be the dash before what a speaker says.
_MARK = re.compile(rf"{_TAG.pattern}|(?P<dash>[-–—]+[ \t]*(?=[^\W\d]|[\"'“„«¿¡.…\[(]))")
_ENDS = re.compile(r"[.!?…。！？][\"'”’»)\]]*$")
# What begins a line that is somebody else's.
_SPEAKER = re.compile(r"^\s*(?:[-–—♪#]|\[|\(|<v[ .])")
CUE = "cue"
LINE_WIDTH = 42
MOST_CUES = 4


@dataclass(frozen=True)
class Cue:
    start: int
    end: int
    text: str


def read(name: str, data: bytes, wish: Wish) -> Document:
    content = Content.of(name, data)
    is_vtt = name.lower().endswith(".vtt")
    if is_vtt and not content.text.startswith("WEBVTT"):
        raise DataError(f"{name}:1: does not begin with WEBVTT; name a WebVTT file")
    cues = _cues(content)
    if not cues and content.text.strip() and not is_vtt:
        raise DataError(f"{name}: has no timing like 00:00:01,000 --> 00:00:02,000; name an SRT")
    segments = Segments()
    places: list[list[Cue]] = []
    for group in _sentences(cues):
        pieces = _pieces(group, is_vtt)
        if has_words(words_of(pieces)):
            segments.add(pieces, content.line(group[0].start))
            places.append(group)

    def write(translations: Translations) -> bytes:
        edits = []
        for number, pieces in translations.items():
            group = places[number]
            for cue, text in zip(group, _cut(pieces, group, is_vtt), strict=True):
                lines = _in_lines(text, cue.text)
                edits.append(Edit(cue.start, cue.end, content.newline.join(lines)))
        return content.spliced(edits)

    return Document(segments.found, write)


def _cues(content: Content) -> list[Cue]:
    """The texts under the timings."""
    text, found = content.text, []
    for timing in _TIMING.finditer(text):
        if timing.start() and text[timing.start() - 1] != "\n":
            continue
        start = timing.end()
        blank = _BLANK.search(text, start)
        assert blank is not None
        end = blank.start()
        begin = start + 1 + text.startswith("\r", start)
        if begin < end:
            found.append(Cue(begin, end, text[begin:end]))
    return found


def _sentences(cues: list[Cue]) -> list[list[Cue]]:
    """Cues whose texts go on in the next one, together."""
    groups: list[list[Cue]] = []
    is_open = False
    for cue in cues:
        plain = _TAG.sub("", cue.text).strip()
        lower = plain[:1].islower() or plain.startswith(("...", "…"))
        goes_on = is_open and not _SPEAKER.match(plain) and len(groups[-1]) < MOST_CUES
        if goes_on and (lower or not groups[-1][-1].text.rstrip().endswith(("-", "–", "—", "♪"))):
            groups[-1].append(cue)
        else:
            groups.append([cue])
        last = plain.splitlines()[-1] if plain else ""
        alone = plain.startswith(("[", "(")) and plain.endswith(("]", ")"))
        dialogue = sum(bool(_SPEAKER.match(line)) for line in plain.splitlines()) > 0
        is_open = bool(plain) and not _ENDS.search(last) and not alone and not dialogue
    return groups


def _pieces(group: list[Cue], is_vtt: bool) -> Pieces:
    found: list[Piece] = []
    number = 0
    for cue in group:
        if cue is not group[0]:
            number += 1
            found += [" ", Code("alone", CUE, number), " "]
        text = _joined(cue.text)
        at, open_tags = 0, []
        for mark in _marks(text):
            found.append(_plain(text[at : mark.start()], is_vtt))
            at = mark.end()
            name = mark["name"]
            if name and not mark["end"] and re.search(rf"</{name}>", text[at:]):
                number += 1
                open_tags.append((name, number))
                found.append(Code("open", mark[0], number))
            elif name and mark["end"] and open_tags and open_tags[-1][0] == name:
                found.append(Code("close", mark[0], open_tags.pop()[1]))
            else:
                number += 1
                found.append(Code("alone", mark[0], number))
        found.append(_plain(text[at:], is_vtt))
    return tuple(each for each in found if each != "")


def _joined(text: str) -> str:
    """The lines of a cue as one; but a line that is somebody else's stays one."""
    first, *lines = text.replace("\r\n", "\n").split("\n")
    for line in lines:
        others = _SPEAKER.match(line) or _SPEAKER.match(_TAG.sub("", line))
        first += ("\n" if others else " ") + line
    return first


def _marks(text: str) -> Iterator[re.Match[str]]:
    """The tags, and the dashes before which only tags stand in their line."""
    for mark in _MARK.finditer(text):
        line = text[: mark.start()].rpartition("\n")[2]
        if not mark["dash"] or not _TAG.sub("", line).strip():
            yield mark


def _plain(text: str, is_vtt: bool) -> str:
    if is_vtt:
        text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return text


def _cut(pieces: Pieces, group: list[Cue], is_vtt: bool) -> list[str]:
    """The translation, cut into as many texts as there are cues."""
    texts = [""]
    for piece in pieces:
        if isinstance(piece, str):
            if is_vtt:
                piece = piece.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            texts[-1] += piece
        elif piece.raw == CUE:
            texts.append("")
        else:
            texts[-1] += piece.raw
    texts = [re.sub(" +", " ", each).strip(" ") for each in texts]
    if len(texts) == len(group) and all(map(_fits, texts, group)):
        return texts
    return _by_length(" ".join(each for each in texts if each), group)


def _fits(text: str, cue: Cue) -> bool:
    """Whether about as much text came to a cue as it had."""
    if len(re.findall(r"<[a-z]", text)) != text.count("</"):
        return False
    shown, had = len(_TAG.sub("", text)), len(_TAG.sub("", cue.text))
    return 0.4 * had - 5 <= shown <= 2 * had + 15 and shown > 0


def _by_length(text: str, group: list[Cue]) -> list[str]:
    """The words, shared out as the original's letters are. A tag is never cut."""
    words = re.findall(r"(?:<[^<>]*>|\{[^{}]*\}|[^\s<{]|[<{])+", text)
    total = sum(len(cue.text) for cue in group)
    texts, used, so_far = [], 0, 0
    for number, cue in enumerate(group):
        so_far += len(cue.text)
        rest = len(group) - number - 1
        aim = len(text) * so_far / total
        taken: list[str] = []
        while len(words) > rest and (not taken or not rest or used + len(words[0]) / 2 <= aim):
            used += len(words[0]) + 1
            taken.append(words.pop(0))
        texts.append(" ".join(taken))
    return texts


def _in_lines(text: str, original: str) -> list[str]:
    """A text in lines about as long as the original's, and as even as can be."""
    return [
        line
        for part in text.split("\n")
        for line in _even(part, max(map(_width, [*original.splitlines(), "x" * LINE_WIDTH])))
    ]


def _width(text: str) -> int:
    return len(_TAG.sub("", text))


def _even(text: str, widest: int) -> list[str]:
    count = -(-_width(text) // widest) or 1
    words = re.findall(r"(?:<[^<>]*>|[^\s<]|<)+", text) or [text]
    lines: list[list[str]] = [[]]
    left = _width(text)
    for word in words:
        line = " ".join(lines[-1])
        room = left / count
        if lines[-1] and count > 1 and _width(line) + 1 + _width(word) / 2 > room:
            left, count = left - _width(line) - 1, count - 1
            lines.append([])
        lines[-1].append(word)
    return [" ".join(line) for line in lines]
