"""Brings a data set to a folder: downloads it, makes its files and checks them.

All files of the set appear together at the end. What has been downloaded before that is kept in
`.downloading`, so that the same command resumes.
"""

import shutil
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from regard.datasets import DataSet, shown_size
from regard.datasets.convert import make
from regard.datasets.download import download
from regard.errors import DataError
from regard.files import replacing_together, take_lock
from regard.reporter import Reporter

DOWNLOADS = ".downloading"
# A packed corpus, its text, and the text packed again.
SPACE = 3


def is_here(dataset: DataSet, folder: Path) -> bool:
    return all((folder / each.name).is_file() for each in dataset.files)


def fetch(dataset: DataSet, folder: Path, reporter: Reporter, check: bool = True) -> None:
    """Bring a data set to `folder`. Without `check`, other content than expected is accepted."""
    downloads = folder / DOWNLOADS
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        downloads.mkdir(parents=True, exist_ok=True)
        lock = take_lock(downloads / "lock")
    except BlockingIOError:
        raise DataError(
            f"{folder}: another process is downloading to it; wait until it has ended"
        ) from None
    except OSError as error:
        raise unwritable(folder, error) from None
    with lock:
        try:
            require_space(dataset, folder)
            for each in dataset.downloads:
                host = urlsplit(each.url).hostname
                reporter.say(f"Downloading {each.name} ({shown_size(each.bytes)}) from {host} …")
                download(each, downloads, reporter, check)
            make_files(dataset, folder, reporter, check)
        except DataError as error:
            raise DataError(f"{error}; {dataset.home} describes the data") from None
        except OSError as error:
            raise unwritable(folder, error) from None
        else:
            shutil.rmtree(downloads)
        finally:
            tidy(downloads, made)


def tidy(downloads: Path, made: list[Path]) -> None:
    """Leave no empty folders where nothing has arrived."""
    if downloads.exists() and {path.name for path in downloads.iterdir()} <= {"lock"}:
        shutil.rmtree(downloads)
    for folder in made:
        with suppress(OSError):  # it holds what has arrived
            folder.rmdir()


def make_files(dataset: DataSet, folder: Path, reporter: Reporter, check: bool) -> None:
    names = [each.name for each in dataset.files]
    with replacing_together(folder, names) as scratch:
        for each in dataset.files:
            reporter.say(f"Writing {each.name} …")
            found = make(each, folder / DOWNLOADS, scratch / each.name)
            if check and each.sha256 and found != each.sha256:
                raise DataError(
                    f"{each.name}: its text is not what it was when it was measured (sha256 "
                    f"{found[:12]}…, expected {each.sha256[:12]}…), so nothing was kept; --anyway "
                    "keeps it"
                )


def require_space(dataset: DataSet, folder: Path) -> None:
    free, needed = shutil.disk_usage(folder).free, SPACE * dataset.bytes
    if free < needed:
        raise DataError(
            f"{folder}: {shown_size(free)} free on this disk, {dataset.name} needs "
            f"{shown_size(needed)} while it is made; make room or choose another folder with --to"
        )


def unwritable(folder: Path, error: OSError) -> DataError:
    return DataError(
        f"{folder}: cannot be written ({error.strerror or error}); choose another folder with --to"
    )
