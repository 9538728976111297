"""Dropping what nobody sees, keeping what writing needs (S15)."""

from __future__ import annotations

import pytest

from memdir.text.printable import one_line, printable

NEEDED = [
    "می‌خواهم کتاب‌ها را بخوانم",  # Persian: joiners that keep letters apart
    "क्‍ष श्र‍ी हिन्दी में",  # Devanagari half forms
    "ന്‍ മലയാളം",
    "ශ්‍රී ලංකාව",
    "👨‍👩‍👧‍👦 👩🏽‍💻 ❤️ 🏳️‍🌈 1️⃣ ☎️ 🇩🇪",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿 England",
    "葛󠄀城市 辻󠄁",
    "ᠮᠣᠩᠭᠣᠯ᠋",
    "Prix : 10 € « oui »\u202f!",
    "東京　タワー",
    "a\tb\n\nc",
    "Zalgo t̷e̷x̷t̷ é ñ",
    "۝ ٪",
]


@pytest.mark.parametrize("text", NEEDED)
def test_what_a_script_or_an_emoji_needs_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\0b\x07c\x1fd\x7fe", "abcde"),
        ("\x1b[31mred\x1b[0m \x1b]0;title\x07x \x9b1my", "red x y"),
        ("a\u200bb\u200cc\u200dd\u2060e\ufefff", "abcdef"),
        ("\u202eevil\u202c \u2066x\u2069\u200f\u061c", "evil x"),
        ("a" + "".join(chr(0xE0000 + ord(c)) for c in "hidden"), "a"),
        ("a\ufe01\ufe02\U000e0110b", "ab"),
        ("☎\ufe0f\ufe0f\ufe0e", "☎\ufe0f"),
        ("ک\u200c\u200c\u200dت", "ک\u200cت"),
        ("a\ud800\udc80b\ue000\U000f0000c", "abc"),
        ("a\u3164b\u115fc\u00add\u034f", "abcd"),
        ("a\r\nb\rc\x0bd\x85e\u2028f", "a\nb\nc\nd\ne\nf"),
    ],
)
def test_what_nobody_sees_is_gone(text: str, seen: str) -> None:
    assert printable(text) == seen


def test_one_line_is_one_line() -> None:
    assert one_line(" a\r\nb\u2028c\td ") == "a b c d"
