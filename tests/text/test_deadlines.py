"""What has ended says so (T3): the end of something is told in many words, and a past fact is no end."""

from __future__ import annotations

import time

import pytest

from memdir.text.deadlines import past_end, told_past
from tests.timing import cpu_seconds

WRITTEN, TODAY = "2026-02-20", "2026-11-16"

ENDED = [
    "休假：2026年3月1日至3月5日",
    "3月5日截止",
    "The code freeze is in effect from 2026-03-01 until 2026-03-05.",
    "Feature freeze: 5 Mar 2026",
    "The beta must ship by March 5, 2026 (2026-03-05).",
    "The beta must ship by the end of next week (2026-03-05).",
    "Bis zum 05.03.2026 (2026-03-05) gilt ein Merge-Freeze.",
    "Hand in the tax return before March 5th, 2026.",
    "Nobody merges until March 5, 2026 because mobile cuts the branch.",
    "Release branch is locked through 2026-03-05.",
    "The vendor discount expires March 5, 2026.",
    "Application deadline is the 5th of March 2026.",
    "Temporary: use the staging key until 2026-03-05",
    "Ann covers on-call until 2026-03-05.",
    "Bis einschließlich 5. März 2026 keine Releases.",
    "Die Abgabe ist am 5. März 2026 fällig.",
    "Release-Stopp bis 05.03.2026",
    "Ann ist bis zum 5. März 2026 in Elternzeit.",
    "Le gel des merges dure jusqu'au 5 mars 2026.",
    "À livrer d'ici le 5 mars 2026.",
    "L'échéance du projet : 5 mars 2026",
    "No se despliega hasta el 5 de marzo de 2026.",
    "La licencia caduca el 5 de marzo de 2026.",
    "Não fazer deploy até 5 de março de 2026.",
    "A licença expira em 5 de março de 2026.",
    "Nessun rilascio fino al 5 marzo 2026.",
    "Geen releases tot 5 maart 2026.",
    "Do 5 marca 2026 nie wdrażamy.",
    "Inga releaser till och med 5 mars 2026.",
    "До 5 марта 2026 года релизов нет.",
    "在2026年3月5日之前不要合并代码。",
    "2026年3月5日までマージ禁止。",
    "2026년 3월 5일까지 머지 금지.",
    "Freeze until Friday, March 5, 2026.",
    "Merge freeze begins 2026-03-05 for mobile release cut.",
    "Merge freeze until 2026-03-05.",
    "The deadline is March 5, 2026.",
    "Deadline: 5 March 2026",
    "Code freeze 2026-03-01 to 2026-03-05",
    "Code freeze (2026-03-01 – 2026-03-05), ask Ann.",
    "Code freeze from March 1 to March 5, 2026.",
    "Freeze March 1–5, 2026",
    "The report is due on 2026-03-05.",
    "All PRs must be merged before 2026-03-05.",
    "We have until 2026-03-05 to migrate.",
    "The freeze was extended until 2026-03-05.",
    "We decided on 2026-01-02 that merges stop until 2026-03-05.",
    "2026-03-05: code freeze",
    "2026-03-05 is the deadline for the audit.",
    "The certificate expires on 2026-03-05.",
    "The token is valid through 2026-03-05.",
    "Freeze until March 5.",
    "Freeze until Mar 5, 2026.",
    "Deadline: 2026-03-05T18:00Z",
    "Deadline 2026/03/05",
    "Ann is on leave 2026-03-01 - 2026-03-05",
    "The old API can be used until 2026-03-05.",
    "Until 2026-03-05 use the staging database.",
    "Der Merge-Freeze gilt bis zum 5. März 2026.",
    "Abgabefrist: 05.03.2026",
    "Alle Deploys werden bis 2026-03-05 pausiert.",
    "Die Frist endet am 5. März 2026.",
    "Der Code ist vom 1. bis 5. März 2026 eingefroren.",
    "Gel du code jusqu'au 5 mars 2026.",
    "La date limite est le 5 mars 2026.",
    "À rendre au plus tard le 5 mars 2026.",
    "Le rapport doit être prêt avant le 5 mars 2026.",
    "Congelación de código hasta el 5 de marzo de 2026.",
    "La fecha límite es el 5 de marzo de 2026.",
    "El plazo vence el 2026-03-05.",
    "O prazo é 5 de março de 2026.",
    "Congelamento de código até 5 de março de 2026.",
    "Blocco del codice fino al 5 marzo 2026.",
    "La scadenza è il 5 marzo 2026.",
    "Consegnare entro il 5 marzo 2026.",
    "Code freeze tot en met 5 maart 2026.",
    "De deadline is 5 maart 2026.",
    "Zamrożenie kodu do 5 marca 2026.",
    "Termin: 5 marca 2026",
    "Kodstopp till den 5 mars 2026.",
    "Senast den 5 mars 2026 ska allt vara klart.",
    "Frist: 5. marts 2026",
    "Kod dondurma 5 Mart 2026'ya kadar sürüyor.",
    "Son tarih: 5 Mart 2026",
    "Заморозка кода до 5 марта 2026.",
    "Крайний срок — 5 марта 2026 года.",
    "Заморозка коду до 5 березня 2026.",
    "Zmrazení kódu do 5. března 2026.",
    "代码冻结到2026年3月5日。",
    "截止日期：2026年3月5日",
    "2026年3月5日前必须完成迁移。",
    "2026年3月5日までコードフリーズ。",
    "締め切りは2026年3月5日です。",
    "2026년 3월 5일까지 코드 동결.",
    "마감일은 2026-03-05입니다.",
    "No merges after 2026-03-05, mobile cuts the release branch.",
    "Nothing gets deployed after March 5, 2026.",
    "Feature freeze starts March 5th, 2026",
    "Embargo lifts 2026-03-05",
    "The trial ends 5-Mar-2026.",
    "RSVP by March 5, 2026",
    "Bob is away until 2026-03-05; ask Eve meanwhile.",
    "Sprint ends 2026-03-05",
    "Beta closes on 5 March 2026.",
    "The launch is scheduled for 2026-03-05.",
    "Ann said merges are frozen until 2026-03-05.",
    "We paused deploys until 2026-03-05.",
    "Deploys are blocked through Friday 2026-03-05.",
    "The tender is open till 5 March 2026.",
    "**Deadline:** 2026-03-05",
    "- Deadline: `2026-03-05`",
    "Deadline → 2026-03-05",
    "hotfixes only until 2026-03-05 (Ann)",
    "Release freeze in place from 2026-03-01 through 2026-03-05 inclusive",
    "Bis 5.3.2026 keine Deployments!",
    "Urlaub vom 01.03. bis 05.03.2026",
    "Urlaub: 1.–5. März 2026",
    "Keine Merges nach dem 5. März 2026.",
    "Code-Freeze ab 5. März 2026",
    "Fällig: 5. März 2026",
    "Das Zertifikat ist gültig bis 2026-03-05.",
    "Congé du 1er au 5 mars 2026",
    "Pas de déploiement avant le 5 mars 2026.",
    "Aucune fusion après le 5 mars 2026.",
    "Le contrat expire le 5 mars 2026.",
    "Vacaciones del 1 al 5 de marzo de 2026",
    "Entregar antes del 5 de marzo de 2026.",
    "Férias de 1 a 5 de março de 2026",
    "Ferie dal 1 al 5 marzo 2026",
    "Il contratto scade il 5 marzo 2026.",
    "Vakantie van 1 tot 5 maart 2026",
    "Uiterlijk 5 maart 2026 inleveren.",
    "Urlop od 1 do 5 marca 2026",
    "Semester 1 till 5 mars 2026",
    "Ferie fra 1. til 5. marts 2026",
    "Отпуск с 1 по 5 марта 2026",
    "Сдать отчёт не позднее 5 марта 2026.",
    "Odevzdat do 5. března 2026.",
    "Здати звіт до 5 березня 2026.",
    "项目必须在2026年3月5日之前提交。",
    "提出期限：2026年3月5日",
    "2026-03-05締切",
    "2026년 3월 5일 마감",
    "제출 기한: 2026년 3월 5일",
    "Rapor en geç 5 Mart 2026 tarihinde teslim edilecek.",
]
OF_ANOTHER_DAY = [
    ("2026-05-03", "Submit the form by 03/05/2026."),
    ("2026-03-31", "Support for v1 ends in March 2026."),
    ("2026-03-31", "The grant runs until Q1 2026."),
    ("2026-03-31", "The grant must be spent by the end of March 2026."),
    ("2026-03-31", "The first quarter of 2026 is the deadline."),
    ("2025-12-31", "Contract valid until 2025."),
    ("2026-03-31", "Das Angebot gilt bis Ende März 2026."),
    ("2026-03-31", "Bis zum 1. Quartal 2026 muss alles fertig sein."),
    ("2026-08-31", "Ann is on parental leave until the end of August 2026."),
    ("2026-03-31", "Target date: 2026-03"),
    ("2026-03-31", "Deliver by 2026-03."),
    ("2026-03-31", "Deliver by 03/2026."),
    ("2026-06-30", "Migration to be completed by Q2/2026"),
    ("2026-03-31", "Migration has to be done by Q1 2026."),
    ("2026-03-31", "Der Vertrag läuft am 31. März 2026 aus."),
    ("2026-03-31", "La migration se termine fin mars 2026."),
    ("2026-03-31", "Entregar até o fim de março de 2026."),
]
NOTHING_ENDED = [
    "We migrated off Heroku by end of Q1 2026.",
    "The Berlin office opened in March 2026 and has 12 desks.",
    "Ann has worked here since March 5, 2026.",
    "Contract signed 2026-03-05.",
    "The outage of 5 March 2026 lasted until 2026-03-06.",
    "Version 3 came out on 5 March 2026.",
    "The customer moved to plan B on 2026-03-05.",
    "Ann was on leave until 2026-03-05.",
    "The rule comes from the review on 2026-03-05.",
    "Die Umstellung war am 5. März 2026 abgeschlossen.",
    "Der Freeze wurde am 5. März 2026 aufgehoben.",
    "Seit dem 5. März 2026 gilt Tarif B.",
    "La panne a duré jusqu'au 5 mars 2026.",
    "Le gel a été levé le 5 mars 2026.",
    "El congelamiento terminó el 5 de marzo de 2026.",
    "O congelamento terminou em 5 de março de 2026.",
    "Il blocco è finito il 5 marzo 2026.",
    "De storing duurde tot 5 maart 2026.",
    "Заморозка закончилась 5 марта 2026.",
    "冻结已于2026年3月5日结束了。",
    "凍結は2026年3月5日に終わりました。",
    "동결은 2026년 3월 5일에 끝났다.",
    "Founded in 2019.",
    "The company was founded on March 5, 2019.",
    "We decided on 2026-01-02 to freeze the API.",
    "Ann's birthday is March 5, 1990.",
    "Ann was born on 2001-03-05.",
    "On 2026-01-02 the team agreed on a feature freeze.",
    "He worked at Google until 2021.",
    "We used Jenkins until 2024-05-01.",
    "By March 2024 we had migrated everything.",
    "The freeze ended on 2026-03-05.",
    "The freeze was lifted on 2026-03-05.",
    "Records before 2026-01-01 are in the old system.",
    "Invoices until 2025-12-31 are in the archive.",
    "Data from 2024-01-01 to 2025-12-31 is in S3.",
    "The deadline moved on 2026-02-01 to 2026-12-20.",
    "Merge freeze until 2026-12-20.",
    "Freeze 2026-11-01 to 2026-11-30.",
    "Freeze from November 1 to November 30, 2026.",
    "Released v2.0 on 2026-03-05.",
    "The incident of 2026-03-05 taught us to page on-call.",
    "Deadlines are tracked in Linear since 2025-01-01.",
    "Decided by Ann on 2026-03-05.",
    "Written by Bob on 2026-03-05, reviewed by Eve.",
    "Taxes are due April 15 every year.",
    "Port 2026 is used by the proxy.",
    "The limit is up to 2048 files.",
    "API frozen since 2025-01-01.",
    "Release 2026.03.05 is on PyPI.",
    "Gegründet am 5. März 2019.",
    "Am 2026-01-02 haben wir einen Freeze beschlossen.",
    "Bis 2024 wurde Jenkins genutzt.",
    "Er war bis März 2021 bei Google.",
    "Rechnungen bis 2025-12-31 liegen im Archiv.",
    "Fondée le 5 mars 2019.",
    "Décidé le 2026-01-02 : gel des dépendances.",
    "Il travaillait chez Google jusqu'en mars 2021.",
    "Fundada el 5 de marzo de 2019.",
    "Decidimos el 2026-01-02 congelar la API.",
    "Trabajó en Google hasta marzo de 2021.",
    "Fundada em 5 de março de 2019.",
    "Foi usado até março de 2024.",
    "Fondata il 5 marzo 2019.",
    "Era in uso fino al marzo 2024.",
    "Opgericht op 5 maart 2019.",
    "Tot maart 2021 werkte hij bij Google.",
    "Założona 5 marca 2019.",
    "Był w użyciu do marca 2024.",
    "Основана 5 марта 2019.",
    "Он работал в Google до марта 2021.",
    "公司成立于2019年3月5日。",
    "我们在2026年1月2日决定冻结接口。",
    "会社は2019年3月5日に設立。",
    "회사는 2019년 3월 5일에 설립.",
    "Abbiamo due server dal 2026-01-02.",
    "The meeting on 2026-03-05 was about pricing.",
    "Ann joined on 2024-03-05.",
    "Use tabs until told otherwise; noted 2026-01-02.",
    "Version 1.2 shipped 2026-01-02, version 1.3 on 2026-03-05.",
    "Last updated: 2026-03-05",
    "The retro on 2026-03-05 found that deadlines slip.",
    "The office opened on 2026-03-05.",
    "Our fiscal year starts on 2026-03-05.",
    "The API was frozen on 2026-01-02 and thawed later.",
    "Backups from 2026-03-05 onwards are encrypted.",
    "Since 2026-03-05 we use uv.",
    "As of 2026-03-05 tests run in parallel.",
    "Ann prefers ISO dates such as 2026-03-05.",
    "The example date in the docs is 2026-03-05.",
    "Log format: `2026-03-05 until 10:00`... see docs",
    "Approved by legal on 5 March 2026.",
    "Led by Ann in March 2026.",
    "Postmortem 2026-03-05: a missed deadline in the vendor contract.",
    "The vendor was changed in March 2026.",
    "Ann's wedding was on 5 March 2026.",
    "Hired March 2026.",
    "Version 2026.3 supports freezing.",
    "Budget for 2026 is 40k.",
    "Decision (2026-01-02): no feature freeze any more.",
    "2026-01-02 decided: freeze rules live in the wiki.",
    "Deadline policy agreed on 2026-01-02.",
    "The deadline field was added in March 2026.",
    "Am 5. März 2026 gestartet.",
    "Seit 5. März 2026 nutzen wir uv.",
    "Geburtstag: 5. März 1990",
    "Stand: 5. März 2026",
    "Ann wurde am 5. März 2026 eingestellt.",
    "Depuis le 5 mars 2026 nous utilisons uv.",
    "Anniversaire : 5 mars",
    "Réunion du 5 mars 2026 : on a choisi Postgres.",
    "Desde el 5 de marzo de 2026 usamos uv.",
    "Cumpleaños: 5 de marzo",
    "Reunião de 5 de março de 2026: escolhemos Postgres.",
    "Riunione del 5 marzo 2026: abbiamo scelto Postgres.",
    "Compleanno: 5 marzo",
    "Vergadering van 5 maart 2026: we kozen Postgres.",
    "Spotkanie 5 marca 2026: wybraliśmy Postgres.",
    "Встреча 5 марта 2026: выбрали Postgres.",
    "2026年3月5日会议选择了Postgres。",
    "2026年3月5日に入社。",
    "2026년 3월 5일에 출시했다.",
    "Until further notice use tabs.",
    "By default ports 2026-2030 are used.",
    "Deadline for all of this: none. Created 2026-03-05.",
    "The contract was signed on 2026-03-05 and runs until 2028-03-05.",
    "Freeze until 2027-01-10, announced 2026-03-05.",
    "Deadline: December 20",
    "Freeze until 2026-03-05, moved to 2026-12-20.",
    "Birthday on 5 March, party ends late.",
    "Standup notes by Friday.",
    "Expenses are due at the end of the month.",
    "Invoices go out by the 5th.",
]


