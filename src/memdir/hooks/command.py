"""`memdir hook` as the help knows it. A call of a host never comes here: it needs no parser, and must not have one."""

from __future__ import annotations

from memdir.hooks.hook import EVENTS, HOSTS, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


class HookCommand:
    """What a coding agent calls at its events; nobody types it. The event comes as JSON by standard input, the answer
    is printed in the form that the agent takes, and whatever happens the exit code is 0.

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
