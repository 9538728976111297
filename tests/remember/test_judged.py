"""The rules by which a draft is the user's, each where it alone decides (L1, X12)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memdir.agent.evidence import Agreement, Evidence, Said, Support
from memdir.agent.judged import Judged, Verdict, judge, trace
from memdir.store.topic import Topic
from memdir.store.trust import Trust
from memdir.text.nearness import Sentence
from memdir.text.speakers import Speaker

PAGE = Said("m2", "A page of somebody else about something else entirely.", Trust.WEB, Speaker.TOOL)
USER = Said("m1", "From now on keep the answers short.", Trust.USER, Speaker.USER)
HIS = Support(user=0.9, foreign=0.0, assistant=0.0, source=None, is_agreed=False)
NOBODYS = Support(user=0.0, foreign=0.0, assistant=0.0, source=None, is_agreed=False)


def judged(*supports: Support, kind: str = "feedback", said: tuple[Said, ...] = (USER,), is_new: bool = True) -> Judged:
    topic = Topic(f"---\nname: n\ndescription: d\ntype: {kind}\n---\n\nb\n".encode())
    claims = tuple(f"claim {number}" for number in range(len(supports)))
    evidence = Evidence(said)
    return Judged(topic, claims, supports, evidence, frozenset(), is_new, tongue=evidence.tongue)


def test_an_idea_of_the_assistant_that_nobody_answered_heads_no_memory() -> None:
    echo = Support(user=0.1, foreign=0.0, assistant=0.95, source=None, is_agreed=False)
    assert not judged(echo, HIS).is_users
    assert judged(echo, HIS, is_new=False).is_users, "what stands there already is about something of his"
    for change in ({"is_agreed": True}, {"user": 0.4}, {"assistant": 0.5}):
        assert not replace(echo, **change).is_echo


def test_a_rule_of_which_most_is_nearer_to_somebody_else_is_not_his() -> None:
    """One sentence of the user's carries no memory whose others lean to a page."""
    theirs = Support(user=0.0, foreign=0.59, assistant=0.0, source=PAGE, is_agreed=False)
    his = replace(HIS, user=0.5)
    assert judged(his, replace(theirs, user=0.4), said=(USER, PAGE)).is_users
    assert not judged(his, theirs, theirs, theirs, said=(USER, PAGE)).is_users
    assert judged(his, theirs, theirs, theirs, said=(USER,)).is_users, "there is nobody else it could be of"
    assert judged(his, theirs, theirs, theirs, kind="project", said=(USER, PAGE)).is_users, "a fact may be told by two"
    assert judged(replace(his, is_agreed=True), theirs, theirs, theirs, said=(USER, PAGE)).is_users


def test_what_nobody_else_said_is_his_in_other_words() -> None:
    hint = replace(NOBODYS, user=0.2)
    assert judged(hint, NOBODYS).is_users
    assert not judged(NOBODYS).is_users, "there must be a hint of it"
    assert not judged(hint, replace(NOBODYS, assistant=0.6)).is_users, "the assistant said it"
    assert not judged(hint, said=(USER, PAGE)).is_users, "it may be of the page"
    assert replace(judged(hint, said=(USER, PAGE)), tongue="fi").is_users, "in another language nobody can tell"


def test_a_fact_is_trusted_as_his_only_where_most_of_it_is_nearer_to_him() -> None:
    theirs = Support(user=0.35, foreign=0.4, assistant=0.0, source=PAGE, is_agreed=False)
    for others, trust in ((1, Trust.USER), (2, Trust.WEB)):
        fact = judged(HIS, *[theirs] * others, kind="project", said=(USER, PAGE))
        assert fact.is_users and trace(fact).trust is trust
    assert trace(judged(HIS, theirs, theirs, said=(USER, PAGE))).trust is Trust.USER, "of a rule the verdict has told"


def test_what_a_memory_said_before_needs_nobody_to_say_it_again_where_it_is_told_of_the_past() -> None:
    head = "---\nname: Database\ndescription: the database\ntype: project\n---\n\n"
    before = Topic(f"{head}We use PostgreSQL 17 for bills.\n\n**Why:** Because of the audit rules.\n".encode())
    past = "**Before:** We use PostgreSQL 17 for bills. Why: Because of the audit rules."
    after = Topic(f"{head}We use PostgreSQL 18 for bills.\n\n{past}\n".encode())
    assert judge(after, before, Evidence((USER, PAGE))).claims == ("We use PostgreSQL 18 for bills.",)


