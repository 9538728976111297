"""`memdir hook` as a process, with what each of the five agents tells it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import memdir
from memdir.disk.lock import locked
from memdir.hooks.hook import EVENTS, MAX_ANSWER, MAX_SECONDS
from memdir.hooks.prompt_recall import cut_to_fit
from memdir.hooks.work_queue import WorkQueue
from memdir.layout import Layout
from memdir.memdir import open_memory
from memdir.store.history import Origin
from memdir.store.memories import save_memory
from memdir.store.topic import MemoryType, Topic
from memdir.transcript.attended import Attended
from memdir.transcript.sources.gemini import GeminiSessions
from tests.conftest import Ran
from tests.hooks.agents import EVENTS as EVENTS_OF
from tests.hooks.agents import HOSTS, Agent, answer, context, message, wait_for
from tests.hooks.conftest import MakeAgent

pytestmark = pytest.mark.slow("gemini", "qwen")

RULE = "Please never mock the database in our tests, we got burned by that last quarter."
QUESTION = "How should I write the tests for the database?"
PROMPTS = {host: events["prompt"] for host, events in EVENTS_OF.items()}
Memories = Callable[[], list[str]]


@pytest.fixture
def agent(make_agent: MakeAgent, request: pytest.FixtureRequest) -> Agent:
    return make_agent(getattr(request, "param", "claude"))


def taught(agent: Agent, memories: Memories, is_idle: Callable[[], bool]) -> None:
    """A session in which a rule is stated, and its end."""
    agent.start()
    agent.prompt(RULE)
    agent.say(RULE)
    assert answer(agent.stop()) == {}
    wait_for(memories)
    wait_for(is_idle)


@pytest.mark.parametrize("at", range(len(HOSTS)))
def test_what_is_told_to_one_agent_is_known_to_the_next_and_said_once(
    make_agent: MakeAgent, memories: Memories, is_idle: Callable[[], bool], at: int
) -> None:
    """X9, R1: the worker outlives the hook, and what it learned reaches a session of another agent."""
    first, second = make_agent(HOSTS[at]), make_agent(HOSTS[(at + 1) % len(HOSTS)], session="1c9e4c52-0000")
    taught(first, memories, is_idle)
    [name] = memories()
    start = second.start()
    assert len(start.stdout) <= MAX_ANSWER
    shown = second.prompt(QUESTION)
    assert name in context(start if second.host != "gemini" else shown)
    assert "never mock the database" in context(shown)
    said = [message(start), message(shown), message(second.stop())]
    is_late = second.host == "qwen"  # which shows its user nothing before a turn ends
    told = f"Memory saved: {name} (`memdir undo`)"
    assert said == (["", "", told] if is_late else [told, "", ""])
    recalled = context(shown).partition("Memory (saved")[2]
    assert recalled and "<system-reminder>" not in recalled, "the hosts wrap it themselves, and escape ours"
    assert answer(second.prompt(QUESTION)) == {}, "once a session"
    assert answer(make_agent("qwen", session="other").prompt("Please go on with the next step.")) == {}


def begun(agent: Agent, source: str = "startup") -> str:
    """What a session begins with: Gemini gets it beside its next prompt."""
    start = agent.start(source)
    return context(start) or context(agent.prompt("hello"))


@pytest.mark.parametrize("agent", HOSTS, indirect=True)
def test_a_session_begins_with_behaviour_and_index_and_has_them_once(agent: Agent, memdir: Callable[..., Ran]) -> None:
    memdir("remember", "Deploys are frozen until 2099-12-01")
    told = begun(agent)
    assert told.startswith("# Memory") and "Deploys are frozen" in told
    assert Path(agent.project / "x").parent.is_dir()
    again = begun(agent, "resume")
    assert again == (told if agent.host == "qwen" else ""), "Qwen keeps no system prompt, the others have it"
    assert "Deploys are frozen" in begun(agent, "clear")


def test_what_gemini_begins_with_comes_beside_a_prompt_and_never_before_it(
    make_agent: MakeAgent, memdir: Callable[..., Ran]
) -> None:
    """It makes one text of a start's context and the first prompt, and resumes the session without that prompt."""
    memdir("remember", "Deploys are frozen until 2099-12-01")
    memdir("remember", "Never mock the database in our tests")
    agent = make_agent("gemini")
    assert answer(agent.start()) == {}
    first = agent.prompt(QUESTION)
    assert context(first).startswith("# Memory") and "Deploys are frozen" in context(first)
    assert "type: feedback" in context(first) and len(first.stdout) <= MAX_ANSWER
    long = "\n".join(f"Block {number} of the parser holds {number} KiB." for number in range(200))
    memdir("remember", "-", "--name", "How the parser reads blocks", "--type", "project", stdin=long)
    full = make_agent("gemini", session="another-1")
    told = context(full.prompt("change how the parser reads blocks"))
    assert told.startswith("Memory (saved") and "How the parser reads blocks" in told
    assert context(full.prompt("hello")).startswith("# Memory"), "what did not fit comes next"


