"""Settings: five layers, how far each is trusted (S2), whether memory is on (S5). The only reader of the environment.

Strongest first: managed policy, command-line flags, local (this machine, this project), user, project (committed).
A repository may switch memory or dreaming off and say whether there is an index, nothing else (`of_project`).
"""

from __future__ import annotations

import os
import sys

from memdir.disk.plain_file import NotPlain, read_plain, reason_of
from memdir.errors import SettingsError
from memdir.layout import Layout, nfc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from memdir.layout import WorktreePolicy

    Kind = Literal["bool", "int", "text", "path", "choice"]
    Layer = Literal["managed", "flags", "local", "user", "project"]
    Value = bool | int | str | None

LAYERS: tuple[Layer, ...] = ("managed", "flags", "local", "user", "project")
UNTRUSTED: Layer = "project"
MAX_SETTINGS_BYTES = 1 << 20  # a settings file larger than this is a mistake or an attack

_UNKNOWN = "there is no such setting"
_TRUE = frozenset(("1", "true", "yes", "on"))
_FALSE = frozenset(("0", "false", "no", "off"))


class Option:
    """One setting: its name in files, its type, its default, what it does, and the values a repository may give it."""

    __slots__ = ("attribute", "choices", "default", "doc", "kind", "name", "of_project")

    def __init__(
        self,
        name: str,
        kind: Kind,
        default: Value,
        *,
        doc: str,
        of_project: tuple[bool, ...] = (),
        choices: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.attribute = "".join(f"_{c.lower()}" if c.isupper() else "_" if c == "." else c for c in name)
        self.kind = kind
        self.default = default
        self.doc = doc
        self.of_project = of_project
        self.choices = choices


OPTIONS: tuple[Option, ...] = (
    Option(
        "memoryEnabled", "bool", True, of_project=(False,), doc="Whether memories are read and written at all (S5)."
    ),
    Option(
        "memoryDirectory",
        "path",
        None,
        doc="The memory directory of the project, `~/` expanded; without it `<home>/projects/<slug>/memory` (S1).",
    ),
    Option(
        "dreamEnabled",
        "bool",
        True,
        of_project=(False,),
        doc="Whether memories are consolidated in the background (S5).",
    ),
    Option(
        "skipIndex",
        "bool",
        False,
        of_project=(True, False),
        doc="Write topic files only and leave `MEMORY.md` alone (S12).",
    ),
    Option(
        "worktrees",
        "choice",
        "shared",
        choices=("shared", "isolated"),
        doc="Whether all worktrees of a repository share one memory, or each has its own (S3, I2).",
    ),
    Option("eventLog", "bool", True, doc="Whether events are appended to `<home>/logs/events.jsonl` (V1)."),
    Option(
        "eventLogMaxBytes", "int", 1_000_000, doc="The size at which the event log is rotated; three old ones are kept."
    ),
    Option(
        "recall.selector",
        "choice",
        "auto",
        choices=("auto", "local", "model"),
        doc="Who chooses memories: this machine, a model, or a model where one is configured (R2, R3).",
    ),
    Option(
        "recall.encoder",
        "choice",
        "auto",
        choices=("auto", "words"),
        doc="Whether a process that stays uses the sentence model of the extra `minilm` where it is installed (R3).",
    ),
    Option(
        "extract.everyTurns",
        "int",
        1,
        doc="Extraction runs after every so many finished turns (X2).",
    ),
    Option("dream.hours", "int", 24, doc="Hours between two dreams (D1)."),
    Option("dream.sessions", "int", 5, doc="Sessions since the last dream that make another one due (D1)."),
    Option(
        "dream.maxLostPercent",
        "int",
        25,
        doc="A dream that would lose more of the facts than this is refused (D7).",
    ),
    Option(
        "model.provider",
        "choice",
        "auto",
        choices=("auto", "anthropic", "openai", "command", "builtin"),
        doc="Who answers. `auto`: the first provider whose key is in the environment, else the built-in model.",
    ),
    Option("model.name", "text", None, doc="The model's name at its provider."),
    Option(
        "model.baseUrl",
        "text",
        None,
        doc="Another server that speaks the provider's API: Ollama, vLLM, llama.cpp, OpenRouter …",
    ),
    Option(
        "model.api",
        "choice",
        "chat",
        choices=("chat", "responses"),
        doc="Which of OpenAI's two dialects to speak.",
    ),
    Option(
        "model.command",
        "choice",
        "claude",
        choices=("claude", "codex"),
        doc="The program that is the model when `model.provider` is `command`.",
    ),
    Option(
        "model.contextTokens",
        "int",
        0,
        doc="The size of the model's window in tokens; 0: what is known of the model by its name.",
    ),
    Option(
        "autoCompact",
        "bool",
        True,
        doc="Whether a conversation is compacted before it outgrows the model's window; without it there is no session "
        "memory either (N3, N7).",
    ),
    Option(
        "compact.percent",
        "int",
        80,
        doc="The share of the model's window at which a conversation is compacted, in percent (N7).",
    ),
    Option(
        "budget.tokensPerDay",
        "int",
        2_000_000,
        doc="Tokens a day for background work in all projects; 0: no limit (B2).",
    ),
    Option(
        "budget.tokensPerProject",
        "int",
        1_000_000,
        doc="Tokens a day for background work in one project; 0: no limit (B2).",
    ),
    Option(
        "budget.centsPerDay",
        "int",
        200,
        doc="US cents a day for background work, by list price; 0: no limit (B2).",
    ),
)


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
    """What the process environment says, read once."""

    __slots__ = (
        "anthropic_key",
        "bare",
        "claude_home",
        "codex_home",
        "colour",
        "directory",
        "disabled",
        "editor",
        "home",
        "is_forgiving",
        "openai_key",
        "remote",
        "width",
    )

    def __init__(self, variables: Mapping[str, str], *, bare: bool = False) -> None:
        self.remote = _is_on(variables, "MEMDIR_REMOTE")
        storage = variables.get("MEMDIR_REMOTE_STORAGE", "") if self.remote else ""
        self.home = _expand(variables.get("MEMDIR_HOME") or storage or os.path.join("~", ".memdir"), variables)
        self.directory = _full_path(variables)
        self.disabled = _is_on(variables, "MEMDIR_DISABLE")
        self.remote = self.remote and not storage
        self.bare = bare
        self.is_forgiving = False  # for who tells what is wrong with the settings, and must not stop at it
        self.editor = variables.get("VISUAL") or variables.get("EDITOR") or ""
        self.colour = _wants_colour(variables)
        self.width = variables.get("COLUMNS", "")
        self.claude_home = _expand(variables.get("CLAUDE_CONFIG_DIR") or os.path.join("~", ".claude"), variables)
        self.codex_home = _expand(variables.get("CODEX_HOME") or os.path.join("~", ".codex"), variables)
        self.anthropic_key = variables.get("ANTHROPIC_API_KEY", "")
        self.openai_key = variables.get("OPENAI_API_KEY", "")

    @staticmethod
    def read(*, bare: bool = False) -> Environment:
        return Environment(os.environ, bare=bare)


class Settings:
    """The settings in force, frozen, each with the layer it came from."""

    __slots__ = (
        "_frozen",
        "enabled",
        "off_because",
        "origins",
        "refused",
        "turn_on",
        *(option.attribute for option in OPTIONS),
    )

    memory_enabled: bool
    memory_directory: str | None
    dream_enabled: bool
    skip_index: bool
    worktrees: WorktreePolicy
    event_log: bool
    event_log_max_bytes: int
    recall_selector: str
    recall_encoder: str
    extract_every_turns: int
    dream_hours: int
    dream_sessions: int
    dream_max_lost_percent: int
    model_provider: str
    model_name: str | None
    model_base_url: str | None
    model_api: str
    model_command: str
    model_context_tokens: int
    auto_compact: bool
    compact_percent: int
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
        put = object.__setattr__
        for option in OPTIONS:
            put(self, option.attribute, values.get(option.name, option.default))
        put(self, "origins", origins)
        put(self, "refused", refused)
        put(self, "off_because", off_because)
        put(self, "turn_on", turn_on)
        put(self, "enabled", not off_because)
        put(self, "_frozen", True)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are frozen: {name} cannot be changed")

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


def load_settings(
    environment: Environment,
    layout: Layout,
    *,
    flags: Mapping[str, str] | None = None,
    managed_path: str | None = None,
) -> Settings:
    """Read all layers and settle each value; a broken project file is refused, a broken trusted one is an error,
    or refused, too, where the environment is forgiving."""
    strict = not environment.is_forgiving
    values: dict[str, Value] = {}
    origins: dict[str, str] = {}
    refused: list[Refusal] = []
    paths: dict[Layer, str] = {
        "managed": managed_path if managed_path is not None else managed_settings_path(),
        "flags": "the command line",
        "local": layout.local_settings,
        "user": layout.user_settings,
        "project": layout.project_settings,
    }
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


def memory_root(environment: Environment, settings: Settings, layout: Layout) -> str:
    """The project's memory directory, first match wins (S1)."""
    return nfc(environment.directory or settings.memory_directory or layout.default_memory)


def _why_off(
    environment: Environment, values: Mapping[str, Value], origins: Mapping[str, str], paths: Mapping[Layer, str]
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
        layer = next(layer for layer in LAYERS if layer == origins["memoryEnabled"])
        return f"memoryEnabled is false in the {layer} settings ({paths[layer]})", _turned_on(layer, paths)
    return "", ""


def _turned_on(layer: Layer, paths: Mapping[Layer, str]) -> str:
    if layer in ("managed", "flags"):
        return "That is a policy of this machine" if layer == "managed" else "Leave --set memoryEnabled=false out"
    stronger = "" if layer == "local" else f', or say "memoryEnabled": true in {paths["local"]}, which goes before it'
    return f"Take it out of {paths[layer]}{stronger}"


def _read_layer(layer: Layer, path: str, refused: list[Refusal], *, strict: bool) -> dict[str, object]:
    try:
        if layer == UNTRUSTED and (os.path.islink(path) or os.path.islink(os.path.dirname(path))):
            raise NotPlain("it is reached by a link, and a repository's links are not followed")
        data = read_plain(path, max_bytes=MAX_SETTINGS_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        _refuse(Refusal("", layer, path, f"it cannot be read: {reason_of(error)}"), refused, strict=strict)
        return {}
    import json

    try:
        found = json.loads(data.decode("utf-8-sig")) if data.strip() else {}
        if not isinstance(found, dict):
            raise TypeError("it must hold one JSON object")
        return _flattened(found)
    except (ValueError, TypeError, RecursionError) as error:
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
        f"{where} cannot be used: {refusal.reason}", remedy="Mend it; `memdir settings` lists every setting"
    )


def _judge(name: str, raw: object, layer: Layer) -> tuple[Option | None, str, Value]:
    option = next((option for option in OPTIONS if option.name == name), None)
    if option is None:
        return None, f"{_UNKNOWN}{_nearest(name)}", None
    if layer == UNTRUSTED and not any(raw is value for value in option.of_project):
        return option, _why_not_of_project(option), None
    if isinstance(raw, str) and layer == "flags":
        raw = _from_text(option, raw)
    reason = _fault_of_value(option, raw)
    if reason:
        return option, reason, None
    value: Value = raw  # type: ignore[assignment]  # _fault_of_value has seen to it
    return option, "", _expand(str(value), os.environ) if option.kind == "path" and value else value


def _why_not_of_project(option: Option) -> str:
    if option.of_project:
        return (
            "a repository may set it to false only (S2)" if len(option.of_project) == 1 else "it must be true or false"
        )
    return "a repository may not decide it: only that memory or dreaming is off, and whether there is an index (S2)"


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


def _from_text(option: Option, text: str) -> object:
    """A flag's text as the value it stands for; left as it is where it stands for none."""
    if option.kind == "bool" and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    if option.kind == "int" and text.isdigit():
        return int(text)
    return text


def _nearest(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, [option.name for option in OPTIONS], n=1)
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
