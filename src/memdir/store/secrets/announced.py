"""Secrets known by the words around them: "the password is ...", DB_PASSWORD=..., a wallet's words."""

from __future__ import annotations

from memdir.store.secrets.match import RANK_FORMAT, RANK_WORD
from memdir.store.secrets.placed import holds_any
from memdir.store.secrets.value import ASSIGNED, NEAR, SAID, is_value
from memdir.store.secrets.view import compiled
from memdir.store.secrets.words import ABOUT, ANNOUNCERS, COMMON_WORDS, IDENTIFIER_WORDS, LINKS, PUBLIC_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Match

    from memdir.store.secrets.match import Finding

    _Candidate = tuple[int, int, int]  # level, start and end

WINDOW = 120  # how far behind its word a value stands in prose: about one line
MAX_WORDS_BETWEEN = 10  # and how many words may stand in between
_MARKS = (":", "=", ">", "|", "/", "→", "–", "—")  # what people write between a name and its value


def by_announcement(text: str, lower: str) -> Iterator[Finding]:
    for group, literals, pattern in ANNOUNCERS:
        if not holds_any(lower, literals):
            continue
        for match in compiled(pattern).finditer(lower):
            if group == "seed":
                yield from _words_after(lower, match.end())
            else:
                yield from _announced_by(text, lower, match, group)


def _announced_by(text: str, lower: str, word: Match[str], group: str) -> Iterator[Finding]:
    if not _is_promising(text, max(0, word.start() - WINDOW), word.end() + WINDOW):
        return
    end = _end_of_name(text, lower, word, group)
    about = compiled(r"[\s_-]{0,4}([a-z]{1,20})").match(lower, end) if end else None
    if not end or (about and compiled(ABOUT).fullmatch(about[1])):
        return
    kind = "token" if group == "machine" else "password"
    for level, start, stop in (
        *_assigned(text, end, group),
        *_tokens_after(text, end, group),
        *_token_before(text, word, group),
    ):
        if is_value(text[start:stop], level, human=group != "machine"):
            yield RANK_WORD, kind, start, stop


def _is_promising(text: str, start: int, stop: int) -> bool:
    """Whether anything here is more than plain words: it saves the closer look at most mentions of a password."""
    signs = r"\d|[a-z][A-Z]|[A-Z]{2}[a-z]|[^\w\s.,;:()-]|[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{5}"
    return compiled(signs).search(text, start, stop) is not None


def seed_phrases(lower: str) -> Iterator[Finding]:
    """A line that is nothing but a wallet's number of plain words, without a word that announces them."""
    if lower.count(" ") < 11:
        return
    line = r"(?m)^[ \t>*\"'`-]{0,6}([a-z]{3,8}(?: [a-z]{3,8}){11}(?:(?: [a-z]{3,8}){3}){0,4})[\"'`. ]{0,3}$"
    for match in compiled(line).finditer(lower):
        if not any(compiled(COMMON_WORDS).fullmatch(word) for word in match[1].split()):
            yield RANK_FORMAT, "seed-phrase", *match.span(1)


def _words_after(lower: str, end: int) -> Iterator[Finding]:
    """The seed phrase behind its name: twelve and more short words, numbered or not, that make no sentence."""
    link = r"""[^\n:=]{0,60}?(?:[:=]|\b(?:is|ist|est|es|è)\b|是)[\s"'`*\d.)]{0,8}"""
    gap = r"""[\s,;.:)"'`*_-]{1,6}(?:\d{1,2}[.):]{0,2}\s{0,2})?"""
    match = compiled(rf"{link}([a-z]{{3,8}}(?:{gap}[a-z]{{3,8}}){{11,24}})\b").match(lower, end)
    if match and sum(bool(compiled(COMMON_WORDS).fullmatch(word)) for word in match[1].split()) <= 1:
        yield RANK_FORMAT, "seed-phrase", *match.span(1)


def _end_of_name(text: str, lower: str, match: Match[str], group: str) -> int:
    """Where the name around this word ends (DB_PASSWORD_PROD); 0 when it is another word, or only about secrets."""
    word, end = match.group(), match.end()
    if _is_part_of_other_word(text, match, group) or _is_public(lower, match.start(), group):
        return 0
    if not word.isascii():
        return end
    suffix = compiled(r"[\w-]{0,40}(?:\.\w{1,40}){0,4}").match(text, end)
    rest = suffix.group() if suffix else ""
    runs_on = rest[:1].isalpha() and rest[:1].islower() == text[end - 1].islower()
    is_plural = rest[:1] in ("s", "S") and group == "machine"
    if runs_on and (is_plural or len(word) < 5 or compiled(r"[a-z]{3}|[A-Z]{3}").match(rest)):
        return 0  # "max_tokens", "passing", "tokenizer"
    parts = compiled(r"[A-Z]?[a-z]+|[A-Z]+").findall(rest)
    return 0 if any(compiled(ABOUT).fullmatch(part.lower()) for part in parts) else end + len(rest)


