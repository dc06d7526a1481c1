# SPDX-License-Identifier: Apache-2.0
"""Random render jobs compared with the installed Pillow, byte for byte.

usage: test_pixels_pillow.py BRIDGE.so [--cases N] [--seed S] [--family FAMILY]
                             [--pictures raw|photos|clothing|samplings]

Pillow 13 and later are compared with pixels=pillow13, older ones with pixels=pillow12. raw are random pixels;
photos and clothing are the JPEG files of that folder of $STOKER_CORPUS, as verbatim records and as tiles; samplings
are small JPEGs that cjpeg makes with every chroma sampling. Exit code 1 at any difference, 77 without Pillow,
corpus, cjpeg or a CPU for the kernel family.
"""
import argparse
import ctypes
import io
import os
import pathlib
import random
import shutil
import subprocess
import sys

try:
    import PIL
    from PIL import Image, ImageOps
except ImportError:
    print("skipped: no Pillow")
    sys.exit(77)

JPEG, TILES, RAW = 1, 16, 17
FILTERS = ["BILINEAR", "BICUBIC", "BOX", "HAMMING", "LANCZOS", "NEAREST"]
UNSUPPORTED = 11
PIXELS = 0 if int(PIL.__version__.split(".")[0]) >= 13 else 1


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 1020)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_uint8)), ("n_bytes", ctypes.c_size_t),
                ("capacity", ctypes.c_size_t)]


class Bridge:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.bridge_open.restype = ctypes.c_void_p
        self.lib.bridge_family.restype = ctypes.c_char_p
        self.lib.bridge_family.argtypes = [ctypes.c_void_p]
        self.error = Error()
        self.ctx = self.lib.bridge_open(ctypes.byref(self.error))
        if not self.ctx:
            print("skipped:", self.error.text.decode())
            sys.exit(77)
        self.family = self.lib.bridge_family(self.ctx).decode()

    def render(self, data, **p):
        box, window, fill = p["box"], p["window"], p.get("fill", (0, 0, 0))
        numbers = [p["encoding"], p["width"], p["height"], p["channels"], p["orientation"], *box, *p["full"],
                   p["filter"], PIXELS, *window, p["flip"], p["color"], p["out_channels"], *fill]
        size = window[2] * window[3] * p["out_channels"]
        out = ctypes.create_string_buffer(size + 64)
        ctypes.memset(out, 0xA5, size + 64)
        status = self.lib.bridge_render(ctypes.c_void_p(self.ctx), (ctypes.c_int32 * len(numbers))(*numbers), data,
                                        ctypes.c_size_t(len(data)), out, ctypes.byref(self.error))
        if status != 0:
            return None, self.error.text.decode()
        if out.raw[size:] != b"\xa5" * 64:
            return None, "wrote past the output"
        return out.raw[:size], ""

    def tiles(self, jpeg, tile):
        buffer = Buffer()
        status = self.lib.bridge_tiles(ctypes.c_void_p(self.ctx), jpeg, ctypes.c_size_t(len(jpeg)),
                                       ctypes.c_uint32(tile), ctypes.byref(buffer), ctypes.byref(self.error))
        if status == UNSUPPORTED:
            return None
        if status != 0:
            sys.exit("tiles: " + self.error.text.decode())
        data = ctypes.string_at(buffer.data, buffer.n_bytes)
        return data


def expected(turned, job):
    """Pillow's pixels: crop, resize, the window of that on a canvas of the fill colour, flip, channel order."""
    x, y, w, h = job["box"]
    filter = getattr(Image.Resampling, FILTERS[job["filter"]])
    full = turned.crop((x, y, x + w, y + h)).resize(job["full"], filter)
    wx, wy, ow, oh = job["window"]
    mode = "RGB" if job["out_channels"] == 3 else "L"
    fill = tuple(job["fill"]) if mode == "RGB" else job["fill"][0]
    canvas = Image.new(mode, (ow, oh), fill)
    canvas.paste(full if full.mode == mode else full.convert(mode), (-wx, -wy))
    if job["flip"]:
        canvas = canvas.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if job["color"] and mode == "RGB":
        canvas = Image.merge("RGB", canvas.split()[::-1])
    return canvas.tobytes()


def some_size(rng, limit):
    return rng.choice([1, 2, 3, rng.randint(1, 12), rng.randint(1, 70), rng.randint(1, limit)])


def random_job(rng, width, height):
    kind = rng.random()
    if kind < 0.2:
        w, h = rng.randint(1, min(width, 12)), rng.randint(1, min(height, 12))
    elif kind < 0.35:
        w, h = width, height
    else:
        w, h = rng.randint(1, width), rng.randint(1, height)
    x = rng.choice([0, width - w, rng.randint(0, width - w)])
    y = rng.choice([0, height - h, rng.randint(0, height - h)])
    kind = rng.random()
    if kind < 0.35:
        full = (224, 224)
    elif kind < 0.5:
        full = (w, h)
    elif kind < 0.6:
        full = rng.choice([(w, some_size(rng, 400)), (some_size(rng, 400), h)])
    else:
        full = (some_size(rng, 400), some_size(rng, 400))
    if rng.random() < 0.6:
        window = (0, 0, *full)
    else:
        window = (rng.randint(-5, full[0] - 1), rng.randint(-5, full[1] - 1), rng.randint(1, full[0] + 9),
                  rng.randint(1, full[1] + 9))
    return dict(box=(x, y, w, h), full=full, window=window, filter=rng.choice([0, 0, 0, 1, 1, 2, 3, 4, 5]),
                flip=rng.randint(0, 1), color=rng.choice([0, 0, 1]),
                fill=[rng.randint(0, 255) for _ in range(3)])


