"""A long piece of work: a conversation with calls, an error and what fixed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memdir.model.model import Request
from memdir.remember.turn import FinishedTurn
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Json, Message, Text, ToolResult, ToolUse, user


@dataclass
class Work:
    """A conversation that a host leads: what is said is written down, what is replied is handed on."""

    talk: Conversation
    turns: list[FinishedTurn] = field(default_factory=list)

    def request(self) -> Request:
        return Request("scripted", messages=self.talk.messages)

    def ask(self, text: str) -> None:
        self.talk.add(user(text))

    def call(self, name: str, arguments: Mapping[str, Json], result: str, *, is_error: bool = False) -> FinishedTurn:
        """A reply that calls a tool, and its result. Returns the sampling as the host sees it before the result."""
        request = self.request()
        use = ToolUse(f"c{len(self.talk.messages)}", name, arguments)
        reply = self.talk.add(Message("assistant", (use,)))
        self.talk.add(Message("user", (ToolResult(use.id, result, is_error),)))
        self.turns.append(FinishedTurn(request, reply))
        return self.turns[-1]

    def reply(self, text: str) -> FinishedTurn:
        request = self.request()
        self.turns.append(FinishedTurn(request, self.talk.add(Message("assistant", (Text(text),)))))
        return self.turns[-1]


def fix_rounding(work: Work) -> FinishedTurn:
    """A bug is found, a wrong attempt is corrected, tests pass."""
    work.ask("Please fix the rounding in src/invoice.py. Totals must never lose a cent.")
    work.call("Read", {"file_path": "src/invoice.py"}, "def total(lines):\n    return sum(lines)")
    failed = "E   AssertionError: assert Decimal('0.00') == Decimal('0.01')\n1 failed, 143 passed in 12.07s"
    work.call("Bash", {"command": "pytest tests/test_invoice.py"}, failed)
    edit: dict[str, Json] = {
        "file_path": "src/invoice.py",
        "old_string": "x",
        "new_string": "def total(lines):\n    ...",
    }
    work.call("Edit", edit, "Edited src/invoice.py.")
    work.call("Bash", {"command": "pytest tests/test_invoice.py"}, "144 passed in 11.80s")
    work.reply("Fixed. The root cause was that each line was rounded on its own. `src/invoice.py` holds the rule now.")
    work.ask("No, don't use float anywhere. Which tests cover this?")
    return work.reply("- tests/test_invoice.py\n- tests/test_tax.py")
