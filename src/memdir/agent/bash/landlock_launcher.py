"""Take every right to write away from this process by Landlock and seccomp, then become the command.

Run as a script of its own, with the standard library only: `python -I -S landlock_launcher.py CONFIG`. After a fork in
a process with threads this could not be done safely. It refuses to go on when any step fails.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import struct
import sys

FAILED = 125  # the exit code when the sandbox could not be built; nothing was run

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_NO_NEW_PRIVILEGES, _DEATH_SIGNAL, _SET_SECCOMP, _SECCOMP_FILTER, _DROP_CAPABILITY = 38, 1, 22, 2, 24
_CAPABILITIES = range(64)
_KILL = 9
# By version of the kernel's interface: all file rights, TCP bind and connect, abstract sockets and signals.
_FILE_RIGHTS = {3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NET_RIGHTS, _SCOPES = 0b11, 0b11


def main() -> None:
    config = json.loads(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    _call(libc.prctl, _DEATH_SIGNAL, _KILL, 0, 0, 0)
    _call(libc.prctl, _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    for capability in _CAPABILITIES:
        # Fails for all but root, and for capabilities this kernel does not know.
        libc.prctl(_DROP_CAPABILITY, capability, 0, 0, 0)
    _restrict_files(libc, config)
    _restrict_calls(libc, base64.b64decode(config["filter"]))
    os.execve(config["argv"][0], config["argv"], os.environ)  # noqa: S606 — this process is the sandbox


def _call(function: ctypes._NamedFuncPointer, *arguments: object) -> int:
    result = int(function(*arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _restrict_files(libc: ctypes.CDLL, config: dict[str, object]) -> None:
    abi = min(6, int(str(config["abi"])))
    attributes = struct.pack(
        "=QQQ", _FILE_RIGHTS[min(5, abi)], _NET_RIGHTS if abi >= 4 else 0, _SCOPES if abi >= 6 else 0
    )
    size = {3: 8, 4: 16, 5: 16, 6: 24}[abi]
    ruleset = _call(libc.syscall, _CREATE_RULESET, attributes, ctypes.c_size_t(size), 0)
    _allow(libc, ruleset, "/", _READ_DIR)
    for path in config["readable"]:  # type: ignore[attr-defined]
        _allow(libc, ruleset, path, _EXECUTE | _READ_FILE)
    for path in config["writable"]:  # type: ignore[attr-defined]
        _allow(libc, ruleset, path, _READ_FILE | _WRITE_FILE | _TRUNCATE)
    _call(libc.syscall, _RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # it went away since the list was made
    try:
        _call(libc.syscall, _ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _restrict_calls(libc: ctypes.CDLL, program: bytes) -> None:
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    _call(libc.prctl, _SET_SECCOMP, _SECCOMP_FILTER, header, 0, 0)


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyError, ValueError) as error:
        sys.stderr.write(f"The sandbox could not be built, nothing was run: {error}\n")
        sys.exit(FAILED)
