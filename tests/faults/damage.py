"""A home with every file of ours in it, and what can happen to one of them: a bad disk, a clumsy copy, a stranger."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memdir.cli.entry import main
from memdir.disk import git
from memdir.disk.git import object_id
from memdir.hooks.work_queue import WorkQueue
from memdir.layout import Layout
from memdir.memdir import open_memory
from memdir.model.budget import Ledger, Spent
from memdir.model.model import Usage
from memdir.remember.session_state import SessionState
from memdir.settings import Environment
from memdir.store.history import Origin
from memdir.store.journal import Journal, Operation, write_journal
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import user
from tests.hooks.agents import Agent

from .homes import Files, files_of

PATIENCE_SECONDS = 20  # a command that takes longer waits for somebody who never comes
_HEX = re.compile(r"[0-9a-f]{40}|[0-9a-f]{2}/[0-9a-f]{38}")  # how git names objects and packs
CUT_SHORT = "cut_short.md"
CUT_SHORT_TEXT = b"---\nname: Cut short\ndescription: a change that was cut short\n---\n\nText\n"
LEARNED = "We decided to use PostgreSQL 17 for the invoices because of the audit rules."
TEXTS = (
    "The staging database is rebuilt every night at two",
    "Never mock the database in integration tests",
    "The dashboard of the billing service is at https://example.invalid/d/7",
    "I have run databases for ten years",
    "Releases are frozen until 2026-12-01 because of the auditors",
)


@dataclass(frozen=True)
class Told:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


class DamagedHome:
    """A home of its own, lived in, to be damaged and then used from the command line in this process."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.home = os.path.join(folder, "home")
        self.project = os.path.join(folder, "project")
        self.layout = Layout(self.home, self.project)
        self.state = Path(f"{self.layout.default_memory}.state")
        self.history = self.state / "history.git"

    def copy_to(self, folder: str) -> DamagedHome:
        """Another one, at the same distance from its project, so that every command means the same."""
        shutil.copytree(self.folder, folder, symlinks=True)
        other = DamagedHome(folder)
        if other.layout.slug != self.layout.slug:
            os.rename(other.layout.projects + "/" + self.layout.slug, other.layout.project_home)
        return other

    @property
    def memories(self) -> Files:
        """What is remembered, but for the change that was cut short: that may come at any time."""
        files = files_of(self.layout.default_memory)
        files.pop(CUT_SHORT, None)
        return files

    def cut_short(self, *, waits: bool) -> None:
        """A change set that was killed, or one that is complete and waits for the history."""
        journal = Journal(Origin("cli").message("cut short"), [Operation(CUT_SHORT, None, CUT_SHORT_TEXT)])
        path = self.state / ("waiting/000001" if waits else "journal")
        path.parent.mkdir(exist_ok=True)
        write_journal(str(path), journal)
        if waits:
            Path(self.layout.default_memory, CUT_SHORT).write_bytes(CUT_SHORT_TEXT)

    def tell(self, *words: str) -> Told:
        """Run a command; a Timeout when it hangs."""
        out, err = io.StringIO(), io.StringIO()
        arguments = [*words, "--home", self.home, "--project", self.project]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _limited(" ".join(words)):
            try:
                code = main(arguments)
            except SystemExit as left:  # argparse leaves this way
                code = left.code if isinstance(left.code, int) else 1
        return Told(code, out.getvalue(), err.getvalue())

    @property
    def agent(self) -> Agent:
        """A coding agent that is at work in the project."""
        environment = {**os.environ, "HOME": self.folder, "MEMDIR_HOME": self.home, "MEMDIR_NO_DAEMON": "1"}
        command = os.path.join(os.path.dirname(sys.executable), "memdir")
        return Agent("claude", Path(self.folder, "agents"), Path(self.project), command, environment=environment)

    def call_hook(self, event: str) -> str:
        """Call a hook as the agent does, or do the work that one starts; gives what it has to tell of a crash."""
        log = Path(self.layout.logs, "crash.log")
        if event == "--work":
            words = [self.agent.command, "hook", event, self.project]
            with _limited("the worker"), subprocess.Popen(words, env=self.agent.environment) as process:
                try:
                    process.wait()
                except AssertionError:
                    process.kill()
                    raise
        else:
            self.agent.hook(event, prompt="When is the staging database rebuilt?")
        told = log.read_text().strip() if log.exists() else ""
        return "" if told.rpartition("\n")[2].startswith("memdir.errors.") else told  # those say what is wrong

    @property
    def has_learned(self) -> bool:
        folders = (self.layout.default_memory, self.layout.user_memory.root)
        return any(b"PostgreSQL 17" in data for folder in folders for data in files_of(folder).values())

    @property
    def has_to_learn(self) -> bool:
        return bool(WorkQueue(self.layout).waiting())

    def files(self) -> list[str]:
        """Every file of ours below the home, memories left out: those are the person's."""
        found = []
        theirs = (self.layout.default_memory, self.layout.user_memory.root)
        for folder, folders, names in os.walk(self.home):
            folders[:] = [name for name in folders if os.path.join(folder, name) not in theirs]
            found += [os.path.join(folder, name) for name in names]
        lock = os.path.join(self.layout.default_memory, ".consolidate-lock")
        return sorted([*found, *([lock] if os.path.exists(lock) else [])])

    def any_file(self, dice: random.Random) -> str:
        """One of them: every kind as likely as another, however many there are of it."""
        kinds: dict[str, list[str]] = {}
        for path in self.files():
            kinds.setdefault(_HEX.sub("x", os.path.relpath(path, self.home)), []).append(path)
        return dice.choice(kinds[dice.choice(sorted(kinds))])

    def held(self, data: bytes) -> bool:
        """Whether a memory is on disk, or in a history, also one that was set aside."""
        if data in self.memories.values() or data in files_of(self.layout.user_memory.root).values():
            return True
        states = (self.state, Path(self.layout.user_memory.state))
        folders = [path for state in states for path in state.glob("history.git*") if path.is_dir()]
        return any(read_from(folder, object_id("blob", data)) == data for folder in folders)


