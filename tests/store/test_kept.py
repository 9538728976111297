"""What an update keeps: every line that its news does not replace, whoever rewrote the file (X6, ADR 0055)."""

from __future__ import annotations

import pytest

from memdir.store.form import well_formed
from memdir.store.kept import is_another, kept, unsaid
from memdir.store.topic import Topic
from tests.security.fakes import github_token


def memory(body: str, *, name: str = "Deploys", description: str = "how we deploy", more: str = "") -> Topic:
    return Topic(f"---\nname: {name}\ndescription: {description}\ntype: project\n{more}---\n\n{body}\n".encode())


def updated(before: str, after: str) -> str:
    return kept(memory(before), memory(after)).topic.body.strip()


LONG = """Deploys go out on Tuesdays. Bob has the key to the rack.

- web1: 10.0.0.1
- web2: 10.0.0.2

```sh
make ship
```

| site | port |
|---|---|
| qa | 8002 |

> a remark in my own hand

**Why:** the ops team is on call then.

**How to apply:** ask before a Friday release."""


def test_one_sentence_of_news_costs_nothing_else() -> None:
    assert updated(LONG, "Deploys go out on Wednesdays.") == LONG.replace("Tuesdays", "Wednesdays")


TABLE = "| host | role |\n|---|---|\n| db3 | primary |\n| db4 | replica |"


@pytest.mark.parametrize(
    ("said", "others", "is_held"),
    [
        ("Team A owns billing.", "Team B owns billing.", False),
        ("We chose plan B.", "We chose plan C in May.", False),
        ("Use C for the firmware.", "Use Rust for the firmware.", False),
        ("Use C for the firmware.", "The firmware is in C: use it.", True),
        ("A team owns billing.", "One team owns billing.", True),
    ],
)
def test_what_is_named_by_a_letter_is_not_told_by_another_letter(said: str, others: str, is_held: bool) -> None:
    """S13: or a night's work could delete one of two memories for the other."""
    assert (unsaid(Topic(f"---\nname: x\n---\n\n{said}\n".encode()), [others]) == []) is is_held


def test_what_is_put_back_behind_a_row_stands_behind_its_whole_table() -> None:
    code = "```sh\nssh db3\n```"
    news = TABLE.replace("db4", "db5")
    assert updated(f"{TABLE}\n\n{code}", news).endswith(f"| db5 | replica |\n\n{code}")
    found = updated(f"{TABLE}\n\n- ask Ole\n- tell Marta\n\n{code}", f"{news}\n\n**Why:** it is so.")
    assert f"{TABLE}\n| db5 | replica |\n\n" in found and "\n\n- ask Ole\n- tell Marta\n\n" in found


def test_two_lists_that_are_put_back_stay_two() -> None:
    steps = "Steps:\n\n1. Stop the queue.\n2. Run migrate.\n3. Start the queue."
    todo = "- [ ] ask Ole\n- [ ] tell Marta"
    found = updated(f"{steps}\n\n{todo}", "Steps:\n\n1. Stop the queue.\n2. Run backup.")
    assert found == f"{steps.replace('migrate', 'backup')}\n\n{todo}"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            "Tags look like v1.2.3; the CI signs them.\n\nAsk Olga first.\n\n**Why:** the updater; it sorts.",
            "Tags look like r-1.2.3.",
            "Tags look like r-1.2.3. The CI signs them.\n\nAsk Olga first.\n\n**Why:** the updater; it sorts.",
        ),
        (
            "The API listens on port 8080; npm starts it.",
            "The API listens on port 9090; it is slow.",
            "The API listens on port 9090; it is slow. npm starts it.",
        ),
        (
            "Deploys go out on Friday; Tom approves them; rollbacks need Maria.",
            "Deploys go out on Monday.",
            "Deploys go out on Monday. Tom approves them; rollbacks need Maria.",
        ),
        (
            "Olga runs it; the API listens on port 8080.",
            "The API listens on port 9090.",
            "The API listens on port 9090.\n\nOlga runs it.",
        ),
        (
            "The API listens on port 8080 (with TLS; Olga runs it).",
            "The API listens on port 9090.",
            "The API listens on port 9090.\n\n**Before:** The API listens on port 8080 (with TLS; Olga runs it).",
        ),
    ],
)
def test_a_half_of_a_sentence_that_nothing_replaces_stays_and_the_old_value_goes(
    before: str, after: str, found: str
) -> None:
    assert updated(before, after) == found


