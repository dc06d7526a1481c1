#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of the house that a machine can check (CONTRIBUTING.md lists them). Exit code 1 at any breach.

usage: check_tree.py [ROOT]          checks the tree
       check_tree.py --self-test     breaks each rule in a small tree and expects to be told
"""
import fnmatch
import pathlib
import re
import sys
import tempfile

# Third-party headers and the only files that may include them (globs).
THIRD_PARTY = {
    r"jpeglib\.h|jerror\.h|jmorecfg\.h|turbojpeg\.h|jpegint\.h": ["codec/codec_jpeg*", "bench/folder_baseline.c"],
    r"png\.h": ["codec/codec_png*", "examples/contact_sheet.c"],
    r"webp/.*": ["codec/codec_webp*"],
    r"tiff.*\.h": ["codec/codec_tiff*"],
    r"gif_lib\.h": ["codec/codec_gif*"],
    r"xxhash\.h": ["common/hash.c"],
    r"jansson\.h": ["common/json*.c"],
    r"hdf5.*\.h|H5.*\.h": ["format/hdf5/*", "format/storage_hdf5*"],
    r"lmdb\.h": ["packer/cache_lmdb.c"],
    r"archive.*\.h": ["packer/*archive*", "packer/*tar*"],
    r"libdeflate\.h|l?lzf\.h": ["format/hdf5/squeeze.c"],
    r"zlib\.h": ["codec/png_chunks.c", "format/hdf5/squeeze_zlib.c"],
    r"omp\.h": ["packer/team.c", "reader/team.c", "reader/*team*.c", "packer/*team*.c", "common/*team*.c"],
    r"cuda.*\.h|nvml\.h": ["gpu_upload/*"],
    r"Python\.h": ["python/native/py_dlpack.c"],
}
# Folder -> what its files may include with quotes, by first folder. Own files without a folder are always fine.
LAYERS = {
    "common": {"common"},
    "format": {"format", "common"},
    "codec": {"codec", "common"},
    "staging": {"staging", "format", "common"},
    "packer": {"packer", "format", "codec", "common"},
    "reader": {"reader", "staging", "format", "codec", "common"},
    "gpu_upload": {"gpu_upload", "common", "codec"},
    "tools": set(), "examples": set(), "bench": set(), "python": set(),
}
LIBRARY = ("common", "format", "codec", "staging", "packer", "reader", "gpu_upload")
# A forked child must not return into its parent's program.
MAY_EXIT = {"format/hdf5/hdf5_child.c": {"_exit"}}
NOT_IN_LIBRARY = re.compile(r"(?<![\w.>])(printf|puts|putchar|fprintf|perror|exit|_exit|abort|assert)\s*\(")
LONGEST_FILE = 800
PLACEHOLDER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|home)/\w")
CODE = {".c", ".h", ".cpp", ".cu", ".cuh"}
CHECKED = CODE | {".py", ".sh", ".cmake", ".txt", ".md", ".in", ".pyi", ".toml", ".json", ""}
SKIP_PARTS = {".git", "build", "dist", "node_modules", "__pycache__", "golden", "corpus"}
# The rules' own words must not trip them.
SELF = "tests/style/check_tree.py"


def strip_comments(text):
    """C text with comments and string contents blanked; line numbers stay."""
    def blank(match):
        s = match.group(0)
        return '""' if s.startswith('"') else "''" if s.startswith("'") else re.sub(r"[^\n]", " ", s)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def files(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if path.is_file() and not path.is_symlink() and not (SKIP_PARTS & set(relative.parts[:-1])) \
                and not any(re.match(r"build|\.(?!ci$)", part) for part in relative.parts[:-1]):
            yield path, relative


def check_includes(relative, text, found):
    top = relative.parts[0]
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        name = match.group(2)
        for pattern, allowed in THIRD_PARTY.items():
            if re.fullmatch(pattern, name) and top != "tests" and not any(fnmatch.fnmatch(str(relative), a) for a in allowed):
                found.append(f"{relative}:{number}: {name} may only be included in {', '.join(allowed) or 'no file'}")
        micro = relative.match("bench/micro_*.[ch]")  # these measure internals, as unit tests test them
        if match.group(1) == '"' and "/" in name and top in LAYERS and not micro:
            folder = name.split("/")[0]
            if folder not in LAYERS[top]:
                found.append(f"{relative}:{number}: {top} may not include {name}")
        if top == "gpu_upload" and name.startswith("codec/") and name != "codec/tile_layout.h":
            found.append(f"{relative}:{number}: of codec, gpu_upload may include tile_layout.h only")


def check_code(relative, text, found):
    top = relative.parts[0]
    check_includes(relative, text, found)
    if top in LIBRARY:
        for number, line in enumerate(strip_comments(text).splitlines(), 1):
            match = NOT_IN_LIBRARY.search(line)
            if match and match.group(1) not in MAY_EXIT.get(str(relative), ()):
                found.append(f"{relative}:{number}: {match.group(1)}() in the library")
    lines = text.count("\n")
    if lines > LONGEST_FILE:
        found.append(f"{relative}: {lines} lines, more than {LONGEST_FILE}")


def check_text(relative, text, found):
    if str(relative) == SELF:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if PLACEHOLDER.search(line):
            found.append(f"{relative}:{number}: {PLACEHOLDER.search(line).group(0)}: do it, or write an issue")
        if MACHINE_PATH.search(line):
            found.append(f"{relative}:{number}: a path of one machine: {MACHINE_PATH.search(line).group(0)}...")
        if line != line.rstrip() and relative.suffix != ".glob" and relative.suffix != ".exact":
            found.append(f"{relative}:{number}: space at the end of the line")


def needs_licence(relative):
    return relative.suffix in CODE | {".py", ".sh", ".cmake"} or relative.name == "CMakeLists.txt" \
        or str(relative) in ("quickstart", ".ci/run")


def check(root):
    found, names = [], {}
    for path, relative in files(root):
        # In a worktree .git is a file that holds a path of this machine.
        if relative.suffix not in CHECKED or relative.parts[0] in ("LICENSE", ".git"):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            found.append(f"{relative}: not UTF-8")
            continue
        check_text(relative, text, found)
        if needs_licence(relative) and "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.splitlines()[:5]):
            found.append(f"{relative}: no SPDX line at the top")
        if relative.suffix in CODE:
            check_code(relative, text, found)
            if relative.suffix in (".c", ".h") and relative.parts[0] != "include":
                if relative.name in names:
                    found.append(f"{relative}: {names[relative.name]} has the same name; names are unique here")
                names[relative.name] = relative
    return found


def self_test():
    spdx = "/* SPDX-License-Identifier: Apache-2.0 */\n"
    breaches = {
        "codec/a.c": (spdx + "#include <png.h>\n", "may only be included"),
        "reader/b.c": (spdx + '#include "packer/x.h"\n', "may not include"),
        "format/c.c": (spdx + '#include "codec/codec.h"\n', "may not include"),
        "staging/l.c": (spdx + '#include "reader/x.h"\n', "may not include"),
        "tools/d.c": (spdx + '#include "common/file.h"\n', "may not include"),
        "common/e.c": (spdx + "void f(void) { abort(); }\n", "in the library"),
        "common/g.c": ("int x;\n", "no SPDX"),
        "common/h.c": (spdx + "\n" * 801, "more than"),
        "common/i.c": (spdx + "/* TODO */\n", "TODO"),
        "docs/j.md": ("see /work/x\n", "one machine"),
        "docs/k.md": ("space \n", "space at the end"),
        "reader/same.c": (spdx, None),
        "packer/same.c": (spdx, "same name"),
        "codec/fine.c": (spdx + '/* printf( exit( */\nconst char *s = "abort()";\n', None),
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, (text, _) in breaches.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = check(root)
    wrong = []
    for name, (_, want) in breaches.items():
        mine = [f for f in found if f.split(":")[0] == name or (want == "same name" and "same.c" in f)]
        if want is None and name != "reader/same.c" and mine:
            wrong.append(f"{name}: blamed wrongly: {mine}")
        if want is not None and not any(want in f for f in mine):
            wrong.append(f"{name}: breach not found ({want})")
    return wrong


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = self_test()
    else:
        root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
        found = check(root)
    print("\n".join(found) if found else "fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
