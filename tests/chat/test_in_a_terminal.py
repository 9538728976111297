"""What is on the screen of a person who chats: in tmux, and in a bare pty where there is none."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, Never

import pyte
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from memdir import MemDir, open_memory
from memdir.agent import Origin
from memdir.chat.host import ChatEvent
from memdir.chat.terminal import KEPT_CALLS, TYPING_SECONDS, ChatTerminal
from memdir.disk.lock import locked
from memdir.dream.questions import Questions
from memdir.errors import ModelError
from memdir.model import ScriptedModel
from memdir.model.builtin.dream_job import line_of
from memdir.store.history import MADE
from memdir.transcript import Message, Text, ToolUse, assistant, user
from memdir.types import DreamTask
from tests.chat.hosts import KEY, QUIET, host_of, is_fork, opened, script
from tests.chat.in_tmux import NO_TMUX, Tmux
from tests.chat.seen import SECONDS, Seen, chat_words
from tests.model.providers import ANTHROPIC, RESPONSES, Provider
from tests.provider_server import Drop, Hang, ProviderServer, calls, says
from tests.provider_server.script import Body, Outcome

READY = "/help"
in_tmux = pytest.mark.skipif(bool(NO_TMUX), reason=NO_TMUX)
IN_TMUX = (ANTHROPIC, pytest.param(RESPONSES, marks=pytest.mark.slow))  # drawn by pyte, both are tried by default


@dataclass
class Chatting:
    """A chat that goes on: its screen, and the provider behind it."""

    tmux: Seen
    server: ProviderServer
    project: Path
    model: str

    def will_answer(self, *answers: Outcome) -> Seen:
        """What the model says from now on, on an empty screen."""
        self.server.script_again(script(*answers))
        self.tmux.wipe()
        return self.tmux

    @property
    def sent(self) -> str:
        """All that the last request of the conversation said."""
        body = [one.body for one in self.server.requests if not is_fork(one.body)][-1]
        return str(body.get("messages") or body["input"])


@pytest.fixture(params=[ANTHROPIC, RESPONSES], ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


@pytest.fixture(scope="module", params=IN_TMUX, ids=lambda provider: provider.name)
def chatting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chatting]:
    """One chat for several tests: each says something of its own in it."""
    provider: Provider = request.param
    if NO_TMUX:
        pytest.skip(NO_TMUX)
    place = tmp_path_factory.mktemp("chatting")
    project, home = place / "project", place / "home"
    project.mkdir()
    (home / "commands").mkdir(parents=True)
    own = "---\ndescription: look at a change\n---\nReview $ARGUMENTS with care.\n"
    (home / "commands/review.md").write_text(own, encoding="utf-8")
    more = ("--home", str(home))
    with ProviderServer() as server, Tmux(chat_words(server, *more, provider=provider), cwd=project) as tmux:
        tmux.wait_for(f"memdir chat · {provider.model}", READY)
        yield Chatting(tmux, server, project, provider.model)


@in_tmux
@pytest.mark.slow("openai-responses")
def test_a_chat_stays_in_the_scrollback_and_goes_on_another_time(provider: Provider, project: Path) -> None:
    """H1: finished blocks are in the terminal's own history, before and after the program ends."""
    story = "\n\n".join(f"Paragraph {number} of the story." for number in range(40))
    with ProviderServer(script(says(f"# A title\n\n{story}\n\n```\nx = 1\n\ny = 2\n```\n\nThe **end**."))) as server:
        with Tmux(chat_words(server, provider=provider), cwd=project) as tmux:
            tmux.wait_for(f"memdir chat · {provider.model}", "›")
            tmux.say("Tell me a story.")
            tmux.wait_for("The end.")
            told = tmux.until(
                lambda told: all(told.count(f"Paragraph {number} of the story.") == 1 for number in range(40))
            )
            assert "**end**" not in told and "› Tell me a story." in told and "$ memdir chat" in told
            tmux.keys("C-c")
            tmux.wait_for("Ctrl-C again leaves")
            tmux.keys("C-c")
            tmux.wait_for("ended with 0", "goes on with this conversation")
            assert all(f"Paragraph {number} of" in tmux.all for number in range(40)) and "y = 2" in tmux.all
        with Tmux(chat_words(server, "--resume", provider=provider), cwd=project) as tmux:
            tmux.wait_for("Go on with which conversation?", "Tell me a story.  (3 messages, ")
            tmux.keys("1")
            tmux.wait_for("The end.")
            assert "messages so far" in tmux.all
            tmux.keys("Up")
            tmux.wait_for("› Tell me a story.")
            tmux.keys("C-c", "C-d")
            tmux.wait_for("ended with 0")


def test_what_is_being_said_is_live_and_ctrl_c_stops_the_turn_and_not_the_program(chatting: Chatting) -> None:
    said = " ".join(f"word{number}" for number in range(40))
    tmux = chatting.will_answer(Hang(says(said), after_events=12), says("Here again."))
    tmux.say("Talk.")
    tmux.wait_for("word3 ", "Ctrl-C stops")
    tmux.wait_for(" s, silent for ")  # a provider that hangs is seen to
    tmux.type("typed meanwhile")
    tmux.keys("C-c")
    tmux.wait_for("Stopped.")
    tmux.until(lambda told: told.count("word3 ") == 1)  # what was live is a block now, once
    tmux.wait_for("› typed meanwhile")
    tmux.keys("Enter")
    tmux.wait_for("Here again.")
    assert "typed meanwhile" in chatting.sent and "stopped the reply" in chatting.sent


def test_a_side_question_to_a_provider_that_hangs_is_stopped_by_ctrl_c(chatting: Chatting) -> None:
    def never(body: Body) -> Outcome:
        return Hang(says("Never.")) if "capital" in str(body) else says("Nothing to save.")

    chatting.server.script_again(script(says("Here again."), forks=never))
    tmux = chatting.tmux
    tmux.wipe()
    tmux.say("/btw what is the capital of France?")
    tmux.wait_for(" s, silent for ", "Ctrl-C stops")
    tmux.keys("C-c")
    tmux.wait_for("Stopped.")
    tmux.say("Go on.")
    tmux.wait_for("Here again.")


def test_a_permission_is_asked_with_its_diff_and_answered_by_a_digit(chatting: Chatting) -> None:
    path = chatting.project / "a.py"
    path.write_bytes(b"x = 1\r\n")
    change = {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2"}
    tmux = chatting.will_answer(
        calls(("Read", {"file_path": "a.py"}), ids="r"),
        calls(("Edit", change), ids="e"),
        calls(("Bash", {"command": "rm a.py"}), ids="b"),
        says("All done."),
    )
    tmux.say("Change it.")
    shown = tmux.wait_for("Change a.py?")
    assert "-x = 1" in shown and "+x = 2" in shown, "never a question before what it is about"
    shown = tmux.wait_for("1  yes, once")
    assert "always" not in shown and path.read_text() == "x = 1\n"
    tmux.keys("1")
    assert "$ rm a.py" in tmux.wait_for("→ yes, once", "always for this command"), "what was answered stays to be seen"
    assert path.read_text() == "x = 2\n"
    tmux.type("half a sentence 4")
    assert path.exists(), "a digit in what is being typed answers nothing"
    tmux.keys("C-u", "Escape")
    shown = tmux.wait_for("All done.")
    assert path.exists() and "✓ Edit a.py" in shown and "✗ Bash rm a.py" in shown
    assert "signs in it that cannot be seen" not in tmux.all
    hidden = "echo safe\u202e\u200b\n\x1b[1A  2  no\x1b[2K"
    tmux = chatting.will_answer(calls(("Bash", {"command": hidden}), ids="h"), says("As you like."))
    tmux.say("Run that.")
    shown = tmux.wait_for("$ echo safe", "There are signs in it that cannot be seen.", "1  yes, once")
    assert "  $   2  no" in shown, "a line of the command, and none of the question"
    tmux.keys("Escape")
    tmux.wait_for("As you like.")
    tmux.wipe()
    tmux.say("/open")
    tmux.wait_for("the person said no")


def test_a_failure_is_told_with_its_reason_and_retried(chatting: Chatting) -> None:
    tmux = chatting.will_answer(Drop(says("Half of it and " * 9), after_events=6), says("All of it."))
    tmux.say("Say it.")
    tmux.wait_for("✗", "broke off", "/retry")
    tmux.say("/retry")
    tmux.wait_for("All of it.")


def test_background_work_is_in_the_footer_watched_and_stopped(chatting: Chatting) -> None:
    """H1, D5."""
    chatting.server.script_again(script(says("As you like."), forks=lambda _: Hang(says("Never."))))
    tmux = chatting.tmux
    tmux.wipe()
    tmux.say("From now on, run the linter before the tests: it is faster.")
    tmux.wait_for("As you like.", "saving │")
    tmux.keys("F2")
    tmux.wait_for("Background work: a digit stops it", "1  saving")
    tmux.keys("1")
    tmux.wait_for("Nothing runs in the background")
    tmux.keys("Escape")
    tmux.wait_for("Nothing runs in the background", gone=True)


@dataclass
class Alive:
    """A chat in this process, whose parts can be touched: its screen is drawn by pyte."""

    chat: ChatTerminal
    drawn: pyte.Screen
    press: Callable[[str], None]

    async def shows(self, words: str, *, gone: bool = False) -> None:
        await self.until(lambda: (words in "\n".join(self.drawn.display)) != gone)

    async def until(self, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + SECONDS
        while not is_so():
            assert time.monotonic() < until, "\n".join(self.drawn.display)
            await asyncio.sleep(0.005)

    async def is_read(self) -> None:
        """Until nobody can take what is asked for something that popped up while they typed."""
        await self.until(lambda: time.monotonic() - self.chat._unread > TYPING_SECONDS)

    @property
    def said(self) -> list[str]:
        messages = self.chat.host.conversation.messages
        return [one.text for one in messages if one.role == "user" and not one.is_meta]


@contextmanager
def drawn(project: Path, *, no_learning: bool = False, memory: MemDir | None = None, rows: int = 30) -> Iterator[Alive]:
    screen = pyte.Screen(90, rows)
    screen.set_mode(pyte.modes.LNM)  # as a terminal that no program made raw
    stream = pyte.Stream(screen)
    told = SimpleNamespace(write=stream.feed, flush=lambda: None, isatty=lambda: True, encoding="utf-8")
    output = Vt100_Output(told, lambda: Size(rows=rows, columns=90), term="xterm-256color")
    memory = memory or open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    options = SimpleNamespace(resume=None, latest=False, allow=[], no_learning=no_learning)
    with create_pipe_input() as keys, create_app_session(input=keys, output=output):
        screen.write_process_input = keys.send_text  # what a program asks of its terminal is answered
        chat = ChatTerminal(memory, options, lambda: memory)  # type: ignore[arg-type]
        yield Alive(chat, screen, keys.send_text)


@asynccontextmanager
async def alive(project: Path, **how: Any) -> AsyncIterator[Alive]:
    with drawn(project, **how) as found:
        running = asyncio.create_task(found.chat.run())
        await found.shows("F2 tasks")
        yield found
        found.chat.leave()
        assert await running == 0


F2, F3, F4, F5 = "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~"
WIPE = "\x0c"


async def test_what_a_conversation_that_was_left_still_learns_is_seen_stopped_and_told_to_who_leaves(
    provider: Provider,
    project: Path,
) -> None:
    """H1, D5, X10: it holds the terminal for a minute, and is no secret."""
    with ProviderServer(script(says("As you like."), forks=lambda _: Hang(says("Never.")))) as server:
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory) as seen:
            for leaves in ("/clear", "/exit"):
                seen.press("From now on, run the linter before the tests: it is faster.\r")
                await seen.shows("saving │")
                seen.press(f"{WIPE}/clear\r")
                await seen.shows("A new conversation.")
                await seen.shows("saving │")
                if leaves == "/clear":
                    seen.press(F2)
                    await seen.shows("1  saving")
                    seen.press("1")
                    await seen.shows("Nothing runs in the background")
                    seen.press("\x1b")
            seen.press("/exit\r")
            await seen.shows("Saving what is worth keeping …")
            for task in seen.chat.host.tasks:  # and what comes again after it was stopped
                task.stop()


async def test_who_waits_for_a_conversation_that_was_left_a_moment_ago_need_not(
    provider: Provider, project: Path
) -> None:
    """J3, X9: it still learns, and a provider that hangs holds nobody."""
    with ProviderServer(script(says("As you like."), forks=lambda _: Hang(says("Never.")))) as server:
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory) as seen:
            seen.press("From now on, run the linter before the tests: it is faster.\r")
            await seen.shows("saving │")
            left = seen.chat.host.session.id
            seen.press(f"/clear\r{WIPE}/resume {left}\r")
            await seen.shows("Saving what is worth keeping of it first")
            await seen.shows("Ctrl-C stops")
            seen.press("\x03")
            await seen.shows("Stopped.")
            assert seen.chat.host.session.id != left
            server.script_again(script(says("Good morning, too.")))
            seen.press("Good morning.\r")
            await seen.shows("Good morning, too.")
            await seen.until(lambda: not [task.stop() for task in seen.chat.host.tasks])


