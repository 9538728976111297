"""How near one sentence comes to what another says: by words, by what they mean, and between languages by both.

The table of meanings carries paraphrases; a small glossary, numbers, names and words of code carry translations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cache, cached_property, lru_cache
from itertools import chain, combinations, pairwise, repeat
from operator import mul
from unicodedata import category

from memdir.disk.shipped import shipped_lines
from memdir.text.embedding import open_table
from memdir.text.language import UNKNOWN, alternatives, anywhere, at_end, common_words, fold, names_in, tongue_of
from memdir.text.sentences import facts_in, is_weekday, without_known
from memdir.text.stems import STOP_WORDS, stem, terms, terms_in
from memdir.text.words import is_unspaced, split_words

MAX_KNOWN = 1_000  # characters of a sentence that is kept: a few hundred pasted pages would hold gigabytes
MIN_THINGS = 2  # of the glossary that must be shared before they tell anything
MOSTLY = 2 / 3  # of the words of the shorter one that two sentences share which speak of the same
TELLING_PART = 2  # topic words from which a part of a sentence is looked at by itself
# What joins two statements to one sentence; between words of code there are no spaces.
_JOINS = re.compile(
    r"\s*[,;:，、；：](?:\s+|(?<=[，、；：]))|\s[–—-]{1,2}\s|[.!?…]\s+|[。！？]"
    r"|\s(?=(?:and|but|then|und|aber|et|mais|y|pero|e|ed|ma|mas|en|maar|i|ale|och|men|og|ve|ama|и|но|а|і|та|але|a)\s)|(?=并且|而且|但)"
)
_APART = re.compile(r"(?:^|(?<=[,;:!.…]\s))\W*(\w+)\s*[,;:!.…—–]+(?=\s*\w)")  # "no, use tabs" denies what came before
_CALLING_OFF = ("forget-rule", "forget-said")  # what asks to forget something that is kept, wherever it stands
_STOPS = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"})  # kinds of characters that part clauses
_SHORT = 2  # letters: shorter words carry no content where words have spaces
_table = cache(open_table)


class Sentence:
    """Some words, ready to be compared; most are only ever looked up by their words."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = split_words(text)

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(filter(None, map(content_term, self.words))) | names_in(self.text)

    @cached_property
    def things(self) -> frozenset[int]:
        return things_in(self.text)

    @cached_property
    def _direction(self) -> list[float]:
        total = found.values() if (found := _table().question_sum(self.words)) else []
        norm = math.hypot(*total)
        return [number / norm for number in total] if norm else []

    def nearness(self, other: Sentence, *, is_translated: bool) -> float:
        """How much of this the other says; between languages only the meaning can tell."""
        meaning = self.meaning(other)
        if is_translated:
            same = len(self.terms & other.terms)  # numbers, names and words of code are the same in every language
            shared = (len(self.things & other.things) + same) / max(MIN_THINGS, len(self.things) + same)
            return max(meaning, (meaning + shared) / 2)
        return (meaning + len(self.terms & other.terms) / max(1, len(self.terms))) / 2

    def meaning(self, other: Sentence) -> float:
        """How near the two are by what their words mean alone."""
        return float(sum(map(mul, self._direction, other._direction)))


@lru_cache(maxsize=256)  # people answer in the same few words
class Answer:
    """What an answer says by its words alone, in whatever language: what has no sign of a yes agrees to nothing."""

    def __init__(self, reply: str) -> None:
        stopped = "".join("." if category(char) in _STOPS and char not in "-'’" else char for char in fold(reply))
        text = f".{'.'.join(clause.strip() for clause in stopped.split('.') if clause.strip())}."
        yes, filler, chosen, refusal, harmless = map(anywhere, ("yes", "small-talk", "chosen", "no", "harmless"))
        self.agrees: bool = yes.search(text) is not None
        signs = (sign.group() for said in (yes, filler, harmless) for sign in said.finditer(text))
        self.agreeing = {stem(word) for sign in signs for word in split_words(sign)}
        self.terms = Sentence(reply).terms
        self.chooses = chosen.search(text) is not None
        self.plain = filler.sub(" ", harmless.sub(" ", text))
        self.refuses = refusal.search(self.plain) is not None

    @property
    def is_bare(self) -> bool:
        """Whether it is a yes and says nothing else."""
        return self.agrees and not self.refuses and self.terms <= self.agreeing


