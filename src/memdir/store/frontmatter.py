"""The block between two `---` lines, read leniently and rewritten so that every byte we did not change stays (S6).

Why not a YAML library: people and models write `description: Deploys: never on Friday`, which YAML refuses, and a scan
of 20,000 files would spend nine tenths of its time in one (ADR 0004). We know only `key: value` lines; a line that
starts with a space, a dash or `#` belongs to the key above it or to nobody, and is kept.
"""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"
FENCE = b"---"
TRUST_FIELD = "trust"
LONG_HEAD_BYTES = 64 * 1024  # a head longer than this is not prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_NEEDS_QUOTES_FIRST = frozenset("!&*?|>%@`\"'#{}[],-:")
_NO_KEY = frozenset(" \t#-")  # how a line starts that belongs to the key above it, or to nobody
_INDENT = frozenset((" ", "\t"))
_NUMERIC = frozenset("0123456789.+-_:eEtTzZ ")  # numbers and dates are not text to YAML
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_NOT_PLAIN = frozenset(("true", "false", "null", "yes", "no", "on", "off", "~", ""))


class Block:
    """Where the frontmatter stands in a file: the bytes of its lines, and where the body begins."""

    __slots__ = ("body_start", "end", "start")

    def __init__(self, start: int, end: int, body_start: int) -> None:
        self.start = start
        self.end = end
        self.body_start = body_start


def find_block(data: bytes) -> Block | None:
    """The frontmatter's place in `data`; None where there is none or it is never closed."""
    offset = len(BOM) if data.startswith(BOM) else 0
    newline = newline_of(data)
    if not data.startswith(FENCE, offset):
        return None
    first_end = data.find(newline, offset)
    if first_end < 0 or data[offset:first_end].rstrip() != FENCE:
        return None
    start = first_end + len(newline)
    at = start - len(newline)
    while True:
        at = data.find(newline + FENCE, at)
        if at < 0:
            return None
        line_start = at + len(newline)
        line_end = data.find(newline, line_start)
        line_end = len(data) if line_end < 0 else line_end
        if data[line_start:line_end].rstrip() == FENCE:
            return Block(start, max(start, line_start), min(len(data), line_end + len(newline)))
        at = line_start


def newline_of(data: bytes) -> bytes:
    """The line ending to look for: LF (also inside CRLF), or CR in a file that has nothing else."""
    return b"\r" if b"\r" in data and b"\n" not in data else b"\n"


def line_ending_of(data: bytes) -> bytes:
    """The line ending to write, so that a new line looks like its neighbours."""
    if newline_of(data) == b"\r":
        return b"\r"
    at = data.find(b"\n")
    return b"\r\n" if at > 0 and data[at - 1 : at] == b"\r" else b"\n"


def read_fields(block: bytes, newline: bytes = b"\n") -> dict[str, str]:
    """The keys and values of a frontmatter block; of a key that stands twice the first counts."""
    fields: dict[str, str] = {}
    whole = block.decode("utf-8", "replace")
    is_odd = '"' in whole or "'" in whole or " # " in whole or "\n " in whole or "\t" in whole or "\r" in whole
    lines = whole.split("\r" if newline == b"\r" else "\n")
    for number, line in enumerate(lines, 1):
        key, colon, value = line.partition(":")
        if not colon or line[0] in _NO_KEY or (value and value[0] not in " \t\r"):
            continue
        name, text = key.strip(), value.strip()
        if is_odd:  # most blocks are not, and their values stand as they are
            name = name.strip("\"'")
            if number < len(lines) and lines[number][:1] in _INDENT:
                text = _long_scalar(text, lines[number:])
            text = _scalar(text)
        if name and name not in fields:
            fields[name] = text
    return fields


def read_unclosed(data: bytes) -> dict[str, str]:
    """The mark of trust, in any case, in a file whose frontmatter is never closed: it holds where nothing else does."""
    if not data.removeprefix(BOM).startswith(FENCE):
        return {}
    return {name: value for name, value in read_fields(data, newline_of(data)).items() if name.lower() == TRUST_FIELD}


def find_simple_block(data: bytes) -> bytes | None:
    """The frontmatter's lines in a file of the usual form (LF, no BOM, fences without trailing spaces); else None.

    Agrees with `find_block` wherever it answers, at a fraction of its cost: a scan calls it for every file.
    """
    if data[:4] != b"---\n":
        return None
    end = data.find(b"\n---", 3)
    return data[4 : end + 1] if data[end + 4 : end + 5] == b"\n" and end >= 0 else None


def replace_field(data: bytes, key: str, value: str) -> bytes:
    """`data` with one frontmatter value set; a missing key, or a missing block, is added."""
    ending = line_ending_of(data)
    line = f"{key}: {quoted(value)}".encode() + ending
    block = find_block(data)
    if block is None:
        offset = len(BOM) if data.startswith(BOM) else 0
        return data[:offset] + FENCE + ending + line + FENCE + ending + data[offset:]
    start, end = _span_of(data, block, key)
    return data[:start] + line + data[end:]


def without_field(data: bytes, key: str) -> bytes:
    """`data` without any frontmatter line that sets `key`."""
    while (block := find_block(data)) and (span := _span_of(data, block, key)) != (block.end, block.end):
        data = data[: span[0]] + data[span[1] :]
    return data


def quoted(value: str) -> str:
    """A value as strict YAML reads it too: plain where that is safe, in double quotes where not."""
    plain = (
        value == value.strip()
        and value.isprintable()
        and value.lower() not in _NOT_PLAIN
        and value[0] not in _NEEDS_QUOTES_FIRST
        and ": " not in value
        and " #" not in value
        and not value.endswith(":")
        and not _NUMERIC.issuperset(value)
    )
    if plain:
        return value
    escaped = (
        value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return '"' + "".join(c if c.isprintable() else _escape(c) for c in escaped) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _span_of(data: bytes, block: Block, key: str) -> tuple[int, int]:
    """The bytes of the line that holds `key` and of the lines that continue it; an empty span at the end if missing."""
    newline = newline_of(data)
    position = block.start
    span: tuple[int, int] | None = None
    for line in data[block.start : block.end].split(newline)[:-1]:
        end = position + len(line) + len(newline)
        if span:
            if line[:1] not in (b" ", b"\t"):
                return span
            span = (span[0], end)
        elif line.partition(b":")[0].decode("utf-8", "replace").strip().strip("\"'") == key and b":" in line:
            span = (position, end)
        position = end
    return span or (block.end, block.end)


def _scalar(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return _unescaped(text[1:-1])
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    # YAML would also cut "see #ops" short; a channel or an issue number is far likelier here than a comment.
    at = text.find(" # ")
    return text[:at].rstrip() if at >= 0 else text


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    import re

    return re.sub(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", _character_of, text, flags=re.DOTALL)


def _character_of(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    return _ESCAPES.get(code, code)


def _long_scalar(first: str, following: list[str]) -> str:
    """A value that goes on in indented lines: folded into one line, except under `|`."""
    lines: list[str] = []
    for line in following:
        if line.strip() and line[0] not in _INDENT:
            break
        lines.append(line.strip())
    marker = first[:1] if first[:1] in ("|", ">") else ""
    if not first and any(line.endswith(":") or ": " in line for line in lines):
        return ""  # a nested mapping, not a text
    return ("\n" if marker == "|" else " ").join(lines if marker else [first, *lines]).strip()
