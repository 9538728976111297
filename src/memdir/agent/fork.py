"""A fork: the parent's request byte for byte, one message with a job, and a state of its own (G1–G3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace

from memdir.agent.gate import READING, WRITING, Gate
from memdir.agent.loop import Abort, AgentRun, run_agent
from memdir.agent.tools.tool import Toolbox
from memdir.model.job import TypedJob
from memdir.model.model import CachePolicy, Model, Request, Usage
from memdir.prompts.compose import load_prompt
from memdir.transcript.message import Message, user

# Plain words for "there is nothing to do". In a language that has none here the nudge costs one reply more.
_NOTHING = re.compile(
    r"\W*(?:(?:ok(?:ay)?|understood|thanks|sorry|well|hm+)\W+)?"
    r"(?:there(?:'s| is| was| are)\s+|i (?:see|saw|found|have|kept|changed)\s+)?"
    r"(?:nothing|none|no|not|n/a|skip(?:ped)?|nichts|keine?|rien|aucune?|nada|ning[uú]na?|niente|nessuna?|nenhuma?"
    r"|niets|geen|nic|inget|ingenting|ничего|нет|нічого|hiçbir)(?!\w)"
    r"|\W*(?:没有|無|无|なし|特に|없)",
    re.IGNORECASE,
)
# A file, a call in words, or an announcement in the place of a call.
_TOLD = re.compile(
    r"^[ \t]*(?:description|type)[ \t]*[:=]|</?(?:tool_call|function|invoke|tool_use|write)\b"
    r"|\"(?:file_path|arguments)\"\s*:"
    r"|\b(?:Write|Edit)\s*\(|\b(?:i'?ll|i will|i'm going to|let me|i(?:'ve| have)?)\s+(?:now\s+|just\s+)?"
    r"(?:sav|wr[io]t|record|stor|creat|updat|remember|add|not(?:e|ed)\b|merg|delet|remov|keep|kept)"
    r"|\b(?:saved|wrote|written|created|updated|recorded|stored|added|merged|deleted)\b[^\n]*\.md\b",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Job:
    """What a fork is to do: the text of its one message, how long it may take, and the facts behind the text."""

    text: str  # of its one message
    max_turns: int  # replies it may take
    prompt_hash: str = ""  # of the prompt that the text was rendered from
    typed: TypedJob | None = None  # the same as data, for the built-in model
    spare_turns: int = 0  # for a model that reads or writes one file a turn
    is_writing: bool = False  # its files are what counts: words in their place are answered once


@dataclass(eq=False)  # each is of one fork
class ForkProgress:
    """How far a fork is, for who watches it: pass `saw` as `on_progress`."""

    turns: int = 0  # replies of the model so far
    files: list[str] = field(default_factory=list)  # written or edited so far
    words: str = ""  # what it said last

    def saw(self, message: Message) -> None:
        """Follow the fork's messages."""
        if message.role != "assistant":
            return
        self.turns += 1
        self.words = message.text.strip() or self.words
        touched = [str(use.input.get("file_path", "")) for use in message.tool_uses if use.name in WRITING]
        self.files += [path for path in touched if path not in self.files]


@dataclass(frozen=True)
class BackgroundTask:
    """Something that runs behind a conversation: what it is, how far it is, and how it is stopped."""

    name: str  # what it does, as in "dreaming"
    progress: ForkProgress  # how far it is
    stop: Callable[[], object]  # ends it; what it had to do comes again
    phase: str = ""  # where it is, where it has phases


@dataclass(frozen=True)
class ForkTools:
    """What a fork works with. The box must be its own, as `Toolbox.forked` makes it from the parent's (G2)."""

    model: Model  # who is asked
    tools: Toolbox  # a box of its own
    gate: Gate  # what judges each call


@dataclass(frozen=True)
class ForkReport:
    """What a fork did and cost (G3)."""

    job: Job  # what it was to do
    run: AgentRun  # how that went

    @property
    def usage(self) -> Usage:
        """What it cost."""
        return self.run.usage

    def counts(self) -> dict[str, int | float]:
        """Its cost in figures, for events."""
        more = {"cache_hit_percent": round(self.usage.hit_percent, 1), "turns": self.run.turns}
        return {**asdict(self.usage), **more}

    @property
    def is_complete(self) -> bool:
        """Whether the model came to an end of its own, and not for want of words."""
        return not self.run.failure


def fork_request(parent: Request, text: str, *, since: Sequence[Message] = (), job: TypedJob | None = None) -> Request:
    """The parent's request, what was said since it was sent, and the job.

    The cache breakpoint stays where the parent's last one was: the fork reads what the parent wrote and writes nothing
    of its own that nobody would read again (G2).
    """
    last = parent.cache.last_message if parent.cache.last_message is not None else len(parent.messages) - 1
    cache = CachePolicy(last_message=last, key=parent.cache.key)
    return replace(parent, messages=(*parent.messages, *since, user(text, is_meta=True)), cache=cache, job=job)


async def run_fork(
    parent: Request,
    job: Job,
    tools: ForkTools,
    *,
    since: Sequence[Message] = (),
    abort: Abort | None = None,
    on_progress: Callable[[Message], None] | None = None,
) -> ForkReport:
    """Run a job beside the conversation. Nothing it reads or writes reaches the parent; no transcript is kept."""
    run = await run_agent(
        fork_request(parent, job.text, since=since, job=job.typed),
        tools.model,
        tools.tools,
        tools.gate,
        max_turns=job.max_turns,
        abort=abort,
        on_message=on_progress,
        spare_turns=job.spare_turns,
        nudge=_nudge if job.is_writing else None,
    )
    return ForkReport(job, run)


def _nudge(run: AgentRun) -> str:
    """What to answer where a model wrote nothing and did not plainly say that there is nothing to write."""
    words = run.final_text
    is_nothing = _NOTHING.match(words) or not any(map(str.isalnum, words))
    has_tried = any(use.name not in READING for message in run.messages for use in message.tool_uses)
    if has_tried or run.failure or (is_nothing and not _TOLD.search(words)):
        return ""
    return load_prompt("extract/nudge.md").text.rstrip("\n")
