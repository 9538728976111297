"""Entries of a team: manifest, text, conditional writes, batches, versions and news."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from memdir.hub import bounds, reply
from memdir.hub.bearer import Bearer
from memdir.hub.hub_database import SQL, Author, Change, Changed, Row
from memdir.hub.hub_state import Hub
from memdir.hub.jobs import drop_proposals
from memdir.hub.people import author_of, record, sealed
from memdir.hub.reply import HubRefusal, answer, bad_request, not_found, read_time, text_reply, told_time, unchanged
from memdir.share.remote import digest_of
from memdir.store.secrets import beginning

MOST_LISTED = 2_000
MOST_WITH_CONTENT = 100
PAGE_BYTES = 4 * 1024 * 1024
MOST_VERSIONS = 200
MAX_REASON = 200
LOG_TIMES = 8  # as many bytes of old texts are kept as a team may have; beyond that the oldest go
MOST_GONE = 50_000  # deletions that the team's machines are told of: whoever comes new is told all of them
LEAST_BYTES = 1_000  # that a change counts for, however small
LOG_BYTES = 1024 * 1024  # that a team writes before the first look at that, which reads all of its log
_ETAG = re.compile(r'"([0-9a-f]{64})"')
_CONDITIONS = (b"if-match", b"if-none-match")

_REFUSED = {
    "cap": (409, "the team's memory is full", "Delete entries, or ask for a higher limit"),
    "too-large": (413, "the entry is larger than the team's limit", None),
    "purged": (409, "that text was removed with the member who wrote it", "Delete it on this machine, too"),
    "same-name": (409, "another entry has this name in another case", "Rename one of them"),
}


class EntryRoutes:
    """What members do with the team's entries."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._until_look: dict[str, int] = {}  # bytes that a team may write until its log is looked at

    async def entry(self, request: Request) -> Response:
        if request.method == "PUT":
            return await self._put(request)
        if request.method == "DELETE":
            return await self._delete(request)
        identity = await self._hub.identify(request, "read")
        row = await self._hub.database.entry(identity.team, request.path_params["key"])
        if row is None:
            raise not_found()
        etag, revision, deleted, member, saved, content = row
        if deleted:
            raise HubRefusal(410, "gone", "the entry was deleted").with_current(None, revision, deleted=True)
        asked = request.headers.get("if-none-match")
        if asked and etag in _ETAG.findall(asked):
            return unchanged(etag)
        told = {b"memdir-revision": str(revision), b"memdir-by": member, b"memdir-saved": told_time(saved) or ""}
        return text_reply(content, etag, *((name, value.encode()) for name, value in told.items()))

    async def _put(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "write")
        key = bounds.require_key(request.path_params["key"])
        condition = _condition(request, may_create=True)
        saved = read_time(dict(request.scope["headers"]).get(b"memdir-saved", b"").decode("latin-1"), now=self._hub.now)
        data = await bounds.read_body(request, bounds.MAX_ENTRY_BYTES)
        change = Change("put", key, condition, digest_of(data), bounds.require_text(data), len(data), saved)
        if refused := await self._unshareable(request, identity, [change]):
            raise refused[key]
        return await self._written(identity, change)

    async def _delete(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "write")
        key = bounds.require_key(request.path_params["key"])
        condition = _condition(request, may_create=False)
        return await self._written(identity, Change("delete", key, condition, None, None, 0, self._hub.now))

    async def _written(self, identity: Bearer, change: Change) -> Response:
        _, (done,) = await self._hub.database.apply(identity.author, [change], self._hub.now)
        await self._has_changed(identity.team, max(change.size, LEAST_BYTES))
        if refused := refusal_of(done):
            raise refused
        told = f'"{done.etag}"' if done.etag else "null"  # by hand: an encoder of any object takes three times as long
        body = f'{{"key":{reply.in_json(done.key)},"etag":{told},"revision":{done.revision}}}'.encode()
        status, headers = 201 if done.outcome == "created" else 200, [(b"etag", told.encode())] if done.etag else []
        return reply.HttpReply(status, body, b"application/json", *headers)

    async def _apply(self, written: Mapping[Author, list[Change]]) -> tuple[int, list[Changed]]:
        """All of it or nothing, in whosever names."""
        now, team = self._hub.now, next(iter(written)).team
        if len(written) == 1:  # with others who write just now
            answers = [await self._hub.database.apply(*one, now) for one in written.items()]
        else:
            async with self._hub.database.transaction() as held:
                answers = [await held.apply(*one, now) for one in written.items()]
        size = sum(max(change.size, LEAST_BYTES) for some in written.values() for change in some)
        await self._has_changed(team, size)
        return answers[-1][0], [one for _, done in answers for one in done]

    async def _has_changed(self, team: str, size: int) -> None:
        """Whoever waits for it is told, and its log looked at when it has grown by enough."""
        self._hub.waiting.wake(team)
        left = self._until_look.get(team, LOG_BYTES) - size
        self._until_look[team] = left if left >= 0 else await self._shorten_log(team)

    async def _shorten_log(self, team: str) -> int:
        """Erase texts beyond the team's log, and the oldest deletions; how much it may write until the next time."""
        ((*_, most, _, _),) = await self._hub.database.run(SQL["team_told"], team)
        await self._hub.database.run(SQL["versions_beyond"], self._hub.now, team, team, LOG_TIMES * most)
        await self._hub.database.run(SQL["gone_beyond"], team, team, MOST_GONE)
        return int(most)

    async def _unshareable(self, request: Request, identity: Bearer, changes: list[Change]) -> dict[str, HubRefusal]:
        """Which of these must not be shared. That somebody tried is worth knowing; what it was is in nobody's log."""
        refused = await self._hub.unshareable(request, changes)
        if refused:
            kinds = sorted({kind for one in refused.values() for kind in one.kinds or (one.kind,)})
            await record(self._hub.database, identity.author, "refused", ", ".join(kinds), self._hub.now)
        return refused

    async def batch(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "write")
        given = (await bounds.read_json(request, bounds.MAX_BATCH_BYTES)).get("changes")
        if not isinstance(given, list) or not 0 < len(given) <= bounds.MAX_BATCH:
            raise bad_request(f"`changes` is a list of 1 to {bounds.MAX_BATCH}")
        now = self._hub.now
        judged = [_read_change(one, now) for one in given]
        if len({key for key, _ in judged}) < len(judged):
            raise bad_request("a key stands twice in the batch")
        changes = [change for _, change in judged if isinstance(change, Change)]
        changes.sort(key=lambda change: change.op)  # deletions first: a name that is free then may be taken
        refused = {key: one for key, one in judged if isinstance(one, HubRefusal)}
        refused |= await self._unshareable(request, identity, changes)
        sealed_ones, author = {one["key"]: one for one in given if "seal" in one}, identity.author
        written: dict[Author, list[Change]] = {author: []}  # by the sender first, with all deletions
        for change in (one for one in changes if one.key not in refused):
            told = sealed_ones.get(change.key)
            try:
                by = await author_of(self._hub.database, author, change, told, now) if told else author
                written.setdefault(by, []).append(change)
            except HubRefusal as one:
                refused[change.key] = one
        revision, done = await self._apply(written)
        results = {one.key: _result(one) for one in done}
        results |= {key: {"key": key, "status": one.status, "error": one.error} for key, one in refused.items()}
        return answer({"revision": revision, "results": [results[key] for key, _ in judged]})

    async def manifest(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "read")
        query = request.query_params
        since = bounds.whole_number(request, "since", 0)
        with_content = query.get("content") == "1"
        limit = bounds.limit_of(request, MOST_WITH_CONTENT if with_content else MOST_LISTED)
        revision, restored, seal_key = await self._hub.database.revision(identity.team)
        if request.headers.get("if-none-match") == f'"r{revision}"':
            return unchanged(f"r{revision}")
        statement, is_all = SQL["entries_with_texts" if with_content else "entries_listed"], query.get("deleted") == "1"
        rows = await self._hub.database.run(statement, identity.team, since, int(is_all or since > 0), limit + 1)
        listed, more = _page(rows, limit, seal_key)
        last = int(str(listed[-1]["revision"])) if listed else 0
        revision = last if more else max(revision, last)
        # Who was purged meanwhile is told with the tombstones, which the next request finds beyond that revision.
        found = await self._hub.database.run(SQL["members_purged"], identity.team, since, revision)
        purged = [{"member": {"id": id_, "name": name}, "revision": at} for id_, name, at in found]
        body = {"revision": revision, "restored": restored, "more": more, "entries": listed, "purged": purged}
        return answer(body, headers={"etag": f'"r{revision}"'})

    async def changes(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "read")
        since = bounds.whole_number(request, "since", 0)
        seconds = min(bounds.MAX_WAIT_SECONDS, bounds.whole_number(request, "wait", bounds.MAX_WAIT_SECONDS))
        waiting = self._hub.waiting.beyond(identity.team, since, seconds=seconds, token=identity.token)
        task, gone = asyncio.ensure_future(waiting), asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
            return answer({"revision": task.result() if task.done() else since})
        finally:
            for one in (task, gone):
                one.cancel()

    async def versions(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "read")
        before, limit = bounds.whole_number(request, "before", 2**62), bounds.limit_of(request, MOST_VERSIONS)
        of_key = [bounds.require_key(key) for key in request.query_params.getlist("key")[:1]]
        statement = SQL["versions_of_entry" if of_key else "versions"]
        rows = await self._hub.database.run(statement, identity.team, before, *of_key, limit + 1)
        return answer({"versions": [_version(row) for row in rows[:limit]], "more": len(rows) > limit})

    async def version(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "read")
        rows = await self._hub.database.run(SQL["version"], identity.team, bounds.path_number(request, "revision"))
        if not rows:
            raise not_found()
        _, _, etag, content = rows[0]
        if content is None:
            raise HubRefusal(410, "gone", "the text of this version was deleted or erased")
        return text_reply(content, etag)

    async def redact(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "admin")
        revision = bounds.path_number(request, "revision")
        async with self._hub.database.transaction() as database:
            if not await database.run(SQL["version"], identity.team, revision):
                raise not_found()
            if not await database.run(SQL["version_redacted"], self._hub.now, identity.team, revision):
                raise HubRefusal(409, "current", "this version is in force", remedy="Change or delete the entry first")
            await drop_proposals(database, identity.team, "a version was erased", self._hub.now)
            await record(database, identity.author, "redact", f"revision {revision}", self._hub.now)
        return answer({"ok": True, **await self._hub.database.scrub()})


