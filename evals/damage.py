"""Damaged transcripts: does resume ever raise, lose more than the damaged records, or keep silent about them (J3)?

    python -m evals.damage [--every 1]

Cuts at every byte of the last two records, NUL runs, invalid UTF-8, half lines and their retries, duplicates, circles,
missing records, CRLF, flipped bits, lines of 50 MB. After each, one more message is appended and must be there too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memdir.transcript.conversation import Conversation, resume
from memdir.transcript.message import Message, Text, ToolResult, ToolUse, user
from memdir.transcript.record import BOUNDARY
from memdir.transcript.transcript import Transcript
from memdir.transcript.tree import Damage, Tree

NUL_RUNS = (200, 9_000, 143_000)  # as seen after power cuts
HUGE_BYTES = 50_000_000


def damage_of(path: str) -> Damage:
    """What is wrong with the whole of a transcript; resume reads only as far back as it must."""
    tree = Tree(path, with_sidechains=True)
    for _ in tree.before(-1):
        pass  # back to the beginning
    return tree.damage


@dataclass(frozen=True)
class Sample:
    """A sound transcript: its lines, the ids of each line, and its context."""

    name: str
    lines: tuple[bytes, ...]
    context: tuple[Message, ...]

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    def touched(self, start: int, stop: int) -> set[int]:
        """The lines that the bytes from `start` to `stop` belong to."""
        found, at = set(), 0
        for number, line in enumerate(self.lines):
            if start < at + len(line) and stop > at:
                found.add(number)
            at += len(line)
        return found


@dataclass(frozen=True)
class Case:
    """A damaged transcript, and the lines that may be lost by it."""

    kind: str
    sample: Sample
    data: bytes
    lost: frozenset[int]
    is_told: bool = True  # whether there is anything to tell of


def samples(folder: Path) -> list[Sample]:
    """A straight conversation, one with a branch, and one with a compaction."""
    return [
        _sample(folder, name, build)
        for name, build in (("straight", _straight), ("branch", _branch), ("compacted", _compacted))
    ]


def _sample(folder: Path, name: str, build: Callable[[Conversation], None]) -> Sample:
    path = folder / f"{name}.jsonl"
    conversation = Conversation(_transcript(str(path)))
    build(conversation)
    conversation.transcript.close()
    return Sample(name, tuple(path.read_bytes().splitlines(keepends=True)), conversation.messages)


def _transcript(path: str) -> Transcript:
    return Transcript(path, session_id="s", cwd="/app", clock=lambda: 1_790_000_000.0)


def _straight(conversation: Conversation) -> None:
    for number in range(3):
        conversation.add(user(f'Question {number}: “naïve” {{"type"}} 漢字?'))
        conversation.add(Message("assistant", (Text("I look."), ToolUse(f"c{number}", "Grep", {"pattern": "é"}))))
        conversation.add(Message("user", (ToolResult(f"c{number}", "app.py:3: é\n"),)))
        conversation.add(Message("assistant", (Text(f"Answer {number}."),)))


def _branch(conversation: Conversation) -> None:
    _straight(conversation)
    conversation.rewind(conversation.messages[3].id)
    _straight(conversation)


def _compacted(conversation: Conversation) -> None:
    _straight(conversation)
    conversation.compact(user("What was said so far."), conversation.messages[-4:], {"trigger": "manual"})
    conversation.add(user("Go on."))
    conversation.add(Message("assistant", (Text("Gladly."),)))


def cases(sample: Sample) -> Iterator[Case]:
    """Every damage to one sample."""
    yield from _cuts(sample)
    yield from _nul_runs(sample)
    yield from _invalid_bytes(sample)
    yield from _retries(sample)
    yield from _rearranged(sample)
    yield from _circles(sample)
    yield from _line_ends(sample)


def _cuts(sample: Sample) -> Iterator[Case]:
    size = len(sample.data)
    for cut in range(size - sum(len(line) for line in sample.lines[-2:]), size):
        lost = sample.touched(cut, size) if cut < size - 1 else set()  # without its newline a record is whole
        yield Case("cut", sample, sample.data[:cut], frozenset(lost), is_told=sample.data[cut - 1 : cut] not in b"}\n")


def _nul_runs(sample: Sample) -> Iterator[Case]:
    data = sample.data
    for run in NUL_RUNS:
        nul = bytes(run)
        yield Case("NUL run at the end", sample, data + nul, frozenset(), is_told=False)
        for at in range(0, len(data), 5):
            inside = data[at - 1 : at] not in (b"", b"\n") and data[at : at + 1] != b"\n"
            lost = sample.touched(at - 1, at + 1) if inside else set()
            yield Case("NUL run put in", sample, data[:at] + nul + data[at:], frozenset(lost), is_told=inside)
        for at in range(1, len(data), 41):
            lost = sample.touched(at - 1, at + run + 1)
            yield Case(
                "NUL run written over", sample, data[:at] + nul[: len(data) - at] + data[at + run :], frozenset(lost)
            )


def _invalid_bytes(sample: Sample) -> Iterator[Case]:
    data = sample.data
    for at in range(0, len(data), 2):
        for wrong in {b"\xff", b"\xc3"} - {data[at : at + 1]}:
            yield Case("invalid UTF-8", sample, data[:at] + wrong + data[at + 1 :], _around(sample, at))


def _retries(sample: Sample) -> Iterator[Case]:
    """Half a line, then the whole of it: on the same line, as by a writer that did not see the half."""
    for number, line in enumerate(sample.lines):
        before, after = b"".join(sample.lines[:number]), b"".join(sample.lines[number:])
        for cut in range(1, len(line) - 1, 7):
            yield Case("half a line and its retry", sample, before + line[:cut] + after, frozenset())
            yield Case("half a line, its retry below", sample, before + line[:cut] + b"\n" + after, frozenset())


def _rearranged(sample: Sample) -> Iterator[Case]:
    lines = sample.lines
    for number, line in enumerate(lines):
        yield Case(
            "missing line", sample, b"".join(lines[:number] + lines[number + 1 :]), frozenset((number,)), is_told=False
        )
        joined = b"".join(lines[:number]) + line.rstrip(b"\n") + b"".join(lines[number + 1 :])
        yield Case("two records on a line", sample, joined, frozenset(), is_told=number < len(lines) - 1)
        for place in range(number + 1, len(lines) + 1):
            yield Case("duplicate", sample, b"".join((*lines[:place], line, *lines[place:])), frozenset())


def _circles(sample: Sample) -> Iterator[Case]:
    if sample.name != "straight":
        return
    ids = [json.loads(line)["uuid"] for line in sample.lines]
    for number, line in enumerate(sample.lines):
        for other in ids[number:]:
            wrong = json.dumps({**json.loads(line), "parentUuid": other}).encode() + b"\n"
            changed = (*sample.lines[:number], wrong, *sample.lines[number + 1 :])
            yield Case("circle", sample, b"".join(changed), frozenset((number,)))


def _line_ends(sample: Sample) -> Iterator[Case]:
    data = sample.data
    yield Case("CRLF", sample, data.replace(b"\n", b"\r\n"), frozenset(), is_told=False)
    yield Case("empty lines", sample, data.replace(b"\n", b"\n\n \n"), frozenset(), is_told=False)
    yield Case("byte order mark", sample, b"\xef\xbb\xbf" + data, frozenset(), is_told=False)
    for junk in (b"", b"\n", b"\0" * 5000, b"[]\n", b"{}\n", b"null\n", b"[" * 200_000):
        yield Case("nothing but junk", sample, junk, frozenset(range(len(sample.lines))), is_told=False)
    for number, at in enumerate(random.Random(1).sample(range(len(data)), 500)):
        flipped = bytes((data[at] ^ (1 << number % 8),))
        lost = _around(sample, at)
        if any(BOUNDARY.encode() in sample.lines[line] for line in lost):
            lost = frozenset(range(len(sample.lines)))  # what it says was kept may read as if nothing was
        yield Case("flipped bit", sample, data[:at] + flipped + data[at + 1 :], lost, is_told=False)


def _around(sample: Sample, at: int) -> frozenset[int]:
    """The line of a byte; of a line's end, the line behind it too."""
    stop = at + 2 if sample.data[at : at + 1] == b"\n" else at + 1
    return frozenset(sample.touched(at, stop))


