-- Times are milliseconds since 1970, yes and no are 1 and 0: the same statements run on both databases.
create table teams (
  id text primary key,
  name text not null unique,
  revision bigint not null default 0,
  live_entries integer not null default 0,
  live_bytes bigint not null default 0,
  max_entries integer not null,
  max_entry_bytes integer not null,
  max_bytes bigint not null,
  created bigint not null
) with (fillfactor = 60);

create table members (
  team text not null references teams (id) on delete cascade,
  id text not null,
  name text not null,
  role text not null check (role in ('reader', 'writer', 'admin')),
  active integer not null default 1,
  purged bigint,  -- the revision at which all that they wrote was removed
  created bigint not null,
  primary key (team, id),
  unique (team, name)
);

create table tokens (
  id text primary key,
  hash text not null unique,  -- SHA-256; the token itself is nowhere
  team text,  -- null: for the metrics of the whole hub
  member text,
  label text not null,
  scopes text not null,
  created bigint not null,
  expires bigint,
  revoked bigint,
  foreign key (team, member) references members (team, id) on delete cascade
);
create index tokens_of_member on tokens (team, member);

create table entries (
  team text not null,
  key text not null,
  folded text not null,  -- what two keys have in common that differ in case only
  rev bigint not null,
  etag text,
  size integer not null,
  deleted integer not null,
  reason text not null,
  member text not null,
  saved bigint not null,
  changed bigint not null,
  primary key (team, key)
) partition by hash (team);

create table versions (
  team text not null,
  rev bigint not null,
  key text not null,
  op text not null,
  etag text,
  size integer not null,
  content text,  -- null: deleted, or erased
  member text not null,
  token text,
  saved bigint not null,
  changed bigint not null,
  reason text not null,
  redacted bigint,
  primary key (team, rev)
) partition by hash (team);

do $$
begin
  for part in 0..15 loop
    execute format('create table entries_%s partition of entries for values with (modulus 16, remainder %s)', part, part);
    execute format('create table versions_%s partition of versions for values with (modulus 16, remainder %s)', part, part);
  end loop;
end $$;
create index entries_by_revision on entries (team, rev);
create index entries_by_folded_key on entries (team, folded);
create index versions_of_entry on versions (team, key, rev);

create table actions (
  id bigint generated always as identity primary key,
  team text,
  at bigint not null,
  member text,
  token text,
  action text not null,
  what text not null
);
create index actions_of_team on actions (team, at);

create table jobs (
  id bigint generated always as identity primary key,
  team text not null references teams (id) on delete cascade,
  kind text not null,
  state text not null check (state in ('waiting', 'running', 'done', 'failed')),
  attempts integer not null default 0,
  created bigint not null,
  lease text,  -- known only to the worker that runs it
  leased_until bigint,
  finished bigint,
  error text
);
create unique index jobs_that_wait on jobs (team, kind) where state = 'waiting';
create index jobs_by_state on jobs (state, id);

create table proposals (
  id bigint generated always as identity primary key,
  team text not null references teams (id) on delete cascade,
  job bigint not null,
  op text not null,
  key text not null,
  base text,  -- the ETag that it was made from
  content text,
  reason text not null,
  state text not null check (state in ('open', 'accepted', 'rejected')),
  created bigint not null,
  decided_by text,
  decided bigint
);
create index proposals_of_team on proposals (team, state, id);

-- Apply changes to one team, each judged by itself. The team's row is locked first: revisions are given in the order
-- of commits, so that whoever asks with `since` misses nothing. sqlite_database.py does the same step by step.
create function hub_apply(for_team text, by_member text, by_token text, at bigint, changes json) returns json
language plpgsql as $$
declare
  team_row teams;
  change record;
  entry entries;
  is_live boolean;
  outcome text;
  answers json[] := '{}';
  start_revision bigint;
begin
  select * into team_row from teams where id = for_team for update;
  start_revision := team_row.revision;
  for change in
    select * from json_to_recordset(changes) as given(
      op text, key text, folded text, condition text, etag text, content text, size integer, saved bigint, reason text)
  loop
    select * into entry from entries where team = for_team and key = change.key;
    is_live := found and entry.deleted = 0;
    if change.op = 'delete' and not is_live then
      outcome := case when entry.key is null then 'missing' else 'same' end;
    elsif is_live and change.op = 'put' and entry.etag = change.etag then
      outcome := 'same';
    elsif (case when is_live then entry.etag end) is distinct from change.condition then
      outcome := 'conflict';
    elsif change.op = 'delete' then
      outcome := 'changed';
    elsif change.size > team_row.max_entry_bytes then
      outcome := 'too-large';
    elsif not is_live and team_row.live_entries >= team_row.max_entries
       or team_row.live_bytes + change.size - (case when is_live then entry.size else 0 end) > team_row.max_bytes then
      outcome := 'cap';
    elsif not is_live and exists (
      select from entries where team = for_team and folded = change.folded and deleted = 0) then
      outcome := 'same-name';
    else
      outcome := case when is_live then 'changed' else 'created' end;
    end if;
    if outcome in ('changed', 'created') then
      team_row.revision := team_row.revision + 1;
      team_row.live_entries := team_row.live_entries
        + (change.op = 'put')::integer - is_live::integer;
      team_row.live_bytes := team_row.live_bytes + change.size - (case when is_live then entry.size else 0 end);
      insert into versions (team, rev, key, op, etag, size, content, member, token, saved, changed, reason)
        values (for_team, team_row.revision, change.key, change.op, change.etag, change.size, change.content,
                by_member, by_token, change.saved, at, change.reason);
      insert into entries (team, key, folded, rev, etag, size, deleted, reason, member, saved, changed)
        values (for_team, change.key, change.folded, team_row.revision, change.etag, change.size,
                (change.op = 'delete')::integer, change.reason, by_member, change.saved, at)
        on conflict (team, key) do update set rev = excluded.rev, etag = excluded.etag, size = excluded.size,
          deleted = excluded.deleted, reason = excluded.reason, member = excluded.member, saved = excluded.saved,
          changed = excluded.changed
        returning * into entry;
    end if;
    answers := answers || json_build_array(
      change.key, outcome, entry.etag, coalesce(entry.rev, 0), coalesce(entry.deleted, 0));
  end loop;
  if team_row.revision > start_revision then
    update teams set revision = team_row.revision, live_entries = team_row.live_entries,
      live_bytes = team_row.live_bytes where id = for_team;
    perform pg_notify('memdir_hub', for_team);
  end if;
  return json_build_object('revision', team_row.revision, 'outcomes', array_to_json(answers));
end $$;
