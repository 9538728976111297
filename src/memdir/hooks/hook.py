"""`memdir hook HOST EVENT`: reads what a coding agent tells of an event, does the little that cannot wait, and answers
in the form that this host takes. What learns runs detached (`worker.py`).

On the path of every prompt: the standard library only, and as little of it as possible (ADR 0003). Nothing here may end
a client's turn: whoever calls `run` catches everything and exits with 0 (ADR 0060).
"""

from __future__ import annotations

import os
import time

from memdir.disk.plain_json import decode, encode
from memdir.process import TooLate, detach, open_descriptors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memdir.memdir import MemDir

# A host as its command line names it, and the agent whose transcripts it writes.
HOSTS = {"claude": "claude-code", "codex": "codex", "gemini": "gemini", "qwen": "qwen", "opencode": "opencode"}
# What hosts call the events; ours are words of their own.
EVENTS = {
    "SessionStart": "start",
    "session.created": "start",
    "UserPromptSubmit": "prompt",
    "BeforeAgent": "prompt",
    "chat.message": "prompt",
    "Stop": "stop",
    "AfterAgent": "stop",
    "session.idle": "stop",
    "PreCompact": "compact",
    "PreCompress": "compact",
    "experimental.session.compacting": "compact",
    "SessionEnd": "end",
    "PreToolUse": "tool",
    "BeforeTool": "tool",
    "tool.execute.before": "tool",
    "PostToolUse": "tool done",
    "AfterTool": "tool done",
}
MAX_INPUT_BYTES = 16 << 20  # of what a host tells: a prompt with a large paste
MAX_ANSWER = 10_000  # characters in all: of more the hosts show a part (FACTS: Claude 2 KB, Codex head and tail)
MAX_SECONDS = 5.0  # the hosts themselves give a hook up after ten
SYNC_SECONDS = 2.0  # of them, for what the team changed, when a session starts
LAST_SECONDS = 2.0  # behind them, to say that it was too late
MAX_TOLD = 5  # files that a line names
_OF_ANYBODY = ("tool", "tool done")  # a sub-agent's tools are guarded, too
_INDEXED = "recall.base"  # where it is missing, all memories have to be read; not by the prompt that comes next
_START = "start"  # what a session begins with, beside the scopes of what it was shown
_EMPTIED = ("clear", "compact")  # sources of a session start after which the context is empty again
_UNCHECKED = "memdir: a guard could not be asked about this call of a tool (`memdir doctor`)"


class HookCall:
    """One event of a session, as the host tells it."""

    def __init__(self, host: str, event: str, fields: Mapping[str, object], *, is_whole: bool = True) -> None:
        self.host = host
        self.name = event  # as the host calls it
        self.event = EVENTS.get(event, event)
        self.fields = fields
        self.folder = "."  # that the session was started in
        self.is_whole = is_whole  # or nobody knows what a tool is given
        self.on_told: Callable[[], object] | None = None  # when the host has its answer

    def text(self, name: str) -> str:
        """A field that is text; empty when it is missing or something else."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    @property
    def is_said(self) -> bool:
        """Whether a person said something: Qwen tells of a prompt without words after each tool, and a client's own
        command is written down as no message."""
        return self.event == "prompt" and is_said(self.text("prompt"))

    @property
    def session(self) -> str:
        """The session's id: the name of its transcript where it has one of its own, so that whoever lists transcripts
        finds the same."""
        name = os.path.basename(self.text("transcript_path"))
        return name.removesuffix(".jsonl") if name.endswith(".jsonl") else self.text("session_id")

    @property
    def is_ours(self) -> bool:
        """Whether a person talks in this session: in none of Codex' own memory agent, and a sub-agent has an id."""
        from memdir.layout import is_session_id
        from memdir.transcript.attended import is_codex_at_work

        if self.host == "codex" and is_codex_at_work(self.text("transcript_path"), self.text("cwd")):
            return False
        return is_session_id(self.session) and not self.fields.get("agent_id")


