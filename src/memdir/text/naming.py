"""Names for a memory that came without: a title, a description for recall to judge by, and a file name (S6, S7)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from memdir.disk.safe_path import is_key
from memdir.text.language import alternatives, anywhere, cjk_runs, common_words, cues, fold, language, stems
from memdir.text.sentences import STOPS, bounds, goes_on
from memdir.text.words import cut_at_word

MAX_DESCRIPTION = 150  # a description is one line, and so is its line in the index; what is longer is a body
MAX_TITLE = 60  # fits a list beside a date
MAX_TITLE_WORDS = 7
MAX_STEM = 48  # bytes of a file name that still fits a column of `ls`
_PAUSES = ",;:—–("
NAMELESS = "note"  # the file name of a memory whose title has no letter
_FIRST_WORD = re.compile(r"[^\W\d_A-Z]+(?:['’][^\W\d_]+)?(?=[\s,;:.!?…]|$)")  # no code, and not glued to another script
_SAID_OF = re.compile(r"\s+(?:is|are|was|has|ist|sind|est|es|è|é)\s")  # the word is the name of something
TELLING_STEMS = 2  # a clause with fewer topic words is a lead-in ("before anything else:")
_CLAUSES = re.compile(r"(?<=[^\d\s])[,;:](?=\s)|[。；：！？，]|(?<=\w)[.!?](?=\s|$)|\s[—–-]\s")
_WHEN = re.compile(  # "From 1 June (2026-06-01)" tells when, not what
    r"^(?:from|as of|since|until|starting|ab|seit|bis|à partir|dès|depuis|a partir|desde|hasta|até|da[il]?|od|do|vanaf)"
    r"\s.{1,30}\(\d{4}-\d\d(?:-\d\d)?\)$",
    re.IGNORECASE,
)

_DAY = re.compile(r"20\d\d-\d\d")  # a title goes on until the day that it is about, where there is room
_MARKS = re.compile(r"^[ \t]*(?:(?:#+|[*+>-])[ \t]+)+", re.MULTILINE)  # before a line; a minus before a number is none
_LABEL = re.compile(r"\n\s*\*\*[^*\n]{1,30}(?::\*\*|\*\*:)")  # "**Why:**" tells of what stands before it


def titled(text: str) -> tuple[str, str]:
    """The title that a text begins with, a line of its own, and the rest, or all where a sentence goes on; or none."""
    first, _, rest = text.strip().partition("\n")
    line = _MARKS.sub("", first.strip()).strip("*_ ")
    if not line or not rest.strip() or len(line) > MAX_TITLE or line.endswith((",", ";")) or _LABEL.match("\n" + rest):
        return "", text
    goes_on = line == first.strip() and line[-1].isalnum() and rest[0].islower()
    return line.rstrip(".: "), text if goes_on else rest


def describe(body: str) -> str:
    """A description for a text that came without one: its first sentence, or the beginning of it."""
    told = _LABEL.split(body.strip(), maxsplit=1)[0]
    text = " ".join(_MARKS.sub("", told).replace("**", "").split())
    return describe_rule(text[: next((end for _, end in bounds(text, STOPS)), 0)])


def describe_rule(lead: str, others: Iterable[str] = ()) -> str:
    """The leading sentence of a rule, with more of it while there is room."""
    text = lead
    for more in others:
        if len(text) > MAX_DESCRIPTION // 3:
            break
        text = f"{text} {more}"
    return cut_at_word(text.rstrip(".。 "), MAX_DESCRIPTION)


def with_capital(text: str) -> str:
    """The text begun with a capital where its first word is surely no name: `npm` and `iOS` are written so."""
    found = _FIRST_WORD.match(text)
    word = fold(found[0]) if found else ""
    is_plain = word in common_words() or bool(found and anywhere("opens").fullmatch(word))
    if not is_plain and word and not _SAID_OF.match(text[len(word) :]):
        tongue = language(fold(text))
        is_plain = any(cue.meaning not in ("product", "place", "people") for cue in cues(word, [word], tongue))
    return text[:1].upper() + text[1:] if is_plain else text


def plainly(text: str) -> str:
    """A text without what makes it polite before and behind it: "please …", "could you …?", "…, s'il te plaît"."""
    before, behind = _politely()
    said = before.sub("", behind.sub(r"\1", text)).rstrip("?？ ")
    if said == text.rstrip("?？ ") or len(said.split()) < TELLING_STEMS:
        return text
    return begun_like(said, text)


def begun_like(said: str, text: str) -> str:
    """What is left of a text, begun with a capital where the text is, unless it begins with a name."""
    first, _, told = said.partition(" ")
    word = fold(first)
    is_plain = first.islower() and word.replace("'", "").isalpha() and not _SAID_OF.match(f" {told}")
    is_name = not is_plain or any(cue.meaning == "product" for cue in cues(word, [word], "en"))
    return said[:1].upper() + said[1:] if text[:1].isupper() and not is_name else said


@cache
def _politely() -> tuple[re.Pattern[str], re.Pattern[str]]:
    polite, asks, gap = alternatives("polite"), alternatives("asks"), r"[\s,;:!.…—–¡¿-]*"
    asked = rf"(?:{asks}){gap}(?=(?:{polite})|.*[?？]\s*$)(?:(?:{polite}){gap})*"
    before = re.compile(rf"^{gap}(?:{asked}|(?:(?:{polite}){gap})+)", re.IGNORECASE | re.DOTALL)
    return before, re.compile(rf"[\s,;—–-]+(?:{polite})[\s.!]*([?？]?)\s*$", re.IGNORECASE)


def first_words(text: str, *, is_taken: Callable[[str], bool] = lambda _: False) -> str:
    """A title: a text up to its first pause, or its first words; up to twice as many where that is taken."""
    every = plainly(text).split()
    dated = next((at for at, word in enumerate(every) if _DAY.search(word)), 0)
    words = every[: max(MAX_TITLE_WORDS, dated + 1 if len(" ".join(every[: dated + 1])) <= MAX_TITLE else 0)]
    pause = next((at for at, word in enumerate(words) if at > 0 and word[-1] in _PAUSES), len(words) - 1)
    found = _titled(every, pause + 1)
    return _titled(every, 2 * MAX_TITLE_WORDS) if is_taken(found) else found


def _titled(words: Sequence[str], count: int) -> str:
    short = cut_at_word(" ".join(words[:count]).rstrip(",;:.…—–( "), MAX_TITLE)
    return _ended(short, is_cut=len(words) > count and words[count - 1][-1] not in _PAUSES) or "memory"


def _ended(short: str, *, is_cut: bool) -> str:
    """A title that was cut does not end in "the"."""
    opened = short.rfind(" (")
    if opened > 0 and ")" not in short[opened:]:
        short, is_cut = short[:opened], True
    words = short.rstrip(".…,;: ").split(" ") if is_cut or short.endswith("…") else [short]
    while len(words) > 2 and fold(words[-1]) in common_words():
        words.pop()
    return " ".join(words)


def title(lead: str) -> str:
    """A title: the first clause of a sentence that names a topic, cut to fit."""
    lead = plainly(lead)
    parted = _CLAUSES.sub(lambda stop: "." if stop[0] == "." and goes_on(lead[: stop.end()]) else "\0", lead)
    clauses = [clause.strip() for clause in parted.split("\0") if clause.strip()]
    first = next((at for at, clause in enumerate(clauses) if _tells(clause)), 0)
    text = clauses[first] if clauses else lead
    for more in clauses[first + 1 :]:
        if len(text) + len(more) + 2 > MAX_TITLE or len(set(stems(text))) > 2 * TELLING_STEMS:
            break
        text = f"{text}, {more}"
    return _ended(cut_at_word(with_capital(text), MAX_TITLE), is_cut=False).rstrip(".…,;: ")


def _tells(clause: str) -> bool:
    is_sure = cjk_runs(clause) or anywhere("negated").search(clause)  # "don't use any, unless …" is no lead-in
    return bool(is_sure) or len(set(stems(_WHEN.sub("", clause)))) >= TELLING_STEMS


def file_stem(name: str, kind: str = "") -> str:
    """A file name from a title: words of letters and digits of any script, joined by underscores."""
    text = unicodedata.normalize("NFKC", name).casefold()
    text = unicodedata.normalize(
        "NFC", "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
    )
    stem = ""
    for word in text.split():
        if stem and len((stem + word).encode()) > MAX_STEM:
            break
        stem = f"{stem}_{word}" if stem else word.encode()[:MAX_STEM].decode("utf-8", "ignore")
    stem = stem or NAMELESS
    prefixed = stem if not kind or stem.startswith(f"{kind}_") else f"{kind}_{stem}"
    return prefixed if is_key(f"{prefixed}.md") else f"{kind or NAMELESS}_note"


def free_key(stem: str, is_taken: Callable[[str], bool]) -> str:
    """The first of stem.md, stem_2.md, … that is not taken."""
    key, number = f"{stem}.md", 1
    while is_taken(key):
        number += 1
        key = f"{stem}_{number}.md"
    return key
