"""What an update keeps: every line of a memory that its news does not replace, whoever rewrote the file (X6, ADR 0055).

Models answer a small piece of news with a whole new file, and forget the rest of the old one. A sentence may go when
the new text says it too, or says something else of the same thing in its place. All others are put back where they
stood; what was replaced only in part stays under `**Before:**`.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Literal

from memdir.store.secrets import find_secrets
from memdir.store.topic import MemoryType, Topic
from memdir.text.body_text import clauses, headings, lines_of_code, sentences
from memdir.text.date_words import words_by_meaning
from memdir.text.language import anywhere, meanings_in, tongue_of
from memdir.text.naming import describe_rule, title, with_capital
from memdir.text.nearness import Sentence, are_of_two, denied_in, parts_of, statements_in
from memdir.text.sentences import facts_in, is_weekday
from memdir.text.stems import terms_in
from memdir.text.words import split_words

REPLACED_ON = " (→ Update {})"  # with a day: stands after a sentence that a later line of its memory corrects
REPLACED = re.compile(re.escape(REPLACED_ON).replace(r"\{\}", r"\d{4}-\d\d-\d\d"))
BEFORE = "**Before:**"  # what stands before a sentence that holds no longer, or not all of it
REASON_BEFORE = "Why: "  # before the reason of what was decided otherwise
SAME_THING = 0.5  # of a sentence's own words that another must share to speak of the same thing
SAME_MEANING = 0.75  # nearness at which it does in other words
TOLD_OTHERWISE = 1 / 3  # of a sentence's words that another text may tell in words of its own,
SAME_WORD = 0.35  # each by one that is as near as this
FAR = 0.15  # less near in meaning, and without a word in common, two sentences speak of two things
ONE_THING = 0.3  # nearness at which what two of them begin with may be one thing by two names
TELLING = 3  # words of a sentence that tell what it is about: "Uses vim." may be another value
MAX_RIVALS = 12  # new sentences that are looked at closely for an old one
_LATER = dict.fromkeys(("main", "code"), ("why", "how", "update", "before")) | {"why": ("how", "before")}
_ENCLOSED = re.compile(r"[`\"“„«「()\[\]]")
_ACRONYM = re.compile(r"\b[A-Z]{2,}\b")
_LETTER = re.compile(r"(?<=\w )(?!I\b)[A-Z]\b(?!['’])")  # as a name, "team A": no sentence begins with it

Fate = Literal["gone", "past", "kept"]


@dataclass(frozen=True)
class Update:
    """A draft with all that it must keep, and the lines that were put back for it."""

    topic: Topic
    lines: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()  # fields that still told the old value

    def told(self) -> Iterator[str]:
        """What was done, for the model that wrote the draft."""
        if self.lines:
            told = "; ".join(f"“{line}”" for line in self.lines)
            yield f"it keeps what your text left out and does not replace: {told}. Edit out what the user took back"
        if self.followed:
            yield f"its {' and '.join(self.followed)} told the old value and follows now"


@dataclass(frozen=True)
class _Unit:
    """A sentence of prose, or a line that is none: what stands or falls as a whole."""

    text: str
    start: int
    end: int
    label: str
    lead: str = ""  # what stands before it in its line: a list mark, a label
    is_prose: bool = True
    heading: str = ""  # the one that it stands under
    gap: str = " "  # what parts it from the sentence before: a line of its own stays one
    stop: str = ""  # what it ends with where it stands alone: it goes on, with a semicolon or an "and"
    is_later: bool = False  # whether one stands before it
    opening: str = ""  # what it goes on from, and needs where it stands alone
    beside: str = ""  # the news that is of another statement of its sentence

    @property
    def is_row(self) -> bool:
        """Whether it is one of a list or of a table."""
        return bool(self.kind)

    @property
    def kind(self) -> str:
        """What it is a row of: a table, a list with numbers or with boxes, a quotation, or some other list."""
        lead = self.lead.strip(" *_") if self.is_prose else "|" * self.text.startswith("|")
        return "" if not lead else "1" if lead[0].isdigit() else lead[0] if lead[0] in "|>" else "-"

    @property
    def said(self) -> str:
        """Its text, with a label that says what it is about."""
        return f"{self.lead}{self.text}" if self.label == "main" else self.text

    @cached_property
    def flat(self) -> str:
        """Its words; of code every sign counts."""
        return _flat(self.said) if self.is_prose else self.text

    @cached_property
    def sentence(self) -> Sentence:
        return Sentence(self.said)

    @cached_property
    def terms(self) -> frozenset[str]:
        return terms_in(self.said) | {word.lower() for word in _ACRONYM.findall(self.said)}

    @cached_property
    def facts(self) -> frozenset[str]:
        return facts_in(self.said)


class _Held:
    """A text to find sentences in, in whatever case and with whatever marks."""

    def __init__(self, text: str) -> None:
        self._text, self._flat = text, _flat(text)

    def __contains__(self, unit: _Unit) -> bool:
        return unit.flat in (self._flat if unit.is_prose else self._text)


class _TextWindows:
    """What a text says, sentence by sentence: a claim is in it only where one sentence, or two neighbours, have all of
    its words, with what is told to be past. Scattered over a text they say something else."""

    def __init__(self, sentences: Sequence[str], past: Sequence[str]) -> None:
        terms, gone = [_told_in(text) for text in sentences], terms_in("\n".join(past))
        windows = [one | other | gone for one, other in zip(terms, [*terms[1:], frozenset()], strict=True)]
        self.said = frozenset().union(*terms)
        self._places: dict[str, set[int]] = {}
        for at, window in enumerate(windows):
            for term in window:
                self._places.setdefault(term, set()).add(at)

    def tells(self, unit: _Unit) -> bool:
        wanted = unit.terms.union(*(terms_in(fact) for fact in unit.facts))
        found = sorted((self._places.get(term, set()) for term in wanted), key=len)
        return bool(found) and bool(set.intersection(*found))


def kept(before: Topic, after: Topic, seen: Topic | None = None, elsewhere: str = "") -> Update:
    """The draft `after` with every line of `before` that it left out and does not replace. Only what stood in the draft
    that was `seen` can be left out; what is said `elsewhere` now has moved."""
    old, new = _clauses(before.body), _clauses(after.body)
    known, stood = _Held(before.body), _Held((seen or before).body)
    news = [unit for unit in new if unit not in known]
    described = after.description if after.description != before.description else ""
    now = _Held("\n".join((described, *(unit.said for unit in new), elsewhere)))
    lost = [unit for unit in old if unit not in now and unit in stood]
    if find_secrets(before.body):  # whoever takes a secret out means it
        lost = [unit for unit in lost if not find_secrets(unit.said)]
    past = [unit.said for unit in new if unit.label == "before"]
    outdated = [unit for unit in old if unit in _Held("\n".join(past)) and unit.label != "before"]
    parts = {unit: _apart(unit, news) for unit in (*lost, *outdated)}
    halved = [unit for unit in outdated if len(parts[unit]) > 1]  # of which the news ends one statement alone
    living = [unit.said for unit in new if not any(one in _Held(unit.said) for one in halved)]
    texts = [described, *living, *(one.text for one in sentences(elsewhere))]
    told = _TextWindows(texts, [said for said in past if said in living])
    cut = {part: unit for unit, some in parts.items() for part in some}
    old = [part for unit in old for part in parts.get(unit, (unit,))]
    outdated = [part for part in old if cut.get(part) in outdated and not part.beside]
    lost = [part for part in old if part in cut and part not in outdated]
    fates = _fates(lost, news, told, outdated, is_lead=_leads(old, new, before, after))
    for unit in lost:  # the statement for which its sentence was cut: the news is of it
        is_meant = not unit.beside and any(part.beside for part in parts[cut[unit]])
        if is_meant and fates[unit][0] == "kept" and (rivals := _rivals(unit, news)):
            fates[unit] = ("past", rivals[0])
    names = _names(before, after)
    for unit in lost:
        other = fates[unit][1]
        if fates[unit][0] == "gone" and other and _are_named(unit, other, names):
            fates[unit] = ("past", other)  # it may be of another thing
    is_rule = before.kind is MemoryType.FEEDBACK and old[:1] == outdated[:1]
    if old and new and _is_redecided(old[0], new[0], is_rule=is_rule):
        fates |= {unit: ("past", None) for unit in lost if unit.label == "why" and fates[unit][0] == "kept"}
    lines = [unit.said for unit in lost if fates[unit][0] != "gone"]
    if old and new and old[0] in lost and fates[old[0]][0] == "kept" and _is_case(new[0], old[0]):
        after, fates[old[0]] = _led_by(old[0], before, after, new[0].start), ("gone", None)
    topic = after.with_body(_put_back(after.body, old, fates)) if lines else after
    return _following(before, topic, [(unit, *fates[unit]) for unit in (*lost, *outdated)], news, tuple(lines))


def _led_by(rule: _Unit, before: Topic, after: Topic, at: int) -> Topic:
    """A draft that left out its rule, with the rule before what stands `at` the beginning, under its own name."""
    line = after.body.rfind("\n", 0, at) + 1
    gap = "\n" if rule.is_row and not after.body[line:at].isspace() and line < at else "\n\n"
    after = after.with_body(f"{after.body[:line]}{rule.lead}{_as_sentence(rule).text}{gap}{after.body[line:]}")
    for field in ("name", "description"):
        is_told = field == "description" and rule.terms <= terms_in(after.description)
        after = after if is_told or field not in before.fields else after.with_field(field, before.fields[field])
    return after


def unsaid(topic: Topic, others: Sequence[str]) -> list[tuple[str, str]]:
    """What a memory says and none of the other texts does, in its words or nearly: each sentence with its label."""
    held = [(_Held(text), text, terms_in(text)) for text in others]
    return [
        (unit.label, unit.said)
        for unit in _units(topic.body)
        if (unit.terms or unit.facts or not unit.is_prose)
        and not any(unit in words or (unit.is_prose and _is_told(unit, text, said)) for words, text, said in held)
    ]


def _is_told(unit: _Unit, text: str, said: frozenset[str]) -> bool:
    """Whether a text has most words of a sentence, all its facts, and for every other word one that means nearly the
    same. Another weekday is another fact."""
    missing, is_named = unit.terms - said, set(_LETTER.findall(unit.said)) <= set(_LETTER.findall(text))
    if not is_named or len(missing) > TOLD_OTHERWISE * len(unit.terms) or _missing(unit.facts, said):
        return False
    words = [word for word in split_words(unit.said) if terms_in(word) & missing]
    if any(is_weekday(word) or word[:1].isdigit() for word in words):
        return False
    known = [Sentence(word) for word in dict.fromkeys(split_words(text))] if words else []
    return all(max((Sentence(word).meaning(one) for one in known), default=0.0) >= SAME_WORD for word in words)


def is_another(before: Topic, after: Topic) -> bool:
    """Whether a draft is no update at all, but another memory in the place of this one: not a line of it was known
    here, and it has another name and description and replaces nothing, or says it of another thing; under the same
    name, where both speak of two things beyond doubt."""
    known, units = _Held(before.body), _units(after.body)
    if any(unit in known for unit in units):
        return False
    main = [unit for unit in _units(before.body) if unit.label == "main" and unit.is_prose]
    if before.name == after.name:
        return _leads(main, units, before, after) and all(_is_apart(unit, units[0]) for unit in main)
    said = terms_in(f"{after.description}\n{after.body}")
    names = _names(before, after)
    pairs = ((unit, other) for unit in main for other in _rivals(unit, units))
    is_new = (_is_of_another(*pair, names) or _replaced(*pair, said) == "kept" for pair in pairs)
    return bool(main) and before.description != after.description and all(is_new)


def _is_apart(unit: _Unit, other: _Unit) -> bool:
    """Whether two sentences under one name are of two things: each begins with its own and says something else of it,
    or they tell much and have no word and no meaning in common. A number or a day is another value, and who says that
    something has changed speaks of the same thing."""
    if "change" in meanings_in(other.said):
        return False
    if not unit.terms & other.terms:
        is_telling = min(len(unit.terms), len(other.terms)) >= TELLING
        return is_telling and unit.sentence.meaning(other.sentence) < FAR
    mine, theirs = _flat(unit.text).split(), _flat(other.text).split()
    told = [word for word in {*mine} ^ {*theirs} if word not in (*_before(mine, theirs), *_before(theirs, mine))]
    is_of_each = any(word in mine for word in told) and any(word in theirs for word in told)
    heads = [Sentence(" ".join(_before(*pair))) for pair in ((mine, theirs), (theirs, mine))]
    is_valued = any(word[0].isdigit() or is_weekday(word) for word in told)
    return all(one.words for one in heads) and is_of_each and not is_valued and heads[0].meaning(heads[1]) < ONE_THING


def _before(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """What a sentence begins with, up to the first word that it shares."""
    return list(takewhile(lambda word: word not in others, words))


def _is_of_another(unit: _Unit, other: _Unit, names: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Whether two sentences say two things of two things, which the names tell: "Branches begin with feat/", "Tags
    begin with v"."""
    heads = [_head(unit, other.terms), _head(other, unit.terms)]
    if _are_named(unit, other, names) and are_of_two(unit.said, other.said, is_named=True):
        return True
    is_told = all(name & head for name, head in zip(names, heads, strict=True))
    return is_told and not unit.terms ^ other.terms <= heads[0] | heads[1]


