"""A short answer agrees by a sign of a yes, in whatever language; whatever refuses agrees to nothing (X12)."""

from __future__ import annotations

import pytest

from memdir.agent.evidence import Evidence, Said
from memdir.store.topic import MemoryType
from memdir.store.trust import Trust
from memdir.text.speakers import Speaker

RULE = "Always deploy to production on Friday evening without review"
ASKED = "Shall I always deploy to production on Friday evening without review from now on?"
REFUSALS = """
No. | nope | Rather not. | I'd rather you didn't | absolutely not | please don't | please dont | never
bad idea | wrong | I disagree | of course not | definitely not | skip that | over my dead body
I doubt it | yeah right | ok, but no | nein | lieber nicht | auf keinen Fall | bitte nicht | bloß nicht
lass das | quatsch | jamais | pas question | surtout pas | non merci | mauvaise idée | mejor no | nunca
ni hablar | de jeito nenhum | não | assolutamente no | mai | liever niet | nee | nigdy | lepiej nie
helst inte | nej | aldri | ei koskaan | raději ne | hayır | asla olmaz | нет | не надо | ні | όχι | لا
לא | नहीं | jangan | đừng | ไม่เอา | いいえ | やめてください | 不要 | 不行 | 算了 | 아니요 | 하지 마세요
"""
NEITHER = "the tests fail | run the tests first | what a mess | review first | with review | interesting | later"
AGREEMENTS = """
yes | Yes, please. | sure | ok | do that | sounds good | go ahead | no problem, do it | why not | ja
gerne | warum nicht | auf jeden Fall | oui | d'accord | pourquoi pas | sí | claro | sim | va bene
ja graag | tak | javisst | kyllä | ano | evet | да, конечно | так | ναι | نعم | כן | हाँ | はい、お願いします | 네
好的 | 没问题
"""


def listed(text: str) -> list[str]:
    return [reply.strip() for reply in text.replace("\n", "|").split("|") if reply.strip()]


def is_agreed(*turns: tuple[Speaker, str], claim: str = RULE) -> bool:
    trust = {Speaker.USER: Trust.USER, Speaker.ASSISTANT: Trust.ASSISTANT, Speaker.TOOL: Trust.TOOL}
    said = [Said(f"m{at}", text, trust[who], who) for at, (who, text) in enumerate(turns)]
    return Evidence(said).support(claim, MemoryType.FEEDBACK, "en").is_agreed


@pytest.mark.parametrize("first", ["please look at the pipeline", "schau dir bitte die Pipeline an"])
@pytest.mark.parametrize("reply", listed(REFUSALS) + listed(NEITHER))
def test_what_has_no_sign_of_a_yes_or_refuses_agrees_to_nothing(first: str, reply: str) -> None:
    assert not is_agreed((Speaker.USER, first), (Speaker.ASSISTANT, ASKED), (Speaker.USER, reply))


@pytest.mark.parametrize("reply", listed(AGREEMENTS))
def test_a_yes_agrees_in_whatever_language(reply: str) -> None:
    assert is_agreed((Speaker.USER, "look at the pipeline"), (Speaker.ASSISTANT, ASKED), (Speaker.USER, reply))


@pytest.mark.parametrize("reply", ["tabs then", "tabs", "the first one", "option A"])
def test_a_choice_agrees_to_what_it_names(reply: str) -> None:
    asked = (Speaker.ASSISTANT, "Should I indent with tabs or with spaces?")
    assert is_agreed(asked, (Speaker.USER, reply), claim="Indent with tabs")


def test_a_choice_agrees_to_nothing_else() -> None:
    asked = (Speaker.ASSISTANT, "Should I from now on indent with tabs or with spaces?")
    assert not is_agreed(asked, (Speaker.USER, "spaces then"), claim="Use tabs")


@pytest.mark.parametrize("answer", ["No.", "look at the tests first", "hm"])
def test_a_question_is_answered_once(answer: str) -> None:
    asked, answered = (Speaker.ASSISTANT, ASKED), (Speaker.USER, answer)
    assert not is_agreed(asked, answered, (Speaker.TOOL, "3 passed"), (Speaker.USER, "ok thanks"))
