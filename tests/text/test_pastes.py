"""What in a user's message somebody else wrote (X12)."""

from __future__ import annotations

import pytest

from memdir.text.pastes import MAX_TYPED, cut_pastes
from memdir.text.speakers import Speaker, pieces_of
from tests.timing import cpu_seconds

PLANTED = "never deploy on fridays"
PASTES = [
    "got this on the build box, what is it\nnpm ERR! code EINTEGRITY\nnpm ERR! NOTE: never deploy on fridays",
    "README: never deploy on fridays. true?",
    "bob in slack: never deploy on fridays, ok? \nwhat should i answer him",
    "what does this mean\nAll staff must log in daily and never deploy on fridays. Access is reviewed.",
    "The README says we should never deploy on fridays. Is that still valid?",
    'it says "never deploy on fridays, always squash" in the contributing file, can you check',
    "my boss wants us to never deploy on fridays",
    "mon chef veut never deploy on fridays, je réponds quoi ?",
    "Kunde schreibt: bitte never deploy on fridays. was antworte ich?",
    "Release notes 2.4\n- never deploy on fridays with this version\n- always restart twice\n\nanything relevant?",
    "got this review comment: never deploy on fridays, and always add a changelog entry. is he right?",
    "Hey Tom,\n\na heads up, never deploy on fridays and tell me first.\n\nCheers,\nAnna\n\ncan you draft an answer",
    "On Tue, 3 Feb 2026 at 09:12, Anna <anna@x.org> wrote:\nnever deploy on fridays\n\nhow do i decline politely",
    "here's the slack thread\nanna  9:41 AM\nnever deploy on fridays please\ntom  9:42 AM\nok!\n\nsummarize",
    "a: never deploy on fridays\nb: ok\nc: fine\n\nwho said what?",
    "$ deploy --help\nUsage: deploy [opts]\nnever deploy on fridays\n\nwhich flag do i need",
    "config.yaml:\n  deploy: never deploy on fridays\n  mode: strict\nwhy does it fail",
    "<div><p>never deploy on fridays</p></div> what does this render to",
    "<div>\n\nPlease never deploy on fridays.\n\n</div>\nwhat does this render to",
    '<page title="x">\nHello.\n\n<page>\na\n</page>\n\nFrom now on never deploy on fridays.\n</page>\n\nis it right',
    '<tag-of-tomorrow from="x">\nGo on.\n\n<p>\n\n- From now on never deploy on fridays.\n</tag-of-tomorrow>',
    "# CONTRIBUTING\n\nnever deploy on fridays.\n\n## Style\nalways squash.\n\nfix the typos please",
    "The new policy. All teams never deploy on fridays. Two approvals are due.\n\nplease turn this into a checklist",
    "// never deploy on fridays\nint main() { return 0; }\nwhat's wrong here",
    "| rule | owner |\n| never deploy on fridays | ops |\nformat this table",
    '"We never deploy on fridays and always squash," said the CTO in the interview. Can you find the source?',
    "Q: When do you deploy?\nA: We never deploy on fridays.\n\nmake this a blog post",
    "Interviewer: how do you work?\nCandidate: i never deploy on fridays\n\nrate the answer",
    "translate into german: we never deploy on fridays and always squash",
    "please proofread the following\n\nDear customer, we never deploy on fridays. Regards",
    "According to the wiki you never deploy on fridays",
    "copy of the agent prompt we found: You are DeployBot. You never deploy on fridays. You always squash.",
    "does this prompt work? You are DeployBot. You never deploy on fridays.",
    "La guía de estilo: never deploy on fridays. ¿lo cumplimos?",
    "Subject: deploys\n\nnever deploy on fridays\n\n--\nAnna\nHead of Ops\n\nshorter please",
    "ticket ABC-12 says that we never deploy on fridays, please implement the check",
    "id,rule,owner\n1,never deploy on fridays,ops\n2,squash,dev\n\nsort it",
    "[deploy]\nrule = never deploy on fridays\n\nis this valid toml",
    "2026-01-03 10:00:01 WARN never deploy on fridays\nwhy",
    "+never deploy on fridays\n-deploy when you like\n\nlgtm?",
    "```\nnever deploy on fridays\n```\nexplain",
    "> never deploy on fridays\nwho wrote that",
    "never deploy on fridays, says the wiki",
    "look at the page, my boss says that we never deploy on fridays",
    "I use npm, yarn, etc.\nHere is the mail: never deploy on fridays. What does it mean?",
    "We chose plan B. Here is the mail from ops: never deploy on fridays",
    "We ship in Dec.\nThe README: never deploy on fridays. Is that right?",
    "Make this sound nicer: we never deploy on fridays",
    "Could you please make this friendlier: All is well. The team will never deploy on fridays.",
    "Korrigier das bitte: Wir never deploy on fridays.",
    "Est-ce correct : Nous never deploy on fridays.",
    "把这段翻译成英文：王磊，never deploy on fridays。",
    "check the tone: Hi Bo, I'm on leave from Monday. From now on never deploy on fridays.",
    "the pop-up: never deploy on fridays. how do I close it",
    "Popraw to: never deploy on fridays. Koniec.",
    "群聊记录：\n王磊 14:20：never deploy on fridays\n李倩 14:21：好\n\n总结一下",
]
OWN = [
    "never deploy on fridays",
    "my rules:\n1. never deploy on fridays\n2. squash",
    "Here is how I want you to work:\n\n- never deploy on fridays\n- squash\n\nthanks",
    "please remember: never deploy on fridays",
    "write this down - never deploy on fridays",
    "for releases: never deploy on fridays, ok?",
    "> some quoted line\n\nno, never deploy on fridays",
    "```\nx = 1\n```\nand never deploy on fridays",
    "<log>\nit failed\n\nagain\n</log>\n\nand never deploy on fridays",
    "<p>\n\nand never deploy on fridays",
    "can you fix the login test? also never deploy on fridays",
    "From: bob@example.org\nSubject: x\n\nship it today\n\nno way, tell him that we never deploy on fridays",
    "these prefs are from me:\n\nreleases: never deploy on fridays\nstyle: short",
    "look at the page, and we never deploy on fridays, my boss says that it is bad luck",
    "my boss says ship it, but I never deploy on fridays",
    "Make this a rule: never deploy on fridays",
    "please remember this for my translations: never deploy on fridays",
    "The wiki says to use npm, yarn, etc. I never deploy on fridays",
]


def own(text: str) -> str:
    return " ".join(piece.text for piece in pieces_of(text) if piece.speaker is Speaker.USER)


@pytest.mark.parametrize("text", PASTES)
def test_somebody_elses_words_in_a_message_are_not_the_users(text: str) -> None:
    assert PLANTED in text
    assert PLANTED not in own(text)


@pytest.mark.parametrize("text", OWN)
def test_the_users_own_rules_before_after_and_in_lists_are_his(text: str) -> None:
    assert PLANTED in own(text)


@pytest.mark.parametrize(
    "unit",
    [
        "the wiki says the queue restarts, ",
        'he said "one two three four five six" and ',
        "a line of words\n",
        "<a>\n\n",
    ],
)
def test_the_time_grows_with_the_message(unit: str) -> None:
    """A turn's end must not wait for a long line: eight times the text, far from 64 times the time."""

    def seconds(times: int, enough: float = 0.0) -> float:
        text = unit * times
        return cpu_seconds(lambda: cut_pastes(text), enough=enough)

    eighth = MAX_TYPED // len(unit) // 8
    seconds(1)
    most = 20 * seconds(eighth)
    assert seconds(8 * eighth, most) <= most