def is_said(prompt: str) -> bool:
    """Whether there are words in a prompt, and it is no command of the client's; a path begins a sentence."""
    first = next(iter(prompt.split(maxsplit=1)), "")
    return bool(first) and (first[0] != "/" or "/" in first[1:])


class HookAnswer:
    """What a host gets: text for the model, a line for the user, and why a tool must not run."""

    def __init__(self, context: str = "", message: str = "", refusal: str = "") -> None:
        self.context = context
        self.message = message
        self.refusal = refusal


def run(words: Sequence[str], *, is_process: bool) -> None:
    """Do what an event asks for and print what its host takes. Raises whatever goes wrong; a process of its own ends
    when it takes too long."""
    open_descriptors()
    if words[:1] in (["--work"], ["--sync"]):
        from memdir.hooks.worker import sync_team, work

        return work(words[1]) if words[0] == "--work" else sync_team(words[1], words[2])
    if words[:1] == ["--daemon"]:
        from memdir.hooks.daemon import serve

        return serve(words[1])
    if is_process:
        _limit_time()
    host, name = (*_without_options(words), "", "")[:2]
    event = EVENTS.get(name, name)
    if host not in (*HOSTS, "auto") or event not in _STEPS:
        return None
    call = _call(host, name, _given())
    call.host = _caller(call) if host == "auto" else host
    if not call.is_ours and event not in _OF_ANYBODY:
        return None
    memory = None
    text = rendered(call, HookAnswer(message=_UNCHECKED)) if event == "tool" else ""
    try:
        memory, text = _answered(call)
    except TooLate:
        pass
    finally:
        _print(text)
    return _after(memory, call) if memory is not None and memory.settings.enabled else None


def _without_options(words: Sequence[str]) -> list[str]:
    """The host and the event. `--home` and `--bare` count, for the worker too, which inherits them; no parser is asked,
    since one ends with 2, and the project is the session's."""
    given, rest = iter(words), list[str]()
    for word in given:
        name, _, value = word.partition("=")
        if name in ("--home", "--project", "--set"):
            value = value or next(given, "")
        if name == "--home" and value:
            os.environ["MEMDIR_HOME"] = os.path.abspath(os.path.expanduser(value))
        elif name == "--bare":
            os.environ["MEMDIR_DISABLE"] = "1"
        elif not name.startswith("-"):
            rest.append(word)
    return rest


def _call(host: str, name: str, data: bytes) -> HookCall:
    """The event that a host tells of. Of a call of a tool that cannot be read, what stands before the tool's input."""
    told = decode(data)
    if isinstance(told, dict):
        return HookCall(host, name, told)
    before, found, _ = data.partition(b'"tool_input"')
    told = decode(before.rstrip().removesuffix(b",") + b"}") if found and EVENTS.get(name) in _OF_ANYBODY else None
    return HookCall(host, name, told if isinstance(told, dict) else {}, is_whole=False)


def _answered(call: HookCall) -> tuple[MemDir, str]:
    """The memory of the project that a call is about, and what its host gets. A session belongs to the project that it
    was started in: Claude Code's `cwd` goes wherever its shell goes."""
    from memdir.memdir import open_memory
    from memdir.settings import Environment

    environment = Environment.read()
    told = (environment.claude_project if call.host == "claude" else "", call.text("cwd"))
    call.folder = next(filter(os.path.isdir, told), call.folder)
    memory = open_memory(call.folder, environment=environment, source="hook")
    is_on = memory.settings.enabled
    if call.is_ours:  # anybody's tool has a guard
        layout, session = memory.layout, call.session
        noted = [layout.attended(session), layout.switched(session) if is_on else layout.project_home]
        if any(map(os.path.exists, noted)):  # who learns from the past, too, has to know what was said while it was off
            from memdir.transcript.attended import note_switch

            is_heard = is_on and environment.has_person(call.host)
            note_switch(layout, session, is_on=is_heard, is_prompt=call.is_said)
    return memory, rendered(call, _STEPS[call.event](memory, call)) if is_on else ""


