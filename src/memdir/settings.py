"""Settings: five layers, how far each is trusted (S2), whether memory is on (S5). The only reader of the environment.

Strongest first: managed policy, command-line flags, local (this machine, this project), user, project (committed).
A repository may switch memory or dreaming off and say whether there is an index, nothing else (`of_project`).
"""

from __future__ import annotations

import os
import sys

from memdir.disk.plain_file import read_plain, reason_of
from memdir.disk.shipped import shipped_lines
from memdir.errors import SettingsError, UsageError
from memdir.layout import MAX_SLUG, Layout, holds_memories, is_same_folder, memory_files, nfc, root_of_store, slug_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from memdir.layout import WorktreePolicy

    Layer = Literal["managed", "flags", "local", "user", "project"]
    Value = bool | int | str | None

LAYERS: tuple[Layer, ...] = ("managed", "flags", "local", "user", "project")
UNTRUSTED: Layer = "project"
MAX_SETTINGS_BYTES = 1 << 20  # a settings file larger than this is a mistake or an attack

# Homes of agents that keep their memories as we do. `settings.json` there is theirs, and `model` may be in it as well.
OTHER_AGENTS = (".claude", ".qwen", ".codex", ".gemini")
_OTHERS_NAMES = frozenset(("$schema", "$version", "permissions", "hooks", "env", "mcpServers", "apiKeyHelper")) | {
    *("statusLine", "outputStyle", "theme", "cleanupPeriodDays", "includeCoAuthoredBy", "autoMemoryEnabled"),
    *("enabledPlugins", "general", "security", "ui", "tools", "context", "privacy", "ide", "mcp", "telemetry"),
    *("advanced", "experimental", "selectedAuthType", "preferredEditor"),
}
_SHARED_NAME = "model"
_MISSPELT = 0.85  # as near as a typing error is to what was meant

_UNKNOWN = "there is no such setting"
_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off"))


class Option:
    """One setting: its name in files, its type, its default, what it does, and the values a repository may give it."""

    def __init__(self, line: str) -> None:
        self.name, kinds, default, of_project, self.doc = (part.strip() for part in line.split("|", 4))
        self.attribute = "".join(f"_{c.lower()}" if c.isupper() else "_" if c == "." else c for c in self.name)
        self.kind, *choices = kinds.split()
        self.choices = tuple(choices)
        self.default: Value = _from_text(self.kind, default) if default else None
        self.of_project = tuple(value == "true" for value in of_project.split())


def _from_text(kind: str, text: str) -> Value:
    """A flag's text as the value it stands for; left as it is where it stands for none."""
    if kind == "bool" and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    return int(text) if kind == "int" and text.isdecimal() else text


OPTIONS = tuple(map(Option, shipped_lines("settings.txt")))
_BY_NAME = {option.name: option for option in OPTIONS}


class Refusal:
    """A value that was found and not used, and why."""

    __slots__ = ("layer", "name", "path", "reason")

    def __init__(self, name: str, layer: Layer, path: str, reason: str) -> None:
        self.name = name
        self.layer = layer
        self.path = path
        self.reason = reason

    @property
    def is_unknown(self) -> bool:
        """Whether the name is nobody's: it may belong to a newer memdir."""
        return self.reason.startswith(_UNKNOWN)


