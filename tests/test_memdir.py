"""MemDir: opening, the prompt, the index in the context (S4, S5, P1–P6)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import memdir
import memdir.agent
import memdir.model
import memdir.transcript
from memdir.errors import BadMemoryFile, MemdirError, PathEscape, UsageError
from memdir.events import Event
from memdir.memdir import open_memory
from memdir.settings import Environment
from memdir.store.history import Origin
from memdir.store.memories import add_memory


def test_opening_touches_nothing_and_starting_creates_the_whole_path(project: Path) -> None:
    """S4."""
    memory = open_memory(project)
    assert not os.path.exists(os.environ["MEMDIR_HOME"])
    memory.start()
    memory.start()
    assert os.path.isdir(memory.place.root)


@pytest.mark.parametrize("is_brief", [False, True])
def test_the_prompt_has_its_eight_parts_and_the_path(project: Path, is_brief: bool) -> None:
    """P2."""
    text = open_memory(project).prompt(is_brief=is_brief)
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# Memory",
        "## What there is to remember",
        "## What not to save",
        "## How to save",
        "## When to look into memory",
        "## Before you recommend something from memory",
        "## Memory, plan, task list",
    ]
    assert open_memory(project).place.root in text
    assert "asks you to remember" in text and "asks" in text and "forget" in text


def test_the_prompt_of_a_session_stays_the_same_until_its_context_is_emptied(project: Path) -> None:
    """P6: a write in mid-session changes no byte of it."""
    memory = open_memory(project)
    session = memory.session("monday")
    before = session.prompt()
    own = Path(memory.layout.prompts, "behaviour", "types.md")
    own.parent.mkdir(parents=True)
    own.write_text("## What there is to remember\n\nOnly recipes.\n")
    add_memory(memory.store, "Something", kind=None, origin=Origin("cli"))
    assert session.prompt() == before
    session.clear()
    assert "Only recipes." in session.prompt()


def test_the_index_goes_into_the_context_with_its_path(project: Path) -> None:
    """P6."""
    memory = open_memory(project)
    assert memory.context() == ""
    add_memory(memory.store, "Something", kind=None, origin=Origin("cli"))
    assert memory.context() == (
        f"Contents of {memory.place.index} (the user's memory, kept across conversations):\n\n"
        "- [Something](something.md)\n"
    )


def test_off_means_no_prompt_and_no_index(project: Path) -> None:
    """S5, P1: dispatch gives nothing when off."""
    add_memory(open_memory(project).store, "Something", kind=None, origin=Origin("cli"))
    memory = open_memory(project, environment=Environment({**os.environ, "MEMDIR_DISABLE": "1"}))
    assert memory.prompt() == memory.context() == ""


def test_skip_index_mode_has_one_step_and_no_index(project: Path) -> None:
    """S12, P2."""
    memory = open_memory(project, flags={"skipIndex": "true"})
    assert "MEMORY.md" not in memory.prompt()
    assert memory.context() == ""


@pytest.mark.parametrize(
    ("scope", "tail"),
    [
        ("user", "home/memory"),
        ("team", "memory/team"),
        ("agent:x", "home/agent-memory/x"),
        ("agent-project:x", "project/.memdir/agent-memory/x"),
        ("agent-local:x", "project/.memdir/agent-memory-local/x"),
    ],
)
def test_every_scope_is_the_same_store_in_another_place(project: Path, scope: str, tail: str) -> None:
    store = open_memory(project, flags={"team.enabled": "true"}).stores.of(scope)
    assert store.root.endswith(tail)
    assert add_memory(store, "Something", kind=None, origin=Origin("cli")).is_new


def test_unknown_scopes_and_folders_are_named(project: Path) -> None:
    with pytest.raises(UsageError, match="galaxy"):
        open_memory(project).stores.of("galaxy")
    with pytest.raises(MemdirError, match="nowhere"):
        open_memory(project / "nowhere")


def test_a_memory_is_added_found_changed_forgotten_and_brought_back(project: Path) -> None:
    """The whole life of a memory through the front door, without a command or a model."""
    memory = open_memory(project)
    added = memory.add("Never mock the database: mocks hid a broken migration.", "feedback")
    key = added.memory.key
    assert (added.is_new, key) == (True, "feedback_never_mock_the_database.md")
    assert not memory.add("Never mock the database: mocks hid a broken migration.", "feedback").is_new
    assert [header.key for header in memory.list()] == [key]
    assert list(memory.list("reference")) == []
    assert [match.key for match in memory.search("migration")] == [key]
    assert memory.get("mock").topic.kind == "feedback"
    changed = memory.update("mock", "Never mock the queue.")
    assert (changed.key, changed.name) == (key, "Never mock the queue")
    assert changed.topic.description == "Never mock the queue", "what was made from the text is made again"
    assert changed.topic.body.strip() == "Never mock the queue."
    assert memory.forget("mock") == key
    assert list(memory.list()) == []
    memory.undo()
    assert memory.get(key).topic.body.strip() == "Never mock the queue."
    (commits,) = memory.why(key).values()
    assert [commit.source for commit in commits] == ["undo", "host", "host", "host"]


def test_what_a_person_named_keeps_its_name_when_the_text_changes(project: Path) -> None:
    memory = open_memory(project)
    memory.add("Merges stop on Friday.", name="Freeze", description="when merges stop")
    changed = memory.update("Freeze", "Merges stop on Thursday.")
    assert (changed.name, changed.topic.description) == ("Freeze", "when merges stop")
    assert memory.update("Freeze", "x", description="no more").topic.description == "no more"


@pytest.mark.parametrize(
    "said",
    [
        "Nie am Freitag deployen, da ist niemand im Haus",
        "No Friday releases",
        "Friday is deploy day",
        "Always send the Monday report before the Tuesday meeting.",
        "Backups run today at night every day",
    ],
)
def test_a_rule_about_a_weekday_is_kept_as_it_was_said(project: Path, said: str) -> None:
    """T3: a date in its place would make one day of all of them."""
    memory = open_memory(project).add(said).memory
    assert memory.topic.body.strip() == said
    assert "202" not in f"{memory.name} {memory.topic.description}"


def test_the_day_of_one_event_is_written_out(project: Path) -> None:
    """T3."""
    text = open_memory(project).add("The demo is on Friday.").memory.topic.body
    assert re.search(r"Friday 20\d\d-\d\d-\d\d", text)


def test_what_cannot_be_added_is_refused_in_words(project: Path) -> None:
    memory = open_memory(project)
    with pytest.raises(BadMemoryFile, match="empty"):
        memory.add(" ")
    with pytest.raises(UsageError, match="no type 'recipe'"):
        memory.add("x", "recipe")
    off = open_memory(project, environment=Environment({**os.environ, "MEMDIR_DISABLE": "1"}))
    for refused in (lambda: off.add("x"), off.list, lambda: off.search("x"), lambda: off.forget("x")):
        with pytest.raises(MemdirError, match="memory is off"):
            refused()


def test_a_home_of_its_own_may_be_named(project: Path, tmp_path: Path) -> None:
    memory = open_memory(project, home=tmp_path / "elsewhere")
    assert memory.add("x").memory.path.startswith(str(tmp_path / "elsewhere"))


def test_each_user_of_a_host_has_memories_for_all_projects_of_their_own(project: Path) -> None:
    people = ["anna@example.org", "Anna@example.org", "anna/example.org", "..", "ünal"]
    memories = [open_memory(project, user=name) for name in people]
    for name, memory in zip(people, memories, strict=True):
        memory.add(f"I am {name}", "user", scope="user")
    roots = {memory.stores.of("user").root for memory in memories}
    assert len({root.casefold() for root in roots}) == len(people), "nobody reads another's"
    assert all(os.path.dirname(os.path.dirname(root)).endswith("home/users") for root in roots)
    assert [len(memory.list(scope="user")) for memory in memories] == [1] * len(people)
    for name, memory in zip(people, memories, strict=True):
        memory.add(f"{name} wants short reviews", "project", scope="agent:reviewer")
    listed = [[one.description for one in memory.list(scope="agent:reviewer")] for memory in memories]
    assert [len(one) for one in listed] == [1] * len(people), "nor what a sub-agent learned of another's work (A1)"
    assert open_memory(project).stores.of("user").root.endswith("home/memory")
    with pytest.raises(PathEscape, match="too long"):
        open_memory(project, user="x" * 300).stores.of("user")
    with pytest.raises(PathEscape, match="half a character"):
        open_memory(project, user="\ud800").stores.of("user")


def test_there_are_few_public_names_and_importing_them_does_nothing() -> None:
    assert len(memdir.__all__) <= 22
    for package in (memdir, memdir.agent, memdir.model, memdir.transcript):
        assert package.__all__ == sorted(set(package.__all__))
        for name in package.__all__:
            assert getattr(package, name) is not None
    assert memdir.__all__ == dir(memdir)
    with pytest.raises(AttributeError):
        _ = memdir.no_such_name  # type: ignore[attr-defined]


def test_a_sink_that_is_still_empty_is_told_all_the_same(tmp_path: Path) -> None:
    class Told(list[Event]):
        emit = list.append

    told = Told()
    open_memory(tmp_path, home=tmp_path / "home", sink=told).add("Deploys run on Tuesdays")
    assert "memory.changed" in [event.name for event in told]