@pytest.mark.parametrize(
    ("rule", "case"),
    [
        ("Deploys go out on Tuesdays.", "In December we deploy on Thursdays."),
        ("Deploys go out on Tuesdays.", "Except in December, then deploys go out on Thursdays."),
        ("We use tabs for indentation.", "In YAML we use two spaces for indentation."),
        ("Standup is at 9:30.", "On Mondays the standup is at 10:00."),
        ("Tests run with pytest.", "Only the load tests run with k6."),
        ("Wir deployen dienstags.", "Im Dezember deployen wir donnerstags."),
        ("Nous déployons le mardi.", "En décembre nous déployons le jeudi."),
    ],
)
@pytest.mark.parametrize("description", ["", "the case alone"])
def test_a_rule_with_an_exception_goes_on_leading_its_memory(rule: str, case: str, description: str) -> None:
    """X7: what holds in one case takes no name, no line in the index and no place from what holds in all others."""
    before = memory(f"{rule}\n\n**Why:** ops.", name="The rule", description=rule.rstrip("."))
    after = memory(case, name="The rule", description=description or before.description)
    topic = kept(before, after).topic
    assert topic.body.strip() == f"{rule}\n\n{case}\n\n**Why:** ops."
    assert (topic.name, topic.description) == (before.name, before.description)
    other = memory(case, name="Exception", description=case.rstrip("."))
    assert kept(before, other).topic.name == "The rule" or is_another(before, other)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Deploys go out on Tuesdays.", "In future deploys go out on Thursdays."),
        ("The office is in Ulm.", "In Bonn we have the office."),
        ("On Tuesdays the standup is at 9:30.", "On Mondays the standup is at 10:00."),
        ("We deploy from main with Jenkins.", "In this house we deploy from main with Argo now."),
    ],
)
def test_news_that_begins_with_a_time_or_a_place_may_be_the_other_value(before: str, after: str) -> None:
    assert before not in updated(before, after).partition("**Before:**")[0]


TABS = "We use tabs in Go and two spaces in YAML."


