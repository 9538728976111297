"""`memdir hub serve`, `memdir hub admin` and `memdir hub work`: what is done on the server's own machine."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from memdir.errors import MemdirError, UsageError

T = TypeVar("T")
DEFAULT_PORT = 7438
TAKES = {  # what each action of `memdir hub admin` wants to be named
    "teams": (),
    "add-team": ("team",),
    "limits": ("team",),
    "members": ("team",),
    "add-member": ("team", "member"),
    "role": ("team", "member"),
    "token": ("team", "member"),
    "tokens": ("team",),
    "revoke": ("token",),
    "remove-member": ("team", "member"),
    "purge": ("team", "member"),
    "metrics": (),
    "prune": (),
    "backup": ("file",),
    "restored": (),
}
ERASING = ("purge", "prune", "remove-member")
MAX_DAYS = 3_650


def _add_database(parser: argparse.ArgumentParser) -> None:
    told = "an SQLite file (default: hub/hub.sqlite3 in memdir's home), or postgresql://…; its password in ~/.pgpass"
    parser.add_argument("--database", metavar="PLACE", default="", help=told)


def _place(options: argparse.Namespace, context: Any, *, creates: bool) -> str:
    """Where the database is, after a look whether it can be used: only who `creates` one goes on with an empty hub."""
    place: str = options.database or os.path.join(context.memory.layout.home, "hub", "hub.sqlite3")
    if place.startswith(("postgresql://", "postgres://")):
        return place
    path = place.removeprefix("sqlite:///")
    if "://" in path:
        remedy = "Name an SQLite file, or postgresql://…"
        raise UsageError(f"{_told(place)} is no database that a hub knows", remedy=remedy)
    if not os.path.exists(path) and not creates:
        from memdir.hub.hub_database import NO_HUB

        raise UsageError(f"there is no hub's database {path}", remedy=NO_HUB)
    if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
        raise MemdirError(f"you may not use {path}", remedy="Do it as the user that the hub runs as: it owns the file")
    if getattr(options, "action", "") == "restored" and os.path.exists(f"{path}-wal"):  # SQLite reads it with the copy
        remedy = "End the hub, remove both, and put the copy there again; what is its own, `memdir hub admin` takes in"
        raise UsageError(f"{path}-wal and -shm may be of the database that was there before", remedy=remedy)
    return path


def _require_installed() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("starlette", "uvicorn", "httptools", "psycopg") if find_spec(name) is None]
    if missing:
        raise MemdirError(f"the hub needs {missing[0]}", remedy="pip install '.[hub]' in memdir's checkout")


class HubServe:
    """Serve the memories of teams over HTTP, on an embedded SQLite file or on PostgreSQL.

    It is reached from this machine only, unless it has a certificate or a proxy in front of it that has one. Teams and
    tokens are made with `memdir hub admin`. Several workers may serve one PostgreSQL behind a proxy."""

    EXAMPLES = (
        "memdir hub serve                                  # on http://127.0.0.1:7438",
        "memdir hub serve --host 0.0.0.0 --tls-cert hub.crt --tls-key hub.key",
        "memdir hub serve --database postgresql://hub@db.internal/hub --behind-proxy --host 0.0.0.0",
        "memdir hub serve --check                          # bring the tables up to date and end",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        _add_database(parser)
        parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (127.0.0.1)")
        told = f"(default {DEFAULT_PORT}; 0: any)"
        parser.add_argument("--port", type=_up_to(65_535), default=DEFAULT_PORT, metavar="N", help=told)
        parser.add_argument("--tls-cert", default="", metavar="FILE", help="the certificate, with its chain")
        parser.add_argument("--tls-key", default="", metavar="FILE", help="and its key")
        parser.add_argument("--behind-proxy", action="store_true", help="a proxy in front speaks TLS")
        parser.add_argument("--pooler", action="store_true", help="a pooler in transaction mode stands in between")
        told = "with --pooler: the PostgreSQL server itself, for news of other workers"
        parser.add_argument("--listen", default="", metavar="URL", help=told)
        parser.add_argument("--access-log", action="store_true", help="a line for every request, not only for refusals")
        parser.add_argument("--check", action="store_true", help="bring the tables up to date and end")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        _require_installed()
        from memdir.hub.serve import Serving, bound_socket, require_private, run

        names = ("host", "port", "tls_cert", "tls_key", "behind_proxy", "pooler", "listen", "access_log")
        chosen = {name: getattr(options, name) for name in names}
        serving = Serving(_place(options, context, creates=True), **chosen)
        require_private(serving)
        _with_database(serving.database, lambda held: held.run("select 1"), creates=True)  # tables are up to date now
        if options.check:
            return _tell(options, context, {"database": _told(serving.database)}, "The tables are up to date")
        with bound_socket(serving) as listening:
            host = f"[{options.host}]" if ":" in options.host else options.host
            url = f"http{'s' if options.tls_cert else ''}://{host}:{listening.getsockname()[1]}"
            _tell(options, context, {"url": url}, f"memdir hub on {url}")
            context.note(f"on {_told(serving.database)}; Ctrl-C ends it")
            sys.stdout.flush()
            run(serving, listening)
        return 0


def _up_to(most: int) -> Callable[[str], int]:
    """What reads a whole number of an option."""

    def read(text: str) -> int:
        if not text.isdecimal() or not text.isascii() or int(text[:12]) > most:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to {most}")
        return int(text)

    return read


def _told(database: str) -> str:
    """Where the database is, without a password."""
    scheme, mark, rest = database.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else database


def _tell(options: argparse.Namespace, context: Any, answer: dict[str, object], *lines: str) -> int:
    if options.json:
        return int(context.print_json(answer))
    for line in lines:
        context.terminal.line(line)
    return 0


class HubAdmin:
    """Make teams, members and tokens, on the server's own machine: whoever may use the database may do this, and needs
    no token. A lost admin token is recovered by making another. Without an action the teams are listed. `memdir hub
    serve` serves them, `memdir hub work` does what waits for them.

    A token is printed once and kept nowhere. TEAM and MEMBER are names or ids."""

    EXAMPLES = (
        "memdir hub serve                                  # on http://127.0.0.1:7438; more with --help",
        "memdir hub admin add-team acme --admin ana        # a team, its first admin, and their token",
        "memdir hub admin token acme ana                   # another token for her, where one was lost",
        "memdir hub admin add-member acme bob --role writer",
        "memdir hub admin remove-member acme bob --purge   # he left: his tokens end, what he wrote goes",
        "memdir hub admin tokens acme                      # their ids, whose they are and when they end",
        "memdir hub admin revoke k_0123456789ab            # or all of one member: revoke acme bob",
        "memdir hub admin backup hub-monday.sqlite3        # PostgreSQL: pg_dump",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        told = f"(default: teams) {', '.join(TAKES)}"
        parser.add_argument("action", metavar="ACTION", nargs="?", default="teams", help=told)
        told = "what the action takes: add-team, limits, members and tokens TEAM; add-member, role, token, purge,"
        told += " remove-member and revoke TEAM MEMBER; revoke ID; backup FILE"
        parser.add_argument("words", nargs="*", metavar="NAME", help=told)
        _add_database(parser)
        parser.add_argument("--admin", metavar="NAME", help="add-team: its first admin; their token is printed")
        parser.add_argument("--role", choices=("reader", "writer", "admin"), help="add-member (writer), role")
        told = "until a token expires (default 365; 0: never); prune: how old a version is"
        parser.add_argument("--days", type=_up_to(MAX_DAYS), default=365, metavar="N", help=told)
        parser.add_argument("--read-only", action="store_true", help="token: it may not write")
        parser.add_argument("--purge", action="store_true", help="remove-member: remove what they wrote as well")
        parser.add_argument("--derived", action="store_true", help="with a purge: and what others made from it")
        told = "purge, remove-member, prune: tell what would go and change nothing"
        parser.add_argument("--dry-run", action="store_true", help=told)
        limits = (("--entries", 2_000, 31), ("--entry-bytes", 65_536, 31), ("--team-bytes", 16_777_216, 40))
        for name, default, bits in limits:  # what PostgreSQL can hold
            told = f"add-team: at most ({default}); limits: from now on"
            parser.add_argument(name, type=_up_to((1 << bits) - 1), metavar="N", help=told)

    def run(self, options: argparse.Namespace, context: Any) -> int:
        _require_installed()
        from memdir.hub.admin import act
        from memdir.hub.reply import HubRefusal

        self._read(options)
        creates = options.action == "add-team"
        place = _place(options, context, creates=creates)

        def do(*, is_dry: bool) -> tuple[dict[str, object], list[str]]:
            return _with_database(place, lambda held: act(held, options, _now(), is_dry=is_dry), creates=creates)

        try:
            only_looks, may_erase = options.dry_run, options.action in ("purge", "prune") or options.purge
            is_asked = may_erase and not only_looks and sys.stdin.isatty() and not options.json
            answer, lines = do(is_dry=only_looks or is_asked)
            if is_asked:
                _tell(options, context, {}, *lines)
                is_meant = context.ask("It cannot be undone. Do it? [y/N] ")
                answer, lines = do(is_dry=False) if is_meant else ({}, ["Nothing was changed."])
        except HubRefusal as refused:
            raise UsageError(refused.message, remedy=refused.remedy or "") from None
        return _tell(options, context, answer, *lines)

    @staticmethod
    def _read(options: argparse.Namespace) -> None:
        """The names that an action takes, as options."""
        action, wanted = options.action, TAKES.get(options.action)
        if wanted is None:
            told = f"there are `hub serve`, `hub work`, and `hub admin` with {', '.join(TAKES)}"
            raise UsageError(f"{action!r} is none of them: {told}")
        if action == "revoke" and len(options.words) == 2:
            wanted = ("team", "member")
        if len(options.words) != len(wanted):
            told = " ".join(map(str.upper, wanted)) + " --role ROLE" * (action == "role") or "no name"
            remedy = "`memdir hub admin --help` shows how it is used"
            raise UsageError(f"`memdir hub admin {action}` takes {told}", remedy=remedy)
        for name, word in zip(wanted, options.words, strict=True):
            setattr(options, name, word)
        if action == "role" and not options.role:
            raise UsageError("`memdir hub admin role` takes --role", remedy="--role reader, writer or admin")
        if options.role and action not in ("add-member", "role"):
            remedy = "`role` changes what a member may do; `token --read-only` makes a token that only reads"
            raise UsageError(f"`memdir hub admin {action}` has no --role", remedy=remedy)
        if options.dry_run and action not in ERASING:
            raise UsageError(f"`memdir hub admin {action}` has no --dry-run")
        options.role = options.role or "writer"


class HubWork:
    """Do what waits in the hub's jobs: a dream for a team, whose changes are proposed to its members and written only
    when one of them accepts. Give it to a timer once a night; several may run, no job is done twice."""

    EXAMPLES = (
        "memdir hub work --nightly       # ask for a dream of every team that changed, and do what waits",
        "memdir hub work                 # only what waits",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        _add_database(parser)
        parser.add_argument("--nightly", action="store_true", help="ask for a dream of every team that changed")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        _require_installed()
        from memdir.hub.team_dream import ask_for_all, work

        async def all_of_it(database: Any) -> dict[str, int]:
            if options.nightly:
                await ask_for_all(database, _now())
            return await work(database, _now)

        done = _with_database(_place(options, context, creates=False), all_of_it)
        told = ", ".join(f"{count} {what}" for what, count in done.items())
        return _tell(options, context, {"jobs": done}, f"Jobs: {told}")


def _now() -> int:
    return int(time.time() * 1000)


def _with_database(place: str, do: Callable[[Any], Awaitable[T]], *, creates: bool = False) -> T:
    from memdir.hub.hub_database import DatabaseBusy, open_database

    async def opened() -> T:
        database = open_database(place, pooler=True)  # nothing is asked twice here, so nothing is prepared
        database.creates = creates
        await database.connect()
        try:
            return await do(database)
        finally:
            await database.close()
            _give_to_owner(place)

    try:
        return asyncio.run(opened())
    except DatabaseBusy as error:
        raise MemdirError(f"the hub's database cannot be used: {error}", remedy="Try again in a moment") from None


def _give_to_owner(place: str) -> None:
    """What root made belongs to whoever owns the folder: the hub may run as somebody else (deploy/)."""
    folder = os.path.dirname(os.path.abspath(place))
    if os.geteuid() != 0 or not os.path.isdir(folder):
        return
    owner = os.stat(folder)
    for path in (place, f"{place}-wal", f"{place}-shm"):
        if os.path.isfile(path) and os.stat(path).st_uid != owner.st_uid:
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