class Environment:
    """What the process environment says, read once (docs/reference/settings.md): `home` is memdir's, `keys` names the
    keys that are there, `colour` is whether colours are wanted, None where it does not say."""

    def __init__(self, variables: Mapping[str, str], *, bare: bool = False) -> None:
        self.remote = _is_on(variables, "MEMDIR_REMOTE")
        storage = variables.get("MEMDIR_REMOTE_STORAGE", "") if self.remote else ""

        def path(name: str, *otherwise: str) -> str:
            return _expand(variables.get(name) or os.path.join(*otherwise), variables)

        self.home = path("MEMDIR_HOME", storage or os.path.join("~", ".memdir"))
        self.directory = _full_path(variables)
        self.disabled = _is_on(variables, "MEMDIR_DISABLE")
        self.remote = self.remote and not storage
        self.bare = bare
        self.no_daemon = _is_on(variables, "MEMDIR_NO_DAEMON")
        self.runtime = variables.get("XDG_RUNTIME_DIR", "")
        self.is_forgiving = False  # for who tells what is wrong with the settings, and must not stop at it
        self.editor = variables.get("VISUAL") or variables.get("EDITOR") or ""
        self.colour = _wants_colour(variables)
        self.width = variables.get("COLUMNS", "")
        self.claude_home = path("CLAUDE_CONFIG_DIR", "~", ".claude")
        self.claude_project = variables.get("CLAUDE_PROJECT_DIR", "")  # where it was started, told to its hooks
        self.is_headless_claude = variables.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk-")  # `claude -p`
        # It names a prompt to its hooks; and to whom other sessions write, where a person has one open.
        self.is_headless_qwen = "QWEN_CODE_PROMPT_ID" in variables and "QWEN_CODE_MESSAGING_SOCKET" not in variables
        self.codex_home = path("CODEX_HOME", "~", ".codex")
        self.gemini_home = os.path.join(path("GEMINI_CLI_HOME", "~"), ".gemini")
        self.qwen_home = path("QWEN_HOME", "~", ".qwen")
        # What Qwen Code writes at work, sessions and memories, may lie elsewhere than its settings.
        self.qwen_runtime = path("QWEN_RUNTIME_DIR", self.qwen_home)
        # Where those keep memories of their own that keep them as we do, and which of them do not.
        self.memory_homes = {"claude": self.claude_home, "qwen": path("QWEN_CODE_MEMORY_BASE_DIR", self.qwen_runtime)}
        self.has_local_qwen_memory = variables.get("QWEN_CODE_MEMORY_LOCAL") == "1"
        scope = variables.get("QWEN_CODE_MEMORY_PROJECT_SCOPE", "").strip().lower()
        self.has_qwen_memory_by_folder = scope == "workspace"  # of the very one that it was started in
        self.without_memory = ("claude",) if _is_on(variables, "CLAUDE_CODE_DISABLE_AUTO_MEMORY") else ()
        data, config = path("XDG_DATA_HOME", "~", ".local", "share"), path("XDG_CONFIG_HOME", "~", ".config")
        self.opencode_database = path("OPENCODE_DB", data, "opencode", "opencode.db")
        self.opencode_home = path("OPENCODE_CONFIG_DIR", config, "opencode")
        self.claude_state = os.path.join(path("CLAUDE_CONFIG_DIR", "~"), ".claude.json")  # where its servers are
        # Which agent calls a hook, by the mark that it leaves; Codex leaves none.
        marks = {"GEMINI_SESSION_ID": "gemini", "QWEN_CODE_CLI": "qwen", "CLAUDECODE": "claude"}
        self.caller = next((agent for mark, agent in marks.items() if variables.get(mark)), "codex")
        shells = {"CLAUDECODE": "claude", "GEMINI_CLI": "gemini", "QWEN_CODE": "qwen", "CODEX_TOOL_CALL_ID": "a shell"}
        shells |= {} if "OPENCODE_TERMINAL" in variables else {"OPENCODE": "opencode"}  # one there is a person's
        self._shells = {agent for mark, agent in shells.items() if variables.get(mark)}
        self.search_path = variables.get("PATH", "")
        self.anthropic_key = variables.get("ANTHROPIC_API_KEY", "")
        self.openai_key = variables.get("OPENAI_API_KEY", "")

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the keys that are there."""
        found = {"ANTHROPIC_API_KEY": self.anthropic_key, "OPENAI_API_KEY": self.openai_key}
        return tuple(name for name, key in found.items() if key)

    def has_person(self, agent: str) -> bool:
        """Whether a person may talk to an agent, and not another in whose shell it runs, by the marks of those."""
        return self._shells <= {agent}

    @staticmethod
    def read(*, bare: bool = False, home: str = "") -> Environment:
        return Environment(
            {**os.environ, "MEMDIR_HOME": os.path.abspath(os.path.expanduser(home))} if home else os.environ, bare=bare
        )


class Settings:
    """The settings in force, frozen: an attribute each (`dream.hours` is `dream_hours`, docs/reference/settings.md).
    `enabled` says whether memory is on, `origins` which layer each value came from."""

    memory_enabled: bool
    memory_directory: str | None
    memory_home: str
    dream_enabled: bool
    daily_log: bool
    skip_index: bool
    worktrees: WorktreePolicy
    event_log: bool
    event_log_max_bytes: int
    recall_selector: str
    recall_encoder: str
    recall_model: str | None
    extract_every_turns: int
    extract_model: str | None
    dream_hours: int
    dream_sessions: int
    dream_max_lost_percent: int
    dream_model: str | None
    model_provider: str
    model_name: str | None
    model_base_url: str | None
    model_api: str
    model_command: str
    model_context_tokens: int
    attach_model: str
    auto_compact: bool
    compact_percent: int
    magic_docs: bool
    team_enabled: bool
    team_remote: str | None
    team_member: str | None
    team_max_entries: int
    team_max_entry_bytes: int
    team_max_bytes: int
    budget_tokens_per_day: int
    budget_tokens_per_project: int
    budget_cents_per_day: int

    enabled: bool
    off_because: str
    turn_on: str
    origins: Mapping[str, str]
    refused: tuple[Refusal, ...]

    def __init__(
        self,
        values: Mapping[str, Value],
        *,
        origins: Mapping[str, str],
        refused: tuple[Refusal, ...],
        off_because: str,
        turn_on: str = "",
    ) -> None:
        self.__dict__.update({option.attribute: values.get(option.name, option.default) for option in OPTIONS})
        self.__dict__.update(origins=origins, refused=refused, off_because=off_because, turn_on=turn_on)
        self.__dict__["enabled"] = not off_because

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are frozen: {name} cannot be changed")

    def switched_as(self, others: Settings) -> Settings:
        """These, on or off as others say."""
        found = object.__new__(Settings)
        switch = {"enabled": others.enabled, "off_because": others.off_because, "turn_on": others.turn_on}
        found.__dict__.update({**self.__dict__, **switch})
        return found

    def value(self, option: Option) -> Value:
        value: Value = getattr(self, option.attribute)
        return value


def managed_settings_path() -> str:
    """Where an administrator puts the policy of a machine."""
    if sys.platform == "darwin":
        return "/Library/Application Support/memdir/settings.json"
    if sys.platform == "win32":
        return os.path.join(os.environ.get("PROGRAMDATA", r"C:\ProgramData"), "memdir", "settings.json")
    return "/etc/memdir/settings.json"


def settings_files(environment: Environment, layout: Layout) -> dict[Layer, str]:
    """The file of each layer. Where the home is another agent's, the user's own stands beside that agent's, which is
    not read (S3)."""
    is_beside = is_anothers_home(environment, layout) or os.path.lexists(layout.settings_beside)
    return {
        "managed": managed_settings_path(),
        "local": layout.local_settings,
        "user": layout.settings_beside if is_beside else layout.user_settings,
        "project": layout.project_settings,
    }


def settings_stamp(layout: Layout) -> Sequence[tuple[int, int, int] | None]:
    """What tells whether any of the files is another one than before, without reading it."""
    found: list[tuple[int, int, int] | None] = []
    own = (layout.local_settings, layout.user_settings, layout.settings_beside, layout.project_settings)
    for path in (managed_settings_path(), *own):
        try:
            status = os.stat(path)
            found.append((status.st_mtime_ns, status.st_size, status.st_ino))
        except OSError:
            found.append(None)
    return found


def is_anothers_home(environment: Environment, layout: Layout) -> bool:
    """Whether the home is that of an agent that keeps its memories as we do: by its name, or by what its settings
    file holds: names of such an agent's, or several that nobody here knows, and none that only memdir has."""
    names = {os.path.basename(layout.home), os.path.basename(os.path.realpath(layout.home))}
    if names & set(OTHER_AGENTS) or layout.home in (environment.claude_home, environment.codex_home):
        return True
    if ".memdir" in names or not os.path.lexists(layout.user_settings):
        return False
    try:
        found = {name.partition(".")[0] for name in read_settings(layout.user_settings)}
    except (SettingsError, RecursionError):
        return False  # ours, as far as anybody knows, and told to be broken
    ours = {option.name.partition(".")[0] for option in OPTIONS}
    if (found & ours) - {_SHARED_NAME}:
        return False
    strange = found - ours
    return bool(strange & _OTHERS_NAMES) or (len(strange) > 1 and not any(_near(one, _MISSPELT) for one in strange))