def _names(before: Topic, after: Topic) -> tuple[frozenset[str], frozenset[str]]:
    """The words that each of two names has and the other lacks."""
    mine, theirs = terms_in(before.name), terms_in(after.name)
    return mine - theirs, theirs - mine


def _are_named(unit: _Unit, other: _Unit, names: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Whether each of two sentences speaks of what its own name tells."""
    pairs = zip(names, (unit, other), (other, unit), strict=True)
    return all(name & one.terms - beside.terms for name, one, beside in pairs)


def _head(unit: _Unit, shared: frozenset[str]) -> frozenset[str]:
    """What a sentence begins with, up to the first word that it shares."""
    words = (terms_in(word) for word in split_words(unit.text))
    return frozenset().union(*takewhile(lambda terms: not terms & shared, words))


def _fates(
    lost: Sequence[_Unit], news: Sequence[_Unit], told: _TextWindows, outdated: Sequence[_Unit], *, is_lead: bool
) -> dict[_Unit, tuple[Fate, _Unit | None]]:
    """What becomes of each lost sentence, and what replaces it: the nearest first, one sentence by one. What the draft
    tells in other words, or itself puts under Before, has its news, and that replaces no other sentence."""
    fates: dict[_Unit, tuple[Fate, _Unit | None]] = dict.fromkeys(lost, ("kept", None))
    free = set(news)
    for unit in (*outdated, *(unit for unit in lost if unit.is_prose and unit.terms and told.tells(unit))):
        near = [(_alike(unit, other), other) for other in _rivals(unit, news) if other in free]
        same = [one for one in near if _replaced(unit, one[1], told.said) != "kept"]
        fates[unit] = ("gone", max(same, key=lambda one: one[0])[1] if same else None)
        free -= {fates[unit][1]}
    pairs = [(_alike(unit, other), -at, unit, other) for at, unit in enumerate(lost) for other in _rivals(unit, news)]
    for _, at, unit, other in sorted(pairs, key=lambda pair: pair[:2], reverse=True):
        if fates[unit][0] == "kept" and other in free:
            fate = _replaced(unit, other, told.said)
            if fate == "kept" and is_lead and at == 0 and other is news[0]:
                fate = "past"  # the rule itself, under the same name, in words that have nothing in common
            if fate != "kept":
                fates[unit] = (fate, other)
                free.discard(other)
    return fates


def _is_redecided(unit: _Unit, other: _Unit, *, is_rule: bool) -> bool:
    """Whether another decision, or rule, takes the place of the one that a memory begins with: why the first was made
    is no reason for the second."""
    if (unit.label, other.label) != ("main", "main") or not (is_rule or "decide" in meanings_in(unit.said)):
        return False
    is_lost = bool(_missing(unit.facts, other.terms) if unit.facts else unit.terms - other.terms)
    is_new = bool(other.facts - unit.facts if unit.facts else other.terms - unit.terms)
    return is_new and (is_lost or "change" in meanings_in(other.said))


def _rivals(unit: _Unit, news: Sequence[_Unit]) -> list[_Unit]:
    """What may take the place of a sentence: new ones with words in common, those with most first, and the first."""
    labelled = (
        other for other in news if other.text != unit.beside and unit.label == other.label and not _is_case(other, unit)
    )
    same = [other for other in labelled if unit.is_prose and other.is_prose]
    near = [other for other in same if unit.terms & other.terms or unit.label != "main" or other is news[0]]
    return sorted(near, key=lambda other: -len(unit.terms & other.terms))[:MAX_RIVALS]


def _is_case(news: _Unit, rule: _Unit) -> bool:
    """Whether news is of one case of a rule, and both hold: it begins with a case that the rule does not name, says
    something else of it, and nothing of a change. "In December we deploy on Thursdays"."""
    case = list(takewhile(lambda word: not terms_in(word) & rule.terms, split_words(news.text)))
    tongue, named = tongue_of(f"{rule.text} {news.text}"), terms_in(" ".join(case))
    if not (named and rule.terms & news.terms and news.terms - rule.terms - named) or rule.label != "main":
        return False
    kinds = (is_weekday, lambda word: word[:1].isdigit())
    is_value = any(any(map(kind, case)) and any(map(kind, split_words(rule.text))) for kind in kinds)
    now = words_by_meaning().get(tongue, {}).get("d=0", ())
    is_changed = meanings_in(news.text) & {"change", "durable"} or not {*now}.isdisjoint(split_words(news.text))
    return not is_value and not is_changed and bool(anywhere("own-narrows", tongue).match(news.text))


def _alike(unit: _Unit, other: _Unit) -> float:
    nearness = unit.sentence.nearness(other.sentence, is_translated=False)
    return max(nearness, other.sentence.nearness(unit.sentence, is_translated=False))


def _replaced(unit: _Unit, other: _Unit, said: frozenset[str]) -> Fate:
    """Whether a sentence of the news takes the place of an old one: it speaks of the same thing, and has a value for
    every value that the old one had."""
    missing = _missing(unit.facts, said)
    subject = frozenset(term for term in unit.terms if not is_weekday(term)) - terms_in(" ".join(missing))
    shared = len(subject & other.terms) / len(subject) if subject else 0.0
    if unit.label in ("why", "how"):
        shared = 1.0  # a new reason or a new use is told in the place of the old one
    if shared < SAME_THING and _alike(unit, other) < SAME_MEANING:
        begun = other.text.rstrip(" .")  # "Use Node 20" says what much more began with, and another number
        is_begun = re.match(re.sub(r"\d+", r"\\d+", re.escape(begun)) + r"\b", unit.text)
        return "past" if is_begun and not unit.text.startswith(begun) else "kept"
    # What stands behind a comma, and of which the news says nothing: "on port 8080, with 4 workers", "…, behind nginx".
    front, *parts = map(terms_in, unit.text.split(", "))
    valued = [part - front for part in parts if any(terms_in(fact) < part for fact in missing)]
    if any(not part & other.terms for part in valued) or any(part - front and not part & said for part in parts):
        return "past"
    if unit.label == "main" and (_names_another(unit, missing, said) or _is_halved(unit, said)):
        return "past"
    named, named_now = _first_words(unit.text, other.text)
    missing, gained = missing | _missing(named, said), (other.facts | named_now) - unit.facts
    numbers = [sum(fact[:1].isdigit() for fact in some) for some in (missing, gained)]
    counts = [numbers, [len(missing) - numbers[0], len(gained) - numbers[1]]]
    if all(old <= new for old, new in counts):
        return "past" if unit.label == "main" and _goes_on(unit, other, subject - said) else "gone"
    return "past" if any(old and new for old, new in counts) else "kept"


def _goes_on(unit: _Unit, other: _Unit, unsaid: frozenset[str]) -> bool:
    """Whether a sentence goes on where the news ends: "on Mondays at 10 in the blue room"."""
    mine, theirs = _flat(unit.text).split(), _flat(other.text).split()
    return theirs[-1] in mine and bool(unsaid & terms_in(" ".join(_before(mine[::-1], theirs))))


def _is_halved(unit: _Unit, said: frozenset[str]) -> bool:
    """Whether the news hardly speaks of one of the statements that a sentence joins."""
    joined = [unit.text[start:end] for start, end, opening in statements_in(unit.text) if not opening]
    parts = [replace(unit, text=part) for part in (joined if len(joined) > 1 else parts_of(unit.text))]
    return len(parts) > 1 and any(2 * len(some & said) < len(some) for some in _own(parts))


def _names_another(unit: _Unit, missing: frozenset[str], said: frozenset[str]) -> bool:
    """Whether a value that is missing stands beside the name of what it tells, or before what it is for, and the news
    does not speak of that: of "Node 18 with pnpm 8" another Node replaces no pnpm, of "Redis for sessions" no Kafka for
    events a Redis."""
    values = terms_in(" ".join(missing))
    for part in re.split(r"[,;:()]\s*", unit.text):
        words = [terms_in(word) for word in part.split()]
        for at, word in enumerate(words):
            behind = next(filter(None, words[at + 1 :]), frozenset())
            beside = (words[at - 1] if at else frozenset(), behind) if word and word <= values else ()
            if any(one and not one & (said | values) and not any(map(is_weekday, one)) for one in beside):
                return True
    return False


def _missing(facts: frozenset[str], said: frozenset[str]) -> frozenset[str]:
    """Those facts that are told not even in another inflection."""
    return frozenset(fact for fact in facts if not terms_in(fact) <= said)


def _first_words(one: str, other: str) -> tuple[frozenset[str], frozenset[str]]:
    """What two sentences begin with, where they go on alike: "Maria owns …", "Tom owns …"."""
    words, others = one.split(), other.split()
    is_alike = words[1:2] == others[1:2] and words[:1] != others[:1]
    return (frozenset(words[:1]), frozenset(others[:1])) if is_alike else (frozenset(), frozenset())


def _leads(old: Sequence[_Unit], new: Sequence[_Unit], before: Topic, after: Topic) -> bool:
    """Whether the draft puts another rule in the place of the first one, under the same name."""
    if not old or not new or old[0].label != "main" or new[0].label != "main":
        return False
    told = terms_in(before.description)
    return before.name == after.name and len(told & terms_in(after.description)) * 2 < len(told)


def _units(body: str) -> list[_Unit]:
    """The sentences of a body in order, and between them the lines that are no prose; headings name what follows."""
    above = [(-1, ""), *headings(body)]
    found = []
    for one in sentences(body):
        lead = body[body.rfind("\n", 0, one.paragraph) + 1 : one.paragraph]  # the list mark or the label before it
        gap = "\n" * min(body[len(body[: one.start].rstrip()) : one.start].count("\n"), 2) or " "
        found.append(_Unit(one.text, one.start, one.end, one.label, lead, gap=gap))
    found += [_Unit(text, start, end, "code", is_prose=False) for text, start, end in lines_of_code(body)]
    headed = (replace(one, heading=above[bisect(above, one.start, key=lambda head: head[0]) - 1][1]) for one in found)
    return sorted(headed, key=lambda unit: unit.start)


def _clauses(body: str) -> list[_Unit]:
    """The same, with what semicolons part for itself: the news may replace one half of a sentence and not the other.
    What stands in quotes, brackets or code is one thing."""
    found = []
    for unit in _units(body):
        is_plain = unit.is_prose and not unit.is_row and not _ENCLOSED.search(unit.text)
        parts = clauses(unit.text) if is_plain else []
        is_telling = all(terms_in(unit.text[start:end]) for start, end in parts)
        found += _cut(unit, [(*part, "") for part in parts]) if is_telling else [unit]
    return found


def _apart(unit: _Unit, news: Sequence[_Unit]) -> list[_Unit]:
    """The statements that a lost sentence joins, each for itself, where the news is of one of them and not of another:
    who owns the search now leaves its owner the billing. Where it differs in nothing, it is the other that changed."""
    rivals = [] if _ENCLOSED.search(unit.text) else _rivals(unit, news)
    parts = _cut(unit, statements_in(unit.text)) if unit.label == "main" and rivals else []
    other = max(rivals, key=lambda one: _alike(unit, one), default=unit)
    whole = parts[:1] + [
        replace(one, opening=one.opening or _opening(parts[0].text, other.text, parts[1].text)) for one in parts[1:]
    ]
    said, own = _told_in(other.said), _own(parts)
    is_of = _speaks_of(said, own)
    if not all(is_of):  # "the shop opens at 9 and closes at 18": both are of the shop
        is_of = _speaks_of(said, _own(whole))
    if all(is_of):  # "Petra reviews payments": whose they are is the news, and not what else Petra does
        values = frozenset(word for fact in unit.facts | other.facts for word in split_words(fact))
        is_of = _speaks_of(said, [some - values for some in own])
    meant = [_told_in(part.opening + part.text) for part, is_meant in zip(parts, is_of, strict=True) if is_meant]
    if all(is_of) or not any(some - said or said & {"not"} - some for some in meant):
        return [unit]
    return [one if is_meant else replace(one, beside=other.text) for one, is_meant in zip(whole, is_of, strict=True)]


def _own(parts: Sequence[_Unit]) -> list[frozenset[str]]:
    """What each of some statements tells and no other of them does."""
    words = [
        _told_in(one.text) - _told_in(after.opening) for one, after in zip(parts, (*parts[1:], *parts[:1]), strict=True)
    ]
    return [some.difference(*words[:at], *words[at + 1 :]) for at, some in enumerate(words)]


def _speaks_of(said: frozenset[str], own: Sequence[frozenset[str]]) -> list[bool]:
    """Of which statements a text speaks, by what each tells alone: of half of that, or of more than of the others'."""
    near = [len(some & said) / max(1, len(some)) for some in own]
    return [score > 0 and score >= min(SAME_THING, max(near)) for score in near]


def _told_in(text: str) -> frozenset[str]:
    """The words of a text that tell something, signs and all; a name may be written like a small word: Go."""
    facts = [word for fact in facts_in(text) for word in fact.split()]
    return terms_in(text).union(facts, *map(split_words, facts), ["not"] if anywhere("negated").search(text) else [])


def _opening(first: str, news: str, second: str) -> str:
    """What both the first statement and its news begin with, if the second goes on from there: "we use"."""
    words, others, behind = first.casefold().split(), news.casefold().split(), second.casefold().split()
    same = [word for word, _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, others, strict=False))]
    turn = next((at for at, word in enumerate(words) if at and word in behind[1:-1]), 0)
    is_open = turn == len(same) + 1 and behind[0] not in same
    return " ".join(first.split()[: len(same)]) + " " if same and is_open else ""


