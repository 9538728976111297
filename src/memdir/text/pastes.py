"""What in a user's message somebody else wrote: tickets, mails, chats, logs, data, code, documents, quotations (X12).

Found by its shape where it has one (a log, a mail's head, lines with a speaker), by how it is announced ("the docs
say:"), and where it has neither by standing beside a short request as a text of another register. The user's own lists,
and what he says before and after, stay his.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Literal

from memdir.text.language import alternatives, anywhere, at_end
from memdir.text.sentences import LINES, QUOTE, bounds, masked, sentences_of
from memdir.text.words import is_unspaced

MAX_TYPED = 12_000  # characters; nobody types more at once, and a paste needs no closer look
MAX_QUOTE_WORDS = 4  # a longer quotation is somebody's sentence, a shorter one is the name of a page or a button
MAX_GAP = 20  # characters between a colon and the quotation that it introduces
MAX_REQUEST_WORDS = 30  # what stands beside a pasted text and says what to do with it
MIN_DOCUMENT_WORDS = 20  # or two sentences: a text that somebody wrote as one
MIN_BROKEN_LINES = 2  # breaks in a paragraph that is set in lines, as nobody writes who tells what he wants
MAX_LABEL_WORDS = 4  # of who speaks, or of a field's name
MAX_ANNOUNCING_WORDS = 10  # "here is what the ticket says:"

Whose = Literal["own", "reported", "unclear", "pasted"]
Part = tuple[bool, str]  # whether it is the user's own, and the text

_FENCE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z))", re.DOTALL)
_LEVEL = "DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE|FAILED|PASSED|FAIL|npm ERR!"
_CODE = (
    r"(?:async )?(?:def|function|func|fn)\s+\w*\s*\(|class\s+\w+\s*[({:]\s*$|(?:const|let|var)\s\w+\s*="
    r"|import\s+(?:[\w.]+\s*$|\S.*\sfrom\s\S+$|.*;$)|(?:public|private|export)\s\w+\s\w+.*[({]|return\b.*;$"
)
_TRACED = r"Traceback\b|at\s+[\w.$<>/]+\(|File \"|Caused by:|[\w.]+(?:Error|Exception)\b"
_SPEAKS = r"(?:user|human|assistant|system|ai)\s*:\s|\[\[?\w+\]\]?\s*:|Q\d+\b"
_LOGGED = rf"\[?\d{{4}}-\d\d-\d\d[T ]\d|\[?\d{{1,2}}:\d{{2}}:\d{{2}}\b|(?:{_LEVEL})(?!\w)[:\s]"
_SET = r"[-+ ]?\s*[\w.\[\]-]+ ?=(?!=) ?\S|\[[\w.\s\"-]+\]\s*$|\"[\w -]+\"\s*:|[{}\[\]()]+[,;]?\s*$"
_TYPED = r"[$%]\s\S|[\w-]+@[\w-]+[:~]|//|/\*|\*/|#!|<!--|#include|</?[A-Za-z][\w:-]*[^<>]*>|.*[;{}]\s*$"
_CHANGED = r"\+\+\+|@@|diff --git|commit [0-9a-f]{5,}|--- [ab]/"
_SHAPED = re.compile(
    rf"\s*(?:[>|✖✔✓✗✘⚠]|##?\[|{_CHANGED}|{_TRACED}|{_SPEAKS}|{_LOGGED}|{_SET}|{_TYPED}|{_CODE}|.+\|.+\|)",
    re.IGNORECASE,
)
_INLINE = re.compile(r"\s*(?:\{.*\}|\[.*\]|<([A-Za-z][\w:-]*)[^<>]*>.*</\1\s*>)(?=\s|$)", re.DOTALL)
_TAG_LINE = re.compile(r"^[ \t]*<(?P<closing>/?)(?P<name>[A-Za-z][\w:-]*)\b[^<>\n]*>[ \t]*$", re.MULTILINE)
_PROMPT = re.compile(
    r"\s*(?:[\w.-]+@[\w.-]+[:~ ][^\n]*[$#%]\s|[$%]\s\S|(?:fatal|panic|npm err!|error)\b.{0,3}[:!])", re.IGNORECASE
)
_COMMENT = re.compile(r"\s*(?:#|\*|--|;)\s*\S")
_ITEM = re.compile(r"\s*(?:[-*•–+]|\(?\d+[.)])\s+\S")
_LABEL = re.compile(
    r"\s*(?P<clock>\[?\d{1,2}[:.]\d{2}[^\]\n]{0,12}\]?\s+)?(?P<who>[^\W\d_][^:：\n?!;\"“]{0,40}?)"
    r"(?P<time>[\s,(]+\d{1,2}:\d{2}\)?)?\s?(?::\s|：|:$)",
)
_QUESTION = re.compile(r"[?？](?:[\s\"”»)]|$)")
_CREDIT = re.compile(r"\((?:from|via|source|aus|quelle|de|da|van|fonte|fuente|из|出典|来源)\b[^()\n]*\)", re.IGNORECASE)
_SALUTES = re.compile(r"(?:[^\W\d_]+ ){1,3}?[^\W\d_]+ ?[,!:]\s*")  # "Hey Tom," on a line of its own
_HEADING = re.compile(r"#{1,4} \S")
_HEADED = re.compile(r"(.{2,80}?)(: |：| [-–—] )(.*)", re.DOTALL)  # "the docs: …", "a comment of Lena's - …"
_TIMED = "@"  # behind a label that bears a time
_TURNS = re.compile(r"[,;–—]\s+|\s-\s|[，；]")


def _has(meaning: str, text: str) -> bool:
    return anywhere(meaning).search(text) is not None


def cut_pastes(text: str) -> list[tuple[Whose, str]]:
    """A message's parts in order: the user's own words, what the user tells that somebody said, what was pasted."""
    parts = _without_documents(_ParagraphReader().read(text[:MAX_TYPED]))
    if text[MAX_TYPED:].strip():
        parts.append((False, text[MAX_TYPED:]))
    # Who says nothing else has most likely not pasted the fields he fills, unless they are those of a record.
    is_alone = not any(is_own and part.strip() for is_own, part in parts) and not _is_record(parts)
    is_mine = is_alone or any(is_own and _has("mine", part) and not _QUESTION.search(part) for is_own, part in parts)
    found: list[tuple[Whose, str]] = []
    is_framed = _is_framed(parts)
    for is_own, part in parts:
        if is_own or (is_mine and _is_list(part)):  # data and words of the user's, in the user's name
            found += [("own", f"{part}\n")] if is_mine else _by_hand(part, is_framed=is_framed)
        elif part.strip():
            found.append(("pasted", f"{part}\n"))
    return found


def _is_framed(parts: list[Part]) -> bool:
    """Whether a careless hand begins or ends the message: then a careful line in it is of another hand."""
    lines = [line for is_own, part in parts if is_own for line in part.split("\n") if line.strip()]
    return any(line.strip()[0].islower() for line in (*lines[:1], *lines[-1:]))


def _by_hand(part: str, *, is_framed: bool) -> Iterator[tuple[Whose, str]]:
    """The user's sentences of some lines; careful lines among careless ones may be his or pasted, but for a wish."""

    def is_of_another(line: str) -> bool:
        return is_framed and _is_careful(line) and not anywhere("remember-this").match(line.strip())

    for is_careful, lines in groupby(part.split("\n"), key=is_of_another):
        text = "\n".join(lines) + "\n"
        if is_careful:
            yield "unclear", text
        else:
            yield from _own_sentences(text)


