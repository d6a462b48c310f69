"""An engine behind SearXNG whose answers were written down: results of every kind, and what stands beside."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from urllib.parse import parse_qs

from tests.local_server import http_answer

__all__ = ["png", "recorded_answer"]

_TEXTS = (
    "Roasting arabica beans for espresso: grind, pressure and crema of the dark beverage.",
    "An island of Indonesia with volcanoes, temples and rice terraces; how to travel there.",
    "A programming language with classes, a virtual machine and a garbage collector.",
)
_TITLES = ("Java coffee and espresso", "Java, the island: a travel guide", "Java programming for beginners")


def png(width: int = 60, height: int = 40, colour: tuple[int, int, int] = (15, 118, 110)) -> bytes:
    """A real picture of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + bytes(colour) * width) * height)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def recorded_answer(request: bytes, _connection: object = None) -> bytes:
    """What the upstream answers to SearXNG, which posts the query, its page and its category."""
    asked = {name: values[0] for name, values in parse_qs(request.partition(b"\r\n\r\n")[2].decode()).items()}
    page, category = int(asked.get("pageno", 1)), asked.get("category", "general")
    rows = [_row(category, 12 * (page - 1) + number, asked) for number in range(12 if page < 4 else 0)]
    told: dict[str, object] = {"results": rows, "answers": [], "infoboxes": [], "suggestions": []}
    if category == "general" and page == 1:
        rows.append({"correction": "java islands"})
        told["suggestions"] = ["java coffee beans", "java tutorial"]
        told["answers"] = [
            {"answer": "Java has 156 million inhabitants.", "url": "https://facts.example/java"}
        ]
        box = {"infobox": "Java", "content": "An island of Indonesia.", "engine": "recorded"}
        box |= {"attributes": [{"label": "Area", "value": "128,297 km²"}]}
        box |= {"urls": [{"title": "Encyclopaedia", "url": "https://encyclopaedia.example/Java"}]}
        told["infoboxes"] = [box]
    return http_answer(json.dumps(told), Content_Type="application/json")


def _row(category: str, number: int, asked: dict[str, str]) -> dict[str, object]:
    kind = number % 3
    row: dict[str, object] = {
        "url": f"https://site{number}.example/{category}/about/java/page-{number}.html",
        "title": f"{_TITLES[kind]} {number}",
        "content": _TEXTS[kind],
    }
    if asked.get("time_range"):
        row["content"] = f"Of the past {asked['time_range']}. {row['content']}"
    if category == "images":
        inside = base64.b64encode(png(colour=(40 * kind, 90, 200 - 9 * (number % 12)))).decode()
        row |= {"template": "images.html", "img_src": f"https://pictures{number}.example/large.jpg"}
        row["thumbnail_src"] = (
            f"data:image/png;base64,{inside}" if number % 2 else f"https://t{number}.example/s.png"
        )
        row["resolution"] = "1200 x 800"
    if category == "videos":
        row |= {"template": "videos.html", "length": "4:33", "thumbnail": f"https://t{number}.example/v.png"}
    return row
