"""regard neighbours: the words that are most similar to a word, or to a sum of words."""

import json
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.cli.lines import FileFlags, Files, batches, is_typed
from regard.cli.options import AT_LEAST_1, AsJson


def neighbours(
    run: Path,
    /,
    *words: Annotated[str, Parameter(allow_leading_hyphen=True)],
    analogy: bool = False,
    n_best: Annotated[int, AT_LEAST_1] = 10,
    files: Files = None,
    as_json: AsJson = False,
) -> None:
    """Find the words most similar to a word, by the vectors of a run.

    `regard neighbours RUN king queen` asks about two words. Words with + and - between them are
    one question: `regard neighbours RUN king - man + woman` asks what is to woman as king is to
    man. Put spaces around + and -. A line of output has a word and its similarity, with a tab
    between them.

    Parameters
    ----------
    run
        A run folder: of word vectors, or of any task that reads or writes text.
    words
        Words to ask about; without any, the lines of --input or of standard input, as they come.
    analogy
        Three words are one question: man king woman asks what is to woman as king is to man. The
        same written as a sum, king - man + woman, may be given as well.
    n_best
        Show this many words.
    as_json
        Print one JSON object per question: the question, and the words with their similarities.
    """
    from dataclasses import asdict

    from regard.cli.checks import open_run
    from regard.cli.display import results, say
    from regard.errors import RequestError, UsageError
    from regard.tasks.neighbours import WordVectors, analogy_of, named_rows, queries_of

    if unknown := [each for each in words if each.startswith("-") and len(each) > 1]:
        raise UsageError(
            f"{unknown[0]}: no such option; to subtract a word, put a space after the -"
        )
    named_rows(open_run(run))
    files = files or FileFlags()
    files.check(words)
    vectors = WordVectors.load(run)
    queries = [" ".join(words)] * bool(words) if analogy else queries_of(words)
    with files.answers():
        for query in chain.from_iterable(batches(queries, files, 1, "word")):
            if not query.strip():
                results("{}" if as_json else "")
                continue
            try:
                query = analogy_of(query) if analogy else query
                found = vectors.neighbours(query, n_best)
            except RequestError as error:
                if not is_typed(queries, files):
                    raise
                say(str(error))
                continue
            if as_json:
                facts = {"query": query, "neighbours": [asdict(each) for each in found]}
                results(json.dumps(facts, ensure_ascii=False))
            else:
                if len(queries) != 1:
                    results(query)
                for each in found:
                    results(f"{each.word}\t{each.similarity:.3f}")
            sys.stdout.flush()