def _after(memory: MemDir, call: HookCall) -> None:
    """What is noted and begun when the host has its answer."""
    if call.on_told:
        call.on_told()
    if call.event == "start":
        from memdir.hooks.daemon_client import bring_up
        from memdir.hooks.session_start import SessionStart

        bring_up(memory)
        is_read = os.path.exists(os.path.join(memory.place.derived, _INDEXED))
        is_new = os.path.exists(memory.place.index) and not (is_read and SessionStart(memory, call.host).is_kept)
        if _has_left(memory, call) or is_new:
            detach("hook", "--work", memory.layout.work_tree)
    if call.event == "prompt" and call.host == "opencode":  # nobody else could tell that its turn was broken off
        from memdir.hooks.work_queue import WorkQueue

        WorkQueue(memory.layout).add(call.session, is_begun=True)
    if memory.places.syncs and call.event == "prompt":
        from memdir.disk.append import append_bytes

        append_bytes(memory.layout.turn(call.session), b"")
    if memory.places.syncs and call.event in ("stop", "end") and (_turn_ended(memory, call) or call.event == "end"):
        detach("hook", "--sync", memory.layout.work_tree, call.session)


def _turn_ended(memory: MemDir, call: HookCall) -> bool:
    """No turn is under way, in which nothing is taken in or sent (E4); whether a sync waited for its end."""
    try:
        is_waited_for = os.path.getsize(turn := memory.layout.turn(call.session)) > 0
        os.unlink(turn)
    except OSError:  # none began
        return False
    return is_waited_for


def _has_left(memory: MemDir, call: HookCall) -> bool:
    """Whether other sessions left something to learn (X10): a turn whose end no hook told is queued now."""
    from memdir.transcript.attended import late_sessions

    for session in late_sessions(memory.layout.project_home, but=call.session):
        from memdir.hooks.work_queue import WorkQueue

        WorkQueue(memory.layout).add(session)
    return any(name != call.session for name in _names_in_queue(memory))


def _names_in_queue(memory: MemDir) -> list[str]:
    queue = os.path.join(memory.layout.attached, "queue")
    return os.listdir(queue) if os.path.isdir(queue) else []


def _caller(call: HookCall) -> str:
    """Who calls the hooks of our plugin, one file for three agents: by what only one of them says, where its transcript
    lies first, and else by the mark that it leaves in the environment, which one that it starts inherits."""
    from memdir.settings import Environment
    from memdir.transcript.attended import own_transcript

    environment, path = Environment.read(), call.text("transcript_path")
    if found := [host for host in HOSTS if own_transcript(environment, host, path)]:
        return found[0]
    if os.path.basename(path).startswith("rollout-"):
        return "codex"
    return "gemini" if call.name.startswith(("Before", "After", "PreCompress")) else environment.caller


def _limit_time() -> None:
    """A prompt waits for a hook: past the limit it goes on without, and a tool is answered by what is known then. By
    what `signal` is made of: the module itself costs a tenth of a start."""
    import _signal  # type: ignore[import-not-found]
    import gc

    def end(*_: object) -> None:
        _signal.signal(_signal.SIGALRM, lambda *_: os._exit(0))
        _signal.setitimer(_signal.ITIMER_REAL, LAST_SECONDS)
        raise TooLate

    _signal.signal(_signal.SIGALRM, end)
    _signal.setitimer(_signal.ITIMER_REAL, MAX_SECONDS)
    gc.disable()  # nothing is left for long


