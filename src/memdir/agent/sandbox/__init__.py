"""Run an allowed command where the kernel keeps it read-only: bubblewrap, else Landlock, else not at all (G4)."""

from __future__ import annotations

from memdir.agent.sandbox.kind import sandbox_kind
from memdir.agent.sandbox.run import ShellResult, run_sandboxed
from memdir.agent.sandbox.start import Kind, NoSandbox

__all__ = ["Kind", "NoSandbox", "ShellResult", "run_sandboxed", "sandbox_kind"]
