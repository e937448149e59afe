"""Packages that a small installation may lack."""

from importlib.util import find_spec

from regard.errors import RequestError


def require_torch(what: str) -> None:
    """Refuse what needs PyTorch where it is not installed."""
    if find_spec("torch") is None:
        raise RequestError(
            f"{what} needs PyTorch, which is not installed; install it with `pip install torch`"
        )