async def test_work_is_told_as_it_goes_on_and_when_it_ended_it_does_not_stay_on_the_screen(project: Path) -> None:
    """D5: phase, turns, files and last words of a dream that was asked for; what was drawn is drawn again."""
    async with alive(project) as seen:
        dream = DreamTask(0)
        seen.chat.commands.dreams.append(dream)
        seen.press(F2)
        await seen.shows("1  dreaming · starting")
        writes = [ToolUse(f"w{n}", "Write", {"file_path": f"{n}.md", "content": ""}) for n in range(3)]
        dream.saw(Message("assistant", (Text("Two say the same."), *writes)))
        await seen.shows("1  dreaming · updating · turn 1 · 3 files · “Two say the same.”")
        await seen.shows("dreaming · 3 files │")
        seen.chat.commands.dreams.clear()
        await seen.shows("Nothing runs in the background")


async def test_a_digit_stops_the_task_that_it_stood_before_though_another_one_ends_meanwhile(project: Path) -> None:
    """D5: what is stopped is what was on the screen when the digit was pressed."""
    async with alive(project) as seen:
        first, second = DreamTask(0), DreamTask(0)
        seen.chat.commands.dreams += [first, second]
        seen.press(F2)
        await seen.shows("2  dreaming")
        seen.press("1")
        await seen.shows("› 1")
        seen.chat.commands.dreams.remove(first)
        await seen.shows("› 1", gone=True)
        assert not second.abort.is_set
        await seen.shows("2  dreaming")
        seen.press("2\r")
        await seen.until(lambda: second.abort.is_set)


async def test_a_question_stays_until_it_is_answered_whatever_key_is_pressed(project: Path) -> None:
    """H1: a list of tasks that is opened over it left nobody a way to answer."""
    async with alive(project) as seen:
        asked = asyncio.create_task(seen.chat.choose("Which one?", ["this", "that"]))
        await seen.shows("Which one?")
        seen.press(F2)
        await seen.chat.commands.run("/tasks")
        await seen.shows("2  that")
        seen.press("2")
        assert await asyncio.wait_for(asked, SECONDS) == 1
        seen.press(F2)
        await seen.shows("Nothing runs in the background")
        seen.press(F2)
        await seen.shows("Nothing runs in the background", gone=True)


@pytest.mark.parametrize("rows", [30, 9])
async def test_what_is_asked_is_seen_however_much_runs_and_however_low_the_terminal_is(
    project: Path, rows: int
) -> None:
    """H1: a model may call forty tools at once, and say much before."""
    async with alive(project, rows=rows) as seen:
        seen.chat._heard(ChatEvent("text", {"text": "and so on\n" * 40}))
        for number in range(40):
            seen.chat._heard(
                ChatEvent("tool", {"id": str(number), "tool": "Read", "input": {"file_path": f"{number}"}})
            )
        asked = asyncio.create_task(seen.chat.choose("Which one?", ["this", "that"]))
        for words in ("Which one?", "1  this", "2  that", "› ", "F2 tasks"):
            await seen.shows(words)
        seen.press("2\r")
        assert await asyncio.wait_for(asked, SECONDS) == 1


async def test_a_sentence_that_begins_with_a_digit_answers_no_question(project: Path) -> None:
    async with alive(project) as seen:
        asked = asyncio.create_task(seen.chat.choose("Which one?", ["this", "that"]))
        await seen.shows("Which one?")
        seen.press("2")
        await seen.shows("› 2")
        seen.press(" files are left")
        await seen.shows("› 2 files are left")
        await asyncio.sleep(TYPING_SECONDS)  # after which a digit alone is an answer
        assert not asked.done()
        seen.press("\x15" + "2\r")  # and one that is sent is one at once
        assert await asyncio.wait_for(asked, SECONDS) == 1


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("yes", "yes, once"), ("OK", "yes, once"), ("always", "always"), ("yes, for this", "yes, for"), ("No.", "no")],
)
async def test_a_question_is_answered_in_words_too(project: Path, typed: str, answer: str) -> None:
    choices = ["yes, once", "yes, for this session", "always for this command", "no"]
    async with alive(project) as seen:
        asked = asyncio.create_task(seen.chat.choose("Run it?", choices))
        await seen.shows("Run it?")
        seen.press("yesterday it worked\r")  # is no answer
        await seen.shows("› yesterday it worked")
        assert not asked.done()
        await seen.is_read()
        seen.press(f"{typed}\r")
        assert choices[await asyncio.wait_for(asked, SECONDS) or 0].startswith(answer)


async def test_a_word_that_was_on_its_way_when_something_was_asked_is_no_answer(project: Path) -> None:
    """X12: who types on has not read the question; a second Enter answers it."""
    async with alive(project) as seen:
        asked = asyncio.create_task(seen.chat.choose("Run it?", ["yes, once", "no"]))
        await seen.until(lambda: seen.chat.panel is not None)
        seen.press("yes\r")
        await seen.shows("› yes")
        await seen.is_read()
        assert not asked.done()
        seen.press("\r")
        assert await asyncio.wait_for(asked, SECONDS) == 0
        assert seen.said == []


async def test_half_a_sentence_is_not_sent_while_something_is_asked(project: Path) -> None:
    """H1: what was being typed goes before what is typed on; a command between is one, and Enter alone nothing."""
    async with alive(project) as seen:
        seen.press("Please do not del")
        await seen.shows("› Please do not del")
        asked = asyncio.create_task(seen.chat.choose("Run it?", ["yes, once", "no"]))
        await seen.shows("Run it?")
        seen.press("\r/budget\r")
        await seen.shows("This conversation: ")
        seen.press("ete the database\r")
        await seen.until(lambda: bool(seen.said))
        assert seen.said == ["Please do not delete the database"] and not asked.done()
        seen.press("\x1b")
        assert await asyncio.wait_for(asked, SECONDS) is None
        assert seen.chat._session.default_buffer.text == ""


async def test_a_paste_that_is_not_here_any_more_is_not_sent_by_its_name(project: Path) -> None:
    """J1: the name of one comes back with the lines of another day."""
    async with alive(project) as seen:
        seen.press("look at [pasted text 1: 50 lines] and fix it\r")
        await seen.shows("✗ [pasted text 1: 50 lines] is not here any more")
        seen.press("\x1b[200~" + "log line\n" * 50 + "\x1b[201~\r")
        await seen.until(lambda: bool(seen.said))
        [earlier] = seen.said
    async with alive(project) as seen:
        seen.press("\x1b[200~" + "another line\n" * 50 + "\x1b[201~\r")
        await seen.until(lambda: bool(seen.said))
        seen.press(f"look at {earlier} too\r")
        await seen.shows(f"✗ {earlier} is not here any more")
        assert len(seen.said) == 1, "and no other paste is sent in its place"


