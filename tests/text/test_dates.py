"""Relative dates become absolute with the conversation's clock (T3), in several languages."""

from __future__ import annotations

from datetime import date

import pytest

from memdir.text.dates import Clock, iso_dates, may_hold_date, read_any, read_dates
from tests.timing import cpu_seconds

WEDNESDAY = date(2026, 5, 6)


def days(text: str, language: str = "en", today: date = WEDNESDAY, anchors: tuple[date, ...] = ()) -> list[str]:
    spans = read_dates([text], Clock(today, language, anchors))[0]
    return [day.isoformat() for span in spans for day in span.days]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("we ship tomorrow", ["2026-05-07"]),
        ("the day after tomorrow at noon", ["2026-05-08"]),
        ("Marisol stepped down last night", ["2026-05-05"]),
        ("this Saturday from 22:00", ["2026-05-09"]),
        ("until Friday", ["2026-05-08"]),
        ("it is due on Wednesday", ["2026-05-13"]),
        ("on Thursday next week", ["2026-05-14"]),
        ("next Thursday", ["2026-05-14"]),
        ("next week, Monday through Friday", ["2026-05-11", "2026-05-15"]),
        ("on Monday and Tuesday next week", ["2026-05-11", "2026-05-12"]),
        ("the week after next, Wednesday to Friday", ["2026-05-20", "2026-05-22"]),
        ("Friday week", ["2026-05-15"]),
        ("in two weeks", ["2026-05-20"]),
        ("in a fortnight", ["2026-05-20"]),
        ("five weeks from today", ["2026-06-10"]),
        ("a week from tomorrow", ["2026-05-14"]),
        ("in ten days", ["2026-05-16"]),
        ("in three working days", ["2026-05-11"]),
        ("at the end of the month", ["2026-05-31"]),
        ("by the end of next month", ["2026-06-30"]),
        ("at the end of November", ["2026-11-30"]),
        ("by the end of the quarter", ["2026-06-30"]),
        ("at the end of the year", ["2026-12-31"]),
        ("at the end of the year after next", ["2028-12-31"]),
        ("the first of next month", ["2026-06-01"]),
        ("on the first Monday of June", ["2026-06-01"]),
        ("the last Friday of May", ["2026-05-29"]),
        ("on the last working day of this month", ["2026-05-29"]),
        ("back on the first working day of March", ["2027-03-01"]),
        ("the 14th of this month", ["2026-05-14"]),
        ("no longer on the 18th", ["2026-05-18"]),
        ("it runs to 26 June", ["2026-06-26"]),
        ("the 8th of January at six", ["2027-01-08"]),
        ("March 3", ["2027-03-03"]),
        ("23 October 2026, noon", ["2026-10-23"]),
        ("on 2026-07-01", ["2026-07-01"]),
        ("the Thursday after New Year's Day", ["2027-01-07"]),
        ("until Christmas", ["2026-12-25"]),
        ("two days ago", ["2026-05-04"]),
        ("I'm on a Mac since Monday", ["2026-05-04"]),
        ("I took over as team lead on Monday", ["2026-05-04"]),
        ("the demo moved to Friday", ["2026-05-08"]),
        ("tmrw we start", ["2026-05-07"]),
        ("due a week on Monday", ["2026-05-18"]),
        ("the audit is a week tomorrow", ["2026-05-14"]),
        ("the audit is tomorrow week", ["2026-05-14"]),
        ("they meet once a week on Monday", ["2026-05-11"]),  # the Monday, no week behind it
        ("the last day of May", ["2026-05-31"]),
        ("we are closed on the last weekend of August", ["2026-08-29"]),
        ("Friday in two weeks", ["2026-05-22"]),
        ("on Friday 5/15", ["2026-05-08", "2026-05-15"]),
    ],
)
def test_english_dates_become_days(text: str, expected: list[str]) -> None:
    assert days(text) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "übermorgen ist Abnahme", ["2026-05-08"]),
        ("de", "Freitag in zwei Wochen", ["2026-05-22"]),
        ("de", "heute in drei Wochen", ["2026-05-27"]),
        ("de", "Montag in einer Woche", ["2026-05-18"]),
        ("de", "Freitag in vierzehn Tagen", ["2026-05-22"]),
        ("de", "ab dem ersten Juli", ["2026-07-01"]),
        ("fr", "demain en huit", ["2026-05-14"]),
        ("fr", "à partir du premier juin", ["2026-06-01"]),
        ("it", "dal primo giugno", ["2026-06-01"]),
        ("pl", "od pierwszego czerwca", ["2026-06-01"]),
        ("ru", "с первого июня", ["2026-06-01"]),
        ("nl", "maandag over een week", ["2026-05-18"]),
        ("de", "das Verhältnis ist 3/4", []),
        ("de", "gültig bis 09/28", []),  # a month of 2028
        ("en", "valid until 09/28", []),
        ("en", "until 9/18", ["2026-09-18"]),
        ("de", "bis Ende des Monats", ["2026-05-31"]),
        ("de", "zum Monatsende", ["2026-05-31"]),
        ("de", "am nächsten Montag", ["2026-05-11"]),
        ("de", "am 3. Juni", ["2026-06-03"]),
        ("de", "am 12.6. um zehn", ["2026-06-12"]),
        ("en", "on 24/12", ["2026-12-24"]),
        ("en", "on 12/24/2026", ["2026-12-24"]),
        ("en", "on 3/5/2026", []),  # the fifth of March, or the third of May
        ("en", "on 3/5", []),
        ("en", "on 5/5/2026", ["2026-05-05"]),
        ("en", "on 3.5.2026", ["2026-05-03"]),
        ("de", "am 3/5/2026", ["2026-05-03"]),
        ("fr", "le 3/5/2026", ["2026-05-03"]),
        ("ja", "締め切りは 3/5/2026 です", ["2026-03-05"]),
        ("de", "vor zwei Wochen", ["2026-04-22"]),
        ("fr", "après-demain", ["2026-05-08"]),
        ("fr", "lundi prochain", ["2026-05-11"]),
        ("fr", "dans deux semaines", ["2026-05-20"]),
        ("fr", "à la fin du mois", ["2026-05-31"]),
        ("fr", "le premier lundi de juin", ["2026-06-01"]),
        ("fr", "le 14 juillet", ["2026-07-14"]),
        ("fr", "il y a deux semaines", ["2026-04-22"]),
        ("fr", "vendredi dernier", ["2026-05-01"]),
        ("es", "pasado mañana", ["2026-05-08"]),
        ("es", "el viernes que viene", ["2026-05-08"]),
        ("es", "el jueves de la semana que viene", ["2026-05-14"]),
        ("es", "quedó para el 20 de este mes", ["2026-05-20"]),
        ("es", "a fines de noviembre", ["2026-11-30"]),
        ("pt", "na quinta da semana que vem", ["2026-05-14"]),
        ("pt", "depois de amanhã", ["2026-05-08"]),
        ("pt", "daqui a três semanas", ["2026-05-27"]),
        ("it", "dopodomani", ["2026-05-08"]),
        ("it", "tra due settimane", ["2026-05-20"]),
        ("it", "giovedì prossimo", ["2026-05-07"]),
        ("nl", "volgende week woensdag", ["2026-05-13"]),
        ("nl", "overmorgen", ["2026-05-08"]),
        ("nl", "over twee weken", ["2026-05-20"]),
        ("pl", "w przyszły poniedziałek", ["2026-05-11"]),
        ("pl", "za dwa tygodnie", ["2026-05-20"]),
        ("pl", "pojutrze", ["2026-05-08"]),
        ("ru", "в следующую среду", ["2026-05-13"]),
        ("ru", "через две недели", ["2026-05-20"]),
        ("ru", "послезавтра", ["2026-05-08"]),
        ("sv", "om två veckor", ["2026-05-20"]),
        ("tr", "gelecek salı", ["2026-05-12"]),
        ("tr", "iki hafta sonra", ["2026-05-20"]),
        ("zh", "改到下周三晚上", ["2026-05-13"]),
        ("zh", "这个月底就下线", ["2026-05-31"]),
        ("zh", "后天客户来", ["2026-05-08"]),
        ("zh", "两周后上线", ["2026-05-20"]),
        ("zh", "十月十号", ["2026-10-10"]),
        ("zh", "下个月10号", ["2026-06-10"]),
        ("zh", "改到10号", ["2026-05-10"]),
        ("zh", "下一步做什么", []),
        ("zh", "10月10号", ["2026-10-10"]),
        ("ja", "来週の金曜日まで", ["2026-05-15"]),
        ("ja", "再来週の月曜日", ["2026-05-18"]),
        ("ja", "明後日", ["2026-05-08"]),
        ("ja", "今月末", ["2026-05-31"]),
        ("ja", "6月3日に", ["2026-06-03"]),
        ("ko", "다음 주 목요일에", ["2026-05-14"]),
        ("ko", "모레", ["2026-05-08"]),
        ("ko", "2주 후", ["2026-05-20"]),
    ],
)
def test_dates_of_other_languages_become_days(language: str, text: str, expected: list[str]) -> None:
    assert days(text, language) == expected


