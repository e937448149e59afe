"""A comparison as one HTML page that needs no script, font or picture from elsewhere."""

from collections.abc import Sequence
from html import escape
from importlib import resources

from regard.compare import drawings, table
from regard.compare.measure import Comparison, Look
from regard.evaluate.scores import Metric

NAMES: dict[Metric, str] = {"exact": "exact matches, %", "BLEU": "BLEU", "chrF": "chrF"}
NO_ATTENTION = (
    "It has no attention, so there is no matrix: whatever it needs of the source has to be in the "
    "one state that the encoder ends with."
)


def page(
    comparison: Comparison,
    *,
    title: str,
    about: Sequence[str],
    sentence: str,
    looks: Sequence[Look],
    resamples: int,
) -> str:
    """The page. `about` has paragraphs on what was done; `looks` show what each run looks at in
    `sentence`.
    """
    style = (resources.files("regard") / "compare" / "page.css").read_text("utf-8")
    body = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(paragraph)}</p>" for paragraph in about),
        quiet(f"Scored on {comparison.test}: {comparison.sentences:,} sentences."),
        *overview(comparison),
        *differences(comparison, resamples),
        *by_length(comparison),
        *alignments(sentence, looks),
        *provenance(comparison),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def quiet(text: str) -> str:
    return f'<p class="quiet">{escape(text)}</p>'


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head; cells contain markup."""
    head, *lines = rows
    inside = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>\n" for line in lines
    )
    return f'<div class="wide"><table>\n<thead><tr>{inside}</tr></thead>\n{body}</table></div>'


def key(number: int) -> str:
    """The mark of a run in the drawings."""
    return drawings.svg(14, 14, "", [drawings.mark(number, 7, 7)])


def overview(comparison: Comparison) -> list[str]:
    head, *lines = table.rows(comparison)
    named = [
        [f"{key(number)} {escape(line[0])}", *map(escape, line[1:])]
        for number, line in enumerate(lines)
    ]
    return [
        html_table([list(map(escape, head)), *named]),
        quiet(
            "In brackets: 95 % intervals by bootstrap resampling. Tokens are pieces of source and "
            "target; training time is that of the updates, without validation."
        ),
    ]


def differences(comparison: Comparison, resamples: int) -> list[str]:
    if len(comparison.runs) < 2:
        return []
    head = ["", *(escape(each.metric) for each in comparison.runs[1].differences)]
    lines = []
    for run in comparison.runs[1:]:
        cells = [
            f'{each.value:+.1f}, <span class="{"real" if each.real else "quiet"}">'
            f"{escape(each.verdict())}</span>"
            for each in run.differences
        ]
        lines.append([escape(run.name), *cells])
    return [
        f"<h2>Which differences from {escape(comparison.runs[0].name)} are real</h2>",
        html_table([head, *lines]),
        quiet(table.how_tested(resamples)),
    ]


def by_length(comparison: Comparison) -> list[str]:
    if not comparison.bins:
        return []
    legend = " &nbsp; ".join(
        f'<span class="one">{key(number)} {escape(run.name)}</span>'
        for number, run in enumerate(comparison.runs)
    )
    panels = "".join(
        f"<section><h3>{escape(NAMES[metric])}</h3>{drawings.curves(comparison, metric)}</section>"
        for metric in comparison.curves
    )
    return [
        "<h2>Score against source length</h2>",
        f"<p>{legend}</p>",
        f'<div class="side">{panels}</div>',
        "<details><summary>The numbers</summary>",
        *(numbers(comparison, metric) for metric in comparison.curves),
        "</details>",
    ]


def numbers(comparison: Comparison, metric: Metric) -> str:
    head = [NAMES[metric], *(each.label for each in comparison.bins)]
    counts = ["sentences", *(f"{len(each.rows):,}" for each in comparison.bins)]
    lines = [
        [run.name, *(f"{value:.1f}" for value in run.by_length[metric])] for run in comparison.runs
    ]
    return html_table([[escape(cell) for cell in line] for line in (head, counts, *lines)])


def alignments(sentence: str, looks: Sequence[Look]) -> list[str]:
    if not looks:
        return []
    shown = []
    for look in looks:
        in_words = not look.alignment.pairs()
        if not in_words:
            drawn = drawings.matrix(look.alignment, f"What {look.name} looks at")
            drawn += quiet(f"Shown: {look.alignment.name}.")
        elif look.translation:
            drawn = f"<p>{escape(look.translation)}</p><p>{NO_ATTENTION}</p>"
        else:
            drawn = "<p>Its translation is empty.</p>"
        kind = ' class="words"' if in_words else ""
        shown.append(f"<section{kind}><h3>{escape(look.name)}</h3>{drawn}</section>")
    return [
        "<h2>What each looks at for the same sentence</h2>",
        f"<p>{escape(sentence)}</p>",
        f'<div class="side">{"".join(shown)}</div>',
        quiet(
            "A row for each word of the translation, a column for each word of the source; "
            "the darker a cell, the more attention."
        ),
    ]


def provenance(comparison: Comparison) -> list[str]:
    lines = [
        [run.name, run.model, f"{run.updates or 0:,}", run.machine or "–"]
        for run in comparison.runs
    ]
    head = ["run", "model", "updates", "trained on"]
    signatures = "; ".join(f"{each.name} {each.signature}" for each in comparison.runs[0].scores)
    return [
        "<h2>What was compared</h2>",
        html_table([[escape(cell) for cell in line] for line in (head, *lines)]),
        quiet(f"sacreBLEU: {signatures}"),
    ]