@pytest.mark.parametrize(
    ("before", "after", "stands"),
    [
        (TABS, "We use four spaces in YAML now.", ["We use tabs in Go."]),
        (TABS, "In YAML we use four spaces.", ["We use tabs in Go."]),
        (TABS, "We use spaces in Go now.", ["We use two spaces in YAML."]),
        (TABS, f"We use four spaces in YAML now.\n\n**Before:** {TABS}", ["We use tabs in Go."]),
        ("Maria owns billing, search and deploys.", "Tom owns search.", ["Maria owns billing.", "Maria owns deploys."]),
        ("Use MySQL for jobs and Redis for logs.", "Use DB2 for jobs.", ["Use Redis for logs."]),
        ("Ole reviews payments and Petra reviews search.", "Jan reviews search now.", ["Ole reviews payments."]),
        ("Ole reviews payments and Petra reviews search.", "Petra reviews payments.", ["Petra reviews search."]),
        (
            "Berlin has the rack, Paris has the backups, and Rome has the printers.",
            "Madrid has the backups.",
            ["Berlin has the rack.", "Rome has the printers."],
        ),
        ("Unit tests run with vitest while load tests run with k6.", "Load tests run with wrk.", ["with vitest."]),
        ("Logs are kept for 30 days and metrics for 90 days.", "Metrics are kept for 60 days.", ["Logs", "30 days."]),
        ("Branches start with feat/ and fixes start with fix/.", "Fixes start with bug/.", ["start with feat/."]),
        ("Bonn has the rack and Ulm has the printers.", "Ulm has no printers any more.", ["Bonn has the rack."]),
        (
            "The freeze begins on 2027-03-01, ends on 2027-03-15 and Maria signs exceptions.",
            "The freeze ends on 2027-03-20.",
            ["The freeze begins on 2027-03-01."],
        ),
        (
            "The shop opens at 9, closes at 18 and Maria has the key.",
            "The shop closes at 19.",
            ["The shop opens at 9."],
        ),
        (
            "Die Sperre beginnt am 2027-03-01 und endet am 2027-03-15.",
            "Die Sperre endet am 2027-03-20.",
            ["Die Sperre beginnt am 2027-03-01."],
        ),
        ("Anna prüft Rechnungen und Bernd prüft Verträge.", "Clara prüft jetzt Verträge.", ["Anna prüft Rechnungen."]),
        ("Les tests vont la nuit et les builds vont à midi.", "Les builds vont à 14 h.", ["Les tests vont la nuit."]),
        ("Тесты идут ночью, а сборки идут утром.", "Сборки идут вечером.", ["Тесты идут ночью."]),
        ("バックエンドはGoで、フロントエンドはReactで書く。", "フロントエンドはVueで書く。", ["バックエンドはGoで。"]),
    ],
)
def test_of_two_facts_in_one_sentence_the_news_ends_the_one_that_it_is_about(
    before: str, after: str, stands: list[str]
) -> None:
    """X6: the other goes on as a claim of today, under its own name."""
    result = kept(memory(before, description=before.rstrip(".")), memory(after, description=before.rstrip(".")))
    now = result.topic.body.partition("**Before:**")[0]
    assert [text for text in (after.partition("\n")[0], *stands) if text not in now] == []
    assert before.rstrip(".。") not in now
    assert all(text.rstrip(".。") in result.topic.description for text in stands), "it is found as before"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "If the build on main fails, tell Ole on Slack and stop the queue.",
            "If the build on main fails, tell Petra on Slack.",
        ),
        ("Old unit checks and new smoke tests run nightly.", "New smoke tests run hourly."),
        ("Petra is on holiday in May and Ole covers for her.", "Jan covers for Petra."),
        ("The api has port 80, call 555-1234.", "The api has port 81."),
    ],
)
def test_what_says_something_else_without_the_rest_of_its_sentence_is_not_cut_from_it(before: str, after: str) -> None:
    assert updated(before, after) == f"{after}\n\n**Before:** {before}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TABS, "We use tabs in Go and four spaces in YAML."),
        (TABS, "Go uses tabs. YAML uses four spaces."),
        (TABS, "We use spaces in Go and four spaces in YAML."),
        ("Maria owns billing and search.", "Tom owns billing and search now."),
        ("Deploys go out on Tuesdays and Thursdays.", "Deploys go out on Tuesdays and Fridays."),
        ("Use Postgres and Redis.", "Use MySQL and Redis."),
    ],
)
def test_news_that_says_the_whole_sentence_anew_replaces_it_whole(before: str, after: str) -> None:
    assert updated(before, after) == after


def test_the_half_of_a_row_stays_a_row() -> None:
    before = "- Logs are kept for 30 days and metrics for 90 days.\n- Traces are off."
    assert updated(before, "- Logs are kept for 14 days.") == (
        "- Logs are kept for 14 days.\n- metrics for 90 days.\n- Traces are off."
    )


