"""What memdir offers an MCP client: seven tools, the memories as resources, two prompts. Every call goes through the
front door, so the gates are those of everywhere: secrets, form, pins, trust.

What is about the user is kept once for all their projects (T1), all else for this one: a rule that an agent was talked
into must not follow its user into every other project. `memdir move` is a person's way to do that.
"""

from __future__ import annotations

from memdir.errors import MemdirError, MemoryNotFound, SecretRefused
from memdir.mcp_server.protocol import INVALID_PARAMS, NO_RESOURCE, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from memdir.memdir import MemDir
    from memdir.store.memory_file import Memory
    from memdir.store.scan import Header
    from memdir.store.topic import Topic

    Arguments = Mapping[str, Any]
    Result = dict[str, Any]

PAGE = 100  # resources of one page
LISTED = 50  # memories of one page of the tool, where nobody says otherwise
SCHEME = "memdir://"
INSTRUCTIONS = (
    "memdir keeps what this user and this project said in earlier sessions, with any agent, as Markdown files that "
    "they can read, edit and undo. Recall or search before you ask what they may have told already; remember what will "
    "matter in later sessions, and no secrets. What a memory says may be out of date: check what it names."
)
_INDEXES = {"project": "The index", "user": "The index of the user's own memories, for all projects"}
_SCOPES = tuple(_INDEXES)


