"""Whatever door a model comes through, its news costs a memory nothing but what it replaces (X6, ADR 0055)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from memdir import MemDir, open_memory
from memdir.adapters.anthropic_tool import MemoryTool
from memdir.errors import BadMemoryFile
from memdir.mcp_server.offers import MemoryOffers
from memdir.session import Session
from memdir.store.topic import Topic
from memdir.transcript.message import Message, Text

TUESDAY = "Deploys happen on Tuesdays."
REST = "The key is in the blue folder.\n\n**Why:** the on-call team is small.\n\n**How to apply:** ask Maria first."
Door = Callable[[MemDir, str, str, str], Awaitable[str]]


def file_of(name: str, description: str, body: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\ntype: feedback\n---\n\n{body}\n"


async def by_mcp(memory: MemDir, key: str, _old: str, new: str) -> str:
    return str(MemoryOffers(lambda: memory).call("update", {"memory": key, "text": new})["content"][0]["text"])


async def by_chat(memory: MemDir, key: str, _old: str, new: str) -> str:
    text = new if new.startswith("---") else file_of("Deploy day", "Deploys happen on Tuesdays", new)
    return await said(memory, f"From now on: {Topic(text.encode()).body or new}").files.put(
        memory.get(key).path, text.encode()
    )


def said(memory: MemDir, words: str) -> Session:
    """A conversation in which the person says so: nobody else's words change a memory (X12)."""
    session = memory.session("s")
    session.conversation.add(Message("user", (Text(words),)))
    return session


async def by_tool(memory: MemDir, key: str, old: str, new: str) -> str:
    call = {"command": "str_replace", "path": f"/memories/{key}", "old_str": old, "new_str": new}
    return str(MemoryTool(memory).call(call))


@pytest.fixture
def memory(project: Path) -> MemDir:
    return open_memory(project)


def deploys(memory: MemDir) -> str:
    text = f"{TUESDAY}\n\n{REST}"
    return memory.add(text, "feedback", name="Deploy day", description=TUESDAY.rstrip(".")).memory.key


@pytest.mark.parametrize("door", [by_mcp, by_chat, by_tool])
async def test_one_sentence_of_news_costs_nothing_else(memory: MemDir, door: Door) -> None:
    key = deploys(memory)
    answer = await door(memory, key, f"{TUESDAY}\n\n{REST}", "Deploys happen on Wednesdays.")
    topic = memory.get(key).topic
    assert topic.body.strip() == f"Deploys happen on Wednesdays.\n\n{REST}"
    assert (topic.name, topic.description) == ("Deploy day", "Deploys happen on Wednesdays")
    assert "Wednesdays" in (Path(memory.place.root) / "MEMORY.md").read_text()
    assert "ask Maria first" in answer, "the model is told what stayed"


@pytest.mark.parametrize("door", [by_mcp, by_chat])
async def test_a_rule_about_something_else_takes_nobodys_place(memory: MemDir, door: Door) -> None:
    key = deploys(memory)
    before = memory.get(key).topic.data
    answer = await door(memory, key, "", file_of("Release tags", "Release tags begin with v", "Tags begin with v."))
    assert memory.get(key).topic.data == before
    assert "two memories" in answer and "Tags begin with v." in memory.get("Release tags").topic.body


async def test_what_a_model_takes_out_by_an_edit_goes(memory: MemDir) -> None:
    key = deploys(memory)
    await by_tool(memory, key, "\n\n**How to apply:** ask Maria first.", "")
    assert "Maria" not in memory.get(key).topic.body and "**Why:**" in memory.get(key).topic.body
    cut = memory.get(key).topic.data.replace(b"\n\nThe key is in the blue folder.", b"")
    with pytest.raises(BadMemoryFile, match="did not speak of"):
        await said(memory, "Tidy up.").files.put(memory.get(key).path, cut, is_cut=True)
    session = said(memory, "The key is not in the blue folder any more, take that out.")
    await session.files.put(memory.get(key).path, cut, is_cut=True)
    assert memory.get(key).topic.body.strip() == f"{TUESDAY}\n\n**Why:** the on-call team is small."


def test_what_a_person_writes_is_all_that_stands_there(memory: MemDir) -> None:
    changed = memory.update(deploys(memory), "Deploys happen at any time.")
    assert changed.topic.body.strip() == "Deploys happen at any time."
