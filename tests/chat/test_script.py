"""`memdir chat -p`: plain words or events for scripts, and nothing outside memory that was not allowed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memdir import open_memory
from memdir.chat.command import model_settings
from tests.chat.hosts import KEY, QUIET, chosen, is_fork, script
from tests.conftest import Ran
from tests.model.providers import PROVIDERS
from tests.provider_server import Answer, ProviderServer, Refusal, calls, says

Memdir = Callable[..., Ran]
WRITES = calls(("Write", {"file_path": "new.txt", "content": "x"}), ("Bash", {"command": "touch ran"}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with ProviderServer() as started:
        yield started


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def at(request: pytest.FixtureRequest, server: ProviderServer) -> list[str]:
    """The words that name a provider at the test server, in each dialect."""
    settings = {**QUIET, **chosen(request.param, server)}
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def test_words_go_to_standard_output_and_the_conversation_goes_on(
    memdir: Memdir, server: ProviderServer, at: list[str]
) -> None:
    server.add(
        *script(calls(("Glob", {"pattern": "*"}), text="I look."), says("Found \x1b[31mnothing\x1b[0m."), says("No."))
    )
    first = memdir("chat", "-p", "What is here?", *at)
    assert (first.code, first.out) == (0, "I look.\n\nFound nothing.\n")
    assert memdir("chat", "-p", "-", "--continue", *at, stdin="And there?").out == "No.\n"
    said = str([one.body for one in server.requests if not is_fork(one.body)][-1])
    assert "What is here?" in said and "And there?" in said


def test_what_is_about_the_person_is_learned_for_all_projects(memdir: Memdir, tmp_path: Path) -> None:
    """T1: the date and the folder that the chat tells its model are no reason to doubt what the person says."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        memdir("chat", "-p", "I am a data engineer.", "--model", "builtin", "--project", str(tmp_path / name))
    listed = json.loads(memdir("list", "--scope", "all", "--json", "--project", str(tmp_path / "two")).out)["memories"]
    assert [(one["scope"], one["file"]) for one in listed] == [("user", "user_i_am_a_data_engineer.md")]


def test_the_built_in_model_says_once_what_it_is(memdir: Memdir, tmp_path: Path) -> None:
    """H1: whoever asks again, in a conversation of its own and wherever, gets the answer and nothing before it."""
    words = ("chat", "-p", "Which way is north?", "--model", "builtin")
    bare = memdir(*words, "--bare").out
    first, again = memdir(*words).out, memdir(*words).out
    assert first.startswith("I am memdir's built-in model, not a language model") and first.endswith(again)
    assert again.startswith("I found nothing there about that.")
    (tmp_path / "elsewhere").mkdir()
    assert memdir(*words, "--project", str(tmp_path / "elsewhere")).out == again
    assert bare == memdir(*words, "--bare").out == again, "where nothing is kept it would be said each time"


def test_nothing_is_written_or_run_that_was_not_allowed(
    memdir: Memdir, server: ProviderServer, at: list[str], project: Path
) -> None:
    server.add(*script(WRITES, says("Done?"), WRITES, says("Done!")))
    refused = memdir("chat", "-p", "Do it.", *at)
    assert refused.code == 0 and "--allow" in refused.err and os.listdir(project) == []
    assert "Create new.txt: not done" in refused.err and "`--allow edits`" in refused.err, "which, and what would do it"
    assert "`--allow 'touch ran'`" in refused.err
    allowed = memdir("chat", "-p", "Do it.", "--allow", "edits", "--allow", "touch ran", *at)
    assert allowed.code == 0 and sorted(os.listdir(project)) == ["new.txt", "ran"]


def test_events_are_lines_and_the_last_one_says_how_it_ended(
    memdir: Memdir, server: ProviderServer, at: list[str]
) -> None:
    server.add(*script(calls(("Glob", {"pattern": "*"})), says("Nothing."), Refusal("no_credit")))
    lines = [json.loads(line) for line in memdir("chat", "-p", "What?", "--json", *at).out.splitlines()]
    assert [line["type"] for line in lines if line["type"] not in ("text", "saved")] == [
        *("reply", "tool", "result", "reply", "end")
    ]
    end = lines[-1]
    assert (end["ok"], end["ending"], end["text"]) == (True, "done", "Nothing.") and end["usage"]["output"] > 0
    failed = memdir("chat", "-p", "Again?", "--json", "--resume", end["session"], *at)
    told = json.loads(failed.out.splitlines()[-1])
    assert (failed.code, told["ok"], told["error"]["exitCode"]) == (13, False, 13)


