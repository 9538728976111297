"""The extra `minilm`: tokens, the two directions side by side, and a selector that is never waited for (R3, R4)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memdir import open_memory
from memdir.recall.prefetch import RecallThreads, WarmSelector, open_selector
from memdir.recall.selection import LocalSelector, Recalled
from memdir.search import has_sentence_model
from memdir.search.minilm import MODEL_PATH, PairEncoder, SentenceModel, WordPiece
from memdir.search.vectors import WordEncoder
from memdir.text.embedding import open_table

MAX_MODEL_BYTES = 45_000_000  # all that was learned, together
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "deploy", "##ing", "on", "friday", "!", "東", "uber", "-"]
needs_runtime = pytest.mark.skipif(not has_sentence_model(), reason="the extra minilm is not installed")


def tokens(text: str, limit: int = 20) -> list[str]:
    return [VOCABULARY[at] for at in WordPiece(VOCABULARY).ids(text, limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Deploying on FRIDAY!", ["deploy", "##ing", "on", "friday", "!"]),
        ("über-東", ["uber", "-", "東"]),
        ("on\x00 \ufffdfriday", ["on", "friday"]),
        ("qqq on", ["[UNK]", "on"]),
        ("on" * 80, ["[UNK]"]),
        ("", []),
    ],
)
def test_text_is_cut_into_known_pieces(text: str, expected: list[str]) -> None:
    assert tokens(text) == ["[CLS]", *expected, "[SEP]"]


def test_a_long_text_ends_at_the_limit_with_its_mark() -> None:
    assert tokens("on " * 50, limit=5) == ["[CLS]", "on", "on", "on", "[SEP]"]


def test_the_weights_are_small_enough_to_ship() -> None:
    package = Path(MODEL_PATH).parents[2]
    learned = [*package.rglob("data/*"), *package.glob("model/builtin/**/*.txt")]
    assert sum(path.stat().st_size for path in learned) <= MAX_MODEL_BYTES


@needs_runtime
def test_a_rule_is_told_from_what_a_message_does_not_need_by_reading_both_together() -> None:
    memories = [
        "feedback: Commit messages. Conventional commits, subject in English, ticket number at the end.",
        "project: Kitchen rota. Who cleans the kitchen in which week.",
        "reference: Dashboards. Sales figures are in Grafana under shop/overview.",
    ]
    model = SentenceModel()
    rule, *others = model.relevance("looks good, get it into git please", memories)
    assert rule > max(others) + 1
    assert max(model.relevance("thanks, see you tomorrow!", memories)) < rule


@needs_runtime
def test_the_sentence_model_understands_what_shares_no_word() -> None:
    encoder = PairEncoder(open_table(), SentenceModel())
    texts = ["the vehicle will not start", "my car refuses to turn on", "a recipe for onion soup"]
    parts = [(text, text.split()) for text in texts]
    question = encoder.query_vector(parts[0])
    near, far = encoder.doc_vectors(parts[1:])
    assert question and near and far
    assert question.similarity(near) > question.similarity(far) + 0.2


@needs_runtime
def test_the_runtime_reports_nothing_to_its_maker(tmp_path: Path) -> None:
    """Since version 1.29 it keeps an id of the machine and events to send in the user's home, from its import on."""
    code = "from memdir.search.minilm import SentenceModel; SentenceModel().embed(['deploys are frozen'])"
    names = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}  # on a build server it is silent by itself
    subprocess.run([sys.executable, "-c", code], env=names, check=True)
    assert list(tmp_path.rglob("*")) == []


def test_its_index_is_kept_apart_from_the_one_that_hooks_read(tmp_path: Path) -> None:
    root, place = tmp_path / "memory", tmp_path / "index"
    root.mkdir()
    (root / "car.md").write_text("---\nname: Car\ndescription: the car is in the garage\ntype: user\n---\n\nAlways.\n")
    selector = open_selector(str(root), str(place))
    assert selector is not None
    assert selector.refresh() == 1
    assert selector.search("vehicle", limit=1) == ["car.md"]
    words = LocalSelector(str(root), str(place), encoder=WordEncoder(open_table()))
    assert words.refresh() == 1  # its own index is still to be made
    again = open_selector(str(root), str(place))
    assert again is not None
    assert again.refresh() == 0  # nothing is embedded twice


FOUND = Recalled(None, None)  # type: ignore[arg-type]


def test_a_selector_that_is_not_installed_is_not_asked_again() -> None:
    opened: list[int] = []

    def none(_: object) -> None:
        opened.append(1)

    staying = WarmSelector(none, RecallThreads())
    assert staying.ask(lambda _: FOUND) is None
    assert staying.ask(lambda _: FOUND) is None
    assert opened == [1]


def test_a_selector_that_cannot_be_loaded_counts_as_missing() -> None:
    def broken(_: object) -> LocalSelector:
        raise ImportError("no such runtime")

    assert WarmSelector(broken, RecallThreads()).ask(lambda _: FOUND) is None


def test_an_answer_that_is_late_is_not_waited_for_and_a_second_question_meanwhile_is_refused(
    tmp_path: Path,
) -> None:
    held = threading.Event()
    staying = WarmSelector(lambda _: LocalSelector(str(tmp_path), str(tmp_path / "index")), RecallThreads())

    def slow(_: LocalSelector) -> Recalled:
        held.wait(20)
        return FOUND

    assert staying.ask(slow, max_seconds=0.05) is None
    assert staying.ask(lambda _: FOUND) is None  # still busy
    held.set()
    while (found := staying.ask(lambda _: FOUND)) is None:
        pass
    assert found is FOUND


A_HOST_THAT_ENDS_WHILE_MEMORIES_ARE_EMBEDDED = """
import asyncio, sys, threading
from memdir import open_memory

async def main():
    memory = open_memory(sys.argv[1])
    memory.session("a").prefetch("which port does the database listen on?")
    while "onnxruntime" not in sys.modules:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    if sys.argv[2] == "close":
        await memory.close()
        assert not [thread for thread in threading.enumerate() if thread.name == "memdir recall"]

asyncio.run(main())
"""


@needs_runtime
@pytest.mark.parametrize("end", ["close", "exit"])
def test_a_host_ends_cleanly_while_memories_are_being_embedded(tmp_path: Path, project: Path, end: str) -> None:
    memory = open_memory(str(project))
    memory.start()
    for number in range(300):
        head = f"---\nname: m{number}\ndescription: subject {number}\ntype: project\n---\n\n"
        Path(memory.place.root, f"m{number}.md").write_text(head + f"Text {number} with words to embed.\n" * 9)
    command = [sys.executable, "-c", A_HOST_THAT_ENDS_WHILE_MEMORIES_ARE_EMBEDDED, str(project), end]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