def _cut(unit: _Unit, parts: Sequence[tuple[int, int, str]]) -> list[_Unit]:
    """A sentence cut into parts."""
    if len(parts) < 2:
        return [unit]
    stop = unit.text[-1] if unit.text[-1] in "。" else "."
    found, last = [], 0
    for start, end, opening in parts:
        gap = unit.text[last:start] if start else unit.gap
        at, last = unit.start + start, end
        part = replace(unit, text=unit.text[start:end], start=at, end=unit.start + end, gap=gap, opening=opening)
        found.append(replace(part, stop=stop if end < len(unit.text) else "", is_later=start > 0))
    return found


def _put_back(body: str, old: Sequence[_Unit], fates: Mapping[_Unit, tuple[Fate, _Unit | None]]) -> str:
    """The body with the sentences that it must keep, neighbours together."""
    ending = "\r\n" if "\r\n" in body else "\n"
    body = body.replace("\r\n", "\n")
    follows: list[str] = []  # what the next one stood behind, the last one first
    chunk: _Unit | None = None
    for unit in old:
        fate, successor = fates.get(unit, ("gone", None))
        said = f"{REASON_BEFORE}{unit.said}" if unit.label == "why" else unit.said
        lost = replace(unit, label="before", lead="", text=said) if fate == "past" else unit
        if fate == "gone" or (chunk and not _joins(chunk, lost)):
            last = [_as_sentence(chunk).text.rpartition("\n")[2].removeprefix(chunk.lead)] if chunk else []
            body, follows, chunk = _with_chunk(body, chunk, follows), [*last, *follows], None
        if fate == "gone":
            follows = [successor.text if successor else unit.text, *follows]
        else:
            chunk = _joined(chunk, lost) if chunk else lost
    return _with_chunk(body, chunk, follows).replace("\n", ending)


