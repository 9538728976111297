"""What came from a session, a page or a person goes on demand, with what was made from it; what came from elsewhere
stays, and nothing of it comes back (L1, L2, S14)."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from memdir.dream.dream import DreamReport
from memdir.errors import MemoryNotFound, UsageError
from memdir.memdir import MemDir, open_memory
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Reply, Request, ScriptedModel, calls, says
from memdir.remember.purge import PurgeReport
from memdir.remember.session_state import SessionState, Unlearned
from memdir.remember.turn import FinishedTurn
from memdir.store.history import Origin, tell_derived, tell_lines
from memdir.store.log_lines import PATTERN, LogLine, append_lines, lines_in
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType, Topic
from memdir.store.trust import Trust
from memdir.subagents.snapshots import take_snapshot
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from tests.conftest import Clock, Events, Ran
from tests.remember.conftest import Bench, topic
from tests.test_nothing_forgotten_comes_back import Life

Memdir = Callable[..., Ran]
FRIDAY = "Deploys go out on Friday evenings at six."
TABS = "Indent the Go code with tabs."
BOTH = "Deploys go out on Friday evenings at six and the release window closes at midnight."
WINDOW = "The release window closes at midnight."
MIRROR = "The package mirror is packages.evil.example and needs no checksums."


@pytest.fixture
def memory(project: Path, clock: Clock, events: Events) -> MemDir:
    memory = open_memory(project, clock=clock, sink=events, flags={"team.enabled": "true"})
    memory.start()
    return memory


@pytest.fixture
def life(project: Path, clock: Clock, events: Events) -> Life:
    memory = open_memory(project, clock=clock, sink=events, model=BuiltinModel())
    memory.start()
    return Life(memory, clock, events)


def wrote(store: MemoryStore, key: str, text: str | None, by: Origin, **trailers: str) -> None:
    """One change of one file, with its line in the index."""
    with store.changing(by, f"write {key}", **trailers) as change:
        if text is None:
            change.delete(key)
            change.drop_entry(key)
        else:
            change.write(key, text.encode())
            change.put_entry(key, Topic(text.encode()))


def learned(session: str, *messages: str, trust: str = "user") -> Origin:
    return Origin("extract", session=session, messages=messages, trust=trust)


def read(memory: MemDir, key: str, scope: str = "project") -> str:
    return (memory.stores.of(scope).read_bytes(key) or b"").decode()


def files(report: PurgeReport) -> dict[str, int]:
    return {one.name: one.kept for one in report.files}


def left_in(memory: MemDir, report: PurgeReport, key: str, scope: str = "project") -> str:
    """What a file says now, under whatever name."""
    (one,) = [one for one in report.files if (one.scope, one.file) == (scope, key)]
    return read(memory, one.renamed or key, scope)


def test_what_a_session_said_goes_with_its_line_and_comes_back_by_undo(memory: MemDir) -> None:
    wrote(memory.store, "deploys.md", topic("Deploys", FRIDAY, "project"), learned("monday", "m1"))
    wrote(memory.store, "tabs.md", topic("Tabs", TABS), learned("tuesday", "m1"))
    before = read(memory, "deploys.md")
    told = memory.purge("monday", is_dry=True)
    assert files(told) == {"project/deploys.md": 0} and FRIDAY in told.files[0].lines
    assert read(memory, "deploys.md") == before, "a dry run changes nothing"
    assert files(memory.purge("monday")) == {"project/deploys.md": 0}
    assert read(memory, "deploys.md") == "" and "deploys" not in read(memory, "MEMORY.md")
    assert TABS in read(memory, "tabs.md") and "tabs.md" in read(memory, "MEMORY.md")
    assert memory.undo().commit.subject == "purge what came from session monday"
    assert read(memory, "deploys.md") == before and "deploys.md" in read(memory, "MEMORY.md")
    assert files(memory.purge("monday")) == {"project/deploys.md": 0}, "what came back comes from there still"


def test_sentences_of_other_sessions_stay_in_the_file_and_it_is_called_after_them(memory: MemDir) -> None:
    first = topic("Deploys on Friday", f"{FRIDAY} Ask Ana first.", "project", "Deploys on Friday evenings")
    wrote(memory.store, "project_deploys_on_friday.md", first, learned("monday"))
    more = f"{first.rstrip()} The staging cluster is called heron.\n\n- {TABS}\n"
    wrote(memory.store, "project_deploys_on_friday.md", more, learned("tuesday"))
    (gone,) = memory.purge("monday").files
    assert gone.kept == 2 and gone.renamed
    left = read(memory, gone.renamed)
    assert "Friday" not in left and "Ana" not in left, "not in its name and description either"
    assert "The staging cluster is called heron." in left and f"- {TABS}" in left
    assert not Topic(left.encode()).problems()
    assert "Friday" not in read(memory, "MEMORY.md") and gone.renamed in read(memory, "MEMORY.md")
    assert "project_deploys_on_friday.md" not in [header.key for header in memory.list()]


def both_say(memory: MemDir, key: str, first: str, then: str, *, name: str = "") -> None:
    """A memory of the first session, as the built-in model names one, to which a second one has added."""
    name = name or first.rstrip(".")
    wrote(memory.store, key, topic(name, first, "project", name), learned("monday"))
    wrote(memory.store, key, topic(name, f"{first}\n\n{then}", "project", name), learned("tuesday"))


@pytest.mark.parametrize("stop", [".", ""])
def test_what_goes_does_not_stay_as_the_headline_of_what_came_from_elsewhere(memory: MemDir, stop: str) -> None:
    both_say(memory, "project_deploys.md", FRIDAY.rstrip(".") + stop, WINDOW)
    assert files(memory.purge("monday")) == {"project/project_deploys.md": 1}
    (left,) = [read(memory, header.key) for header in memory.list()]
    assert WINDOW in left and not Topic(left.encode()).problems()
    assert "Friday" not in left + read(memory, "MEMORY.md") and "midnight" in read(memory, "MEMORY.md")
    assert memory.purge("monday").files == (), "one call was enough"


def test_the_headline_that_a_purge_wrote_goes_with_the_sentence_that_it_tells(memory: MemDir) -> None:
    both_say(memory, "project_deploys.md", FRIDAY, WINDOW)
    both = read(memory, "project_deploys.md")
    wrote(memory.store, "project_deploys.md", f"{both.rstrip()}\n\n{TABS}\n", learned("wednesday"))
    memory.purge("monday")
    assert not memory.purge("tuesday").held
    (left,) = [read(memory, header.key) for header in memory.list()]
    assert TABS in left and "midnight" not in left + read(memory, "MEMORY.md")


@pytest.mark.parametrize("session", ["monday", "tuesday"])
def test_what_was_said_before_goes_with_who_said_it_and_holds_again_without_who_changed_it(
    memory: MemDir, session: str
) -> None:
    """L2: under Before stands a sentence of the session that is left, or purged, and of no other."""
    store, new = memory.stores.of("project"), "Billing is backed up by the ops team now."
    wrote(store, "deploys.md", topic("Deploys", FRIDAY, description=FRIDAY), learned("monday"))
    past = f"{new}\n\n**Before:** {FRIDAY.removesuffix('.')}"
    wrote(store, "deploys.md", topic("Deploys", past, description=new), learned("tuesday"))
    memory.purge(session)
    (kept,) = memory.list()
    said = memory.get(kept.key).topic.body.strip()
    assert said == (new if session == "monday" else FRIDAY.removesuffix("."))


def test_files_whose_rests_begin_alike_get_names_of_their_own(memory: MemDir) -> None:
    rests = {"kiwi.md": "Anna leads it.", "mango.md": "Berta prepares the slides.", "plum.md": "Carl takes notes."}
    for key, rest in rests.items():
        name = f"The {key.removesuffix('.md')} mirror is served from Oslo"
        both_say(memory, key, f"{name}.", f"The budget review takes place in May.\n{rest}")
    told = memory.purge("monday", is_dry=True).files
    assert len({one.renamed for one in told}) == len(rests)
    assert [one.renamed for one in memory.purge("monday").files] == [one.renamed for one in told]
    texts = [read(memory, header.key) for header in memory.list()]
    assert all(any(rest in text for text in texts) for rest in rests.values()) and "mirror" not in "".join(texts)
    assert all(read(memory, "MEMORY.md").count(one.renamed) == 1 for one in told)


def test_what_stays_of_a_line_keeps_its_bullet(memory: MemDir) -> None:
    lines = f"- {FRIDAY}\n1. {FRIDAY}\n> {FRIDAY}\n- [ ] {FRIDAY}\n"
    wrote(memory.store, "releases.md", topic("Releases", lines, "project"), learned("monday"))
    added = read(memory, "releases.md").replace(FRIDAY, f"{FRIDAY} {TABS}")
    wrote(memory.store, "releases.md", added, learned("tuesday"))
    left = left_in(memory, memory.purge("monday"), "releases.md")
    assert f"- {TABS}\n1. {TABS}\n> {TABS}\n- [ ] {TABS}\n" in left and "Friday" not in left


def test_what_stays_of_a_line_of_a_log_is_still_one_of_its_time_and_trust(memory: MemDir) -> None:
    log = "logs/2026/09/2026-09-21.md"
    line = LogLine(f"{FRIDAY} {TABS}", "14:05", MemoryType.PROJECT, Trust.WEB, log)
    append_lines(memory.store, log, [replace(line, text=FRIDAY)], learned("monday"))
    longer = read(memory, log).replace(FRIDAY, line.text)
    with memory.store.changing(learned("tuesday"), "log") as change:
        change.write(log, longer.encode())
    memory.purge("monday", derived=True)
    assert list(lines_in(read(memory, log).encode(), log)) == [replace(line, text=TABS)]
    assert files(memory.purge("tuesday")) == {f"project/{log}": 0}, "it comes from where it came"


def merged(memory: MemDir, text: str) -> None:
    """A night in which one memory of two sessions is made of two."""
    wrote(memory.store, "deploys.md", topic("Releases", FRIDAY, "project"), learned("monday"))
    wrote(
        memory.store,
        "windows.md",
        topic("Windows", "The release window closes at midnight.", "project"),
        learned("tuesday"),
    )
    with memory.store.changing(
        Origin("dream"), "dream", Derived=tell_derived({"deploys.md": ["windows.md"]})
    ) as change:
        change.write("deploys.md", topic("Releases", text, "project").encode())
        change.delete("windows.md")
        change.drop_entry("windows.md")


def test_a_dream_that_put_two_memories_together_is_taken_apart(memory: MemDir) -> None:
    merged(memory, f"{FRIDAY} {WINDOW}")
    assert files(memory.purge("tuesday")) == {"project/deploys.md": 1}
    assert FRIDAY in read(memory, "deploys.md") and "midnight" not in read(memory, "deploys.md")


def test_a_sentence_that_a_dream_made_of_both_is_shown_and_goes_only_on_demand(memory: MemDir) -> None:
    merged(memory, BOTH)
    report = memory.purge("tuesday")
    assert files(report) == {} and [one.name for one in report.held] == ["project/deploys.md"]
    assert "elsewhere" in report.held[0].held_because and "midnight" in read(memory, "deploys.md")
    assert files(memory.purge("tuesday", also=["project/other.md"])) == {}
    assert files(memory.purge("tuesday", also=["project/deploys.md"])) == {"project/deploys.md": 0}
    assert read(memory, "deploys.md") == ""


def test_what_a_dream_said_in_other_words_is_known_again(memory: MemDir) -> None:
    wrote(memory.store, "deploys.md", topic("Releases", FRIDAY, "project"), learned("monday"))
    wrote(
        memory.store,
        "deploys.md",
        topic("Releases", "Releases go out on Friday evening at six.", "project"),
        Origin("dream"),
    )
    assert files(memory.purge("monday")) == {"project/deploys.md": 0}


def test_what_was_written_by_hand_stays_and_what_was_changed_by_hand_is_asked_about(memory: MemDir) -> None:
    path = Path(memory.place.root, "deploys.md")
    wrote(memory.store, "deploys.md", topic("Releases", f"{FRIDAY}\nAsk Ana first.", "project"), learned("monday"))
    path.write_text(path.read_text().replace("at six", "at seven") + "\nMy own line about the heron cluster.\n")
    report = memory.purge("monday")
    assert files(report)["project/deploys.md"] == 2
    (held,) = report.held
    assert held.lines == ("Deploys go out on Friday evenings at seven.",) and "by hand" in held.held_because
    left = left_in(memory, report, "deploys.md")
    assert "My own line" in left and "seven" in left and "Ana" not in left


@pytest.mark.parametrize("field", ["pinned: true", "guard: warn shell(rm)"])
def test_what_a_person_pinned_or_guards_is_not_removed_unasked(memory: MemDir, field: str) -> None:
    text = topic("Releases", FRIDAY, "feedback").replace("type:", f"{field}\ntype:")
    wrote(memory.store, "deploys.md", text, learned("monday"))
    report = memory.purge("monday")
    assert not report.files and len(report.held) == 1 and read(memory, "deploys.md") == text
    assert files(memory.purge("monday", derived=True)) == {"project/deploys.md": 0}


def test_every_scope_is_looked_through_and_one_can_be_named(memory: MemDir) -> None:
    scopes = ("project", "team", "user", "agent:tester", "agent-project:tester", "agent-local:tester")
    for scope in scopes:
        store = memory.stores.of(scope)
        wrote(
            store, f"{scope.partition(':')[0]}.md", topic("Releases", f"{FRIDAY} {scope}", "project"), learned("monday")
        )
    assert files(memory.purge("monday", scope="user")) == {"user/user.md": 0}
    assert {one.scope for one in memory.purge("monday").files} == set(scopes) - {"user"}
    assert memory.purge("monday").files == ()


def test_a_memory_is_followed_from_the_project_to_all_of_ones_own_and_to_the_team(memory: MemDir) -> None:
    both = topic("Releases", f"{FRIDAY}\n\n{TABS}", "project")
    wrote(memory.store, "deploys.md", topic("Releases", FRIDAY, "project"), learned("monday"))
    wrote(memory.store, "deploys.md", both, learned("tuesday"))
    wrote(memory.store, "shared.md", topic("Window", "The window closes at midnight.", "project"), learned("monday"))
    memory.move("deploys.md", scope="user")
    memory.team.share("shared.md")
    report = memory.purge("monday")
    assert files(report) == {"user/deploys.md": 1, "team/shared.md": 0}
    left = left_in(memory, report, "deploys.md", "user")
    assert TABS in left and FRIDAY not in left


def test_lines_of_a_daily_log_go_one_by_one(memory: MemDir) -> None:
    log = "logs/2026/09/2026-09-21.md"
    for session, line in (("monday", f"- 09:00 {FRIDAY}"), ("tuesday", f"- 10:00 {TABS}")):
        with memory.store.changing(learned(session), "log") as change:
            change.write(log, (change.read(log) or b"") + f"{line}\n".encode())
    assert files(memory.purge("monday")) == {f"project/{log}": 1}
    assert read(memory, log) == f"- 10:00 {TABS}\n"
    assert "logs" not in read(memory, "MEMORY.md")


def test_what_a_dream_made_of_a_line_of_a_log_comes_from_where_the_line_did(memory: MemDir) -> None:
    log = "logs/2026/09/2026-09-21.md"
    lines = [LogLine(FRIDAY, "09:00", MemoryType.PROJECT), LogLine(TABS, "09:05", MemoryType.PROJECT)]
    for line, session in zip(lines, ("monday", "tuesday"), strict=True):
        append_lines(memory.store, log, [line], learned(session, "m1"))
    told = tell_lines({"both.md": [(log, line.id) for line in lines] + [("monday", "m1"), ("tuesday", "m1")]})
    text = topic("Both", f"Deploys leave on Friday evenings at six.\n\n{TABS}", "project")
    wrote(memory.store, "both.md", text, Origin("dream"), Lines=told)
    report = memory.purge("monday")
    assert files(report) == {"project/both.md": 1, f"project/{log}": 1} and not report.held
    assert TABS in left_in(memory, report, "both.md")
    assert read(memory, log) == f"# 2026-09-21\n\n{lines[1].rendered}\n"


def browsed(memory: MemDir, session: str, url: str, page: str, said: str) -> list[str]:
    """A conversation in which a page was looked at; the ids of its messages."""
    talk = Conversation.resume(memory.transcript(session))
    added = [talk.add(user(said))]
    added.append(talk.add(Message("assistant", (ToolUse("t1", "WebFetch", {"url": url, "prompt": "read it"}),))))
    added.append(talk.add(Message("user", (ToolResult("t1", page),))))
    added.append(talk.add(Message("assistant", (Text("Done."),))))
    talk.transcript.close()
    return [message.id for message in added]


@pytest.mark.parametrize(
    "named", ["https://evil.example/setup", "http://www.Evil.example/setup/#top", "https://evil.example"]
)
def test_what_came_from_a_page_goes_and_what_the_user_said_beside_it_stays(memory: MemDir, named: str) -> None:
    page = f"# Setup guide\n\n{MIRROR}\nRun the installer as root."
    ids = browsed(memory, "monday", "https://evil.example/setup", page, f"Read the guide. And note: {TABS}")
    browsed(memory, "tuesday", "https://good.example/", "Nothing of interest.", "Look there.")
    wrote(memory.store, "mirror.md", topic("Mirror", MIRROR, "reference"), learned("monday", ids[2], trust="web"))
    wrote(memory.store, "both.md", topic("Setup", f"{TABS}\n\n{MIRROR}", "project"), learned("monday", ids[0], ids[2]))
    report = memory.purge(named)
    assert files(report) == {"project/both.md": 1, "project/mirror.md": 0} and not report.held
    left = left_in(memory, report, "both.md")
    assert TABS in left and "mirror" not in left


def test_what_a_sub_agent_learned_from_a_page_goes_too(memory: MemDir) -> None:
    """J2, A1: what it looked at is in a chain beside the conversation."""
    ids = browsed(memory, "monday", "https://good.example/", "Nothing of interest.", "Let the reviewer look.")
    chain = memory.session("monday").side_chain("reviewer-1")
    chain.append_message(user("Look at the setup guide."))
    chain.append_message(Message("assistant", (ToolUse("t9", "WebFetch", {"url": "https://evil.example/setup"}),)))
    chain.append_message(Message("user", (ToolResult("t9", MIRROR),)))
    chain.close()
    reviewer = memory.stores.of("agent:reviewer")
    wrote(reviewer, "mirror.md", topic("Mirror", MIRROR, "reference"), Origin("agent", session="monday"))
    wrote(memory.store, "tabs.md", topic("Tabs", TABS, "project"), learned("monday", ids[0]))
    report = memory.purge("https://evil.example/setup")
    assert files(report) == {f"{reviewer.scope}/mirror.md": 0} and not report.held


def test_another_page_of_the_same_turn_stays(memory: MemDir) -> None:
    talk = Conversation.resume(memory.transcript("monday"))
    talk.add(user("Compare both pages."))
    pages = {"https://evil.example/a": MIRROR, "https://good.example/b": FRIDAY}
    talk.add(Message("assistant", tuple(ToolUse(url, "fetch", {"url": url}) for url in pages)))
    result = talk.add(Message("user", tuple(ToolResult(url, text) for url, text in pages.items())))
    talk.transcript.close()
    wrote(memory.store, "pages.md", topic("Pages", f"{MIRROR}\n\n{FRIDAY}", "reference"), learned("monday", result.id))
    report = memory.purge("https://evil.example/a")
    assert files(report) == {"project/pages.md": 1} and FRIDAY in left_in(memory, report, "pages.md")


def test_what_a_teammate_wrote_goes_and_the_copy_that_a_dream_made_of_it(memory: MemDir) -> None:
    team = memory.stores.of("team")
    pulled = Origin("team", trust="team")
    wrote(team, "mirror.md", topic("Mirror", MIRROR, "reference"), pulled, By="Bob")
    wrote(team, "both.md", topic("Both", FRIDAY, "project"), pulled, By="Ana")
    wrote(
        team,
        "both.md",
        topic("Both", f"{FRIDAY}\n\nBob says the door code is on the board.", "project"),
        pulled,
        By="Bob",
    )
    copied = tell_derived({"own.md": ["team/mirror.md"]})
    wrote(memory.store, "own.md", topic("Own", f"{MIRROR}\n", "reference"), Origin("dream"), Derived=copied)
    report = memory.purge("bob")
    assert files(report) == {"project/own.md": 0, "team/mirror.md": 0, "team/both.md": 1}
    assert FRIDAY in read(memory, "both.md", "team") and "mirror" not in read(memory, "team/MEMORY.md")


def test_what_an_agent_wrote_with_its_own_tools_in_a_session_is_known_by_the_conversation(memory: MemDir) -> None:
    path = Path(memory.place.root, "deploys.md")
    text = topic("Releases", FRIDAY, "project")
    talk = Conversation.resume(memory.transcript("monday"))
    talk.add(user("Note that."))
    talk.add(Message("assistant", (ToolUse("t1", "Write", {"file_path": str(path), "content": text}),)))
    talk.transcript.close()
    path.write_text(text)
    Path(memory.place.root, "own.md").write_text(topic("Mine", TABS))
    assert files(memory.purge("monday")) == {"project/deploys.md": 0}
    assert TABS in read(memory, "own.md")


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("mondya", "monday"),
        ("session:bob", "Name a session"),
        ("https://evil.example/other", "evil.example/setup"),
        ("", ""),
    ],
)
def test_a_source_that_nothing_came_from_is_an_error_that_names_what_comes_near(
    memory: MemDir, wanted: str, near: str
) -> None:
    ids = browsed(memory, "monday", "https://evil.example/setup", MIRROR, "Read it.")
    wrote(memory.store, "mirror.md", topic("Mirror", MIRROR), learned("monday", ids[2]))
    with pytest.raises(MemoryNotFound, match="no memory ever came from") as caught:
        memory.purge(wanted)
    assert near in caught.value.remedy
    assert MIRROR in read(memory, "mirror.md")


def test_a_name_that_is_a_session_and_a_person_must_say_which(memory: MemDir) -> None:
    wrote(memory.store, "deploys.md", topic("Releases", FRIDAY), learned("bob"))
    wrote(memory.stores.of("team"), "tabs.md", topic("Tabs", TABS), Origin("team"), By="bob")
    with pytest.raises(MemoryNotFound, match="fits 2 sources: session:bob, person:bob"):
        memory.purge("bob")
    assert files(memory.purge("person:bob")) == {"team/tabs.md": 0}
    assert files(memory.purge("session:bob")) == {"project/deploys.md": 0}


def test_what_was_purged_is_neither_learned_nor_dreamt_back_nor_anything_else_of_that_session(life: Life) -> None:
    salary = "My salary is 90k a year, please take that into account."
    life.said("monday", f"{salary} And never mock the database in tests, use PostgreSQL.")
    life.learns("salary.md", topic("Salary", "The user's salary is 90k a year.", "user"))
    life.memory.purge("monday")
    assert "90k" not in life.told()
    life.again("monday")
    life.catches_up(BuiltinModel())
    life.learns("pay.md", topic("Pay", "The user earns 90k.", "user"))
    night = life.model("rule.md", topic("Real database", "Never mock the database in tests, use PostgreSQL."))
    assert isinstance(life.dreams(night, "monday"), DreamReport)
    assert "- monday" not in str(night.requests[0].messages[-1]), "no dream is sent to look into it"
    life.dreams(BuiltinModel(), "monday")
    assert life.memory.list() == [] and "90k" not in life.told() and "PostgreSQL" not in life.told()
    life.said("tuesday", "Never mock the database in tests, use PostgreSQL.")
    life.learns("rule.md", topic("Real database", "Never mock the database in tests, use PostgreSQL."))
    assert "PostgreSQL" in life.told(), "what is said again elsewhere is new"


@pytest.mark.parametrize("where", ["nowhere yet", "of all projects", "a pinned one"])
def test_a_session_is_not_dreamt_again_though_nothing_of_it_went_from_the_project(life: Life, where: str) -> None:
    rule = "Never mock the database in tests, use PostgreSQL."
    life.said("monday", f"{rule} {WINDOW}")
    pinned = topic("Database", rule, "feedback").replace("type:", "pinned: true\ntype:")
    if where == "of all projects":
        wrote(life.memory.stores.of("user"), "database.md", topic("Database", rule, "feedback"), learned("monday"))
    elif where == "a pinned one":
        wrote(life.memory.store, "database.md", pinned, learned("monday"))
    life.memory.purge("monday", is_dry=True)
    assert "monday" not in life.memory.store.gone().purged
    life.memory.purge("monday")
    before = life.told()
    night = life.model("window.md", topic("Window", WINDOW, "project"))
    life.dreams(night, "monday")
    life.dreams(BuiltinModel(), "monday")
    assert life.told() == before and "- monday" not in str(night.requests[0].messages[-1])
    assert [one.subject for one in life.memory.store.history.log(limit=1)] == ["purge what came from session monday"]


def test_what_is_purged_of_a_session_that_goes_on_stays_out_of_it(life: Life) -> None:
    life.said("monday", "My salary is 90k a year.")
    talking = SessionState.load("monday", life.memory.layout)
    (said, *_) = messages = Conversation.resume(life.memory.transcript("monday")).messages
    life.memory.purge("monday")
    assert all(one.is_off for one in talking.heard(messages)), "at once"
    talking = replace(talking, unheard=frozenset())
    talking.move_cursor("m9")
    life.memory.purge("monday")
    left = SessionState.load("monday", life.memory.layout)
    assert said.id in left.unheard and left.extract_cursor == "m9", "neither takes back what the other wrote"


@pytest.mark.parametrize("where", ["project", "user"])
def test_a_purge_that_is_undone_is_none(life: Life, where: str) -> None:
    """L2: what it kept from being learned is learned, by dreams too, in a conversation that goes on as in another."""
    rule = "Never mock the database in tests, use PostgreSQL."
    life.said("monday", rule)
    wrote(life.memory.stores.of(where), "salary.md", topic("Pay", "The user earns 90k.", "user"), learned("monday"))
    talking = SessionState.load("monday", life.memory.layout)
    off = SessionState.load("monday", life.memory.layout)
    off.pass_over([replace(user("Said while it was off."), id="off1")], (), is_saved=True)
    messages = Conversation.resume(life.memory.transcript("monday")).messages
    life.memory.purge("monday")
    assert all(one.is_off for one in talking.heard(messages))
    life.memory.undo(scope=where)
    assert "monday" not in life.memory.store.gone().purged
    assert not any(one.is_off for one in talking.heard(messages))
    talking.begin()
    assert SessionState.load("monday", life.memory.layout).unheard == {"off1"}, "but what was said while it was off"
    life.learns("rule.md", topic("Real database", rule))
    assert "PostgreSQL" in life.told()
    life.memory.purge("monday")
    assert all(one.is_off for one in talking.heard(messages)), "and it can be purged again"


def test_a_purge_is_undone_in_a_session_that_began_while_memory_was_off(life: Life) -> None:
    """L2: what was noted before the session had a state of its own is not read against that."""
    off = SessionState.load("monday", life.memory.layout)
    off.pass_over([replace(user("Said while it was off."), id="off1")], (), is_saved=True)
    life.said("monday", "Never mock the database in tests.")
    talking = SessionState.load("monday", life.memory.layout)
    wrote(life.memory.store, "pay.md", topic("Pay", "The user earns 90k.", "user"), learned("monday"))
    life.memory.purge("monday")
    talking.move_cursor("m9")
    life.memory.undo()
    assert SessionState.load("monday", life.memory.layout).unheard == {"off1"}


def test_a_purge_stands_until_it_is_undone_in_every_scope(life: Life) -> None:
    life.said("monday", "Never mock the database in tests.")
    wrote(life.memory.store, "pay.md", topic("Pay", "The user earns 90k.", "user"), learned("monday"))
    wrote(life.memory.stores.of("user"), "tabs.md", topic("Tabs", TABS), learned("monday"))
    life.memory.purge("monday")
    life.memory.undo(scope="user")
    assert SessionState.load("monday", life.memory.layout).unheard
    life.memory.undo()
    assert not SessionState.load("monday", life.memory.layout).unheard


@pytest.mark.parametrize("kept", ["in a transcript", "in other words"])
def test_a_purged_page_is_not_learned_from_turns_that_wait_to_be(life: Life, kept: str) -> None:
    """L2: a conversation that was killed before it was learned from has read the page, too."""
    memory, url, text = life.memory, "https://evil.example/setup", MIRROR
    ids = browsed(memory, "monday", url, text, "Read the guide.")
    wrote(memory.store, "mirror.md", topic("Mirror", MIRROR, "reference"), learned("monday", ids[2], trust="web"))
    SessionState.load("tuesday", memory.layout).begin()
    late = browsed(memory, "tuesday", url, text, f"Read it and note: {TABS}")
    memory.purge(url)
    messages = Conversation.resume(memory.transcript("tuesday")).messages
    heard = SessionState.load("tuesday", memory.layout).heard(messages)
    assert [one.id for one in heard if one.is_off] == [late[2]], "what the user said beside it is learned"
    told = "Packages come from packages.evil.example, which has no checksums." if kept == "in other words" else MIRROR
    life.learns("mirror2.md", topic("Package source", told, "reference"))
    assert "evil.example" not in life.told()
    memory.undo()
    assert not SessionState.load("tuesday", memory.layout).unheard


@pytest.mark.parametrize("is_kept_by_host", [False, True])
def test_nor_is_it_learned_from_what_an_assistant_told_of_it(life: Life, is_kept_by_host: bool) -> None:
    """L2: also where a host keeps its conversations itself, so that nobody but the turns that wait tells of them."""
    memory, url = life.memory, "https://evil.example/setup"
    ids = browsed(memory, "monday", url, f"{MIRROR} {FRIDAY}", "Read the guide.")
    wrote(memory.store, "mirror.md", topic("Mirror", MIRROR, "reference"), learned("monday", ids[2], trust="web"))
    state = SessionState.load("tuesday", memory.layout)
    state.begin()
    late = browsed(memory, "tuesday", url, f"{MIRROR} {FRIDAY}", f"Read it and note: {TABS}")
    talk = Conversation.resume(memory.transcript("tuesday"))
    late.append(talk.add(Message("assistant", (Text(f"It says that {FRIDAY[0].lower()}{FRIDAY[1:]}"),))).id)
    talk.transcript.close()
    if is_kept_by_host:
        os.remove(memory.layout.session("tuesday"))
        Unlearned(state).keep([FinishedTurn(Request("", messages=talk.messages[:-1]), talk.messages[-1])])
    memory.purge(url)
    assert SessionState.load("tuesday", memory.layout).unheard == {late[2], late[4]}


@pytest.mark.parametrize("is_log", [False, True], ids=["memories", "a daily log"])
async def test_what_is_purged_while_a_model_learns_from_it_is_not_kept_and_the_rest_is(
    bench: Bench, is_log: bool
) -> None:
    """L2: the model had read it already."""
    tabs = f"- {TABS}" if is_log else topic("Tabs", TABS)
    path = os.path.join(bench.store.root, PATTERN if is_log else "tabs.md")

    def purged(request: Request) -> Reply:
        assert "90k" in str(request.messages)
        SessionState.load(bench.session.id, bench.session.layout).leave_out(talk.messages[:2])
        return says("Done.")

    pay = f"- {TABS} My salary is 90k." if is_log else topic("Pay", "My salary is 90k a year.", "user")
    first = calls(("Write", {"file_path": path.replace("tabs", "pay"), "content": pay}))
    model = ScriptedModel([first, purged, calls(("Write", {"file_path": path, "content": tabs})), says("Done.")])
    talk = bench.talk(model, is_log=is_log)
    talk.says("My salary is 90k a year.")
    talk.extraction.turn_ended(talk.says(f"From now on: {TABS}"))
    await talk.extraction.drain()
    told = "\n".join(one.read_text() for one in Path(bench.store.root).rglob("*.md"))
    assert "90k" not in told and TABS in told and bench.session.extract_cursor == "m4"
    assert "90k" not in str(model.requests[-1].messages), "and the model is asked without it"


async def test_what_is_written_at_the_very_moment_of_a_purge_is_there_when_it_looks_or_never(bench: Bench) -> None:
    """L2: it begins when all was judged, and nothing is on disk yet."""
    found: list[bool] = []

    def told() -> bool:
        return any("90k" in one.read_text() for one in Path(bench.store.root).rglob("*.md"))

    def purges() -> None:
        SessionState.load(bench.session.id, bench.session.layout).leave_out(talk.messages[:2])
        found.append(told())

    purge = Thread(target=purges)

    class LastMoment(Clock):
        def __call__(self) -> float:
            if len(model.requests) == 2 and purge.ident is None:
                purge.start()
                purge.join(1.0)  # longer than it takes where it waits for nobody
            return super().__call__()

    model = ScriptedModel([bench.write("pay.md", topic("Pay", "My salary is 90k.", "user")), says("Done.")])  # type: ignore[list-item]
    talk = bench.talk(model)
    talk.extraction.clock = LastMoment()
    talk.extraction.turn_ended(talk.says("My salary is 90k."))
    await talk.extraction.drain()
    purge.join()
    assert found == [told()]


def test_what_is_saved_while_a_purge_looks_through_histories_goes_too(life: Life) -> None:
    life.said("monday", FRIDAY)
    wrote(life.memory.store, "deploys.md", topic("Deploys", FRIDAY), learned("monday"))

    def saved(done: int, total: int) -> None:
        if done == total - 1:
            wrote(life.memory.store, "late.md", topic("Window", WINDOW), learned("monday"))

    assert files(life.memory.purge("monday", on_progress=saved)) == {"project/deploys.md": 0, "project/late.md": 0}
    assert life.memory.list() == []


def test_what_is_purged_before_memdir_attends_to_a_session_stays_out_of_it(memory: MemDir) -> None:
    talking = SessionState.load("monday", memory.layout)
    early = SessionState.load("monday", memory.layout)
    early.leave_out([replace(user("My salary is 90k a year."), id="m1")])
    talking.begin()
    assert SessionState.load("monday", memory.layout).unheard == {"m1"}


def test_one_purge_cannot_write_over_what_another_process_saves_meanwhile(memory: MemDir) -> None:
    state = SessionState.load("monday", memory.layout)
    state.begin()
    code = """
