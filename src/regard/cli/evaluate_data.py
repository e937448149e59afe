"""regard evaluate --data: whatever is no translator, on text it has not seen."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.recipe import Recipe

TEXTS_AT_ONCE = 512


@dataclass(frozen=True)
class Scored:
    """Scores by name, in per cent where that is usual, each with a 95 % interval where there is
    one; and how often each label was taken for which.
    """

    examples: int
    unit: str
    scores: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    labels: list[str]
    confusion: list[list[int]]
    answers: list[str]  # lines: the label of each text; words with theirs, sentences apart


def evaluate_data(
    run: Path,
    files: Sequence[Path],
    picture: Path | None,
    output: Path | None,
    bootstrap: int,
    as_json: bool,
) -> None:
    """Score a run on labelled or running text, as its task asks."""
    from regard.cli.checks import check_picture
    from regard.cli.display import results, say
    from regard.errors import RequestError
    from regard.files import write_file
    from regard.run import Run

    check_picture(picture)
    labelling, reading = ("classification", "tagging"), ("language-model", "masked-language-model")
    recipe = Run.open(run).recipe_for(*labelling, *reading)
    if recipe.task in reading and (picture or output) is not None:
        raise RequestError(
            "--picture and --output are for labels; this run has none, leave them out"
        )
    match recipe.task:
        case "classification":
            found = score_classifier(run, recipe, files, bootstrap)
        case "tagging":
            found = score_tagger(run, recipe, files, bootstrap)
        case "masked-language-model":
            found = score_masked(run, recipe, files)
        case _:
            found = score_language_model(run, files)
    if picture is not None:
        from regard.files import replacing
        from regard.inspect.confusion import save_confusion

        with replacing(picture) as temporary:
            save_confusion(found.labels, found.confusion, temporary)
        say(f"Wrote {picture}")
    if output is not None:
        write_file(output, "".join(line + "\n" for line in found.answers).encode())
        say(f"Wrote {output}")
    if as_json:
        results(json.dumps(facts(files, found), indent=2, ensure_ascii=False))
        return
    results(f"{', '.join(map(str, files))}: {found.examples:,} {found.unit}")
    for name, value in found.scores.items():
        low_high = found.intervals.get(name)
        interval = f"  [{low_high[0]:.2f}, {low_high[1]:.2f}]" if low_high else ""
        results(f"{name:<19}{value:7.2f}{interval}")


def facts(files: Sequence[Path], found: Scored) -> dict[str, Any]:
    return {
        "test": [str(file) for file in files],
        found.unit: found.examples,
        "scores": found.scores,
        "intervals": {name: list(each) for name, each in found.intervals.items()},
        "labels": found.labels,
        "confusion": found.confusion,
    }


def score_classifier(run: Path, recipe: "Recipe", files: Sequence[Path], bootstrap: int) -> Scored:
    import torch

    from regard.cli.display import progress_bar
    from regard.data.labelled import read_texts
    from regard.evaluate.labels import accuracy, calibration_error, confusion, f1_scores, macro_f1
    from regard.tasks.classification import Classifier

    classifier = Classifier.load(run, "auto")
    examples = list(read_texts(files, recipe.data.label))
    there = {label for each in examples for label in each.labels}
    names = with_unknown(there, classifier.labels.names, files)
    true = torch.tensor([names.index(each.labels[0]) for each in examples])
    rows = []
    with progress_bar("classifying", len(examples)) as bar:
        for start in range(0, len(examples), TEXTS_AT_ONCE):
            part = examples[start : start + TEXTS_AT_ONCE]
            texts = [each.units for each in part]
            rows += classifier.labels.probabilities(texts, whole_text=True)
            bar.advance(bar.task_ids[0], len(part))
    probabilities = torch.cat(rows).double()
    found = probabilities.argmax(-1)
    table = confusion(found.numpy(), true.numpy(), len(names))
    scores = {"accuracy": accuracy(found.numpy(), true.numpy()), "macro-F1": macro_f1(table)}
    scores["calibration error"] = calibration_error(probabilities, true)
    if len(names) <= 20:
        scores |= {f"F1 {name}": value for name, value in zip(names, f1_scores(table), strict=True)}
    right = (found == true).numpy().astype(float)
    intervals = {"accuracy": interval(right.reshape(-1, 1), bootstrap)} if bootstrap > 1 else {}
    answers = [names[label] for label in found.tolist()]
    return Scored(len(examples), "texts", scores, intervals, names, table.tolist(), answers)


def score_tagger(run: Path, recipe: "Recipe", files: Sequence[Path], bootstrap: int) -> Scored:
    import numpy as np

    from regard.cli.display import progress_bar
    from regard.data.labelled import read_tagged
    from regard.evaluate.labels import confusion, f1_scores, has_spans, macro_f1, span_f1
    from regard.tasks.tagging import Tagger

    tagger = Tagger.load(run, "auto")
    examples = list(read_tagged(files, recipe.data.label))
    there = {label for each in examples for label in each.labels}
    names = with_unknown(there, tagger.labels.names, files)
    found: list[list[str]] = []
    with progress_bar("tagging", len(examples)) as bar:
        for start in range(0, len(examples), TEXTS_AT_ONCE):
            part = examples[start : start + TEXTS_AT_ONCE]
            found += [[w.label for w in words] for words in tagger.tag([e.units for e in part])]
            bar.advance(bar.task_ids[0], len(part))
    true = [list(each.labels) for each in examples]
    numbers = {name: number for number, name in enumerate(names)}
    flat = [np.array([numbers[label] for row in rows for label in row]) for rows in (found, true)]
    table = confusion(flat[0], flat[1], len(names))
    right = np.array(
        [
            [sum(a == b for a, b in zip(mine, theirs, strict=True)), len(theirs)]
            for mine, theirs in zip(found, true, strict=True)
        ],
        float,
    )
    scores = {"accuracy": 100 * right[:, 0].sum() / right[:, 1].sum(), "macro-F1": macro_f1(table)}
    if has_spans(names):
        scores["span F1"] = span_f1(found, true)
    intervals = {"accuracy": interval(right, bootstrap)} if bootstrap > 1 else {}
    if len(names) <= 20:
        scores |= {f"F1 {name}": value for name, value in zip(names, f1_scores(table), strict=True)}
    answers = []
    for example, labels in zip(examples, found, strict=True):
        answers += [f"{word}\t{label}" for word, label in zip(example.units, labels, strict=True)]
        answers.append("")
    return Scored(len(examples), "sentences", scores, intervals, names, table.tolist(), answers)


def score_language_model(run: Path, files: Sequence[Path]) -> Scored:
    from regard.data.texts import read_documents
    from regard.errors import DataError
    from regard.tasks.writer import Writer

    writer = Writer.load(run, "auto")
    total, tokens, characters = 0.0, 0, 0
    document: list[str] = []
    for text in read_documents(files):
        if text is not None:
            document.append(text)
            continue
        scored = writer.score("".join(document))
        total -= sum(each.log_probability for each in scored)
        tokens += len(scored)
        characters += len(writer.tokenizer.normalise("".join(document)))
        document = []
    if not tokens:
        raise DataError(f"{files[0]}: no text in it; give some to score")
    scores = {
        "loss": total / tokens,
        "perplexity": math.exp(min(100.0, total / tokens)),
        "bits/character": total / math.log(2) / max(1, characters),
    }
    return Scored(tokens, "tokens", scores, {}, [], [], [])


def score_masked(run: Path, recipe: "Recipe", files: Sequence[Path]) -> Scored:
    """As in validation: the same share of the text is hidden, the same tokens each time."""
    import numpy as np

    from regard.data.masked import MaskedExamples, Masking
    from regard.data.stream import Stream
    from regard.data.texts import paragraphs, read_documents
    from regard.errors import DataError
    from regard.evaluate.masked import HeldOutMasked
    from regard.tasks.filler import Filler

    filler = Filler.load(run, "auto")
    model, tokenizer = filler.model, filler.tokenizer
    texts = [text for text in paragraphs(read_documents(files)) if text is not None]
    ids = [i for row in tokenizer.encode_batch(texts) for i in (*row, tokenizer.specials.end)]
    if len(ids) < 3:
        raise DataError(f"{files[0]}: no text in it; give some to hide words of")
    in_pairs = model.config.next_sentence
    content = min(len(ids), recipe.data.context - (3 if in_pairs else 2))
    stream = Stream(np.array(ids), sum(map(len, texts)), tokenizer.fingerprint)
    masking = Masking.of(tokenizer, recipe.data.masked_share, recipe.data.whole_words)
    examples = MaskedExamples(stream, content, masking, in_pairs)
    findings = HeldOutMasked(examples, tokenizer).findings(model, recipe.train.batch_tokens)
    scores = {name: value for name, value in findings.scores.items() if value is not None}
    return Scored(len(ids), "tokens", {"loss": findings.loss, **scores}, {}, [], [], [])


def with_unknown(there: set[str], names: list[str], files: Sequence[Path]) -> list[str]:
    """The run's labels, then those of the data that it never saw, which it cannot but miss."""
    from regard.cli.display import say
    from regard.errors import DataError

    unknown = sorted(there - set(names))
    if unknown and not there & set(names):
        raise DataError(
            f"{files[0]}: label {unknown[0]!r} is none of the run's ({', '.join(names[:8])}); "
            "name the right column with data.label in the recipe"
        )
    if unknown:
        shown = ", ".join(unknown[:8]) + ", …" * (len(unknown) > 8)
        say(f"Never seen in training, so counted as missed: {shown}")
    return [*names, *unknown]


def interval(rows: Any, bootstrap: int, seed: int = 12345) -> tuple[float, float]:
    """95 % of resamples of the examples, in per cent: of their mean, or of right over all."""
    import numpy as np

    draw = np.random.default_rng(seed)
    values = []
    for _ in range(bootstrap):
        sums = rows[draw.integers(0, len(rows), len(rows))].sum(0)
        values.append(100 * (sums[0] / (sums[1] if len(sums) > 1 else len(rows))))
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
