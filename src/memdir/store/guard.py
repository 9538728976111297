"""A guard: the rule that a machine can check, which a person may hang on a feedback memory (Q1).

    guard: block shell(git push --force)

One line of the frontmatter: `warn` or `block`, a tool, a pattern. Here is its form, and whose memory may carry one: not
what a model wrote, nor what came from a page, the team or a repository (ADR 0062). Who wrote the line, the history
tells. What it fits is judged in `guard/tool_call.py`.
"""

from __future__ import annotations

from memdir.errors import BadMemoryFile, HistoryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from memdir.store.history import Commit
    from memdir.store.scan import Header
    from memdir.store.store import MemoryStore
    from memdir.store.topic import Topic

GUARD_FIELD = "guard"
ACTIONS = ("warn", "block")
MAX_PATTERN = 300  # characters: a line that a person can read, and a bound on what matching costs
MAX_WORDS = 20  # of a pattern
TOLD_TWICE = 2  # turns in which the user said a rule: more than once, so it was broken
LEARNED = "extract"  # what the history calls changes that came from the user's words
BY_HAND = "cli"  # and those that a person made by a command, `memdir guard add` and `memdir edit` among them
BROUGHT_BACK = ("undo", "restore")  # and those that say what an earlier one said
NOT_SET = "the history does not show that a person set it"
FORM = "Write it as: guard: warn shell(git push --force); the first word is warn or block, then a tool and a pattern"


class Guard:
    """What is checked before a tool runs, and whether a breach is told or refused."""

    def __init__(self, action: str, tool: str, pattern: str) -> None:
        self.action = action
        self.tool = tool
        self.pattern = pattern

    def __str__(self) -> str:
        """The line as it stands in a file."""
        return f"{self.action} {self.tool}({self.pattern})" if self.pattern else f"{self.action} {self.tool}"


def parse_guard(text: str) -> Guard:
    """The guard that a line stands for; BadMemoryFile for what is none. Who names no action wants to be warned."""
    first, _, rest = text.strip().partition(" ")
    action, told = (first.lower(), rest.strip()) if first.lower() in ACTIONS else ("warn", text.strip())
    tool, bracket, pattern = told.partition("(")
    pattern = " ".join(pattern.strip().removesuffix(")").split())
    tool = tool.strip()
    why = ": the bracket is not closed" if bracket and not told.endswith(")") else ""
    if not tool or not all(c.isalnum() or c in "_-.:*" for c in tool) or why:
        raise BadMemoryFile(f"{_cut(text)!r} is no guard{why}", remedy=FORM)
    if len(pattern) > MAX_PATTERN or len(pattern.split()) > MAX_WORDS:
        told = f"the pattern of a guard has at most {MAX_WORDS} words and {MAX_PATTERN} characters"
        raise BadMemoryFile(told, remedy="Name the words that make the breach, and * for what may stand between")
    if not tool.strip("*") and not pattern.strip("* "):
        raise BadMemoryFile(f"{_cut(text)!r} would fit every call of every tool", remedy=FORM)
    return Guard(action, tool, pattern)


def why_not(memory: Topic | Header, *, key: str, scope: str) -> str:
    """Why what a file says of a guard does not hold; empty where it may."""
    from memdir.store.trust import has_mark, is_of_team

    if is_of_team(scope, key) or scope not in ("project", "user"):
        return "a guard is a person's own, and others write here too"
    if has_mark(memory):
        return "nobody here vouched for this memory: it carries a mark `trust:`"
    if memory.fields.get("type", "").strip().lower() != "feedback":
        return "only a feedback memory can have a guard"
    try:
        parse_guard(memory.fields.get(GUARD_FIELD, ""))
    except BadMemoryFile as error:
        return error.message
    return ""


def guard_of(memory: Topic | Header, *, key: str, scope: str) -> Guard | None:
    """The guard of a memory that may have one; None where there is none that holds."""
    text = memory.fields.get(GUARD_FIELD)
    if text is None or why_not(memory, key=key, scope=scope):
        return None
    return parse_guard(text)


def guards_among(store: MemoryStore, memories: Mapping[str, Topic | Header]) -> dict[str, tuple[Guard, Topic]]:
    """The guards of these memories, by key, that a person set, each with the memory as they wrote it."""
    told = {key: guard_of(one, key=key, scope=store.scope) for key, one in memories.items()}
    guards = {key: guard for key, guard in told.items() if guard is not None}
    known = set_by_person(store, guards) if guards else {}
    return {key: (guard, known[key]) for key, guard in guards.items() if key in known}


