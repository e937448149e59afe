"""From published files to the files that recipes read, with nothing but the standard library.

Members of archives are read where they are: nothing is unpacked under a name that an archive
chooses, so that a name in it can do no harm.
"""

import bz2
import gzip
import hashlib
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

from regard.datasets import Made
from regard.datasets.image_sets import KINDS, make_images
from regard.errors import DataError

T = TypeVar("T")

ARCHIVES = (".zip", ".tgz", ".tar.gz", ".tar")
# Text shrinks to a third or a tenth. What unpacks to more than this is not text.
LARGEST_RATIO = 40
SMALLEST_LIMIT = 50_000_000
# So that nothing packed can fill the memory at once.
LONGEST_LINE = 16_000_000


def make(file: Made, downloads: Path, target: Path) -> str:
    """Write a file of a data set from the files in `downloads`; the checksum of its text."""
    if file.how in KINDS:
        return checked(file, lambda: make_images(file, downloads, target))
    return checked(file, lambda: make_text(file, downloads, target))


def make_text(file: Made, downloads: Path, target: Path) -> str:
    names = {part.partition(":")[0] for part in file.parts}
    packed = sum((downloads / name).stat().st_size for name in names)
    left = max(SMALLEST_LIMIT, LARGEST_RATIO * packed)
    digest = hashlib.sha256()
    with compressed(target) as out:
        for line in lines_of(file, downloads):
            left -= len(line)
            if left < 0:
                raise DataError(
                    f"{file.name}: what was downloaded unpacks to far more than text would; "
                    "nothing was kept"
                )
            digest.update(line)
            out.write(line)
    return digest.hexdigest()


def checked(file: Made, work: Callable[[], str]) -> str:
    """Do the work, and say in a sentence what is wrong with what was downloaded."""
    names = ", ".join(sorted({part.partition(":")[0] for part in file.parts}))
    try:
        return work()
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{names}: damaged, or not the archive that was expected ({error})"
        ) from None
    except (KeyError, UnicodeDecodeError, NotImplementedError, struct.error) as error:
        raise DataError(f"{file.name}: {names} does not have what was expected ({error})") from None


@contextmanager
def compressed(path: Path) -> Iterator[BinaryIO]:
    with path.open("wb") as raw:
        match path.suffix:
            case ".gz":
                # No time and no name in it: the same text gives the same bytes.
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
                    yield file  # type: ignore[misc]
            case ".bz2":
                with bz2.BZ2File(raw, "wb") as file:
                    yield file  # type: ignore[misc]
            case _:
                yield raw


def lines_of(file: Made, downloads: Path) -> Iterator[bytes]:
    match file.how:
        case "lines":
            return plain_lines(file, downloads)
        case "single-spaces":
            return single_spaces(file, downloads)
        case "reviews":
            return reviews(file, downloads)
        case "polarity":
            return polarity(file, downloads)
        case "sentences":
            return sentences(file, downloads)
    raise DataError(f"{file.name}: made by {file.how!r}, which this version of regard cannot do")


def plain_lines(file: Made, downloads: Path) -> Iterator[bytes]:
    """The parts, one after the other, as they are."""
    for part in file.parts:
        for _, member in members(downloads, part):
            line = b""
            for line in lines_in(member):
                yield line
            if line and not line.endswith(b"\n"):
                yield b"\n"


def lines_in(member: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: member.readline(LONGEST_LINE), b"")


def single_spaces(file: Made, downloads: Path) -> Iterator[bytes]:
    """Lines in which any white space is one plain space."""
    for line in plain_lines(file, downloads):
        yield " ".join(line.decode().split()).encode() + b"\n"


def reviews(file: Made, downloads: Path) -> Iterator[bytes]:
    """A table of texts that are a file each, named like 123_8.txt for a rating of 8."""
    yield b"label\trating\ttext\n"
    for part in file.parts:
        for name, member in members(downloads, part):
            rating = name.removesuffix(".txt").rpartition("_")[2]
            text = " ".join(member.read(LONGEST_LINE).decode().replace("\t", " ").splitlines())
            yield f"{int(int(rating) > 5)}\t{rating}\t{text}\n".encode()


def polarity(file: Made, downloads: Path) -> Iterator[bytes]:
    """A table of sentences: the same share of the first part, which is positive, and of the
    second, which is negative.
    """
    yield b"label\ttext\n"
    for label, part in zip((1, 0), file.parts, strict=True):
        lines = [line for _, member in members(downloads, part) for line in lines_in(member)]
        for line in shared(lines, file.share):
            yield f"{label}\t{' '.join(line.decode('latin-1').split())}\n".encode()


def sentences(file: Made, downloads: Path) -> Iterator[bytes]:
    """A share of the sentences, one word with its labels on a line, with tabs between them."""
    found: list[list[bytes]] = [[]]
    for line in plain_lines(file, downloads):
        if words := line.split():
            found[-1].append(b"\t".join(words) + b"\n")
        elif found[-1]:
            found.append([])
    whole = [sentence for sentence in found if sentence]
    for number, sentence in enumerate(shared(whole, file.share)):
        if number:
            yield b"\n"
        yield from sentence


def shared(items: list[T], share: tuple[float, float]) -> list[T]:
    """The items from one share of the way to another."""
    start, end = (round(each * len(items)) for each in share)
    return items[start:end]


def members(downloads: Path, part: str) -> Iterator[tuple[str, BinaryIO]]:
    """The contents of a part, by name: a file, a member of an archive, or with a / at the end all
    that an archive has below it.
    """
    name, _, wanted = part.partition(":")
    path = downloads / name
    if not name.endswith(ARCHIVES):
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield name, file  # type: ignore[misc]
    elif name.endswith(".zip"):
        with zipfile.ZipFile(path) as archive, archive.open(wanted) as file:
            yield wanted, file  # type: ignore[misc]
    else:
        yield from tar_members(path, wanted)


def tar_members(path: Path, wanted: str) -> Iterator[tuple[str, BinaryIO]]:
    found = False
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            inside = wanted.endswith("/") and member.name.startswith(wanted)
            if not member.isfile() or not (inside or member.name == wanted):
                continue
            found = True
            file = archive.extractfile(member)
            assert file is not None  # it is a file
            yield member.name, file  # type: ignore[misc]
            if not inside:
                return
    if not found:
        raise KeyError(f"no {wanted} in it")
