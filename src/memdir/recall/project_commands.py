"""Commands that a project defines for itself: make targets, just recipes, scripts of a package (R6)."""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_beginning
from memdir.disk.safe_path import is_inside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memdir.recall.git_history import GitHistory

    Defines = Callable[[str, str], bool | None]  # None: the file cannot be understood

_MAX_BYTES = 1 << 20  # a file of commands is written by hand
_MAKE = ("GNUmakefile", "makefile", "Makefile")
_JUST = ("justfile", "Justfile", ".justfile")
_PACKAGE = ("package.json",)


def is_gone_command(history: GitHistory, command: str) -> bool:
    """The project defined the command once and does not now, in its root or in a package."""
    runner, target = command.rsplit(" ", 1)
    names, defines = _rules_of(runner)
    for name in names:
        text = _read(history.project, name)
        if text:
            others = (f":(glob)**/{other}" for other in names)
            return (
                defines(text, target) is False
                and any(defines(old, target) for old in history.versions(name, target))
                and not history.says(target, *others, f":(exclude){name}")
            )
    return False


def _rules_of(runner: str) -> tuple[tuple[str, ...], Defines]:
    if runner == "make":
        return _MAKE, _is_make_target
    if runner == "just":
        return _JUST, _is_recipe
    return _PACKAGE, _is_script


def _is_make_target(text: str, target: str) -> bool | None:
    for line in text.splitlines():
        if line.startswith(("include ", "-include ", "sinclude ")):
            return None
        targets, colon, _ = line.partition(":")
        if colon and not line.startswith("\t") and any(_fits(pattern, target) for pattern in targets.split()):
            return True
    return False


def _fits(pattern: str, target: str) -> bool:
    before, percent, after = pattern.partition("%")
    return target.startswith(before) and target.endswith(after) if percent else target == pattern


def _is_recipe(text: str, target: str) -> bool | None:
    for line in text.splitlines():
        words = line.replace(":", " : ", 1).split()
        if words[:1] in (["import"], ["import?"], ["mod"], ["mod?"]):
            return None
        if words[:1] == ["alias"]:
            words = words[1:]
        if words and not line[0].isspace() and ":" in words and words[0].removeprefix("@") == target:
            return True
    return False


def _is_script(text: str, target: str) -> bool | None:
    import json

    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return None
    scripts = package.get("scripts", {}) if isinstance(package, dict) else None
    return target in scripts if isinstance(scripts, dict) else None


def _read(project: str, name: str) -> str:
    path = os.path.join(project, name)
    try:
        return read_beginning(path, max_bytes=_MAX_BYTES).decode("utf-8", "replace") if is_inside(path, project) else ""
    except OSError:
        return ""