@pytest.mark.parametrize(
    ("before", "after", "keeps", "goes"),
    [
        ("Ports: staging 8001, qa 8002, prod 8003.", "The staging port is 9001.", ["8002", "8003", "9001"], []),
        ("Maria owns billing, call 555-1234.", "Tom owns billing.", ["Tom", "**Before:** Maria", "555-1234"], []),
        ("The api runs on port 8080, with 4 workers.", "The api runs on port 9090 since 2026-05-01.", ["4 work"], []),
        ("The api runs on port 8080, behind nginx.", "The api runs on port 9090.", ["behind nginx"], []),
        ("Node 18 with pnpm 8.", "Node 18 on the CI, and 20 here.", ["**Before:** Node 18 with pnpm 8."], []),
        ("The api has port 80 with 4 workers.", "The api has port 80 here, and 81 there.", ["4 workers"], []),
        ("Node 18 with pnpm 8.", "Node 20 with pnpm 9.", ["Node 20"], ["18", "8."]),
        (
            "Use MySQL for billing and Redis for jobs.",
            "Use DB2 for billing and Kafka for events.",
            ["Redis for jobs"],
            [],
        ),
        ("Maria owns billing and Tom owns search.", "Anna owns billing and Bob owns deploys.", ["Tom owns search"], []),
        (
            "Nightly builds use Jenkins and tests use Go 1.",
            "Nightly builds use Argo and tests use Go 2.",
            ["2"],
            ["Jen"],
        ),
        ("Deploys go out on Tuesday, after the standup.", "Deploys go out on Friday.", ["after the standup"], []),
        ("We meet Mondays at 10 in the blue room.", "We meet Tuesdays at 10.", ["in the blue room"], []),
        ("Use tabs in Go files of the backend.", "Use spaces in Go files.", ["of the backend"], []),
        ("The server is called blue heron.", "The server is called red falcon.", ["red falcon"], ["heron"]),
        ("The api runs on port 8080, Olga runs it.", "The api runs on port 9090, Berlin hosts it.", ["Olga"], []),
        ("The api runs on port 8080, Olga tends it.", "The api runs on port 9090, Tom tends it.", ["Tom"], ["Olga"]),
        ("Standup is at 9:30.", "The daily standup is at 10:00.", ["10:00"], ["9:30"]),
        ("Deploys need two approvals.", "Deploys go out on Wednesdays.", ["two approvals", "Wednesdays"], []),
        ("The staging server runs Debian 12.", "The staging port is 9000.", ["Debian 12", "9000"], ["Before"]),
        (
            "Der Deploy läuft freitags. Anna stimmt zu.",
            "Deploys laufen jetzt montags.",
            ["Anna", "montags"],
            ["freitags"],
        ),
        ("バックエンドはGoで書く。テストは毎晩走る。", "バックエンドはRustで書く。", ["Rust", "毎晩"], ["Go"]),
        ("Le port de test est 8001. Le café est au 3e.", "Le port de test est 9001.", ["9001", "3e"], ["8001"]),
        ("Бэкенд на Go. Тесты идут ночью.", "Бэкенд на Rust.", ["Rust", "ночью"], []),
    ],
)
def test_a_value_is_replaced_and_the_others_stay(before: str, after: str, keeps: list[str], goes: list[str]) -> None:
    found = updated(before, after)
    assert [text for text in keeps if text not in found] == []
    assert [text for text in goes if text in found] == []


@pytest.mark.parametrize(
    "after",
    [
        "We deploy from staging after the nightly run, and Bob agrees.",
        "- We deploy from staging\n- after the nightly run\n- Bob agrees",
        "**We deploy from staging after the nightly run. Bob agrees.**",
        "We deploy from\nstaging after the\nnightly run. Bob agrees.",
    ],
)
def test_what_is_said_in_another_form_is_not_said_twice(after: str) -> None:
    assert updated("We deploy from staging after the nightly run. Bob agrees.", after) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Use Node 18 with pnpm 8 and the corepack shim.", "Use Node 20."),
        ("We use Postgres 14 on port 5433, user app, in eu-west-1.", "We use Postgres 16"),
    ],
)
def test_a_number_that_is_another_now_does_not_stand_beside_the_old_one(before: str, after: str) -> None:
    """However much more the old sentence said: a memory that says both says nothing."""
    assert updated(f"{before}\n\n**Why:** CI.", after) == f"{after}\n\n**Why:** CI.\n\n**Before:** {before}"


def test_a_new_reason_takes_the_place_of_the_old_one_and_a_missing_one_does_not() -> None:
    before = "Tests use a real database.\n\n**Why:** mocks hid a broken migration."
    assert "mocks hid" in updated(before, "Tests use a real database, on port 5433.")
    assert "mocks hid" not in updated(before, "Tests use a real database.\n\n**Why:** the mocks are gone anyway.")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("We decided to use PostgreSQL 17 for billing.", "We decided to use PostgreSQL 18 for billing."),
        ("We decided to use PostgreSQL 17 for billing.", "We decided to use PostgreSQL 18 instead of 17 for billing."),
        ("We decided to lease three vans.", "We decided to lease four vans."),
        ("We chose Kafka for the events.", "We go with Redis for the events."),
        ("Wir haben uns für Kafka entschieden.", "Wir haben uns statt für Kafka für Redis entschieden."),
        ("Nous avons décidé de louer trois camions.", "Nous avons décidé de louer quatre camions."),
    ],
)
def test_a_reason_stays_with_the_decision_that_it_was_given_for(before: str, after: str) -> None:
    """X6: it is not lost, and no reason of what was decided in its place."""
    for told in (after, f"{after}\n\n**Before:** {before}"):
        now, _, past = updated(f"{before}\n\n**Why:** the audit rules ask for it.", told).partition("**Before:**")
        assert "audit rules" not in now and "Why: the audit rules ask for it." in past
    own = updated(f"{before}\n\n**Why:** the audit rules ask for it.", f"{after}\n\n**Why:** it is faster.")
    assert "**Why:** it is faster." in own and "audit" not in own.partition("**Before:**")[0]