def test_an_index_that_is_too_long_is_cut_by_usefulness_and_says_so(agent: Agent, layout: Layout) -> None:
    """S8: what a host would cut is cut by us, and not what tells how to work."""
    folder = Path(layout.default_memory)
    folder.mkdir(parents=True)
    for number in range(400):
        kind = "feedback" if number in (7, 333) else "reference"
        text = f"---\nname: entry {number}\ndescription: {'words ' * 20}\ntype: {kind}\n---\n\nBody “{number}”.\n"
        (folder / f"entry_{number}.md").write_text(text, encoding="utf-8")
    (folder / "MEMORY.md").write_text("".join(f"- [entry {n}](entry_{n}.md) — words\n" for n in range(400)))
    for _ in range(2):  # the second time it was kept
        done = agent.start("clear")
        assert len(done.stdout) <= MAX_ANSWER
        told = context(done)
        assert "entry_7.md" in told and "entry_333.md" in told
        assert "more memories are not listed here" in told
    (folder / "entry_400.md").write_text("---\nname: entry 400\ndescription: d\ntype: feedback\n---\n\nNew.\n")
    assert "entry_400.md" in context(agent.start("clear"))


@pytest.mark.parametrize("agent", HOSTS, indirect=True)
def test_half_of_what_a_session_begins_with_is_for_the_index(agent: Agent, layout: Layout) -> None:
    """P2, P6: of 150 memories a session knew 13, and how to write them by heart."""
    folder = Path(layout.default_memory)
    folder.mkdir(parents=True)
    for number in range(150):
        text = f"---\nname: entry {number}\ndescription: {'words ' * 15}\ntype: project\n---\n\nBody.\n"
        (folder / f"entry_{number}.md").write_text(text, encoding="utf-8")
    (folder / "MEMORY.md").write_text("".join(f"- [entry {n}](entry_{n}.md) — {'words ' * 15}\n" for n in range(150)))
    prose, _, index = begun(agent).partition("Contents of")
    assert prose.startswith("# Memory")
    assert len(index) > MAX_ANSWER // 2


def test_a_large_memory_is_cut_to_what_a_host_shows(agent: Agent, memdir: Callable[..., Ran]) -> None:
    body = 'The "zeppelin" hangar\\ opens at nine.\n' * 2000
    memdir("remember", "-", "--name", "Zeppelin hangar hours", stdin=body)
    done = agent.prompt("When does the zeppelin hangar open?")
    assert "characters cut; read the rest in" in context(done)
    assert len(done.stdout) <= MAX_ANSWER


@pytest.mark.parametrize("agent", HOSTS, indirect=True)
def test_many_guards_leave_room_and_what_is_left_out_is_counted(agent: Agent, memdir: Callable[..., Ran]) -> None:
    """Q1, P6: what is over the limit a host cuts as it likes, and Gemini got nothing at all."""
    memdir("remember", "Deploys are frozen until 2099-12-01")
    memory = open_memory(agent.project)
    for number in range(25):
        rule = f"Never run deploy script {number} by hand on a Friday: nobody is there when it breaks, for hours"
        topic = Topic.compose(name=f"Rule {number}", description=rule, kind=MemoryType.FEEDBACK, body=f"{rule}.\n")
        guarded = topic.with_field("guard", f"warn shell(deploy-{number} --production)")
        for one in (topic, guarded):
            save_memory(memory.store, f"feedback_{number}.md", one.data, origin=Origin("cli", trust="user"))
    start = agent.start()
    start = agent.prompt("hello") if agent.host == "gemini" else start
    told = context(start)
    assert len(start.stdout) <= MAX_ANSWER
    assert f"and {25 - told.count('`warn shell(deploy-')} more (`memdir guard list`)" in told
    listed = told.partition("Contents of")[2].count("\n- [")
    assert f"({26 - listed} more memories are not listed here" in told


