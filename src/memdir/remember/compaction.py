"""Compaction: a conversation that outgrows the model's window goes on with a summary and its last messages (N7).

Whatever goes wrong, the conversation stays as it is: the only thing that changes it is one write at the very end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from memdir.agent.file_access import FileState, SingleFile
from memdir.agent.fork import ForkTools, Job, run_fork
from memdir.agent.gate import allow_all
from memdir.agent.tools.tool import Toolbox, ToolContext, shortened
from memdir.errors import MemdirError, ModelError
from memdir.events import session_compacted
from memdir.model.job import CompactJob
from memdir.model.model import Model, Request
from memdir.model.window import overhead_tokens
from memdir.prompts.compose import load_prompt
from memdir.remember.session_memory import Notes, SessionMemory
from memdir.remember.turn import Skipped, is_asked
from memdir.store.form import unspoilt
from memdir.text.nearness import Sentence
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Block, Message, Text, ToolResult, user
from memdir.transcript.tokens import Tail, estimate_message, estimate_messages, estimate_text, tail_start, whole_calls

if TYPE_CHECKING:
    from memdir.events import Sink

MAX_FAILURES = 3  # automatic attempts in a row that came to nothing; more would burn tokens every turn (B2)
MAX_SHORTENINGS = 3  # attempts at what is too long even to be summarised: giants are cut, then older halves dropped
LEAST_SHARE = 200  # a summary has at least this part of the tokens that it replaces,
MOST_NEEDED = 300  # but so many are always enough
SAME_WORDS = 10  # times that a word may stand in so many tokens, on average; scripts without spaces have long ones
MOST_SPOKEN = 60  # words that a conversation is about,
LEAST_SHARED = 3  # and how many of them, or of its numbers, a summary has
LEAST_HEADINGS = 2  # of those that were asked for
MAX_LAST_WORDS = 4_000  # characters of the user's last message
MAX_TURNS = 2  # the summary, and one more for a model that tried to call a tool
Trigger = Literal["auto", "manual"]
Method = Literal["session-memory", "model"]


@dataclass(frozen=True)
class Compacted:
    """The conversation now begins with a summary."""

    method: Method  # where the summary comes from: the notes of the session, or a model
    tokens_before: int  # of the conversation before
    tokens_after: int  # and now
    kept_messages: int  # how many of its last messages stand behind the summary
    prompt_hash: str = ""  # of the prompt, where a model was asked


@dataclass(frozen=True)
class CompactionPlan:
    """When a conversation is compacted, and what the user's own prompts are."""

    window_tokens: int
    percent: int = 80
    auto_compact: bool = True
    overrides: str = ""

    @property
    def limit_tokens(self) -> int:
        return self.window_tokens * self.percent // 100


@dataclass(frozen=True)
class _Proposal:
    """A summary and the messages that would stay."""

    method: Method
    text: str
    kept: tuple[Message, ...]
    prompt_hash: str = ""
    form: str = ""  # the prompt, with the headings that were asked for


