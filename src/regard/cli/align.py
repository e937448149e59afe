"""regard align: pairs from two documents that translate each other."""

import json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.cli.options import AsJson


def align(
    source: Path,
    target: Path,
    /,
    *,
    out: Path,
    languages: tuple[str, str] | None = None,
    pairs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    lines: bool = False,
    as_json: AsJson = False,
) -> None:
    """Find the pairs of two documents, where lines do not translate each other.

    Sentences are found, and then aligned by their lengths and by a dictionary that is learned from
    the documents themselves. One sentence may go with two, and a sentence that the other side lacks
    is left out. Where both have the same number of paragraphs, with empty lines between them, each
    is aligned with its counterpart.

    Parameters
    ----------
    source, target
        Documents of plain text, in UTF-8.
    out
        The table (.tsv) to write: source, target.
    languages
        Two language codes, where the file names do not show them.
    pairs
        Pairs or words with their translations, from which the dictionary learns, too.
    lines
        Each line is one sentence.
    as_json
        Print one JSON object: how many pairs, and how many sentences were left out.
    """
    from regard.aligning.documents import align_documents, paragraphs
    from regard.cleaning.files import one_line
    from regard.cli.checks import check_inputs, check_outputs
    from regard.cli.display import results, say
    from regard.data.corpus import read_pairs
    from regard.data.pair_files import language_codes
    from regard.errors import UsageError
    from regard.files import replacing

    check_inputs(source, target)
    check_outputs(out)
    if out.suffix.lower() != ".tsv":
        raise UsageError(f"--out {out}: a table is written; end the name in .tsv")
    codes = languages or language_codes([source, target]) or ("", "")
    say("Aligning the sentences …")
    known = [(pair.source, pair.target) for pair in read_pairs(pairs)] if pairs else []
    first, second = paragraphs(source, codes[0], not lines), paragraphs(target, codes[1], not lines)
    found = align_documents(first, second, str(source), known)
    with replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(codes if all(codes) else ("source", "target")) + "\n")
        for pair in found.pairs:
            file.write(f"{one_line(pair.source)}\t{one_line(pair.target)}\n")
    alone = found.alone(0), found.alone(1)
    if as_json:
        facts = {"pairs": len(found.pairs), "left_out": alone, "paragraphs": found.anchored}
        results(json.dumps(facts))
        return
    by = f", paragraph by paragraph ({found.anchored:,})" if found.anchored else ""
    results(f"{len(found.pairs):,} pairs in {out}{by}")
    results(f"left out: {alone[0]:,} sentences of {source}, {alone[1]:,} of {target}")
