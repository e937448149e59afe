"""regard attend, for a classifier with a linear model: which words speak for a label."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from regard.cli.display import results

if TYPE_CHECKING:
    from regard.cli.attend import FileFlags
    from regard.inspect.evidence import TextEvidence


def attend_words(found: "TextEvidence", files: "FileFlags", as_json: bool) -> None:
    from regard.errors import RequestError

    if as_json:
        facts = {"label": found.label, "probability": found.probability}
        ngrams = [asdict(each) for each in found.ngrams]
        results(json.dumps({**facts, "ngrams": ngrams}, ensure_ascii=False))
    else:
        results(found.title())
        for line in found.lines():
            results(f"  {line}")
    try:
        for picture in files.picture:
            found.save_picture(picture)
        if files.csv is not None:
            found.save_csv(files.csv)
        if files.html is not None:
            found.save_page(files.html)
    except OSError as error:
        raise RequestError(
            f"{error.filename}: cannot be written ({error.strerror}); choose another name"
        ) from None
