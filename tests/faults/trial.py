"""One fault from the strike to the verdict."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field

from . import verify
from .homes import Ended, Scenario
from .trace import Fault, Missed, strike

MAX_SHOTS = 24  # at a call that stands at another ordinal in each run: on a busy machine git reads a file more or less
_ASIDE = (1, 0, 2, -1, 3, 0)  # where to look for a call that a run did not get to


@dataclass
class Trials:
    """The faults of one scenario, and which of the disks they left were judged already."""

    scenario: Scenario
    struck: int = 0
    states: set[str] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)

    def suffer(self, fault: Fault) -> None:
        """Strike, then see that a reader, the next start and the same operation again find everything in order."""
        ordinal = fault.call.ordinal
        for shot in range(MAX_SHOTS):
            home = self.scenario.copy(os.path.join(self.scenario.folder, f"trial-{os.getpid()}"))
            try:
                ended = strike(self.scenario, home, fault)
                self.struck += 1
                self._check(fault, home, ended)
                return
            except Missed as miss:
                aside = max(1, ordinal + _ASIDE[shot % len(_ASIDE)])
                fault = fault.aimed_at(miss.ordinal or aside)
            except verify.Broken as error:
                self.failures.append(f"{self.scenario.name}: {fault}: {error}")
                return
            finally:
                shutil.rmtree(home)
        self.failures.append(f"{self.scenario.name}: {fault}: never hit")

    def _check(self, fault: Fault, home: str, ended: Ended) -> None:
        if ended.was_killed:
            verify.require("KILL" in fault.kind, "an error killed the process")
        else:
            verify.check_outcome(self.scenario, home, ended)
        self.judge(home)

    def judge(self, home: str) -> None:
        """Equal disks lead to equal recoveries, so each is judged once."""
        state = verify.fingerprint(self.scenario, home)
        if state in self.states:
            return
        self.states.add(state)
        verify.check_reader(self.scenario, home)
        verify.check_started(self.scenario, home)
        verify.check_repeated(self.scenario, home)