class MemoryOffers:
    """Opens the memory with the first call that needs it: a client waits for the answer to `initialize`."""

    def __init__(self, open_memory: Callable[[], MemDir]) -> None:
        self._open = open_memory
        self._opened: MemDir | None = None
        self._listed: dict[str, list[Result]] = {}
        self._calls: dict[str, Callable[[Arguments], tuple[str, Result]]] = {
            "search": self._search,
            "recall": self._recall,
            "remember": self._remember,
            "update": self._update,
            "forget": self._forget,
            "list": self._list,
            "why": self._why,
        }

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS if self._is_on else ""

    @property
    def _is_on(self) -> bool:
        """Whether memory is on here: where it is off, nothing is offered. Settings that cannot be read are told to who
        calls a tool."""
        try:
            return self._opened_now().settings.enabled
        except MemdirError:
            return True

    @property
    def _memory(self) -> MemDir:
        return self._opened or self._opened_now()

    def _opened_now(self) -> MemDir:
        """The memory as the settings are with this request: a person may have turned it off since the last one."""
        now, before = self._open(), self._opened
        if before is None or (now.place.root, vars(now.settings)) != (before.place.root, vars(before.settings)):
            self._opened = now
        return self._memory

    # Tools

    def listed(self, what: str) -> Result:
        """The tools, the prompts, or the resourceTemplates: always the same, and none where memory is off."""
        return {what: self._shipped(what) if self._is_on else []}

    def _shipped(self, what: str) -> list[Result]:
        if not self._listed:
            import json

            from memdir.disk.shipped import shipped_text

            self._listed = json.loads(shipped_text("mcp_server/offers.json"))
        return self._listed[what]

    def call(self, name: str, arguments: Arguments) -> Result:
        """What a tool answers. What it refuses is told to the model, which can do better; only a tool that does not
        exist is the client's fault."""
        schema = next((tool["inputSchema"] for tool in self._shipped("tools") if tool["name"] == name), None)
        if schema is None:
            raise RpcError(INVALID_PARAMS, f"there is no tool {name[:100]!r}")
        fault = _fault(schema, arguments)
        if fault:
            return _told(fault, is_error=True)
        try:
            self._opened_now()
            text, found = self._calls[name](arguments)
        except SecretRefused as error:  # the way around it is a person's
            return _told(f"{error.message}. Leave it out and say where it is kept instead", is_error=True)
        except MemoryNotFound as error:  # whoever calls has these tools, no shell
            from memdir.store.memories import LISTING

            return _told(str(error).replace(LISTING, "`search` and `list` tell the file names"), is_error=True)
        except MemdirError as error:
            return _told(str(error), is_error=True)
        return {**_told(text), "structuredContent": found}

    def _search(self, arguments: Arguments) -> tuple[str, Result]:
        limit = arguments.get("limit", 10)
        matches = self._memory.search(arguments["query"], limit=limit, scope=arguments.get("scope", "all"))
        found = [self._about(match.key, match.topic, match.scope, match.snippet) for match in matches]
        return _lines(found) or "No memory fits that.", {"memories": found}

    def _recall(self, arguments: Arguments) -> tuple[str, Result]:
        from memdir.recall.recall import RecallRequest, Shown

        memory = self._memory
        memory.places.require_enabled()
        recaller = memory.recallers.of()
        request = RecallRequest(arguments["message"], shown=Shown("mcp"))
        shown = recaller.show(recaller.prepare(request, recaller.choose(request)))
        text = "\n\n".join([one.text for one in shown]) or "No memory clearly helps with that."
        return text, {"memories": [{"file": one.memory.key, "scope": one.scope} for one in shown]}

    def _remember(self, arguments: Arguments) -> tuple[str, Result]:
        from memdir.disk.safe_path import is_inside

        parts = {part: arguments[part] for part in ("name", "description") if part in arguments}
        added = self._memory.add(arguments["text"], arguments.get("type"), scope=None, **parts)
        key = added.memory.key
        is_own = not is_inside(added.memory.path, self._memory.place.root)
        told = f"Kept as {key}" if added.is_new else f"{key} says just that already"
        whose = ", for all projects of the user" if is_own else ""
        return told + whose, {"file": key, "scope": _SCOPES[is_own], "isNew": added.is_new}

    def _update(self, arguments: Arguments) -> tuple[str, Result]:
        """As a fork writes: what the text leaves out and does not replace stays (ADR 0055)."""
        from datetime import datetime

        from memdir.agent.workspace import Workspace, keeps_pinned
        from memdir.memdir import MODEL_CALLS
        from memdir.remember.lineage import is_of_person
        from memdir.store.history import Origin
        from memdir.store.memories import require_words, with_text

        memory, scope = self._require_ours(arguments["memory"])
        store = self._memory.stores.to_write(scope)
        text, description = arguments["text"], arguments.get("description", "")
        if scope == "user" and not is_of_person(text, description, now=datetime.now().astimezone()):
            told = f"{memory.key} holds in all projects, and that text is not about the user alone"
            raise MemdirError(told, remedy="`remember` keeps it for this project")
        require_words(text, description)
        files = Workspace([store], keeps_pinned, keeps_lines=True)
        told = files.write(memory.path, with_text(memory.topic, text, description=description).data)
        (key,) = (draft.key for draft in files.drafts.values())
        files.commit(Origin(MODEL_CALLS, trust="assistant"), f"edit {key}")
        return f"Updated {key}" + (f" ({told})" if told else ""), {"file": key}

    def _forget(self, arguments: Arguments) -> tuple[str, Result]:
        from memdir.store.guard import GUARD_FIELD

        memory, scope = self._require_ours(arguments["memory"])
        if GUARD_FIELD in memory.topic.fields:
            raise MemdirError(f"{memory.key} stays: the user set a guard on it", remedy="They can `memdir forget` it")
        key = self._memory.forget(memory.key, scope=scope)
        return f"Deleted {key}. A person can take that back with `memdir undo`", {"file": key}

    def _require_ours(self, name: str) -> tuple[Memory, str]:
        """A memory that a client may change, and its scope, by its whole name: a part that happens to fit would hit
        another. Not the team's, the user's own for all projects unless clients alone wrote it, or a pinned one."""
        from memdir.memdir import MODEL_CALLS
        from memdir.store.trust import is_of_team

        scope = self._scope_of(name)
        memory = self._memory.get(name, scope=scope)
        changes = self._memory.why(memory.key, scope=scope).get(memory.key, ()) if scope == "user" else ()
        if scope == "user" and {commit.source for commit in changes} != {MODEL_CALLS}:
            told = f"{name} is the user's own for all projects and stays as it is"
            raise MemdirError(told, remedy="They can change it")
        if name.strip() not in (memory.key, memory.key.removesuffix(".md"), memory.path, memory.topic.name):
            remedy = f"Did you mean {memory.key}? Give its whole file name"
            raise MemoryNotFound(f"there is no memory {name!r}", remedy=remedy)
        if is_of_team("project", memory.key):
            raise MemdirError(f"{memory.key} is the team's and stays as it is", remedy="A person can change it")
        if memory.topic.is_pinned:
            raise MemdirError(f"{name} is pinned by a person and stays as it is", remedy="They can change it")
        return memory, scope

    def _scope_of(self, name: str) -> str:
        """Where a file of that name stands, which `search` tells of in both."""
        key = f"{name.removesuffix('.md')}.md"
        in_project, in_users = (any(key == one.key for one in _headers(self._memory, scope)) for scope in _SCOPES)
        return "user" if in_users and not in_project else "project"

    def _list(self, arguments: Arguments) -> tuple[str, Result]:
        wanted = arguments.get("scope", "all")
        known = [
            (scope, header)
            for scope in (_SCOPES if wanted == "all" else (wanted,))
            for header in _listed(self._memory, scope, arguments.get("type"))
        ]
        shown, after = _page(known, arguments.get("cursor", ""), arguments.get("limit", LISTED))
        found = [self._about(header.key, header, scope) for scope, header in shown]
        more = f"\nMore with cursor {after!r}" if after else ""
        return (_lines(found) or "There is none.") + more, {
            "memories": found,
            **({"nextCursor": after} if after else {}),
        }

    def _about(self, key: str, memory: Topic | Header, scope: str, snippet: str = "") -> Result:
        """With the guard that the user set: a client without hooks has its model mind it (Q1)."""
        from memdir.prompts.door import shown_line

        guard = self._memory.guards.of(memory, key, scope=scope)
        return {**_about(key, memory, scope, snippet), **({"guard": shown_line(str(guard))} if guard else {})}

    def _why(self, arguments: Arguments) -> tuple[str, Result]:
        from memdir.prompts.door import shown_line
        from memdir.store.scan import iso_time

        name = arguments["memory"]
        changes = self._memory.why(name, scope=arguments.get("scope") or self._scope_of(name))
        found = [
            {
                "file": key,
                "change": commit.id,
                "time": iso_time(commit.time),
                "what": shown_line(commit.subject),
                "source": shown_line(commit.source),
                "session": shown_line(commit.trailers.get("Session", "")),
            }
            for key, commits in changes.items()
            for commit in commits
        ]
        lines = [f"- {one['time']} {one['file']}: {one['what']} (by {one['source']})" for one in found]
        return "\n".join(lines) or "Its history knows nothing of it.", {"changes": found}

    # Resources

    def resources(self, cursor: str) -> tuple[list[Result], str]:
        """The indexes, then every memory, the project's first."""
        memory = self._opened_now()
        if not memory.settings.enabled:
            return [], ""
        known = [(scope, header) for scope in _SCOPES for header in _headers(memory, scope)]
        shown, after = _page(known, cursor, PAGE)
        found = [_resource(scope, header) for scope, header in shown]
        indexes = [
            {"uri": f"{SCHEME}{scope}/MEMORY.md", "name": "MEMORY.md", "title": title, "mimeType": "text/markdown"}
            for scope, title in _INDEXES.items()
        ]
        return ([] if cursor else indexes) + found, after

    def read(self, uri: str) -> list[Result]:
        from urllib.parse import unquote

        from memdir.prompts.door import quoted, shown
        from memdir.prompts.listing import index_of
        from memdir.store.trust import doubt_of

        scope, _, key = unquote(uri.removeprefix(SCHEME)).partition("/")
        if not uri.startswith(SCHEME) or scope not in _SCOPES or not key:
            raise RpcError(NO_RESOURCE, f"there is no resource {uri[:200]!r}", {"uri": uri[:200]})
        try:
            self._opened_now().places.require_enabled()
            store = self._memory.stores.of(scope)
            if key == "MEMORY.md":
                text = index_of(store)
            else:
                topic = store.read(key).topic
                body, doubt = topic.data.decode("utf-8", "replace"), doubt_of(topic, key)
                text = f"{doubt}\n{quoted(body)}" if doubt else shown(body)
        except MemoryNotFound:
            raise RpcError(NO_RESOURCE, f"there is no memory {key[:200]!r}", {"uri": uri[:200]}) from None
        except MemdirError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None
        return [{"uri": uri, "mimeType": "text/markdown", "text": text}]

    # Prompts

    def prompt(self, name: str, arguments: Arguments) -> Result:
        if name == "memory":
            memory = self._opened_now()
            text = f"{memory.prompt()}\n\n{memory.context()}".strip()
        elif name == "recall":
            message = arguments.get("message")
            if not isinstance(message, str) or not message.strip():
                raise RpcError(INVALID_PARAMS, "the prompt `recall` needs a message")
            text = str(self.call("recall", {"message": message})["content"][0]["text"])
        else:
            raise RpcError(INVALID_PARAMS, f"there is no prompt {name[:100]!r}")
        content = {"type": "text", "text": text or "Memory is off."}
        return {"messages": [{"role": "user", "content": content}]}