def huge_cases(sample: Sample) -> Iterator[Case]:
    """Lines of 50 MB: a sound record, junk, half a record and its retry."""
    fields = json.loads(sample.lines[-1])
    fields["message"]["content"][0]["text"] = "x" * HUGE_BYTES
    huge = json.dumps(fields).encode() + b"\n"
    front, last = b"".join(sample.lines[:-1]), frozenset((len(sample.lines) - 1,))
    yield Case("50 MB record", sample, front + huge, last, is_told=False)
    yield Case("50 MB of junk", sample, front + b"x" * HUGE_BYTES + b"\n" + sample.lines[-1], frozenset())
    yield Case("50 MB, cut, and a retry", sample, front + huge[:-9] + sample.lines[-1], last)


def judge(case: Case, path: str) -> str:
    """What is wrong with the resume of a damaged transcript; empty when nothing is."""
    with open(path, "wb") as file:
        file.write(case.data)
    try:
        left, told = resume(path), damage_of(path)
        conversation = Conversation.resume(_transcript(path))
        added = conversation.add(user("one more"))
        conversation.transcript.close()
        later = resume(path)
    except Exception as error:  # noqa: BLE001 - that nothing is raised is what is judged here
        return f"raised {error!r}"
    kept = [message.id for message in left.messages]
    if case.is_told and not told.total + left.damage.total:
        return "kept silent"
    if [message.id for message in later.messages] != [*kept, added.id]:
        return f"the next message is lost: {len(kept)} before, {len(later.messages)} after"
    return _loss(case, left.messages)


