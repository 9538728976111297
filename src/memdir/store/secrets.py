"""Find secrets in a text, however they are written, and take them out (E5, O1).

The one scanner for doctor, extraction, dream and team sync. It says what kind of secret stands where and never hands
out a value. It does not prove that a value works, and it cannot tell a password that is a plain word from a word.
"""

from __future__ import annotations

import binascii
import unicodedata

from memdir.store import secret_formats as formats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from re import Match, Pattern

MAX_ROUNDS = 4  # taking one secret out can lay another bare; more than a few layers is no text that people write
MAX_DEPTH = 2  # base64 inside base64 occurs (Kubernetes, CI variables); a third layer does not
MAX_KEY_BLOCK = 20_000  # an armoured 16,384-bit RSA key is about 13,000 characters
MIN_KEY_DIGITS = 32  # the shortest private key there is (Ed25519) has more base64 digits
WINDOW = 120  # how far behind its word a value stands in prose: about one line
MAX_WORDS_BETWEEN = 10  # and how many words may stand in between
MAX_JUDGED = 100  # characters of a value that are looked at: more say nothing new and cost time
MIN_ENCODED = 24  # base64 shorter than this holds no secret that a format could recognise

# How much the surroundings say. The less they say, the more a value must look like a secret by itself.
NEAR, SAID, ASSIGNED, STATED = range(4)
_LEVELS = {"near": NEAR, "assigned": ASSIGNED, "stated": STATED}
_MIN_LENGTH = {NEAR: 8, SAID: 6, ASSIGNED: 6, STATED: 3}

_MARKS = (":", "=", ">", "|", "/", "→", "–", "—")  # what people write between a name and its value
# What may stand between the pieces of a token.
_JOINTS = (
    r"""["'`]\s{0,4}(?:[+.&]|\|\|)?\s{0,4}\\?\s{0,20}["'`]"""  # "ab" + "cd"
    r"""|[ \t]{1,4}(?:\+|then|followed by|plus|and)[ \t]{1,4}"""  # ab and cd
    r"""|[ \t]{0,8}\\?\r?\n[ \t]{0,16}(?:[-*>#|]{1,3}[ \t]{1,4})?"""  # a new line, a bullet ...
    r"""(?:[A-Za-z][\w .()#/-]{0,30}[:=][ \t]{0,4})?["'`]?"""  # ... "second half: "
    r"""|(?<!\S\S)[ ](?=\S(?!\S))"""  # a b c d
)
# Which finding names a secret that several rules found: the most specific one.
_RANK_BLOCK, _RANK_FORMAT, _RANK_PLACE, _RANK_WORD, _RANK_SPLIT = 0, 1, 2, 3, 4


