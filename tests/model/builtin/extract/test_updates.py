"""An existing memory on the same point is changed, not doubled; a rule that is called off goes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from memdir.model.builtin.extract import Existing
from memdir.model.builtin.extract.same_memory import are_other_things
from memdir.store.kept import kept
from memdir.store.topic import Topic

from .talk import drafts, memory, only, text_of

FONTS = memory("reference_fonts.md", "Corporate fonts are on the intranet")
BIKE = memory("user_bike.md", "Commutes by bike")


def test_a_changed_rule_updates_its_memory_and_says_what_was_before() -> None:
    old = memory("feedback_commit_style.md", "Conventional commits with scope")
    draft = only(
        """
        u: commit that
        a: Committed with a conventional prefix, as noted.
        u: we dropped the conventional commit prefixes, from now on a plain sentence, because newcomers kept
        guessing between fix and chore
        a: Amended.
        """,
        FONTS,
        old,
        BIKE,
    )
    assert (draft.action, draft.file, draft.type) == ("update", "feedback_commit_style.md", "feedback")
    assert "plain sentence" in draft.description
    assert "**Before:** Conventional commits with scope" in draft.body


def test_a_moved_date_counts_from_the_old_one() -> None:
    old = memory("project_price_launch.md", "Price comparison launches on 2026-09-07")
    draft = only(
        "u: we postpone the price comparison launch by nine days, the lawyers want to reread it\na: OK.", old, FONTS
    )
    assert (draft.action, draft.file) == ("update", "project_price_launch.md")
    assert "2026-09-16" in draft.body


def test_a_new_owner_updates_the_memory_of_the_old_one() -> None:
    old = memory("project_sensor_owner.md", "Ebba owns the torque sensor driver")
    draft = only(
        """
        u: the torque sensor driver throws, who looks after it?
        a: According to my notes it is Ebba.
        u: not any more, Takumi has the torque sensors now
        a: OK.
        """,
        old,
        BIKE,
    )
    assert (draft.action, draft.file, draft.type) == ("update", "project_sensor_owner.md", "project")
    assert "Takumi" in draft.description


def test_a_moved_place_updates_the_pointer_in_another_language() -> None:
    old = memory("reference_guardia.md", "Canal de guardia: Slack #noc-guardia")
    draft = only(
        "u: el canal de guardia cambió: ya no es Slack, ahora todo va por Mattermost, canal 'guardia-movil'\na: Ok.",
        old,
    )
    assert (draft.action, draft.file, draft.type) == ("update", "reference_guardia.md", "reference")
    assert "Mattermost" in draft.description


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        (
            "The shop",
            "The shop opens at 7. Flour comes from Mill Ost every Monday. Samira signs the orders.",
            "our flour comes from Mill West now, Mill Ost burned down. write the order please",
        ),
        (
            "Verein",
            "Kassenwart ist Holger. Beitrag 48 Euro im Jahr. Vereinsheim am Mühlweg.",
            "Schreib bitte die Rechnung. Der Beitrag ist jetzt 60 Euro im Jahr, wurde so beschlossen",
        ),
    ],
)
def test_a_fact_that_only_the_text_of_a_memory_has_is_changed_there(name: str, body: str, said: str) -> None:
    old = memory("project_facts.md", name, body)
    assert [(draft.action, draft.file) for draft in drafts(f"u: {said}\na: OK.", old, BIKE)] == [("update", old.file)]


def test_an_unrelated_memory_is_left_alone() -> None:
    draft = only(
        "u: run it\na: Ran.\nu: benchmarks always run on bench01, never on a laptop, laptops throttle\na: OK.",
        FONTS,
        BIKE,
    )
    assert draft.action == "create"
    assert draft.file not in (FONTS.file, BIKE.file)


def test_among_hundreds_of_memories_the_right_one_is_found() -> None:
    crowd = [memory(f"project_topic_{number}.md", f"Team {number} owns component {number}") for number in range(300)]
    old = memory("feedback_commit_style.md", "Conventional commits with scope")
    script = """
        u: commit
        a: With a conventional prefix, as noted.
        u: we dropped the conventional commit prefixes, from now on plain sentences
        a: OK.
    """
    assert only(script, *crowd, old, FONTS).file == "feedback_commit_style.md"


def test_a_decision_that_is_told_again_was_no_other_before() -> None:
    old = memory("project_billing.md", "We decided to use PostgreSQL 16 for billing")
    found = drafts("u: As I said: we decided to use PostgreSQL 16 for billing.\na: OK.", old, FONTS)
    assert not any("Before" in draft.body for draft in found)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Branch names begin with the ticket number", "please forget the rule about branch names and ticket numbers"),
        ("Never deploy on Fridays, the on-call team is thin", "Forget the Friday rule."),
        ("Never deploy on Fridays, the on-call team is thin", "Ignore the rule about Friday deploys."),
        ("Always use pnpm instead of npm, npm breaks our lockfiles", "forget the thing about pnpm"),
        ("Always use pnpm instead of npm, npm breaks our lockfiles", "Forget the pnpm rule please."),
        ("Bitte immer pnpm statt npm, npm macht unsere Lockfiles kaputt", "vergiss bitte das mit pnpm"),
        ("Bitte immer pnpm statt npm, npm macht unsere Lockfiles kaputt", "Vergiss bitte die pnpm-Regel."),
        ("Bitte immer pnpm statt npm, npm macht unsere Lockfiles kaputt", "vergiss was ich über pnpm gesagt habe"),
        ("Never deploy on Fridays, the on-call team is thin", "Ignore the Friday rule from now on"),
        ("Never deploy on Fridays, the on-call team is thin", "Could you please forget the Friday rule?"),
        ("Never deploy on Fridays, the on-call team is thin", "The rule about Fridays no longer applies."),
        ("Never deploy on Fridays, the on-call team is thin", "Forget that we never deploy on Fridays."),
        ("Never deploy on Fridays, the on-call team is thin", "We dropped the Friday rule."),
        ("Never use emojis in client emails", "Delete the memory about emojis"),
        ("Freitags wird nicht deployt", "vergiss die Freitagsregel"),
        ("Freitags wird nicht deployt", "Kannst du die Regel mit dem Freitag vergessen?"),
        ("Freitags wird nicht deployt", "Die Freitagsregel gilt nicht mehr"),
        ("Freitags wird nicht deployt", "Ignorier ab jetzt die Freitagsregel"),
        ("Keine Emojis in Mails an Kunden", "Die Emoji-Regel kannst du löschen."),
        ("Ne jamais déployer le vendredi", "Peux-tu oublier la règle du vendredi ?"),
        ("Ne jamais déployer le vendredi", "La règle du vendredi ne s'applique plus"),
        ("Nunca desplegar los viernes", "¿Puedes olvidar la regla de los viernes?"),
        ("Nunca desplegar los viernes", "La regla de los viernes ya no vale"),
    ],
)
def test_a_rule_called_off_in_so_many_words_is_deleted(rule: str, words: str) -> None:
    found = drafts(f"u: {words}\na: Forgotten.", memory("feedback_rule.md", rule), FONTS)
    assert [(draft.action, draft.file) for draft in found] == [("delete", "feedback_rule.md")]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Never deploy on Fridays, the on-call team is thin", "Don't forget the rule about Friday deploys."),
        ("Never deploy on Fridays, the on-call team is thin", "Never drop the rule about Friday deploys."),
        ("Never deploy on Fridays, the on-call team is thin", "I did not say you can forget the Friday deploy rule"),
        ("Deploye nie freitags, alle sind weg", "Bitte vergiss die Regel nicht, dass freitags nicht deployed wird"),
        ("Deploye nie freitags, alle sind weg", "Vergiss nie die Regel, dass freitags keiner deployed"),
        ("Bitte immer pnpm statt npm, npm macht unsere Lockfiles kaputt", "vergiss das mit pnpm bitte nicht"),
    ],
)
def test_a_rule_that_is_not_to_be_forgotten_is_not_deleted(rule: str, words: str) -> None:
    found = drafts(f"u: {words}\na: I will not.", memory("feedback_rule.md", rule), FONTS)
    assert not [draft for draft in found if draft.action == "delete"]


@pytest.mark.parametrize(
    "words", ["Don't forget the rule about Friday deploys.", "Please don't forget the Friday rule!"]
)
def test_who_only_reminds_of_a_rule_by_its_name_says_nothing_to_keep(words: str) -> None:
    rule = memory("feedback_rule.md", "Never deploy on Fridays, the on-call team is thin")
    assert not drafts(f"u: {words}\na: I will not.", rule, FONTS)
    said = drafts("u: Don't forget the rule: never push on Mondays.\na: Noted.", FONTS)
    assert ["Mondays" in draft.description for draft in said] == [True]


def test_what_two_memories_may_mean_is_not_deleted_by_its_subject() -> None:
    rules = [memory("feedback_one.md", "Use pnpm, never npm"), memory("feedback_two.md", "Run pnpm audit on Mondays")]
    assert not drafts("u: vergiss bitte das mit pnpm\na: Welches?", *rules)


@pytest.mark.parametrize(
    "words",
    ["please forget the rule about soup", "Forget the Monday rule.", "Skip the notes field about bike commutes."],
)
def test_calling_off_what_nobody_noted_deletes_nothing(words: str) -> None:
    assert not drafts(f"u: {words}\na: There is none.", FONTS, BIKE)


@pytest.mark.parametrize(
    "words",
    [
        "Don't forget the Friday rule!",
        "Do not delete the note about Friday deploys.",
        "I forgot the Friday rule, what was it?",
        "You forgot the rule about Fridays again.",
        "Should we drop the Friday rule?",
        "Tom told me to delete the note about Friday deploys.",
        "Ignore the Friday rule just this once.",
        "Ignore the Friday rule for the hotfix of the on-call team.",
        "The Friday rule for hotfixes no longer applies.",
        "Is it so that the Friday rule no longer applies?",
        "Remove the note about Friday deploys and the on-call team from docs/deploys.md.",
        "Vergiss die Regel mit dem Freitag nicht!",
        "Kannst du die Freitagsregel bitte nicht vergessen?",
        "Ich habe die Freitagsregel vergessen.",
        "Peux-tu ne pas oublier la règle du vendredi ?",
        "No olvides la regla de los viernes.",
        "Não esquece a regra de sexta.",
    ],
)
def test_who_speaks_of_forgetting_and_does_not_ask_for_it_loses_nothing(words: str) -> None:
    told = ("Never deploy on Fridays, the on-call team is thin", "Freitags wird nicht deployt")
    told = (*told, "Ne jamais déployer le vendredi", "Nunca desplegar los viernes", "Nunca faça deploy na sexta")
    for rule in told:
        found = drafts(f"u: {words}\na: OK.", memory("feedback_rule.md", rule), FONTS)
        assert not any(one.action == "delete" for one in found)


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("We deploy on Tuesdays", "From now on never deploy on Fridays, the on-call team is thin"),
        ("Invoices go out on Mondays", "Please never send invoices on Fridays"),
        ("The standup is at 9:30", "never schedule the standup at 8:00"),
    ],
)
def test_what_is_never_to_be_leaves_what_is_as_it_is(old: str, said: str) -> None:
    assert only(f"u: {said}\na: OK.", memory("feedback_x.md", old)).action == "create"


@pytest.mark.parametrize("said", ["Never deploy on Tuesdays.", "From now on never deploy on Tuesdays, only on Fridays"])
def test_what_is_never_to_be_again_replaces_what_was(said: str) -> None:
    assert only(f"u: {said}\na: OK.", memory("feedback_day.md", "We deploy on Tuesdays")).action == "update"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Deploys go through kestrel", "Deploys are frozen until 2026-12-01 because the auditors are in the house."),
        ("We never deploy on Fridays", "Deploys are frozen until 2026-12-01 because the auditors are in the house."),
        ("Backups are kept for 30 days", "Backups are paused until 2026-12-10 because the array is being replaced."),
    ],
)
def test_what_is_so_until_a_day_leaves_what_is_always_so_as_it_is(rule: str, said: str) -> None:
    """X6: when the freeze is over, the rule is needed again."""
    old = memory("project_rule.md", rule, f"{rule}.\n\n**Why:** Nobody said it better.")
    draft = only(f"u: {said}\na: OK.", old, BIKE)
    assert (draft.action, draft.file != old.file) == ("create", True) and rule not in draft.body


def test_a_day_that_is_added_is_told_of_the_same_thing() -> None:
    old = memory("project_freeze.md", "Deploys are frozen because the auditors are in the house")
    draft = only("u: Deploys are frozen until 2026-12-01 because the auditors are in the house.\na: OK.", old, BIKE)
    assert (draft.action, draft.file) == ("update", old.file)


def test_of_two_memories_that_are_meant_alike_neither_is_deleted() -> None:
    two = (memory("feedback_a.md", "Deploys wait for Maria"), memory("feedback_b.md", "Deploys are announced by mail"))
    assert not drafts("u: Forget the rule about deploys.\na: Which?", *two)


def test_a_new_memory_never_takes_the_name_of_another_file() -> None:
    script = "u: run it\na: Ran.\nu: benchmarks always run on bench01, never on a laptop, laptops throttle\na: OK."
    first = only(script)
    other = Existing(first.file, "cheese", "Cheese is kept in the cellar", "feedback", "Cheese: cellar.")
    again = only(script, other)
    assert again.action == "create"
    assert again.file != first.file


def test_an_update_keeps_the_type_of_its_file() -> None:
    old = memory("user_hours.md", "Works full time, 9 to 17")
    draft = only(
        "u: my working hours changed: I'm on 50 percent from Monday on, mornings only, so plan small\na: OK.", old
    )
    assert (draft.action, draft.type) == ("update", "user")
    assert "50 percent" in text_of(draft)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ("Always answer in German", "From now on always use uv instead of pip in this project."),
        ("Never mock the database in tests", "Please never push directly to main, always open a pull request."),
        ("Commit messages are written in English", "Never use tabs in Python files, four spaces please."),
        (
            "Always use pnpm, never npm",
            "Always write commit messages in English, our team is spread over four countries.",
        ),
        ("Use British spelling in all documents", "From now on use four spaces for indentation in every Python file."),
        ("Never commit secrets", "Never write comments that only repeat the code, they annoy me."),
        ("Answer briefly, no summaries at the end", "Always ask before you install a new dependency, no exceptions."),
        (
            "No emojis in documentation",
            "Please don't touch the generated files under gen/, they are overwritten at every build.",
        ),
    ],
)
def test_a_rule_never_takes_the_place_of_another_rule_with_the_same_everyday_words(kept: str, said: str) -> None:
    found = drafts(f"u: {said}\na: Understood.", memory("feedback_old_rule.md", kept))
    assert [draft.action for draft in found] == ["create"]


def by_and_by(*said: str) -> dict[str, str]:
    """What is known after these messages, each of them learned from before the next one came."""
    known: dict[str, Existing] = {}
    for one in said:
        for draft in drafts(f"u: {one}\na: Understood.", *known.values()):
            old = known.get(draft.file)
            new = Topic.compose(name=draft.name, description=draft.description, kind=None, body=draft.body)
            if old:
                new = kept(
                    Topic.compose(name=old.name, description=old.description, kind=None, body=old.body), new
                ).topic
            known[draft.file] = Existing(draft.file, draft.name, draft.description, draft.type, new.body.strip())
    return {one.file: one.body for one in known.values()}


def at_once(*said: str) -> dict[str, str]:
    """The same where all of them came before any was learned from."""
    found = drafts("\n".join(f"u: {one}\na: Understood." for one in said))
    return {draft.file: draft.body for draft in found}


@pytest.mark.parametrize("came", [by_and_by, at_once])
@pytest.mark.parametrize(
    ("before", "after", "old", "new"),
    [
        (
            "In this repo always prefix branches with feat/ or fix/ because the CI matches on it.",
            "From now on always prefix branches with feat/ or bug/ in this repo.",
            "fix/",
            "bug/",
        ),
        ("Our staging database runs on port 5433.", "The staging database moved to port 5440.", "5433", "5440"),
        (
            "Immer Branches mit feat/ oder fix/ beginnen.",
            "Ab jetzt Branches immer mit feat/ oder bug/ beginnen.",
            "fix/",
            "bug/",
        ),
        (
            "Always keep the line length at 100 characters.",
            "Always keep the line length at 120 characters.",
            "100",
            "120",
        ),
    ],
)
def test_a_new_value_takes_the_place_of_the_old_one_however_fast_it_came(
    came: Callable[..., dict[str, str]], before: str, after: str, old: str, new: str
) -> None:
    """X6: one memory, the new value in it, and the old one only as what was before."""
    [body] = came(before, after).values()
    current, _, past = body.partition("**Before:**")
    assert new in current
    assert old not in current
    assert old in past


def test_an_update_in_the_same_breath_keeps_the_reason() -> None:
    first = "In this repo always prefix branches with feat/ or fix/ because the CI matches on it."
    [body] = at_once(first, "From now on always prefix branches with feat/ or bug/ in this repo.").values()
    assert "**Why:** Because the CI matches on it." in body


@pytest.mark.parametrize("came", [by_and_by, at_once])
def test_two_rules_that_share_words_are_two_memories(came: Callable[..., dict[str, str]]) -> None:
    assert len(came("Always prefix branches with feat/.", "Always prefix commits with feat:.")) == 2
    first = "Never commit to master directly in this project."
    assert len(came(first, "Never use print for logging in this project.")) == 2, "where a rule holds is no subject"


def test_a_title_does_not_tell_the_value_that_was_replaced() -> None:
    [found] = drafts("""
        u: In this repo always prefix branches with feat/ or fix/ because the CI matches on it.
        a: Understood.
        u: From now on always prefix branches with feat/ or bug/ in this repo.
        a: Understood.
    """)
    assert "fix/" not in f"{found.name} {found.description}"


@pytest.mark.parametrize(
    "said",
    [
        ("We decided to use PostgreSQL for orders.", "We decided to use Kafka for events."),
        ("Look at @billing.md. We decided to use PostgreSQL.", "Look at @billing.md. We decided to use Kafka."),
        (
            "Look at @billing.md. We decided to use PostgreSQL 18 for the orders.",
            "Look at @billing.md. We decided to use Kafka 4 for the events.",
        ),
        ("Lena owns billing.", "Tom owns shipping."),
        ("Our office is in Graz.", "Our warehouse is in Linz."),
    ],
)
def test_a_decision_about_one_thing_never_takes_the_place_of_one_about_another(said: tuple[str, str]) -> None:
    first = only(f"u: {said[0]}\na: OK.")
    known = Existing(first.file, first.name, first.description, first.type, first.body)
    second = only(f"u: {said[1]}\na: OK.", known)
    assert second.action == "create" and second.file != first.file


WEIGHT = " because of weight"


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        (f"We decided that gadget {{}} ships in crates{WEIGHT}.", ("07", "09", "11", "13")),
        ("We decided that the sprint {} ends on a Friday.", ("12", "13")),
        ("We decided that gadget #{} ships in crates.", ("7", "9")),
        ("We decided that PROJ-{} is done by hand.", ("12", "13")),
        ("Wir haben beschlossen, dass Gerät {} in Kisten verschickt wird.", ("7", "9")),
        ("Decidimos que o aparelho {} é enviado em caixas.", ("07", "09")),
        ("Abbiamo deciso che il dispositivo {} viene spedito in casse.", ("07", "09")),
        ("We hebben besloten dat apparaat {} in kratten wordt verzonden.", ("07", "09")),
    ],
)
def test_things_that_go_by_a_number_are_as_many_memories(said: str, numbers: tuple[str, ...]) -> None:
    """X6: gadget 13 is no new value of gadget 07."""
    found = by_and_by(*(said.format(number) for number in numbers))
    assert at_once(*(said.format(number) for number in numbers)).keys() == found.keys()
    assert len(found) == len(numbers) and not any("**Before:**" in body for body in found.values())


def test_of_many_such_things_the_one_that_is_named_is_changed() -> None:
    said = [f"We decided that gadget {number} ships in crates." for number in ("07", "09", "11")]
    found = by_and_by(*said, "We decided that gadget 09 now ships in boxes.")
    assert sorted(body.partition("\n")[0] for body in found.values()) == [
        "We decided that gadget 07 ships in crates.",
        "We decided that gadget 09 now ships in boxes.",
        "We decided that gadget 11 ships in crates.",
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We decided to ship order 17 by train.", "We decided to ship order 18 by train."),
        ("For gadget 07 we decided to use crates.", "For gadget 09 we decided to use crates."),
        ("Our room 4 is for meetings.", "Our room 5 is for meetings."),
        ("Room 4 is for meetings.", "Room 5 is for meetings."),
        ("Gate 2 closes at 20:00. The guard is Omar.", "Gate 3 closes at 18:00."),
        ("Team A owns billing.", "Team B owns the invoices."),
        ("Option A costs 40 euros a month.", "Option B costs 90 euros a month."),
        ("Rack 4 holds the database hosts.", "Rack 5 holds the database hosts of the new site."),
        ("Nous avons décidé que le gadget 07 est expédié en caisses.", "… que le gadget 09 est expédié en caisses."),
        ("Decidimos que el aparato 07 se envía en cajas.", "Decidimos que el aparato 09 se envía en cajas."),
        ("Мы решили, что устройство 07 отправляется в ящиках.", "Мы решили, что устройство 09 отправляется."),
        ("Vi har beslutat att enhet 7 skickas i lådor.", "Vi har beslutat att enhet 9 skickas i lådor."),
    ],
)
def test_a_number_or_a_letter_may_tell_which_thing(one: str, other: str) -> None:
    assert are_other_things(one, other)


@pytest.mark.parametrize(
    ("said", "old", "new"),
    [
        ("We decided to use PostgreSQL {} for the billing service.", "17", "18"),
        ("We decided that the api listens on port {}.", "5433", "6000"),
        ("We decided to ship version {} to customers.", "17", "18"),
        ("We decided to use node {} for the builds.", "18", "20"),
        ("We decided to keep {} backups.", "30", "40"),
        ("We decided that reviews need {} approvals.", "3", "4"),
        ("We decided to lease {} vans.", "3", "4"),
        ("We decided to go with plan {} for the move.", "B", "C"),
        ("The crates lie in hall {}.", "A", "B"),
        ("The crates lie in hall {}.", "3", "4"),
        ("Use {} spaces for indentation.", "4", "2"),
        ("Keep {} backups on the disk.", "30", "40"),
        ("Wir haben beschlossen, Kafka {} für Ereignisse zu nutzen.", "4", "5"),
        ("Wir haben uns für Kafka {} entschieden.", "4", "5"),
        ("Wir haben entschieden, dass der Dienst auf Port {} läuft.", "5433", "6000"),
        ("Nous avons décidé d'utiliser le port {} pour l'api.", "5433", "6000"),
        ("Decidimos usar el puerto {} para la api.", "5433", "6000"),
        ("Abbiamo deciso di usare la versione {} per la fatturazione.", "17", "18"),
    ],
)
def test_a_number_may_be_a_value_that_changes(said: str, old: str, new: str) -> None:
    assert not are_other_things(said.format(old), said.format(new))


def test_of_a_value_that_changes_there_is_one_memory() -> None:
    said = "We decided that the api listens on port {}."
    [body] = by_and_by(said.format(5433), said.format(6000)).values()
    assert "6000" in body.partition("**Before:**")[0] and "5433" in body.partition("**Before:**")[2]


@pytest.mark.parametrize(
    ("said", "count"),
    [
        (["Wir haben uns für Kafka entschieden.", "Wir haben uns für Redis entschieden."], 2),
        (["Wir haben uns für Kafka entschieden.", "Wir haben uns statt für Kafka für Redis entschieden."], 1),
    ],
)
def test_two_decisions_are_two_in_german_unless_one_names_the_other(said: list[str], count: int) -> None:
    assert len(by_and_by(*said)) == count


BILLING = memory("project_billing.md", "We decided to use PostgreSQL 16 for billing")
ANSWERED = "u: which database for billing?\na: You use PostgreSQL 16 for billing.\nu: {said}\na: OK."


@pytest.mark.parametrize(
    "said",
    [
        "Please always answer in one line.",
        "Never commit on Fridays, because nobody watches the build then.",
        "Deploys are frozen until December 1.",
        "Ab jetzt bitte auf Deutsch antworten.",
    ],
)
def test_what_only_the_assistant_spoke_of_is_not_replaced_by_the_next_thing_said(said: str) -> None:
    """X6: a decision that an answer has just quoted stays, whatever rule or news comes behind it."""
    assert [draft.action for draft in drafts(ANSWERED.format(said=said), BILLING)] == ["create"]


ANNA = memory("project_anna.md", "Anna owns billing, ask her before changing invoices")
GERMAN = memory("feedback_german.md", "Please always answer in German")


@pytest.mark.parametrize(
    ("answer", "said", "known"),
    [
        ("Okay: Anna owns billing, ask her before changing invoices.", "Don't add comments unless I ask.", ANNA),
        (
            "Okay: Please always answer in German.",
            "We decided on Postgres instead of MySQL, for its JSON type.",
            GERMAN,
        ),
        ("Understood.", "We decided on Postgres instead of MySQL, for its JSON type.", GERMAN),
    ],
)
def test_an_answer_that_says_again_what_was_said_lets_nothing_be_replaced_by_news_of_another_thing(
    answer: str, said: str, known: Existing
) -> None:
    """X6: neither a small word that both have nor "instead" makes one of them."""
    draft = only(f"u: {known.description}.\na: {answer}\nu: {said}\na: OK.", known)
    assert (draft.action, "**Before:**" in draft.body) == ("create", False)


def test_what_was_said_in_turns_before_outlives_a_decision_of_another_thing() -> None:
    """However many turns are read at once (X2, X5)."""
    told = ("Bugs of the payment service are tracked in the Linear project PAY.", "Please always answer in German.")
    news = "We decided to use Postgres instead of MySQL, because of the JSON operators."
    found = drafts("".join(f"u: {text}\na: Understood.\n" for text in (*told, news)))
    assert len(found) == 3 and not any("**Before:**" in draft.body for draft in found)


APART = (
    "From now on never mock the database in tests: mocks hid a broken migration.",
    "We no longer support Python 3.8.",
    "Please always answer in German.",
    "Customers in Canada get invoices in French.",
    "Anna owns billing, ask her before changing invoices.",
    "Use tabs instead of spaces in Makefiles and Go files.",
    "We decided to use Postgres instead of MySQL, because of the JSON operators.",
    "Wir haben entschieden, dass die App nur noch auf Deutsch erscheint.",
    "From now on, write tests before the code.",
    "Don't add comments to my code unless I ask.",
)


@pytest.mark.parametrize("answer", ["Understood.", "Okay: {}"])
@pytest.mark.parametrize(("first", "second"), list(permutations(APART, 2)))
def test_two_things_that_were_said_one_after_the_other_are_two_memories(first: str, second: str, answer: str) -> None:
    """X5, X6: in one run or in two, whatever words tell of a change and whatever the assistant says between them."""
    later = f"a: {answer.format(first)}\nu: {second}\na: {answer.format(second)}"
    one, other = drafts(f"u: {first}\n{later}")
    assert "**Before:**" not in one.body + other.body
    assert only(later, Existing(one.file, one.name, one.description, one.type, one.body)).action == "create"


@pytest.mark.parametrize(
    "said", ["Remember that the demo is on 2027-01-15.", "The demo for the board is on 2027-01-15."]
)
def test_a_day_that_is_said_again_is_no_second_memory(said: str) -> None:
    assert drafts(f"u: {said}\na: OK.", memory("project_demo.md", "The demo for the board is on 2027-01-15")) == ()


@pytest.mark.parametrize(
    "said", ["No, we use MySQL 8 now.", "that changed, it's MySQL 8 now", "We switched to MySQL 8."]
)
def test_what_leans_on_the_answer_corrects_its_memory(said: str) -> None:
    draft = only(ANSWERED.format(said=said), BILLING)
    assert (draft.action, draft.file) == ("update", "project_billing.md")


OF_TWO = [
    (
        "We decided that the {} service is frozen until 2027-03-01 because legal said so.",
        "payment",
        "search",
        "billing",
    ),
    (
        "The maintenance window of the {} data centre is on Sundays at 03:00 because traffic is low.",
        "Frankfurt",
        "Dublin",
        "Oregon",
    ),
    ("The contract with customer {} ends on 2027-05-01 because legal did not renew it.", "Acme", "Globex", "Initech"),
    ("Bugs of the {0} service are tracked in the Linear project {0:.3}.", "payment", "search", "billing"),
]


@pytest.mark.parametrize("told", [one[0] for one in OF_TWO])
def test_what_is_said_of_another_thing_in_the_same_words_is_another_memory(told: str) -> None:
    """In one chat after the other (X6)."""
    things = next(things for text, *things in OF_TWO if text == told)
    known: list[Existing] = []
    for thing in things:
        draft = only(f"u: {told.format(thing)}\na: Understood.", *known)
        assert (draft.action, thing in draft.description) == ("create", True)
        known.append(Existing(draft.file, draft.name, draft.description, draft.type, draft.body))


@pytest.mark.parametrize("told", [one[0] for one in OF_TWO])
def test_what_one_message_says_of_several_things_is_a_memory_of_each(told: str) -> None:
    things = next(things for text, *things in OF_TWO if text == told)
    found = drafts(f"u: {' '.join(told.format(thing) for thing in things)}\na: Understood.")
    assert sorted(thing for draft in found for thing in things if thing in draft.description) == sorted(things)
    assert len(found) == len(things)


@pytest.mark.parametrize(
    ("old", "news"),
    [
        ("The contract with Acme ends on 2027-05-01.", "The contract with Acme ends on 2027-07-15."),
        ("The Acme contract ends on 2027-05-01.", "The Acme contract now ends on 2027-07-15."),
        ("We decided to use Postgres for the billing service.", "We decided to use MySQL for the billing service."),
        ("The nightly backup goes to atlas at 03:00.", "The nightly backup goes to hermes at 03:00."),
        ("The standup is on Tuesdays at 10:00.", "The standup is on Thursdays at 10:00."),
    ],
)
def test_another_value_of_the_same_thing_is_an_update_beside_its_like(old: str, news: str) -> None:
    other = memory("project_like.md", old.replace("Acme", "Globex").replace("billing", "search").rstrip("."))
    before = memory("project_one.md", old.rstrip("."))
    known = (before, other) if other.description != before.description else (before,)
    draft = only(f"u: {news}\na: Understood.", *known)
    assert (draft.action, draft.file) == ("update", "project_one.md")


def test_news_of_one_of_two_things_in_a_sentence_leaves_the_other_as_what_holds() -> None:
    old = memory("project_indents.md", "We use tabs in Go and two spaces in YAML")
    draft = only("u: we use four spaces in YAML now\na: OK.", old)
    before, after = (
        Topic.compose(name=one.name, description=one.description, kind=None, body=one.body) for one in (old, draft)
    )
    topic = kept(before, after).topic
    assert "We use tabs in Go." in topic.body.partition("**Before:**")[0] and "two" not in topic.description
    assert "tabs in Go" in topic.description