def rendered(call: HookCall, answer: HookAnswer) -> str:
    """An answer in the form of its host: an object that it knows the fields of. Claude Code takes what it should keep
    in mind while it compacts as plain text; where nothing is to be said, nothing is printed."""
    if call.host == "claude" and call.event == "compact":
        return answer.context
    fields: dict[str, object] = {}
    if call.host == "opencode":  # our own plugin puts it where it belongs
        fields = {"context": answer.context, "message": answer.message, "refusal": answer.refusal}
        return encode(fields) if any(fields.values()) else ""
    if answer.refusal and call.host == "gemini":
        fields |= {"decision": "deny", "reason": answer.refusal}
    elif answer.refusal:
        decision = {"permissionDecision": "deny", "permissionDecisionReason": answer.refusal}
        fields["hookSpecificOutput"] = {"hookEventName": call.name, **decision}
    elif answer.context:
        fields["hookSpecificOutput"] = {"hookEventName": call.name, "additionalContext": answer.context}
    if answer.message:
        fields["systemMessage"] = answer.message
    return encode(fields) if fields else ""


def fits(call: HookCall, answer: HookAnswer) -> bool:
    """Whether a host would show the whole of it."""
    return len(rendered(call, answer)) <= MAX_ANSWER


# The steps


def _start(memory: MemDir, call: HookCall) -> HookAnswer:
    """Behaviour and index, once a session: not again when one is resumed that has them. Qwen puts them into its system
    prompt, which it does not keep. Gemini makes one text of them and the first prompt, and resumes without that prompt:
    there they come beside it (`_begun_late`)."""
    if not os.path.isdir(memory.place.root) or not os.path.exists(memory.place.identity):
        memory.start()  # the text says that the directory is there (S4)
    source = call.text("source")
    is_known = _attend(memory, call)
    if memory.places.syncs and source != "compact":  # before the first turn, not in one; the rest goes on behind (E4)
        _turn_ended(memory, call)  # one that was broken off
        process = detach("hook", "--sync", memory.layout.work_tree, call.session)
        until = time.monotonic() + SYNC_SECONDS
        while time.monotonic() < until and not os.waitpid(process, os.WNOHANG)[0]:
            time.sleep(0.02)
    if source in _EMPTIED:
        memory.shown.of(call.session).forget()
    answer = HookAnswer(message="\n".join(filter(None, (_saved(memory, call), *_of_team(memory)))))
    if (is_known and source not in _EMPTIED and call.host != "qwen") or call.host == "gemini":
        return answer
    if source == "compact" and call.host != "claude":
        answer.context = _noted(memory, call, answer)
    return with_start(memory, call, answer)


def _prompt(memory: MemDir, call: HookCall) -> HookAnswer:
    """The memories that help with what the user says, each once a session; nothing when none clearly does (R1)."""
    if call.text("prompt").strip():
        _attend(memory, call)
    from memdir.hooks.prompt_recall import cut_to_fit, has_dropped_start, recalled

    shown = memory.shown.of(call.session)
    if call.host == "gemini" and shown.keys(_START) and has_dropped_start(memory, call):
        shown.forget()
    found, saved = recalled(memory, call), _saved(memory, call)  # that last: it is told once
    answer = HookAnswer(cut_to_fit(found, lambda text: fits(call, HookAnswer(text, saved))), saved)
    return _begun_late(memory, call, answer) if call.host == "gemini" else answer


def _begun_late(memory: MemDir, call: HookCall, answer: HookAnswer) -> HookAnswer:
    """A prompt's answer with what the session should have begun with, unless that came already, and, where it went with
    a compression, the notes; where both do not fit it waits for the next prompt."""
    shown = memory.shown.of(call.session)
    if shown.keys(_START):
        return answer
    try:
        both = HookAnswer("\n\n".join(filter(None, (_noted(memory, call, answer), answer.context))), answer.message)
        if not fits(call, both := with_start(memory, call, both)):
            return answer
    except TooLate:
        return answer
    shown.add(_START, "", 0)
    shown.save()
    return both


