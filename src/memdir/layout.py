"""Every path memdir touches. Nothing else joins path names onto the home or the project.

Paths are plain `str` here and below: this module is loaded by every hook (ADR 0003).
"""

from __future__ import annotations

import os

from memdir.disk.git_root import canonical_root, work_tree_root
from memdir.disk.plain_file import read_if_plain
from memdir.disk.safe_path import INDEX_NAME, has_link_below
from memdir.errors import PathEscape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Literal

    AgentScope = Literal["user", "project", "local"]
    WorktreePolicy = Literal["shared", "isolated"]

MAX_SLUG = 200  # leaves room for a suffix in a 255-byte file name
SLUG_HASH_DIGITS = 12  # enough to keep two long paths apart
MAX_IDENTITY_BYTES = 1 << 20  # a few lines
STATE_SUFFIX = ".state"  # memory/ is the person's; memory.state/ beside it is ours
_SESSION_INDEX = "session-index"
_ATTACHED = "attached"
ATTENDED_NAME = "attended"
_ALLOWED = "allowed.json"
_MAGIC_DOCS = "magic-docs"
_OURS = frozenset(
    ("memory", f"memory{STATE_SUFFIX}", "agents", _SESSION_INDEX, _ATTACHED, _ALLOWED, _MAGIC_DOCS)
)  # folders beside the sessions'
PROJECT_FOLDER = ".memdir"  # what a repository may carry for memdir


class _Below:
    """A path below one of the folders that its owner knows."""

    def __init__(self, folder: str, *names: str) -> None:
        self._folder = folder
        self._names = names

    def __get__(self, owner: Place | Layout, _: object = None) -> str:
        return os.path.join(getattr(owner, self._folder), *self._names)


class _OfSession:
    """A path in the folder of a session, by the session's id."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __get__(self, owner: Layout, _: object = None) -> Callable[[str], str]:
        return lambda session_id: os.path.join(owner.session_folder(session_id), *self._names)


class Place:
    """One memory directory and what stands beside it: the lock, the history, the journal (S13, S14).

    `base` is the directory the history covers: the team directory lies inside its project's and shares its history.
    """

    __slots__ = ("agent", "base", "root", "state", "unshared")

    def __init__(
        self, root: str, *, base: str | None = None, state: str | None = None, unshared: str = "", agent: str = ""
    ) -> None:
        self.root = root
        self.agent = agent  # whose it is, where it is a sub-agent's
        self.unshared = unshared  # the folder around it that git is to leave out, in a repository
        self.base = base or root
        self.state = state or self.base + STATE_SUFFIX

    index = _Below("root", INDEX_NAME)
    logs = _Below("root", "logs")  # the daily logs of a long-running assistant (K1)
    lock = _Below("state", "lock")
    history = _Below("state", "history.git")
    recorded = _Below("state", "recorded")  # what the history's last commit holds, derived to find changes fast
    journal = _Below("state", "journal")
    waiting = _Below("state", "waiting")  # change sets that are on disk and wait for a history that takes them
    identity = _Below("state", "identity.json")
    identity_copy = _Below("state", "identity.copy.json")  # for when that one is damaged: whose is a store then?
    known_of_team = _Below("state", "team", "known.json")  # the team's memories as of the last sync (E4)
    texts_of_team = _Below("state", "team", "texts")  # and their texts: what two changes are merged from
    team_objects = _Below("state", "team", "repository.git")  # what was fetched from a git remote, never the history
    team_member = _Below("state", "team", "member")  # what this machine is called in a shared folder
    proposals_of_team = _Below("state", "team", "proposals")  # how many of the team's dream wait for a yes or no
    team_lists = _Below("state", "team", "lists.json")  # and what its members' lists there said
    team_lock = _Below("state", "team", "lock")
    team_failure = _Below("state", "team", "failure.json")  # why nothing gets through, and since when
    purges_of_team = _Below("state", "team", "purges.json")  # what went with purged members, until somebody was told
    changed_for_team = _Below("state", "team", "changed")  # written to when a command changed something
    distilled = _Below("state", "distilled.json")  # the lines of daily logs that a dream has made memories of
    questions = _Below("state", "questions.json")  # what a dream asks a person, and what was answered
    synced_snapshot = _Below("state", "snapshot.json")  # which snapshot was taken up here last (A3)
    updating = _Below("state", "updating")  # held while magic docs are brought up to date
    agent_note = _Below("state", "agent")  # the name of the sub-agent that was first to write here
    drafts = _Below("state", "drafts")  # where text that could not be saved waits for its author

    @property
    def derived(self) -> str:
        """The index that recall derives from the files; it may be deleted at any time. The team's is one of its own."""
        return os.path.join(self.state, "recall", *self.prefix.split("/")[:-1])

    @property
    def prefix(self) -> str:
        """What stands before a key of this directory in the history's paths ("" or "team/")."""
        return "" if self.root == self.base else os.path.relpath(self.root, self.base).replace(os.sep, "/") + "/"

    def aside_of_team(self, remote: str) -> str:
        """Where the memories of another team lie, and what is known of it, while this project is in this one."""
        named = _sha256()(remote.encode("utf-8", "replace")).hexdigest()[:16]
        return os.path.join(self.state, "team", "aside", named)

    def team(self) -> Place:
        """The team directory inside this one (E1)."""
        return Place(os.path.join(self.root, "team"), base=self.base, state=self.state)


