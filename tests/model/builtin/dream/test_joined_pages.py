"""What a joined page claims: only what the evidence speaks of gives way, and a denial is news (D3)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memdir.model.builtin.dream import Night, NightFile, plan_night
from memdir.model.builtin.dream.settle import joined
from memdir.store.topic import Topic

NOW = datetime(2026, 8, 6, 3, 0, tzinfo=UTC)
OLD, NEW = NOW.timestamp() - 40 * 86_400, NOW.timestamp() - 2 * 86_400
UPDATE = "**Update 2026-08-04:**"


def memory(name: str, description: str, body: str = "", kind: str = "project") -> bytes:
    return f"---\nname: {name}\ndescription: {description}\ntype: {kind}\n---\n\n{body or description + '.'}\n".encode()


def replaced(older: bytes, newer: bytes) -> Topic:
    """One page as a person decided with `memdir review … replace`."""
    data = joined(("a.md", older, OLD), ("b.md", newer, NEW), is_update=True)
    assert data is not None
    return Topic(data)


def after_a_night(older: bytes, newer: bytes) -> dict[str, Topic]:
    files = (NightFile("a.md", older, OLD), NightFile("b.md", newer, NEW))
    edits = {edit.key: edit.data for edit in plan_night(Night(files, (), NOW)).edits}
    found = {file.key: edits.get(file.key, file.data) for file in files}
    return {key: Topic(data) for key, data in found.items() if data is not None}


def claimed(topic: Topic) -> str:
    return f"{topic.name}\n{topic.description}\n{topic.body}".partition("**Before")[0]


@pytest.mark.parametrize(
    ("older", "newer", "corrected", "untouched"),
    [
        (
            ("API limit", "The API allows 100 requests per minute", "A batch holds 100 rows."),
            ("API limit raised", "The API went from 100 to 250 requests per minute"),
            "The API allows 250 requests per minute.",
            "A batch holds 100 rows.",
        ),
        (
            ("Standup", "The standup is on Monday at 9:30", "Planning is on Monday at 11:00."),
            ("Standup day", "The standup moved from Monday to Tuesday"),
            "The standup is on Tuesday at 9:30.",
            "Planning is on Monday at 11:00.",
        ),
        (
            ("Staging", "Staging listens on port 8080", "The metrics exporter also uses 8080 on its own host."),
            ("Port", "Staging moved from port 8080 to 9090"),
            "Staging listens on port 9090.",
            "The metrics exporter also uses 8080 on its own host.",
        ),
        (
            ("API port", "API listens on 8080", "The admin page listens on 9090. The proxy forwards 443 to 8080."),
            ("API port now", "API moved from 8080 to 9090"),
            "API listens on 9090.",
            "The proxy forwards 443 to 8080.",
        ),
        (
            ("Sicherung", "Die Sicherung läuft um 02:00", "Der Export läuft um 02:00; danach schläft der Rechner."),
            ("Sicherung später", "Die Sicherung geht von 02:00 auf 03:30"),
            "Die Sicherung läuft um 03:30.",
            "Der Export läuft um 02:00",
        ),
    ],
)
def test_only_the_sentence_that_the_evidence_speaks_of_takes_the_new_value(
    older: tuple[str, str, str], newer: tuple[str, str], corrected: str, untouched: str
) -> None:
    name, claim, more = older
    topic = replaced(memory(name, claim, f"{claim}. {more}"), memory(*newer))
    assert corrected in claimed(topic) and untouched in claimed(topic), topic.body
    assert topic.description == corrected.rstrip(".")
    assert f"{claim}." in topic.body.partition("**Before")[2], "what was stays below"


def test_a_sentence_that_shares_the_subject_but_not_the_claim_points_to_the_update() -> None:
    body = "Backups run at 02:00. Restores from the 02:00 backup take an hour."
    topic = replaced(
        memory("Backups", "Backups run at 02:00", body), memory("Backup time", "Backups moved from 02:00 to 03:00")
    )
    assert "Backups run at 03:00." in claimed(topic)
    assert "Restores from the 02:00 backup take an hour (→ Update 2026-08-04)." in claimed(topic)


def test_an_old_value_that_stands_only_beside_another_subject_stays() -> None:
    body = "The API allows 250 requests per minute. A batch holds 100 rows."
    topic = replaced(
        memory("Limits", "What the API allows", body),
        memory("API limit raised", "The API went from 100 to 250 requests per minute"),
    )
    assert "A batch holds 100 rows." in claimed(topic)


def test_a_clause_that_names_the_old_value_twice_is_marked_and_not_rewritten() -> None:
    claim = "The API allows 100 requests per minute and 100 rows per batch"
    topic = replaced(memory("API limit", claim), memory("API limit raised", "The API went from 100 to 250 requests"))
    assert f"{claim} (→ Update 2026-08-04)." in topic.body


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (("Indentation", "Use tabs for indentation in Makefiles"), ("Tabs", "Never indent Makefiles with tabs")),
        (("Indentation", "Indent the web code with tabs"), ("Tabs", "Do not indent web code with tabs")),
        (
            ("Mail signature", "Sign customer mails with first names"),
            ("First names", "Don't sign mails to customers with a first name"),
        ),
        (
            ("Attrappen", "Tests laufen gegen Attrappen der Datenbank"),
            ("Datenbank", "Tests laufen nicht gegen Attrappen"),
        ),
    ],
)
def test_a_rule_and_its_denial_are_never_told_as_the_same(older: tuple[str, str], newer: tuple[str, str]) -> None:
    found = after_a_night(memory(*older, kind="feedback"), memory(*newer, kind="feedback"))
    if "b.md" in found:  # asked
        return
    topic = found["a.md"]
    assert topic.body.lstrip().startswith(f"{UPDATE} "), topic.body
    assert newer[1] in topic.body.splitlines()[1] and newer[1] == topic.description, "the newer stands in front"
    assert f"{older[1]} (→ Update 2026-08-04)." in topic.body


def test_a_name_that_is_the_denied_rule_gives_way() -> None:
    topic = replaced(memory("Use tabs", "Use tabs", kind="feedback"), memory("Never use tabs", "Never use tabs"))
    assert topic.name == topic.description == "Never use tabs"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Mock the database in unit tests", "Do not mock the database in unit tests"),
        ("Do not mock the database in unit tests", "Mock the database in unit tests"),
        ("Deploy on Fridays", "Deploy on Fridays"),
    ],
)
def test_an_update_has_its_dated_line_in_front_once(older: str, newer: str) -> None:
    topic = replaced(memory(older, older, f"{older}.\n\n**Why:** Ana asked.", "feedback"), memory(newer, newer))
    assert topic.body.lstrip().startswith(f"{UPDATE} {newer}."), topic.body
    assert topic.body.count(UPDATE) == 1 and "**Why:** Ana asked." in topic.body


def test_the_same_text_twice_becomes_one_page_however_little_it_says() -> None:
    page = memory("Tabs", "Use tabs")
    assert len(after_a_night(page, page)) == 1


def test_a_heading_that_is_the_name_tells_the_new_value_too() -> None:
    older = memory("Port 8080", "Staging listens on port 8080", "# Port 8080\n\nStaging listens on port 8080.")
    topic = replaced(older, memory("Staging port", "Staging moved from port 8080 to 9090"))
    assert topic.name == "Port 9090" and "# Port 9090\n" in topic.body


def test_an_update_with_a_name_of_its_own_tells_its_claim_once() -> None:
    older = memory("Staging", "Staging listens on port 8080")
    topic = replaced(older, memory("Port of the week", "Staging listens on port 9090", "Staging listens on port 9090."))
    assert topic.body.lstrip().startswith(f"{UPDATE} Port of the week. Staging listens on port 9090.")
    assert topic.body.count("9090") == 1


@pytest.mark.parametrize(
    ("page", "logged"),
    [
        ("Use tabs in the Makefiles of this repository", "Never use tabs in the Makefiles of this repository"),
        ("Never use tabs in the Makefiles of this repository", "Use tabs in the Makefiles of this repository"),
    ],
)
def test_what_denies_a_page_is_not_known_to_it(page: str, logged: str) -> None:
    files = (
        NightFile("a.md", memory("Makefiles", page, kind="feedback"), OLD),
        NightFile("logs/2026/08/2026-08-05.md", f"- 09:00 [feedback] {logged}.\n".encode(), NEW),
    )
    plan = plan_night(Night(files, (), NOW))
    assert any(logged in (edit.data or b"").decode() for edit in plan.edits if edit.key != "MEMORY.md")
    assert [one.kind for one in plan.asked] == ["replaces"]


def test_what_a_page_says_word_by_word_gets_no_page_of_its_own() -> None:
    said = "The gateway in Porto moves to port 9090 on 2026-09-01"
    logged = NightFile("logs/2026/08/2026-08-05.md", f"- 09:00 [project] {said}.\n".encode(), NEW)
    plan = plan_night(Night((NightFile("a.md", memory("Gateway", said), OLD), logged), (), NOW))
    assert [edit.key for edit in plan.edits] == ["MEMORY.md"] and not plan.asked


@pytest.mark.parametrize(
    ("name", "older", "newer"),
    [
        ("Staging port", "Staging listens on port 8080", "Staging listens on port 9090"),
        ("Tabs", "Use tabs for indentation", "Indent with tabs, not spaces"),
        ("Billing owner", "Nina owns the billing service", "Tom owns the billing service"),
        ("Release freeze", "The release freeze starts on 2026-08-20", "The release freeze starts on 2026-08-27"),
        ("Database choice", "We use MongoDB for the orders", "We use Postgres for the orders"),
    ],
)
def test_two_notes_of_one_name_and_subject_are_joined_or_asked_about(name: str, older: str, newer: str) -> None:
    files = (NightFile("a.md", memory(name, older), OLD), NightFile("b.md", memory(name, newer), NEW))
    plan = plan_night(Night(files, (), NOW))
    assert plan.asked or [edit for edit in plan.edits if edit.key == "b.md" and edit.data is None]


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("more", ["", "\n\nUse pytest."])
def test_what_is_said_again_word_by_word_is_no_update_and_stands_once(is_turned: bool, more: str) -> None:
    said = "Always write unit tests before you push a branch, reviewers wait for them"
    one = memory("Always write unit tests before you push", said, said, "feedback")
    two = memory("unit tests before pushing", said, f"{said}{more}", "feedback")
    [topic] = after_a_night(*((two, one) if is_turned else (one, two))).values()
    assert topic.body.casefold().count("reviewers wait") == 1 and "Update" not in topic.body
    assert more.strip() in topic.body and "unit tests before pushing" in topic.body
