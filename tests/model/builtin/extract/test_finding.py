"""What extraction finds: corrections and confirmations, people, decisions, deadlines, pointers (T1-T4)."""

from __future__ import annotations

import pytest

from .talk import cases, drafts, only, text_of


def test_a_correction_becomes_feedback_with_its_reason() -> None:
    draft = only("""
        u: render the teaser
        a: Rendering on your workstation.
        u: stop, not on mine! renders always go to the farm, never to a workstation. last week one took the
        edit suite down
        a: Moved to the farm.
    """)
    assert draft.type == "feedback"
    assert draft.action == "create"
    assert "farm" in draft.description
    assert "**Why:** Last week one took the edit suite down." in draft.body
    assert draft.file.startswith("feedback_")


def test_a_reason_inside_the_sentence_is_set_apart() -> None:
    draft = only("""
        u: write the SQL
        a: SELECT * FROM shipments
        u: please never use select star in our queries, because the view got a new column in May and the
        import fell over
        a: Named the columns.
    """)
    assert "**Why:** Because the view got a new column in May" in draft.body


def test_praise_for_how_something_was_done_is_a_confirmation() -> None:
    draft = only("""
        u: why did the batch fail
        a: Cause: expired key. Evidence: log line 40. Confidence: high.
        u: cause, evidence, confidence: perfect. do every investigation exactly like that from now on, I
        forward them as they are
        a: Will do.
    """)
    assert draft.type == "feedback"
    assert "evidence" in text_of(draft).lower()


def test_a_bare_yes_adopts_an_explicit_offer_and_names_it() -> None:
    draft = only("""
        u: rename the enum
        a: Renamed. I left the old name as a deprecated alias. Shall I always do that for public names?
        u: yes
        a: Good.
    """)
    assert draft.type == "feedback"
    assert "alias" in draft.body
    assert "public names" in draft.body


@pytest.mark.parametrize(
    ("offer", "answer", "kept"),
    [
        ("Shall I remember that we deploy on Tuesdays?", "yes", "We deploy on Tuesdays."),
        ("Noted. Do you want me to remember that Petra owns billing?", "Yes please.", "Petra owns billing."),
        ("Should I keep in mind that the fair is on 2026-06-02?", "ok, do that", "The fair is on 2026-06-02."),
        ("Soll ich mir merken: dienstags wird deployt?", "ja gerne", "Dienstags wird deployt."),
        ("Dois-je retenir que nous déployons le mardi ?", "oui", "Nous déployons le mardi."),
        ("¿Quieres que recuerde que desplegamos los martes?", "sí", "Desplegamos los martes."),
    ],
)
def test_a_bare_yes_keeps_what_was_offered_to_be_remembered(offer: str, answer: str, kept: str) -> None:
    assert only(f"u: look at the pipeline\na: {offer}\nu: {answer}").body == kept


@pytest.mark.parametrize(
    "talk",
    [
        "a: Shall I remember that we deploy on Tuesdays?\nu: no",
        "a: Shall I remember that we deploy on Tuesdays?\nu: yes, but only for this branch",
        "a: Shall I remember that we deploy on Tuesdays?\nu: what for?",
        "a: Shall I remember that we deploy on Tuesdays? I can also run the tests now.\nu: yes",
        "a: Shall I save that file?\nu: yes",
        "a: Shall I remember that?\nu: yes",
    ],
)
def test_no_plain_yes_or_no_plain_offer_keeps_nothing(talk: str) -> None:
    assert not drafts(f"u: look at the pipeline\n{talk}")


def test_a_bare_yes_to_an_ordinary_question_adopts_nothing() -> None:
    assert not drafts("""
        u: rename the enum
        a: Renamed. Shall I remove the old name as well?
        u: yes
        a: Removed.
    """)


def test_who_the_user_is_becomes_a_user_memory() -> None:
    draft = only("""
        u: I'm a marine biologist, R is fine, but I have never written a line of Python. how do I run this
        every night?
        a: With a timer.
    """)
    assert draft.type == "user"
    assert "biologist" in draft.description


def test_a_deadline_becomes_a_project_memory_with_an_absolute_date() -> None:
    draft = only("""
        u: heads up, the old label printers are switched off in three weeks, after that only the new API
        works. fix the margin?
        a: Fixed.
    """)
    assert draft.type == "project"
    assert "2026-05-27" in draft.description
    assert "margin" not in draft.body


def test_the_conversations_own_zone_decides_what_tomorrow_is() -> None:
    script = """
        u: nobody deploys tomorrow, the auditors are in the house and want the system exactly as it is
        a: Understood.
    """
    assert "2026-05-07" in text_of(only(script, now="2026-05-06T23:50:00-07:00"))
    assert "2026-05-08" in text_of(only(script, now="2026-05-07T00:10:00+13:00"))


def test_a_decision_becomes_a_project_memory() -> None:
    draft = only("""
        u: the board has decided: we drop the Kotlin rewrite and stay with Java until 2029, because it ate two
        quarters. what is left in the tracker?
        a: 31 tickets.
    """)
    assert draft.type == "project"
    assert "Kotlin" in text_of(draft)


def test_who_takes_over_becomes_a_project_memory() -> None:
    draft = only("""
        u: Rosa is leaving at the end of the month, the invoicing service goes to Bilal. write a short handover please
        a: Written.
    """)
    assert draft.type == "project"
    assert "Bilal" in draft.body
    assert "2026-05-31" in draft.body


