"""A seccomp filter that refuses the system calls a reader never needs: sockets, permissions, times, signals, mounts.

It closes what file rules leave open: chmod and utime under Landlock, UDP and UNIX sockets, leaving the process group.
Data only: the program is handed to bubblewrap, or to the kernel by the Landlock launcher.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping
from types import MappingProxyType

_AUDIT_ARCH = MappingProxyType({"x86_64": 0xC000003E, "aarch64": 0xC00000B7})
_X32_BIT = 0x40000000  # the x32 calls of an x86_64 kernel are the same calls under other numbers

# Numbers are the kernel's ABI and never change; calls an architecture lacks are left out of its table.
_SHARED = (
    "io_uring_setup 425 pidfd_send_signal 424 fchmodat2 452 setxattrat 463 removexattrat 466 open_tree 428 "
    "move_mount 429 fsopen 430 fsconfig 431 fsmount 432 fspick 433 mount_setattr 442 file_setattr 469 "
    "open_tree_attr 467 pidfd_getfd 438 process_madvise 440 process_mrelease 448 "
)
_CALLS: Mapping[str, str] = MappingProxyType(
    {
        "x86_64": _SHARED
        + "socket 41 kill 62 tkill 200 tgkill 234 rt_sigqueueinfo 129 rt_tgsigqueueinfo 297 chmod 90 fchmod 91 "
        "fchmodat 268 chown 92 fchown 93 lchown 94 fchownat 260 utime 132 utimes 235 futimesat 261 utimensat 280 "
        "setxattr 188 lsetxattr 189 fsetxattr 190 removexattr 197 lremovexattr 198 fremovexattr 199 truncate 76 "
        "setpgid 109 setsid 112 ptrace 101 process_vm_readv 310 process_vm_writev 311 mount 165 umount2 166 "
        "pivot_root 155 chroot 161 unshare 272 setns 308 bpf 321 perf_event_open 298 add_key 248 request_key 249 "
        "keyctl 250 userfaultfd 323 sethostname 170 setdomainname 171 settimeofday 164 clock_settime 227 "
        "clock_adjtime 305 adjtimex 159 reboot 169 swapon 167 swapoff 168 init_module 175 finit_module 313 "
        "delete_module 176 kexec_load 246 kexec_file_load 320 open_by_handle_at 304 acct 163 quotactl 179 "
        "shmget 29 shmat 30 shmctl 31 semget 64 semop 65 semctl 66 semtimedop 220 msgget 68 msgsnd 69 msgrcv 70 "
        "msgctl 71 mq_open 240 mq_unlink 241 iopl 172 ioperm 173 syslog 103 setpriority 141 sched_setparam 142 "
        "sched_setscheduler 144 sched_setaffinity 203 sched_setattr 314 ioprio_set 251 migrate_pages 256 "
        "move_pages 279",
        "aarch64": _SHARED
        + "socket 198 kill 129 tkill 130 tgkill 131 rt_sigqueueinfo 138 rt_tgsigqueueinfo 240 fchmod 52 fchmodat 53 "
        "fchownat 54 fchown 55 utimensat 88 setxattr 5 lsetxattr 6 fsetxattr 7 removexattr 14 lremovexattr 15 "
        "fremovexattr 16 truncate 45 setpgid 154 setsid 157 ptrace 117 process_vm_readv 270 process_vm_writev 271 "
        "mount 40 umount2 39 pivot_root 41 chroot 51 unshare 97 setns 268 bpf 280 perf_event_open 241 add_key 217 "
        "request_key 218 keyctl 219 userfaultfd 282 sethostname 161 setdomainname 162 settimeofday 170 "
        "clock_settime 112 clock_adjtime 266 adjtimex 171 reboot 142 swapon 224 swapoff 225 init_module 105 "
        "finit_module 273 delete_module 106 kexec_load 104 kexec_file_load 294 open_by_handle_at 265 acct 89 "
        "quotactl 60 shmget 194 shmctl 195 shmat 196 semget 190 semctl 191 semtimedop 192 semop 193 msgget 186 "
        "msgctl 187 msgrcv 188 msgsnd 189 mq_open 180 mq_unlink 181 syslog 116 setpriority 140 sched_setparam 118 "
        "sched_setscheduler 119 sched_setaffinity 122 sched_setattr 274 ioprio_set 30 migrate_pages 238 move_pages 239",
    }
)

_IOCTL = MappingProxyType({"x86_64": 16, "aarch64": 29})
_REFUSED_IOCTLS = (0x40086602, 0x401C5820, 0x5412, 0x541C)  # file flags in two forms, typing into a terminal in two
_PRLIMIT = MappingProxyType({"x86_64": 302, "aarch64": 261})  # for a process's own limits only

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _FIRST_ARGUMENT_OFFSET, _SECOND_ARGUMENT_OFFSET = 0, 4, 16, 24


def filter_program() -> bytes | None:
    """The filter for this machine, as classic BPF; None where its call numbers are not known."""
    machine = platform.machine()
    if machine not in _CALLS:
        return None
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_JUMP_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for number in _CALLS[machine].split()[1::2]:
        program += [(_JUMP_EQUAL, 0, 1, int(number)), (_RETURN, 0, 0, _REFUSE)]
    program += [
        (_JUMP_EQUAL, 0, 3, _PRLIMIT[machine]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_OFFSET),
        (_JUMP_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _REFUSE),
        (_JUMP_EQUAL, 1, 0, _IOCTL[machine]),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _SECOND_ARGUMENT_OFFSET),
    ]
    for request in _REFUSED_IOCTLS:
        program += [(_JUMP_EQUAL, 0, 1, request), (_RETURN, 0, 0, _REFUSE)]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in program)
