"""Writes the reference pages from the code, and with --check says whether they are up to date.

python -m docs.generate [--check]
"""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import memdir
from memdir import errors
from memdir.cli.context import build_parser
from memdir.cli.entry import command_groups, command_places, load_command
from memdir.errors import MemdirError
from memdir.settings import OPTIONS

FOLDER = Path(__file__).parent
NOTICE = "<!-- Made by `make docs` from the code: edit the code, not this page. -->\n"


def cli_page() -> str:
    """Every command with its help, as `memdir COMMAND --help` prints it."""
    parts = [
        "# Command line\n",
        NOTICE,
        "`memdir --help` lists the commands; `memdir COMMAND --help` prints what stands here.\n",
    ]
    for title, commands in command_groups():
        parts.append(f"## {title}\n")
        for name, place, text in commands:
            help_text = build_parser(name, load_command(place)).format_help().rstrip()
            parts.append(f"### memdir {name}\n\n{text[0].upper()}{text[1:]}.\n\n```text\n{help_text}\n```\n")
    return "\n".join(parts)


# What a host calls; the rest of these two classes is for the command line and for each other.
FOR_HOSTS = {
    "MemDir": (
        *("add", "get", "list", "search", "update", "forget", "undo", "why", "session", "close"),
        *("prompt", "context", "start", "store_for", "session_search", "model_name", "chat_job"),
    ),
    "Session": (
        *("prompt", "context", "recall", "prefetch", "turn_ended", "should_compact", "compact", "clear"),
        *("conversation", "transcript", "dream", "close"),
    ),
}


def api_page() -> str:
    """Every public name: what it takes and what it promises, from its signature and its docstring."""
    parts = ["# Library\n", NOTICE, f"{(memdir.__doc__ or '').partition(chr(10) * 2)[2].strip()}\n"]
    first = ("open_memory", "MemDir", "Session")
    for name in (*first, *(name for name in memdir.__all__ if name not in (*first, "__version__"))):
        parts.append(_described(name, getattr(memdir, name)))
    for package in ("memdir.agent", "memdir.model", "memdir.transcript"):
        module = import_module(package)
        parts.append(f"## {package}\n\n{' '.join((module.__doc__ or '').split())}\n\n| name | |\n|---|---|")
        lines = [(name, inspect.getdoc(getattr(module, name)) or "") for name in module.__all__]
        parts.append("\n".join(f"| `{name}` | {text.partition(chr(10))[0]} |" for name, text in lines) + "\n")
    return "\n".join(parts)


def _described(name: str, thing: object) -> str:
    if not inspect.isclass(thing):
        return f"## {name}\n\n```python\n{_signature(name, thing)}\n```\n\n{inspect.getdoc(thing)}\n"
    parts = [f"## {name}\n\n{inspect.getdoc(thing)}\n"]
    members = FOR_HOSTS.get(name) or [member for member in vars(thing) if not member.startswith("_")]
    for member in members:
        value = vars(thing)[member]
        found = getattr(value, "fget", None) or getattr(value, "func", None) or value
        if inspect.isfunction(found) and inspect.getdoc(found):
            call = _signature(member, found) if found is value else member
            parts.append(f"**`{call}`**\n\n{inspect.getdoc(found)}\n")
    return "\n".join(parts)


class _Bare(str):
    """An annotation that is shown as it was written."""

    __slots__ = ()
    __repr__ = str.__str__


def _signature(name: str, thing: Any) -> str:
    given = inspect.signature(thing)
    kept = [one.replace(annotation=_Bare(one.annotation)) for one in given.parameters.values() if one.name != "self"]
    text = str(given.replace(parameters=kept, return_annotation=_Bare(given.return_annotation)))
    is_async = "async " if inspect.iscoroutinefunction(thing) else ""
    return f"{is_async}{name}{text}".replace("<built-in function time>", "time.time")


