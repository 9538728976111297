"""Whatever people type: extraction never fails, gives the same twice, and keeps its limits."""

from __future__ import annotations

from datetime import UTC, date, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from memdir.model.builtin.extract import Existing, Talk, draft_memories, lines_of
from memdir.text.dates import Clock, read_any, read_dates
from memdir.text.words import cut_at_word
from memdir.transcript.message import assistant, user

WORDS = st.sampled_from(
    [
        "always",
        "never",
        "from",
        "now",
        "on",
        "please",
        "don't",
        "because",
        "since",
        "Monday",
        "next",
        "week",
        "in",
        "two",
        "weeks",
        "the",
        "end",
        "of",
        "month",
        "tomorrow",
        "I'm",
        "a",
        "nurse",
        "the",
        "logs",
        "are",
        "in",
        "Grafana",
        "immer",
        "nie",
        "ab",
        "jetzt",
        "übermorgen",
        "siempre",
        "以后",
        "下周三",
        "必ず",
        "来週の金曜日",
        "항상",
        "`",
        "```",
        '"',
        "'",
        "“",
        "”",
        ">",
        "<",
        ":",
        ";",
        ",",
        ".",
        "!",
        "?",
        "…",
        "—",
        "12",
        "3.",
        "2026-13-40",
        "31st",
        "0/0",
        "99/99/2026",
        "<",
        "system-reminder",
        ">",
        "</b>",
        "\u200b",
        "\n",
    ]
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=40).map(" ".join))
NOW = datetime(2026, 5, 6, 10, tzinfo=UTC)


def conversation(texts: list[str], memories: list[str]) -> Talk:
    script = [assistant(text) if at % 2 else user(text) for at, text in enumerate(texts)]
    existing = tuple(Existing(f"m{at}.md", text[:20], text, None, text) for at, text in enumerate(memories))
    return Talk(lines_of(script), NOW, "", existing)


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, max_size=6), st.lists(TEXTS, max_size=3))
def test_any_talk_is_survived_and_judged_the_same_twice(texts: list[str], memories: list[str]) -> None:
    talk = conversation(texts, memories)
    first = draft_memories(talk)
    assert first == draft_memories(talk)
    for draft in first:
        assert len(draft.body) <= 1500
        assert len(draft.description) <= 150
        assert draft.type in ("user", "feedback", "project", "reference") or draft.action == "delete"
        assert "/" not in draft.file
        assert "\n" not in draft.name + draft.description


@settings(max_examples=200, deadline=None)
@given(
    TEXTS,
    st.sampled_from(["en", "de", "fr", "es", "pt", "it", "nl", "pl", "ru", "zh", "ja", "ko", "tr", "xx"]),
    st.dates(),
)
def test_any_text_can_be_read_for_dates_on_any_day(text: str, language: str, today: date) -> None:
    for span in (*read_dates([text, text], Clock(today, language, (today,)))[0], *read_any(text, today)):
        assert 0 <= span.start <= span.end <= len(text)
        assert span.days


@given(st.text(max_size=100), st.integers(2, 60))
def test_a_shortened_text_fits(text: str, most: int) -> None:
    assert len(cut_at_word(text, most)) <= most