def _joins(chunk: _Unit, unit: _Unit) -> bool:
    is_beside = (chunk.label, chunk.heading, chunk.is_prose) == (unit.label, unit.heading, unit.is_prose)
    return is_beside and chunk.kind == unit.kind and (unit.is_row or (unit.is_prose and chunk.lead == unit.lead))


def _joined(chunk: _Unit, unit: _Unit) -> _Unit:
    gap = f"\n{unit.lead}" if unit.is_row and not unit.is_later else unit.gap
    return replace(chunk, text=f"{chunk.text}{gap}{unit.text}", stop=unit.stop)


def _with_chunk(body: str, chunk: _Unit | None, follows: Sequence[str]) -> str:
    if chunk is None:
        return body
    units, chunk = _clauses(body), _as_sentence(chunk)
    same = [one for one in units if one.label == chunk.label]
    if chunk.label not in ("main", "code") and same:
        head, rest = body[: same[-1].end], body[same[-1].end :]
        return f"{head}{'. ' if chunk.label == 'before' and head[-1:].isalnum() else ' '}{chunk.text}{rest}"
    if chunk.label == "before":
        return f"{body.rstrip()}\n\n{BEFORE} {chunk.text}\n"
    return _placed(body, units, chunk, follows)


def _as_sentence(chunk: _Unit) -> _Unit:
    """Statements that stand alone now; a name keeps its small letter."""
    text, gap = f"{chunk.opening}{chunk.text}{chunk.stop}", " " if chunk.is_later else chunk.gap
    return replace(chunk, text=with_capital(text) if chunk.is_later else text, gap=gap, opening="", stop="")


