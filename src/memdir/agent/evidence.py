"""Who in a conversation said what a memory claims, measured claim by claim (X12, L1, L4).

A conversation is taken apart into pieces with a speaker and a trust. A claim is near a sentence when they share words,
and when the words mean the same by the table that recall uses too: that carries paraphrases, and with a small glossary
most translations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise

from memdir.agent.forgotten import Heard, counts, heard_in, number_words, values_in
from memdir.store.topic import MemoryType
from memdir.store.trust import Trust
from memdir.text.language import (
    UNKNOWN,
    Cue,
    alternatives,
    anywhere,
    cues,
    fold,
    language,
    small_words,
    tokens,
    tongue_of,
)
from memdir.text.nearness import Answer, Sentence, is_opposite, is_turned, sentence_of
from memdir.text.sentences import sentences_of
from memdir.text.speakers import Speaker, pieces_of
from memdir.text.stems import stem
from memdir.text.words import is_unspaced
from memdir.transcript.message import Message, Text, ToolResult, ToolUse

_WEB_TOOLS = ("web", "fetch", "search", "browser", "mcp__", "http", "url")
_TRUST = dict.fromkeys(Speaker, Trust.TOOL) | {Speaker.USER: Trust.USER, Speaker.REPORTED: Trust.USER}
SAID = 0.33  # nearness from which a sentence says what a claim says, in other words
HINT = 0.2  # nearness that a translation should have at least to something that the user said
LEAD = 0.1  # by which somebody else's sentence must be nearer than the user's to be the source
CLEARLY = 0.6  # so near that the user said it, whoever else did
FOREIGN = 0.6  # so near to somebody else's sentence that it is from there
ECHOED = 0.5  # so near to the assistant that it is an idea of his
DOUBTED = 0.4  # nearer to the user than that it is not somebody else's alone
MAX_PIECES = 2000  # of a conversation that are asked; the newest
MAX_PIECE_CHARS = 50_000  # of each that are looked at
MAX_SENTENCES = 3000  # of others that are compared; the newest
MAX_REPLY_WORDS = 25  # a longer answer says itself what it agrees to
MAX_ANSWER_WORDS = 6  # of an answer that chooses by naming a thing again
MAX_PROPOSED = 2  # sentences that a bare yes can mean
TELLING_TERMS = 3  # topic words without which a claim is too short to tell by its words whose it is
DENSE_TERM = 0.3  # of a word is a pair of characters where words have no spaces
OWN_LEAD = 0.3  # as `LEAD`, for the assistant, who often says again what the user said

FACTUAL = (MemoryType.PROJECT, MemoryType.REFERENCE)
MAX_TOLD = 2000  # characters that tell a text's language
_EXACT = re.compile(r"\w[/@#:=.]\w|^[@#~]\w|^\d\d")  # of a word that says where, what to run, or how much
_CODE = re.compile(r"`([^`\n]+)`")
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./](?:\d\d){1,2}\b")
_LASTING = frozenset({"durable", "always", "want", "remember", "forbid", "self", "decide", "change", "owner"})
_ALWAYS = frozenset({"durable", "always"})
_AGREES = frozenset({"yes", "praise", "decide", "durable", "want"})
_ASKED_FOR = frozenset({"durable", "always", "want", "forbid"})
_OPEN = frozenset({"irony", "undecided", "retract", "onlynow"})
_KEEPS = frozenset({"durable", "always", "offer"})
_LIMITS = frozenset({"halt", "moment", "onlynow", "undecided", "retract", "indifferent"})


@dataclass(frozen=True)
class Said:
    """A piece of text of the conversation, whose it is, and how far it is trusted."""

    message_id: str
    text: str
    trust: Trust
    speaker: Speaker


def take_apart(messages: Sequence[Message]) -> Iterator[Said]:
    """Every piece of a conversation. What the host put in (recalled memories, reminders) is nobody's here (L4)."""
    tool_names: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            match block:
                case ToolUse(tool_id, name):
                    tool_names[tool_id] = name.lower()
                case ToolResult(tool_use_id, content):
                    is_web = any(word in tool_names.get(tool_use_id, "") for word in _WEB_TOOLS)
                    yield Said(message.id, content, Trust.WEB if is_web else Trust.TOOL, Speaker.TOOL)
                case Text(text) if message.role == "assistant":
                    yield Said(message.id, text, Trust.ASSISTANT, Speaker.ASSISTANT)
                case Text(text) if message.is_meta:
                    yield Said(message.id, text, Trust.TOOL, Speaker.REMINDER)
                case Text(text):
                    for piece in pieces_of(text):
                        yield Said(message.id, piece.text, _TRUST[piece.speaker], piece.speaker)