def test_what_fits_nowhere_is_cut_to_nothing() -> None:
    assert cut_to_fit("x" * 100, lambda _: False) == ""


def slow_or_broken_git(agent: Agent, tmp_path: Path, script: str) -> dict[str, str]:
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\n{script}\n")
    git.chmod(0o755)
    return {**agent.environment, "PATH": f"{git.parent}:{agent.environment['PATH']}"}


def test_what_was_recalled_is_said_where_the_time_is_over_behind_it(
    make_agent: MakeAgent, layout: Layout, tmp_path: Path, memdir: Callable[..., Ran]
) -> None:
    """R1: it counts as shown, and would not come again in this session; what was saved is told later (X9)."""
    memdir("remember", RULE)
    agent = make_agent("claude")
    WorkQueue(layout).tell("another", ["saved.md"])
    agent.environment = slow_or_broken_git(agent, tmp_path, "sleep 30")
    assert "never mock the database" in context(agent.prompt(QUESTION))
    assert (Path(layout.attached) / "saved").exists()


def test_what_was_saved_is_told_when_the_history_can_be_read_again(
    make_agent: MakeAgent, memories: Memories, is_idle: Callable[[], bool], tmp_path: Path
) -> None:
    """X9."""
    agent = make_agent("claude")
    taught(agent, memories, is_idle)
    whole = agent.environment
    agent.environment = slow_or_broken_git(agent, tmp_path, "echo fatal: unable to read tree >&2; exit 128")
    assert message(agent.prompt("Please go on.")) == ""
    agent.environment = whole
    assert "Memory saved" in message(agent.prompt("Please go on."))


def test_a_prompt_that_begins_with_a_path_is_a_question_and_a_command_is_none(
    agent: Agent, memdir: Callable[..., Ran]
) -> None:
    memdir("remember", RULE)
    assert answer(agent.prompt("/plan:deep how should I write the tests for the database?")) == {}
    asked = "/srv/app/tests/db_test.py fails: how should I write the tests for the database?"
    assert "never mock the database" in context(agent.prompt(asked))


def test_what_a_team_left_here_joins_no_prompt_while_it_is_switched_off(
    agent: Agent, memdir: Callable[..., Ran], project: Path
) -> None:
    """E1."""
    assert memdir("remember", RULE).code == 0
    (path,) = Path(open_memory(project).place.root).glob("feedback_*.md")
    path.with_name("team").mkdir()
    path.rename(path.with_name("team") / path.name)
    assert answer(agent.prompt("how should I write the tests for the database?")) == {}
    assert memdir("remember", "The tests of the database run on a machine of ours").code == 0
    assert "a machine of ours" in context(agent.prompt("on which machine do the tests of the database run?"))


def test_recent_tools_are_taken_from_the_transcript(agent: Agent, memdir: Callable[..., Ran]) -> None:
    """R2: how a tool is used that is in use is no news; without it, it is."""
    text = "How to use argocd: run `argocd app sync NAME`, then `argocd app wait NAME`."
    memdir("remember", text, "--type", "reference", "--name", "argocd usage: commands to sync an app")
    asked = "sync the app with argocd, what are the commands?"
    assert "argocd app sync" in context(agent.prompt(asked))
    told: list[tuple[str, object]] = [
        ("mcp__argocd__sync", ""),
        ("Bash", "argocd app sync web"),
        ("Bash", "A=1 /opt/argocd app list"),
    ]
    told += [("shell", ["argocd", "app"]), ("exec", '{"cmd": "argocd app"}')]
    for at, (name, command) in enumerate(told):
        other = Agent("claude", agent.home, agent.project, agent.command, f"s-{at}", agent.environment)
        other.say("hello")
        with other.transcript.open("a") as file:
            block = {"type": "tool_use", "id": "t", "name": name, "input": {"command": command}}
            file.write(json.dumps({"type": "assistant", "message": {"content": [block]}}) + "\n")
        assert answer(other.prompt(asked)) == {}, name


