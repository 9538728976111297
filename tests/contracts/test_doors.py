"""The chat and the examples are written as one embeds it: by public names, and what the reference tells of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from docs.generate import INSIDE, PUBLIC

import memdir

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(memdir.__file__).parent
CHAT = sorted(SOURCE.glob("chat/*.py"))
EXAMPLES = sorted(path for path in ROOT.glob("examples/*.py") if path.stem != "walkthrough")  # which is `make try`
PAGE = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
DOORS = ("memdir", *PUBLIC)
ABOVE = ("guard", "subagents")  # rooms above the front door, whose public names stand in `memdir.agent`
BELOW = ("recall", "remember", "dream", "share", "agent", "model", "prompts", "search", "transcript", "store")


def imports(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each module that a file imports, wherever in it, for types only or by a literal name, and the names it takes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name}: an import says where from"
            yield node.module or "", tuple(one.name for one in node.names)
        elif isinstance(node, ast.Import):
            yield from ((one.name, ()) for one in node.names)
        elif isinstance(node, ast.Constant) and re.match(r"memdir\.\w+(\.\w+)*$", str(node.value)):
            yield str(node.value), ()


def names_of(door: str) -> set[str]:
    module = import_module(door)
    return set(getattr(module, "__all__", None) or vars(module))


@pytest.mark.parametrize("path", [*CHAT, *EXAMPLES], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_public_names_alone_are_imported(path: Path) -> None:
    for module, names in imports(path):
        is_own = path in CHAT and (module.split(".")[:2] == ["memdir", "chat"] or module == "memdir.cli.entry")
        if module.split(".")[0] == "memdir" and not is_own and module != "memdir.adapters.anthropic_tool":
            assert module in DOORS, f"{module} is no public door"
            assert names and set(names) <= names_of(module), f"{module} does not offer {names}"


HELD = {  # as they spell them
    "MemDir": ("memory", "self.memory", "self._memory"),
    "Session": ("self.session", "host.session", "self.host.session", "self._host.session"),
}


@pytest.mark.parametrize("kind", HELD)
def test_of_what_a_host_holds_they_use_only_what_the_reference_tells(kind: str) -> None:
    section = PAGE.partition(f"\n## {kind}\n")[2].partition("\n## ")[0]
    told = set(re.findall(r"^\*\*`(?:async )?(\w+)", section, re.MULTILINE))
    told |= set(re.findall(r"`(\w+)`", section.partition("**")[0]))
    assert told and not told & set(INSIDE[kind])
    used = {
        (node.attr, path.name)
        for path in (*CHAT, *EXAMPLES)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in HELD[kind]
    }
    assert len(used) > 10
    assert [one for one in used if one[0] not in told] == []


def test_no_room_below_the_front_door_takes_a_name_that_lives_above_it() -> None:
    """A door may lead up, since nothing is loaded by opening it; a room below must not go out by it."""
    homes: dict[str, dict[str, str]] = {}
    for door in ("memdir.agent", "memdir.types"):
        stub = (SOURCE / door.partition(".")[2] / "__init__.pyi").read_text(encoding="utf-8")
        homes[door] = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as ", stub, re.MULTILINE)}
    assert any(home.split(".")[1] in ABOVE for home in homes["memdir.agent"].values())
    for path in (path for room in BELOW for path in (SOURCE / room).rglob("*.py")):
        for module, names in imports(path):
            taken = [homes[module][name] for name in names] if module in homes else []
            assert not [home for home in taken if home.split(".")[1] in ABOVE], f"{path.relative_to(SOURCE)}: {names}"
