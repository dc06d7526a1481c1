#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second reader of .stk files, written from docs/format.md alone: what it prints for the golden files must be what
the C reader prints. Checksums are compared when the xxhash module is installed (and the run says if not).

    read_stk.py FILE            print what FILE holds, as tests/golden/accept/*.txt
    read_stk.py --check FOLDER  compare all of FOLDER/*.stk and folders with their .txt
"""
import json
import os
import struct
import sys

try:
    import xxhash
except ImportError:
    xxhash = None

TYPES = {1: ("bool", 1), 2: ("int8", 1), 3: ("uint8", 1), 4: ("int16", 2), 5: ("uint16", 2), 6: ("int32", 4),
         7: ("uint32", 4), 8: ("int64", 8), 9: ("uint64", 8), 10: ("float16", 2), 11: ("float32", 4),
         12: ("float64", 8), 20: ("string", 0), 21: ("bytes", 0)}
ENCODINGS = {1: "jpeg", 2: "png", 3: "webp", 4: "tiff", 5: "bmp", 6: "pnm", 7: "gif", 16: "tiles", 17: "raw",
             18: "array"}


def check(data, want, what):
    if xxhash is not None and xxhash.xxh3_64_intdigest(data) != want:
        raise SystemExit(f"{what}: checksum")


def expect(truth, what):
    if not truth:
        raise SystemExit(what)


def pad(n, to):
    return (n + to - 1) // to * to


class Column:
    def __init__(self, entry, strings):
        (_, name_bytes, kind, flags, self.storage, _, self.items, at, size, n, _, xxh3) = struct.unpack_from(
            "<IIBBBBIQQIIQ", entry)
        self.name = entry[48:48 + name_bytes].decode()
        self.type, self.size = TYPES[kind]
        self.nullable, self.dictionary = bool(flags & 1), bool(flags & 2)
        self.row_bytes = {1: self.size * self.items, 2: 16, 3: 4}[self.storage]
        self.strings = strings
        if self.storage == 3:
            whole = strings[at:at + size]
            check(whole, xxh3, self.name)
            ends = (0,) + struct.unpack_from(f"<{n}I", whole)
            self.words = [whole[4 * n + a:4 * n + b] for a, b in zip(ends, ends[1:])]

    def value(self, unit, n, i):
        values = 16 + i * self.row_bytes
        mask = 16 + pad(n * self.row_bytes, 8)
        if self.nullable and unit[mask + i // 8] >> i % 8 & 1:
            return None
        slot = unit[values:values + self.row_bytes]
        if self.storage == 1:
            return slot
        if self.storage == 3:
            return self.words[struct.unpack("<I", slot)[0]]
        at, size, low = struct.unpack("<QII", slot)
        value = self.strings[at:at + size]
        expect(len(value) == size, "reference outside")
        if xxhash is not None:
            expect(xxhash.xxh3_64_intdigest(value) & 0xffffffff == low, f"{self.name}: checksum")
        return value


class Shard:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = data = file.read()
        expect(data[:8] == b"\x89STK\r\n\x1a\n", "magic")
        check(data[:184], struct.unpack_from("<Q", data, 184)[0], "header")
        (major, _, _, incompatible, _, self.first, self.records, n_sets, _, _) = struct.unpack_from(
            "<HHIQQQQIIQ", data, 8)
        expect(major == 1 and incompatible == 0, "version")
        end = data[-192:]
        expect(end[184:] == b"STKend\r\n", "end")
        check(end[:176], struct.unpack_from("<Q", end, 176)[0], "trailer")
        (self.index, index_bytes, strings, strings_bytes, columns, columns_bytes, metadata, metadata_bytes, self.n,
         self.payload_bytes, block_rows, row_bytes, n_columns, flags) = struct.unpack_from("<10Q4I", end)
        expect((block_rows, row_bytes) == (4096, 48), "block size")
        expect(self.index + index_bytes == strings and strings + strings_bytes == columns and
               columns + columns_bytes == metadata and metadata + metadata_bytes == len(data) - 192, "sections")
        self.labels = bool(flags & 1)
        self.id = end[112:128].hex()
        self.metadata = data[metadata:metadata + metadata_bytes].decode()
        json.loads(self.metadata)
        self.sets = []
        for k in range(n_sets):
            at, size, xxh3 = struct.unpack_from("<QQQ", data, 192 + 24 * k)
            self.sets.append(data[at:at + size])
            check(self.sets[-1], xxh3, "table set")
        self.columns = []
        at = columns
        for _ in range(n_columns):
            size = struct.unpack_from("<I", data, at)[0]
            self.columns.append(Column(data[at:at + size], data[strings:columns]))
            at += size
        expect(at == metadata, "column table")
        if xxhash is not None:
            hashed = data[192:192 + 24 * n_sets] + data[self.index:-192]
            expect(xxhash.xxh3_128_hexdigest(hashed) == self.id, "id")

    def blocks(self):
        """(first row, rows, core unit, [column units]) of each block."""
        at = self.index
        for first in range(0, self.n, 4096):
            n = min(4096, self.n - first)
            units = []
            for number, (width, nullable) in enumerate(
                    [(48, False)] + [(c.row_bytes, c.nullable) for c in self.columns]):
                size = 16 + pad(n * width, 8) + (pad((n + 7) // 8, 8) if nullable else 0) + 8
                unit = self.data[at:at + size]
                expect(unit[:16] == b"\xf5IDX" + struct.pack("<IQ", number, first), "unit")
                check(unit[:-8], struct.unpack("<Q", unit[-8:])[0], "unit")
                units.append(unit)
                at += size
            yield first, n, units[0], units[1:]

    def rows(self):
        """(core fields, values) of each row; the record's own header is compared on the way."""
        for first, n, core, units in self.blocks():
            for i in range(n):
                row = struct.unpack_from("<QQQqIIIBBBB", core, 16 + 48 * i)
                at, size, xxh3, label, width, height, tables, encoding, orientation, channels, _ = row
                header = self.data[at - 64:at]
                expect(header[:56] == b"\xf5REC" + struct.pack(
                    "<BBBBQqQQIIII", encoding, orientation, channels, 0, self.first + first + i, label, size, xxh3,
                    width, height, tables, 0), "record header")
                check(header[:56], struct.unpack("<Q", header[56:])[0], "record header")
                check(self.data[at:at + size], xxh3, "payload")
                yield row, [c.value(unit, n, i) for c, unit in zip(self.columns, units)]


def open_folder(path):
    with open(os.path.join(path, "dataset.json"), "rb") as file:
        text = file.read()
    expect(text[-29:-19] == b',\n"xxh3":"' and text.endswith(b'"}\n'), "last line")
    check(text[:-29], int(text[-19:-3], 16), "dataset.json")
    manifest = json.loads(text)
    shards = [Shard(os.path.join(path, s["file"])) for s in manifest["shards"]]
    for shard, listed in zip(shards, manifest["shards"]):
        expect(shard.id == listed["id"] and shard.n == listed["records"] and len(shard.data) == listed["bytes"],
               "shard")
    raw = json.dumps(manifest["metadata"], separators=(",", ":"))
    return manifest, shards, raw


def text_of(path):
    """As dump() of test_format_golden.c."""
    out = []
    if os.path.isdir(path):
        manifest, shards, metadata = open_folder(path)
        kind, total, ident, labels = "stk-folder", manifest["bytes"], manifest["id"], manifest["labels"]
        firsts = [s["first_table_set"] for s in manifest["shards"]]
        sets = {}
        for shard, first in zip(shards, firsts):
            sets.update({first + k: blob for k, blob in enumerate(shard.sets)})
    else:
        shards = [Shard(path)]
        kind, total, ident, labels, metadata = ("stk", len(shards[0].data), shards[0].id, shards[0].labels,
                                                shards[0].metadata)
        firsts, sets = [0], dict(enumerate(shards[0].sets))
    n = sum(s.n for s in shards)
    out.append(f"{kind} rows {n} bytes {total} labels {int(labels)} id {ident}\nmetadata {metadata}\n")
    for c in shards[0].columns:
        out.append(f"column {c.name} {c.type} items {c.items}{' nullable' * c.nullable}"
                   f"{' dictionary' * c.dictionary}\n")
    for k in sorted(sets):
        out.append(f"table set {k} {len(sets[k])}:{sets[k].hex()}\n")
    i = 0
    for number, shard in enumerate(shards):
        for row, values in shard.rows():
            at, size, xxh3, label, width, height, tables, encoding, orientation, channels, _ = row
            tables += firsts[number] if tables else 0
            out.append(f"row {i} file {number} offset {at} bytes {size} xxh3 {xxh3:016x} label {label} size "
                       f"{width}x{height} channels {channels} encoding {ENCODINGS[encoding]} orientation "
                       f"{orientation} tables {tables}\n")
            for c, value in zip(shard.columns, values):
                shown = "null" if value is None else f"{len(value)}:{value.hex()}"
                out.append(f"  {c.name} = {shown}\n")
            i += 1
    return "".join(out)


def check_folder(folder):
    names = sorted(n for n in os.listdir(folder) if not n.endswith(".txt"))
    expect(names, "no golden files")
    for name in names:
        path = os.path.join(folder, name)
        with open(path + ".txt", encoding="utf-8") as file:
            expect(file.read() == text_of(path), f"{name}: this reader and the C reader differ")
    print(f"{len(names)} files agree, checksums {'compared' if xxhash is not None else 'not compared: no xxhash'}")


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        check_folder(sys.argv[2])
    elif len(sys.argv) == 2:
        sys.stdout.write(text_of(sys.argv[1]))
    else:
        sys.exit(__doc__)