def heard_and_agreed(messages: Sequence[Message]) -> Iterator[Heard]:
    """What the user said, and what the assistant said before it where he agreed: then he said that too."""
    named: list[str] = []
    for message in messages:
        if message.role == "assistant":
            named = sentences_of(message.text) or named
        for heard in heard_in([message]):
            yield heard
            is_short = len(heard.text.split()) <= MAX_REPLY_WORDS
            if named and is_short and Agreement(named, heard.text, tongue_of(heard.text)).agrees:
                yield replace(heard, text="\n".join(named))
            named = []


def has_prose(messages: Sequence[Message], before: Sequence[Message] = ()) -> bool:
    """Whether the user or the assistant said anything in words: not only code, tool output or JSON (X6). A bare
    yes says what was asked just before."""
    said = (one.text for one in take_apart(messages) if one.trust >= Trust.ASSISTANT)
    return any(map(_is_prose, said)) or any(_is_prose(one.text) for one in heard_and_agreed([*before[-1:], *messages]))


def _is_prose(text: str) -> bool:
    plain = re.sub(r"```.*?(?:```|\Z)|`[^`\n]*`", " ", text, flags=re.DOTALL).strip()
    if plain.startswith(("{", "[")) and plain.endswith(("}", "]")):
        return False
    return len(re.findall(r"[^\W\d_]{2,}", plain)) >= 2 or sum(map(is_unspaced, plain)) >= 2


@dataclass(frozen=True)
class Support:
    """How near the user, somebody else and the assistant come to a claim; who that somebody is."""

    user: float
    foreign: float
    assistant: float
    source: Said | None
    is_agreed: bool
    denied: float = 0.0  # how near the user comes to it with a sentence that says the opposite

    @property
    def is_denied(self) -> bool:
        """Whether the user said the opposite of it, and nothing like it."""
        return not self.is_agreed and self.denied >= max(CLEARLY, self.user + LEAD)

    @property
    def is_users(self) -> bool:
        """Whether the user said it, or agreed to it, rather than somebody else."""
        if self.is_agreed or self.user >= CLEARLY:
            return True
        return self.user >= max(SAID, self.foreign - LEAD, self.assistant - OWN_LEAD)

    @property
    def is_plain(self) -> bool:
        """Whether it is the user's beyond doubt, though he asked for nothing that lasts."""
        return self.is_agreed or self.user >= max(ECHOED, self.foreign + LEAD)

    @property
    def is_echo(self) -> bool:
        """Whether it is the assistant's own idea, to which the user said nothing."""
        return not self.is_agreed and self.user < SAID and self.assistant >= ECHOED + LEAD

    @property
    def is_foreign(self) -> bool:
        """Whether it is somebody else's, by words that the user has not."""
        return self.is_from_elsewhere and not self.is_users and self.user < DOUBTED and self.foreign >= FOREIGN

    @property
    def is_from_elsewhere(self) -> bool:
        """Whether it is nearer to a text that is surely not the user's."""
        is_sure = self.source is not None and self.source.speaker is not Speaker.UNCLEAR
        return is_sure and self.foreign >= max(ECHOED, self.user + LEAD)


