"""What a draft's judgement costs, in counts: what was said twice is compared once, and who has found enough stops."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from memdir.agent.evidence import Evidence, Said
from memdir.agent.forgotten import Forgotten
from memdir.layout import Place
from memdir.model.builtin.extract import Talk, draft_memories, lines_of
from memdir.search.index_store import nearest_headers
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType
from memdir.store.trust import Trust
from memdir.text.speakers import Speaker, own_words, pieces_of
from memdir.transcript.message import user

from ..counting import calls_of
from ..model.builtin.extract.talk import NOW

CLAIM = "The deployment runs on a Tuesday morning in the small cluster of the harbour office"


def test_a_line_that_a_log_repeats_is_compared_once() -> None:
    log = Said("m2", "47 tests passed in the harbour office\n" * 900, Trust.TOOL, Speaker.TOOL)
    evidence = Evidence([Said("m1", "Run the tests again.", Trust.USER, Speaker.USER), log])
    assert 0 < calls_of("nearness", lambda: evidence.support(CLAIM, MemoryType.PROJECT, "en")) < 10


def test_what_stands_here_is_found_without_looking_at_every_language(tmp_path: Path) -> None:
    store = MemoryStore(Place(str(tmp_path / "memory")))
    store.ensure()
    for number in range(80):
        said = f"Der Hafen hat {number} Kräne und die Werft ist neben dem Büro." if number else f"{CLAIM}, they say."
        text = f"---\nname: note {number}\ndescription: {said}\ntype: project\n---\n\n{said}\n"
        (tmp_path / "memory" / f"note_{number}.md").write_text(text, encoding="utf-8")
    forgotten = Forgotten([store], tuple)
    assert forgotten.stands(f"{CLAIM}.")
    assert calls_of("nearness", lambda: forgotten.stands(f"{CLAIM}.")) < 20
    assert calls_of("tongue_of", lambda: Forgotten([store], tuple).stands(f"{CLAIM}.")) < 20


def test_a_message_is_taken_apart_once() -> None:
    text = "No, use the real database.\n\nFrom: kim@example.org\nSubject: tests\n\nplease mock it"
    own_words(text)
    assert calls_of("cut_pastes", lambda: (list(pieces_of(text)), own_words(text))) == 0


def test_a_conversation_is_observed_once_for_all_turns_of_a_job() -> None:
    said = [user("From now on use tabs in Makefiles, please.")]
    talk = Talk(lines_of(said), datetime.fromisoformat(NOW), "", ())
    assert draft_memories(talk)
    assert calls_of("clauses", lambda: draft_memories(talk)) == 0


def test_where_nothing_is_asked_for_no_index_is_brought_up_to_date(tmp_path: Path) -> None:
    """A dream lists the newest memories, and one that is asked for twice is searched for once."""
    store = MemoryStore(Place(str(tmp_path / "memory")))
    store.ensure()
    for number in range(4):
        text = f"---\nname: note {number}\ndescription: {CLAIM}\ntype: project\n---\n\n{CLAIM}.\n"
        (tmp_path / "memory" / f"note_{number}.md").write_text(text, encoding="utf-8")
    headers = store.scan(limit=None).headers
    assert calls_of("refresh", lambda: nearest_headers(store, headers, (), limit=2)) == 0
    assert calls_of("search", lambda: nearest_headers(store, headers, [CLAIM, CLAIM], limit=2)) == 1
    assert calls_of("parse_type", lambda: [one.type for one in headers]) <= 1, "a type is read once, not for each file"
