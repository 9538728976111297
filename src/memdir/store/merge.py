"""Three-way merge of texts: what two writers changed in different places is kept from both (S13)."""

from __future__ import annotations


def merge_bytes(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Both changes to `base` in one text; None where they touch the same lines differently."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    lines = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    return _merge_lines(*lines)


def _merge_lines(base: list[bytes], ours: list[bytes], theirs: list[bytes]) -> bytes | None:
    merged: list[bytes] = []
    at_base = at_ours = at_theirs = 0
    for base_start, ours_start, theirs_start, size in _common_blocks(base, ours, theirs):
        part = _merge_part(base[at_base:base_start], ours[at_ours:ours_start], theirs[at_theirs:theirs_start])
        if part is None:
            return None
        merged += part
        merged += base[base_start : base_start + size]
        at_base, at_ours, at_theirs = base_start + size, ours_start + size, theirs_start + size
    return b"".join(merged)


def _merge_part(base: list[bytes], ours: list[bytes], theirs: list[bytes]) -> list[bytes] | None:
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def _common_blocks(base: list[bytes], ours: list[bytes], theirs: list[bytes]) -> list[tuple[int, int, int, int]]:
    """Runs of lines that all three texts share, in order, closed by an empty run at the very end."""
    in_ours = _matches(base, ours)
    in_theirs = _matches(base, theirs)
    blocks: list[tuple[int, int, int, int]] = []
    for line in range(len(base)):
        if line not in in_ours or line not in in_theirs:
            continue
        here = (line, in_ours[line], in_theirs[line])
        if blocks:
            *start, size = blocks[-1]
            if all(now == begin + size for now, begin in zip(here, start, strict=True)):
                blocks[-1] = (*blocks[-1][:3], size + 1)
                continue
        blocks.append((*here, 1))
    blocks.append((len(base), len(ours), len(theirs), 0))
    return blocks


def _matches(base: list[bytes], other: list[bytes]) -> dict[int, int]:
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}
