"""API keys."""

from pathlib import Path

import pytest

from regard.errors import RequestError
from regard.serve.http.keys import Keys


def test_keys_are_read_and_found(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("# for the translators\nsecret-one weblate\n\nsecret-two\n")
    keys = Keys.read(path)
    found = keys.find("secret-one")
    assert found is not None
    assert found.name == "weblate"
    second = keys.find("secret-two")
    assert second is not None
    assert second.name == "key 2"
    assert keys.find("secret-on") is None
    assert keys.find("") is None
    assert keys.find("\ud800") is None
    assert not Keys()
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    "line", [b"secret-one\tweblate", b"\xef\xbb\xbfsecret-one weblate", b"  secret-one  weblate\r"]
)
def test_a_key_ends_where_the_eye_sees_its_end(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "keys"
    path.write_bytes(line + b"\nsecret-two\n")
    found = Keys.read(path).find("secret-one")
    assert found is not None
    assert found.name == "weblate"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("secret\u200b-one".encode(), "invisible"),
        (b"short", "can be guessed"),
        (b"# nothing\n", "holds no key"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_a_file_without_good_keys_is_refused(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "keys"
    path.write_bytes(content)
    with pytest.raises(RequestError, match=complaint):
        Keys.read(path)
    with pytest.raises(RequestError, match="cannot be read"):
        Keys.read(tmp_path / "missing")


def test_every_key_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("first-secret\nsecond-secret\nthird-secret\n")
    keys = Keys.read(path)
    compared: list[bytes] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.append(left)
        return left == right

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert keys.find("first-secret")
    assert len(compared) == 3
