"""Whether the package of CTranslate2 can be loaded, and what it finds on this machine."""

from regard.errors import RequestError


def require_package() -> None:
    try:
        import ctranslate2  # noqa: F401
    except ImportError as error:
        raise RequestError(
            f"engine ctranslate2: the package cannot be loaded ({error}); "
            "install it with `pip install ctranslate2`"
        ) from None


def graphics_cards() -> int:
    """The number of CUDA devices, counted by CTranslate2 without loading PyTorch."""
    try:
        import ctranslate2
    except ImportError:
        return 0
    count: int = ctranslate2.get_cuda_device_count()
    return count
