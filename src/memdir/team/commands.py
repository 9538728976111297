"""The commands around a team's memory: share and unshare a memory, join and leave a team, sync with it (E1, E4, E7)."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from memdir.disk.lock import locked
from memdir.doctor import Finding
from memdir.errors import LockBusy, MemdirError, RemoteError, UsageError
from memdir.layout import Place
from memdir.memdir import MemDir
from memdir.prompts.door import shown_line
from memdir.settings import settings_files
from memdir.settings_file import put_setting
from memdir.share.judge import NotShared
from memdir.share.known import KnownTeam
from memdir.share.merge import CONFLICT_FIELD, conflict_of
from memdir.share.sync import SyncReport
from memdir.share.team import KINDS, TOKEN, Address
from memdir.store.history import Origin
from memdir.store.memories import find_key
from memdir.store.scan import age_words, iso_time
from memdir.store.shared import Failure, proposals_told, remote_of_note
from memdir.store.store import MemoryStore
from memdir.team.joining import (
    FORGOTTEN,
    Joined,
    Others,
    bring_along,
    change_teams,
    drop_token,
    guess_address,
    keep_token,
    left_aside,
    meet,
    refuse_login,
    refuse_token_among,
)
from memdir.text.words import counted

SYNCING = "syncing with the team"
QUIET_SECONDS = 2.0  # after the last of several commands
MAX_QUIET_SECONDS = 60.0  # commands without an end hold nothing back for longer
AGAIN_SECONDS = 5.0  # until a remote that could not be reached is tried again
WATCH_SECONDS = 30.0  # between two looks at a remote that tells nothing by itself
REASONS = {
    "no_change": "nothing has changed here",
    "secret": "what changed holds a secret",
    "cap": "the team has as much as it may",
    "too_large": "what changed is too large",
    "path": "what changed has a name that cannot be shared",
    "private": "what changed is about a person",
    "not_text": "what changed is no text",
    "rate": "the remote asks to wait",
    "offline": "the remote cannot be reached now",
    "not_allowed": "you may not write there",
    "conflict": "others are writing; it comes with the next sync",
    "purged": "what lies here was purged for the team",
    "broken": "the remote cannot be used",
}
REMEDIES = {
    "cap": "Forget what is outdated, or ask the hub's admin for more room",
    "rate": "It is sent with a later sync",
    "not_allowed": "Ask an admin of the team for the right to write",
    "too_large": "Split it, or cut it",
    "purged": "`memdir forget FILE --scope team` removes it here, too; what you know yourself, say in your own words",
}
MAX_TOLD = 50  # files of one kind that a person reads through
MAX_FAULTS = 5  # of the same fault


class Share:
    """Hand a memory of this project to the team: it moves into `team/`, and with the next sync everybody has it. Not
    one about a person, and none that holds a secret."""

    EXAMPLES: tuple[str, ...] = ("memdir share project_freeze.md", "memdir share freeze deploy")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("memories", metavar="MEMORY", nargs="+", help="a file name, a title, or a part of either")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        return _tell_files(options, context, memory.team.share(*options.memories), "Shared")


class Unshare(Share):
    """Take a memory back from the team into this project's own: with the next sync it is gone for the others. What a
    teammate wrote stays marked as from the team."""

    EXAMPLES = ("memdir unshare project_freeze.md",)

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        return _tell_files(options, context, memory.team.unshare(*options.memories), "Took back")


class Join:
    """Share this project's team memories by a folder that all can write to, a git repository of its own, or a hub, and
    sync at once. It turns team memory on for this project on this machine. A hub's token is asked for, or read from
    standard input; it is never an argument, and is kept where only you can read it."""

    EXAMPLES = (
        "memdir join /mnt/team/memories",
        "memdir join git@example.com:team/memories.git --as Ann",
        "memdir join https://hub.example.com < token.txt",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("where", metavar="WHERE", nargs="?", default="", help="a folder, a git URL, or a hub's URL")
        parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)  # told what is wrong with them
        parser.add_argument("--token", nargs="?", const="", help=argparse.SUPPRESS)
        parser.add_argument("--as", metavar="NAME", dest="name", default="", help="the name that the team sees")
        parser.add_argument("--kind", choices=KINDS, default="", help="where the address alone does not tell")
        parser.add_argument("--new", action="store_true", help="make the folder, for a new team")
        parser.add_argument(
            "--with-memories", action="store_true", help="give this team what was written for the team before"
        )

    def run(self, options: argparse.Namespace, context: Any) -> int:
        refuse_token_among([options.where, *options.words, *([TOKEN] if options.token is not None else [])])
        if options.words:
            raise UsageError(
                f"what is {options.words[0]!r} there for?", remedy="`memdir join --help` shows how it is used"
            )
        memory = context.start()
        if not options.where:
            return _tell_joined(options, context, memory)
        refuse_login(options.where)
        address = guess_address(options.where, options.kind)
        joined = meet(address, memory, name=options.name, is_new=options.new)
        before = Others.than(joined.address, memory)
        is_along = _comes_along(before, joined, options, context)
        keep_token(memory.layout, joined)
        left = memory.settings.team_remote
        if before and not remote_of_note(memory.place):  # whose they are, also where this stops half way
            KnownTeam(memory.place, before.remote).save()
        path = settings_files(context.environment, memory.layout)["local"]
        put_setting(path, "team.remote", str(joined.address))
        put_setting(path, "team.enabled", True)
        if joined.member:
            put_setting(path, "team.member", joined.member)
        memory = context.reopened()
        if not memory.places.syncs:
            raise MemdirError("other settings keep the team off", remedy="`memdir config list` tells which")
        aside, kept = change_teams(memory, before, joined.address, is_along=is_along)
        drop_token(memory.layout, left)
        is_later = options.with_memories and before is None
        came, whose = bring_along(memory, joined.address) if is_later else (0, "")
        with context.progress(SYNCING) as on_progress:
            report = memory.team.sync(on_progress=on_progress)
        if options.json:
            told = {"remote": str(joined.address), "team": joined.team or None, "member": memory.team.member}
            told |= {"setAside": kept, "setAsideIn": aside if kept else None}
            return int(context.print_json({**told, **_plain(report)}))
        _tell_team(joined, memory, options, context)
        left = left_aside(memory, joined.address, is_along=is_later)
        _tell_came(came, whose, left, context, is_asked=options.with_memories and not (before and before.keys))
        if before and kept:
            back = "" if before.remote == FORGOTTEN else "; `memdir join` of that team brings them back"
            context.note(
                f"{counted(kept, 'memory', 'memories')} of {shown_line(before.remote)} ({before.told}) set aside, in"
                f" {aside}: this team gets them only with --with-memories{back}"
            )
        _tell_report(report, context)
        return 0


def _tell_team(joined: Joined, memory: MemDir, options: argparse.Namespace, context: Any) -> None:
    terminal, where = context.terminal, shown_line(str(joined.address))
    team = f", in the team {shown_line(joined.team)}" if joined.team else ""
    begun = ": a new team, for there was nothing there yet" if joined.is_new else ""
    terminal.line(f"{terminal.bold('Joined')} {where} as {shown_line(memory.team.member)}{team}{begun}")
    if joined.role == "reader":
        context.note("you may read there: what you write for the team stays on this machine")
    if options.name and options.name != memory.team.member:
        context.note(f"on a hub the token says who you are: {shown_line(memory.team.member)}")


def _tell_came(count: int, whose: str, left: dict[str, list[str]], context: Any, *, is_asked: bool) -> None:
    """What came back or along from where it was set aside, and what could not be written."""
    if count:
        context.note(f"{counted(count, 'memory', 'memories')} of {shown_line(whose)} came along")
    elif is_asked and not left:
        context.note("there is nothing here that was written for another team")
    for folder, names in left.items():
        told = f"{shown_line(', '.join(names))} did not come back, for its name or what it holds"
        context.note(f"{told}, and stays in {folder}: repair it there, and join once more")


def _comes_along(before: Others | None, joined: Joined, options: argparse.Namespace, context: Any) -> bool:
    """Whether this team gets what was written for another: only where a person says so (ADR 0077)."""
    if before is None or not before.keys or options.with_memories:
        return bool(options.with_memories)
    if options.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    context.terminal.line(
        f"team/ holds {counted(len(before.keys), 'memory', 'memories')} of {shown_line(before.remote)} ({before.told})."
    )
    asked = f"Set them aside, or give them to {shown_line(joined.team or str(joined.address))}? [aside/give/cancel] "
    answer = context.answer(asked)
    if answer not in ("", "a", "aside", "g", "give"):
        raise UsageError("nothing was joined", remedy="`memdir join` once more when you know")
    return answer in ("g", "give")


class Leave:
    """Stop sharing this project's team memories: nothing is synced, recalled or written in `team/` any more. The files
    stay where they are, and what you gave the team stays with it. The token of a hub goes from this machine with the
    last project that is in that team."""

    EXAMPLES = ("memdir leave", "memdir leave --anyway")

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--anyway", action="store_true", help="though something was not sent yet")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        remote = memory.settings.team_remote
        waiting = _waiting(memory) if memory.places.syncs and not options.anyway else []
        if waiting:
            raise UsageError(
                f"the team has not got {counted(len(waiting), 'change')} yet",
                remedy="`memdir sync` sends them, --anyway leaves",
            )
        path = settings_files(context.environment, memory.layout)["local"]
        for name in ("team.remote", "team.enabled", "team.member"):
            put_setting(path, name, None)
        address = Address.parse(remote) if remote else None
        is_dropped = address is not None and address.kind == "hub" and drop_token(memory.layout, str(address))
        is_on = context.reopened().places.has_team
        if options.json:
            return int(context.print_json({"left": remote, "teamEnabled": is_on}))
        told = f"{context.terminal.bold('Left')} {shown_line(remote)}" if remote else "No team was joined here."
        context.terminal.line(told)
        if is_dropped:
            context.note("your token is gone from this machine; the hub's admin can end it there, too")
        elif address is not None and address.kind == "hub":
            context.note("your token stays on this machine: another project is in that team, too")
        if is_on:
            context.note(
                "`team.enabled` is on in other settings, which no team turned on: `memdir config list` tells where"
            )
        return 0


def _waiting(memory: MemDir) -> list[str]:
    """What the team has not got; nothing where it cannot be opened: then nothing can be sent either."""
    try:
        return memory.team.joined().status()[0].waiting
    except MemdirError:
        return []


class SyncCommand:
    """Take in what teammates changed and give them what was changed here. It happens by itself when a session starts
    and ends; this does it now. What both changed is merged; where that cannot be, both texts are kept.

    --resolve FILE settles such a conflict: the text of the file that you name is right, the other goes (`memdir undo`
    brings it back); without a file it shows what is in conflict."""

    EXAMPLES = (
        "memdir sync",
        "memdir sync --dry-run",
        "memdir sync --status",
        "memdir sync --resolve deploys.conflict-1a2b3c4d.md",
        "memdir sync --watch",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="tell what would happen and change nothing")
        parser.add_argument("--status", action="store_true", help="what waits, without asking the remote")
        parser.add_argument(
            "--resolve", metavar="FILE", nargs="?", const="", help="settle a conflict, or show them all"
        )
        parser.add_argument("--later", action="store_true", help=argparse.SUPPRESS)  # what a command starts behind it
        parser.add_argument(
            "--watch", action="store_true", help="go on until Ctrl-C, as soon as somebody changes something"
        )

    def run(self, options: argparse.Namespace, context: Any) -> int:
        memory = context.start()
        if not memory.places.syncs and options.resolve is None:
            return _tell_joined(options, context, memory)
        if options.resolve is not None:
            return _resolve(options, context, memory)
        if options.later:
            send_when_quiet(memory.place, lambda: memory.team.sync_behind(pushes_only=True))
            return 0
        if options.status:
            return _status(options, context, memory)
        with context.progress(SYNCING) as on_progress:
            report = memory.team.sync(is_dry=options.dry_run, on_progress=on_progress)
        status = RemoteError.exit_code if report.problem else 0
        if options.json:
            context.print_json({**_plain(report), "dryRun": options.dry_run}, status)
        else:
            _tell_report(report, context, is_dry=options.dry_run)
        if options.watch and not options.dry_run:
            signal.signal(signal.SIGINT, _interrupt)
            _watch(context, memory)
        return status


def send_when_quiet(place: Place, send: Callable[[], None], *, quiet_seconds: float = QUIET_SECONDS) -> None:
    """Send what commands have changed when no more comes, and what comes meanwhile, too. Whoever finds another at it
    leaves it to that one, which looks again after it has let go."""
    sent, until = 0, time.monotonic() + MAX_QUIET_SECONDS
    while _noted_ns(place) > sent:
        try:
            with locked(f"{place.changed_for_team}.lock", wait_seconds=0.0):
                while (noted := _noted_ns(place)) > sent:
                    time.sleep(quiet_seconds)
                    if _noted_ns(place) == noted or time.monotonic() > until:
                        sent = noted
                        send()
        except LockBusy:
            return


def _noted_ns(place: Place) -> int:
    try:
        return os.stat(place.changed_for_team).st_mtime_ns
    except OSError:
        return 0


def _watch(context: Any, memory: MemDir) -> None:
    """Sync again whenever the remote has something new, or now and then where it cannot tell; after a pause where one
    answers at once and nothing comes."""
    told = ""  # of what is wrong: not every few seconds
    while True:
        began = time.monotonic()
        try:
            sync = memory.team.joined()
            wait = getattr(sync.remote, "wait", None)
            if wait is None:
                time.sleep(WATCH_SECONDS)
            if wait is None or wait(sync.status()[1].revision) or sync.status()[0].waiting:
                sync.remote.close()
                report = memory.team.sync()
                here = report.taken, report.deleted, report.conflicts, report.brought_back, report.purged
                has_come = any(here) or bool(report.may_hold or report.sent or report.sent_deletions)
                if has_come or report.problem not in ("", told):
                    _tell_report(report, context)
                told = report.problem
                if has_come and not told:
                    continue
            else:
                told = ""
        except MemdirError as error:
            if str(error) != told:
                told = str(error)
                context.note(told)
        if time.monotonic() < began + AGAIN_SECONDS:
            time.sleep(AGAIN_SECONDS)


def _interrupt(*_: object) -> None:
    """Ctrl-C, once more after a while unless that was the end: Python drops what is raised while it frees an object."""
    signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(5)
    raise KeyboardInterrupt


def conflicts_in(store: MemoryStore) -> dict[str, str]:
    """The files that hold a second version of a memory, with the memory that it is of."""
    found = {}
    for memory in store.readable(store.scan(limit=None).headers):
        first = conflict_of(memory.key, memory.topic.data)
        if first:
            found[memory.key] = first
    return found


def resolve(store: MemoryStore, key: str) -> list[str]:
    """Settle a conflict: the text of the file that is named is right, and takes the memory's name; the others of that
    memory go. `undo` brings them back. Gives the files that went."""
    with store.changing(Origin("cli", trust="user"), f"resolve {key}") as change:
        conflicts = conflicts_in(store)  # as they are now: a sync may have settled some
        first = conflicts.get(key, key)
        others = [one for one, of in conflicts.items() if of == first]
        if key in conflicts:
            topic = store.read(key).topic.without_field(CONFLICT_FIELD)
            change.write(first, topic.data)
            change.put_entry(first, topic)
        for one in others:
            change.delete(one)
            change.drop_entry(one)
    return others


def _resolve(options: argparse.Namespace, context: Any, memory: MemDir) -> int:
    store = memory.stores.of("team")
    conflicts = conflicts_in(store)
    if not options.resolve:
        if options.json:
            told = [{"file": second, "memory": first} for second, first in conflicts.items()]
            return int(context.print_json({"conflicts": told}))
        authors = memory.team.authors("team")
        for second, first in sorted(conflicts.items()):
            of, by = (authors.told(key, " ({})") for key in (first, second))
            context.terminal.line(f"{shown_line(second)}{by} is another version of {shown_line(first)}{of}")
        if not conflicts:
            context.terminal.line("Nothing is in conflict.")
        else:
            context.note("`memdir show FILE --scope team` shows one, `memdir sync --resolve FILE` says which is right")
        return 0
    key = find_key(store, options.resolve.removeprefix("team/"))
    gone = resolve(store, key)
    if not gone:
        raise UsageError(f"{key} is in no conflict", remedy="`memdir sync --resolve` shows what is")
    if options.json:
        return int(context.print_json({"file": conflicts.get(key, key), "gone": gone}))
    context.terminal.line(f"{context.terminal.bold('Settled')} {shown_line(conflicts.get(key, key))}")
    context.note("`memdir sync` brings it to the others; `memdir undo` brings the other text back")
    return 0


def _status(options: argparse.Namespace, context: Any, memory: MemDir) -> int:
    report, known = memory.team.joined().status()
    conflicts, failure = sorted(conflicts_in(memory.stores.of("team"))), Failure.load(memory.place)
    if options.json:
        when = iso_time(known.synced) if known.synced else None
        told = {"member": memory.team.member, "synced": when, "conflicts": conflicts}
        return int(context.print_json({**_plain(report), **told, "failure": _plain_failure(failure)}))
    terminal = context.terminal
    when = age_words(known.synced, memory.clock()) if known.synced else "never"
    team = f"{terminal.bold(shown_line(report.team))}, " if report.team else ""
    where, who = terminal.bold(shown_line(report.remote)), shown_line(memory.team.member)
    terminal.line(f"{team}{where} as {who}, last synced {when}")
    if failure:
        context.note(failure.told(memory.clock()))
    here = [key for key in report.waiting if os.path.lexists(os.path.join(memory.stores.of("team").root, key))]
    _tell_keys(context, "waits to be sent", here)
    _tell_keys(context, "waits to be deleted for all", [key for key in report.waiting if key not in here])
    _tell_keys(context, "in conflict", conflicts)
    _tell_left_out(report, context)
    return 0


def _tell_joined(options: argparse.Namespace, context: Any, memory: MemDir) -> int:
    """What a command says that was given nobody to talk to."""
    remote = memory.settings.team_remote or ""
    if options.json:
        return int(context.print_json({"remote": remote or None, "member": memory.team.member}))
    told = f"This project's team is kept in {shown_line(remote)}." if remote else "No team was joined here."
    context.terminal.line(told)
    off = "team memory is off here: `memdir config set team.enabled true --layer local` turns it on"
    joined = "`memdir sync --status` tells how it stands, `memdir leave` ends it" if memory.places.syncs else off
    context.note(joined if remote else "`memdir join FOLDER`, or a git repository, or a hub, joins one")
    return 0


def _tell_report(report: SyncReport, context: Any, *, is_dry: bool = False) -> None:
    terminal = context.terminal
    would = "would be " if is_dry else ""
    for word, keys in (
        (f"{would}taken in", report.taken),
        (f"{would}deleted here", report.deleted),
        (f"lost here and {would}brought back", report.brought_back),
        (f"{would}sent", report.sent),
        (f"{would}deleted for all", report.sent_deletions),
    ):
        _tell_keys(context, word, keys)
    if report.brought_back:
        context.note("what you do not want any more, `memdir forget FILE --scope team` deletes for all")
    for key in report.conflicts:
        terminal.line(
            terminal.style(
                f"  both texts {'would be' if is_dry else 'are'} kept: {shown_line(key)} (`memdir sync --resolve`)",
                "yellow",
            )
        )
    _tell_left_out(report, context)
    if report.problem:
        context.note(report.problem)
    elif report.reason:
        terminal.line(
            f"Nothing {'would be' if is_dry else 'was'} sent: {REASONS.get(str(report.reason), str(report.reason))}."
        )


def _tell_keys(context: Any, word: str, keys: Sequence[str]) -> None:
    for key in keys[:MAX_TOLD]:
        context.terminal.line(f"  {word}: {shown_line(key)}")
    if len(keys) > MAX_TOLD:
        context.terminal.line(f"  {word}: {len(keys) - MAX_TOLD:,} more (--json tells all)")


def _tell_left_out(report: SyncReport, context: Any) -> None:
    """What does not travel, what went with a member or may have to, and what waits for somebody's word."""
    _tell_keys(context, "gone with a member who was purged", report.purged)
    for file, member in report.may_hold.items():
        may = f"{shown_line(file)} may hold what {shown_line(member)} wrote, who was purged"
        context.note(f"{may}: `memdir purge --source person:{shown_line(member)}` shows it and asks")
    told = Counter[tuple[str, str]]()
    for one in report.left_out.values():
        told[one.told, str(one.reason)] += 1
        remedy = one.remedy or REMEDIES.get(str(one.reason), "")
        if told[one.told, str(one.reason)] <= MAX_FAULTS:
            why = ". ".join(filter(None, (shown_line(one.told), remedy)))
            context.note(f"{shown_line(one.file)} does not travel: {why}")
    for (why, reason), count in told.items():
        alike = [one.file for one in report.left_out.values() if (one.told, str(one.reason)) == (why, reason)]
        if count > MAX_FAULTS:
            files = ", ".join(map(shown_line, alike[MAX_FAULTS:MAX_TOLD])) + (", …" if count > MAX_TOLD else "")
            context.note(f"{count - MAX_FAULTS:,} more do not travel: {shown_line(why)}: {files}")
    if report.proposals:
        context.note(proposals_told(report.proposals))