def with_start(memory: MemDir, call: HookCall, answer: HookAnswer) -> HookAnswer:
    """An answer behind what a session begins with, as much of that as fits beside it."""
    from memdir.hooks.session_start import SessionStart

    def both(text: str) -> HookAnswer:
        return HookAnswer("\n\n".join(filter(None, (text, answer.context))), answer.message)

    return both(SessionStart(memory, call.host).within(lambda text: fits(call, both(text))))


def _stop(memory: MemDir, call: HookCall) -> HookAnswer:
    """A turn ended: it is queued, and the worker learns from it. Whatever is printed for the model starts another
    turn."""
    from memdir.hooks.work_queue import WorkQueue

    _attend(memory, call)
    WorkQueue(memory.layout).add(call.session)
    detach("hook", "--work", memory.layout.work_tree)
    return HookAnswer(message=_saved(memory, call))  # a long history may take all the time that there is


def _compact(memory: MemDir, call: HookCall) -> HookAnswer:
    """The notes of the session, for whoever summarises it (N7). Gemini takes no words, and tells of every turn that it
    may come to that: where its user asked for it, all that was shown comes again with the next prompt."""
    if call.host == "gemini" and call.text("trigger") == "manual":
        memory.shown.of(call.session).forget()
    return HookAnswer() if call.host in ("gemini", "codex", "qwen") else HookAnswer(_notes(memory, call, HookAnswer()))


def _tool(memory: MemDir, call: HookCall) -> HookAnswer:
    """A tool is about to run: what the user's guards say to that (Q1), those of where its shell has gone to, too."""
    from memdir.guard.held import held_guards

    guards, there = held_guards(memory, call.session), call.text("cwd")
    if there != call.folder and os.path.isdir(there):
        from memdir.memdir import open_memory

        other = open_memory(there, source="hook")
        if other.settings.enabled and other.layout.slug != memory.layout.slug:
            guards += [guard for guard in held_guards(other, call.session) if guard.scope == "project"]
    if not guards:
        return HookAnswer()
    from memdir.hooks.breach import answer_to

    return answer_to(memory, call, guards)


_STEPS: Mapping[str, Callable[[MemDir, HookCall], HookAnswer]] = {
    "start": _start,
    "prompt": _prompt,
    "stop": _stop,
    "compact": _compact,
    "end": _stop,
    "tool": _tool,
    "tool done": _tool,
}


def _attend(memory: MemDir, call: HookCall) -> bool:
    """Note that memdir attends to this session from now on: what was said in it before is not its business. Gives
    whether it did already."""
    from memdir.errors import DiskError
    from memdir.transcript.attended import Attended, note_unheard, own_transcript

    known, told = Attended.at(memory.layout.attended(call.session)), call.text("transcript_path")
    if known is not None and (known.transcript or not told):
        return True
    # What ended is the first that is seen of it: then the turn that ended counts, as far as memory was on in it.
    begun = known.begun if known else 0 if call.event in ("stop", "end") else time.time()
    path = own_transcript(memory.places.environment, call.host, told)
    if known is not None and not path:
        return True
    if told and not path:
        from memdir.events import request_refused

        reason = "its transcript is none of the agent's own"
        memory.sink.emit(request_refused(what="learning from a session", reason=reason))
    attended = Attended(call.session, HOSTS[call.host], path, os.path.realpath(call.folder), begun=begun)
    try:
        note_unheard(memory.layout, call.session, memory.places.environment, call.host, begun)
        attended.save(memory.layout)
    except DiskError:  # the next event tries again; this one is answered
        pass
    return known is not None


