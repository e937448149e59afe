"""Reads documents and writes them again without a translation: every byte must stay.

    python -m benchmarks.round_trips FOLDER… [--most 40]

At most this many files of each ending are read, evenly chosen. Of zipped formats the members count.
Of a table, the first column is read.
"""

import argparse
import io
import time
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

from regard.errors import DataError
from regard.text.documents.document import Wish
from regard.text.documents.formats import FORMATS, read_document

TABLES = (".csv", ".tsv", ".xlsx")
# So many sentences on files that are refused are shown of each ending.
MOST_REFUSALS = 2


def content(data: bytes, path: Path) -> object:
    if path.suffix.lower() not in (".docx", ".odt", ".xlsx"):
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=40)
    given = parser.parse_args()
    files: dict[str, list[Path]] = defaultdict(list)
    for folder in given.folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() in FORMATS and path.is_file() and not path.is_symlink():
                files[path.suffix.lower()].append(path)
    begin = time.process_time()
    print("| ending | read | identical | refused |\n|---|---|---|---|")
    total: Counter[str] = Counter()
    for ending, paths in sorted(files.items()):
        counts: Counter[str] = Counter()
        wish = Wish(column="1" if ending in TABLES else "")
        for path in paths[:: max(1, len(paths) // given.most)][: given.most]:
            data = path.read_bytes()
            try:
                new = read_document(str(path), data, wish).write({})
            except DataError as error:
                counts["refused"] += 1
                if counts["refused"] <= MOST_REFUSALS:
                    print(f"  {error}")
                continue
            same = content(new, path) == content(data, path)
            counts["identical" if same else "different"] += 1
            if not same:
                print(f"  {path}: differs")
        total += counts
        read = counts["identical"] + counts["different"]
        print(f"| {ending} | {read} | {counts['identical']} | {counts['refused']} |", flush=True)
    print(f"{dict(total)}; {time.process_time() - begin:.0f} s of one core")


if __name__ == "__main__":
    main()
