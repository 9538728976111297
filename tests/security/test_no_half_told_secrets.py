"""What is cut for a log, a title or a message was searched for secrets before: no half of one is told (V1, E5, J4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.cli.entry import report_crash
from memdir.events import Event
from memdir.memdir import open_memory
from memdir.recall.recall_log import MESSAGE_CHARACTERS, Injection, Pin, RecallLog
from memdir.store.secrets import beginning, redact_parts
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from memdir.transcript.session_list import TITLE_CHARACTERS, summary_of
from memdir.transcript.sources.source import OwnSessions
from tests.conftest import Events, Ran
from tests.security.fakes import drawn, github_token, key_block, password

Memdir = Callable[..., Ran]
SECRET_PIECE = 8  # characters in a row that would tell something


def tells(text: str, secret: str) -> bool:
    """Whether any piece of a secret stands in a text."""
    body = secret[4:]
    return any(body[at : at + SECRET_PIECE] in text for at in range(len(body) - SECRET_PIECE + 1))


@pytest.mark.parametrize("before", range(0, 130, 3))
def test_no_log_line_tells_a_part_of_a_token(before: int, tmp_path: Path) -> None:
    token = github_token()
    message = f"{'x ' * (before // 2)} {token} and more words after it {'y ' * 400}"
    log = RecallLog(str(tmp_path))
    log.add(Injection(1.0, "one", ("a.md",), message=message))
    log.pin(Pin(message, ("a.md",)))
    log.add(Injection(1.0, "one", ("a.md",), message="\n" * 3000 + message))
    log.add(Injection(1.0, "one", ("a.md",), message=message.replace(" ", "\n")))
    assert not tells("".join(path.read_text() for path in tmp_path.iterdir()), token)
    assert all(len(one.message) <= MESSAGE_CHARACTERS for one in log.injections())


@pytest.mark.parametrize("limit", [10, 79, 80, 500, 2000])
def test_the_beginning_of_a_text_holds_no_part_of_a_secret(limit: int) -> None:
    for secret in (
        github_token(),
        f"password: {password()}",
        key_block(),
        github_token()[:20] + "\n" + github_token()[20:],
    ):
        for before in range(max(0, limit - 60), limit + 5, 5):
            text = f"{'w' * before} {secret}\n{key_block()}\n{'z ' * 3000}{github_token(5)}"
            shown = beginning(text, limit)
            assert not tells(shown, secret.removeprefix("password: "))
            assert not tells(shown, github_token(5)), "what was taken out pulls nothing up from behind"
    assert beginning("short", 80) == "short"
    assert beginning("w" * 100, 80) == "w" * 80 + "…"


@pytest.mark.parametrize("before", [0, 30, 50, 60, 70, 75, 78])
def test_the_title_of_a_session_tells_no_part_of_a_token(before: int, project: Path, memdir: Memdir) -> None:
    memory = open_memory(project)
    memory.start()
    token = github_token()
    talk = Conversation.resume(memory.transcript("one"))
    talk.add(user(f"{'t' * before} {token[:25]}\n{token[25:]} is the token, use {token}"))
    source = OwnSessions(memory.layout.home)
    [ref] = source.sessions(memory.layout.work_tree)
    found = summary_of(ref, source)
    assert not tells(found.title, token)
    assert len(found.title) <= TITLE_CHARACTERS
    for command in (("sessions",), ("sessions", "export", "one"), ("sessions", "export", "one", "--format", "html")):
        assert not tells(memdir(*command).out, token), command


def test_a_crash_is_written_down_without_the_secret_that_caused_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    token = github_token()
    for before in (0, 99_950, 99_990):
        try:
            raise ValueError("x" * before + f" {token}")
        except ValueError as error:
            report_crash(error)
    log = (tmp_path / "home" / "logs" / "crash.log").read_text()
    assert "ValueError" in log
    assert not tells(log + "".join(capsys.readouterr()), token)


def test_where_there_is_no_log_the_crash_is_told_without_it_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "home").write_text("a file")
    report_crash(ValueError(github_token()))
    assert not tells("".join(capsys.readouterr()), github_token())


def test_events_hold_no_secret_whoever_gets_them(project: Path, events: Events, tmp_path: Path) -> None:
    token = github_token()
    memory = open_memory(project, sink=events)
    memory.sink.emit(Event("memory.dream", refused=f"it failed: {token} was refused", files=(f"{token}.md",), count=1))
    [event] = events.events
    assert not tells(repr(event), token)
    assert "removed: github-token" in str(event.fields["refused"])
    assert event.fields["count"] == 1
    log = json.loads((tmp_path / "home" / "logs" / "events.jsonl").read_text())
    assert not tells(json.dumps(log), token)


def nested(secret: str) -> dict[str, object]:
    return {
        "edits": [{"old": "a", "new": f"token = {secret}"}, [[{"deep": [secret]}]]],
        "env": {secret: "value", "HARMLESS": "value"},
        "lines": [secret[:20], secret[20:]],
        "number": 7,
    }


def story_of(secret: str, word: str) -> list[Message]:
    """A conversation with a secret in every corner."""
    uses = (
        ToolUse("1", "Bash", nested(secret)),  # type: ignore[arg-type]
        ToolUse("2", f"tool_{secret}", {"url": "https://example.invalid"}),
        ToolUse("3", "Login", {"login": {"user": "me", "password": word}}),
        ToolUse("4", "Bash", {"command": f"curl -H 'Authorization: Bearer {secret}' https://example.invalid"}),
    )
    return [
        Message("user", (Text(f"My token: {secret[:15]}"), Text(secret[15:])), "m1"),
        Message("user", (Text(f"Bold: {secret[:12]}**{secret[12:20]}**{secret[20:]}"),), "m2"),
        Message("user", (Text(f"Tags: {secret[:12]}<wbr>{secret[12:]}"),), "m3"),
        Message("assistant", (Text("Let me see."), *uses), "m4"),
        Message("user", tuple(ToolResult(use.id, f"echo {secret}") for use in uses), "m5"),
        Message("assistant", (Text(f"Done with `{secret}`. {key_block()}"),), "m6"),
        Message("user", (Text(secret[:10]),), "m7"),
        Message("user", (Text(secret[10:]),), "m8"),
    ]


@pytest.mark.parametrize("kind", ["md", "html"])
def test_an_export_holds_no_secret_in_any_corner(kind: str, project: Path, memdir: Memdir) -> None:
    secret, word = github_token(), drawn(5) + "#" + drawn(7, seed=3)
    memory = open_memory(project)
    memory.start()
    talk = Conversation.resume(memory.transcript("one"))
    for message in story_of(secret, word):
        talk.add(message)
    side = memory.layout.subagent("one", f"helper-{secret}")
    Path(side).parent.mkdir(parents=True)
    lines = [json.loads(line) for line in Path(memory.layout.session("one")).read_text().splitlines()]
    Path(side).write_text("".join(json.dumps({**line, "isSidechain": True}) + "\n" for line in lines))
    ran = memdir("sessions", "export", "one", "--format", kind)
    assert ran.code == 0
    assert not tells(ran.out, secret)
    assert not tells(ran.out, f"1234{word}")
    assert "HARMLESS" in ran.out and "Let me see." in ran.out and "7" in ran.out
    kept = memdir("sessions", "export", "one", "--format", kind, "--keep-secrets")
    assert secret in kept.out, "the test would not see it otherwise"


def test_parts_that_make_a_secret_together_lose_it_together() -> None:
    token = github_token()
    for at in range(5, len(token) - 4, 4):
        parts = redact_parts(["Before.", token[:at], token[at:], "After."])
        assert not tells("\n".join(parts), token), at
        assert parts[0] == "Before."


def test_a_key_whose_lines_are_parts_is_taken_out_of_all_of_them() -> None:
    parts = redact_parts(["Before.", *key_block().split("\n"), "After."])
    assert not tells("\n".join(parts), key_block().replace("\n", ""))
    assert (parts[0], parts[-1]) == ("Before.", "After.")
