"""Git that talks to a remote: with the person's own credentials, and with nobody to answer a question (ADR 0067).

It works as every other git of ours does, in a folder that we ship and on objects that are ours. Nothing is checked out,
so nothing in a remote's content runs; of a remote on this disk, where git would run its other half, too, that half is
told the same.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence

from memdir.disk.programs import find_program, git_guards, git_settings, search_path
from memdir.disk.shipped import shipped_path
from memdir.errors import RemoteError

TIMEOUT_SECONDS = 60.0  # for one exchange; a team's memories are a few megabytes at most
_MAX_SAID = 200
_LOCKED_TIMES = 5  # a lock that is met so often in a row is nobody's push: that is over in a moment
_PROTOCOLS = "https:ssh:file"
_KEPT = ("HOME", "SSH_AUTH_SOCK", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR", "USER", "LOGNAME", "SYSTEMROOT")
_KEPT_TOO = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY")
# Git's other half, where the remote is a folder on this disk: none of its hooks, also not those that newer gits take
# from settings, none of its programs, no work tree, whose filters would run, and no remote of its own.
_HOOKS = ("pre-receive", "update", "post-receive", "post-update", "proc-receive", "reference-transaction")
_OTHER_HALF = (
    "GIT_ALLOW_PROTOCOL= git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=false"
    " -c core.pager=cat -c gc.auto=0 -c receive.autogc=false -c maintenance.auto=false"
    f" -c receive.denyCurrentBranch=ignore {' '.join(f'-c hook.{one}.enabled=false' for one in _HOOKS)} {{}}"
)
_URL = re.compile(r"(?:https|ssh|file)://[^\s\\]+|[\w.-]+@[\w.-]+:[^\s\\:][^\s\\]*")
_NOT_ALLOWED = re.compile(
    r"Permission denied|Authentication failed|could not read (?:Username|Password)|terminal prompts disabled"
    r"|(?:error|returned error): 40[13]|not authorized|Host key verification failed|dubious ownership",
    re.IGNORECASE,
)

_DAMAGED = re.compile(
    r"fsck error|: object [0-9a-f]{40}: |object [0-9a-f]{40}: \w+: |index-pack (?:failed|abnormal)", re.ASCII
)


def is_url(text: str) -> bool:
    """Whether a text names a git remote that we talk to: https, ssh, or a repository on this disk."""
    return bool(_URL.fullmatch(text)) or (os.path.isabs(text) and not text.startswith("-"))


def is_on_this_disk(url: str) -> bool:
    return url.startswith("file://") or ("://" not in url and ("@" not in url or os.path.isabs(url)))


class GitNetwork:
    """A remote repository, whose objects come to lie in `objects`."""

    def __init__(self, url: str, objects: str) -> None:
        if not is_url(url):
            raise RemoteError(
                f"{url!r} names no git repository that is talked to",
                kind="broken",
                remedy="Use https://…, ssh://…, user@host:path, or the full path of a bare repository",
            )
        self.url = url
        self._objects = objects
        self._times_locked = 0

    def head(self, branch: str) -> str:
        """The last commit of a branch there; empty where there is none."""
        output = self._run("ls-remote", *self._half("upload-pack"), "--", self.url, f"refs/heads/{branch}")
        found = output.decode("ascii", "replace").split()
        return found[0] if found and re.fullmatch(r"[0-9a-f]{40}", found[0]) else ""

    def branches(self) -> list[str]:
        """The branches that are there."""
        output = self._run("ls-remote", *self._half("upload-pack"), "--heads", "--", self.url)
        return [line.rpartition("refs/heads/")[2] for line in output.decode("utf-8", "replace").splitlines()]

    def fetch(self, branch: str, *, known: str) -> None:
        """Bring the objects of a branch here; those of the commit `known` are here already."""
        tip = [f"--negotiation-tip={known}"] if known else []
        options = ("--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--quiet", "--no-recurse-submodules")
        self._run("fetch", *options, *tip, *self._half("upload-pack"), "--", self.url, f"refs/heads/{branch}")

    def push(self, commit: str, branch: str, parent: str) -> bool:
        """Make a commit the last one of a branch there, after `parent` or none; False where another is the last."""
        lease = f"--force-with-lease=refs/heads/{branch}:{parent}"
        options = ("push", "--porcelain", "--no-verify", lease, *self._half("receive-pack"))
        status, output, errors = self._call((*options, "--", self.url, f"{commit}:refs/heads/{branch}"))
        if status == 0:
            return True
        told = output.decode("utf-8", "replace")
        self._times_locked += ".lock': File exists" in errors
        if self._times_locked >= _LOCKED_TIMES:
            remedy = "Where no git is at work there, one was killed: remove that file"
            said = errors[errors.find("Unable to create") :]
            raise RemoteError(f"{self._named} is locked: {_quoted(said)}", kind="broken", remedy=remedy)
        overtaken = r"cannot lock ref|failed to (?:update|lock)|incorrect old value"
        if "[rejected]" in told or re.search(overtaken, told + errors):
            return False
        if "[remote rejected]" in told:
            reason = told.partition("[remote rejected]")[2].strip().splitlines()[0]
            said = " ".join(line.partition("remote:")[2].strip() for line in errors.splitlines() if "remote:" in line)
            raise RemoteError(
                f"{self._named} did not take the change: {_quoted(f'{reason} {said}')}",
                kind="not_allowed",
                remedy=f"Let the team's members push to the branch {branch} there, without a review",
            )
        raise self._failure("push", errors)

    @property
    def _named(self) -> str:
        """The URL without a name and a password in it."""
        return re.sub(r"(?<=://)[^/@]+@", "", self.url)

    def _half(self, program: str) -> tuple[str, ...]:
        option = "--receive-pack" if program == "receive-pack" else "--upload-pack"
        return (f"{option}={_OTHER_HALF.format(program)}",) if is_on_this_disk(self.url) else ()

    def _run(self, *arguments: str) -> bytes:
        status, output, errors = self._call(arguments)
        if status != 0:
            raise self._failure(arguments[0], errors)
        return output

    def _failure(self, what: str, errors: str) -> RemoteError:
        lines = [line.strip() for line in errors.splitlines() if line.strip()]
        at = next((at for at, one in enumerate(lines) if one.startswith(("fatal:", "error:"))), len(lines) - 1)
        why = " ".join(lines[max(at - 1, 0) : at + 1]) or "nothing"  # ssh and a server say it before git does
        said = re.sub(r"(?<=://)[^/@\s]+@", "", why)
        if _DAMAGED.search(errors):
            told = f"what {self._named} holds is damaged, and is not taken in: {_quoted(said)}"
            remedy = "`git fsck` there names it: nobody can take in more till then"
            return RemoteError(told, kind="broken", remedy=remedy)
        kind, remedy = "offline", "What you changed waits here until it can be reached"
        if _NOT_ALLOWED.search(errors):
            kind, remedy = "not_allowed", "Check that plain `git` may read and write there without asking you anything"
        return RemoteError(f"git {what} with {self._named}: {_quoted(said)}", kind=kind, remedy=remedy)  # type: ignore[arg-type]

    def _call(self, arguments: Sequence[str]) -> tuple[int, bytes, str]:
        program = find_program("git")
        if not program:
            raise RemoteError("git is not installed", kind="broken", remedy="Install git, or use a folder or a hub")
        where = shipped_path("disk/git_folder")
        try:
            with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:  # ssh may keep a pipe's end
                child = subprocess.Popen(
                    [program, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    cwd=where,
                    env={**_environment(), "GIT_DIR": where, "GIT_OBJECT_DIRECTORY": self._objects},
                    start_new_session=True,  # no terminal that somebody could be asked on
                    umask=0o077,
                )
                child.wait(timeout=TIMEOUT_SECONDS)
                output.seek(0), errors.seek(0)
                return child.returncode, output.read(), errors.read().decode("utf-8", "replace")
        except OSError as error:
            raise RemoteError(f"git could not be started: {os.strerror(error.errno or 0)}") from error
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise RemoteError(f"{self._named} did not answer in {TIMEOUT_SECONDS:g} s") from None


def _quoted(said: str) -> str:
    """What a remote may have said, as that: a short line that cannot end its quotation."""
    line = " ".join("".join(one if one.isprintable() else " " for one in said).replace('"', "'").split())
    return f'"{line[:_MAX_SAID].rstrip()}{"…" if len(line) > _MAX_SAID else ""}"'


def _environment() -> dict[str, str]:
    """The person's own credentials and nothing that asks, prompts or runs what a remote names."""
    guards = {name: value for name, value in git_guards().items() if not name.startswith("GIT_CONFIG_")}
    return {
        **{name: os.environ[name] for name in (*_KEPT, *_KEPT_TOO) if name in os.environ},
        **guards,
        "PATH": search_path(),
        "LC_ALL": "C.UTF-8",
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
        "GIT_COMMITTER_NAME": "memdir",  # in a log on this disk, which may be a link, stand no words of its repository
        "GIT_COMMITTER_EMAIL": "memdir@localhost",
        "GIT_ASKPASS": "false",
        "SSH_ASKPASS": "false",
        "SSH_ASKPASS_REQUIRE": "never",
        "GCM_INTERACTIVE": "never",
        **git_settings("disk/git_network_settings.txt"),
    }
