"""A seccomp filter that refuses the system calls a reader never needs: sockets, permissions, times, signals, mounts.

It closes what file rules leave open: chmod and utime under Landlock, UDP and UNIX sockets, leaving the process group.
Data only: the program is handed to bubblewrap, or to the kernel by the Landlock launcher.
"""

from __future__ import annotations

import errno
import os
import platform
import struct
import tomllib

_X32_BIT = 0x40000000  # the x32 calls of an x86_64 kernel are the same calls under other numbers
_REFUSED_IOCTLS = (0x40086602, 0x401C5820, 0x5412, 0x541C)  # file flags in two forms, typing into a terminal in two

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _FIRST_ARGUMENT_OFFSET, _SECOND_ARGUMENT_OFFSET = 0, 4, 16, 24


def filter_program() -> bytes | None:
    """The filter for this machine, as classic BPF; None where its call numbers are not known."""
    with open(os.path.join(os.path.dirname(__file__), "calls.toml"), "rb") as file:
        calls = tomllib.load(file).get(platform.machine())
    if calls is None:
        return None
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_JUMP_EQUAL, 1, 0, calls["audit"]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_JUMP_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for call in calls["refused"].split():
        program += [(_JUMP_EQUAL, 0, 1, int(call.split(":")[1])), (_RETURN, 0, 0, _REFUSE)]
    program += [
        (_JUMP_EQUAL, 0, 3, calls["prlimit"]),  # for its own limits only
        (_LOAD, 0, 0, _FIRST_ARGUMENT_OFFSET),
        (_JUMP_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _REFUSE),
        (_JUMP_EQUAL, 1, 0, calls["ioctl"]),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _SECOND_ARGUMENT_OFFSET),
    ]
    for request in _REFUSED_IOCTLS:
        program += [(_JUMP_EQUAL, 0, 1, request), (_RETURN, 0, 0, _REFUSE)]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in program)
