"""Small edits of the user's sentences: fillers off, the reason apart from the rule, dates absolute; secrets found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from memdir.model.builtin.extract.wishes import is_said
from memdir.store.secrets import find_secrets
from memdir.text.dates import DateSpan
from memdir.text.language import alternatives, anywhere, clean
from memdir.text.naming import with_capital

MIN_RULE_WORDS = 3  # what stands before "because" must be a statement of its own
MIN_RULE_LETTERS = 12  # the same where words are not set apart
_OF = r"(?:\s+(?:code|number|here|now))?(?:\s+(?:for|of|to|on|für|vom?|zum?|del?|du|d[ao]|van)\s[^.\n]{1,24}?)?"
_SAYS = r"\s*(?:is|=|:|lautet|ist|est|es|é|это|是|は)\s*[\"'`]?"
_TANGLE = r"[\w!@#$%^&*+-]"


@cache
def _secret() -> re.Pattern[str]:
    """Secrets as people say them, "the password is …": the store's scanner knows how they are written."""
    words, keys = (f"(?:{alternatives(one)})" for one in ("password", "key-word"))
    return re.compile(
        rf"{words}[^.\n]{{0,24}}?{_SAYS}(?=\S*[\d!@#$%^&*_-])\S{{4,}}|{keys}{_OF}{_SAYS}(?=\S*[\d!@#$%^&*])\S{{4,}}"
        rf"|(?:{words}|{keys})\s+[\"'`]?(?={_TANGLE}*\d)(?={_TANGLE}*[A-Za-z]){_TANGLE}{{6,}}",
        re.IGNORECASE,
    )


def holds_secret(text: str) -> bool:
    """Whether a password, key or token seems to stand in the text."""
    return bool(_secret().search(text) or find_secrets(text))


def tidy(sentence: str, language: str) -> str:
    """The sentence without opening fillers, begun as a sentence and ended with a stop."""
    text = re.sub(r"\s+", " ", clean(sentence)).strip()
    text = _filler(language).sub("", text).strip(" ,;:") or text
    text = text.lstrip("-–—*• ").rstrip(" ,;:-–—")
    if text and text[-1] not in ".!?…。！？":
        text += "。" if ord(text[-1]) > 0x3000 else "."
    return with_capital(text)


@cache
def _filler(language: str) -> re.Pattern[str]:
    # "No, use tabs" loses its first word; "no tabs" and "stop adding tabs" would mean the opposite without it.
    opening = (
        rf"(?:{alternatives('filler', language)})[\s,;:!.…—–-]+"
        rf"|(?:{alternatives('exclaim', language)})(?:\s*[,;:!.…—–]+\s*|\s+-+\s+)"
        rf"|(?:{alternatives('counted', language)})\s*[,:.]\s+"
    )
    return re.compile(rf"^(?:{opening})+", re.IGNORECASE)


@cache
def _reason(language: str) -> re.Pattern[str]:
    spaced = language not in ("zh", "ja", "ko")
    lead = r"[,;:—–-]?\s+" if spaced else "[，、。,;]?"
    return re.compile(rf"{lead}(?=(?:{alternatives('reason', language)}))", re.IGNORECASE)


_NAMES = re.compile(r"\b(?:the|a|any|no|its|their|my|your|our|this|that|each|every|root|likely)$", re.IGNORECASE)


def rule_and_reason(sentence: str, language: str) -> tuple[str, str]:
    """The sentence cut before its "because"; the second part is empty when there is none."""
    for found in _reason(language).finditer(sentence):
        rule, reason = sentence[: found.start()].strip(" ,;:—–-"), sentence[found.end() :].strip()
        if anywhere("since").match(reason) or _NAMES.search(rule):
            continue  # "since the first of May" is a date, "the cause" a thing
        if is_said(reason) and (len(rule.split()) >= MIN_RULE_WORDS or len(rule) > MIN_RULE_LETTERS):
            return rule, reason
    return sentence, ""


def with_dates(sentence: str, dates: Sequence[DateSpan]) -> str:
    """The sentence with its relative dates written out; a weekday keeps its name beside the date."""
    text = sentence
    for span in sorted(dates, key=lambda one: -one.start):
        head, tail = text[: span.start], text[span.end :]
        left, right = " " if head[-1:].isalnum() else "", " " if tail[:1].isalnum() else ""
        text = head + left + _written(text[span.start : span.end], span) + right + tail
    return text


def _written(phrase: str, span: DateSpan) -> str:
    days = [day.isoformat() for day in span.days]
    if span.grain == "week":
        return f"{phrase} (week of {days[0]})"
    if span.grain in ("month", "quarter", "year"):
        return f"{phrase} ({days[0][:4] if span.grain == 'year' else days[0][:7]})"
    if any(day in phrase for day in days):
        return phrase
    if span.weekday:
        return f"{span.weekday} {days[0]}"
    plain = re.fullmatch(r"[^\W\d_]+", phrase)
    return days[0] if plain and len(days) == 1 else f"{phrase} ({', '.join(days)})"
