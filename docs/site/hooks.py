# SPDX-License-Identifier: Apache-2.0
"""What the site needs beyond mkdocs' plugins: pages made from the READMEs and the man pages, the list of C
functions, and links that lead out of docs/."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

# Pages that are made here: their names on the site, and the file that each is made from.
READMES = {"index.md": "README.md", "zh/index.md": "README.zh-CN.md"}
COMMANDS = "reference/commands.md"


def on_files(files: Files, config: Any) -> Files:
    root = _root(config)
    for page, source in READMES.items():
        files.append(File.generated(config, page, content=(root / source).read_text(encoding="utf-8")))
    files.append(File.generated(config, COMMANDS, content=commands(root / "docs" / "man")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    root, name = _root(config), page.file.src_uri
    if name == "reference/c.md":
        markdown = markdown.replace("<!-- functions -->", c_functions(root / "include" / "stoker"))
    source = root / READMES[name] if name in READMES else root / "docs" / name
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", lambda m: _link(m, source, name, root), markdown)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Docstrings name others as Sphinx does, :meth:`close`, and put two colons before code; the code remains."""
    html = html.replace("::</p>", ":</p>")
    return re.sub(r":(?:meth|class|func|attr|data):<code>~?(?:stoker\.)?([^<]+)</code>", r"<code>\1</code>", html)


def _root(config: Any) -> Path:
    return Path(config["config_file_path"]).resolve().parent


def _link(match: re.Match[str], source: Path, page: str, root: Path) -> str:
    """A link as the site needs it. What is no page becomes the name of a file of the source tree; a file that does
    not exist stays as it is, and mkdocs warns of it."""
    text, target = match.groups()
    path, _, anchor = target.partition("#")
    if re.match(r"[a-z]+:", target) or not path:
        return match.group(0)
    there = Path(os.path.normpath(source.parent / path))
    pages = {root / of: name for name, of in READMES.items()}
    if there in pages:
        name = pages[there]
    elif there.suffix == ".md" and root / "docs" in there.parents:
        name = there.relative_to(root / "docs").as_posix()
    elif there.exists():
        inside = there.relative_to(root).as_posix()
        plain = text.strip("`")
        return f"`{inside}`" if plain in (inside, there.name) else f"{text} (`{inside}`)"
    else:
        return match.group(0)
    relative = os.path.relpath(name, os.path.dirname(page) or ".")
    return f"[{text}]({relative}{'#' + anchor if anchor else ''})"


# ---- Man pages. They are written by tools/cli_man.c, which uses a handful of macros.


def commands(folder: Path) -> str:
    parts = ["# Commands", "", "The man pages, made from the same tables as `stoker COMMAND --help`.", ""]
    for path in sorted(folder.glob("*.1"), key=lambda p: p.stem):
        parts += man_page(path.read_text(encoding="utf-8"))
    return "\n".join(parts)


def man_page(text: str) -> list[str]:
    out: list[str] = []
    term, code = False, False
    for line in text.splitlines():
        macro, _, rest = line.partition(" ")
        if macro == ".TH":
            out += ["", f"## {_plain(rest.split()[0]).lower().replace('-', ' ', 1)}"]
        elif macro == ".SH":
            if rest == "SEE ALSO":
                break
            out += ["", f"### {rest.capitalize()}", ""]
        elif macro == ".SS":
            out += ["", f"**{_plain(rest)}**", ""]
        elif macro == ".PP":
            out.append("")
        elif macro == ".TP":
            out.append("")
            term = True
        elif macro in (".nf", ".fi"):
            code = macro == ".nf"
            out += ["", "```sh" if code else "```"]
        elif macro in (".B", ".BR"):
            out.append(f"**{_plain(rest)}**")
        elif macro.startswith(".") or line.startswith('.\\"'):
            if not line.startswith('.\\"'):
                raise ValueError(f"a man page uses {macro}, which {__file__} does not know")
        elif code:
            out.append(_plain(line))
        elif term:
            out.append(f"- `{_plain(line)}`: ")
            term = False
        elif out and out[-1].endswith(": "):
            out[-1] += _text(line)
        else:
            out.append(_text(line))
    return out


def _plain(text: str) -> str:
    """roff without its escapes."""
    return re.sub(r"\\f[BIRP]", "", text).replace("\\&", "").replace("\\-", "-").replace("\\e", "\\").strip('"')


def _text(line: str) -> str:
    """As Markdown: what Markdown would take for markup is escaped."""
    return re.sub(r"([*_<\[])", r"\\\1", _plain(line))


# ---- C headers.


def c_functions(folder: Path) -> str:
    parts = []
    for path in sorted(folder.glob("*.h")):
        text = path.read_text(encoding="utf-8")
        names = re.findall(r"^STK_API\b[^;{]*?\b(stk_\w+)\(", text, flags=re.MULTILINE)
        about = re.search(r"/\* SPDX[^\n]*\n \*\n \* (.*?)(?:\*/|\n \*\n)", text, flags=re.DOTALL)
        said = re.sub(r"\s*\n \* ", " ", about.group(1)).strip() if about else ""
        if names:
            parts.append(f"### `stoker/{path.name}`\n\n{said}\n\n" + ", ".join(f"`{n}`" for n in names) + "\n")
    return "\n".join(parts)