def _is_part_of_other_word(text: str, match: Match[str], group: str) -> bool:
    """ "bypass", "enclave", or letters inside something encoded; "dbPass" and "dbpassword" are names."""
    word, start = match.group(), match.start()
    before = text[start - 1 : start]
    if not word.isascii() or not before or not (before.isalnum() or before in "+/"):
        return False
    is_hump = len(word) > 3 and text[start].isupper() and before.islower()
    return not is_hump and (len(word) <= 4 or group == "login" or word in ("clave", "senha"))


def _is_public(lower: str, start: int, group: str) -> bool:
    """Whether what stands before the word makes it no secret: a public key, a page token, the name of a secret."""
    if "arn:" in lower[max(0, start - WINDOW) : start].rpartition(" ")[2]:
        return True
    qualifier = compiled(r"[a-z0-9]+(?=[ _.-]?$)").search(lower[max(0, start - 20) : start])
    return group == "machine" and qualifier is not None and bool(compiled(PUBLIC_WORDS).fullmatch(qualifier.group()))


def _assigned(text: str, end: int, group: str) -> Iterator[_Candidate]:
    """The value that an equals sign, a colon or the like gives to the name that ends at `end`."""
    before = r"""[\\"'`\])}*_]{0,4}\s{0,3}(?:\([^()\n]{0,40}\)\s{0,2})?[*_]{0,2}"""
    sign = r"(?::=|=>|->|→|={1,3}|:|\||>)[*_]{0,2}[ \t]{0,4}"
    word = r"""(?:\\?"([^"\n]{1,300})"|\\?'([^'\n]{1,300})'|`([^`\n]{1,300})`|([^\s"'`<>]{1,300}))"""
    match = compiled(before + sign + word).match(text, end)
    if match and group != "login":
        start, stop = match.span(match.lastindex or 0)
        yield ASSIGNED, start, _trimmed(text, start, stop, quoted=match.lastindex != 4)


def _tokens_after(text: str, end: int, group: str) -> Iterator[_Candidate]:
    """The next few words of the sentence, each with what the word before it says about it."""
    sentence = r"\n\s*\n|[.!?]\s+(?=[A-Z][a-z]+ )|(?<=\w)[,.;]?\n\s*(?:[-*#>|]|\w[\w ]{0,30}[:=])"
    stop = compiled(sentence).search(text, end, end + WINDOW)
    tokens = compiled(r"[!-~À-ÖØ-öø-ɏ]+|[^\s!-~À-ÖØ-öø-ɏ]+").finditer(text, end, stop.start() if stop else end + WINDOW)
    previous = "" if group == "login" else ":"  # "password Xyz", but not "login Xyz"
    for number, token in enumerate(tokens):
        if number >= MAX_WORDS_BETWEEN:
            return
        start, finish = _unwrapped(text, *token.span())
        if _is_promising(text, start, finish):
            direct = previous.endswith(_MARKS) or bool(compiled(LINKS).fullmatch(previous.lower()))
            if direct or not compiled(IDENTIFIER_WORDS).fullmatch(previous.lower()):
                yield (SAID if direct else NEAR), start, finish
            pair = compiled(r"[\w.@-]{2,40}[:/](?=[^\s:/]{6})").match(text, start, finish)
            if pair and group != "machine":
                yield (SAID if group == "login" else NEAR), pair.end(), finish
        previous = ":" if text[finish : token.end()] in (":", "=") else text[start:finish]


def _token_before(text: str, word: Match[str], group: str) -> Iterator[_Candidate]:
    """The value that stands before its word, with a link between: "Xyz is the password", "use Xyz as password"."""
    tokens = list(compiled(r"\S+").finditer(text, max(0, word.start() - WINDOW), word.start()))[-5:]
    for place, link in enumerate(tokens[1:]):
        sure = group == "human" and link.group() in ("is", "as", "ist", "als", "est", "comme", "es", "como", "è", "é")
        if (
            sure
            or link.group() in ("was", "=", "for", "für", "pour", "para", "-", "–", "—", ":")
            or link.group()[0] == "("
        ):
            yield (SAID if sure else NEAR), *_unwrapped(text, *tokens[place].span())


def _unwrapped(text: str, start: int, stop: int) -> tuple[int, int]:
    """Without the quotes, brackets and stops that prose puts around a word."""
    while start < stop and (text[start] in "\"'`“„«「‘([{:=" or text.startswith("**", start)):
        start += 1
    while start < stop and (text[stop - 1] in "\"'`”»」’)]},.;:" or text.endswith("**", start, stop)):
        stop -= 1
    return start, stop


def _trimmed(text: str, start: int, stop: int, *, quoted: bool) -> int:
    """Where a value ends that runs into what follows it: the next parameter, the end of a sentence."""
    if quoted:
        return stop - 1 if text[stop - 1] == "\\" else stop
    following = compiled(r"[&;,]\s?[A-Za-z_][\w.-]*=").search(text, start, stop)
    if following:
        stop = following.start()
    while stop > start + 1 and text[stop - 1] in ",;)]}.|\\":
        stop -= 1
    return stop
