"""Find secrets in a text, however they are written, and take them out (E5, O1).

The one scanner for doctor, extraction, dream and team sync. It says what kind of secret stands where and never hands
out a value. It does not prove that a value works, and it cannot tell a password that is a plain word from a word.
"""

from __future__ import annotations

from memdir.store.secrets.rules import (
    across_marks,
    by_announcement,
    by_format,
    by_place,
    by_sum,
    in_pieces,
    key_blocks,
    seed_phrases,
    unmarked,
)
from memdir.store.secrets.tables import compiled
from memdir.store.secrets.view import LINE_END, MAX_LAYERS, MIN_ENCODED, WRAPPED, View, decoded, plain, unescaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from re import Match

    from memdir.store.secrets.rules import Finding

MOST_PIECES = 4  # texts over which a secret is followed
MOST_SIGNS = 12  # of a word, behind which something encoded may begin
LONGEST_SECRET = 4_096  # looked at beyond a cut; more is a key block, which is known by how it begins
_TAGS = b"\xf3\xa0"  # how each of the tag characters begins
MAX_ROUNDS = 4  # taking one secret out can lay another bare; more than a few layers is no text that people write


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
        return isinstance(other, SecretMatch) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def find_secrets(text: str) -> tuple[SecretMatch, ...]:
    """Where `text` holds secrets: in order, without overlaps. A secret in several pieces is several matches."""
    return _merged([*_found(text, plain(View(text)), MAX_LAYERS), *_in_tags(text)])


def _found(text: str, view: View, layers: int) -> list[Finding]:
    """The secrets of a text in one of its clothes and in those beneath, until it wears none or wore too many."""
    findings = [*_in_view(view), *_in_encoded(view, layers)]
    findings += in_pieces(text, view, findings)
    beneath = (unescaped(view) or unmarked(view)) if layers else None
    return [*findings, *(_found(text, beneath, layers - 1) if beneath else across_marks(view))]


def _in_tags(text: str) -> Iterator[Finding]:
    """A secret that is written in the tag characters, which nothing shows and models read."""
    if text.isascii() or _TAGS not in text.encode("utf-8", "surrogatepass"):
        return
    for run in compiled(r"[\U000e0020-\U000e007e]{16,}").finditer(text):
        hidden = "".join(chr(ord(one) - 0xE0000) for one in run.group())
        yield from ((*found[:2], *run.span()) for found in _found(hidden, View(hidden), MAX_LAYERS)[:1])


def redact(text: str) -> str:
    """`text` with every secret replaced by `[removed: kind]`, and not a character changed elsewhere."""
    for _ in range(MAX_ROUNDS):
        found = find_secrets(text)
        if not found:
            break
        for match in reversed(found):
            text = f"{text[: match.start]}[removed: {match.kind}]{text[match.end :]}"
    return text


def redact_parts(parts: Sequence[str]) -> list[str]:
    """Texts that stand beside each other, without secrets: also without one that begins in one and ends in the next.

    Those come first: the half of a secret that is found by itself leaves the other half unseen.
    """
    clean = list(parts)
    for count in range(2, MOST_PIECES + 1):
        for first in range(len(clean) - count + 1):
            _redact_across(clean, first, count)
    _redact_blocks(clean)
    return [redact(part) for part in clean]


def _redact_across(parts: list[str], first: int, count: int) -> None:
    """Take out what goes over every border of so many texts in a row; only what is near a border is looked at."""
    last = first + count - 1
    left, right = parts[first][-LONGEST_SECRET:], parts[last][:LONGEST_SECRET]
    middle = "".join(parts[first + 1 : last])
    before, after = len(left), len(left) + len(middle)
    if len(middle) > LONGEST_SECRET or not left or not right:
        return
    alone = {(start, end) for _, _, start, end in by_format(View(left))}
    for _, kind, start, end in by_format(View(left + middle + right)):
        if start < before and end > after and (start, before) not in alone:
            parts[first] = f"{parts[first][: len(parts[first]) - before + start]}[removed: {kind}]"
            parts[first + 1 : last] = [""] * (count - 2)
            parts[last] = f"[removed: {kind}]{parts[last][end - after :]}"
            return


def _redact_blocks(parts: list[str]) -> None:
    """Take out keys whose lines are spread over several texts."""
    for _, kind, start, end in sorted(key_blocks("\n".join(parts)), reverse=True):
        at = 0
        for number, part in enumerate(list(parts)):
            begin, finish = max(start - at, 0), min(end - at, len(part))
            if begin < finish:
                parts[number] = f"{part[:begin]}[removed: {kind}]{part[finish:]}"
            at += len(part) + 1


def beginning(text: str, limit: int) -> str:
    """The first `limit` characters of a text, secrets taken out before it is cut: half a token is a token half told.

    Nothing from behind the limit moves up, however much was taken out: there a secret may be cut in half unseen.
    """
    shown, at = "", 0
    found = find_secrets(text[: limit + LONGEST_SECRET])
    if not found and len(text) <= limit:
        return text
    for match in found:
        if match.start >= limit:
            break
        shown += f"{text[at : match.start]}[removed: {match.kind}]"
        at = match.end
    shown = redact(shown + text[at:limit])
    return shown if len(text) <= limit else f"{shown.rstrip()}…"


def new_secrets(before: str, after: str) -> tuple[SecretMatch, ...]:
    """The secrets in `after` that `before` does not hold, too."""
    found = find_secrets(after)
    known = {before[match.start : match.end] for match in find_secrets(before)} if found and before else set()
    return tuple(match for match in found if after[match.start : match.end] not in known)


def _in_view(view: View) -> list[Finding]:
    text = view.text
    lower = text.replace("İ", "I").lower()  # the one letter whose lower case is longer than itself
    findings = [*by_format(view), *key_blocks(text), *by_place(text, lower), *by_announcement(text, lower)]
    findings += [*seed_phrases(lower), *by_sum(text)]
    return [(rank, kind, view.starts[start], view.ends[end - 1]) for rank, kind, start, end in findings]


def _in_encoded(view: View, layers: int) -> Iterator[Finding]:
    """Base64 and hexadecimal runs whose content holds a secret; wrapped lines are tried as one."""
    for run in _encoded_runs(view) if layers else ():
        signs = list(compiled(r"[+/_-](?=[A-Za-z0-9+/_-]{24})").finditer(run.group()))[:MOST_SIGNS]
        for at in (0, *(sign.end() for sign in signs)):  # a path, or a name with its words, may stand before it
            content = decoded(compiled(LINE_END).sub("", run.group()[at:]))
            if content and (found := _found(content, plain(View(content)), layers - 1)):
                yield *min(found)[:2], view.starts[run.start() + at], view.ends[run.end() - 1]
                break


def _encoded_runs(view: View) -> Iterator[Match[str]]:
    """In words only: to try a pattern at each place of a text costs more than all else."""
    run = r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}={0,2}"
    for start, end in view.words:
        if end - start >= MIN_ENCODED:
            yield from compiled(run).finditer(view.text, start, end)
    if ("\n" in view.text and compiled(WRAPPED).search(view.text)) or any(
        compiled(r"[A-Za-z0-9+/]{40}").search(view.text, *word) for word in view.words if word[1] - word[0] >= 40
    ):
        wrapped = rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{8,80}}(?:{LINE_END}[A-Za-z0-9+/]{{4,80}})+={{0,2}}"
        yield from compiled(wrapped).finditer(view.text)


def _merged(findings: list[Finding]) -> tuple[SecretMatch, ...]:
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