def _is_careful(line: str) -> bool:
    """Whether a line is set like a text: with a capital, and a stop behind its sentences."""
    text = line.strip().lstrip("\"'“„«‘([-*• 0123456789")
    return text[:1].isupper() and bool(re.search(r"[.!…][\"'”»)\]]*(?:\s+[\"“„«(]?[^\W\d_a-z]|$)", text))


class _ParagraphReader:
    """Goes through a message's paragraphs and knows whether a text that somebody wrote is under way."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._under_way = ""  # "letter" or "announced"
        self._pasted = ""  # the paragraph of it that was read last

    def read(self, text: str) -> list[Part]:
        blocks = list(_blocks(text))
        # What begins with a greeting and is signed further down is a letter.
        signed = max((at for at, block in enumerate(blocks) if _is_signed(f"\n{block}")), default=0)
        for at, block in enumerate(blocks):
            is_last = at == len(blocks) - 1
            if block.startswith(("```", "~~~")):
                self._paste(block, "")
            elif self._under_way == "announced" and all(_shaped_lines(block.split("\n"))):
                self._paste(block, "")  # it has a shape, so its end can be seen
            elif self._under_way and not (is_last and self._returns(block)):
                self._paste(block, "" if self._under_way == "letter" and _is_signed(block) else self._under_way)
            elif _opens_letter(block, is_alone=len(blocks) == 1) or (at < signed and _SALUTES.fullmatch(block)):
                self._paste(block, "" if _is_signed(block) else "letter")
            else:
                self._under_way = ""
                self._take(block, "".join(blocks[at + 1 : at + 2]))
        return self._parts

    def _paste(self, block: str, under_way: str) -> None:
        self._parts.append((False, block))
        self._under_way, self._pasted = under_way, block

    def _returns(self, block: str) -> bool:
        """Whether the last paragraph is the user's again. Who pastes first writes below it; who has spoken before is
        heard again only in a question, or in words that are not those of a document."""
        if not self._pasted:
            return False
        spoke_before = any(is_own for is_own, _ in self._parts)
        return not spoke_before or bool(_QUESTION.search(block)) or _register(block) != _register(self._pasted)

    def _take(self, block: str, after: str) -> None:
        """A paragraph outside of any text: the user's, but for the lines that have a shape."""
        lines = block.split("\n")
        shaped = _shaped_lines(lines)
        own: list[str] = []
        last = len(lines) - 1
        for at, line in enumerate(lines):
            inline = None if shaped[at] else _INLINE.match(line)
            if shaped[at] or inline:
                self._parts += [(True, "\n".join(own)), (False, inline.group() if inline else line)]
                own = [line[inline.end() :]] if inline else []
                continue
            own.append(line)
            following = lines[at + 1] if at < last else after
            if _announces(line, following, is_last=at == last):
                self._under_way, self._pasted = ("", "") if any(map(str.strip, lines[at + 1 :])) else ("announced", "")
                back = len(lines) - 1 if at < len(lines) - 2 and _comes_back(lines, len(lines) - 1) else len(lines)
                self._parts += [(True, "\n".join(own)), (False, "\n".join(lines[at + 1 : back]))]
                self._parts += [(True, line) for line in lines[back:]]
                return
        self._parts.append((True, "\n".join(own)))


