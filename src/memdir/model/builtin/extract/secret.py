"""Whether a text seems to hold a secret. A small stand-in behind one function; the store's own scanner replaces it."""

from __future__ import annotations

import re

_WORDS = (
    r"pass(?:word|wort|phrase|code)?|pwd|pw|secret|token|api[ _-]?key|key|pin|tan|credential\w*|kennwort|senha"
    r"|contraseña|clave|mot de passe|hasło|пароль|wachtwoord|密码|口令|パスワード|비밀번호"
)
_SAYS = r"(?:is|=|:|lautet|ist|est|es|é|это|是|は)"
_NAMED = re.compile(
    rf"(?<!\w)(?:{_WORDS})(?!\w)[^.\n]{{0,24}}?{_SAYS}\s*[\"'`]?(?=\S*[\d!@#$%^&*_-])(\S{{4,}})", re.IGNORECASE
)
_TANGLE = r"[\w!@#$%^&*+-]"
_BESIDE = re.compile(
    rf"(?<!\w)(?:{_WORDS})\s+[\"'`]?((?={_TANGLE}*\d)(?={_TANGLE}*[A-Za-z]){_TANGLE}{{6,}})", re.IGNORECASE
)
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
    r"|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}|\b[rs]k[-_][A-Za-z0-9_-]{16,}|\bAIza[\w-]{30,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.|\b[a-z][a-z0-9+]*://[^\s/:@]+:[^\s/@]+@|\b(?=[A-Fa-f0-9]*\d)[A-Fa-f0-9]{32,}\b"
)


def holds_secret(text: str) -> bool:
    """Whether a password, key or token seems to stand in the text."""
    return bool(_SHAPES.search(text) or _NAMED.search(text) or _BESIDE.search(text))
