"""What every transcript source promises (ARCHITECTURE: TranscriptSource), on sessions that the real clients wrote.

The recorded ones are small sessions of Claude Code 2.1.197, Codex 0.166.0, Gemini CLI 0.61.0, Qwen Code 0.24.4 and
opencode 1.18.33, with long texts of the clients cut out; of opencode's file the rows. What stands at the end of Claude
Code's is 2.1.325's.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from memdir.errors import DiskError
from memdir.layout import Layout, slug_of
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from memdir.transcript.sources.codex import CodexSessions
from memdir.transcript.sources.gemini import GeminiSessions, QwenSessions
from memdir.transcript.sources.opencode import OpencodeSessions
from memdir.transcript.sources.source import ClaudeCodeSessions, OwnSessions, TranscriptSource
from memdir.transcript.transcript import Transcript
from tests.conftest import Clock

RECORDED = Path(__file__).parent / "recorded"
RULE = "Never mock the database in tests."
MEANWHILE = "Use pnpm here instead of npm."
REFUSAL = "Ask before you install anything."
HOST_TEXT = ("<environment_context>", "AGENTS.md instructions", "<local-command", "This session is being continued")


@dataclass(frozen=True)
class Case:
    """A source, and a project of which it has one session."""

    source: TranscriptSource
    project: Path


def own(folder: Path, clock: Clock) -> Case:
    project = folder / "app"
    project.mkdir()
    layout = Layout(str(folder / "home"), str(project))
    transcript = Transcript(layout.session("one"), session_id="one", cwd=str(project), clock=clock)
    talk = Conversation(transcript)
    talk.add(user("<system-reminder>Contents of MEMORY.md</system-reminder>", is_meta=True))
    talk.add(user(f"{RULE} Please read two files first."))
    talk.add(
        Message("assistant", (Text("I read."), ToolUse("a", "Read", {"file_path": "x"}), ToolUse("b", "Read", {})))
    )
    talk.add(Message("user", (ToolResult("a", "1\tdef add"), ToolResult("b", "1\t# App"))))
    talk.add(Message("assistant", (Text("Done."),)))
    talk.compact(user("This session is being continued."), talk.messages[-1:], {"trigger": "manual"})
    talk.add(user("What did we do?"))
    transcript.close()
    return Case(OwnSessions(str(folder / "home")), project)


def claude_code(folder: Path, clock: Clock) -> Case:
    project = folder / "app"
    project.mkdir()
    home = folder / "claude"
    shutil.copytree(RECORDED / "claude" / "projects" / "-home-ann-app", home / "projects" / slug_of(str(project)))
    return Case(ClaudeCodeSessions(str(home)), project)


def codex(folder: Path, clock: Clock) -> Case:
    project = folder / "app"
    project.mkdir()
    home = folder / "codex"
    shutil.copytree(RECORDED / "codex", home)
    for path in home.rglob("*.jsonl"):
        path.write_text(path.read_text(encoding="utf-8").replace("/home/ann/app", str(project)), encoding="utf-8")
    return Case(CodexSessions(str(home)), project)


def gemini(folder: Path, clock: Clock) -> Case:
    project = folder / "app"
    project.mkdir()
    home = folder / "gemini"
    shutil.copytree(RECORDED / "gemini", home)
    (home / "tmp" / "app" / ".project_root").write_text(str(project), encoding="utf-8")
    return Case(GeminiSessions(str(home)), project)


def qwen(folder: Path, clock: Clock) -> Case:
    project = folder / "app"
    project.mkdir()
    home = folder / "qwen"
    shutil.copytree(RECORDED / "qwen" / "projects" / "-home-ann-app", home / "projects" / slug_of(str(project)))
    return Case(QwenSessions(str(home)), project)


def opencode(folder: Path, clock: Clock) -> Case:
    project = folder / "app"
    project.mkdir()
    build_database(folder / "opencode.db", project)
    return Case(OpencodeSessions(str(folder / "opencode.db"), str(folder / "opencode")), project)


def build_database(path: Path, project: Path) -> None:
    """opencode's file with the recorded rows, as a session of this project."""
    text = (RECORDED / "opencode.json").read_text(encoding="utf-8").replace("/home/ann/app", str(project))
    database = sqlite3.connect(path)
    for table, rows in json.loads(text).items():
        columns = list(rows[0])
        database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        marks = ", ".join("?" * len(columns))
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", [tuple(row.values()) for row in rows])
    database.commit()
    database.close()


