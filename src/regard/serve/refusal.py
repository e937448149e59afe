"""A request that is not answered, with the HTTP status that says so."""

from regard.errors import RequestError


class Refusal(RequestError):
    """One sentence, which never repeats what was sent."""

    def __init__(self, status: int, sentence: str, retry_after_seconds: float | None = None):
        super().__init__(sentence)
        self.status = status
        self.retry_after_seconds = retry_after_seconds
