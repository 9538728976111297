"""What docs/reference/api.md names can be imported, says what it means, and prints as something (docs/generate.py)."""

from __future__ import annotations

import builtins
import collections.abc
import re
import subprocess
import sys
import typing
from importlib import import_module
from pathlib import Path

import pytest
from docs.generate import PUBLIC, fields_of, is_value, public_names

import memdir
from memdir import open_memory
from memdir.errors import BadMemoryFile, MemoryNotFound, SecretRefused, SettingsError, UsageError
from tests.security.fakes import github_token

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
SIGNATURES = [*re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)]
SIGNATURES += re.findall(r"^\*\*`(.*)`\*\*$", PAGE, re.MULTILINE)
SIGNATURES += [row.replace("\\|", "|") for row in re.findall(r"^\| `(.*?)` \|", PAGE, re.MULTILINE)]
UPGRADE = (ROOT / "docs/how-to/upgrade.md").read_text(encoding="utf-8")
MODULES = [import_module(name) for name in ("memdir", *PUBLIC)]
VALUES = [getattr(module, name) for module in MODULES for name in (getattr(module, "__all__", None) or vars(module))]
# What `from memdir import` gave before there was a front door.
OLD = (
    *("Abort", "Allow", "AnthropicModel", "BudgetReached", "BuiltinModel", "Conversation", "Deny", "DiskFiles"),
    *("Environment", "Event", "FinishedTurn", "Hands", "Job", "MemDir", "MemdirError", "Memory", "MemoryStore"),
    *("MemoryType", "Message", "Model", "ModelError", "OpenAIModel", "Origin", "RawCall", "Reply", "Request"),
    *("ScriptedModel", "Settings", "SystemBlock", "Text", "ToolContext", "ToolResult", "ToolUse", "Toolbox"),
    *("Workspace", "__version__", "add_memory", "assistant", "choose_model", "context_tokens", "fork"),
    *("load_settings", "memory_gate", "memory_tools", "model_name", "open_memory", "reply_of", "run_agent", "user"),
)


def test_every_name_in_a_signature_is_importable_from_a_module_that_the_page_names() -> None:
    for module in PUBLIC:
        assert f"## {module}\n" in PAGE
    known = {name for module in (*MODULES, builtins, typing, collections.abc) for name in dir(module)}
    known |= {"Result", *(name for module in MODULES for name in getattr(module, "__all__", ()))}  # a variable
    for signature in SIGNATURES:
        kinds = re.sub(r"'[^']*'|\"[^\"]*\"|#.*", "", signature)
        names = set(re.findall(r"(?<![\w.])[A-Z]\w+", re.sub(r"\w+\.\w+(\.\w+)*", "", kinds)))
        for name in names:
            assert name in known, f"{name} in {signature}"


@pytest.mark.parametrize("kind", [memdir.MemDir, memdir.Session], ids=lambda kind: kind.__name__)
def test_all_that_is_public_of_what_a_host_holds_stands_on_the_page(kind: type) -> None:
    section = PAGE.partition(f"\n## {kind.__name__}\n")[2].partition("\n## ")[0]
    told = set(re.findall(r"^(?:\*\*|- )`(?:async )?(\w+)", section, re.MULTILINE))
    assert {name for name in vars(kind) if not name.startswith("_")} - told == set()


@pytest.mark.parametrize(
    "kind", {one.__name__: one for one in VALUES if isinstance(one, type) and is_value(one)}.values()
)
def test_every_field_of_a_value_says_what_it_means(kind: type) -> None:
    for name, annotation, meaning in fields_of(kind):
        assert annotation and meaning, f"{kind.__name__}.{name}"


def test_no_sentence_on_the_page_is_broken_off() -> None:
    for row in re.findall(r"^\| `.*?` \| (.*) \|$", PAGE, re.MULTILINE):
        assert row.rsplit(" ", 1)[-1] not in ("a", "an", "and", "of", "or", "the", "that", "which"), row
    for module in MODULES[1:]:
        assert public_names(module)


def test_every_old_name_has_a_row_and_says_where_it_is_now() -> None:
    assert len(OLD) == 49
    rows = "\n".join(re.findall(r"^\|.*\|$", UPGRADE, re.MULTILINE))
    for name in OLD:
        assert re.search(rf"`(?:[^`]*\W)?{name}\b[^`]*`", rows), f"{name} has no row"
        if name not in memdir.__all__:
            with pytest.raises(ImportError, match=r"docs/how-to/upgrade\.md"):
                getattr(memdir, name)


def test_an_old_import_points_to_the_page_and_other_names_are_just_not_there() -> None:
    code = "from memdir import run_agent"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert "run_agent is elsewhere now: docs/how-to/upgrade.md says where" in done.stderr
    assert not hasattr(memdir, "nothing_of_ours")
    with pytest.raises(ImportError, match="cannot import name"):
        from memdir import nothing_of_ours  # type: ignore[attr-defined]  # noqa: F401


def test_what_the_verbs_give_prints_as_what_it_is(project: Path) -> None:
    memory = open_memory(project)
    added = memory.add("The staging database listens on port 5433.")
    shown = [
        added,
        added.memory,
        *memory.list(),
        *memory.search("staging"),
        memory.why(added.memory.key),
        memory.undo(),
    ]
    for one in shown:
        assert "staging" in repr(one) and " object at " not in repr(one)


async def test_what_a_program_is_told_to_do_it_can_do(project: Path) -> None:
    memory = open_memory(project)
    with pytest.raises(MemoryNotFound, match=r"`memory\.list\(\)`"):
        memory.get("nothing")
    with pytest.raises(BadMemoryFile, match="Say what to remember"):
        memory.add(" ")
    with pytest.raises(SecretRefused, match=r"allow_secret=True for `memory\.add`"):
        memory.add(f"The token is {github_token()}.")
    with pytest.raises(SettingsError, match="flags= of open_memory"):
        open_memory(project, flags={"nothing.of": "ours"})
    with pytest.raises(UsageError, match=r"of a stream its final message.*`\.parse\(\)`"):
        memory.session("one").turn_ended({"model": "m", "messages": []}, iter(()))