@pytest.mark.parametrize(
    "after",
    [
        "We decided to use PostgreSQL 17 for billing, on port 5433.",
        "We chose PostgreSQL 17 for billing.",
        "We decided to use PostgreSQL 17 for billing. Bob sets it up.",
    ],
)
def test_a_decision_that_stands_keeps_its_reason(after: str) -> None:
    before = "We decided to use PostgreSQL 17 for billing.\n\n**Why:** the audit rules ask for it."
    assert "**Why:** the audit rules ask for it." in updated(before, after)


def test_what_was_before_is_told_sentence_by_sentence() -> None:
    before, after = "Maria owns billing.\n\n**Before:** Ann did", "Tom owns billing.\n\n**Before:** Maria did"
    assert updated(before, after).endswith("**Before:** Maria did. Ann did")


def test_lines_come_back_under_their_heading() -> None:
    before = "Intro.\n\n## Servers\n\n- web1 is slow\n- db1 is fast\n\n## People\n\nAna is in charge."
    after = "Intro.\n\n## People\n\nAna is in charge."
    assert "## Servers\n\n- web1 is slow\n- db1 is fast\n" in updated(before, after) + "\n"


def test_name_description_and_heading_follow_the_value() -> None:
    before = memory(
        "# Maria owns billing\n\nMaria owns billing.", name="Maria owns billing", description="Maria owns billing"
    )
    after = memory(
        "# Maria owns billing\n\nTom owns billing.", name="Maria owns billing", description="Maria owns billing"
    )
    result = kept(before, after)
    assert (result.topic.name, result.topic.description) == ("Tom owns billing", "Tom owns billing")
    assert "Maria" not in result.topic.body
    assert result.followed == ("description", "name")


@pytest.mark.parametrize("before", ["", "\n\n**Before:** Indentation in this project is with tabs"])
@pytest.mark.parametrize(("name", "follows"), [("Use tabs", True), ("Indentation", False)])
def test_a_name_that_tells_what_the_news_denies_follows(name: str, follows: bool, before: str) -> None:
    """Also where the draft itself puts the old under Before; a name that says what it is about stays."""
    news = "No tabs any more, four spaces for indentation."
    result = kept(memory("Indentation in this project is with tabs.", name=name), memory(f"{news}{before}", name=name))
    assert result.topic.name == ("No tabs any more, four spaces for indentation" if follows else name)


def test_a_name_stays_where_the_memory_denied_all_along() -> None:
    old, new = "Never mock the database in tests.", "Never mock the database in integration tests, unit tests may."
    assert kept(memory(old, name="Database mocks"), memory(new, name="Database mocks")).topic.name == "Database mocks"


def test_a_description_that_the_model_chose_itself_stays() -> None:
    result = kept(
        memory("Deploys on Monday.", description="Monday"), memory("Deploys on Friday.", description="the day")
    )
    assert result.topic.description == "the day"


def test_fields_of_a_person_stay_as_they_were_written() -> None:
    """By the one door that a model's text comes through (Q1)."""
    before = memory("Tea.", more="pinned: true\ntags:\n  - one\n  - two\n")
    assert b"pinned: true\ntags:\n  - one\n  - two\n" in well_formed("tea.md", memory("Coffee.").data, before.data)[0]


def test_a_secret_that_was_taken_out_stays_out() -> None:
    token = github_token()
    assert token not in updated(f"The deploy token is {token}. Bob knows it.", "Bob knows it.")


def test_what_stands_in_another_file_now_has_moved() -> None:
    result = kept(memory("Tea at four. Bob owns billing."), memory("Tea at four."), elsewhere="Bob owns billing.")
    assert "Bob" not in result.topic.body


def test_another_rule_in_the_place_of_a_memory_is_no_update() -> None:
    prefixes = memory("Branches start with the ticket number.", name="Branch prefixes", description="branch names")
    tags = memory("Release tags are signed.", name="Release tags", description="signed release tags")
    assert is_another(prefixes, tags)
    assert not is_another(prefixes, memory("Branches start with a verb.", name="Branches", description="branch verbs"))


