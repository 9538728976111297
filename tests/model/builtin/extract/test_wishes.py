"""Wishes in so many words are kept whatever stands around them, in any language; what only sounds like one is not."""

from __future__ import annotations

from datetime import datetime

import pytest

from memdir.model.builtin.extract import Talk, draft_memories, lines_of
from memdir.transcript.message import user

from .talk import NOW, drafts, only


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
        ("stop telling me at the end what you could do next", "what you could do next"),
        ("from now on could you answer in bullet points", "bullet points"),
        ("remember that we log everything at WARN", "log everything at WARN"),
        ("remember the proxy listens on proxy.corp:3128", "proxy.corp:3128"),
        ("from now on set strict: true in every tsconfig", "strict: true in every tsconfig"),
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
        ("the staging box is named otter, remember that will you", "otter"),
        ("write this down - we bill in quarters of an hour", "quarters of an hour"),
        ("kannst dir bitte merken dass ich montags nie da bin", "montags"),
        ("je voudrais que tu te rappelles que je suis végétarien", "végétarien"),
        ("quiero que recuerdes que doy clase los lunes", "lunes"),
        ("quero que você lembre que dou aula na segunda", "segunda"),
        ("voglio che ti ricordi che insegno il lunedì", "lunedì"),
        ("ik wil dat je onthoudt dat ik maandag lesgeef", "maandag"),
        ("chcę żebyś pamiętał, że w poniedziałki uczę", "poniedziałki"),
        ("de hoje em diante responde em duas frases", "duas frases"),
        ("fra i dag svar i to sætninger", "to sætninger"),
        ("以后提交信息都用中文写", "中文"),
        ("记住我们的数据库是 Postgres 16", "Postgres 16"),
        ("kom ihåg att jag vill ha källhänvisningar enligt Harvard", "Harvard"),
        ("zapamietaj prosze: raporty dla szefowej maja jedna strone", "raporty"),
        ("note to future you: with a stack trace I want the cause first\n```\nValueError: not z", "the cause first"),
        ("please remember: no deploys while the night shift is on, that is 22 to 6", "22 to 6"),
        ("以后提交说明都用英文写，记住了吗？", "英文"),
        ("Remember the bolt size is 5/16 for the bench legs.", "5/16 for the bench legs"),
        ("Remember the ratio is 3/4 water.", "3/4 water"),
        ("Remember our unit is 12/5 Harbour Road.", "12/5 Harbour Road"),
        ("Remember my pronouns are they/them.", "they/them"),
        ("Merk dir: das Mischverhältnis ist 3/4 Wasser.", "3/4 Wasser"),
        ("Retiens que le diamètre est 5/8 de pouce.", "5/8 de pouce"),
        ("can you stop using emojis?", "emojis"),
        ("no more emojis", "emojis"),
        ("stop with the nested ternaries, seriously", "ternaries"),
        ("I'd rather you didn't use nested ternaries", "ternaries"),
        ("könntest du aufhören, mir jedes Mal die ganze Datei zu zeigen", "ganze Datei"),
        ("tu peux arrêter de me proposer des tests à chaque fois ?", "proposer des tests"),
        ("¿puedes dejar de usar emojis?", "emojis"),
        ("puoi smettere di tradurre i nomi delle variabili?", "nomi delle variabili"),
        ("kun je ophouden met die uitroeptekens", "uitroeptekens"),
        ("add to your memory that we use Figma for mockups", "Figma"),
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
        "He never answers mails on fridays",
        "Our ops lead Marius wants every script to start with set -euo pipefail.",
        "great, remember that please so you don't have to search: handlers are in server/http/routes",
        "remember that so you don't have to search every time: handlers are in server/http/routes",
        "set restart: always and never_retry: true in the rig config",
        "remember this:",
    ],
)
def test_what_only_sounds_like_a_wish_is_not(said: str) -> None:
    assert drafts(f"u: {said}\na: OK.") == ()


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Always run the linter before you commit, ok?", "Always run the linter before you commit."),
        ("Always run the linter before you commit, please? Now fix the parser.", "Always run the linter before you"),
        ("Always use tabs, right?", "Always use tabs."),
        ("We ship on Thursdays, alright?", "We ship on Thursdays."),
        ("Immer den Linter laufen lassen, verstanden?", "Immer den Linter laufen lassen."),
        ("Toujours lancer le linter avant de commiter, d'accord ?", "Toujours lancer le linter avant de commiter."),
        ("Usa siempre pnpm en este repo, ¿vale?", "Usa siempre pnpm en este repo."),
        ("以后提交说明都用英文写，记住了吗？", "以后提交说明都用英文写。"),
        ("can you always answer in German from now on?", "Always answer in German from now on."),
        ("Peux-tu répondre en français à partir de maintenant ?", "épondre en français à partir de maintenant."),
        ("Never touch the vendor folder.", "Never touch the vendor folder."),
        ("Never delete migrations.", "Never delete migrations."),
        ("I told you already: never touch the vendor folder.", "Never touch the vendor folder."),
    ],
)
def test_a_rule_in_plain_words_is_kept_whatever_tag_it_ends_with(said: str, kept: str) -> None:
    assert kept in only(f"u: {said}\na: OK.").body


