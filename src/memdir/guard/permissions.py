"""What the agent of a chat may do unasked, and how a person is asked about the rest.

Reading inside the project, commands that surely only read, and memories are free. A change of a file is shown as a diff
before; a command is shown as it will run; nothing outside the project is touched without a yes. Rules that outlive the
chat are the person's, in memdir's home: a repository has no say.
"""

from __future__ import annotations

import asyncio
import difflib
import glob
import itertools
import os
import re
import shlex
import shutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from memdir.agent import Allow, Deny, ToolContext, change_of, surely_reads
from memdir.agent.bash.shell_words import Refused, Word, read_commands
from memdir.agent.tools.tool import fault_of_arguments, tool_spec
from memdir.disk.atomic import keep_bytes
from memdir.disk.lock import locked
from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import decode, encode
from memdir.disk.safe_path import is_inside
from memdir.errors import UsageError
from memdir.guard.held import HeldGuard, breached, held_guards
from memdir.guard.tool_call import ToolCall
from memdir.store.magic_doc import is_obeyed
from memdir.text.printable import one_line
from memdir.transcript import ToolUse

if TYPE_CHECKING:
    from memdir.memdir import MemDir
    from memdir.session import Session

Consent = Literal["once", "session", "always", "no"]
MAX_ALLOWED_BYTES = 1 << 20  # of the commands that may always run: a few lines
MAX_GLOBBED = 2_000  # names that a pattern may stand for, each looked at
DIFFED_LINES = 1_000  # that are compared each with each, which takes their square: of more, piece by piece
CONTEXT_LINES = 3  # before and behind what changes
# Commands that look through folders, and the options with which they follow the links in them.
_FOLLOWING = {"tree": "-[^-]*l", "diff": "-[^-]*r|--rec", "find": "-[LH]|-follow", "ls": "-[^-]*[LH]|--der"}
_FOLLOWING |= dict.fromkeys(("grep", "egrep", "fgrep"), "-[^-]*R|--der") | dict.fromkeys(("rg", "fd"), "-[^-]*L|--fol")
_FOLLOWING |= {"du": "-[^-]*[LDH]|--der"}
# What a shell reads otherwise than it is read here: quotes that hide letters, patterns that only it knows.
_ONLY_A_SHELL_READS = re.compile(r"\$['\"]|\[\^|\[[^\]]*\[[:.=]|[?*+@!]\(")
READING = ("Read", "Grep", "Glob")
WRITING = ("Write", "Edit")
CHANGED = "what it leads to has changed since the person was asked. Look at it again"
DECLINED = "the person said no. Do not try it another way: go on without, or ask what they would like instead"
NOT_ALLOWED = "not done, since nobody is here to be asked, and it was not allowed beforehand"


@dataclass(frozen=True)
class Permission:
    """A question to the person: what is to be done, shown whole, and the answers that there are."""

    use: ToolUse  # the call that waits for the answer
    title: str  # what it would do, in a line
    detail: str = ""  # the diff or the command
    choices: tuple[Consent, ...] = ("once", "session", "no")  # whatever else is answered means no
    rule: str = ""  # the guard that it goes against, in the person's own words
    change: tuple[str, bytes | None, bytes] | None = None  # a file's name, what it holds, what it would hold
    is_reading: bool = False  # whether it is a command that only reads, which the sandbox sees to

    @property
    def is_diff(self) -> bool:
        """Whether the detail is a diff."""
        return self.use.name in WRITING


Ask = Callable[[Permission], Awaitable[Consent]]


