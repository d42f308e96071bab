"""The page and what belongs to it: read once, served from memory, so that no path leads anywhere else."""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.responses import Response

STATIC = Path(__file__).parent.parent / "show" / "static"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
_BARE = (
    b"<!doctype html><html lang=en><meta charset=utf-8><title>regard</title><h1>regard</h1>"
    b"<p>The server runs. What it can do: <a href=/openapi.json>/openapi.json</a>"
)


class Pages:
    """The files of a folder, by their paths."""

    def __init__(self, folder: Path = STATIC) -> None:
        files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _KINDS)
        self.paths: dict[str, tuple[bytes, str]] = {
            f"/{file.relative_to(folder).as_posix()}": (file.read_bytes(), _KINDS[file.suffix]) for file in files
        }
        self.paths["/"] = self.paths.get("/index.html", (_BARE, _KINDS[".html"]))

    def find(self, path: str) -> Response | None:
        """The file of this path."""
        if path not in self.paths:
            return None
        content, kind = self.paths[path]
        tag = hashlib.sha256(content).hexdigest()[:16]
        return Response(content, headers={"content-type": kind, "cache-control": "no-cache", "etag": f'"{tag}"'})
