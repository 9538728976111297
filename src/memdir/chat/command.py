"""The command `memdir chat`: which conversation, which model, for a person at a terminal or for a script.

It loads as little as it can before a person sees a prompt: host and model come while they type.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from memdir.errors import MemdirError, UsageError

if TYPE_CHECKING:
    from memdir import MemDir, Settings

_APART = "memdir-chat-"  # how the name of a home begins that goes away
_MARK = ".goes-away"  # the folder in it that says so


class Chat:
    """Talk with an agent that remembers: it reads, changes and runs things in this project, asks before it does, and
    keeps what is worth keeping. `/help` lists what can be typed. Needs the extra `chat`, but for -p.

    With -p it answers once and ends, for scripts: nothing is written outside memory, or run that may change something,
    unless --allow says so. With --json each event is a line, and the last one says how it ended."""

    EXAMPLES = (
        "memdir chat",
        "memdir chat --continue",
        "memdir chat --model claude-sonnet-5-5",
        'memdir chat -p "What did we decide about the release?"',
        'memdir chat -p "Fix the failing test" --allow edits --allow "make test" --json',
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("-p", "--print", metavar="TEXT", dest="text", help="answer this and end; - for stdin")
        parser.add_argument(
            "--allow",
            metavar="WHAT",
            action="append",
            default=[],
            help="may be done unasked: edits (in the project, magic docs too), commands, agents (its own), a command",
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--continue", action="store_true", dest="latest", help="go on with the latest conversation")
        which.add_argument("--resume", metavar="SESSION", nargs="?", const="", help="go on with one; without: choose")
        parser.add_argument("--model", metavar="NAME", help="builtin, a provider, a model's name, or PROVIDER/NAME")
        parser.add_argument("--no-learning", action="store_true", help="recall memories, learn nothing")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        if options.model:
            options.set += model_settings(options.model, context.opened("chat").settings)
        can_draw = os.environ.get("TERM", "").lower() not in ("dumb", "unknown")  # as in the shell of an editor
        if options.text is None and not (can_draw and sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("a chat needs a terminal that can draw", remedy='For scripts: memdir chat -p "some words"')

        def opened() -> MemDir:
            memory: MemDir = context.opened("chat")
            return memory if memory.settings.enabled else apart(memory)

        memory = opened()
        if options.text is not None:
            from memdir.chat.script import answer_once

            return answer_once(memory, options)
        try:
            from memdir.chat.terminal import ChatTerminal
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in ("prompt_toolkit", "rich"):
                raise
            remedy = "Install it: pip install 'memdir[chat]'; `memdir chat -p` works without"
            raise MemdirError("the extra `chat` of memdir is not installed", remedy=remedy) from None
        os.environ.pop("COLUMNS", None)  # of whoever started us: the terminal itself knows how wide it is now
        return asyncio.run(ChatTerminal(memory, options, opened).run_in_time())


def model_settings(name: str, settings: Settings) -> list[str]:
    """A model as settings for this call: a provider, a name, or both with a slash between them. What was set for
    another provider, its model's name and its server's address, does not hold for this one: no key goes there."""
    from memdir.model import DEFAULT_MODELS, family_of

    provider, _, rest = name.partition("/")
    if provider not in DEFAULT_MODELS:
        provider, rest = family_of(name), name
    before = settings.model_provider
    if not provider and before in ("auto", "builtin"):
        remedy = f"Name its provider too: --model openai/{name}"
        raise UsageError(f"nobody knows whose model {name!r} is", remedy=remedy)
    found = [f"model.provider={provider or before}"]
    if rest or before not in ("auto", provider):
        found.append(f"model.name={rest}")
    if {before, provider} == {"anthropic", "openai"} and settings.origins.get("model.baseUrl") != "flags":
        found.append("model.baseUrl=")
    return found


def apart(memory: MemDir) -> MemDir:
    """The same settings over a home that goes away with the chat, also where its terminal is closed: with memory off,
    nothing is created (S5). What a kill left goes with the next one."""
    import atexit
    import shutil
    import tempfile

    home = tempfile.mkdtemp(prefix=_APART)
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    if sys.platform != "win32":
        _hold(home)
    return memory.over(home)


def _hold(home: str) -> None:
    """Have a folder kept as long as this process lives, and those go whose process does not."""
    import fcntl
    import glob
    import shutil
    import signal

    fcntl.flock(os.open(home, os.O_RDONLY), fcntl.LOCK_EX)
    os.mkdir(os.path.join(home, _MARK))  # only now: none goes that another chat still makes, or that is a person's own
    for mark in glob.glob(os.path.join(os.path.dirname(home), f"{_APART}*", _MARK)):
        with contextlib.suppress(OSError):
            held = os.open(left := os.path.dirname(mark), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(held)

    def end(number: int, _: object) -> None:  # at once: what only raises can be caught by whatever runs just then
        shutil.rmtree(home, ignore_errors=True)
        os._exit(128 + number)

    for ending in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(ending, end)


def session_of(memory: MemDir, name: str | None, *, is_latest: bool = False) -> str:
    """The conversation to go on with; empty for a new one. MemoryNotFound where there is none such."""
    if not is_latest and not name:
        return ""
    found = memory.sessions()
    if not memory.settings.enabled and not found:  # but for what was said since in this very chat
        raise UsageError("without memory there is no conversation to go on with", remedy="Leave out one of the two")
    from memdir.transcript import find_session

    return find_session([one.ref for one in found], name or "latest").id
