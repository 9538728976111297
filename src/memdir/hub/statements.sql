-- All that the hub asks of its databases. Statements are the same on both, but for how changes are applied, at the end.
-- `SQL["token_found"]` is the one below that name. What a team has is asked for by the id of that team.

-- Teams

-- name: teams
select id, name, revision, live_entries, live_bytes from teams order by name

-- name: team_named
select id from teams where id = ? or name = ?

-- name: team_told
select name, revision, max_entries, max_entry_bytes, max_bytes, live_entries, live_bytes from teams where id = ?

-- name: team_made
insert into teams (id, name, max_entries, max_entry_bytes, max_bytes, created, seal_key)
values (?, ?, ?, ?, ?, ?, ?)
on conflict (name) do nothing returning id

-- name: team_limited
update teams set max_entries = coalesce(?, max_entries), max_entry_bytes = coalesce(?, max_entry_bytes),
  max_bytes = coalesce(?, max_bytes)
where id = ? returning max_entries, max_entry_bytes, max_bytes

-- name: team_locked
update teams set revision = revision where id = ? returning id

-- name: team_purged
update teams set revision = revision + 1 where id = ? returning revision

-- name: team_restored
update teams set restored = ?, revision = ? where id = ?

-- name: last_change
select max(at) from (
  select max(at) as at from actions where action <> 'restored'
  union all select max(changed) from versions
) as both_logs

-- Members

-- name: members
select id, name, role, active from members where team = ? order by name

-- name: member
select id, name, role, active from members where team = ? and id = ?

-- name: member_named
select id, name, role from members where team = ? and (id = ? or name = ?)

-- name: members_active
select t.name, m.name, m.role from members m join teams t on t.id = m.team where m.active = 1 order by t.name, m.name

-- name: member_made
insert into members (team, id, name, role, created) values (?, ?, ?, ?, ?)
on conflict (team, name) do update set role = excluded.role, active = 1 where members.active = 0
returning id

-- Whoever the backup does not know is as one who left.
-- name: author
insert into members (team, id, name, role, active, created) values (?, ?, ?, 'reader', 0, ?)
on conflict (team, name) do update set name = excluded.name
returning id, active, purged

-- name: role_set
update members set role = ? where team = ? and id = ?

-- name: member_left
update members set active = 0 where team = ? and id = ?

-- name: member_purged
update members set purged = ? where team = ? and id = ?

-- name: members_purged
select id, name, purged from members where team = ? and purged > ? and purged <= ? order by purged

-- name: admins
select id from members where team = ? and role = 'admin' and active = 1

-- name: recorded
insert into actions (team, at, member, token, action, what) values (?, ?, ?, ?, ?, ?)

-- The versions say who changed which entry, the actions the rest. Who sent it had the token, whoever a seal named (ADR 0083).
-- Within one moment they are told apart by a number that no other of the team's has.
-- name: audit
select a.at, a.number, a.member, m.name, a.token, a.action, a.what
from (
  select at, 2 * id as number, member, token, action, what from actions where team = ? and at <= ?
  union all select v.changed, 2 * v.rev + 1, coalesce(t.member, v.member), v.token, v.op, v.key
  from versions v left join tokens t on t.id = v.token where v.team = ? and v.changed <= ?
) a
left join members m on m.team = ? and m.id = a.member
where a.at < ? or a.number < ?
order by a.at desc, a.number desc limit ?

-- Tokens

-- name: token_found
select t.id, t.team, t.member, t.scopes, t.expires, t.used, m.role, m.name, m.active
from tokens t left join members m on m.team = t.team and m.id = t.member
where t.hash = ? and t.revoked is null

-- name: token_used
update tokens set used = ? where id = ?

-- name: token_made
insert into tokens (id, hash, team, member, label, scopes, created, expires) values (?, ?, ?, ?, ?, ?, ?, ?)

-- name: token_revoked
update tokens set revoked = ? where id = ? and revoked is null returning team, member

-- name: token_has_ended
select 1 from tokens where id = ? and revoked is not null

-- Of one member, or of all.
-- name: tokens
select t.id, t.member, m.name, t.label, t.scopes, t.created, t.expires, t.used, t.revoked
from tokens t join members m on m.team = t.team and m.id = t.member
where t.team = ? and (t.member = ? or ? = 1)
order by t.created, t.id

-- name: tokens_revoked
update tokens set revoked = ? where team = ? and member = ? and revoked is null

-- name: scopes
select scopes from tokens where team = ? and member = ? and revoked is null and coalesce(expires, ?) >= ?

-- Entries and their versions

-- name: entries_listed
select e.key, e.etag, e.rev, e.size, e.deleted, e.member, m.name, e.saved, e.changed, e.reason
from entries e left join members m on m.team = e.team and m.id = e.member
where e.team = ? and e.rev > ? and (e.deleted = 0 or ? = 1) order by e.rev limit ?