def _read_change(given: object, now: int) -> tuple[str, Change | HubRefusal]:
    """One change of a batch. A wrong form refuses the batch, a wrong key or text only this change."""
    if not isinstance(given, dict) or not isinstance(given.get("key"), str):
        raise bad_request("a change is an object with a key")
    key, op, condition = given["key"], given.get("op"), given.get("ifMatch", "")
    if op not in ("put", "delete"):
        raise bad_request("`op` is put or delete")
    is_etag = isinstance(condition, str) and _ETAG.fullmatch(f'"{condition}"')
    if not is_etag and (condition is not None or op == "delete"):
        raise HubRefusal(428, "no-precondition", "`ifMatch` is an ETag, or null for a new entry")
    saved = read_time(given.get("saved"), now=now)
    reason = given.get("reason", "")
    if not isinstance(reason, str) or not isinstance(given.get("content", ""), str):
        raise bad_request("`content` and `reason` are text")
    try:
        bounds.require_key(key)
        if op == "delete":
            return key, Change("delete", key, condition, None, None, 0, saved, harmless_reason(reason))
        if "content" not in given:
            raise bad_request("a put takes `content`")
        data = given["content"].encode("utf-8", "surrogatepass")
        if len(data) > bounds.MAX_ENTRY_BYTES:
            raise HubRefusal(413, "too-large", f"an entry holds at most {bounds.MAX_ENTRY_BYTES} bytes")
        return key, Change("put", key, condition, digest_of(data), bounds.require_text(data), len(data), saved)
    except HubRefusal as refused:
        return key, refused


