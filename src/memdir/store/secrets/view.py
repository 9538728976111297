"""The text to search in other clothes: plain, unescaped, decoded, with the way back to where each character stood."""

from __future__ import annotations

from functools import cached_property, lru_cache

from memdir.store.secrets.tables import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from re import Match

MAX_LAYERS = 6  # of one disguise in another; more is no text that anybody reads
MIN_WORD, MAX_WORD = 16, 4_096  # of a word that may be a token
_UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0" + "".join(
    map(chr, (*range(0xFE00, 0xFE10), *range(0x300, 0x370), *range(0x20D0, 0x20F1)))
)
_UNUSUAL = r"[^À-ÿΑ-ώЀ-ӿぁ-ゖァ-ヺ一-鿿가-힣]+"  # not among the letters of many texts, which stay as they are
_AROUND = "\"'`<>,;()[]{}"  # signs that stand around words
_PLAIN = r"[a-z./_:-]{1,30}+|(?:[a-z]{0,12}+[./_:-]){3,40}[a-z]{0,12}+"  # a name, a path, an address
_IN_WORD = bytes(0x20 < code < 0x7F and chr(code) not in _AROUND for code in range(256))
_PARTS = bytes(chr(code).isspace() or chr(code) in _AROUND for code in range(256))
_BLANKS = r"[\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"  # those beyond Latin-1
_ASCII, _RUN = bytes(range(128)), bytes(MIN_WORD)
_NO_CONTROL = bytes(code for code in range(256) if (code >= 0x20 and code != 0x7F) or code in b"\t\n\r")
WRAPPED = (
    r"""\n[ \t>|*"'-]{0,16}+[A-Za-z0-9+/]{8,80}+={0,2}["'\\ +]{0,4}\r?(?:\n|$)"""  # a line of base64 and of little else
)
LINE_END = (  # in the middle of it
    r"""(?:(?:(?:["'][ \t]{0,4}\+?|[ \t]{0,4}\\?)\r?\n){1,2}[ \t]{0,16}(?:[-*>|]{1,2}[ \t]{1,4})?["']?"""
    r"""|["'] ?\+ ?["'])"""
)
MIN_ENCODED = 24  # base64 shorter than this holds no secret that a format could recognise


class View:
    """A text to search, and where each of its characters stands in the text it was made from."""

    def __init__(self, text: str, places: Callable[[], tuple[Sequence[int], Sequence[int]]] | None = None) -> None:
        self.text = text
        self._find_places = places

    @cached_property
    def _places(self) -> tuple[Sequence[int], Sequence[int]]:
        size = len(self.text)
        return self._find_places() if self._find_places else (range(size), range(1, size + 1))

    @property
    def starts(self) -> Sequence[int]:
        return self._places[0]

    @property
    def ends(self) -> Sequence[int]:
        return self._places[1]

    @cached_property
    def words(self) -> list[tuple[int, int]]:
        return words_of(self.text)

    @cached_property
    def long_words(self) -> list[tuple[int, int]]:
        """The same, a very long one in stretches that are looked at one by one."""
        spans = [(at, min(at + MAX_WORD, end)) for start, end in self.words for at in range(start, end, MAX_WORD)]
        return [span for span in spans if span[1] - span[0] >= MIN_WORD]


def plain(view: View) -> View:
    """The text in NFKC, without characters that cannot be seen."""
    data = view.text.encode("utf-8", "surrogatepass")
    odd = "".join(sorted({f"\\x{code:02x}" for code in data.translate(None, _NO_CONTROL)}))
    if not data.isascii():
        beyond = data.translate(None, _ASCII).decode("utf-8", "surrogatepass")
        odd += "".join(sorted(one for one in set("".join(compiled(_UNUSUAL).findall(beyond))) if _visible(one) != one))
    return rewritten(view, f"[{odd}]", lambda match: _visible(match.group())) if odd else view


@lru_cache(maxsize=4_096)
def _visible(character: str) -> str:
    import unicodedata  # here as below, because a hook's text is mostly plain (ADR 0003)

    is_unseen = unicodedata.category(character) in ("Cf", "Cc") or character in _UNSEEN
    if is_unseen or "\U000e0000" <= character <= "\U000e0fff":  # more that choose how a letter is drawn, or nothing
        return ""
    return unicodedata.normalize("NFKC", character)


def unescaped(view: View) -> View | None:
    """The text with %41, \\x41, \\u0041, &#65; and &zwnj; decoded and without comments; None when it says the same."""
    text = view.text
    if not any(one in text for one in ("%", "\\", "&", "<!--")):
        return None
    if "<!--" in text:
        view = rewritten(view, _COMMENT, lambda _: "")  # a page shows a token around it whole
    view = rewritten(view, ESCAPE, _unescape) if compiled(ESCAPE).search(view.text) else view
    return plain(view) if view.text != text else None