def load_settings(
    environment: Environment, layout: Layout, *, flags: Mapping[str, str] | None = None, managed_path: str | None = None
) -> Settings:
    """Read all layers and settle each value; a broken project file is refused, a broken trusted one is an error,
    or refused, too, where the environment is forgiving."""
    strict = not environment.is_forgiving
    values: dict[str, Value] = {}
    origins: dict[str, Layer] = {}
    refused: list[Refusal] = []
    paths = {**settings_files(environment, layout), "flags": "the flags (--set, or flags= of open_memory)"}
    if managed_path is not None:
        paths["managed"] = managed_path
    for layer in LAYERS:
        path = paths[layer]
        found = dict(flags or {}) if layer == "flags" else _read_layer(layer, path, refused, strict=strict)
        for name, raw in found.items():
            option, reason, value = _judge(name, raw, layer)
            if option is None or reason:
                _refuse(Refusal(name, layer, path, reason), refused, strict=strict)
            elif name not in values:
                values[name] = value
                origins[name] = layer
    off_because, turn_on = _why_off(environment, values, origins, paths)
    return Settings(values, origins=origins, refused=tuple(refused), off_because=off_because, turn_on=turn_on)


def option_named(name: str) -> Option:
    """The setting of that name; UsageError when there is none."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    raise UsageError(f"there is no setting {name!r}{_no_such(name)}", remedy="`memdir config list` shows them all")


def checked_value(name: str, text: str, layer: Layer) -> Value:
    """The value that a text stands for, to be written into a layer's file; SettingsError when it may not be there."""
    value = _from_text(option_named(name).kind, text)
    reason = _judge(name, value, layer)[1] if text.strip() else "it is empty; --unset takes a setting out"
    if reason:
        raise SettingsError(f"{name} cannot be {text!r}: {reason}", remedy="`memdir config list` tells what it does")
    return value