_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")  # of a user's name in a path


class Layout:
    """All paths of one home and one project."""

    __slots__ = ("folder", "home", "project", "slug", "user", "work_tree")

    def __init__(self, home: str, folder: str, *, worktrees: WorktreePolicy = "shared", user: str = "") -> None:
        self.user = user
        self.home = nfc(os.path.abspath(home))
        self.folder = os.path.realpath(folder)
        tree = work_tree_root(folder)
        self.work_tree = tree or self._project_above(self.folder)
        self.project = canonical_root(folder) if tree and worktrees == "shared" else self.work_tree
        self.slug = self._slug_of(self.project)

    projects = _Below("home", "projects")
    session_memory_config = _Below("home", "session-memory", "config")  # the user's own template and prompt (N5)
    logs = _Below("home", "logs")
    event_log = _Below("logs", "events.jsonl")
    ledger = _Below("logs", "ledger.jsonl")
    attach_record = _Below("home", "attached.json")  # the settings of coding agents as they were before we wrote there
    mcp_token = _Below("home", "mcp-token")  # what a client of `memdir mcp --http` has to send
    daemon = _Below("home", "memdir-daemon")  # what keeps the sentence model; the home may be another agent's
    prices = _Below("home", "prices.json")  # the user's own prices of models
    prompts = _Below("home", "prompts")  # the user's own versions of prompts (P8)
    project_commands = _Below("work_tree", PROJECT_FOLDER, "commands")  # those that came with the repository
    project_folder = _Below("work_tree", PROJECT_FOLDER)
    project_agents = _Below("work_tree", PROJECT_FOLDER, "agents")  # definitions of sub-agents that came with it
    project_claude_agents = _Below("work_tree", ".claude", "agents")  # and those for Claude Code
    user_settings = _Below("home", "settings.json")  # the user's, unless the home is another agent's
    settings_beside = _Below("home", "memdir-settings.json")  # the user's, where it is
    default_memory = _Below("project_home", "memory")
    session_index = _Below("project_home", _SESSION_INDEX)  # derived; it may be deleted at any time (R8)
    attached = _Below("project_home", _ATTACHED)  # what hooks of coding agents leave to their worker
    allowed = _Below("project_home", _ALLOWED)  # commands that the person lets run in this project without being asked
    local_settings = _Below("project_home", "settings.json")  # not in the repository, where it may be committed
    project_settings = _Below("work_tree", PROJECT_FOLDER, "settings.json")
    session_state = _OfSession("state.json")  # the little about a session that outlives a crash
    unlearned = _OfSession("unlearned.json")  # turns without a transcript that nothing was learned from yet
    unheard = _OfSession("unheard.json")  # what was said while memory was off, and nobody attends to the session yet
    shown = _OfSession("shown.json")  # which memories it was shown (R1)
    attended = _OfSession(ATTENDED_NAME)  # what is noted of another agent's session
    earlier = _OfSession("earlier")  # there while what was said in one of those before is to be learned
    switched = _OfSession("switched")  # when memory was switched off and on again in one of those
    turn = _OfSession("turn")  # there while a turn of one of those is under way; says whether a sync waits for that
    session_memory = _OfSession("session-memory", "summary.md")  # its notes (N1)
    file_history = _OfSession("file-history")  # earlier contents of the files that it edited (J2)

    def _project_above(self, folder: str) -> str:
        """Without git: the nearest folder above whose store has something to tell, unless this one has a store."""
        if not os.path.isdir(self._memory_of(folder)):
            for above in folders_above(folder):
                memory = self._memory_of(above)
                if holds_memories(memory) and root_of_store(memory) is not None:
                    return above
        return folder

    def _memory_of(self, project: str) -> str:
        return os.path.join(self.projects, self._slug_of(project), "memory")

    def _slug_of(self, project: str) -> str:
        """The name of a project's folder. Where another project was first to have that name, it gets a hash (S3)."""
        plain = slug_of(nfc(project))
        folder = os.path.join(self.projects, plain)
        known = root_of_store(os.path.join(folder, "memory"))
        if known is not None and is_same_folder(known, project):
            return plain
        apart = slug_of(nfc(project), is_taken=True)
        is_taken = known is not None and is_named_after(folder, known)
        return apart if is_taken or os.path.isdir(os.path.join(self.projects, apart)) else plain

    @property
    def project_home(self) -> str:
        """What memdir keeps for this project: its memory, its sessions, its local settings."""
        return os.path.join(self.projects, self.slug)

    @property
    def user_memory(self) -> Place:
        """Memories of the person, for all projects."""
        return Place(os.path.join(self._of_person, "memory"))

    @property
    def _of_person(self) -> str:
        """Where what holds in all projects lies: for each of several people apart, where a host names them."""
        return os.path.join(self.home, "users", _folder_of_user(self.user)) if self.user else self.home

    def hub_token(self, remote: str) -> str:
        """The token for a team of a hub."""
        return os.path.join(self.home, "hub-tokens", _sha256()(remote.encode("utf-8", "replace")).hexdigest()[:16])

    def agent_memory(self, agent: str, scope: AgentScope) -> Place:
        """A sub-agent's own memory (A1), unless one whose name makes the same folder, `a:b` and `a-b`, was first."""
        place = self._agent_place(agent, scope)
        first = _first_agent(place)
        if first not in ("", agent):
            raise PathEscape(
                f"{agent!r} would share the memory of {first!r}: {place.root}", remedy="Rename one of the two agents"
            )
        return place

    def _agent_place(self, agent: str, scope: AgentScope) -> Place:
        """What lies in the repository keeps its lock and history in the home."""
        name = safe_agent_name(agent)
        if name != agent.replace(":", "-") or name.lower().endswith(STATE_SUFFIX):  # none shares another's folder
            ends = f"no '.' in front, no '{STATE_SUFFIX}' behind"
            raise PathEscape(
                f"{agent!r} is no name for an agent's memory",
                remedy=f"Use letters (a-z), digits and . _ - : (at most {MAX_SLUG} of them, {ends})",
            )
        root = os.path.join(self._agent_folders[scope], name)
        if scope == "user":
            return Place(root, agent=agent)
        state = os.path.join(self.project_home, "agents", self._tree(""), f"{scope}-{name}{STATE_SUFFIX}")
        if has_link_below(self.work_tree, root):
            raise PathEscape(f"a part of {root} is a link", remedy="Remove the link; it came with the repository")
        unshared = os.path.dirname(root) if scope == "local" else ""
        return Place(root, state=state, unshared=unshared, agent=agent)

    @property
    def _agent_folders(self) -> dict[AgentScope, str]:
        return {
            "user": os.path.join(self._of_person, "agent-memory"),
            "project": os.path.join(self.project_folder, "agent-memory"),
            "local": os.path.join(self.project_folder, "agent-memory-local"),
        }

    def agent_scopes(self) -> Iterator[str]:
        """The scopes of the sub-agents that have a memory here; what is no agent's folder is left out."""
        for where, folder in self._agent_folders.items():
            scope = "agent" if where == "user" else f"agent-{where}"
            for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
                try:
                    place = self._agent_place(name, where)
                except PathEscape:
                    continue
                if os.path.isdir(place.root):
                    yield f"{scope}:{_first_agent(place) or name}"

    def agent_snapshot(self, agent: str) -> str:
        """What the project carries of what a sub-agent learned (A3)."""
        return os.path.join(self.project_folder, "agent-memory-snapshots", safe_agent_name(agent))

    @property
    def magic_docs(self) -> Place:
        """Copies of a work tree's magic docs as updates found and left them, for their history (M3)."""
        return Place(os.path.join(self.project_home, _MAGIC_DOCS, self._tree("main")))

    def _tree(self, main: str) -> str:
        """The folder of what is kept about files in the work tree. A linked worktree has files of its own; the main one
        keeps its place when the project is moved."""
        return main if self.work_tree == self.project else slug_of(nfc(self.work_tree))

    def session(self, session_id: str) -> str:
        """The transcript of a session. Ids come from hosts: one that could lead elsewhere is refused."""
        return f"{self.session_folder(session_id)}.jsonl"

    def session_folder(self, session_id: str) -> str:
        """What belongs to a session besides its transcript."""
        if not is_session_id(session_id):
            raise PathEscape(
                f"{session_id!r} cannot be the id of a session", remedy="Use letters, digits, `-`, `_` and `.`"
            )
        return os.path.join(self.project_home, session_id)

    def subagent(self, session_id: str, agent_id: str) -> str:
        """The side chain of a sub-agent (J2)."""
        return os.path.join(self.session_folder(session_id), "subagents", f"agent-{safe_agent_name(agent_id)}.jsonl")

    @property
    def instruction_files(self) -> tuple[str, ...]:
        """The files in which a project instructs its agents (H3)."""
        names = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md", os.path.join(".claude", "CLAUDE.md"))
        return tuple(os.path.join(self.work_tree, name) for name in names)