class SecretMatch:
    """One secret: what kind it is and where it stands. The value itself is not here, so that no log can hold it."""

    __slots__ = ("end", "kind", "start")

    def __init__(self, kind: str, start: int, end: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end

    def __repr__(self) -> str:
        return f"SecretMatch(kind={self.kind!r}, start={self.start}, end={self.end})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretMatch) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, int, int]:
        return (self.kind, self.start, self.end)


class _View:
    """A text to search, and where each of its characters stands in the text it was made from."""

    __slots__ = ("ends", "long_words", "starts", "text")

    def __init__(self, text: str, starts: list[int] | None = None, ends: list[int] | None = None) -> None:
        self.text = text
        self.long_words = _long_words(text)
        self.starts = starts if starts is not None else range(len(text))
        self.ends = ends if ends is not None else range(1, len(text) + 1)


if TYPE_CHECKING:
    _Finding = tuple[int, str, int, int]  # rank, kind, start and end
    _Candidate = tuple[int, int, int]  # level, start and end


def find_secrets(text: str) -> tuple[SecretMatch, ...]:
    """Where `text` holds secrets: in order, without overlaps. A secret in several pieces is several matches."""
    view = _plain(text)
    findings = [*_in_view(view), *_in_encoded(view, depth=0)]
    decoded = _unescaped(view)
    if decoded is not None:
        findings += _in_view(decoded)
    findings += _in_pieces(text, view, findings)
    return _merged(findings)


def redact(text: str) -> str:
    """`text` with every secret replaced by `[removed: kind]`, and not a character changed elsewhere."""
    for _ in range(MAX_ROUNDS):
        found = find_secrets(text)
        if not found:
            break
        for match in reversed(found):
            text = f"{text[: match.start]}[removed: {match.kind}]{text[match.end :]}"
    return text


def _merged(findings: list[_Finding]) -> tuple[SecretMatch, ...]:
    merged: list[tuple[int, SecretMatch]] = []
    for rank, kind, start, end in sorted(findings, key=lambda finding: (finding[2], finding[0])):
        if merged and start < merged[-1][1].end:
            best_rank, last = merged[-1]
            last.end = max(last.end, end)
            if rank < best_rank:
                last.kind = kind
                merged[-1] = (rank, last)
        else:
            merged.append((rank, SecretMatch(kind, start, end)))
    return tuple(match for _, match in merged)


def _pattern(pattern: str) -> Pattern[str]:
    """The compiled pattern. `re` keeps the compiled ones, and is imported only when a text is searched."""
    import re  # here, because a hook that searches no text should not load it (ADR 0003)

    return re.compile(pattern)


def _plain(text: str) -> _View:
    """The text in NFKC, without characters that cannot be seen."""
    if text.isascii():
        return _View(text)
    return _rewritten(_View(text), r"[^\x00-\x7f]", lambda match: _visible(match.group()))


def _visible(character: str) -> str:
    if unicodedata.category(character) == "Cf" or character in "\u034f\u115f\u1160\u2800\u3164\uffa0":
        return ""
    if "\ufe00" <= character <= "\ufe0f":
        return ""
    return unicodedata.normalize("NFKC", character)


def _unescaped(view: _View) -> _View | None:
    """The text with %41, \\x41, \\u0041 and &#65; decoded; None when there is nothing to decode."""
    text = view.text
    if "%" not in text and "\\" not in text and "&#" not in text:
        return None
    for _ in range(MAX_DEPTH):
        escape = (
            r"%([2-7][0-9A-Fa-f])|\\x([2-7][0-9A-Fa-f])|\\u00([2-7][0-9A-Fa-f])|&#x([2-7][0-9A-Fa-f]);|&#(\d{2,3});"
        )
        view = _rewritten(view, escape, _unescape)
    return view if view.text != text else None


def _unescape(match: Match[str]) -> str:
    digits = match[match.lastindex or 0]
    code = int(digits, 10 if match.lastindex == 5 else 16)  # the fifth group is the decimal one
    return chr(code) if 0x20 <= code < 0x7F else match.group()


def _rewritten(view: _View, pattern: str, rewrite: Callable[[Match[str]], str]) -> _View:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for match in _pattern(pattern).finditer(view.text):
        begin, end = match.span()
        new = rewrite(match)
        pieces += (view.text[done:begin], new)
        starts += view.starts[done:begin]
        ends += view.ends[done:begin]
        if begin < end:
            starts += [view.starts[begin]] * len(new)
            ends += [view.ends[end - 1]] * len(new)
        done = end
    pieces.append(view.text[done:])
    starts += view.starts[done:]
    ends += view.ends[done:]
    return _View("".join(pieces), starts, ends)


def _in_view(view: _View) -> list[_Finding]:
    text = view.text
    lower = text.replace("İ", "I").lower()  # the one letter whose lower case is longer than itself
    findings = [*_formats(view), *_key_blocks(text), *_places(text, lower), *_announced(text, lower)]
    findings += _seed_phrases(lower)
    return [(rank, kind, view.starts[start], view.ends[end - 1]) for rank, kind, start, end in findings]


def _long_words(text: str) -> list[tuple[int, int]]:
    """Where words stand that are long enough for a token, and are not all small letters."""
    words = _pattern(r"""[^\s"'`<>,;()\[\]{}]{16,4096}""").finditer(text)
    plain = _pattern(r"[a-z./_:-]{1,30}")
    return [word.span() for word in words if not plain.fullmatch(text, *word.span())]


def _in_encoded(view: _View, *, depth: int) -> Iterator[_Finding]:
    """Base64 and hexadecimal runs whose content holds a secret; wrapped lines are tried as one."""
    if not view.long_words:
        return
    wrapped = r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,80}(?:\r?\n[ \t]{0,8}[A-Za-z0-9+/]{4,80})+={0,2}"
    for runs in (r"[A-Za-z0-9+/_-]{24,}={0,2}", wrapped):
        for run in _pattern(runs).finditer(view.text):
            content = _decoded(run.group())
            inner = _View(content)
            found = _in_view(inner) if content else []
            if content and not found and depth < MAX_DEPTH:
                found = list(_in_encoded(inner, depth=depth + 1))
            if found:
                yield *min(found)[:2], view.starts[run.start()], view.ends[run.end() - 1]


