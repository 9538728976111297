"""The server's prompt caching follows the documented rules; otherwise what it proves would be worth nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Clock
from tests.provider_server.prompt_cache import AnthropicCache, CacheUse, OpenAICache, chat_prompt

MARK = {"cache_control": {"type": "ephemeral"}}
MODEL = "claude-sonnet-5"  # 1,024 tokens at least


def text(words: str, *, marked: bool = False, size: int = 400) -> dict[str, Any]:
    return {"type": "text", "text": words.ljust(size * 4), **(MARK if marked else {})}


def body(*blocks: dict[str, Any], model: str = MODEL, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": list(blocks)}], **more}


@pytest.fixture
def cache(clock: Clock) -> AnthropicCache:
    return AnthropicCache(clock)


def test_what_stands_before_a_breakpoint_is_written_then_read(cache: AnthropicCache) -> None:
    asked = body(text("a"), text("b"), text("c"), text("d", marked=True), text("e"))
    first, second = cache.use(asked), cache.use(asked)
    assert (first.read, second.created) == (0, 0)
    assert first.created == second.read > 1024
    assert first.fresh == second.fresh > 0


def test_a_mark_is_no_content(cache: AnthropicCache) -> None:
    cache.use(body(*(text(name) for name in "abc"), text("d", marked=True)))
    moved = cache.use(body(text("a", marked=True), *(text(name) for name in "bcd"), text("e", marked=True)))
    assert moved.read == 4 * moved.total // 5


def test_one_byte_before_the_breakpoint_is_enough_to_miss(cache: AnthropicCache) -> None:
    cache.use(body(*(text(name) for name in "abc"), text("d", marked=True)))
    assert cache.use(body(text("A"), *(text(name) for name in "bc"), text("d", marked=True))).read == 0


def test_the_order_of_keys_counts(cache: AnthropicCache) -> None:
    swapped = dict(reversed(text("a").items()))
    blocks = [text(name) for name in "bc"]
    cache.use(body(text("a"), *blocks, text("d", marked=True)))
    assert cache.use(body(swapped, *blocks, text("d", marked=True))).read == 0


@pytest.mark.parametrize(("added", "is_seen"), [(19, True), (20, False)])
def test_a_breakpoint_looks_back_twenty_blocks(cache: AnthropicCache, added: int, is_seen: bool) -> None:
    old = [text(str(number)) for number in range(5)]
    cache.use(body(*old[:-1], {**old[-1], **MARK}))
    new = [text(f"new {number}") for number in range(added)]
    use = cache.use(body(*old, *new[:-1], {**new[-1], **MARK}))
    assert bool(use.read) == is_seen


@pytest.mark.parametrize(
    ("model", "minimum"), [("claude-opus-5", 512), ("claude-sonnet-5", 1024), ("claude-haiku-4-5", 4096)]
)
def test_short_prompts_are_not_cached(cache: AnthropicCache, model: str, minimum: int) -> None:
    for size, is_cached in ((minimum - 20, False), (minimum, True)):
        asked = body(text("a", marked=True, size=size), model=model)
        assert bool(cache.use(asked).created) == is_cached
        assert bool(cache.use(asked).read) == is_cached


def test_an_entry_lives_five_minutes_from_its_last_use_or_an_hour(cache: AnthropicCache, clock: Clock) -> None:
    asked = body(text("a", marked=True, size=2000))
    long = body({**text("b", size=2000), "cache_control": {"type": "ephemeral", "ttl": "1h"}})
    cache.use(asked)
    cache.use(long)
    for _ in range(3):
        clock.now += 299
        assert cache.use(asked).read, "each use keeps it alive"
    clock.now += 301
    assert not cache.use(asked).read
    assert cache.use(long).read


def test_tools_come_before_system_and_system_before_messages(cache: AnthropicCache) -> None:
    tools = [{"name": "t", "description": "x" * 6000, "input_schema": {}}]
    system = [text("s", marked=True, size=1500)]
    message = text("m", marked=True, size=1500)
    whole = cache.use(body(message, tools=tools, system=system))
    another_message = cache.use(body(text("M", marked=True, size=1500), tools=tools, system=system))
    assert 0 < another_message.read < whole.total - 1400, "tools and system, not the message"
    another_tool = cache.use(body(message, tools=[{**tools[0], "name": "T"}], system=system))
    assert another_tool.read == 0


@pytest.mark.parametrize("more", [{"thinking": {"type": "adaptive"}}, {"tool_choice": {"type": "any"}}])
def test_some_settings_are_a_part_of_the_messages_key(cache: AnthropicCache, more: dict[str, Any]) -> None:
    system = [text("s", marked=True, size=1500)]
    whole = cache.use(body(text("m", marked=True, size=1500), system=system))
    changed = cache.use(body(text("m", marked=True, size=1500), system=system, **more))
    assert 0 < changed.read < whole.total - 1400


def test_models_share_nothing(cache: AnthropicCache) -> None:
    cache.use(body(text("a", marked=True, size=5000)))
    assert cache.use(body(text("a", marked=True, size=5000), model="claude-haiku-4-5")).read == 0


def openai_use(cache: OpenAICache, tokens: int, *, tail: str = "", **more: str) -> CacheUse:
    """A prompt of about so many tokens, then something of its own."""
    sent = {
        "model": "gpt-5.4",
        "messages": [{"role": "user", "content": "x" * tokens * 4}, {"role": "user", "content": tail}],
    }
    asked = {**sent, **more}
    return cache.use(asked, chat_prompt(asked))


def test_openai_caches_from_1024_tokens_in_steps_of_128(clock: Clock) -> None:
    assert openai_use(OpenAICache(clock), 1000).read == 0
    cache = OpenAICache(clock)
    openai_use(cache, 990, tail="one")
    assert openai_use(cache, 990, tail="two").read == 0
    openai_use(cache, 3000, tail="one")
    again = openai_use(cache, 3000, tail="two")
    assert again.read % 128 == 0
    assert again.total - 2 * 128 < again.read < again.total


def test_openai_forgets_and_keeps_keys_and_models_apart(clock: Clock) -> None:
    cache = OpenAICache(clock)
    openai_use(cache, 3000, prompt_cache_key="a")
    assert openai_use(cache, 3000, prompt_cache_key="a").read
    assert not openai_use(cache, 3000, prompt_cache_key="b").read
    assert not openai_use(cache, 3000, prompt_cache_key="a", model="gpt-5.6-luna").read
    clock.now += 3600
    assert not openai_use(cache, 3000, prompt_cache_key="a").read


def test_newer_openai_models_tell_what_they_wrote(clock: Clock) -> None:
    cache = OpenAICache(clock)
    first = openai_use(cache, 3000, model="gpt-5.6-luna")
    again = openai_use(cache, 3000, model="gpt-5.6-luna", tail="x" * 4000)
    assert first.created > 2900
    assert again.read + again.created <= again.total
    assert openai_use(cache, 3000, model="gpt-5.4").created == 0
