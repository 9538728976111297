"""The scanner: a text in all its clothes, searched by every rule."""

from __future__ import annotations

from memdir.store.secrets.announced import by_announcement, seed_phrases
from memdir.store.secrets.match import merged
from memdir.store.secrets.placed import by_place
from memdir.store.secrets.token import by_format, in_pieces, key_blocks
from memdir.store.secrets.view import MAX_DEPTH, View, compiled, decoded, plain, unescaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memdir.store.secrets.match import Finding, SecretMatch

MAX_ROUNDS = 4  # taking one secret out can lay another bare; more than a few layers is no text that people write


def find_secrets(text: str) -> tuple[SecretMatch, ...]:
    """Where `text` holds secrets: in order, without overlaps. A secret in several pieces is several matches."""
    view = plain(text)
    findings = [*_in_view(view), *_in_encoded(view, depth=0)]
    decoded = unescaped(view)
    if decoded is not None:
        findings += _in_view(decoded)
    findings += in_pieces(text, view, findings)
    return merged(findings)


def redact(text: str) -> str:
    """`text` with every secret replaced by `[removed: kind]`, and not a character changed elsewhere."""
    for _ in range(MAX_ROUNDS):
        found = find_secrets(text)
        if not found:
            break
        for match in reversed(found):
            text = f"{text[: match.start]}[removed: {match.kind}]{text[match.end :]}"
    return text


def _in_view(view: View) -> list[Finding]:
    text = view.text
    lower = text.replace("İ", "I").lower()  # the one letter whose lower case is longer than itself
    findings = [*by_format(view), *key_blocks(text), *by_place(text, lower), *by_announcement(text, lower)]
    findings += seed_phrases(lower)
    return [(rank, kind, view.starts[start], view.ends[end - 1]) for rank, kind, start, end in findings]


def _in_encoded(view: View, *, depth: int) -> Iterator[Finding]:
    """Base64 and hexadecimal runs whose content holds a secret; wrapped lines are tried as one."""
    if not view.long_words:
        return
    wrapped = r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,80}(?:\r?\n[ \t]{0,8}[A-Za-z0-9+/]{4,80})+={0,2}"
    for runs in (r"[A-Za-z0-9+/_-]{24,}={0,2}", wrapped):
        for run in compiled(runs).finditer(view.text):
            content = decoded(run.group())
            inner = View(content)
            found = _in_view(inner) if content else []
            if content and not found and depth < MAX_DEPTH:
                found = list(_in_encoded(inner, depth=depth + 1))
            if found:
                yield *min(found)[:2], view.starts[run.start()], view.ends[run.end() - 1]
