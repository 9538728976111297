"""Three-way merge of texts: what two writers changed in different places is kept from both (S13)."""

from __future__ import annotations


def merge_bytes(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Both changes to `base` in one text; None where they touch the same lines differently."""
    if theirs in (ours, base):
        return ours
    if ours == base:
        return theirs
    texts = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    in_ours, in_theirs = (_matches(texts[0], other) for other in texts[1:])
    shared = [(line, in_ours[line], in_theirs[line]) for line in in_ours if line in in_theirs]
    merged: list[bytes] = []
    starts = [0, 0, 0]
    for ends in (*shared, [len(text) for text in texts]):  # what stands between two lines that all three have
        was, our, their = (text[start:end] for text, start, end in zip(texts, starts, ends, strict=True))
        if their not in (our, was) and our != was:
            return None
        merged += our if their in (our, was) else their
        merged += texts[0][ends[0] : ends[0] + 1]
        starts = [end + 1 for end in ends]
    return b"".join(merged)


def _matches(base: list[bytes], other: list[bytes]) -> dict[int, int]:
    from difflib import SequenceMatcher

    blocks = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}
