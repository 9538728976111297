"""The form of what a model writes: repaired where it is plain what was meant, else refused in words it can act on (S6).

Small models wrap a file in a fence, begin it with a remark, forget a line of dashes. None of that may cost the memory,
and none of it may stand in one. What is well formed is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

from memdir.errors import BadMemoryFile
from memdir.store.frontmatter import TRUST_FIELD, find_block, quoted
from memdir.store.topic import MemoryType, Topic, parse_type
from memdir.store.trust import marked_trust
from memdir.text.language import alternatives
from memdir.text.naming import describe
from memdir.text.printable import printable

HOW_TO_DELETE = "To delete a memory, Write it with the single line <!-- delete: the reason -->"
FORM = (
    "Write the whole file again in this form, without a fence around it: a line ---, then the lines name: …, "
    "description: … and type: (user, feedback, project or reference), then a line ---, then the memory"
)
MAX_DELETING = 200  # bytes of a text in the place of a memory that may be meant to delete it
MAX_REMARK_LINES = 2  # before or after the file: what a model says about it; what more is meant to be, nobody knows
_FIELDS = {
    **dict.fromkeys(("name", "title"), "name"),
    **dict.fromkeys(("description", "desc", "summary", "hook", "about"), "description"),
    **dict.fromkeys(("type", "kind", "category", "memory_type", "memory type"), "type"),
    **{word: word for word in ("trust", "pinned", "tags", "created", "updated", "date")},
}
_MAIN = ("name", "description", "type")
_KINDS = {
    **dict.fromkeys(("person", "profile", "persona", "about_user", "user_profile", "identity"), MemoryType.USER),
    **dict.fromkeys(("preference", "rule", "correction", "convention", "guideline", "style"), MemoryType.FEEDBACK),
    **dict.fromkeys(("decision", "deadline", "fact", "event", "goal", "incident", "status"), MemoryType.PROJECT),
    **dict.fromkeys(("link", "pointer", "resource", "contact", "url", "bookmark"), MemoryType.REFERENCE),
}
_DASHES = re.compile(r"\s*(?:-{3,}|\+{3,}|\*{3,}|_{3,}|={3,}|~{3}|[—–]{1,3})\s*$")
_FIELD = re.compile(
    r"\s{0,3}(?:[-*] )?[*_`\"']{0,3}(?P<key>[A-Za-z][\w ]{1,14}?)[*_`\"']{0,3}\s*[:=][*_]{0,2}\s*(?P<value>.*)$"
)
_THEIRS = re.compile(r"[^\s:#][^:]{0,40}:(?:\s|$)")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[\w+.-]*[ \t]*$")
_CLOSES = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]+\S*(?:\s\S|[.!?:])")  # and says something behind it
_CLOSES_LAST = re.compile(r"(?<=[^\s`])```\s*\Z")
_RULE_FIRST = re.compile(r"\A\s*-{3,}[ \t]*\n")
_LABEL = re.compile(r"\s*(?:[-*+] )?(?:\*\*[^*:\n]{2,40}(?::\*\*|\*\*:)|(?:Why|How to apply):)")
_NUMBERED = re.compile(r"\s*(\d+)(?:\t|→|\||: |:$|\. |\.$| {2}|$)")
_DELETION = re.compile(
    r"<!-{1,3}[\s*]*(?:please\s+)?(?:delet|remov)(?:e[ds]?|ing|ion)\b(?:\s+(?:this|the)\s+(?:file|memory))?"
    r"[\s:;,.–—]*(?:-(?!-?>)\s*)?(?P<reason>(?:(?!-->).)*?)[\s*]*(?:-{1,3}>|$)",
    re.IGNORECASE | re.DOTALL,
)
_DISGUISE = (
    r"[\W_]*(?:(?:this|the) (?:memory|file|note|entry|fact|rule) "
    r"(?:is|was|has been|(?:can|may|should|must|is to) (?:now |safely )?be) (?:now )?)?"
    r"(?:(?:SAYS-GONE)(?: (?:this|the) (?:memory|file|note|entry))?"
    r"(?:(?: by\b| (?:at|on|upon|per|as)\b(?= .{0,30}(?:user|request))|\s*[:;–—-]).{0,150})?"
    r"|SAYS-DELETE|obsolete|outdated|empty|none|null|n/a|(?:superseded|replaced) by \S+\.md|rm(?: -\w+)?(?: \S+\.md)?"
    r"|(?:the )?user (?:has )?(?:asked|wants|wanted|requested|told)(?: me| us)? (?:to |that I |this to be |it to be )?"
    r"(?:forget|forgotten|delete|deleted|remove|removed|drop|dropped)(?: (?:about )?(?:this|it|that)(?: memory| one)?)?"
    r"|no longer (?:valid|relevant|needed|true|applicable|accurate|so))"
    r"(?:,? (?:and|so)(?: it)? (?:can|may|should|must) (?:now |safely )?be (?:deleted|removed|forgotten))?[\W_]*"
)
_ESCAPED_LABEL = re.compile(r"(?:(?:\\r)?\\n\s*)+(?=\*\*(?:Why|How))")
_STRUCK = re.compile(r"~~(?!~)[^~\n]+~~(?!~)")
_TILDES = re.compile(
    r"(?P<head>(?:---\n.*?\n---\n+)?)(~{3,})[ \t]*\n(?P<body>(?:(?!~{3}).)*?)\n\2[ \t]*\s*\Z", re.DOTALL
)
_DEBRIS = re.compile(
    r"(?:\s*(?:<\|[\w/]+\|>|</(?:\w+:)?(?:content|file_content|parameter|invoke|function_calls|function|tool_call|tool_use)>))+\s*\Z"
)
_THOUGHTS = re.compile(r"\A\s*<(think(?:ing)?|thought|reasoning|scratchpad)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_CLOSED = re.compile(r"\n\s*</([\w:.-]+)>\s*\Z")  # a line of its own


def as_seen(data: bytes) -> bytes:
    """A model's text without the signs that nobody sees: what is judged is what will be read (S15, X12)."""
    try:
        return "\r\n".join(map(printable, data.decode("utf-8").split("\r\n"))).encode("utf-8")
    except UnicodeDecodeError:
        return data  # somebody's file in another encoding, of which a model changed a line


