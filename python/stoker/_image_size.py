# SPDX-License-Identifier: Apache-2.0
"""The size of an image out of its file's first bytes, for checks that must not cost a decode."""

from __future__ import annotations

import struct

Size = tuple[int, int]

# Start-of-frame markers: all of 0xC0 ... 0xCF but for DHT, JPG and DAC.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def sizes(data: bytes, *, may_turn: bool) -> tuple[Size, ...]:
    """The (height, width) that the image may have: one; two where EXIF data may turn it (may_turn) and only a
    decoder would tell; none for what is not known here: other formats than PNG, JPEG and GIF, or a broken head."""
    try:
        if data[:8] == b"\x89PNG\r\n\x1a\n":
            width, height = struct.unpack_from(">II", data, 16)
            return _either((height, width), may_turn and b"eXIf" in data)
        if data[:6] in (b"GIF87a", b"GIF89a"):
            width, height = struct.unpack_from("<HH", data, 6)
            return ((height, width),)
        return _jpeg(data, may_turn) if data[:2] == b"\xff\xd8" else ()
    except (struct.error, IndexError):
        return ()


def _either(size: Size, turned: bool) -> tuple[Size, ...]:
    return (size, (size[1], size[0])) if turned else (size,)


def _jpeg(data: bytes, may_turn: bool) -> tuple[Size, ...]:
    at, exif = 2, False
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return _either((height, width), may_turn and exif) if height else ()
        if marker in (0xD9, 0xDA):
            break
        exif = exif or data[at + 4 : at + 8] == b"Exif"
        at += 2 + int(struct.unpack_from(">H", data, at + 2)[0])
    return ()