def _decoded(run: str) -> str:
    """What a run of base64 or hexadecimal digits says, if it says something readable."""
    digits = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
    if len(digits) < MIN_ENCODED:
        return ""
    if _pattern(r"(?:[0-9a-fA-F]{2})+").fullmatch(digits):
        return _readable(bytes.fromhex(digits))
    if not _readable(binascii.a2b_base64(digits[:16])):
        return ""
    digits = digits[:-1] if len(digits) % 4 == 1 else digits
    return _readable(binascii.a2b_base64(digits + "=" * (-len(digits) % 4)))


def _readable(content: bytes) -> str:
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        return ""
    return text if all(character.isprintable() or character in "\t\r\n" for character in text) else ""


def _in_pieces(text: str, view: _View, found: list[_Finding]) -> Iterator[_Finding]:
    """Tokens that were cut: over lines, into strings to be joined, after labels ("part 2: "), letter by letter."""
    for sign in (r"\d[A-Za-z]|[A-Za-z]\d|(?:\S ){15}", r"(?=[A-Za-z0-9_-]{8})[A-Za-z_-]{0,40}\d|(?:\S ){15}"):
        if not _pattern(sign).search(view.text):
            return  # no token is without, and most prose is: this saves building the view
    known = bytearray(len(text))
    for _, _, start, end in found:
        known[start:end] = b"\1" * (end - start)
    joined = _rewritten(view, _JOINTS, lambda _: "")
    for rank, kind, start, end in _formats(joined):
        pieces = _runs(text, joined, start, end)
        is_cut = pieces[-1][1] - pieces[0][0] > end - start
        if is_cut and not any(known[slice(*pieces[0])]):
            yield from ((rank + _RANK_SPLIT, kind, *piece) for piece in pieces)


def _runs(text: str, view: _View, start: int, end: int) -> list[tuple[int, int]]:
    """The stretches of the original text that these characters of a view came from; only blanks are inside one."""
    runs: list[tuple[int, int]] = []
    for place in range(start, end):
        if runs and not text[runs[-1][1] : view.starts[place]].strip(" "):
            runs[-1] = (runs[-1][0], view.ends[place])
        else:
            runs.append((view.starts[place], view.ends[place]))
    return runs


def _formats(view: _View) -> Iterator[_Finding]:
    words = "\n".join([view.text[start:end] for start, end in view.long_words])
    if not words:
        return
    for kind, literals, pattern in formats.FORMATS:
        for literal in literals:  # a loop, not any(): most texts get through all of these, and a generator costs more
            if literal in words:
                break
        else:
            continue
        for start, end in view.long_words:
            yield from _format_matches(kind, pattern, view.text, start, end)


def _holds(text: str, literals: tuple[str, ...]) -> bool:
    for literal in literals:  # noqa: SIM110 — twice as fast as any()
        if literal in text:
            return True
    return False


def _format_matches(kind: str, pattern: str, text: str, start: int, end: int) -> Iterator[_Finding]:
    for match in _pattern(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])").finditer(text, start, end):
        begin, finish = match.span(match.lastindex or 0)
        value = text[begin:finish][:MAX_JUDGED]
        has_digit = any(character.isdigit() for character in value)
        if not _stands_for_one(value) and not (_is_wordlike(value) and not (has_digit and value.isalnum())):
            yield _RANK_FORMAT, kind, begin, finish


