"""Dates in Chinese, Japanese and Korean, where words are not set apart by spaces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta

from memdir.model.builtin.extract.date_shapes import (
    Frame,
    Meaning,
    add,
    add_months,
    month_day,
    month_end,
    next_weekday,
    unit_end,
    weekday_of_week,
)


def _by_value(rows: Mapping[int, str]) -> dict[str, int]:
    return {word: value for value, words in rows.items() for word in words.split()}


_WEEKDAYS = _by_value(
    {0: "一 月 월", 1: "二 火 화", 2: "三 水 수", 3: "四 木 목", 4: "五 金 금", 5: "六 土 토", 6: "日 天 일"}
)
_DIGITS = _by_value(
    {1: "一 한", 2: "二 两 두", 3: "三 세", 4: "四 네", 5: "五", 6: "六", 7: "七", 8: "八", 9: "九", 10: "十"}
)
_WEEKS = _by_value({-1: "上 先週 지난", 0: "这 本 今週 이번", 1: "下 来週 다음", 2: "下下 再来週 다다음"})
_OFFSETS = _by_value(
    {
        -2: "前天 一昨日 おととい 그저께",
        -1: "昨天 昨日 어제",
        0: "今天 今日 本日 오늘",
        1: "明天 明日 あした 내일",
        2: "后天 明後日 あさって 모레",
        3: "大后天 글피",
    }
)
_UNITS = {
    word: unit
    for unit, words in {"d": "天 日 일", "w": "周 星期 週間 주", "m": "月 か月 ヶ月 カ月 달 개월", "y": "年 년"}.items()
    for word in words.split()
}

_HAN = "[一二三四五六七八九十]{1,3}"
_NUMBER = "[0-9]{1,3}|[一二三四五六七八九十两]{1,3}|[한두세네]"
UNSPACED = re.compile(
    r"(?P<full>(?P<y>20\d\d)[年년]\s?(?P<ym>\d{1,2})[月월]\s?(?P<yd>\d{1,2})[日号일])"
    rf"|(?P<md>(?P<m>\d{{1,2}}|{_HAN})[月월]\s?(?P<d>\d{{1,2}}|{_HAN})[日号일])"
    r"|(?P<week>(?P<zhwhich>下下|下|这|本|上)个?(?:周|星期|礼拜)(?P<zhday>[一二三四五六日天])"
    r"|(?P<jawhich>再来週|来週|今週|先週)の?(?P<jaday>[月火水木金土日])曜日?"
    r"|(?P<kowhich>다다음|다음|이번|지난)\s?주\s?(?P<koday>[월화수목금토일])요일)"
    r"|(?P<bare>(?:周|星期|礼拜)(?P<zhbare>[一二三四五六日天])|(?P<jabare>[月火水木金土日])曜日?|(?P<kobare>[월화수목금토일])요일)"
    r"|(?P<monthend>(?P<mwhich>这个?|本|下个?|今|来|이번|다음)?\s?(?:月底|月末|달\s?말|월말))"
    r"|(?P<yearend>(?:今年|本年|올해|今)?(?:年底|年末|연말))"
    r"|(?P<quarterend>(?:本|这个?)?(?:季度末|季末)|四半期末|분기\s?말)"
    rf"|(?P<count>(?P<n>{_NUMBER})\s?个?(?P<unit>天|日|周|星期|週間|月|か月|ヶ月|カ月|年|일|주|달|개월|년)\s?"
    r"(?P<side>之后|以后|后|内|後|前|후|뒤|전))"
    r"|(?P<nextmonth>(?P<nmwhich>下个?月|来月|다음\s?달|这个?月|本月|今月|이번\s?달)\s?の?(?P<nmday>\d{1,2})[日号일])"
    r"|(?P<offset>大后天|明後日|あさって|一昨日|おととい|今天|明天|后天|昨天|前天|今日|本日|明日|あした|昨日"
    r"|오늘|내일|모레|글피|어제|그저께)"
    r"|(?P<nextweek>下下周|下周|来週|再来週|다음\s?주)"
    r"|(?P<dom>(?<!\d)(?P<domday>\d{1,2})[号日](?!本|程|报))"
)


def _count(text: str) -> int:
    if text.isdigit():
        return int(text)
    if len(text) > 1 and "十" in text:
        tens, _, ones = text.partition("十")
        return _DIGITS.get(tens, 1) * 10 + _DIGITS.get(ones, 0)
    return _DIGITS.get(text[0], 1)


def meaning(found: re.Match[str], frame: Frame) -> Meaning | None:
    """The days that one match of `UNSPACED` names."""
    kind = next(name for name in _KINDS if found.group(name))
    try:
        return _KINDS[kind](found, frame)
    except ValueError:
        return None


def _full(found: re.Match[str], _: Frame) -> Meaning | None:
    return Meaning((date(int(found["y"]), int(found["ym"]), int(found["yd"])),))


def _month_day(found: re.Match[str], frame: Frame) -> Meaning | None:
    day = month_day(frame, _count(found["m"]), _count(found["d"]))
    return Meaning((day,)) if day else None


def _of_week(found: re.Match[str], frame: Frame) -> Meaning | None:
    day = found["zhday"] or found["jaday"] or found["koday"]
    which = found["zhwhich"] or found["jawhich"] or found["kowhich"]
    return Meaning((weekday_of_week(frame.today, _WEEKDAYS[day], _WEEKS[which]),))


def _bare(found: re.Match[str], frame: Frame) -> Meaning | None:
    day = found["zhbare"] or found["jabare"] or found["kobare"]
    return Meaning((next_weekday(frame.today, _WEEKDAYS[day]),), vague=True)


def _month_end(found: re.Match[str], frame: Frame) -> Meaning | None:
    ahead = 1 if (found["mwhich"] or "")[:1] in ("下", "来", "다") else 0
    return Meaning((month_end(add_months(frame.today.replace(day=1), ahead)),))


def _year_end(_: re.Match[str], frame: Frame) -> Meaning | None:
    return Meaning((unit_end(frame.today, "y", 0),))


def _quarter_end(_: re.Match[str], frame: Frame) -> Meaning | None:
    return Meaning((unit_end(frame.today, "q", 0),))


def _counted(found: re.Match[str], frame: Frame) -> Meaning | None:
    sign = -1 if found["side"] in ("前", "전") else 1
    return Meaning((add(frame.today, sign * _count(found["n"]), _UNITS[found["unit"]]),), vague=sign < 0)


def _in_month(found: re.Match[str], frame: Frame) -> Meaning | None:
    ahead = 1 if found["nmwhich"][0] in "下来다" else 0
    return Meaning((add_months(frame.today.replace(day=1), ahead).replace(day=int(found["nmday"])),))


def _offset(found: re.Match[str], frame: Frame) -> Meaning | None:
    return Meaning((frame.today + timedelta(days=_OFFSETS[found["offset"]]),))


def _next_week(found: re.Match[str], frame: Frame) -> Meaning | None:
    ahead = 2 if found["nextweek"].startswith(("下下", "再")) else 1
    return Meaning((weekday_of_week(frame.today, 0, ahead),), "week", vague=True)


def _day_of_month(found: re.Match[str], frame: Frame) -> Meaning | None:
    day = int(found["domday"])
    first = frame.today.replace(day=1)
    for start in (first, add_months(first, 1)):
        if day <= month_end(start).day and start.replace(day=day) >= frame.today:
            return Meaning((start.replace(day=day),))
    return None


_KINDS = {
    "full": _full,
    "md": _month_day,
    "week": _of_week,
    "bare": _bare,
    "monthend": _month_end,
    "yearend": _year_end,
    "quarterend": _quarter_end,
    "count": _counted,
    "nextmonth": _in_month,
    "offset": _offset,
    "nextweek": _next_week,
    "dom": _day_of_month,
}