def test_what_gemini_puts_before_a_prompt_is_no_part_of_it(
    make_agent: MakeAgent, layout: Layout, memdir: Callable[..., Ran]
) -> None:
    """L4: it hands our own context from the session's start over with the first prompt, and writes it down with it."""
    memdir("remember", "The staging database listens on port 5433")
    agent = make_agent("gemini")
    put_in = f"<hook_context>{begun(agent)} The staging database?</hook_context>\n\n"
    assert answer(agent.prompt(f"{put_in}Please go on with the next step.")) == {}
    assert "5433" in context(agent.prompt(f"{put_in}Which port does the staging database listen on?"))
    agent.say(f"{put_in}Please go on with the next step.")
    source = GeminiSessions("")
    ref = source.session(agent.session, str(agent.transcript))
    assert ref is not None
    assert next(source.messages(ref)).text == "Please go on with the next step."


@pytest.mark.parametrize("agent", HOSTS, indirect=True)
def test_the_notes_of_a_session_go_into_its_compaction(agent: Agent, layout: Layout) -> None:
    """N7: where a host takes instructions; Gemini asks before every turn and gets nothing."""
    agent.prompt("hello")
    session = agent.transcript.stem if agent.host != "opencode" else agent.session
    notes = Path(layout.session_memory(session))
    notes.parent.mkdir(parents=True)
    notes.write_text("# Session Title\nThe flaky migration\n\n# Worklog\n" + "Ran it again.\n" * 5000)
    done = agent.hook("compact", trigger="auto")
    assert done.returncode == 0 and len(done.stdout) <= MAX_ANSWER
    if agent.host in ("claude", "opencode"):
        assert "The flaky migration" in done.stdout
        assert agent.host == "opencode" or not done.stdout.startswith("{"), "Claude Code takes plain words"
    else:
        assert done.stdout == ""
        assert agent.host == "gemini" or "The flaky migration" in context(agent.start("compact"))


def test_after_a_compression_that_its_user_asked_for_gemini_gets_again_what_was_shown(
    make_agent: MakeAgent, memdir: Callable[..., Ran]
) -> None:
    """R1, P6: of an automatic one it tells with every turn, whether it comes to that or not."""
    memdir("remember", RULE)
    agent = make_agent("gemini")
    for trigger, is_again in (("auto", True), ("auto", False), ("manual", False), ("auto", True)):
        told = context(agent.prompt(QUESTION))
        assert ("# Memory" in told, "never mock the database" in told) == (is_again, is_again), trigger
        assert answer(agent.hook("compact", trigger=trigger)) == {}


def test_what_gemini_dropped_by_a_compression_of_its_own_comes_again_with_the_notes(
    make_agent: MakeAgent, layout: Layout, memdir: Callable[..., Ran]
) -> None:
    """N7, R1, P6: no hook tells of it; what it has of the conversation from then on stands in its transcript."""
    memdir("remember", RULE)
    agent = make_agent("gemini")

    def kept(*texts: str) -> None:
        told = [{"id": f"k{at}", "type": "user", "content": [{"text": text}]} for at, text in enumerate(texts)]
        with agent.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"$set": {"messages": told}}, separators=(",", ":"), ensure_ascii=False) + "\n")

    first = context(agent.prompt(QUESTION))
    agent.say(f"{QUESTION}<hook_context>{first}</hook_context>")
    kept("This is Gemini CLI.", QUESTION, f"<hook_context>{first}</hook_context>")  # as when a session is resumed
    assert answer(agent.prompt(QUESTION)) == {}
    notes = Path(layout.session_memory(agent.transcript.stem))
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text("# Session Title\nThe flaky migration\n", encoding="utf-8")
    kept("This is Gemini CLI.", "<state_snapshot>The tests of the database.</state_snapshot>")
    agent.say(QUESTION)
    again = agent.prompt(QUESTION)
    told = context(again)
    assert told.startswith("# Memory") and "The flaky migration" in told and told.count("type: feedback") == 1
    assert len(again.stdout) <= MAX_ANSWER
    agent.say(f"{QUESTION}<hook_context>{told}</hook_context>")
    assert answer(agent.prompt(QUESTION)) == {}, "once"


