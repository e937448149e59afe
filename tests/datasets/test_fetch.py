import gzip
import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from regard import datasets
from regard.cli import main
from regard.data.lines import check_file
from regard.datasets import DataSet, Download, Made
from regard.datasets.convert import lines_of
from regard.datasets.fetch import fetch
from regard.datasets.image_sets import KINDS
from regard.errors import DataError
from regard.files import take_lock
from regard.reporter import SILENT
from tests.datasets.conftest import Publisher

ENGLISH, GERMAN = b"A dog\xc2\xa0runs.\n" * 3, "Ein Hund läuft.\n".encode() * 3
READY = {"train.en.gz": b"A dog runs.\n" * 3, "train.de.gz": GERMAN}


def offered(publisher: Publisher) -> DataSet:
    publisher.files = {"train.en": ENGLISH, "train.de": GERMAN}
    return DataSet(
        name="dogs",
        about="Dogs in two languages",
        licence="public domain",
        home=publisher.address,
        downloads=tuple(
            Download(name, publisher.url(name), len(content), hashlib.sha256(content).hexdigest())
            for name, content in publisher.files.items()
        ),
        files=tuple(
            Made(name, (name[:-3],), "single-spaces", sha256=hashlib.sha256(text).hexdigest())
            for name, text in READY.items()
        ),
        note="They bark.",
    )


@pytest.fixture
def dogs(publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataSet:
    """A data set of the publisher's in the catalogue, and an empty working folder."""
    found = offered(publisher)
    every = {**datasets.datasets(), "dogs": found}
    monkeypatch.setattr(datasets, "_read", lambda path: every)
    monkeypatch.delenv(datasets.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    return found


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: gzip.decompress(path.read_bytes()) for path in folder.iterdir()}


def test_a_data_set_arrives(
    dogs: DataSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["recipes", "fetch", "dogs"])
    assert content(tmp_path / "data" / "dogs") == READY
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [str(Path("data", "dogs"))]
    assert "Licence: public domain" in shown.err
    assert "They bark." in shown.err


def test_what_is_here_is_not_downloaded_again(
    dogs: DataSet, publisher: Publisher, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["recipes", "fetch", "dogs"])
    main(["recipes", "fetch", "dogs"])
    assert len(publisher.asked) == 2
    assert "already in" in capsys.readouterr().err


def test_another_folder_is_named_in_the_environment_or_the_command(
    dogs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["recipes", "fetch", "dogs", "--to", "there"])
    assert content(tmp_path / "there" / "dogs") == READY
    monkeypatch.setenv(datasets.VARIABLE, str(tmp_path / "named"))
    main(["recipes", "fetch", "dogs"])
    assert content(tmp_path / "named" / "dogs") == READY


def test_a_text_that_has_changed_is_refused_unless_one_insists(
    dogs: DataSet, publisher: Publisher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publisher.files["train.de"] = b"Eine Katze.\n"
    with pytest.raises(SystemExit) as stopped:
        main(["recipes", "fetch", "dogs"])
    assert stopped.value.code == 1
    assert "not the expected content" in capsys.readouterr().err
    assert not (tmp_path / "data" / "dogs" / "train.en.gz").exists()
    main(["recipes", "fetch", "dogs", "--anyway"])
    assert content(tmp_path / "data" / "dogs")["train.de.gz"] == b"Eine Katze.\n"


def test_a_made_file_is_checked_as_well(
    dogs: DataSet, tmp_path: Path, publisher: Publisher
) -> None:
    wrong = Made("train.en.gz", ("train.en",), sha256="0" * 64)
    changed = DataSet(**{**vars(dogs), "files": (wrong,)})
    with pytest.raises(DataError, match="not what it was when it was measured"):
        fetch(changed, tmp_path / "x", SILENT)
    assert not (tmp_path / "x" / "train.en.gz").exists()


def test_nothing_is_left_where_nothing_arrived(
    dogs: DataSet, publisher: Publisher, tmp_path: Path
) -> None:
    publisher.files.clear()
    with pytest.raises(SystemExit):
        main(["recipes", "fetch", "dogs"])
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_no_file_half_and_the_next_command_resumes(
    dogs: DataSet, publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = lines_of
    monkeypatch.setattr(
        "regard.datasets.convert.lines_of", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(SystemExit) as stopped:
        main(["recipes", "fetch", "dogs"])
    assert stopped.value.code == 130
    folder = tmp_path / "data" / "dogs"
    assert {path.name for path in folder.iterdir()} == {".downloading"}
    monkeypatch.setattr("regard.datasets.convert.lines_of", read)
    main(["recipes", "fetch", "dogs"])
    assert content(folder) == READY
    assert len(publisher.asked) == 2


def test_two_at_once_do_not_write_the_same_files(dogs: DataSet, tmp_path: Path) -> None:
    with (
        take_lock(tmp_path / "x" / ".downloading" / "lock"),
        pytest.raises(DataError, match="another process"),
    ):
        fetch(dogs, tmp_path / "x", SILENT)
    fetch(dogs, tmp_path / "x", SILENT)
    assert content(tmp_path / "x") == READY


def test_a_full_disk_is_foreseen(
    dogs: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.datasets.fetch.SPACE", 10**15)
    with pytest.raises(DataError, match="free on this disk"):
        fetch(dogs, tmp_path / "x", SILENT)
    assert not (tmp_path / "x").exists()


def test_a_folder_that_cannot_be_made_is_one_sentence(dogs: DataSet, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file.dogs: cannot be written .* --to"):
        fetch(dogs, tmp_path / "file" / "dogs", SILENT)


def test_a_missing_file_of_a_data_set_says_how_to_get_it(dogs: DataSet) -> None:
    with pytest.raises(DataError, match="`regard recipes fetch dogs` downloads it") as stopped:
        check_file(Path("data/dogs/train.en.gz"))
    assert "--set data.folder=" in str(stopped.value)
    with pytest.raises(DataError, match="check the path"):
        check_file(Path("data/dogs/other.en.gz"))


@pytest.mark.parametrize("one", datasets.datasets().values(), ids=lambda one: one.name)
def test_an_entry_of_the_catalogue_is_complete(one: DataSet) -> None:
    assert re.fullmatch(r"[a-z0-9-]+", one.name)
    assert one.about
    assert one.licence
    assert not (one.about + one.licence).endswith(".")
    names = {each.name for each in one.downloads}
    assert len(names) == len(one.downloads)
    for url in (one.home, *(each.url for each in one.downloads)):
        assert urlsplit(url).scheme == "https"
    for download in one.downloads:
        assert download.bytes > 0
        assert re.fullmatch(r"([0-9a-f]{64})?", download.sha256)
    for made in one.files:
        assert re.fullmatch(r"[\w.-]+", made.name)
        assert {part.partition(":")[0] for part in made.parts} <= names
        assert re.fullmatch(r"([0-9a-f]{64})?", made.sha256)
        assert made.how in KINDS or lines_of(made, Path())  # a way of making it that there is
    assert {part.partition(":")[0] for made in one.files for part in made.parts} == names


def test_checksums_are_those_of_the_data_that_was_measured(shared_data: Path) -> None:
    checked = 0
    for one in datasets.datasets().values():
        for made in one.files:
            path = shared_data / one.name / made.name
            if made.sha256 and path.exists():
                text = gzip.decompress(path.read_bytes())
                assert hashlib.sha256(text).hexdigest() == made.sha256, path
                checked += 1
    assert checked > 10
