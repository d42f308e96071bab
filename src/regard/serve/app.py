"""Which path is answered by what."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from regard.serve import libre, v1
from regard.serve.house import House
from regard.serve.openapi import document
from regard.serve.pages import Pages
from regard.serve.problem import Problem

Handler = Callable[[House, Request], Awaitable[Response]]
VIEW = "/v1/views/"
PATHS: Mapping[str, tuple[str, Handler]] = {
    "/translate": ("POST", libre.translate),
    "/detect": ("POST", libre.detect),
    "/languages": ("GET", libre.languages),
    "/health": ("GET", libre.health),
    "/frontend/settings": ("GET", libre.settings),
    "/ready": ("GET", v1.ready),
    "/metrics": ("GET", v1.metrics),
    "/v1/translate": ("POST", v1.translate),
    "/v1/models": ("GET", v1.models),
}
OPENAPI = "/openapi.json"


class App:
    """Finds who answers a request."""

    def __init__(self, house: House, pages: Pages, views: Callable[[], tuple[str, ...]]) -> None:
        self.house, self.pages, self.views = house, pages, views

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path: str = request.scope["path"]
        if path in PATHS:
            method, handler = PATHS[path]
            _only(request, method)
            return await handler(self.house, request)
        if path.startswith(VIEW):
            _only(request, "POST")
            return await v1.view(self.house, request, path.removeprefix(VIEW), self.views())
        if path == OPENAPI:
            _only(request, "GET")
            return JSONResponse(document(self.house, self.views()))
        page = self.pages.find(path)
        if page is None:
            raise Problem(404, "there is nothing here; see /openapi.json for what there is", "path")
        _only(request, "GET")
        return page

    def knows(self, path: str) -> bool:
        """Whether a path may be named in logs and counts."""
        view = path.startswith(VIEW) and path.removeprefix(VIEW) in self.views()
        return path in PATHS or path == OPENAPI or path in self.pages.paths or view


def _only(request: Request, method: str) -> None:
    allowed = ("GET", "HEAD") if method == "GET" else (method,)
    if request.method not in allowed:
        raise Problem(405, f"only {' or '.join(allowed)}", "method", {"allow": ", ".join(allowed)})
