"""Small pictures of results, shown through this page so that the browser asks no stranger for them.

A picture is shown if the engine's answer carries it, or if it lies with the engine, which knows the query
anyway; one that lies elsewhere only if the person turned that on. An address of this machine or its network
is never asked on an engine's word. What comes back is passed on only if its first bytes say that it is a PNG,
JPEG, GIF or WebP of sensible size: never SVG, which can hold script.
"""

import base64
import binascii
import struct
from urllib.parse import urlsplit

from tacit.web.engines.client import EngineClient, Recorder, names_local_address
from tacit.web.engines.interface import EngineDescription, outgoing_request

_LARGEST = 1_500_000
_WIDEST = 4_000
"""Pixels along one side: a small file can claim to be a huge picture."""
_SECONDS = 4.0


def picture_type(content: bytes) -> str | None:
    """The media type of a picture that may be shown, by its own first bytes; None for all else."""
    try:
        kind, width, height = _measured(content)
    except (struct.error, IndexError):
        return None
    return f"image/{kind}" if 0 < width <= _WIDEST and 0 < height <= _WIDEST else None


def _measured(content: bytes) -> tuple[str, int, int]:
    """Tell the kind of a picture, its width and its height; zeros if it is none."""
    if content.startswith(b"\x89PNG\r\n\x1a\n") and content[12:16] == b"IHDR":
        return "png", *struct.unpack(">II", content[16:24])
    if content[:6] in {b"GIF87a", b"GIF89a"}:
        return "gif", *struct.unpack("<HH", content[6:10])
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP" and len(content) >= 30:
        match content[12:16]:
            case b"VP8X":
                sides = [1 + int.from_bytes(content[at : at + 3], "little") for at in (24, 27)]
                return "webp", sides[0], sides[1]
            case b"VP8L":
                (packed,) = struct.unpack("<I", content[21:25])
                return "webp", 1 + (packed & 0x3FFF), 1 + (packed >> 14 & 0x3FFF)
            case b"VP8 ":
                width, height = struct.unpack("<HH", content[26:30])
                return "webp", width & 0x3FFF, height & 0x3FFF
    if content.startswith(b"\xff\xd8\xff"):
        return "jpeg", *_jpeg_sides(content)
    return "", 0, 0


def _jpeg_sides(content: bytes) -> tuple[int, int]:
    at = 2
    while content[at] == 0xFF:
        marker = content[at + 1]
        (length,) = struct.unpack(">H", content[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return 0, 0


def may_be_shown(picture: str, engine: EngineDescription, *, from_anywhere: bool) -> bool:
    if picture.startswith("data:") or _with_engine(picture, engine):
        return True
    host = urlsplit(picture).hostname or ""
    return from_anywhere and bool(host) and not names_local_address(host)


def _with_engine(picture: str, engine: EngineDescription) -> bool:
    parts, own = urlsplit(picture), urlsplit(engine.address)
    return bool(own.netloc) and (parts.scheme, parts.netloc) == (own.scheme, own.netloc)


async def picture_of(
    picture: str, engine: EngineDescription, client: EngineClient, record: Recorder
) -> bytes | None:
    """The picture that may be shown; None if it is none that may."""
    if picture.startswith("data:"):
        head, _, text = picture.partition(",")
        try:
            content = base64.b64decode(text, validate=True) if head.endswith(";base64") else b""
        except binascii.Error:
            return None
    else:
        local = engine.local and _with_engine(picture, engine)
        request = outgoing_request("GET", picture)
        content = await client.fetch(request, local=local, record=record, seconds=_SECONDS)
    return content if len(content) <= _LARGEST and picture_type(content) else None