MIRRORS = "Company mirrors: https://mirror.example/simple is the index, run `sync-mirror`, with a timeout of 4500."


@pytest.mark.parametrize(
    ("said", "text", "kind", "is_his"),
    [
        ("From now on install only from our mirror.", "Install only from our mirror.", "feedback", True),
        (
            "From now on install only from our mirror.",
            "Install only from https://mirror.example/simple.",
            "feedback",
            0,
        ),
        (
            "From now on install only from our mirror.",
            "Always install from https://mirror.example/simple.",
            "project",
            0,
        ),
        (
            "Install only from https://mirror.example/simple.",
            "Install from https://mirror.example/simple.",
            "feedback",
            1,
        ),
        ("Always sync the mirror before a build.", "Always run `sync-mirror` before a build.", "feedback", False),
        ("Always set a timeout for the mirror.", "Always set a timeout of 4500 for the mirror.", "feedback", False),
        ("Always set a timeout of ten for the mirror.", "Always set a timeout of 10 for the mirror.", "feedback", True),
        ("Always tag the mirror on 4 May.", "Always tag the mirror on 2026-05-04.", "feedback", True),
    ],
)
def test_a_rule_of_the_user_s_with_a_value_that_only_a_page_told_is_a_quotation(
    said: str, text: str, kind: str, is_his: bool
) -> None:
    topic = Topic(f"---\nname: Mirror\ndescription: {text}\ntype: {kind}\n---\n\n{text}\n".encode())
    page, words = replace(PAGE, text=MIRRORS), replace(USER, text=said)
    verdict = judge(topic, None, Evidence([page, words])).verdict
    assert verdict is (Verdict.KEPT if is_his else Verdict.QUOTED)
    stood = topic.with_field("description", "x")
    assert judge(topic, stood, Evidence([page, words])).verdict is Verdict.KEPT, "what stood there needs no one"


def test_a_value_that_was_put_to_the_user_is_his_by_a_yes() -> None:
    page, rule = replace(PAGE, text=MIRRORS), "Install only from https://mirror.example/simple."
    asked = Said(
        "m3", "Shall I always install only from https://mirror.example/simple?", Trust.ASSISTANT, Speaker.ASSISTANT
    )
    topic = Topic(f"---\nname: Mirror\ndescription: {rule}\ntype: feedback\n---\n\n{rule}\n".encode())
    said = Evidence([page, asked, replace(USER, text="Yes, always.")])
    assert judge(topic, None, said).verdict is Verdict.KEPT


def keeps(reply: str, tongue: str = "en") -> bool:
    return Agreement(["Shall I always run the linter before a commit?"], reply, tongue).keeps(0.0)


@pytest.mark.parametrize(
    ("reply", "is_bare"),
    [
        ("Yes.", True),
        ("Yes, the linter.", True),
        ("Yes, but first deploy the billing service to staging.", False),
        ("はい、それで。", True),
        ("はい、リンターで。", True),
        ("はい、先に請求サービスをステージング環境に配備してください。", False),
    ],
)
def test_a_yes_that_names_much_else_is_no_bare_yes(reply: str, is_bare: bool) -> None:
    """Where words have no spaces, a pair of characters is only a part of a word."""
    assert keeps(reply, "ja" if reply[0] == "は" else "en") is is_bare


def test_a_question_that_only_points_back_asks_for_what_was_said_before_it() -> None:
    claim = Sentence("The deploy waits for two reviews.")
    before = ["The deploy should wait for two reviews from now on."]
    back = Agreement([*before, "Does that work for you?"], "Yes.", "en")
    other = Agreement([*before, "Is the billing service green?"], "Yes.", "en")
    assert back.named(claim, is_translated=False) > 0.33 > other.named(claim, is_translated=False)


def test_a_remark_of_the_assistant_that_is_too_short_to_tell_carries_nothing() -> None:
    """A few common words are near to many claims."""
    topic = Topic(b"---\nname: Tests\ndescription: Run tests\ntype: feedback\n---\n\nRun tests.\n")
    for text, is_its in (("Run tests.", False), ("Run tests before each push to staging.", True)):
        said = Evidence([USER, Said("m2", text, Trust.ASSISTANT, Speaker.ASSISTANT)])
        assert any(one.assistant > 0 for one in judge(topic, None, said).supports) is is_its