def deletion_in(data: bytes) -> str | None:
    """The reason, perhaps empty, for which a text that a model wrote says that its file be deleted; None where it does
    not. The one form is `<!-- delete: the reason -->`; what comes near it means the same, and so does what Gemini CLI
    makes of it for its model, with the brackets as entities."""
    topic = Topic(data)
    text = (topic.body if topic.has_frontmatter else data.decode("utf-8", "replace")).strip("\ufeff \t\r\n")
    lines = text.split("\n")
    if len(lines) > 1 and _FENCE.match(lines[0]) and _FENCE.match(lines[-1]):
        text = "\n".join(lines[1:-1])
    text = text.replace("&lt;", "<").replace("&gt;", ">")
    match = _DELETION.fullmatch(text.strip("`'\" \t\r\n"))
    return " ".join(match["reason"].split()) if match else None


def well_formed(key: str, data: bytes, before: bytes | None) -> tuple[bytes, tuple[str, ...]]:
    """The memory that a model meant, and what was repaired about it. BadMemoryFile where that is not plain; what was
    wrong with the file `before` already is not the model's fault."""
    text = data.decode("utf-8", "surrogateescape")
    _refuse_deletion(key, text)
    repaired: list[str] = []
    had_none = before is not None and not Topic(before).has_frontmatter  # a person's own form, and not ours to change
    for repair, told in _REPAIRS:
        changed = text if had_none and repair is _with_header else repair(text)
        if changed != text:
            text = changed
            repaired.append(told)
    _refuse_deletion(key, text)
    _refuse_disguise(key, Topic(text.encode("utf-8", "surrogateescape")).body, Topic(before or b"").body)
    topic = _filled(key, Topic(text.encode("utf-8", "surrogateescape")), before, repaired)
    topic = _without_new_fields(topic, before, repaired)
    known = _problems(Topic(before)) if before else []
    problems = [problem for problem in _problems(topic) if problem not in known]
    if problems:
        remedy = f"{HOW_TO_DELETE}. {FORM}" if before and len(data) < MAX_DELETING else FORM
        raise BadMemoryFile(f"{key} is no memory yet: {'; '.join(problems)}", remedy=remedy)
    return topic.data, tuple(repaired)


def _refuse_deletion(key: str, text: str) -> None:
    if any(_DELETION.fullmatch(line.strip()) for line in _outside_fences(text)):
        remedy = f"{HOW_TO_DELETE}, and nothing else"
        raise BadMemoryFile(f"{key} holds a line that deletes beside a text", remedy=remedy)