def _placed(body: str, units: Sequence[_Unit], unit: _Unit, follows: Sequence[str]) -> str:
    """A line behind the one that it stood behind, or else under its heading, or else before the reasons."""
    line = f"{unit.lead}{unit.text}"
    beside = [one for one in units if one.label == unit.label and one.heading == unit.heading]
    anchor = next((one for text in follows for one in beside if one.text == text), None)
    while anchor and anchor.stop:
        anchor = units[units.index(anchor) + 1]
    if anchor and unit.is_prose and not unit.lead.strip() and anchor.lead == unit.lead:
        return f"{body[: anchor.end]}{unit.gap}{unit.text}{body[anchor.end :]}"
    anchor = anchor or (beside[-1] if unit.heading and beside else None)
    if anchor:
        is_with, stop = unit.is_row and anchor.kind == unit.kind, anchor.end
        if anchor.is_row and not is_with:  # no row is parted from its others
            stop = max(one.end for one in beside if "\n\n" not in body[anchor.end : one.end])
        gap, end = "\n" if is_with else "\n\n", body.find("\n", stop)
        end = len(body) if end < 0 else end
        return f"{body[:end]}{gap}{line}{body[end:] or chr(10)}"
    at = next((one.start for one in units if one.label in _LATER.get(unit.label, ("before",))), len(body))
    at = body.rfind("\n", 0, at) + 1 if at < len(body) else at
    head, rest = body[:at].rstrip("\n"), body[at:].lstrip("\n")
    is_headed = unit.heading and unit.heading not in body and unit.label in ("main", "code")
    section = f"{unit.heading}\n\n" if is_headed else ""
    return f"{head}\n\n{section}{line}\n" + (f"\n{rest}" if rest else "")


