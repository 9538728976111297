"""The built-in model's answer to the dream job: plan the night, read what it will change, write it by the usual tools.

A night is planned once for a job. Before writing, what it read is compared with what the files hold now: if
somebody changed one of them meanwhile, the night is planned again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from memdir.disk.plain_file import read_if_plain, read_with_status
from memdir.disk.safe_path import is_index
from memdir.model.builtin.answers import calls, parted, reads, says
from memdir.model.builtin.dream import Edit, Night, NightFile, Plan, Statement, plan_night
from memdir.model.builtin.dream.memory_page import day_of
from memdir.model.job import DreamJob
from memdir.model.model import Reply, Request
from memdir.store.log_lines import log_day
from memdir.store.scan import MAX_FILE_BYTES, most_bytes, walk
from memdir.transcript.message import Text, ToolUse, said_at
from memdir.transcript.session_list import said_in_sessions


def answer_dream(job: DreamJob, request: Request, planned: Planned | None) -> tuple[Reply, Planned]:
    """Read what will change, write it, say what was done and what was left alone. The plan is for the next turn."""
    done = [use.name for message in parted(request)[1] for use in message.tool_uses]
    if not done or planned is None or job != planned.job or not planned.still_holds():
        planned = plan_job(job)
    if "Write" in done or not planned.plan.edits:
        return says(_told(planned.plan, _written(planned.plan, request) if "Write" in done else ())), planned
    there = [planned.path(edit) for edit in planned.plan.edits if edit.key in planned.files and not done]
    return reads(there) if there else planned.writes(), planned


@dataclass(frozen=True)
class Planned:
    """A plan, and the files it was made from."""

    job: DreamJob
    files: Mapping[str, bytes]
    plan: Plan

    def still_holds(self) -> bool:
        """Whether the files that it changes are what they were."""
        now = {edit.key: read_if_plain(self.path(edit), MAX_FILE_BYTES) for edit in self.plan.edits}
        return all(data == self.files.get(key) for key, data in now.items())

    def writes(self) -> Reply:
        """What is deleted comes late, by then its text stands elsewhere, and an index after what its lines tell of."""
        order = sorted(enumerate(self.plan.edits), key=lambda one: (is_index(one[1].key), one[1].data is None))
        return calls(
            ToolUse(f"write_{number}", "Write", {"file_path": self.path(edit), "content": _content(edit)})
            for number, edit in order
        )

    def path(self, edit: Edit) -> str:
        return os.path.join(self.job.folder.root, edit.key)


def plan_job(job: DreamJob) -> Planned:
    """Plan the night that a job describes."""
    files = tuple(file for file in _files(job.folder.root) if job.folder.has_index or not is_index(file.key))
    if job.log is not None:
        told = {key: [line.rendered for line in job.log if line.key == key] for key in {one.key: 0 for one in job.log}}
        logs = (NightFile(key, "\n".join(some).encode("utf-8", "replace"), 0.0) for key, some in told.items())
        files = (*(file for file in files if not log_day(file.key)), *logs)
    plan = plan_night(Night(files, tuple(_said(job)), job.now, settled_before=job.settled_before))
    if not job.folder.has_index:  # there is none to bring in step
        plan = replace(plan, edits=tuple(edit for edit in plan.edits if not is_index(edit.key)))
    return Planned(job, {file.key: file.data for file in files}, plan)


def _files(root: str) -> Iterator[NightFile]:
    """Every Markdown file below the directory, daily logs and indexes too."""
    for key, entry in sorted(walk(root, everything=True), key=lambda one: one[0]):
        if key.endswith(".md"):
            with suppress(OSError):
                data, status = read_with_status(entry.path, max_bytes=most_bytes(key), follow=False)
                yield NightFile(key, data, status.st_mtime)


def _said(job: DreamJob) -> Iterator[Statement]:
    """What the user said in the sessions under review, but for what is none of our business."""
    modified = {one.attended.session: one.ref.modified for one in job.others}  # in memdir's own each message is dated
    for name, message in said_in_sessions(job.sessions_folder, job.sessions, job.others):
        if message.role == "user" and not message.is_meta and not message.is_off:
            time, sources = said_at(message) or modified.get(name, 0.0), tuple(filter(None, (name, message.id)))
            day, texts = day_of(time, job.now.tzinfo), (one.text for one in message.content if isinstance(one, Text))
            yield from (Statement(text, time, day, sources) for text in texts)


def _content(edit: Edit) -> str:
    if edit.data is not None:
        return edit.data.decode("utf-8", "replace")
    sources = f"; source: {', '.join(edit.sources)}" if edit.sources else ""
    return f"<!-- delete: {edit.reason.replace('--', '—')}{sources} -->\n"


def _written(plan: Plan, request: Request) -> list[Edit]:
    """The edits that were not refused: what was, may be what nobody shall read again."""
    results = [result for message in parted(request)[1] for result in message.tool_results]
    refused = {result.tool_use_id for result in results if result.is_error}
    return [edit for number, edit in enumerate(plan.edits) if f"write_{number}" not in refused]


def line_of(kind: str, older: str, newer: str, evidence: str) -> str:
    """A question as a dream's last words ask it."""
    return f"Question: {kind}? {older} | {newer} | {' '.join(evidence.split())}"


def _told(plan: Plan, written: Sequence[Edit]) -> str:
    reasons = (edit.reason if edit.key in edit.reason else f"{edit.key}: {edit.reason}" for edit in written)
    lines = list(dict.fromkeys(reasons)) or ["Nothing to repair."]
    lines += [f"Left alone: {', '.join(doubt.keys)}: {doubt.what}" for doubt in plan.left_alone]
    lines += [line_of(one.kind, one.older, one.newer, one.evidence) for one in plan.asked]
    return "\n".join(lines)
