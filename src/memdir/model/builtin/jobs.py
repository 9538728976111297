"""The jobs that the built-in model can do, by name. Each is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from memdir.model.builtin.model import JobHandler
from memdir.model.model import Reply, Request


def builtin_jobs() -> Mapping[str, JobHandler]:
    return {"session-memory": _session_memory, "compact": _compact}


def _session_memory(request: Request) -> Reply:
    from memdir.model.builtin.session_memory import session_memory

    return session_memory(request)


def _compact(request: Request) -> Reply:
    from memdir.model.builtin.compact import compact

    return compact(request)