def live_in(folder: str) -> DamagedHome:
    """Some weeks of use: changes, an undo, a pack, recalls, settings, money spent, a session, a dream."""
    home = DamagedHome(folder)
    os.makedirs(home.project)
    for text in TEXTS:
        home.tell("remember", text)
    home.tell("remember", "Something that is taken back")
    home.tell("undo")
    home.tell("forget", "project_i_have_run_databases_for_ten_years.md")
    home.tell("restore", "project_i_have_run_databases_for_ten_years.md")
    _pack(home)
    home.tell("remember", "A rule that came after the pack")
    home.tell("recall", "rebuild the staging database")
    home.tell("recall", "--pin", "rebuild the staging database")
    home.tell("remember", "--scope", "user", "Answer in short sentences")
    Path(home.layout.user_settings).write_text('{"eventLog": true}\n')
    Path(home.layout.local_settings).write_text('{"dreamEnabled": true}\n')
    Path(home.layout.prices).write_text('{"some-model": {"input": 1.0, "output": 2.0}}\n')
    _converse(home)
    home.tell("dream", "--yes")
    home.tell("budget")
    _attend(home)
    return home


def _attend(home: DamagedHome) -> None:
    """A turn of a coding agent that waits to be learned from, and a memory that its user is to be told of."""
    home.agent.hook("prompt", prompt="hello")
    home.agent.say(LEARNED)
    queue = WorkQueue(home.layout)
    queue.add(home.agent.session)
    queue.tell(home.agent.session, ["project_told.md"])


def _converse(home: DamagedHome) -> None:
    environment = Environment({"MEMDIR_HOME": home.home, "HOME": home.folder})
    memory = open_memory(home.project, environment=environment)
    talk = Conversation.resume(memory.transcript("one"))
    talk.add(user("hello"))
    SessionState.load("one", memory.layout).move_cursor(talk.messages[-1].id)
    Ledger(memory.layout.ledger).add(Spent(1.0, "dream", memory.layout.slug, "some-model", Usage(), 0.01))


def _pack(home: DamagedHome) -> None:
    history = git.Git(str(home.history))
    history.pack(history.head())


# What can happen to a file. Each gets its path and the dice.
Happening = Callable[[str, random.Random], None]


def _flip(path: str, dice: random.Random) -> None:
    data = bytearray(Path(path).read_bytes() or b"\0")
    for _ in range(dice.choice((1, 1, 8))):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    _write(path, bytes(data))


def _truncate(path: str, dice: random.Random) -> None:
    data = Path(path).read_bytes()
    _write(path, data[: dice.randrange(len(data) or 1)])


def _empty(path: str, dice: random.Random) -> None:
    _write(path, b"")


def _zero(path: str, dice: random.Random) -> None:
    _write(path, bytes(len(Path(path).read_bytes()) or 1))


def _garble(path: str, dice: random.Random) -> None:
    _write(path, dice.randbytes(dice.choice((1, 41, 4096))))


def _delete(path: str, dice: random.Random) -> None:
    os.unlink(path)


def _delete_folder(path: str, dice: random.Random) -> None:
    shutil.rmtree(os.path.dirname(path)) if ".git" in path else os.unlink(path)


def _make_folder(path: str, dice: random.Random) -> None:
    os.unlink(path)
    os.mkdir(path)


def _make_pipe(path: str, dice: random.Random) -> None:
    os.unlink(path)
    os.mkfifo(path)


def _make_link(path: str, dice: random.Random) -> None:
    os.unlink(path)
    os.symlink(dice.choice(("/etc/passwd", "/dev/zero", "/nowhere", path)), path)


def _make_huge(path: str, dice: random.Random) -> None:
    _write(path, b"")
    os.truncate(path, 3 << 30)


def _close(path: str, dice: random.Random) -> None:
    os.chmod(path, 0)


def _write(path: str, data: bytes) -> None:
    os.chmod(path, 0o600)
    Path(path).write_bytes(data)


HAPPENINGS: dict[str, Happening] = {
    "flip": _flip,
    "truncate": _truncate,
    "empty": _empty,
    "zero": _zero,
    "garble": _garble,
    "delete": _delete,
    "delete folder": _delete_folder,
    "folder": _make_folder,
    "pipe": _make_pipe,
    "link": _make_link,
    "huge": _make_huge,
    "close": _close,
}


def read_from(history: Path, name: str) -> bytes:
    """What an object of a repository, perhaps a damaged one, holds; nothing when it cannot be read."""
    own_file = history / "objects" / name[:2] / name[2:]
    if own_file.is_symlink() or (own_file.exists() and not own_file.is_file()):
        return b""  # git would wait for somebody to write into a pipe
    folder_of_ours = os.path.join(os.path.dirname(git.__file__), "git_folder")
    places = {"GIT_DIR": folder_of_ours, "GIT_OBJECT_DIRECTORY": str(history / "objects")}
    kind = ["git", "cat-file", "-t", name]
    variables = {"PATH": os.environ["PATH"], **places}
    found = subprocess.run(kind, env=variables, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    command = ["git", "cat-file", found.stdout.strip() or "blob", name]
    return subprocess.run(command, env=variables, capture_output=True, check=False, timeout=PATIENCE_SECONDS).stdout


@contextlib.contextmanager
def _limited(what: str) -> Iterator[None]:
    """An error where the block would wait for ever, as on a pipe."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"`{what}` hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
