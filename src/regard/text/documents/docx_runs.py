"""The paragraphs of Word: runs in one formatting, merged, with codes for what is no text."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from regard.text.documents.document import Code, Part, Segments, core, joined
from regard.text.documents.xml import Element, Xml

WORD = frozenset(
    {
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    }
)


# Runs inside these are part of the sentence.
AROUND = frozenset({"hyperlink", "ins", "smartTag", "moveTo", "sdt", "sdtContent", "fldSimple"})


CONTAINERS = frozenset({"hyperlink", "ins", "smartTag", "moveTo"})


# Word's notes for itself, which are written again when the document is saved.
DROPPED = frozenset({"proofErr", "lastRenderedPageBreak"})


# Elements of a run that are characters.
LETTERS = {"noBreakHyphen": "\u2011", "softHyphen": "\u00ad"}


# After these another text begins.
BREAKS = frozenset({"tab", "br", "cr", "ptab"})


# Properties of a run that nobody sees.
UNSEEN = frozenset({"lang", "noProof", "rsid", "webHidden"})


@dataclass
class Run:
    """A stretch of a paragraph: text in one formatting, a code, or a break (None)."""

    content: str | Code | None
    start: int
    end: int
    style: str = ""
    around: tuple[Element, ...] = ()
    within: Element | None = None  # the run in whose middle this begins
    last: Element | None = None  # the run in whose middle it ends


@dataclass
class Place:
    start: int
    end: int
    styles: dict[int, str]  # how a run of each formatting begins; 0 is the usual one
    before: str = ""  # ends a run in whose middle the text begins
    after: str = ""  # begins it again


@dataclass
class Found:
    """What is collected from all members."""

    segments: Segments = field(default_factory=Segments)
    places: list[tuple[str, Place]] = field(default_factory=list)


class Paragraph:
    def __init__(self, xml: Xml, element: Element) -> None:
        self.xml = xml
        self.text = xml.content.text
        self.line = xml.content.line(element.start)
        self.runs: list[Run] = []
        self._number = 0
        self._fields: list[tuple[int, str]] = []  # those that have begun: their run, instruction
        self._collect(element, ())

    def _collect(self, element: Element, around: tuple[Element, ...]) -> None:
        for each in element.children:
            if not isinstance(each, Element) or each.name in ("pPr", "sdtPr", "sdtEndPr"):
                continue
            if each.name in DROPPED:
                continue
            if each.name == "r" and each.space in WORD:
                self._run(each, around)
            elif each.name in AROUND and each.space in WORD:
                inner = (*around, each) if each.name in CONTAINERS else around
                is_field = each.name == "fldSimple"
                if is_field or next(each.all("p"), None) is not None:
                    self._alone(each, around)
                elif each.name in CONTAINERS:
                    self._container(each, inner)
                else:
                    self._break(each)
                    self._collect(each, around)
                    self._break(each)
            elif next((p for p in each.all("p") if p.space in WORD), None) is not None:
                self._break(each)
            else:
                self._alone(each, around)

    def _container(self, element: Element, around: tuple[Element, ...]) -> None:
        """What is in a link. With a break in it, its texts are segments by themselves."""
        first = len(self.runs)
        self._collect(element, around)
        if any(each.content is None for each in self.runs[first:]):
            inner = [replace(each, around=each.around[len(around) :]) for each in self.runs[first:]]
            self.runs[first:] = []
            self._break(element)
            self.runs += inner
            self._break(element)

    def _run(self, run: Element, around: tuple[Element, ...]) -> None:
        properties = run.child("rPr")
        style = self._style(run, properties)
        inner = [each for each in run.elements if each is not properties]
        kinds = {each.name for each in inner} - DROPPED
        if not kinds:
            return
        if "fldChar" in kinds or "instrText" in kinds:
            self._field(run, around)
        elif kinds <= {"t", *LETTERS}:
            self.runs.append(Run(_letters(inner), run.start, run.end, style, around))
        elif "t" in kinds or kinds & BREAKS:
            for each in inner:
                self._part(run, each, style, around)
        elif next(run.all("p"), None) is not None:
            self._break(run)  # a text box, whose paragraphs are segments
        else:
            self._alone(run, around)

    def _part(self, run: Element, each: Element, style: str, around: tuple[Element, ...]) -> None:
        """A part of a run that has several."""
        if each.name in DROPPED:
            return
        if each.name == "t" or each.name in LETTERS:
            self.runs.append(Run(_letters([each]), each.start, each.end, style, around, run, run))
        elif each.name in BREAKS or next(each.all("p"), None) is not None:
            self._break(each)
        else:
            self._alone(each, around)
            name = style[1:].split(">")[0]
            code = self.runs[-1].content
            assert isinstance(code, Code)
            code = Code("alone", f"{style}{code.raw}</{name}>", code.number)
            self.runs[-1] = Run(code, each.start, each.end, "", around, run, run)

    def _style(self, run: Element, properties: Element | None) -> str:
        """How a run with this formatting begins; runs that look alike begin alike."""
        name = self._name(run)
        if properties is None:
            return f"<{name}>"
        kept = "".join(
            self.text[each.start : each.end]
            for each in properties.elements
            if each.name not in UNSEEN
        )
        opening = self.text[properties.start : properties.inside]
        closing = self.text[properties.outside : properties.end]
        return f"<{name}>{opening}{kept}{closing}" if kept else f"<{name}>"

    def _alone(self, element: Element, around: tuple[Element, ...]) -> None:
        self._number += 1
        code = Code("alone", self.text[element.start : element.end], self._number)
        self.runs.append(Run(code, element.start, element.end, "", around))

    def _break(self, element: Element) -> None:
        self.runs.append(Run(None, element.start, element.end))

    def _field(self, run: Element, around: tuple[Element, ...]) -> None:
        """A field from its beginning to its end is one code, result included. That of a link stays
        open: its result is text.
        """
        kind = next(
            (each.attribute("fldCharType") for each in run.elements if each.name == "fldChar"), ""
        )
        instruction = "".join(each.text for each in run.elements if each.name == "instrText")
        if kind == "begin":
            self._fields.append((len(self.runs), ""))
        elif instruction and self._fields:
            at, so_far = self._fields[-1]
            self._fields[-1] = (at, so_far + instruction)
        self._alone(run, around)
        if kind == "separate" and self._fields and "HYPERLINK" in self._fields[-1][1]:
            self._merge(self._fields[-1][0], "open")
        elif kind == "end" and self._fields:
            at, instruction = self._fields.pop()
            first = self.runs[at].content if at < len(self.runs) else None
            if isinstance(first, Code) and first.kind == "open":
                code = Code("close", self.text[run.start : run.end], first.number)
                self.runs[-1] = Run(code, run.start, run.end, "", around)
            else:
                self._merge(at, "alone")

    def _merge(self, at: int, kind: str) -> None:
        """Make the runs from one on a single code."""
        taken = self.runs[at:]
        if any(each.content is None or each.around != taken[0].around for each in taken):
            self.runs[at:] = [Run(None, taken[0].start, taken[-1].end)]
            return
        start, end = taken[0].start, taken[-1].end
        self._number += 1
        code = Code(kind, self.text[start:end], self._number)  # type: ignore[arg-type]
        self.runs[at:] = [Run(code, start, end, "", taken[0].around)]

    def segments(self, member: str, found: Found) -> None:
        for stretch in _stretches(self.runs):
            self._segment(stretch, member, found)

    def _segment(self, runs: list[Run], member: str, found: Found) -> None:
        letters: Counter[str] = Counter()
        for run in runs:
            if isinstance(run.content, str):
                letters[run.style] += len(run.content)
        if not letters:
            return
        usual = letters.most_common(1)[0][0]
        styles: dict[int, str] = {0: usual}
        parts = core(list(self._parts(runs, usual, styles)))
        if not parts:
            return
        start, end = parts[0].start, parts[-1].end
        place = Place(start, end, styles)
        for run in runs:
            if run.within is not None and run.start == start:
                place.before = f"</{self._name(run.within)}>"
            if run.last is not None and run.end == end:
                place.after = self._opening(run.last)
        found.segments.add(joined(each.piece for each in parts), self.line)
        found.places.append((member, place))

    def _name(self, run: Element) -> str:
        return re.split(r"[\s/>]", self.text[run.start + 1 : run.inside], maxsplit=1)[0]

    def _opening(self, run: Element) -> str:
        """A run up to its properties."""
        properties = run.child("rPr")
        return self.text[run.start : properties.end if properties else run.inside]

    def _parts(self, runs: list[Run], usual: str, styles: dict[int, str]) -> Iterator[Part]:
        around: tuple[tuple[Element, int], ...] = ()
        for at, run in enumerate(runs):
            before = run.start
            while around and tuple(e for e, _ in around) != run.around[: len(around)]:
                yield self._closed(*around[-1], runs[at - 1].end)
                around = around[:-1]
            for element in run.around[len(around) :]:
                self._number += 1
                around = (*around, (element, self._number))
                raw = self.text[element.start : element.inside]
                yield Part(Code("open", raw, self._number), element.start, element.inside)
            if isinstance(run.content, Code):
                yield Part(run.content, before, run.end)
            elif run.content is not None:
                yield from self._formatted(run, usual, styles)
        while around:
            yield self._closed(*around[-1], runs[-1].end)
            around = around[:-1]

    def _closed(self, element: Element, number: int, end: int) -> Part:
        raw = self.text[element.outside : element.end]
        return Part(Code("close", raw, number), element.outside, element.end)

    def _formatted(self, run: Run, usual: str, styles: dict[int, str]) -> Iterator[Part]:
        assert isinstance(run.content, str)
        if run.style == usual or not run.content.strip():
            yield Part(run.content, run.start, run.end)
            return
        self._number += 1
        number = self._number
        styles[number] = run.style
        yield Part(Code("open", "", number), run.start, run.start)
        yield Part(run.content, run.start, run.end)
        yield Part(Code("close", "", number), run.end, run.end)


def _stretches(runs: list[Run]) -> Iterator[list[Run]]:
    """The runs between breaks, neighbours with the same formatting as one."""
    stretch: list[Run] = []
    for run in [*runs, Run(None, 0, 0)]:
        last = stretch[-1] if stretch else None
        if run.content is None:
            if stretch:
                yield stretch
            stretch = []
        elif (
            last is not None
            and isinstance(last.content, str)
            and isinstance(run.content, str)
            and last.style == run.style
            and last.around == run.around
        ):
            text = last.content + run.content
            stretch[-1] = replace(last, content=text, end=run.end, last=run.last)
        else:
            stretch.append(run)


def _letters(elements: list[Element]) -> str:
    return "".join(LETTERS.get(each.name, each.text) for each in elements)