def _plain(report: SyncReport) -> dict[str, object]:
    told = {name: None if value == "" else value for name, value in vars(report).items()}
    told["left_out"] = [_plain_fault(one) for one in report.left_out.values()]
    return {re.sub("_(.)", lambda found: found[1].upper(), name): value for name, value in told.items()}


def _plain_failure(one: Failure | None) -> dict[str, str] | None:
    return {"since": iso_time(one.since), "reason": one.reason, "problem": one.problem} if one else None


def _plain_fault(one: NotShared) -> dict[str, str]:
    return {
        "file": one.file,
        "reason": str(one.reason),
        "told": one.told,
        "remedy": one.remedy or REMEDIES.get(str(one.reason), ""),
    }


def _tell_files(options: argparse.Namespace, context: Any, files: list[str], verb: str) -> int:
    if options.json:
        return int(context.print_json({"files": files}))
    for file in files:
        context.terminal.line(f"{context.terminal.bold(verb)} {shown_line(file)}")
    context.note("`memdir sync` brings it to the others; `memdir undo` takes it back here")
    return 0


def findings(memory: MemDir) -> Iterator[Finding]:
    """What the doctor tells of the team: that nothing gets through, and since when (O1)."""
    failure = Failure.load(memory.place) if memory.places.syncs else None
    if failure is not None:
        remedy = "`memdir sync` tries again; a hub's token that ended: `memdir join URL` with a new one"
        yield Finding("team", "warning", failure.told(memory.clock()), "", remedy)