-- name: entries_with_texts
select e.key, e.etag, e.rev, e.size, e.deleted, e.member, m.name, e.saved, e.changed, e.reason, v.content
from entries e left join members m on m.team = e.team and m.id = e.member
left join versions v on v.team = e.team and v.rev = e.rev
where e.team = ? and e.rev > ? and (e.deleted = 0 or ? = 1) order by e.rev limit ?

-- name: entries_living
select rev, key, etag from entries where team = ? and deleted = 0

-- name: texts_living
select e.key, e.saved, v.content from entries e join versions v on v.team = e.team and v.rev = e.rev
where e.team = ? and e.deleted = 0 order by e.key

-- name: versions
select v.rev, v.key, v.op, v.etag, v.size, v.member, m.name, v.saved, v.changed, v.redacted, v.reason
from versions v left join members m on m.team = v.team and m.id = v.member
where v.team = ? and v.rev < ? order by v.rev desc limit ?

-- name: versions_of_entry
select v.rev, v.key, v.op, v.etag, v.size, v.member, m.name, v.saved, v.changed, v.redacted, v.reason
from (select team, rev from versions where team = ? and rev < ? and key = ? order by rev desc limit ?) found
join versions v on v.team = found.team and v.rev = found.rev
left join members m on m.team = v.team and m.id = v.member
order by v.rev desc

-- name: version
select key, op, etag, content from versions where team = ? and rev = ?

-- Whose words stand where: all texts, oldest first.
-- name: log
select rev, key, etag, member, changed, holds, content from versions where team = ? and rev > ? order by rev limit ?

-- What a dream wrote with somebody's yes, and from which texts.
-- name: accepted
select p.key, p.decided, s.base
from proposals p join proposals s on s.team = p.team and coalesce(s.part_of, s.id) = coalesce(p.part_of, p.id)
where p.team = ? and p.op = 'put' and p.state = 'accepted' and s.base is not null

-- name: version_purged
update versions set content = null, redacted = coalesce(redacted, ?), reason = 'purged' where team = ? and rev = ?

-- name: version_holds
update versions set holds = coalesce(holds || ' ', '') || ? where team = ? and rev = ?

-- What is in force is never erased, by any of these.
-- name: version_redacted
update versions set content = null, redacted = ? where team = ? and rev = ?
and not exists (select 1 from entries e where e.team = versions.team and e.rev = versions.rev and e.deleted = 0)
returning rev

-- Of all teams.
-- name: versions_pruned
update versions set content = null, redacted = ? where content is not null and changed < ?
and not exists (select 1 from entries e where e.team = versions.team and e.rev = versions.rev and e.deleted = 0)
returning rev

-- Beyond what the log of a team holds.
-- name: versions_beyond
update versions set content = null, redacted = ? where team = ? and content is not null and rev <= (
  select max(rev) from (
    select rev, sum(size) over (order by rev desc) as held from versions where team = ? and content is not null
  ) as log where held > ?
)
and not exists (select 1 from entries e where e.team = versions.team and e.rev = versions.rev and e.deleted = 0)
returning rev

-- name: gone_beyond
delete from entries where team = ? and deleted = 1 and reason <> 'purged' and rev <= (
  select rev from entries where team = ? and deleted = 1 order by rev desc limit 1 offset ?
)

-- Jobs, of all teams as far as a worker takes them

-- name: job_asked_for
insert into jobs (team, kind, state, created) values (?, ?, 'waiting', ?)
on conflict (team, kind) where state = 'waiting' do nothing
returning id, kind, state, attempts, created, leased_until, error

-- name: job_waiting
select id, kind, state, attempts, created, leased_until, error from jobs
where team = ? and kind = ? and state = 'waiting'

-- name: jobs_of_team
select id, kind, state, attempts, created, leased_until, error from jobs where team = ? order by id desc limit 50

-- name: jobs_open
select count(*), min(created) from jobs where state in ('waiting', 'running')

-- name: job_taken
update jobs set state = 'running', attempts = attempts + 1, lease = ?, leased_until = ? where id = (
  select id from jobs where state = 'waiting' or (state = 'running' and leased_until < ? and attempts < ?)
  order by id limit 1 {skip_locked}
) returning id, team

-- name: job_done
update jobs set state = 'done', finished = ? where id = ? and lease = ? and state = 'running' returning id

-- name: job_failed
update jobs set state = 'failed', finished = ?, error = ? where state = 'running' and id = ? and lease = ?

-- name: jobs_exhausted
update jobs set state = 'failed', finished = ?, error = ? where state = 'running' and leased_until < ? and attempts >= ?

-- name: jobs_of_team_failed
update jobs set state = 'failed', finished = ?, error = ? where state = 'running' and team = ?

-- name: teams_changed
select t.id from teams t where exists (
  select 1 from entries e where e.team = t.id and e.changed > coalesce(
    (select max(j.created) from jobs j where j.team = t.id and j.kind = 'dream' and j.state <> 'failed'), 0)
) order by t.id

