"""A completion ends before its stop sequence."""

import pytest

from regard.serve.language_models import until_stopped


@pytest.mark.parametrize(
    ("pieces", "stops", "expected"),
    [
        (["ab", "cd", "ef"], ["de"], "abc"),
        (["a", "b", "c"], [], "abc"),
        (["abc"], ["x", "b"], "a"),
        (["a", "b"], ["bc"], "ab"),
        (["stop"], ["stop"], ""),
    ],
)
def test_a_text_ends_before_its_stop(pieces: list[str], stops: list[str], expected: str) -> None:
    assert "".join(until_stopped(iter(pieces), stops)) == expected
