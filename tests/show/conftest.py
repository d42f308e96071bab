"""Toys to look into, and one browser for all tests that need one."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

import regard.show
from regard.models.build import build_model
from regard.models.settings import TransformerModel
from regard.search.settings import Search
from regard.show.views import VIEWS
from regard.translate.translator import Translator

TOYS = Path(__file__).parent.parent / "files" / "format-1"
STATIC = Path(regard.show.__file__).parent / "static"
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1200,1000",
)  # fmt: skip


@pytest.fixture(scope="session")
def toy() -> Translator:
    return Translator.load(TOYS / "transformer")


@pytest.fixture(scope="session", params=["transformer", "recurrent"])
def either(request: pytest.FixtureRequest) -> Translator:
    return Translator.load(TOYS / request.param)


@pytest.fixture(scope="session")
def large(toy: Translator) -> Translator:
    """As many maps as the Transformer of the paper, with weights that mean nothing."""
    torch.manual_seed(1)
    pieces = toy.speaker.source
    settings = TransformerModel(width=128, heads=8, feedforward=16, encoder_layers=6, decoder_layers=6)
    model = build_model(settings, len(pieces), len(pieces))
    return Translator(model, pieces, pieces, Search(beam=2, longest_ratio=1, longest_extra=1), longest=400)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A real one, without a window; skipped where there is none (`make browser` installs one where it can)."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: pip install selenium")
    found, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if found is None or driver is None:
        pytest.skip("no chromium and chromedriver here: make browser")
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(driver)
    with webdriver.Chrome(options=options, service=service) as driven:
        driven.set_script_timeout(60)
        yield driven


class _Answer(BaseHTTPRequestHandler):
    """The page and its views, as `regard serve` answers them; any text may be asked about."""

    translator: Translator

    def do_GET(self) -> None:
        path = self.path.strip("/") or "index.html"
        if path == "v1/models":
            models = [{"id": "toy", "source": "en", "target": "de", "name": "a toy"}]
            return self._send(200, json.dumps(models).encode(), "application/json")
        file = STATIC / path
        kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
        if not file.is_file():
            return self._send(404, b"{}", "application/json")
        return self._send(200, file.read_bytes(), f"{kinds[file.suffix]}; charset=utf-8")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body.pop("model", None)
        try:
            answer = VIEWS[self.path.removeprefix("/v1/views/")](self.translator, body)
            self._send(200, json.dumps(answer).encode(), "application/json")
        except ValueError as error:
            self._send(422, json.dumps({"error": str(error)}).encode(), "application/json")

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-security-policy", "default-src 'self'; base-uri 'none'; object-src 'none'")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture(scope="session")
def site(toy: Translator) -> Iterator[str]:
    """The live page of the toy, on this machine."""
    handler = type("Answer", (_Answer,), {"translator": toy})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
