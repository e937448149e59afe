"""A request that is not answered, with the HTTP status that says so."""

from regard.errors import RequestError

TOO_LONG = "the request took too long; send less at once"


class Refusal(RequestError):
    """One sentence, which never repeats what was sent."""

    def __init__(self, status: int, sentence: str, retry_after_seconds: float | None = None):
        super().__init__(sentence)
        self.status = status
        self.retry_after_seconds = retry_after_seconds