def _blocks(text: str) -> Iterator[str]:
    """Fenced blocks and paragraphs, in order."""
    for piece in _FENCE.split(re.sub(r"\r\n?", "\n", text)):
        if piece.startswith(("```", "~~~")):
            yield piece
        else:
            for block in _paragraphs(piece):
                yield from (part for part in _apart(block.strip("\n")) if part.strip())


def _paragraphs(text: str) -> Iterator[str]:
    """What blank lines part; not within an element whose tags stand on lines of their own, which is one piece."""
    tags = list(_TAG_LINE.finditer(text))
    last_closed = {tag["name"]: tag.end() for tag in tags if tag["closing"]}
    done, open_tag, depth = 0, "", 0
    for tag in tags:
        name, is_closing = tag["name"], bool(tag["closing"])
        if not open_tag and not is_closing and last_closed.get(name, 0) > tag.end():
            yield from re.split(r"\n\s*\n", text[done : tag.start()])
            done, open_tag, depth = tag.start(), name, 1
        elif name == open_tag:
            depth += -1 if is_closing else 1
            if not depth or tag.end() == last_closed[name]:
                yield text[done : tag.end()]
                done, open_tag = tag.end(), ""
    yield from re.split(r"\n\s*\n", text[done:])


def _apart(block: str) -> list[str]:
    """A question at either end of some lines stands apart from them: it is about them."""
    first, _, after = block.partition("\n")
    before, _, last = block.rpartition("\n")
    if before and _QUESTION.search(last) and not _label(last):
        return [before, last]
    points = _QUESTION.search(first) or (_has("this-text", first) and _register(first) != _register(after))
    if after and points and not _label(first) and not _ITEM.match(after) and not _SHAPED.match(first):
        return [first, after]
    return [block]