def test_what_gemini_was_shown_before_what_a_session_begins_with_is_not_shown_again(
    make_agent: MakeAgent, layout: Layout, memdir: Callable[..., Ran]
) -> None:
    """R1: that waits where both do not fit, and Gemini writes down at its start what it has of the conversation."""
    long = "\n".join(f"Block {number} of the parser holds {number} KiB." for number in range(200))
    memdir("remember", "-", "--name", "How the parser reads blocks", "--type", "project", stdin=long)
    agent = make_agent("gemini")
    agent.transcript.parent.mkdir(parents=True)
    agent.transcript.write_text('{"$set":{"messages":[]}}\n', encoding="utf-8")
    asked = "change how the parser reads blocks"
    assert context(agent.prompt(asked)).startswith("Memory (saved")
    again = context(agent.prompt(asked))
    assert again.startswith("# Memory") and "Memory (saved" not in again


@pytest.mark.parametrize("agent", ["codex", "qwen", "opencode"], indirect=True)
@pytest.mark.parametrize("log", ["Ran it again.\n" * 5000, "Ran it again. " * 5000], ids=["lines", "one line"])
def test_long_notes_leave_room_for_how_to_use_memory_and_are_no_measure_for_others(
    agent: Agent, log: str, make_agent: MakeAgent, layout: Layout, memdir: Callable[..., Ran]
) -> None:
    """N7, P6: what is over the limit a host cuts as it likes; what shared its room is not what others begin with."""
    memdir("remember", "Deploys are frozen until 2099-12-01")
    session = agent.transcript.stem if agent.host != "opencode" else agent.session
    notes = Path(layout.session_memory(session))
    notes.parent.mkdir(parents=True)
    notes.write_text(f"# Session Title\nThe flaky migration\n\n# Worklog\n{log}")
    done = agent.start("compact")
    told = context(done)
    assert len(done.stdout) <= MAX_ANSWER and told.startswith("# Memory")
    assert "The flaky migration" in told and told.count("Ran it again.") > 20
    assert "Deploys are frozen" in context(make_agent(agent.host, session="another-1").start())


def test_a_session_that_leaves_no_transcript_has_memory_all_the_same(
    make_agent: MakeAgent, memdir: Callable[..., Ran]
) -> None:
    """`codex exec --ephemeral`."""
    memdir("remember", RULE)
    codex = make_agent("codex")
    assert "never mock the database" in context(codex.hook("start", transcript_path=None, source="startup"))
    asked = "How should I write the tests for the database?"
    told = {"session_id": "another-1", "cwd": str(codex.project), "prompt": asked}
    assert "never mock the database" in context(codex.hook("prompt", told=json.dumps(told)))


@pytest.mark.parametrize(
    ("host", "entry"), [("claude", "sdk-cli"), ("claude", "sdk-py"), ("codex", ""), ("opencode", "")]
)
def test_what_was_saved_is_told_where_somebody_sees_it(
    make_agent: MakeAgent, layout: Layout, host: str, entry: str
) -> None:
    """X9: `claude -p`, who has Claude Code work for a program, and `codex exec` drop what a hook says."""
    agent = make_agent(host)
    agent.start()
    agent.say("From now on we deploy on Mondays only.")
    agent.stop()
    wait_for((Path(layout.attached) / "saved").exists)
    headless = make_agent(host, session="0b9e4c52-7a11-4c1e-9f10-5d1f0c6f7a03")
    headless.environment = {**headless.environment, "CLAUDE_CODE_ENTRYPOINT": entry}
    if host == "codex":
        path = Path(str(headless.fields("prompt")["transcript_path"]))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"type":"session_meta","payload":{"originator":"codex_exec","source":"exec"}}\n')
    told = {"is_headless": True} if host == "opencode" else {}  # by our own plugin
    assert message(headless.hook("prompt", prompt="Please go on.", **told)) == ""
    assert "Memory saved" in message(make_agent(host).prompt("Please go on."))


