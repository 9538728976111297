"""Text to words: case and accents folded, identifiers split, scripts without spaces cut into pairs.

The embedding table and the lexical index both count these words, so a change here needs both made again.
No `re`: it costs a third of a hook's start.
"""

from __future__ import annotations

MAX_WORD_CHARS = 40  # longer runs are hashes and blobs, not words
_RUN = 5  # words in a row that two texts do not share by chance

_KEEP = {code: chr(code) for code in range(128) if chr(code).isalnum()}
_TO_SPACE = {code: _KEEP.get(code, " ") for code in range(128)}
_TO_SPACE[ord("'")] = ""  # "don't" is one word
_ASCII_GAPS = {code: " " for code in range(128) if code not in _KEEP}

_LETTERS_WITHOUT_ACCENT_FORM = {
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i",
    "Æ": "ae", "Œ": "oe", "Ø": "o", "Ł": "l", "Đ": "d", "İ": "i", "ŋ": "n",
}  # fmt: skip
_LAST_ACCENTED = 0x52F  # Latin, Greek and Cyrillic end here: only they lose their marks
_UNSPACED = ((0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF))  # kana, han, hangul


def split_words(text: str) -> list[str]:
    """The words of `text` in order, lower case; camelCase gives its whole and its parts."""
    if not text.isascii():
        text = _fold(text)
    spaced = text.translate(_TO_SPACE)
    out: list[str] = []
    if spaced.isascii():
        whole, lowered = spaced.split(), spaced.lower().split()
        parts = {word: _parts(word) for word in set(whole).difference(lowered)} if whole != lowered else {}
        if not any(parts.values()) and max(map(len, lowered), default=0) <= MAX_WORD_CHARS:
            return lowered
        for word, lower in zip(whole, lowered, strict=True):
            if len(lower) <= MAX_WORD_CHARS:
                out += [lower, *parts.get(word, ())]
        return out
    for word in spaced.split():
        if not word.isascii():
            _append_unspaced(word.lower(), out)
        elif len(word) <= MAX_WORD_CHARS:
            out += [word.lower(), *_parts(word)]
    return out


def plain_words(text: str) -> list[str]:
    """The words of `text` as they are written, lower case; what follows an apostrophe belongs to its word. Plain ASCII,
    which most texts are, goes a quicker way to the same end."""
    if text.isascii() and "'" not in text:
        return text.lower().translate(_ASCII_GAPS).split()
    import re

    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.casefold().replace("’", "'"))


def char_pairs(run: str) -> list[str]:
    """A run of a script without spaces as overlapping pairs of characters."""
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def strip_accents(text: str) -> str:
    """Letters without their marks: é becomes e."""
    from unicodedata import combining, normalize

    return "".join([char for char in normalize("NFKD", text) if not combining(char)])


def runs_of(text: str, length: int = _RUN) -> frozenset[tuple[str, ...]]:
    """Every stretch of words in a row, as many as tell where it came from where nobody says how many."""
    words = split_words(text)
    return frozenset(tuple(words[at : at + length]) for at in range(len(words) - length + 1))


def cut_at_word(text: str, room: int) -> str:
    """The beginning of a text that fits, cut behind a word where there is one in its second half."""
    if len(text) <= room:
        return text
    cut = text[: room - 1]
    space = max(cut.rfind(" "), cut.rfind("，"), cut.rfind("、"))
    return (cut[:space] if space > room // 2 else cut).rstrip(" ,;:.—–-，、") + "…"


def is_unspaced(char: str) -> bool:
    """Whether this character belongs to a script written without spaces (or is counted in pairs, as hangul)."""
    code = ord(char)
    return code >= 0x3040 and any(first <= code <= last for first, last in _UNSPACED)


def _fold(text: str) -> str:
    from unicodedata import normalize

    text = normalize("NFKC", text)
    folded = {char: plain for char in set(text) if not char.isascii() and (plain := _folded(char)) != char}
    # A text has few characters of the kind. What becomes ASCII goes first: nothing may be folded twice.
    for char in sorted(folded, key=lambda char: not folded[char].isascii()):
        text = text.replace(char, folded[char])
    return text


def _folded(char: str) -> str:
    """A character without its mark, or nothing but a gap for what is no letter."""
    from unicodedata import combining

    if ord(char) <= _LAST_ACCENTED:
        plain = _LETTERS_WITHOUT_ACCENT_FORM.get(char)
        if plain is None:
            plain = strip_accents(char)
        return plain if plain.isalnum() else " "
    if char == "’":
        return ""
    return char if char.isalnum() or combining(char) else " "


def _parts(word: str) -> list[str]:
    """The parts of camelCase, HTTPServer and v2Beta; none when there is only one."""
    if word[1:].islower() or word.isupper() or word.islower():
        return []
    start, parts = 0, []
    for i in range(1, len(word)):
        here, before = word[i], word[i - 1]
        starts_word = here.isupper() and not before.isupper()
        ends_acronym = here.isupper() and before.isupper() and i + 1 < len(word) and word[i + 1].islower()
        if starts_word or ends_acronym:
            parts.append(word[start:i].lower())
            start = i
    return [part for part in [*parts, word[start:].lower()] if len(part) > 1] if parts else []


def _append_unspaced(word: str, out: list[str]) -> None:
    """Runs of unspaced script as overlapping pairs, everything else whole."""
    run, rest = "", ""
    for char in word + " ":
        if char != " " and is_unspaced(char):
            run += char
            if rest:
                out.append(rest[:MAX_WORD_CHARS])
                rest = ""
            continue
        if run:
            out += char_pairs(run)
            run = ""
        if char != " ":
            rest += char
    if rest:
        out.append(rest[:MAX_WORD_CHARS])


def counted(count: int, one: str, many: str = "") -> str:
    """A number and what it counts: "1 memory", "2 memories", "1,204 files"."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def unquoted(text: str) -> str:
    """A text without the quotation marks that a command line put around the whole of it (`"say \\"hi\\""`)."""
    inner = text.strip()[1:-1]
    is_quoted = len(inner) > 0 and text.strip()[0] == text.strip()[-1] == '"'
    return inner.replace('\\"', '"') if is_quoted and '"' not in inner.replace('\\"', "") else text