@pytest.mark.parametrize(
    ("today", "text", "expected"),
    [
        (date(2026, 4, 30), "tomorrow", ["2026-05-01"]),
        (date(2026, 12, 31), "tomorrow", ["2027-01-01"]),
        (date(2028, 2, 28), "tomorrow", ["2028-02-29"]),
        (date(2026, 1, 31), "a month from today", ["2026-02-28"]),
        (date(2026, 5, 31), "at the end of next month", ["2026-06-30"]),
        (date(2026, 5, 10), "on Monday next week", ["2026-05-11"]),
        (date(2026, 5, 10), "on Monday", ["2026-05-11"]),
        (date(2026, 5, 11), "on Monday", ["2026-05-18"]),
        (date(2026, 5, 11), "this Friday", ["2026-05-15"]),
        (date(2026, 12, 15), "at the end of the quarter", ["2026-12-31"]),
        (date(2026, 11, 20), "the 8th", ["2026-12-08"]),
        (date(2026, 1, 30), "the 31st", ["2026-01-31"]),
        (date(2026, 2, 10), "the 31st", ["2026-03-31"]),
    ],
)
def test_weeks_months_and_years_turn_over(today: date, text: str, expected: list[str]) -> None:
    assert days(text, today=today) == expected


@pytest.mark.parametrize(
    ("text", "monday"),
    [
        ("the last week of August", "2026-08-24"),
        ("the first week of June", "2026-06-01"),
        ("the second week of July", "2026-07-06"),
        ("the week after next", "2026-05-18"),
    ],
)
def test_a_week_is_named_as_a_week(text: str, monday: str) -> None:
    [span] = read_dates([text], Clock(WEDNESDAY, "en"))[0]
    assert (span.grain, span.days[0].isoformat()) == ("week", monday)


