"""Generated conversations, left at any moment: is the context after a resume the context before the exit (J3)?

    python -m evals.resume [--examples 2000] [--seed 0]

A conversation has turns, tool calls, reminders, branches, side chains, replaced results, compactions, file edits and
exits in any order. After every step the transcript is resumed and compared with the context in memory, and at the end
every edited file is shown as it was at every message of the context.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from memdir.transcript.conversation import Conversation, resume
from memdir.transcript.file_history import FileHistory
from memdir.transcript.message import Json, Message, Opaque, Text, ToolResult, ToolUse, user
from memdir.transcript.transcript import Transcript

FILES = ("a.py", "docs/b.md", "c.txt")
Step = tuple[str, int, str]

_TEXT = st.one_of(
    st.text(max_size=40),
    st.sampled_from(['{"parentUuid":null}', "line\nline\r\n", "\x00\x1b[31m", "\ud800", "😀" * 9, "x" * 5000, ""]),
)
_KINDS = st.sampled_from(
    (
        "user",
        "reply",
        "call",
        "meta",
        "opaque",
        "rewind",
        "compact",
        "replace",
        "edit",
        "delete",
        "restore",
        "side",
        "exit",
        "note",
    )
)
PROGRAMS = st.lists(st.tuples(_KINDS, st.integers(0, 11), _TEXT), min_size=4, max_size=40)


@dataclass
class Trial:
    """One conversation and everything known about it from outside."""

    folder: Path
    steps: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    shown: int = 0
    now: float = 1_790_000_000.0
    disk: dict[str, bytes | None] = field(default_factory=dict)
    states: dict[str, dict[str, bytes | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.conversation = Conversation(self._transcript())
        self.calls = 0

    def _transcript(self) -> Transcript:
        return Transcript(str(self.folder / "s.jsonl"), session_id="s", cwd=str(self.folder), clock=self._clock)

    def _clock(self) -> float:
        self.now += 0.001
        return self.now

    @property
    def history(self) -> FileHistory:
        return FileHistory(self.conversation.transcript, str(self.folder / "file-history"))

    def run(self, program: list[Step]) -> None:
        for kind, number, text in program:
            self.number, self.text = number, text
            step: Callable[[], None] = getattr(self, f"_{kind}")
            step()
            self.steps[kind] += 1
            self._compare()
        self._compare_files()
        self.conversation.transcript.close()

    def _add(self, message: Message) -> None:
        added = self.conversation.add(message)
        self.states[added.id] = dict(self.disk)

    def _user(self) -> None:
        self._add(user(self.text))

    def _meta(self) -> None:
        self._add(user(f"<system-reminder>{self.text}</system-reminder>", is_meta=True))

    def _reply(self) -> None:
        self._add(Message("assistant", (Text(self.text),)))

    def _opaque(self) -> None:
        blocks = (Opaque("anthropic", '{"type": "thinking", "thinking": "x"}'), Opaque("openai", f"[{self.number}]"))
        self._add(Message("assistant", (*blocks, Opaque("anthropic", '{"type":"text"}'), Text(self.text))))

    def _call(self) -> None:
        count = self.number % 3 + 1
        self.calls += count
        ids = [f"c{self.calls - at}" for at in range(count)]
        arguments: dict[str, Json] = {"q": self.text, "n": [self.number, None, {"a": True}]}
        self._add(Message("assistant", (Text(self.text), *(ToolUse(use, "Grep", arguments) for use in ids))))
        if self.number < 11:  # else the session was left in the middle of a call
            self._add(Message("user", tuple(ToolResult(use, self.text, is_error=self.number == 3) for use in ids)))

    def _rewind(self) -> None:
        messages = self.conversation.messages
        if messages:
            self.conversation.rewind(messages[self.number % len(messages)].id)

    def _compact(self) -> None:
        messages = self.conversation.messages
        self.conversation.compact(
            user(self.text), messages[max(0, len(messages) - self.number) :], {"trigger": "manual"}
        )
        self.states[self.conversation.messages[0].id] = dict(self.disk)

    def _replace(self) -> None:
        results = [result for message in self.conversation.messages for result in message.tool_results]
        if results:
            self.conversation.replace_results({results[self.number % len(results)].tool_use_id: self.text})

    def _side(self) -> None:
        path = self.folder / "s" / "subagents" / f"agent-{self.number}.jsonl"
        side = Transcript(str(path), session_id="s", cwd="/", clock=self._clock, agent_id=str(self.number))
        said = [side.append_message(user(self.text)), side.append_message(Message("assistant", (Text(self.text),)))]
        side.close()
        assert resume(str(path), is_sidechain=True).messages[-2:] == tuple(said)
        inline = {"type": "user", "isSidechain": True, "message": {"role": "user", "content": self.text}}
        main = self.conversation.transcript  # as older agents write them, into the main file
        main.append(main.line(inline, record_id=f"side-{self.steps['side']}", parent=main.last_uuid))

    def _note(self) -> None:
        self.conversation.transcript.append_note({"type": f"unknown-{self.number}", "anything": self.text})

    def _exit(self) -> None:
        self.conversation.transcript.close()
        self.conversation = Conversation.resume(self._transcript())

    def _edit(self) -> None:
        self._change(FILES[self.number % len(FILES)], self.text.encode("utf-8", "surrogatepass"))

    def _delete(self) -> None:
        self._change(FILES[self.number % len(FILES)], None)

    def _change(self, name: str, content: bytes | None) -> None:
        path = self.folder / "work" / name
        if self.disk.get(name) == content:
            return
        self.history.changed(str(path), self.disk.get(name), content)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        self.disk[name] = content

    def _restore(self) -> None:
        if self.conversation.messages:
            message = self.conversation.messages[self.number % len(self.conversation.messages)]
            self.history.restore(message.id)
            self.disk = {name: self._on_disk(name) for name in self.disk}
            known = self.states.get(message.id, {})
            assert all(self.disk.get(name) == content for name, content in known.items())

    def _on_disk(self, name: str) -> bytes | None:
        path = self.folder / "work" / name
        return path.read_bytes() if path.exists() else None

    def _compare(self) -> None:
        left = resume(self.conversation.transcript.path)
        assert left.messages == self.conversation.messages
        assert left.damage.total == 0, left.damage
        self.compared += 1

    def _compare_files(self) -> None:
        for message in self.conversation.messages:
            for name, content in self.states.get(message.id, {}).items():
                assert self.history.show(str(self.folder / "work" / name), message.id) == content, name
                self.shown += 1


def measure(examples: int, *, start: int = 0) -> Counter[str]:
    """Run so many conversations; raises AssertionError with the smallest one that fails."""
    totals: Counter[str] = Counter()
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - nothing here depends on the disk being slow

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(PROGRAMS)
    def conversations(program: list[Step]) -> None:
        with tempfile.TemporaryDirectory(dir=place) as folder:
            trial = Trial(Path(folder))
            trial.run(program)
            totals.update(trial.steps)
            totals.update({"conversations": 1, "resumed and equal": trial.compared, "files shown": trial.shown})

    conversations()
    return totals


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.resume", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    totals = measure(options.examples, start=options.seed)
    for name in ("conversations", "resumed and equal", "files shown"):
        print(f"{totals.pop(name):8,}  {name}")
    print("          steps: " + ", ".join(f"{name} {count:,}" for name, count in totals.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