def _told(text: str, *, is_error: bool = False) -> Result:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _about(key: str, memory: Topic | Header, scope: str, snippet: str = "") -> Result:
    """What a listing tells of a memory; of one that nobody here vouched for only where it is from (L3)."""
    from memdir.prompts.door import shown_line
    from memdir.store.trust import doubt_of

    kind = memory.fields.get("type", "")
    told = {"file": key, "scope": scope, "type": shown_line(kind), "name": shown_line(memory.name)}
    doubt = doubt_of(memory)
    return {
        **told,
        "description": doubt or shown_line(memory.description, room=400),
        **({"snippet": shown_line(snippet, room=400)} if snippet and not doubt else {}),
    }


def _lines(found: Sequence[Result]) -> str:
    lines = []
    for one in found:
        whose = " (the user's own, for all projects)" if one["scope"] == "user" else ""
        more = f"\n  {one['snippet']}" if one.get("snippet") and one["snippet"] != one["description"] else ""
        guard = f"\n  The user set a guard: {one['guard']}" if "guard" in one else ""
        lines.append(f"- {one['file']}{whose}: {one['description'] or one['name']}{more}{guard}")
    return "\n".join(lines)


def _listed(memory: MemDir, scope: str, kind: str | None = None) -> Sequence[Header]:
    """Those that recall covers: not what a team left here, while it is switched off (E1)."""
    from memdir.disk.safe_path import TEAM_PREFIX

    found = memory.list(kind, scope=scope)
    return [one for one in found if memory.places.has_team or not one.key.startswith(TEAM_PREFIX)]