def _refuse_disguise(key: str, body: str, before: str) -> None:
    """A text that only says that it is gone, or words that are struck out, are meant to delete: neither is a memory."""
    struck = _STRUCK.findall("\n".join(_outside_fences(body)))
    if _disguise().fullmatch(body) and body.strip() != before.strip():
        raise BadMemoryFile(f"{key} would say nothing but that it is gone", remedy=HOW_TO_DELETE)
    if any(words not in before for words in struck):
        told = f"{key} would hold words that are struck out: “{struck[0]}”"
        raise BadMemoryFile(told, remedy=f"Leave out what holds no longer, and nothing else. {HOW_TO_DELETE}")


@cache
def _disguise() -> re.Pattern[str]:
    """In whatever language; behind "delete:" may stand a rule, behind "deleted:" why it is gone."""
    pattern = _DISGUISE.replace("SAYS-GONE", alternatives("says-gone"))
    return re.compile(pattern.replace("SAYS-DELETE", alternatives("says-delete")), re.IGNORECASE | re.DOTALL)


def _problems(topic: Topic) -> list[str]:
    found = topic.problems()
    if topic.has_frontmatter and not topic.fields.get("type"):
        found.append("it has no type: where none of the four fits, there is nothing to keep")
    prose = _outside_fences(topic.body)
    begun = [at for at in range(len(prose)) if any(map(str.strip, prose[:at]))]
    is_bare = any({_known(line) for line in prose[at : at + 3]} == {*_MAIN} for at in begun)  # no dashes above them
    if is_bare or any(_header_at(prose, at) for at in range(len(prose))):
        found.append("it holds two memories: Write each to a file of its own")
    return found


def unspoilt(text: str) -> str:
    """A text without a fence around it and the line numbers of what it was read from, with line breaks where they came
    escaped."""
    text = _without_numbers(_with_line_breaks(text))
    first, _, rest = text.strip().partition("\n")
    is_open = re.fullmatch(r"```(?:markdown|md|text)?\s*", first)
    return rest.removesuffix("```") if is_open and (rest.endswith("\n```") or "\n```" not in rest) else text


def _with_line_breaks(text: str) -> str:
    """Escaped line breaks in a text that has no others, or before a label, are meant to be some."""
    bare = text.strip().strip('"') if "\n" not in text.strip() else text
    if "\n" in bare:
        return _ESCAPED_LABEL.sub(lambda match: match[0].replace("\\r", "").replace("\\n", "\n"), text)
    if bare.count("\\n") > 1 or _ESCAPED_LABEL.search(bare):
        return bare.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    return text


def _without_numbers(text: str) -> str:
    """Lines as the Read tool shows them lose their numbers."""
    lines = text.rstrip("\n").split("\n")
    found = [match for line in lines if (match := _NUMBERED.match(line))]
    numbers = [int(match[1]) for match in found]
    if len(lines) < 3 or len(found) < len(lines) or numbers != list(range(numbers[0], numbers[0] + len(lines))):
        return text
    return "\n".join(line[match.end() :] for line, match in zip(lines, found, strict=True)) + "\n"


def without_fence(text: str) -> str:
    """A fence around the whole file goes, and what was said before and after it; so does one that closes nothing."""
    lines = _CLOSES_LAST.sub("\n```\n", text).split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip()), 0)
    opened = next((at for at in range(start, min(len(lines), start + 4)) if _FENCE.match(lines[at])), None)
    if opened is None or not _begins_file(lines[opened + 1 :]):
        is_shut = _begins_file(lines) and sum(map(bool, map(_FENCE.match, lines))) % 2
        return re.sub(r"\n[ \t]*(?:`{3,}|~{3,})\s*\Z", "\n", text) if is_shut else text
    ends = [at for at in range(len(lines) - 1, opened, -1) if _FENCE.match(lines[at]) or _CLOSES.match(lines[at])]
    end = ends[0] if len(ends) % 2 else len(lines)
    inside, after = lines[opened + 1 : end], lines[end + 1 :]
    more = next((at for at, line in enumerate(after) if _LABEL.match(line)), len(after))
    is_header = not Topic(_with_header("\n".join(inside)).encode("utf-8", "surrogateescape")).body.strip()
    if is_header or sum(map(bool, map(str.strip, after[:more]))) > MAX_REMARK_LINES:
        more = 0
    kept = _RULE_FIRST.sub("", "\n".join(after[more:])).strip("\n")
    return "\n\n".join([*filter(None, ("\n".join(inside).strip("\n"), kept))]) + "\n"


