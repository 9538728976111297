"""What a person forgot, took back or replaced stays gone, whatever a model reads in old conversations; said again, it
is new (D3, L1, X4, X10)."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memdir.agent.forgotten import MAX_ALIKE, _ByWord, _Told
from memdir.dream.dream import DreamReport, DreamTask, NotDreamt
from memdir.memdir import MemDir, open_memory
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Model, Request, ScriptedModel, calls, says
from memdir.remember.catch_up import CatchUp
from memdir.remember.extract import ExtractionPlan
from memdir.remember.session_state import SessionState
from memdir.store.undo import restore
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, user
from tests.conftest import Clock, Events
from tests.remember.conftest import topic

SECRET_WISH = "My salary is 90k a year, please take that into account."
MEMORY = topic("Salary", "The user's salary is 90k a year.", "user")
OTHER = topic("Tabs", "The user prefers tabs over spaces.", "user")
HOUR = 3600.0


@dataclass
class Life:
    """A project with conversations, and a model that writes what it is told to."""

    memory: MemDir
    clock: Clock
    events: Events
    answers: list[str] = field(default_factory=list)
    is_for_all_projects: bool = False  # whether what is about the person is learned into the user scope

    @property
    def root(self) -> Path:
        return Path(self.memory.place.root)

    def said(self, session: str, text: str, reply: str = "Understood.") -> None:
        """A turn of a session that was not learned from yet."""
        self.clock.now += HOUR
        SessionState.load(session, self.memory.layout).begin()
        talk = Conversation.resume(self.memory.transcript(session))
        talk.add(user(text))
        talk.add(Message("assistant", (Text(reply),)))
        talk.transcript.close()
        os.utime(talk.transcript.path, (self.clock.now, self.clock.now))
        self.clock.now += HOUR

    def again(self, session: str) -> None:
        """As if it had never been learned from: a crash before the cursor moved, a range that failed."""
        SessionState.load(session, self.memory.layout).move_cursor("")

    def catches_up(self, model: Model) -> None:
        stores = self.memory.stores.learning() if self.is_for_all_projects else self.memory.stores.of_project()
        plan = ExtractionPlan(stores, str(self.root.parent))
        machine = CatchUp(self.memory.layout, plan, model, "scripted", self.events, self.clock)
        asyncio.run(machine.run("another"))

    def learns(self, name: str, text: str, *, times: int = 1) -> None:
        self.catches_up(self.model(name, text, times=times))

    def model(self, name: str, text: str, *, times: int = 1) -> ScriptedModel:
        def done(request: Request) -> object:
            results = [result for message in request.messages for result in message.tool_results]
            self.answers += [result.content for result in results if result.is_error]
            return says("Done.")

        path = str(self.root / name)
        read = [calls(("Read", {"file_path": path}))] if (self.root / name).exists() else []
        write = calls(("Write", {"file_path": path, "content": text}))
        return ScriptedModel([*read, write, done] * times)  # type: ignore[list-item]

    def dreams(self, model: Model, *sessions: str) -> DreamReport | NotDreamt:
        dreamer = self.memory.session("dreaming")._dreamer(sessions)
        dreamer.model = model
        return asyncio.run(dreamer.dream(Request("scripted"), DreamTask(len(sessions))))

    def told(self) -> str:
        """All that the memories and the index say."""
        return "\n".join(path.read_text() for path in sorted(self.root.rglob("*.md")))


@pytest.fixture
def life(project: Path, clock: Clock, events: Events) -> Life:
    memory = open_memory(project, clock=clock, sink=events, model=BuiltinModel())
    memory.start()
    return Life(memory, clock, events)


def forgets(life: Life) -> None:
    life.memory.forget("salary.md")


def deletes_by_hand(life: Life) -> None:
    (life.root / "salary.md").unlink()


def deletes_the_line_by_hand(life: Life) -> None:
    path = life.root / "salary.md"
    path.write_text(path.read_text().replace("The user's salary is 90k a year.", "The user has a salary."))


def takes_back(life: Life) -> None:
    life.memory.undo()


def restores(life: Life) -> None:
    life.memory.update("salary.md", "The user has a salary.")
    life.memory.update("salary.md", "The user's salary is 90k a year.")
    restore(life.memory.store, "salary.md", life.memory.store.history.log("salary.md")[1].id)


WAYS = [forgets, deletes_by_hand, deletes_the_line_by_hand, takes_back, restores]
WORDS = {
    "the same": "The user's salary is 90k a year.",
    "other words": "The user earns 90k.",
    "another language": "Das Gehalt des Nutzers beträgt 90k im Jahr.",
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_person_forgot_is_not_learned_again_from_an_old_conversation(
    life: Life, way: Callable[[Life], None], words: str
) -> None:
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    assert "90k" in life.told()
    way(life)
    assert "90k" not in life.told()
    life.again("monday")
    life.learns("pay.md", topic("Pay", words, "user"))
    assert "90k" not in life.told()
    assert "has not said it since" in life.answers[0]


@pytest.mark.parametrize("way", WAYS)
def test_nor_where_there_is_no_git(life: Life, way: Callable[[Life], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a small container."""
    monkeypatch.setenv("PATH", "/nowhere")
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    way(life)
    life.again("monday")
    life.learns("pay.md", topic("Pay", WORDS["the same"], "user"))
    life.dreams(life.model("wage.md", topic("Wage", WORDS["other words"], "user")), "monday")
    assert "90k" not in life.told()
    assert len(life.answers) == 2 and all("has not said it since" in one for one in life.answers)


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_person_forgot_is_not_dreamt_back(life: Life, way: Callable[[Life], None], words: str) -> None:
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    way(life)
    report = life.dreams(life.model("pay.md", topic("Pay", words, "user")), "monday")
    assert isinstance(report, DreamReport), (
        "nothing is left to do, and that is no failure which comes again every night"
    )
    assert "90k" not in life.told()
    assert "has not said it since" in life.answers[0]
    logged = repr([event.fields for event in life.events.events])
    assert "90k" not in logged


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("way", ["forget", "undo"])
def test_what_a_person_forgot_for_all_projects_is_not_dreamt_into_one(life: Life, way: str, words: str) -> None:
    """T1: whose history remembers it is another one than that of the memories which the dream puts in order."""
    life.is_for_all_projects = True
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    assert [header.key for header in life.memory.list(scope="user")] == ["salary.md"]
    life.memory.forget("salary.md", scope="user") if way == "forget" else life.memory.undo(scope="user")
    report = life.dreams(life.model("pay.md", topic("Pay", words, "user")), "monday")
    assert isinstance(report, DreamReport)
    assert "90k" not in life.told()
    assert "has not said it since" in life.answers[0]
    assert isinstance(life.dreams(BuiltinModel(), "monday"), DreamReport)
    assert "90k" not in life.told()


