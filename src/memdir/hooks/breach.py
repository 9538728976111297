"""What a host gets before a tool runs that goes against a guard (Q1, ADR 0062)."""

from __future__ import annotations

from memdir.guard.held import breached, unjudged
from memdir.guard.tool_call import ToolCall
from memdir.hooks.hook import HookAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memdir.guard.held import HeldGuard
    from memdir.hooks.hook import HookCall
    from memdir.memdir import MemDir

MAX_TOLD = 4  # of the guards that one call breaches: what a host shows whole
_TOLD_AFTER = ("gemini", "qwen")  # hosts that drop what a hook says before a tool, and take it after


def answer_to(memory: MemDir, call: HookCall, guards: Sequence[HeldGuard]) -> HookAnswer:
    """A refusal, or words to go on with. Where the host lets no words through to the model before a tool, they come
    with its result."""
    given = call.fields.get("tool_input")
    tool = ToolCall(call.text("tool_name"), given, cwd=call.text("cwd"), root=memory.layout.work_tree)
    found = breached(guards, tool) if call.is_whole else unjudged(guards, tool, "it is too long to be read")
    found = found[:MAX_TOLD]
    is_deaf = call.host in _TOLD_AFTER
    if call.event == "tool done":
        found = [guard for guard in found if guard.action == "warn" and is_deaf]
    elif is_deaf and not any(guard.action == "block" for guard in found):
        found = []
    if not found:
        return HookAnswer()
    from memdir.events import Event
    from memdir.text.printable import one_line

    for guard in found:
        memory.sink.emit(
            Event("guard.breached", file=guard.key, scope=guard.scope, action=guard.action, host=call.host)
        )
    told = "\n\n".join(guard.answer for guard in found)
    if found[0].action == "block":
        return HookAnswer(refusal=told, message=f"memdir: {found[0].key} refused a call of {one_line(tool.name)}")
    return HookAnswer(told)