def refusal_of(done: Changed) -> HubRefusal | None:
    """Why a change was not made; None where it was, or had been before."""
    if done.outcome == "missing":
        return not_found()
    if done.outcome == "conflict":
        told = "the entry was deleted" if done.deleted else "the entry is another one by now"
        refused = HubRefusal(412, "conflict", told, remedy="Pull, merge, and write again")
        return refused.with_current(done.etag, done.revision, deleted=done.deleted)
    if done.outcome not in _REFUSED:
        return None
    status, told, remedy = _REFUSED[done.outcome]
    return HubRefusal(status, done.outcome, told, remedy=remedy)


def _result(done: Changed) -> dict[str, object]:
    refused = refusal_of(done)
    if refused is None:
        status = 201 if done.outcome == "created" else 200
        return {"key": done.key, "status": status, "etag": done.etag, "revision": done.revision}
    told: dict[str, object] = {"key": done.key, "status": refused.status, "error": refused.error}
    return {**told, "current": refused.current} if refused.current else told


def _condition(request: Request, *, may_create: bool) -> str | None:
    """What a write was made from: an ETag, or None where there is nothing yet."""
    match [one for one in request.scope["headers"] if one[0] in _CONDITIONS]:
        case [(b"if-match", told)]:
            if named := _ETAG.fullmatch(told.decode("latin-1").strip()):
                return named[1]
            raise bad_request("If-Match holds one strong ETag of this hub")
        case [(b"if-none-match", told)] if may_create and told.strip() == b"*":
            return None
    told = "name one version: If-Match with its ETag, or If-None-Match: * for a new entry"
    raise HubRefusal(428, "no-precondition", told)