class Guards:
    """The guards that a person set for themselves; what lies in the project's own folder (not `is_own`) came with it,
    and has none."""

    def __init__(self, store_of: Callable[[str], MemoryStore], is_own: Callable[[str], bool]) -> None:
        self._store_of = store_of
        self._is_own = is_own

    def of(self, memory: Topic | Header, key: str, *, scope: str = "project") -> Guard | None:
        """The guard that a memory carries: what is checked before a tool runs; None where it has none."""
        found = guards_among(self._store_of(scope), {key: memory}) if self._is_own(scope) else {}
        return found.get(key, (None, None))[0]

    def all(self, scope: str = "project") -> dict[str, tuple[Guard, Topic]]:
        """Those of a scope, by key, each with the memory as the person wrote it."""
        if not self._is_own(scope):
            return {}
        store = self._store_of(scope)
        return guards_among(store, {one.key: one for one in store.scan(limit=None).headers})

    def those_of(self, scopes: Sequence[str]) -> Sequence[tuple[Guard, Topic]]:
        """Those of several scopes, as they are told."""
        return [one for scope in scopes for one in self.all(scope).values()]


def set_by_person(store: MemoryStore, guards: Mapping[str, Guard]) -> dict[str, Topic]:
    """Of these guards, by their keys, those that a person set here, each with the memory as that person last wrote it:
    what a model or another program made of its text since is no word of theirs. None where no history can be read."""
    from memdir.store.topic import Topic

    paths = {store.place.prefix + key: key for key in guards}
    found: dict[str, list[tuple[Commit, Topic, Topic]]] = {}
    try:
        for commit, files in store.history.with_texts(store.history.log(*paths) if paths else [], paths.__contains__):
            for file, before, after in files:
                found.setdefault(paths[file.path], []).append((commit, Topic(before), Topic(after)))
    except HistoryError:
        return {}
    known = {key: _as_set(versions, str(guards[key])) for key, versions in found.items()}
    return {key: topic for key, topic in known.items() if topic is not None}


def _as_set(versions: Iterable[tuple[Commit, Topic, Topic]], line: str) -> Topic | None:
    """The newest text by a person of a memory, if one set this line on it and none took it off since. The newest change
    comes first."""
    newest: Topic | None = None
    is_back = False
    for commit, before, after in versions:
        was, now = _line_of(before), _line_of(after)
        is_by_hand = commit.source == BY_HAND and commit.trailers.get("Trust") == "user" and bool(before.data)
        if is_by_hand and now == line:
            newest = newest or after
        if was == now:
            continue
        if is_by_hand and now == line:
            return newest
        is_back |= commit.source in BROUGHT_BACK and now == line
        if is_by_hand and not is_back:
            return None
    return None


def _line_of(topic: Topic) -> str:
    try:
        return str(parse_guard(topic.fields.get(GUARD_FIELD, "")))
    except BadMemoryFile:
        return ""


def what_sets(key: str, line: str, scope: str) -> str:
    """The command that sets a guard, to be pasted into a shell: words of a memory in it are quoted."""
    import shlex

    from memdir.text.printable import one_line

    return shlex.join(("memdir", "guard", "add", one_line(key), one_line(line), "--scope", scope))


def proposals(store: MemoryStore) -> Iterator[tuple[str, Guard, int]]:
    """The feedback of a store that the user said more than once and that names something to check: its key, a guard,
    and how often. Nothing is ever set by itself. What was said again word for word leaves no trace, and counts not."""
    from contextlib import suppress  # a hook loads none of it

    told: dict[str, set[tuple[str, str]]] = {}  # the messages in which a person said it, however often they were read
    with suppress(HistoryError):  # none, or a damaged one, tells nothing
        for commit in store.history.log():
            for file in commit.files if commit.source == LEARNED else ():
                lines = commit.lines_of(file.path).items()
                said = {(session, one) for session, ids in lines for one in ids}
                told.setdefault(file.path, set()).update(said or {("", commit.id)})
    for header in store.scan(limit=None).headers:
        times = len(told.get(store.place.prefix + header.key, ()))
        if times >= TOLD_TWICE and GUARD_FIELD not in header.fields:
            guard = _suggested(store, header)
            if guard is not None:
                yield header.key, guard, times


def _suggested(store: MemoryStore, header: Header) -> Guard | None:
    """The guard that the words of a memory suggest: by a command or a file in backquotes, or an option."""
    import re

    from memdir.store.trust import has_mark, is_of_team

    if header.type != "feedback" or has_mark(header) or is_of_team(store.scope, header.key):
        return None
    text = "".join(f"{one.topic.description}\n{one.topic.body}" for one in store.readable([header]))
    spans = [span.strip() for span in re.findall(r"`([^`\n]{2,80})`", text)]
    for span in spans:
        if re.fullmatch(r"[\w.*~-]*/[\w./*-]*|[\w*-]+\.\w{1,5}", span):
            return Guard("warn", "write", span)
        if re.fullmatch(r"[a-z][\w.+-]*(?: [^()]+)?", span):
            return Guard("warn", "shell", span)
    options = re.findall(r"(?<![\w-])--[a-z][\w-]+", text)
    return Guard("warn", "shell", f"* {options[0]}") if options else None


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
