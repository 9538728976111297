"""What a sandboxed command finds around it: a fixed environment.

Nothing of the caller's environment is passed on: it may hold keys, and variables such as BASH_ENV, GIT_* or LD_PRELOAD
decide what runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memdir.disk.project_git import GUARDS

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "PATH": SEARCH_PATH,
        "HOME": "/nonexistent",
        "TMPDIR": "/nonexistent",  # nothing is writable
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "LESSSECURE": "1",
        "NO_COLOR": "1",
        **GUARDS,
    }
)