def test_a_job_that_was_not_finished_is_not_told_as_done(
    memdir: Memdir, server: ProviderServer, at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memdir.chat.host.MAX_STEPS", 2)
    server.add(*script(*[calls(("Glob", {"pattern": "*"}))] * 4))
    ran = memdir("chat", "-p", "Look for ever.", "--json", *at)
    told = json.loads(ran.out.splitlines()[-1])
    assert (ran.code, told["ok"], told["ending"]) == (1, False, "max_steps")
    assert memdir("chat", "-p", "Look for ever.", *at).code == 1


@pytest.mark.parametrize("reply", [replace(says("Half"), is_cut=True), replace(says("No."), is_refusal=True), says("")])
def test_an_answer_that_broke_off_or_is_none_is_not_told_as_done(
    memdir: Memdir, server: ProviderServer, at: list[str], reply: Answer
) -> None:
    server.add(*script(reply, reply))
    ran = memdir("chat", "-p", "Write it.", "--json", *at)
    told = json.loads(ran.out.splitlines()[-1])
    assert (ran.code, told["ok"], told["ending"]) == (1, False, "cut_off")
    plain = memdir("chat", "-p", "Write it.", *at)
    assert plain.code == 1 and "memdir: The reply " in plain.err


def test_a_failure_is_told_and_is_the_exit_status(memdir: Memdir, server: ProviderServer, at: list[str]) -> None:
    server.add(Refusal("no_credit"))
    failed = memdir("chat", "-p", "Hello?", *at)
    assert failed.code == 13 and re.match("memdir: (Anthropic|The server) answered", failed.err)


def test_bare_creates_nothing_and_knows_nothing(
    memdir: Memdir, server: ProviderServer, at: list[str], tmp_path: Path
) -> None:
    """S5."""
    memdir("remember", "Deploys are frozen until 2027-03-01, because of the auditors")
    before = sorted(str(path) for path in (tmp_path / "home").rglob("*"))
    ran = memdir("chat", "--bare", "-p", "May I deploy?", *at)
    assert (ran.code, ran.out) == (0, "ok\n") and "memory is off: --bare was given" in ran.err
    assert sorted(str(path) for path in (tmp_path / "home").rglob("*")) == before
    assert "auditors" not in str(server.requests[0].body) and "# Memory" not in str(server.requests[0].body)
    assert len(server.requests) == 1, "nothing runs behind it"


def test_without_learning_nothing_is_saved(memdir: Memdir) -> None:
    assert memdir("chat", "--no-learning", "-p", "From now on, always answer in French.").code == 0
    assert json.loads(memdir("list", "--scope", "all", "--json").out)["memories"] == []
    ran = memdir("chat", "-p", "From now on, always answer in Dutch.")
    assert ran.code == 0 and "Memory saved" not in ran.out
    assert ran.err == "memdir: Memory saved: feedback_always_answer_in_dutch.md\n"
    assert len(json.loads(memdir("list", "--scope", "all", "--json").out)["memories"]) == 1


def test_what_was_only_taken_back_is_told_as_deleted_and_not_as_saved(memdir: Memdir) -> None:
    """X9."""
    memdir("remember", "We deploy on Tuesdays")
    ran = memdir("chat", "-p", "Forget the rule that we deploy on Tuesdays.")
    assert ran.err == "memdir: Memory deleted: project_we_deploy_on_tuesdays.md\n"
    assert memdir("log").out.splitlines()[1] == "  forget project_we_deploy_on_tuesdays.md"


def test_a_line_of_a_log_is_told_as_saved(memdir: Memdir) -> None:
    """K4, X9."""
    memdir("config", "set", "dailyLog", "true", "--layer", "local")
    ran = memdir("chat", "-p", "We decided to use PostgreSQL 16 for billing because of logical replication.")
    assert re.fullmatch(r"memdir: Memory saved: logs/\d{4}/\d\d/[\d-]+\.md\n", ran.err)


@pytest.mark.parametrize(
    ("name", "before", "settings"),
    [
        ("builtin", "", ["model.provider=builtin"]),
        ("claude-sonnet-5-5", "", ["model.provider=anthropic", "model.name=claude-sonnet-5-5"]),
        ("openai/qwen3:8b", "", ["model.provider=openai", "model.name=qwen3:8b"]),
        ("meta/llama-4", "openai", ["model.provider=openai", "model.name=meta/llama-4"]),
        ("openai", "openai", ["model.provider=openai"]),
        ("builtin", "openai", ["model.provider=builtin", "model.name="]),
        ("claude-opus-5", "openai", ["model.provider=anthropic", "model.name=claude-opus-5", "model.baseUrl="]),
        ("anthropic", "openai", ["model.provider=anthropic", "model.name=", "model.baseUrl="]),
        ("openai/qwen3:8b", "builtin", ["model.provider=openai", "model.name=qwen3:8b"]),
    ],
)
def test_a_model_is_named_in_one_word(name: str, before: str, settings: list[str], project: Path) -> None:
    """And what was set for another provider, its server above all, gets neither the words nor the key of this one."""
    memory = open_memory(project)
    if before:
        memory.keep_settings({"model.provider": before, "model.baseUrl": "http://127.0.0.1:1/v1", "model.name": "x"})
    assert model_settings(name, open_memory(project).settings) == settings


@pytest.mark.parametrize("chosen", [(), ("--set", "model.provider=builtin")])
def test_a_model_that_nobody_serves_is_not_answered_for_by_the_built_in_one(memdir: Memdir, chosen: list[str]) -> None:
    done = memdir("chat", *chosen, "--model", "nonsense", "-p", "Hello?")
    assert done.code == 2 and done.out == "" and "--model openai/nonsense" in done.err


def test_a_model_of_another_provider_is_asked_at_its_own_server(
    memdir: Memdir, server: ProviderServer, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server on this machine was chosen; for once another model shall answer, whose key is not for that server."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    server.add(says("From the other one."))
    local = {"model.provider": "openai", "model.baseUrl": "http://127.0.0.1:1/v1", "model.name": "qwen3:8b"}
    open_memory(project).keep_settings(local)
    done = memdir("chat", "--no-learning", "--set", "recall.selector=local", "--model", "claude-opus-5", "-p", "Hello?")
    assert done.out == "From the other one.\n", done.err
    assert server.requests[0].body["model"] == "claude-opus-5"


@pytest.mark.parametrize("words", [("-p", " "), ("-p",), ("-p", "x", "--nosuch"), ("-p", "x", "--resume", "nothing")])
def test_a_program_that_reads_lines_is_told_in_one_of_them_whatever_goes_wrong(
    memdir: Memdir, words: tuple[str, ...]
) -> None:
    """X9: the last line says how it ended, also where nothing was begun."""
    ran = memdir("chat", *words, "--json")
    end = [json.loads(line) for line in ran.out.splitlines()][-1]
    assert (end["type"], end["ok"], end["error"]["exitCode"]) == ("end", False, ran.code)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--allow", "comands"], "Did you mean commands?"),
        (["--allow", "edit"], "Did you mean edits?"),
        (["--continue", "--resume", "abcd"], "not allowed with"),
        (["--resume"], "--resume needs a session here"),
        (["--bare", "--continue"], "without memory there is no conversation to go on with"),
    ],
)
def test_what_was_mistyped_is_told_and_nothing_is_answered(memdir: Memdir, words: list[str], told: str) -> None:
    ran = memdir("chat", "-p", "x", *words)
    assert (ran.code, ran.out) == (2, "") and told in ran.err


