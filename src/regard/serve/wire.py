"""Messages between the server and its workers: a JSON object, and bytes that need not be understood on the way."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any

Message = tuple[dict[str, Any], bytes]
_SIZES = struct.Struct("<II")


def packed(about: dict[str, Any], content: bytes = b"") -> bytes:
    """A message as it is sent."""
    head = json.dumps(about, separators=(",", ":"), allow_nan=False).encode("ascii")
    return b"".join((_SIZES.pack(len(head), len(content)), head, content))


def send(to: socket.socket, about: dict[str, Any], content: bytes = b"") -> None:
    """All of it; waits."""
    to.sendall(packed(about, content))


def receive(from_: socket.socket) -> Message | None:
    """The next message; None when the other side is gone. Waits."""
    sizes = _exactly(from_, _SIZES.size)
    if sizes is None:
        return None
    head, content = _SIZES.unpack(sizes)
    whole = _exactly(from_, head + content)
    return None if whole is None else (json.loads(whole[:head]), whole[head:])


def _exactly(from_: socket.socket, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size:
        some = from_.recv(min(size, 2**20))
        if not some:
            return None
        parts.append(some)
        size -= len(some)
    return b"".join(parts)


async def received(from_: asyncio.StreamReader) -> Message | None:
    """The same, without holding up others."""
    try:
        head, content = _SIZES.unpack(await from_.readexactly(_SIZES.size))
        whole = await from_.readexactly(head + content)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return json.loads(whole[:head]), whole[head:]