class Evidence:
    """A conversation taken apart by who speaks, to be asked about claims."""

    def __init__(self, said: Sequence[Said], *, reads_more: bool = False) -> None:
        """`reads_more`: whoever writes may have read more than this, which nobody can ask."""
        said = [replace(piece, text=piece.text[:MAX_PIECE_CHARS]) for piece in said[-MAX_PIECES:]]
        self._said = said
        own = [piece for piece in said if piece.speaker in (Speaker.USER, Speaker.REPORTED)]
        self.tongue = tongue_of(" ".join(piece.text for piece in own))
        statements = [text for piece in own if piece.speaker is Speaker.USER for text in self._statements(piece.text)]
        self.is_lasting = any(_meanings(text, self.tongue) & _LASTING for text in (*statements, *_texts(own)))
        self._own, self._sentences = _windows(statements), len(statements)
        self._told = [*dict.fromkeys((*self._own, *_windows(_texts(own))))]
        spoken_by_it = _texts(piece for piece in said if piece.speaker is Speaker.ASSISTANT)
        self._assistant = [one for one in dict.fromkeys(_windows(spoken_by_it)) if len(one.terms) >= TELLING_TERMS]
        low = [piece for piece in said if piece.trust.is_low]
        self._reads_more = reads_more
        self.has_foreign = reads_more or bool(low) or any(piece.speaker is Speaker.REPORTED for piece in said)
        tongues = [(piece, tongue_of(piece.text[:MAX_TOLD])) for piece in low]
        texts = [(piece, tongue, text) for piece, tongue in tongues for text in sentences_of(piece.text)]
        once: dict[tuple[str, str, Trust], Said] = {}  # a log says the same a thousand times
        for piece, tongue, text in texts[-MAX_SENTENCES:]:
            once.setdefault((tongue, text, piece.trust), piece)
        self._foreign = [(piece, tongue, sentence_of(text)) for (tongue, text, _), piece in once.items()]
        self._agreements = list(self._find_agreements())
        self.has_agreement = any(one.agrees for one in self._agreements)
        trusted = [piece for piece in said if not piece.trust.is_low]
        self._trusted = [(piece, sentence_of(text)) for piece in trusted for text in sentences_of(piece.text)]
        self.support = cache(self._support)  # a draft is judged again when something was cut from it

    @property
    def lowest(self) -> Trust:
        default = Trust.TOOL if self._reads_more else Trust.ASSISTANT
        return min((piece.trust for piece, *_ in self._foreign), default=default)

    def _support(self, claim: str, kind: MemoryType | None, draft_tongue: str) -> Support:
        """Who carries a claim. For a fact the user's questions and what he tells of others count as well; what is so
        of the user himself is not made so by a bare yes."""
        asked, is_translated = Sentence(claim), draft_tongue != self.tongue
        told = self._told if kind in FACTUAL else [*dict.fromkeys(self._own)]
        user, denied = _nearest(asked, told, is_translated=is_translated), 0.0
        if user >= SAID:
            tongue = UNKNOWN if is_translated else self.tongue  # a few words may be of either language
            opposite = {one for one in told if is_opposite(one.text, claim, tongue)}
            denied = _nearest(asked, opposite, is_translated=False)
            if denied >= CLEARLY or not is_translated:
                user = _nearest(asked, (one for one in told if one not in opposite), is_translated=is_translated)
        source, foreign = None, 0.0
        for piece, tongue, sentence in self._foreign:
            near = asked.nearness(sentence, is_translated=tongue != draft_tongue)
            if near > foreign:
                source, foreign = piece, near
        assistant = _nearest(asked, self._assistant, is_translated=is_translated)
        least = SAID if foreign < SAID else FOREIGN  # what came from elsewhere must have been put to him as it is
        named = [one for one in self._agreements if one.named(asked, is_translated=is_translated) >= least]
        is_agreed = any(one.repeats(asked) or (kind != MemoryType.USER and one.keeps(foreign)) for one in named)
        return Support(user, foreign, assistant, source, is_agreed, denied)

    def has_told(self, claim: str, values: frozenset[str]) -> bool:
        """Whether somebody named these values; the user may have told them otherwise, a date or a number in words."""
        if values <= self._values:
            return True
        asked, is_translated = Sentence(claim), tongue_of(claim) != self.tongue
        counted = (one for one in self._own if counts(one.text))
        return any(
            one.terms & asked.terms or asked.nearness(one, is_translated=is_translated) >= HINT for one in counted
        )

    @cached_property
    def _values(self) -> frozenset[str]:
        return frozenset().union(*(values_in(piece.text) for piece in self._said))

    def has_turned(self, claim: str, kind: MemoryType | None) -> bool:
        """Whether the user's own words turn what a memory said into this: one says all of it, or speaks of it as of a
        rule, a denial or a change. Or he agreed to it."""
        asked, values, tongue = sentence_of(claim), values_in(claim), tongue_of(claim)
        said = (one for one in self._own[: self._sentences] if not is_turned(one.text, claim, values))
        return any(self._speaks_of(one, asked) for one in said) or self.support(claim, kind, tongue).is_agreed

    def _speaks_of(self, said: Sentence, asked: Sentence) -> bool:
        shared, cues_in = len(said.terms & asked.terms), _cues(asked.text, tongue_of(asked.text))
        ruling = (word for cue in cues_in if cue.meaning in _ALWAYS for word in cue.phrase.split())
        if asked.terms - {stem(word) for word in ruling} <= said.terms:
            return True
        tongue = language(fold(said.text))
        if not (_meanings(said.text, tongue) & (_LASTING | _LIMITS) or anywhere("negated", tongue).search(said.text)):
            return False
        points_back = len(said.terms) < TELLING_TERMS and not self._reads_more
        is_translated = tongue_of(asked.text) != self.tongue
        is_near = 2 * shared >= min(len(said.terms), len(asked.terms))
        return points_back or is_near or (is_translated and asked.nearness(said, is_translated=True) >= SAID)

    def borrows(self, claim: str, known: Iterable[str]) -> bool:
        """Whether an address, a command or a figure of it stands in what a tool or page said, and neither in the user's
        words nor in what was `known`: his sentence with somebody else's value is not his. A number he may have told in
        words."""
        own, theirs = self._texts
        stood = _to_the_letter(known)
        codes = {_to_the_letter([code]).strip() for code in _CODE.findall(claim)}
        found = codes | {word for word in _to_the_letter([_DAY.sub(" ", claim)]).split() if _EXACT.search(word)}
        near = (one for one in self._own if one.terms & Sentence(claim).terms)
        if any(not number_words(self.tongue).isdisjoint(one.words) for one in near):
            found = {one for one in found if not one[:1].isdigit()}
        news = (f" {one} " for one in found if one)
        return any(one in theirs and one not in stood and one not in own for one in news)

    @cached_property
    def _texts(self) -> tuple[str, str]:
        """What the user said, or who may be him, and what tools did."""
        texts: tuple[list[str], list[str]] = ([], [])
        for piece in self._said:
            is_doubted = piece.speaker is Speaker.REMINDER and not piece.message_id  # a memory of low trust
            is_tools = piece.speaker is Speaker.TOOL or is_doubted
            if is_tools or piece.speaker is not Speaker.ASSISTANT:
                texts[is_tools].append(piece.text)
        return _to_the_letter(texts[0]), _to_the_letter(texts[1])

    def lends_words(self, claim: str, beside: str) -> bool:
        """Whether a claim has words of somebody else's that neither the user nor what stands beside it has."""
        ours = Sentence(beside).terms.union(*(one.terms for one in self._told))
        theirs = Sentence(claim).terms - ours
        return bool(theirs) and any(theirs & sentence.terms for *_, sentence in self._foreign)

    def messages_of(self, claims: Iterable[str], *, is_translated: bool) -> tuple[str, ...]:
        """The messages of the user and the assistant that say what is claimed; of those of one that say it in the very
        same words the last: a prompt that was sent again tells nothing more."""
        asked = [Sentence(claim) for claim in claims]
        said = {
            other: max((one.nearness(other, is_translated=is_translated) for one in asked), default=0.0)
            for other in {other for _, other in self._trusted}
        }
        last = {(piece.speaker, other.text): (said[other], piece.message_id) for piece, other in self._trusted}
        near, best = last.values(), max((score for score, _ in last.values()), default=0.0)
        return tuple(dict.fromkeys(message for score, message in near if score >= SAID and score >= best / 2))

    def said_of(self, claims: Iterable[str], *, is_translated: bool) -> list[str]:
        """The user's own sentences that say what is claimed, or ask for it."""
        asked = [Sentence(claim) for claim in claims]
        own = self._own[: self._sentences]  # without those with the next, which may be about something else
        return [one.text for one in own if _nearest(one, asked, is_translated=is_translated) >= SAID]

    def is_plainly_said(self, claim: str, *, is_translated: bool) -> bool | None:
        """Whether the user says it himself, as a wish or a fact of his own: neither asked, nor meant otherwise, nor put
        behind a colon or into quotes as somebody's text, nor the opposite of it. None where he says nothing like it."""
        asked = Sentence(claim)
        near = [(asked.nearness(one, is_translated=is_translated), one.text) for one in self._own[: self._sentences]]
        best = max((score for score, _ in near), default=0.0)
        said = [text for score, text in near if score == best >= SAID]
        if not said:
            return None
        if not all(_is_plain(text, self.tongue) for text in said):
            return False
        return is_translated or not any(is_opposite(text, claim, self.tongue, is_counted=True) for text in said)

    def _statements(self, text: str) -> list[str]:
        """The sentences that say something and mean it; a question only when it asks for something lasting, and not
        whether that is wise."""
        found = [(one, _meanings(one, self.tongue)) for one in sentences_of(text) if not _wonders(one)]
        return [one for one, meant in found if meant & _ASKED_FOR or not (meant & _OPEN or _is_question(one))]

    def _find_agreements(self) -> Iterator[Agreement]:
        """The user's answers to what the assistant has just said, and his words about what he pasted above them; what
        he asked is agreed to when the assistant said no word against it."""
        named: list[str] = []
        wondered: list[str] = []
        speaker = message = ""
        for piece in self._said:
            if piece.speaker is Speaker.USER:
                if named and len(piece.text.split()) <= MAX_REPLY_WORDS:
                    yield Agreement(named, piece.text, self.tongue)
                    if wondered and not Answer(" ".join(named)).refuses:
                        yield from (Agreement([one], piece.text, self.tongue) for one in wondered)
                named = []  # it is answered, with yes or no or not at all
                wondered = [one for one in sentences_of(piece.text) if _wonders(one)]
                continue
            if piece.speaker in (Speaker.ASSISTANT, Speaker.PASTE):
                is_same = (speaker, message) == (piece.speaker, piece.message_id)
                named = [*(named if is_same else ()), *sentences_of(piece.text)]
                speaker, message = piece.speaker, piece.message_id