def test_a_place_outside_the_repository_becomes_a_reference() -> None:
    found = drafts("""
        u: where are the crash reports?
        a: Not in the repository.
        u: the crash reports from the field are in Bugsnag, project 'tractor', and the operators' notes are in
        the shared mailbox
        a: OK.
    """)
    assert {draft.type for draft in found} == {"reference"}
    assert "Bugsnag" in found[0].description


def test_two_matters_in_one_turn_become_two_memories() -> None:
    found = drafts("""
        u: Two things. One, the style guide is on Confluence now, space DDESK, not in the Google doc. Two, I'm
        on holiday from Monday for two weeks and Hollis decides in that time. Fix the dateline?
        a: Fixed.
    """)
    assert [draft.type for draft in found] == ["reference", "project"]
    assert "Hollis" not in found[0].body


LANGUAGES = cases("languages.txt")


@pytest.mark.parametrize("title", LANGUAGES)
def test_other_languages_are_understood(title: str) -> None:
    kind, word = title.split(" ")
    draft = only(LANGUAGES[title])
    assert draft.type == kind
    assert word in text_of(draft)


def test_a_weekday_in_a_rule_stays_a_weekday() -> None:
    draft = only("""
        u: publish 3.0
        a: Ready to upload.
        u: no, we never release after Thursday noon, I answered bug reports under a Christmas tree once
        a: Held.
    """)
    assert draft.type == "feedback"
    assert "2026" not in draft.description


@pytest.mark.parametrize(
    "rule",
    [
        "From now on never deploy on Friday afternoons, the on-call team is small.",
        "Ab jetzt nie am Freitag deployen, da ist niemand im Haus.",
        "From now on always send the Monday report before the Tuesday meeting.",
    ],
)
def test_a_weekday_in_a_rule_is_every_one_of_them(rule: str) -> None:
    """T3."""
    found = drafts(f"u: {rule}\na: Understood.")
    assert found
    assert not [draft for draft in found if "2026-" in text_of(draft)]


def test_what_was_said_in_another_turn_is_no_context_of_a_rule() -> None:
    found = drafts("""
        u: The cache lives in /var/cache/app.
        a: Noted.
        u: From now on always run the linter before you commit, because the build broke twice last week.
        a: Understood.
    """)
    assert not [draft for draft in found if "/var/cache" in draft.body and "linter" in draft.body]


@pytest.mark.parametrize(
    "said",
    [
        "Never mock the database, the migration broke.\n\nAlways use pnpm, not npm, here.\n\nI am a data scientist.",
        "Never mock the database here. Always use pnpm instead of npm. I am a data scientist.",
        "Nie die Datenbank mocken.\n\nImmer pnpm statt npm nehmen.\n\nIch bin Data Scientist.",
    ],
)
def test_two_rules_and_a_role_in_one_message_are_three_memories(said: str) -> None:
    found = drafts(f"u: {said}\na: Understood.")
    assert sorted(draft.type for draft in found) == ["feedback", "feedback", "user"]
    assert [draft.type for draft in found if "cientist" in draft.body] == ["user"]


@pytest.mark.parametrize(
    "said",
    [
        "Always squash commits before merging",
        "Commit messages must always begin with the ticket number",
        "From now on always run the linter before you commit, because the build broke twice last week.",
        "Never commit directly to main.",
        "The standup moved from 9:30 to 10:00",
        "Immer Commits squashen vor dem Mergen.",
        "Toujours lancer les tests avant de pousser.",
        "Nunca hagas push directo a la rama principal, que se rompe todo.",
        "Never deploy on Fridays, the on-call team asked for that.",
        "Deploya aldrig på fredagar, det blir för sent.",
    ],
)
def test_a_plain_rule_or_a_moved_value_is_kept(said: str) -> None:
    assert len(drafts(f"u: {said}\na: Understood.")) == 1


@pytest.mark.parametrize(
    "said",
    [
        "Never mind, it works now.",
        "Always the same problem with this build.",
        "Never seen that error before.",
        "Never worked for me so far.",
        "Should we always squash commits before merging?",
        "I moved the handler to line 40.",
        "Always nice to see green tests.",
    ],
)
def test_what_only_begins_like_a_rule_is_none(said: str) -> None:
    assert drafts(f"u: {said}\na: Understood.") == ()


def test_what_shall_be_remembered_for_next_time_is_kept_even_if_it_is_a_recipe() -> None:
    draft = only(
        "u: the lidar is off again. remember for next time: unplug it, systemctl restart ptp4l, plug it in\na: OK."
    )
    assert draft.type in ("feedback", "project") and "restart ptp4l" in draft.body


def test_what_a_person_tells_of_himself_in_one_sentence_is_one_memory() -> None:
    draft = only("u: I'm a DBA by trade, 20 years Oracle, and I read Go but don't write it.\na: OK.")
    assert draft.type == "user" and "Oracle" in draft.body and "Go" in draft.body
    assert "Said about" not in only("u: Ho 70 anni e non sono pratico di computer.\na: OK.").body


@pytest.mark.parametrize(
    "said",
    [
        "Joanne signs off anything over 500 pounds, the van is booked through Pete, and don't ever phone Mrs Alder.",
        "Never commit directly to main, and always rebase before you push",
    ],
)
def test_what_stands_beside_a_rule_is_not_what_it_is_about(said: str) -> None:
    assert not any("Said about" in draft.body for draft in drafts(f"u: {said}\na: OK."))


def test_praise_is_kept_in_the_words_of_the_user() -> None:
    draft = only(
        "u: write the alt texts\na: Done: all pictures, in German.\n"
        "u: one sentence each and no picture of is just right, do all alt texts so\na: Great."
    )
    assert "German" not in text_of(draft) and "one sentence" in draft.description