def _saved(memory: MemDir, call: HookCall) -> str:
    """What workers saved since somebody was told last and nobody took back (X9), where somebody looks on. One that was
    killed has left what it had taken up. Qwen shows what a hook says when a turn ends, and at no other time."""
    if call.event == "end" or (call.event == "stop") != (call.host == "qwen"):
        return ""
    is_taken = any("~" in name for name in _names_in_queue(memory))
    if not is_taken and not os.path.exists(os.path.join(memory.layout.attached, "saved")):
        return ""
    from memdir.hooks.work_queue import WorkQueue
    from memdir.text.printable import one_line
    from memdir.transcript.attended import is_headless

    path = call.text("transcript_path")
    if call.fields.get("is_headless") or is_headless(memory.places.environment, call.host, path):
        return ""
    lines = []
    try:
        told, call.on_told = WorkQueue(memory.layout).told([memory.stores.of(one) for one in ("project", "user")])
    except TooLate:  # the next hook tells it; what was recalled for this one counts as shown, and is said
        return ""
    for what, found in told.items():
        parts, room = [], MAX_TOLD
        for how, files in found:
            if room > 0:
                more = f" and {len(files) - room} more" if len(files) > room else ""
                names = ", ".join(one_line(name) for name in files[:room])
                parts.append(f"{names}{more} (`{how}`)" if how else f"{names}{more}")
            room -= len(files)
        more = " and more (`memdir log`)" if len(parts) < len(found) else ""
        lines += [f"{what}: {', '.join(parts)}{more}"] if parts else []
    return "\n".join(lines)


def _of_team(memory: MemDir) -> list[str]:
    """That the team's nightly dream waits for somebody's yes or no, or that something went with a purged member; and
    once, that nothing gets through to the team."""
    if not memory.places.syncs:
        return []
    from memdir.store.shared import Failure, proposals_noted, proposals_told, purge_noted

    told, failure = [proposals_told(proposals_noted(memory.place))], Failure.load(memory.place)
    if any(purge_noted(memory.place)):
        told.append("Of memories here something went with a member whom the team purged, or may have to: `memdir sync`")
    if failure is not None and failure.is_news(memory.clock()):
        from memdir.errors import DiskError

        try:
            failure.is_told = True
            failure.save(memory.place)
            told.append(f"{failure.told(memory.clock())} (`memdir sync --status`)")
        except DiskError:  # whoever cannot be told once is not told at every start
            pass
    return told


def _noted(memory: MemDir, call: HookCall, answer: HookAnswer) -> str:
    """The notes of a session that was compacted, as much of them as leaves room for the least that one begins with."""
    from memdir.hooks.session_start import SessionStart

    if not os.path.exists(memory.layout.session_memory(call.session)):
        return ""
    first = SessionStart(memory, call.host).within(lambda _: False)
    return _notes(memory, call, HookAnswer("\n\n".join(filter(None, (first, answer.context))), answer.message))


def _notes(memory: MemDir, call: HookCall, first: HookAnswer) -> str:
    """The session memory as instructions for a summary, as much of it as fits behind what comes first; empty where
    there is none."""
    from memdir.disk.plain_file import read_if_plain
    from memdir.prompts.compose import load_prompt
    from memdir.prompts.door import shown

    data = read_if_plain(memory.layout.session_memory(call.session), 1 << 20)
    text = shown(data.decode("utf-8", "replace")).strip()[:MAX_ANSWER] if data else ""
    prompt = load_prompt("hooks/compact.md", overrides=memory.layout.prompts)
    while text:
        notes = prompt.render(notes=text)
        if fits(call, HookAnswer(f"{first.context}\n\n{notes}".lstrip(), first.message)):
            return notes
        text = text[: len(text) * 9 // 10]
        text = text[: max(text.rfind("\n"), len(text) * 3 // 4)]  # whole lines, unless one is long
    return ""


# Reading and printing


def _given() -> bytes:
    """What the host tells, in the time that there is; nothing when a person called. Of more than any event has to
    tell the beginning: the rest is taken from the host, which waits for that, and dropped."""
    parts: list[bytes] = []
    room = MAX_INPUT_BYTES
    try:
        while not os.isatty(0) and (part := os.read(0, 1 << 20)):
            if room > 0:
                parts.append(part)
            room -= len(part)
    except TooLate:
        pass
    return b"".join(parts)


def _print(text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]