@pytest.mark.parametrize(
    "said",
    [
        "You always run the linter before you commit, right?",
        "We use Kafka, right?",
        "Never seen this before, right?",
        "I always thought chmod 777 was fine??",
        "Could you run the tests, please?",
        "could you do the same in the UI strings from now on?",
        "Will the build be green from now on?",
        "Never say never",
        "Never push to main on Fridays, says my boss.",
        "The vendor says: never restart the pump yourself.",
    ],
)
def test_a_question_a_shout_and_what_others_want_are_no_rule(said: str) -> None:
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
        ("We never deploy on Fridays, the ops team is off then. From now on keep that in mind. Say ok", "Fridays"),
    ],
)
def test_a_bare_wish_means_what_stands_beside_it(said: str, kept: str) -> None:
    assert kept in only(f"u: {said}\na: OK.").body


@pytest.mark.parametrize(
    "said",
    [
        "Remember that our linter is ruff, can you fix the import order in app.py?",
        "Remember that our linter is ruff and can you fix a.py, b.py and c.py?",
        "Can you remember that our linter is ruff, and can you fix the import order in app.py?",
        "Remember our linter is ruff, why does make lint fail on app.py?",
        "Merk dir: unser Linter ruff passt, kannst du die Importe in app.py sortieren?",
        "Retiens que notre linter est ruff, peux-tu corriger les imports dans app.py ?",
        "Recuerda que nuestro linter es ruff, ¿puedes arreglar los imports en app.py?",
    ],
)
def test_a_question_behind_a_wish_costs_no_wish_and_is_no_part_of_it(said: str) -> None:
    draft = only(f"u: {said}\na: Done.")
    assert "inter" in draft.body and "ruff" in draft.body and ".py" not in draft.body


@pytest.mark.parametrize(
    ("said", "both"),
    [
        ("Remember that we deploy on Tuesdays, and lunch is at noon", ("Tuesdays", "noon")),
        ("Remember that we use Postgres 16, and port 5433", ("Postgres 16", "5433")),
        ("The vpn is slow, and the backup runs at night, remember that", ("vpn is slow", "night")),
        ("Can you remember that the vpn is slow, and the backup runs at night?", ("vpn is slow", "night")),
    ],
)
def test_both_halves_of_a_wish_are_kept(said: str, both: tuple[str, str]) -> None:
    kept = "\n".join(one.body for one in drafts(f"u: {said}\na: OK."))
    assert all(half in kept for half in both)


@pytest.mark.parametrize("errand", ["and now fix the test in app.py", "and thanks for app.py", "and please run app.py"])
def test_an_errand_behind_a_wish_is_no_half_of_it(errand: str) -> None:
    assert "app.py" not in only(f"u: Remember that we deploy on Tuesdays, {errand}\na: OK.").body


def test_an_ok_behind_a_statement_makes_no_question_of_it() -> None:
    draft = only("u: We use pnpm here, never npm: the lockfile is shared with the mobile team. ok?\na: OK.")
    assert "pnpm" in draft.body and "ok" not in draft.body


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Our staging runs on port 5433, remember that.", "Our staging runs on port 5433."),
        ("Deploys only from main, please remember.", "Deploys only from main."),
        ("The API key lives in the vault, keep that in mind.", "The API key lives in the vault."),
        ("Wir deployen nur dienstags, merk dir das.", "Wir deployen nur dienstags."),
        ("Der Testserver heißt marigold, bitte merken.", "Der Testserver heißt marigold."),
        ("Le serveur de test s'appelle marigold, retiens-le.", "Le serveur de test s'appelle marigold."),
        ("On déploie seulement le mardi, souviens-toi de ça.", "On déploie seulement le mardi."),
        ("El servidor de pruebas se llama marigold, recuérdalo.", "El servidor de pruebas se llama marigold."),
        ("Desplegamos solo los martes, recuerda eso por favor.", "Desplegamos solo los martes."),
    ],
)
def test_a_wish_behind_its_sentence_keeps_the_sentence_without_it(said: str, kept: str) -> None:
    assert only(f"u: {said}\na: OK.").body.strip() == kept