def headed(text: str) -> Topic | None:
    """The memory that a text is which brings a header of its own, as readers of memories see them; None for others."""
    bare = without_fence(text).lstrip("\ufeff \t\r\n")
    topic = Topic(_with_header(bare).encode("utf-8", "surrogateescape")) if bare.startswith("---") else None
    return topic if topic and topic.has_frontmatter and topic.fields.keys() & set(_MAIN) else None


def _without_debris(text: str) -> str:
    """What ends a reply or a call in a model's own template, and a comment that was never opened, end no memory."""
    kept = _DEBRIS.sub("\n", text)
    while (end := _CLOSED.search(kept)) and f"<{end[1]}" not in kept:
        kept = f"{kept[: end.start()]}\n"
    return kept if "<!--" in kept else re.sub(r"\s*\n-->\s*\Z", "\n", kept)


def _begins_file(lines: list[str]) -> bool:
    first = next((at for at, line in enumerate(lines) if line.strip()), None)
    return first is not None and (_header_at(lines, first) or _known(lines[first]) in _MAIN)


def _with_header(text: str) -> str:
    """The fields at the beginning, however they are spelled, between two lines of dashes; a remark before them goes."""
    lines = [line.rstrip("\r") for line in text.lstrip("\ufeff").split("\n")]
    topic = Topic(text.encode("utf-8", "surrogateescape"))
    head = text[: len(text) - len(topic.body)]
    is_sound = not topic.problems() and bool(topic.name) and "\n\n" not in head.rstrip()  # a gap: it is closed too late
    if is_sound or (topic.has_frontmatter and not _header_at(lines, 0)):
        return text
    start = next((at for at in range(len(lines)) if _header_at(lines, at)), None)
    if start is None:
        first = next((at for at, line in enumerate(lines) if line.strip()), 0)
        if sum(_known(line) in _MAIN for line in lines[first : first + 5]) < 2 or _known(lines[first]) not in _MAIN:
            return text
        start = first - 1
    header, end = _header(lines, start + 1)
    remark = [line for line in lines[: max(0, start)] if line.strip()]
    if len(remark) > MAX_REMARK_LINES:
        told = f"{len(remark)} lines stand before its fields, the first of them “{remark[0].strip()[:60]}”"
        raise BadMemoryFile(told, remedy=f"Leave them out, or put below the fields what is to be kept. {FORM}")
    body = lines[end:]
    is_plain = start == 0 and lines[0].rstrip() == "---" and lines[end - 1].rstrip() == "---" and not remark
    if is_plain and header == lines[1 : end - 1]:
        return text
    return "\n".join(["---", *header, "---", *([] if body[:1] == [""] else [""]), *body]).rstrip("\n") + "\n"


def _header_at(lines: list[str], at: int) -> bool:
    """Whether a line of dashes stands there with at least two of a memory's fields below it."""
    if not _DASHES.match(lines[at]):
        return False
    below = [line for line in lines[at + 1 : at + 8] if line.strip()]
    return (
        bool(below) and _known(below[0]) is not None and len({_known(line) for line in below}.intersection(_MAIN)) > 1
    )


def _header(lines: list[str], start: int) -> tuple[list[str], int]:
    """The lines of the fields from there, their names as they should be, and where the body begins."""
    closed = next((at for at in range(start, len(lines)) if _DASHES.match(lines[at])), len(lines))
    header: list[str] = []
    for at in range(start, len(lines)):
        line = lines[at]
        if at == closed and header:
            return header, at + 1
        field, key = _FIELD.match(line), _known(line)
        follows = next((_known(other) for other in lines[at : min(at + 4, closed)] if other.strip()), None)
        if key and field:
            header.append(line if line.startswith(f"{key}:") else f"{key}: {_value(field['value'])}")
        elif line.strip() and (line[:1] in " \t-#" or (closed < len(lines) and _THEIRS.match(line))):
            header.append(line)  # a value that goes on, or a field that is somebody else's
        elif line.strip() or follows is None:
            return header, at
    return header, len(lines)


def _known(line: str) -> str | None:
    field = _FIELD.match(line)
    return _FIELDS.get(field["key"].strip().lower()) if field else None


def _value(text: str) -> str:
    text = text.strip().removesuffix("**").rstrip(",").strip()
    return text if text[:1] in ('"', "'", "|", ">") or not text else quoted(text)