def _sha256() -> Callable[[bytes], Any]:
    """What `hashlib` is made of: the package itself loads OpenSSL, a tenth of a bare start (ADR 0003)."""
    for name in ("_sha2", "_sha256", "hashlib"):
        try:
            found: Callable[[bytes], Any] = __import__(name).sha256
            return found
        except ImportError:  # another version of Python
            continue
    raise AssertionError("every Python has hashlib")


def is_session_id(name: str) -> bool:
    """Whether a name is one harmless file name and none of ours: a session `memory` would share their folder."""
    is_plain = all(c.isalnum() or c in "._- " for c in name) and len(name) <= MAX_SLUG
    return is_plain and bool(name.strip(". ")) and name[0] not in ". " and name not in _OURS


def nfc(path: str) -> str:
    """One spelling for one path, whatever the file system does to accents (S1)."""
    if path.isascii():
        return path
    import unicodedata

    return unicodedata.normalize("NFC", path)


def slug_of(path: str, *, is_taken: bool = False) -> str:
    """The project's folder name: every character outside [A-Za-z0-9] becomes a dash (S3).

    A character beyond the Basic Multilingual Plane becomes two dashes, as in the JavaScript agents whose homes we
    share. What is too long, or taken by a project whose path gives the same name, gets a hash.
    """
    slug = "".join(c if c.isascii() and c.isalnum() else "--" if ord(c) > 0xFFFF else "-" for c in path)
    if len(slug) <= MAX_SLUG and not is_taken:
        return slug
    digest = _sha256()(path.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{slug[:MAX_SLUG]}-{digest[:SLUG_HASH_DIGITS]}"


def is_named_after(folder: str, project: str) -> bool:
    """Whether a folder below `projects` has its name from this project; one that was moved there has another's."""
    names = (slug_of(nfc(project), is_taken=is_taken) for is_taken in (False, True))
    return any(is_same_folder(os.path.join(os.path.dirname(folder), name), folder) for name in names)


def root_of_store(memory: str) -> str | None:
    """The project that a store says it belongs to; None where it does not say."""
    place = Place(memory)
    if not os.path.lexists(place.identity):
        return None
    return _root_in(place.identity) or _root_in(place.identity_copy)


def _root_in(path: str) -> str | None:
    from memdir.disk.plain_json import decode

    found = decode(read_if_plain(path, MAX_IDENTITY_BYTES) or b"")
    root = found.get("root") if isinstance(found, dict) else None
    return root if isinstance(root, str) and root else None


def holds_memories(memory: str) -> bool:
    """Whether a memory directory has something to tell: an index alone has not."""
    return any(memory_files(memory))


def memory_files(memory: str) -> Iterator[str]:
    """The paths of the memories in a directory, below it."""
    for folder, folders, files in os.walk(memory):
        found = (name for name in files if name.endswith(".md") and name != INDEX_NAME)
        yield from (os.path.relpath(os.path.join(folder, name), memory) for name in found)
        folders[:] = [name for name in folders if not name.startswith(".")]


def is_same_folder(one: str, other: str) -> bool:
    """Whether two paths lead to one folder, however a disk spells accents and capitals."""
    if one == other:
        return True
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return nfc(one) == nfc(other)  # one of them is gone


def folders_above(folder: str) -> Iterator[str]:
    """The folders above that may be a project this one is in: ours alone, and never the person's home or above it."""
    home, above = os.path.realpath(os.path.expanduser("~")), os.path.dirname(folder)
    while home not in (folder, above) and above != os.path.dirname(above) and _is_ours(above):
        yield above
        folder, above = above, os.path.dirname(above)


def _is_ours(folder: str) -> bool:
    """Whether nobody else can put anything there: not a folder like /tmp, nor one of another person."""
    try:
        status = os.stat(folder)
    except OSError:
        return False
    return os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o002)


def _folder_of_user(user: str) -> str:
    """A folder of one's own for each name: nobody's may be another's, on a disk that folds cases too."""
    try:
        encoded = user.encode()
    except UnicodeEncodeError:
        raise PathEscape(f"the user {user[:40]!r} holds half a character", remedy="Give the name as text") from None
    name = "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02x}" for byte in encoded)
    if len(name) > MAX_SLUG:
        raise PathEscape(f"the user {user[:40]!r}… has too long a name", remedy="Give an id, or a hash of the name")
    return name


def _first_agent(place: Place) -> str:
    """The sub-agent that was first to write there; empty where nobody did."""
    return (read_if_plain(place.agent_note, MAX_SLUG) or b"").decode("utf-8", "replace")


def safe_agent_name(agent: str) -> str:
    """An agent's name as one harmless folder name (A2)."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in agent).lstrip(".")
    if not name.strip("-. "):
        raise PathEscape(
            f"the agent name {agent!r} has no letter or digit", remedy="Name the agent with letters and digits"
        )
    return name[:MAX_SLUG]
