"""`make bench-cache`: what a fork reads from its parent's prompt cache, and what a naive side request would cost.

The official SDKs talk to the test suite's own server, which caches by the providers' documented rules and counts four
bytes as a token. Money is by the list prices in src/memdir/model/prices.json. A fork and the naive request do the same
work: two turns, the same job, the same replies. The naive one has a system prompt of its own, five tools and the
conversation as text, and sets no breakpoints.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.conversation import conversation, parent_request
from tests.provider_server import KEY, ProviderServer, calls, says
from tests.provider_server.prompt_cache import OPENAI_STEP

from benchmarks.measure import save
from memdir import MemoryType
from memdir.agent.file_access import DiskFiles
from memdir.agent.fork import ForkTools, Job, run_fork
from memdir.agent.gate import allow_all
from memdir.agent.tools.tool import Toolbox, ToolContext, memory_tools, told_of_bash
from memdir.memdir import MemDir, open_memory
from memdir.model.anthropic import AnthropicModel
from memdir.model.budget import Prices
from memdir.model.model import Model, RawCall, Request, Usage
from memdir.model.openai import OpenAIModel
from memdir.prompts.compose import load_prompt
from memdir.settings import Environment
from memdir.store.history import Origin
from memdir.store.memories import add_memory
from memdir.transcript.message import Message, user

MIN_READ_PERCENT = 99.0
SECONDS_BEFORE_MIDNIGHT = 1_790_035_140.0  # 2026-09-21 23:59 UTC
ANTHROPIC, CHAT, RESPONSES = "Anthropic messages", "OpenAI chat", "OpenAI responses"
MODELS = {ANTHROPIC: "claude-sonnet-5-5", CHAT: "gpt-5.4", RESPONSES: "gpt-5.6-luna"}


@dataclass
class Clock:
    """A clock that the benchmark moves."""

    now: float = SECONDS_BEFORE_MIDNIGHT

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Figures:
    """What came out for one provider."""

    provider: str
    model: str
    shared_tokens: int
    first_read_percent: float
    created_inside: int
    parent_after_percent: float
    after_write_percent: float
    after_midnight_percent: float
    fork: Usage
    naive: Usage
    fork_money: float
    naive_money: float

    @property
    def is_good(self) -> bool:
        """OpenAI caches in whole steps only, so what its newer models write begins inside the last one."""
        percents = (self.first_read_percent, self.parent_after_percent)
        more = (self.after_write_percent, self.after_midnight_percent)
        most_inside = 0 if self.provider == ANTHROPIC else OPENAI_STEP - 1
        return min(*percents, *more) >= MIN_READ_PERCENT and self.created_inside <= most_inside


def main() -> int:
    found = [asyncio.run(_measured(provider)) for provider in MODELS]
    for figures in found:
        _print(figures)
    print(f"(four bytes a token; list prices of {Prices().date}; the same as JSON in results/bench-cache.json)")
    save("bench-cache", [{**asdict(figures), "ok": figures.is_good} for figures in found])
    return 0 if all(figures.is_good for figures in found) else 1


async def _measured(provider: str) -> Figures:
    clock = Clock()
    with tempfile.TemporaryDirectory() as place, ProviderServer(clock=clock) as server:
        memory = _opened(Path(place), clock)
        model = _model(provider, server)
        try:
            return await _Session(provider, server, memory, model, clock).measure()
        finally:
            await model.close()


def _opened(place: Path, clock: Clock) -> MemDir:
    project = place / "project"
    project.mkdir()
    memory = open_memory(project, environment=Environment({"MEMDIR_HOME": str(place / "home")}), clock=clock)
    memory.start()
    return memory


def _model(provider: str, server: ProviderServer) -> Model:
    if provider == ANTHROPIC:
        return AnthropicModel(api_key=KEY, base_url=server.url)
    return OpenAIModel(api_key=KEY, base_url=f"{server.url}/v1", dialect="chat" if provider == CHAT else "responses")


@dataclass
class _Session:
    """One conversation with its forks, in the order in which things happen."""

    provider: str
    server: ProviderServer
    memory: MemDir
    model: Model
    clock: Clock

    async def measure(self) -> Figures:
        name = MODELS[self.provider]
        *messages, reply = conversation()
        parent = parent_request(name, self.memory.prompt(), messages)
        await self.model.complete(parent)
        shared = self.server.uses[-1].total
        forked = await self._work(parent, (reply,))
        first = self.server.uses[1]
        after_fork = await self._percent(parent_request(name, self.memory.prompt(), [*messages, reply, user("Next.")]))
        text = "Deploys are frozen until December"
        add_memory(self.memory.store, text, kind=MemoryType.PROJECT, origin=Origin("bench", trust="user"))
        after_write = await self._percent(
            parent_request(name, self.memory.prompt(), [*messages, reply, user("Next."), reply, user("And next.")])
        )
        self.clock.now += 120
        morning = parent_request(name, self.memory.prompt(), [*messages, reply, user("Next."), reply, user("Morning.")])
        after_midnight = await self._percent(morning)
        naive = await self._work(self._naive(messages), ())
        return Figures(
            self.provider,
            name,
            shared,
            100 * min(first.read, shared) / shared,
            max(0, min(shared - first.read, first.created)),
            after_fork,
            after_write,
            after_midnight,
            forked,
            naive,
            Prices().of(name, forked) or 0.0,
            Prices().of(name, naive) or 0.0,
        )

    async def _work(self, request: Request, since: Sequence[Message]) -> Usage:
        """The job in two turns: read and search, then write and be done."""
        self.server.add(calls(("Grep", {"pattern": "deploy"}), ("Glob", {"pattern": "*.md"})))
        self.server.add(says("Kept one thing. " * 9))
        box = Toolbox(memory_tools(), ToolContext(self.memory.place.root, DiskFiles()))
        prompt = load_prompt("extract/private.md")
        values = {"new_messages": "2", "directory": self.memory.place.root, "manifest": "None.", "own": ""}
        job = Job(prompt.render(bash=told_of_bash(box), **values), 5)
        return (await run_fork(request, job, ForkTools(self.model, box, allow_all), since=since)).usage

    async def _percent(self, request: Request) -> float:
        """How much of the conversation so far a request reads from the cache."""
        before = self.server.uses[0].total
        await self.model.complete(request)
        return 100 * min(self.server.uses[-1].read, before) / before

    def _naive(self, messages: Sequence[Message]) -> Request:
        """A side request as one would write it at first: an own prompt, the conversation as text, no breakpoints."""
        name = MODELS[self.provider]
        text = "Here is a conversation:\n\n" + "\n\n".join(_as_text(message) for message in messages)
        system = "You keep notes about conversations. " * 20
        tools = [tool.spec for tool in memory_tools()]
        if self.provider == ANTHROPIC:
            specs = [{"name": t.name, "description": t.description, "input_schema": t.input_schema} for t in tools]
            told = [{"role": "user", "content": text}]
            arguments = {"model": name, "max_tokens": 8192, "system": system, "messages": told, "tools": specs}
            return Request(name, raw=RawCall("anthropic", arguments))
        plain = [{"name": t.name, "description": t.description, "parameters": t.input_schema} for t in tools]
        if self.provider == CHAT:
            told = [{"role": "system", "content": system}, {"role": "user", "content": text}]
            functions = [{"type": "function", "function": function} for function in plain]
            return Request(name, raw=RawCall("openai-chat", {"model": name, "messages": told, "tools": functions}))
        items = [{"type": "function", "strict": False, **function} for function in plain]
        arguments = {
            "model": name,
            "instructions": system,
            "input": [{"role": "user", "content": text}],
            "tools": items,
        }
        return Request(name, raw=RawCall("openai-responses", arguments))


def _as_text(message: Message) -> str:
    calls_made = (f"calls {use.name} with {json.dumps(dict(use.input))}" for use in message.tool_uses)
    results = (result.content for result in message.tool_results)
    return "\n".join([f"{message.role}:", *filter(None, [message.text]), *calls_made, *results])


def _print(found: Figures) -> None:
    verdict = "ok" if found.is_good else "NOT AS PROMISED"
    print(f"{found.provider}, {found.model}: 60 messages, 30 tools, {found.shared_tokens:,} tokens shared   {verdict}")
    step = f" (its last, unfinished step of {OPENAI_STEP})" if found.created_inside else ""
    inside = f"of them, writes {found.created_inside} inside{step}"
    for told, percent, more in (
        ("a fork's first request reads", found.first_read_percent, inside),
        ("the parent's next turn reads", found.parent_after_percent, ""),
        ("after a memory write", found.after_write_percent, ""),
        ("after midnight", found.after_midnight_percent, ""),
    ):
        print(f"  {told:30} {percent:6.2f} % {more}")
    rows = (("fork", found.fork, found.fork_money), ("naive side request", found.naive, found.naive_money))
    for name, used, money in rows:
        sent = (
            f"{used.input:>7,} fresh {used.cache_created:>7,} written {used.cache_read:>7,} read {used.output:>5,} out"
        )
        print(f"  {name:19} {sent}   ${money:.4f}")
    print(f"  the naive one costs {found.naive_money / found.fork_money:.1f} times as much\n")


if __name__ == "__main__":
    sys.exit(main())
