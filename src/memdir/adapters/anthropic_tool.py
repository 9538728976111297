"""Anthropic's memory tool on a memory directory: its six commands (view, create, str_replace, insert, delete, rename)
with our index, history, form and refusals. `MemoryTool` for the SDK's tool runner, `AsyncMemoryTool` for its
asynchronous one; both need `memdir[anthropic]`.

The model sees `/memories`; each command is one change that `memdir undo` takes back. What it asked for and cannot have
comes back as an error of the tool, in words that it can act on.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncBuiltinFunctionTool, ToolError

from memdir.agent.tools.file_tools import as_in_file, numbered
from memdir.agent.workspace import Workspace, keeps_pinned, refuse_place
from memdir.disk.safe_path import INDEX_NAME, is_index
from memdir.errors import BadMemoryFile, MemdirError, MemoryNotFound, PathEscape
from memdir.prompts.door import quoted, shown
from memdir.prompts.listing import index_of, manifest, more_than_listed
from memdir.store.form import as_seen, without_fence
from memdir.store.guard import GUARD_FIELD
from memdir.store.history import Origin
from memdir.store.memories import with_text
from memdir.store.secrets.refuse import refuse_secrets
from memdir.store.topic import Topic, guess_type
from memdir.store.trust import doubt_of, is_of_team
from memdir.text.naming import describe, first_words, titled

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaFunctionToolResultType
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818Param,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

    from memdir.memdir import MemDir
    from memdir.store.store import MemoryStore

ROOT = "/memories"
MAX_LISTED = 500  # files of one listing: the rest is counted
_HEADERS = ("---", "+++", "```")  # how a file begins whose writer knows our form, if not well
_FIELD = re.compile(r"[a-z_-]+: ?\S")  # a line of a header
Scope = Literal["project", "user"]


class _Commands:
    """What the commands do, on the store of one scope."""

    def __init__(self, memory: MemDir, scope: Scope, session: str) -> None:
        self._memory, self._scope = memory, scope
        self._origin = Origin("anthropic_tool", session=session)

    def view(self, path: str, lines: list[int] | None) -> str:
        store = self._store()
        key = _key(path)
        if key == INDEX_NAME:
            return index_of(store)
        data = store.read_bytes(key if key.endswith(".md") else key + ".md") if key else None
        if data is None:
            return self._listing(store, key)
        text, sign, place = numbered(data, _window(lines)).rpartition("read on with offset ")
        text += f"read on with view_range [{place}, -1]" if sign and place.isdecimal() else sign + place
        doubt = doubt_of(Topic(data), key)
        return f"{doubt}\n{quoted(text)}" if doubt else shown(text)

    def create(self, path: str, text: str) -> str:
        store, key = self._store(), _file_key(path)
        if store.read_bytes(key) is not None:
            raise BadMemoryFile(f"{_shown(key)} exists already", remedy="Change it with str_replace or insert")
        return f"Created {_shown(key)}" + self._write(store, key, _as_memory(text), f"remember {key}")

    def str_replace(self, path: str, old: str, new: str) -> str:
        store, key = self._store(), _file_key(path)
        current = _read(store, key)
        before, after = as_in_file(current, old, new)
        head, body = _split(current)  # the header repeats words of the text: the text is what the model wrote
        count = (body.count(before) or current.count(before)) if before else 0
        if count != 1:
            remedy = "View the file and copy the text exactly" if count == 0 else "Give more of the text around it"
            raise BadMemoryFile(f"old_str stands in {_shown(key)} {count} times, not once", remedy=remedy)
        changed = head + body.replace(before, after) if before in body else current.replace(before, after)
        return self._edit(store, key, current, changed, is_cut=after.strip() in before)

    def insert(self, path: str, line: int, text: str) -> str:
        store, key = self._store(), _file_key(path)
        current = _read(store, key)
        lines = current.splitlines(keepends=True)
        if not 0 <= line <= len(lines):
            raise BadMemoryFile(f"{_shown(key)} has {len(lines)} lines, so there is no line {line}", remedy="View it")
        if lines and not lines[-1].endswith(b"\n"):
            lines[-1] += b"\n"
        if not _FIELD.match(text):  # whoever counts the lines of its own text means none of the header
            line = max(line, len(_split(current)[0].splitlines()))
        lines.insert(line, text.encode("utf-8", "replace").rstrip(b"\n") + b"\n")
        return self._edit(store, key, current, b"".join(lines))

    def delete(self, path: str) -> str:
        store = self._store()
        keys = self._keys_at(store, path)
        with store.changing(self._origin, f"forget {', '.join(keys)}") as change:
            for key in keys:
                change.delete(key)
                change.drop_entry(key)
        return f"Deleted {', '.join(map(_shown, keys))}. A person can take that back"

    def rename(self, old: str, new: str) -> str:
        store = self._store()
        keys = self._keys_at(store, old)
        is_file = keys == [_key(old)] or keys == [_key(old) + ".md"]
        moves = {key: _file_key(new if is_file else new + key.removeprefix(_key(old))) for key in keys}
        with store.changing(self._origin, f"rename {_key(old)} to {_key(new)}") as change:
            for key, place in moves.items():
                if store.read_bytes(place) is not None:
                    raise BadMemoryFile(f"{_shown(place)} exists already", remedy="Choose another name")
                memory = store.read(key)
                refuse_place(place)
                refuse_secrets(place, b"", None, scope=store.scope)  # in the new name
                change.put_back(place, memory.topic.data, mtime_ns=memory.mtime_ns)  # neither judged again nor newer
                change.put_entry(place, memory.topic)
                change.delete(key)
                change.drop_entry(key)
        return f"Renamed to {', '.join(map(_shown, moves.values()))}"

    def _store(self) -> MemoryStore:
        self._memory.places.require_enabled()
        self._memory.start()
        return self._memory.stores.of(self._scope)

    def _edit(self, store: MemoryStore, key: str, before: bytes, after: bytes, *, is_cut: bool = False) -> str:
        """A header that was made from the text is made again with it."""
        (head, _), (new_head, body) = _split(before), _split(after)
        if head and head == new_head:
            after = with_text(Topic(before), body.decode("utf-8", "surrogateescape")).data
        return f"Edited {_shown(key)}" + self._write(store, key, after, f"edit {key}", is_cut=is_cut)

    def _write(self, store: MemoryStore, key: str, data: bytes, subject: str, *, is_cut: bool = False) -> str:
        """Through the same form and rules as what a fork writes; says what was repaired."""
        files = Workspace([store], rule=keeps_pinned, keeps_lines=True)
        told = files.write(store.path_of(key), data, is_cut=is_cut)
        files.commit(self._origin, subject)
        return f" ({told})" if told else ""

    def _keys_at(self, store: MemoryStore, path: str) -> list[str]:
        """The file, or all below the folder, that a path names; the team's, pinned and guarded ones stay."""
        key = _key(path)
        if not key:
            raise BadMemoryFile(f"{ROOT} itself stays", remedy="Name a file or a folder below it")
        if is_index(key):
            raise BadMemoryFile(f"{_shown(key)} is the index, which keeps itself in step with the files")
        known = [header.key for header in store.scan(limit=None).headers]
        below = [one for one in known if one.startswith(key + "/")]
        found = [one for one in known if one in (key, key + ".md")] or below
        if not found:
            raise _missing(key)
        for one in found:
            _refuse_team(one)
            topic = Topic(store.read_bytes(one) or b"")
            if topic.is_pinned:
                raise BadMemoryFile(f"{_shown(one)} is pinned by a person and stays where it is")
            if GUARD_FIELD in topic.fields:  # which holds where the user set it
                raise BadMemoryFile(f"{_shown(one)} stays where it is: the user set a guard on it")
        return found

    def _listing(self, store: MemoryStore, folder: str) -> str:
        headers = [one for one in store.scan(limit=None).headers if not folder or one.key.startswith(folder + "/")]
        if not headers and folder:
            raise _missing(folder)
        lines = manifest(headers[:MAX_LISTED], scope=self._scope)
        more = more_than_listed(len(headers) - MAX_LISTED) if len(headers) > MAX_LISTED else ""
        count = "1 file" if len(headers) == 1 else f"{len(headers)} files, newest first"
        return f"{_shown(folder)} holds {count}:\n{lines}{more}".rstrip()