def test_the_day_after_leans_on_the_day_named_before() -> None:
    spans = read_dates(["tomorrow is a holiday", "the file goes out the day after"], Clock(WEDNESDAY, "en"))
    assert [day.isoformat() for one in spans for span in one for day in span.days] == ["2026-05-07", "2026-05-08"]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("we postpone the launch by nine days", "en", ["2026-09-16"]),
        ("it ships three days later than I told you", "en", ["2026-09-10"]),
        ("due a week sooner than we thought", "en", ["2026-08-31"]),
        ("moved forward to the Thursday before", "en", ["2026-09-03"]),
        ("an extra fortnight on top", "en", ["2026-09-21"]),
        ("on la repousse d'une semaine", "fr", ["2026-09-14"]),
        ("se retrasa diez días", "es", ["2026-09-17"]),
        ("verschiebt sich um zwei Wochen", "de", ["2026-09-21"]),
        ("przesunięte o tydzień później", "pl", ["2026-09-14"]),
        ("so we take the one after that", "en", ["2026-09-14"]),
    ],
)
def test_a_shift_counts_from_the_date_in_the_memory(text: str, language: str, expected: list[str]) -> None:
    assert days(text, language, anchors=(date(2026, 9, 7),)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "on a monday I drink tea",
        "every Friday we talk",
        "we meet on Thursdays",
        "the IP is 10.4.2.19",
        "version 3.12 only",
        "it took two seconds",
        "they answer within an hour",
        "in week 5 of the course",
        "you may march on",
        "a new year, a new hat",
        "at 22:00 or 6:30",
        "the bolt size is 5/16",
        "use 5/16 bolts and 3/4 of the glue",
        "flat 12/25 Harbour Road",
        "my card, exp 09/28",
        "the first June release",
        "the last working day of the year",
        "the first day of the quarter",
    ],
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert days(text) == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "we run py 3.11. so where does the patch go"),
        ("en", "Read chapter 5.12. before the seminar."),
        ("de", "Wir sind auf Version 2.10. Das bleibt so."),
        ("it", "La versione 4.11. è già installata."),
        ("en", "we meet on the last Thursday of the month"),
        ("fr", "La chorale répète le premier lundi du mois."),
        ("pl", "Chór ma próby w pierwszy poniedziałek miesiąca."),
        ("en", "the board meets on the last Friday of the quarter"),
        ("en", "backups are kept 90 days from now on"),
        ("en", "I am a 2nd year student"),
        ("en", "we live on the 2nd floor"),
        ("fr", "Nous habitons au 1er étage"),
        ("fr", "mon rendez-vous est pris"),
        ("fr", "Arrose les plantes un lundi sur deux."),
    ],
)
def test_figures_and_standing_days_are_no_dates(language: str, text: str) -> None:
    assert days(text, language) == []


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "They repaired the boiler on Tuesday", "2026-05-05"),
        ("en", "On Monday we finally painted the hall", "2026-05-04"),
        ("en", "On Monday she left", "2026-05-04"),
        ("en", "The boiler man rang on Tuesday", "2026-05-05"),
        ("en", "It ends on Tuesday and won't be renewed", "2026-05-12"),
        ("de", "Der Heizungsmann rief am Dienstag an", "2026-05-05"),
        ("nl", "De gemeente wees het plan dinsdag af", "2026-05-05"),
        ("en", "Tom has an appointment on Monday", "2026-05-11"),
        ("en", "We decided to close the shop on Monday", "2026-05-11"),
        ("en", "the audit is repeated on Tuesday", "2026-05-12"),
        ("de", "Am Montag sind wir umgezogen", "2026-05-04"),
        ("de", "Der Rat lehnte den Antrag am Dienstag ab", "2026-05-05"),
        ("de", "Wir haben am Montag den Vertrag gekündigt", "2026-05-04"),
        ("de", "Wir haben am Montag geschlossen", "2026-05-11"),
        ("de", "Wir haben die Probe auf Montag verlegt", "2026-05-11"),
        ("de", "Oma hat am 14. Juni Geburtstag", "2026-06-14"),
        ("fr", "Le conseil a refusé le projet mardi", "2026-05-05"),
        ("fr", "La réunion a lieu mardi", "2026-05-12"),
        ("fr", "On a décidé de fermer lundi", "2026-05-11"),
        ("fr", "On a décalé la visite à lundi", "2026-05-11"),
        ("es", "El ayuntamiento rechazó el proyecto el martes", "2026-05-05"),
        ("es", "Hemos decidido cerrar el lunes", "2026-05-11"),
        ("it", "Ci siamo trasferiti lunedì", "2026-05-04"),
        ("it", "Paolo ha appuntamento lunedì", "2026-05-11"),
        ("it", "Il dentista ha spostato la visita a giovedì", "2026-05-07"),
        ("nl", "Onze boekhouder gaat op 30 juni met pensioen", "2026-06-30"),
        ("pt", "O Tomás magoou-se na segunda", "2026-05-04"),
        ("fr", "Samedi on a repeint le couloir", "2026-05-02"),
        ("en", "it is due by the 14th instead", "2026-05-14"),
        ("pt", "A câmara rejeitou o projeto na terça", "2026-05-05"),
        ("pt", "A caldeira foi revista na quinta", "2026-04-30"),
        ("pt", "Eu vou na terça", "2026-05-12"),
        ("nl", "We zijn maandag verhuisd", "2026-05-04"),
        ("nl", "De winkel is maandag gesloten", "2026-05-11"),
        ("pl", "Rada odrzuciła projekt we wtorek", "2026-05-05"),
        ("pl", "Przeprowadziliśmy się w poniedziałek", "2026-05-04"),
    ],
)
def test_the_form_of_the_verb_tells_which_weekday_is_meant(language: str, text: str, expected: str) -> None:
    assert days(text, language) == [expected]