@dataclass
class Compaction:
    """The compaction of one session."""

    memory: SessionMemory
    plan: CompactionPlan
    model: Model
    sink: Sink
    failures: int = 0

    def is_due(self, context_tokens: int) -> bool:
        """Whether the conversation fills so much of the window that it should be compacted before the next request."""
        return self.plan.auto_compact and self.failures < MAX_FAILURES and context_tokens >= self.plan.limit_tokens

    async def compact(
        self, conversation: Conversation, request: Request, *, keep: str = "", trigger: Trigger = "manual"
    ) -> Compacted | Skipped:
        """Compact now. `keep` is what the user wants kept in particular: then the model writes the summary first.

        `request` is the conversation's last request: its system prompt, tools and settings. Never raises MemdirError.
        """
        reasons = [reason] if (reason := _why_not(conversation)) else []
        ways: tuple[Method, ...] = () if reasons else ("session-memory", "model")
        for way in reversed(ways) if keep else ways:  # the best one first (N7)
            try:
                if way == "model":
                    proposal = await self._from_model(conversation, request, keep)
                else:
                    proposal = await self._from_notes(conversation)
                outcome = self._put(proposal, conversation, request, trigger)
            except MemdirError as error:
                outcome = Skipped(f"failed: {type(error).__name__}")
            if isinstance(outcome, Compacted):
                self.failures = 0
                self.sink.emit(session_compacted(trigger=trigger, work=vars(outcome)))
                return outcome
            reasons.append(outcome.reason)
        self.failures += trigger == "auto"
        self.sink.emit(session_compacted(trigger=trigger, work={}, skipped="; ".join(reasons)))
        return Skipped("; ".join(reasons))

    def _put(
        self, proposal: _Proposal | Skipped, conversation: Conversation, request: Request, trigger: Trigger
    ) -> Compacted | Skipped:
        """Put a summary in the place of the messages that it replaces, unless that would do harm."""
        if isinstance(proposal, Skipped):
            return proposal
        replaced = conversation.messages[: len(conversation.messages) - len(proposal.kept)]
        if not replaced:
            return Skipped("nothing_to_replace")
        if missing := _missing(proposal, replaced):
            return Skipped(missing)
        summary = _message(proposal.text, conversation, proposal.kept)
        if estimate_message(summary) >= estimate_messages(replaced):
            return Skipped("summary_larger_than_what_it_replaces")
        before = overhead_tokens(request) + estimate_messages(conversation.messages)
        after = overhead_tokens(request) + estimate_messages((summary, *proposal.kept))
        if after >= self.plan.limit_tokens:
            return Skipped("would_not_fit")
        metadata = {"trigger": trigger, "method": proposal.method, "preTokens": before, "postTokens": after}
        conversation.compact(summary, proposal.kept, metadata)
        return Compacted(proposal.method, before, after, len(proposal.kept), proposal.prompt_hash)

    async def _from_notes(self, conversation: Conversation) -> _Proposal | Skipped:
        """The notes that were kept all along, and every message that they do not cover."""
        await self.memory.settle()
        notes = self.memory.notes()
        if notes is None:
            return Skipped("no_session_memory")
        ids = [message.id for message in conversation.messages]
        covered = self.memory.session.summarized_up_to
        noted = conversation.messages[: ids.index(covered) + 1] if covered in ids else ()
        if not noted or any(one.is_off for one in self.memory.session.heard(noted)):  # noted is only what was heard
            return Skipped("session_memory_covers_unknown")
        kept = self._tail(conversation.messages, len(noted))
        return _Proposal("session-memory", notes.shortened(self.memory.path), kept)

    async def _from_model(self, conversation: Conversation, request: Request, keep: str) -> _Proposal | Skipped:
        """A summary that the model writes now."""
        prompt = load_prompt("compact/summary.md", overrides=self.plan.overrides)
        wish = load_prompt("compact/keep.md").render(wish=keep) if keep else ""
        job = Job(prompt.render(keep=wish), MAX_TURNS, prompt.hash, CompactJob(keep))
        messages = conversation.messages
        text = unspoilt(await self._summary(messages, request, job))
        if not text.strip():
            return Skipped("empty_summary")
        return _Proposal("model", text, self._tail(messages, len(messages)), prompt.hash, prompt.text)

    def _tail(self, messages: tuple[Message, ...], covered: int) -> tuple[Message, ...]:
        """The last messages, which stay; all that is unanswered among them, unless that is half of the window."""
        start, at = tail_start(messages, covered, Tail.within(self.plan.window_tokens)), len(messages)
        while at and messages[at - 1].role == "user" and not messages[at - 1].tool_results:
            at -= 1
        is_small = estimate_messages(messages[at:]) <= self.plan.window_tokens // 2
        return messages[min(start, at) if is_small else start :]

    async def _summary(self, messages: tuple[Message, ...], request: Request, job: Job) -> str:
        tools = Toolbox((), ToolContext(self.memory.cwd, SingleFile(self.memory.path), FileState()))
        said = {message.id for message in messages}
        before = takewhile(lambda one: one.is_meta and one.id not in said, request.messages)
        context = tuple(before)  # what a host puts before the conversation, so that the cache serves what follows
        for attempt in range(MAX_SHORTENINGS):
            try:
                asked = replace(request, messages=(*context, *messages), raw=None)
                report = await run_fork(asked, job, ForkTools(self.model, tools, allow_all))
                return report.run.final_text if report.is_complete else ""
            except ModelError as error:
                if error.kind != "context_too_long":
                    raise
                cut = tuple(_cut(message, self.plan.window_tokens // 2) for message in messages)
                is_giant = not attempt and cut != messages
                messages = cut if is_giant else messages[whole_calls(messages, len(messages) // 2) :]
        return ""


def _cut(message: Message, room: int) -> Message:
    """A message that the window has room for: of long texts the beginning and the end, in so many characters."""

    def cut(block: Block) -> Block:
        if isinstance(block, ToolResult):
            return replace(block, content=shortened(block.content, room))
        return Text(shortened(block.text, room)) if isinstance(block, Text) else block

    return replace(message, content=tuple(map(cut, message.content)))


def _why_not(conversation: Conversation) -> str:
    if not conversation.messages:
        return "nothing_said"
    return "in_a_call" if conversation.messages[-1].tool_uses else ""


def _missing(proposal: _Proposal, replaced: Sequence[Message]) -> str:
    """What a summary lacks to stand for what it replaces: an apology, a "Done.", the same words again and again or a
    plan to write one is none."""
    least = min(MOST_NEEDED, estimate_messages(replaced) // LEAST_SHARE)
    text, titles = proposal.text, [line.lstrip("# ") for line in proposal.form.splitlines() if line.startswith("#")]
    sections = Notes.under(text, titles).sections
    if sections:
        text = "\n".join(one.body for one in Notes(sections).of_substance(proposal.form).sections)
    words = " ".join(line.strip(" -*_#>\t") for line in text.splitlines() if not line.lstrip().startswith("#")).split()
    if estimate_text(" ".join(words)) < least:
        return "summary_too_short"
    if len(sections) < min(LEAST_HEADINGS, len(titles)):
        return "summary_without_headings"
    if len(set(words)) * SAME_WORDS < least:
        return "summary_of_the_same_words"
    return "" if not titles or _is_about(" ".join(words), proposal.form, replaced) else "summary_of_something_else"


def _is_about(text: str, form: str, replaced: Sequence[Message]) -> bool:
    """Whether a summary speaks of what was spoken of most: what says sorry, or what it will do, speaks of nothing."""
    spoken = [Sentence(message.text[:MAX_LAST_WORDS]) for message in replaced]
    asked, said = Sentence(form).terms, Counter(term for one in spoken for term in one.terms)
    subject = frozenset([term for term, _ in said.most_common() if term not in asked][:MOST_SPOKEN])
    found = frozenset(
        term for term in Sentence(text).terms & said.keys() if term in subject or any(map(str.isdigit, term))
    )
    return len(found) >= min(LEAST_SHARED, len(subject) // LEAST_SHARED)


def _message(summary: str, conversation: Conversation, kept: Sequence[Message]) -> Message:
    """The summary as the model gets it, with the user's last words, which may be a question that is still open."""
    path = conversation.transcript.path
    asked = next((one for one in reversed(conversation.messages) if is_asked(one) and one.text.strip()), None)
    if asked is not None and asked.id not in [message.id for message in kept] and asked.text.strip() not in summary:
        summary = load_prompt("compact/last_words.md").render(
            summary=summary, words=asked.text.strip()[:MAX_LAST_WORDS]
        )
    return user(load_prompt("compact/continued.md").render(summary=summary, transcript=path), is_meta=True)