class AllowedCommands:
    """The commands that a person lets an agent run in one project without being asked again, word for word; a file in
    memdir's home, which is theirs to edit. Without a path nothing is allowed, and nothing can be."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __contains__(self, command: object) -> bool:
        return command in self._commands()

    def add(self, command: str) -> None:
        if not self.path:
            return
        with locked(f"{self.path}.lock"):
            if command not in self:
                keep_bytes(self.path, f"{encode({'commands': [*self._commands(), command]})}\n".encode())

    def _commands(self) -> list[str]:
        found = decode(read_if_plain(self.path, MAX_ALLOWED_BYTES) or b"") if self.path else None
        commands = found.get("commands") if isinstance(found, dict) else None
        return [one for one in commands if isinstance(one, str)] if isinstance(commands, list) else []


@dataclass
class Permissions:
    """The gate of a conversation: reading in the project, commands that surely only read, and memories are free, guards
    hold, and the person is asked about all else; without anybody to ask it is refused. `allowed` is what
    `allowed_beforehand` gives, and what they allow until it ends; `free` names tools that ask by themselves; `guest_of`
    tells what a call of these would start that came with the project: a key, the question, all of it shown. The rest
    is for those of sub-agents (`of_agent`)."""

    memory: MemDir
    session: Session
    context: ToolContext  # of the tools whose calls are judged
    ask: Ask | None = None
    allowed: set[str] = field(default_factory=set)
    free: frozenset[str] = frozenset()
    guest_of: Callable[[ToolUse], tuple[str, str, str] | None] = lambda _: None
    memories: Sequence[str] | None = None  # folders that a sub-agent keeps its own in, instead of the conversation's
    in_turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def of_agent(self, name: str, memories: Sequence[str], context: ToolContext) -> Permissions:
        """The same for a sub-agent, whose memory lies elsewhere: the person is told who asks."""
        ask = self.ask

        async def asked(question: Permission) -> Consent:
            return await ask(replace(question, title=f"{name}: {question.title}")) if ask else "no"

        return replace(self, memories=memories, context=context, ask=asked if ask else None)

    async def reading_only(self, call: ToolUse) -> Allow | Deny:
        """The same for a side question: what may be read, and nothing else."""
        if call.name not in READING:
            return Deny(f"{call.name} is not available for a side question: only {', '.join(READING)} are")
        return await self(call)

    async def __call__(self, call: ToolUse) -> Allow | Deny:
        rule = self._breached(call)
        if rule is not None and rule.action == "block":
            return Deny(rule.answer)
        verdict = self._judge(call)
        if isinstance(verdict, Deny) or (rule is None and isinstance(verdict, Allow)):
            return verdict  # whatever is being asked: it waits for no answer
        async with self.in_turn:  # one question at a time; what was answered meanwhile counts
            verdict = self._judge(call)
            if isinstance(verdict, Allow) and rule is not None:
                return await self._asked(Permission(call, f"Use {call.name}", str(dict(call.input))), rule, verdict)
            return await self._asked(verdict, rule, verdict) if isinstance(verdict, Permission) else verdict

    # How things stand now: memory may have been switched off meanwhile, and a store may have followed its project.

    @property
    def _root(self) -> str:
        return self.memory.layout.work_tree

    @property
    def _own(self) -> Sequence[str]:
        """Folders of memories, which are the agent's to read and to write."""
        return [store.root for store in self.memory.stores.learning()] if self.memories is None else self.memories

    @property
    def _notes(self) -> Sequence[str]:
        """What else of memdir's own the conversation may read: its notes, its transcript."""
        layout, name = self.memory.layout, self.session.id
        return (layout.session_folder(name), layout.session(name)) if self.memories is None else ()

    @property
    def _hidden(self) -> Sequence[str]:
        """Folders of memories that are not even read: memory is off (S5)."""
        scopes = () if self.session.is_on else ("project", "user", *self.memory.layout.agent_scopes())
        return [self.memory.places.of(one).root for one in scopes]

    @property
    def _always(self) -> AllowedCommands:
        return AllowedCommands(self.memory.layout.allowed if self.memory.settings.enabled else "")

    def _judge(self, call: ToolUse) -> Allow | Deny | Permission:
        if self._is_hidden(call):
            return Deny("memory is off in this conversation, and its files are not read")
        if call.name in READING:
            return self._judge_reading(call)
        if call.name in WRITING:
            return self._judge_writing(call)
        if call.name == "Bash":
            return self._judge_command(call)
        if call.name in self.free:
            guest = self.guest_of(call)
            return Permission(call, *guest[1:]) if guest and not {"agents", guest[0]} & self.allowed else Allow()
        return Permission(call, f"Use {call.name}", str(dict(call.input)), ("once", "no"))

    def _is_hidden(self, call: ToolUse) -> bool:
        """Whether a call leads to memories that are off: into their folders, or, but for the project's own, into one
        that holds them."""
        command = str(call.input.get("command", "")) if call.name == "Bash" else ""
        named = [self._path(call)] if call.name in READING else []
        if command:
            named = [
                os.path.join(self._root, word.strip("\"'")) for word in re.split(r"[\s=;|&<>()]+", command) if word
            ]
        paths = [os.path.normpath(path) for path in named]
        return any(root in command for root in self._hidden) or any(
            _is_below(path, root) or (_is_below(root, path) and path != self._root and _is_below(path, self._root))
            for path in paths
            for root in self._hidden
        )

    def _judge_reading(self, call: ToolUse) -> Allow | Permission:
        path = self._path(call)
        if any(_is_below(path, root) for root in (self._root, *self._own, *self._notes)):
            return Allow()
        real = os.path.realpath(path)
        link = f"by a link: {path}" if real != os.path.abspath(path) else ""
        question = Permission(call, f"{call.name} outside the project: {real}", link)
        return Allow() if f"read {real}" in self.allowed else question

    def _judge_writing(self, call: ToolUse) -> Allow | Deny | Permission:
        path = self._path(call)
        if "\0" in path:
            return Deny("file_path is no path")
        if any(_is_below(path, root) for root in self._own):
            why = "nothing is kept of this conversation" if self.session.is_on else "memory is off"
            return Allow() if self.session.is_learning else Deny(why)
        change = change_of(call, self.context)
        if change.fault:  # and never an unasked yes: what is at fault now may be none when the tool runs
            return Deny(change.fault)
        if not _is_below(path, self._root):
            real = os.path.realpath(path)  # a repository brings links
            title = f"{call.name} outside the project: {real}"
            return Permission(call, title, choices=("once", "no"), change=(real, change.before, change.after))
        shown = os.path.relpath(os.path.realpath(path), os.path.realpath(self._root))
        is_apart = is_obeyed(path, self._root)
        if "edits" in self.allowed and not is_apart:
            return Allow()
        verb = "Create" if change.before is None else "Change"
        question = Permission(call, f"{verb} {shown}", change=(shown, change.before, change.after))
        return replace(question, choices=("once", "no")) if is_apart else question

    def _judge_command(self, call: ToolUse) -> Allow | Deny | Permission:
        command = str(call.input.get("command", ""))
        fault = call.fault or fault_of_arguments(call.input, tool_spec("Command").input_schema)
        if fault or not command.strip():
            return Deny(fault or "command is empty")
        known = "commands" in self.allowed or f"run {command}" in self.allowed or command in self._always
        is_reading = surely_reads(command, cwd=self._root)
        if known or (is_reading and self._stays_inside(command)):
            return Allow(is_reading)
        if is_reading:
            return Permission(call, "Run a command that may read outside the project", command, is_reading=True)
        always: tuple[Consent, ...] = ("always",) if self.memory.settings.enabled else ()  # else nothing is kept
        return Permission(call, "Run a command", command, ("once", "session", *always, "no"))

    def _stays_inside(self, command: str) -> bool:
        """Whether no word of a command that only reads names a place outside the project. What xargs makes of names
        that another command finds, a link among them, is seen by nobody beforehand."""
        if _ONLY_A_SHELL_READS.search(command):
            return False
        try:
            commands = [one.words for one in read_commands(command)]
        except Refused:
            return False
        if any(words[0].text == "xargs" or _follows_links(words) for words in commands):
            return False
        words = {word for one in commands for word in one}
        if any(word.is_pattern and re.search(r"['\"\\]", word.raw) for word in words):
            return False  # what is quoted within a pattern means something else there
        return not any(self._leads_out(part) for word in words for part in {word.text, *re.split("[=:]", word.text)})

    def _leads_out(self, word: str) -> bool:
        """Whether a word, or one that the shell makes of it, may name a place elsewhere: a repository brings links."""
        if word.startswith("-"):  # a path may stand right behind an option's letter
            values = (os.path.join(self._root, word[at:]) for at in range(2, len(word)))
            return bool(re.search(r"/|\.\.|~", word.partition("=")[0])) or not self._are_inside(values)
        if word.startswith("~") or re.search(r"\{.*(?:,|\.\.)", word):
            return True
        place = os.path.join(self._root, word)
        found = [place]
        if re.search(r"[*?\[]", word):
            pattern = os.path.join(glob.escape(self._root), word)
            found += itertools.islice(glob.iglob(pattern, include_hidden=True), MAX_GLOBBED)
        return len(found) > MAX_GLOBBED or not self._are_inside(found)

    def _are_inside(self, places: Iterable[str]) -> bool:
        return all(_is_below(one, self._root) for one in places)

    async def _asked(self, question: Permission, rule: HeldGuard | None, judged: Allow | Permission) -> Allow | Deny:
        if self.ask is None:
            return Deny(f"{one_line(question.title)}: {NOT_ALLOWED} ({self._allowing(question)})")
        question = replace(question, title=one_line(question.title))  # a name of a file may hold anything
        if question.change:
            name, before, after = question.change
            diff = await asyncio.to_thread(diff_of, name, before, after)
            unseen = "The file would be empty." if before is None else "Nothing in it would change."
            question = replace(question, detail=diff or unseen)
        if rule is not None:
            question = replace(question, choices=("once", "no"), rule=rule.answer)
        answer = await self.ask(question)
        if answer not in question.choices or answer == "no":
            return Deny(DECLINED)
        if self._judge(question.use) != judged:  # a file or a link was put in the place of what the person saw
            return Deny(CHANGED)
        if answer == "session":
            self.allowed.add(self._key(question.use))
        elif answer == "always":
            self._always.add(str(question.use.input.get("command", "")))
        return Allow(judged.is_reading)

    def _key(self, use: ToolUse) -> str:
        """What a yes for this session covers: edits in the project, one command, one place to read."""
        if use.name in WRITING:
            return "edits"
        if use.name in self.free and (guest := self.guest_of(use)):
            return guest[0]
        if use.name == "Bash":
            return f"run {use.input.get('command', '')}"
        return f"read {os.path.realpath(self._path(use))}"

    def _allowing(self, question: Permission) -> str:
        """What a script says to have it done."""
        kind = self._key(question.use)
        if "session" not in question.choices or kind.startswith("read "):
            return "no `--allow` covers it"
        command = shlex.quote(kind[4:]) if kind.startswith("run ") else ""
        return f"`--allow {command or ('edits' if kind == 'edits' else 'agents')}`"

    def _path(self, call: ToolUse) -> str:
        """The file or folder that a call names; a pattern of Glob may name its own."""
        name, default = ("path", ".") if call.name in ("Grep", "Glob") else ("file_path", "")
        named = str(call.input.get(name) or default)
        pattern = str(call.input.get("pattern", "")) if call.name == "Glob" else ""
        fixed = re.split(r"[*?\[{]", pattern)[0] if pattern.startswith("/") else ""
        return os.path.join(self._root, os.path.dirname(fixed) if fixed else named)

    def _breached(self, call: ToolUse) -> HeldGuard | None:
        guards = held_guards(self.memory) if self.memory.settings.enabled else ()
        found = breached(guards, ToolCall(call.name, dict(call.input), root=self._root)) if guards else ()
        return found[0] if found else None