@pytest.mark.parametrize(
    ("taken_for", "text", "expected"),
    [
        ("en", "Od 1 czerwca recepcję prowadzi Ola.", ["2026-06-01"]),
        ("en", "Tra due settimane cambiamo gestionale", ["2026-05-20"]),
        ("fr", "La exposición empieza dentro de tres semanas", ["2026-05-27"]),
        ("fr", "Daqui a duas semanas mudamos de endereço", ["2026-05-20"]),
        ("en", "Der Schornsteinfeger kam letzten Donnerstag", ["2026-04-30"]),
        ("en", "let us meet an hour later", []),
    ],
)
def test_a_date_is_read_in_its_own_language_where_too_few_words_tell_it(
    taken_for: str, text: str, expected: list[str]
) -> None:
    assert days(text, taken_for) == expected


def test_dates_written_in_a_memory_are_found_and_nonsense_is_not() -> None:
    assert iso_dates("due 2026-03-16, not 2026-13-40, again 2026-03-16") == (date(2026, 3, 16),)


@pytest.mark.slow("gestern", "hier", "first of", "mon-", "monaten")
@pytest.mark.parametrize(
    "unit",
    [
        "Monday Ana, Tuesday Bo, ",
        "gestern montag, ",
        "hier ",
        "in 2 weeks, a week later ",
        "the ",
        "first of the ",
        "下周一",
        "mon-",
        "monaten",
    ],
)
def test_the_time_grows_with_the_text(unit: str) -> None:
    """A roster is read at every start of the doctor, and a message by recall: twice the text, about twice the time."""

    def seconds(size: int, enough: float = 0.0) -> float:
        text = unit * (size // len(unit))

        def read() -> None:
            read_any(text, WEDNESDAY)
            read_dates([text], Clock(WEDNESDAY, "de", (WEDNESDAY,)))

        return cpu_seconds(read, enough=enough)

    seconds(100)
    most = 16 * seconds(2_000) + 0.05
    assert seconds(16_000, most) <= most


@pytest.mark.parametrize(
    "text", ["Review on Monday", "at 3pm on fri1, mon_day", "by2026tomorrow\tor Sat.", "", "kalo next WEEK"]
)
def test_a_plain_text_may_hold_the_same_dates_by_the_quick_way(text: str) -> None:
    assert may_hold_date(text) == may_hold_date(f"{text} -")  # with a dash it goes the long way
