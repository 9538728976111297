"""Secrets in texts that would travel or spread. One function finds them; the rest takes them out of team pages (E5)."""

from __future__ import annotations

import re

from memdir.model.builtin.dream.desk import Change, Desk
from memdir.model.builtin.dream.page import TEAM
from memdir.model.builtin.dream.words import tokens

REMOVED = "[secret removed]"

_FORMATS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bxox[abposr]-[\w-]{10,}|\bsk-[\w-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|\bAIza[\w-]{30,}"
    r"|(?<=://)[^\s/:@]+:[^\s/:@]+(?=@)",
    re.DOTALL,
)
_NAMED = re.compile(
    r"\b(?:pass(?:word|wort|phrase|code)?|pwd|contraseña|senha|mot de passe|wachtwoord|kennwort|token|secret|"
    r"api[ _-]?key|access[ _-]?key|schlüssel|clave|credentials?|pin)\b"
    r"[^\n:=]{0,40}?(?:[:=]|\bis\b|\bist\b|\bes\b|\best\b)\s*[\"'`]?(?P<value>[^\s\"'`,;]{6,})",
    re.IGNORECASE,
)


def find_secrets(text: str) -> list[tuple[int, int]]:
    """Where `text` seems to hold secrets."""
    found = [match.span() for match in _FORMATS.finditer(text)]
    found += [match.span("value") for match in _NAMED.finditer(text) if _looks_secret(match["value"])]
    return sorted(set(found))


def without_secrets(text: str) -> str:
    """`text` with every secret replaced by a note that there was one."""
    for start, end in reversed(find_secrets(text)):
        text = text[:start] + REMOVED + text[end:]
    return text


def mend_secrets(desk: Desk) -> None:
    """Take secrets out of pages that are shared with a team, and report them; the value is named nowhere."""
    for page in desk.open_pages():
        if page.folder != TEAM:
            continue
        text = page.data.decode("utf-8")
        found = find_secrets(text)
        if found:
            gone = frozenset(token for start, end in found for token in tokens(_chunk(text, start, end)))
            reason = f"{len(found)} secret(s) taken out of a shared memory: revoke them, the history still has them"
            desk.put(Change({page.key: without_secrets(text).encode()}, reason, (page.key,), gone))


def _looks_secret(value: str) -> bool:
    """Letters and digits mixed, or several kinds of signs: a word of a language looks otherwise."""
    core = value.strip(".)(")
    kinds = (any(c.isdigit() for c in core), any(c.isalpha() for c in core), any(c in "!#$%&*+/=?@^_-" for c in core))
    return len(core) >= 6 and sum(kinds) >= 2 and kinds[0] and "://" not in core and not core.endswith(".md")


def _chunk(text: str, start: int, end: int) -> str:
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end]
