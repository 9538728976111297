"""What a sandboxed command finds around it: a fixed environment.

Nothing of the caller's environment is passed on: it may hold keys, and variables such as BASH_ENV, GIT_* or LD_PRELOAD
decide what runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"

# What a hostile repository's configuration could make git run, switched off where git allows it.
_GIT_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("core.untrackedCache", "false"),
    ("credential.helper", ""),
    ("gpg.program", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("status.submoduleSummary", "false"),
    ("color.ui", "never"),
)

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "PATH": SEARCH_PATH,
        "HOME": "/nonexistent",
        "TMPDIR": "/nonexistent",  # nothing is writable
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "LESSSECURE": "1",
        "NO_COLOR": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS)),
        **{f"GIT_CONFIG_KEY_{at}": key for at, (key, _) in enumerate(_GIT_SETTINGS)},
        **{f"GIT_CONFIG_VALUE_{at}": value for at, (_, value) in enumerate(_GIT_SETTINGS)},
    }
)