def _key_blocks(text: str) -> Iterator[_Finding]:
    if "PRIVATE KEY" not in text and "Private-Lines" not in text:
        return
    headers = r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: \d{1,3}(?=\s)"
    blanks = r"\.\.\.|[<*\[]|[xX]{8}|(?i:example|redacted)"  # what documentation puts in place of a key
    done = 0
    for match in _pattern(headers).finditer(text):
        if match.start() < done:
            continue
        end = text.find("-----END", match.end(), match.end() + MAX_KEY_BLOCK)
        if end < 0:
            body = _pattern(r"[A-Za-z0-9+/=\s\\]{0,20000}").match(text, match.end())
            end = body.end() if body else match.end()
        content = text[match.end() : end]
        if len(_pattern(r"[^A-Za-z0-9+/]").sub("", content)) >= MIN_KEY_DIGITS and not _pattern(blanks).search(content):
            footer = _pattern(r"-----END [A-Z0-9 ]{1,60}-----").match(text, end)
            done = footer.end() if footer else match.end() + len(content.rstrip())
            yield _RANK_BLOCK, "private-key", match.start(), done


def _places(text: str, lower: str) -> Iterator[_Finding]:
    for kind, literals, pattern, certainty in formats.PLACES:
        if not _holds(lower, literals):
            continue
        for match in _pattern(pattern).finditer(text):
            begin, finish = match.span(match.lastindex or 0)
            value = text[begin:finish]
            if certainty == "pair":
                accepted = _is_pair(value)
            elif kind == "url-password" and match.group().partition("://")[2].partition(":")[0] == value:
                accepted = False  # postgres:postgres, guest:guest: what a database starts with, no secret
            else:
                accepted = _is_value(value, _LEVELS[certainty], human=certainty == "stated")
            if accepted:
                yield _RANK_PLACE, kind, begin, finish


def _is_pair(encoded: str) -> bool:
    """Whether this is base64 of "user:password"."""
    digits = encoded.rstrip("=").replace("-", "+").replace("_", "/")
    if len(digits) % 4 == 1:
        return False
    user, colon, word = _readable(binascii.a2b_base64(digits + "=" * (-len(digits) % 4))).partition(":")
    return bool(colon) and word != user and _is_value(word, STATED, human=True)


def _seed_phrases(lower: str) -> Iterator[_Finding]:
    """A line that is nothing but a wallet's number of plain words. (After a word for it, `_announced` finds them.)"""
    if lower.count(" ") < 11:
        return
    line = r"(?m)^[ \t>*\"'`-]{0,6}([a-z]{3,8}(?: [a-z]{3,8}){11}(?:(?: [a-z]{3,8}){3}){0,4})[\"'`. ]{0,3}$"
    for match in _pattern(line).finditer(lower):
        if not any(_pattern(formats.COMMON_WORDS).fullmatch(word) for word in match[1].split()):
            yield _RANK_FORMAT, "seed-phrase", *match.span(1)


def _announced(text: str, lower: str) -> Iterator[_Finding]:
    for group, literals, pattern in formats.ANNOUNCERS:
        if not _holds(lower, literals):
            continue
        for match in _pattern(pattern).finditer(lower):
            if group == "seed":
                yield from _words_after(lower, match.end())
            else:
                yield from _announced_by(text, lower, match, group)


def _announced_by(text: str, lower: str, word: Match[str], group: str) -> Iterator[_Finding]:
    if not _is_promising(text, max(0, word.start() - WINDOW), word.end() + WINDOW):
        return
    end = _end_of_name(text, lower, word, group)
    about = _pattern(r"[\s_-]{0,4}([a-z]{1,20})").match(lower, end) if end else None
    if not end or (about and _pattern(formats.ABOUT).fullmatch(about[1])):
        return
    kind = "token" if group == "machine" else "password"
    for level, start, stop in (
        *_assigned(text, end, group),
        *_tokens_after(text, end, group),
        *_token_before(text, word, group),
    ):
        if _is_value(text[start:stop], level, human=group != "machine"):
            yield _RANK_WORD, kind, start, stop


