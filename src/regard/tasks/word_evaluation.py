"""Scores of word vectors on rated pairs, analogies or other text, beside a simple baseline."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.data.word_tests import Question, RatedPair, read_word_test
from regard.errors import DataError, RegardError
from regard.evaluate.word_tests import answers, spearman, spearman_interval
from regard.run import Run
from regard.tasks.neighbours import WordVectors
from regard.tasks.task import Evaluation, ScoreLine, Test
from regard.text.word_vocabulary import WordVocabulary, vocabulary_file

if TYPE_CHECKING:
    from regard.reporter import Reporter

Units = NDArray[np.float32]
COUNTED = "counted neighbours"
# Cells of the table that neighbours are counted in.
MOST_CELLS = 200_000_000


def evaluate(run: Run, test: Test) -> Evaluation:
    vectors = WordVectors.load(run.folder, test.device)
    files = test.without_search().files
    found = [read_word_test(path) for path in files]
    kinds = {type(each[0]) if each else None for each in found}
    if kinds == {RatedPair}:
        rated = [pair for each in found for pair in each or () if isinstance(pair, RatedPair)]
        return on_pairs(vectors, counted(run, test.reporter), rated, test)
    if kinds == {Question}:
        asked = [one for each in found for one in each or () if isinstance(one, Question)]
        return on_analogies(vectors, counted(run, test.reporter), asked, files)
    if kinds == {None}:
        return on_text(run, vectors, files)
    names = " and ".join(map(str, files))
    raise DataError(f"{names}: tests of different kinds; give one kind at a time")


def counted(run: Run, reporter: "Reporter") -> Units | None:
    """Vectors of the same words from counting which stand near each other in the training text;
    None if that is no longer there.
    """
    from regard.data.cooccurrence import COLUMNS, cooccurrence_vectors
    from regard.data.stream import Stream

    recipe = run.recipe_for("word-vectors")
    try:
        stream = Stream.open(run.training / "data", "train")
    except RegardError:
        return None
    words = len(WordVocabulary.load(vocabulary_file(run.folder)))
    columns = min(COLUMNS, max(1, MOST_CELLS // words))
    with reporter.progress("counting neighbours, for comparison", 0):
        # The end of a passage counts as a word here.
        found = cooccurrence_vectors(
            stream, words + 1, recipe.model.d_model, recipe.data.window, columns
        )
    return found.vectors[:-1].numpy()


def on_pairs(
    vectors: WordVectors, counts: Units | None, pairs: Sequence[RatedPair], test: Test
) -> Evaluation:
    known = [pair for pair in pairs if pair.first in vectors and pair.second in vectors]
    if len(known) < 3:
        raise DataError(
            f"{test.files[0]}: {len(known)} of its {len(pairs):,} pairs have vectors in this run; "
            "at least 3 are needed"
        )
    first, second = (
        np.array([vectors.place(getattr(pair, side)) for pair in known])
        for side in ("first", "second")
    )
    ratings = np.array([pair.rating for pair in known])

    def similarity(units: Units) -> NDArray[np.float32]:
        return np.asarray((units[first] * units[second]).sum(1))

    own = similarity(vectors.units)
    low, high = spearman_interval(own, ratings, test.bootstrap) if test.bootstrap else (None, None)
    lines = [ScoreLine("Spearman's ρ", spearman(own, ratings), low, high, decimals=3)]
    if counts is not None:
        lines.append(ScoreLine(COUNTED, spearman(similarity(counts), ratings), decimals=3))
    headline = f"{len(known):,} of {len(pairs):,} pairs have vectors"
    return evaluation(test.files, headline, lines, {"pairs": len(pairs), "covered": len(known)})


def on_analogies(
    vectors: WordVectors,
    counts: Units | None,
    questions: Sequence[Question],
    files: Sequence[Path],
) -> Evaluation:
    known = [each for each in questions if all(word in vectors for word in each.words)]
    if not known:
        raise DataError(f"{files[0]}: no analogy has only words of this run; give another test")
    places = [[vectors.place(word) for word in each.words] for each in known]
    true = np.array(places)[:, 3]
    right = answers(vectors.units, places) == true
    lines = [ScoreLine("accuracy", 100 * float(right.mean()))]
    if counts is not None:
        lines.append(ScoreLine(COUNTED, 100 * float((answers(counts, places) == true).mean())))
    sections = Counter(each.section for each in known)
    if len(sections) > 1:
        for name in sections:
            rows = [each.section == name for each in known]
            lines.append(ScoreLine(f"{name} ({sum(rows):,})", 100 * float(right[rows].mean())))
    headline = f"{len(known):,} of {len(questions):,} analogies have vectors"
    facts = {"analogies": len(questions), "covered": len(known), "sections": dict(sections)}
    return evaluation(files, headline, lines, facts)


def on_text(run: Run, vectors: WordVectors, files: Sequence[Path]) -> Evaluation:
    """The loss on a text, as in validation."""
    import tempfile

    from regard.data.stream import Stream
    from regard.data.texts import read_documents
    from regard.data.word_pairs import write_words
    from regard.evaluate.word_vectors import HeldOutWords
    from regard.tasks.word_vectors import examples_of, ignorance

    recipe = run.recipe_for("word-vectors")
    vocabulary = WordVocabulary.load(vocabulary_file(run.folder))
    with tempfile.TemporaryDirectory() as folder:
        write_words(read_documents(list(files), recipe.data.text), vocabulary, Path(folder), "test")
        stream = Stream.open(Path(folder), "test")
        if len(stream) < 2:
            raise DataError(f"{files[0]}: none of its words have vectors in this run")
        train = recipe.train
        held_out = HeldOutWords(
            examples_of(stream, vocabulary, recipe), train.negatives, train.batch_tokens
        )
        loss = held_out.findings(vectors.model).loss
    lines = [
        ScoreLine("loss", loss, decimals=3),
        ScoreLine("vectors that know nothing", ignorance(recipe), decimals=3),
    ]
    return evaluation(files, f"{len(stream):,} words", lines, {"words": len(stream)})


def evaluation(
    files: Sequence[Path], headline: str, lines: Sequence[ScoreLine], facts: dict[str, object]
) -> Evaluation:
    named = ", ".join(map(str, files))
    return Evaluation(
        headline=f"{named}: {headline}",
        scores=lines,
        facts={
            "test": [str(file) for file in files],
            **facts,
            "scores": {line.name: line.value for line in lines},
            "intervals": {
                line.name: [line.low, line.high] for line in lines if line.low is not None
            },
        },
    )
