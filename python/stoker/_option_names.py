# SPDX-License-Identifier: Apache-2.0
"""C's texts name options as the command has them; here they become the keyword arguments that a program gave.

    use --force to replace it              use force=True to replace it
    add --resize exact=64x64               add resize="exact=64x64"
    as stoker pack --encode raw makes them  as stoker.pack(encode="raw") makes them

A command that has no function in Python (``stoker export --salvage FILE OUT.tar``) stays as it is.
"""

from __future__ import annotations

_FLAG = ""
_TEXT = r"[^\s,;:()'\"]+"
_NUMBER = r"\d[\d,]*[kKMGTiB]*"

# The command's option -> our keyword, and what its value looks like; another word is the sentence's next one.
_OPTIONS: dict[str, tuple[str, str]] = {
    "append": ("append", _FLAG),
    "arrays": ("arrays", _FLAG),
    "cache": ("cache", r"[/.]\S+|FOLDER"),
    "check": ("check", "decode|header"),
    "chroma-444": ("chroma", _FLAG),
    "chunk-images": ("chunk_images", _NUMBER),
    "column": ("columns", r"'[^']*'|[\w-]+:\w+"),
    "dataset": ("hdf5_images", _TEXT),
    "encode": ("encode", "auto|keep|raw|tiles"),
    "exif": ("exif", "apply|ignore"),
    "force": ("force", _FLAG),
    "format": ("format", "stk|hdf5|h5"),
    "hdf5-filter": ("hdf5_filter", r"(?!to\b|is\b|and\b)[a-z]\w*(?::\d)?"),
    "keep-free": ("keep_free", _NUMBER),
    "label-column": ("label_column", r"''|NAME"),
    "labels": ("hdf5_labels", r"(?!and\b)" + _TEXT),
    "max-bytes": ("max_bytes", _NUMBER),
    "max-file": ("max_file_bytes", _NUMBER),
    "max-pixels": ("max_pixels", _NUMBER),
    "mode": ("mode", "RGB|L"),
    "on-bad": ("on_bad", r"(?:skip|fail|error|substitute|quarantine)(?:=\S+)?"),
    "on-damaged": ("on_damaged", r"(?:skip|fail|keep)(?:=[\w,]+)?"),
    "order": ("order", "shuffle|sequential|page"),
    "part": ("part", r"K/N|\d+/\d+"),
    "path-column": ("path_column", "NAME"),
    "quality": ("quality", _NUMBER),
    "range": ("value_range", r"MIN:MAX|-?[\d.]+:-?[\d.]+"),
    "rehash": ("rehash", _FLAG),
    "resample": ("resample", "bilinear|bicubic|box|hamming|lanczos|nearest"),
    "resize": ("resize", r"(?:short|long|exact)=[\w]+"),
    "root": ("root", "FOLDER"),
    "salvage": ("salvage", _FLAG),
    "shard-size": ("shard_size", _NUMBER),
    "shuffle": ("shuffle", r"SEED|\d+"),
    "tile": ("tile", _NUMBER),
    "to": ("to", r"DIR|/\S+"),
    "verify": ("verify", _FLAG),
}
# Commands that are functions here; others are left to the shell.
_FUNCTIONS = ("pack", "stage", "verify")


def for_python(text: str) -> str:
    """The text with keyword arguments in the place of the command's options."""
    if "--" not in text:
        return text
    import re  # texts with options are rare

    def one(name: str, value: str) -> str:
        keyword = _OPTIONS[name][0]
        if keyword == "chroma":
            return 'chroma="444"'
        if _OPTIONS[name][1] == _FLAG:
            return f"{keyword}=True"
        if not value:
            return f"{keyword}="
        if keyword == "columns":
            column, _, kind = value.strip("'").rpartition(":")
            return f'columns={{"{column}": "{kind}"}}'
        if keyword == "value_range":
            return f"value_range=({value.replace(':', ', ')})"
        if value[0].isdigit() and keyword != "part":
            return f"{keyword}={value}"
        return f'{keyword}="{value.strip(chr(39))}"'

    options = "|".join(
        rf"--(?:{name})(?![\w-])" + (rf"(?: (?:{pattern})(?![\w=]))?" if pattern else "")
        for name, (_, pattern) in sorted(_OPTIONS.items())
    )

    def given(match: str) -> str:
        name, _, value = match[2:].partition(" ")
        return one(name, value)

    def call(match: re.Match[str]) -> str:
        arguments = re.findall(options, match["options"])
        return f"stoker.{match['function']}({', '.join(map(given, arguments))})"

    functions = "|".join(_FUNCTIONS)
    calls = rf"stoker (?P<function>{functions})(?P<options>(?: (?:{options}))+)(?= makes|[,;)']|$)"
    text = re.sub(calls, call, text)
    text = text.replace("--max-file (in Python max_file_bytes)", "--max-file")
    # What is behind "stoker COMMAND" up to the end of the clause is for the shell.
    pieces = re.split(r"(stoker [a-z]+\b[^,;)']*)", text)
    return "".join(
        piece if n % 2 else re.sub(rf"(?<![\w/-])(?:{options})", lambda m: given(m[0]), piece)
        for n, piece in enumerate(pieces)
    )