def _headers(memory: MemDir, scope: str) -> Sequence[Header]:
    try:
        return _listed(memory, scope)
    except MemdirError:  # what is wrong with one scope hides none of the other
        return []


def _resource(scope: str, header: Header) -> Result:
    from urllib.parse import quote

    about = _about(header.key, header, scope)
    uri = f"{SCHEME}{scope}/{quote(header.key)}"
    return {
        "uri": uri,
        "name": header.key,
        "title": about["name"],
        "description": about["description"],
        "mimeType": "text/markdown",
    }


def _page(items: Sequence[Any], cursor: str, size: int) -> tuple[Sequence[Any], str]:
    """One page, and the cursor of the next where there is one."""
    start = int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 10 else 0 if not cursor else -1
    if start < 0:
        raise RpcError(INVALID_PARAMS, "that cursor is none of ours")
    after = start + size
    return items[start:after], str(after) if after < len(items) else ""


def _fault(schema: Result, arguments: Arguments) -> str:
    """What is wrong with the arguments of a call, in words that a model can act on."""
    known = schema["properties"]
    strange = [name for name in arguments if name not in known]
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if strange or missing:
        takes = ", ".join(f"{name} (needed)" if name in schema.get("required", ()) else name for name in known)
        wrong = f"there is no argument {strange[0][:100]!r}" if strange else f"{missing[0]} is missing"
        return f"{wrong}. It takes {takes}"
    return next(
        (fault for name, value in arguments.items() if (fault := _fault_of_value(name, known[name], value))), ""
    )


def _fault_of_value(name: str, schema: Result, value: object) -> str:
    if schema["type"] == "integer":
        low, high = schema["minimum"], schema["maximum"]
        is_right = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return "" if is_right else f"{name} has to be a whole number from {low} to {high}"
    if not isinstance(value, str):
        return f"{name} has to be a text"
    if "enum" in schema and value not in schema["enum"]:
        return f"{name} has to be one of {', '.join(schema['enum'])}"
    if len(value) > schema.get("maxLength", len(value)):
        return f"{name} may have {schema['maxLength']:,} characters, and has {len(value):,}"
    return f"{name} is empty" if schema.get("minLength") and not value.strip() else ""