def harmless_reason(reason: str) -> str:
    """Why something was deleted, on one line; `purged` is the hub's own word."""
    line = " ".join(reason.encode("utf-8", "replace").decode("utf-8").replace("\0", "").split())
    return "" if line == "purged" else beginning(line, MAX_REASON)


def _page(rows: list[Row], limit: int, seal_key: str) -> tuple[list[dict[str, object]], bool]:
    listed: list[dict[str, object]] = []
    left = PAGE_BYTES
    for key, etag, rev, size, deleted, member, name, saved, changed, reason, *content in rows[:limit]:
        left -= size if content else 0
        if left < 0 and listed:
            return listed, True
        one: dict[str, object] = {"key": key, "etag": etag, "revision": rev, "size": size, "deleted": bool(deleted)}
        one |= {"by": {"id": member, "name": name or ""}, "saved": told_time(saved), "changed": told_time(changed)}
        one |= {"reason": reason} if reason else {}
        one |= {"seal": sealed(seal_key, etag, name)} if content and etag and name else {}
        listed.append({**one, "content": content[0]} if content else one)
    return listed, len(rows) > limit


def _version(row: Row) -> Mapping[str, object]:
    rev, key, op, etag, size, member, name, saved, changed, redacted, reason = row
    one = {"revision": rev, "key": key, "op": op, "etag": etag, "size": size, "by": {"id": member, "name": name or ""}}
    one |= {"saved": told_time(saved), "changed": told_time(changed), "redacted": redacted is not None}
    return {**one, "reason": reason} if reason else one


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