@pytest.mark.parametrize("is_left", [True, False])
async def test_a_command_may_stand_in_a_line_of_its_own(project: Path, is_left: bool) -> None:
    """J1: whether it is taken at once, or when one leaves."""
    async with alive(project) as seen:
        if is_left:
            seen.chat._entered.put_nowait(" /remember\nDeploys are frozen")
        else:
            seen.press("/remember\x1b\rDeploys are frozen\r")
            await seen.shows("Remembered: ")
    assert [one.key for one in seen.chat.memory.list()] == ["project_deploys_are_frozen.md"]


async def test_what_a_disk_refused_is_sent_by_retry(project: Path) -> None:
    """J1: the screen says that nothing is lost."""
    async with alive(project) as seen:
        transcript = seen.chat.memory.layout.session(seen.chat.host.session.id)
        os.makedirs(transcript)
        seen.press("My important words.\r")
        await seen.shows("/retry tries again")
        assert not seen.chat.host.conversation.messages
        await seen.until(lambda: not seen.chat._begun)
        waiting = _waiting_beside(seen.chat.memory, seen.chat.host.session.id)
        assert json.loads(waiting.read_text("utf-8"))[0] == "My important words.", "or a kill loses them"
        os.rmdir(transcript)
        seen.press("/retry\r")
        await seen.until(lambda: not seen.chat.host.is_waiting)
        messages = [one for one in seen.chat.host.conversation.messages if not one.is_meta]
        assert [one.role for one in messages] == ["user", "assistant"] and messages[0].text == "My important words."
        await seen.until(lambda: not waiting.exists())


async def test_what_was_sent_while_a_turn_ran_is_not_lost_when_one_leaves(provider: Provider, project: Path) -> None:
    """J1: it is said, with what was pasted, and answered another time; what is a command is none of it."""
    with ProviderServer(script(Hang(says("Half of it " * 30), after_events=8))) as server:
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory) as seen:
            seen.press("Tell me a story.\r")
            await seen.shows("Half of it")
            seen.press("One more thing: \x1b[200~" + "log line\n" * 50 + "\x1b[201~\r")
            await seen.shows(": 50 lines]")
            seen.press("/compact\rAnd a last one.\r")
            await seen.until(lambda: seen.chat._entered.qsize() == 3)
        await seen.shows("/retry there")
        assert "This was not done any more: /compact" in "\n".join(seen.drawn.display)
        server.script_again(script(says("All of it.")))
        again, _ = opened(project, provider, server)
        async with host_of(again, session_id=seen.chat.host.session.id) as host:
            assert host.is_waiting and (await host.retry()).text == "All of it."
            said = [one.text for one in host.conversation.messages if one.role == "user" and not one.is_meta]
        assert [text[:14] for text in said] == ["Tell me a stor", "One more thing", "And a last one"]
        assert "log line\\nlog line" in str([one.body for one in server.requests if not is_fork(one.body)][-1])


@pytest.mark.slow("1")  # a closed terminal and a polite end: the worst is always tried
@pytest.mark.parametrize("ending", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_what_was_sent_while_a_turn_ran_is_not_lost_however_the_chat_is_ended(
    project: Path, ending: signal.Signals
) -> None:
    """J1: a terminal that is closed, too; once, and what was pasted is no word of the person."""
    pytest.importorskip("pyte", reason="pyte is not installed here: make setup")
    from tests.chat.in_pty import Pty

    with ProviderServer(script(Hang(says("Half of it " * 30), after_events=8))) as server:
        with Pty(chat_words(server), cwd=project) as terminal:
            terminal.wait_for(READY)
            terminal.say("Tell me a story.")
            terminal.wait_for("Half of it")
            terminal.type("One more thing: ")
            terminal.paste("log line\n" * 50)
            terminal.wait_for(": 50 lines]")
            terminal.keys("Enter")
            terminal.say("/compact")
            terminal.say("And a last one.")
            [waiting] = Path(open_memory(project).layout.project_home).rglob("waiting.jsonl")
            terminal.until(lambda _: "a last one" in waiting.read_text("utf-8"))
            terminal.end_by(ending)
        server.script_again(script(says("All of it.")))
        with Pty(chat_words(server, "--continue"), cwd=project) as terminal:
            terminal.wait_for("This was not done any more: /compact", "The last message has no answer yet")
            assert not waiting.exists()
            terminal.say("/retry")
            terminal.wait_for("All of it.")
            terminal.keys("C-d")
            assert terminal.ended() == 0
        sent = str([one.body for one in server.requests if not is_fork(one.body)][-1])
        assert [sent.count(said) for said in ("Tell me a story.", "One more thing", "And a last one.")] == [1, 1, 1]
        assert "log line\\nlog line" in sent
    [session] = open_memory(project).sessions()
    said = [one for one in open_memory(project).session(session.ref.id).conversation.messages if not one.is_meta]
    assert "log line" not in "".join(one.text for one in said)


def _waiting_beside(memory: MemDir, session_id: str) -> Path:
    return Path(memory.session(session_id).transcript.path.removesuffix(".jsonl"), "waiting.jsonl")


async def test_what_is_sent_before_the_chat_is_ready_is_said_in_its_order(project: Path) -> None:
    """J1: in its order, before what is sent later."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    with drawn(project, memory=memory) as seen:
        for early in ("/review", "sent early"):
            seen.chat._take(early)
        running = asyncio.create_task(seen.chat.run())
        await seen.shows("F2 tasks")
        seen.chat._take("sent later")
        waiting = _waiting_beside(memory, seen.chat.host.session.id)
        await seen.until(lambda: not waiting.exists())
        seen.chat.leave()
        assert await running == 0
        assert [seen.said.index(text) for text in ("sent early", "sent later")] == [0, 1]


async def test_early_words_are_on_disk_while_another_one_is_answered(provider: Provider, project: Path) -> None:
    """J1: from the moment when it is known which conversation they are for."""
    with ProviderServer(script(Hang(says("Half of it " * 30), after_events=8))) as server:
        memory, _ = opened(project, provider, server)
        with drawn(project, memory=memory) as seen:
            for early in ("First of all.", "Sent early."):
                seen.chat._take(early)
            running = asyncio.create_task(seen.chat.run())
            await seen.shows("Half of it")
            seen.chat._take("Sent later.")
            waiting = _waiting_beside(memory, seen.chat.host.session.id).read_text("utf-8")
            assert [json.loads(line)[0] for line in waiting.splitlines()] == ["Sent early.", "Sent later."]
            seen.chat.leave()
            assert await running == 0


async def test_what_waits_behind_a_new_conversation_is_kept_beside_that_one(provider: Provider, project: Path) -> None:
    """J1: and none of it comes back in the old one."""
    with ProviderServer(script(says("Old."), Hang(says("Half of it " * 30), after_events=8))) as server:
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory) as seen:
            old = seen.chat.host.session.id
            for text in ("In the old one.", "/clear", "In the new one.", "Waits for the new one."):
                seen.chat._take(text)
            await seen.shows("Half of it")
            assert not _waiting_beside(memory, old).exists()
            [waiting] = _waiting_beside(memory, seen.chat.host.session.id).read_text("utf-8").splitlines()
            assert json.loads(waiting) == ["Waits for the new one.", {}]


@pytest.mark.parametrize(
    "damaged",
    [
        b"5",
        b'["+", "x", 5]',
        b'["x", null]',
        b"[7, {}]",
        b'["a torn li["and the next", {}]',
        b'["\xff, {}]',
        b"[" * 99_999,
    ],
)
async def test_a_damaged_word_that_waited_costs_only_itself(project: Path, damaged: bytes) -> None:
    """J1: and the conversation opens."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    async with alive(project, memory=memory) as seen:
        seen.chat._take("/remember We deploy on Mondays.")
        waiting = _waiting_beside(memory, seen.chat.host.session.id)
        waiting.parent.mkdir(parents=True, exist_ok=True)
        waiting.write_bytes(b'["one", {}]\n' + damaged + b'\n["two", {"a": 5}]\n')
        await seen.chat.take_waiting()
        assert seen.said == ["one", "two"] and not waiting.exists()
        await seen.shows("This was not done any more: ")
        assert "something went wrong" not in "\n".join(seen.drawn.display)


async def test_what_was_said_when_nothing_was_to_be_learned_is_not_learned_after_a_kill(
    provider: Provider, project: Path
) -> None:
    """J1, S5: it is said all the same."""
    with ProviderServer(script(Hang(says("Half of it " * 30), after_events=8))) as server:
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory, no_learning=True) as seen:
            seen.chat._take("Tell me a story.")
            await seen.shows("Half of it")
            seen.chat._take("We buy Initech on Friday.")
            killed = _waiting_beside(memory, seen.chat.host.session.id).read_bytes()
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory) as seen:
            waiting = _waiting_beside(memory, seen.chat.host.session.id)
            waiting.parent.mkdir(parents=True, exist_ok=True)
            waiting.write_bytes(killed)
            await seen.chat.take_waiting()
            assert [(one.text, one.is_off) for one in seen.chat.host.conversation.messages if not one.is_meta] == [
                ("We buy Initech on Friday.", True)
            ]