def _loss(case: Case, found: Sequence[Message]) -> str:
    lost_ids = _ids(case.sample.lines[number] for number in case.lost)
    wanted = [message for message in case.sample.context if message.id not in lost_ids]
    by_id = {message.id: message for message in found}
    missing = [message.id for message in wanted if by_id.get(message.id) != message]
    if missing:
        return f"lost {len(missing)} sound messages of {len(case.sample.context)}"
    # Where a compaction's boundary is lost, everything is there, and the summary at its place in time.
    order = [message.id for message in found if message in wanted]
    in_time = [str(json.loads(line)["uuid"]) for line in case.sample.lines]
    if order not in ([message.id for message in wanted], [uuid for uuid in in_time if uuid in order]):
        return "changed the order"
    return ""


def _ids(lines: Iterator[bytes]) -> set[str]:
    return {str(json.loads(line).get("uuid")) for line in lines}


def measure(every: int = 1, *, with_huge: bool = True) -> tuple[Counter[str], list[str]]:
    """Judge every n-th case. Returns how many of each kind, and what went wrong."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a disk would only make it slow
    with tempfile.TemporaryDirectory(dir=place) as folder:
        path = os.path.join(folder, "damaged.jsonl")
        for sample in samples(Path(folder)):
            some = [case for number, case in enumerate(cases(sample)) if number % every == 0]
            for case in (*some, *(huge_cases(sample) if with_huge and sample.name == "straight" else ())):
                counts[case.kind] += 1
                fault = judge(case, path)
                if fault:
                    wrong.append(f"{case.kind} ({sample.name}, lines {sorted(case.lost)}): {fault}")
    return counts, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.damage", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every n-th case")
    counts, wrong = measure(parser.parse_args().every)
    for kind, count in counts.most_common():
        print(f"{count:7,}  {kind}")
    for fault in wrong[:50]:
        print(f"WRONG  {fault}")
    print(f"{counts.total():7,}  cases, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
