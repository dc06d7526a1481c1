# SPDX-License-Identifier: Apache-2.0
"""Writes small images of every kind that the decoders claim to read, by hand or through Pillow: zoo(folder) yields
their paths. Files that are written by hand say what no encoder at hand would write (interlaced PNG of every depth,
bit fields, runs, tiles, planes ...)."""

from __future__ import annotations

import io
import itertools
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

RNG = np.random.default_rng(5)
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def noise(height: int, width: int, channels: int, top: int = 256) -> np.ndarray:
    return RNG.integers(0, top, (height, width, channels))


def smooth(height: int, width: int, channels: int = 3) -> np.ndarray:
    y, x = np.mgrid[0:height, 0:width]
    planes = [
        127 + 120 * np.sin((x + 7 * c) / (9 + c)) * np.cos((y + 5 * c) / (7 + 2 * c)) for c in range(channels)
    ]
    return np.clip(np.stack(planes, axis=2) + RNG.normal(0, 4, (height, width, channels)), 0, 255).astype(np.uint8)


def pack_row(samples: np.ndarray, bits: int) -> bytes:
    """One row of samples -> bytes, most significant bits first, 16 bits big-endian."""
    flat = samples.reshape(-1)
    if bits == 16:
        return flat.astype(">u2").tobytes()
    if bits == 8:
        return flat.astype(np.uint8).tobytes()
    expanded = ((flat[:, None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8)
    return np.packbits(expanded.reshape(-1)).tobytes()


# ---- PNG ----

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}


def png_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(samples: np.ndarray, depth: int, color: int, interlaced: bool, extra: bytes = b"") -> bytes:
    height, width = samples.shape[:2]
    passes = ADAM7 if interlaced else [(0, 0, 1, 1)]
    raw = b""
    for x, y, dx, dy in passes:
        part = samples[y::dy, x::dx]
        if part.size:
            raw += b"".join(b"\0" + pack_row(row, depth) for row in part)
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced))
    data = zlib.compress(raw)
    return (
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", header)
        + extra
        + png_chunk(b"IDAT", data[: len(data) // 2])
        + png_chunk(b"IDAT", data[len(data) // 2 :])
        + png_chunk(b"IEND", b"")
    )


def png_files() -> Iterator[tuple[str, bytes]]:
    for color, interlaced in itertools.product(CHANNELS, (False, True)):
        for depth in DEPTHS[color]:
            for height, width in ((1, 1), (3, 2), (5, 9), (17, 33)):
                samples = noise(height, width, CHANNELS[color], 1 << depth)
                extra = b""
                if color == 3:
                    extra = png_chunk(b"PLTE", RNG.bytes(3 << depth)) + png_chunk(
                        b"tRNS", b"\x80\0\xff"[: 1 << depth]
                    )
                elif color in (0, 2):
                    extra = png_chunk(b"tRNS", samples[0, 0].astype(">u2").tobytes())
                yield (
                    f"png_{color}_{depth}_{int(interlaced)}_{width}x{height}.png",
                    png(samples, depth, color, interlaced, extra),
                )
    exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0%c\0\0\0\0\0\0\0"
    for turn in range(10):
        yield f"png_exif_{turn}.png", png(noise(3, 2, 3), 8, 2, False, png_chunk(b"eXIf", exif % turn))


# ---- BMP ----


def bmp(
    rows: list[bytes],
    width: int,
    height: int,
    bits: int,
    compression: int = 0,
    palette: bytes = b"",
    masks: bytes = b"",
    header: int = 40,
    top_down: bool = False,
) -> bytes:
    body = b"".join(rows)
    if header == 12:
        info = struct.pack("<IHHHH", 12, width, height, 1, bits)
    else:
        n_colors = len(palette) // 4
        info = struct.pack(
            "<IiiHHIIiiII",
            header,
            width,
            -height if top_down else height,
            1,
            bits,
            compression,
            len(body),
            0,
            0,
            n_colors,
            0,
        )
        if header > 40:
            info += (masks + bytes(header))[: header - 40]
            masks = b""
    offset = 14 + len(info) + len(masks) + len(palette)
    return struct.pack("<2sIHHI", b"BM", offset + len(body), 0, 0, offset) + info + masks + palette + body


def padded(row: bytes) -> bytes:
    return row + bytes(-len(row) % 4)


def bmp_runs(indices: np.ndarray, rle4: bool) -> bytes:
    """Runs, literals, deltas and line ends in turn; rows bottom up."""
    out = b""
    for _number, row in enumerate(indices[::-1]):
        x, width = 0, len(row)
        while x < width:
            n = int(min(RNG.integers(1, 9), width - x))
            if n >= 3 and RNG.integers(2):
                part = pack_row(row[x : x + n], 4 if rle4 else 8)
                out += bytes([0, n]) + part + bytes(len(part) % 2)
            else:
                row[x : x + n] = np.resize(row[x : x + (2 if rle4 else 1)], n)
                pair = int(row[x]) << 4 | int(row[x + 1] if n > 1 else 0) if rle4 else int(row[x])
                out += bytes([n, pair])
            x += n
        out += b"\0\0"
    return out + b"\0\1"


def bmp_files() -> Iterator[tuple[str, bytes]]:
    for (width, height), top_down in itertools.product(((1, 1), (7, 5), (33, 4)), (False, True)):
        tag = f"{width}x{height}_{int(top_down)}"
        for bits in (1, 4, 8):
            rows = [padded(pack_row(r, bits)) for r in noise(height, width, 1, 1 << bits)]
            yield (
                f"bmp_{bits}_{tag}.bmp",
                bmp(rows, width, height, bits, palette=RNG.bytes(4 << bits), top_down=top_down),
            )
        few = [padded(pack_row(r, 8)) for r in noise(height, width, 1, 9)]
        yield f"bmp_few_{tag}.bmp", bmp(few, width, height, 8, palette=RNG.bytes(4 * 7), top_down=top_down)
        for bits in (16, 24, 32):
            rows = [padded(RNG.bytes(width * bits // 8)) for _ in range(height)]
            for header in (40, 108, 124):
                yield (
                    f"bmp_{bits}_{header}_{tag}.bmp",
                    bmp(rows, width, height, bits, header=header, top_down=top_down),
                )
        for bits, masks in (
            (16, (0xF800, 0x7E0, 0x1F, 0)),
            (16, (0x7C00, 0x3E0, 0x1F, 0)),
            (32, (0xFF0000, 0xFF00, 0xFF, 0)),
            (32, (0xFF000000, 0xFF0000, 0xFF00, 0)),
            (32, (0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
            (32, (0xFF0000, 0xFF00, 0xFF, 0xFF000000)),
            (32, (0xFF000000, 0xFF00, 0xFF, 0xFF0000)),
        ):
            rows = [padded(RNG.bytes(width * bits // 8)) for _ in range(height)]
            packed = struct.pack("<4I", *masks)
            name = f"bmp_masks_{bits}_{masks[0]:x}_{masks[3]:x}_{tag}"
            yield f"{name}_v4.bmp", bmp(rows, width, height, bits, 3, masks=packed, header=108, top_down=top_down)
            if masks[3] == 0:
                yield f"{name}.bmp", bmp(rows, width, height, bits, 3, masks=packed[:12], top_down=top_down)
    core = [padded(pack_row(r, 4)) for r in noise(6, 11, 1, 16)]
    yield "bmp_core_4.bmp", bmp(core, 11, 6, 4, palette=RNG.bytes(3 * 16), header=12)
    core = [padded(RNG.bytes(33)) for _ in range(6)]
    yield "bmp_core_24.bmp", bmp(core, 11, 6, 24, header=12)
    for rle4 in (False, True):
        indices = noise(13, 37, 1, 16)[:, :, 0]
        body = bmp_runs(indices, rle4)
        yield (
            f"bmp_rle{4 if rle4 else 8}.bmp",
            bmp([body], 37, 13, 4 if rle4 else 8, 2 if rle4 else 1, palette=RNG.bytes(64)),
        )


# ---- PNM ----


def pnm_files() -> Iterator[tuple[str, bytes]]:
    for maxval in (1, 3, 15, 100, 254, 255, 256, 1000, 65535):
        for kind, channels in ((b"5", 1), (b"6", 3)):
            samples = noise(6, 11, channels, maxval + 1)
            head = b"P%s # a comment\n11\t6\n# another\n%d\n" % (kind, maxval)
            yield (
                f"pnm_{kind.decode()}_{maxval}.ppm",
                head + samples.astype("u1" if maxval < 256 else ">u2").tobytes(),
            )
        for kind, channels in ((b"2", 1), (b"3", 3)):
            samples = noise(5, 7, channels, maxval + 1)
            text = b" ".join(b"%d" % v for v in samples.reshape(-1))
            yield (
                f"pnm_{kind.decode()}_{maxval}.ppm",
                b"P%s\n7 5 %d\n" % (kind, maxval) + text.replace(b" ", b"\n", 9),
            )
    bits = noise(5, 19, 1, 2)
    yield "pnm_4.pbm", b"P4 19 5\n" + b"".join(pack_row(r, 1) for r in bits)
    yield "pnm_1.pbm", b"P1 19 5\n" + b"".join(b"%d" % v for v in bits.reshape(-1))


# ---- GIF ----


def lzw_plain(indices: bytes, bits: int) -> bytes:
    """GIF's LZW without compression: a clear code before the table could grow the codes."""
    codes, clear, width = [], 1 << bits, bits + 1
    for i, index in enumerate(indices):
        if i % ((1 << bits) - 2) == 0:
            codes.append(clear)
        codes.append(index)
    codes.append(clear + 1)
    number = sum(code << (width * i) for i, code in enumerate(codes))
    data = number.to_bytes((len(codes) * width + 7) // 8, "little")
    blocks = b"".join(bytes([len(data[i : i + 255])]) + data[i : i + 255] for i in range(0, len(data), 255))
    return bytes([bits]) + blocks + b"\0"


def gif(
    screen: tuple[int, int],
    at: tuple[int, int],
    indices: np.ndarray,
    bits: int,
    table: bytes | None,
    local: bytes | None,
    transparent: int | None,
    interlaced: bool,
) -> bytes:
    height, width = indices.shape
    order = (
        [y for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for y in range(first, height, step)]
        if interlaced
        else range(height)
    )
    out = b"GIF89a" + struct.pack("<HHBBB", *screen, 0x80 | (bits - 1) if table else 0, 3, 0) + (table or b"")
    if transparent is not None:
        out += b"\x21\xf9\x04\x01\0\0" + bytes([transparent]) + b"\0"
    flags = (0x80 | (bits - 1) if local else 0) | (0x40 if interlaced else 0)
    out += b"," + struct.pack("<HHHHB", *at, width, height, flags) + (local or b"")
    return out + lzw_plain(b"".join(bytes(indices[y]) for y in order), bits) + b";"


def gif_files() -> Iterator[tuple[str, bytes]]:
    for i, (where, transparent, interlaced, tables) in enumerate(
        itertools.product(
            (((13, 9), (0, 0)), ((20, 15), (4, 3)), ((8, 5), (3, 2))),
            (None, 5),
            (False, True),
            ("global", "local", "none"),
        )
    ):
        table = RNG.bytes(3 * 16) if tables == "global" else None
        local = RNG.bytes(3 * 16) if tables == "local" else None
        indices = noise(9, 13, 1, 16)[:, :, 0].astype(np.uint8)
        yield f"gif_{i}.gif", gif(*where, indices, 4, table, local, transparent, interlaced)


# ---- TIFF ----


def tiff(
    samples: np.ndarray,
    bits: int,
    photometric: int,
    *,
    tile: int = 0,
    planar: bool = False,
    big: bool = False,
    deflate: bool = False,
    predictor: bool = False,
    extra: tuple[int, ...] = (),
    colormap: np.ndarray | None = None,
    rows_per_strip: int = 5,
    fill_order: int = 1,
) -> bytes:
    order = ">" if big else "<"
    height, width, spp = samples.shape

    def encode(block: np.ndarray) -> bytes:
        if predictor:
            block = block.copy()
            block[:, 1:] = (block[:, 1:].astype(int) - block[:, :-1].astype(int)) & ((1 << bits) - 1)
        if bits == 16:
            data = block.astype(order + "u2").tobytes()
        else:
            data = b"".join(pack_row(row, bits) for row in block)
        if fill_order == 2:
            data = bytes(int(f"{b:08b}"[::-1], 2) for b in data)
        return zlib.compress(data) if deflate else data

    blocks = []
    for plane in [samples[:, :, s : s + 1] for s in range(spp)] if planar else [samples]:
        if tile:
            full = np.zeros((-(-height // tile) * tile, -(-width // tile) * tile, plane.shape[2]), samples.dtype)
            full[:height, :width] = plane
            blocks += [
                encode(full[y : y + tile, x : x + tile])
                for y in range(0, height, tile)
                for x in range(0, width, tile)
            ]
        else:
            blocks += [encode(plane[y : y + rows_per_strip]) for y in range(0, height, rows_per_strip)]
    out = bytearray(struct.pack(order + "2sHI", b"MM" if big else b"II", 42, 0))
    offsets = []
    for block in blocks:
        offsets.append(len(out))
        out += block + bytes(len(block) % 2)
    tags: dict[int, tuple[str, tuple[int, ...]]] = {
        256: ("I", (width,)),
        257: ("I", (height,)),
        258: ("H", (bits,) * spp),
        259: ("H", (8 if deflate else 1,)),
        262: ("H", (photometric,)),
        266: ("H", (fill_order,)),
        277: ("H", (spp,)),
        284: ("H", (2 if planar else 1,)),
        317: ("H", (2 if predictor else 1,)),
    }
    sizes = tuple(len(block) for block in blocks)
    if tile:
        tags |= {322: ("I", (tile,)), 323: ("I", (tile,)), 324: ("I", tuple(offsets)), 325: ("I", sizes)}
    else:
        tags |= {273: ("I", tuple(offsets)), 278: ("I", (rows_per_strip,)), 279: ("I", sizes)}
    if extra:
        tags[338] = ("H", extra)
    if colormap is not None:
        tags[320] = ("H", tuple(int(v) for v in colormap.reshape(-1)))
    entries = b""
    for tag, (code, values) in sorted(tags.items()):
        data = struct.pack(f"{order}{len(values)}{code}", *values)
        if len(data) > 4:
            place = len(out)
            out += data + bytes(len(data) % 2)
            data = struct.pack(order + "I", place)
        entries += struct.pack(order + "HHI", tag, {"H": 3, "I": 4}[code], len(values)) + data.ljust(4, b"\0")
    struct.pack_into(order + "I", out, 4, len(out))
    return bytes(out) + struct.pack(order + "H", len(tags)) + entries + bytes(4)


def tiff_files() -> Iterator[tuple[str, bytes]]:
    kinds = [(p, bits, 1, ()) for p in (0, 1) for bits in (1, 2, 4, 8)]
    kinds += [(3, bits, 1, ()) for bits in (1, 2, 4, 8)]
    kinds += [
        (1, 16, 1, ()),
        (1, 8, 2, (2,)),
        (1, 8, 2, (0,)),
        (3, 8, 2, (0,)),
        (2, 8, 3, ()),
        (2, 16, 3, ()),
        (2, 8, 4, (0,)),
        (2, 8, 4, (1,)),
        (2, 8, 4, (2,)),
        (2, 16, 4, (1,)),
        (2, 16, 4, (2,)),
        (2, 8, 5, (0, 0)),
        (2, 8, 5, (2, 0)),
        (5, 8, 4, ()),
        (5, 16, 4, ()),
        (5, 8, 5, (0,)),
    ]
    for photometric, bits, spp, extra in kinds:
        for tile, planar, big, deflate in (
            (0, 0, 0, 0),
            (16, 0, 0, 1),
            (0, 0, 1, 1),
            (0, 1, 0, 1),
            (16, 1, 1, 1),
            (16, 0, 1, 0),
        ):
            if planar and (spp == 1 or bits < 8 or extra == (2, 0)):
                continue  # Pillow does not read the last one
            colormap = RNG.integers(0, 65536, (3, 1 << bits)) if photometric == 3 else None
            samples = noise(23, 29, spp, 1 << bits)
            name = f"tiff_{photometric}_{bits}_{spp}_{''.join(map(str, extra))}_{tile}{planar}{big}{deflate}"
            yield (
                f"{name}.tif",
                tiff(
                    samples,
                    bits,
                    photometric,
                    tile=tile,
                    planar=bool(planar),
                    big=bool(big),
                    deflate=bool(deflate),
                    extra=extra,
                    colormap=colormap,
                ),
            )
    for bits in (8, 16):
        yield (
            f"tiff_predictor_{bits}.tif",
            tiff(noise(23, 29, 3, 1 << bits), bits, 2, deflate=True, predictor=True),
        )
    yield "tiff_12.tif", tiff(noise(23, 30, 1, 1 << 12), 12, 1)
    for bits in (1, 4, 8):
        yield f"tiff_fill2_{bits}.tif", tiff(noise(23, 29, 1, 1 << bits), bits, 1, fill_order=2)
    yield "tiff_one_strip.tif", tiff(noise(23, 29, 3), 8, 2, rows_per_strip=23)


# ---- what Pillow writes ----


def pillow_files() -> Iterator[tuple[str, bytes]]:
    picture = Image.fromarray(smooth(45, 61))
    alpha = picture.copy()
    alpha.putalpha(Image.fromarray(smooth(45, 61, 1)[:, :, 0]))
    versions = {
        "rgb": picture,
        "l": picture.convert("L"),
        "1": picture.convert("1"),
        "p": picture.quantize(40),
        "rgba": alpha,
        "cmyk": picture.convert("CMYK"),
        "ycbcr": picture.convert("YCbCr"),
        "la": alpha.convert("LA"),
    }
    wanted = [
        ("JPEG", m, {"quality": q, "subsampling": s, "progressive": p})
        for m, q, s, p in itertools.product(("rgb", "l", "cmyk"), (30, 95), (0, 1, 2), (False, True))
    ]
    wanted += [
        ("WEBP", m, o)
        for m in ("rgb", "rgba", "l")
        for o in ({"quality": 60}, {"quality": 95, "method": 6}, {"lossless": True})
    ]
    wanted += [
        ("WEBP", "rgb", {"exif": b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"})
    ]
    wanted += [
        ("TIFF", m, {"compression": c})
        for m in ("rgb", "l", "p", "rgba", "cmyk", "ycbcr", "la")
        for c in ("raw", "packbits", "tiff_lzw", "tiff_adobe_deflate", "zstd", "lzma")
    ]
    wanted += [("TIFF", "1", {"compression": c}) for c in ("raw", "group3", "group4", "packbits")]
    wanted += [
        ("TIFF", m, {"compression": "jpeg", "quality": q}) for m in ("rgb", "l", "ycbcr", "cmyk") for q in (50, 95)
    ]
    wanted += [("TIFF", "rgb", {"compression": "tiff_lzw", "tiffinfo": {274: turn}}) for turn in (3, 6)]
    wanted += [("PNG", m, {"optimize": True}) for m in ("rgb", "l", "p", "rgba", "la", "1")]
    wanted += [("BMP", m, {}) for m in ("rgb", "l", "p", "1", "rgba")]
    wanted += [("GIF", m, {"interlace": i}) for m in ("rgb", "l", "p", "1", "rgba") for i in (0, 1)]
    wanted += [("PPM", m, {}) for m in ("rgb", "l", "1")]
    for number, (kind, mode, options) in enumerate(wanted):
        out = io.BytesIO()
        versions[mode].save(out, kind, **options)
        detail = options.get("compression", number)
        yield f"pil_{mode}_{detail}_{options.get('quality', 0)}.{kind.lower()}", out.getvalue()
    for kind in ("GIF", "WEBP", "TIFF", "PNG"):
        out = io.BytesIO()
        frames = [Image.fromarray(smooth(30, 20)) for _ in range(3)]
        frames[0].save(out, kind, save_all=True, append_images=frames[1:])
        yield f"pil_frames.{kind.lower()}", out.getvalue()


def zoo(folder: Path) -> Iterator[Path]:
    for name, data in itertools.chain(
        png_files(), bmp_files(), pnm_files(), gif_files(), tiff_files(), pillow_files()
    ):
        path = folder / name
        path.write_bytes(data)
        yield path
