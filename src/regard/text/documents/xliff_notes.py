"""What an XLIFF file says of a translation beside its text: its state, what a memory has that is
similar, and how sure the model is.

XLIFF 1.2 has a quality in percent for each of the texts beside a target, and 2.x has metadata for a
unit. What an earlier translation has left there is taken out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from regard.text.documents.content import Edit
from regard.text.documents.document import HowSure
from regard.text.documents.xml import Element, Xml, escaped
from regard.text.memory import Match

# How a unit says that it is to be reviewed: 1.2 in the target, 2.x in the segment.
TO_REVIEW = {
    "1": {"state": "needs-review-translation"},
    "2": {"state": "translated", "subState": "regard:unreviewed"},
}
# How it says that a person has reviewed it, or that it is from a memory.
REVIEWED = {"1": {"state": "translated"}, "2": {"state": "reviewed"}}
TAKEN = {
    "1": {"state": "translated", "state-qualifier": "exact-match"},
    "2": {"state": "translated", "subState": "regard:exact-match"},
}
UNREVIEWED = re.compile("needs-.*|regard:(unreviewed|likely-fine|check)")
# Where 1.2 and 2.x say what a person is to do with it.
VERDICT = {"1": "state-qualifier", "2": "subState"}
PREFIX = {"1": "x-", "2": "regard:"}
METADATA = "urn:oasis:names:tc:xliff:metadata:2.0"


@dataclass(frozen=True)
class Notes:
    """What is said of a unit in a version of the format."""

    version: str
    state: Mapping[str, str]
    similar: Sequence[Match] = ()
    sure: HowSure | None = None

    @classmethod
    def of(
        cls,
        version: str,
        states: Mapping[str, Mapping[str, str]],
        matches: Sequence[Match],
        sure: Sequence[HowSure],
    ) -> "Notes":
        """Those of a unit, which is as sure as the least sure of its parts."""
        state = dict(states[version])
        least = min(sure, key=lambda each: each.probability, default=None)
        if states is not TO_REVIEW:
            least = None
        if least is not None:
            state[VERDICT[version]] = PREFIX[version] + least.verdict.replace(" ", "-")
        return cls(version, state, [each for each in matches if each.percent < 100], least)

    def beside(self, prefix: str, space: str, target: str) -> str:
        """What is written behind a target in 1.2, given what is inside it."""
        if self.version != "1":
            return ""
        found = [suggested(each, prefix) for each in self.similar]
        if self.sure is not None:
            found.insert(0, judged(self.sure, prefix, target))
        return "".join(space + each for each in found)


def suggested(match: Match, prefix: str) -> str:
    """A similar text of a memory, beside the target of a unit."""
    return (
        f'<{prefix}alt-trans match-quality="{match.percent}%" origin="memory">'
        f"<{prefix}source>{escaped(match.source)}</{prefix}source>"
        f"<{prefix}target>{escaped(match.target)}</{prefix}target></{prefix}alt-trans>"
    )


def judged(sure: HowSure, prefix: str, target: str) -> str:
    """The model's translation and how sure it is of that, which stays when the target is edited."""
    return (
        f'<{prefix}alt-trans match-quality="{sure.percent}%" origin="regard">'
        f"<{prefix}target>{target}</{prefix}target></{prefix}alt-trans>"
    )


def old_notes(xml: Xml, unit: Element) -> Iterator[Edit]:
    """Takes out what an earlier translation has said beside the target of a unit of 1.2."""
    for each in unit.elements:
        if each.name == "alt-trans" and each.attribute("origin") == "regard":
            yield taken_out(xml, each)


def metadata(xml: Xml, unit: Element, sure: Mapping[str, HowSure]) -> Iterator[Edit]:
    """How sure the segments of a unit of 2.x are, by their names, "" for the only one."""
    there = next((each for each in unit.elements if _is_metadata(each)), None)
    groups = there.elements if there else []
    old = [each for each in groups if each.attribute("category") == "regard"]
    if there is not None and old == groups and not sure:
        yield taken_out(xml, there)
        return
    for each in old:
        yield taken_out(xml, each)
    if not sure:
        return
    text = xml.content.text
    if there is None:
        at, space, prefix = unit.inside, space_after(text, unit.inside), "mda:"
    else:
        at, space = there.inside, space_after(text, there.inside)
        at = groups[-1].end if groups else at
        prefix = text[there.start + 1 : there.inside].partition("metadata")[0]
    lines = "".join(
        f'<{prefix}meta type="{escaped(f"confidence {name}".strip())}">'
        f"{found.probability:.2f}</{prefix}meta>"
        for name, found in sure.items()
    )
    group = f'<{prefix}metaGroup category="regard">{lines}</{prefix}metaGroup>'
    if there is None:
        group = f'<mda:metadata xmlns:mda="{METADATA}">{group}</mda:metadata>'
    yield Edit(at, at, space + group)


def space_after(text: str, at: int) -> str:
    after = re.compile(r"\s*").match(text, at)
    return after[0] if after else ""


def _is_metadata(element: Element) -> bool:
    return (element.name, element.space) == ("metadata", METADATA)


def taken_out(xml: Xml, element: Element) -> Edit:
    """An element with the white space before it."""
    before = xml.content.text[: element.start]
    return Edit(len(before.rstrip()), element.end, "")
