# SPDX-License-Identifier: Apache-2.0
"""The size of an image out of its file's first bytes, for checks that must not cost a decode."""

from __future__ import annotations

import struct

Size = tuple[int, int]

# Start-of-frame markers: all of 0xC0 ... 0xCF but for DHT, JPG and DAC.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def sizes(data: bytes, *, may_turn: bool) -> tuple[Size, ...]:
    """The (height, width) that the image may have: one; two where EXIF data may turn it (may_turn) and only a
    decoder would tell; none for what is not known here: formats that are not packed, or a broken head."""
    try:
        if data[:2] == b"BM":
            return _bmp(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data, may_turn)
        if data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            return _tiff(data, may_turn)
        if data[:1] == b"P" and data[1:2] in b"123456":
            return _pnm(data)
        if data[:8] == b"\x89PNG\r\n\x1a\n":
            width, height = struct.unpack_from(">II", data, 16)
            return _either((height, width), may_turn and b"eXIf" in data)
        if data[:6] in (b"GIF87a", b"GIF89a"):
            width, height = struct.unpack_from("<HH", data, 6)
            return ((height, width),)
        return _jpeg(data, may_turn) if data[:2] == b"\xff\xd8" else ()
    except (struct.error, IndexError, ValueError):
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


def _bmp(data: bytes) -> tuple[Size, ...]:
    if struct.unpack_from("<I", data, 14)[0] == 12:  # OS/2's header
        width, height = struct.unpack_from("<HH", data, 18)
    else:
        width, height = struct.unpack_from("<ii", data, 18)  # rows from the top: a height below zero
    return ((abs(height), width),)


def _webp(data: bytes, may_turn: bool) -> tuple[Size, ...]:
    kind = data[12:16] if len(data) >= 30 else b""
    if kind == b"VP8X":  # 24 bits each, less one
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        return _either((height, width), may_turn and bool(data[20] & 8))
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return (((bits >> 14 & 0x3FFF) + 1, (bits & 0x3FFF) + 1),)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return ((height & 0x3FFF, width & 0x3FFF),)
    return ()


def _tiff(data: bytes, may_turn: bool) -> tuple[Size, ...]:
    """Of the first picture. Numbers of SHORT and LONG stand in the entry itself."""
    order = "<" if data[:1] == b"I" else ">"
    big = struct.unpack_from(order + "H", data, 2)[0] == 43
    at = int(struct.unpack_from(order + ("Q" if big else "I"), data, 8 if big else 4)[0])
    count = int(struct.unpack_from(order + ("Q" if big else "H"), data, at)[0])
    values = {}
    for entry in range(at + (8 if big else 2), len(data), 20 if big else 12)[:count]:
        tag, kind = struct.unpack_from(order + "HH", data, entry)
        if tag in (256, 257, 274) and kind in (3, 4):
            values[tag] = int(struct.unpack_from(order + " HI"[kind - 2], data, entry + (12 if big else 8))[0])
    if not values.get(256) or not values.get(257):
        return ()
    return _either((values[257], values[256]), may_turn and values.get(274, 1) > 4)


def _pnm(data: bytes) -> tuple[Size, ...]:
    """Two numbers behind the magic, with white space and comments before each."""
    numbers: list[int] = []
    for line in data[2:4096].split(b"\n"):
        numbers += [int(word) for word in line.partition(b"#")[0].split()[: 2 - len(numbers)]]
        if len(numbers) == 2:
            return ((numbers[1], numbers[0]),)
    return ()
