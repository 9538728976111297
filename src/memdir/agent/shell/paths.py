"""Which paths a read-only command may still not name: devices, process and kernel files, network shares, secrets.

The check is on the words alone: it knows no links and does not look at the disk. It keeps honest commands from blocking
and from bringing credentials into a conversation; what a hostile link could do is bounded by the sandbox's limits.
"""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase

from memdir.agent.shell.refusal import Refused, shown

MAX_PARENT_STEPS = 3  # `../../..` and further up is the root of the disk in all but name

_SYSTEM_ROOTS = ("dev", "proc", "sys")
_SECRET_FOLDERS = (".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", "gcloud", ".password-store", "keyrings")
_SECRET_FILES = (
    ".env",
    ".env.*",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    ".credentials",
    ".credentials.json",
    "credentials",
    "credentials.json",
    "auth.json",
    "secrets.json",
    "secrets.y*ml",
    "secrets.toml",
    ".*_history",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.kdbx",
    "shadow",
    "gshadow",
    "shadow-",
    "gshadow-",
    "sudoers",
)
# Names that say they are no regular files: reading them waits for a writer.
_WAITING = ("fifo", "*.fifo", "*.sock", "*.socket")
_NOT_SECRET = (".env.example", ".env.sample", ".env.template", ".env.dist")
# A pattern must spell this much of a name to count as asking for it: `.e*` and `id_*` do, `*`, `.*` and `c*` do not.
_MIN_SPELLED = 3
_MIN_SPELLED_HIDDEN = 2


def check_path(text: str) -> None:
    """Refused when the path, or the file name pattern, reaches something that is not plain project text."""
    if text.startswith("//"):
        raise Refused(f"{shown(text)} may name a network share: use a path with a single slash.")
    if _first_part(text) is not None and posixpath.normpath(text) != "/dev/null":
        raise Refused(f"{shown(text)} is a device, process or kernel file: name a regular file.")
    if any(fnmatchcase(posixpath.basename(text).lower(), name) for name in _WAITING):
        raise Refused(f"{shown(text)} sounds like a pipe or a socket, which would block: name a regular file.")
    if _is_secret(text):
        raise Refused(
            f"{shown(text)} may hold credentials, which must not enter the conversation: leave it out, or ask the user."
        )


def check_walk(text: str) -> None:
    """Refused when going through all below this path would mean the whole disk."""
    normal = posixpath.normpath(text)
    if normal == "/" or normal.split("/").count("..") >= MAX_PARENT_STEPS:
        raise Refused(f"{shown(text)} is the whole disk: name the folder to look in.")


def _first_part(text: str) -> str | None:
    """The system root the path starts in, if any; leading `..` may lead to the root of the disk."""
    normal = posixpath.normpath(text) if text else ""
    parts = [part for part in normal.split("/") if part]
    is_anchored = normal.startswith("/") or parts[:1] == [".."]
    while parts and parts[0] == "..":
        parts.pop(0)
    if not is_anchored or not parts:
        return None
    return next((root for root in _SYSTEM_ROOTS if fnmatchcase(root, parts[0])), None)


def _is_secret(text: str) -> bool:
    parts = [part for part in re.split(r"[/:]", text.lower()) if part]
    return any(_asks_for(part, _SECRET_FOLDERS) for part in parts) or _asks_for(
        parts[-1] if parts else "", _SECRET_FILES
    )


def _asks_for(part: str, names: tuple[str, ...]) -> bool:
    if part in _NOT_SECRET:
        return False
    if any(fnmatchcase(part, name) for name in names):
        return True
    spelled = re.split(r"[*?\[]", part)[0]
    if spelled == part or len(spelled) < (_MIN_SPELLED_HIDDEN if part.startswith(".") else _MIN_SPELLED):
        return False
    return any(fnmatchcase(name.replace("*", "x"), part) for name in names)
