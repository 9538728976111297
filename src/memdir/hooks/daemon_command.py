"""`memdir daemon`: what a person sees of the daemon, which comes and goes by itself (ADR 0063)."""

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
from memdir.hooks.daemon_client import PROTOCOL, DaemonPlace, ask, is_of_this_version, peer_at, start, stores_of
from memdir.prompts.door import shown_line
from memdir.search import has_sentence_model
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from memdir.memdir import MemDir

ANSWER_SECONDS = 2.0  # for a person, and on a busy machine
START_SECONDS = 60.0  # loading takes about one; on a machine that has much else to do, longer
END_SECONDS = 15.0  # what is being indexed is kept first
PAUSE_SECONDS = 0.05
_TOLD = ("pid", "upSeconds", "idleSeconds", "endsAfterIdleSeconds", "memoryBytes", "stores")  # by a daemon of itself


class _WithoutOptions:
    def configure(self, parser: argparse.ArgumentParser) -> None:
        pass


class DaemonStatus(_WithoutOptions):
    """Show whether the daemon runs that keeps the sentence model ready for the hooks of coding agents.

    A session start brings it up where the extra `minilm` is installed, and it ends by itself when nobody asked for 15
    minutes. Without it hooks choose by words. The exit code is 1 where none runs."""

    EXAMPLES = ("memdir daemon status", "memdir daemon status --json")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        return _show(options, context, ask(DaemonPlace.of(context.memory), {"do": "status"}, seconds=ANSWER_SECONDS))


class DaemonStart(_WithoutOptions):
    """Bring up the daemon that keeps the sentence model ready, and wait until it answers; nothing happens where one
    runs. Hooks do this by themselves when a session starts."""

    EXAMPLES = ("memdir daemon start", "memdir daemon start --json")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        if os.name == "nt" or not has_sentence_model():
            told = "there is no daemon on Windows" if os.name == "nt" else "the sentence model is not installed"
            raise MemdirError(told, remedy="pip install 'memdir[minilm]', on another system than Windows")
        place = DaemonPlace.of(context.memory)
        answer = ask(place, {"do": "status"}, seconds=ANSWER_SECONDS)
        if answer is None or not is_of_this_version(answer):
            if answer is not None:
                stop(place)
            start(place, stores_of(context.memory))
            until = time.monotonic() + START_SECONDS
            while (answer := ask(place, {"do": "status"})) is None and time.monotonic() < until:
                time.sleep(PAUSE_SECONDS)
        if answer is None:
            raise MemdirError("the daemon did not come up", remedy="The reason may be in <home>/logs/crash.log")
        return _show(options, context, answer)


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
    if not os.path.exists(place.lock) or _is_free(place, 0.0):
        return
    answer = ask(place, {"do": "status"}, seconds=ANSWER_SECONDS)
    if answer is None:
        message = "the daemon that keeps the sentence model does not answer: hooks choose by words"
        remedy = "`memdir daemon stop` ends it, the next session brings another"
        yield Finding("daemon", "warning", message, place.socket, remedy)
    elif not is_of_this_version(answer):
        message = f"the daemon is one of memdir {answer.get('version')}: hooks choose by words"
        remedy = "`memdir daemon start` brings up one of this version, as does the next session"
        yield Finding("daemon", "note", message, "", remedy)


def stop(place: DaemonPlace) -> bool:
    """Whether one ran. LockBusy, which names the process, where it neither ends nor can be reached to be killed."""
    if not os.path.exists(place.lock) or _is_free(place, 0.0):
        return False
    if ask(place, {"do": "stop"}, seconds=ANSWER_SECONDS) is None and (process := peer_at(place)):
        os.kill(process, signal.SIGKILL)
    with locked(place.lock, wait_seconds=END_SECONDS):
        return True


def _is_free(place: DaemonPlace, seconds: float) -> bool:
    with suppress(LockBusy), locked(place.lock, wait_seconds=seconds):
        return True
    return False


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value < 1 << 53


def _show(options: argparse.Namespace, context: Any, answer: Any) -> int:
    place = DaemonPlace.of(context.memory)
    told = {"running": answer is not None, "installed": has_sentence_model(), "socket": place.socket}
    if answer is not None and not all(_is_amount(answer.get(name)) for name in _TOLD):
        message = f"what answers at {place.socket} is no daemon of memdir"
        raise MemdirError(message, remedy="End it: hooks choose by words as long as it stands there")
    if options.json:
        own: dict[str, object] = {"protocol": PROTOCOL}
        if answer is not None:
            own = {name: answer.get(name) for name in (*_TOLD, "version")} | {"protocol": answer.get("memdir")}
        context.print_json({**told, **own})
        return 0 if answer is not None else 1
    if answer is None:
        missing = "" if told["installed"] else "; the sentence model is not installed (pip install 'memdir[minilm]')"
        context.terminal.line(f"No daemon is running{missing}")
        return 1
    minutes = (answer["endsAfterIdleSeconds"] - answer["idleSeconds"]) / 60
    context.terminal.line(
        f"The daemon is running: process {answer['pid']}, memdir {shown_line(str(answer.get('version')))}"
    )
    held = counted(int(answer["stores"]), "memory directory", "memory directories")
    size = f"{answer['memoryBytes'] / 2**20:.0f} MB at most so far"
    context.terminal.line(f"  {held} open, {size}; ends in {minutes:.0f} minutes unless asked")
    return 0
