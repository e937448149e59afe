"""Converted runs are kept where only the user can write, and not used once they have changed."""

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.decode.search import Search
from regard.errors import RunError
from regard.run import Run
from regard.tasks.translation.translator import Translator

pytest.importorskip("ctranslate2", reason="needs the extra `fast`")
from regard.engines import cache, conversion
from regard.engines.ctranslate2 import CTranslate2
from tests.engines.test_ctranslate2 import make_run

TEXTS = ["the cat", "big red apples"]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("cache") / "run", {}, ending=0.5)


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "run"))


@pytest.fixture(autouse=True)
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for each test alone, which is not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "regard" / "engines"


@pytest.fixture(scope="module")
def expected(original: Path) -> list[str]:
    found = Translator.load(original, engine="torch").translate(TEXTS)
    assert all(found)
    return found


def translated(run: Path) -> list[str]:
    return Translator.load(run, engine="ctranslate2").translate(TEXTS)


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def not_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(conversion, "convert", lambda *_: pytest.fail("converted again"))
        yield


def test_only_the_user_can_write_there_and_the_run_stays_as_it_is(
    run: Path, engines: Path, expected: list[str]
) -> None:
    before = tree(run)
    assert translated(run) == expected
    (kept,) = engines.iterdir()
    for folder in (kept, engines, engines.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert tree(run) == before


def test_a_conversion_in_the_run_is_not_used(run: Path, expected: list[str]) -> None:
    """Not even one under the name that earlier versions gave it."""
    from regard.engines.ctranslate2 import fingerprint

    planted = run / "engines" / f"ctranslate2-{fingerprint(Run(run))}"
    conversion.convert(run, planted)
    pieces = json.loads((planted / "shared_vocabulary.json").read_text("utf-8"))
    pieces[5:] = reversed(pieces[5:])
    (planted / "shared_vocabulary.json").write_text(json.dumps(pieces), "utf-8")
    before = tree(planted)
    assert translated(run) == expected
    assert tree(planted) == before


def test_a_link_in_the_run_is_not_followed(run: Path, tmp_path: Path, expected: list[str]) -> None:
    somewhere = tmp_path / "somewhere"
    (somewhere / "ctranslate2-precious").mkdir(parents=True)
    (somewhere / "ctranslate2-precious" / "thesis.txt").write_text("a year of work")
    (somewhere / ".writing-mine").mkdir()
    (somewhere / ".writing-mine" / "draft.txt").write_text("and another")
    (run / "engines").symlink_to(somewhere)
    before = tree(somewhere)
    assert translated(run) == expected
    Run(run).sweep()
    assert tree(somewhere) == before


@pytest.mark.parametrize("name", ["regard", "regard/engines", "the conversion"])
def test_a_link_in_the_cache_is_not_followed(
    name: str, run: Path, engines: Path, tmp_path: Path, expected: list[str]
) -> None:
    somewhere = tmp_path / "somewhere"
    somewhere.mkdir()
    if name == "the conversion":
        assert translated(run) == expected
        (kept,) = engines.iterdir()
        kept.rename(somewhere / kept.name)
        kept.symlink_to(somewhere / kept.name)
        before = tree(somewhere)
        assert translated(run) == expected
        assert not kept.is_symlink()
        assert tree(somewhere) == before
        return
    link = tmp_path / "cache" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(somewhere)
    with pytest.warns(UserWarning, match="is not a folder of your own"):
        assert translated(run) == expected
    assert list(somewhere.iterdir()) == []


def test_a_cache_of_somebody_else_is_not_used(
    run: Path, engines: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(UserWarning, match="is not a folder of your own"):
        assert translated(run) == expected
    assert list(engines.iterdir()) == []


def test_a_flipped_bit_in_the_weights_is_not_answered_from_the_cache(run: Path) -> None:
    translated(run)
    weights = run / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    for engine in ("auto", "ctranslate2", "torch"):
        with pytest.raises(RunError, match="does not match its checksum"):
            Translator.load(run, engine=engine)  # type: ignore[arg-type]


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_changed_byte_of_any_file_is_noticed(place: str, run: Path, engines: Path) -> None:
    before = CTranslate2.of_run(run).best([[5, 6, 7]], [[]], Search())
    (kept,) = engines.iterdir()
    whole = tree(kept)
    assert {"model.bin", "config.json", "regard.json", "tokenizer.json", "manifest.json"} < set(
        whole
    )
    for name, content in whole.items():
        changed = bytearray(content)
        changed[{"first": 0, "middle": len(content) // 2, "last": -1}[place]] ^= 1
        (kept / name).write_bytes(changed)
        assert CTranslate2.of_run(run).best([[5, 6, 7]], [[]], Search()) == before
        assert tree(kept) == whole, name


def test_a_file_too_few_or_too_many_is_noticed(run: Path, engines: Path) -> None:
    CTranslate2.of_run(run)
    (kept,) = engines.iterdir()
    whole = tree(kept)
    (kept / "source_vocabulary.json").write_text("[]")
    CTranslate2.of_run(run)
    assert tree(kept) == whole
    (kept / "config.json").unlink()
    CTranslate2.of_run(run)
    assert tree(kept) == whole


def test_what_is_whole_is_not_converted_again(
    run: Path, expected: list[str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    translated(run)
    request.getfixturevalue("not_again")
    assert translated(run) == expected
    assert translated(Path(shutil.copytree(run, tmp_path / "equal"))) == expected


SOON = """
import sys
from pathlib import Path
from regard import Translator
import regard.engines.conversion
print("ready", flush=True)
sys.stdin.readline()
print(Translator.load(sys.argv[1], engine="ctranslate2").translate(sys.argv[2:]), flush=True)
"""


def test_first_translations_that_start_together(
    run: Path, engines: Path, expected: list[str]
) -> None:
    command = [sys.executable, "-c", SOON, str(run), *TEXTS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [subprocess.Popen(command, text=True, **pipes) for _ in range(4)]  # type: ignore[call-overload]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        said = [process.communicate(timeout=100) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert said == [(f"{expected}\n", "")] * 4
    assert len(list(engines.iterdir())) == 1


def test_conversions_at_the_same_moment(
    run: Path, engines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have converted before the first of them is kept."""
    together = threading.Barrier(4)
    convert = conversion.convert

    def wait(folder: Path, path: Path) -> None:
        convert(folder, path)
        together.wait(60)

    monkeypatch.setattr(conversion, "convert", wait)
    found: list[list[list[int]]] = []

    def start() -> None:
        found.append(CTranslate2.of_run(run).best([[5, 6, 7]], [[]], Search()))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(each == found[0] for each in found)
    (kept,) = engines.iterdir()
    assert cache.intact(kept)


def test_a_run_that_changes_while_it_is_converted_is_not_kept(
    run: Path, engines: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = conversion.convert

    def change(folder: Path, path: Path) -> None:
        make_run(run, {}, seed=2)
        convert(folder, path)

    monkeypatch.setattr(conversion, "convert", change)
    CTranslate2.of_run(run)
    assert list(engines.iterdir()) == []


def test_the_cache_is_bounded(
    run: Path, engines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    CTranslate2.of_run(run)
    (first,) = engines.iterdir()
    size = sum(len(content) for content in tree(first).values())
    monkeypatch.setattr(cache, "FOLDERS", 2)
    os.utime(first, (1e9, 1e9))
    others = [make_run(tmp_path / f"run-{seed}", {}, seed=seed) for seed in (2, 3, 4)]
    CTranslate2.of_run(others[0])
    (second,) = set(engines.iterdir()) - {first}
    os.utime(second, (1e9 + 1, 1e9 + 1))
    CTranslate2.of_run(run)  # used just now, so that the second is the oldest
    CTranslate2.of_run(others[1])
    assert first.is_dir()
    assert not second.exists()
    assert len(list(engines.iterdir())) == 2
    monkeypatch.setattr(cache, "BYTES", size // 2)
    CTranslate2.of_run(others[2])
    (last,) = engines.iterdir()
    assert last != first


def test_what_was_interrupted_is_removed_a_day_later(run: Path, engines: Path) -> None:
    for name in (".writing-old", ".writing-new", "of-somebody"):
        (engines / name).mkdir(parents=True)
        os.utime(engines / name, None if name == ".writing-new" else (1e9, 1e9))
    CTranslate2.of_run(run)
    left = {path.name for path in engines.iterdir()}
    assert {".writing-new", "of-somebody"} < left
    assert len(left) == 3


def test_a_cache_that_cannot_be_written_to(
    run: Path, tmp_path: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("in the way of the folder")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    with pytest.warns(UserWarning, match=r"cannot be kept \(/.*: .*\), .* XDG_CACHE_HOME"):
        assert translated(run) == expected
    assert list(elsewhere.iterdir()) == []


def test_a_full_disk(run: Path, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "manifest", full)
    assert translated(run) == expected


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for named in ("", "a/relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert cache.home() == tmp_path / ".cache" / "regard" / "engines"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.home() == tmp_path / ".cache" / "regard" / "engines"
    assert stat.S_IMODE(cache.home().stat().st_mode) == 0o700
    cache.home().chmod(0o777)
    assert stat.S_IMODE(cache.home().stat().st_mode) == 0o700


def test_everything_a_conversion_comes_from_is_in_its_name(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {cache.key(Run(run), 1), cache.key(Run(run), 2)}
    for file in ("model.safetensors", "recipe.toml", "tokenizer.json"):
        content = (run / file).read_bytes()
        (run / file).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        names.add(cache.key(Run(run), 1))
        (run / file).write_bytes(content)
    monkeypatch.setattr(cache, "version", lambda name: "another")
    names.add(cache.key(Run(run), 1))
    assert len(names) == 6