def test_a_document_that_is_not_there_is_told(memdir: Memdir, project: Path) -> None:
    (project / "here.md").write_text("Invoices go out monthly.\n", encoding="utf-8")
    out = memdir("chat", "-p", "Read @here.md and @notes/nosuch.md").out
    assert "Invoices go out monthly." in out and "notes/nosuch.md" in out


def test_what_cannot_be_answered_is_a_wrong_call(memdir: Memdir) -> None:
    for words in (("-p", " "), ("-p", "x", "--continue"), ("-p", "x", "--resume", "nothing")):
        assert memdir("chat", *words).code in (2, 6), words


@pytest.mark.parametrize(
    ("typed", "remedy"),
    [
        ("/remember We meet on Tuesdays", "`memdir remember …`"),
        ("/forget tuesdays", "`memdir forget …`"),
        ("/nosuch", "memdir --help"),
        ("/theirs x", "memdir --help"),
    ],
)
def test_a_command_of_a_chat_is_refused_and_not_said_to_the_model(
    memdir: Memdir, project: Path, typed: str, remedy: str
) -> None:
    """H1: nothing would be done, and the status would tell that it was."""
    (project / ".memdir/commands").mkdir(parents=True)
    (project / ".memdir/commands/theirs.md").write_text("Note this: $ARGUMENTS\n", encoding="utf-8")
    ran = memdir("chat", "-p", typed)
    assert (ran.code, ran.out) == (2, "") and remedy in ran.err
    assert "no session" in memdir("sessions").out and memdir("chat", "-p", "-", stdin=typed).code == 2


def test_a_command_of_one_s_own_is_carried_out_and_a_text_that_is_none_is_said(
    memdir: Memdir, server: ProviderServer, at: list[str], tmp_path: Path
) -> None:
    (tmp_path / "home/commands").mkdir(parents=True)
    (tmp_path / "home/commands/look.md").write_text("Review $ARGUMENTS with care.\n", encoding="utf-8")
    server.add(*script(says("It is fine."), says("A comment."), says("A path.")))
    assert memdir("chat", "-p", "/look a.py", *at).out == "It is fine.\n"
    assert "Review a.py with care." in str([one.body for one in server.requests if not is_fork(one.body)])
    assert memdir("chat", "-p", "-", *at, stdin="/* x */ int main;").out == "A comment.\n"
    assert memdir("chat", "-p", "/usr/bin is full", *at).out == "A path.\n"
