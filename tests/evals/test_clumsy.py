"""A short part of `make eval-clumsy`: no mistake costs a memory."""

from __future__ import annotations

import pytest
from evals.clumsy import CALLS, DELETIONS, FORM, INDEX, JOBS, MISTAKES, TALK, Mistake, occurs, run
from evals.clumsy_jobs import COMPACT, DOCS, LOG, NOTES, SELECT, SLIPS, Slip, run_slip

SHORT = (*FORM[::9], *CALLS[::6], *DELETIONS[::4], *INDEX[::2], TALK[0])


def test_there_are_enough_mistakes_to_speak_of() -> None:
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES) >= 60


@pytest.mark.parametrize("job", JOBS[:2])
@pytest.mark.parametrize("mistake", SHORT, ids=lambda mistake: mistake.name)
def test_no_mistake_costs_a_memory(mistake: Mistake, job: str) -> None:
    assert run(mistake, job) in ("repaired", "answered")


@pytest.mark.parametrize("job", JOBS[2:])
@pytest.mark.parametrize("mistake", SHORT[::3], ids=lambda mistake: mistake.name)
def test_no_mistake_costs_what_an_agent_or_the_memory_tool_writes(mistake: Mistake, job: str) -> None:
    assert not occurs(mistake, job) or run(mistake, job) in ("repaired", "answered")


MENDED = ("line numbers", "literal \\n", "prose before it", "an apology", "fence that is never closed")
OF_JOBS = [slip for slip in SLIPS if slip.job in ("notes", "log", "doc") and slip.name in MENDED]


@pytest.mark.parametrize(
    "slip",
    [*OF_JOBS, *SELECT[::9], *NOTES[12::2], *LOG[13::2], *DOCS[12:], *COMPACT[::8]],
    ids=lambda it: it.job + it.name,
)
def test_no_mistake_costs_a_choice_notes_a_log_a_doc_or_a_conversation(slip: Slip) -> None:
    assert run_slip(slip) in ("repaired", "answered", "kept")


@pytest.mark.parametrize("slip", COMPACT[:9], ids=lambda it: it.name)
def test_a_summary_is_taken_whatever_stands_around_or_in_its_text(slip: Slip) -> None:
    assert run_slip(slip) == "repaired"