def _shaped_lines(lines: list[str]) -> list[bool]:
    """Which lines of a paragraph are data, code, logs, quotations or somebody speaking under a name."""
    shaped = [bool(_SHAPED.match(line)) and not _is_inline(line) for line in lines]
    if all(re.match(r"[-+][^\s\d+-]", line) for line in lines):
        return [True] * len(lines)  # a diff
    rows = _rows(lines)
    labels = [_label(line) for line in lines]
    labels[0] = "" if anywhere("remember-this").match(labels[0]) else labels[0]  # "note to yourself: …" and a paste
    named = sum(map(bool, labels)) >= 2 or any(label.endswith(_TIMED) for label in labels)
    begun = False
    for at, line in enumerate(lines):
        begun = begun or (named and bool(labels[at])) or bool(_PROMPT.match(line))  # a terminal goes on, too
        if begun and not shaped[at] and _comes_back(lines, at):
            break
        is_mine = bool(labels[at]) and bool(anywhere("me").match(labels[at]))
        near = any(shaped[max(0, at - 1) : at + 2]) and bool(_COMMENT.match(line) or line.startswith("  "))
        shaped[at] = shaped[at] or rows[at] or (begun and not is_mine) or near
    return shaped if any(line.lstrip().startswith(">") for line in lines) else _without_gaps(shaped)


def _without_gaps(shaped: list[bool]) -> list[bool]:
    """What stands between the lines of a log or a file is of it; only quotations are answered line by line."""
    first, last = shaped.index(True) if any(shaped) else 0, len(shaped) - shaped[::-1].index(True) if any(shaped) else 0
    return [is_shaped or first < at < last for at, is_shaped in enumerate(shaped)]


def _comes_back(lines: list[str], at: int) -> bool:
    """Whether below somebody's words the user speaks again: in the last line, of himself or to the assistant."""
    line = lines[at]
    is_last = 0 < at == len(lines) - 1
    return is_last and not _label(line) and not _is_careful(line) and (_is_personal(line) or _wishes(line))


def _is_inline(line: str) -> bool:
    """Data and, behind it on the same line, words about it."""
    inline = _INLINE.match(line)
    return bool(inline and len(line[inline.end() :].split()) >= 2)


def _label(line: str) -> str:
    """Who speaks in a line, or the field that it fills; with a mark where it bears a time; empty for prose."""
    match = _LABEL.match(line)
    if match is None or _ITEM.match(line) or len(match["who"].split()) > MAX_LABEL_WORDS:
        return ""
    return match["who"] + (_TIMED if match["clock"] or match["time"] else "")


def _rows(lines: list[str]) -> list[bool]:
    """Lines that have as many fields as their neighbours: a table without a frame."""
    for mark in (",", ";", "\t"):
        field = re.compile(rf'(?:^|{mark})(?:"[^"]*"|[^{mark}]*)')
        fields = [0 if f"{mark} " in line else len(field.findall(line)) for line in lines]
        rows = [
            count >= 3 and count in (fields[at - 1 : at] + fields[at + 1 : at + 2]) for at, count in enumerate(fields)
        ]
        if any(rows):
            return rows
    return [False] * len(lines)


def _opens_letter(block: str, *, is_alone: bool) -> bool:
    """A mail's head, a forwarding mark, or a greeting to several."""
    first, _, rest = block.strip().partition("\n")
    if anywhere("forwarded").match(first.strip("-=_> \t")):
        return True
    heads = [line for line in block.split("\n") if _is_head(line)]
    if len(heads) >= 2 or (heads and "@" in heads[0]):
        return True
    if anywhere("subject").match(first.strip()) and _is_head(first):
        return True
    return bool(anywhere("greeting").match(first.strip())) and (bool(rest) or not is_alone)


def _is_head(line: str) -> bool:
    heads = f"{alternatives('mail-head')}|{alternatives('subject')}"
    return re.match(rf"\s*\W*(?:{heads})\W*:\s*\S", line, re.IGNORECASE) is not None


def _is_signed(block: str) -> bool:
    """Whether a letter ends here: by a farewell, or a name alone on the last line."""
    lines = [line.strip() for line in block.split("\n") if line.strip()]
    last = lines[-1]
    if len(lines) > 1 and any(anywhere("farewell").match(line) and len(line.split()) <= 4 for line in lines[-2:]):
        return True
    words = last.split()
    is_name = len(words) <= 3 and all(word[:1].isupper() for word in words)
    return len(lines) > 1 and is_name and not re.search(r"[.!?:;,]$", last)


