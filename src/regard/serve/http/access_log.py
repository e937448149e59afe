"""The access log: a line of JSON for each request, without its texts."""

import json
import sys
import time
from typing import Any, TextIO


class AccessLog:
    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stderr

    def write(self, facts: dict[str, Any]) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._file.write(json.dumps({"time": stamp, **facts}, ensure_ascii=False) + "\n")
        self._file.flush()
