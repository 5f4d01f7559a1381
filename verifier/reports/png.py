"""A small image as a data URI: PNG with a palette, which every browser shows without asking the network.

See https://www.w3.org/TR/png-3/.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]


def png(indices: NDArray[np.uint8], palette: Sequence[Colour]) -> bytes:
    """Return a PNG of ``indices``, shape ``(rows, columns)``, into ``palette``, at most 256 colours."""
    rows, columns = indices.shape
    lines = np.zeros((rows, columns + 1), np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = indices
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", bytes(part for colour in palette for part in colour)),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def data_uri(indices: NDArray[Any], palette: Sequence[Colour]) -> str:
    """Return :func:`png` as a ``data:`` URI."""
    return f"data:image/png;base64,{base64.b64encode(png(indices.astype(np.uint8), palette)).decode('ascii')}"


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
