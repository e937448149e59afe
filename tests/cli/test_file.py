"""`regard file` as a person meets it."""

from pathlib import Path

import pytest

from regard.cli import main


def stopped(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main(arguments)
    return capsys.readouterr().err


def test_documents_and_folders_are_translated(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "docs"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.md").write_text("# x1 x2\n\n    y z\n")
    (folder / "inner" / "b.json").write_text('{"k": "a 3 4"}')
    (folder / "image.png").write_bytes(b"no document")
    main(["file", str(finished), str(folder), "--out-dir", str(tmp_path / "yy")])
    assert (tmp_path / "yy" / "a.md").read_text().startswith("# ")
    assert (tmp_path / "yy" / "a.md").read_text().endswith("\n\n    y z\n")
    assert (tmp_path / "yy" / "inner" / "b.json").read_text().startswith('{"k": "')
    assert "1 text translated" in capsys.readouterr().err


def test_an_output_has_the_language_in_its_name(finished: Path, tmp_path: Path) -> None:
    for name, new in (("a.txt", "a.yy.txt"), ("b.xx.txt", "b.yy.txt"), ("xx.json", "yy.json")):
        (tmp_path / name).write_text('{"a": "one 1 2"}')
        main(["file", str(finished), str(tmp_path / name)])
        assert (tmp_path / new).is_file()


def test_a_document_without_texts_is_named(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.po").write_bytes(b"")
    main(["file", str(finished), str(tmp_path / "a.po"), "--out", str(tmp_path / "b.po")])
    said = capsys.readouterr().err
    assert f"Wrote {tmp_path / 'b.po'} as it was: there is nothing to translate in it." in said


def test_one_refused_document_does_not_stop_the_others(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.po").write_text("no PO")
    (tmp_path / "good.txt").write_text("a 1 2 3\n")
    said = stopped(["file", str(finished), *map(str, sorted(tmp_path.iterdir()))], capsys)
    assert "bad.po:1: not a line of a PO file" in said
    assert "1 of 2 documents were not translated" in said
    assert (tmp_path / "good.yy.txt").is_file()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.txt"], "missing.txt: there is no such file; check the path"),
        (["a.txt", "b.txt", "--out", "c.txt"], "use --out-dir for several"),
        (["a.yy.txt"], "its name says that it is for yy already"),
        (["a.csv", "--into", "b"], "--into needs --column"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: list[str],
    sentence: str,
    finished: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sentence in stopped(["file", str(finished), *arguments], capsys)
    assert [*tmp_path.iterdir()] == []
