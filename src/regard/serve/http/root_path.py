"""Serving under a path of another site: /translate is asked for as /mt/translate."""

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

# The key under which a scope has the path that was taken away.
ROOT_PATH = "regard.root-path"


def under(root_path: str, app: ASGIApp) -> ASGIApp:
    """The application under a path. It answers without the path, too, for a proxy that takes it
    away; the addresses that it returns always have it.
    """

    async def shortened(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            if path == root_path:  # relative addresses of pages need the slash
                await RedirectResponse(f"{root_path}/")(scope, receive, send)
                return
            if path.startswith(f"{root_path}/"):
                path = path.removeprefix(root_path)
            scope = {**scope, "path": path, ROOT_PATH: root_path}
        await app(scope, receive, send)

    return shortened