@pytest.mark.parametrize("said", ["The office closes at six, remember?", "Do you, like me, remember that?"])
def test_a_question_behind_a_sentence_is_no_wish(said: str) -> None:
    assert not drafts(f"u: {said}\na: OK.")


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


@pytest.mark.parametrize(
    "said",
    [
        "Immer pnpm statt npm",
        "Toujours répondre en français.",
        "Nie direkt auf main pushen.",
        "zawsze testy najpierw w CI",
    ],
)
def test_a_rule_of_few_words_is_one_in_any_language(said: str) -> None:
    assert only(f"u: {said}\na: OK.").type == "feedback"


NOTES = ["No calls before nine", "Grace does the accounts", "Prices always in pounds"]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (f"Remember: 1. {NOTES[0]}. 2. {NOTES[1]}. 3. {NOTES[2]}.", NOTES),
        (f"Please remember:\n\n1. {NOTES[0]}.\n\n2. {NOTES[1]}.\n\n3. {NOTES[2]}.", NOTES),
        (f"Three things to remember: 1) {NOTES[0]} 2) {NOTES[1]} 3) {NOTES[2]}", NOTES),
        (f"For the shop, please keep in mind: - {NOTES[0]} - {NOTES[1]} - {NOTES[2]}", NOTES),
        (f"please keep in mind:\n\n- {NOTES[0]}\n\n- {NOTES[1]}\n\n- {NOTES[2]}", NOTES),
        (
            "Bitte merken: 1. Kein Versand am 2. Juni. 2. Lager macht Olaf. 3. Preise immer netto.",
            ["Kein Versand am 2. Juni", "Lager macht Olaf", "Preise immer netto"],
        ),
        (
            "Retiens : 1. Pas d'appels avant neuf heures. 2. Grâce fait les comptes.",
            ["Pas d'appels avant neuf heures", "Grâce fait les comptes"],
        ),
    ],
)
def test_each_point_of_a_list_to_be_remembered_is_a_memory(said: str, names: list[str]) -> None:
    found = drafts(f"u: {said}\na: OK.")
    assert [draft.name for draft in found] == names
    assert all(draft.body.startswith(name) for draft, name in zip(found, names, strict=True))


@pytest.mark.parametrize(
    "said",
    [
        'A mail said "Remember: 1. Send all invoices to Bob. 2. Never tell Ann." What does it mean?',
        "Do you remember the plan: 1) rehearse on Monday 2) print the programme?",
        "Now do this: 1. build the app 2. run the tests 3. tell me",
    ],
)
def test_a_list_that_is_quoted_or_an_errand_is_none(said: str) -> None:
    assert drafts(f"u: {said}\na: OK.") == ()


def test_a_date_behind_a_colon_is_no_list() -> None:
    assert only("u: Bitte merken: 1. Juli ist immer Inventur.\na: OK.").body.startswith("1. Juli ist")


def test_a_list_of_errands_behind_one_to_be_remembered_is_not_told() -> None:
    said = f"Remember: 1. {NOTES[0]}. 2. {NOTES[1]}. Now please do this: 1. build the app 2. run the tests"
    assert [draft.name for draft in drafts(f"u: {said}\na: OK.")] == NOTES[:2]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Retiens que je veux les prix en euros.", "Je veux les prix en euros"),
        ("Recuerda que los informes van siempre en PDF.", "Los informes van siempre en PDF"),
        ("Ricordati che la chiave è dal vicino.", "La chiave è dal vicino"),
        ("Lembre-se de que os relatórios vão em PDF.", "Os relatórios vão em PDF"),
        ("Onthoud dat Jeroen de facturen betaalt.", "Jeroen de facturen betaalt"),
        ("Vergeet niet dat ik op dinsdag niet werk.", "Ik op dinsdag niet werk"),
        ("Zapamiętaj, że mam alergię na orzechy.", "Mam alergię na orzechy"),
        ("Merk dir, dass Frau Sommer nur per Fax antwortet.", "Frau Sommer nur per Fax antwortet"),
        ("Don't forget I'm vegetarian.", "I'm vegetarian"),
        ("save this for later: VPN address is vpn.kestrel.example", "VPN address is vpn.kestrel.example"),
        ("Keep in mind: that door stays shut at night.", "That door stays shut at night"),
        ("just so you know going forward: quotes go out without VAT", "quotes go out without VAT"),
        ("A few things for the future: Joanne signs off all invoices.", "Joanne signs off all invoices"),
        (
            "Um die Dienstpläne kümmert sich ab sofort Frau Yilmaz.",
            "Um die Dienstpläne kümmert sich ab sofort Frau Yilmaz",
        ),
        ("Remember Mrs. Gill handles the rota.", "Mrs. Gill handles the rota"),
    ],
)
def test_a_memory_begins_with_what_is_to_be_kept(said: str, kept: str) -> None:
    draft = only(f"u: {said}\na: OK.")
    assert (draft.name, draft.description, draft.body.split(".\n")[0].rstrip(".")) == (kept, kept, kept)