def _is_promising(text: str, start: int, stop: int) -> bool:
    """Whether anything here is more than plain words: it saves the closer look at most mentions of a password."""
    signs = r"\d|[a-z][A-Z]|[A-Z]{2}[a-z]|[^\w\s.,;:()-]|[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{5}"
    return _pattern(signs).search(text, start, stop) is not None


def _words_after(lower: str, end: int) -> Iterator[_Finding]:
    """The seed phrase behind its name: twelve and more short words, numbered or not, that make no sentence."""
    link = r"""[^\n:=]{0,60}?(?:[:=]|\b(?:is|ist|est|es|è)\b|是)[\s"'`*\d.)]{0,8}"""
    gap = r"""[\s,;.:)"'`*_-]{1,6}(?:\d{1,2}[.):]{0,2}\s{0,2})?"""
    match = _pattern(rf"{link}([a-z]{{3,8}}(?:{gap}[a-z]{{3,8}}){{11,24}})\b").match(lower, end)
    if match and sum(bool(_pattern(formats.COMMON_WORDS).fullmatch(word)) for word in match[1].split()) <= 1:
        yield _RANK_FORMAT, "seed-phrase", *match.span(1)


def _end_of_name(text: str, lower: str, match: Match[str], group: str) -> int:
    """Where the name around this word ends (DB_PASSWORD_PROD); 0 when it is another word, or only about secrets."""
    word, end = match.group(), match.end()
    if _is_part_of_other_word(text, match, group) or _is_public(lower, match.start(), group):
        return 0
    if not word.isascii():
        return end
    suffix = _pattern(r"[\w-]{0,40}(?:\.\w{1,40}){0,4}").match(text, end)
    rest = suffix.group() if suffix else ""
    runs_on = rest[:1].isalpha() and rest[:1].islower() == text[end - 1].islower()
    is_plural = rest[:1] in ("s", "S") and group == "machine"
    if runs_on and (is_plural or len(word) < 5 or _pattern(r"[a-z]{3}|[A-Z]{3}").match(rest)):
        return 0  # "max_tokens", "passing", "tokenizer"
    parts = _pattern(r"[A-Z]?[a-z]+|[A-Z]+").findall(rest)
    return 0 if any(_pattern(formats.ABOUT).fullmatch(part.lower()) for part in parts) else end + len(rest)


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
    qualifier = _pattern(r"[a-z0-9]+(?=[ _.-]?$)").search(lower[max(0, start - 20) : start])
    return (
        group == "machine"
        and qualifier is not None
        and bool(_pattern(formats.PUBLIC_WORDS).fullmatch(qualifier.group()))
    )


def _assigned(text: str, end: int, group: str) -> Iterator[_Candidate]:
    """The value that an equals sign, a colon or the like gives to the name that ends at `end`."""
    before = r"""[\\"'`\])}*_]{0,4}\s{0,3}(?:\([^()\n]{0,40}\)\s{0,2})?[*_]{0,2}"""
    sign = r"(?::=|=>|->|→|={1,3}|:|\||>)[*_]{0,2}[ \t]{0,4}"
    word = r"""(?:\\?"([^"\n]{1,300})"|\\?'([^'\n]{1,300})'|`([^`\n]{1,300})`|([^\s"'`<>]{1,300}))"""
    match = _pattern(before + sign + word).match(text, end)
    if match and group != "login":
        start, stop = match.span(match.lastindex or 0)
        yield ASSIGNED, start, _trimmed(text, start, stop, quoted=match.lastindex != 4)