@pytest.mark.parametrize("text", ENDED)
def test_what_ended_or_was_due_is_found_in_many_words_and_languages(text: str) -> None:
    assert past_end(text, written=WRITTEN, today=TODAY) == "2026-03-05"
    assert past_end(text, written=WRITTEN, today="2026-03-05") == "", "it holds on the day itself"


@pytest.mark.parametrize(("day", "text"), OF_ANOTHER_DAY)
def test_of_a_month_a_quarter_or_a_year_the_last_day_counts(day: str, text: str) -> None:
    assert past_end(text, written=WRITTEN, today=TODAY) == day
    assert past_end(text, written=WRITTEN, today=day) == ""


@pytest.mark.parametrize("text", NOTHING_ENDED)
def test_a_past_fact_and_what_goes_on_are_no_end(text: str) -> None:
    assert past_end(text, written=WRITTEN, today=TODAY) == ""


def test_a_sentence_counts_though_it_is_wrapped_or_one_of_many() -> None:
    wrapped = "The merge freeze for the next mobile release lasts until\nMarch 5, 2026, says Ann.\n"
    assert past_end(wrapped, written=WRITTEN, today=TODAY) == "2026-03-05"
    listed = "# Dates\n\n- Contract with Acme: until 2028-01-31\n- Audit report: due 2026-03-05\n- Founded 2019-05-01\n"
    assert past_end(listed, written=WRITTEN, today=TODAY) == "2026-03-05"


