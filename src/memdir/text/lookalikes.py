"""Finds what reads like a host's tag, however it is spelled, and writes it so that it is one no more (S15, L4).

A text is folded sign by sign: escapes decoded, look-alike letters and brackets turned into the plain ones, marks and
hidden signs dropped. What is found in the folded text is replaced in the text itself; everything else stays as it is.
"""

from __future__ import annotations

import re

from memdir.disk.shipped import shipped_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Tags in which a host wraps what it puts into a conversation itself: nobody said what stands between them (L4, S15).
_HOST_TAGS_TEXT = (
    "system-reminder task-notification subagent_notification environment_context hook_context hook_prompt "
    "user-prompt-submit-hook local-command-stdout local-command-stderr local-command-caveat command-name "
    "command-message command-args command-contents bash-input bash-stdout bash-stderr user_instructions "
    "user_shell_command user_action collaboration_mode turn_aborted permissions skill ide_opened_file "
    "ide_selection ide_diagnostics session_context qwen:session-start-context qwen:user-prompt-submit-context "
    # What Codex puts in for itself, its app and its goals, Gemini CLI and Qwen Code for what ran and what began;
    "codex_internal_context codex_delegation realtime_delegation recommended_plugins app-context goal_context "
    "skills_instructions plugins_instructions apps_instructions environments_instructions multi_agent_mode "
    "model_switch personality_spec context_window_reminder context_window_guidance image_resize_notice "
    "startup_context background_output forwarded_messages "
    # and what other agents, sessions and services send in.
    "teammate-message teammate_message team_message cross-session-message agent-message coordinator-relay slack-ping "
    "slack-tag-message remote-review fetched-web-content untrusted-widget-state mcp-resource-update mcp-polling-update"
)
HOST_TAGS = tuple(_HOST_TAGS_TEXT.split())
HOST_PREFIX = "qwen:"  # a host's own namespace: whatever stands behind it is a tag of that host
OWN_TAG = "system-reminder"  # around what memdir itself puts in: of this one every distortion counts
MODEL_TAGS = ("function_calls", "function_results", "start_of_turn", "end_of_turn")  # models are trained on these
MAX_TAG = 90  # folded signs from a bracket to the end of a name; longer is no tag
MAX_DECODINGS = 4  # an escape in an escape in an escape

_MAY_OPEN = ("<", "&", "%", "\\", "=3", "+AD")  # without one of these, or a bracket, plain ASCII holds no tag
_CODE = (
    r"=[0-9A-F]{2}|\+AD[w4]-"
    r"|\\{1,4}(?:u\{?[0-9A-Fa-f]{2,6}\}?|U[0-9A-Fa-f]{8}|x\{?[0-9A-Fa-f]{2}\}?|N\{[^{}\n]{1,80}\}"
    r"|[0-7]{2,3}|[0-9A-Fa-f]{2,6}[ ]?|textless|textgreater|langle|rangle|lt\b|gt\b)"
)
_ESCAPE = (
    r"(?:&|%(?:25)*26|\\u0026|\\x26)(?:(?:#|%23)?\w{1,32}(?:;|%3[Bb])?)+"
    rf"|(?:%(?:25)*[0-9A-Fa-f]{{2}})+|%u[0-9A-Fa-f]{{4}}|{_CODE}"
)
_NAMED = {"textless": "<", "langle": "<", "lt": "<", "textgreater": ">", "rangle": ">", "gt": ">"}
_HIDDEN_KINDS = frozenset(("Mn", "Me", "Mc", "Cf", "Cs", "Co"))
_LATIN = r"(?:LATIN|NEGATIVE|REGIONAL INDICATOR)\b.*\b(?:LETTER|SYMBOL) (?:[A-Z-]{2,} )*([A-Z])(?: WITH .*)?$"
_POINTED = "(?:ANGLE|ARROWHEAD|TRIANGLE|POINTER)"
_BRACKET = rf"LEFT\b.*{_POINTED}|LESS-THAN|(RIGHT\b.*{_POINTED}|GREATER-THAN)"

