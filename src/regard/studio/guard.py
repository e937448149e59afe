"""Access to the studio: for this machine, under its own name, or with the token."""

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
ANYWHERE = frozenset({"0.0.0.0", "::", ""})
COOKIE = "regard-studio"
HEADERS = {
    # Scripts, styles and data from here and nowhere else; nothing inline.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Guard:
    """Refuses requests of other sites or without the token; adds security headers to every answer.

    Another site can point a name of its own at 127.0.0.1 and then ask as if it came from here, so
    the name in the request must be one of ours. A server bound to every address has no list of
    names; there the token alone decides.
    """

    def __init__(self, app: ASGIApp, host: str, token: str) -> None:
        self.app = app
        self.names = None if host in ANYWHERE else LOOPBACK | {host.lower()}
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self.refusal(Headers(scope=scope), scope) or self.app
        await answer(scope, receive, send_with_headers)

    def refusal(self, headers: Headers, scope: Scope) -> ASGIApp | None:
        host = headers.get("host", "")
        if self.names is not None and hostname(host) not in self.names:
            return PlainTextResponse("This server answers only under its own name.", 421)
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return PlainTextResponse("Requests of other pages are not answered.", 403)
        if not self.token:
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if given and self.knows(given):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            return answer
        if self.knows(token_in(headers)):
            return None
        return PlainTextResponse(
            "This page needs its token: open the address that `regard studio` printed.", 401
        )

    def knows(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


def hostname(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def token_in(headers: Headers) -> str:
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        # Headers are bytes, which Starlette reads as Latin-1.
        return value.strip().encode("latin-1").decode("utf-8", "replace")
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""