def test_the_latest_of_several_ends_is_told_and_a_new_date_for_it_ends_the_alarm() -> None:
    both = "Freeze until 2026-03-05. Second freeze until 2026-06-10."
    assert past_end(both, written=WRITTEN, today=TODAY) == "2026-06-10"
    moved = "The deadline is 2026-03-05.\n\nUpdate: the deadline was moved to 2026-12-20."
    assert past_end(moved, written=WRITTEN, today=TODAY) == ""
    struck = "Freeze until ~~2026-03-05~~ 2026-12-20."
    assert past_end(struck, written=WRITTEN, today=TODAY) == ""


def test_a_date_without_a_year_is_of_the_year_after_it_was_written() -> None:
    assert past_end("Freeze until 5 January.", written="2025-12-20", today=TODAY) == "2026-01-05"
    assert past_end("Freeze until 5 January.", written="2026-02-20", today=TODAY) == ""


def test_it_is_told_in_words_with_the_days_since() -> None:
    noon = (12, 0, 0, 0, 0, -1)
    written, now = time.mktime((2026, 2, 20, *noon)), time.mktime((2026, 11, 15, *noon))
    assert told_past("Merge freeze begins 2026-03-05.", written=written, now=now) == "names 2026-03-05, 255 days past"
    assert told_past("Due 2026-11-14", written=written, now=now) == "names 2026-11-14, 1 day past"
    assert told_past("Due 2026-11-15", written=written, now=now) == ""
    assert told_past("Freeze until 2026-03-05", written=-1e20, now=1e20) == "", "no clock is that wrong"


@pytest.mark.parametrize(
    "piece", ["until 2026-03-05 ", "due 5 March 2026, ", "until 5 ", "bis 1.–", "by ~~", "2026-03-05 – "]
)
def test_no_text_takes_long(piece: str) -> None:
    assert cpu_seconds(lambda: past_end(piece * 20_000, written=WRITTEN, today=TODAY), tries=2, enough=1) < 1
    assert cpu_seconds(lambda: past_end(f"{piece}.\n" * 20_000, written=WRITTEN, today=TODAY), tries=2, enough=1) < 1