def _read(store: MemoryStore, key: str) -> bytes:
    data = store.read_bytes(key)
    if data is None:
        raise _missing(key)
    return data


def _split(data: bytes) -> tuple[bytes, bytes]:
    """A file's header and its text."""
    body = Topic(data).body.encode("utf-8", "surrogateescape")
    return (data[: len(data) - len(body)], body) if body and data.endswith(body) else (b"", data)


def _missing(key: str) -> MemoryNotFound:
    return MemoryNotFound(f"there is no {_shown(key)}", remedy=f"View {ROOT} to see what there is")


def _as_memory(text: str) -> bytes:
    """A model that knows nothing of our form writes plain text: it gets the header that `remember` would give it."""
    text = as_seen(text.encode("utf-8", "replace")).decode()
    if text.lstrip().startswith(_HEADERS) or without_fence(text) != text:
        return text.encode()
    title, rest = titled(text)
    description = describe(rest)
    name = title or first_words(description)
    return Topic.compose(name=name, description=description, kind=guess_type(text), body=text).data


def _key(path: str) -> str:
    """The key that a path names, "" for the whole directory; PathEscape for one outside. What else may name a file the
    store judges, links included."""
    whole = posixpath.normpath(posixpath.join(ROOT, path))
    if whole != ROOT and not whole.startswith(ROOT + "/"):
        raise PathEscape(f"{path!r} is outside {ROOT}", remedy=f"Name files as {ROOT}/name.md")
    return whole[len(ROOT) + 1 :]


