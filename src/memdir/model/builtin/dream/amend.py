"""A page brought up to date by a newer one: an old value gives way where the newer page names it literally, what it was
stays below, and the newer page stands in front with its day (D3). Nothing is ever deleted."""

from __future__ import annotations

import re
from datetime import date
from functools import cache

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.dream.fuse import fused, sentence
from memdir.model.builtin.dream.memory_page import Page, flat, tokens
from memdir.model.builtin.dream.pair_features import Note
from memdir.store.kept import REPLACED_ON
from memdir.text.body_text import BodySentence, clauses, sentences
from memdir.text.language import meanings_in
from memdir.text.naming import MAX_DESCRIPTION
from memdir.text.nearness import is_opposite
from memdir.text.stems import stem
from memdir.text.words import cut_at_word, split_words

_WORD = r"[^\s,.;:!?()]+(?:[.,:][^\s,.;:!?()]+)*"
_RUN = rf"(?P<{{0}}>{_WORD}(?: {_WORD}){{{{0,4}}}}?)"
_EAST_RUN = r"(?P<{0}>[^\s、。，；]{{1,12}}?)"
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_FIGURE = re.compile(r"[^\s,;:!?()]*\d(?:[^\s;!?()]*\w)?")  # with all that is grown together with it: 09:15, v2, 1,500
_UNIT = re.compile(r"\s?([^\W\d_]+)")
# What the words of a text mean that tells of a change, or of what lasts.
_CHANGE = frozenset(("decide", "change", "event", "durable", "owner"))


def is_denied(older: Page, newer: Page) -> bool:
    """Whether one says no to what the other says first: the judge does not see small words."""
    firsts = [next((one.text for one in sentences(page.claimed_body)), "") for page in (older, newer)]
    return is_opposite(older.description, newer.description) or is_opposite(*firsts)


def tells_change(text: str) -> bool:
    """Whether a text says that something is no longer as it was."""
    return not _CHANGE.isdisjoint(meanings_in(text))


def given_way(text: str) -> dict[str, str]:
    """What a text names as no longer so, each with what is now in its place: one figure for another of its unit, or one
    thing for another."""
    found: dict[str, str] = {}
    for match in (match for sign in _signs() for match in sign.finditer(text)):
        olds, news = _FIGURE.findall(match["x"]), _FIGURE.findall(match["y"])
        units = _UNIT.match(match["x"].rpartition(*olds[:1] or " ")[2]), _UNIT.match(match.string, match.end("y"))
        is_other = olds and units[0] and units[1] and units[0][1][:1] != units[1][1][:1]
        if len(olds) == len(news) < 2 and not is_other:
            found[(olds or [match["x"]])[0]] = (news or [match["y"]])[0]
    return found


@cache
def _signs() -> list[re.Pattern[str]]:
    found = []
    for pattern in shipped_lines("model/builtin/dream/change_cues.txt"):
        run = _EAST_RUN if _EAST.search(pattern) else _RUN
        filled = pattern.replace("{x}", run.format("x")).replace("{y}", run.format("y"))
        found.append(re.compile(filled, re.IGNORECASE))
    return found


