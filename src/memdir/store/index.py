"""`MEMORY.md`: one line a memory, edited line by line so that what we do not understand stays (S7, S8)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

from memdir.disk.safe_path import is_key
from memdir.store.frontmatter import line_ending_of
from memdir.store.merge import merge_bytes
from memdir.store.trust import doubt_of
from memdir.text.lookalikes import defused
from memdir.text.printable import one_line
from memdir.text.words import cut_at_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.store.scan import Header
    from memdir.store.topic import Topic

MAX_LINES = 200  # what a model reads of an index before it costs more than it tells
MAX_BYTES = 25_000
MAX_ENTRY_CHARACTERS = 150  # a catalogue line, not a container
MAX_DOUBTED_TITLE = 60  # enough to name a thing, hardly enough to command
MIN_TITLE = 20  # of a line whose file name alone is nearly too long

_LINE = rb"[^\r\n]*(?:\r\n|\n|\r|$)"
_REMARK = rb"(?!\d+[.)])[^\s>*+-]"  # what is no detail below an entry
_ENTRY = (
    r"^\s*[-*+]\s+\[(?P<title>(?:[^\[\]\\]|\\.|\[[^\]]*\])*)\]\(\s*<?(?P<key>[^<>()\r\n]*(?:\([^()\r\n]*\)[^<>()\r\n]*)*)>?\s*\)"
    r"\s*(?:(?:[—–:]|--?)\s*)?(?P<hook>.*?)\s*$"
)


class Entry:
    """One line of the index that names a memory."""

    __slots__ = ("hook", "is_note", "key", "title")

    def __init__(self, key: str, title: str, hook: str, *, is_note: bool = False) -> None:
        self.key = key
        self.title = title
        self.hook = hook
        self.is_note = is_note  # the hook is a word of ours about the memory, and is never cut

    @property
    def is_safe(self) -> bool:
        """Whether its key may name a memory; no line is made or shown for any other."""
        return is_key(self.key, index_allowed=True)

    def render(self, width: int = MAX_ENTRY_CHARACTERS) -> str:
        """`- [Title](file.md) — hook`, cut at a word to the length of a catalogue line, with nothing in it that would
        end the line or pass for a host's tag: other programs put this file into prompts as it is."""
        title = _one_line(self.title or self.key).replace("[", "(").replace("]", ")")
        target = f"<{self.key}>" if " " in self.key or "(" in self.key else self.key
        head = f"- [{cut_at_word(title, max(MIN_TITLE, width - len(target) - 6))}]({target})"
        hook = _one_line(self.hook)
        room = width - len(head) - 3
        if self.is_note:
            return f"{head} — {hook}"
        if not hook or room < 10:
            return head
        return f"{head} — {cut_at_word(hook, room)}"


def entry_for(key: str, memory: Topic | Header) -> Entry:
    """The index line of a memory: its name as the title, its description as the hook. Of one that nobody here vouched
    for only the title, cut short, and where it is from: the index stands in every prompt (L3)."""
    title = memory.name or key.rsplit("/", 1)[-1][:-3]
    doubt = doubt_of(memory)
    if doubt:
        return Entry(key, title[:MAX_DOUBTED_TITLE], doubt, is_note=True)
    return Entry(key, title, "" if memory.description == title else memory.description)