def _following(
    before: Topic,
    topic: Topic,
    lost: Sequence[tuple[_Unit, Fate, _Unit | None]],
    news: Sequence[_Unit],
    lines: tuple[str, ...],
) -> Update:
    """Name, description and heading that still tell what was replaced are made again from what replaced it."""
    replaced = [(unit, other) for unit, fate, other in lost if fate != "kept" and other]
    living = [unit.text for unit in _units(topic.body) if unit.label != "before"]
    denied = denied_in(living) - denied_in(unit.text for unit in _units(before.body))  # "no tabs any more"
    current = terms_in("\n".join(living)) - denied
    cut = {unit.beside for unit, *_ in lost}
    followed = []
    for field in ("description", "name"):
        told = topic.fields.get(field, "")
        lies = [unit.terms - (frozenset() if other.text in cut else current) for unit, other in replaced]
        stale = [other.text for (_, other), some in zip(replaced, lies, strict=True) if terms_in(told) & some]
        if told != before.fields.get(field):  # the model's own: of one statement alone
            stale = [text for text in cut if text and field == "description" and _flat(text) == _flat(told)]
        if told and stale and news:
            others = (_as_sentence(unit).text for unit, *_ in lost if unit.beside == stale[0])
            topic = topic.with_field(field, title(stale[0]) if field == "name" else describe_rule(stale[0], others))
            followed.append(field)
    heading = re.compile(rf"^(#+ +){re.escape(before.name)}[ \t]*$", re.MULTILINE)
    if "name" in followed and heading.search(topic.body):
        topic = topic.with_body(heading.sub(lambda match: match[1] + topic.name, topic.body))
    return Update(topic, lines, tuple(followed))


def _flat(text: str) -> str:
    return f" {' '.join(split_words(text))} "