@pytest.mark.parametrize("is_left", [True, False])
async def test_memory_that_is_switched_off_behind_a_new_conversation_is_off_in_that_one(
    provider: Provider, project: Path, is_left: bool
) -> None:
    """S5: also where all of that waits for the turn that goes on, or one leaves meanwhile."""
    with ProviderServer(script(Hang(says("Half of it " * 30), after_events=8))) as server:
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory) as seen:
            seen.chat._take("Tell me a story.")
            await seen.shows("Half of it")
            for words in ("/clear", "/memory Off", "We buy Initech on Friday."):
                seen.chat._take(words)
            if not is_left:
                seen.chat.host.stop()
                await seen.until(lambda: not seen.chat._begun and seen.chat._entered.empty())
    said = [one for one in seen.chat.host.conversation.messages if one.role == "user" and not one.is_meta]
    assert [(one.text, one.is_off) for one in said] == [("We buy Initech on Friday.", True)]


async def test_a_paste_that_was_not_written_down_before_a_kill_is_with_its_words(project: Path) -> None:
    """J1: the words stand there already, and come once."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    name = "[pasted text abcdef: 50 lines]"
    async with alive(project, memory=memory) as seen:
        seen.chat.host.keep(f"See {name}")
        waiting = _waiting_beside(memory, seen.chat.host.session.id)
        waiting.parent.mkdir(parents=True, exist_ok=True)
        waiting.write_text(json.dumps([f"See {name}", {name: "log line"}]) + "\n")
        await seen.chat.take_waiting()
        assert not waiting.exists()
        said = [one.text for one in seen.chat.host.conversation.messages]
        assert said.count(f"See {name}") == 1 and sum("log line" in one for one in said) == 1


async def test_what_waits_and_fails_when_a_chat_begins_does_not_end_it(provider: Provider, project: Path) -> None:
    """J1: what was killed just when it was done, such as a deletion, fails the second time."""
    with ProviderServer(script()) as server:
        memory, _ = opened(project, provider, server)
        async with host_of(memory) as host:
            await host.say("Hello.")
            session = host.session.id
        memory, _ = opened(project, provider, server)
        waiting = _waiting_beside(memory, session)
        waiting.parent.mkdir(parents=True, exist_ok=True)
        waiting.write_text('["/forget no-such-memory", {}]\n["And this.", {}]\n')
        with drawn(project, memory=memory) as seen:
            seen.chat.options.resume = session
            running = asyncio.create_task(seen.chat.run())
            await seen.shows("The last message has no answer yet")
            assert "no-such-memory" in "\n".join(seen.drawn.display) and not waiting.exists()
            seen.chat.leave()
            assert await running == 0


async def test_what_waits_while_one_goes_on_with_the_same_conversation_is_said_once(
    provider: Provider, project: Path
) -> None:
    """J1."""
    with ProviderServer(script(says("Hello."), says("As you like."))) as server:
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory) as seen:
            seen.press("Good morning.\r")
            await seen.shows("Hello.")
            for text in (f"/resume {seen.chat.host.session.id}", "Book the room."):
                seen.chat._take(text)
            await seen.shows("As you like.")
        messages = seen.chat.host.conversation.messages
        assert [one.text for one in messages if one.role == "user" and not one.is_meta][1:] == ["Book the room."]


async def test_what_waits_behind_a_clear_is_for_a_new_conversation_also_when_one_leaves(
    provider: Provider, project: Path
) -> None:
    """J1, H2."""
    with ProviderServer(script(Hang(says("Half of it " * 30), after_events=8))) as server:
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory) as seen:
            old = seen.chat.host.session.id
            for text in ("In the old one.", "/clear", "In the new one."):
                seen.chat._take(text)
            await seen.shows("Half of it")
        new = seen.chat.host.session.id
        again, _ = opened(project, provider, server)
        said = {
            name: [one.text for one in again.session(name).conversation.messages if one.role == "user"]
            for name in (old, new)
        }
        assert "In the new one." in said[new] and "In the new one." not in said[old] and "In the old one." in said[old]


async def test_words_whose_turn_has_called_a_tool_are_not_said_again_after_a_kill(
    provider: Provider, project: Path
) -> None:
    """J1: not even where something else was said in between."""
    called = calls(("Glob", {"pattern": "*"}), ids="g")
    with ProviderServer(script(called, Hang(says("Half of it " * 30), after_events=8))) as server:
        memory, _ = opened(project, provider, server)
        async with alive(project, memory=memory) as seen:
            seen.chat._take("Pay Bob and look.")
            await seen.shows("Half of it")
            seen.chat._take("And this.")
            waiting = _waiting_beside(memory, seen.chat.host.session.id)
            killed = waiting.read_bytes()
            seen.chat.host.stop()
            await seen.until(lambda: not waiting.exists())
            waiting.write_bytes(killed)
            await seen.chat.take_waiting()
            assert seen.said.count("Pay Bob and look.") == 1


async def test_what_waits_and_begins_with_a_slash_is_done_said_or_named_when_one_leaves(project: Path) -> None:
    """J1: a command of one's own and a sentence are for the model, and what was to be forgotten is gone."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    memory.add("The staging database listens on port 5433.")
    for home, name in ((memory.environment.home, "note"), (os.path.join(memory.folder, ".memdir"), "theirs")):
        Path(home, "commands").mkdir(parents=True, exist_ok=True)
        Path(home, "commands", f"{name}.md").write_text("Note this: $ARGUMENTS\n", encoding="utf-8")
    async with alive(project, memory=memory) as seen:
        waiting = ("/forget staging", "/forget  --source x", "/note We moved", "/etc is full again", "/theirs y")
        for typed in ("/retry", *waiting):
            seen.chat._entered.put_nowait(typed)
    assert memory.list() == []
    await seen.shows("This was not done any more: /theirs y")
    assert "This was not done any more: /forget  --source x" in "\n".join(seen.drawn.display)
    async with host_of(open_memory(project, flags=QUIET), session_id=seen.chat.host.session.id) as host:
        said = [one.text.strip() for one in host.conversation.messages]
    assert [text for text in said if text.startswith("/")] == ["/note We moved", "/etc is full again"]
    assert "Note this: We moved" in str(said)


async def test_colours_that_come_as_keys_break_nothing(project: Path) -> None:
    """A text that is pasted by a terminal without brackets: its colours look like those of a mouse."""
    async with alive(project) as seen:
        seen.press("half a \x1b[31mthought\x1b[0m, \x1b[1;31mtwo\r")
        await seen.until(lambda: seen.said == ["half a thought, two"])
        seen.press("first\rsecond \x1b[31mred\x1b[0m\r")
        await seen.until(lambda: seen.said[1:] == ["first", "second red"])


async def test_a_command_that_goes_on_when_one_leaves_is_done_or_named(project: Path) -> None:
    """H1: nobody is left to guess whether it was."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    async with alive(project, memory=memory) as seen:
        seen.press("/remember The lift is broken\r")
        await seen.shows("Remembered:")
        seen.press("/undo\r/exit\r")
        await seen.until(lambda: seen.chat._is_leaving)
    assert memory.list() == []
    async with alive(project, memory=memory) as seen:
        with locked(memory.place.lock):
            seen.press("/remember The lift works\r/exit\r")
            await seen.shows("This was not done any more: /remember The lift works")


async def test_what_waits_is_said_or_named_also_where_a_key_breaks_the_chat(project: Path) -> None:
    """J1: whatever ends it."""
    with drawn(project) as seen:

        def breaks(_: object) -> Never:
            raise ValueError("of somebody's")

        seen.chat._session.key_bindings.add("f12")(breaks)  # type: ignore[union-attr]
        seen.press("We use tabs.\r/compact\r\x1b[24~")
        with pytest.raises(ValueError, match="somebody's"):
            await seen.chat.run()
        assert seen.said == ["We use tabs."]
        assert "This was not done any more: /compact" in "\n".join(seen.drawn.display)


async def test_enter_before_the_first_prompt_sends(project: Path) -> None:
    """J1: until then the terminal makes a new line of it."""
    with drawn(project) as seen:
        seen.press("My early words.\nAnd more of them.\n")
        running = asyncio.create_task(seen.chat.run())
        await seen.shows("F2 tasks")
        await seen.until(lambda: seen.said == ["My early words.", "And more of them."])
        seen.press("Two lines,\nlater.\r")
        await seen.until(lambda: seen.said[2:] == ["Two lines,\nlater."])
        seen.chat.leave()
        assert await running == 0


@pytest.mark.parametrize(("goes_on", "status"), [(None, 0), ("", 0), ("monday", 0), ("nosuch", 6), ("busy", 2)])
async def test_what_was_sent_before_the_chat_had_begun_is_not_lost_when_one_leaves(
    project: Path, goes_on: str | None, status: int
) -> None:
    """J1: typed ahead while it loads; in a new conversation where the one that was named cannot be gone on with."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    monday, busy = memory.transcript("monday"), memory.transcript("busy")
    for one in (monday, busy):  # which is open in another window
        one.append_message(user("Good morning."))
    monday.close()
    with drawn(project) as seen:
        seen.chat.options.resume = goes_on
        seen.press("My early words.\r/remember We meet on Tuesdays\r\x04")
        assert await asyncio.wait_for(seen.chat.run(), SECONDS) == status
        await seen.shows("/retry there")
    busy.close()
    assert [one.key for one in memory.list()] == ["project_we_meet_on_tuesdays.md"]
    name = seen.chat.host.session.id
    assert (name == goes_on) is (goes_on == "monday")
    async with host_of(open_memory(project, flags=QUIET), session_id=name) as host:
        said = [one.text for one in host.conversation.messages if one.role == "user" and not one.is_meta]
        assert said[-1] == "My early words." and host.is_waiting