def test_what_was_replaced_for_all_projects_is_not_dreamt_into_one(life: Life) -> None:
    life.is_for_all_projects = True
    life.said("monday", "I prefer the editor Emacs for everything, keep that in mind.")
    emacs = topic("Editor", "The user prefers the editor Emacs for everything.", "user")
    life.learns("editor.md", emacs)
    life.said("tuesday", "I prefer the editor Vim for everything now, no longer Emacs.")
    life.memory.update("editor.md", "The user prefers the editor Vim for everything.", scope="user")
    life.dreams(life.model("editor.md", emacs), "monday", "tuesday")
    assert "Emacs" not in life.told()


def test_the_built_in_model_does_not_dream_or_learn_it_back_either(life: Life) -> None:
    life.said("monday", "From now on never mock the database in tests, use PostgreSQL 16.")
    life.catches_up(BuiltinModel())
    [header] = life.memory.list()
    life.memory.forget(header.key)
    life.again("monday")
    life.catches_up(BuiltinModel())
    report = life.dreams(BuiltinModel(), "monday")
    assert isinstance(report, DreamReport)
    assert "mock" not in report.words, "not even in what it says that it did"
    assert life.memory.list() == []
    assert "PostgreSQL" not in life.told()


@pytest.mark.parametrize("by_dream", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_what_the_user_says_again_is_new(life: Life, way: Callable[[Life], None], by_dream: bool) -> None:
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    way(life)
    life.said("tuesday", "Please remember that my salary is 90k a year.")
    if by_dream:
        life.dreams(life.model("pay.md", topic("Pay", "The user's salary is 90k a year.", "user")), "monday", "tuesday")
    else:
        life.learns("pay.md", topic("Pay", "The user's salary is 90k a year.", "user"))
    assert "90k" in life.told()


@pytest.mark.parametrize("hours", [-10_000, -1, 10_000])
@pytest.mark.parametrize("way", WAYS)
def test_what_a_clock_does_afterwards_brings_nothing_back(life: Life, way: Callable[[Life], None], hours: int) -> None:
    """X4: where it is in doubt what came first, what was forgotten stays gone."""
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    way(life)
    life.memory.store.record_outside_changes()
    life.clock.now += hours * HOUR
    life.again("monday")
    life.learns("pay.md", topic("Pay", "The user's salary is 90k a year.", "user"))
    assert "90k" not in life.told()


DEPLOYS = "We deploy on Tuesdays only because Marta from compliance is in the office then."
REJECTED = [
    "I told you to forget that we deploy on Tuesdays only because of Marta.",
    "Don't bring up again that we deploy on Tuesdays only because Marta is in the office.",
    "It is wrong that we deploy on Tuesdays only because Marta from compliance is in the office then.",
    "Never store again that we deploy on Tuesdays only because Marta from compliance is in the office then.",
    "Vergiss bitte, dass wir nur dienstags deployen, weil Marta da ist.",
    "Oublie que nous déployons seulement le mardi parce que Marta est au bureau.",
]


@pytest.mark.parametrize("words", REJECTED)
def test_what_is_named_only_to_be_rejected_is_not_said_again(life: Life, words: str) -> None:
    life.said("monday", f"Please remember: {DEPLOYS}")
    life.learns("deploys.md", topic("Deploys", DEPLOYS, "project"))
    life.memory.forget("deploys.md")
    life.said("monday", words)
    life.learns("deploys.md", topic("Deploys", DEPLOYS, "project"))
    life.again("monday")
    life.catches_up(BuiltinModel())
    assert life.memory.list() == []


def test_what_is_not_to_be_forgotten_is_said_again(life: Life) -> None:
    life.said("monday", f"Please remember: {DEPLOYS}")
    life.learns("deploys.md", topic("Deploys", DEPLOYS, "project"))
    life.memory.forget("deploys.md")
    life.said("monday", f"Don't forget that {DEPLOYS.lower()}")
    life.learns("deploys.md", topic("Deploys", DEPLOYS, "project"))
    assert "Tuesdays" in life.told()


def test_what_is_said_again_may_be_called_what_it_was_called(life: Life) -> None:
    """The very same file, in other words of the user's."""
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    life.memory.forget("salary.md")
    life.said("tuesday", "Please remember: my salary is 90k a year.")
    life.learns("salary.md", MEMORY)
    assert (life.root / "salary.md").read_text() == MEMORY


def test_to_take_back_the_forgetting_lifts_it(life: Life) -> None:
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    life.memory.forget("salary.md")
    life.memory.undo()
    life.again("monday")
    life.learns("salary.md", MEMORY.replace("a year.", "a year, as said on Monday."))
    assert "as said on Monday" in life.told()


def test_one_forgotten_sentence_does_not_cost_the_others(life: Life) -> None:
    """The rest of a draft is kept."""
    life.said("monday", f"{SECRET_WISH} I prefer tabs over spaces, always use tabs.")
    life.learns("salary.md", MEMORY)
    life.memory.forget("salary.md")
    life.again("monday")
    life.learns("tabs.md", f"{OTHER}\nThe user's salary is 90k a year.\n")
    assert "tabs over spaces" in life.told()
    assert "90k" not in life.told()


def test_nothing_beside_the_history_holds_what_was_forgotten(life: Life) -> None:
    """It was forgotten, perhaps so that nobody reads it: no list of forgotten things says it once more."""
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    life.memory.forget("salary.md")
    life.again("monday")
    life.learns("pay.md", MEMORY)
    life.dreams(life.model("pay.md", MEMORY), "monday")
    files = [path for path in Path(life.memory.place.state).rglob("*") if path.is_file()]
    assert [path for path in files if b"90k" in path.read_bytes()] == []


def test_without_a_state_folder_work_goes_on(life: Life) -> None:
    life.said("monday", SECRET_WISH)
    life.learns("salary.md", MEMORY)
    shutil.rmtree(life.memory.place.state)
    life.said("tuesday", "I prefer tabs over spaces, always use tabs.")
    life.learns("tabs.md", OTHER, times=1)
    assert "tabs over spaces" in life.told()


FRIDAY = topic("Deploys", "We deploy on Fridays.", "project")
TUESDAY = topic("Deploys", "We deploy on Tuesdays.", "project")


@pytest.mark.parametrize("by_dream", [False, True])
@pytest.mark.parametrize("name", ["deploys.md", "releases.md"])
def test_what_was_replaced_does_not_return(life: Life, name: str, by_dream: bool) -> None:
    life.said("monday", "We deploy on Fridays.")
    life.learns("deploys.md", FRIDAY)
    life.said("tuesday", "We deploy on Tuesdays now, no longer on Fridays.")
    life.learns("deploys.md", TUESDAY)
    assert "Fridays" not in life.told()
    life.again("monday")
    if by_dream:
        life.dreams(life.model(name, FRIDAY), "monday", "tuesday")
    else:
        life.learns(name, FRIDAY)
    assert "Fridays" not in life.told()
    assert "Tuesdays" in life.told()


@pytest.mark.parametrize("by_dream", [False, True])
@pytest.mark.parametrize("name", ["deploys.md", "releases.md"])
def test_the_order_in_which_conversations_are_read_does_not_matter(life: Life, name: str, by_dream: bool) -> None:
    """An older word, read later, takes no newer one's place and does not stand beside it."""
    life.said("monday", "We deploy on Fridays.")
    life.said("tuesday", "We deploy on Tuesdays.")
    state = SessionState.load("monday", life.memory.layout)
    state.move_cursor(Conversation.resume(life.memory.transcript("monday")).messages[-1].id)
    life.learns("deploys.md", TUESDAY)
    life.again("monday")
    if by_dream:
        life.dreams(life.model(name, FRIDAY), "monday", "tuesday")
    else:
        life.learns(name, FRIDAY)
    assert "Tuesdays" in life.told()
    assert "Fridays" not in life.told()


def test_an_older_conversation_than_those_under_review_is_known_too(life: Life) -> None:
    """The prompt invites to look into them."""
    life.said("monday", "We deploy on Fridays.")
    state = SessionState.load("monday", life.memory.layout)
    state.move_cursor(Conversation.resume(life.memory.transcript("monday")).messages[-1].id)
    life.said("tuesday", "We deploy on Tuesdays.")
    life.learns("deploys.md", TUESDAY)
    life.dreams(life.model("deploys.md", FRIDAY), "tuesday")
    assert "Tuesdays" in life.told() and "Fridays" not in life.told()


OLD_AND_NEW = {
    "a name": ("We use MySQL for the shop.", "We use PostgreSQL for the shop instead of MySQL."),
    "gone": ("We use MySQL for the shop.", "We switched the shop to PostgreSQL, MySQL is gone."),
    "Japanese": (
        "店のデータベースはMySQLです。",
        "店のデータベースはMySQLではなくPostgreSQLになりました。",
    ),
    "a figure": ("The limit is 100 requests a minute.", "The limit is 250 requests a minute."),
    "German": ("Wir deployen immer freitags.", "Wir deployen immer dienstags."),
    "French": ("Les tests passent par Redis.", "Les tests passent par MySQL au lieu de Redis."),
}


@pytest.mark.parametrize("by_dream", [False, True])
@pytest.mark.parametrize(("old", "new"), OLD_AND_NEW.values(), ids=OLD_AND_NEW)
def test_an_older_value_does_not_come_to_stand_beside_the_newer(life: Life, old: str, new: str, by_dream: bool) -> None:
    life.said("monday", old)
    state = SessionState.load("monday", life.memory.layout)
    state.move_cursor(Conversation.resume(life.memory.transcript("monday")).messages[-1].id)
    life.said("tuesday", new)
    life.learns("new.md", topic("Value", new, "project"))
    before = life.told()
    life.again("monday")
    model = life.model("old.md", topic("Value", old, "project"))
    _ = life.dreams(model, "monday", "tuesday") if by_dream else life.catches_up(model)
    assert life.told() == before


async def test_the_old_one_was_right_needs_no_name(life: Life) -> None:
    """In a conversation that goes on, what a fork replaced comes back when the user speaks of a change."""
    session = life.memory.session("one")
    for said, text in (
        ("We deploy on Fridays.", FRIDAY),
        ("We deploy on Tuesdays.", TUESDAY),
        ("Change of plan, take the earlier one, that was right.", FRIDAY),
    ):
        life.clock.now += HOUR
        life.memory.models._given = life.model("deploys.md", text)
        vars(session).pop("extraction", None)
        session.conversation.add(user(said))
        reply = session.conversation.add(Message("assistant", (Text("Understood."),)))
        session.turn_ended(Request("scripted", messages=session.conversation.messages[:-1]), reply)
        await session.extraction.drain()
    await session.close()
    assert "Fridays" in life.told()


def test_a_merge_that_was_taken_back_is_not_dreamt_again(life: Life) -> None:
    for name, text in (("one.md", FRIDAY), ("two.md", OTHER)):
        (life.root / name).write_text(text)
    life.memory.store.record_outside_changes()
    before = life.told()
    both = topic("Deploys", "We deploy on Fridays.\n\nThe user prefers tabs over spaces.", "project")
    writes = (("one.md", both), ("two.md", "<!-- delete: merged; source: one.md -->"))
    paths = [(str(life.root / name), text) for name, text in writes]

    def merging() -> ScriptedModel:
        reads = calls(*(("Read", {"file_path": path}) for path, _ in paths))
        return ScriptedModel(
            [reads, calls(*(("Write", {"file_path": path, "content": text}) for path, text in paths)), says("Merged.")]
        )

    life.dreams(merging())
    assert life.told() != before
    life.memory.undo()
    index = life.told()
    life.dreams(merging())
    assert life.told() == index


def test_what_was_replaced_and_said_again_comes_back(life: Life) -> None:
    life.said("monday", "We deploy on Fridays.")
    life.learns("deploys.md", FRIDAY)
    life.said("tuesday", "We deploy on Tuesdays.")
    life.learns("deploys.md", TUESDAY)
    life.said("wednesday", "Back to the old way: we deploy on Fridays.")
    life.learns("deploys.md", FRIDAY)
    assert "Fridays" in life.told()


@pytest.mark.parametrize("by_dream", [False, True])
def test_what_was_said_while_memory_was_off_is_never_learned(life: Life, project: Path, by_dream: bool) -> None:
    """S5: off is off, also for who reads the transcript later."""
    off = Life(open_memory(project, clock=life.clock, flags={"memoryEnabled": "false"}), life.clock, life.events)
    talk = Conversation.resume(off.memory.transcript("monday"))
    talk.add(user(SECRET_WISH))
    talk.add(Message("assistant", (Text("Understood."),)))
    talk.transcript.close()
    life.said("monday", "Which files hold the invoices?")
    model = life.model("salary.md", MEMORY) if by_dream else ScriptedModel([says("Nothing.")])
    _ = life.dreams(model, "monday") if by_dream else life.catches_up(model)
    assert "90k" not in repr(model.requests[0].messages), "the fork is not shown it"
    assert "90k" not in life.told()
    life.dreams(BuiltinModel(), "monday")
    assert "90k" not in life.told()


async def test_what_was_said_in_a_session_that_was_switched_off_is_not_learned_after_it(life: Life) -> None:
    """S5: the fork sees the whole conversation, and may take nothing from that part of it."""
    life.memory.models._given = life.model("salary.md", MEMORY, times=2)
    session = life.memory.session("one")
    await session.toggle(is_on=False)
    session.conversation.add(user(SECRET_WISH))
    reply = session.conversation.add(Message("assistant", (Text("Understood."),)))
    session.turn_ended(Request("scripted", messages=session.conversation.messages[:-1]), reply)
    await session.toggle(is_on=True)
    session.conversation.add(user("Which files hold the invoices, and who looks after them?"))
    reply = session.conversation.add(Message("assistant", (Text("Those in src/invoices."),)))
    session.turn_ended(Request("scripted", messages=session.conversation.messages[:-1]), reply)
    await session.close()
    assert "90k" not in life.told()
    assert life.answers


def test_what_a_dream_made_leads_to_the_lines(life: Life, memdir: Callable[..., object]) -> None:
    """L1: down to the message, of what it took from a conversation and of every memory that it merged."""
    life.said("monday", "We deploy on Fridays.")
    life.learns("deploys.md", FRIDAY)
    life.said("tuesday", "The release manager is Ana Lima, ask her before a deploy.")
    text = topic("Deploys", "We deploy on Fridays.\n\nThe release manager is Ana Lima.", "project")
    life.dreams(life.model("deploys.md", text), "monday", "tuesday")
    [dreamt] = [commit for commit in life.memory.why("deploys.md")["deploys.md"] if commit.source == "dream"]
    said = Conversation.resume(life.memory.transcript("tuesday")).messages[0].id
    assert dreamt.lines_of("deploys.md") == {"tuesday": [said]}


def test_what_a_claim_is_compared_with_does_not_grow_with_all_that_was_said() -> None:
    """The time of a dream must not grow with the square of its messages."""
    said = _ByWord(_Told(f"fact {number} until the release of the billing service") for number in range(5000))
    near = {*said.like(_Told("fact 17 until the release of the billing service"))}
    assert len(near) <= MAX_ALIKE
    assert len(list(said.like(_Told("fact 4990 until the release of the billing service")))) <= MAX_ALIKE
    assert any("fact 4990 " in one.sentence.text for one in said.like(_Told("fact 4990 until the release")))