def _follows_links(words: Sequence[Word]) -> bool:
    """Whether a command that looks through folders is told to follow the links in them."""
    following = _FOLLOWING.get(words[0].text, "$.")  # else never
    return any(re.match(following, word.text) for word in words[1:])


def allowed_beforehand(words: Sequence[str]) -> set[str]:
    """What `--allow` says: `edits` in the project, `commands` of any kind, `agents` that came with the project, or one
    command as it stands."""
    kinds = ("edits", "commands", "agents")
    for word in words:
        close = difflib.get_close_matches(word, kinds, n=1, cutoff=0.8)
        if close and word not in kinds and not shutil.which(word):
            raise UsageError(f"--allow {word} allows nothing", remedy=f"Did you mean {close[0]}?")
    return {word if word in kinds else f"run {word}" for word in words}


def diff_of(name: str, before: bytes | None, after: bytes | None) -> str:
    """A change as a unified diff. Bytes that are no text are told apart, and shown as `\\xe9`."""
    name, old, new = one_line(name), _lines_of(before or b""), _lines_of(after or b"")
    head = _count_alike(old, new)
    tail = _count_alike(old[head:][::-1], new[head:][::-1])
    old, new = (lines[: len(lines) - tail + CONTEXT_LINES] for lines in (old, new))
    pieces = range(max(0, head - CONTEXT_LINES), max(len(old), len(new)), DIFFED_LINES)
    told = [line for at in pieces for line in _hunks(old, new, at)]
    text = "\n".join((f"--- a/{name}", f"+++ b/{name}", *told)) if told else ""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _lines_of(data: bytes) -> list[str]:
    """The lines of a file, which no other sign ends; the last one says that nothing ends it."""
    *lines, last = data.decode("utf-8", "surrogateescape").split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _count_alike(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    return next(
        (at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new))
    )


def _hunks(old: Sequence[str], new: Sequence[str], at: int) -> list[str]:
    """What changes in the piece of two files that begins here."""
    piece, starts = slice(at, at + DIFFED_LINES), {"-": min(at, len(old)), "+": min(at, len(new))}
    lines = list(difflib.unified_diff(old[piece], new[piece], n=CONTEXT_LINES, lineterm=""))[2:]

    def placed(found: re.Match[str]) -> str:
        return f"{found[1]}{int(found[2]) + starts[found[1]]}"

    return [re.sub(r"([-+])(\d+)", placed, line) if line.startswith("@@") else line for line in lines]


def _is_below(path: str, root: str) -> bool:
    """Whether a path, links resolved, lies below a folder or is it."""
    return "\0" not in path and (is_inside(path, root) or os.path.realpath(path) == os.path.realpath(root))
