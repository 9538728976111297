"""A short part of `make eval-clumsy`: no mistake costs a memory."""

from __future__ import annotations

import pytest
from evals.clumsy import CALLS, DELETIONS, FORM, INDEX, JOBS, MISTAKES, TALK, Mistake, run

SHORT = (*FORM[::9], *CALLS[::6], *DELETIONS[::4], *INDEX[::2], TALK[0])


def test_there_are_enough_mistakes_to_speak_of() -> None:
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES) >= 60


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("mistake", SHORT, ids=lambda mistake: mistake.name)
def test_no_mistake_costs_a_memory(mistake: Mistake, job: str) -> None:
    assert run(mistake, job) in ("repaired", "answered")