# Letters that stand for each other once a text is folded: digits for letters, l for i, `rn` for `m`.
_LETTERS = {ord(a): b for a, b in zip("01345678l9", "oieasgtbig", strict=True)}
_SIGNS = {ord(a): b for a, b in zip("|!$@+", "iisat", strict=True)}

# A bracket; or any other sign in its place where a slash follows.
_OPENER = r"<|[\[({]\s*(?=[/\\])|[^\x00-\x7f\w\s]\s*(?=[/\\])"
_CONTROL = r"<\|(?! )([\w▁ -]{2,40})(?<! )\|>|\[\s*(/?\s*inst)\s*\]|<<\s*(/?\s*sys)\s*>>"


class _Tag:
    """A tag in a folded text: from its bracket to its name's end, or to the bracket that closes it."""

    __slots__ = ("end", "name", "start")

    def __init__(self, start: int, end: int, name: str) -> None:
        self.start = start
        self.end = end
        self.name = name


def defused(text: str) -> str:
    """The text with every tag of a host, or what looks like one, told in words: `[end tag: system-reminder]`."""
    plain = text.replace("—", "[").replace("(", "[").replace("{", "[")  # a dash stands in each line of an index
    is_plain = plain.isascii() and not any(sign in text for sign in _MAY_OPEN)
    if is_plain and not any(rest.lstrip().lower().startswith(("/", "inst")) for rest in plain.split("[")[1:]):
        return text
    fold = _Fold()
    if next(_tags(re.sub(_ESCAPE, lambda match: _decoded(match[0]), text).translate(fold)), None) is None:
        return text
    folded, starts, ends = _mapped(text, fold)
    parts, done = [], 0
    for tag in _tags(folded):
        start, end = starts[tag.start], ends[tag.end - 1]
        is_type = re.fullmatch(r"<(?:[A-Z][a-z]+)+>?", text[start:end]) and re.match(r"\w", text[start - 1 : start])
        if start < done or is_type:  # a type's parameter, as in `List<Skill>`
            continue
        parts += [text[done:start], f"[{tag.name}]"]
        done = end
    return "".join([*parts, text[done:]])


