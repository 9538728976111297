"""What a sandboxed command finds around it: a fixed environment, and the places that are hidden from it.

Nothing of the caller's environment is passed on: it may hold keys, and variables such as BASH_ENV, GIT_* or LD_PRELOAD
decide what runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType

from memdir.disk.project_git import GUARDS

SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "PATH": SEARCH_PATH,
        "HOME": "/nonexistent",
        "TMPDIR": "/dev/shm",  # noqa: S108 — private and empty under bubblewrap, not writable under Landlock
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "LESSSECURE": "1",
        "NO_COLOR": "1",
        **GUARDS,
    }
)

_HIDDEN_IN_HOME = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".local/share/keyrings",
    ".password-store",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
)
_HIDDEN_IN_SYSTEM = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh")


def hidden_paths() -> list[str]:
    """Where this machine's user keeps credentials: existing paths, links resolved."""
    import pwd

    home = pwd.getpwuid(os.getuid()).pw_dir
    candidates = [os.path.join(home, name) for name in _HIDDEN_IN_HOME] + list(_HIDDEN_IN_SYSTEM)
    return sorted({os.path.realpath(path) for path in candidates if os.path.exists(path)})