def read_settings(path: str) -> dict[str, object]:
    """What a settings file holds, as it is written; SettingsError when it holds something else."""
    try:
        data = read_plain(path, max_bytes=MAX_SETTINGS_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SettingsError(f"it cannot be read: {reason_of(error)}") from error
    import json

    try:
        found = json.loads(data.decode("utf-8-sig")) if data.strip() else {}
    except (ValueError, RecursionError) as error:
        raise SettingsError(str(error)) from error
    if not isinstance(found, dict):
        raise SettingsError("it must hold one JSON object")
    return found


def memory_root(environment: Environment, settings: Settings, layout: Layout) -> str:
    """The project's memory directory, first match wins (S1)."""
    pointed = environment.directory or settings.memory_directory
    return nfc(pointed or root_in_place(environment, settings, layout) or layout.default_memory)


def root_in_place(environment: Environment, settings: Settings, layout: Layout) -> str:
    """The directory of an agent that is served in place (Q2); "" where none is, where it is another project's (S3), and
    where this project has memories in the home: nobody should miss those."""
    root = kept_with(environment, settings.memory_home, layout)
    return "" if not root or holds_memories(layout.default_memory) else nfc(root)


def kept_with(environment: Environment, agent: str, layout: Layout) -> str:
    """Where an agent keeps its memories of a project; "" where it keeps none, or they are another project's (S3)."""
    root = _kept_at(environment.memory_homes.get(agent, ""), layout.project)
    known = root_of_store(root) if root else None
    return "" if known is not None and not is_same_folder(known, layout.project) else root


def left_with(environment: Environment, agent: str, layout: Layout, root: str) -> tuple[str, int]:
    """Where an agent keeps memories of this project, and how many of them are not among those in `root`."""
    folder = kept_with(environment, agent, layout)
    names = memory_files(folder) if folder and not is_same_folder(folder, root) else ()
    return folder, sum(not os.path.exists(os.path.join(root, name)) for name in names)


def own_memory(environment: Environment, layout: Layout, agent: str) -> str:
    """The directory whose memories an agent shows its model by itself; "" where it has none, or that is off, for this
    project, say. By the words in its settings alone: a hook asks, and they may hold comments."""
    home = environment.memory_homes.get(agent)
    if not home or agent in environment.without_memory:
        return ""
    own = {"claude": environment.claude_home, "qwen": environment.qwen_home}[agent]
    switch = {"claude": b"autoMemoryEnabled", "qwen": b"enableManagedAutoMemory"}[agent]
    here = os.path.join(layout.work_tree, f".{agent}")
    files = ((here, "settings.local.json"), (here, "settings.json"), (own, "settings.json"))
    local, shared, text = (_words_in(os.path.join(*path)) for path in files)
    if any(said.startswith(b"false") for said in (_said(local, switch) or _said(shared, switch), _said(text, switch))):
        return ""  # a repository switches it off at most: what it says is no reason to be silent
    pointed = _said(text, b"autoMemoryDirectory")
    if pointed.startswith(b'"'):
        return os.path.expanduser(pointed[1:].partition(b'"')[0].decode("utf-8", "replace"))
    if agent == "qwen" and environment.has_local_qwen_memory:
        return os.path.join(here, "memory")
    of_qwen = layout.folder if environment.has_qwen_memory_by_folder else layout.work_tree
    return _kept_at(home, of_qwen if agent == "qwen" else layout.project)  # Qwen looks at no other worktree


def _words_in(path: str) -> bytes:
    """What an agent's settings hold; nothing where they cannot be read."""
    try:
        return read_plain(path, max_bytes=MAX_SETTINGS_BYTES)
    except OSError:
        return b""


def _kept_at(home: str, folder: str) -> str:
    """Where an agent keeps its memories of a project; "" where a name is so long that each shortens it as it likes."""
    slug = slug_of(nfc(folder))
    return os.path.join(home, "projects", slug, "memory") if home and len(slug) <= MAX_SLUG else ""


def _said(text: bytes, name: bytes) -> bytes:
    """What stands behind a name in JSON with comments, the last time that it is there; a text is gone through once."""
    if name not in text:
        return b""
    found, at, signs = b"", 0, dict.fromkeys((b'"', b"//", b"/*"), -1)
    while at < len(text):
        signs = {sign: place if place >= at else text.find(sign, at) % (len(text) + 1) for sign, place in signs.items()}
        start, sign = min((place, sign) for sign, place in signs.items())
        end = {b'"': b'"', b"//": b"\n", b"/*": b"*/"}[sign]
        at = text.find(end, start + len(sign))
        while sign == end and at > 0 and (at - start - len(text[start:at].rstrip(b"\\"))) % 2:
            at = text.find(end, at + 1)  # an escaped one
        if at < 0:
            break
        at += len(end)
        if text[start:at] == b'"' + name + b'"' and (rest := text[at:].lstrip()).startswith(b":"):
            found = rest[1:].lstrip()
    return found


def is_of_other_agent(environment: Environment, layout: Layout, root: str) -> bool:
    """Whether a memory directory lies in a home that another agent owns: that agent sees the project's directory, and
    none for all projects."""
    return any(part in OTHER_AGENTS for part in root.split(os.sep)) or is_anothers_home(environment, layout)


def _why_off(
    environment: Environment, values: Mapping[str, Value], origins: Mapping[str, Layer], paths: Mapping[Layer, str]
) -> tuple[str, str]:
    """Why memory is off, and what turns it on again; nothing when it is on."""
    if environment.disabled:
        return "MEMDIR_DISABLE is set", "Unset MEMDIR_DISABLE"
    if environment.bare:
        return "--bare was given", "Leave --bare out"
    if environment.remote:
        told = "this is a remote session without persistent storage (MEMDIR_REMOTE)"
        return told, "Set MEMDIR_REMOTE_STORAGE to a folder that outlives this machine"
    if values.get("memoryEnabled") is False:
        layer = origins["memoryEnabled"]
        return f"memoryEnabled is false in the {layer} settings ({paths[layer]})", _turned_on(layer)
    return "", ""


def _turned_on(layer: Layer) -> str:
    if layer == "managed":
        return "That is a policy of this machine"
    if layer == "flags":
        return "Leave memoryEnabled=false out of the flags"
    taken_out = (
        f"`memdir config set memoryEnabled --unset{'' if layer == 'user' else f' --layer {layer}'}` takes it out"
    )
    here = "`memdir config set memoryEnabled true --layer local` turns it on for this project alone"
    return taken_out if layer == "local" else f"{taken_out}; {here}"


def _read_layer(layer: Layer, path: str, refused: list[Refusal], *, strict: bool) -> dict[str, object]:
    try:
        if layer == UNTRUSTED and (os.path.islink(path) or os.path.islink(os.path.dirname(path))):
            raise SettingsError("it cannot be read: it is reached by a link, and a repository's links are not followed")
        return _flattened(read_settings(path))
    except (SettingsError, RecursionError) as error:
        _refuse(Refusal("", layer, path, str(error)), refused, strict=strict)
        return {}


def _flattened(found: dict[str, object], prefix: str = "") -> dict[str, object]:
    """`{"recall": {"selector": "local"}}` and `{"recall.selector": "local"}` say the same."""
    flat: dict[str, object] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            flat.update(_flattened(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


def _refuse(refusal: Refusal, refused: list[Refusal], *, strict: bool) -> None:
    """Report what cannot be used. A file the user controls must be right; a repository's file is merely not used."""
    if refusal.layer == UNTRUSTED or ((refusal.is_unknown or not strict) and refusal.layer != "flags"):
        refused.append(refusal)
        return
    where = f"{refusal.name} in {refusal.path}" if refusal.name else f"the settings file {refusal.path}"
    raise SettingsError(
        f"{where} cannot be used: {refusal.reason}", remedy="Repair it; `memdir config list` lists every setting"
    )


def _judge(name: str, raw: object, layer: Layer) -> tuple[Option | None, str, Value]:
    option = _BY_NAME.get(name)
    if option is None:
        return None, f"{_UNKNOWN}{_no_such(name)}", None
    if layer == UNTRUSTED and not any(raw is value for value in option.of_project):
        return option, _why_not_of_project(option), None
    if isinstance(raw, str) and layer == "flags":
        raw = _from_text(option.kind, raw)
    reason = _fault_of_value(option, raw)
    if reason:
        return option, reason, None
    value: Value = raw  # type: ignore[assignment]  # _fault_of_value has seen to it
    return option, "", _expand(str(value), os.environ) if option.kind == "path" and value else value


def _why_not_of_project(option: Option) -> str:
    if not option.of_project:
        return "a repository may not decide it: only that memory or dreaming is off, and whether there is an index"
    return "it must be true or false" if True in option.of_project else "a repository may set it to false only"


def _fault_of_value(option: Option, raw: object) -> str:
    if raw is None:
        return "" if option.default is None else "null is not a value"
    if option.kind == "bool":
        return "" if isinstance(raw, bool) else "it must be true or false"
    if option.kind == "int":
        return "" if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 0 else "it must be a whole number"
    if not isinstance(raw, str) or "\0" in raw:
        return "it must be text"
    if option.kind == "choice" and raw not in option.choices:
        return f"it must be one of {', '.join(option.choices)}"
    if option.kind == "path" and not os.path.isabs(_expand(raw, os.environ)):
        return "it must be an absolute path, or start with ~/"
    return ""


def _near(name: str, cutoff: float = 0.6) -> list[str]:
    """The setting of the nearest name, where one is as near."""
    import difflib

    return difflib.get_close_matches(name, list(_BY_NAME), n=1, cutoff=cutoff)


def _no_such(name: str) -> str:
    close = _near(name)
    return f" (did you mean {close[0]}?)" if close else ""


def _is_on(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "").strip().lower() not in _FALSE | {""}


def _full_path(variables: Mapping[str, str]) -> str | None:
    raw = variables.get("MEMDIR_DIRECTORY", "")
    if not raw:
        return None
    path = _expand(raw, variables)
    if not os.path.isabs(path):
        raise SettingsError(
            f"MEMDIR_DIRECTORY={raw} is not a full path", remedy="Give it from the root, like /srv/agent/memory"
        )
    return os.path.normpath(path)


def _expand(path: str, variables: Mapping[str, str]) -> str:
    if path == "~" or path.startswith(("~/", "~" + os.sep)):
        return os.path.join(variables.get("HOME") or os.path.expanduser("~"), path[2:])
    return path


def _wants_colour(variables: Mapping[str, str]) -> bool | None:
    """True or False where the user said so, None where the terminal decides."""
    if variables.get("NO_COLOR"):
        return False
    if variables.get("FORCE_COLOR") or variables.get("CLICOLOR_FORCE", "0") != "0":
        return True
    return False if variables.get("TERM") == "dumb" else None


def login_name() -> str:
    """Who uses this machine, as it calls them."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no entry for this user, as in a bare container
        return "somebody"


def provider_of(settings: Settings) -> str:
    """The provider in force: the one that a person chose, and the built-in model until then. A key is no choice."""
    return "builtin" if settings.model_provider == "auto" else settings.model_provider