async def test_who_leaves_before_the_chat_has_begun_is_in_one_conversation(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J1: a second one would stand in its place, and nobody would be told how to go on with what was said."""
    loop, held, late = asyncio.get_running_loop(), ExitStack(), 1.0
    monkeypatch.setattr("memdir.chat.terminal.AFTER_PROMPT_SECONDS", late)  # it begins while one leaves
    with drawn(project) as seen:
        held.enter_context(locked(seen.chat.memory.place.lock))
        loop.call_later(2 * late, held.close)  # until then nothing is remembered
        seen.press("My early words.\r/remember We meet on Tuesdays\r\x04")
        assert await asyncio.wait_for(seen.chat.run(), SECONDS) == 0
        assert seen.said == ["My early words."]
        await seen.shows("/retry there")


def test_a_thread_that_hangs_holds_nobody_who_leaves(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """H1, J1: Ctrl-C twice leaves, always; here a package that is never loaded."""
    pytest.importorskip("pyte", reason="pyte is not installed here: make setup")
    from tests.chat.in_pty import Pty

    hung = project.parent / "hung"
    hung.mkdir()
    (hung / "anthropic.py").write_text("import threading\nthreading.Event().wait()\n")
    monkeypatch.setenv("PYTHONPATH", str(hung))
    with ProviderServer() as server, Pty(chat_words(server), cwd=project) as terminal:
        terminal.wait_for(READY)
        terminal.say("My important words.")
        terminal.wait_for("Ctrl-C stops")
        terminal.keys("C-c")
        terminal.wait_for("Ctrl-C again leaves")
        terminal.keys("C-c")
        assert terminal.ended() == 0
        assert "goes on with this conversation" in " ".join(terminal.screen.split())
    assert [one.title for one in open_memory(project).sessions()] == ["My important words."]


async def test_a_turn_that_does_not_end_keeps_nobody_from_leaving(project: Path) -> None:
    """H1: Ctrl-C twice leaves, whatever still runs."""
    ended = asyncio.Event()

    class Deaf(ScriptedModel):
        async def complete(self, *_: object, **__: object) -> Never:
            while not ended.is_set():
                with suppress(asyncio.CancelledError):
                    await ended.wait()
            raise ModelError("ended at last", kind="bad_request")

    memory = open_memory(project, model=Deaf([]), flags={**QUIET, "recall.selector": "local"})
    async with alive(project, memory=memory) as seen:
        seen.press("Hello?\r")
        await seen.shows("silent for")
        seen.press("\x03")
        await seen.shows("Ctrl-C again leaves")
        seen.press("\x03")
        try:
            await seen.shows("goes on with this conversation")
        finally:
            ended.set()


async def test_a_key_takes_back_only_what_the_screen_says_it_does(project: Path) -> None:
    """S14: what was known already was kept by nobody here, and who leaves twice has left."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    memory.add("Deploys are frozen on Fridays.")
    MADE.clear()
    async with alive(project, memory=memory) as seen:
        seen.press("/remember Deploys are frozen on Fridays.\r")
        await seen.shows("Known already: project_deploys_are_frozen_on_fridays.md")
        assert "F5 takes it back" not in "\n".join(seen.drawn.display)
        seen.chat.leave()
        seen.chat.leave()


async def test_a_key_that_is_pressed_twice_takes_back_two_changes(project: Path) -> None:
    """S14."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    async with alive(project, memory=memory) as seen:
        for text in ("Deploys are on Tuesdays", "The lift is broken"):
            seen.press(f"/remember {text}\r")
            await seen.shows(f"Remembered: project_{text.lower().replace(' ', '_')}")
        seen.press(F5 + F5)
        await seen.until(lambda: memory.list() == [])
        await seen.shows("Taken back: remember Deploys are on Tuesdays")


async def test_what_a_person_has_kept_about_themselves_is_kept_for_all_projects(project: Path) -> None:
    """T1: as when they only say it."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    async with alive(project, memory=memory) as seen:
        for text, name in {"I am blind": "user_i_am_blind", "Answer me briefly": "feedback_answer_me_briefly"}.items():
            seen.press(f"/remember {text}\r")
            await seen.shows(f"Remembered for all your projects: {name}.md")
        seen.press("/remember In this repo use tabs\r")
        await seen.shows("Remembered: feedback_in_this_repo_use_tabs.md")
        assert len(memory.list(scope="user")) == 2
        seen.press(F5 + F5)
        await seen.until(lambda: len(memory.list(scope="user")) == 1 and not memory.list())


async def test_who_mistypes_the_name_of_a_memory_is_told_which_may_be_meant(project: Path) -> None:
    """H1: whether it is the project's or their own."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    memory.add("The office is closed on Fridays")
    memory.add("I am left-handed", scope="user")
    async with alive(project, memory=memory) as seen:
        for mistyped, meant in {"ofice": "project_the_office_is", "left-handet": "user_i_am_left_handed"}.items():
            seen.press(f"/forget {mistyped}\r")
            await seen.shows(f"Did you mean {meant}")
        seen.press("/forget zebra\r")
        await seen.shows("✗ there is no memory 'zebra'")
        await seen.shows("/memory lists them, Tab completes")


async def test_a_draft_and_what_is_typed_while_something_is_asked_are_one_afterwards(project: Path) -> None:
    async with alive(project) as seen:
        seen.press("Half a sen")
        await seen.shows("› Half a sen")
        asked = asyncio.create_task(seen.chat.choose("Which one?", ["this", "that"]))
        await seen.shows("Which one?")
        seen.press("tence")
        await seen.shows("› tence")
        seen.press("\x1b")
        assert await asyncio.wait_for(asked, SECONDS) is None
        await seen.shows("› Half a sentence")


@pytest.mark.parametrize("goes_on", ["a sentence", "a list", "a turn"])
async def test_ctrl_c_twice_leaves_whatever_stands_in_the_line_or_is_open(
    provider: Provider, project: Path, goes_on: str
) -> None:
    """H1."""
    with ProviderServer(script(Hang(says("Half of it " * 30), after_events=8))) as server:
        memory, _ = opened(project, provider, server)
        with drawn(project, memory=memory) as seen:
            running = asyncio.create_task(seen.chat.run())
            await seen.shows("F2 tasks")
            if goes_on == "a turn":
                seen.press("Tell me a story.\r")
                await seen.shows("Half of it")
            seen.press(F2 if goes_on == "a list" else "half a sentence")
            await seen.shows("Nothing runs" if goes_on == "a list" else "› half a sentence")
            seen.press("\x03")
            await seen.shows("Ctrl-C again leaves")
            seen.press("\x03")
            assert await asyncio.wait_for(running, SECONDS) == 0


async def test_esc_closes_what_is_asked_also_where_a_command_follows_at_once(project: Path) -> None:
    async with alive(project) as seen:
        asked = asyncio.create_task(seen.chat.choose("Which one?", ["this", "that"]))
        await seen.shows("Which one?")
        seen.press("\x1b/budget")
        assert await asyncio.wait_for(asked, SECONDS) is None
        await seen.shows("› /budget")


async def test_what_tools_told_can_be_opened_as_far_as_it_is_kept_and_within_its_conversation(project: Path) -> None:
    """A chat that goes on all day keeps the last calls, and a new conversation none."""
    async with alive(project) as seen:
        for number in range(1, KEPT_CALLS + 3):
            seen.chat._heard(ChatEvent("result", {"id": "x", "content": f"result {number}.", "is_error": False}))
        assert len(seen.chat.calls) == KEPT_CALLS
        seen.press(f"{WIPE}/open 3\r")
        await seen.shows("  result 3.")
        seen.press("/open 2\r")
        await seen.shows("there is no call 2")
        seen.chat.host.recalled = (str(project / "note.md"),)
        seen.press("/clear\r")
        await seen.shows("A new conversation.")
        seen.press("/open\r")
        await seen.shows("there is no call yet")
        seen.press("/recalled\r")
        await seen.shows("Nothing was recalled")


async def test_what_was_recalled_is_shown_though_one_of_it_was_forgotten_since(project: Path) -> None:
    (project / "note.md").write_text("Deploys are frozen.\n", encoding="utf-8")
    async with alive(project) as seen:
        seen.chat.host.recalled = (str(project / "gone.md"), str(project / "note.md"))
        seen.press("/recalled\r")
        await seen.shows("Deploys are frozen.")


async def test_the_names_of_memories_are_completed(project: Path) -> None:
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    key = memory.add("Deploys are frozen on Fridays.").memory.key
    mine = memory.add("I work from home.", "user", scope="user").memory.key
    async with alive(project, memory=memory) as seen:
        for typed, name in {"/forget deplo": key, "/memory show home": mine, "/memory edit FROZEN": key}.items():
            seen.press(typed)
            await seen.shows(name)
            seen.press("\t")
            await seen.shows(f"› {typed.rpartition(' ')[0]} {name}")
            seen.press("\x15")


async def test_every_conversation_can_be_chosen_however_many_there_are(project: Path) -> None:
    """J3."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    for number in range(12):
        conversation = memory.session(f"day-{number}").conversation
        conversation.add(user(f"Part {number} of it."))
        os.utime(conversation.transcript.path, (number * 86_400, number * 86_400))
    async with alive(project, memory=memory) as seen:
        seen.press("/resume\r")
        await seen.shows("Part 11 of it.  (1 messages, day-11)")
        seen.press("9\r")
        await seen.shows("1970-01-04 ")
        seen.press("2\r")
        await seen.shows("› Part 2 of it.")
        assert seen.chat.host.session.id == "day-2"


async def test_memories_are_browsed_edited_and_purged_and_keys_show_and_take_back_each_of_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1, L2, S14: by the front door, so that the conversation knows what it changed, whatever others change."""
    monkeypatch.setenv("VISUAL", "sed -i s/frozen/open/")
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    kept = memory.add("Deploys are frozen on Fridays.").memory
    memory.add("I work from home.", "user", scope="user")
    with memory.store.changing(Origin("extract", session="monday"), "extract") as change:
        change.write(
            "mirror.md", b"---\nname: Mirror\ndescription: a mirror\ntype: reference\n---\n\nUse evil.example.\n"
        )
    MADE.clear()  # as if others had done so
    async with alive(project, memory=memory) as seen:
        seen.press("/memory\r")
        for words in ("user_i_work_from_home.md", "project_deploys_are_frozen", "mirror.md", "3 in all"):
            await seen.shows(words)
        seen.press("/memory show home\r")
        await seen.shows("type: user")
        seen.press("/memory edit deploys\r")
        await seen.shows(f"Saved: {kept.key}")
        assert "Deploys are open on Fridays." in memory.get("deploys").topic.body
        memory.stores.of("user").record_outside_changes()
        seen.press(F4)
        await seen.shows("+Deploys are open on Fridays.")
        seen.press("/forget --source monday --dry-run\r")
        await seen.shows("project/mirror.md: the whole file")
        seen.press("/forget --source session:monday\r")
        await seen.shows("Remove what came from session monday?")
        seen.press("1\r")
        await seen.shows("Removed: project/mirror.md")
        assert [one.key for one in memory.list()] == [kept.key]
        seen.press(WIPE + F4)
        await seen.shows("-Use evil.example.")
        seen.press(F5)
        await seen.shows("Taken back: purge what came from session monday")
        seen.press(F5)
        await seen.shows(f"Taken back: edit {kept.key}")
        assert "Deploys are frozen on Fridays." in memory.get("deploys").topic.body and memory.get("mirror")
        seen.press(F5)
        await seen.shows("this conversation has changed nothing")


async def test_a_memory_that_cannot_be_saved_is_told_and_its_text_is_not_lost(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "sed -i 's/^type: .*/type: nonsense/'")
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    memory.add("Deploys are frozen on Fridays.")
    async with alive(project, memory=memory) as seen:
        seen.press("/memory edit deploys\r")
        await seen.shows("This was not saved:")
        await seen.shows("  type: nonsense")
        await seen.shows("✗ ")
    assert "nonsense" not in memory.get("deploys").topic.data.decode()


@pytest.mark.parametrize("scope", ["project", "user"])
async def test_a_dream_that_is_typed_is_shown_asked_about_and_taken_back_by_a_key(
    provider: Provider, project: Path, scope: Literal["project", "user"]
) -> None:
    """D5: of the project's memories, and of one's own for all projects."""
    with ProviderServer() as server:
        memory, _ = opened(project, provider, server)
        kept = memory.add("Name branches after their tickett.", scope=scope).memory
        better = kept.topic.data.replace(b"tickett", b"ticket").decode()
        night = [
            calls(("Read", {"file_path": kept.path})),
            calls(("Write", {"file_path": kept.path, "content": better})),
        ]
        steps = [*night, says("Done."), *night, says("Done.")]
        server.add(*script(forks=lambda _: steps.pop(0)))
        async with alive(project, memory=memory) as seen:
            for answer, told in (("2", "No dream: it was declined"), ("1", "Dreamt: 1 file changed")):
                seen.press("/dream\r" if scope == "project" else "/dream user\r")
                await seen.shows("Write this?")
                await seen.shows("+Name branches after their ticket.")
                seen.press(f"{answer}\r")
                await seen.shows(told)
            assert "tickett" not in memory.get("branches", scope=scope).topic.body
            seen.press(F5)
            await seen.shows("Taken back: dream")
        assert "tickett" in memory.get("branches", scope=scope).topic.body


async def test_what_a_provider_s_model_keeps_is_told_shown_taken_back_recalled_and_purged(
    provider: Provider, project: Path
) -> None:
    """H1, X9, R4, L2: by notices, keys and commands, as with the built-in model."""
    facts = {"lift": "The lift is broken until March.", "freeze": "Deploys are frozen, because the auditors are in."}
    with ProviderServer() as server:
        memory, _ = opened(project, provider, server)
        steps = []
        for name, fact in facts.items():
            path = os.path.join(memory.place.root, f"project_{name}.md")
            text = f"---\nname: {fact[:16]}\ndescription: {fact}\ntype: project\n---\n\n{fact}\n"
            steps += [calls(("Write", {"file_path": path, "content": text})), says("Saved.")]
        answers = [says("Noted."), says("Noted."), calls(("Glob", {"pattern": "*"})), says("No.")]
        server.add(*script(*answers, forks=lambda _: steps.pop(0) if steps else says("Nothing to save.")))
        async with alive(project, memory=memory) as seen:
            seen.press(f"{facts['lift']}\r")
            await seen.shows("Memory saved: project_lift.md")
            seen.press(F4)
            await seen.shows("+The lift is broken until March.")
            seen.press(F5)
            await seen.shows("Taken back: extract project_lift.md")
            assert memory.list() == []
            seen.press(f"{WIPE}{facts['freeze']}\r")
            await seen.shows("Memory saved: project_freeze.md")
            said_in = seen.chat.host.session.id
            seen.press(f"{WIPE}/clear\r")
            await seen.shows("A new conversation.")
            seen.press("Why are deploys frozen?\r")
            await seen.shows("recalled project_freeze.md")
            seen.press(WIPE + F3)
            await seen.shows("because the auditors are in")
            seen.press(f"{WIPE}/budget\r")
            await seen.shows("extract")
            seen.press(f"/forget --source {said_in}\r")
            await seen.shows("Remove what came from session")
            seen.press("1\r")
            await seen.shows("Removed: project/project_freeze.md")
            seen.press(f"{WIPE}/remember The depot opens at six\r")
            await seen.shows("Remembered: project_the_depot_opens_at_six.md")
            said_in = seen.chat.host.session.id
            seen.press(f"{WIPE}/forget --source {said_in}\r")
            await seen.shows("Remove what came from session")
            seen.press("1\r")
            await seen.shows("Removed: project/project_the_depot_opens_at_six.md")
            seen.press(f"{WIPE}/forget --source {said_in}\r")
            await seen.shows("Nothing is left in memory of what came from session")
        assert memory.list() == []


async def test_the_model_that_is_chosen_at_the_first_run_answers(
    provider: Provider, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X9, ADR 0059: a key that was found is an offer; kept, it is not asked about again."""
    with ProviderServer(script(says("Good morning, too."))) as server:
        for name, url in (("ANTHROPIC", server.url), ("OPENAI", f"{server.url}/v1")):
            monkeypatch.setenv(f"{name}_API_KEY", KEY)
            monkeypatch.setenv(f"{name}_BASE_URL", url)

        def opened_anew() -> MemDir:
            return open_memory(project, flags={**QUIET, "recall.selector": "local"})

        with drawn(project, memory=opened_anew()) as seen:
            seen.chat._reopen = opened_anew
            running = asyncio.create_task(seen.chat.run())
            await seen.shows("Which model may answer here")
            asked = seen.chat.panel
            assert asked is not None
            at = next(at for at, one in enumerate(asked.choices, 1) if f"{provider.name.partition('-')[0]} with" in one)
            seen.press(f"{at}\r")
            await seen.shows("F2 tasks")
            seen.press("Good morning.\r")
            await seen.shows("Good morning, too.")
            seen.chat.leave()
            assert await running == 0
    async with alive(project, memory=opened_anew()) as seen:
        assert "Which model" not in "\n".join(seen.drawn.display)


async def test_a_conversation_is_left_and_gone_on_with_and_what_it_used_is_told(project: Path) -> None:
    """H2, J3, B2."""
    async with alive(project) as seen:
        seen.press("From now on, release notes go to the docs team first: legal had to recall them.\r")
        await seen.shows("Memory saved: ")
        seen.press("/compact\r")
        await seen.shows("not compacted: all of it is recent and stays word for word")
        seen.press("/budget\r")
        await seen.shows("This conversation: ")
        await seen.shows("extract")
        left = seen.chat.host.session.id
        seen.press("/clear\r")
        await seen.shows("A new conversation.")
        seen.press(f"{WIPE}/resume\r")
        await seen.shows(f"1  {datetime.now().astimezone():%Y-%m-%d }")
        await seen.shows("  From now on, release notes")
        await seen.shows(left)
        seen.press("1\r")
        await seen.shows("› From now on, release notes go to the docs team first")
        assert seen.chat.host.session.id == left
        seen.press(f"{WIPE}/resume\r")
        await seen.shows("There is no other conversation here yet.")
        seen.press("/clear\r")
        await seen.shows("A new conversation.")
        seen.press(WIPE)
        await seen.shows("A new conversation.", gone=True)
        seen.press(f"/resume {left[:6]}\r")
        await seen.shows("› From now on, release notes go to the docs team first")
        assert seen.chat.host.session.id == left


async def test_a_compaction_that_is_typed_is_stopped_by_ctrl_c_and_done_another_time(
    provider: Provider, project: Path
) -> None:
    """N7, H2."""
    with ProviderServer() as server:
        memory, _ = opened(project, provider, server)

        def behind(body: Body) -> Outcome:
            return Hang(says("Never.")) if "[memdir job: compact" in str(body) else says("Nothing to save.")

        server.add(*script(forks=behind))
        async with alive(project, memory=memory) as seen:
            for number in range(6):
                seen.chat.host.conversation.add(user(f"Part {number}. {'text ' * 3000}"))
                seen.chat.host.conversation.add(assistant("word " * 3000))
            before = seen.chat.host.conversation.messages
            seen.press(f"{WIPE}/compact the parts\r")
            await seen.shows("silent for ")
            seen.press("\x03")
            await seen.shows("The conversation was not compacted: you stopped it.")
            assert seen.chat.host.conversation.messages == before
            parts = " ".join(f"Part {number} is about thing{number}." for number in range(300))
            summary = f"## What the user wants\nA walk through the parts.\n## Where things stand\n{parts}\n"
            server.script_again(script(says("Here."), forks=lambda _: says(summary)))
            seen.press("/compact the parts\r")
            await seen.shows("The conversation was compacted: ")
            assert len(seen.chat.host.conversation.messages) < len(before)
    assert "the parts" in str([one.body for one in server.requests if "[memdir job: compact" in str(one.body)][-1])


@pytest.mark.parametrize("no_learning", [False, True])
async def test_what_is_typed_is_kept_for_another_time_unless_nothing_shall_be_learned(
    project: Path, no_learning: bool
) -> None:
    async with alive(project, no_learning=no_learning) as seen:
        seen.press("Which way is north?\r")
        await seen.shows("I found nothing there about that.")
    assert os.path.exists(Path(seen.chat.memory.environment.home, "chat-history")) != no_learning


def test_forty_columns_wide_signs_and_a_resize_break_nothing(chatting: Chatting) -> None:
    wide = "日本語の文章がここにあります。" * 6
    tmux = chatting.will_answer(says(f"{wide}\n\n- 👩‍👩‍👧 family\n- naïve café\n\nThe end of it."), says("Small now."))
    tmux.say("日本語で答えてください")
    tmux.wait_for("The end of it.")
    tmux.until(lambda told: wide in re.sub(r"\s", "", told))  # no sign is lost where a line wraps
    assert "日本語で答えてください" in chatting.sent
    tmux.resize(40, 20)
    try:
        tmux.say("And in a small window?")
        shown = tmux.wait_for("Small now.", chatting.model)
        assert all(len(line) <= 40 for line in shown.splitlines())
        assert f"{chatting.model} │" in shown.rstrip().splitlines()[-1], "one footer, at the bottom"
    finally:
        tmux.resize(90, 30)


def test_ten_thousand_pasted_lines_are_one_word_on_the_screen_and_all_there_for_the_model(chatting: Chatting) -> None:
    """X12: and they are no words of the person."""
    tmux = chatting.will_answer(says("That is long."), says("Short."))
    tmux.type("Look at this: ")
    tmux.paste("".join(f"log line {number}\n" for number in range(10_000)))
    tmux.wait_for(": 10,000 lines]")
    tmux.keys("Enter")
    tmux.wait_for("That is long.")
    assert "log line 0\\n" in chatting.sent and "log line 9999" in chatting.sent
    tmux.paste("two\nlines")
    tmux.wait_for("two", "lines")
    tmux.keys("Enter")
    tmux.wait_for("Short.")
    assert "'two\\nlines'" in chatting.sent and chatting.sent.count("log line 77\\n") == 1
    tmux.keys(
        "Up", "Up", "Up"
    )  # what was pasted is still there when the line is called back, and another one beside it
    tmux.until(
        lambda told: re.search(r"› Look at this: \[pasted text \w+: 10,000 lines\]$", told.rstrip(), re.MULTILINE)
    )
    tmux.paste("other line\n" * 50)
    tmux.wait_for(": 50 lines]")
    tmux.keys("Enter")
    tmux.until(lambda _: chatting.sent.count("log line 77\\n") == 2)
    assert "other line" in chatting.sent
    tmux.wipe()
    tmux.type("/remember ")
    tmux.paste("The depot opens at six.\n" + "It has a ramp.\n" * 40)
    tmux.wait_for("/remember [pasted text")
    tmux.keys("Enter")
    tmux.wait_for("Remembered: ")
    kept = "".join(one.read_text("utf-8") for one in (chatting.project.parent / "home/projects").rglob("*depot*.md"))
    assert "opens at six" in kept and "pasted text" not in kept, "what was pasted, and not its name"


def test_several_lines_completion_and_commands_of_one_s_own(chatting: Chatting) -> None:
    (chatting.project / "src").mkdir()
    (chatting.project / "src/application.py").touch()
    tmux = chatting.will_answer(says("Two lines."), says("Reviewed."), says("A path."))
    tmux.type("first line")
    tmux.keys("M-Enter")
    tmux.type("second line, see @src/app")
    tmux.keys("Tab")
    tmux.wait_for("@src/application.py")
    tmux.keys("Enter")
    tmux.wait_for("Two lines.")
    assert "first line\\nsecond line, see @src/application.py" in chatting.sent
    tmux.say("/review the last commit")
    tmux.wait_for("Reviewed.")
    assert "/review the last commit" in chatting.sent and "Review the last commit with care." in chatting.sent
    tmux.say("/etc/hosts is a file")  # and no command
    tmux.wait_for("A path.")
    tmux.type("/rev")
    tmux.wait_for("look at a change")
    tmux.keys("C-c")


def test_a_command_of_the_repository_is_seen_whole_before_it_is_sent_and_shadows_none(chatting: Chatting) -> None:
    """L3: a stranger's text, which is not the person's, whatever it says."""
    folder = chatting.project / ".memdir/commands"
    folder.mkdir(parents=True)
    long = "\n".join(f"step {number}" for number in range(400))
    (folder / "ship.md").write_text(f"---\ndescription: yours\x1b[2J\n---\nShip it.\n{long}\nLast\x1b[8m words.")
    (folder / "review.md").write_text("Not the person's own.")
    (folder / "help.md").write_text("Not ours.")
    tmux = chatting.will_answer(says("Shipped."), says("Shipped again."), says("Reviewed."))
    before = len(chatting.server.requests)
    tmux.say("/ship it")
    tmux.wait_for("Last words.", "Send this text of the project?")
    assert "came with the project. You did not write it" in tmux.all and tmux.all.count("step 399") == 1
    tmux.keys("Escape")
    tmux.wait_for("Send this text", gone=True)
    assert len(chatting.server.requests) == before
    tmux.say("/ship it")
    tmux.wait_for("Send this text of the project?")
    tmux.keys("1")
    tmux.wait_for("Shipped.")
    assert "> Ship it." in chatting.sent and "came with the project" in chatting.sent
    tmux.wipe()
    tmux.say("/ship it")  # the same text is not asked about twice
    tmux.wait_for("Shipped again.")
    tmux.say("/review x")
    tmux.wait_for("Reviewed.")
    assert "Review x with care." in chatting.sent and "Not the person's own" not in chatting.sent
    tmux.wipe()
    tmux.say("/help")
    tmux.wait_for("show what can be typed", "from the project: yours")


def _forget_sources(tmux: Tmux) -> None:
    """A source is named as in a shell: a name with a blank in quotation marks."""
    for words, told in {
        "https://nobody.example": "'https://nobody.example'",
        'person:"Bob Smith"': "'person:Bob Smith'",
        "person:O'Brien": '"person:O\'Brien"',
    }.items():
        tmux.say(f"/forget --source {words} --dry-run")
        tmux.wait_for(f"no memory ever came from {told}", "F2 tasks")


@in_tmux
def test_without_memory_no_model_is_asked_for_and_a_command_follows_esc(project: Path) -> None:
    """S5: there is no home to keep a choice in. X9: Esc closes what is asked, and the next key is one of its own."""
    with Tmux([chat_words(None)[0], "chat", "--bare"], cwd=project) as tmux:
        tmux.wait_for("memdir chat · builtin", "Memory is off")
        assert "Which model" not in tmux.all
        tmux.keys("Escape")
        tmux.say("/agents")
        tmux.wait_for("There are no sub-agents here")


@pytest.mark.parametrize("is_named", [True, False])
async def test_without_memory_what_was_cleared_is_gone_back_to_and_nothing_of_another_home(
    project: Path, tmp_path: Path, is_named: bool
) -> None:
    """S5, J3: as the screen says."""
    open_memory(project).session("monday").conversation.add(user("Said at home."))
    off = {**QUIET, "model.provider": "builtin", "memoryEnabled": "false"}
    async with alive(project, memory=open_memory(project, flags=off).over(str(tmp_path / "away"))) as seen:
        seen.press("Which way is north?\r")
        await seen.shows("I found nothing there about that.")
        left = seen.chat.host.session.id
        seen.press(f"{WIPE}/clear\r")
        await seen.shows("/resume goes back to it")
        seen.press(f"{WIPE}/resume {left[:6] * is_named}\r")
        if not is_named:
            await seen.shows("1  ")
            assert "Said at home." not in "\n".join(seen.drawn.display)
            seen.press("1\r")
        await seen.shows("› Which way is north?")
        assert seen.chat.host.session.id == left


@pytest.mark.parametrize("ending", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_without_memory_nothing_of_a_conversation_stays_however_it_ends(
    project: Path, monkeypatch: pytest.MonkeyPatch, ending: signal.Signals
) -> None:
    """S5: a terminal that is closed, too; and what a kill left goes with the next one."""
    pytest.importorskip("pyte", reason="pyte is not installed here: make setup")
    from tests.chat.in_pty import Pty

    place = project.parent / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    words = [*chat_words(None), "--bare"]
    with Pty(words, cwd=project) as another, Pty(words, cwd=project) as terminal:
        another.wait_for("Memory is off")
        terminal.wait_for("Memory is off")
        terminal.say("My salary is nobody's business.")
        terminal.until(lambda _: any("my salary" in one.read_text("utf-8").lower() for one in place.rglob("*.jsonl")))
        terminal.end_by(ending)
        assert len(list(place.iterdir())) == 1 + (ending == signal.SIGKILL)
        subprocess.run([*words, "-p", "Hello."], cwd=project, check=True, capture_output=True)
        assert len(list(place.iterdir())) == 1, "the one that goes on"
        another.keys("C-d")
        assert another.ended() == 0 and not list(place.iterdir())


def test_a_chat_without_memory_takes_no_folder_of_a_person_s_own_along(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one that another chat has made and not held yet: both look alike."""
    own = project.parent / "temporary" / "memdir-chat-exported"
    own.mkdir(parents=True)
    (own / "notes.md").write_text("Mine.", encoding="utf-8")
    monkeypatch.setenv("TMPDIR", str(own.parent))
    subprocess.run([*chat_words(None), "--bare", "-p", "Hello."], cwd=project, check=True, capture_output=True)
    assert [path.name for path in own.parent.rglob("*")] == ["memdir-chat-exported", "notes.md"]


@in_tmux
def test_a_terminal_that_cannot_draw_is_told_and_shows_no_prompt_that_never_answers(project: Path) -> None:
    """H1: prompt_toolkit asks for a line there, and nothing else of it is at work."""
    with Tmux(["env", "TERM=dumb", *chat_words(None)], cwd=project) as tmux:
        tmux.wait_for("a chat needs a terminal that can draw", "memdir chat -p", "ended with 2")


@in_tmux
def test_the_width_is_that_of_the_terminal_whatever_the_environment_says(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H1: `make try` sets one for what it prints itself, a shell may export the one that it began with."""
    monkeypatch.setenv("COLUMNS", "200")
    told = " ".join(f"word{number}" for number in range(100, 140))
    with ProviderServer([says(told)]) as server, Tmux(chat_words(server), cwd=project, columns=60) as tmux:
        tmux.wait_for(READY)
        tmux.say("Tell me.")
        shown = tmux.wait_for("word100", "139\n")
        assert set(told.split()) <= set(shown.split()), "no word is cut where the terminal ends"
        tmux.say("/exit")
        tmux.wait_for("ended with 0")


@in_tmux
def test_the_first_run_asks_for_a_model_once_and_memory_at_work_is_seen_and_undone(project: Path) -> None:
    """X9, D5: which model, then what it saves, with diff, undo, recalled and tasks on keys."""
    words = [chat_words(None)[0], "chat"]
    with Tmux(words, cwd=project) as tmux:
        tmux.wait_for("Which model may answer here", "1  the built-in one", "claude-sonnet-5-5 by anthropic")
        tmux.keys("1")
        tmux.wait_for("Kept in", "memdir chat · builtin")
        tmux.say("From now on, release notes go to the docs team first: legal had to recall them.")
        tmux.wait_for("Memory saved: feedback_", "F5 undo")
        tmux.keys("F4")
        tmux.wait_for("+type: feedback")
        tmux.keys("F5")
        tmux.wait_for("Taken back:")
        assert open_memory(project).list() == []
        tmux.say("/remember Deploys are frozen until 2027-03-01, because of the auditors")
        tmux.wait_for("Remembered: project_")
        tmux.say("/clear")
        tmux.wait_for("A new conversation")
        tmux.say("May I deploy on Monday?")
        tmux.wait_for("recalled project_deploys_are_frozen")
        tmux.wipe()
        tmux.keys("F3")
        tmux.wait_for("because of the auditors")
        tmux.keys("F2")
        tmux.wait_for("Nothing runs in the background")
        tmux.keys("Escape")
        tmux.wait_for("Nothing runs in the background", gone=True)
        tmux.say("/btw what about auditors?")
        tmux.wait_for("beside the conversation:")
        _list_agents(tmux, project)
        _ask_about_two_memories(project)
        tmux.wipe()
        tmux.say("/review")
        tmux.wait_for(
            "older: project_port", "port 8080", "newer: project_new_port", "port 9090", "because: one subject"
        )
        tmux.wait_for("Does the newer one replace the older?", "2 to answer", "4  keep both, and never ask again")
        tmux.keys("2")
        tmux.wait_for("One memory now: project_port.md", "No more questions.")  # the other one lost its memory
        tmux.say("/forget deploys")
        tmux.wait_for("Forgotten: project_")
        _forget_sources(tmux)
        tmux.say("/memory off")
        tmux.wait_for("Memory is off in this conversation")
        _mistype(tmux)
        assert tmux.all.count("not a language model") == 1, "in the first of three conversations"
        tmux.say("/exit")
        tmux.wait_for("ended with 0")
    with Tmux(words, cwd=project) as tmux:
        tmux.wait_for("memdir chat · builtin")
        tmux.say("Which way is north?")
        tmux.wait_for("I found nothing there about that.")
        assert "Which model" not in tmux.all and "language model" not in tmux.all


def _mistype(tmux: Tmux) -> None:
    tmux.wipe()
    for typed, told in {"/memory ON": "Memory is on", "/memory Off": "Memory is off"}.items():
        tmux.say(typed)
        tmux.wait_for(told)
    tmux.say("/nonsense")
    tmux.wait_for("there is no command /nonsense")
    tmux.say("/clera")
    tmux.wait_for("there is no command /clera", "Did you mean /clear?")
    tmux.say("/forget --source")
    tmux.wait_for("what to purge is missing")
    for typed in ("/memory of", "/memory on please", "/dream usr"):
        tmux.say(typed)
        tmux.wait_for(f"knows no '{typed.partition(' ')[2]}'")
    for typed, told in {"/btw": "what to ask", "/memory show": "which memory is missing"}.items():
        tmux.say(typed)
        tmux.wait_for(told)


def _list_agents(tmux: Tmux, project: Path) -> None:
    tmux.say("/agents")
    tmux.wait_for("There are no sub-agents here")
    (project / ".memdir/agents").mkdir(parents=True)
    text = "---\nname: reviewer\ndescription: reviews changes\nmemory: projekt\n---\nYou review.\n"
    (project / ".memdir/agents/reviewer.md").write_text(text, encoding="utf-8")
    tmux.say("/clear")
    tmux.wait_for("A new conversation")
    tmux.wipe()
    tmux.say("/agents")
    tmux.wait_for("reviewer", "came with the project", "reviews changes", "there is no memory 'projekt'")


def _ask_about_two_memories(project: Path) -> None:
    memory = open_memory(project)
    said = {"Port": "The service listens on port 8080.", "New port": "The service listens on port 9090 now."}
    older, newer = (memory.add(text, name=name, type="project").memory.key for name, text in said.items())
    third = memory.add("The team meets on Tuesday at ten.", name="Meeting", type="project").memory.key
    words = line_of("replaces", older, newer, "one subject"), line_of("same", newer, third, "no subject")
    assert len(Questions(memory.store, time.time).ask("\n".join(words))) == 2


def test_nothing_that_can_wait_is_loaded_before_the_first_prompt() -> None:
    """The start is measured by `make bench-chat`; this is what keeps it short."""
    code = (
        "import sys, memdir.cli.entry, memdir.cli.context, memdir.chat.command, memdir.chat.terminal\n"
        "late = ('rich', 'anthropic', 'openai', 'memdir.chat.host', 'memdir.session', 'memdir.agent.loop')\n"
        "print([name for name in late if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_in_a_bare_pty_it_is_the_same_screen(provider: Provider, project: Path) -> None:
    """Start, stream, cancel, permission, a small window, wide signs, a large paste, exit: drawn by a reader of escapes,
    where there is no tmux."""
    pytest.importorskip("pyte", reason="pyte is not installed here: make setup")
    from tests.chat.in_pty import Pty

    wide = "日本語の文章がここにあります。" * 6
    answers = (
        Hang(says(" ".join(f"word{number}" for number in range(40))), after_events=12),
        calls(("Bash", {"command": "touch made"})),
        says("It is made."),
        says(f"{wide}\n\nThe end of it."),
        says("That is long."),
    )
    with (
        ProviderServer(script(*answers)) as server,
        Pty(chat_words(server, provider=provider), cwd=project) as terminal,
    ):
        terminal.wait_for(f"memdir chat · {provider.model}", READY)
        terminal.say("Talk.")
        terminal.wait_for("› Talk.", "word3 ", "Ctrl-C stops")
        terminal.keys("C-c")
        terminal.wait_for("Stopped.")
        terminal.say("Make it.")
        shown = terminal.wait_for("  3  always for this command")
        assert "  $ touch made" in shown and not (project / "made").exists()
        terminal.keys("1")
        terminal.wait_for("It is made.", "✓ Bash touch made")
        assert (project / "made").exists() and terminal.all.count("word3 ") == 1
        terminal.resize(40, 20)
        terminal.say("日本語で")
        shown = terminal.wait_for("The end of it.")
        assert all(len(line) <= 40 for line in shown.splitlines())
        terminal.until(lambda told: wide in "".join(told.split()))
        terminal.until(
            lambda told: f"{provider.model} │" in told.rstrip().splitlines()[-1]
        )  # one footer, at the bottom
        terminal.paste("".join(f"log line {number}\n" for number in range(10_000)))
        terminal.wait_for(": 10,000 lines]")
        terminal.keys("Enter")
        terminal.wait_for("That is long.")
        assert "log line 9999" in str([one.body for one in server.requests if not is_fork(one.body)][-1])
        terminal.keys("C-d")
        assert terminal.ended() == 0
        assert "goes on with this conversation" in " ".join(terminal.screen.split())
        assert terminal.all.count("It is made.") == 1, "finished blocks stay"


@pytest.mark.slow("openai-responses")
def test_killed_in_the_middle_of_a_reply_a_person_finds_their_words_and_asks_again(
    provider: Provider, project: Path
) -> None:
    """J1, J3: the terminal is gone with the program; the next one shows where things stood."""
    pytest.importorskip("pyte", reason="pyte is not installed here: make setup")
    from tests.chat.in_pty import Pty

    with ProviderServer(script(Hang(says("Half of it " * 30), after_events=8))) as server:
        with Pty(chat_words(server, provider=provider), cwd=project) as terminal:
            terminal.wait_for(READY)
            terminal.say("Are you there?")
            terminal.wait_for("Half of it")
        server.script_again(script(says("Yes, I am.")))  # the first one was killed on the way out
        [written] = Path(open_memory(project).layout.session("any")).parent.glob("*.jsonl")
        *before, last = written.read_bytes().splitlines(keepends=True)
        written.write_bytes(b"".join((*before, b'{"type":"user\0\0\n', last)))
        with Pty(chat_words(server, "--continue", provider=provider), cwd=project) as terminal:
            terminal.wait_for("› Are you there?", "The last message has no answer yet: /retry asks for it.")
            assert "Its transcript is damaged, and not all is here: 1 damaged line." in terminal.screen
            terminal.say("/retry")
            terminal.wait_for("Yes, I am.")
            terminal.keys("C-d")
            assert terminal.ended() == 0
        asked = [one.body for one in server.requests if not is_fork(one.body)][-1]
        assert str(asked).count("Are you there?") == 1