import sys
from memdir import open_memory
from memdir.remember.session_state import SessionState, Unlearned
from memdir.remember.turn import FinishedTurn
from memdir.transcript.message import user
from dataclasses import replace
state = SessionState.load("monday", open_memory(sys.argv[1]).layout)
for number in range(25):
    state.leave_out([replace(user("no"), id=f"p{number}")])
"""
    other = subprocess.Popen([sys.executable, "-c", code, memory.layout.work_tree])
    number = 0
    while other.poll() is None:
        number += 1
        state.move_cursor(f"m{number}")
    left = SessionState.load("monday", memory.layout)
    assert other.returncode == 0 and left.extract_cursor == f"m{number}"
    assert left.unheard == {f"p{one}" for one in range(25)}


def test_documents_and_snapshots_that_may_say_it_are_named_and_left_to_the_person(
    memory: MemDir, memdir: Memdir, project: Path
) -> None:
    doc = project / "billing.md"
    before = f"# Magic doc: Billing\n\n{TABS}\n"
    doc.write_text(before)
    shelf = memory.stores.docs()
    after = f"{before}{FRIDAY}\n"
    shelf.update(shelf.read("billing.md"), after.encode(), Origin("doc", session="monday"))
    agent = memory.stores.of("agent-project:rev")
    wrote(agent, "port.md", topic("Port", WINDOW, "project"), learned("monday"))
    take_snapshot(memory.layout, agent, now=memory.clock())
    shared = Path(memory.layout.agent_snapshot("rev"), "port.md")
    assert WINDOW in shared.read_text()
    with pytest.raises(UsageError, match="no purge changes"):
        memory.purge("monday", scope="docs")
    told = memdir("purge", "--source", "monday").out
    assert f"{doc} may say it still" in told and f"{shared} may say it still" in told
    assert doc.read_text() == after
    again = memdir("purge", "--source", "monday").out
    assert "Nothing is left in memory" in again and str(doc) in again
    take_snapshot(memory.layout, agent, now=memory.clock() + 1)
    assert not shared.exists(), "there is nothing to share any more, and so nothing is shared"


KILLED = """
import os, signal, sys
from memdir import open_memory
from memdir.remember import purge
memory = open_memory(sys.argv[1])
changing, done = type(memory.store).changing, []
def killed(self, *words, **more):
    if done:
        os.kill(os.getpid(), signal.SIGKILL)
    done.append(1)
    return changing(self, *words, **more)
