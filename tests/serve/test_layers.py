"""http knows nothing of translation, and translation nothing of the interfaces."""

import re
from pathlib import Path

import pytest

import regard.serve

ROOM = Path(regard.serve.__file__).parent
ABOVE = {
    "http": ("translation", "models", "language_models", "one_thread", "api", "app", "server"),
    "translation": ("api", "app", "server"),
    "api": ("app", "server"),
}


@pytest.mark.parametrize("layer", ABOVE)
def test_a_layer_imports_nothing_from_above(layer: str) -> None:
    above = re.compile(rf"regard\.serve(\.| import )({'|'.join(ABOVE[layer])})\b")
    files = sorted((ROOM / layer).glob("*.py"))
    assert len(files) > 4
    assert [path.name for path in files if above.search(path.read_text("utf-8"))] == []
