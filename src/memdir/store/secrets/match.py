"""What a finding is, and how several findings of one secret become one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Finding = tuple[int, str, int, int]  # rank, kind, start and end

# Which finding names a secret that several rules found: the most specific one.
RANK_BLOCK, RANK_FORMAT, RANK_PLACE, RANK_WORD, RANK_SPLIT = 0, 1, 2, 3, 4


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


def merged(findings: list[Finding]) -> tuple[SecretMatch, ...]:
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
