"""Secrets that show what they are: tokens in a published format, whole or in pieces, and blocks of keys."""

from __future__ import annotations

from memdir.store.secrets.formats import FORMATS
from memdir.store.secrets.match import RANK_BLOCK, RANK_FORMAT, RANK_SPLIT
from memdir.store.secrets.value import MAX_JUDGED, is_wordlike, stands_for_one
from memdir.store.secrets.view import compiled, rewritten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memdir.store.secrets.match import Finding
    from memdir.store.secrets.view import View

MAX_KEY_BLOCK = 20_000  # an armoured 16,384-bit RSA key is about 13,000 characters
MIN_KEY_DIGITS = 32  # the shortest private key there is (Ed25519) has more base64 digits
# What may stand between the pieces of a token.
_JOINTS = (
    r"""["'`]\s{0,4}(?:[+.&]|\|\|)?\s{0,4}\\?\s{0,20}["'`]"""  # "ab" + "cd"
    r"""|[ \t]{1,4}(?:\+|then|followed by|plus|and)[ \t]{1,4}"""  # ab and cd
    r"""|[ \t]{0,8}\\?\r?\n[ \t]{0,16}(?:[-*>#|]{1,3}[ \t]{1,4})?"""  # a new line, a bullet ...
    r"""(?:[A-Za-z][\w .()#/-]{0,30}[:=][ \t]{0,4})?["'`]?"""  # ... "second half: "
    r"""|(?<!\S\S)[ ](?=\S(?!\S))"""  # a b c d
)
_MARKUP = r"[*`]{1,3}|~~|</?[A-Za-z][^<>\n]{0,60}>"  # ab**cd**, ab<wbr>cd: what a page shows without a gap


def by_format(view: View) -> Iterator[Finding]:
    words = "\n".join([view.text[start:end] for start, end in view.long_words])
    if not words:
        return
    for kind, literals, pattern in FORMATS:
        for literal in literals:  # a loop, not any(): most texts get through all of these, and a generator costs more
            if literal in words:
                break
        else:
            continue
        for start, end in view.long_words:
            yield from _format_matches(kind, pattern, view.text, start, end)


def _format_matches(kind: str, pattern: str, text: str, start: int, end: int) -> Iterator[Finding]:
    for match in compiled(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])").finditer(text, start, end):
        begin, finish = match.span(match.lastindex or 0)
        value = text[begin:finish][:MAX_JUDGED]
        has_digit = any(character.isdigit() for character in value)
        if not stands_for_one(value) and not (is_wordlike(value) and not (has_digit and value.isalnum())):
            yield RANK_FORMAT, kind, begin, finish


def key_blocks(text: str) -> Iterator[Finding]:
    if "PRIVATE KEY" not in text and "Private-Lines" not in text:
        return
    headers = r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-Lines: \d{1,3}(?=\s)"
    blanks = r"\.\.\.|[<*\[]|[xX]{8}|(?i:example|redacted)"  # what documentation puts in place of a key
    done = 0
    for match in compiled(headers).finditer(text):
        if match.start() < done:
            continue
        end = text.find("-----END", match.end(), match.end() + MAX_KEY_BLOCK)
        if end < 0:
            body = compiled(r"[A-Za-z0-9+/=\s\\]{0,20000}").match(text, match.end())
            end = body.end() if body else match.end()
        content = text[match.end() : end]
        if len(compiled(r"[^A-Za-z0-9+/]").sub("", content)) >= MIN_KEY_DIGITS and not compiled(blanks).search(content):
            footer = compiled(r"-----END [A-Z0-9 ]{1,60}-----").match(text, end)
            done = footer.end() if footer else match.end() + len(content.rstrip())
            yield RANK_BLOCK, "private-key", match.start(), done


def in_pieces(text: str, view: View, found: list[Finding]) -> Iterator[Finding]:
    """Tokens that were cut: over lines, into strings to be joined, after labels ("part 2: "), letter by letter, by
    markup."""
    for sign in (r"\d[A-Za-z]|[A-Za-z]\d|(?:\S ){15}", r"(?=[A-Za-z0-9_-]{8})[A-Za-z_-]{0,40}\d|(?:\S ){15}"):
        if not compiled(sign).search(view.text):
            return  # no token is without, and most prose is: this saves building the view
    known = bytearray(len(text))
    for rank, _, start, end in found:
        if rank <= RANK_FORMAT:  # whole; what only a word announced may be the first piece
            known[start:end] = b"\1" * (end - start)
    for joints in (_JOINTS, _MARKUP):
        joined = rewritten(view, joints, lambda _: "")
        for rank, kind, start, end in by_format(joined):
            pieces = _runs(text, joined, start, end)
            is_cut = pieces[-1][1] - pieces[0][0] > end - start
            if is_cut and not any(known[slice(*pieces[0])]):
                yield from ((rank + RANK_SPLIT, kind, *piece) for piece in pieces)


def _runs(text: str, view: View, start: int, end: int) -> list[tuple[int, int]]:
    """The stretches of the original text that these characters of a view came from; only blanks are inside one."""
    runs: list[tuple[int, int]] = []
    for place in range(start, end):
        if runs and not text[runs[-1][1] : view.starts[place]].strip(" "):
            runs[-1] = (runs[-1][0], view.ends[place])
        else:
            runs.append((view.starts[place], view.ends[place]))
    return runs