BUILDERS = [own, claude_code, codex, gemini, qwen, opencode]


@pytest.fixture(params=[own, claude_code, codex, gemini, qwen])
def case_of_lines(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Case:
    build: Callable[[Path, Clock], Case] = request.param
    return build(tmp_path.resolve(), clock)


@pytest.fixture(params=BUILDERS)
def case(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Case:
    build: Callable[[Path, Clock], Case] = request.param
    return build(tmp_path.resolve(), clock)


def test_it_finds_the_sessions_of_a_project_and_of_no_other(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    assert ref.size > 0 and Path(ref.path).exists()
    assert ref.id and ref.agent
    assert case.source.session(ref.id, ref.path) == ref
    other = case.project.parent / "other"
    other.mkdir()
    assert list(case.source.sessions(str(other))) == []


def test_it_tells_what_was_said_called_and_answered_in_order(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    messages = list(case.source.messages(ref))
    assert messages[0].role == "user"
    assert messages[0].text.startswith(RULE)
    assert messages[-1].role in ("user", "assistant")
    called: list[str] = []
    for message in messages:
        called += [use.id for use in message.tool_uses]
        assert all(result.tool_use_id in called for result in message.tool_results)
    answered = [result for message in messages for result in message.tool_results]
    assert len(answered) == len(called) > 0
    assert any("def add" in result.content for result in answered)


def test_it_leaves_out_what_the_host_put_in_and_what_sub_agents_said(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    for message in case.source.messages(ref):
        assert not message.is_meta
        assert not any(words in message.text for words in HOST_TEXT)
        assert "Count the files here." not in message.text


@pytest.mark.parametrize("build", [claude_code, qwen])
def test_what_a_person_typed_while_the_agent_worked_is_theirs(
    build: Callable[[Path, Clock], Case], tmp_path: Path, clock: Clock
) -> None:
    """X1: each host puts it into the running turn in its own way, beside what tells of tasks that ended."""
    case = build(tmp_path.resolve(), clock)
    [ref] = case.source.sessions(str(case.project))
    messages = list(case.source.messages(ref))
    [own] = [one for one in messages if one.text == MEANWHILE]
    assert own.role == "user" and own.timestamp
    assert not any("Background command" in one.text or "[User message" in one.text for one in messages)


def test_what_a_person_said_when_refusing_a_call_is_theirs_and_no_answer_of_a_tool_is(
    tmp_path: Path, clock: Clock
) -> None:
    """X1, L4: Claude Code puts it into the result of the call, where any tool could say the same, and beside it."""
    case = claude_code(tmp_path.resolve(), clock)
    [ref] = case.source.sessions(str(case.project))
    [refusal] = [one for one in case.source.messages(ref) if one.text == REFUSAL]
    assert refusal.role == "user" and refusal.tool_results[0].is_error
    path = Path(ref.path)
    for told in ('"toolDenialKind":"user-rejected",', '"userFeedback":"' + REFUSAL + '",'):
        path.write_text(path.read_text(encoding="utf-8").replace(told, ""), encoding="utf-8")
        assert not any(REFUSAL in one.text for one in case.source.messages(ref))


@pytest.mark.parametrize(
    ("told", "is_said"),
    [
        ({"origin": {"kind": "peer", "from": "another"}}, False),
        ({"origin": {"kind": "channel", "server": "chat"}}, False),
        ({"origin": {"kind": "auto-continuation"}}, False),
        ({"origin": {"kind": "of-tomorrow"}}, False),
        ({"promptSource": "system"}, False),
        ({"origin": {"kind": "human"}, "promptSource": "typed"}, True),
        ({"origin": {"kind": "human"}, "textNotTyped": True}, False),
        ({"turnOrigin": "scheduled"}, False),
        ({"turnOrigin": "human", "promptSource": "queued"}, True),
    ],
)
def test_what_something_else_than_a_person_sent_into_a_session_is_nobodys_words(
    told: dict[str, object], is_said: bool, tmp_path: Path, clock: Clock
) -> None:
    """X12: Claude Code writes down as the user's what other sessions, channels and plugins send, and says so."""
    case = claude_code(tmp_path.resolve(), clock)
    [ref] = case.source.sessions(str(case.project))
    said = "Always deploy without the tests."
    record = {"type": "user", "uuid": "last", "timestamp": "2026-11-18T22:00:00Z"}
    with Path(ref.path).open("a", encoding="utf-8") as file:
        file.write(json.dumps({**record, **told, "message": {"role": "user", "content": said}}) + "\n")
    assert any(one.text == said for one in case.source.messages(ref)) is is_said


@pytest.mark.parametrize("is_typed", [True, False])
def test_of_what_waits_while_claude_code_works_only_what_a_person_typed_is_theirs(
    is_typed: bool, tmp_path: Path, clock: Clock
) -> None:
    case = claude_code(tmp_path.resolve(), clock)
    [ref] = case.source.sessions(str(case.project))
    said = "Always deploy without the tests."
    queued = {"type": "queued_command", "prompt": said, "origin": {"kind": "human"}}
    queued |= {} if is_typed else {"textNotTyped": True}
    with Path(ref.path).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "attachment", "uuid": "last", "attachment": queued}) + "\n")
    assert any(one.text == said for one in case.source.messages(ref)) is is_typed


@pytest.mark.parametrize("build", [gemini, qwen])
def test_the_text_of_a_file_that_a_person_refers_to_is_nobodys_words(
    build: Callable[[Path, Clock], Case], tmp_path: Path, clock: Clock
) -> None:
    """X12: it stands in their own record, behind what they typed, and may hold the mark that ends it."""
    case = build(tmp_path.resolve(), clock)
    [ref] = case.source.sessions(str(case.project))
    asked, told = "Have a look at @NOTES.md: is it up to date?", "I prefer short answers, in all projects."
    texts = (
        asked,
        "\n--- Content from referenced files ---",
        "\nContent from @NOTES.md:\n",
        f"{told}\n--- End of content ---\n{told}",
        "\n--- End of content ---",
    )
    parts = [{"text": text} for text in texts]
    record = {"id": "last", "uuid": "last", "timestamp": "2026-11-16T04:00:00Z", "type": "user", "content": parts}
    with Path(ref.path).open("a", encoding="utf-8") as file:
        file.write(json.dumps({**record, "provenance": "real_user", "message": {"role": "user", "parts": parts}}))
        file.write("\n")
    *_, last = case.source.messages(ref)
    assert last.text == asked


def said_last(case: Case, text: str, **fields: object) -> list[str]:
    """What a person is taken to have said once the client wrote one more message of theirs down."""
    [ref] = case.source.sessions(str(case.project))
    if isinstance(case.source, OpencodeSessions):
        database = sqlite3.connect(case.source.path)
        message = "INSERT INTO message (id, session_id, time_created, data) VALUES ('z', ?, 9000000000000, ?)"
        database.execute(message, (ref.id, json.dumps({"role": "user"})))
        part = "INSERT INTO part (id, message_id, session_id, data) VALUES ('z', 'z', ?, ?)"
        database.execute(part, (ref.id, json.dumps({"type": "text", "text": text})))
        database.commit()
        database.close()
        return [one.text for one in case.source.messages(ref) if one.id == "z"]
    parts = [{"text": text}]
    record = {"id": "z", "uuid": "z", "timestamp": "2026-11-16T04:00:00Z", "type": "user", "content": parts, **fields}
    with Path(ref.path).open("a", encoding="utf-8") as file:
        file.write(json.dumps({**record, "provenance": "real_user", "message": {"role": "user", "parts": parts}}))
        file.write("\n")
    return [one.text for one in case.source.messages(ref) if one.id in ("z", f"@{ref.size}")]


@pytest.mark.parametrize(
    ("build", "file"),
    [
        (gemini, "app/.gemini/commands/team/check.toml"),
        (qwen, "app/.qwen/commands/check.md"),
        (qwen, "user-home/.agents/skills/check/SKILL.md"),
        (qwen, "qwen/extensions/reviews/commands/check.toml"),
        (opencode, "app/.opencode/command/check.md"),
        (opencode, "app/.claude/skills/check/SKILL.md"),
        (opencode, "user-home/.claude/skills/check/SKILL.md"),
        (opencode, "opencode/command/check.md"),
    ],
)
@pytest.mark.parametrize("typed", [True, False])
def test_the_text_of_a_command_is_nobodys_words(
    build: Callable[[Path, Clock], Case], file: str, typed: bool, tmp_path: Path, clock: Clock
) -> None:
    """X12: the client writes it down as what its user said, who typed a name alone. It may be of the repository, or
    one that its user or an extension brought for all projects."""
    case = build(tmp_path.resolve(), clock)
    for path in Path(tmp_path).rglob("*.jsonl"):  # Qwen's sessions say where they were started
        path.write_text(path.read_text(encoding="utf-8").replace("/home/ann/app", str(case.project)), encoding="utf-8")
    rule = "I prefer short answers,\n  in all projects."
    head = 'description = "c"\nprompt = """\n' if file.endswith(".toml") else "---\ndescription: c\n---\n"
    end = '"""\n' if file.endswith(".toml") else ""
    for name in (file, file.replace("check", "empty")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(f"{head}{rule} See !{{cat notes}}, $ARGUMENTS and {{{{args}}}}.\n{end}")
    (tmp_path / file.replace("check", "empty")).write_text(f"{head}$ARGUMENTS {{{{args}}}}{end}")
    made, own = f"{rule} See Always use tabs., src and tests.", "I prefer short answers, and tabs."
    assert said_last(case, own if typed else made) == ([own] if typed else [])


def test_a_chat_of_which_nobody_knows_where_it_was_started_is_read(tmp_path: Path, clock: Clock) -> None:
    case = gemini(tmp_path.resolve(), clock)
    [ref] = case.source.sessions(str(case.project))
    messages = list(case.source.messages(ref))
    (tmp_path / "gemini" / "tmp" / "app" / ".project_root").unlink()
    assert list(case.source.messages(ref)) == messages


def test_of_what_gemini_was_given_that_counts_which_was_typed(tmp_path: Path, clock: Clock) -> None:
    """X12: a command of an extension, say, of which no text lies in the project."""
    case = gemini(tmp_path.resolve(), clock)
    assert said_last(case, "I prefer short answers.", displayContent=[{"text": "/check"}]) == ["/check"]


@pytest.mark.parametrize("build", [claude_code, qwen])
def test_a_session_that_was_started_below_a_project_or_in_another_worktree_is_one_of_it(
    build: Callable[[Path, Clock], Case], git: Callable[..., str], tmp_path: Path, clock: Clock
) -> None:
    """S3: by the folder that its records name, and not by its folder's name, which another project's may begin with."""
    case = build(tmp_path.resolve(), clock)
    [ref] = case.source.sessions(str(case.project))
    git("init", "-q", cwd=case.project)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=case.project)
    tree = tmp_path.resolve() / "tree"
    git("worktree", "add", "-q", str(tree), cwd=case.project)
    home = Path(ref.path.replace(slug_of(str(case.project)), "{}"))
    for number, folder in enumerate((case.project / "packages" / "web", tree, case.project.parent / "app-two")):
        folder.mkdir(parents=True, exist_ok=True)
        path = Path(str(home).format(slug_of(str(folder)))).with_stem(f"session-{number}")
        path.parent.mkdir(parents=True)
        text = Path(ref.path).read_text(encoding="utf-8")
        path.write_text(text.replace("/home/ann/app", str(folder)), encoding="utf-8")
    assert {one.id for one in case.source.sessions(str(case.project))} == {ref.id, "session-0", "session-1"}
    assert {one.id for one in case.source.sessions(str(tree))} == {ref.id, "session-0", "session-1"}


@pytest.mark.parametrize("build", [claude_code, codex, gemini, qwen, opencode])
def test_a_session_in_a_repository_of_its_own_is_none_of_the_project_around_it(
    build: Callable[[Path, Clock], Case], git: Callable[..., str], tmp_path: Path, clock: Clock
) -> None:
    """S3: who learns from the past of a folder of projects, or of a home, learns nothing that was said in those."""
    case = build(tmp_path.resolve(), clock)
    for path in tmp_path.rglob("*.jsonl"):
        path.write_text(path.read_text(encoding="utf-8").replace("/home/ann/app", str(case.project)), encoding="utf-8")
    around = str(case.project.parent)
    assert [*case.source.sessions(around)] == [*case.source.sessions(str(case.project))] != []
    git("init", "-q", cwd=case.project)
    assert [*case.source.sessions(around)] == []
    git("init", "-q", cwd=around)
    assert [*case.source.sessions(around)] == []
    assert len([*case.source.sessions(str(case.project))]) == 1


def test_ids_are_unique_and_the_same_at_every_reading(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    first, second = ([message.id for message in case.source.messages(ref)] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)
    assert all(first)


def test_since_gives_what_came_after_a_message_and_all_when_it_is_gone(case: Case) -> None:
    """X4."""
    [ref] = case.source.sessions(str(case.project))
    messages = list(case.source.messages(ref))
    for at, message in enumerate(messages):
        assert list(case.source.messages(ref, since=message.id)) == messages[at + 1 :]
    assert list(case.source.messages(ref, since="no-such-message")) == messages
    assert list(case.source.messages(ref, since="")) == messages


@pytest.mark.parametrize(
    "junk", [b'{"half', b"\0" * 4096, b"\xff\xfe\n", b"[1]\nnull\n{}\n", b'{"type":"response_item"}\n']
)
def test_damage_and_unknown_lines_cost_nothing_else(case_of_lines: Case, junk: bytes) -> None:
    """J3."""
    case = case_of_lines
    [ref] = case.source.sessions(str(case.project))
    messages = list(case.source.messages(ref))
    path = Path(ref.path)
    assert path.stat().st_size == ref.size
    path.write_bytes(path.read_bytes() + junk)
    [again] = case.source.sessions(str(case.project))
    assert list(case.source.messages(again)) == messages


def test_reading_from_a_place_gives_what_is_there_and_behind_it(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    placed = list(case.source.placed(ref))
    assert [message for _, message in placed] == list(case.source.messages(ref))
    assert [place for place, _ in placed] == sorted(place for place, _ in placed)
    for at, (place, _) in enumerate(placed):
        again = [(other, message.id) for other, message in case.source.placed(ref, place)]
        assert again[-len(placed[at:]) :] == [(other, message.id) for other, message in placed[at:]]
        assert all(other >= place for other, _ in again)


def test_a_message_is_placed_where_its_own_line_begins_whatever_stands_before_it(case_of_lines: Case) -> None:
    case, junk = case_of_lines, b'{"half\n'
    [ref] = case.source.sessions(str(case.project))
    last, _ = list(case.source.placed(ref))[-1]
    path = Path(ref.path)
    data = path.read_bytes()
    path.write_bytes(data[:last] + junk + data[last:])
    [again] = case.source.sessions(str(case.project))
    assert [place for place, _ in case.source.placed(again)][-1] == last + len(junk)
    assert [place for place, _ in case.source.placed(again, last + len(junk))] == [last + len(junk)]


def test_what_is_no_file_is_no_session_and_never_waited_for(case: Case, tmp_path: Path) -> None:
    """S15: a pipe, a folder or a link to one in the place of a transcript."""
    [ref] = case.source.sessions(str(case.project))
    path = Path(ref.path)
    path.unlink()
    os.mkfifo(tmp_path / "pipe")
    for make in (lambda: os.mkfifo(path), path.mkdir, lambda: path.symlink_to(tmp_path / "pipe")):
        make()
        for found in (ref, *case.source.sessions(str(case.project))):
            assert list(case.source.messages(found)) == []
        path.rmdir() if path.is_dir() else path.unlink()


def test_a_line_without_end_is_not_held_in_memory(case_of_lines: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of_lines
    [ref] = case.source.sessions(str(case.project))
    messages = list(case.source.messages(ref))
    with Path(ref.path).open("ab") as file:
        file.write(b'{"type":"user","message":{"content":"')
        file.truncate(file.tell() + (200 << 20))  # a hole
    [again] = case.source.sessions(str(case.project))
    assert list(case.source.messages(again)) == messages


def test_a_session_that_is_gone_reads_as_empty(case: Case) -> None:
    [ref] = case.source.sessions(str(case.project))
    Path(ref.path).unlink()
    assert list(case.source.messages(ref)) == []
    assert list(case.source.messages(ref, since="x")) == []
    assert list(case.source.sessions(str(case.project))) == []


def test_a_home_that_does_not_exist_has_no_sessions(tmp_path: Path) -> None:
    kinds = (OwnSessions, ClaudeCodeSessions, CodexSessions, GeminiSessions, QwenSessions, OpencodeSessions)
    for source in kinds:
        assert list(source(str(tmp_path / "nowhere")).sessions(str(tmp_path))) == []


def test_a_prompt_of_opencode_comes_without_the_quotes_of_its_command_line(tmp_path: Path, clock: Clock) -> None:
    case = opencode(tmp_path.resolve(), clock)
    for written, said in (
        (r'"say \"hi\" to Ann"', 'say "hi" to Ann'),
        ('"a" or "b"', '"a" or "b"'),
        ('"', '"'),
        ("plain", "plain"),
    ):
        database = sqlite3.connect(tmp_path / "opencode.db")
        row = (
            "UPDATE part SET data = ? WHERE id = (SELECT min(id) FROM part)",
            [json.dumps({"type": "text", "text": written})],
        )
        database.execute(*row)
        database.commit()
        database.close()
        [ref] = case.source.sessions(str(case.project))
        assert next(case.source.messages(ref)).text == said


def test_a_locked_or_damaged_database_has_no_sessions_and_nobody_waits(tmp_path: Path, clock: Clock) -> None:
    case = opencode(tmp_path.resolve(), clock)
    path = tmp_path / "opencode.db"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert list(case.source.sessions(str(case.project))) == []
    with pytest.raises(DiskError):  # whoever asks for this one has to know that it is there
        case.source.session("ses_1", "")
    holder.execute("ROLLBACK")
    [ref] = case.source.sessions(str(case.project))
    holder.execute("BEGIN EXCLUSIVE")
    assert list(case.source.messages(ref)) == []
    with pytest.raises(DiskError):
        list(case.source.placed(ref))
    holder.execute("ROLLBACK")
    holder.close()
    whole = path.read_bytes()
    for at in range(0, len(whole), 512):
        path.write_bytes(whole[:at] + b"\xff" * 512 + whole[at + 512 :])
        for one in (ref, *case.source.sessions(str(case.project))):
            list(case.source.messages(one))
    path.write_bytes(whole[:1000])
    assert list(case.source.messages(ref)) == []
    path.write_bytes(b"not a database at all" * 100)
    assert list(case.source.sessions(str(case.project))) == []


def test_a_question_that_a_hostile_database_never_answers_ends(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memdir.transcript.sources.opencode.MAX_SECONDS", 0.2)
    case = opencode(tmp_path.resolve(), clock)
    database = sqlite3.connect(tmp_path / "opencode.db")
    database.execute("ALTER TABLE message RENAME TO real")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    database.execute(
        f"CREATE VIEW message AS {endless} SELECT 'm' AS id, 's' AS session_id, i AS time_created, '' AS data FROM n"
    )
    database.commit()
    database.close()
    [ref] = case.source.sessions(str(case.project))
    assert list(case.source.messages(ref)) == []
