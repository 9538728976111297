"""Whether a date in a sentence is one day or every such day: "never deploy on Friday" speaks of all of them (T3).

Only what plainly is one coming or past event may be written as a date; in doubt the person's own words stay, for a
wrong date is worse than a relative one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memdir.text.date_words import read_tokens
from memdir.text.dates import NEAR, DateSpan
from memdir.text.language import alternatives, anywhere, at_end, cues, fold, tokens

_RANGE = 16  # characters between two weekdays that are the ends of one
_CLAUSE = re.compile(r"[,;:!?()]|\s[-–—]+\s|[，、。；：]")
_OPEN = frozenset(("weekday", "day number", "end", "holiday", "month day", "absolute", "in", "nth of month", "beside"))
_NAMES_ITSELF = frozenset("TXQLcY")  # next, last, this, a year: said of one day
# English puts the kind of day before its noun: "Friday deploys", "the Monday report". After these words it does not.
_STANDS_ALONE = re.compile(r"(?:on|by|until|till|since|from|to|before|after|for|and|or|through|between)\s+$", re.I)
_NO_NOUN = re.compile(
    r"(?:is|was|are|were|and|or|at|to|we|i|you|they|it|he|she|the|an?|our|my|your|this|that|there|with|from|until|till|in"
    r"|on|for|because|so|as|if|when|but|by|morning|afternoon|evening|night|noon|next|we're|i'm|it's|will|has|have|had"
    r"|since|unless|then|instead)(?![\w'-])",
    re.IGNORECASE,
)
_PLURAL = re.compile(
    r"(?!the |these |those )(?:[\w-]+ ){0,2}?[\w-]+[^\W\ds]s(?<!\bthis) "
    r"(?!(?:in|on|at|to|by|from|with|for|until|till|off|out|up|the|a|us|me|next)\b)[a-z]+[^\Ws] ",
    re.IGNORECASE,
)
_PLURAL_DE = re.compile(r"(?:die |unsere )?[A-ZÄÖÜ][\w-]+ (?:sind|[a-zäöü]+en) ")
_NO_SUBJECT_DE = re.compile(r"(?:wir|sie|die kolleg\w+|morgen|heute|am|im|ab|bis|seit|vom|zum) ", re.IGNORECASE)
# German, Swedish and Danish write it in one word: Montagsrunde, måndagsmötet; Montagabend is a part of one.
_IN_ONE_WORD = re.compile(
    r"\w+(?:tag|woch|dag)(?!(?:en|e?s|s?-?(?:vor|nach|efter)?(?:mittag|morgen|morgon|middag|abend|aften|kväll|nacht|natt|früh)s?)?$)",
    re.IGNORECASE,
)
_TO = re.compile(r"\s(?:to|auf(?: den)?|à|au|al?|naar|para(?: a)?|na)\s", re.IGNORECASE)
_JOINT = re.compile(r"[\s,(]*(?:(?:the|den|dem|le|el|il|o|de)\s)?")
_MEANS = re.compile(r"\s*(?:is|are|means|ist|sind|est|es|é|è|fu|is|wordt|は|是)(?!\w)\s*", re.IGNORECASE)
_THE_EVENT = re.compile(r"(?:the|our|my|a|der|die|das|unsere?|la|le|el|il|o|a|de|het)\s", re.IGNORECASE)
# Which Tuesday is meant hangs on the verb, told by its form; those of more languages are in "own-tells-past".
DATE = "…"  # stands for the date in its clause
_FIRST_WORDS = 30  # characters behind a date in which its verb may stand: "On Monday the board has been"
_PLANS = r"(?:moved|postponed|rescheduled|pushed|cancell?ed|scheduled|planned)\b"  # the date may be the new one
_ED = rf"(?!hundred|{_PLANS})[a-z]*[aeiouy][a-z]*[^\W_e]ed\b"
_PARTICIPLE_DE = r"[a-zäöü]*ge[a-zäöüß]{2,}(?:t|en)|[a-zäöüß]+iert|(?:ver|be|er|ent|zer|über)[a-zäöüß]{2,}(?:t|en)"
_STATE_DE = "geöffnet|geschlossen|geplant"
_GONE_DE = r"ge(?:kommen|gangen|zogen|fahren|reist|flogen|fallen|storben|wesen|worden|blieben|laufen|treten|troffen)"
_FORMS = {
    "en": rf"(?i:\b(?:we|I|he|she|they|it|has|have)|['’]ve)\s+(?:(?:\w+ly|just|also|already|never|not)\s+)?{_ED}",
    "de": rf"\b(?:hat|haben|habe|habt)\b.*\b(?<!zu )(?!{_STATE_DE})(?:{_PARTICIPLE_DE})(?=\W*$|\sund\b)"
    rf"|\b(?:ist|sind|bin|seid)\b.*(?:{_GONE_DE}|passiert|worden)(?=\W*$|\sund\b)"
    rf"|(?:\b(?:er|sie|es|man|[A-ZÄÖÜ]\w+)|{DATE})\s(?!(?:soll|woll|könn|müss|dürf|möch|hät|bräuch|heu|bit|letz)te)"
    r"[a-zäöüß]{3,}te\b(?!\s[A-ZÄÖÜ])",
    "nl": r"\b(?:heeft|hebben|heb)\b.*\b(?<!een )(?<!het )(?<!de )(?:\w*ge|ver|be|ont|her)[a-z]{3,}(?:d|t|en)\b"
    r"|\b(?:is|zijn|ben)\b.*\b(?:\w*ge(?:komen|gaan|vallen|weest|worden|bleven|start)|verhuisd|vertrokken|begonnen)\b",
}
# What was decided in the past is done on the day: "we decided to close on Monday".
_TO_DO = re.compile(r"\bto (?!(?:the|an?|our|my|her|him|them|us|me|it)\b)[a-z]|\b(?:that|will|would)\b")
_MAYBE_PAST = re.compile(
    rf"\W*(?:[Oo]n\s)?(?:\w+day,?\s)?(?:[A-Z][\w-]+|(?i:the|our|my|his|her|their)(?:\s[\w-]+){{1,2}}?)\s{_ED}"
    rf"|\W*(?i:{_ED}) by\b|[^,;:]*?(?:(?i:\b(?:we|I|they|he|she))\s{_PLANS}|\b(?:said|told)\b)"
)


def tells_past(before: str, after: str, language: str) -> bool:
    """Whether the clause that a date stands in plainly tells the past."""
    lead, rest = _CLAUSE.split(before)[-1], _CLAUSE.split(after if before.strip() else after.lstrip(" ,"))[0]
    if at_end("toward", language).search(lead):
        return False
    told = _told_past(lead, language) or _told_past(DATE + rest[:_FIRST_WORDS], language)
    told = told or re.search(_FORMS.get(language, r"(?!)"), lead + DATE + rest)
    if not told or anywhere("one-event", language).search(told[0]):  # of what was put off it may be the new date
        return False
    between = told.string[told.end() :].partition(DATE)[0]
    return not (_TO_DO if language == "en" else anywhere("own-other-verb", language)).search(between)


def _told_past(text: str, language: str) -> re.Match[str] | None:
    now = {found.end() for found in anywhere("own-tells-now", language).finditer(text)}  # "we are closed"
    return next((one for one in anywhere("own-tells-past", language).finditer(text) if one.end() not in now), None)


def one_day_each(sentence: str, spans: Iterable[DateSpan], *, is_rule: bool = False) -> list[DateSpan]:
    """Those dates of a sentence that plainly are one day; of a rule less is plain than of a fact."""
    found = list(spans)
    return [span for span in found if _DayInSentence(sentence, span, found).is_one_day(is_rule=is_rule)]


class _DayInSentence:
    """A date in its sentence, and what the words around it say."""

    def __init__(self, sentence: str, span: DateSpan, others: list[DateSpan]) -> None:
        self.sentence, self.span, self.language = sentence, span, span.language
        self.before, self.after = sentence[: span.start], sentence[span.end :]
        self.lead = _CLAUSE.split(self.before)[-1]
        self.clause = self.lead + sentence[span.start : span.end] + _CLAUSE.split(self.after)[0]
        self.others = [one for one in others if one is not span]
        self.is_led = bool(at_end("bound", self.language).search(self.before))

    def is_one_day(self, *, is_rule: bool) -> bool:
        if self.span.symbols == "W" and any(map(self._is_beside, self.others)):
            return False
        if self.is_bound and not self.is_doubtful:
            return True
        is_open = self.span.kind in _OPEN and _NAMES_ITSELF.isdisjoint(self.span.symbols)
        if self.is_doubtful or self.is_every:
            return False
        if self.says("habit", self.sentence) or (is_rule and (is_open or self.span.grain != "day")):
            return "Y" in self.span.symbols or self.span.symbols == "K"
        if not is_open or self.span.kind == "in":
            return not is_open or not self.has_many
        if self.says("repeats", self.clause) or self.has_many:
            return False
        if self.says("one-event", self.clause):
            return not self.is_moved
        around = self.clause
        for month in (one for one in (self.span, *self.others) if "M" in one.symbols):
            around = around.replace(self.sentence[month.start : month.end], "")  # what may be is no day in May
        return not (self.says("own-rule", around) or self.is_kind or self.is_subject or self.is_range)

    def says(self, meaning: str, text: str) -> bool:
        return bool(anywhere(meaning, self.language).search(text))

    @property
    def is_bound(self) -> bool:
        """Until Friday, as of Friday: of a range, "Monday until Friday", it may be every week's."""
        follows = re.match(alternatives("bound-after", self.language), self.after)
        is_always = self.says("always-due", self.lead)  # "immer bis Freitag"
        return bool(self.is_led or follows) and not (self.is_range or self.is_kind or is_always)

    @property
    def is_doubtful(self) -> bool:
        """El próximo viernes, of this week or the next; è chiuso da lunedì; the storm of 4 May, said on the sixth."""
        if self.span.symbols == "W" and self.language == "en":
            is_either = not self.is_led and bool(_MAYBE_PAST.match(self.lead + self.sentence[self.span.start :]))
        elif self.span.symbols == "W":
            is_either = len(self.lead.split()) > 2 and bool(at_end("since-or-from", self.language).search(self.lead))
        else:
            is_next = self.span.kind == "weekday" and "X" in self.span.symbols
            is_either = is_next or self.span.kind in ("month day", "absolute")
        return self.span.vague and is_either

    @property
    def is_every(self) -> bool:
        """Il mercoledì, le cours du jeudi; and what somebody does on Tuesday from now on, or from July."""
        if self.span.symbols != "W":
            return False
        if self.says("from-now", self.sentence) or self.starts_elsewhere:
            return True
        named = at_end("day-of-name", self.language).search(self.before)
        is_named = named and not at_end("no-name", self.language).search(self.before)
        is_every = is_named or at_end("every-such", self.language).search(self.before)
        return bool(is_every or _IN_ONE_WORD.match(self.span.weekday)) and not self.says("one-event", self.clause)

    def _is_beside(self, other: DateSpan) -> bool:
        """Friday 5/15, 15 May (Friday): the other is the date."""
        first, second = sorted((self.span, other), key=lambda one: one.start)
        is_joined = _JOINT.fullmatch(self.sentence, first.end, second.start)
        return bool(is_joined) and "W" not in other.symbols and other.grain == "day" and not other.is_relative

    @property
    def starts_elsewhere(self) -> bool:
        """Whether another date in the sentence says when it begins, or until when it goes on."""
        starts = rf"(?:{alternatives('bound', self.language)}|{alternatives('starts', self.language)})\s+"
        opening = re.match(starts, self.sentence, re.IGNORECASE)
        for found in (*filter(None, (opening,)), *re.finditer(starts, self.clause, re.IGNORECASE)):
            follows = read_tokens(found.string[found.end() :][:NEAR], self.language, "en")
            if re.match(r"[PNoO;,]*[MKJ]", "".join(one.symbol for one in follows)):
                return True
        return False

    @property
    def is_range(self) -> bool:
        """From one weekday to another, with no word of an event."""
        if not any(len(between) <= _RANGE for _, between in self._weekdays()):
            return False
        folded = fold(self.sentence)
        return "event" not in {cue.meaning for cue in cues(folded, tokens(folded), self.language)}

    @property
    def is_moved(self) -> bool:
        """The retro moved from Tuesday to Thursday: every week's, or of the days that are read one is not meant."""
        ends = [one for one, between in self._weekdays() if _TO.fullmatch(between)]
        is_backward = any((one.days < self.span.days) != (one.start < self.span.start) for one in ends)
        return bool(ends) and (self.is_range or is_backward)

    def _weekdays(self) -> Iterator[tuple[DateSpan, str]]:
        """The others that are named as barely, and what stands between."""
        for one in self.others:
            if one.weekday and one.symbols == self.span.symbols == "W":
                yield one, self.sentence[min(one.end, self.span.end) : max(one.start, self.span.start)]

    @property
    def is_kind(self) -> bool:
        """Friday deploys, the Monday report: a weekday before its noun, which other languages write in one word."""
        following = re.match(r"[ -](?=[A-Za-z])", self.after)
        if not self.span.weekday or self.span.language != "en" or not following:
            return False
        if _NO_NOUN.match(self.after, 1):
            return False
        is_alone = self.is_led or _STANDS_ALONE.search(self.before)
        return not is_alone or self.after.startswith("-")

    @property
    def is_subject(self) -> bool:
        """Friday is deploy day; "Friday is the demo" is one."""
        verb = _MEANS.match(self.after)
        if not self.span.weekday or not verb or len(self.lead.split()) > 1:
            return False
        told = self.after[verb.end() :]
        return not _THE_EVENT.match(told)

    @property
    def has_many(self) -> bool:
        """Deploys go out on Friday: what there are many of happens every week."""
        clause = self.clause.lstrip() or self.sentence
        if self.says("one-event", self.clause) and self.language == "en":
            return False
        if self.language == "de" and _PLURAL_DE.match(clause) and not _NO_SUBJECT_DE.match(clause):
            return True
        many = re.match(rf"(?:{alternatives('many-subject', self.language)})\s", clause, re.IGNORECASE)
        return bool(many) or (self.language == "en" and bool(_PLURAL.match(clause)))