def turn(image, orientation):
    """Pillow's own exif_transpose of this orientation."""
    exif = image.getexif()
    exif[0x0112] = orientation
    return ImageOps.exif_transpose(image)


class Tally:
    def __init__(self):
        self.cases = self.bad = 0

    def compare(self, bridge, data, job, want, what):
        got, error = bridge.render(data, **job)
        self.cases += 1
        if got == want:
            return
        self.bad += 1
        if self.bad <= 5:
            where = error if got is None else "%d bytes differ" % sum(a != b for a, b in zip(got, want))
            print("MISMATCH", what, job, where)


def raw_cases(bridge, rng, n, tally):
    for i in range(n):
        channels, width, height = rng.choice([1, 3, 3]), some_size(rng, 900), some_size(rng, 900)
        data = rng.randbytes(width * height * channels)
        if rng.random() < 0.3:  # extremes, so that clipping shows
            data = bytes(255 if b > 127 else 0 for b in data)
        stored = Image.frombytes("L" if channels == 1 else "RGB", (width, height), data)
        orientation = rng.choice([1, 1, rng.randint(1, 8)])
        turned = turn(stored, orientation)  # boxes are in turned coordinates
        job = dict(random_job(rng, *turned.size), orientation=orientation, encoding=RAW, channels=channels,
                   width=turned.width, height=turned.height, out_channels=rng.choice([3, 3, 3, 1]))
        if channels == 3 and job["out_channels"] == 1:
            turned = turned.convert("L")
        tally.compare(bridge, data, job, expected(turned, job), "raw %d" % i)


def corpus_files(rng, folder):
    """(name, JPEG bytes) of files drawn from a folder of the corpus, for ever."""
    root = pathlib.Path(os.environ.get("STOKER_CORPUS", "/nonexistent")) / folder
    paths = sorted(p for p in root.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
    if not paths:
        print("skipped: no STOKER_CORPUS")
        sys.exit(77)
    while True:
        path = rng.choice(paths)
        yield path.name, path.read_bytes()


SAMPLINGS = ["1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x2", "2x4", "2x2,2x1,2x1", "2x1,1x1,2x1", "2x2,1x2,1x2",
             "1x1,2x1,2x1", "2x2,1x1,2x1", "3x1"]


def sampled_files(rng):
    """(name, JPEG bytes) of small pictures with every chroma sampling, for ever."""
    cjpeg = shutil.which("cjpeg")
    if cjpeg is None:
        print("skipped: no cjpeg")
        sys.exit(77)
    while True:
        for sampling in SAMPLINGS:
            width, height = rng.choice([(rng.randint(1, 40), rng.randint(1, 40)), (rng.randint(1, 160),) * 2])
            step, row = rng.choice([1, 1, 7]), rng.randbytes(3 * width)
            rows = [bytes((b + y * step * (1 + i % 3)) & 255 for i, b in enumerate(row)) for y in range(height)]
            ppm = b"P6 %d %d 255\n" % (width, height) + b"".join(rows)
            command = [cjpeg, "-sample", sampling, "-quality", str(rng.choice([60, 95]))]
            command += rng.choice([[], ["-progressive"]])
            done = subprocess.run(command, input=ppm, capture_output=True, check=True)
            yield f"{width}x{height} {sampling}", done.stdout


def jpeg_cases(bridge, rng, n, tally, files):
    tiles_made = 0
    while tally.cases < n:
        name, jpeg = next(files)
        stored = Image.open(io.BytesIO(jpeg))
        if stored.mode not in ("RGB", "L"):
            continue
        channels = 1 if stored.mode == "L" else 3
        stored.load()
        plain = stored.copy()
        plain.info = {}
        tiles = bridge.tiles(jpeg, rng.choice([16, 32, 64]))
        tiles_made += tiles is not None
        for _ in range(8):
            orientation = rng.choice([1, 1, rng.randint(1, 8)])
            turned = turn(plain, orientation)
            job = dict(random_job(rng, *turned.size), orientation=orientation, channels=channels,
                       width=turned.width, height=turned.height, out_channels=rng.choice([3, 3, 3, 1]))
            grey = turned.convert("L") if job["out_channels"] == 1 else turned
            want = expected(grey, job)
            for encoding, data in ((JPEG, jpeg), (TILES, tiles)):
                if data is not None:
                    tally.compare(bridge, data, dict(job, encoding=encoding), want, "%s %d" % (name, encoding))
    print("pictures that became tiles:", tiles_made)
    if tiles_made == 0:
        sys.exit("no picture became tiles: they were not tested")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bridge")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pictures", choices=["raw", "photos", "clothing", "samplings"], default="raw")
    parser.add_argument("--family", help="scalar, avx2 or avx512; default: the best that the CPU has")
    args = parser.parse_args()
    if args.family:
        os.environ["STOKER_CPU"] = args.family
    bridge, rng, tally = Bridge(args.bridge), random.Random(args.seed), Tally()
    if args.family and bridge.family != args.family:
        sys.exit(f"asked for {args.family}, got {bridge.family}")
    if args.pictures == "raw":
        raw_cases(bridge, rng, args.cases, tally)
    else:
        files = sampled_files(rng) if args.pictures == "samplings" else corpus_files(rng, args.pictures)
        jpeg_cases(bridge, rng, args.cases, tally, files)
    print(f"Pillow {PIL.__version__}, family {bridge.family}: {tally.cases} cases, {tally.bad} differ")
    sys.exit(1 if tally.bad else 0)


if __name__ == "__main__":
    main()
