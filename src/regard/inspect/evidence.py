"""Which n-grams of a text speak for a label, and which against it, in a linear model."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from regard.inspect.drawing import literal, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE = "27, 104, 176", "209, 98, 10"
# The n-grams of a picture or a page, and the width of a bar of signs.
MOST_SHOWN, BAR = 16, 20
STYLE = """body { font: 16px/1.6 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto }
table { border-collapse: collapse } td { padding: 0 1rem 0 0 } .for { color: rgb(27, 104, 176) }
.against { color: rgb(209, 98, 10) } .text { white-space: pre-wrap; overflow-wrap: anywhere }"""


@dataclass(frozen=True)
class Spoken:
    """An n-gram of a text, its places in it, and what it adds to the label's logit beyond the mean
    of the others.
    """

    ngram: str
    value: float
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class TextEvidence:
    text: str
    label: str
    probability: float
    network: bool  # whether a network has a part in the probability
    ngrams: Sequence[Spoken]

    @cached_property
    def strongest(self) -> list[Spoken]:
        """The n-grams with the largest values, from the one that speaks for the label the most to
        the one that speaks against it the most.
        """
        order = sorted(self.ngrams, key=lambda each: (-abs(each.value), each.ngram))
        return sorted(order[:MOST_SHOWN], key=lambda each: -each.value)

    @cached_property
    def letters(self) -> list[float]:
        """What each letter of the text adds: its share of all n-grams that it is in."""
        found = [0.0] * len(self.text)
        for each in self.ngrams:
            length = sum(end - begin for begin, end in each.places)
            for begin, end in each.places:
                for place in range(begin, end):
                    found[place] += each.value / length
        return found

    def title(self) -> str:
        also = ", in which a network has a part" * self.network
        return f"{self.label}: {100 * self.probability:.1f} %{also}"

    def lines(self) -> list[str]:
        """The strongest n-grams with bars, for a terminal."""
        if not self.strongest:
            return ["no word of the text is known to the linear model"]
        largest = max(abs(each.value) for each in self.strongest) or 1.0
        width = max(len(shown(each.ngram)) for each in self.strongest)
        return [
            f"{shown(each.ngram):<{width}}  {each.value:+6.2f}  "
            + ("█" if each.value > 0 else "░") * round(BAR * abs(each.value) / largest)
            for each in self.strongest
        ]

    def save_csv(self, path: Path) -> None:
        """Every n-gram and what it adds."""
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["ngram", "value"])
            rows.writerows((each.ngram, f"{each.value:.6f}") for each in self.ngrams)

    def save_page(self, path: Path) -> None:
        """A page with the text in colours, which needs no network."""
        path.write_text(self.page(), encoding="utf-8")

    def page(self) -> str:
        largest = max([abs(value) for value in self.letters] or [0.0]) or 1.0
        coloured = "".join(
            f'<span style="background: rgba({BLUE if value > 0 else ORANGE}, '
            f'{0.7 * abs(value) / largest:.2f})">{escape(letter)}</span>'
            for letter, value in zip(self.text, self.letters, strict=True)
        )
        rows = "".join(
            f'<tr class="{"for" if each.value > 0 else "against"}"><td>{escape(shown(each.ngram))}'
            f"</td><td>{each.value:+.2f}</td></tr>"
            for each in self.strongest
        )
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(self.label)}'
            f"</title><style>{STYLE}</style><h1>{escape(self.title())}</h1>"
            f'<p class="text">{coloured}</p><p>Blue speaks for the label, orange against it. What '
            f"each n-gram adds to the label's logit beyond the others:</p><table>{rows}</table>"
        )

    def figure(self) -> "Figure":
        from matplotlib.figure import Figure

        found = self.strongest[::-1]
        figure = Figure(figsize=(7.0, 1.2 + 0.26 * len(found)), layout="constrained")
        axes = figure.subplots()
        colours = ["#1b68b0" if each.value > 0 else "#d1620a" for each in found]
        axes.barh(range(len(found)), [each.value for each in found], color=colours)
        axes.set_yticks(range(len(found)), [literal(shown(each.ngram)) for each in found])
        axes.axvline(0, color="#555555", linewidth=0.8)
        axes.set_title(literal(self.title()), fontsize=10)
        axes.set_xlabel("added to the label's logit", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        return figure

    def save_picture(self, path: Path) -> None:
        save_figure(self.figure(), path)


def shown(ngram: str) -> str:
    """Spaces at the ends of an n-gram of characters can be seen."""
    inner = " ".join(ngram.split()) if ngram.strip() else ""
    left, right = ngram[:1].isspace(), ngram[-1:].isspace()
    return f"{'␣' * left}{inner}{'␣' * (right and bool(inner))}"
