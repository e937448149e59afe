"""The error with which a request is refused."""

from collections.abc import Mapping

from regard.errors import RequestError

TIMED_OUT = "the request took too long; send less at once"
FAILED = "the server failed to answer; its log says why"


class Refusal(RequestError):
    """An HTTP status and one sentence, which never repeats what was sent."""

    def __init__(
        self,
        status: int,
        sentence: str,
        retry_after_seconds: float | None = None,
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(sentence)
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.headers = dict(headers or {})