def _filled(key: str, topic: Topic, before: bytes | None, repaired: list[str]) -> Topic:
    """What is missing of the fields and can be told from the rest."""
    if not topic.has_frontmatter or not topic.fields.keys() & set(_MAIN):
        return topic
    told = topic.fields.get("type", "").strip().lower().replace(" ", "_").replace("-", "_")
    stem = key.rsplit("/", 1)[-1].partition("_")[0].lower()
    had = Topic(before).kind if before else parse_type(stem)  # a type that was taken away is not given back
    words = (told, told.removesuffix("s"))
    kind = next((found for word in words if (found := parse_type(word) or _KINDS.get(word))), None)
    kind = kind or (None if told else had)
    if kind and topic.fields.get("type", "") not in (str(kind), Topic(before or b"").fields.get("type")):
        topic = topic.with_field("type", str(kind))
        repaired.append(f"its type is {kind}")
    body = _outside_fences(topic.body)
    if not topic.description and any(line.strip(" #\t") for line in body):
        sentences = [line for line in body if line.strip() and not line.startswith("#")] or body
        topic = topic.with_field("description", describe("\n".join(sentences)))
        repaired.append("its description was made from its first sentence: Edit it where another says more")
    if not topic.name and topic.description:
        heading = next((line.strip(" #\t") for line in body if line.startswith("#")), "")
        topic = topic.with_field("name", heading or key.rsplit("/", 1)[-1][:-3].replace("_", " "))
    return topic


def _without_new_fields(topic: Topic, before: bytes | None, repaired: list[str]) -> Topic:
    """Only name, description and type are a model's to write; a pin, a tag, a note are a person's, and what says more
    than a reader of the fields sees (a comment, a second name) is nobody's. A model may doubt its words, not vouch."""
    stood = Topic(before or b"")
    extra, known = _not_main(topic), _not_main(stood)
    if extra != known:
        header = stood.data[: len(stood.data) - len(stood.body.encode("utf-8", "surrogateescape"))]
        new = Topic(header or b"---\n---\n").with_body("\n" + topic.body.lstrip("\n"))
        for name in (*_MAIN, *((TRUST_FIELD,) if marked_trust(topic).is_low else ())):
            new = new.with_field(name, topic.fields[name]) if topic.fields.get(name) else new
        lines = [line for line in extra if line not in known]
        named = [line.partition(":")[0].strip() for line in lines if ":" in line and line[:1] not in " \t#-"]
        if lines:
            told = ", ".join(dict.fromkeys(named)) or "what stood beside them"
            repaired.append(f"only name, description and type are yours to set: its header is without {told}")
        return new
    return topic


def _not_main(topic: Topic) -> list[str]:
    """The lines of a header that set none of a memory's own fields."""
    block = find_block(topic.data)
    lines = topic.data[block.start : block.end].decode("utf-8", "surrogateescape").splitlines() if block else []
    found: list[str] = []
    seen: set[str] = set()
    name, is_main = "", False
    own = (*_MAIN, TRUST_FIELD) if marked_trust(topic).is_low else _MAIN
    for line in lines:
        if line[:1] not in (" ", "\t"):
            name = line.partition(":")[0].strip().strip("\"'")
            is_main = name in own and name not in seen and ":" in line and " # " not in line
            seen.add(name)
        elif not topic.fields.get(name):
            is_main = False  # a mapping below a name is no name
        if not is_main and line.strip():
            found.append(line)
    return found


def _outside_fences(text: str) -> list[str]:
    """The lines of a text without those of code."""
    found, fence = [], ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match and (not fence or match[1].startswith(fence)):
            fence = "" if fence else match[1]
        elif not fence:
            found.append(line)
    return found


_REPAIRS: tuple[tuple[Callable[[str], str], str], ...] = (
    (_with_line_breaks, "its escaped line breaks became real ones"),
    (_without_numbers, "the line numbers were taken off"),
    (lambda text: _THOUGHTS.sub("", text), "what was thought before it was taken off"),
    (without_fence, "the fence around it was taken off"),
    (_with_header, "its fields stand between two lines of --- at the top now"),
    # A body that is fenced as a whole with tildes is no code, but words that were meant to be put away, or shown.
    (partial(_TILDES.sub, "\\g<head>\\g<body>\n"), "the fence around its text was taken off"),
    (_without_debris, "what ends a reply was taken off its end"),
)
