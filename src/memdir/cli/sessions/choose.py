"""Which sessions a command means: of which agent, and which one."""

from __future__ import annotations

from memdir.transcript.session_list import LATEST, find_session
from memdir.transcript.sources.claude_code import ClaudeCodeSessions
from memdir.transcript.sources.codex import CodexSessions
from memdir.transcript.sources.source import OwnSessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from memdir.cli.context import Context
    from memdir.transcript.session_list import Glance
    from memdir.transcript.sources.source import SessionRef, TranscriptSource

AGENTS = ("memdir", "claude-code", "codex")


def add_agent(parser: argparse.ArgumentParser) -> None:
    text = f"whose sessions: {', '.join(AGENTS)} or all (default: memdir)"
    parser.add_argument("--agent", choices=(*AGENTS, "all"), default="memdir", metavar="AGENT", help=text)


def add_session(parser: argparse.ArgumentParser) -> None:
    text = "a session's id, or the beginning of one (default: the latest)"
    parser.add_argument("session", metavar="SESSION", nargs="?", default=LATEST, help=text)


def sources(context: Context, agent: str = "memdir") -> Mapping[str, TranscriptSource]:
    """The transcripts of an agent, or of all of them, by the agent's name."""
    environment = context.environment
    known: dict[str, TranscriptSource] = {
        "memdir": OwnSessions(environment.home),
        "claude-code": ClaudeCodeSessions(environment.claude_home),
        "codex": CodexSessions(environment.codex_home),
    }
    return known if agent == "all" else {agent: known[agent]}


def sessions(context: Context, agent: str = "memdir") -> list[SessionRef]:
    """The sessions of this project, newest first."""
    project = context.memory.layout.work_tree
    found = [ref for source in sources(context, agent).values() for ref in source.sessions(project)]
    return sorted(found, key=lambda ref: -ref.modified)


def chosen(context: Context, wanted: str, agent: str = "memdir") -> SessionRef:
    return find_session(sessions(context, agent), wanted)


def look(context: Context, ref: SessionRef) -> Glance:
    """A session at a glance."""
    from memdir.transcript.session_list import glance

    notes = context.memory.layout.session_memory(ref.id) if ref.agent == "memdir" else ""
    return glance(ref, sources(context, ref.agent)[ref.agent], notes=notes)