_COMMENT = r"<!--(?:[^-<]|-(?!->)|<(?!!--)){0,4000}-->"
ESCAPE = (
    r"%(0[9ADad]|[2-7][0-9A-Fa-f])|\\x(0[9ADad]|[2-7][0-9A-Fa-f])|[%\\]u([0-9A-Fa-f]{4})"
    r"|&#[xX]0{0,6}([0-9A-Fa-f]{2,5});?|&#0{0,6}(\d{2,6});?|((?:%[89A-Fa-f][0-9A-Fa-f]){2,})|&([A-Za-z]{2,31};)"
    r"|\\u\{0{0,4}([0-9A-Fa-f]{2,5})\}|\\U000([0-9A-Fa-f]{5})"
)
_DECIMAL, _UTF8, _NAMED = 5, 6, 7  # groups


def _unescape(match: Match[str]) -> str:
    digits = match[match.lastindex or 0]
    if match.lastindex == _NAMED:
        from html.entities import html5

        return html5.get(digits, match.group())
    if match.lastindex == _UTF8:
        letters = bytes.fromhex(digits.replace("%", "")).decode("utf-8", "replace")
        return match.group() if "\ufffd" in letters else letters
    code = int(digits, 10 if match.lastindex == _DECIMAL else 16)
    is_letter = code in (9, 10, 13) or 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800 or 0xE000 <= code < 0x110000
    return chr(code) if is_letter else match.group()


def rewritten(view: View, pattern: str, rewrite: Callable[[Match[str]], str]) -> View:
    """What the matches become; where each character stood is found out when somebody asks, which is seldom."""
    cuts = [(*match.span(), rewrite(match)) for match in compiled(pattern).finditer(view.text)]
    pieces: list[str] = []
    done = 0
    for begin, end, new in cuts:
        pieces += (view.text[done:begin], new)
        done = end
    return View("".join([*pieces, view.text[done:]]), lambda: _places_of(view, cuts))


def _places_of(view: View, cuts: list[tuple[int, int, str]]) -> tuple[list[int], list[int]]:
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for begin, end, new in cuts:
        starts += view.starts[done:begin]
        ends += view.ends[done:begin]
        if begin < end:
            starts += [view.starts[begin]] * len(new)
            ends += [view.ends[end - 1]] * len(new)
        done = end
    return [*starts, *view.starts[done:]], [*ends, *view.ends[done:]]


def words_of(text: str) -> list[tuple[int, int]]:
    """Where words stand that are long enough for a token, and not all small letters."""
    if b"\1" * MIN_WORD not in text.encode("utf-8", "replace").translate(_IN_WORD):
        return []  # as most prose
    parted = text if text.isascii() else compiled(_BLANKS).sub(" ", text)
    parts = parted.encode("latin-1", "replace").translate(_PARTS) + b"\1"
    spans, is_plain, at = list[tuple[int, int]](), compiled(_PLAIN).fullmatch, 0
    while (at := parts.find(_RUN, at)) >= 0:  # a byte for each character: far faster than a pattern, or splitting
        end = parts.index(b"\1", at)
        if not is_plain(text[at:end]):
            spans.append((at, end))
        at = end
    return spans


def decoded(run: str) -> str:
    """What a run of base64 or hexadecimal digits says, if it says something readable."""
    digits = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
    if len(digits) < MIN_ENCODED:
        return ""
    if pairs := compiled(r"((?:[0-9a-fA-F]{2}){12,}+)(?:$|[+/])").match(digits):
        return readable(bytes.fromhex(pairs[1]))
    import binascii

    if not readable(binascii.a2b_base64(digits[:16])):
        return ""
    digits = digits[:-1] if len(digits) % 4 == 1 else digits
    return readable(binascii.a2b_base64(digits + "=" * (-len(digits) % 4)))


def readable(content: bytes) -> str:
    """A text of bytes, as far as it is one: what follows in the next line may not belong to it any more."""
    if 4 * content.count(0) >= len(content):
        order = "le" if content[1::2].count(0) >= content[::2].count(0) else "be"
        text = content.decode(f"utf-16-{order}", "replace").removeprefix("\ufeff")
    else:
        text = content.decode("utf-8", "replace")
    if text.isprintable() and "\ufffd" not in text:
        return text
    fault = compiled(r"[^\t\r\n -~\xa0-\ufffc\U00010000-\U000e0fff]").search(text)
    text = text[: fault.start()] if fault else text
    return text if 4 * len(text) >= len(content) else ""