@pytest.mark.parametrize(
    "tags",
    ["Release tags look like v1.2", "Release tags start with v, like v1.2, and are cut from branches."],
)
def test_another_rule_that_shares_some_words_is_no_update_either(tags: str) -> None:
    body = "Branches start with feat/ or fix/.\n\n**Why:** the CI matches on it."
    branches = memory(body, name="Branches", description="Branch names start with feat/ or fix/")
    assert is_another(branches, memory(tags, name="Release tags", description=tags.partition(",")[0]))
    news = memory(
        "Branches start with feat/ or bug/.", name="Prefixes", description="Branches start with feat/ or bug/"
    )
    assert not is_another(branches, news)


@pytest.mark.parametrize(
    ("name", "body", "other", "news"),
    [
        ("Release branches", "Release branches begin with rel/.", "Release tags", "Release tags begin with v."),
        (
            *("Database port", "The database runs on port 5432."),
            *("Database backups", "Backups go to the blue disk every Sunday."),
        ),
    ],
)
def test_a_word_that_two_names_share_makes_no_update_of_another_rule(
    name: str, body: str, other: str, news: str
) -> None:
    before = memory(f"{body}\n\n**Why:** legacy clients.", name=name, description=body.rstrip("."))
    assert is_another(before, memory(news, name=other, description=news.rstrip(".")))
    assert not is_another(before, memory(news, name=other, description=before.description))
    moved = body.replace("5432", "6000").replace("rel/", "release/")
    assert not is_another(before, memory(moved, name=f"{name} now", description=moved.rstrip(".")))


@pytest.mark.parametrize(
    ("name", "body", "other", "news"),
    [
        ("Branch names", "Branch names start with feat/ or fix/.", "Tag names", "Tag names start with v, like v1.2."),
        ("Branch names", "Branch names are lower case.", "Tag names", "Tag names are upper case."),
        ("API port", "The API listens on port 8080.", "Database port", "The database listens on port 5432."),
        ("Frontend tests", "Frontend tests run with vitest.", "Backend tests", "Backend tests run with pytest."),
    ],
)
def test_the_same_kind_of_rule_for_another_thing_is_another_rule(name: str, body: str, other: str, news: str) -> None:
    """Both what a sentence is about and what it says of it are others, and the name tells (X6)."""
    before = memory(body, name=name, description=body.rstrip("."))
    assert is_another(before, memory(news, name=other, description=news.rstrip(".")))


@pytest.mark.parametrize(
    ("name", "body", "other", "news"),
    [
        ("Maria owns billing", "Maria owns billing.", "Tom owns billing", "Tom owns billing."),
        ("Database is MySQL", "The database is MySQL.", "Database is Postgres", "The database is Postgres."),
        ("Use npm", "Use npm to install packages.", "Use pnpm", "Use pnpm to install packages."),
        ("Tests by unittest", "Tests run with unittest.", "Tests by pytest", "Tests run with pytest."),
    ],
)
def test_another_value_of_the_same_thing_is_an_update_whatever_its_name(
    name: str, body: str, other: str, news: str
) -> None:
    before = memory(body, name=name, description=body.rstrip("."))
    assert not is_another(before, memory(news, name=other, description=news.rstrip(".")))


@pytest.mark.parametrize(
    ("name", "body", "other", "news"),
    [
        (
            *("Berlin rotation", "The password rotation of the Berlin office is on Mondays."),
            *("Paris rotation", "The password rotation of the Paris office is on Tuesdays."),
        ),
        (
            "Parser reviews",
            "From now on Bob reviews the parser.",
            "Lexer reviews",
            "From now on Alice reviews the lexer.",
        ),
        (
            *("Acme contract", "The contract with Acme ends on 2027-05-01."),
            *("Globex contract", "The contract with Globex ends on 2027-05-01."),
        ),
        (
            *("Payment freeze", "The payment service is frozen until 2027-03-01."),
            *("Search freeze", "The search service is frozen until 2027-03-01."),
        ),
    ],
)
def test_what_its_name_tells_to_be_another_thing_is_another_memory_wherever_a_sentence_names_it(
    name: str, body: str, other: str, news: str
) -> None:
    before = memory(body, name=name, description=body.rstrip("."))
    assert is_another(before, memory(news, name=other, description=news.rstrip(".")))