@pytest.mark.parametrize(
    "said",
    [
        "remember that for this project we use pnpm",
        "From now on use ruff for this repo",
        "Remember that if you change the schema you have to regenerate the client",
        "remember that either Ana or Bob must approve releases",
        "remember that I might be late on Mondays",
        "remember that I take my meds at lunch",
        "remember that the spare badge is in the kitchen",
        "remember this: the retro is every other Tuesday",
        "remember it: no deploys on Fridays",
        "Remember me as Sam",
        "remember that we stopped using Redis",
        "remember if the build is red nobody merges",
        "stop running the slow tests on every change",
        "Always pin the versions, otherwise the build fails",
        "you should always run `make fmt` before committing, otherwise CI fails",
        "remember our dashboards are at grafana.internal.acme.dev/d/xk2",
        "Whenever you add an endpoint, add it to the postman collection too.",
        "Jedes Mal, wenn du eine Migration anlegst, schreib auch das Rollback dazu",
    ],
)
def test_no_single_word_behind_a_wish_or_in_its_reason_silences_it(said: str) -> None:
    assert len(drafts(f"u: {said}\na: OK.")) == 1


def test_a_jest_is_no_wish() -> None:
    assert drafts("u: remember is the name of the function, not an order, haha\na: Ha.") == ()


@pytest.mark.parametrize(
    ("said", "kind"), [("Please remember the alarm code is 4471.", "project"), ("remember that I prefer tea", "user")]
)
def test_what_follows_remember_tells_of_what_type_it_is(said: str, kind: str) -> None:
    assert only(f"u: {said}\na: OK.").type == kind


def test_a_wish_whose_subject_is_to_be_forgotten_later_is_none() -> None:
    told = "u: new rule, all configs in toml\na: OK.\nu: {}\na: OK."
    assert not drafts(told.format("forget the toml thing, it stays yaml"))
    assert drafts(told.format("forget the deploy for today"))


def test_a_wish_written_with_care_among_careless_lines_is_the_users() -> None:
    said = "hey quick thing\nRemember that the staging database is called bluefin.\ncan you fix the css"
    talk = Talk(lines_of([user(said)]), datetime.fromisoformat(NOW), "", ())
    assert ["bluefin" in draft.body for draft in draft_memories(talk)] == [True]


def test_what_another_wants_explains_no_rule_of_the_users() -> None:
    wanted = "Marius wants everyone to add a banner because the auditors asked for it."
    assert "banner" not in only(f"u: From now on write the migrations by hand. {wanted}").body


@pytest.mark.parametrize(
    "said",
    [
        "no bullets any more please, short paragraphs, the shop owners complained that their parser eats the dashes",
        "no tables in the letters please, plain sentences only, the customers said their mail program breaks them",
        "keine Listen mehr bitte, nur kurze Absätze, die Händler sagen dass ihr Programm die Striche verschluckt",
    ],
)
def test_a_rule_with_what_others_say_as_its_reason_is_the_users(said: str) -> None:
    assert only(f"u: {said}\na: OK.").type == "feedback"


def test_letting_something_else_drop_takes_no_wish_back() -> None:
    wish = "u: From now on use pnpm, not npm.\na: Sure.\nu: "
    assert "pnpm" in only(f"{wish}never mind, I found the typo myself").body
    assert not drafts(f"{wish}never mind, npm is fine") and not drafts(f"{wish}changed my mind, do it the old way")
