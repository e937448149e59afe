"""SECURITY.md names tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")


def test_every_test_that_is_named_is_there() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    assert len(rows) > 30
    for row in rows:
        for part in row.split(";"):
            files = [ROOT / name for name in re.findall(r"tests/[\w/]+\.py", part)]
            assert [file for file in files if not file.exists()] == []
            known = "".join(file.read_text("utf-8") for file in files)
            for name in re.findall(r"`(test_\w+)`", part):
                assert f"def {name}(" in known, name