def accepted_offer(asked: str, reply: str) -> str:
    """What somebody offers to remember, "shall I remember that …?", as the wish that a bare yes makes of it."""
    found = anywhere("offers-to-keep").search(asked)
    told = asked[found.end() :].strip() if found else ""
    is_one = re.fullmatch(r"[^?？\n]+[?？]", told) and terms_in(told)
    return f"Remember {told.rstrip('?？ ')}" if is_one and Answer(reply).is_bare else ""


def sentence_of(text: str) -> Sentence:
    """The same again for what a conversation, or a history, says again and again; what is long is not kept."""
    return _known_sentence(text) if len(text) <= MAX_KNOWN else Sentence(text)


_known_sentence = lru_cache(1024)(Sentence)  # about 12 KB each


def parts_of(text: str) -> list[str]:
    """The statements that are joined in a sentence, each with what joins it to the one before; what is too short to
    tell anything stays with its neighbour."""
    cuts = [found.start() for found in _JOINS.finditer(text)]
    parts, last = [], 0
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        is_telling = all(len(_terms(one)) >= TELLING_PART for one in (text[last:start], text[start:end], text[start:]))
        if start and is_telling:
            parts.append(text[last:start])
            last = start
    return [*parts, text[last:]]


def statements_in(text: str) -> list[tuple[int, int, str]]:
    """The bounds of the statements that a sentence joins, where they are built alike ("tabs in Go and two spaces in
    YAML"), and of the items of a list that it ends with, each with what it goes on from: "Maria owns"."""
    and_ = rf"(?:{alternatives('conjoins', tongue_of(text))})\s+"
    cuts = [cut.span() for cut in re.finditer(rf"(?:,\s+|[，、]\s*)(?:{and_})?|\s+{and_}", text, re.IGNORECASE)]
    found, start, opening = [(0, len(text), "")], 0, ""
    for (end, begin), (stop, _) in pairwise([*cuts, (len(text), len(text))]):
        here, there, told = split_words(text[start:end]), split_words(text[begin:stop]), _telling(text[start:end])
        if there and {*here[1:-1]} & {*there[1:-1]} and there[0] not in here[1:]:
            opening = ""
        elif len(there) == 1 and (opening or len(told) >= TELLING_PART):
            opening = opening or text[start : text.rindex(told[-1], start, end)]
        else:
            continue
        found[-1:] = [(start, end, found[-1][2]), (begin, len(text), opening)]
        start = begin
    return found


def _telling(text: str) -> list[str]:
    """Its words that tell something; a name or a number does, however it is written."""
    words = (word.strip(".,:;!?。()") for word in text.split())
    return [word for word in words if word[1:] != word[1:].lower() or not word.islower() or terms(split_words(word))]


def is_opposite(one: str, other: str, tongue: str = UNKNOWN, *, is_counted: bool = False) -> bool:
    """Whether one of two sentences denies what the other says, as far as their words for no tell, where they speak of
    the same: "pnpm, not npm" does not deny "use pnpm". Counted, one that says no far more often does, too."""
    spoken = None if tongue == UNKNOWN else tongue
    denies, exclaims = anywhere("negated", spoken), anywhere("exclaim", spoken)
    reason = anywhere("reason", spoken or "en")
    one, other = (
        _APART.sub(lambda word: "" if exclaims.fullmatch(word[1]) else word[0], kept_in_mind(text))
        for text in (one, other)
    )
    fewer, more = sorted(len(denies.findall(text)) for text in (one, other))
    if fewer or not more:
        return is_counted and more - fewer > 1
    if bool(reason.search(one)) != bool(reason.search(other)):  # "because nobody uses it" denies not what it explains
        one, other = (reason.sub(r", \g<0>", text) for text in (one, other))
    pairs = [
        (len(_terms(part) & _terms(beside)), bool(denies.search(part)) == bool(denies.search(beside)))
        for part in _clauses(one, denies)
        for beside in _clauses(other, denies)
    ]
    most = max(shared for shared, _ in pairs)
    return not any(is_same for shared, is_same in pairs if shared == most)


def denied_in(texts: Iterable[str]) -> frozenset[str]:
    """The words of some sentences that stand there only to be denied: "no tabs any more, four spaces"."""
    said = {False: frozenset[str](), True: frozenset[str]()}
    for text in texts:
        tongue = tongue_of(text)
        denies = anywhere("negated", None if tongue == UNKNOWN else tongue)
        for part in _clauses(text, denies):
            said[bool(denies.search(part))] |= terms_in(part)
    return said[True] - said[False]


