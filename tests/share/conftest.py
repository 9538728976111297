from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.share.remotes import KINDS, Member, made, member

Team = Callable[..., list[Member]]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def team(kind: str, tmp_path: Path) -> Team:
    """Members of one team, each on a machine of their own."""
    where = made(kind, tmp_path / "remote")

    def members(*names: str, clock: Callable[[], float] = time.time) -> list[Member]:
        return [member(kind, where, name, tmp_path, clock) for name in names]

    return members