-- Proposals

-- name: proposals
select coalesce(part_of, id), job, reason, state, created, op, key, base, case when ? = 0 then content end
from proposals where team = ? and state = ? and coalesce(part_of, id) in (
  select id from proposals where team = ? and state = ? and part_of is null order by id limit 200
) order by id

-- name: proposed
insert into proposals (team, job, op, key, base, content, reason, state, created, part_of)
values (?, ?, ?, ?, ?, ?, ?, 'open', ?, ?) returning id

-- name: proposal_decided
update proposals set state = ?, decided_by = ?, decided = ?
where team = ? and coalesce(part_of, id) = ? and state = 'open'
returning op, key, base, content, reason

-- name: proposal_emptied
update proposals set content = null where team = ? and coalesce(part_of, id) = ?

-- name: proposal_known
select state from proposals where team = ? and id = ?

-- name: proposals_dropped
update proposals set state = 'rejected', content = null, decided = ? where team = ? and state = 'open'

-- Changes, on PostgreSQL. Teams are locked in the order of their ids, so that no two workers wait for each other.

-- name: postgres_apply
select asked.number, hub_apply(asked.team, asked.member, asked.token, asked.at, asked.changes) from (
  select * from json_to_recordset(?) as given(
    number integer, team text, member text, token text, at bigint, changes json)
  order by team, number
) as asked

-- name: postgres_text_known
select 1 from versions where team = ? and etag = ? limit 1

-- name: postgres_entries
select e.etag, e.rev, e.deleted, e.member, e.saved, v.content
from unnest(?::text[], ?::text[]) with ordinality as asked(team, key, number)
left join entries e on e.team = asked.team and e.key = asked.key
left join versions v on v.team = e.team and v.rev = e.rev
order by asked.number

-- name: postgres_revisions
select t.revision, t.restored, t.seal_key from unnest(?::text[]) with ordinality as asked(team, number)
left join teams t on t.id = asked.team order by asked.number

-- Changes, on SQLite. Keys, names and the first eight signs of digests are given by team, as JSON. An index is named where
-- SQLite would look through all entries of a team for a few names.

-- name: sqlite_entry
select e.etag, e.rev, e.deleted, e.member, e.saved, v.content
from entries e left join versions v on v.team = e.team and v.rev = e.rev
where e.team = ? and e.key = ?

-- name: sqlite_revision
select revision, restored, seal_key from teams where id = ?

-- name: sqlite_teams
select one.id, one.revision, one.live_entries, one.live_bytes, one.max_entries, one.max_entry_bytes, one.max_bytes
from json_each(?) asked cross join teams one where one.id = asked.key

-- name: sqlite_entries
select one.team, one.key, one.etag, one.rev, one.size
from json_each(?) asked cross join json_each(asked.value) named cross join entries one
where one.team = asked.key and one.key = named.value

-- By what is that name in another case, and by what is that name itself: of a key that is its own name this is known.
-- name: sqlite_names_taken
select one.folded from json_each(?2) asked cross join entries one indexed by entries_by_folded_key
where one.team = ?1 and one.folded = asked.value and one.key <> one.folded and one.deleted = 0
union all
select one.folded from json_each(?3) asked cross join entries one
where one.team = ?1 and one.key = asked.value and one.deleted = 0

-- name: sqlite_texts_sent
select one.rev, one.team, one.etag, one.member, one.reason
from json_each(?1) asked cross join json_each(asked.value) named cross join texts_latest text cross join versions one
where text.digest = named.value and one.team = asked.key and one.rev = text.rev
union all
select one.rev, one.team, one.etag, one.member, one.reason
from json_each(?1) asked cross join json_each(asked.value) named cross join texts_settled text cross join versions one
where text.digest = named.value and one.team = asked.key and one.rev = text.rev

-- name: sqlite_text_known
select 1 from versions where team = ?1 and etag = ?2 and rev in (select rev from texts where digest = substr(?2, 1, 8))

-- name: sqlite_text_made
insert or ignore into texts_latest values (?, ?)

-- name: sqlite_texts_settled
insert or ignore into texts_settled select digest, rev from texts_latest

-- name: sqlite_texts_moved
delete from texts_latest

-- name: sqlite_version_made
insert into versions (team, rev, key, op, etag, size, content, member, token, saved, changed, reason)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: sqlite_entry_written
insert into entries (team, key, folded, rev, etag, size, deleted, reason, member, saved, changed)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (team, key) do update set rev = excluded.rev, etag = excluded.etag, size = excluded.size,
  deleted = excluded.deleted, reason = excluded.reason, member = excluded.member, saved = excluded.saved,
  changed = excluded.changed

-- name: sqlite_team_counted
update teams set revision = ?, live_entries = ?, live_bytes = ? where id = ?
