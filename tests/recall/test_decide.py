"""Few or none: what is shown for a message over a small directory of our own (R1-R3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memdir.disk.shipped import shipped_lines
from memdir.recall.decide import (
    LEARNED_PATH,
    MAX_CHOSEN,
    MOST_READ,
    NAMES,
    Calibration,
    Decision,
    decide,
    load_calibration,
    reading,
)
from memdir.search.document import Document, Question
from memdir.search.minilm import PairEncoder, SentenceModel
from memdir.search.ranking import Ranking, rank
from memdir.search.segment import Segment
from memdir.search.vectors import WordEncoder
from memdir.text.embedding import open_table
from tests.search.worlds import BAKERY, NOW_DAY, memory, segment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memdir.search.vectors import Encoder

LEARNED = load_calibration("words")
_ROWS = [line.split() for line in shipped_lines(LEARNED_PATH)]
FIELDS = {field: [float(number) for number in row] for name, field, *row in _ROWS if name == "words"}


@pytest.fixture(scope="module")
def encoder() -> WordEncoder:
    return WordEncoder(open_table())


@pytest.fixture(scope="module")
def bakery(encoder: WordEncoder) -> Segment:
    return segment_of(BAKERY, encoder)


def ask(
    encoder: WordEncoder, segment: Segment, text: str, tools: tuple[str, ...] = (), surfaced: tuple[str, ...] = ()
) -> tuple[Ranking, Decision]:
    question = Question(text, encoder)
    ranking = rank(question, [segment])
    return ranking, decide(question, ranking, LEARNED, today=NOW_DAY, recent_tools=tools, surfaced=surfaced)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("write integration tests for the oven client", "real_oven.md"),
        ("what flags does invo need to list invoices?", "invoice_tool.md"),
        ("commit this, the ticket is OVEN-12", "commits.md"),
        ("where are the sales dashboards?", "dashboard.md"),
        ("can we release on 2026-07-12?", "freeze.md"),
    ],
)
def test_the_memory_that_helps_is_shown(encoder: WordEncoder, bakery: Segment, text: str, key: str) -> None:
    assert key in ask(encoder, bakery, text)[1].chosen


@pytest.mark.parametrize(
    "text", ["thanks, great!", "lol ok", "how do I reverse a string in python?", "explain how a hash map works", ""]
)
def test_small_talk_and_textbook_questions_get_nothing(encoder: WordEncoder, bakery: Segment, text: str) -> None:
    assert ask(encoder, bakery, text)[1].chosen == []


def test_usage_notes_of_a_tool_in_use_are_left_out_and_its_traps_kept(encoder: WordEncoder, bakery: Segment) -> None:
    chosen = ask(encoder, bakery, "invo again: void the last two invoices", tools=("invo", "Bash"))[1].chosen
    assert "invoice_tool.md" not in chosen
    assert "invoice_traps.md" in chosen


def test_what_was_surfaced_takes_no_place(encoder: WordEncoder, bakery: Segment) -> None:
    text = "write integration tests for the oven client"
    ranking, decision = ask(encoder, bakery, text, surfaced=("real_oven.md",))
    assert "real_oven.md" not in {verdict.candidate.key for verdict in decision.verdicts}
    assert len(decision.chosen) <= MAX_CHOSEN
    assert ranking.candidates


def test_every_verdict_explains_itself(encoder: WordEncoder, bakery: Segment) -> None:
    ranking, decision = ask(encoder, bakery, "what flags does invo need to list invoices?")
    for verdict in decision.verdicts:
        assert verdict.reasons(ranking)
        assert verdict.is_chosen or verdict.remark


def test_the_newer_of_two_equal_memories_comes_first(encoder: WordEncoder) -> None:
    twins = [BAKERY[0], BAKERY[0]]
    older, newer = (
        type(one)(f"{n}.md", title=one.title, description=one.description, mtime_ns=n) for n, one in enumerate(twins)
    )
    ranking = rank(Question("oven tests", encoder), [segment_of([older, newer], encoder)])
    assert [candidate.key for candidate in ranking.candidates] == ["1.md", "0.md"]


def test_a_typo_still_finds_its_word(encoder: WordEncoder, bakery: Segment) -> None:
    ranking = rank(Question("grafna dashbords", encoder), [bakery])
    assert ranking.candidates[0].key == "dashboard.md"


@pytest.mark.parametrize("encoder", ["words", "pair"])
def test_every_signal_has_a_weight(encoder: str) -> None:
    assert len(load_calibration(encoder).weights) == len(NAMES)


EVERYDAY = """\
fix the failing test in src/api.py
what time is it in Tokyo?
Please refactor the login form to use hooks
How do I center a div?
Rename the variable foo to bar everywhere
write a function that reverses a linked list
thanks, that works
why does npm install fail with EACCES
add a dark mode toggle to the settings page
explain the difference between TCP and UDP
Can you review my pull request?
deploy the service to staging
the build is red again
let's write documentation for the new endpoint
What did we decide about the database schema?
Update the README with installation instructions
run the linter
Which port does postgres use?
please translate this text to French
I want to migrate from webpack to vite
how many users signed up last week?
make the button bigger
what is the capital of France
optimise this SQL query
create a new branch for the hotfix
what's our policy on code review?
who owns the billing service?
set up CI with GitHub Actions
tell me a joke
when is the next release?
""".splitlines()

ALONE = [
    memory("plants.md", "project", "Office plants", "the office plants are watered on Mondays by Ann"),
    memory("role.md", "user", "Role", "a senior backend engineer who prefers short answers"),
    memory("pots.md", "feedback", "No succulents", "never buy succulents: they rot in the kitchen"),
    memory("care.md", "reference", "Plant care", "the guide for plants lies in Notion"),
]


@pytest.mark.parametrize("only", ALONE, ids=lambda only: only.kind)
def test_the_only_memory_is_not_shown_for_whatever_is_said(encoder: WordEncoder, only: Document) -> None:
    """R3: no shared word and no nearness, not shown, however small the store."""
    alone = segment_of([only], encoder)
    assert [text for text in EVERYDAY if ask(encoder, alone, text)[1].chosen] == []


def test_the_only_memory_is_shown_for_what_it_is_about(encoder: WordEncoder) -> None:
    alone = segment_of(ALONE[:1], encoder)
    ranking, decision = ask(encoder, alone, "who waters the office plants on Mondays?")
    assert decision.chosen == ["plants.md"]
    port = segment_of([memory("port.md", "project", "The api runs on port 8080", "The api runs on port 8080")], encoder)
    for text in ("which port does the api use?", "which port does the api have?", "what port is the api on?"):
        assert ask(encoder, port, text)[1].chosen == ["port.md"], text
    for text in ("how do I use an api?", "which api does the weather service use?", "use port forwarding"):
        assert ask(encoder, port, text)[1].chosen == [], text
    ranking, decision = ask(encoder, alone, "deploy the service to staging")
    assert decision.chosen == []
    assert "not clearly useful" in decision.verdicts[0].reasons(ranking)


ELSEWHERE = """\
bump the version and tag it
write me a bash script that counts lines
Please refactor the login form to use hooks
add unit tests for the parser module
escribe un correo para el cliente
schreib bitte einen Test für die Funktion
corrige o erro de compilação por favor
pourquoi le serveur ne répond pas
jak działa garbage collector
今天天气怎么样
이 함수 설명해줘
""".splitlines()
HANDFUL = [
    memory("tabs.md", "feedback", "Tabs not spaces", "use tabs in Go files. Why: gofmt. How to apply: every Go file"),
    memory("freeze.md", "project", "Merge freeze", "Merges are frozen until 2026-12-05 for the mobile launch"),
    memory("skills.md", "user", "Languages", "speaks Japanese and Dutch, writes Rust at work, is new to React"),
    memory("salon.md", "project", "Chat de l'équipe", "l'équipe parle dans le salon Atelier du lundi au jeudi"),
    memory("urlaub.md", "project", "Urlaub", "Im August ist das Team drei Wochen im Urlaub"),
]


@pytest.mark.parametrize("kind", ["words", "pair"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_handful_says_nothing_to_messages_about_something_else(encoder: WordEncoder, kind: str, size: int) -> None:
    """R3: whatever the message asks for, what shares no word with it and is not near stays away."""
    asked_of: Encoder = encoder if kind == "words" else PairEncoder(open_table(), SentenceModel())
    learned = load_calibration(kind)
    for first in range(len(HANDFUL)):
        segment = segment_of((HANDFUL * 2)[first : first + size], asked_of)
        for text in ELSEWHERE:
            ranking = rank(question := Question(text, asked_of), [segment])
            decision = decide(question, ranking, learned, today=NOW_DAY)
            assert [(text, key) for key in decision.chosen] == []


def read_as(told: dict[str, float], asked: list[list[str]]) -> Callable[[list[str]], list[float]]:
    def read(keys: list[str]) -> list[float]:
        asked.append(keys)
        return [told.get(key, -8.0) for key in keys]

    return read


def test_what_is_read_together_with_the_message_can_be_chosen_or_dropped(encoder: WordEncoder, bakery: Segment) -> None:
    """The surest few alone are read; what reading says is weighed with what was known before (R2)."""
    learned = Calibration({**FIELDS, "reading": [0.5, 0.5, 0.0, 0.3]}, LEARNED.needs)
    question = Question("write integration tests for the oven client", encoder)
    asked: list[list[str]] = []

    def chosen(told: dict[str, float]) -> list[str]:
        ranking = rank(question, [bakery])
        return decide(question, ranking, learned, today=NOW_DAY, read=read_as(told, asked)).chosen

    assert chosen({"real_oven.md": 4.0}) == ["real_oven.md"]
    assert "real_oven.md" not in chosen({"real_oven.md": -9.0})
    assert asked
    assert max(map(len, asked)) <= MOST_READ


def test_nothing_is_read_for_a_message_that_needs_nothing(encoder: WordEncoder, bakery: Segment) -> None:
    learned = Calibration({**FIELDS, "reading": [0.5, 0.5, 0.0, 0.3]}, LEARNED.needs)
    asked: list[list[str]] = []
    question = Question("thanks, great!", encoder)
    decision = decide(question, rank(question, [bakery]), learned, today=NOW_DAY, read=read_as({}, asked))
    assert (decision.chosen, asked) == ([], [])


def test_a_memory_is_read_with_its_type_and_what_a_person_wrote_around_a_paste_comes_first() -> None:
    seen: list[tuple[str, list[str]]] = []

    class Reader:
        def relevance(self, message: str, texts: Sequence[str]) -> list[float]:
            seen.append((message, list(texts)))
            return [0.0] * len(texts)

    paste = "why does it hang?\n" + "line of a log\n" * 6 + "\nsame as yesterday"
    held = {"a.md": Document("a.md", title="Oven", description="never restart it", kind="feedback", body="It burns.")}
    assert reading(Reader(), paste, held.get)(["a.md", "gone.md"]) == [0.0, 0.0]
    [(message, texts)] = seen
    assert message.startswith("why does it hang? same as yesterday ... why does it hang?")
    assert texts == ["feedback: Oven. never restart it. It burns.", ""]
