"""A project and a home full of traps: credentials whose text is known, links to them, a pipe, programs that tell.

Commands are run in it by the real bash and programs inside a plain bubblewrap that only keeps the machine safe: the
project and the home are writable, so whatever a command does shows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

from .place import snapshot

CANARIES = (
    "canary",
    "gpg",
    "less",
    "more",
    "man",
    "vi",
    "vim",
    "editor",
    "ssh",
    "curl",
    "wget",
    "pager",
    "sensible-editor",
)
_TEXT = "".join(f'{number} foo:bar,baz start{number} a/b "q" [x]\n' for number in range(1, 6))
_PLAIN = (
    *(
        "a.txt",
        "b.txt",
        "README.md",
        "notes.md",
        "a.csv",
        "src/a.py",
        "src/credentials.py",
        "tests/a.py",
        "docs/env.md",
    ),
    *(
        "docs/keyboard.key.ts",
        "docs/id_rsa.pub",
        "docs/monkey",
        ".env.example",
        "odd/two words.txt",
        "prog.awk",
        "prog.sed",
    ),
)
_SECRET = (
    ".env",
    ".env.local",
    "id_rsa",
    "server.pem",
    "credentials.json",
    ".npmrc",
    "deploy/prod.env",
    "deploy/id_ed25519",
)
_SECRET_AT_HOME = (".ssh/id_rsa", ".ssh/config", ".aws/credentials", ".bash_history", ".netrc")
_CONFIG = """[user]
	name = x
	email = x@example.com
[core]
	pager = canary
	editor = canary
	askPass = canary
[gpg]
	program = canary
[gpg "ssh"]
	program = canary
[pretty]
	evil = %G?
[alias]
	evil = !canary
[log]
	showSignature = false
"""


@dataclass(frozen=True)
class Trap:
    """The folder to run in, and what must never come out of it."""

    place: Path
    home: Path
    secret: str

    def runs(self, commands: list[str], *, programs: str = "") -> str:
        """What is wrong after these ran: something changed, a program told of itself, a secret came out."""
        before = snapshot(self.place.parent)
        output = self._output(commands, programs)
        after = snapshot(self.place.parent)
        if after != before:
            return f"changed: {sorted(dict(after.items() ^ before.items()))}"
        return "a secret came out" if self.secret in output else ""

    def _output(self, commands: list[str], programs: str) -> str:
        path = f"{self.place.parent / 'bin'}:{'/usr/bin:/bin'}"
        environment = {
            "PATH": f"{self.place.parent / programs}:{path}" if programs else path,
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        root = str(self.place.parent)
        argv = [
            "bwrap",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--unshare-all",
            "--die-with-parent",
        ]
        argv += [
            "--tmpfs",
            "/tmp",
            "--bind",
            root,
            root,
            "--chdir",
            str(self.place),
            "--",
            "bash",
            "--norc",
            "--noprofile",
            "-c",
        ]
        done = subprocess.run(
            [*argv, "\n".join(commands)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace")


def build_trap(root: Path) -> Trap:
    """The project, the home beside it, and a folder of programs that leave a mark when they are run."""
    place, home = root / "project", root / "home"
    secret = f"secret-{uuid.uuid4().hex}"
    for name in _PLAIN:
        _write(place / name, _TEXT)
    for path in [*(place / name for name in _SECRET), *(home / name for name in _SECRET_AT_HOME)]:
        _write(path, f'{{"key": "{secret}"}}\nCANARY={secret}\n')
    _write(place / "a.json", '{"name": "x", "items": [{"id": 1}, {"id": 2}]}\n')
    _write(place / ".gitignore", "".join(f"/{name}\n" for name in (*_SECRET, "link.txt", "ways", "queue", "linked")))
    _write(place / "names", ".env\0")
    _write(place / "sums.txt", "0 .env\n")
    (place / "link.txt").symlink_to(".env")
    (place / "ways").symlink_to(home / ".ssh")
    (place / "linked").mkdir()
    (place / "linked" / "deep").symlink_to(place / "deploy")
    os.mkfifo(place / "queue")
    for name in CANARIES:
        _write(root / "bin" / name, f"#!/bin/sh\ntouch {root / 'ran'}-$$\n")
        (root / "bin" / name).chmod(0o755)
    _link_programs(root)
    subprocess.run(["tar", "cf", "a.tar", "a.txt"], cwd=place, check=True)
    _commit(place, home)
    return Trap(place, home, secret)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _link_programs(root: Path) -> None:
    """Folders in which `awk` and `sed` are other versions, as far as they are installed."""
    for folder, name, program in (
        ("mawk", "awk", "mawk"),
        ("bwk", "awk", "original-awk"),
        ("busybox", "awk", "busybox"),
        ("busybox", "sed", "busybox"),
    ):
        if found := shutil.which(program):
            (root / folder).mkdir(exist_ok=True)
            (root / folder / name).symlink_to(found)


def versions(trap: Trap) -> list[str]:
    """The folders of other versions there are, and the programs of the machine."""
    return ["", *(name for name in ("mawk", "bwk", "busybox") if (trap.place.parent / name).is_dir())]


def _commit(place: Path, home: Path) -> None:
    """A history of two commits, the second of which claims to be signed, a tag and a stash."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str, text: str = "") -> str:
        done = subprocess.run(
            ["git", *words], cwd=place, env=environment, check=True, input=text, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    with (place / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(_CONFIG)
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    who = "x <x@example.com> 1700000000 +0000"
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
    head = f"tree {git('write-tree')}\nparent {git('rev-parse', 'HEAD')}\nauthor {who}\ncommitter {who}\n"
    git(
        "update-ref",
        "refs/heads/main",
        git("hash-object", "-t", "commit", "-w", "--stdin", text=f"{head}{signature}\nsecond\n"),
    )
    git("tag", "v1")
    _write(place / "a.txt", _TEXT + "stashed\n")
    git("stash", "-q")
    _write(place / "a.txt", _TEXT + "changed\n")
    git("status")  # so that the index is fresh, whatever is asked later
