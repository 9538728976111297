"""`memdir chat -p`: one turn for a script, its words to standard output, or each event as a line of JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from memdir.chat.command import session_of
from memdir.chat.host import ChatEvent, ChatHost, HostOptions, TurnEnd, saved_and_deleted
from memdir.chat.slash import told_in_script
from memdir.errors import UsageError
from memdir.transcript import printable

if TYPE_CHECKING:
    from memdir import MemDir

MAX_INPUT_BYTES = 10 << 20  # of standard input: more than any window takes

_STATUS = {"done": 0, "cut_off": 1, "max_steps": 1, "stopped": 130}  # an unfinished job is not taken for done


def answer_once(memory: MemDir, options: argparse.Namespace) -> int:
    """Answer, wait for what is learned from it, and end. The exit status is that of the failure, if there is one."""
    text = sys.stdin.buffer.read(MAX_INPUT_BYTES).decode("utf-8", "replace") if options.text == "-" else options.text
    if not text.strip():
        raise UsageError("there is nothing to answer", remedy='memdir chat -p "some words", or - for standard input')
    if options.resume == "":
        raise UsageError("--resume needs a session here", remedy="`memdir sessions` lists them; or take --continue")
    words = _Words()
    end, session_id = asyncio.run(_turn(memory, text, options, words))
    if options.json:
        _line({"type": "end", **_plain(end), "session": session_id})
        return end.failure.exit_code if end.failure else _STATUS[end.ending]
    if end.text and not end.failure:
        print(flush=True)
    print(words.saved, end="", file=sys.stderr)
    if end.failure:
        raise end.failure
    return _STATUS[end.ending]


async def _turn(memory: MemDir, text: str, options: argparse.Namespace, words: _Words) -> tuple[TurnEnd, str]:
    about = told_in_script(memory, text)
    session_id = session_of(memory, options.resume, is_latest=options.latest)
    is_off, listen = not memory.settings.enabled, _tell_json if options.json else words.tell
    chosen = HostOptions.of(options, session_id, is_introduced=is_off)  # where nothing is kept, it would be each time
    if is_off:
        listen(ChatEvent("notice", {"text": f"memory is off: {memory.settings.off_because}"}))
    async with ChatHost(memory, listen=listen, options=chosen) as host:
        return await host.say(text, about=about), host.session.id


class _Words:
    """Prints what is said as it comes; what else happens is a remark beside it, what was saved one behind it."""

    def __init__(self) -> None:
        self._is_open = False
        self.saved = ""

    def tell(self, event: ChatEvent) -> None:
        if event.name == "text":
            print(printable(str(event.fields["text"])), end="", flush=True)
            self._is_open = True
        elif event.name == "reply" and not event.fields["is_final"] and self._is_open:
            print("\n", flush=True)
            self._is_open = False
        elif event.name == "result" and event.fields["is_error"] and "--allow" in str(event.fields["content"]):
            print(f"memdir: {printable(str(event.fields['content']))}", file=sys.stderr)
        elif event.name == "notice":
            print(f"memdir: {printable(str(event.fields['text']))}", file=sys.stderr)
        elif event.name == "saved":
            self.saved += f"memdir: {printable(saved_and_deleted(event.fields, ', '.join))}\n"


def _tell_json(event: ChatEvent) -> None:
    _line({"type": event.name, **{_like_this(name): value for name, value in event.fields.items()}})


def _line(fields: dict[str, object]) -> None:
    print(json.dumps(fields, ensure_ascii=False), flush=True)


def _plain(end: TurnEnd) -> dict[str, object]:
    usage = {_like_this(name): count for name, count in asdict(end.usage).items()}
    told: dict[str, object] = {"ok": end.ending == "done", "ending": end.ending, "text": end.text, "usage": usage}
    return told | ({"error": end.failure.for_programs()} if end.failure else {})


def _like_this(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