def _mapped(text: str, fold: _Fold) -> tuple[str, list[int], list[int]]:
    """The folded text, and for each sign of it where that stands in the text."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in re.finditer(rf"(?:{_ESCAPE})|.", text, re.DOTALL):
        piece = (_decoded(match[0]) if len(match[0]) > 1 else match[0]).translate(fold)
        pieces.append(piece)
        starts += [match.start()] * len(piece)
        ends += [match.end()] * len(piece)
    return "".join(pieces), starts, ends


def _tags(folded: str) -> Iterator[_Tag]:
    names = _names()
    for match in re.finditer(rf"{_CONTROL}|{_OPENER}", folded):
        control = match[1] or match[2] or match[3]
        found = _control(match, control) if control else _named(folded, match, names)
        if found:
            yield found


def _control(match: re.Match[str], name: str) -> _Tag:
    is_end, word = name.startswith("/"), name.strip("/ ")
    return _Tag(match.start(), match.end(), f"{'end ' if is_end else ''}tag: {word}")


def _named(folded: str, opener: re.Match[str], names: dict[str, str]) -> _Tag | None:
    """The tag that an opening bracket begins."""
    window = folded[opener.end() : opener.end() + MAX_TAG]
    for signs in ({}, _SIGNS):
        before, rest = re.findall(r"^([^a-z0-9<>]{0,24})([^<>]*)", window.translate(signs))[0]
        squeezed = _squeezed(rest)
        if not squeezed.startswith(tuple(names)):
            continue
        lead, start = opener[0][1:] + before, opener.end() + len(before)
        key = next(key for key in names if squeezed.startswith(key))
        length = next(n for n in range(len(rest) + 1) if _squeezed(rest[:n]).startswith(key))
        if names[key] == HOST_PREFIX:
            length += len(re.findall(r"^(?:\s*:[\s\w-]*\w)?", rest[length:])[0])
        closer = re.match(r"[\s/\\]*>" if opener[0] == "<" else r"[\s/\\]*[^\w\s]", folded[start + length :])
        after = folded[start + length : start + length + 1]
        if _is_meant(lead, rest[:length], after, names[key], has_closer=bool(closer)):
            kind = "end tag" if re.search(r"[/\\]", lead) else "tag"
            return _Tag(opener.start(), start + length + (closer.end() if closer else 0), f"{kind}: {names[key]}")
    return None


def _is_meant(lead: str, spelled: str, after: str, name: str, *, has_closer: bool) -> bool:
    """Whether it reads as that tag: `i < command.name` is a comparison, `<skillet>` another word, `x <- skill` code."""
    if name == OWN_TAG:
        return True
    if re.search(r"[^\s/\\]", lead) or re.search(r"[^\w\s:-]" if ":" in name else r"[^\w\s-]", spelled):
        return False
    if ":" in name and ":" not in spelled:
        return False
    if re.search(r"\s", lead) and not has_closer and not re.search(r"[/\\]", lead):
        return False
    return bool(re.search(r"[-_]", name)) or not re.match(r"[\w-]", after)


def _squeezed(text: str) -> str:
    """Letters only, those that are read as each other made one."""
    return re.sub(r"[^a-z0-9]+", "", text).translate(_LETTERS).replace("rn", "m").replace("vv", "w")


def _names() -> dict[str, str]:
    """The tags by their squeezed names, the longest first."""
    names = {_squeezed(name): name for name in (*HOST_TAGS, HOST_PREFIX, *MODEL_TAGS)}
    return {key: names[key] for key in sorted(names, key=len, reverse=True)}


class _Fold(dict[int, str]):
    """A sign's plain form, for `str.translate`; found when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._alike: dict[str, str] = {}

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        self[code] = sign.lower() if code < 0x80 else self._plain(sign)
        return self[code]

    def _plain(self, sign: str) -> str:
        from unicodedata import normalize

        if not self._alike:
            self._alike = {sign: line[0] for line in shipped_lines("text/lookalikes.txt") for sign in line[2:]}
        if sign in self._alike:
            return self._alike[sign]
        return "".join([self._letter(part) for part in normalize("NFKD", normalize("NFKD", sign).casefold())])

    def _letter(self, sign: str) -> str:
        from unicodedata import category, name

        if sign in self._alike:
            return self._alike[sign]
        if sign.isascii() or category(sign) in _HIDDEN_KINDS:
            return sign if sign.isascii() else ""
        told = name(sign, "")
        latin, bracket = re.match(_LATIN, told), re.search(_BRACKET, told)
        if latin:
            return latin[1].lower()
        return (">" if bracket[1] else "<") if bracket else sign


def _decoded(escape: str) -> str:
    """What an escape stands for, also where it is escaped itself."""
    text = escape
    for _ in range(MAX_DECODINGS):
        plain = _decoded_once(text)
        if plain == text:
            break
        text = plain
    return text


def _decoded_once(text: str) -> str:
    text = re.sub(_CODE, _by_code, text)
    if "%" in text:
        from urllib.parse import unquote

        text = unquote(re.sub(r"%u([0-9A-Fa-f]{4})", lambda match: chr(int(match[1], 16)), text), errors="replace")
    if "&" in text:
        from html import unescape

        text = unescape(text)
    return text


def _by_code(match: re.Match[str]) -> str:
    body = match[0].lstrip("\\=+")
    if match[0][0] == "+":
        return "<" if body[2] == "w" else ">"
    if body in _NAMED:
        return _NAMED[body]
    if body[0] == "N":
        from unicodedata import lookup

        try:
            return lookup(body[2:-1])
        except KeyError:
            return match[0]
    is_octal = match[0][0] == "\\" and re.fullmatch("[0-7]{2,3}", body)
    code = int(body, 8) if is_octal else int(re.sub(r"[^0-9A-Fa-f]", "", body), 16)
    return chr(code) if code <= 0x10FFFF else ""
