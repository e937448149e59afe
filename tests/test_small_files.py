"""Files of strangers are read up to a limit, without waiting, and parsed without surprises."""

import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RunError
from regard.recipe_format import parse_toml, toml_value
from regard.small_files import (
    DEEPEST,
    open_regular,
    parse_json,
    read_json,
    read_small,
    real_folder,
    refusing,
)


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"a": [1, "\xc3\xa9"]}')
    assert read_json(path) == {"a": [1, "é"]}
    with open_regular(path) as file:
        assert file.read(2) == b'{"'


def test_a_link_is_followed_only_where_a_person_has_named_it(tmp_path: Path) -> None:
    (tmp_path / "private").write_bytes(b"secret")
    link = tmp_path / "link"
    link.symlink_to("private")
    with pytest.raises(OSError, match="it is a link"):
        read_small(link)
    assert read_small(link, links=True) == b"secret"
    (tmp_path / "nowhere").symlink_to("none")
    with pytest.raises(OSError, match="it is a link"):
        read_small(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        read_small(tmp_path / "nowhere", links=True)


def test_a_pipe_or_a_device_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="not a regular file"):
            read_small(path, links=True)
    with pytest.raises(IsADirectoryError):
        read_small(tmp_path)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 3 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(OSError, match=r"3,221\.2 MB, more than the 8"):
        read_small(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    path.write_bytes(b"12345")
    assert read_small(path, 5) == b"12345"
    with pytest.raises(OSError, match="more than"):
        read_small(path, 4)


def test_a_file_that_grows_while_it_is_read_is_read_up_to_the_limit() -> None:
    # The system says of these that they are regular and have nothing in them.
    path = Path("/proc/self/status")
    if not path.is_file():
        pytest.skip("this system has no /proc")
    assert read_small(path).startswith(b"Name")
    with pytest.raises(OSError, match="more than"):
        read_small(path, 10)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(json_values)
def test_what_json_wrote_is_read_as_json_reads_it(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert parse_json(text) == json.loads(text)
        data = text.encode("utf-8", "surrogatepass")
        try:
            data.decode()
        except UnicodeDecodeError:
            with pytest.raises(ValueError, match="utf-8"):
                parse_json(data)
        else:
            assert parse_json(data) == json.loads(text)


def test_brackets_in_texts_are_not_counted() -> None:
    for text in ("[" * 999, '\\"[' * 99, "\\" * 999 + "[[", '"' * 99 + "{" * 99):
        assert parse_json(json.dumps([text] * 40).encode()) == [text] * 40
    long = ["[" * (1 << 20), '"' * (1 << 20), "{"]  # texts that reach over several chunks
    assert parse_json(json.dumps(long)) == long


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        "[" * 500_000 + "]" * 500_000,
        '{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1),
        "[" + ",".join(["[]"] * 3_000_000) + "]",
        "[" + ",".join(["[" * 40 + "]" * 40] * 9) + "]",
        "1" * 100_000,
        '"' * 1_000_001,
        "\\" * 1_000_000,
        "\ud800",
        "[1, 2",
        "",
    ],
    ids=lambda text: repr(text[:6]),
)
def test_json_that_would_cost_much_is_a_value_error(text: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError):  # noqa: PT011
        parse_json(text.encode("utf-8", "surrogatepass"))
    assert time.process_time() - began < 5


def test_as_deep_as_allowed_is_read() -> None:
    text = "[" * DEEPEST + "]" * DEEPEST
    assert parse_json(f"[{text[1:-1]}, {text[2:-2]}]")


@pytest.mark.parametrize(
    "text",
    [
        "a." * 50_000 + "a = 1",
        "".join(f"k{i}.a.b.c.d.e.f.g.h.i = 1\n" for i in range(9)),
        "a = " + "[" * 100_000,
        "a = " + "{b = " * 100 + "1" + "}" * 100,
        "a = " + "1" * 100_000,
        "a = 0x" + "f" * 100_000,
        "a = 1" + "_1" * 100_000,
        "a = 0xffffffffffffffffff",
        "a = [-9999999999999999999]",
        "a = [" + "1," * 100_000 + "]",
        "".join(f"[t{i}]\n" for i in range(30_000)),
        '"""a\n' * 50_000,
        "a = '''" * 50_000,
        'a = "' + "\\" * 100_000,
    ],
    ids=lambda text: text[:12],
)
def test_toml_that_would_cost_much_is_a_value_error(text: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError):  # noqa: PT011
        parse_toml(text)
    assert time.process_time() - began < 5


def test_toml_that_people_write_is_read() -> None:
    text = """
        # a. comment. with. dots. and. an [ unmatched. bracket. "
        title = "a.b.c.d.e.f.g.h.i.j [[[[ = # no comment"
        path = '''C:\\ ' . . . . . . . . '''
        more = \"\"\" " \\" "" . \"\"\"
        'quoted.name' = 1979-05-27T07:32:00.999999Z
        levels = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
        number = -9_223_372_036_854_775_808
        [section.inner]
        nested = [[1, 2], [{a = {b = 3}}]]
    """
    found = parse_toml(text)
    assert found["title"].startswith("a.b.c")
    assert found["path"].startswith("C:")
    assert found["section"]["inner"]["nested"] == [[1, 2], [{"a": {"b": 3}}]]
    assert len(found["levels"]) == 11


@pytest.mark.parametrize("text", ["1" * 5000, "[" * 5000, "a." * 5000])
def test_a_setting_that_is_no_toml_is_a_text(text: str) -> None:
    assert toml_value(text) == text


@pytest.mark.parametrize(
    "thrown",
    [ValueError, RecursionError, OverflowError, KeyError, IndexError, TypeError, AttributeError],
)
def test_what_a_parser_throws_becomes_the_sentence(thrown: type[Exception]) -> None:
    with pytest.raises(RunError, match="damaged"), refusing(RunError("a: damaged")):
        raise thrown


def test_a_mistake_of_ours_is_not_hidden() -> None:
    with pytest.raises(NameError), refusing(RunError("a: damaged")):
        raise NameError


def test_a_link_to_a_folder_is_no_folder_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert real_folder(tmp_path)
    assert not real_folder(tmp_path / "link")
    assert not real_folder(tmp_path / "none")