def _tokens_after(text: str, end: int, group: str) -> Iterator[_Candidate]:
    """The next few words of the sentence, each with what the word before it says about it."""
    sentence = r"\n\s*\n|[.!?]\s+(?=[A-Z][a-z]+ )|(?<=\w)[,.;]?\n\s*(?:[-*#>|]|\w[\w ]{0,30}[:=])"
    stop = _pattern(sentence).search(text, end, end + WINDOW)
    tokens = _pattern(r"[!-~À-ÖØ-öø-ɏ]+|[^\s!-~À-ÖØ-öø-ɏ]+").finditer(text, end, stop.start() if stop else end + WINDOW)
    previous = "" if group == "login" else ":"  # "password Xyz", but not "login Xyz"
    for number, token in enumerate(tokens):
        if number >= MAX_WORDS_BETWEEN:
            return
        start, finish = _unwrapped(text, *token.span())
        if _is_promising(text, start, finish):
            direct = previous.endswith(_MARKS) or bool(_pattern(formats.LINKS).fullmatch(previous.lower()))
            if direct or not _pattern(formats.IDENTIFIER_WORDS).fullmatch(previous.lower()):
                yield (SAID if direct else NEAR), start, finish
            pair = _pattern(r"[\w.@-]{2,40}[:/](?=[^\s:/]{6})").match(text, start, finish)
            if pair and group != "machine":
                yield (SAID if group == "login" else NEAR), pair.end(), finish
        previous = ":" if text[finish : token.end()] in (":", "=") else text[start:finish]


def _token_before(text: str, word: Match[str], group: str) -> Iterator[_Candidate]:
    """The value that stands before its word, with a link between: "Xyz is the password", "use Xyz as password"."""
    tokens = list(_pattern(r"\S+").finditer(text, max(0, word.start() - WINDOW), word.start()))[-5:]
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
    following = _pattern(r"[&;,]\s?[A-Za-z_][\w.-]*=").search(text, start, stop)
    if following:
        stop = following.start()
    while stop > start + 1 and text[stop - 1] in ",;)]}.|\\":
        stop -= 1
    return stop


def _is_value(value: str, level: int, *, human: bool) -> bool:
    """Whether `value`, standing where one is expected with certainty `level`, is a secret."""
    value = value[:MAX_JUDGED]
    if len(value) < _MIN_LENGTH[level] or _stands_for_one(value) or _is_reference(value):
        return False
    if level == STATED:
        return True
    bare = value.strip("!?#*$%&@")
    if bare.isdigit():
        return human and level == ASSIGNED
    if _is_wordlike(bare):
        return human and level >= SAID and _is_easy_password(value)
    if not human and _is_identifier(bare):
        return False
    return level == ASSIGNED or _is_mixed(value, level, human=human)


def _stands_for_one(value: str) -> bool:
    """Placeholders: `<token>`, `xxxx`, `changeme`, a variable to be filled in."""
    lower = value.lower()
    if _pattern(formats.PLACEHOLDER_VALUES).fullmatch(lower) or _pattern(formats.PLACEHOLDER_PARTS).search(lower):
        return True
    if len(value) >= 8 and len(set(value)) <= 3:
        return True
    if any(len(run.group()) * 3 >= len(value) for run in _pattern(r"(.)\1{5,}").finditer(value)):
        return True
    return bool(_pattern(r"[\[{(<]|\$[{(]|\$[A-Za-z_]\w*$|%\w+%$|%[sd]$|#\{|@\{|![a-z]+$|&[a-z]+$|--").match(value))


