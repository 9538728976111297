"""The extra `bash`, a shell for forks that only reads: what it may run is judged, and the kernel keeps it so (G4).

Nothing outside this folder loads the parser that the extra installs.
"""

from __future__ import annotations


def is_installed() -> bool:
    """Whether the parser of shell commands is there; looks without loading it."""
    from importlib.util import find_spec

    return all(find_spec(name) for name in ("tree_sitter", "tree_sitter_bash"))


def why_no_bash() -> str:
    """Why forks have no Bash here; empty when they have."""
    if not is_installed():
        return "the extra `bash` of memdir is not installed"
    from memdir.agent.bash.sandbox import sandbox_kind

    return "" if sandbox_kind() else "there is no kernel sandbox on this machine"


def surely_reads(command: str, *, cwd: str) -> bool:
    """Whether a command provably only reads, and the kernel here can hold it to that."""
    if why_no_bash():
        return False
    from memdir.agent.bash.shell_judge import judge
    from memdir.agent.gate import Allow

    return isinstance(judge(command, cwd=cwd), Allow)