def forbids_another(text: str, known: str) -> bool:
    """Whether a sentence only denies a value that another does not have: "never on Fridays" leaves "on Tuesdays" as it
    is."""
    told, others = (terms_in(" ".join(facts_in(one))) for one in (text, known))
    return bool(told and others) and told <= denied_in([_APART.sub(" ", text)]) and others.isdisjoint(terms_in(text))


def is_turned(one: str, other: str, values: frozenset[str]) -> bool:
    """Whether two sentences speak of the same, and one denies what the other says, or tells of one name or figure what
    the other tells of another: "signed by Marta, not by Ole"."""
    terms, others = sentence_of(one).terms, sentence_of(other).terms
    if not terms or len(terms & others) < MOSTLY * min(len(terms), len(others)):
        return False
    mine, theirs, denies = _beside(one, values), _beside(other, values), anywhere("negated")

    def likeness(value: str, rival: str) -> float:
        both = mine[value] - {rival}, theirs[rival] - {value}
        return (1 + len(both[0] & both[1])) / (1 + len(both[0] | both[1]))

    differ = _terms(denies.sub(" ", one)) ^ _terms(denies.sub(" ", other))
    if len(differ) <= 1 and not differ & values and bool(denies.search(one)) != bool(denies.search(other)):
        return True
    pairs = combinations(sorted(mine.keys() & theirs.keys()), 2)
    is_swapped = any(likeness(a, b) + likeness(b, a) > likeness(a, a) + likeness(b, b) for a, b in pairs)
    return is_swapped or is_opposite(one, other)


def _beside(text: str, values: frozenset[str]) -> dict[str, frozenset[str]]:
    """What stands beside each value in its clause: other words, a denial, the small word before it. In a list it is
    what the whole text says."""
    denies, joins, found = anywhere("negated"), anywhere("joins"), dict[str, frozenset[str]]()
    for part in _clauses(text, denies):
        own = (_terms(part) - values) | ({"not"} if denies.search(part) else frozenset())
        for before, word in pairwise(["", *split_words(part)]):
            if (value := content_term(word)) in values:
                small = {before} if before and not content_term(before) and not joins.search(before) else frozenset()
                told = ((own | _terms(part)) - {value} if own else _terms(text) - values) | small
                found[value] = found.get(value, frozenset()) | told  # two dates have the year in common
    return found


def says_all(known: str, text: str) -> bool:
    """Whether a sentence says already what another says: its facts, not its opposite, and statement by statement its
    words in their order, with nothing of a list left out, and no "only" or "except" of its own. The same words in
    another order may say something else: "db1 is the primary, db2 the replica"; and so may fewer: "ask Ole, Petra"."""
    said, held, limits = _statements(text), _statements(known), anywhere("limits")
    lead = held[0][0] if held else []
    is_said = (
        any(len(one) == len(other) and all(map(_runs_in, one, other, repeat(lead))) for other in held) for one in said
    )
    is_limited = limits.search(text) and not limits.search(known)
    is_other = is_limited or without_known(facts_in(text), known) or is_opposite(known, text)
    return bool(said) and all(is_said) and not is_other


def _runs_in(words: Sequence[str], others: Sequence[str], lead: Sequence[str]) -> bool:
    """Whether words stand so in others; what these go on from may stand before: "use tabs in Go and spaces in C"."""
    at = words.index(others[0]) if others[0] in words else 0
    before, behind = iter(lead), iter(others)
    return all(word in before for word in words[:at]) and all(word in behind for word in words[at:])


@lru_cache(maxsize=4096)
def _statements(text: str) -> list[list[list[str]]]:
    """The words of each statement of a sentence, item by item where it has a list; what limits it is a part of it."""
    found: list[list[list[str]]] = []
    for piece in _JOINS.split(text):
        words = terms(split_words(piece))
        is_item = sum(bool(terms(split_words(word))) for word in piece.split()) < TELLING_PART
        is_item = (is_item and not any(map(is_unspaced, piece))) or bool(anywhere("limits").match(piece))
        if words:
            found[-1:] = [[*found[-1], words]] if found and is_item else [*found[-1:], [words]]
    return found