def _announces(line: str, after: str, *, is_last: bool) -> bool:
    """Whether a line hands over to somebody's words: "From the docs:", "here is what the ticket says:", "shorten
    this:", or a heading before a list."""
    text = line.strip()
    if not text.endswith((":", "：")):
        is_heading = bool(_ITEM.match(after)) and not is_last and not _QUESTION.search(text)
        return is_heading and _names_source(text)
    if _has("reports", text) or _has("hands-over", text):
        return True
    return _names_source(text) or (is_last and _has("this-text", text) and not _ITEM.match(after) and not _wishes(text))


def _names_source(text: str) -> bool:
    return len(text.split()) <= MAX_ANNOUNCING_WORDS and _has("source", text) and not _wishes(text)


def _wishes(text: str) -> bool:
    return _has("wish", text) and not _QUESTION.search(text)


def _without_documents(parts: list[Part]) -> list[Part]:
    """The same without the paragraphs that nothing announces, but that a short request beside them is about."""
    own = [at for at, (is_own, text) in enumerate(parts) if is_own and text.strip()]
    requests = [at for at in (*own[-1:], *own[:1]) if _is_request(parts[at][1])]
    if len(own) < 2 or not requests:
        return parts
    asking = requests[0]
    is_headed = any(_HEADING.match(parts[at][1]) for at in own if at != asking)
    return [
        (is_own and (at == asking or not _is_material(text, parts[asking][1], is_headed=is_headed)), text)
        for at, (is_own, text) in enumerate(parts)
    ]


def _is_request(text: str) -> bool:
    is_open = not re.search(r"[.。]\s*$", text)
    return len(text.split()) <= MAX_REQUEST_WORDS and (
        bool(_QUESTION.search(text)) or _has("hands-over", text) or is_open
    )


def _is_material(text: str, asking: str, *, is_headed: bool) -> bool:
    """Whether a paragraph is what a request is about: it says that somebody wrote it or points to it, or the paragraph
    is a text of its own in another register. Who speaks of himself speaks for himself."""
    if _has("reports", asking) or (is_headed and not _wishes(text)) or _hands_this_over(asking):
        return True
    if _has("mine", asking) or (_has("first-person", text) and text.strip().count("\n") < MIN_BROKEN_LINES):
        return False
    if _has("this-text", asking) and (_QUESTION.search(asking) or _has("hands-over", asking)):
        return True
    is_long = len(text.split()) >= MIN_DOCUMENT_WORDS or len(sentences_of(text, LINES)) >= 2
    return is_long and not _ITEM.match(text) and _register(text) != _register(asking)


def _hands_this_over(asking: str) -> bool:
    """ "Can you polish this?", "is this review fair?": whoever speaks in the text, it is a text to be worked on."""
    is_named = _has("hands-over", asking) or (bool(_QUESTION.search(asking)) and _has("source", asking))
    return is_named and _has("this-text", asking) and not _has("mine", asking)


def _register(text: str) -> tuple[bool, bool]:
    """How carefully it is written: whether it begins with a capital and ends with a stop."""
    stripped = text.strip().strip("\"'“”«»-*• ")
    return stripped[:1].isupper(), bool(re.search(r"[.!。！…:][\"'”»)\]]*$", stripped))


def _is_list(part: str) -> bool:
    """Fields or data rather than a letter or a quotation: what a person would write of himself."""
    is_timed = _label(part).endswith(_TIMED)
    return not is_timed and not _opens_letter(part, is_alone=True) and part.lstrip()[:1] not in tuple('>"“„«')


def _is_record(parts: list[Part]) -> bool:
    """Whether it is a ticket, a mail, a chat, code or data rather than a person's own notes under short headings."""
    lines = [line for _, part in parts for line in part.split("\n") if line.strip()]
    labels = [_label(line) for line in lines]
    is_noted = all(label and not label.endswith(_TIMED) for label in labels) and not any(map(_SHAPED.match, lines))
    return not is_noted or any(anywhere("field").match(label) or len(label.split()) > 2 for label in labels)


