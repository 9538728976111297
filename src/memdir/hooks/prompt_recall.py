"""What a prompt brings back: the recall of every other way in, in the form that goes into another host's prompt (R1).
The daemon chooses, with the sentence model in its memory; where there is none, or it is late, words do."""

from __future__ import annotations

import os

from memdir.disk.plain_json import encode
from memdir.hooks.daemon_client import SCOPES, chosen
from memdir.hooks.hook import is_said
from memdir.process import detach

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memdir.hooks.hook import HookCall
    from memdir.memdir import MemDir
    from memdir.recall.recall import RecallRequest, Selection

MAX_CHARACTERS = 9_000  # of memories at one prompt: what a host shows whole, less what it is wrapped in
MAX_PROMPT = 20_000  # characters that are looked at: the user's words are at the ends of a paste
TAIL_BYTES = 64 << 10  # of the transcript: the tools of the last turns
REWRITTEN_BYTES = 4 << 20  # of Gemini's transcript: the turn before and, at its beginning, all that was left of it
MAX_TOOLS = 20
MAX_NAME = 64  # characters of a tool's or program's name
_CALLS = (b"tool_use", b"function_call", b"functionCall", b"toolCalls")  # in lines that tell of a tool
_RECALLING = ("qwen",)  # hosts that show the memories of their own directory themselves, and not its index alone
# How Gemini writes down what it has of a conversation, once it has dropped something.
_REWRITTEN = b'{"$set":{"messages":['
CUT = "\n… [cut here: `memdir recall` shows all of it]"  # where the host would cut it without a word


def recalled(memory: MemDir, call: HookCall) -> str:
    """The memories for a prompt as one text; empty when none clearly helps. A host says a prompt again without words,
    and its own commands are no questions."""
    text = _asked(call)
    if not is_said(text):
        return ""
    from memdir.recall.recall import Recaller, RecallRequest

    shown = memory.shown.of(call.session)
    tools = _recent_tools(memory, call)
    request = RecallRequest(text, recent_tools=tools, shown=shown, room=MAX_CHARACTERS, on_progress=_not_now)
    answers: dict[str, tuple[list[str], int]] = {}
    told = SCOPES[:1] if call.host in _RECALLING and memory.places.is_told_by(call.host) else ()
    project, user = (_HookChooser(memory, scope, answers, is_told=scope in told) for scope in SCOPES)
    places, tree, sink = memory.places, memory.layout.work_tree, memory.sink
    recaller = Recaller(project, [user], places.of, tree, sink=sink, clock=memory.clock, has_team=places.has_team)
    return "\n\n".join([one.text for one in recaller.show(recaller.prepare(request, recaller.choose(request)))])


def has_dropped_start(memory: MemDir, call: HookCall) -> bool:
    """Whether Gemini has no more of what the session began with. It compresses a conversation when it likes and calls
    no hook then, but what it has of it from then on stands in its transcript."""
    _, found, left = _end_of_transcript(memory, call, REWRITTEN_BYTES).rpartition(_REWRITTEN)
    return bool(found) and encode(f"`{memory.place.root}`")[1:-1].encode("utf-8", "replace") not in left


def cut_to_fit(found: str, fits: Callable[[str], bool]) -> str:
    """As much of it as fits, with word of the rest."""
    if not found or fits(found):
        return found
    while found and not fits(found + CUT):
        found = found[: len(found) * 9 // 10]
    return found + CUT if found else ""


class _HookChooser:
    """Chooses among the memories of one scope as the daemon says, which is asked once for all of them; else by words,
    which is all that a process can load that a prompt waits for."""

    def __init__(self, memory: MemDir, scope: str, answers: dict[str, tuple[list[str], int]], *, is_told: bool) -> None:
        self.scope = scope
        self._is_told = is_told  # by the host itself
        self.root = memory.places.of(scope).root
        self._memory = memory
        self._answers = answers

    def choose(self, request: RecallRequest) -> Selection:
        from memdir.recall.recall import Selection, Stopped

        if self.scope == SCOPES[0]:
            self._answers.update(chosen(self._memory, request))
        if self._is_told:
            return Selection(self.scope, [], "words")
        if self.scope in self._answers:
            keys, documents = self._answers[self.scope]
            selection = Selection(self.scope, keys, "sentences")
            selection.scanned = documents
            return selection
        from memdir.recall.selection import LocalChooser, LocalSelector

        places, clock = self._memory.places, self._memory.clock
        place = places.of(self.scope)
        selector = LocalSelector(place.root, place.derived)
        try:
            return LocalChooser(place, self.scope, selector, clock=clock, has_team=places.has_team).choose(request)
        except Stopped:
            detach("hook", "--work", self._memory.layout.work_tree)
            return Selection(self.scope, [], "words")


def _not_now(_: int, total: int) -> None:
    """So much is new that a prompt would wait for it: the worker reads it, and the next prompt has it."""
    from memdir.recall.recall import Stopped

    if total:
        raise Stopped


def _asked(call: HookCall) -> str:
    text = _without_context(call.text("prompt")).strip()
    if call.host == "opencode":
        from memdir.text.words import unquoted

        text = unquoted(text)
    return text if len(text) <= MAX_PROMPT else f"{text[: MAX_PROMPT // 2]}\n{text[-MAX_PROMPT // 2 :]}"


def _without_context(text: str) -> str:
    """A prompt without what Gemini put before it: what other people's hooks say at a session's start."""
    before, tag, rest = text.partition("<hook_context>")
    return before + _without_context(rest.partition("</hook_context>")[2]) if tag else text


def _recent_tools(memory: MemDir, call: HookCall) -> list[str]:
    """The tools of the last turns, by the end of the transcript: their names, the servers that they belong to, and the
    programs that were run. opencode has no file to look at, and its plugin tells them."""
    given = call.fields.get("recent_tools")
    if isinstance(given, list):
        return [tool for tool in given if isinstance(tool, str)][:MAX_TOOLS]
    data = _end_of_transcript(memory, call, TAIL_BYTES)
    found: dict[str, None] = {}
    for line in reversed([line for line in data.split(b"\n")[1:] if any(sign in line for sign in _CALLS)]):
        names = [part for name in _texts(line, b"name") for part in name.split("__") if part != "mcp"]
        commands = [*_texts(line, b"command"), *_texts(line, b"cmd")]
        programs = [next((word for word in one.split() if "=" not in word), "") for one in commands]
        found |= dict.fromkeys([*names, *map(os.path.basename, programs)])
    return [name for name in found if 0 < len(name) <= MAX_NAME][:MAX_TOOLS]


def _texts(line: bytes, name: bytes) -> list[str]:
    """What stands in a line by this name, or first in a list, also of JSON in a text; `re` costs a third of a start."""
    behind = [part.lstrip(b" :[") for part in line.replace(b'\\"', b'"').split(b'"' + name + b'"')[1:]]
    return [part.split(b'"', 2)[1].decode("ascii", "replace") for part in behind if part[:1] == b'"']


def _end_of_transcript(memory: MemDir, call: HookCall, size: int) -> bytes:
    """The end of a transcript, which may not be there yet, or be something else."""
    from memdir.disk.plain_file import open_descriptor
    from memdir.transcript.attended import own_transcript

    path = own_transcript(memory.places.environment, call.host, call.text("transcript_path"))
    try:
        descriptor, status = open_descriptor(path)
    except (OSError, ValueError):
        return b""
    try:
        return b"\n" + os.pread(descriptor, size, max(0, status.st_size - size))
    except OSError:
        return b""
    finally:
        os.close(descriptor)