def are_of_two(one: str, other: str, *, is_named: bool = False) -> bool:
    """Whether two sentences say the same of two things: most words are the same, in one place each names another thing,
    and of both either the same number is told or something else. Where a value is due ("use …", "at …"), the thing is
    the same: "use Postgres for billing"; unless it is known to have a name of its own."""
    mine, theirs = ([word.strip(".,:;!()") for word in text.casefold().split()] for text in (one, other))
    names = names_in(one) | names_in(other)

    def is_content(word: str) -> bool:
        return word in names or bool(content_term(word))

    steps = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
    same = [word for tag, start, end, _, _ in steps if tag == "equal" for word in mine[start:end] if is_content(word)]
    pairs = [(at, mine[at:end], theirs[start:stop]) for tag, at, end, start, stop in steps if tag == "replace"]
    slots = [(at, parts) for at, *parts in pairs if all(any(map(is_content, part)) for part in parts)]
    named, *all_named = (sum(is_content(x) and not _tells(x) for x in some) for some in (same, mine, theirs))
    if not slots or not named or (2 * named < min(all_named) and not is_named):
        return False
    (at, parts), *more = slots
    if any(map(_tells, chain(*parts))) or not (more or any(map(_tells, same))):
        return False
    is_due = at_end("takes-value").search(" ".join(mine[:at]) + " ")
    return is_named or not is_due or any(_tells(word) for _, both in more for part in both for word in part)


def _tells(word: str) -> bool:
    """Whether a word is a number or a day: what is told of a thing, not the thing."""
    return any(letter.isdigit() for letter in word) or is_weekday(word)


def takes_back(text: str) -> bool:
    """Whether a sentence names something only to have it forgotten, to deny it or to forbid that it be kept."""
    return calls_off(text) or bool(anywhere("take-back").search(kept_in_mind(text)))


def calls_off(text: str) -> bool:
    """Whether a sentence asks to forget something that is kept, and not never to forget it."""
    said = kept_in_mind(text).strip()
    return bool(_called_off(said) or any(anywhere(one).search(said) for one in _CALLING_OFF))


def called_off(text: str) -> str:
    """What a sentence asks to forget that is kept, and all of it: "the Friday rule", not "the Friday rule for deploys".
    Empty where it asks for nothing of the kind, or not to."""
    found = _called_off(kept_in_mind(text).strip())
    return _said_off(found) if found and not (terms_in(found["named"]) and terms_in(found["more"])) else ""


def only_reminds(begins: str, rest: str) -> bool:
    """Whether "don't forget …" goes on with what something is called that is kept, and not with what that says."""
    is_named = anywhere("forgets").search(begins) and called_off(f"forget {rest}")
    return bool(is_named) and not re.search(r"[:,;–—]|\b(?:that|dass)\b", rest)


@lru_cache(maxsize=64)
def _called_off(said: str) -> re.Match[str] | None:
    found = next(filter(None, (form.match(f" {said}") for form in _calling_off())), None)
    return None if found and at_end("negated").search(_said_off(found).rstrip(" .!…")) else found


def _said_off(found: re.Match[str]) -> str:
    return f"{found['named']} {found['more']}"


def taken_back(text: str) -> str:
    """What such a sentence speaks of, without the words that take it back."""
    text = _said_off(found) if (found := _called_off(text)) else text
    for meaning in (*_CALLING_OFF, "as-said", "take-back"):
        text = anywhere(meaning).sub(" ", text)
    return text


def named_alone(
    words: Iterable[str], heads: Sequence[frozenset[str]], wholes: Sequence[frozenset[str]]
) -> tuple[int, ...]:
    """The number of the one text that has most of the words by which it is named, more than any other has."""
    named = frozenset(words)
    held = [(len(named & whole), len(named & head)) for head, whole in zip(heads, wholes, strict=True)]
    best = max(held, default=(0, 0))
    return (held.index(best),) if best[0] and best[0] >= MOSTLY * len(named) and held.count(best) == 1 else ()