class Agreement:
    """A short answer of the user, and what it can mean: what was asked, or else what was said before the question."""

    def __init__(self, before: Sequence[str], reply: str, tongue: str) -> None:
        found, answer = _cues(reply, tongue), Answer(reply)
        meant = {cue.meaning for cue in found}
        asked = before[-1] if _is_question(before[-1]) else ""
        agreeing = {stem(word) for cue in found if cue.meaning in _AGREES for word in cue.phrase.split()}
        self._topic = Sentence(reply).terms - agreeing - answer.agreeing
        is_chosen = bool(asked) and (answer.chooses or self._picks(asked, reply))
        is_limited = bool(_meanings(answer.plain, tongue) & _LIMITS) and not answer.chooses
        is_open = bool(re.search("[?？]", reply)) or (is_limited and "durable" not in meant)
        self.agrees: bool = (answer.agrees or is_chosen) and not answer.refuses and not is_open
        keeps = bool(_meanings(asked, tongue) & _KEEPS)
        self._lasts = answer.agrees and ("durable" in meant or keeps)
        # A yes to a proposal of a sentence or two; to more than that it may be a yes to anything.
        is_plain = answer.agrees and (bool(asked) or len(before) <= MAX_PROPOSED)
        self._is_plain = is_plain or (bool(asked) and answer.chooses)
        # A question asks for what it names; one that only points back, for what was said before it.
        points_back = keeps or anywhere("points-back", tongue).search(asked) is not None
        self._named = _windows([asked] if asked and not points_back else before)

    def _picks(self, asked: str, reply: str) -> bool:
        """Whether a short answer only names one of the things that a question leaves to choose from."""
        is_short = len(reply.split()) <= MAX_ANSWER_WORDS
        leaves_choice = anywhere("or").search(asked) is not None
        return is_short and leaves_choice and bool(self._topic) and self._topic <= Sentence(asked).terms

    def named(self, claim: Sentence, *, is_translated: bool) -> float:
        """How near what was put to the user comes to this, if he agreed."""
        return _nearest(claim, self._named, is_translated=is_translated) if self.agrees else 0.0

    def repeats(self, claim: Sentence) -> bool:
        """Whether his answer names it again: by one of its words where it has few, else by two."""
        return len(self._topic & claim.terms) >= min(2, (len(claim.terms) + 1) // 2)

    def keeps(self, foreign: float) -> bool:
        """Whether it is a bare yes that holds for good; to what the assistant did not take from elsewhere any is."""
        size = sum(DENSE_TERM if is_unspaced(term[0]) else 1.0 for term in self._topic)
        return size < TELLING_TERMS and (self._lasts or (self._is_plain and foreign < SAID))


def _to_the_letter(texts: Iterable[str]) -> str:
    """The words of some texts without what encloses or ends them, each between spaces."""
    words = (word.strip("`'\"“”„«»()[]{}<>,;:!?.…*_/") for text in texts for word in text.casefold().split())
    return f" {' '.join(words)} "


def _nearest(claim: Sentence, sentences: Iterable[Sentence], *, is_translated: bool) -> float:
    return max((claim.nearness(other, is_translated=is_translated) for other in sentences), default=0.0)


@lru_cache(maxsize=512)
def _cues(text: str, tongue: str) -> list[Cue]:
    """What a text's turns of phrase mean; in every language where its own is not known."""
    folded = fold(text)
    tongues = small_words() if tongue == UNKNOWN else (tongue,)
    return [cue for name in tongues for cue in cues(folded, tokens(folded), name)]


def _meanings(text: str, tongue: str) -> frozenset[str]:
    return frozenset(cue.meaning for cue in _cues(text, tongue))


def _is_plain(text: str, tongue: str) -> bool:
    """Whether a sentence is said in one's own name and meant."""
    if _is_question(text) or _meanings(text, tongue) & _OPEN or re.search('["“„«「]', text):
        return False
    head, colon, _ = text.partition(":")
    return not colon or bool(_meanings(head, tongue) & (_ASKED_FOR | {"remember", "self"}))


def _is_question(text: str) -> bool:
    return text.rstrip().endswith(("?", "？"))


def _wonders(text: str) -> bool:
    """Whether a question asks if something is to be so: "Should we always …?"."""
    return _is_question(text) and _wondering().match(text) is not None


@cache
def _wondering() -> re.Pattern[str]:
    return re.compile(rf"\W*(?:\w+\W+)?(?:{alternatives('wonders')})", re.IGNORECASE)


def _texts(pieces: Iterable[Said]) -> list[str]:
    return [text for piece in pieces for text in sentences_of(piece.text)]


def _windows(texts: Iterable[str]) -> list[Sentence]:
    """Each sentence, and each with the next: what is said in two breaths."""
    found = list(texts)
    return [sentence_of(text) for text in (*found, *(f"{one} {other}" for one, other in pairwise(found)))]