class Index:
    """The index's bytes as lines. `with...` methods return a new one and touch only the lines they mean."""

    __slots__ = ("_entries", "_lines", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._lines = [line for line in re.findall(_LINE, data) if line]
        self._entries = [parse_entry(line) for line in self._lines]

    def entries(self) -> list[Entry]:
        """Every line that names a memory, in order."""
        return [entry for entry in self._entries if entry]

    def keys(self) -> set[str]:
        return {entry.key for entry in self._entries if entry}

    def with_entries(self, entries: Iterable[Entry], width: int = MAX_ENTRY_CHARACTERS) -> Index:
        """Each entry's line in its old place, or before all others, the last one first: what is newest must survive a
        truncation. Further lines of the same memory go: they would still tell what the new one no longer does. A file
        whose name could end its line, or pass for something else, gets none."""
        wanted = {entry.key: entry.render(width).encode("utf-8", "replace") for entry in entries if entry.is_safe}
        known: set[str] = set()
        lines = []
        for line, entry in zip(self._lines, self._entries, strict=True):
            if entry is None or entry.key not in wanted:
                lines.append(line)
            elif entry.key not in known:
                known.add(entry.key)
                lines.append(wanted[entry.key] + line[len(line.rstrip(b"\r\n")) :])
        index = Index(b"".join(lines))
        new = [line for key, line in reversed(wanted.items()) if key not in known]
        return index._inserted(new) if new else index

    def without(self, keys: Iterable[str]) -> Index:
        """The index with no line for these memories."""
        gone = set(keys)
        kept = [
            line for line, entry in zip(self._lines, self._entries, strict=True) if not (entry and entry.key in gone)
        ]
        return self if len(kept) == len(self._lines) else Index(b"".join(kept))

    def repaired(self, present: Iterable[Entry], *, holds_unread: Callable[[str], bool]) -> Index:
        """One line for each memory there is, none twice, none without a file; everything else stays, lines of files
        that cannot be read now among it."""
        wanted = {entry.key: entry for entry in present if entry.is_safe}
        seen: set[str] = set()
        kept = []
        for line, entry in zip(self._lines, self._entries, strict=True):
            if entry is None:
                kept.append(line)
            elif entry.key not in seen and (entry.key in wanted or holds_unread(entry.key)):
                seen.add(entry.key)
                kept.append(line)
        added = [entry.render().encode("utf-8", "replace") for key, entry in wanted.items() if key not in seen]
        index = Index(b"".join(kept))
        return index._inserted(added) if added else index

    def _inserted(self, lines: list[bytes]) -> Index:
        ending = line_ending_of(self.data)
        block = b"".join(line + ending for line in lines)
        first = next((number for number, entry in enumerate(self._entries) if entry), None)
        if first is not None:
            return Index(b"".join([*self._lines[:first], block, *self._lines[first:]]))
        gap = b"" if not self.data or self.data.endswith((b"\n", b"\r")) else ending
        return Index(self.data + gap + block)


def with_edits(
    current: Index, edit: tuple[bytes, bytes], *, is_living: Callable[[str], bool], is_told: Callable[[bytes], bool]
) -> Index:
    """An index with what a fork made of it, before and after. It is the store's: lines of living files stay, and words
    of people that no memory tells; dangling, double and overlong lines go, and of what is new only entries and headings
    are taken. Only a full index loses the lines that the fork left out: it has chosen what there is room for (S8)."""
    from difflib import SequenceMatcher

    merged = Index(merge_index(*edit, current.data))
    old, new = current._lines, merged._lines
    named, written, spare = merged.keys(), frozenset(new), MAX_LINES - len(new)
    sheet = _Sheet(is_living)
    for verb, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for at in range(old_from, old_to):
            entry = current._entries[at]
            is_left_out = (entry.key not in named) if entry else re.match(_REMARK, old[at]) and not is_told(old[at])
            if verb == "equal":
                sheet.take(old[at], entry)
            elif is_left_out and old[at] not in written and spare > 0:
                spare -= sheet.take(old[at], entry)
        for at in range(new_from, new_to) if verb != "equal" else ():
            sheet.take_new(new[at], merged._entries[at])
    return Index(b"".join(sheet.lines))


class _Sheet:
    """The lines of an index on their way into a new one."""

    def __init__(self, is_living: Callable[[str], bool]) -> None:
        self.lines: list[bytes] = []
        self._is_living = is_living
        self._seen: set[str] = set()
        self._has_gap = False

    def take(self, line: bytes, entry: Entry | None) -> bool:
        """Whether the line is taken: not where its file is gone, or has a line already."""
        if entry and (entry.key in self._seen or not self._is_living(entry.key)):
            return False
        if entry:
            self._seen.add(entry.key)
        is_heading = line.lstrip().startswith(b"#") or bool(self.lines and self.lines[-1].lstrip().startswith(b"#"))
        if self._has_gap and is_heading and self.lines:
            self.lines.append(b"\n")
        self._has_gap = False
        self.lines.append(line if line.endswith((b"\n", b"\r")) else line + b"\n")
        return True

    def take_new(self, line: bytes, entry: Entry | None) -> None:
        """A line of a model's: an entry, in the length of one, or a heading; a gap only beside a heading."""
        if entry and len(line.decode("utf-8", "replace").strip()) > MAX_ENTRY_CHARACTERS:
            line = entry.render().encode("utf-8", "replace") + b"\n"
        if entry or line.lstrip().startswith(b"#"):
            self.take(line, entry)
        elif not line.strip():
            self._has_gap = True


def merge_index(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Both sides' changes to an index. It never fails: where lines clash, our entries are brought in one by one."""
    merged = merge_bytes(base, ours, theirs)
    if merged is not None:
        return merged
    before = {entry.key: entry for entry in Index(base).entries()}
    wanted = {entry.key: entry for entry in Index(ours).entries()}
    index = Index(theirs).without(before.keys() - wanted.keys())
    changed = [
        entry
        for key, entry in reversed(wanted.items())
        if (known := before.get(key)) is None or (known.title, known.hook) != (entry.title, entry.hook)
    ]
    return index.with_entries(changed).data


class LoadedIndex:
    """An index as a model gets it: within both limits, with a warning where something was cut (S8)."""

    def __init__(self, text: str, *, line_count: int, size_bytes: int, lines_cut: bool, bytes_cut: bool) -> None:
        self.text = text
        self.line_count = line_count
        self.size_bytes = size_bytes
        self.lines_cut = lines_cut
        self.bytes_cut = bytes_cut


def load_index(data: bytes) -> LoadedIndex:
    """Cut to 200 lines, then to 25,000 bytes at a line end, and say so. Lines of files that no memory may be named like
    are left out."""
    entries = ((line, parse_entry(line)) for line in re.findall(_LINE, data) if line)
    lines = [line for line, one in entries if not one or is_key(posixpath.normpath(one.key), index_allowed=True)]
    lines_cut = len(lines) > MAX_LINES
    kept = b"".join(lines[:MAX_LINES])
    bytes_cut = len(kept) > MAX_BYTES
    if bytes_cut:
        at = max(kept.rfind(b"\n", 0, MAX_BYTES), kept.rfind(b"\r", 0, MAX_BYTES))
        kept = kept[: at + 1] or kept[:MAX_BYTES].decode("utf-8", "ignore").encode()  # one endless line
    text = kept.decode("utf-8", "replace")
    if lines_cut or bytes_cut:
        text = text.rstrip("\r\n") + "\n\n" + _warning(len(lines), len(data), lines_cut=lines_cut, bytes_cut=bytes_cut)
    return LoadedIndex(text, line_count=len(lines), size_bytes=len(data), lines_cut=lines_cut, bytes_cut=bytes_cut)


def _warning(lines: int, size: int, *, lines_cut: bool, bytes_cut: bool) -> str:
    limits = []
    if lines_cut:
        limits.append(f"{lines} lines (limit {MAX_LINES})")
    if bytes_cut:
        limits.append(f"{size:,} bytes (limit {MAX_BYTES:,})")
    return (
        f"> WARNING: this index is cut short: it has {' and '.join(limits)}. What stands below the cut is not shown. "
        f"Keep one line of at most {MAX_ENTRY_CHARACTERS} characters for each memory, detail in the topic files.\n"
    )


def parse_entry(line: bytes) -> Entry | None:
    """The memory that a line names; None for any other line."""
    match = re.match(_ENTRY, line.decode("utf-8", "replace").lstrip("\ufeff"))
    if match is None or not match["key"].strip().endswith(".md") or "://" in match["key"]:
        return None
    key = match["key"].strip().removeprefix("./")
    if "%" in key:
        from urllib.parse import unquote

        key = unquote(key)
    return Entry(key, match["title"], match["hook"])


def _one_line(text: str) -> str:
    return defused(" ".join(one_line(text).split()))
