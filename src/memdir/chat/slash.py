"""What a person types with a slash in front. Each command is one method, its docstring what `/help` says of it."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from memdir.agent import BackgroundTask, DiskFiles, OwnCommand, diff_of, own_commands
from memdir.chat.command import session_of
from memdir.errors import MemdirError, MemoryNotFound, SeveralFit, UsageError
from memdir.types import DreamReport, DreamTask

if TYPE_CHECKING:
    from memdir import MemDir, Memory
    from memdir.chat.terminal import ChatTerminal
    from memdir.transcript import Message
    from memdir.types import Answer, OpenQuestion, PurgeReport

_WAITING = ("clear", "compact", "resume", "retry")  # for the end of the turn that goes on
_FOR_SCRIPTS = ("remember", "forget", "dream", "review", "agents", "budget", "diff", "undo")  # by the same name
_OTHER_NAMES = {"quit": "exit", "?": "help", "side": "btw", "continue": "resume"}
_REVIEWED: dict[Answer | Literal[""], str] = {
    "same": "the same: make one of them",
    "replace": "the newer one replaces the older",
    "keep": "keep both",
    "never": "keep both, and never ask again",
    "": "later",
}
SCOPES: tuple[Literal["project", "user"], ...] = ("project", "user")  # whose memories a person names here
BUDGET_DAYS = 7


class Slash:
    """The commands of one chat."""

    def __init__(self, chat: ChatTerminal) -> None:
        self._chat, self._host, self._screen, self._memory = chat, chat.host, chat.screen, chat.memory
        self.dreams: list[DreamTask] = []  # that the person asked for and that go on
        self._undoing = asyncio.Lock()
        self._agreed: set[str] = set()  # texts that came with the project and may be sent in this chat

    @property
    def tasks(self) -> list[BackgroundTask]:
        """What a command left running behind the conversation, as it stands now."""
        return [BackgroundTask("dreaming", one.progress, one.kill, one.phase) for one in self.dreams]

    def listed(self) -> list[tuple[str, str]]:
        """Every command with what it does, the person's own behind ours, or in its place where both have one name."""
        ours = {name: (method.__doc__ or "").split("\n")[0] for name, method in _commands().items()}
        return list((ours | {name: one.told for name, one in self._own().items()}).items())

    def _own(self) -> dict[str, OwnCommand]:
        return own_commands(self._memory, (*_commands(), *_OTHER_NAMES))

    def is_beside(self, text: str) -> bool:
        name = _named(text)[0]
        ours = _OTHER_NAMES.get(name, name)
        return text.startswith("/") and ours in _commands() and ours not in _WAITING and name not in self._own()

    async def run(self, text: str) -> None:
        """One command, as it was typed. A file of the person's own goes before a command of ours."""
        name, words = _named(text)
        own = self._own().get(name)
        method = _commands().get(_OTHER_NAMES.get(name, name))
        if own is not None:
            await self._send(own, text, own.text(words))
        elif method is not None:
            await method(self, self._chat.expanded(words))
        else:
            close = difflib.get_close_matches(name, (*_commands(), *self._own()), n=1)
            hint = f"Did you mean /{close[0]}?" if close else "/help lists what there is"
            raise MemoryNotFound(f"there is no command /{name}", remedy=hint)

    def told(self, text: str) -> Sequence[Message] | None:
        """What the model is told with a text: its file with a command of the person's own, nothing with a sentence that
        is none. None where it is for us, or came with the project and nobody agreed to it."""
        name, words = _named(text)
        own = self._own().get(name)
        if own is None:
            return None if _OTHER_NAMES.get(name, name) in _commands() else ()
        said = own.text(words)
        return None if own.is_project and said not in self._agreed else [own.message(said)]

    async def _send(self, own: OwnCommand, typed: str, text: str) -> None:
        """What a project brought is shown whole, and sent when the person says so: they did not write it (L3)."""
        if own.is_project and text not in self._agreed:
            told = f"/{own.name} came with the project. You did not write it. It says:"
            self._screen.opened(told, text)
            if await self._chat.choose("Send this text of the project?", ["yes", "no"]) != 0:
                return
            self._agreed.add(text)
        await self._chat.say(typed, about=[own.message(text)])

    async def do_help(self, _: str) -> None:
        """show what can be typed"""
        keys = (
            ("F2 … F5", "tasks, recalled, diff, undo"),
            ("Alt-Enter", "a new line; so does \\ before Enter"),
            ("@ and Tab", "a file of the project"),
            ("Ctrl-C", "stop the turn; twice: leave"),
        )
        self._screen.table([*((f"/{name}", told) for name, told in self.listed()), ("", ""), *keys])

    async def do_remember(self, words: str) -> None:
        """keep something: /remember TEXT"""
        added = await asyncio.to_thread(self._memory.add, words, scope=None, session=self._host.session.id)
        is_own = not added.memory.path.startswith(self._memory.store.root)
        told = "Remembered{}: {}  (F5 takes it back)" if added.is_new else "Known already{}: {}"
        self._screen.notice(told.format(" for all your projects" * is_own, added.memory.key), style="green")

    async def do_forget(self, words: str) -> None:
        """delete a memory: /forget NAME; what came from a session, a page or a person: /forget --source SOURCE"""
        if words[:9] in ("--source", "--source ", "--source="):  # and no other `=`: an address may hold one
            await self._purge(words[9:].replace('"', "").split())  # around a name with a blank, as in a shell
            return
        scope, one = await asyncio.to_thread(self._found, words)
        key = await asyncio.to_thread(self._memory.forget, one.key, scope=scope)
        self._screen.notice(f"Forgotten: {key}  (F5 takes it back)", style="green")

    def _found(self, name: str) -> tuple[Literal["project", "user"], Memory]:
        """The memory that a person names: of this project, or else of their own."""
        if not name:
            raise MemdirError("which memory is missing", remedy="Name it: /memory lists them, Tab completes")
        near = list[str]()
        for scope in SCOPES:
            try:
                return scope, self._memory.get(name, scope=scope)
            except SeveralFit:
                raise
            except MemoryNotFound as error:
                near.append(error.remedy.partition("`")[0])  # which one may be meant
        raise MemoryNotFound(
            f"there is no memory {name!r}", remedy="".join((*near, "/memory lists them, Tab completes"))
        )

    async def _purge(self, words: Sequence[str]) -> None:
        """Show what came from a source, ask, and take it away; what may stay is asked about file by file (L2)."""
        source = " ".join(word for word in words if word != "--dry-run")
        if not source:
            raise MemdirError("what to purge is missing", remedy="Name a session, a page's address or a teammate")
        told = await asyncio.to_thread(self._memory.purge, source, is_dry=True)
        for one in (*told.files, *told.held):
            stays = f"{one.kept} from elsewhere stay" if one.kept else "the whole file"
            said = "\n".join(one.lines).replace("**", "")
            self._screen.opened(f"{one.name}: {one.held_because or stays}", said)
        for path in told.not_ours:
            self._screen.notice(f"{path} may say it still", style="yellow")
        if not told.files and not told.held:
            self._screen.notice(f"Nothing is left in memory of what came from {told.source}.")
        elif "--dry-run" not in words:
            await self._remove(source, told)

    async def _remove(self, source: str, told: PurgeReport) -> None:
        also = [
            one.name
            for one in told.held
            if await self._chat.choose(f"{one.name}: {one.held_because}. Remove it too?", ["yes", "no"]) == 0
        ]
        if await self._chat.choose(f"Remove what came from {told.source}?", ["yes", "no"]) == 0:
            done = await asyncio.to_thread(self._memory.purge, source, also=also)
            names = ", ".join(one.name for one in done.files) or "nothing that is in memory"
            self._screen.notice(f"Removed: {names}  (F4 diff · F5 undo)", style="green")

    async def do_memory(self, words: str) -> None:
        """browse memories: /memory, /memory show|edit NAME, /memory on|off"""
        what, _, name = words.partition(" ")
        what = what.lower()
        if words.lower() in ("on", "off"):
            is_on = await self._host.session.toggle(is_on=what == "on")
            self._screen.notice(f"Memory is {'on' if is_on else 'off'} in this conversation until you leave it.")
        elif what in ("edit", "show"):
            scope, one = await asyncio.to_thread(self._found, name)
            text = one.topic.data.decode("utf-8", "replace")
            if what == "edit":
                await self._edit(one, scope, text.removesuffix("\n"))
            else:
                self._screen.opened(one.path, text)
        elif what:
            raise MemdirError(f"/memory knows no {words!r}", remedy="/memory, /memory show|edit NAME, /memory on|off")
        else:
            rows = list[Sequence[str]]()
            for scope in SCOPES:
                listed = await asyncio.to_thread(self._memory.list, scope=scope)
                rows += [(scope, str(one.type or "-"), one.key, one.description) for one in listed]
            self._screen.table(rows, headers=("scope", "type", "file", f"{len(rows)} in all"))

    async def _edit(self, one: Memory, scope: str, text: str) -> None:
        """A memory in the person's editor, checked when it is saved; what others changed meanwhile is merged in."""
        from prompt_toolkit.buffer import Buffer
        from prompt_toolkit.document import Document

        draft = Buffer(document=Document(text), tempfile_suffix=".md")
        await draft.open_in_editor()
        if draft.text == text:
            self._screen.notice("Nothing changed.")
            return
        try:
            await asyncio.to_thread(self._memory.update, one, f"{draft.text}\n", scope=scope)
        except MemdirError:
            self._screen.opened("This was not saved:", draft.text)
            raise
        self._screen.notice(f"Saved: {one.key}  (F4 diff · F5 undo)", style="green")

    async def do_dream(self, words: str) -> None:
        """put memories in order, and ask first; your own: /dream user"""
        if words.lower() not in ("", "project", "user"):
            raise MemdirError(f"/dream knows no {words!r}", remedy="/dream, or /dream user for yours of all projects")
        scope: Literal["project", "user"] = "user" if words.lower() == "user" else "project"
        task = DreamTask(0)
        self.dreams.append(task)
        try:
            self._host.dreamt(await self._host.session.dream(task, confirm=self._is_confirmed, scope=scope))
        finally:
            self.dreams.remove(task)

    async def _is_confirmed(self, report: DreamReport) -> bool:
        for draft in report.written:
            self._screen.diff(diff_of(draft.key, draft.before, draft.after))
        return await self._chat.choose("Write this?", ["yes", "no"]) == 0

    async def do_review(self, _: str) -> None:
        """answer what dreams ask: whether two memories say the same, or one replaces the other"""
        left = set[str]()
        while waiting := [one for one in await asyncio.to_thread(self._questions) if one[1].id not in left]:
            scope, one = waiting[0]  # and read again each time: an answer may end other questions
            left.add(one.id)
            for key, title in {one.older: "older", one.newer: "newer"}.items():
                topic = (await asyncio.to_thread(self._memory.get, key, scope=scope)).topic
                self._screen.opened(f"{title}: {key}", f"{topic.name}: {topic.description}\n{topic.body.strip()}")
            self._screen.notice(f"because: {one.evidence}")
            answers = list(_REVIEWED)[2 * (one.kind == "ended") :]  # one alone is neither the same nor replaced
            asked = f"{one.asks}  {len(waiting)} to answer, Esc leaves"
            at = await self._chat.choose(asked, [_REVIEWED[answer] for answer in answers])
            if at is None:
                return
            if answer := answers[at]:
                files = await asyncio.to_thread(self._memory.answer, one.id, answer, scope=scope)
                self._screen.notice(f"One memory now: {files[0]}  (F5 takes it back)" if files else "Nothing changes.")
        self._screen.notice("No more questions." if left else "No questions.")

    def _questions(self) -> list[tuple[str, OpenQuestion]]:
        return [(scope, one) for scope in SCOPES for one in self._memory.questions(scope=scope)]

    async def do_clear(self, _: str) -> None:
        """begin a new conversation; memories stay"""
        await self._host.clear()
        await self._chat.take_waiting()
        self._chat.calls.clear()
        self._screen.notice("A new conversation. The old one is written down: /resume goes back to it.")

    async def do_compact(self, words: str) -> None:
        """put a summary in the place of the conversation: /compact [what to keep]"""
        await self._chat.turn(self._host.compact(words))

    async def do_resume(self, words: str) -> None:
        """go on with another conversation: /resume [ID]"""
        if session_id := await asyncio.to_thread(session_of, self._memory, words) or await self._chat.choose_session():
            before = self._host.session.id
            await self._chat.turn(self._host.resume(session_id))
            if session_id == self._host.session.id:
                if session_id != before:  # what waits in this one is on its way
                    self._chat.calls.clear()
                    await self._chat.take_waiting()
                self._chat.show_last()

    async def do_retry(self, _: str) -> None:
        """ask again for an answer that did not come"""
        if self._host.is_waiting:
            await self._chat.turn(self._host.retry())
        else:
            self._screen.notice("Everything is answered.")

    async def do_btw(self, words: str) -> None:
        """a side question that leaves no trace: /btw QUESTION"""
        if not words:
            raise MemdirError("what to ask is missing", remedy="/btw QUESTION")
        answer = await self._chat.turn(self._host.aside(words))
        if answer is not None:
            self._screen.notice("beside the conversation:", style="dim italic")
            self._screen.reply(answer or "(no answer)")

    async def do_agents(self, _: str) -> None:
        """show the sub-agents that there are"""
        found = self._host.agents.definitions
        if found.agents:
            self._screen.table([(one.name, one.origin, one.description) for one in found.agents.values()])
        else:
            self._screen.notice("There are no sub-agents here: a file in `agents/` of memdir's home defines one.")
        remarks = [f"{one.name}: {remark}" for one in found.agents.values() for remark in one.remarks]
        for told in (*remarks, *(f"{path} is left out: {reason}" for path, reason in found.left_out)):
            self._screen.notice(told, style="yellow")

    async def do_budget(self, _: str) -> None:
        """show what background work used, and this conversation"""
        usage = self._host.usage
        spent = f"{usage.prompt:,} tokens in, {usage.hit_percent:.0f} % of it from the cache; {usage.output:,} out"
        self._screen.notice(f"This conversation: {spent}.", style="")
        used = await asyncio.to_thread(self._memory.models.budget().by_job, days=BUDGET_DAYS)
        rows = [(job, f"{calls:,}", f"{tokens:,}", f"${money:.2f}") for job, (calls, tokens, money) in used.items()]
        self._screen.table(rows, headers=(f"the last {BUDGET_DAYS} days", "calls", "tokens", "money"))
        self._screen.notice("`memdir budget` shows the days and the caps.")

    async def do_tasks(self, _: str) -> None:
        """watch what runs behind the conversation, and stop it"""
        self._chat.watch()

    async def do_recalled(self, _: str) -> None:
        """show what was recalled for the last message"""
        if not self._host.recalled:
            self._screen.notice("Nothing was recalled for the last message.")
        for path in self._host.recalled:
            with suppress(MemoryNotFound):  # it was forgotten since; the others are there
                self._screen.opened(path, DiskFiles().read(path).decode("utf-8", "replace"))

    async def do_open(self, words: str) -> None:
        """show all that a tool told: /open [NUMBER]"""
        calls = self._chat.calls
        at = int(words) if words.isdecimal() else max(calls, default=0)
        if at not in calls:
            raise MemoryNotFound(f"there is no call {words or 'yet'}", remedy="The number stands behind each call")
        self._screen.opened(*calls[at])

    async def do_diff(self, _: str) -> None:
        """show the last change of memories that this conversation made"""
        scope, commit, patch = await asyncio.to_thread(self._host.session.last_change)
        self._screen.notice(f"{commit.subject} ({scope})", style="bold")
        self._screen.diff(patch)

    async def do_undo(self, _: str) -> None:
        """take back the last change of memories that this conversation made"""
        async with self._undoing:  # a key that is pressed twice takes back two
            scope, commit, _ = await asyncio.to_thread(self._host.session.last_change)
            await asyncio.to_thread(self._memory.undo, commit.id, scope=scope)
        self._screen.notice(f"Taken back: {commit.subject}  (`memdir log --scope {scope}` shows it)", style="green")

    async def do_exit(self, _: str) -> None:
        """leave (Ctrl-D)"""
        self._chat.leave()


def _commands() -> dict[str, Callable[[Slash, str], Awaitable[None]]]:
    return {name.removeprefix("do_"): method for name, method in vars(Slash).items() if name.startswith("do_")}


def told_in_script(memory: MemDir, text: str) -> Sequence[Message]:
    """What the model is told with a text of a script: its file with a command of the person's own. UsageError for any
    other command, which would only be said to the model."""
    name, words = _named(text.strip())
    if not re.match(r"/[\w?-]+(\s|$)", text.strip()):
        return ()
    own = own_commands(memory, (*_commands(), *_OTHER_NAMES)).get(name)
    if own is None or own.is_project:
        instead = f"`memdir {name} …`" if name in _FOR_SCRIPTS else "what `memdir --help` lists"
        raise UsageError(f"/{name} is not for scripts", remedy=f"Take {instead}; a sentence begins with another sign")
    return [own.message(own.text(words))]


def _named(text: str) -> tuple[str, str]:
    name, *words = re.split(r"\s", text[1:], maxsplit=1)
    return name, "".join(words).strip()