@pytest.mark.parametrize(
    ("mark", "record", "is_told"),
    [({}, "", False), ({"QWEN_CODE_MESSAGING_SOCKET": "/x"}, "", True), ({}, "file_history_snapshot", True)],
)
def test_qwen_tells_its_user_and_nobody_else_what_was_saved(
    make_agent: MakeAgent, layout: Layout, mark: dict[str, str], record: str, is_told: bool
) -> None:
    """X9: `qwen -p --output-format json` drops it; one with a terminal has a socket, or keeps what files were like."""
    other, agent = make_agent("claude", session="1c9e4c52-0000"), make_agent("qwen")
    other.start()
    other.say("From now on we deploy on Mondays only.")
    other.stop()
    wait_for((Path(layout.attached) / "saved").exists)
    agent.environment = {**agent.environment, "QWEN_CODE_PROMPT_ID": "p########0", **mark}
    agent.say("Please go on.")
    with agent.transcript.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"type": "system", "subtype": record}, separators=(",", ":")) + "\n")
    agent.prompt("Please go on.")
    assert ("Memory saved" in message(agent.stop())) is is_told
    assert (Path(layout.attached) / "saved").exists() is not is_told


def test_what_no_person_says_is_left_alone(make_agent: MakeAgent, layout: Layout) -> None:
    """Codex' own memory agent, Qwen's second call without words, sub-agents, ids that lead elsewhere."""
    codex, qwen, claude = make_agent("codex"), make_agent("qwen"), make_agent("claude")
    own = Path(codex.environment["HOME"]) / ".codex" / "memories"
    own.mkdir(parents=True)
    assert answer(codex.hook("start", transcript_path=None, source="startup", cwd=str(own))) == {}
    assert answer(qwen.prompt("")) == {}
    assert answer(claude.hook("stop", agent_id="a1")) == {}
    for session in ("../../etc", "a/b", "", "memory", "x" * 300, 7, None):
        assert answer(claude.hook("stop", session_id=session, transcript_path="")) == {}
    assert not (Path(layout.attached) / "queue").exists()


GARBAGE = (
    b"",
    b"null",
    b"[1, 2]",
    b'{"session_id": ',
    b"\xff\xfe\0\0garbage",
    b'{"session_id": {"a": 1}, "cwd": [], "prompt": 5, "transcript_path": {}}',
    b"[" * 200_000,
    b'{"session_id":"s","cwd":"/nowhere/at/all","prompt":"hello","transcript_path":"/dev/zero"}',
    b'{"session_id":"s","cwd":"a\\u0000b","prompt":"hello","transcript_path":"a\\u0000b.jsonl"}',
    b'{"session_id":"s","prompt":"\\ud800 half","source":"\\udfff"}',
)


@pytest.mark.parametrize("host", [*HOSTS, "newer-host", "--help", ""])
def test_whatever_comes_the_exit_code_is_0(memdir_command: str, host: str, project: Path) -> None:
    events = (*EVENTS, "NewEvent", "--version", "") if host == "claude" else ("SessionStart", "chat.message", "x y")
    for event in events:
        given = GARBAGE if event in ("UserPromptSubmit", "SessionStart") else GARBAGE[:4]
        for data in given:
            done = subprocess.run(
                [memdir_command, "hook", host, event], input=data, capture_output=True, cwd=project, timeout=60
            )
            assert (done.returncode, done.stderr) == (0, b""), (event, data[:40])
    for words in ([], ["claude"], ["claude", "Stop", "--bare", "more"], ["--json"]):
        done = subprocess.run(
            [memdir_command, "hook", *words], input=b"{}", capture_output=True, cwd=project, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "hook", "claude", "Stop", "--zzz"],
        ["--no-color", "--project", "x", "hook", "--zzz"],
        ["--zzz", "hook", "claude", "Stop"],
        ["--home=x", "--bare", "hook"],
    ],
)
def test_no_option_brings_a_hook_to_a_parser(memdir_command: str, words: list[str], project: Path) -> None:
    done = subprocess.run([memdir_command, *words], input=b"{}", cwd=project, capture_output=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "words", ["{} hook claude SessionStart", "hook {} claude SessionStart", "hook claude SessionStart {}"]
)
def test_the_home_that_is_named_counts_and_so_does_bare(
    memdir_command: str, words: str, project: Path, tmp_path: Path
) -> None:
    for options, is_told in (("--home {}/other", True), ("--home={}/other", True), ("--bare --home {}/bare", False)):
        given = words.format(options.format(tmp_path)).split()
        told = json.dumps({"session_id": "s", "cwd": str(project), "source": "clear"}).encode()
        done = subprocess.run([memdir_command, *given], input=told, cwd=project, capture_output=True, timeout=60)
        assert (f"{tmp_path}/other" in done.stdout.decode()) is is_told and done.returncode == 0
    assert not (tmp_path / "bare").exists()


