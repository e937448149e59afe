"""Under which names the server answers, and which pages of other sites may ask it.

A browser lets any page send requests to any address that it can reach, also to this machine. With
keys that is no danger, since a page does not know one. Without keys the server answers only its own
pages and programs that are no browsers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from regard.serve.http.refusal import Refusal

ANY = "*"
Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Sites:
    """The names of the server (`hosts`, beside those of this machine for itself), and the other
    sites (`origins`) whose pages may ask it, as browsers write them: https://example.org.
    """

    hosts: frozenset[str] = frozenset({ANY})
    origins: frozenset[str] = frozenset()

    def check(self, scope_headers: Headers, http_version: str) -> list[tuple[bytes, bytes]]:
        """Refuse a request to another name, or from a page of another site. Returns the headers
        with which a page of an allowed site may read the answer.
        """
        host = self._host(scope_headers, http_version)
        origins = [value for name, value in scope_headers if name == b"origin"]
        if not origins:
            return []
        origin = origins[0].decode("latin-1").lower()
        if ANY in self.origins:
            return allowing(b"*")
        if len(origins) == 1 and origin in self.origins:
            return [*allowing(origins[0]), (b"vary", b"Origin")]
        if len(origins) > 1 or host is None or netloc(origin) != host.lower():
            raise Refusal(403, "pages of other sites may not ask this server")
        return []

    def _host(self, scope_headers: Headers, http_version: str) -> str | None:
        """The name and port that a request is sent to. Only HTTP/1.0 may leave it out."""
        hosts = [value.decode("latin-1") for name, value in scope_headers if name == b"host"]
        if not hosts and http_version == "1.0":
            return None
        if len(hosts) != 1 or not hosts[0]:
            raise Refusal(400, "Invalid request: exactly one Host header is needed")
        name = name_of(hosts[0])
        if ANY not in self.hosts and name not in self.hosts and not is_loopback(name):
            raise Refusal(421, "this server does not answer under this name")
        return hosts[0]


def usual_sites(host: str, has_keys: bool, behind_proxy: bool) -> Sites:
    """What is safe at an address. At a loopback address without keys, a name of somebody else's
    that leads here (DNS rebinding) must not be answered; a proxy passes on the names it has.
    """
    if has_keys:
        return Sites(origins=frozenset({ANY}))
    if behind_proxy or not is_loopback(host):
        return Sites()
    return Sites(hosts=frozenset({host.lower()}))


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def name_of(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def netloc(origin: str) -> str:
    """The name and port of an origin, as a Host header has them."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def allowing(origin: bytes) -> list[tuple[bytes, bytes]]:
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-headers", b"Authorization, Content-Type"),
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-max-age", b"1728000"),
    ]
