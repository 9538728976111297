"""Past conversations on the command line: list, show, search, export, files, prune, resume, fork, why (J4, R8, L2)."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from memdir.memdir import MemDir, open_memory
from memdir.remember.session_state import SessionState
from memdir.store.history import Origin, tell_lines
from memdir.store.topic import Topic
from memdir.transcript.conversation import Conversation, resume
from memdir.transcript.file_history import FileHistory
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from tests.conftest import NOW, Clock, Ran

Memdir = Callable[..., Ran]
FIRST = "0f3a91c2-0000-4000-8000-000000000001"
SECOND = "77aa91c2-0000-4000-8000-000000000002"
DAY = 86_400
RECORDED = Path(__file__).parent.parent / "contracts" / "recorded"


def answer(ran: Ran) -> Any:
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.fixture
def memory(project: Path) -> MemDir:
    opened = open_memory(project, clock=Clock())
    opened.start()
    return opened


@pytest.fixture
def talk(memory: MemDir, project: Path) -> Conversation:
    """A session that looked for a failing test, edited a file and learned a rule."""
    conversation = Conversation(memory.transcript(FIRST))
    conversation.add(user("Why does the migration test fail on Fridays?\n\nOnly in CI. \x1b]0;pwned\x07\x1b[31m"))
    use = ToolUse("c1", "Bash", {"command": "pytest -x tests/test_migrate.py"})
    conversation.add(Message("assistant", (Text("I look."), use)))
    result = "FAILED <b>test_migrate</b>\n" + "\n".join(f"frame {number}" for number in range(20))
    conversation.add(Message("user", (ToolResult("c1", result, is_error=True),)))
    conversation.add(Message("assistant", (Text("The runner's clock is **UTC**.\n\n```python\nassert 1 < 2\n```"),)))
    history = FileHistory(conversation.transcript, memory.layout.file_history(FIRST))
    (project / "app.py").write_text("old\n")
    history.changed(str(project / "app.py"), b"old\n", b"new\n")
    (project / "app.py").write_text("new\n")
    conversation.add(user("Never merge on a Friday from now on."))
    conversation.add(Message("assistant", (Text("Understood."),)))
    conversation.transcript.close()
    return conversation


@pytest.fixture
def long_talk(memory: MemDir) -> Conversation:
    """Sixty messages about something else, compacted, then two more."""
    conversation = Conversation(memory.transcript(SECOND))
    for number in range(30):
        conversation.add(user(f"question {number} about redis timeouts"))
        conversation.add(Message("assistant", (Text(f"answer {number} {'x' * 2000}"),)))
    conversation.compact(user("What was said about redis."), conversation.messages[-2:], {})
    conversation.add(user("go on"))
    conversation.add(Message("assistant", (Text("gladly"),)))
    conversation.transcript.close()
    return conversation


def at(path: str, age_days: float) -> None:
    os.utime(path, (NOW - age_days * DAY,) * 2)


def test_the_list_has_title_age_size_and_messages_newest_first(
    memdir: Memdir, memory: MemDir, talk: Conversation, long_talk: Conversation
) -> None:
    at(memory.layout.session(SECOND), 3)
    listed = answer(memdir("sessions", "--json"))
    assert listed["total"] == 2
    assert [(one["id"], one["messages"], one["title"]) for one in listed["sessions"]] == [
        (FIRST, 6, "Why does the migration test fail on Fridays?"),
        (SECOND, 63, "question 0 about redis timeouts"),
    ]
    assert listed["sessions"][1]["bytes"] == os.path.getsize(memory.layout.session(SECOND))
    printed = memdir("sessions").out
    assert "migration test" in printed
    assert "1 older" in memdir("sessions", "--limit", "1").out


def test_the_title_of_the_session_memory_goes_before_the_first_question(
    memdir: Memdir, memory: MemDir, talk: Conversation
) -> None:
    notes = Path(memory.layout.session_memory(FIRST))
    notes.parent.mkdir(parents=True)
    notes.write_text("# Session Title\n_A short title_\nFlaky migration test\n\n# Current State\nx\n")
    assert answer(memdir("sessions", "--json"))["sessions"][0]["title"] == "Flaky migration test"
    transcript = memory.transcript(FIRST)
    transcript.append_note({"type": "custom-title", "customTitle": "Named by hand"})
    transcript.close()
    assert answer(memdir("sessions", "--json"))["sessions"][0]["title"] == "Named by hand"


def test_without_sessions_every_command_says_so(memdir: Memdir) -> None:
    assert "no session" in memdir("sessions").out
    for words in (("resume",), ("fork",), ("sessions", "show"), ("sessions", "export"), ("sessions", "files")):
        ran = memdir(*words)
        assert ran.code != 0
        assert "there is no session" in ran.err
    assert memdir("sessions", "prune").code == 0
    assert memdir("sessions", "search", "x").code == 1


def test_show_prints_everything_said_and_no_escape(memdir: Memdir, talk: Conversation, long_talk: Conversation) -> None:
    printed = memdir("sessions", "show", "0f3a").out
    assert "\x1b" not in printed
    assert "\x07" not in printed
    for words in ("Only in CI", "→ Bash: pytest -x", "! FAILED", "16 more lines", "Never merge on a Friday"):
        assert words in printed
    assert "frame 19" in memdir("sessions", "show", "0f3a", "--full").out
    assert "Only in CI" not in memdir("sessions", "show", "0f3a", "--last", "1").out
    whole = answer(memdir("sessions", "show", SECOND, "--json"))
    assert len(whole["messages"]) == 63, "what a compaction took away is still there"


def test_a_session_is_named_by_its_beginning_and_doubt_is_told(
    memdir: Memdir, memory: MemDir, talk: Conversation
) -> None:
    shutil.copy(memory.layout.session(FIRST), memory.layout.session(FIRST[:-1] + "9"))
    ran = memdir("sessions", "show", "0f3a")
    assert ran.code != 0
    assert "fits 2 sessions" in ran.err
    assert memdir("sessions", "show", FIRST).code == 0
    assert "there is no session zzz" in memdir("resume", "zzz").err


def test_resume_is_the_context_from_the_last_compaction_on(memdir: Memdir, long_talk: Conversation) -> None:
    """J3: what the command gives a host is what the conversation had."""
    left = answer(memdir("resume", SECOND, "--json"))
    assert [message["id"] for message in left["messages"]] == [message.id for message in long_talk.messages]
    assert left["compacted"] == 3
    assert "summary of a compaction and 2 messages" in memdir("resume", SECOND).out


def test_resume_goes_back_to_a_message_and_tells_of_damage(memdir: Memdir, memory: MemDir, talk: Conversation) -> None:
    back = answer(memdir("resume", "--at", talk.messages[3].id[:10], "--json"))
    assert [message["id"] for message in back["messages"]] == [message.id for message in talk.messages[:4]]
    assert memdir("resume", "--at", "nothing").code != 0
    with open(memory.layout.session(FIRST), "ab") as file:
        file.write(b'{"half a li\n')
    ran = memdir("resume")
    assert "1 damaged line" in ran.err
    assert answer(memdir("resume", "--json"))["damage"]["lines"] == 1


def test_a_fork_has_the_same_context_and_a_life_of_its_own(
    memdir: Memdir, memory: MemDir, talk: Conversation, long_talk: Conversation
) -> None:
    SessionState(SECOND, memory.layout).move_cursor(long_talk.messages[-1].id)
    before = Path(memory.layout.session(SECOND)).read_bytes()
    forked = answer(memdir("fork", SECOND, "--json"))["session"]
    assert resume(memory.layout.session(forked)).messages == long_talk.messages
    assert SessionState.load(forked, memory.layout).extract_cursor == long_talk.messages[-1].id
    more = Conversation.resume(memory.transcript(forked))
    more.add(user("only here"))
    more.transcript.close()
    assert resume(memory.layout.session(forked)).messages == more.messages
    assert resume(memory.layout.session(forked)).damage.total == 0
    assert Path(memory.layout.session(SECOND)).read_bytes() == before
    assert oct(os.stat(memory.layout.session(forked)).st_mode & 0o777) == "0o600"


def test_a_fork_at_a_message_was_extracted_if_more_was(memdir: Memdir, memory: MemDir, talk: Conversation) -> None:
    """X4: what its origin has extracted is not extracted once more."""
    SessionState.load(FIRST, memory.layout).move_cursor(talk.messages[5].id)
    forked = answer(memdir("fork", "--at", talk.messages[3].id, "--json"))["session"]
    assert resume(memory.layout.session(forked)).messages == talk.messages[:4]
    assert SessionState.load(forked, memory.layout).extract_cursor == talk.messages[3].id
    SessionState.load(FIRST, memory.layout).move_cursor(talk.messages[1].id)
    forked = answer(memdir("fork", FIRST, "--at", talk.messages[3].id, "--json"))["session"]
    assert SessionState.load(forked, memory.layout).extract_cursor == talk.messages[1].id
    ran = memdir("fork", FIRST, "--at", "no-such-message")
    assert "there is no message no-such-message" in ran.err


def test_a_fork_takes_the_notes_along_as_far_as_they_reach(memdir: Memdir, memory: MemDir, talk: Conversation) -> None:
    """N1: the notes cover messages that the fork has; else it starts without."""
    notes = Path(memory.layout.session_memory(FIRST))
    notes.parent.mkdir(parents=True)
    notes.write_text("# Session Title\nFlaky test\n")
    SessionState.load(FIRST, memory.layout).mark_summarized(talk.messages[3].id, 12_000)
    whole = answer(memdir("fork", FIRST, "--json"))["session"]
    assert Path(memory.layout.session_memory(whole)).read_text() == notes.read_text()
    assert SessionState.load(whole, memory.layout).summarized_up_to == talk.messages[3].id
    early = answer(memdir("fork", FIRST, "--at", talk.messages[1].id, "--json"))["session"]
    assert not os.path.exists(memory.layout.session_memory(early))
    assert SessionState.load(early, memory.layout).tokens_at_summary == 0


def test_damage_is_told_wherever_a_session_is_shown(memdir: Memdir, memory: MemDir, talk: Conversation) -> None:
    path = Path(memory.layout.session(FIRST))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((*lines[:2], b"\0" * 300 + b"{half\n", *lines[2:])))
    assert "1 damaged line" in memdir("sessions", "show").err
    assert answer(memdir("sessions", "show", "--json"))["damage"] == 1
    assert "- damage: 1 damaged line" in memdir("sessions", "export").out
    assert "damaged: 1 damaged line" in memdir("sessions", "export", "--format", "html").out


def test_files_are_shown_and_brought_back_also_in_a_fork(
    memdir: Memdir, memory: MemDir, talk: Conversation, project: Path
) -> None:
    """J3: file history."""
    early = talk.messages[0].id
    forked = answer(memdir("fork", "--json"))["session"]
    for session in (FIRST, forked):
        (project / "app.py").write_text("new\n")
        assert "as it was then" in memdir("sessions", "files", session).out
        assert answer(memdir("sessions", "files", session, "--at", early[:9], "--json"))["files"] == [
            {"path": str(project / "app.py"), "change": "write"}
        ]
        assert (project / "app.py").read_text() == "new\n"
        assert memdir("sessions", "files", session, "--at", early, "--restore").code == 0
        assert (project / "app.py").read_text() == "old\n"
    shown = memdir("sessions", "files", FIRST, "--at", early, "--show", str(project / "app.py"))
    assert (shown.code, shown.out) == (0, "old\n")
    assert "Nothing was changed" in memdir("sessions", "files", FIRST, "--at", talk.messages[5].id).out
    (project / "app.py").write_text("new\n")
    ran = memdir("sessions", "files", FIRST, "--at", early, "--restore", "--set", "memoryEnabled=false")
    assert "memory is off" in ran.err and (project / "app.py").read_text() == "new\n", "S5: nothing is noted then"
    assert memdir("sessions", "files", FIRST, "--at", early, "--show", "other.py").code != 0


def test_search_finds_places_by_words_and_highlights_them(
    memdir: Memdir, talk: Conversation, long_talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8: sessions by the engine that recall uses."""
    found = answer(memdir("search", "--sessions", "merge friday", "--json"))["matches"]
    assert found[0]["session"] == FIRST
    assert found[0]["message"] == talk.messages[4].id
    assert found == answer(memdir("sessions", "search", "merge", "friday", "--json"))["matches"]
    assert (
        sum(hit["session"] == SECOND for hit in answer(memdir("sessions", "search", "redis", "--json"))["matches"]) == 3
    )
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[31mFriday\x1b[0m" in memdir("search", "--sessions", "friday").out
    assert memdir("search", "--sessions", "zeppelin").code == 1


def test_search_knows_what_day_it_is(memdir: Memdir, project: Path) -> None:
    """R8: a past day in the query speaks for what was said then."""
    for session, days_old in ((FIRST, 9), (SECOND, 1)):
        conversation = Conversation(open_memory(project, clock=Clock(time.time() - days_old * DAY)).transcript(session))
        conversation.add(user("Lunch with a supplier about flour."))
        conversation.transcript.close()
    for words in (("search", "--sessions"), ("sessions", "search")):
        assert answer(memdir(*words, "flour lunch", "--json"))["matches"][0]["session"] == SECOND
        assert answer(memdir(*words, "flour lunch nine days ago", "--json"))["matches"][0]["session"] == FIRST


def test_search_follows_what_is_added_pruned_and_logged(memdir: Memdir, memory: MemDir, talk: Conversation) -> None:
    assert memdir("search", "--sessions", "kubernetes").code == 1
    more = Conversation.resume(memory.transcript(FIRST))
    more.add(user("And what about kubernetes?"))
    more.transcript.close()
    assert answer(memdir("search", "--sessions", "kubernetes", "--json"))["matches"][0]["session"] == FIRST
    more = Conversation.resume(memory.transcript(FIRST))
    more.add(Message("assistant", (Text("A rollback takes a minute there."),)))
    more.transcript.close()
    found = answer(memdir("search", "--sessions", "kubernetes rollback", "--json"))["matches"]
    assert len(found) == 1, "question and answer are one turn, though they were read one after the other"
    memdir("fork", FIRST)
    assert len(answer(memdir("search", "--sessions", "kubernetes", "--json"))["matches"]) == 1, "not once a fork"
    for path in Path(memory.layout.project_home).glob("*.jsonl"):
        path.unlink()
    assert memdir("search", "--sessions", "kubernetes").code == 1
    log = Path(memory.place.logs) / "2026" / "09" / "2026-09-20.md"
    log.parent.mkdir(parents=True)
    log.write_text("- 10:00 the kubernetes upgrade is done\n- 11:00 lunch\n")
    hit = answer(memdir("search", "--sessions", "kubernetes", "--json"))["matches"][0]
    assert (hit["path"], hit["time"]) == (str(log), "2026-09-20")
    assert "kubernetes upgrade" in hit["snippet"]
    shutil.rmtree(memory.layout.session_index)
    assert memdir("search", "--sessions", "kubernetes").code == 0


def test_markdown_export_is_readable_safe_and_without_secrets(
    memdir: Memdir, memory: MemDir, talk: Conversation, tmp_path: Path
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    more = Conversation.resume(memory.transcript(FIRST))
    more.add(user(f"My token is {secret}\n````\nfence\n````"))
    more.add(Message("assistant", (ToolUse("c9", "Write", {"content": "```` fence"}),)))
    more.transcript.close()
    target = tmp_path / "talk.md"
    assert memdir("sessions", "export", "--to", str(target)).code == 0
    text = target.read_text()
    assert text.startswith("# Why does the migration test fail on Fridays?\n")
    assert "## User · 2026-09-21 14:13" in text
    assert "`````json" in text, "a fence longer than what is inside"
    assert secret not in text
    assert "\x1b" not in text
    assert memdir("sessions", "export").out == text, "to standard output without a file"
    again = ("sessions", "export", "--to", str(target), "--keep-secrets")
    refused = memdir(*again)
    assert refused.code == 9 and "--force" in refused.err and target.read_text() == text
    assert memdir(*again, "--force").code == 0
    assert target.stat().st_mode & 0o777 == 0o600, "nobody else reads it"
    assert memdir("sessions", "export", "--to", str(target.parent / "none" / "talk.md")).code == 9
    assert not (target.parent / "none").exists()
    assert secret in target.read_text()


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_export_is_one_page_without_script_or_network(
    memdir: Memdir, memory: MemDir, talk: Conversation, tmp_path: Path
) -> None:
    hostile = '</article><script>alert(1)</script> <img src=x onerror="x()"> [a](javascript:x) $title ${messages}'
    more = Conversation.resume(memory.transcript(FIRST))
    more.add(user(hostile + "\n```html\n" + hostile + "\n```\n- " + hostile + "\n# " + hostile + " `" + hostile + "`"))
    more.add(
        Message("assistant", (ToolUse("c9", hostile, {"command": hostile}), Text("see https://example.org/?a=1&b=2")))
    )
    more.add(user("What does `x < y` do to **bold** words?"))
    more.transcript.close()
    side = memory.layout.subagent(FIRST, "helper")
    from memdir.transcript.transcript import Transcript

    chain = Transcript(side, session_id=FIRST, cwd="/", clock=Clock(), agent_id="helper")
    chain.append_message(user("look around"))
    chain.close()
    target = tmp_path / "talk.html"
    assert memdir("sessions", "export", "--to", str(target)).code == 0
    text = target.read_text()
    page = Page(text)
    assert not page.open
    assert not {"script", "img", "iframe", "link", "object"} & set(page.tags)
    assert not [name for name in page.attributes if name.startswith("on") or name == "src"]
    assert re.findall(r'href="(?!#|https?://)', text) == []
    assert "default-src 'none'" in text
    for words in ("assert 1 < 2", "UTC", "Sub-agent agent-helper", "look around", "$title ${messages}"):
        assert words in page.text
    assert "<strong>UTC</strong>" in text
    assert ">What does x &lt; y do to bold words?</a>" in text


def test_prune_shows_first_and_deletes_only_when_told(
    memdir: Memdir, memory: MemDir, talk: Conversation, long_talk: Conversation
) -> None:
    """J4: a dry run by default, never automatic; open sessions and sources of memories stay."""
    for session, age in ((FIRST, 400), (SECOND, 200)):
        at(memory.layout.session(session), age)
    words = ("sessions", "prune", "--older-than", "90", "--keep", "0")
    shown = answer(memdir(*words, "--json"))
    assert [(one["id"], one["goes"]) for one in shown["sessions"]] == [(FIRST, True), (SECOND, True)]
    assert "would go" in memdir(*words).out
    assert "0 sessions" in memdir(*words, "--keep", "2").out
    assert "0 sessions" in memdir(*words, "--yes", "--older-than", "40000").out
    assert "would go" in memdir(*words, "--yes", "--dry-run").out
    assert os.path.exists(memory.layout.session(FIRST))
    topic = Topic.compose(name="No merges", description="d", kind=None, body="b\n")
    origin = Origin("extract", session=FIRST, messages=(talk.messages[4].id,))
    with memory.store.changing(origin, "extract no_merges.md") as change:
        change.write("no_merges.md", topic.data)
    live = memory.transcript(SECOND)
    live.append_message(user("still here"))
    at(memory.layout.session(SECOND), 200)
    kept = answer(memdir(*words, "--yes", "--json"))["sessions"]
    assert [one["staysBecause"] for one in kept] == ["memories come from it", "it is open"]
    live.close()
    at(memory.layout.session(SECOND), 200)
    assert "Deleted 1 session," in memdir(*words, "--yes").out
    assert not os.path.exists(memory.layout.session(SECOND))
    assert "Deleted 1 session," in memdir(*words, "--yes", "--with-sources").out
    assert not os.path.exists(memory.layout.session_folder(FIRST))


def test_prune_leaves_what_memories_for_all_projects_and_dreams_were_taken_from(
    memdir: Memdir, memory: MemDir, talk: Conversation, long_talk: Conversation
) -> None:
    """L1: whichever scope they are kept in, and however many conversations a change took lines from."""
    for session, age in ((FIRST, 400), (SECOND, 200)):
        at(memory.layout.session(session), age)
    text = Topic.compose(name="No merges", description="d", kind=None, body="b\n").data
    with memory.stores.to_write("user").changing(Origin("extract", session=FIRST), "extract no_merges.md") as change:
        change.write("no_merges.md", text)
    lines = tell_lines({"no_merges.md": [("another", "a1"), (SECOND, "b2")]})
    with memory.store.changing(Origin("dream"), "dream: 1 memory written, 0 removed", Lines=lines) as change:
        change.write("no_merges.md", text)
    shown = answer(memdir("sessions", "prune", "--older-than", "90", "--keep", "0", "--yes", "--json"))
    assert [one["staysBecause"] for one in shown["sessions"]] == ["memories come from it"] * 2


def test_why_quotes_the_conversation_and_says_when_it_is_gone(
    memdir: Memdir, memory: MemDir, talk: Conversation
) -> None:
    """L1, L2: from a memory to the lines it came from."""
    said, other = talk.messages[4].id, talk.messages[0].id
    reason = f"no_merges.md = said by the user: {said}; other.md = tool: {other}"
    origin = Origin("extract", session=FIRST, messages=(said, other), trust="user", reason=reason)
    with memory.store.changing(origin, "extract no_merges.md") as change:
        change.write("no_merges.md", Topic.compose(name="N", description="d", kind=None, body="b\n").data)
    printed = memdir("why", "no_merges").out
    assert "> Never merge on a Friday from now on." in printed
    assert "Only in CI" not in printed, "that is where another memory comes from"
    told = answer(memdir("why", "no_merges", "--json"))["changes"][0]["conversation"]
    assert told["messages"][0]["id"] == said
    lines = Path(memory.layout.session(FIRST)).read_bytes().splitlines(keepends=True)
    Path(memory.layout.session(FIRST)).write_bytes(b"".join(line for line in lines if said.encode() not in line))
    assert f"message {said} is no longer in the transcript" in memdir("why", "no_merges").out
    os.unlink(memory.layout.session(FIRST))
    assert f"The transcript of session {FIRST} is gone" in memdir("why", "no_merges").out
    assert answer(memdir("why", "no_merges", "--json"))["changes"][0]["conversation"]["gone"] == [said]


def test_sessions_of_other_agents_are_listed_shown_and_exported(
    memdir: Memdir, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """J4, R8: all five, recorded from the real clients."""
    from memdir.layout import slug_of
    from tests.contracts.test_transcript_sources import build_database

    home = tmp_path / "claude"
    recorded = next(RECORDED.rglob("68be5724*.jsonl"))
    folder = home / "projects" / slug_of(str(project.resolve()))
    folder.mkdir(parents=True)
    shutil.copy(recorded, folder)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    rollout = next(RECORDED.rglob("rollout-*.jsonl"))
    codex = tmp_path / "codex" / "sessions" / "2026" / "11" / "15" / rollout.name
    codex.parent.mkdir(parents=True)
    lines = rollout.read_text().splitlines(keepends=True)
    meta = json.loads(lines[0])
    meta["payload"]["cwd"] = str(project)
    codex.write_text(json.dumps(meta) + "\n" + "".join(lines[1:]))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    gemini = shutil.copytree(RECORDED / "gemini", tmp_path / ".gemini")
    (gemini / "tmp" / "app" / ".project_root").write_text(str(project.resolve()))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    chats = RECORDED / "qwen" / "projects" / "-home-ann-app"
    shutil.copytree(chats, tmp_path / "qwen" / "projects" / slug_of(str(project.resolve())))
    monkeypatch.setenv("QWEN_HOME", str(tmp_path / "qwen"))
    (tmp_path / "data" / "opencode").mkdir(parents=True)
    build_database(tmp_path / "data" / "opencode" / "opencode.db", project.resolve())
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    listed = answer(memdir("sessions", "--agent", "all", "--json"))["sessions"]
    agents = {"claude-code", "codex", "gemini", "qwen", "opencode"}
    assert {one["agent"] for one in listed} == agents
    assert f"{len(listed)} of other agents: memdir sessions --agent all" in memdir("sessions").out
    assert memdir("sessions", "--agent", "claude").out == memdir("sessions", "--agent", "claude-code").out != ""
    told = {one["agent"]: one["title"] for one in listed if one["messages"]}
    assert all(told[agent].startswith("Never mock the database") for agent in ("gemini", "qwen", "opencode")), told
    found = answer(memdir("search", "--sessions", "mock the database", "--json"))["matches"]
    assert {one["agent"] for one in found} == agents
    shutil.copy(codex, codex.with_name(f"{codex.stem[:-8]}0000abcd.jsonl"))  # all of Codex' begin alike
    shown = {line.split()[0] for line in memdir("sessions", "--agent", "all").out.splitlines()[1:]}
    assert len(shown) == len(listed) + 1 and "0000abcd" in shown
    assert all(memdir("sessions", "show", name, "--agent", "all").code == 0 for name in shown)
    assert "codex session 0000abcd " in memdir("search", "--sessions", "mock the database").out
    for agent in agents:
        assert "User" in memdir("sessions", "show", "--agent", agent).out
        target = tmp_path / f"{agent}.html"
        assert memdir("sessions", "export", "--agent", agent, "--to", str(target)).code == 0
        assert not Page(target.read_text()).open
    assert '<a href="#m0">Never mock the database' in (tmp_path / "claude-code.html").read_text()
    assert "&lt;command-name&gt;" not in (tmp_path / "claude-code.html").read_text().partition("</nav>")[0]


def test_help_of_two_words_has_examples(memdir: Memdir) -> None:
    for words in (("sessions", "prune"), ("sessions",), ("resume",), ("fork",)):
        assert "examples:" in memdir(*words, "--help").out
        assert "examples:" in memdir("help", *words).out
    assert memdir("completion", "bash", "--words", "sessions", "").out.split() == [
        "show",
        "search",
        "export",
        "files",
        "prune",
    ]


def test_a_stray_file_named_like_the_memory_directory_is_no_session(memdir: Memdir, memory: MemDir) -> None:
    """Pruning it would delete the memories."""
    memdir("remember", "Deploys are frozen")
    stray = Path(memory.layout.project_home) / "memory.jsonl"
    stray.write_text("{}\n")
    at(str(stray), 400)
    assert answer(memdir("sessions", "--json"))["total"] == 0
    assert memdir("sessions", "prune", "--keep", "0", "--yes").code == 0
    assert "Deploys are frozen" in memdir("list").out


OF_CONVERSATIONS = (
    "search kraken --sessions",
    "sessions search kraken",
    "sessions",
    "sessions --agent all",
    "sessions show",
    "sessions export",
    "sessions prune",
    "resume",
    "fork",
    "recall --log",
    "check",
    "why kraken",
    "budget",
    "mcp --http --port 0",
)


@pytest.mark.parametrize("words", OF_CONVERSATIONS)
@pytest.mark.parametrize("way", ["variable", "flag"])
def test_whoever_keeps_memory_off_reads_no_conversation_and_leaves_nothing(
    memdir: Memdir, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, words: str
) -> None:
    """S5."""
    memory = open_memory(project)
    talk = Conversation.resume(memory.transcript("one"))
    talk.add(user("The kraken sleeps in the harbour."))
    talk.transcript.close()
    before = sorted((tmp_path / "home").rglob("*"))
    if way == "variable":
        monkeypatch.setenv("MEMDIR_DISABLE", "1")
    ran = memdir(*words.split(), *(["--bare"] if way == "flag" else []))
    assert ran.code != 0 and "harbour" not in ran.out
    assert "--bare" in ran.err or "MEMDIR_DISABLE" in ran.err
    assert sorted((tmp_path / "home").rglob("*")) == before


def test_where_a_setting_turned_memory_off_a_conversation_is_shown_and_no_second_one_begun(
    memdir: Memdir, project: Path, tmp_path: Path
) -> None:
    """S5: off, nothing is created."""
    memory = open_memory(project)
    talk = Conversation.resume(memory.transcript("one"))
    talk.add(user("The kraken sleeps in the harbour."))
    talk.transcript.close()
    before = sorted((tmp_path / "home").rglob("*"))
    off = ("--set", "memoryEnabled=false")
    assert "harbour" in memdir("resume", "one", *off).out
    assert "memory is off" in memdir("fork", "one", *off).err
    assert sorted((tmp_path / "home").rglob("*")) == before