@pytest.mark.parametrize("agent", HOSTS, indirect=True)
def test_a_home_that_cannot_be_written_costs_nothing_but_the_memory(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    others = (Path("/proc/nowhere"), Path("/dev/null/x")) if agent.host == "claude" else ()
    for home in (tmp_path / "file", *others):
        agent.environment["MEMDIR_HOME"] = str(home)
        for done in (agent.start(), agent.prompt(QUESTION), agent.stop(), agent.hook("SessionEnd", reason="exit")):
            assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_in_the_place_of_the_output_or_no_output_at_all_is_no_error(
    agent: Agent, memdir: Callable[..., Ran]
) -> None:
    memdir("remember", "Deploys are frozen until 2099-12-01")
    told = json.dumps({"session_id": "s", "cwd": str(agent.project), "source": "clear"})
    for redirection in (">/dev/full", ">&-", ">&- 2>&-", "<&-", "| true"):
        line = f"echo '{told}' | {agent.command} hook claude SessionStart {redirection}"
        done = subprocess.run(["bash", "-c", f"{line}; exit ${{PIPESTATUS[1]}}"], env=agent.environment, timeout=60)
        assert done.returncode == 0, redirection
    assert [path.name for path in agent.project.iterdir()] == [".git"]


@pytest.mark.parametrize(
    ("broken", "agent"),
    [
        ("hooks/hook.py", "claude"),
        ("memdir.py", "codex"),
        ("settings.py", "gemini"),
        ("recall/recall.py", "qwen"),
        ("disk/plain_json.py", "opencode"),
    ],
    indirect=["agent"],
)
def test_a_memdir_that_is_half_upgraded_is_as_good_as_none(agent: Agent, tmp_path: Path, broken: str) -> None:
    package = tmp_path / "half" / "memdir"
    shutil.copytree(Path(memdir.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "*.bin"))
    agent.environment["PYTHONPATH"] = str(tmp_path / "half")
    for damage in (lambda path: path.unlink(), lambda path: path.write_text("def half(:\n")):
        damage(package / broken)
        command = [sys.executable, "-m", "memdir.cli.entry", "hook", agent.host, PROMPTS[agent.host]]
        told = json.dumps({**agent.fields("prompt"), "prompt": "hello"})
        done = subprocess.run(
            command, input=told, capture_output=True, text=True, env=agent.environment, cwd=tmp_path, timeout=60
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_error_of_our_own_is_kept_for_a_look(agent: Agent, layout: Layout) -> None:
    Path(layout.home).mkdir(parents=True, exist_ok=True)
    Path(layout.user_settings).write_text("{ this is no JSON")
    assert answer(agent.prompt(QUESTION)) == {}
    assert "settings" in (Path(layout.logs) / "crash.log").read_text()


def test_a_host_that_never_ends_its_input_is_not_waited_for(agent: Agent) -> None:
    command = [agent.command, "hook", "claude", "UserPromptSubmit"]
    before = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=agent.environment) as process:
        assert process.wait(timeout=60) == 0
    assert time.monotonic() - before >= MAX_SECONDS - 0.5


@pytest.mark.parametrize("is_home_there", [False, True])
def test_memory_that_is_off_leaves_nothing_behind(agent: Agent, layout: Layout, is_home_there: bool) -> None:
    """S5: nor where the home is there for other projects."""
    home = Path(layout.home)
    if is_home_there:
        home.mkdir()
    agent.environment["MEMDIR_DISABLE"] = "1"
    for done in (agent.start(), agent.prompt(QUESTION), agent.stop()):
        assert answer(done) == {}
    assert list(home.rglob("*")) == [] and home.exists() == is_home_there


HEAVY = (
    "argparse",
    "json",
    "re",
    "datetime",
    "dataclasses",
    "asyncio",
    "subprocess",
    "typing",
    "pathlib",
    "contextlib",
)


@pytest.mark.parametrize("event", ["start", "prompt", "PreToolUse"])
def test_a_hook_loads_nothing_heavy(agent: Agent, event: str, memdir: Callable[..., Ran]) -> None:
    """ADR 0003: nothing but what this event needs, when nothing is shown."""
    memdir("remember", "Deploys are frozen until 2099-12-01")
    agent.start("clear")
    agent.prompt("hello")
    agent.hook("PreToolUse")  # the first of a session looks for guards
    agent.say("hello")
    with agent.transcript.open("a") as file:
        block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "git status"}}
        file.write(json.dumps({"type": "assistant", "message": {"content": [block]}}) + "\n")
    command = [sys.executable, "-X", "importtime", agent.command]
    agent = Agent("claude", agent.home, agent.project, "", agent.session, agent.environment)
    words = [*command, "hook", "claude", {"start": "SessionStart", "prompt": "UserPromptSubmit"}.get(event, event)]
    told = json.dumps({**agent.fields(event), "prompt": "Please go on.", "source": "clear"})
    done = subprocess.run(words, input=told, capture_output=True, text=True, env=agent.environment, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "memdir.hooks.hook" in loaded
    assert loaded & set(HEAVY) == set()
    assert len([name for name in loaded if name.partition(".")[0] == "memdir"]) <= 45


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "qwen"], indirect=True)
def test_only_a_transcript_of_the_agent_s_own_is_read(
    agent: Agent, layout: Layout, tmp_path: Path, memories: Memories
) -> None:
    """Whoever can call a hook could name any file; a link that came later leads nowhere either."""
    agent.say(RULE)
    stranger, link = tmp_path / agent.transcript.name, agent.transcript.with_name(f"b-{agent.transcript.name}")
    agent.transcript.rename(stranger)
    link.symlink_to(stranger)
    for path in (stranger, link, agent.transcript.parent / ".." / ".." / ".." / ".." / ".." / stranger.name):
        session = Path(path).name.removesuffix(".jsonl")
        agent.hook("prompt", transcript_path=str(path), session_id=session, prompt="go on")
        assert Attended.at(layout.attended(session)).transcript == "", path  # type: ignore[union-attr]
    agent.session = "1c9e4c52-0000-4000"
    agent.prompt("Please go on.")
    agent.transcript.symlink_to(stranger)
    WorkQueue(layout).add(agent.transcript.stem)
    subprocess.run([agent.command, "hook", "--work", str(agent.project)], env=agent.environment, check=True)
    assert memories() == []


@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_a_session_is_of_the_project_that_it_was_started_in_wherever_its_shell_goes(
    agent: Agent, layout: Layout, tmp_path: Path, memories: Memories, memdir: Callable[..., Ran], *, is_on: bool
) -> None:
    """S3, S5: Claude Code tells at each event the folder that a `cd` left it in, and beside it where it was started."""
    if not is_on:
        memdir("attach", "--not-here")
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    agent.environment["CLAUDE_PROJECT_DIR"] = str(agent.project)
    agent.start()
    agent.prompt(RULE)
    agent.say(RULE)
    with locked(WorkQueue(layout).lock):
        agent.hook("stop", cwd=str(other), stop_hook_active=False)
        agent.hook("SessionEnd", cwd=str(other), reason="exit")
        assert WorkQueue(layout).waiting() == ([agent.session] if is_on else [])
    there = Layout(layout.home, str(other))
    assert not Path(there.project_home).exists()
    codex = Agent("codex", agent.home, other, agent.command, "c-1", agent.environment)
    codex.prompt("Which port does the staging database listen on?")
    assert Path(there.attended(codex.transcript.stem)).exists(), "another agent may inherit that variable"
