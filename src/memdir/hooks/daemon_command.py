"""`memdir daemon`, that comes and goes by itself (ADR 0063), and `memdir hook` in the help: a host needs no parser."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from memdir.disk.lock import locked
from memdir.doctor import Finding
from memdir.errors import LockBusy, MemdirError
from memdir.hooks.daemon_client import PROTOCOL, DaemonPlace, ask, is_of_this_version, peer_at
from memdir.hooks.hook import EVENTS, HOSTS, run
from memdir.prompts.door import shown_line
from memdir.search import has_sentence_model
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.memdir import MemDir

ANSWER_SECONDS = 2.0  # for a person, and on a busy machine
AGAIN_SECONDS = 0.5  # until one is asked again that was just coming up, and could not be asked yet
END_SECONDS = 15.0  # what is being indexed is kept first
_TOLD = ("pid", "upSeconds", "idleSeconds", "endsAfterIdleSeconds", "memoryBytes", "stores")  # by a daemon of itself


class HookCommand:
    """What a coding agent calls at its events; nobody types it. The event comes as JSON by standard input, the answer
    is printed in the form that the agent takes, and whatever happens the exit code is 0.
    Of the common options, --home and --bare count: the project is that of the session.

    When a session starts, the agent gets the memory section and the index; with a prompt the memories that clearly
    help; when a turn or the session ends, a worker is started that learns from it behind your back; before a compaction
    the notes of the session are handed over."""

    EXAMPLES = (
        "memdir hook claude UserPromptSubmit < event.json",
        "memdir hook gemini BeforeAgent < event.json",
        "memdir hook opencode session.idle < event.json",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("host", metavar="HOST", nargs="?", default="", help=", ".join(HOSTS))
        parser.add_argument(
            "event", metavar="EVENT", nargs="?", default="", help=f"as the host calls it: {', '.join(EVENTS)}"
        )

    def run(self, options: argparse.Namespace, _: object) -> int:
        run([options.host, options.event], is_process=False)
        return 0


class _WithoutOptions:
    def configure(self, parser: argparse.ArgumentParser) -> None:
        pass


class DaemonStatus(_WithoutOptions):
    """Show whether the daemon runs that keeps the sentence model ready for the hooks of coding agents.

    A session start brings it up where the extra `minilm` is installed, and it ends by itself when nobody asked for 15
    minutes. Without it hooks choose by words. The exit code is 1 where none runs."""

    EXAMPLES = ("memdir daemon status", "memdir daemon status --json")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        place = DaemonPlace.of(context.memory)
        answer: Any = ask(place, {"do": "status"}, seconds=ANSWER_SECONDS)
        told = {"running": answer is not None, "installed": has_sentence_model(), "socket": place.socket}
        if answer is None:
            if options.json:
                return int(context.print_json({**told, "protocol": PROTOCOL}, 1))
            missing = "; the sentence model is not installed (pip install 'memdir[minilm]')"
            context.terminal.line(f"No daemon is running{'' if told['installed'] else missing}")
            return 1
        if not all(isinstance(answer.get(name), int | float) and 0 <= answer[name] < 1 << 53 for name in _TOLD):
            message = f"what answers at {place.socket} is no daemon of memdir"
            raise MemdirError(message, remedy="End it: hooks choose by words as long as it stands there")
        own = {name: answer.get(name) for name in (*_TOLD, "version")} | {"protocol": answer.get("memdir")}
        if options.json:
            return int(context.print_json({**told, **own}))
        minutes = (own["endsAfterIdleSeconds"] - own["idleSeconds"]) / 60
        held = counted(int(own["stores"]), "memory directory", "memory directories")
        size = f"{own['memoryBytes'] / 2**20:.0f} MB at most so far"
        who = f"process {own['pid']}, memdir {shown_line(str(own['version']))}"
        context.terminal.line(f"The daemon is running: {who}")
        context.terminal.line(f"  {held} open, {size}; ends in {minutes:.0f} minutes unless asked")
        return 0


class DaemonStop(_WithoutOptions):
    """End the daemon that keeps the sentence model, if it runs; one that does not answer any more is killed. The next
    session of a coding agent brings up another, unless `recall.encoder` is `words`."""

    EXAMPLES = ("memdir daemon stop", "memdir config set recall.encoder words   # and none comes any more")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        was_running = stop(DaemonPlace.of(context.memory))
        if options.json:
            context.print_json({"running": False, "wasRunning": was_running})
        else:
            context.terminal.line("The daemon has ended" if was_running else "No daemon is running")
        return 0


def findings(memory: MemDir) -> Iterator[Finding]:
    """What the doctor tells of the daemon (O1)."""
    place = DaemonPlace.of(memory)
    if not _is_running(place):
        return
    answer = ask(place, {"do": "status"}, seconds=ANSWER_SECONDS)
    if answer is None:
        message = "the daemon that keeps the sentence model does not answer: hooks choose by words"
        remedy = "`memdir daemon stop` ends it, the next session brings another"
        yield Finding("daemon", "warning", message, place.socket, remedy)
    elif not is_of_this_version(answer):
        message = f"the daemon is one of memdir {answer.get('version')}: hooks choose by words"
        remedy = "the next session brings up one of this version"
        yield Finding("daemon", "note", message, "", remedy)


def stop(place: DaemonPlace) -> bool:
    """Whether one ran. LockBusy, which names the process, where it neither ends nor can be reached to be killed."""
    if not _is_running(place):
        return False
    until = time.monotonic() + END_SECONDS
    while True:
        if ask(place, {"do": "stop"}, seconds=ANSWER_SECONDS) is None and (process := peer_at(place)):
            os.kill(process, signal.SIGKILL)
        try:
            with locked(place.lock, wait_seconds=AGAIN_SECONDS):
                return True
        except LockBusy:
            if time.monotonic() > until:
                raise


def _is_running(place: DaemonPlace) -> bool:
    """Whether somebody holds its lock."""
    if os.path.exists(place.lock):
        with suppress(LockBusy), locked(place.lock, wait_seconds=0.0):
            return False
        return True
    return False
