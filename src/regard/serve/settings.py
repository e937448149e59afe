"""What to serve, and how. The server passes it on to its worker as JSON."""

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path

from regard.serve.http.limits import Limits

# As in regard.serve.translation.batching, which is not loaded for it.
MAX_BATCH_SENTENCES = 64


@dataclass(frozen=True)
class Settings:
    runs: tuple[str, ...]
    host: str = "127.0.0.1"
    port: int = 5000
    api_keys: Path | None = None
    suggestions: Path | None = None
    glossaries: Path | None = None
    memory: tuple[str, ...] = ()
    unix_socket: Path | None = None
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    usage: Path | None = None
    trusted_proxies: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    root_path: str = ""
    device: str = "cpu"
    engine: str = "auto"
    int8: bool = False
    workers: int | None = None
    batch: int = MAX_BATCH_SENTENCES
    quiet: bool = False
    limits: Limits = field(default_factory=Limits)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> "Settings":
        values = json.loads(text)
        for name in ("api_keys", "suggestions", "glossaries", "unix_socket", "usage"):
            values[name] = Path(values[name]) if values[name] else None
        for name in ("runs", "memory", "trusted_proxies", "allowed_hosts", "cors_origins"):
            values[name] = tuple(values[name])
        return cls(**{**values, "limits": Limits(**values["limits"])})
