"""What in a text can name a subject: every word that is not known to be mere wording, names, identifiers, figures.

Owns reading and matching such marks. A name matches only itself, an identifier only as a whole ("orders" is not
"orders_archive"), a plain word also in another inflection. Whether a difference matters is decided in `subject`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.dream.dream_words import DreamWords
from memdir.model.builtin.dream.memory_page import STRUCK
from memdir.model.builtin.dream.values import HANGUL, Value, Values, is_same
from memdir.text.stems import without_particle
from memdir.text.words import char_pairs

LONG = 7  # letters: a shorter word with an s more may be another name (Jon, Jones)

MIN_STEM = 4  # letters that must be left of a word
_ENDINGS = ("ation", "ement", "ance", "ment", "ied", "ed", "es", "en", "ie", "e", "n")

Kind = Literal["word", "start", "name", "value", "light"]
Bond = Literal["", "tight", "of", "at"]

_NO_SPACES = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff"  # kana, Han, Thai, Lao
_TOKEN = re.compile(
    r"`[^`\n]+`"  # code, whole
    rf"|[#@/]?(?:(?![{_NO_SPACES}])\w)+(?:['’_./@:\\+-]+(?:(?![{_NO_SPACES}])\w)+)*"
    r"|[\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff]+|[\u30a0-\u30ff]+",  # hiragana only bends words
)
_RUN = re.compile("[\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff]")
_IDENTIFIER = re.compile(r"[\d_/@#\\+]|\w[.:]\w|[a-zà-ÿ][A-Z]")
_PART = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ELIDED = re.compile(r"^(?:\w{1,2}|jusqu|lorsqu|puisqu|[dn]?all|[dn]ell|sull|quell)['’](?=\w)", re.IGNORECASE)
_OWNER = re.compile(r"['’]s?$")
_BREAK = re.compile(r"[,;:()\[\]|—–\n!?。，；：、]|\.\s")
_OPENS = re.compile(r"(?:^|[.!?:;\n|]\s*|\*\*\s*|[-*]\s)$")
_LEAD = re.compile(r"[^:;]{2,60}:\s+")
_OPENING = re.compile(r"[^,:;]+")


@dataclass(frozen=True)
class Mark:
    """Something that may name a subject, where it stands, and how it hangs on the mark before it."""

    form: str
    stem: str
    kind: Kind
    start: int
    end: int
    bond: Bond
    value: Value | None = None

    @property
    def is_telling(self) -> bool:
        """Whether it says something of its own, and not only what kind of value follows."""
        return self.kind != "light"

    def matches(self, other: Mark) -> bool:
        """Whether both may mean the same thing."""
        if self.value and other.value:
            return is_same(self.value, other.value)
        if self.form == other.form:
            return True
        # The first word of a sentence may be a name: it is compared in other inflections with plain words only.
        kinds = {self.kind, other.kind} - {"light"}
        if kinds == {"start"}:
            return _is_plural(self.form, other.form) or _is_plural(other.form, self.form)
        return self.stem == other.stem and kinds in (set(), {"word"}, {"word", "start"})


@lru_cache(maxsize=1 << 14)
def _stem(form: str) -> str:
    if HANGUL.search(form):
        return without_particle(form)
    plain = "".join(c for c in unicodedata.normalize("NFD", form) if not unicodedata.combining(c))
    return _inflected(plain)


def _inflected(word: str) -> str:
    """A word without plural, tense and the like; "marketing" is not "market", nor a "printer" a "print"."""
    word = word[:-1] if len(word) >= MIN_STEM and word[-1] == "s" and word[-2] != "s" else word
    ending = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= MIN_STEM), "")
    return word.removesuffix(ending or "ed" if len(word) > MIN_STEM else "")


def _is_plural(one: str, many: str) -> bool:
    return len(one) >= LONG and many == f"{one}s"


class Pool:
    """Marks to find others in."""

    def __init__(self, marks: Iterable[Mark]) -> None:
        self._forms: dict[str, None] = {}
        self._stems: dict[str, list[Mark]] = {}
        self._values: list[Mark] = []
        for mark in marks:
            self._forms[mark.form] = None
            self._stems.setdefault(mark.stem, []).append(mark)
            self._values += [mark] if mark.value else []

    def __contains__(self, mark: Mark) -> bool:
        if mark.form in self._forms and not mark.value:
            return True
        near = self._values if mark.value else self._stems.get(mark.stem, [])
        return any(mark.matches(other) for other in near)


@dataclass(frozen=True)
class Tongue:
    """The words of one language that name nothing."""

    stops: frozenset[str]
    light: Mapping[str, frozenset[str]]

    @cached_property
    def words(self) -> frozenset[str]:
        return self.stops.union(*self.light.values())


def tongues(lexicon: DreamWords) -> list[Tongue]:
    """The tables of all languages, English first."""
    light: dict[str, dict[str, frozenset[str]]] = {}
    for line in shipped_lines("model/builtin/dream/light_words.txt"):
        language, kind, *words = line.split()
        kinds = light.setdefault(language, {})
        kinds[kind] = kinds.get(kind, frozenset()).union(words)
    return [Tongue(stops, light[language]) for language, stops in lexicon.stops.items()]


class Marks:
    """Reads marks of texts in one language; every text once."""

    def __init__(self, values: Values, tongue: Tongue) -> None:
        self._values = values
        self._light = tongue.light
        self._stops = tongue.stops
        self._spared = frozenset().union(*(words for kind, words in tongue.light.items() if kind != "measure"))
        self._wording = frozenset(map(_stem, tongue.light["wording"]))  # in whatever inflection
        self._read: dict[str, tuple[Mark, ...]] = {}

    def of(self, text: str) -> tuple[Mark, ...]:
        """The marks of a text in order, without what is struck out."""
        known = self._read.get(text)
        if known is None:
            plain = STRUCK.sub(lambda match: " " * len(match[0]), text)
            known = self._read[text] = tuple(self._marks(plain))
        return known

    def is_denied(self, text: str) -> bool:
        """Whether a text denies or forbids something."""
        return self._has("not", text)

    def is_hung_on(self, text: str) -> bool:
        """Whether a text begins with "for", "in" or the like, and so belongs to what stands before it."""
        first = _PART.search(text)
        return first is not None and first[0].casefold() in self._light["of"] | self._light["at"]

    def speech(self, text: str) -> int:
        """Where the words begin that somebody is said to have spoken: "physics says …", "correction from Ruud: …"."""
        lead = _LEAD.match(text)
        if lead and self._has("told", lead[0]):
            return lead.end()
        opening = _OPENING.match(text)
        words = list(_PART.finditer(opening[0])) if opening else []
        return next((word.end() for word in words[1:5] if word[0].casefold() in self._light["says"]), 0)

    def _has(self, kind: str, text: str) -> bool:
        return not self._light[kind].isdisjoint(_PART.findall(text.casefold().replace("’", "'")))

    def _marks(self, text: str) -> Iterable[Mark]:
        found = self._values.find(text)
        last = -1  # where the mark before ended
        done = -1
        for token in _TOKEN.finditer(text):
            value = next((one for one in found if one.start < token.end() and token.start() < one.end), None)
            whole = _IDENTIFIER.search(token[0]) is not None or token[0][0] == "`"
            if value and not (whole and len(token[0].rstrip(".:")) > value.end - value.start):
                if value.start >= done:
                    bond = self._bond(text, last, value.start)
                    yield Mark(value.value, "", "value", value.start, value.end, bond, value)
                    done = last = value.end
                continue
            for start, form, kind, stem in self._words(token, text, whole=whole):
                yield Mark(form, stem, kind, start, start + len(form), self._bond(text, last, start))
                last = start + len(form)

    def _words(self, token: re.Match[str], text: str, *, whole: bool) -> Iterable[tuple[int, str, Kind, str]]:
        """The words of one token: the whole of an identifier, the parts of "on-call", pairs of a run without spaces."""
        raw, at = token[0], token.start()
        if whole:
            form = raw.strip("`").rstrip(".:-").casefold()
            yield at, form, "name", form
        elif _RUN.search(raw):
            yield from ((at + n, pair, "word", pair) for n, pair in enumerate(char_pairs(raw)))
        else:
            for part in _PART.finditer(raw):
                owner = _OWNER.sub("", part[0])
                word = _ELIDED.sub("", owner)
                start = at + part.start() + len(owner) - len(word)
                form = unicodedata.normalize("NFKC", word).casefold()
                if self._is_telling(word, form, text, start):
                    yield start, form, self._kind(word, text, start), _stem(form)

    def _is_telling(self, word: str, form: str, text: str, at: int) -> bool:
        if len(form) == 1:  # "gate C", "tier B", not an article
            return word.isupper() and not _OPENS.search(text, 0, at) and word != "I"
        if len(word) > 1 and word.isupper() and not text.isupper():
            return True  # the US, IT: not "us", not "it"
        if word[0].isupper() and not _OPENS.search(text, 0, at):
            return form not in self._light["of"]  # a stop word of one language is a name in another: the Plus plan
        return not (form in self._stops or form in self._spared or _stem(form) in self._wording)

    def _kind(self, word: str, text: str, at: int) -> Kind:
        if word.casefold() in self._light["measure"]:
            return "light"
        if not word[0].isupper():
            return "word"
        return "start" if _OPENS.search(text, 0, at) and not word[1:].isupper() else "name"

    def _bond(self, text: str, last: int, start: int) -> Bond:
        """Whether nothing, or only "of the", stands between a mark and the one before it."""
        gap = text[last:start] if last >= 0 else "."
        if _BREAK.search(gap):
            return ""
        words = _PART.findall(gap.casefold())
        if not words:
            return "tight"
        if any(word not in self._stops and word not in self._light["of"] for word in words):
            return ""
        return "of" if words[0] in self._light["of"] else "at" if words[0] in self._light["at"] else ""