def brought_up_to_date(older: Page, newer: Page, day: date) -> bytes:
    """The older page with the newer one in front of it, its old values where the newer speaks of them as they are now,
    other claims about its subject that name them marked, and what was rewritten kept below."""
    spoken, marked = _SpokenOf(older, newer), REPLACED_ON.format(day.isoformat())
    body, past = older.body, list[str]()
    for one in reversed(older.claiming):
        text = spoken.corrected(one.text, marked)
        past[:0] = [one.text] if _tells_more(one.text, text) else []
        body = body[: one.start] + text + body[one.end :]
    nearest = spoken.nearest() if body == older.body and marked not in body else None
    if nearest:
        body = body[: nearest.start] + _noted(nearest.text, marked) + body[nearest.end :]
    description = spoken.corrected(older.description, marked)
    if description == older.description or marked in description:
        description = cut_at_word(" ".join(newer.description.split()).rstrip("."), MAX_DESCRIPTION)
    name = newer.name if is_opposite(older.name, newer.name) else spoken.corrected(older.name, "")
    heading = re.compile(rf"^(#+ +){re.escape(older.name)}(?=[ \t]*\r?$)", re.MULTILINE)
    body = heading.sub(lambda match: match[1] + name, body)
    known = f"{name}\n{description}\n{body} {past} {newer.claims}"
    past += [text for text in (older.name, older.description) if _tells_more(text, known)]
    topic = older.with_body(body).with_field("description", description).with_field("name", name)
    if past:
        ending = topic.line_ending()
        said = " ".join(sentence(" ".join(text.split())) for text in dict.fromkeys(past))
        topic = topic.with_body(f"{body.rstrip()}{ending}{ending}**Before {day.isoformat()}:** {said}{ending}")
    return fused(Page(older.key, topic.data, older.mtime), newer, label=f"**Update {day.isoformat()}:**")


class _SpokenOf:
    """Which claims of a page a newer one speaks of."""

    def __init__(self, page: Page, newer: Page) -> None:
        told = f"{newer.description}. {newer.claimed_body}"
        self._named = {old: new for old, new in given_way(told).items() if _stands(old, page.claims)}
        values = {stem(word) for text in (*self._named, *self._named.values()) for word in split_words(text)}
        subject = Note(newer.name, "", told).telling
        self._subject = {word: weight for word, weight in subject.items() if word not in values}
        self._page = page
        self._clauses = [one.text[start:end] for one in page.claiming for start, end in clauses(one.text)]
        self._is_told = any(map(self._shared, (*self._clauses, page.description)))

    def nearest(self) -> BodySentence | None:
        """The sentence that says most of what the newer page speaks about."""
        best = max(self._page.claiming, key=lambda one: self._shared(one.text), default=None)
        return best if best and self._shared(best.text) else None

    def corrected(self, text: str, marked: str) -> str:
        """A text with the new values in the place of the old ones that are meant; another clause about the subject, or
        one whose new value or its place is not known, is marked."""
        for start, end in reversed(clauses(text)):
            clause = said = text[start:end]
            is_open = False
            for old, new in self._named.items():
                places = len(re.findall(_literal(old), clause, re.IGNORECASE))
                is_meant = places and self._means(clause, old)
                if is_meant and places == 1:
                    said = re.sub(_literal(old), new.replace("\\", r"\\"), said, flags=re.IGNORECASE)
                elif places:
                    is_open |= bool(is_meant or self._shared(clause))
            text = text[:start] + (_noted(said, marked) if is_open else said) + text[end:]
        return text

    def _means(self, clause: str, old: str) -> bool:
        """Whether the newer page speaks of this clause: of those of the body that name the old value it is nearest, or
        tells the nearest one in the head of the page."""
        if self._is_told and not self._shared(clause):
            return False
        holders = [one for one in self._clauses if _stands(old, one)]
        best = max(holders, key=lambda one: (self._shared(one), -len(_telling(one))), default=clause)
        near = [len(_telling(clause) & _telling(one)) for one in (best, *holders)]
        return flat(clause) == flat(best) if clause in holders else near[0] == max(near)

    def _shared(self, text: str) -> float:
        return sum(self._subject.get(word, 0.0) for word in _telling(text))


def _telling(text: str) -> set[str]:
    return {*Note("", "", text).telling}


def _noted(text: str, marked: str) -> str:
    cut = len(text) - 1 if text[-1:] in tuple(".!?…;。！？") else len(text)
    return text[:cut] + marked + text[cut:]


def _literal(old: str) -> str:
    return rf"(?<!\w)(?<!\d[.,:]){re.escape(old)}(?!\w|[.,:]\d)"


def _stands(old: str, text: str) -> bool:
    """Whether a text names an old value literally."""
    return re.search(_literal(old), text, re.IGNORECASE) is not None


def _tells_more(text: str, known: str) -> bool:
    """Whether words of it stand nowhere else."""
    return bool(set(tokens(text)) - set(tokens(known)))
