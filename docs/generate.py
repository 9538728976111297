"""Writes the reference pages from the code, and with --check says whether they are up to date.

python -m docs.generate [--check]
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from types import ModuleType
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


# Parts of memdir's own that its surfaces use: named with what they do, and without their types, which may change.
INSIDE = {
    "MemDir": ("layout", "place", "guards", "recallers"),
    "TeamMemory": ("joined",),
    "Session": ("state", "extraction", "session_memory", "magic_docs", "compaction"),
}
PUBLIC = ("memdir.agent", "memdir.model", "memdir.transcript", "memdir.types", "memdir.errors", "memdir.chat.host")


def api_page() -> str:
    """Every public name: what it takes and what it promises, from its signature, its fields and its docstring."""
    parts = ["# Library\n", NOTICE, f"{(memdir.__doc__ or '').partition(chr(10) * 2)[2].strip()}\n"]
    first = ("open_memory", "MemDir", "Session")
    for name in (*first, *(name for name in memdir.__all__ if name not in (*first, "__version__"))):
        parts.append(f"## {name}\n\n{_described(name, getattr(memdir, name))}")
    for package in PUBLIC:
        module = import_module(package)
        about = (module.__doc__ or "").partition("\n\n")
        said = about[2] if package not in ("memdir.errors", "memdir.transcript") else about[0]
        parts.append(f"## {package}\n\n{' '.join(said.split())}\n")
        parts += [f"### {name}\n\n{_described(name, getattr(module, name), package)}" for name in public_names(module)]
    return "\n".join(parts)


def public_names(module: ModuleType) -> list[str]:
    """What a module offers, without what `memdir` itself offers: its `__all__`, or its classes where it has none."""
    named = getattr(module, "__all__", None) or [name for name, kind in vars(module).items() if inspect.isclass(kind)]
    return [name for name in named if name not in memdir.__all__]


def _described(name: str, thing: object, package: str = "") -> str:
    if inspect.isfunction(thing):
        return f"```python\n{_signature(name, thing)}\n```\n\n{inspect.getdoc(thing)}\n"
    if not inspect.isclass(thing):
        return f"**`{name} = {_alias(name, thing)}`**\n"
    parts = [f"{inspect.getdoc(thing) if vars(thing).get('__doc__') else _tree_lines()[name].capitalize() + '.'}\n"]
    if (
        package in ("memdir.agent", "memdir.model", "memdir.chat.host")
        and not is_value(thing)
        and inspect.isfunction(vars(thing).get("__init__"))
        and not _is_protocol(thing)
    ):
        parts.append(f"```python\n{_signature(name, vars(thing)['__init__']).removesuffix(' -> None')}\n```\n")
    listed = fields_of(thing) if is_value(thing) else []
    if listed:
        rows = [f"| `{field}: {kind.replace('|', chr(92) + '|')}` | {meaning} |" for field, kind, meaning in listed]
        parts.append("\n".join(["| field | |", "|---|---|", *rows]) + "\n")
    known = {field for field, _, _ in listed}
    inside = INSIDE.get(name, ())
    for member in _members(thing):
        value = vars(thing)[member]
        found = getattr(value, "fget", None) or getattr(value, "func", None) or value
        if member in inside:
            continue
        if inspect.isfunction(found) and inspect.getdoc(found) and member not in known:
            call = _signature(member, found) if found is value else f"{member}: {found.__annotations__['return']}"
            parts.append(f"**`{call}`**\n\n{inspect.getdoc(found)}\n")
    for member in inside:
        value = vars(thing)[member]
        told = inspect.getdoc(getattr(value, "func", None) or value) or ""
        parts.append(f"- `{member}`, of memdir's own: {' '.join(told.split())}")
    return "\n".join([*parts, ""] if inside else parts)


def _members(kind: type) -> list[str]:
    """What is told of a class besides its fields; of a model and a store nothing: they are what their protocol says."""
    if not _is_protocol(kind) and (
        hasattr(kind, "complete") or kind.__name__ in ("MemoryStore", "Workspace", "FileState")
    ):
        return []
    return [name for name, found in vars(kind).items() if not name.startswith("_")]


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def is_value(kind: type) -> bool:
    """Whether a class is there for its fields: an outcome, an event, an error."""
    frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    return frozen or "__slots__" in vars(kind) or issubclass(kind, MemdirError) or kind.__name__ == "DreamTask"


def fields_of(kind: type) -> list[tuple[str, str, str]]:
    """Name, type and meaning of each field: from the annotations of the class or of its `__init__`, and the comment
    behind them; properties by their docstring."""
    lines = textwrap.dedent(inspect.getsource(kind)).splitlines()
    (node,) = ast.parse("\n".join(lines)).body
    assert isinstance(node, ast.ClassDef)
    found = [(one.target, one.annotation, one) for one in node.body if isinstance(one, ast.AnnAssign)]
    made = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    for begun in made if not found else ():
        given = {one.arg: one.annotation for one in (*begun.args.args, *begun.args.kwonlyargs)}
        for one in begun.body:
            if isinstance(one, ast.AnnAssign):
                found.append((one.target, one.annotation, one))
            elif isinstance(one, ast.Assign) and isinstance(one.value, ast.Name):
                found += [(target, given[one.value.id], one) for target in one.targets if given.get(one.value.id)]
    rows = []
    for target, annotation, one in found:
        name = target.attr if isinstance(target, ast.Attribute) else ast.unparse(target)
        meaning = lines[(one.end_lineno or 1) - 1].partition("  # ")[2]
        rows.append((name, ast.unparse(annotation), f"{meaning[:1].upper()}{meaning[1:]}"))
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and [ast.unparse(it) for it in one.decorator_list] == ["property"]:
            rows.append((one.name, ast.unparse(one.returns) if one.returns else "", ast.get_docstring(one) or ""))
    return [(name, kind, " ".join(meaning.split())) for name, kind, meaning in rows if not name.startswith("_")]


def _alias(name: str, thing: object) -> str:
    """A type that has a name only, as one would write it."""
    if name == "TypedJob":
        return "ChatJob | ...  # the others are memdir's own"
    text = thing if isinstance(thing, str) else repr(thing)
    return " ".join(re.sub(r"\b(?:typing|collections\.abc|memdir(?:\.\w+)+)\.", "", text).split()).replace("'", '"')


class _Bare(str):
    """An annotation that is shown as it was written."""

    __slots__ = ()
    __repr__ = str.__str__


def _signature(name: str, thing: Any) -> str:
    given = inspect.signature(thing)
    kept = [one.replace(annotation=_Bare(one.annotation)) for one in given.parameters.values() if one.name != "self"]
    text = str(given.replace(parameters=kept, return_annotation=_Bare(given.return_annotation)))
    is_async = "async " if inspect.iscoroutinefunction(thing) else ""
    shown = f"{is_async}{name}{text}".replace("<built-in function time>", "time.time")
    return re.sub(r"= <(?:[^<>]|<\w+>)*>", "= ...", shown)


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
        "| user | `<home>/settings.json`; in another agent's home `<home>/memdir-settings.json` | yes |",
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
        ("`MEMDIR_DIRECTORY`", "the memory directory itself, a full path, for embedding hosts; goes before everything"),
        ("`MEMDIR_DISABLE`", "`1` turns memory off"),
        (
            "`MEMDIR_NO_DAEMON`",
            "`1`: no daemon is started or asked (ADR 0063), and no command leaves a process that sends to the team",
        ),
        (
            "`MEMDIR_REMOTE`",
            "`1` says that this machine is thrown away later: memory is off unless the next one is set",
        ),
        ("`MEMDIR_REMOTE_STORAGE`", "a folder that outlives the machine: the home in remote mode"),
        (
            "`CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `GEMINI_CLI_HOME`, `QWEN_HOME`, `QWEN_RUNTIME_DIR`, `OPENCODE_DB`",
            "where the sessions of other agents lie, as for those programs",
        ),
        ("`VISUAL`, `EDITOR`", "the editor of `memdir edit`"),
        ("`NO_COLOR`, `FORCE_COLOR`", "no colours, colours also in a pipe"),
    )
    return "| variable | meaning |\n|---|---|\n" + "\n".join(f"| {name} | {text} |" for name, text in rows) + "\n"


def exit_codes_page() -> str:
    """Every exit code and what it means."""
    lines = ["# Exit codes\n", NOTICE, "| code | when |", "|---|---|"]
    lines.append("| 0 | done; a `recall` that brings nothing back, too |")
    lines.append("| 1 | a search found nothing, problems found (`doctor`), or a plain failure |")
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


def package_page() -> str:
    """README as a package index shows it, beside nothing that it could link to: what is linked is named, and is in the
    source package."""
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    return re.sub(r"\[([^]\n]+)\]\([\w./-]+\)", r"\1", readme)


PAGES = {
    "reference/api.md": api_page,
    "reference/cli.md": cli_page,
    "reference/settings.md": settings_page,
    "exit-codes.md": exit_codes_page,
    "package-description.md": package_page,
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