def settings_page() -> str:
    """Every setting with its type, default and meaning."""
    lines = [
        "# Settings\n",
        NOTICE,
        "JSON objects in these files, strongest first; `memdir config list` shows where each value comes from.\n",
        "| layer | file | may set anything |",
        "|---|---|---|",
        "| managed | `/etc/memdir/settings.json` (macOS: `/Library/Application Support/memdir/settings.json`) | yes |",
        "| flags | `--set NAME=VALUE` on the command line | yes |",
        "| local | `<home>/projects/<slug>/settings.json` | yes |",
        "| user | `<home>/settings.json` | yes |",
        "| project | `<project>/.memdir/settings.json`, committed | **no**: `memdir doctor` reports the rest |",
        "",
        "| setting | type | default | from the project layer | meaning |",
        "|---|---|---|---|---|",
    ]
    for option in OPTIONS:
        kind = " \\| ".join(f"`{choice}`" for choice in option.choices) or option.kind
        default = f"`{str(option.default).lower()}`" if option.default is not None else "none, see there"
        allowed = " or ".join(f"`{str(value).lower()}`" for value in option.of_project) or "refused"
        lines.append(f"| `{option.name}` | {kind} | {default} | {allowed} | {option.doc} |")
    lines += ["", "## Environment\n", _environment_table()]
    return "\n".join(lines)


def _environment_table() -> str:
    rows = (
        ("`MEMDIR_HOME`", "memdir's home instead of `~/.memdir`"),
        (
            "`MEMDIR_DIRECTORY`",
            "the memory directory itself, a full path, for embedding hosts; goes before everything (S1)",
        ),
        ("`MEMDIR_DISABLE`", "`1` turns memory off (S5)"),
        (
            "`MEMDIR_REMOTE`",
            "`1` says that this machine is thrown away later: memory is off unless the next one is set",
        ),
        ("`MEMDIR_REMOTE_STORAGE`", "a folder that outlives the machine: the home in remote mode"),
        ("`CLAUDE_CONFIG_DIR`, `CODEX_HOME`", "where the sessions of Claude Code and Codex lie, as for those programs"),
        ("`VISUAL`, `EDITOR`", "the editor of `memdir edit`"),
        ("`NO_COLOR`, `FORCE_COLOR`", "no colours, colours also in a pipe"),
    )
    return "| variable | meaning |\n|---|---|\n" + "\n".join(f"| {name} | {text} |" for name, text in rows) + "\n"


def exit_codes_page() -> str:
    """Every exit code and what it means."""
    lines = ["# Exit codes\n", NOTICE, "| code | when |", "|---|---|", "| 0 | done |"]
    lines.append("| 1 | nothing found, problems found (`doctor`), or a plain failure |")
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MemdirError)]
    told = _tree_lines()
    for kind in sorted(kinds, key=lambda kind: kind.exit_code):
        if kind is not MemdirError:
            lines.append(f"| {kind.exit_code} | `{kind.__name__}`: {told[kind.__name__]} |")
    lines += [
        "| 70 | a bug in memdir; the details are in `<home>/logs/crash.log` |",
        "| 130 | interrupted by Ctrl-C |",
        "",
    ]
    return "\n".join(lines)


def _tree_lines() -> dict[str, str]:
    """The sentences of the tree in the docstring of errors.py."""
    found = {}
    for line in (errors.__doc__ or "").splitlines():
        words = line.strip("│├└─ ").split(None, 1)
        if line.startswith(("│", "├", "└")) and len(words) == 2:
            found[words[0]] = words[1]
    return found


PAGES = {
    "reference/api.md": api_page,
    "reference/cli.md": cli_page,
    "reference/settings.md": settings_page,
    "exit-codes.md": exit_codes_page,
}


def main() -> int:
    stale = []
    for name, page in PAGES.items():
        path, text = FOLDER / name, page()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run `make docs`")
        return 1
    print(f"{len(PAGES)} pages for {len(command_places())} commands and {len(OPTIONS)} settings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