def _is_reference(value: str) -> bool:
    """What names or finds a value without being one: code, paths, addresses, hashes that say so, dates, versions."""
    if _pattern(
        r"[A-Za-z][\w+.-]*://|(?:op|vault|arn|ssm|env|file|urn|sha\d{1,3}|data|secretsmanager|keyring|projects)[:~/-]|SHA\d{1,3}:"
        r"|ssh-|AAAA[A-Z]\dNza|\$(?:2[aby]|argon2\w*|[156y]|apr1)\$|\{[A-Z]+\}|\d{4}-\d\d-\d\d|v?\d+(?:\.\d+)+(?:[-+.\w]*)$"
        r"|[^@\s]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,10}$|(?:~|\.{1,2})/|[A-Za-z]:\\"
    ).match(value):
        return True
    if _pattern(
        r"\.(?:md|pyi?|[jt]sx?|mjs|json|ya?ml|toml|env|txt|css|html?|sh|go|rs|java|rb|php|c|h|cpp|lock|log|csv|sql|db|png|jpe?g"
        r"|svg|pdf|zip|t?gz|whl|parquet|pem|key|crt|conf|ini|cfg|com|net|org|io|dev|internal|local|app)(?::\d+|/.*)?$"
    ).search(value):
        return True
    call = _pattern(r"([A-Za-z_][\w.]*)[\[(]").match(value)
    return bool(call and (_is_wordlike(call[1]) or _is_identifier(call[1]))) or bool(
        _pattern(r"[A-Z]{2,}\d?(?:_[A-Z]+\d?)+").fullmatch(value)
    )


def _is_wordlike(value: str) -> bool:
    """Whether every part of `value` could be a word, a name or a number: "deploy-bot", "passwordReset", "us-east-1"."""
    return all(_is_word(part) for part in _pattern(r"[-_./:,;@+=~\s|()\[\]{}]+").split(value))


def _is_word(part: str) -> bool:
    if len(part) <= 3 or part.isdigit():
        return True
    letters = part.rstrip("0123456789")
    if len(part) - len(letters) > 4 or not letters.isalpha():
        return False
    if len(letters) > 24 and letters[1:].islower():
        return False
    return not _is_scrambled(letters)


def _is_scrambled(value: str) -> bool:
    """Whether the case changes faster, or letters follow each other more strangely, than in words and names."""
    humps = _pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+").findall(value)
    letters = sum(map(len, humps))
    rare = sum(len(_pattern(formats.RARE_PAIR).findall(hump.lower())) for hump in humps)
    few, share = (2, 5) if len(humps) > 2 else (3, 4)  # names run words together, so a pair or two means less there
    return letters < 3 * len(humps) or (rare >= few and rare * share >= letters - len(humps))


def _is_identifier(value: str) -> bool:
    """Names of programs with digits inside: "OAuth2TokenProviderV3", "k8s-sealed-secret-v2"."""
    digits = sum(character.isdigit() for character in value)
    return digits <= 4 and not _is_scrambled(value) and bool(_pattern(r"[A-Za-z][\w.-]*").fullmatch(value))


def _is_easy_password(value: str) -> bool:
    """A word with digits behind it, or four and more words that make no sentence."""
    if _pattern(r"[A-Za-z]{4,}\d{1,4}[!?#*$%]{0,2}").fullmatch(value):
        return not _pattern(formats.TECHNICAL).match(value.lower())
    words = _pattern(r"[ -]").split(value)
    return (
        len(words) >= 4
        and all(_pattern(r"[a-z]{3,10}").fullmatch(word) for word in words)
        and not any(_pattern(formats.COMMON_WORDS).fullmatch(word) for word in words)
    )


def _is_mixed(value: str, level: int, *, human: bool) -> bool:
    """Whether `value` mixes kinds of characters as no word of a sentence does."""
    inner = value[1:-1]
    digit = any(character.isdigit() for character in value)
    cases = any(character.islower() for character in value) and any(character.isupper() for character in value[1:])
    symbol = any(character in "!$%^*#&?~+@" for character in inner)
    changes = len(_pattern(r"(?<=\d)[A-Za-z]|(?<=[A-Za-z])\d").findall(value))
    scrambled = _is_scrambled(value)
    if level == NEAR:
        if _pattern(r"[a-z]{2,10}_[A-Za-z0-9]+").fullmatch(value):
            return False  # "price_" and "req_" with something random: identifiers of other systems
        return (digit and cases and (symbol or (scrambled and changes >= 2))) or (symbol and cases and scrambled)
    if symbol and (digit or cases):
        return True
    if digit and cases and changes >= 2:
        return True
    if digit and changes >= 3 and (human or len(value) >= 16):
        return True
    return scrambled and len(value) >= (8 if digit else 10)