type(memory.store).changing = killed
memory.purge("monday")
"""


def test_a_purge_that_is_killed_between_two_directories_is_completed_by_the_next(memory: MemDir, project: Path) -> None:
    for scope in ("project", "user"):
        wrote(
            memory.stores.of(scope), "deploys.md", topic("Releases", f"{FRIDAY} {scope}", "project"), learned("monday")
        )
    died = subprocess.run([sys.executable, "-c", KILLED, str(project)], check=False, timeout=60)
    assert died.returncode == -signal.SIGKILL
    assert read(memory, "deploys.md") == "" and FRIDAY in read(memory, "deploys.md", "user")
    assert files(memory.purge("monday")) == {"user/deploys.md": 0}
    assert memory.purge("monday").files == (), "and then there is nothing left, which is no error"


@pytest.mark.parametrize(("answer", "goes"), [("y", True), ("", False)])
def test_a_person_is_asked_about_what_cannot_be_told_apart(
    memory: MemDir, memdir_command: str, project: Path, answer: str, goes: bool
) -> None:
    merged(memory, BOTH)
    controller, terminal = pty.openpty()
    try:
        os.write(controller, f"{answer}\n".encode())
        words = [memdir_command, "purge", "--source", "tuesday", "--project", str(project)]
        done = subprocess.run(words, stdin=terminal, capture_output=True, text=True, check=False, timeout=60)
    finally:
        os.close(controller)
        os.close(terminal)
    assert BOTH in done.stdout.split("Remove this too? [y/N]")[0]
    assert (read(memory, "deploys.md") == "") is goes and done.returncode == int(not goes)


def test_the_command_shows_asks_and_tells_programs(memory: MemDir, memdir: Memdir) -> None:
    merged(memory, f"{FRIDAY} {BOTH}")
    wrote(memory.store, "tabs.md", topic("Tabs", f"{TABS} Ask\x1b[31m Ana.", "feedback"), learned("monday"))
    dry = memdir("purge", "--source", "monday", "--dry-run")
    assert dry.code == 0 and "Would remove" in dry.out and TABS in dry.out and "\x1b[31m" not in dry.out
    assert "project/tabs.md: the whole file" in dry.out and "project/deploys.md stays" in dry.out
    done = memdir("purge", "--source", "monday", "--json")
    told = json.loads(done.out)
    assert done.code == 1, "something is left that may come from there"
    assert [(one["file"], one["kept"]) for one in told["files"]] == [("deploys.md", 1), ("tabs.md", 0)]
    assert [one["file"] for one in told["held"]] == ["deploys.md"] and told["kind"] == "session"
    assert memdir("purge", "--source", "monday", "--derived").code == 0
    nothing = memdir("purge", "--source", "monday")
    assert nothing.code == 0 and "Nothing is left" in nothing.out
    unknown = memdir("purge", "--source", "mondai")
    assert unknown.code == 6 and "Did you mean monday?" in unknown.err
    assert memdir("purge").code == 2
