"""A chat in a terminal: a prompt at the bottom that stays, finished blocks printed above it into the terminal's own
scrollback, and between them the little that is live: what is being said, what runs, what is asked.

Only prompt_toolkit is loaded before a person can type; host, model and rich come after the first prompt is drawn.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import hashlib
import importlib
import itertools
import json
import os
import re
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from memdir.agent import DiskFiles
from memdir.chat.blocks import Blocks
from memdir.chat.typing_help import InputHistory, TypingHelp
from memdir.errors import MemdirError
from memdir.transcript import Message, printable, user

if TYPE_CHECKING:
    from memdir import MemDir
    from memdir.agent import BackgroundTask, Consent, ForkProgress, Permission
    from memdir.chat.host import ChatEvent, ChatHost
    from memdir.chat.screen import Screen
    from memdir.chat.slash import Slash
    from memdir.types import SessionSummary

Result = TypeVar("Result")
LIVE_LINES = 6  # of what is being said, and of calls; the rest is in the scrollback as soon as it is complete
CHOICE_INDENT = 5  # of what is chosen by a digit: what stands before it
LARGE_PASTE_LINES = 30  # more are put aside under a name: nobody edits them in a prompt
LARGE_PASTE_CHARACTERS = 3_000
TYPING_SECONDS = 0.7  # a key so soon before or after another belongs to what is being typed, and answers no question
ESCAPE_SECONDS = 0.1  # a key later than this after Esc is a key of its own
KEPT_CALLS = 200  # of tools, that can be opened
PASTE_LETTERS = 6  # of a hash: a line may come back on another day, when its name must stand for no other text
KEPT_PASTES = 50  # that can be called back and sent again
DIGITS = "123456789"
LISTED = 8  # conversations to choose from at once, beside a digit for older ones
LEAVE_SECONDS = 2.0  # within which a second Ctrl-C leaves, and in which a turn ends then
SILENT_SECONDS = 3.0  # of a provider, until that is shown
TICK_SECONDS = 0.5
AFTER_PROMPT_SECONDS = 0.05  # what was typed meanwhile is shown first
_GREY = "noreverse fg:ansibrightblack"
_STYLE = Style.from_dict({"bottom-toolbar": _GREY, "live": _GREY, "ask": "bold"})
_ANSWERS: dict[Consent, str] = {
    "once": "yes, once",
    "session": "yes, for this session",
    "always": "always for this command",
    "no": "no",
}
_PASTE = re.compile(r"\[pasted text [\da-f]+: [\d,]+ lines\]")
_BEGINS_ANEW = re.compile(r"\s*/clear\s*")
_LEAVES = re.compile(r"\s*/(clear|resume|continue)\b")  # one conversation for another
_SWITCHES = re.compile(r"/memory\s+(?i:on|off)$")
_DONE_LATE = re.compile(rf"/(remember|forget)\s+(?!\s|--source)|{_SWITCHES.pattern}")  # by who leaves: nothing is asked
_SAID = {"y": "yes", "yep": "yes", "ok": "yes", "okay": "yes", "sure": "yes", "n": "no", "nope": "no"}


@dataclass(frozen=True)
class Panel:
    """What is asked or shown between the scrollback and the prompt, and what a digit does there; None is Esc."""

    lines: Callable[[], Sequence[tuple[str, str]]]
    pick: Callable[[int | None], None]
    choices: Sequence[str] = ()

    def meant(self, typed: str, *, is_sent: bool) -> int | None:
        """What somebody picks who types this: a digit, or sends how a choice begins: of several the first, which is
        the smallest yes."""
        if len(typed) == 1 and typed in DIGITS:
            return int(typed)
        said = typed.strip(" .!").casefold()
        begins = re.compile(rf"{re.escape(_SAID.get(said, said))}\b") if said and is_sent else None
        return next((at for at, one in enumerate(self.choices, 1) if begins and begins.match(one.casefold())), None)


class ChatTerminal:
    """One chat of one person at one terminal."""

    def __init__(self, memory: MemDir, options: argparse.Namespace, reopen: Callable[[], MemDir]) -> None:
        self.memory, self.options, self._reopen = memory, options, reopen
        self.host: ChatHost
        self.commands: Slash
        self.calls: dict[int, tuple[str, str]] = {}  # by number the last calls of tools: in a line, and what it told
        self._called = itertools.count(1)
        self.panel: Panel | None = None
        self._watching: Panel | None = None
        self._watched: dict[ForkProgress, int] = {}  # the numbers of what runs, as long as the list of it is open
        self._blocks = Blocks()
        self._running: dict[str, str] = {}
        self._began = self._last_heard = self._last_typed = self._asked_to_leave = 0.0
        self._unread = 0.0  # when something was asked, or the last key since of who went on typing
        self._draft = Document()  # what was being typed when it was asked
        self._unprinted: list[str] = []
        self._printing: asyncio.Future[None] | None = None
        self._entered: asyncio.Queue[str] = asyncio.Queue()
        self._begun: list[str] = []  # of what was entered, until it is done or written down
        self._waiting = ""  # the file that holds both, too
        self._unheard: set[str] = set()  # of what waited: said when nothing was to be learned
        self._pastes: dict[str, str] = {}  # by the name that stands for it
        self._asking = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._doing: asyncio.Task[None] | None = None  # the turn or command whose turn it is
        self._is_ready = self._is_leaving = self._is_loaded = False
        self._exit_code = self._waited_for = 0  # of the second, turns, side questions and the like that go on
        self._is_drawn_busy = False  # whether the screen says that something runs, whatever has ended since
        self._session = self._prompt_session()

    def _prompt_session(self) -> PromptSession[str]:
        memory, is_kept = self.memory, self.memory.settings.enabled and not self.options.no_learning
        typed = os.path.join(memory.environment.home, "chat-history")
        history: History = InputHistory(typed) if is_kept else InMemoryHistory()
        session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            prompt_continuation="  ",
            history=history,
            completer=TypingHelp(
                memory.folder, lambda: self.commands.listed() if self._is_ready else (), self._memory_names
            ),
            complete_while_typing=Condition(lambda: session.default_buffer.text.startswith("/")),
            bottom_toolbar=self._footer,
            key_bindings=self._keys(),
            style=_STYLE,
        )
        session.app.ttimeoutlen = session.app.timeoutlen = ESCAPE_SECONDS
        session.default_buffer.on_text_changed += self._typed
        return session

    def _typed(self, _: object) -> None:
        self._last_typed = now = time.monotonic()
        self._unread = now if now - self._unread < TYPING_SECONDS else 0.0

    def _memory_names(self) -> Sequence[str]:
        with contextlib.suppress(MemdirError):
            return [header.key for scope in ("project", "user") for header in self.memory.list(scope=scope)]
        return ()

    # The life of a chat

    async def run(self) -> int:
        """Talk until the person leaves."""
        with patch_stdout(raw=True):
            self._session.app.after_render += self._first_render
            try:
                while not self._is_leaving:
                    self._take(await self._session.prompt_async())
            except EOFError:
                pass
            finally:  # also where a key broke it
                await self._end()
        return self._exit_code

    async def run_in_time(self) -> int:
        """The same in a process of its own: who has left waits for no thread that does not end."""
        try:
            return await self.run()
        finally:
            last = threading.Timer(LEAVE_SECONDS, os._exit, (self._exit_code,))
            last.daemon = True
            last.start()

    def _first_render(self, _: object) -> None:
        self._session.app.after_render -= self._first_render
        self._start(self._begin())

    def _start(self, work: Coroutine[Any, Any, None], name: str = "") -> None:
        """Let something run beside the prompt. What goes wrong in it is told, and the chat goes on."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._redraw()
        error = None if task.cancelled() else task.exception()
        if isinstance(error, MemdirError) and hasattr(self, "commands"):
            self.screen.failed(error.message, error.remedy, "")
        elif error is not None:
            inside = "" if isinstance(error, MemdirError) else self.memory.keep_crash(error)
            print(f"memdir: something went wrong inside. {inside}" if inside else f"memdir: {error}")
            if not self._is_ready:
                self._exit_code = getattr(error, "exit_code", 1)
                self.leave()

    async def _begin(self) -> None:
        """Load what a conversation needs, ask what has to be asked once, and begin."""
        await asyncio.sleep(AFTER_PROMPT_SECONDS)  # in a task, which ends with who leaves before
        for name in ("first_run", "host", "screen", "slash"):  # beside the prompt: each takes its time
            await asyncio.to_thread(importlib.import_module, f"memdir.chat.{name}")
        self._is_loaded = True
        await self._choose_model()
        await self._open()
        self._greet()
        self._start(self._tick())
        self._start(self._warm_up())
        while not self._is_leaving:  # one after the other; one that breaks is told, and the next one comes
            self._begun = [await self._entered.get()]
            await self._through(self._do(self._begun[0]))
            self._begun.clear()
            self._note()

    async def _open(self) -> None:
        """The conversation; a new one for who left before one was chosen, or where none can be gone on with."""
        from memdir.chat.command import session_of
        from memdir.chat.host import ChatHost, HostOptions
        from memdir.chat.slash import Slash

        options, session_id = self.options, ""
        if options.resume == "" and not self._is_leaving:
            session_id = await self.choose_session()
        elif not self._exit_code:
            session_id = await asyncio.to_thread(session_of, self.memory, options.resume, is_latest=options.latest)
        chosen = HostOptions.of(options, session_id)
        self.host = ChatHost(self.memory, ask=self.ask, listen=self._heard, options=chosen)
        await self.host.__aenter__()
        self.commands = Slash(self)
        await self.take_waiting()
        self._is_ready = True

    @functools.cached_property
    def screen(self) -> Screen:
        from memdir.chat.screen import Screen

        return Screen(self._print, is_coloured=self.memory.environment.colour is not False)

    async def _through(self, work: Coroutine[Any, Any, None]) -> None:
        self._doing = asyncio.ensure_future(work)
        await asyncio.wait({self._doing})
        self._ended(self._doing)

    async def _warm_up(self) -> None:
        with contextlib.suppress(MemdirError):  # told when somebody says something
            await self.host.model()

    async def _choose_model(self) -> None:
        from memdir.chat.first_run import model_offers

        is_on = self.memory.settings.enabled  # without memory there is no home to keep a choice in (S5)
        if not is_on or not (found := await asyncio.to_thread(model_offers, self.memory)):
            return
        at = await self.choose("Which model may answer here, and learn and dream behind it?", list(found))
        if at is None:
            return  # asked again another time; until then the built-in model answers
        path = await asyncio.to_thread(self.memory.keep_settings, list(found.values())[at])
        self.memory = self._reopen()
        self.screen.notice(f"Kept in {path}; `memdir config set model.provider …` changes it.")

    def _greet(self) -> None:
        count = len(self.host.conversation.messages)
        went_on = f" · {count} messages so far" if count else ""
        self.screen.notice(f"memdir chat · {self.memory.model_name}{went_on} · /help", style="bold")
        if not self.memory.settings.enabled:
            self.screen.notice(f"Memory is off: {self.memory.settings.off_because}.")
        self.show_last()

    def show_last(self) -> None:
        """The end of a conversation that goes on, so that a person knows where they are."""
        said = [one for one in self.host.conversation.messages if one.text and not one.is_meta]
        for message in said[-2:]:
            if message.role == "user":
                self.screen.notice(f"› {message.text[:500]}", style="bold")
            else:
                self.screen.reply(message.text)
        if self.host.conversation.damage.total:
            self.screen.notice(f"Its transcript is damaged, and not all is here: {self.host.conversation.damage}.")
        if self.host.is_waiting:
            self.screen.notice("The last message has no answer yet: /retry asks for it.", style="yellow")

    async def _end(self) -> None:
        beside = {task for task in self._tasks if task.get_name()}  # commands that go on
        for task in self._tasks - beside:
            task.cancel()
        for _ in range(2):  # and where the one that was named cannot be gone on with, a new one
            if not self._is_ready and not self._entered.empty():
                await self._through(self._open())
        if not self._is_ready:
            return
        self.host.stop()
        try:
            if last := beside | ({self._doing} if self._doing else set()):
                await asyncio.wait(last, timeout=LEAVE_SECONDS)
        finally:  # also where the person does not wait
            for task in filter(asyncio.Task.cancel, beside):
                self._not_done(task.get_name())
            self._begun = [self._entered.get_nowait() for _ in range(self._entered.qsize())]
            await self._keep_begun()
        closing = asyncio.ensure_future(self.host.close())
        if not (await asyncio.wait({closing}, timeout=TICK_SECONDS))[0]:
            self.screen.notice("Saving what is worth keeping … (Ctrl-C leaves at once; it is then done next time)")
        await closing
        if self.memory.settings.enabled and self.host.conversation.messages:
            name = self.host.session.id.partition("-")[0]
            retry = "; /retry there has the last message answered" if self.host.is_waiting else ""
            self.screen.notice(f"memdir chat --resume {name} goes on with this conversation{retry}")
        await self._printed()

    async def _keep(self, text: str) -> None:
        """What was sent and waits for its turn: what asks nothing is done, and what is for the model is said all the
        same: `/retry` has it answered another time (J1)."""
        if (about := self._about(text)) is not None:
            self.host.keep(text.strip("\n"), about, is_off=text in self._unheard)
        elif _BEGINS_ANEW.fullmatch(text):
            await self.host.clear()
        elif _DONE_LATE.match(text.strip()):
            await self.commands.run(text.strip())
        else:
            self._not_done(text.strip())

    def _about(self, text: str) -> Sequence[Message] | None:
        """What stands behind a text for the model; None where it is a command for us."""
        about = self.commands.told(text.strip()) if _is_command(text) else ()
        return None if about is None else (*self._pasted_in(text), *about)

    async def _keep_begun(self) -> None:
        self._note()
        while self._begun:
            await self._through(self._keep(self._begun[0]))
            del self._begun[0]
            self._note()

    def _note(self) -> None:
        """Keep on disk, too, what waits for its turn, beside its conversation: a kill loses none of it (J1)."""
        queued = self._queued()
        path, before, lines = self._where_it_waits(), self._waiting, list[str]()
        refused = self.host.unwritten
        for text in (*refused, *(one for one in self._begun if one.strip("\n") not in refused), *queued):
            pasted = {name: body for name, body in self._pastes.items() if name in text}
            is_off = not self.host.session.is_learning or text in self._unheard
            lines.append(json.dumps([text.strip("\n"), pasted, *([True] if is_off else [])]) + "\n")
        with contextlib.suppress(MemdirError, OSError):
            if lines:
                DiskFiles().write(path, "".join(lines).encode())
            self._waiting = path if lines else ""
            for gone in filter(os.path.lexists, {before, path} - {self._waiting}):
                os.unlink(gone)

    def _queued(self) -> list[str]:
        """What was sent and waits for its turn."""
        texts = [self._entered.get_nowait() for _ in range(self._entered.qsize())]
        for text in texts:
            self._entered.put_nowait(text)
        return texts

    def _where_it_waits(self) -> str:
        return os.path.join(self.host.session.transcript.path.removesuffix(".jsonl"), "waiting.jsonl")

    async def take_waiting(self) -> None:
        """What waited in this conversation when it was killed is kept or named, as when one leaves."""
        self._begun.clear()  # what led here
        with contextlib.suppress(MemdirError, OSError):  # there is none
            for line in DiskFiles().read(self._where_it_waits()).splitlines():
                found = None
                with contextlib.suppress(ValueError, RecursionError):
                    found = json.loads(line)
                match found:
                    case [str(text), dict(pasted), *is_off]:
                        self._unheard |= {text} if is_off else set()
                        self._pastes |= {name: body for name, body in pasted.items() if isinstance(body, str)}
                        self._begun.append(text)
                    case _:  # damaged
                        self._not_done(line.decode("utf-8", "replace")[:500])
        said = [one.text for one in self.host.conversation.messages if one.role == "user" and not one.is_meta]
        if self.host.is_waiting and self._begun[:1] == [text for text in said if text][-1:]:
            told = {one.text for one in self.host.conversation.messages}  # killed when it was just written down
            if left := [one for one in self._about(self._begun.pop(0)) or () if one.text not in told]:
                self.host.keep("", left)
        await self._keep_begun()

    def _not_done(self, command: str) -> None:
        self.screen.notice(f"This was not done any more: {command}", style="yellow")

    def leave(self) -> None:
        """End the chat."""
        self._is_leaving = True
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.erase_when_done = True  # no empty prompt is left behind
            self._session.app.exit(exception=EOFError)

    # Turns

    def _take(self, text: str) -> None:
        """What was typed: commands that belong beside the conversation at once, all else in its turn."""
        words, self._last_typed = text.strip(), 0.0  # whoever sent something is not in the middle of typing
        gone = [name for name in _PASTE.findall(text) if name not in self._pastes]
        is_of_next = _SWITCHES.match(words) and any(map(_LEAVES.match, (*self._begun, *self._queued())))
        if gone:
            self.screen.failed(f"{gone[0]} is not here any more", "Call the line back (Up) and paste it again", "")
        elif words and self._is_ready and self.commands.is_beside(words) and not is_of_next:
            self._start(self.commands.run(words), words)
        elif words:
            self._entered.put_nowait(text)
            if self._is_ready:
                self._note()

    async def _do(self, text: str) -> None:
        if _is_command(text):
            await self.commands.run(text.strip())
        else:
            await self.say(text.strip("\n"))

    async def say(self, text: str, about: Sequence[Message] = ()) -> None:
        """One turn with the model; large pastes stand behind the words as what they are."""
        with contextlib.suppress(MemdirError):  # the turn tells it
            self.host.keep(text, (*self._pasted_in(text), *about))
            self._begun.clear()
            self._note()
        await self.turn(self.host.retry())

    def _pasted_in(self, text: str) -> Sequence[Message]:
        from memdir.model import load_prompt

        pasted, prompt = [one for one in self._pastes.items() if one[0] in text], load_prompt("chat/pasted.md")
        return [user(prompt.render(name=name, text=body).strip(), is_meta=True) for name, body in pasted]

    def expanded(self, text: str) -> str:
        """A text with what was pasted in the place of its name."""
        return functools.reduce(lambda said, one: said.replace(*one), self._pastes.items(), text)

    async def turn(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a turn, or what else a person waits for: it can be stopped."""
        if not self._waited_for:
            self._began = self._last_heard = time.monotonic()
        self._waited_for += 1
        try:
            return await work
        finally:
            self._waited_for -= 1
            if not self._waited_for:
                self._finish_block()
                self._running.clear()
            self._redraw()

    def _heard(self, event: ChatEvent) -> None:
        fields: dict[str, Any] = event.fields
        self._last_heard = time.monotonic()
        if event.name == "text":
            for block in self._blocks.take(fields["text"]):
                self.screen.reply(block)
        elif event.name == "tool":
            told = " ".join(filter(None, (fields.get("agent"), fields["tool"])))
            self._running[fields["id"]] = self.screen.tool_line(told, fields["input"])
        elif event.name == "result":
            number = next(self._called)
            self.calls[number] = (self._running.pop(fields["id"], ""), fields["content"])
            self.calls.pop(number - KEPT_CALLS, None)
            self.screen.tool(number, *self.calls[number], is_error=fields["is_error"])
        else:
            self._finish_block()
            self.screen.tell(event.name, fields)
        self._redraw()

    def _finish_block(self) -> None:
        for block in self._blocks.end():
            self.screen.reply(block)

    async def _tick(self) -> None:
        """Keep the footer true while something runs."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            if self._waited_for or self.tasks or self._is_drawn_busy:
                self._redraw()

    @property
    def tasks(self) -> Sequence[BackgroundTask]:
        """What runs behind the conversation."""
        return (*self.host.tasks, *self.commands.tasks) if self._is_ready else ()

    def watch(self) -> None:
        """Open the list of what runs behind the conversation, or close it; a question stays until it is answered."""
        if self.panel is None or self.panel is self._watching:
            self.panel = self._watching = None if self.panel else Panel(self._told_tasks, self._pick_task)
            self._watched.clear()

    def _numbered(self) -> dict[int, BackgroundTask]:
        """What runs, each by a number that it keeps: a digit that is on its way when one ends stops no other."""
        for task in self.tasks:
            self._watched.setdefault(task.progress, len(self._watched) + 1)
        return {self._watched[task.progress]: task for task in self.tasks}

    def _told_tasks(self) -> Sequence[tuple[str, str]]:
        told = [("", f"  {at}  {_in_words(task)}") for at, task in self._numbered().items()]
        head = "Background work: a digit stops it, Esc closes" if told else "Nothing runs in the background (Esc)"
        return [("class:ask", head), *told]

    def _pick_task(self, at: int | None) -> None:
        if at is None:
            self.panel = None
        elif task := self._numbered().get(at):
            task.stop()

    # Questions

    async def choose(self, title: str, choices: Sequence[str]) -> int | None:
        """The choice that is picked by its digit or first words; None for Esc. What was being typed comes back."""
        async with self._asking:
            await self._printed()  # what is asked about is on the screen
            answer: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
            buffer, typed_at = self._session.default_buffer, self._last_typed
            self._draft = buffer.document
            buffer.reset()
            self._last_typed, self._unread = typed_at, time.monotonic()
            lines = [("class:ask", title), *(("", f"  {at}  {one}") for at, one in enumerate(choices, 1))]

            def pick(at: int | None) -> None:
                if (at is None or at <= len(choices)) and not answer.done():
                    answer.set_result(None if at is None else at - 1)

            before, self.panel = self.panel, Panel(lambda: lines, pick, choices)
            self._redraw()
            try:
                return await answer
            finally:
                self.panel = before
                self._join_draft(buffer)
                self._redraw()

    async def ask(self, question: Permission) -> Consent:
        """A permission: what is to be done stands in the scrollback, whole, before it is asked."""
        self._finish_block()
        self.screen.notice(question.title, style="bold yellow")
        if question.rule:
            self.screen.notice(question.rule, style="red")
        detail = self.screen.spelled(question.detail) if question.is_diff else question.detail
        if printable(detail) != detail:
            self.screen.notice("There are signs in it that cannot be seen. They are left out here.", style="red")
        words = dict(_ANSWERS)
        if question.is_diff:
            words["session"] = "yes, all edits here until I leave"
            self.screen.diff(detail)
        elif detail:
            self.screen.command(detail, "$ " if question.use.name == "Bash" else "")
        at = await self.choose(f"{question.title}?", [words[answer] for answer in question.choices])
        answer = "no" if at is None else question.choices[at]
        self.screen.notice(f"  → {words[answer]}")
        return answer

    async def choose_session(self) -> str:
        """Another conversation of this project; empty for none."""
        here = self.host.session.id if self._is_ready else ""
        left = [one for one in await asyncio.to_thread(self.memory.sessions) if one.ref.id != here]
        if not left:
            self.screen.notice("There is no other conversation here yet.")
        while left:
            found, left = left[:LISTED], left[LISTED:]
            older = [f"older ones: {len(left)}"] if left else []
            at = await self.choose("Go on with which conversation?", [*map(_listed, found), *older])
            if at is None or at < len(found):
                return "" if at is None else found[at].ref.id
        return ""

    # What is drawn

    def _print(self, text: str) -> None:
        """Put a text above the prompt, soon; what comes meanwhile goes with it."""
        if not self._unprinted:
            self._printing = asyncio.ensure_future(run_in_terminal(self._print_all))
        self._unprinted.append(text)

    async def _printed(self) -> None:
        while self._unprinted and self._printing:
            await self._printing

    def _print_all(self) -> None:
        output = self._session.app.output
        output.enable_autowrap()
        output.write_raw("".join(self._unprinted))
        output.flush()
        self._unprinted.clear()

    def _redraw(self) -> None:
        self._session.app.invalidate()

    def _message(self) -> StyleAndTextTuples:
        prompt: StyleAndTextTuples = [("bold ansicyan", "› ")]
        if self._session.app.is_done:  # what stays in the scrollback is what was typed
            return prompt
        height, width = self._session.app.output.get_size()
        said = printable(self._blocks.tail(LIVE_LINES * width * 2))
        lines = [("class:live", row) for row in self.screen.rows(said, width)[-LIVE_LINES:]] if said.strip() else []
        running = list(self._running.values())[-LIVE_LINES:]
        lines += [("class:live", self.screen.fitted(f"… {line}", width - 1)) for line in running]
        lines += [
            (style, row)
            for style, text in (self.panel.lines() if self.panel else ())
            for row in self.screen.rows(printable(text).replace("\n", " "), width, 0 if style else CHOICE_INDENT)
        ]
        return [*((style, f"{text}\n") for style, text in lines[2 - height :]), *prompt]  # also what is asked

    def _footer(self) -> StyleAndTextTuples:
        """What runs, first of all; then who answers and how to get help, as far as there is room."""
        if not self._is_ready:
            return [("", "starting …")]
        width = self._session.app.output.get_size().columns
        parts = []
        if self._waited_for:
            now = time.monotonic()
            is_silent = now - self._last_heard > SILENT_SECONDS and not self._running and self.panel is None
            silent = f", silent for {now - self._last_heard:.0f} s" if is_silent else ""
            parts.append(f"{now - self._began:.0f} s{silent} · Ctrl-C stops")
        for task in self.tasks:
            count = len(task.progress.files)
            parts.append(task.name + (f" · {count} file{'s' * (count > 1)}" if count else ""))
        self._is_drawn_busy = bool(parts)
        if self._asked_to_leave and time.monotonic() - self._asked_to_leave < LEAVE_SECONDS:
            parts.append("Ctrl-C again leaves")
        told = " │ ".join((*parts, self.memory.model_name, "F2 tasks", "/help"))
        return [("", self.screen.fitted(told, width - 1))]

    # Keys

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        in_panel = Condition(lambda: self.panel is not None)
        keys.add("enter", eager=True, filter=~Condition(self._is_completing))(self._enter)
        is_loaded = Condition(lambda: self._is_loaded)  # before the first prompt the terminal makes c-j of Enter
        for newline in (("escape", "enter"), ("c-j",)):
            keys.add(*newline, eager=True, filter=is_loaded)(lambda event: event.current_buffer.insert_text("\n"))
        keys.add("escape", "/", eager=True)(self._escaped)
        keys.add(Keys.Vt100MouseEvent, eager=True)(lambda _: None)  # or a colour in what is pasted without brackets
        keys.add("c-c", eager=True)(self._interrupt)
        keys.add(Keys.SIGINT)(self._interrupt)
        keys.add("c-d", filter=Condition(lambda: not self._session.default_buffer.text))(lambda _: self.leave())
        keys.add(Keys.BracketedPaste, eager=True)(self._pasted)
        keys.add("escape", filter=in_panel)(self._escaped)
        for digit in DIGITS:
            keys.add(digit, filter=in_panel)(self._digit)
        for key, command in {"f1": "/help", "f2": "/tasks", "f3": "/recalled", "f4": "/diff", "f5": "/undo"}.items():
            keys.add(key)(lambda _, command=command: self._take(command))
        return keys

    def _is_completing(self) -> bool:
        state = self._session.default_buffer.complete_state
        return state is not None and state.current_completion is not None

    def _enter(self, event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        elif self.panel is None or self.panel.meant(buffer.text, is_sent=True) is None:
            if buffer.text and not _is_command(buffer.text):
                self._join_draft(buffer)
            buffer.validate_and_handle()
        elif time.monotonic() - self._unread >= TYPING_SECONDS:  # until then nobody has read what is asked
            self._picked(self.panel, buffer, is_sent=True)

    def _join_draft(self, buffer: Buffer) -> None:
        """Make one of what was being typed when something was asked, and what was typed since."""
        typed, buffer.document, self._draft = buffer.text, self._draft, Document()
        buffer.insert_text(typed)

    def _escaped(self, event: KeyPressEvent) -> None:
        """Esc closes what is asked, and a command may follow at once."""
        if self.panel is not None:
            self.panel.pick(None)
        event.current_buffer.insert_text(event.data.removeprefix("\x1b"))

    def _digit(self, event: KeyPressEvent) -> None:
        """An answer, unless it stands in the middle of something that is being typed, or at its beginning."""
        is_typing = time.monotonic() - self._last_typed < TYPING_SECONDS
        buffer, panel = event.current_buffer, self.panel
        buffer.insert_text(event.data)
        if not is_typing:
            asyncio.get_running_loop().call_later(TYPING_SECONDS, self._picked, panel, buffer)

    def _picked(self, panel: Panel | None, buffer: Buffer, *, is_sent: bool = False) -> None:
        """Take what was typed for an answer where it is one and nothing else."""
        at = panel.meant(buffer.text, is_sent=is_sent) if panel is not None and panel is self.panel else None
        if panel is not None and at is not None:
            buffer.reset()
            self._last_typed = 0.0  # whoever answered is not in the middle of typing
            panel.pick(at)

    def _interrupt(self, event: KeyPressEvent) -> None:
        """Ctrl-C stops what goes on, closes what is asked or empties the line; twice in a row it leaves."""
        now, is_busy = time.monotonic(), self._is_ready and self._waited_for
        if now - self._asked_to_leave < LEAVE_SECONDS:
            self.leave()
            return
        if is_busy:
            self.host.stop()
        if self.panel is not None:
            self.panel.pick(None)
        elif not is_busy and event.current_buffer.text:
            event.current_buffer.reset()
        self._asked_to_leave = now
        self._redraw()
        asyncio.get_running_loop().call_later(LEAVE_SECONDS, self._redraw)

    def _pasted(self, event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= LARGE_PASTE_LINES and len(text) <= LARGE_PASTE_CHARACTERS:
            event.current_buffer.insert_text(text)
            return
        known = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:PASTE_LETTERS]
        name = f"[pasted text {known}: {lines:,} lines]"
        self._pastes = dict([*(self._pastes | {name: text}).items()][-KEPT_PASTES:])
        event.current_buffer.insert_text(name)


def _is_command(text: str) -> bool:
    return text.strip().startswith("/") and "/" not in text.split(maxsplit=1)[0][1:]  # a path begins a sentence


def _listed(one: SessionSummary) -> str:
    """A conversation to choose: when, what about, how long, and the name that `/resume` takes."""
    last = datetime.fromtimestamp(one.ref.modified).astimezone()
    return f"{last:%Y-%m-%d %H:%M}  {one.title}  ({one.messages} messages, {one.ref.id})"


def _in_words(task: BackgroundTask) -> str:
    turns, files, words = task.progress.turns, len(task.progress.files), task.progress.words[-60:]
    parts = (f"turn {turns}" if turns else "", f"{files} files" if files else "", f"“{words}”" if words else "")
    return " · ".join(filter(None, (task.name, task.phase, *parts)))