@pytest.mark.parametrize(
    ("name", "body", "other", "news"),
    [
        ("Maria's allergy", "Maria is allergic to peanuts.", "Petra's allergy", "Petra is allergic to peanuts."),
        ("Use npm", "Use npm to install packages.", "Use pnpm", "Use pnpm to install packages."),
    ],
)
def test_what_may_be_of_another_thing_by_its_name_stays_under_before(
    name: str, body: str, other: str, news: str
) -> None:
    before = memory(body, name=name, description=body.rstrip("."))
    after = kept(before, memory(news, name=other, description=news.rstrip("."))).topic.body
    assert after.strip() == f"{news}\n\n**Before:** {body}"


@pytest.mark.parametrize(
    ("name", "body", "news"),
    [
        ("Naming", "Branch names begin with feat/.", "Release tags begin with v."),
        ("Database rules", "Never mock the database in tests.", "Always take a backup before a migration."),
        ("Reviews", "Maria reviews the parser.", "Tom reviews the lexer."),
    ],
)
def test_two_rules_under_one_name_are_two_memories(name: str, body: str, news: str) -> None:
    before = memory(f"{body}\n\n**Why:** it broke.", name=name, description=body.rstrip("."))
    assert is_another(before, memory(news, name=name, description=news.rstrip(".")))
    assert not is_another(before, memory(news, name=name, description=before.description)), "it is found as before"


@pytest.mark.parametrize(
    ("body", "news"),
    [
        ("Use tabs.", "Indent with four spaces."),
        ("Uses vim.", "Works in VS Code."),
        ("We host on AWS, in Frankfurt.", "Everything runs at Hetzner now, in Falkenstein."),
        ("Maria owns billing.", "Tom owns billing since May."),
        ("Standup is on Mondays at 9.", "The daily is on Tuesdays at 10."),
        ("We deploy with Jenkins from main.", "We deploy with Argo from release."),
    ],
)
def test_another_value_under_the_same_name_stays_an_update(body: str, news: str) -> None:
    before = memory(body, name="Ours", description=body.rstrip("."))
    assert not is_another(before, memory(news, name="Ours", description=news.rstrip(".")))


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_a_line_in_somebodys_own_hand_stays_a_line(gap: str) -> None:
    before = f"Deploys go out on Tuesdays.{gap}my own note, ask Ana about the rack\n\n**Why:** the ops team."
    assert updated(before, "Deploys go out on Wednesdays.") == before.replace("Tuesdays", "Wednesdays")


def test_line_ends_stay_as_they_were() -> None:
    before = Topic(memory("Likes tea.\nLives in Bonn.").data.replace(b"\n", b"\r\n"))
    after = Topic(memory("Likes tea.").data.replace(b"\n", b"\r\n"))
    found = kept(before, after).topic.data
    assert b"Lives in Bonn." in found
    assert found.count(b"\n") == found.count(b"\r\n")


@pytest.mark.parametrize(
    ("lost", "others"),
    [
        ("Alice reviews billing.", "Alice is on leave. Bob looks after billing. Nobody reviews on Fridays."),
        ("Maria owns the database.", "Maria plans the release. Tom owns the queue. The database is old."),
        ("Backups run at night.", "Backups are kept for a year. Tests run in the morning. The night shift is small."),
        ("Die Tests laufen nachts.", "Die Tests sind langsam. Builds laufen morgens. Nachts ist niemand da."),
    ],
)
def test_words_that_stand_scattered_over_a_text_do_not_say_what_one_sentence_said(lost: str, others: str) -> None:
    before = Topic.compose(name="Team", description="who does what", kind=None, body=f"{lost} The office is small.")
    after = before.with_body(f"\nThe office is small. {others}\n")
    assert lost in kept(before, after).topic.body
    assert lost in kept(before, before.with_body("\nThe office is small.\n"), elsewhere=others).topic.body


def test_a_sentence_that_is_said_in_another_order_or_elsewhere_may_go() -> None:
    before = Topic.compose(
        name="Team", description="d", kind=None, body="Maria owns the database. The office is small."
    )
    for text, elsewhere in (
        ("The database is what Maria owns. The office is small.", ""),
        ("The office is small.", "There is more. The database? Maria owns it."),
    ):
        assert (
            "Maria owns the database"
            not in kept(before, before.with_body(f"\n{text}\n"), elsewhere=elsewhere).topic.body
        )