@cache
def _calling_off() -> list[re.Pattern[str]]:
    """Forget the Friday rule, die Freitagsregel kannst du vergessen, the rule about Fridays no longer applies: not the
    rule check, which is none that is kept."""
    words = "wish-opens forgets ends-rule forget-said forget-that forgets-last lapsed asks of-what hence as-said"
    opens, forgets, ends, said, that, last, lapsed, asks, of, hence, told = map(alternatives, words.split())
    kept = alternatives("is-kept").removeprefix(r"(?<!\w)")
    named = rf"(?P<named>(?:\s+[\w'’-]+){{0,4}}?\s+(?:\w{{3,}}?(?=s?-?\w))??)s?-?(?:{kept})"
    opening = rf"[\s,;¿]*(?:(?:{opens})[\s,;:!…—–-]*){{0,6}}(?<!\bn[oã][on] )"
    more, hence = rf"(?P<more>(?:\s+(?:{of})\s[^.,;:!?…]{{1,80}}?)?)", rf"(?:,?\s+(?:{hence}|{told}))*"
    stop = rf"(?={hence}\s*(?:[.,;:!?…]|$))"
    forms = (
        rf"{opening}(?:{forgets}|{ends}){hence}{named}{more}{stop}",
        rf"{opening}(?:{said})(?P<named>[^.;:!?…]*?)(?P<more>){stop}",
        rf"{opening}(?:{that})(?P<named>)(?P<more>[^.;:!?…]*)",
        rf"{opening}{named}{more}(?:\s+(?:{asks}))?{hence}\s+(?:{last}){stop}",
        rf"{opening}{named}{more},?\s+(?:{lapsed}){stop}",
    )
    return [re.compile(form, re.IGNORECASE) for form in forms]


def kept_in_mind(text: str) -> str:
    """A sentence without the words that ask to remember it: "don't forget that" denies nothing, nor does "never delete
    the memory of"."""
    return _not_calling_off().sub(" ", anywhere("remember-this").sub(" ", text))


@cache
def _not_calling_off() -> re.Pattern[str]:
    """Denied before it, "you must not delete the note", or as German does: "vergiss die Regel nicht"."""
    rule, behind = "|".join(map(alternatives, _CALLING_OFF)), alternatives("negated-behind")
    before = rf"(?:{alternatives('negated')})(?:\s+[\w'’]+){{0,3}}?\s+(?:{rule})"
    denied = rf"\s+(?:{behind})|[^,.;:!?]{{0,120}}\s(?:{behind})\s*(?:[,.;:!?]|$)"
    return re.compile(rf"{before}|(?:{alternatives('forgets')})(?={denied})", re.IGNORECASE)


def _clauses(text: str, denies: re.Pattern[str]) -> list[str]:
    """What commas and small words part; one that names nothing ("I never want") belongs to the next."""
    found: list[str] = []
    for clause in _JOINS.split(text):
        found[-1:] = (
            [f"{found[-1]} {clause}"] if found and not _terms(denies.sub(" ", found[-1])) else [*found[-1:], clause]
        )
    return found


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(filter(None, map(content_term, split_words(text))))


@lru_cache(maxsize=1 << 15)  # a dream asks for the words of all memories
def content_term(word: str) -> str:
    """What stands for a word; nothing for one that carries no content."""
    is_short = len(word) <= _SHORT and word.isalpha() and word.isascii()
    return "" if is_short or word in STOP_WORDS or word in common_words() else stem(word)


def things_in(text: str) -> frozenset[int]:
    """The things of the glossary that a text mentions."""
    found = frozenset[int]().union(*map(_things, split_words(text)))
    folded = text.casefold()
    if not folded.isascii() and any(map(is_unspaced, folded)):
        return found.union(number for phrase, number in _glossary()[2] if phrase in folded)
    return found


@lru_cache(maxsize=1 << 15)
def _things(word: str) -> tuple[int, ...]:
    whole, stems, _ = _glossary()
    begun = (stems.get(word[:length], ()) for length in range(2, len(word) + 1))
    return (*whole.get(word, ()), *chain.from_iterable(begun))


@cache
def _glossary() -> tuple[dict[str, list[int]], dict[str, list[int]], list[tuple[str, int]]]:
    """Whole words, beginnings of words, and what stands in texts without spaces, each with the things it means."""
    whole: dict[str, list[int]] = {}
    stems: dict[str, list[int]] = {}
    unspaced: list[tuple[str, int]] = []
    for number, line in enumerate(shipped_lines("text/glossary.txt")):
        for entry in line.split():
            if is_unspaced(entry[0]):
                unspaced.append((entry.casefold(), number))
                continue
            table = stems if entry.endswith("*") else whole
            for word in split_words(entry.rstrip("*"))[:1]:
                table.setdefault(word, []).append(number)
    return whole, stems, unspaced
