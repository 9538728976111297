"""What a person types with a slash in front. Each command is one method, its docstring what `/help` says of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from memdir.agent import BackgroundTask, DiskFiles
from memdir.chat.own_commands import own_commands
from memdir.chat.permissions import diff_of
from memdir.errors import MemdirError, MemoryNotFound
from memdir.types import DreamReport, DreamTask, NotDreamt

if TYPE_CHECKING:
    from memdir import Commit
    from memdir.chat.terminal import ChatTerminal

# Those that need not wait for the turn that goes on.
_BESIDE = (
    *("help", "remember", "forget", "memory", "dream", "btw", "agents", "budget"),
    *("tasks", "recalled", "open", "diff", "undo", "exit"),
)
_OTHER_NAMES = {"quit": "exit", "?": "help", "side": "btw", "continue": "resume"}
SHOWN_LINES = 12  # of a recalled memory


class Slash:
    """The commands of one chat."""

    def __init__(self, chat: ChatTerminal) -> None:
        self._chat = chat
        self.tasks: list[BackgroundTask] = []  # what a command left running behind the conversation

    def listed(self) -> list[tuple[str, str]]:
        """Every command with what it does, the person's own behind ours."""
        own = {name: (method.__doc__ or "").split("\n")[0] for name, method in _commands().items()}
        theirs = own_commands(self._chat.memory.layout)
        return [*own.items(), *((name, one.told) for name, one in theirs.items() if name not in own)]

    def is_beside(self, text: str) -> bool:
        return text.startswith("/") and _named(text)[0] in _BESIDE

    async def run(self, text: str) -> None:
        """One command, as it was typed."""
        name, words = _named(text)
        method = _commands().get(name)
        if method is not None:
            await method(self, words)
            return
        theirs = own_commands(self._chat.memory.layout).get(name)
        if theirs is None:
            raise MemoryNotFound(f"there is no command /{name}", remedy="/help lists what there is")
        await self._chat.say(text, about=[theirs.message(words)])

    # Ours

    async def do_help(self, _: str) -> None:
        """show what can be typed"""
        keys = (
            ("F2 … F5", "tasks, recalled, diff, undo"),
            ("Alt-Enter", "a new line; so does \\ before Enter"),
            ("@ and Tab", "a file of the project"),
            ("Ctrl-C", "stop the turn; twice: leave"),
        )
        self._chat.screen.table([*((f"/{name}", told) for name, told in self.listed()), ("", ""), *keys])

    async def do_remember(self, words: str) -> None:
        """keep something: /remember TEXT"""
        added = await asyncio.to_thread(self._chat.memory.add, words)
        verb = "Remembered" if added.is_new else "Known already"
        self._chat.screen.notice(f"{verb}: {added.memory.key}  (F5 takes it back)", style="green")

    async def do_forget(self, words: str) -> None:
        """delete a memory: /forget NAME"""
        memory = self._chat.memory
        try:
            key = await asyncio.to_thread(memory.forget, words)
        except MemoryNotFound:
            key = await asyncio.to_thread(lambda: memory.forget(words, scope="user"))
        self._chat.screen.notice(f"Forgotten: {key}  (F5 takes it back)", style="green")

    async def do_memory(self, words: str) -> None:
        """browse memories: /memory, /memory show|edit NAME, /memory on|off"""
        what, _, name = words.partition(" ")
        if what in ("on", "off"):
            is_on = await self._chat.host.toggle_memory(is_on=what == "on")
            self._chat.screen.notice(f"Memory is {'on' if is_on else 'off'} in this conversation.")
        elif what == "edit":
            await self._program("edit", name)
        elif what == "show":
            await self._program("show", name)
        else:
            await self._program("list", "--scope", "all")

    async def do_dream(self, _: str) -> None:
        """put memories in order: shows what it would change and asks"""
        task = DreamTask(0)
        shown = BackgroundTask("dreaming", task.progress, task.kill)
        self.tasks.append(shown)
        try:
            outcome = await self._chat.host.session.dream(task, confirm=self._is_confirmed)
        finally:
            self.tasks.remove(shown)
        if isinstance(outcome, NotDreamt):
            self._chat.screen.notice(f"No dream: {outcome.reason}", style="yellow")
        else:
            self._chat.screen.notice(
                f"Dreamt: {len(outcome.written)} files changed  (F4 diff · F5 undo)", style="green"
            )

    async def _is_confirmed(self, report: DreamReport) -> bool:
        for draft in report.written:
            self._chat.screen.diff(diff_of(draft.key, draft.before, draft.after))
        return await self._chat.choose("Write this?", ["yes", "no"]) == 0

    async def do_clear(self, _: str) -> None:
        """begin a new conversation; memories stay"""
        await self._chat.host.clear()
        self._chat.screen.notice("A new conversation. The old one is written down: /resume goes back to it.")

    async def do_compact(self, words: str) -> None:
        """put a summary in the place of the conversation: /compact [what to keep]"""
        await self._chat.host.compact(words)

    async def do_resume(self, words: str) -> None:
        """go on with another conversation: /resume [ID]"""
        from memdir.transcript.session_list import find_session

        chat = self._chat
        known = [one.ref for one in await asyncio.to_thread(chat.memory.sessions)] if words else []
        session_id = find_session(known, words).id if words else await chat.choose_session()
        if session_id:
            await chat.host.resume(session_id)
            chat.show_last()

    async def do_retry(self, _: str) -> None:
        """ask again for an answer that did not come"""
        if self._chat.host.is_waiting:
            await self._chat.turn(self._chat.host.retry())
        else:
            self._chat.screen.notice("Everything is answered.")

    async def do_btw(self, words: str) -> None:
        """a side question that leaves no trace in the conversation: /btw QUESTION"""
        screen = self._chat.screen
        answer = await self._chat.host.aside(words) if words else ""
        screen.notice("beside the conversation:", style="dim italic")
        screen.reply(answer or "(no answer)")

    async def do_agents(self, _: str) -> None:
        """show the sub-agents that there are"""
        own = [tool.spec for tool in self._chat.host.options.tools]
        if own:
            self._chat.screen.table([(spec.name, spec.description) for spec in own])
        else:
            self._chat.screen.notice("There are no sub-agents here.")

    async def do_budget(self, _: str) -> None:
        """show what background work used, and this conversation"""
        usage = self._chat.host.usage
        cached = f"{usage.hit_percent:.0f} % of it from the cache"
        self._chat.screen.notice(
            f"This conversation: {usage.prompt:,} tokens in, {cached}; {usage.output:,} out.", style=""
        )
        await self._program("budget", "--days", "7")

    async def do_tasks(self, _: str) -> None:
        """watch what runs behind the conversation, and stop it"""
        from memdir.chat.terminal import Panel

        chat = self._chat

        def lines() -> Sequence[tuple[str, str]]:
            told = [("", f"  {at}  {_in_words(task)}") for at, task in enumerate(self._all_tasks(), 1)]
            head = "Background work: a digit stops it, Esc closes" if told else "Nothing runs in the background (Esc)"
            return [("class:ask", head), *told]

        def pick(at: int) -> None:
            running = self._all_tasks()
            if at <= len(running):
                running[at - 1].stop()

        def close() -> None:
            chat.panel = None

        is_open = chat.panel is not None
        chat.panel = None if is_open else Panel(lines, pick, close)

    def _all_tasks(self) -> list[BackgroundTask]:
        return [*self._chat.host.session.tasks, *self.tasks]

    async def do_recalled(self, _: str) -> None:
        """show what was recalled for the last message"""
        chat = self._chat
        if not chat.host.recalled:
            chat.screen.notice("Nothing was recalled for the last message.")
        for path in chat.host.recalled:
            text = DiskFiles().read(path).decode("utf-8", "replace")
            chat.screen.opened(path, "\n".join(text.split("\n")[:SHOWN_LINES]))

    async def do_open(self, words: str) -> None:
        """show all that a tool told: /open [NUMBER]"""
        calls = self._chat.calls
        at = int(words) if words.isdecimal() else len(calls)
        if not 0 < at <= len(calls):
            raise MemoryNotFound(f"there is no call {words or 'yet'}", remedy="The number stands behind each call")
        self._chat.screen.opened(*calls[at - 1])

    async def do_diff(self, _: str) -> None:
        """show the last change of memories"""
        scope, commit = await asyncio.to_thread(self._last_change)
        store = self._chat.memory.store_for(scope)
        self._chat.screen.notice(f"{commit.subject} ({scope})", style="bold")
        self._chat.screen.diff(await asyncio.to_thread(store.history.patch, commit))

    async def do_undo(self, _: str) -> None:
        """take back the last change of memories"""
        scope, _commit = await asyncio.to_thread(self._last_change)
        undone = await asyncio.to_thread(lambda: self._chat.memory.undo(scope=scope))
        self._chat.screen.notice(f"Taken back: {undone.commit.subject}  (`memdir log` shows it)", style="green")

    def _last_change(self) -> tuple[str, Commit]:
        """The newest change of the project's memories, of the person's own or of magic docs."""
        memory = self._chat.memory
        memory.require_enabled()
        found = []
        for scope in ("docs", "project", "user"):
            store = memory.store_for(scope)
            store.record_outside_changes()
            found += [(commit.time, scope, commit) for commit in store.history.log(limit=1)]
        if not found:
            raise MemoryNotFound("nothing has changed yet", remedy="/remember TEXT writes the first memory")
        _, scope, commit = max(found, key=lambda one: one[0])
        return scope, commit

    async def do_exit(self, _: str) -> None:
        """leave (Ctrl-D)"""
        self._chat.leave()

    async def _program(self, *words: str) -> None:
        """A command of the command line, as it is, in this terminal."""
        from prompt_toolkit.application import run_in_terminal

        memory = self._chat.memory
        places = ("--project", memory.layout.work_tree, "--home", memory.environment.home)
        program = (sys.executable, "-m", "memdir.cli.entry", *(word for word in words if word), *places)

        def run() -> None:
            import subprocess

            subprocess.run(program, check=False)

        if not words[-1]:
            raise MemdirError(f"/memory {words[0]} needs the name of a memory", remedy="/memory lists them")
        await run_in_terminal(run, in_executor=True)


def _commands() -> dict[str, Callable[[Slash, str], Awaitable[None]]]:
    return {name.removeprefix("do_"): method for name, method in vars(Slash).items() if name.startswith("do_")}


def _named(text: str) -> tuple[str, str]:
    name, _, words = text[1:].partition(" ")
    return _OTHER_NAMES.get(name, name), words.strip()


def _in_words(task: BackgroundTask) -> str:
    progress = task.progress
    parts = [task.name, task.phase, f"turn {progress.turns}" if progress.turns else ""]
    parts += [
        f"{len(progress.files)} files" if progress.files else "",
        f"“{progress.words[-60:]}”" if progress.words else "",
    ]
    return " · ".join(filter(None, parts))