def _file_key(path: str) -> str:
    """The key of a file that shall be written: memories are Markdown, and the index keeps itself."""
    key = _key(path)
    stem, ending = posixpath.splitext(key)
    if is_index(key):
        raise BadMemoryFile(f"{_shown(key)} is the index, which keeps itself in step with the files")
    _refuse_team(key)
    if not ending:
        return key + ".md"
    if ending != ".md":
        raise BadMemoryFile(f"{_shown(key)} is not Markdown", remedy=f"Name it {_shown(stem)}.md")
    return key


def _refuse_team(key: str) -> None:
    """What lies there is everybody's, and what others wrote never becomes the user's own: a guard in it would hold."""
    if is_of_team("", key):
        raise BadMemoryFile(f"{_shown(key)} is the team's", remedy=f"Write below {ROOT} itself")


def _shown(key: str) -> str:
    return f"{ROOT}/{key}".rstrip("/")


def _window(lines: list[int] | None) -> Mapping[str, int]:
    """A range of lines as `Read` takes it; the end -1 is the end of the file; what is no range is all of it."""
    is_range = isinstance(lines, list) and len(lines) == 2 and all(isinstance(line, int) for line in lines)
    first, last = lines if lines and is_range else (1, -1)
    first = max(1, first)
    return {"offset": first} if last < 0 else {"offset": first, "limit": max(1, last - first + 1)}


def _answered(do: Callable[..., str], command: object, *names: str) -> str:
    """What a command says to its arguments of these names; its refusal, also where a model left one out, as an error of
    the tool."""
    given = [getattr(command, name, None) for name in names]
    for name, value in zip(names, given, strict=True):
        kind, words = (int, "a whole number") if name == "insert_line" else (str, "a text")
        if not isinstance(value, kind):
            raise ToolError(f"Error: {name} is {'missing' if value is None else f'not {words}'}. Call it again with it")
    try:
        return do(*given)
    except MemdirError as error:
        raise ToolError(f"Error: {error}") from error


class MemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `client.beta.messages.tool_runner(tools=[MemoryTool(memory)], …)`."""

    def __init__(
        self,
        memory: MemDir,
        *,
        scope: Scope = "project",
        session: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._commands = _Commands(memory, scope, session)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return _answered(lambda path: self._commands.view(path, command.view_range), command, "path")

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return _answered(self._commands.create, command, "path", "file_text")

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return _answered(self._commands.str_replace, command, "path", "old_str", "new_str")

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return _answered(self._commands.insert, command, "path", "insert_line", "insert_text")

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return _answered(self._commands.delete, command, "path")

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return _answered(self._commands.rename, command, "old_path", "new_path")


class AsyncMemoryTool(BetaAsyncBuiltinFunctionTool):
    """The same for the asynchronous runner: files are read and written beside the loop."""

    def __init__(
        self,
        memory: MemDir,
        *,
        scope: Scope = "project",
        session: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__()
        self._tool = MemoryTool(memory, scope=scope, session=session, cache_control=cache_control)

    def to_dict(self) -> BetaMemoryTool20250818Param:
        return self._tool.to_dict()

    async def call(self, input: object) -> BetaFunctionToolResultType:  # noqa: A002 - as the SDK calls it
        return await asyncio.to_thread(self._tool.call, input)
