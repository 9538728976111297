"""Wishes in so many words are kept whatever stands around them, in any language; what only sounds like one is not."""

from __future__ import annotations

import pytest

from .talk import drafts, only


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("remember that the staging db is called marigold", "marigold"),
        ("could you please remember that deploys only happen on Mondays?", "Mondays"),
        ("can you remember that I'm allergic to nuts?", "allergic"),
        ("I want you to remember that Priya owns billing", "Priya owns billing"),
        ("do me a favour and remember i hate dark mode", "dark mode"),
        ("From now on use tabs, ok?", "tabs"),
        ("form now on dates in filenames as yyyymmdd up front k?", "yyyymmdd"),
        ("please keep in mind we ship on thursdays, thanks", "thursdays"),
        ("for the record: the client's name is spelled Nguyễn", "Nguyễn"),
        ("merk dir mal: die Testdatenbank heißt oleander", "oleander"),
        ("save this for later: VPN address is vpn.kestrel.example", "vpn.kestrel.example"),
        ("quit putting comments everywhere", "comments"),
        ("stop apologising all the time", "apologising"),
        ("hör auf, mir Zusammenfassungen zu schreiben", "Zusammenfassungen"),
        ("Muista että julkaisut tehdään aina tiistaisin", "tiistaisin"),
        ("unutma: deploy'lar sadece salı günü", "salı"),
        ("jegyezd meg, hogy mindig magyarul válaszolj", "magyarul"),
        ("ține minte că lucrez de acasă vinerea", "vinerea"),
        ("ingat ya, deploy hanya hari selasa", "selasa"),
        ("hãy nhớ là tôi dùng tabs, không dùng spaces", "tabs"),
        ("θυμήσου ότι κάνουμε deploy μόνο Τρίτη", "Τρίτη"),
        ("تذكر أن الاجتماعات يوم الأحد الساعة العاشرة", "الأحد"),
        ("याद रखना कि रिलीज़ हमेशा मंगलवार को होती है", "मंगलवार"),
        ("זכור שאנחנו משחררים גרסאות רק בימי שלישי", "שלישי"),
        ("Make this a rule: never send invoices on Fridays.", "Fridays"),
        ("Remember that the printer always jams with envelopes.", "envelopes"),
        ("You are a great help. Always answer in French please.", "French"),
        ("You never push to main without asking me.", "push to main"),
        ("以后提交信息都用中文写", "中文"),
        ("记住我们的数据库是 Postgres 16", "Postgres 16"),
        ("kom ihåg att jag vill ha källhänvisningar enligt Harvard", "Harvard"),
        ("zapamietaj prosze: raporty dla szefowej maja jedna strone", "raporty"),
        ("note to future you: with a stack trace I want the cause first\n```\nValueError: not z", "the cause first"),
        ("please remember: no deploys while the night shift is on, that is 22 to 6", "22 to 6"),
        ("以后提交说明都用英文写，记住了吗？", "英文"),
        ("From now on never mock the database in tests: mocks hid a broken migration last quarter.", "never mock"),
    ],
)
def test_a_wish_in_so_many_words_is_kept(said: str, kept: str) -> None:
    assert kept in only(f"u: {said}\na: OK.").body


@pytest.mark.parametrize(
    "said",
    [
        "do you remember that the staging db was called marigold?",
        "remember when we deployed on Mondays? those were the days",
        "can you remember what the staging db was called?",
        "I can never remember the flag for tar to keep permissions",
        "stop the dev server please",
        "from now on it's all downhill, lol",
        "great, remember that please so you don't have to search: handlers are in server/http/routes",
        "set restart: always and never_retry: true in the rig config",
        "remember this:",
    ],
)
def test_what_only_sounds_like_a_wish_is_not(said: str) -> None:
    assert drafts(f"u: {said}\na: OK.") == ()


def test_what_makes_a_wish_polite_is_not_written_down() -> None:
    assert only("u: hey, could you please remember that Priya owns billing?\na: Sure.").body.startswith(
        "Priya owns billing."
    )
    assert only("u: From now on use tabs, ok?\na: OK.").body.startswith("From now on use tabs.")


def test_what_somebody_else_wants_is_a_fact_where_the_user_asks_to_remember_it() -> None:
    draft = only("u: remember that according to the contract we have 30 days to pay\na: OK.")
    assert draft.type == "project" and "30 days" in draft.body


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("we never deploy while the night shift is on. remember that", "night shift"),
        ("the nurses chart their meds in it until six. please remember this.", "chart their meds"),
        ("覚えておいて。議事録は体言止めで書いて。今日の分もそれで直して", "体言止め"),
        ("die Berichte gehen immer zuerst an Frau Brandt. merk dir das bitte", "Frau Brandt"),
        ("one thing to remember for all grading: give me a quote for each point you take off", "quote"),
    ],
)
def test_a_bare_wish_means_what_stands_beside_it(said: str, kept: str) -> None:
    assert kept in only(f"u: {said}\na: OK.").body


@pytest.mark.parametrize(
    "said",
    [
        "from now on use tabs in the makefiles... hm, python reads them too. no, forget that, leave it as it was",
        "remember that the demo account is reset on Mondays. wait, is it? no. forget it",
        "merk dir: Freitags keine Deploys. ach nein, vergiss es",
    ],
)
def test_a_wish_taken_back_in_the_same_breath_is_none(said: str) -> None:
    assert not drafts(f"u: {said}\na: OK.")


def test_not_to_forget_takes_nothing_back() -> None:
    assert "lint" in only("u: always run lint before a commit. don't forget it\na: OK.").body