def _own_sentences(text: str) -> Iterator[tuple[Whose, str]]:
    """The user's own sentences, and what in them is not his: longer quotations, and what somebody said."""
    credit = _CREDIT.search(text)
    if credit:
        yield "pasted", text[: credit.end()]
        text = text[credit.end() :]
    under_way: Whose | None = None
    for start, end in bounds(masked(text)):
        sentence = text[start:end]
        yield from (("pasted", found.group()) for found in QUOTE.finditer(sentence) if _is_long(found))
        spoken = QUOTE.sub(lambda found: "“…”" if _is_long(found) else found.group(), sentence)
        pieces = _split_report(spoken)
        # What was begun behind a colon, or is asked about, goes on until the user asks, or speaks of himself: in a text
        # to be worked on whoever wrote it does.
        under_way = None if _is_personal(spoken) and (under_way != "pasted" or _QUESTION.search(spoken)) else under_way
        if under_way:
            pieces = [(under_way, spoken)]
        yield from pieces
        is_asked = bool(_QUESTION.search(spoken)) and _has("this-text", spoken) and _has("source", spoken)
        is_begun = len(pieces) > 1 and pieces[-1][0] != "own"
        under_way = under_way or (pieces[-1][0] if is_begun else "reported" if is_asked else None)


def _is_personal(sentence: str) -> bool:
    return bool(_QUESTION.search(sentence)) or _has("first-person", sentence)


def _is_long(found: re.Match[str]) -> bool:
    """Whether a quotation is somebody's sentence: by its length, or because a colon hands over to it."""
    inside = found.group()[1:-1]
    words = max(len(inside.split()), sum(map(is_unspaced, inside)) // 2)
    is_introduced = found.string[max(0, found.start() - MAX_GAP) : found.start()].rstrip().endswith((":", "："))
    return words > (MAX_QUOTE_WORDS - 1 if is_introduced else MAX_QUOTE_WORDS)


def is_reported_from(sentence: str, at: int) -> bool:
    """Whether what stands at a place of a sentence is what somebody else said, wants or wrote: "from the docs: | never
    …", but not "no lists, | their parser chokes on it, they said"."""
    for whose, part in _split_report(sentence):
        at -= len(part)
        if at < 0 and not part.rstrip().endswith((":", "：")):
            return whose != "own"
    return False


def _split_report(sentence: str) -> list[tuple[Whose, str]]:
    """What of a sentence is the user's own, and what somebody else said according to it: behind the colon, or up to
    where the user turns to himself."""
    headed = _HEADED.match(sentence)
    head, colon, rest = headed.groups() if headed else ("", "", "")
    is_own = anywhere("scope").match(head) or anywhere("remember-this").match(head)
    if colon and rest[:1] not in "\"'“„«‘「" and not is_own:
        plainly = anywhere("polite").sub("", anywhere("asks").sub("", head))  # that is no wish of how to work
        if _has("hands-over", head) and not _wishes(plainly):
            return [("own", head + colon), ("pasted", rest)]
        if _names_source(head):
            return [("own", head + colon), ("reported", rest)]
    report = anywhere("reports").search(masked(sentence))
    if report is None or _has("me", " ".join(sentence[: report.start()].split()[-2:])):
        return [("own", sentence)]
    begin = max((turn.end() for turn in _TURNS.finditer(sentence, 0, report.start())), default=0)
    if begin and at_end("asked-so").search(sentence.rstrip(" .!")):
        return [("own", sentence)]  # "never on Fridays, the team asked for that": a rule with its reason
    if len(sentence[report.end() :].split()) <= MAX_LABEL_WORDS:
        begin = 0  # "…, says the wiki": what was said stands before
    # The first turn behind the report with the user's own words anywhere behind it: it need only be asked once.
    turn = _TURNS.search(sentence, report.end())
    if turn and (_has("first-person", sentence[turn.end() :]) or _has("wish", sentence[turn.end() :])):
        parts = sentence[:begin], sentence[begin : turn.end()], sentence[turn.end() :]
        return [("own", parts[0]), ("reported", parts[1]), ("own", parts[2])]
    return [("own", sentence[:begin]), ("reported", sentence[begin:])]
